//! `fencepost check` on native programs: plain accesses under hardware models, waits with a timeout, limits, several
//! cores.

use crate::common::{Output as Run, command, finish};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// Checks a program that is written down here.
fn check(source: &str, arguments: &[&str]) -> Run {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("program.c");
    std::fs::write(&file, source).expect("a file");
    run(directory.path(), &file, arguments, "")
}

/// Checks one of the programs whose executions are counted.
fn check_counted(name: &str, defines: &str, arguments: &[&str]) -> Run {
    let directory = tempfile::tempdir().expect("a directory");
    let programs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    run(directory.path(), &programs.join(name).with_extension("c"), arguments, defines)
}

fn run(directory: &Path, file: &Path, arguments: &[&str], defines: &str) -> Run {
    finish(
        command(directory)
            .arg("check")
            .arg(file)
            .args(["--format", "json", "--out"])
            .arg(directory.join("out"))
            .args(arguments)
            .env("CFLAGS", defines),
    )
}

/// Verdict, whether complete, and the number of executions.
fn summary(run: &Run) -> (String, bool, u64) {
    let json = run.json();
    let verdict = json["verdict"].as_str().expect("a verdict").to_owned();
    let status = ["pass", "fail", "", "incomplete"].iter().position(|v| *v == verdict);
    assert_eq!(status.map(|s| s as i32), Some(run.status), "{}", run.stderr);
    (verdict, json["complete"].as_bool().expect("a truth"), json["executions"].as_u64().expect("a number"))
}

fn passes(run: &Run, executions: u64) {
    assert_eq!(summary(run), ("pass".to_owned(), true, executions), "{}", run.stderr);
}

fn fails(run: &Run, kind: &str) {
    assert_eq!(summary(run).0, "fail", "{}", run.stderr);
    assert_eq!(run.json()["findings"][0]["kind"], kind);
}

const START: &str = "#include <assert.h>\n#include <errno.h>\n#include <pthread.h>\n#include <sched.h>\n\
     #include <semaphore.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n";

/// Two threads, what is shared before them, and what is checked in the end.
fn two(shared: &str, first: &str, second: &str, end: &str) -> String {
    format!(
        "{START}{shared}\nstatic void *a(void *p) {{ {first} return p; }}\nstatic void *b(void *p) {{ {second} return \
         p; }}\n\
         int main(void) {{ pthread_t s, t; pthread_create(&s, 0, a, 0); pthread_create(&t, 0, b, 0);\n\
         pthread_join(s, 0); pthread_join(t, 0); {end} return 0; }}\n"
    )
}

#[test]
fn plain_store_buffering_has_as_many_executions_as_the_model_has_graphs() {
    for shared in ["int x, y, r0, r1;", "volatile int x, y; int r0, r1;"] {
        let program = two(shared, "x = 1; r0 = y;", "y = 1; r1 = x;", "");
        for (model, graphs) in [("sc", 3), ("tso", 4), ("pso", 4)] {
            passes(&check(&program, &["--model", model]), graphs);
        }
        let relaxed = two(shared, "x = 1; r0 = y;", "y = 1; r1 = x;", "assert(r0 || r1);");
        passes(&check(&relaxed, &["--model", "sc"]), 3);
        fails(&check(&relaxed, &["--model", "tso"]), "assertion");
    }
}

#[test]
fn plain_message_passing_is_stale_under_pso_alone() {
    let program = two("int x, y, r0, r1;", "x = 1; y = 1;", "r0 = y; r1 = x;", "assert(!r0 || r1);");
    passes(&check(&program, &["--model", "sc"]), 3);
    passes(&check(&program, &["--model", "tso"]), 3);
    fails(&check(&program, &["--model", "pso"]), "assertion");
    fails(&check(&program, &["--model", "c11"]), "data-race");
}

/// The finding of an exploration with plain events is found again, and a pass is not claimed for another model's
/// finding.
#[test]
fn a_finding_among_plain_accesses_replays() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("program.c");
    let program = two("int x, y, r0, r1;", "x = 1; y = 1;", "r0 = y; r1 = x;", "assert(!r0 || r1);");
    std::fs::write(&file, program).expect("a file");
    assert_eq!(run(directory.path(), &file, &["--model", "pso"], "").status, 1);
    let replayed = finish(command(directory.path()).arg("replay").arg(directory.path().join("out/finding-1.json")));
    assert_eq!(replayed.status, 1, "{}{}", replayed.stdout, replayed.stderr);
}

