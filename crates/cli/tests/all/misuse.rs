//! Locks and other objects through which threads synchronise, used as they must not be: `mutex-misuse`.

use crate::common::{Output, command, finish};
use serde_json::Value as Json;

fn run(command_name: &str, source: &str, extension: &str, arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("program").with_extension(extension);
    std::fs::write(&file, source).expect("a file");
    let first = finish(
        command(directory.path())
            .arg(command_name)
            .arg(&file)
            .args(["--format", "json", "--out"])
            .arg(directory.path().join("out"))
            .args(arguments),
    );
    if let Some(file) = first.json()["findings"][0]["replay"].as_str() {
        let again = finish(command(directory.path()).arg("replay").arg(file));
        assert_eq!(again.status, 1, "what was found is there again: {}{}", again.stdout, again.stderr);
    }
    first
}

const OBJECTS: &str = "#include <pthread.h>\n#include <semaphore.h>\n#include <stdlib.h>\n\
     pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER; \
     pthread_spinlock_t s;\n\
     pthread_cond_t c = PTHREAD_COND_INITIALIZER; sem_t q; pthread_barrier_t b; int go;\n";

/// What main does before it creates a thread, what that does, and what main does meanwhile.
fn program(before: &str, thread: &str, meanwhile: &str) -> String {
    format!(
        "{OBJECTS}static void *f(void *u) {{ {thread} return u; }}\n\
         int main(void) {{ pthread_t t; pthread_spin_init(&s, 0); sem_init(&q, 0, 0); {before}\n\
         pthread_create(&t, 0, f, 0); {meanwhile}\npthread_join(t, 0); return 0; }}\n"
    )
}

/// All messages, each of a misuse.
fn messages(run: &Output) -> Vec<String> {
    let json = run.json();
    let text = |finding: &Json| {
        assert_eq!(finding["kind"], "mutex-misuse", "{}", run.stdout);
        finding["message"].as_str().expect("a message").to_owned()
    };
    json["findings"].as_array().into_iter().flatten().map(text).collect()
}

/// `test` and `check` under these models.
fn both(source: &str, models: &[&str], see: impl Fn(&str, &Output)) {
    for model in models {
        for command in ["test", "check"] {
            let limit = ["--model", model, "--executions", "3000"];
            see(&format!("{command} {model}"), &run(command, source, "c", &limit));
        }
    }
}

const ALL: [&str; 3] = ["c11", "sc", "tso"];

/// Who gives back what it does not hold, and what becomes of a lock that is held: no other thread is needed, so that
/// every execution shows it.
#[test]
fn locks_are_given_back_by_who_holds_them() {
    let table = [
        ("pthread_mutex_lock(&m);", "pthread_mutex_unlock(&m);", "unlock of a mutex that thread 0 holds (m)"),
        ("pthread_mutex_unlock(&m);", "", "unlock of a mutex that is not locked (m)"),
        (
            "pthread_rwlock_rdlock(&rw);",
            "pthread_rwlock_unlock(&rw);",
            "unlock of a reader-writer lock that thread 0 holds (rw)",
        ),
        ("pthread_rwlock_unlock(&rw);", "", "unlock of a reader-writer lock that is not locked (rw)"),
        ("pthread_spin_unlock(&s);", "", "unlock of a spin lock that is not locked (s)"),
        (
            "pthread_mutex_lock(&m); pthread_mutex_destroy(&m);",
            "",
            "destroy of a mutex that the thread itself holds (m)",
        ),
        (
            "pthread_rwlock_wrlock(&rw); pthread_rwlock_destroy(&rw);",
            "",
            "destroy of a reader-writer lock that the thread itself holds (rw)",
        ),
        (
            "pthread_spin_lock(&s); pthread_spin_destroy(&s);",
            "",
            "destroy of a spin lock that the thread itself holds (s)",
        ),
        ("pthread_mutex_lock(&m); pthread_mutex_init(&m, 0);", "", "init of a mutex that the thread itself holds (m)"),
        ("pthread_mutex_destroy(&m); pthread_mutex_lock(&m);", "", "lock of a mutex that was destroyed (m)"),
        ("pthread_mutex_destroy(&m); pthread_mutex_destroy(&m);", "", "destroy of a mutex that was destroyed (m)"),
        (
            "pthread_cond_destroy(&c); pthread_cond_signal(&c);",
            "",
            "signal of a condition variable that was destroyed (c)",
        ),
    ];
    for (before, thread, message) in table {
        both(&program(before, thread, ""), &ALL, |what, run| {
            assert_eq!(messages(run), [message], "{what}: {before} {thread} {}", run.stderr);
        });
    }
}

