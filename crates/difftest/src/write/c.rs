//! Programs in C, with POSIX threads.

use super::{indent, packed, registers, variables};
use crate::program::{
    Arithmetic, Ending, Expected, How, Lock, MutexType, Operand, Order, Part, Plain, Program, Stmt, Storage, WordBegins,
};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const START: &str = r##"#ifndef __clang__
#pragma GCC diagnostic ignored "-Wtsan"
#pragma GCC diagnostic ignored "-Winvalid-memory-model"
#endif
#define _GNU_SOURCE
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The outcome in one write, by code that makes no accesses of its own. */
__attribute__((noinline, no_sanitize("thread"))) static void
emit(char tag, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g) {
    uint64_t words[7] = {a, b, c, d, e, f, g};
    char text[160];
    int n = 0;
    text[n++] = tag;
    for (int i = 0; i < 7; i++) {
        text[n++] = ' ';
        int started = 0;
        for (int s = 60; s >= 0; s -= 4) {
            int digit = words[i] >> s & 15;
            if (digit || started || s == 0) text[n++] = "0123456789abcdef"[digit], started = 1;
        }
    }
    text[n++] = '\n';
    if (write(1, text, n) != n) abort();
}

static inline struct timespec soon(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 1;
    return t;
}

static inline void futex_wait(uint32_t *at, uint32_t value) {
    syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}
static inline uint64_t futex_wake(uint32_t *at, int count) {
    return syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}
#define HIDE(pointer) __asm__ volatile("" : "+r"(pointer)::"memory")
typedef uint8_t part1 __attribute__((may_alias));
typedef uint16_t part2 __attribute__((may_alias));
typedef uint32_t part4 __attribute__((may_alias));
typedef uint64_t part8 __attribute__((may_alias));
/* A few bits that differ where the word does, nearly always. */
#define FOLD(v, bits) ((uint64_t)(v) * 0x9E3779B97F4A7C15u >> (64 - (bits)))
"##;

/// A translation unit that holds these programs.
pub fn unit(programs: &[Program]) -> String {
    let main = "int main(int argc, char **argv) {\n    programs[argc > 1 ? atoi(argv[1]) : 0]();\n    return 0;\n}\n";
    START.to_owned() + super::MARK + &all(programs, false) + main
}

const NATIVE: &str = r##"
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>

/* Between statements, for no time or for some. */
static void pause_a_little(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint32_t chance = (uint32_t)t.tv_nsec * 2654435761u;
    uint32_t turns = (chance >> 12 & 4095) >> (chance >> 28);
    for (volatile uint32_t i = 0; i < turns; i++) {}
}
"##;

const NATIVE_MAIN: &str = r##"
int main(int argc, char **argv) {
    int number = atoi(argv[1]), runs = atoi(argv[2]), hung = 0;
    for (int i = 0; i < runs && hung < 3; i++) {
        pid_t child = fork();
        if (child < 0) return 2;
        if (child == 0) {
            struct itimerval soon = {{0, 0}, {0, 40000}};
            setitimer(ITIMER_REAL, &soon, NULL);
            if (!freopen("/dev/null", "w", stderr)) abort();
            programs[number]();
            exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child) return 2;
        int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        hung += signal == SIGALRM;
        if (signal) dprintf(1, "! %s\n", signal == SIGABRT ? "assertion" : signal == SIGALRM ? "hung" : "crash");
        else dprintf(1, "# %d\n", WEXITSTATUS(status));
    }
    return 0;
}
"##;

/// A translation unit that holds these programs, for the machine itself.
pub fn native_unit(programs: &[Program]) -> String {
    START.to_owned() + NATIVE + &all(programs, true) + NATIVE_MAIN
}

/// The programs and a table of them.
fn all(programs: &[Program], pauses: bool) -> String {
    let mut text = String::new();
    for (number, program) in programs.iter().enumerate() {
        text += &one(number, program, pauses).expect("a String takes everything");
    }
    let all: Vec<String> = (0..programs.len()).map(|number| format!("p{number}_main")).collect();
    format!("{text}\nstatic void (*const programs[])(void) = {{{}}};\n", all.join(", "))
}

/// The objects that a program uses, by name.
struct Used {
    globals: BTreeSet<String>,
}

