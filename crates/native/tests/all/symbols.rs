//! Names of code and data in small programs, with and without debug information.

use crate::support::Bench;
use fencepost_native::symbols::{Frame, Pc, Symbols};
use object::{Object, ObjectSymbol};
use std::path::{Path, PathBuf};

/// The address and size of a symbol, by how its linker name begins.
fn symbol(module: &Path, start: &str) -> (u64, u64) {
    let bytes = std::fs::read(module).expect("built");
    let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*bytes).expect("ELF");
    let found =
        file.symbols().find(|symbol| symbol.name().is_ok_and(|name| name.starts_with(start)) && symbol.size() > 0);
    let found = found.unwrap_or_else(|| panic!("no symbol {start}"));
    (found.address(), found.size())
}

/// All distinct stacks of frames inside a function, as text.
fn stacks(module: &Path, function: &str) -> Vec<Vec<String>> {
    let (address, size) = symbol(module, function);
    let mut symbols = Symbols::new();
    let mut stacks: Vec<Vec<String>> = Vec::new();
    for offset in address..address + size {
        let frames = symbols.frames(module, Pc::At(offset));
        assert!(frames[..frames.len() - 1].iter().all(|frame| frame.inlined) && !frames[frames.len() - 1].inlined);
        let stack: Vec<String> = frames.iter().map(Frame::to_string).collect();
        if !stacks.contains(&stack) {
            stacks.push(stack);
        }
    }
    stacks
}

const C: &str = "\
static int total;
struct queue { int head, tail; } queue;
static inline __attribute__((always_inline)) void add(volatile int *p) {
    *p += 1;
}
void push(int *p) {
    add(p);
    static int calls;
    calls++;
    total++;
}
int main(void) { push(&queue.tail); return total; }
";

fn c_program(bench: &Bench, options: &str) -> PathBuf {
    bench.file("queue.c", C);
    bench.run(&format!("gcc {options} queue.c -o queue"));
    bench.path().join("queue")
}

#[test]
fn c_with_an_inlined_function() {
    let bench = Bench::new();
    let module = c_program(&bench, "-g -O1");
    let stacks = stacks(&module, "push");
    // gcc 12 puts the column at the operator; the test pins lines, which are the source's, and that there is a column.
    let inlined = stacks.iter().find(|stack| stack.len() == 2).expect("add is inlined into push");
    assert!(inlined[0].starts_with("add at queue.c:4:"), "{inlined:?}");
    assert!(inlined[1].starts_with("push at queue.c:7:"), "{inlined:?}");
    assert!(stacks.iter().any(|stack| stack[0].starts_with("push at queue.c:9:")), "{stacks:?}");

    // Without optimisation a function begins where its source does.
    let module = c_program(&bench, "-g -O0");
    let mut symbols = Symbols::new();
    let (address, _) = symbol(&module, "push");
    let frame = symbols.frames(&module, Pc::At(address))[0].clone();
    assert_eq!(frame.path(), Some(bench.path().canonicalize().expect("exists").join("queue.c")));
    let label = symbols.label(&module, Pc::At(address));
    assert_eq!((label.function.as_str(), label.file.as_str(), label.line), ("push", "queue.c", 6));
}

#[test]
fn variables_have_names_and_offsets() {
    let bench = Bench::new();
    let module = c_program(&bench, "-g -O0");
    let mut symbols = Symbols::new();
    let mut name = |start: &str, offset: u64| {
        let (address, _) = symbol(&module, start);
        symbols.global_name(&module, address + offset).map(|global| global.to_string())
    };
    assert_eq!(name("total", 0).as_deref(), Some("total"));
    // `struct queue { int head, tail; }`: the tail is at 4.
    assert_eq!(name("queue", 4).as_deref(), Some("queue.tail"));
    assert_eq!(name("queue", 6).as_deref(), Some("queue.tail+2"), "a byte of it");
    assert_eq!(name("calls.", 0).as_deref(), Some("calls"));
    let (main, _) = symbol(&module, "main");
    assert_eq!(symbols.global_name(&module, main), None, "code is not data");
    assert_eq!(symbols.global_name(Path::new("/nonexistent"), 0), None);
}

