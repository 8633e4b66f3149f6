//! Stores that no instruction of the program's makes, and that count all the same: what a compare-exchange expected,
//! what functions of libc write as results, the contents of fresh memory, and a volatile store with nothing behind
//! it.

use crate::common::{Output, command, finish};

const START: &str = "#define _GNU_SOURCE\n#include <assert.h>\n#include <pthread.h>\n#include <semaphore.h>\n#include \
     <stdatomic.h>\n\
     #include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n#include <unistd.h>\n";

/// Two threads, and what they share.
fn two(shared: &str, first: &str, second: &str) -> String {
    format!(
        "{START}{shared}\nstatic void *a(void *u) {{ {first} return u; }}\nstatic void *b(void *u) {{ {second} return \
         u; }}\n\
         int main(void) {{ pthread_t s, t; pthread_create(&s, 0, a, 0); pthread_create(&t, 0, b, 0); pthread_join(s, \
         0);\n\
         pthread_join(t, 0); return 0; }}\n"
    )
}

fn run(command_name: &str, source: &str, arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("program.c");
    std::fs::write(&file, source).expect("a file");
    finish(
        command(directory.path())
            .arg(command_name)
            .arg(&file)
            .args(["--format", "json", "--out"])
            .arg(directory.path().join("out"))
            .args(arguments)
            .env("CFLAGS", "-w"),
    )
}

/// The verdict and the kinds of findings.
fn verdict(run: &Output) -> (String, Vec<String>) {
    let json = run.json();
    let kinds = json["findings"].as_array().into_iter().flatten().map(|f| f["kind"].as_str().unwrap_or("").to_owned());
    (json["verdict"].as_str().expect("a verdict").to_owned(), kinds.collect())
}

fn races(source: &str) {
    for command in ["test", "check"] {
        let run = run(command, source, if command == "test" { &["--executions", "2000"] } else { &[] });
        assert_eq!(
            verdict(&run),
            ("fail".to_owned(), vec!["data-race".to_owned()]),
            "{command}: {source}{}",
            run.stderr
        );
    }
}

fn passes(source: &str) {
    for command in ["test", "check"] {
        let run = run(command, source, if command == "test" { &["--executions", "2000"] } else { &[] });
        assert_eq!(verdict(&run), ("pass".to_owned(), vec![]), "{command}: {source}{}", run.stderr);
    }
}

/// A failed compare-exchange writes what it has found over what it expected: plainly, whoever else gets at that.
#[test]
fn what_was_expected_is_read_and_written() {
    let shared = "atomic_int head = 1; int e;";
    let exchange = "atomic_compare_exchange_strong(&head, &e, 7);";
    // It fails, since head is 1 and e is 0 or 5, and writes e.
    races(&two(shared, exchange, "e = 5;"));
    races(&two(shared, exchange, "assert(e != 77);"));
    // Of one that succeeds the expected value is read: to write it meanwhile is a race, to read it is none.
    races(&two("atomic_int head; int e;", exchange, "e = 0;"));
    passes(&two("atomic_int head; int e;", exchange, "assert(e != 77);"));
}

/// The loop fails once and then succeeds: what it expects has changed in between, so that it does not wait; and that
/// it has is visible afterwards.
#[test]
fn a_loop_that_changes_what_it_expects_does_not_wait() {
    let push = "struct node *p = p0; p->next = atomic_load(&head); while (!atomic_compare_exchange_strong(&head, \
         &p->next, p)); ";
    let node = "struct node { struct node *next; } n[2]; _Atomic(struct node *) head;";
    let first = format!("struct node *p0 = &n[0]; {push}");
    let second = format!("struct node *p0 = &n[1]; {push}");
    passes(&two(node, &first, &second));
    let twice = two(
        "atomic_int head; int e;",
        "while (!atomic_compare_exchange_strong(&head, &e, 7)); assert(e == 0);",
        "atomic_store(&head, 1); atomic_store(&head, 0);",
    );
    // It may find 1 first, and then succeed on 1.
    for model in ["c11", "sc", "tso", "pso"] {
        let run = run("check", &twice, &["--model", model]);
        assert_eq!(verdict(&run), ("fail".to_owned(), vec!["assertion".to_owned()]), "{model}: {}", run.stderr);
    }
}