#[test]
fn increments_that_are_not_atomic_are_lost() {
    let program = two("int x;", "x++;", "x++;", "assert(x == 2);");
    fails(&check(&program, &["--model", "sc"]), "assertion");
    let locked = two(
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int x;",
        "pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);",
        "pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);",
        "assert(x == 2);",
    );
    for model in ["sc", "tso", "pso"] {
        passes(&check(&locked, &["--model", model]), 2);
    }
}

/// A thread waits for a plain variable of which nobody knows yet that it is shared: its writer runs later.
#[test]
fn loops_that_wait_for_plain_memory_end() {
    for body in ["", "sched_yield();", "usleep(10);"] {
        let wait = format!("while (!flag) {{ {body} }} r = data;");
        let shared = "#include <unistd.h>\nvolatile int flag; int data, r;";
        let program = two(shared, &wait, "data = 1; flag = 1;", "assert(r == 1);");
        passes(&check(&program, &["--model", "sc"]), 1);
        passes(&check(&program, &["--model", "tso"]), 1);
        fails(&check(&program, &["--model", "pso"]), "assertion");
    }
}

/// Memory of all kinds: a block from the heap, a variable on a stack, a range that libc copies, parts of a word.
#[test]
fn memory_of_all_kinds_is_explored() {
    let heap = format!(
        "{START}static int *x;\nstatic void *a(void *p) {{ *x = *x + 1; return p; }}\n\
         int main(void) {{ pthread_t s, t; x = malloc(sizeof *x); *x = 5; pthread_create(&s, 0, a, 0); \
         pthread_create(&t, 0, a, 0);\n\
         pthread_join(s, 0); pthread_join(t, 0); assert(*x == 7); return 0; }}\n"
    );
    fails(&check(&heap, &["--model", "sc"]), "assertion");
    let stack = format!(
        "{START}static void *a(void *p) {{ int *x = p; *x = *x + 1; return p; }}\n\
         int main(void) {{ pthread_t s, t; int x = 5; pthread_create(&s, 0, a, &x); pthread_create(&t, 0, a, &x);\n\
         pthread_join(s, 0); pthread_join(t, 0); assert(x == 7); return 0; }}\n"
    );
    fails(&check(&stack, &["--model", "sc"]), "assertion");
    assert_eq!(summary(&check(&stack.replace("assert(x == 7);", ""), &["--model", "sc"])), ("pass".into(), true, 4));
    let copied = two(
        "char from[24], to[24]; int n = 24;",
        "memset(from, 1, n);",
        "memcpy(to, from, n);",
        "assert(to[0] == to[23]);",
    );
    fails(&check(&copied, &["--model", "sc"]), "assertion");
    // Two halves, read as a whole.
    let halves = two(
        "union { unsigned char half[2]; unsigned short whole; } u; int r;",
        "u.half[0] = 1; u.half[1] = 1;",
        "r = u.whole;",
        "assert(r != 0x100);",
    );
    passes(&check(&halves, &["--model", "tso"]), 3);
}

/// What orders plain accesses under the model need not be known to C11, and what is ordered needs no event.
#[test]
fn relaxed_atomics_order_plain_accesses_on_tso_but_not_on_pso() {
    let program = two(
        "int data, r = 1; atomic_int flag;",
        "data = 1; atomic_store_explicit(&flag, 1, memory_order_relaxed);",
        "if (atomic_load_explicit(&flag, memory_order_relaxed)) r = data;",
        "assert(r == 1);",
    );
    passes(&check(&program, &["--model", "sc"]), 2);
    passes(&check(&program, &["--model", "tso"]), 2);
    fails(&check(&program, &["--model", "pso"]), "assertion");
}

/// A plain read of an atomic when all is over reads the last store in coherence order, whichever ran last.
#[test]
fn plain_reads_of_atomics_are_events() {
    let both = |end: &str| {
        two(
            "union { atomic_int a; int plain; } x;",
            "atomic_store_explicit(&x.a, 1, memory_order_relaxed);",
            "atomic_store_explicit(&x.a, 2, memory_order_relaxed);",
            end,
        )
    };
    for model in ["sc", "c11"] {
        passes(&check(&both("assert(x.plain == 1 || x.plain == 2);"), &["--model", model]), 2);
        fails(&check(&both("assert(x.plain == 1);"), &["--model", model]), "assertion");
        fails(&check(&both("assert(x.plain == 2);"), &["--model", model]), "assertion");
    }
}