#[test]
fn without_debug_information_there_is_still_a_name() {
    let bench = Bench::new();
    let module = c_program(&bench, "-O1");
    let (address, size) = symbol(&module, "push");
    let mut symbols = Symbols::new();
    let text = |symbols: &mut Symbols, offset| symbols.frames(&module, Pc::At(offset))[0].to_string();
    assert_eq!(text(&mut symbols, address), "push");
    assert_eq!(text(&mut symbols, address + 4), "push+0x4");
    assert!(size > 4);

    bench.run("strip queue");
    let mut symbols = Symbols::new();
    assert_eq!(text(&mut symbols, address + 4), format!("queue+{:#x}", address + 4));
    assert_eq!(symbols.frames(Path::new("/nonexistent/lib.so"), Pc::At(16))[0].to_string(), "lib.so+0x10");
}

#[test]
fn separate_debug_files_are_found_and_stale_ones_are_not_used() {
    // With a build id, and without one, where the checksum decides.
    for id in ["-Wl,--build-id=sha1", "-Wl,--build-id=none"] {
        let bench = Bench::new();
        let module = c_program(&bench, &format!("-g -O0 {id}"));
        let (address, _) = symbol(&module, "push");
        bench.run("mkdir .debug");
        bench.run("objcopy --only-keep-debug queue .debug/queue.debug");
        bench.run("strip queue");
        bench.run("objcopy --add-gnu-debuglink=.debug/queue.debug queue");
        let text = |symbols: &mut Symbols| symbols.frames(&module, Pc::At(address))[0].to_string();
        assert!(text(&mut Symbols::new()).starts_with("push at queue.c:6:"), "{id}");

        let mut symbols = Symbols::new();
        let global = symbols.global_name(&module, symbol(&bench.path().join(".debug/queue.debug"), "total").0);
        assert_eq!(global.map(|global| global.name).as_deref(), Some("total"));

        // Another program's debug information under the right name.
        bench.file("other.c", "int push(void) { return 1; } int main(void) { return push(); }");
        bench.run(&format!("gcc -g {id} other.c -o other"));
        bench.run("objcopy --only-keep-debug other .debug/queue.debug");
        assert_eq!(text(&mut Symbols::new()), format!("queue+{address:#x}"), "{id}");
    }
}

#[test]
fn compressed_and_split_debug_information_is_read() {
    for options in ["-g -gz", "-g -gsplit-dwarf", "-gdwarf-4", "-g1", "-g -gdwarf64"] {
        let bench = Bench::new();
        let module = c_program(&bench, options);
        let (address, _) = symbol(&module, "push");
        let mut symbols = Symbols::new();
        let text = symbols.frames(&module, Pc::At(address))[0].to_string();
        assert!(text.starts_with("push at queue.c:6"), "{options}: {text}");
    }
}

#[test]
fn a_return_address_behind_the_last_instruction_belongs_to_the_call() {
    let bench = Bench::new();
    bench.file(
        "last.c",
        "__attribute__((noreturn, noinline)) void die(void);\n\
         void last(void) {\n    die();\n}\n\
         void next(void) {}\n\
         void die(void) { for (;;) ; }\n\
         int main(void) { last(); next(); }\n",
    );
    bench.run("gcc -g -O1 -fno-toplevel-reorder -falign-functions=1 last.c -o last");
    let module = bench.path().join("last");
    // `last` ends with the call; what follows it is already `next`.
    let (address, size) = symbol(&module, "last");
    let (next, _) = symbol(&module, "next");
    assert_eq!(address + size, next);
    let mut symbols = Symbols::new();
    let mut text = |pc| symbols.frames(&module, pc)[0].to_string();
    assert!(text(Pc::Return(next)).starts_with("last at last.c:3"), "{}", text(Pc::Return(next)));
    assert!(text(Pc::At(next)).starts_with("next at last.c:5"), "{}", text(Pc::At(next)));
}

