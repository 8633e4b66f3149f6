//! What else can happen beside scheduling and memory: timeouts, sleeps, cancellation, failures for no reason, files,
//! threads before `main`; and the limits of a run.

use crate::common::{Output, command, finish};
use std::path::Path;

/// Runs a command on a program that is written down here.
fn run(verb: &str, name: &str, source: &str, arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().expect("a directory");
    run_in(directory.path(), verb, name, source, arguments)
}

fn run_in(directory: &Path, verb: &str, name: &str, source: &str, arguments: &[&str]) -> Output {
    let file = directory.join(name);
    std::fs::write(&file, source).expect("a file");
    let out = directory.join("out");
    let arguments = arguments.iter().copied();
    finish(command(directory).arg(verb).arg(&file).args(["--format", "json", "--out"]).arg(out).args(arguments))
}

fn verdict(run: &Output) -> String {
    run.json()["verdict"].as_str().expect("a verdict").to_owned()
}

fn fails(run: &Output, kind: &str) {
    assert_eq!(verdict(run), "fail", "{}", run.stderr);
    assert_eq!(run.json()["findings"][0]["kind"], kind, "{}", run.stdout);
}

fn passes(run: &Output) {
    assert_eq!((verdict(run).as_str(), run.status), ("pass", 0), "{}{}", run.stdout, run.stderr);
}

/// It is not complete, and says so with the call in this function.
fn is_incomplete(run: &Output, place: &str) {
    assert_eq!((verdict(run).as_str(), run.status), ("incomplete", 3), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains(place), "{}", run.stderr);
}

const START: &str = "#define _GNU_SOURCE\n#include <assert.h>\n#include <errno.h>\n#include <pthread.h>\n#include \
     <sched.h>\n#include <signal.h>\n\
     #include <stdatomic.h>\n#include <stdlib.h>\n#include <time.h>\n#include <unistd.h>\n";

/// A thread that runs `thread` while main runs `main` in between creating and joining it.
fn beside(shared: &str, thread: &str, main: &str, end: &str) -> String {
    format!(
        "{START}{shared}\nstatic void *f(void *p) {{ {thread} return p; }}\n\
         int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0);\n{main}\npthread_join(t, 0);\n{end} return 0; }}\n"
    )
}

/// A machine may stop a thread for longer than another one sleeps.
#[test]
fn sleeping_is_no_synchronisation() {
    for sleep in ["usleep(5000);", "sleep(1);", "nanosleep(&(struct timespec){0, 1000}, 0);"] {
        let main = format!("{sleep} assert(atomic_load(&ready));");
        let program = beside("static atomic_int ready;", "atomic_store(&ready, 1);", &main, "");
        fails(&run("test", "sleep.c", &program, &[]), "assertion");
        fails(&run("test", "sleep.c", &program, &["--model", "sc"]), "assertion");
        fails(&run("check", "sleep.c", &program, &[]), "assertion");
    }
}

/// A finding that needs a sleep to end early is found again from its answers.
#[test]
fn an_early_end_of_a_sleep_replays() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = beside(
        "static atomic_int ready;",
        "atomic_store(&ready, 1);",
        "usleep(5000); assert(atomic_load(&ready));",
        "",
    );
    fails(&run_in(directory.path(), "test", "sleep.c", &program, &[]), "assertion");
    let replayed = finish(command(directory.path()).arg("replay").arg(directory.path().join("out/finding-1.json")));
    assert_eq!(replayed.status, 1, "{}{}", replayed.stdout, replayed.stderr);
}

const TIMED: &str = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c = \
     PTHREAD_COND_INITIALIZER; static int ready;\n\
     static struct timespec in(int seconds, long nanoseconds) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); \
     t.tv_sec += seconds;\n\
     t.tv_nsec += nanoseconds; if (t.tv_nsec >= 1000000000) { t.tv_sec++; t.tv_nsec -= 1000000000; } return t; }";

/// A condition variable with a timeout of `wait`, whose result nobody looks at.
fn timed(wait: &str) -> String {
    let tell = "pthread_mutex_lock(&m); ready = 1; pthread_mutex_unlock(&m); pthread_cond_signal(&c);";
    let main = format!(
        "struct timespec until = {wait}; pthread_mutex_lock(&m); int late = 0;\n\
         while (!ready && !late) late = pthread_cond_timedwait(&c, &m, &until) == ETIMEDOUT;\n\
         struct timespec now; clock_gettime(CLOCK_REALTIME, &now);\n\
         assert(!late || now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));\n\
         int seen = ready; pthread_mutex_unlock(&m);"
    );
    beside(TIMED, tell, &main, "assert(seen);")
}