/// Message passing: the release store keeps the stores in order, and under pslo nothing keeps the loads, unless the
/// first acquires. Four graphs without that, three with it.
#[test]
fn under_pslo_loads_pass_each_other() {
    let program = |order: &str| {
        two(
            "int x; atomic_int y; int r0, r1;",
            "x = 1; atomic_store_explicit(&y, 1, memory_order_release);",
            &format!("r0 = atomic_load_explicit(&y, memory_order_{order}); r1 = x;"),
            "assert(!r0 || r1);",
        )
    };
    passes(&check(&program("relaxed"), &["--model", "pso"]), 3);
    fails(&check(&program("relaxed"), &["--model", "pslo", "--keep-going"]), "assertion");
    passes(&check(&program("acquire"), &["--model", "pslo"]), 3);
}

/// A wait with a timeout: the time may be over, or not, and both are explored. `%` is what it must have been.
const TIMED: &[(&str, &str, &str, &str)] = &[
    (
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;",
        "pthread_mutex_lock(&m); pthread_mutex_unlock(&m);",
        "struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += 1; late = pthread_mutex_timedlock(&m, &t) \
         != 0; \
         if (!late) pthread_mutex_unlock(&m);",
        "late",
    ),
    (
        "sem_t s;",
        "sem_post(&s);",
        "struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += 1; late = sem_timedwait(&s, &t) != 0; \
         if (late) assert(errno == ETIMEDOUT);",
        "late",
    ),
    (
        "pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;",
        "pthread_rwlock_wrlock(&l); pthread_rwlock_unlock(&l);",
        "struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += 1; late = pthread_rwlock_timedrdlock(&l, \
         &t) != 0; \
         if (!late) pthread_rwlock_unlock(&l);",
        "late",
    ),
    (
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER; int ready;",
        "pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);",
        "struct timespec t, n; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += 1; pthread_mutex_lock(&m); \
         while (!ready && !late) late = pthread_cond_timedwait(&c, &m, &t) == ETIMEDOUT; pthread_mutex_unlock(&m); \
         clock_gettime(CLOCK_REALTIME, &n); assert(late == (n.tv_sec >= t.tv_sec));",
        "late",
    ),
];

#[test]
fn waits_with_a_timeout_are_explored() {
    for (shared, first, second, late) in TIMED {
        let program = |end: &str| two(&format!("{shared} int late;"), first, second, end);
        for model in ["c11", "tso"] {
            let all = check(&program(""), &["--model", model]);
            assert_eq!((summary(&all).0, summary(&all).1), ("pass".to_owned(), true), "{shared} {}", all.stderr);
            fails(&check(&program(&format!("assert(!{late});")), &["--model", model]), "assertion");
            fails(&check(&program(&format!("assert({late});")), &["--model", model]), "assertion");
        }
    }
}

/// Everything but the time it took.
fn timeless(run: &Run) -> Json {
    let mut json = run.json();
    json["seconds"] = Json::Null;
    for finding in json["findings"].as_array_mut().expect("a list") {
        finding["replay"] = Json::Null;
    }
    json
}

#[test]
fn several_cores_explore_the_same() {
    for model in ["sc", "c11"] {
        for jobs in ["1", "2", "3"] {
            passes(&check_counted("ninc", "-DN=7", &["--model", model, "--jobs", jobs]), 5040);
        }
    }
    // With findings too: how often each was met, and which came first.
    let bugs = |jobs, more: &[&str]| {
        check_counted("fib_bench", "-DN=5 -DBUG", &[&["--model", "sc", "--jobs", jobs], more].concat())
    };
    for more in [&["--keep-going"][..], &[]] {
        let alone = bugs("1", more);
        fails(&alone, "assertion");
        assert!(alone.json()["findings"][0]["count"].as_u64() > Some(0));
        assert_eq!(timeless(&alone), timeless(&bugs("3", more)), "{more:?}");
    }
}

