//! Atomics that the instrumentation cannot see are found; what the compilers make of the languages' own is not taken
//! for one.

use crate::support::{Bench, have};
use fencepost_native::asm::{Effect, HiddenAtomic, Origin, scan};
use fencepost_native::symbols::Symbols;

fn found(bench: &Bench, program: &str) -> Vec<HiddenAtomic> {
    scan(&bench.path().join(program), &mut Symbols::new()).expect("readable")
}

/// Instruction, function and line of each.
fn brief(found: &[HiddenAtomic]) -> Vec<(&str, &str, u32)> {
    let mut brief: Vec<_> = found
        .iter()
        .map(|hidden| (hidden.instruction.as_str(), hidden.frames[0].function.as_str(), hidden.frames[0].line))
        .collect();
    brief.sort_by_key(|&(_, _, line)| line);
    brief
}

const ASSEMBLY: &str = "\
#include <emmintrin.h>
int lock, data;
static inline void full_fence(void) {
    __asm__ volatile(\"mfence\" ::: \"memory\");
}
static inline int cas(int *p, int from, int to) {
    int old;
    __asm__ volatile(\"lock cmpxchgl %2, %1\" : \"=a\"(old), \"+m\"(*p) : \"r\"(to), \"0\"(from) : \"memory\");
    return old == from;
}
static inline int swap(int *p, int v) {
    __asm__ volatile(\"xchgl %0, %1\" : \"+r\"(v), \"+m\"(*p) :: \"memory\");
    return v;
}
void store(void) {
    data = 1;
    _mm_sfence();
    full_fence();
}
int main(void) {
    while (!cas(&lock, 0, 1)) __builtin_ia32_pause();
    full_fence();
    data++;
    swap(&lock, 0);
    return 0;
}
";

#[test]
fn inline_assembly_is_found_at_every_level() {
    let bench = Bench::new();
    bench.file("spin.c", ASSEMBLY);
    for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
        bench.run(&format!("gcc -fsanitize=thread -g {level} spin.c -o spin"));
        let hidden = found(&bench, "spin");
        // The intrinsic is a function of a header, at whatever line.
        let (intrinsic, own): (Vec<_>, Vec<_>) =
            hidden.iter().cloned().partition(|hidden| hidden.instruction == "sfence");
        assert_eq!(
            brief(&own),
            [("mfence", "full_fence", 4), ("lock cmpxchg", "cas", 8), ("xchg", "swap", 12)],
            "{level}"
        );
        assert_eq!(intrinsic.len(), 1, "{level}");
        assert!(hidden.iter().all(|hidden| hidden.origin == Origin::Assembly), "{level}");
        let fence = own.iter().find(|hidden| hidden.instruction == "mfence").expect("found");
        assert_eq!(fence.effect, Effect::Fence);
        // At -O0 there is one function; inlined, it is there twice, and reported once.
        assert_eq!(fence.copies, if level == "-O0" { 1 } else { 2 }, "{level}");
        assert_eq!(fence.frames[0].file, "spin.c");
    }
}

/// Accesses in assembly are found by their source: in place, over several lines, and made by a macro. What only
/// orders the compiler, or waits, is none.
#[test]
fn plain_moves_in_assembly_are_found() {
    let bench = Bench::new();
    bench.file(
        "mov.c",
        "\
#define LOAD(I) int v; __asm__ volatile(I \" %1, %0\" : \"=r\"(v) : \"m\"(*p) : \"memory\"); return v
int x, y;
static inline void store(int *p, int v) {
    __asm__ volatile(\"movl %1, %0\" : \"=m\"(*p) : \"r\"(v) : \"memory\");
}
static inline int load(int *p) {
    int v;
    __asm__ volatile(
        \"movl %1, %0\"
        : \"=r\"(v)
        : \"m\"(*p));
    return v;
}
static inline int by_macro(int *p) {
    LOAD(\"movl\");
}
static inline void none(void) { __asm__ volatile(\"pause\"); __asm__ volatile(\"\" ::: \"memory\"); }
int main(void) {
    store(&x, 1);
    none();
    y = load(&x) + by_macro(&y);
    return y;
}
",
    );
    for level in ["-O0", "-O1", "-O2"] {
        bench.run(&format!("gcc -fsanitize=thread -g {level} mov.c -o mov"));
        let hidden = found(&bench, "mov");
        assert_eq!(brief(&hidden), [("mov", "store", 4), ("mov", "load", 8), ("mov", "by_macro", 15)], "{level}");
        assert!(hidden.iter().all(|hidden| hidden.effect == Effect::Access), "{level}");
    }
}

#[test]
fn the_message_says_what_where_and_what_to_do() {
    let bench = Bench::new();
    bench
        .file("fence.c", "int x;\nint main(void) {\n    x = 1;\n    __asm__ volatile(\"mfence\");\n    return x;\n}\n");
    bench.run("gcc -fsanitize=thread -g fence.c -o fence");
    let hidden = found(&bench, "fence");
    assert_eq!(
        hidden[0].to_string(),
        "fence.c:4:5: `mfence` in main is hidden from the instrumentation, and Fencepost does not control it: use the \
         language's atomics instead of assembly or intrinsics"
    );

    // Without debug information: the function, and only if it calls the runtime itself.
    bench.run("gcc -fsanitize=thread fence.c -o fence");
    let hidden = found(&bench, "fence");
    assert_eq!(hidden.len(), 1);
    assert!(hidden[0].to_string().starts_with("`mfence` in main+0x"), "{}", hidden[0]);
    bench.run("strip fence");
    let hidden = found(&bench, "fence");
    assert_eq!(hidden.len(), 1, "unwind information still tells functions apart");
}

#[test]
fn assembler_files_and_uninstrumented_files_are_told_apart() {
    let bench = Bench::new();
    bench.file(
        "swap.S",
        "    .globl swap\nswap:\n    mov %esi, %eax\n    xchg %eax, (%rdi)\n    ret\n    .section .note.GNU-stack\n",
    );
    bench.file("count.c", "int count;\nvoid add(void) {\n    __atomic_fetch_add(&count, 1, 5);\n}\n");
    bench.file(
        "main.c",
        "int swap(int *, int); void add(void); int x;\nint main(void) { add(); return swap(&x, 1); }\n",
    );
    bench.run("gcc -g -c swap.S");
    bench.run("gcc -g -O1 -c count.c");
    bench.run("gcc -g -fsanitize=thread -c main.c");
    bench.run("gcc -fsanitize=thread main.o count.o swap.o -o mixed");
    let hidden = found(&bench, "mixed");
    let mut origins: Vec<_> = hidden
        .iter()
        .map(|hidden| {
            (hidden.origin, hidden.frames[0].file.as_str(), hidden.frames[0].line, hidden.frames[0].function.as_str())
        })
        .collect();
    origins.sort();
    assert_eq!(origins, [(Origin::Assembly, "swap.S", 4, "swap"), (Origin::Uninstrumented, "count.c", 3, "add")]);
    let message = hidden.iter().find(|hidden| hidden.origin == Origin::Uninstrumented).expect("found").to_string();
    assert!(message.ends_with("build that file with -fsanitize=thread too"), "{message}");
}

const C11: &str = "\
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
atomic_int a; _Atomic long b; atomic_flag f = ATOMIC_FLAG_INIT; _Atomic char c; int plain; volatile int v;
struct big { char bytes[4096]; };
static struct big copy(struct big *from) { struct big to; memcpy(&to, from, sizeof to); return to; }
void *work(void *argument) {
    char buffer[20000];
    memset(buffer, atomic_load(&a), sizeof buffer);
    atomic_store(&a, 1); atomic_store_explicit(&a, 2, memory_order_release);
    atomic_fetch_add(&b, buffer[17]); atomic_fetch_or(&c, 3); atomic_exchange(&b, 3);
    long expected = 3; atomic_compare_exchange_strong(&b, &expected, 4); atomic_compare_exchange_weak(&b, &expected, 5);
    atomic_thread_fence(memory_order_seq_cst); atomic_signal_fence(memory_order_seq_cst);
    while (atomic_flag_test_and_set(&f)) {} atomic_flag_clear(&f);
    __sync_fetch_and_add(&plain, 1); __sync_synchronize(); __sync_lock_test_and_set(&plain, 1);
    __sync_bool_compare_and_swap(&plain, 1, 2); v++;
    struct big one; memset(&one, 1, sizeof one); one = copy(&one);
    printf(\"%d\\n\", one.bytes[plain & 7]);
    return argument;
}
int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); work(0); return pthread_join(t, 0); }
";

const CXX: &str = "\
#include <atomic>
#include <condition_variable>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>
struct Node { std::string name; std::shared_ptr<Node> next; };
std::shared_ptr<Node> head; std::atomic<int> n{0}; std::mutex m; std::shared_mutex s; std::once_flag once;
std::atomic<Node *> top{nullptr}; std::atomic<double> d{0};
Node &instance() { static Node node{\"static\", nullptr}; return node; }
thread_local std::vector<int> mine;
void work(int i) {
    std::call_once(once, [] { head = std::make_shared<Node>(); });
    { std::scoped_lock lock(m); head = std::make_shared<Node>(Node{instance().name, head}); }
    { std::shared_lock lock(s); n.fetch_add(i, std::memory_order_acq_rel); }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    Node *none = nullptr; top.compare_exchange_strong(none, &instance()); top.exchange(nullptr);
    double was = d.load(); while (!d.compare_exchange_weak(was, was + 1)) {}
    mine.push_back(i);
    try { if (i == 2) throw i; } catch (int) { n++; }
}
int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++) threads.emplace_back(work, i);
    auto answer = std::async(std::launch::async, [] { work(4); return n.load(); });
    for (auto &thread : threads) thread.join();
    std::cout << answer.get() << std::endl;
}
";

#[test]
fn atomics_of_c_and_cxx_are_calls() {
    let bench = Bench::new();
    let runtime = bench.runtime();
    bench.file("a.c", C11);
    bench.file("b.cc", CXX);
    let hardening = "-fstack-protector-all -fstack-clash-protection -fcf-protection -pthread";
    for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
        bench.run(&format!("gcc -fsanitize=thread -g {level} {hardening} a.c -o a"));
        assert_eq!(brief(&found(&bench, "a")), [], "gcc {level}");
        bench.run(&format!("g++ -fsanitize=thread -g {level} {hardening} b.cc -o b"));
        assert_eq!(brief(&found(&bench, "b")), [], "g++ {level}");
    }
    bench.run("g++ -fsanitize=thread -g -O2 -fno-plt -mindirect-branch=thunk -fcf-protection=none -pthread b.cc -o b");
    assert_eq!(brief(&found(&bench, "b")), [], "g++ with retpolines");
    if have("clang") {
        for level in ["-O0", "-O2"] {
            bench.run(&format!("clang -fsanitize=thread -g {level} {hardening} -c a.c -o a.o"));
            bench.run(&format!("gcc a.o {}/libtsan.so.2 -o a", runtime.display()));
            assert_eq!(brief(&found(&bench, "a")), [], "clang {level}");
        }
    }
}

#[test]
fn rust_has_none_but_what_it_is_given() {
    let bench = Bench::new();
    let runtime = bench.runtime();
    bench.file(
        "r.rs",
        "\
use std::sync::{atomic::*, mpsc, Arc, Mutex, OnceLock};
static X: AtomicUsize = AtomicUsize::new(0);
static ONCE: OnceLock<String> = OnceLock::new();
fn hidden() {
    unsafe { std::arch::asm!(\"mfence\") };
}
fn main() {
    let shared = Arc::new(Mutex::new(vec![ONCE.get_or_init(|| \"x\".into()).len()]));
    let (send, receive) = mpsc::channel();
    let other = shared.clone();
    let thread = std::thread::spawn(move || {
        other.lock().unwrap().push(X.fetch_add(1, Ordering::SeqCst));
        fence(Ordering::SeqCst);
        send.send(1).unwrap();
        hidden();
    });
    println!(\"{:?}\", receive.recv());
    thread.join().unwrap();
}
",
    );
    let out = bench.path().join("out");
    let program =
        fencepost_native::compiler::compile_single(&bench.path().join("r.rs"), &out, &runtime).expect("compiles");
    let hidden = scan(&program, &mut Symbols::new()).expect("readable");
    assert_eq!(brief(&hidden), [("mfence", "r::hidden", 5)]);
}