/// A timeout fires before the other thread has done anything, and the clock says so too: the first assertion never
/// fails, the second does.
#[test]
fn timeouts_fire_early_and_clocks_agree() {
    let run = run("test", "timeout.c", &timed("in(0, 10000000)"), &["--keep-going"]);
    fails(&run, "assertion");
    let findings = run.json()["findings"].as_array().expect("a list").clone();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0]["message"].as_str().expect("words").contains("'seen'"), "{findings:?}");
}

/// Who waits for a minute does not expect it to pass: as long as somebody can go on, it does not.
#[test]
fn long_timeouts_are_a_safety_net() {
    passes(&run("test", "long.c", &timed("in(60, 0)"), &["--executions", "2000"]));
}

/// Looking at a clock takes next to no time, so that a deadline of ten seconds is not missed while another thread
/// works. A loop that waits for nothing but the clock ends all the same.
#[test]
fn looking_at_a_clock_is_not_waiting() {
    let now = "static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + \
         t.tv_nsec / 1e9; }";
    let work = "for (int i = 0; i < 20000; i++) atomic_fetch_add(&made, 1);";
    let wait = "double start = now(); int late = 0;\n\
         while (!late && atomic_load(&made) < 20000) { late = now() - start > 10; sched_yield(); }";
    let busy = beside(&format!("static atomic_int made;\n{now}"), work, wait, "assert(!late);");
    passes(&run("test", "clock.c", &busy, &["--executions", "50"]));
    let alone =
        format!("{START}{now}\nint main(void) {{ double start = now(); while (now() - start < 10) ; return 0; }}\n");
    passes(&run("test", "clock.c", &alone, &["--executions", "5"]));
    // The other thread waits for the one that looks.
    let mutual = beside(
        &format!("static atomic_int stop;\n{now}"),
        "while (!atomic_load(&stop)) ;",
        "double start = now(); while (now() - start < 1) ; atomic_store(&stop, 1);",
        "",
    );
    passes(&run("test", "clock.c", &mutual, &["--executions", "20"]));
}

/// A weak compare-exchange that is not in a loop may fail although nobody else is there; in a loop that is tried
/// again and nothing else.
#[test]
fn weak_compare_exchanges_fail_for_no_reason() {
    let weak = "int e = 0, ok = atomic_compare_exchange_weak(&x, &e, 1);";
    let program = beside("static atomic_int x;", "atomic_load(&x);", weak, "assert(ok);");
    for model in ["c11", "sc", "tso"] {
        fails(&run("check", "weak.c", &program, &["--model", model]), "assertion");
    }
    passes(&run("check", "weak.c", &program.replace("_weak", "_strong"), &[]));
    // Twice in a row at the same place.
    let twice =
        "int ok = 0; for (int i = 0; i < 2 && !ok; i++) { int e = 0; ok = atomic_compare_exchange_weak(&x, &e, 1); }";
    fails(
        &run("check", "weak.c", &beside("static atomic_int x;", "atomic_load(&x);", twice, "assert(ok);"), &[]),
        "assertion",
    );
    // Two increments: each of the two orders, once.
    let add = "int e = atomic_load(&x); while (!atomic_compare_exchange_weak(&x, &e, e + 1)) ;";
    let strong = run("check", "loop.c", &beside("static atomic_int x;", add, add, "").replace("_weak", "_strong"), &[]);
    let loops = run("check", "loop.c", &beside("static atomic_int x;", add, add, ""), &[]);
    passes(&loops);
    assert_eq!(loops.json()["executions"], strong.json()["executions"]);
    // The same if what is tried again stores what is there already, in memory that others see later.
    let shared = "struct node { struct node *next; }; static _Atomic(struct node *) head;";
    let push = "struct node *n = malloc(sizeof *n), *old = atomic_load(&head);\n\
         do n->next = old; while (!atomic_compare_exchange_weak(&head, &old, n));";
    let strong = run("check", "push.c", &beside(shared, push, push, "").replace("_weak", "_strong"), &[]);
    let pushes = run("check", "push.c", &beside(shared, push, push, ""), &[]);
    passes(&pushes);
    assert_eq!(pushes.json()["executions"], strong.json()["executions"]);
}