#[test]
fn cxx_with_templates() {
    let bench = Bench::new();
    bench.file(
        "stack.cc",
        "\
namespace data {
template <class T> struct Stack {
    T items[8]; int size = 0;
    __attribute__((always_inline)) void grow() {
        size = size + 1;
    }
    __attribute__((noinline)) void push(const T &item) {
        items[size] = item;
        grow();
    }
};
Stack<long> shared;
}
int main() {
    auto job = [](int n) __attribute__((noinline)) {
        data::shared.push(n);
    };
    job(3);
}
",
    );
    bench.run("g++ -g -O1 stack.cc -o stack");
    let module = bench.path().join("stack");
    let push = stacks(&module, "_ZN4data5StackIlE4pushERKl");
    assert!(
        push.iter().any(|stack| stack.len() == 2
            && stack[0].starts_with("data::Stack<long>::grow at stack.cc:5:")
            && stack[1].starts_with("data::Stack<long>::push at stack.cc:9:")),
        "{push:?}"
    );
    let job = stacks(&module, "_ZZ4mainENK");
    assert!(
        job.iter().any(|stack| stack[0].starts_with("main::{lambda(int)#1}::operator() at stack.cc:16:")),
        "{job:?}"
    );
    let (shared, _) = symbol(&module, "_ZN4data6sharedE");
    let global = Symbols::new().global_name(&module, shared + 64).expect("a variable");
    // Eight longs come before the size.
    assert_eq!(global.to_string(), "data::shared.size");
    assert_eq!((global.offset, global.size), (64, 72));
    let global = Symbols::new().global_name(&module, shared + 24).expect("a variable");
    assert_eq!(global.to_string(), "data::shared.items[3]");
}

/// What a name says of `offset` bytes into a variable, by the beginning of its linker name.
fn names(module: &Path, variable: &str, offsets: &[u64]) -> Vec<String> {
    let (address, _) = symbol(module, variable);
    let mut symbols = Symbols::new();
    offsets.iter().map(|o| symbols.global_name(module, address + o).expect("a variable").to_string()).collect()
}

#[test]
fn members_and_elements_of_c() {
    let bench = Bench::new();
    bench.file(
        "parts.c",
        "\
#include <stdatomic.h>
struct point { short x, y; };
typedef volatile struct point moving;
struct part {
    int id;
    struct { char tag; int inner; };
    union { int number; float real; } value;
    moving corners[2][3];
    atomic_int count;
    unsigned low : 3, high : 13, other : 16;
    struct opaque *next;
    int rest[];
};
struct part lone;
struct part many[3];
int main(void) { return lone.id + many[1].id; }
",
    );
    for options in ["gcc -g", "gcc -g -O1 -gdwarf-4", "clang -g", "clang -g -gdwarf-4"] {
        if options.starts_with("clang") && !crate::support::have("clang") {
            continue;
        }
        bench.run(&format!("{options} parts.c -o parts"));
        let module = bench.path().join("parts");
        // id 0, tag 4, inner 8, value 12, corners 16 to 40, count 40, bits 44, next 48, rest 56.
        let found = names(&module, "lone", &[0, 4, 5, 8, 12, 13, 16, 18, 30, 40, 44, 45, 46, 48]);
        let expected = [
            "lone.id",
            "lone.tag",
            // Nothing is there, and of the union nobody knows which.
            "lone+5",
            "lone.inner",
            "lone.value",
            "lone.value+1",
            "lone.corners[0][0].x",
            "lone.corners[0][0].y",
            "lone.corners[1][0].y",
            "lone.count",
            // Bits of two members are in the first byte, of one in the others.
            "lone+44",
            "lone.high+1",
            "lone.other",
            "lone.next",
        ];
        assert_eq!(found, expected, "{options}");
        assert_eq!(names(&module, "many", &[56, 56 + 40, 112 + 8]), ["many[1].id", "many[1].count", "many[2].inner"]);
    }
}