impl Used {
    fn new(program: &Program) -> Used {
        let mut globals = super::objects(program, plain);
        program.each(&mut |t, stmt| {
            globals.extend(match stmt {
                Stmt::Key { .. } => Some("key".to_owned()),
                Stmt::PipeRead { .. } | Stmt::PipeWrite { .. } => Some("pipe".to_owned()),
                Stmt::Cas { place: Expected::Shared, .. } => Some(format!("e{t}")),
                Stmt::Cas { place: Expected::Heap, .. } => Some(format!("h{t}")),
                _ => None,
            });
        });
        Used { globals }
    }

    fn has(&self, name: &str) -> bool {
        self.globals.contains(name)
    }

    fn starting<'a>(&'a self, with: &'a [&str]) -> impl Iterator<Item = &'a String> {
        self.globals.iter().filter(move |name| {
            with.iter().any(|with| {
                name.strip_prefix(with).is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
            })
        })
    }
}

fn plain(at: Plain) -> String {
    match at {
        Plain::Racing(i) => format!("x{i}"),
        Plain::Volatile(i) => format!("v{i}"),
        Plain::Guarded(lock) => format!("g{}", lock.object()),
    }
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Relaxed => "__ATOMIC_RELAXED",
        Order::Acquire => "__ATOMIC_ACQUIRE",
        Order::Release => "__ATOMIC_RELEASE",
        Order::AcqRel => "__ATOMIC_ACQ_REL",
        Order::SeqCst => "__ATOMIC_SEQ_CST",
    }
}

struct Writer<'a> {
    program: &'a Program,
    used: Used,
    /// What all names of this program begin with.
    q: String,
    /// Does it pause between statements?
    pauses: bool,
}

fn one(number: usize, program: &Program, pauses: bool) -> Result<String, std::fmt::Error> {
    let writer = Writer { program, used: Used::new(program), q: format!("p{number}_"), pauses };
    let mut text = String::from("\n");
    writer.globals(&mut text)?;
    for t in (1..program.threads.len()).rev() {
        writer.thread(t, &mut text)?;
    }
    writer.main(&mut text)?;
    Ok(text)
}