const POINT: &str = "pthread_testcancel(); atomic_store(&x, 1);";

/// A thread may have passed its last cancellation point before somebody cancels it, or not.
#[test]
fn cancellation_comes_before_or_after() {
    for verb in ["test", "check"] {
        let ran = beside("static atomic_int x;", POINT, "pthread_cancel(t);", "assert(atomic_load(&x) == 0);");
        fails(&run(verb, "cancel.c", &ran, &[]), "assertion");
        let cancelled = beside("static atomic_int x;", POINT, "pthread_cancel(t);", "assert(atomic_load(&x) == 1);");
        fails(&run(verb, "cancel.c", &cancelled, &[]), "assertion");
        let either = beside("static atomic_int x;", POINT, "pthread_cancel(t);", "assert(atomic_load(&x) < 2);");
        passes(&run(verb, "cancel.c", &either, &[]));
    }
}

/// Where a thread that waits is cancelled, not all is explored: no proof, and no deadlock either.
#[test]
fn cancelling_a_wait_is_not_a_deadlock() {
    let shared = "#include <semaphore.h>\nstatic sem_t s;";
    let program = beside(shared, "sem_wait(&s);", "pthread_cancel(t);", "");
    passes(&run("test", "wait.c", &program, &["--executions", "500"]));
    is_incomplete(&run("check", "wait.c", &program, &[]), "cancel");
}

/// Whether a thread has ended when somebody looks is open.
#[test]
fn attempts_to_join_have_both_answers() {
    let program = |expected: &str| {
        format!(
            "{START}static void *f(void *p) {{ return p; }}\nint main(void) {{ pthread_t t; pthread_create(&t, 0, f, \
             0);\n\
             int error = pthread_tryjoin_np(t, 0); assert(error == 0 || error == EBUSY); if (error) pthread_join(t, \
             0);\n\
             assert(error == {expected}); return 0; }}\n"
        )
    };
    for verb in ["check", "test"] {
        fails(&run(verb, "join.c", &program("0"), &[]), "assertion");
        fails(&run(verb, "join.c", &program("EBUSY"), &[]), "assertion");
        passes(&run(verb, "join.c", &program("error"), &[]));
    }
}

/// What one thread writes to a pipe before or after another is not explored, and said with the place; files that only
/// one thread uses, or that are handed over, are no reason.
#[test]
fn files_of_several_threads_are_not_explored() {
    let pipes = "static int ends[2];";
    let read = "write(ends[1], \"a\", 1); char c; read(ends[0], &c, 1);";
    let program =
        beside(pipes, "write(ends[1], \"b\", 1);", read, "").replace("pthread_t t;", "pthread_t t; pipe(ends);");
    is_incomplete(&run("check", "pipe.c", &program, &[]), "several threads use the same file or pipe");
    // A reader that waits for its writer.
    let waiting = beside(pipes, "write(ends[1], \"b\", 1);", "char c; read(ends[0], &c, 1); assert(c == 'b');", "");
    let waiting = waiting.replace("pthread_t t;", "pthread_t t; pipe(ends);");
    is_incomplete(&run("check", "pipe.c", &waiting, &[]), "pipe");
    let after = beside(pipes, "write(ends[1], \"b\", 1);", "", "char c; read(ends[0], &c, 1); assert(c == 'b');");
    passes(&run("check", "pipe.c", &after.replace("pthread_t t;", "pthread_t t; pipe(ends);"), &[]));
}

/// When a signal that another thread sends is handled is not explored.
#[test]
fn signals_to_other_threads_are_not_explored() {
    let shared = "static atomic_int x; static void h(int s) { atomic_store(&x, s); }";
    let program = beside(shared, "atomic_load(&x);", "signal(SIGUSR1, h); pthread_kill(t, SIGUSR1);", "");
    is_incomplete(&run("check", "signal.c", &program, &[]), "pthread_kill");
}