#[test]
fn members_of_cxx() {
    let bench = Bench::new();
    bench.file(
        "parts.cc",
        "\
#include <atomic>
#include <vector>
struct Base { long base; };
struct Node : Base {
    std::atomic<Node *> next;
    std::vector<int> items;
    static int made;
    struct Only { int value; } only;
};
int Node::made;
namespace list { Node head; }
struct Counter { static Counter &get() { static Counter counter; return counter; } std::atomic<bool> busy; };
int main() { return list::head.only.value + Node::made + Counter::get().busy; }
",
    );
    for compiler in ["g++", "clang++"] {
        if !crate::support::have(compiler) {
            continue;
        }
        bench.run(&format!("{compiler} -g parts.cc -o parts"));
        let module = bench.path().join("parts");
        // The base class, an atomic, three pointers, and a structure of the program's own.
        let found = names(&module, "_ZN4list4headE", &[0, 8, 24, 40]);
        let expected = ["list::head.base", "list::head.next", "list::head.items._M_finish", "list::head.only.value"];
        assert_eq!(found, expected, "{compiler}");
        assert_eq!(names(&module, "_ZN4Node4madeE", &[0]), ["Node::made"]);
        assert_eq!(names(&module, "_ZZN7Counter3getEvE7counter", &[0]), ["Counter::get()::counter.busy"]);
    }
}

#[test]
fn members_of_rust() {
    let bench = Bench::new();
    bench.file(
        "parts.rs",
        "\
use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
#[repr(C)]
struct Slot { state: AtomicU32, value: UnsafeCell<(u16, u16)> }
unsafe impl Sync for Slot {}
#[repr(C)]
struct Queue { head: AtomicUsize, slots: [Slot; 2] }
#[unsafe(no_mangle)]
static QUEUE: Queue = Queue {
    head: AtomicUsize::new(0),
    slots: [const { Slot { state: AtomicU32::new(0), value: UnsafeCell::new((0, 0)) } }; 2],
};
#[unsafe(no_mangle)]
static LOCKED: Mutex<[u64; 2]> = Mutex::new([1, 2]);
fn main() {
    let value = unsafe { *QUEUE.slots[1].value.get() };
    println!(\"{} {}\", QUEUE.head.load(Relaxed) + usize::from(value.0), LOCKED.lock().unwrap()[1]);
}
",
    );
    bench.run("rustc --edition 2024 -g parts.rs -o parts");
    let module = bench.path().join("parts");
    let found = names(&module, "QUEUE", &[0, 8, 16, 20]);
    assert_eq!(found[..3], ["QUEUE.head", "QUEUE.slots[0].state", "QUEUE.slots[1].state"]);
    // Rust may put the members of a tuple in any order.
    assert!(["QUEUE.slots[1].value.0", "QUEUE.slots[1].value.1"].contains(&found[3].as_str()), "{}", found[3]);
    let parts = names(&module, "LOCKED", &[0, 4, 8, 16]);
    assert!(parts.contains(&"LOCKED.data[1]".to_owned()) && parts.contains(&"LOCKED.inner".to_owned()), "{parts:?}");
}

#[test]
fn rust() {
    let bench = Bench::new();
    bench.file(
        "queue.rs",
        "\
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
mod data {
    pub static HEAD: super::AtomicUsize = super::AtomicUsize::new(0);
}
#[inline(always)]
fn bump<T: Into<usize>>(by: T) {
    data::HEAD.fetch_add(by.into(), Relaxed);
}
#[inline(never)]
fn push(by: u8) {
    bump(by);
}
fn main() {
    push(std::env::args().count() as u8);
}
",
    );
    bench.run("rustc --edition 2021 -g -Copt-level=1 queue.rs -o queue");
    let module = bench.path().join("queue");
    let bytes = std::fs::read(&module).expect("built");
    let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*bytes).expect("ELF");
    let linker_name = |wanted: &str| {
        let name =
            |symbol: &object::read::elf::ElfSymbol64<'_, '_, object::Endianness>| symbol.name().ok().map(str::to_owned);
        file.symbols().filter_map(|s| name(&s)).find(|name| fencepost_native::symbols::demangle(name) == wanted)
    };
    let push = stacks(&module, &linker_name("queue::push").expect("a function"));
    assert!(
        push.iter().any(|stack| {
            let bump = stack.iter().position(|frame| frame.starts_with("queue::bump at queue.rs:7:"));
            // The atomic operation itself is a function of core, inlined into bump.
            bump.is_some_and(|at| at > 0 && stack[at + 1].starts_with("queue::push at queue.rs:11:"))
        }),
        "{push:?}"
    );
    let (head, _) = symbol(&module, &linker_name("queue::data::HEAD").expect("a variable"));
    assert_eq!(Symbols::new().global_name(&module, head).expect("a variable").name, "queue::data::HEAD");
}