/// Under the hardware models it is a store like any other, which others see later: both threads can read 0.
#[test]
fn what_was_found_waits_in_a_store_buffer() {
    let program = format!(
        "{START}atomic_int one = 1; int e, f, r, s;\n\
         static void *a(void *p) {{ atomic_compare_exchange_strong(&one, &e, 7); r = f; return p; }}\n\
         static void *b(void *p) {{ f = 1; s = e; return p; }}\n\
         int main(void) {{ pthread_t x, y; pthread_create(&x, 0, a, 0); pthread_create(&y, 0, b, 0); pthread_join(x, \
         0);\n\
         pthread_join(y, 0); assert(r || s); return 0; }}\n"
    );
    for command in ["test", "check"] {
        for (model, expected) in [("sc", "pass"), ("tso", "fail")] {
            let run = run(command, &program, &["--model", model]);
            assert_eq!(verdict(&run).0, expected, "{command} {model}: {}", run.stderr);
        }
    }
}

/// Memory that is handed on without synchronisation is not known to be what its allocation made it: a race, as in
/// ThreadSanitizer, also where it is large.
#[test]
fn an_allocation_is_a_write() {
    for make in ["calloc(1, 8)", "malloc(8)", "calloc(1, 20000)", "malloc(2 << 20)", "realloc(malloc(4), 16)"] {
        let first = format!("int *q = {make}; atomic_store_explicit(&p, q, memory_order_relaxed);");
        let second = "int *q = atomic_load_explicit(&p, memory_order_relaxed); if (q) q[1] = 18;";
        races(&two("_Atomic(int *) p;", &first, second));
        let first = first.replace("relaxed", "release");
        passes(&two("_Atomic(int *) p;", &first, &second.replace("relaxed", "acquire")));
    }
    // Whoever frees and allocates again finds a new block, of zeros, and is alone with it.
    let again = two(
        "",
        "for (int i = 0; i < 2; i++) { char *q = malloc(1 << 20); memset(q, 1, 5000); free(q); \
         q = calloc(1, 1 << 20); for (int k = 0; k < 5000; k++) assert(q[k] == 0); free(q); }",
        "for (int i = 0; i < 300; i++) { int *q = calloc(1, 4000); assert(q[9] == 0); q[9] = 1; free(q); }",
    );
    for command in ["test", "check"] {
        let run = run(command, &again, &["--executions", "5"]);
        assert_eq!(verdict(&run), ("pass".to_owned(), vec![]), "{command}: {}", run.stderr);
    }
}

/// Under pso the zeros of calloc may come later than the store that publishes the block.
#[test]
fn zeros_are_stores() {
    let program = two("int *p;", "p = calloc(1, 8);", "int *q = p; if (q) assert(*q == 0);");
    for (model, expected) in [("tso", "pass"), ("pso", "fail")] {
        let run = run("test", &program, &["--model", model, "--executions", "3000"]);
        assert_eq!(verdict(&run).0, expected, "{model}: {}", run.stderr);
    }
}

/// Nothing follows the store in its thread, or in the program, and it is seen all the same.
#[test]
fn a_last_volatile_store_is_seen() {
    let table = [
        two("volatile int x;", "assert(x == 0);", "x = 1;"),
        format!(
            "{START}volatile int x;\nstatic void *a(void *p) {{ x = 1; return p; }}\nstatic void *b(void *p) {{ x = 2; \
             return p; }}\n\
             static void *c(void *p) {{ int r = x, s = x; assert(!(r == 2 && s == 1)); return p; }}\n\
             int main(void) {{ pthread_t t[3]; pthread_create(t, 0, a, 0); pthread_create(t + 1, 0, b, 0); \
             pthread_create(t + 2, 0, c, 0);\n\
             for (int i = 0; i < 3; i++) pthread_join(t[i], 0); return 0; }}\n"
        ),
    ];
    for source in table {
        for command in ["test", "check"] {
            let run = run(command, &source, &[]);
            assert_eq!(
                verdict(&run),
                ("fail".to_owned(), vec!["assertion".to_owned()]),
                "{command}: {source}{}",
                run.stderr
            );
        }
    }
}