/// A variable that only code without instrumentation writes: the exploration cannot know its order, and does not
/// claim a proof. Where threads are ordered, it can.
#[test]
fn writes_without_instrumentation_are_noticed() {
    let hidden = "static int n; __attribute__((no_sanitize_thread, noinline)) static void count(void) { n++; }";
    let program = beside(hidden, "count(); sched_yield();", "count(); sched_yield();", "");
    for model in ["c11", "tso"] {
        is_incomplete(&run("check", "hidden.c", &program, &["--model", model]), "without instrumentation");
    }
    // One thread alone is enough: what the function does is not known.
    is_incomplete(
        &run("check", "hidden.c", &beside(hidden, "count();", "", "count();"), &[]),
        "without instrumentation",
    );
    passes(&run("check", "hidden.c", &beside(hidden, "", "", "count();"), &[]));
}

/// A thread that a constructor creates is one of every execution: the one that waits for it finds it.
#[test]
fn threads_that_start_before_main_are_controlled() {
    let program = format!(
        "{START}static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c = \
         PTHREAD_COND_INITIALIZER;\n\
         static int jobs, done, stop, self; static pthread_t worker;\n\
         static void *work(void *p) {{ pthread_mutex_lock(&m); self = pthread_equal(worker, pthread_self());\n\
         while (!stop) {{ if (jobs) {{ jobs--; done++; pthread_cond_broadcast(&c); }} else pthread_cond_wait(&c, &m); \
         }}\n\
         pthread_mutex_unlock(&m); return p; }}\n\
         __attribute__((constructor)) static void start(void) {{ pthread_create(&worker, 0, work, 0); }}\n\
         int main(void) {{ pthread_mutex_lock(&m); jobs = 2; pthread_cond_broadcast(&c);\n\
         while (done < 2) pthread_cond_wait(&c, &m); stop = 1; pthread_cond_broadcast(&c); pthread_mutex_unlock(&m);\n\
         pthread_join(worker, 0); assert(done == 2 && self); return 0; }}\n"
    );
    passes(&run("test", "early.c", &program, &["--executions", "500"]));
    passes(&run("test", "early.c", &program, &["--executions", "200", "--model", "tso"]));
    passes(&run("test", "early.c", &program, &["--executions", "100", "--restart", "fork"]));
    passes(&run("check", "early.c", &program, &[]));
    // Its races are races.
    let racy = format!(
        "{START}int x; static pthread_t t; static void *f(void *p) {{ x = 1; return p; }}\n\
         __attribute__((constructor)) static void start(void) {{ pthread_create(&t, 0, f, 0); }}\n\
         int main(void) {{ x = 2; pthread_join(t, 0); return 0; }}\n"
    );
    fails(&run("check", "early.c", &racy, &[]), "data-race");
    fails(&run("test", "early.c", &racy, &[]), "data-race");
    // One that is waited for before `main` has to run before it, and is over then.
    let waited = format!(
        "{START}static int x; static void *f(void *p) {{ x = 1; return p; }}\n\
         __attribute__((constructor)) static void start(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); \
         pthread_join(t, 0); }}\n\
         int main(void) {{ assert(x == 1); return 0; }}\n"
    );
    passes(&run("test", "early.c", &waited, &["--executions", "100"]));
    assert_eq!(verdict(&run("check", "early.c", &waited, &[])), "incomplete");
}

/// Memory that can only be read changes when the file behind it does: nobody writes to it, the runtime neither.
#[test]
fn read_only_mappings_of_files_that_are_written() {
    let program = format!(
        "{START}#include <fcntl.h>\n#include <sys/mman.h>\nstatic int fd; static int *map; static pthread_mutex_t m = \
         PTHREAD_MUTEX_INITIALIZER;\n\
         static void *f(void *p) {{ pthread_mutex_lock(&m); int v = map[0] + 1; pwrite(fd, &v, sizeof v, 0); \
         assert(map[0] == v);\n\
         pthread_mutex_unlock(&m); return p; }}\n\
         int main(void) {{ fd = open(\"map.tmp\", O_RDWR | O_CREAT | O_TRUNC, 0600); ftruncate(fd, 4096);\n\
         map = mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0); pthread_t a, b; pthread_create(&a, 0, f, 0); \
         pthread_create(&b, 0, f, 0);\n\
         pthread_join(a, 0); pthread_join(b, 0); assert(map[0] == 2); return 0; }}\n"
    );
    for model in ["tso", "pslo", "c11"] {
        // On two workers, which would write to the same file: one does all.
        passes(&run("test", "map.c", &program, &["--model", model, "--executions", "200", "--jobs", "2"]));
    }
}