/// The end of an object must be ordered behind every use of it. Under c11, and wherever `check` looks, one execution
/// is enough to see that nothing orders them.
#[test]
fn objects_are_destroyed_when_nobody_can_use_them() {
    let table = [
        ("pthread_mutex_lock(&m); pthread_mutex_unlock(&m);", "pthread_mutex_destroy(&m);", "mutex"),
        (
            "pthread_mutex_lock(&m); pthread_mutex_unlock(&m);",
            "pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_mutex_destroy(&m);",
            "mutex",
        ),
        ("pthread_mutex_lock(&m); pthread_mutex_unlock(&m);", "pthread_mutex_init(&m, 0);", "mutex"),
        (
            "pthread_rwlock_rdlock(&rw); pthread_rwlock_unlock(&rw);",
            "pthread_rwlock_destroy(&rw);",
            "reader-writer lock",
        ),
        ("pthread_spin_lock(&s); pthread_spin_unlock(&s);", "pthread_spin_destroy(&s);", "spin lock"),
        ("pthread_cond_signal(&c);", "pthread_cond_destroy(&c);", "condition variable"),
        ("sem_post(&q);", "sem_destroy(&q);", "semaphore"),
    ];
    for (thread, meanwhile, object) in table {
        let source = program("", thread, meanwhile);
        both(&source, &["c11"], |what, run| {
            let messages = messages(run);
            assert!(
                !messages.is_empty() && messages.iter().all(|m| m.contains(object)),
                "{what}: {messages:?} {source}"
            );
        });
        let check = run("check", &source, "c", &["--model", "tso"]);
        assert!(!messages(&check).is_empty(), "{source}{}", check.stderr);
    }
    // Both places, and who was there.
    let found = run("check", &program("", table[0].0, table[0].1), "c", &[]).json();
    let labels = found["findings"][0]["labels"].as_array().expect("labels").clone();
    let mut threads: Vec<u64> = labels.iter().filter_map(|label| label["thread"].as_u64()).collect();
    threads.sort_unstable();
    assert_eq!(threads, [0, 1]);
}

/// The waiting thread would never be woken again: whichever comes first, main or the thread, one of the messages is
/// due.
#[test]
fn condition_variables_stay_while_threads_wait() {
    let source = program(
        "",
        "pthread_mutex_lock(&m); while (!go) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);",
        "pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_cond_destroy(&c); pthread_mutex_lock(&m); go = 1;\n\
         pthread_mutex_unlock(&m);",
    );
    both(&source, &ALL, |what, run| {
        // A thread that waits for what is not there any more may also wait forever.
        let json = run.json();
        let mut findings = json["findings"].as_array().into_iter().flatten();
        let misuse = findings.find(|finding| finding["kind"] == "mutex-misuse");
        let message = misuse.and_then(|finding| finding["message"].as_str()).unwrap_or("nothing");
        assert!(message.contains("condition variable"), "{what}: {message} {}", run.stderr);
    });
}