/// What functions write for the program, another thread must not write meanwhile.
#[test]
fn results_are_written() {
    let shared = "union { char bytes[4096]; int number; void *pointer; } out; size_t size; sem_t s; static void \
         *nop(void *p) { return p; }";
    let table = [
        "sem_init(&s, 0, 3); sem_getvalue(&s, &out.number);",
        "pthread_t t; pthread_create(&t, 0, nop, 0); pthread_join(t, &out.pointer);",
        "pthread_create((pthread_t *)&out, 0, nop, 0);",
        "posix_memalign(&out.pointer, 16, 16);",
        "pipe(&out.number);",
        "strtol(\"12\", (char **)&out.pointer, 10);",
        "char text[] = \"a b\"; strtok_r(text, \" \", (char **)&out.pointer);",
        "sscanf(\"12 13 x\", \"%*d %[0-9 ] %c\", &out.bytes[9], &out.bytes[0]);",
        "sscanf(\"12 13\", \"%*d %d\", &out.number);",
        "FILE *f = fmemopen(\"hello\\nyou\\n\", 10, \"r\"); fgets(out.bytes, 100, f);",
        "FILE *f = fmemopen(\"hello\\nyou\\n\", 10, \"r\"); fread(out.bytes, 1, 5, f);",
        "FILE *f = fmemopen(\"hello\\nyou\\n\", 10, \"r\"); getline((char **)&out.pointer, &size, f);",
        "asprintf((char **)&out.pointer, \"x%d\", 3);",
        "pthread_setcancelstate(0, &out.number);",
        "pthread_key_create((pthread_key_t *)&out, 0);",
        "clock_gettime(CLOCK_REALTIME, (struct timespec *)&out);",
    ];
    for first in table {
        races(&two(shared, first, "out.bytes[0] = 7;"));
        passes(&two(shared, first, "out.bytes[200] = 7;"));
    }
}

/// libc writes the name of a thread before the thread begins: it may look at it.
#[test]
fn a_thread_may_look_at_its_own_name() {
    let program = format!(
        "{START}pthread_t t;\nstatic void *a(void *p) {{ assert(pthread_equal(t, pthread_self())); return p; }}\n\
         int main(void) {{ pthread_create(&t, 0, a, 0); pthread_join(t, 0); return 0; }}\n"
    );
    passes(&program);
    for model in ["sc", "tso", "pso"] {
        let run = run("check", &program, &["--model", model]);
        assert_eq!(verdict(&run).0, "pass", "{model}: {}", run.stderr);
    }
}

/// So many that their numbers no longer fit into what is kept of each access, and each with a heap: what is ordered
/// is ordered, and what races, races.
#[test]
fn threads_by_the_thousand_are_told_apart() {
    let program = |end: &str| {
        format!(
            "{START}int data;\nstatic void *a(void *p) {{ char b[2000]; memset(b, 1, sizeof b); data += b[7]; int *q = \
             malloc(100); *q = 3;\n\
             free(q); return p; }}\nstatic void *nop(void *p) {{ return p; }}\n\
             int main(void) {{ pthread_t t; for (int i = 0; i < 1400; i++) {{ pthread_create(&t, 0, i % 700 ? nop : a, \
             0);\n\
             pthread_join(t, 0); }} {end} return data != 2; }}\n"
        )
    };
    let few = ["--executions", "2", "--timeout", "100s"];
    let ordered = run("test", &program(""), &few);
    assert_eq!(verdict(&ordered), ("pass".to_owned(), vec![]), "{}", ordered.stderr);
    let race = "pthread_create(&t, 0, a, 0); data++; pthread_join(t, 0); data = 2;";
    let racing = run("test", &program(race), &few);
    assert_eq!(verdict(&racing), ("fail".to_owned(), vec!["data-race".to_owned()]), "{}", racing.stderr);
    let labels = racing.json()["findings"][0]["labels"].to_string();
    assert!(labels.contains("\"thread\":1401"), "{labels}");
}