impl Writer<'_> {
    fn globals(&self, text: &mut String) -> std::fmt::Result {
        let q = &self.q;
        for i in variables(self.program) {
            let variable = self.program.variables[usize::from(i)];
            let star = if variable.place == Storage::Global { "" } else { "*" };
            writeln!(text, "static uint{}_t {star}{q}a{i};", 8 * u32::from(variable.size))?;
        }
        for name in self.used.starting(&["x", "gm", "gw", "gs", "e", "f"]) {
            writeln!(text, "static uint32_t {q}{name};")?;
        }
        for name in self.used.starting(&["h"]) {
            writeln!(text, "static uint32_t *{q}{name};")?;
        }
        for name in self.used.starting(&["v"]) {
            writeln!(text, "static volatile uint32_t {q}{name};")?;
        }
        for (name, declaration) in [("u0", "uint64_t "), ("flag", "bool "), ("block", "uint32_t *")] {
            if self.used.has(name) {
                writeln!(text, "static {declaration}{q}{name};")?;
            }
        }
        for name in self.used.starting(&["m"]) {
            writeln!(text, "static pthread_mutex_t {q}{name} = PTHREAD_MUTEX_INITIALIZER;")?;
        }
        for name in self.used.starting(&["w"]) {
            writeln!(text, "static pthread_rwlock_t {q}{name} = PTHREAD_RWLOCK_INITIALIZER;")?;
        }
        for name in self.used.starting(&["s"]) {
            writeln!(text, "static pthread_spinlock_t {q}{name};")?;
        }
        for (name, declaration) in [
            ("c0", "pthread_cond_t c0 = PTHREAD_COND_INITIALIZER"),
            ("sem", "sem_t sem"),
            ("bar", "pthread_barrier_t bar"),
            ("once", "pthread_once_t once = PTHREAD_ONCE_INIT"),
            ("tl", "_Thread_local uint32_t tl"),
            ("key", "pthread_key_t key"),
            ("pipe", "int pipe[2]"),
        ] {
            if self.used.has(name) {
                let (kind, rest) = split_name(declaration);
                writeln!(text, "static {kind} {q}{rest};")?;
            }
        }
        let add = format!("__atomic_fetch_add({}, ", self.address(0));
        if self.used.has("once") {
            writeln!(text, "static void {q}run_once(void) {{ {add}1, __ATOMIC_RELAXED); }}")?;
        }
        if self.used.has("key") {
            writeln!(text, "static void {q}drop(void *v) {{ {add}(uintptr_t)v, __ATOMIC_RELAXED); }}")?;
        }
        for t in 1..self.program.threads.len() {
            writeln!(text, "static void *{q}t{t}(void *);")?;
        }
        if self.nests() {
            writeln!(text, "static uint64_t {q}res[4];")?;
        }
        Ok(())
    }

    /// Are there threads that are created by others than the main thread?
    fn nests(&self) -> bool {
        self.program.threads.iter().any(|thread| thread.creator != 0)
    }

    fn address(&self, var: u8) -> String {
        let star = if self.program.variables[usize::from(var)].place == Storage::Global { "&" } else { "" };
        format!("{star}{}a{var}", self.q)
    }

    fn thread(&self, t: usize, text: &mut String) -> std::fmt::Result {
        let count = registers(self.program, t);
        writeln!(text, "static void *{}t{t}(void *arg) {{", self.q)?;
        self.function(t, count, text)?;
        writeln!(text, "    return (void *)({});\n}}", packed(count))
    }

    /// The beginning and the body of a thread, up to where it has waited for those that it created.
    fn function(&self, t: usize, count: u8, text: &mut String) -> std::fmt::Result {
        if count > 0 {
            let names: Vec<String> = (0..count).map(|i| format!("r{i} = 0")).collect();
            writeln!(text, "    uint64_t {};", names.join(", "))?;
        }
        let children: Vec<usize> = self.children(t).collect();
        for child in &children {
            writeln!(text, "    pthread_t h{child};\n    pthread_create(&h{child}, NULL, {}t{child}, NULL);", self.q)?;
            if self.program.threads[*child].detached {
                writeln!(text, "    pthread_detach(h{child});")?;
            }
        }
        for stmt in &self.program.threads[t].body {
            if self.pauses {
                writeln!(text, "    pause_a_little();")?;
            }
            *text += &indent(&self.statement(t, stmt), 4);
        }
        for child in children.into_iter().filter(|child| !self.program.threads[*child].detached) {
            writeln!(text, "    void *v{child};\n    pthread_join(h{child}, &v{child});")?;
            if t != 0 {
                writeln!(text, "    {}res[{child}] = (uintptr_t)v{child};", self.q)?;
            }
        }
        Ok(())
    }

    fn children(&self, t: usize) -> impl Iterator<Item = usize> {
        let threads = self.program.threads.iter().enumerate().skip(1);
        threads.filter(move |(_, thread)| usize::from(thread.creator) == t).map(|(child, _)| child)
    }

    fn main(&self, text: &mut String) -> std::fmt::Result {
        let q = &self.q;
        let count = registers(self.program, 0);
        writeln!(text, "static void {q}main(void) {{")?;
        for i in variables(self.program) {
            let variable = self.program.variables[usize::from(i)];
            let bits = 8 * u32::from(variable.size);
            match variable.place {
                Storage::Global => {}
                Storage::Stack => writeln!(text, "    uint{bits}_t l{i} = 0;\n    {q}a{i} = &l{i};")?,
                Storage::Heap => writeln!(text, "    {q}a{i} = calloc(1, sizeof *{q}a{i});")?,
            }
        }
        if self.used.has("u0") {
            match self.program.word {
                WordBegins::Untouched => {}
                WordBegins::Whole => writeln!(text, "    {q}u0 = 0x0101010101010101u;")?,
                WordBegins::Filled => {
                    writeln!(text, "    size_t n = 8;\n    HIDE(n);\n    memset(&{q}u0, 2, n);")?;
                }
            }
        }
        for name in self.used.starting(&["h"]) {
            writeln!(text, "    {q}{name} = malloc(sizeof(uint32_t));\n    *{q}{name} = 0;")?;
        }
        for name in self.used.starting(&["m"]) {
            let kind = self.program.mutexes[usize::from(name.as_bytes()[1] - b'0')];
            let kind = match kind {
                MutexType::Normal => continue,
                MutexType::Recursive => "PTHREAD_MUTEX_RECURSIVE",
                MutexType::ErrorCheck => "PTHREAD_MUTEX_ERRORCHECK",
            };
            writeln!(
                text,
                "    pthread_mutexattr_t attr_{name};\n    pthread_mutexattr_init(&attr_{name});\n    \
                 pthread_mutexattr_settype(&attr_{name}, {kind});\n    pthread_mutex_init(&{q}{name}, &attr_{name});"
            )?;
        }
        for name in self.used.starting(&["s"]) {
            writeln!(text, "    pthread_spin_init(&{q}{name}, PTHREAD_PROCESS_PRIVATE);")?;
        }
        if self.used.has("sem") {
            writeln!(text, "    sem_init(&{q}sem, 0, {});", self.program.semaphore)?;
        }
        if self.used.has("bar") {
            writeln!(text, "    pthread_barrier_init(&{q}bar, NULL, {});", self.program.parties)?;
        }
        if self.used.has("key") {
            writeln!(text, "    pthread_key_create(&{q}key, {q}drop);")?;
        }
        if self.used.has("pipe") {
            writeln!(text, "    if (pipe({q}pipe)) abort();")?;
        }
        self.function(0, count, text)?;
        let mut words = vec![packed(count)];
        for (t, thread) in self.program.threads.iter().enumerate().skip(1) {
            words.push(match (thread.detached, thread.creator) {
                (true, _) => "0".to_owned(),
                (false, 0) => format!("(uintptr_t)v{t}"),
                _ if self.program.threads[usize::from(thread.creator)].detached => "0".to_owned(),
                (false, _) => format!("{q}res[{t}]"),
            });
        }
        words.resize(4, "0".to_owned());
        let mut atomics: Vec<String> = variables(self.program)
            .into_iter()
            .map(|i| format!("(uint64_t)(__atomic_load_n({}, __ATOMIC_RELAXED) & 255)", self.address(i)))
            .collect();
        atomics.extend(
            self.used
                .starting(&["f"])
                .map(|name| format!("(uint64_t)(__atomic_load_n(&{q}{name}, __ATOMIC_RELAXED) & 255)")),
        );
        let mut others: Vec<String> = Vec::new();
        if self.program.joins_all() {
            others.extend(
                self.used
                    .starting(&["x", "v", "gm", "gw", "gs", "e"])
                    .map(|name| format!("(uint64_t)({q}{name} & 255)")),
            );
            if self.used.has("u0") {
                others.push(format!("FOLD({q}u0, 8)"));
            }
            others.extend(self.used.starting(&["h"]).map(|name| format!("(uint64_t)(*{q}{name} & 255)")));
        }
        let shifted = |list: &[String]| match list {
            [] => "0".to_owned(),
            list => list.iter().enumerate().map(|(i, v)| format!("{v} << {}", 8 * i)).collect::<Vec<_>>().join(" | "),
        };
        words.push(shifted(&atomics));
        words.push(shifted(&others[..others.len().min(8)]));
        words.push(shifted(&others[others.len().min(8)..]));
        // One after the other: C does not say in which order arguments are read.
        for (i, word) in words.iter().enumerate() {
            writeln!(text, "    uint64_t o{i} = {word};")?;
        }
        writeln!(text, "    emit('=', o0, o1, o2, o3, o4, o5, o6);\n}}")
    }

    fn statement(&self, t: usize, stmt: &Stmt) -> String {
        let q = &self.q;
        let block = |body: &[Stmt]| -> String {
            indent(&body.iter().map(|stmt| self.statement(t, stmt)).collect::<String>(), 4)
        };
        match stmt {
            Stmt::Load { var, order: o, reg } => {
                format!("r{reg} = __atomic_load_n({}, {}) & 31;\n", self.address(*var), order(*o))
            }
            Stmt::Store { var, order: o, value } => {
                format!("__atomic_store_n({}, {}, {});\n", self.address(*var), operand(*value), order(*o))
            }
            Stmt::Rmw { var, order: o, how, value, reg } => {
                let name = match how {
                    Arithmetic::Exchange => "exchange_n",
                    Arithmetic::Add => "fetch_add",
                    Arithmetic::Sub => "fetch_sub",
                    Arithmetic::And => "fetch_and",
                    Arithmetic::Or => "fetch_or",
                    Arithmetic::Xor => "fetch_xor",
                };
                format!("r{reg} = __atomic_{name}({}, {value}, {}) & 31;\n", self.address(*var), order(*o))
            }
            Stmt::Cas { var, place, expected, desired, success, failure, weak, reg } => {
                let bits = 8 * u32::from(self.program.variables[usize::from(*var)].size);
                let call = |pointer: &str| {
                    format!(
                        "__atomic_compare_exchange_n({}, {pointer}, {desired}, {weak}, {}, {})",
                        self.address(*var),
                        order(*success),
                        order(*failure)
                    )
                };
                // Objects in memory have four bytes; where the variable is smaller, its own bytes are enough (little
                // endian).
                let (before, pointer, after) = match place {
                    Expected::Local => (format!("uint{bits}_t e = {expected};"), "&e".to_owned(), "e".to_owned()),
                    Expected::Shared if bits <= 32 => {
                        let name = format!("{q}e{t}");
                        (format!("{name} = {expected};"), format!("(uint{bits}_t *)&{name}"), name)
                    }
                    Expected::Heap if bits <= 32 => {
                        let name = format!("{q}h{t}");
                        (format!("*{name} = {expected};"), format!("(uint{bits}_t *){name}"), format!("*{name}"))
                    }
                    _ => (format!("uint{bits}_t e = {expected};"), "&e".to_owned(), "e".to_owned()),
                };
                format!(
                    "{{\n    {before}\n    uint64_t ok = {};\n    r{reg} = ok << 4 | ({after} & 15);\n}}\n",
                    call(&pointer)
                )
            }
            Stmt::Fence { order: o } => format!("__atomic_thread_fence({});\n", order(*o)),
            Stmt::PlainLoad { at, reg } => format!("r{reg} = {q}{} & 31;\n", plain(*at)),
            Stmt::PlainStore { at, value } => format!("{q}{} = {};\n", plain(*at), operand(*value)),
            Stmt::PartLoad { part, reg } => {
                let at = self.part(*part);
                match part.order {
                    Some(o) => format!("r{reg} = FOLD(__atomic_load_n({at}, {}), 5);\n", order(o)),
                    None => format!("r{reg} = FOLD(*{at}, 5);\n"),
                }
            }
            Stmt::PartStore { part, value } => {
                let at = self.part(*part);
                match part.order {
                    Some(o) => format!("__atomic_store_n({at}, {value}, {});\n", order(o)),
                    None => format!("*{at} = {value};\n"),
                }
            }
            Stmt::PartAdd { part, value, reg } => {
                let o = order(part.order.unwrap_or(Order::Relaxed));
                format!("r{reg} = FOLD(__atomic_fetch_add({}, {value}, {o}), 5);\n", self.part(*part))
            }
            Stmt::TestAndSet { order: o, reg } => {
                format!("r{reg} = __atomic_test_and_set(&{q}flag, {});\n", order(*o))
            }
            Stmt::Clear { order: o } => format!("__atomic_clear(&{q}flag, {});\n", order(*o)),
            Stmt::Publish { order: o, value } => format!(
                "{{\n    uint32_t *b = malloc(4);\n    *b = {value};\n    \
                 free(__atomic_exchange_n(&{q}block, b, {}));\n}}\n",
                order(*o)
            ),
            Stmt::Consume { order: o, reg } => format!(
                "{{\n    uint32_t *b = __atomic_exchange_n(&{q}block, NULL, {});\n    \
                 if (b) r{reg} = *b & 31;\n    free(b);\n}}\n",
                order(*o)
            ),
            Stmt::Peek { order: o, reg } => format!(
                "{{\n    uint32_t *b = __atomic_load_n(&{q}block, {});\n    if (b) r{reg} = *b & 31;\n}}\n",
                order(*o)
            ),
            Stmt::Fill { part, value } => format!(
                "{{\n    size_t n = {};\n    HIDE(n);\n    memset({}, {value}, n);\n}}\n",
                part.bytes,
                self.part(*part)
            ),
            Stmt::Copy { reg } => format!(
                "{{\n    uint64_t word = 0;\n    size_t n = 8;\n    HIDE(n);\n    memcpy(&word, &{q}u0, n);\n    \
                 r{reg} = FOLD(word, 5);\n}}\n"
            ),
            Stmt::Acquire { lock } => {
                let name = lock.object();
                match lock {
                    Lock::Mutex(_) => format!("pthread_mutex_lock(&{q}{name});\n"),
                    Lock::Read(_) => format!("pthread_rwlock_rdlock(&{q}{name});\n"),
                    Lock::Write(_) => format!("pthread_rwlock_wrlock(&{q}{name});\n"),
                    Lock::Spin(_) => format!("pthread_spin_lock(&{q}{name});\n"),
                }
            }
            Stmt::Release { lock } => format!("{}\n", self.release(*lock)),
            Stmt::Attempt { lock, how, reg, body } => {
                let name = format!("&{q}{}", lock.object());
                let call = match (lock, how) {
                    (Lock::Mutex(_), How::Timed) => format!("pthread_mutex_timedlock({name}, &until)"),
                    (Lock::Mutex(_), _) => format!("pthread_mutex_trylock({name})"),
                    (Lock::Read(_), How::Timed) => format!("pthread_rwlock_timedrdlock({name}, &until)"),
                    (Lock::Read(_), _) => format!("pthread_rwlock_tryrdlock({name})"),
                    (Lock::Write(_), How::Timed) => format!("pthread_rwlock_timedwrlock({name}, &until)"),
                    (Lock::Write(_), _) => format!("pthread_rwlock_trywrlock({name})"),
                    (Lock::Spin(_), _) => format!("pthread_spin_trylock({name})"),
                };
                let until = if call.contains("until") { "    struct timespec until = soon();\n" } else { "" };
                format!(
                    "{{\n{until}    if ({call} == 0) {{\n        r{reg} = 1;\n{}        {}\n    }}\n}}\n",
                    indent(&block(body), 4),
                    self.release(*lock)
                )
            }
            Stmt::CondWait { timed: false, reg } => format!(
                "pthread_mutex_lock(&{q}m0);\nwhile ({q}gm0 == 0) pthread_cond_wait(&{q}c0, &{q}m0);\n\
                 r{reg} = {q}gm0 & 31;\npthread_mutex_unlock(&{q}m0);\n"
            ),
            Stmt::CondWait { timed: true, reg } => format!(
                "{{\n    struct timespec until = soon();\n    pthread_mutex_lock(&{q}m0);\n    \
                 while ({q}gm0 == 0 && pthread_cond_timedwait(&{q}c0, &{q}m0, &until) == 0) {{}}\n    \
                 r{reg} = {q}gm0 & 31;\n    pthread_mutex_unlock(&{q}m0);\n}}\n"
            ),
            Stmt::CondSignal { value, all, inside } => {
                let call = format!("pthread_cond_{}(&{q}c0);", if *all { "broadcast" } else { "signal" });
                let (first, second) = if *inside { (call.as_str(), "") } else { ("", call.as_str()) };
                format!(
                    "pthread_mutex_lock(&{q}m0);\n{q}gm0 = {value};\n{first}\npthread_mutex_unlock(&{q}m0);\n{second}\n"
                )
            }
            Stmt::SemWait { how, reg } => match how {
                How::Wait => format!("r{reg} = sem_wait(&{q}sem) == 0;\n"),
                How::Try => format!("r{reg} = sem_trywait(&{q}sem) == 0;\n"),
                How::Timed => format!(
                    "{{\n    struct timespec until = soon();\n    r{reg} = sem_timedwait(&{q}sem, &until) == 0;\n}}\n"
                ),
            },
            Stmt::SemPost => format!("sem_post(&{q}sem);\n"),
            Stmt::Barrier { reg } => {
                format!("r{reg} = pthread_barrier_wait(&{q}bar) == PTHREAD_BARRIER_SERIAL_THREAD;\n")
            }
            Stmt::Once => format!("pthread_once(&{q}once, {q}run_once);\n"),
            Stmt::FutexWait { var, reg } => format!(
                "while ((r{reg} = __atomic_load_n(&{q}f{var}, __ATOMIC_ACQUIRE) & 31) == 0) futex_wait(&{q}f{var}, \
                 0);\n"
            ),
            Stmt::FutexWake { var, value, most, reg } => format!(
                "__atomic_store_n(&{q}f{var}, {value}, __ATOMIC_RELEASE);\nr{reg} = futex_wake(&{q}f{var}, {most});\n"
            ),
            Stmt::Await { var, order: o, yields, reg } => format!(
                "while ((r{reg} = __atomic_load_n({}, {}) & 31) == 0) {}\n",
                self.address(*var),
                order(*o),
                if *yields { "sched_yield();" } else { "{}" }
            ),
            Stmt::AwaitLocked { reg } => format!(
                "for (;;) {{\n    pthread_mutex_lock(&{q}m0);\n    r{reg} = {q}gm0 & 31;\n    \
                 pthread_mutex_unlock(&{q}m0);\n    if (r{reg}) break;\n    sched_yield();\n}}\n"
            ),
            Stmt::LockBoth { first, value, reg } => {
                let second = 1 - first;
                format!(
                    "for (;;) {{\n    pthread_mutex_lock(&{q}m{first});\n    \
                     if (pthread_mutex_trylock(&{q}m{second}) == 0) break;\n    \
                     pthread_mutex_unlock(&{q}m{first});\n    sched_yield();\n}}\n\
                     r{reg} = {q}gm{first} & 31;\n{q}gm{second} = {value};\n\
                     pthread_mutex_unlock(&{q}m{second});\npthread_mutex_unlock(&{q}m{first});\n"
                )
            }
            Stmt::Poll { var, order: o, times, reg } => format!(
                "for (int i = 0; i < {times} && (r{reg} = __atomic_load_n({}, {}) & 31) == 0; i++) {{}}\n",
                self.address(*var),
                order(*o)
            ),
            Stmt::If { reg, equals, body } => format!("if (r{reg} == {equals}) {{\n{}}}\n", block(body)),
            Stmt::Block { zeroed, value, reg } => format!(
                "{{\n    uint32_t *b = {};\n    HIDE(b);\n{}    *b = {value};\n    HIDE(b);\n    r{reg} += *b;\n    \
                 free(b);\n}}\n",
                if *zeroed { "calloc(1, 4)" } else { "malloc(4)" },
                if *zeroed { format!("    r{reg} = *b;\n") } else { String::new() }
            ),
            Stmt::Tls { value, reg } => format!("r{reg} = {q}tl;\n{q}tl = {value};\n"),
            Stmt::Key { value } => format!("pthread_setspecific({q}key, (void *)(uintptr_t){value});\n"),
            Stmt::End { how } => {
                let values = packed(registers(self.program, t));
                match how {
                    Ending::Exit => format!("emit('0' + {t}, {values}, 0, 0, 0, 0, 0, 0);\nexit('0' + {t});\n"),
                    Ending::QuickExit => format!("emit('0' + {t}, {values}, 0, 0, 0, 0, 0, 0);\n_exit('0' + {t});\n"),
                    Ending::Thread => format!("pthread_exit((void *)({values}));\n"),
                }
            }
            Stmt::Cancel { thread } => match self.program.threads.get(usize::from(*thread)) {
                Some(thread_) if thread_.creator == 0 && !thread_.detached => format!("pthread_cancel(h{thread});\n"),
                _ => ";\n".to_owned(),
            },
            Stmt::Sleep => "usleep(10);\n".to_owned(),
            Stmt::Yield => "sched_yield();\n".to_owned(),
            Stmt::PipeWrite { value } => {
                format!("{{\n    char c = {value};\n    if (write({q}pipe[1], &c, 1) != 1) abort();\n}}\n")
            }
            Stmt::PipeRead { reg } => {
                format!("{{\n    char c;\n    if (read({q}pipe[0], &c, 1) != 1) abort();\n    r{reg} = c & 31;\n}}\n")
            }
            Stmt::Assert { one, other } => {
                format!("assert(!(r{} == {} && r{} == {}));\n", one.0, one.1, other.0, other.1)
            }
            Stmt::Send { .. } | Stmt::Receive { .. } => ";\n".to_owned(),
        }
    }

    /// Where a part of the word lies.
    fn part(&self, part: Part) -> String {
        let Part { bytes, offset, .. } = part;
        format!("(part{bytes} *)((char *)&{}u0 + {offset})", self.q)
    }

    fn release(&self, lock: Lock) -> String {
        let name = format!("&{}{}", self.q, lock.object());
        match lock {
            Lock::Mutex(_) => format!("pthread_mutex_unlock({name});"),
            Lock::Read(_) | Lock::Write(_) => format!("pthread_rwlock_unlock({name});"),
            Lock::Spin(_) => format!("pthread_spin_unlock({name});"),
        }
    }
}

/// A declaration, cut before the name.
fn split_name(declaration: &str) -> (&str, &str) {
    let head = declaration.split_once(['=', '[']).map_or(declaration, |(head, _)| head).trim_end();
    let at = head.rfind(' ').unwrap_or(0);
    (&declaration[..at], declaration[at..].trim_start())
}

fn operand(value: Operand) -> String {
    match value {
        Operand::Const(value) => value.to_string(),
        Operand::Reg(reg) => format!("r{reg}"),
    }
}