/// In a program that never ends, the limit of time ends the run in the middle of an execution; what was found is kept.
#[test]
fn limits_of_time_hold_in_the_middle_of_an_execution() {
    let endless = format!("{START}int main(void) {{ for (;;) ; }}\n");
    for verb in ["test", "check"] {
        let run = run(verb, "endless.c", &endless, &["--time", "300ms"]);
        assert_eq!((verdict(&run).as_str(), run.status), ("incomplete", 3), "{}{}", run.stdout, run.stderr);
        // Far less than what one execution may take: ten seconds.
        assert!(run.json()["seconds"].as_f64().expect("a number") < 5.0, "{}", run.stdout);
    }
    let sometimes = beside(
        "static atomic_int x; static volatile int forever = 1;",
        "atomic_store(&x, 1);",
        "int seen = atomic_load(&x); assert(!seen || getenv(\"HANG\")); if (seen) while (forever) ;",
        "",
    );
    fails(&run("test", "sometimes.c", &sometimes, &["--time", "2s", "--keep-going"]), "assertion");
}

/// One execution that is cut off does not end the exploration: others are explored, and what they show is found.
#[test]
fn an_exploration_goes_on_after_an_execution_without_end() {
    let program = beside(
        "static atomic_int x, y; static volatile int n;",
        "if (!atomic_load(&x)) while (1) n++; atomic_store(&y, 1);",
        "atomic_store(&x, 1); assert(!atomic_load(&y));",
        "",
    );
    let run = run("check", "cut.c", &program, &["--max-steps", "200", "--timeout", "1s"]);
    fails(&run, "assertion");
}

/// An execution may take too long in the runtime's own code as well as in the program's: it is cut off, and those that
/// come after it find everything as it was. About half of the executions see the store, and fail; that all of twelve do
/// or none does has a chance of 1 in 2,000.
#[test]
fn an_execution_that_takes_too_long_ends_wherever_it_is() {
    for forever in ["atomic_fetch_add(&n, 1);", "free(malloc(64));", "plain++;"] {
        let main = format!("if (!atomic_load(&x)) for (;;) {{ {forever} }}\nassert(0);");
        let program =
            beside("static atomic_int x, n; static volatile int plain;", "atomic_store(&x, 1);", &main, "(void)n;");
        let limits = ["--max-steps", "1000000000", "--timeout", "300ms", "--executions", "12", "--keep-going"];
        let run = run("test", "late.c", &program, &limits);
        fails(&run, "assertion");
        let (failing, all) = (&run.json()["failing_executions"], &run.json()["executions"]);
        assert_eq!(all.as_u64(), Some(12), "{forever}: {}", run.stderr);
        assert!((1..12).contains(&failing.as_u64().expect("a number")), "{forever}: {failing}");
    }
}

/// A program that always hangs: a few executions are cut off, and it is said where its threads were.
#[test]
fn an_exploration_of_what_never_ends_ends() {
    let endless =
        beside("static atomic_int x;", "for (;;) atomic_fetch_add(&x, 1);", "for (;;) atomic_fetch_add(&x, 1);", "");
    let run = run("check", "endless.c", &endless, &["--max-steps", "300"]);
    is_incomplete(&run, "thread 0 in main");
}

/// An execution that does not end and cannot be interrupted says nothing about the program: the host has killed it.
#[test]
fn what_the_host_kills_is_no_finding() {
    let source = "#define _GNU_SOURCE\n#include <signal.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n\
         int main(void) { unsigned long all = ~0ul; syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, 8);\n\
         for (;;) __asm__ volatile(\"\"); }\n";
    for (verb, arguments) in [("check", &["--timeout", "1s"][..]), ("test", &["--timeout", "1s", "--executions", "1"])]
    {
        is_incomplete(&run(verb, "deaf.c", source, arguments), "was killed");
    }
}

/// An execution that does not end, but can be interrupted: the reason is the limit of time, and the place is said.
#[test]
fn what_takes_too_long_is_no_finding_and_no_proof() {
    let source = "#include <pthread.h>\n#include <stdatomic.h>\nstatic atomic_int x;\n\
         static void *f(void *u) { if (atomic_load(&x)) for (;;) __asm__ volatile(\"\"); return u; }\n\
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); atomic_store(&x, 1); pthread_join(t, 0); }\n";
    is_incomplete(&run("check", "busy.c", source, &["--timeout", "1s"]), "busy.c:4");
}
