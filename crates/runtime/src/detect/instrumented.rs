//! Which functions of the program announce their accesses.
//!
//! Rust's standard library lies in the same file as the program and announces nothing: neither the locks that it
//! takes nor what it does under them. Its calls of `memcpy` must therefore not be taken for accesses of the
//! program's, or two threads that print would race. Instrumented functions are told by their call of
//! `__tsan_func_entry`.

use crate::platform::global::Global;
use crate::platform::{modules, symbols};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A function: where it begins and ends, and whether it is instrumented, once that was asked.
struct Function {
    start: usize,
    end: usize,
    answer: Option<bool>,
}

/// All functions of the executable by address, if it has parts without instrumentation; otherwise nothing.
static FUNCTIONS: Global<Vec<Function>> = Global::new(Vec::new());
/// The function that was asked for last: where it begins and ends, and the answer.
static LAST: Global<(usize, usize, bool)> = Global::new((0, 0, true));

/// Where `__tsan_func_entry` is.
static ENTRY: AtomicUsize = AtomicUsize::new(0);

/// Reads the executable's table of functions. Without one, everything counts as instrumented. Instrumented functions
/// call `entry`.
pub fn prepare(entry: usize) {
    ENTRY.store(entry, Ordering::Relaxed);
    let mut functions = FUNCTIONS.enter();
    functions.clear();
    symbols::each(|symbol| {
        if symbol.kind == symbols::Kind::Function {
            functions.push(Function { start: symbol.start, end: symbol.start + symbol.size, answer: None });
        }
    });
    functions.sort_unstable_by_key(|function| function.start);
}

/// Does the function that this return address lies in announce its accesses?
#[inline]
pub fn is_instrumented(pc: usize) -> bool {
    if FUNCTIONS.enter().is_empty() {
        return true;
    }
    let pc = pc.wrapping_sub(1);
    let (start, end, answer) = *LAST.enter();
    if (start..end).contains(&pc) { answer } else { look_up(pc) }
}

#[cold]
fn look_up(pc: usize) -> bool {
    let mut functions = FUNCTIONS.enter();
    let next = functions.partition_point(|function| function.start <= pc);
    let Some(function) = next.checked_sub(1).map(|i| &mut functions[i]).filter(|function| pc < function.end) else {
        // A library, or code that nobody has named.
        return true;
    };
    let (start, end) = (function.start, function.end);
    let answer = *function.answer.get_or_insert_with(|| announces_itself(start, end));
    *LAST.enter() = (start, end, answer);
    answer
}

/// Is there a call of `__tsan_func_entry` between these addresses?
fn announces_itself(start: usize, end: usize) -> bool {
    // SAFETY: a function of the program, as its symbol table says: mapped for reading.
    let code = unsafe { std::slice::from_raw_parts(start as *const u8, end - start) };
    let target = |at: usize| i32::from_le_bytes([code[at], code[at + 1], code[at + 2], code[at + 3]]);
    (0..code.len().saturating_sub(5)).any(|i| {
        let after = |length: usize| (start + i + length).wrapping_add_signed(target(i + length - 4) as isize);
        match (code[i], code[i + 1]) {
            // call rel32: to a stub that jumps on.
            (0xe8, _) => is_stub_of_entry(after(5)),
            // call [rip + rel32]
            (0xff, 0x15) if i + 6 <= code.len() => leads_to_entry(after(6)),
            _ => false,
        }
    })
}

/// Is this the stub through which the executable calls `__tsan_func_entry`? It jumps to where a word of memory says.
fn is_stub_of_entry(at: usize) -> bool {
    if !modules::is_executable(at, 16) {
        return false;
    }
    // SAFETY: within the executable's mapped code.
    let code = unsafe { std::slice::from_raw_parts(at as *const u8, 16) };
    // A mark for indirect branches may come first.
    let skip = if code.starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]) { 4 } else { 0 };
    let skip = skip + usize::from(code[skip] == 0xf2);
    if code[skip..skip + 2] != [0xff, 0x25] {
        return false;
    }
    let distance = i32::from_le_bytes([code[skip + 2], code[skip + 3], code[skip + 4], code[skip + 5]]);
    leads_to_entry((at + skip + 6).wrapping_add_signed(distance as isize))
}

/// Does this word of the executable hold the address of `__tsan_func_entry`?
fn leads_to_entry(word: usize) -> bool {
    let entry = ENTRY.load(Ordering::Relaxed);
    // SAFETY: within the executable, aligned, and mapped for reading.
    word.is_multiple_of(8) && modules::is_executable(word, 8) && unsafe { *(word as *const usize) } == entry
}