/// What POSIX allows: objects that are never initialised by a call, memory that becomes another object, the last user
/// who destroys, kinds of mutexes that tell of misuse by themselves.
#[test]
fn proper_use_is_no_misuse() {
    let counted = "struct counted { pthread_mutex_t m; int references; } *k;\n\
         static void drop(void) { pthread_mutex_lock(&k->m); int last = --k->references == 0; \
         pthread_mutex_unlock(&k->m);\n\
         if (last) { pthread_mutex_destroy(&k->m); free(k); } }\n";
    let table = [
        // The last one destroys.
        program("k = malloc(sizeof *k); pthread_mutex_init(&k->m, 0); k->references = 2;", "drop();", "drop();"),
        // A new life, by an initialiser of any kind.
        program(
            "pthread_mutex_t z = PTHREAD_MUTEX_INITIALIZER; for (int i = 0; i < 3; i++) { pthread_mutex_destroy(&m); \
             if (i) m = z; else \
             pthread_mutex_init(&m, 0); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); }",
            "pthread_mutex_lock(&m); pthread_mutex_unlock(&m);",
            "",
        ),
        // Who has waited for the last use destroys.
        program("", "sem_post(&q);", "sem_wait(&q); sem_destroy(&q);"),
        program(
            "pthread_barrier_init(&b, 0, 2);",
            "pthread_barrier_wait(&b);",
            "pthread_barrier_wait(&b); pthread_barrier_destroy(&b);",
        ),
        program(
            "",
            "pthread_mutex_lock(&m); go = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);",
            "pthread_mutex_lock(&m); while (!go) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); \
             pthread_cond_destroy(&c);",
        ),
        // Those that were woken may still be on their way out.
        program(
            "",
            "pthread_mutex_lock(&m); while (!go) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);",
            "pthread_mutex_lock(&m); go = 1; pthread_cond_broadcast(&c); pthread_mutex_unlock(&m); \
             pthread_mutex_lock(&m);\n\
             pthread_cond_destroy(&c); pthread_mutex_unlock(&m);",
        ),
        program(
            "pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_settype(&a, \
             PTHREAD_MUTEX_ERRORCHECK);\n\
             pthread_mutex_init(&m, &a); pthread_mutex_lock(&m);",
            "if (pthread_mutex_unlock(&m) == 0) abort();",
            "",
        ),
        program(
            "pthread_rwlock_rdlock(&rw); pthread_rwlock_rdlock(&rw); pthread_rwlock_unlock(&rw);",
            "if (pthread_rwlock_trywrlock(&rw) == 0) abort(); pthread_rwlock_rdlock(&rw); pthread_rwlock_unlock(&rw);",
            "",
        ),
        // Taken before main, by whom nobody has seen.
        program("pthread_mutex_unlock(&early);", "", ""),
    ];
    let early = "static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER;\n\
         __attribute__((constructor)) static void begin(void) { pthread_mutex_lock(&early); }\n";
    for source in table {
        let source = source.replacen("static void *f", &format!("{counted}{early}static void *f"), 1);
        both(&source, &ALL, |what, run| {
            assert_eq!(run.json()["verdict"], "pass", "{what}: {source}{}{}", run.stdout, run.stderr);
        });
    }
}

/// C++ never calls functions to initialise its mutexes, and destroys condition variables only.
#[test]
fn the_locks_of_cpp_are_used_properly() {
    let source = "#include <condition_variable>\n#include <mutex>\n#include <shared_mutex>\n#include <thread>\n\
         static std::recursive_mutex r; static std::shared_mutex s; static int n;\n\
         int main() { for (int i = 0; i < 2; i++) { std::mutex m; std::condition_variable c; bool done = false;\n\
         std::thread t([&] { { std::lock_guard<std::recursive_mutex> a(r), b(r); n++; } { \
         std::shared_lock<std::shared_mutex> a(s); }\n\
         std::lock_guard<std::mutex> g(m); done = true; c.notify_one(); });\n\
         { std::unique_lock<std::mutex> g(m); c.wait(g, [&] { return done; }); } { \
         std::unique_lock<std::shared_mutex> a(s); }\n\
         t.join(); } return n - 2; }\n";
    for model in ALL {
        let run = run("test", source, "cpp", &["--model", model, "--executions", "1000"]);
        assert_eq!(run.json()["verdict"], "pass", "{model}: {}{}", run.stdout, run.stderr);
    }
}