#[test]
fn limits_are_said() {
    let time = check_counted("ninc", "-DN=10", &["--time", "300ms"]);
    assert_eq!(summary(&time).0, "incomplete");
    assert!(time.stderr.contains("limit of time"), "{}", time.stderr);
    let executions = check_counted("ninc", "-DN=7", &["--executions", "10"]);
    assert_eq!(summary(&executions), ("incomplete".to_owned(), false, 10));
    assert!(executions.stderr.contains("limit of executions"), "{}", executions.stderr);
    let steps = check_counted("ninc", "-DN=7", &["--max-steps", "10"]);
    assert_eq!(summary(&steps).0, "incomplete");
    assert!(steps.stderr.contains("limit of steps"), "{}", steps.stderr);
}

/// The pairs of lines that race, as they are told, with what is done there.
fn races(run: &Run) -> Vec<String> {
    let races = run.json()["races"].as_array().cloned().unwrap_or_default();
    let access = |access: &Json| format!("{} in {}", access["access"].as_str().unwrap_or("?"), access["function"]);
    let told = |race: &Json| [&race["accesses"][0], &race["accesses"][1]].map(access).join(", ").replace('"', "");
    races.iter().map(told).collect()
}

/// Under sc, tso and pso races are no errors, but told: those that the execution at hand has, and none where locks,
/// joins, or atomics that release and acquire order the accesses.
#[test]
fn races_are_told_beside_the_verdict() {
    let lock = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int x;";
    let locked = "pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);";
    let racing = two("int x, r;", "x = 1;", "r = x;", "");
    let half_locked = two(lock, locked, "x = 7;", "");
    let protected = two(lock, locked, locked, "assert(x == 2);");
    let published = two(
        "int x, r; atomic_int f;",
        "x = 1; atomic_store_explicit(&f, 1, memory_order_release);",
        "if (atomic_load_explicit(&f, memory_order_acquire)) r = x;",
        "",
    );
    let too_weak = two(
        "int x, r; atomic_int f;",
        "x = 1; atomic_store_explicit(&f, 1, memory_order_release);",
        "if (atomic_load_explicit(&f, memory_order_relaxed)) r = x;",
        "",
    );
    let atomic = two("int x, r;", "__atomic_store_n(&x, 1, __ATOMIC_SEQ_CST);", "r = x;", "");
    for model in ["sc", "tso", "pso"] {
        for method in ["graph", "rf", "causal"] {
            let check = |program: &str| {
                let run = check(program, &["--model", model, "--method", method]);
                assert_eq!(summary(&run).0, "pass", "{}", run.stderr);
                races(&run)
            };
            let which = format!("{model} {method}");
            assert_eq!(check(&racing), ["write in a, read in b"], "{which}");
            assert_eq!(check(&half_locked), ["read in a, write in b", "write in a, write in b"], "{which}");
            assert_eq!(check(&protected), [""; 0], "{which}");
            assert_eq!(check(&published), [""; 0], "{which}");
            assert_eq!(check(&too_weak), ["write in a, read in b"], "{which}");
            assert_eq!(check(&atomic), ["atomic write in a, read in b"], "{which}");
        }
    }
    assert_eq!(races(&check(&racing, &["--model", "c11"])), [""; 0], "a finding there");
}

/// A thread that waits for a variable on its own stack: what that holds meanwhile is none of its state, so that every
/// method leaves the same rounds out. One thread looks at most twice (three ways), another at most twice and then
/// once more if it has seen nothing (four ways), and all of these go together.
#[test]
fn who_waits_for_what_lies_on_its_own_stack() {
    let program = format!(
        "{START}static atomic_int *n;\n\
         static void *set(void *p) {{ atomic_store(n, 1); return p; }}\n\
         static int look(void) {{ int r = 0; for (int i = 0; i < 2 && !(r = atomic_load(n)); i++) {{}} return r; }}\n\
         static void *twice(void *p) {{ look(); return p; }}\n\
         static void *once_more(void *p) {{ if (!look()) atomic_load(n); return p; }}\n\
         static void wait(void) {{ atomic_int l = 0; n = &l; pthread_t a, b, c; pthread_create(&a, 0, twice, 0);\n\
         pthread_create(&b, 0, set, 0); pthread_create(&c, 0, once_more, 0);\n\
         while (!atomic_load(n)) {{}} while (!atomic_load(n)) {{}}\n\
         pthread_join(a, 0); pthread_join(b, 0); pthread_join(c, 0); }}\n\
         int main(void) {{ wait(); return 0; }}\n"
    );
    for model in ["sc", "tso", "pso"] {
        for method in ["graph", "rf", "causal"] {
            passes(&check(&program, &["--model", model, "--method", method]), 12);
        }
    }
}
