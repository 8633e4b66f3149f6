//! Code of the program that becomes other code: instructions that are replaced, and functions that are led to others.
//!
//! The first five bytes of such a function become a jump to a stub near by, which jumps on to wherever the other one
//! is. The instructions that were there are copied, with a jump to what follows them: so the function can still be
//! called. That is possible where they do not depend on where they stand; what a function begins with hardly ever does.

use crate::platform::global::Global;
use crate::platform::{modules, sys};
use fencepost_runtime_core::machine_code::movable;

const PAGE: usize = 4096;
/// The length of a jump to near by.
const JUMP: usize = 5;
/// How far before the program the stubs are, at the least and at the most.
const NEAR: usize = 1 << 20;
const FAR: usize = 1 << 28;

/// Where stubs are written: the next free byte, and the end.
static STUBS: Global<(usize, usize)> = Global::new((0, 0));

/// Room for a stub, in a page before the program, where nothing grows.
fn room(length: usize) -> Option<usize> {
    let mut stubs = STUBS.enter();
    if stubs.1 == 0 {
        let at = page()?;
        *stubs = (at, at + PAGE);
    }
    let (next, end) = *stubs;
    let after = next + length.next_multiple_of(16);
    (after <= end).then(|| {
        stubs.0 = after;
        next
    })
}

fn page() -> Option<usize> {
    let (start, _) = modules::executable()?;
    let places = (NEAR..FAR).step_by(NEAR).filter_map(|distance| start.checked_sub(distance));
    places.map(|at| at & !(PAGE - 1)).find(|at| *at != 0 && sys::reserve(*at, PAGE).is_some())
}

/// Nothing more is written: the stubs become code.
pub fn finish() {
    let (_, end) = *STUBS.enter();
    if end != 0 {
        sys::protect(end - PAGE, PAGE, libc::PROT_READ | libc::PROT_EXEC);
        *STUBS.enter() = (0, 0);
    }
}

/// Writes code that ends with a jump to `target`, however far that is.
fn write_stub(code: &[u8], target: usize) -> Option<usize> {
    const JUMP_BY_NEXT_WORD: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
    let at = room(code.len() + JUMP_BY_NEXT_WORD.len() + 8)?;
    let all: Vec<u8> = code.iter().chain(&JUMP_BY_NEXT_WORD).copied().chain(target.to_le_bytes()).collect();
    // SAFETY: room that was just made for this, and nobody else's.
    unsafe { std::ptr::copy_nonoverlapping(all.as_ptr(), at as *mut u8, all.len()) };
    Some(at)
}

/// How a function can be called that was led away.
pub fn original(start: usize, size: usize) -> Option<usize> {
    // SAFETY: a function of the program, mapped for reading.
    let code = unsafe { std::slice::from_raw_parts(start as *const u8, size) };
    if let [0xe9, a, b, c, d, ..] = *code {
        // It is a jump itself.
        return write_stub(&[], (start + JUMP).wrapping_add_signed(i32::from_le_bytes([a, b, c, d]) as isize));
    }
    let mut length = 0;
    while length < JUMP {
        length += movable(code.get(length..)?)?;
    }
    write_stub(&code[..length], start + length)
}

/// What the processor refuses (`ud2`).
pub const REFUSED: [u8; 2] = [0x0f, 0x0b];

/// Replaces two bytes of code, if they are what is expected there.
pub fn replace(pc: usize, expected: [u8; 2], by: [u8; 2]) -> bool {
    // SAFETY: code of the program, mapped for reading; the host has decoded it.
    let code = unsafe { std::slice::from_raw_parts(pc as *const u8, by.len()) };
    if *code != expected {
        return false;
    }
    let (first, end) = (pc & !(PAGE - 1), (pc + by.len()).next_multiple_of(PAGE));
    let executable = libc::PROT_READ | libc::PROT_EXEC;
    if !sys::protect(first, end - first, executable | libc::PROT_WRITE) {
        return false;
    }
    // SAFETY: code of the program that nobody runs now, writable since a moment ago.
    unsafe { std::ptr::copy_nonoverlapping(by.as_ptr(), pc as *mut u8, by.len()) };
    sys::protect(first, end - first, executable)
}

/// Leads whoever calls the function at `start` to `target`.
pub fn lead(start: usize, size: usize, target: usize) -> bool {
    let Some(stub) = (size >= JUMP).then(|| write_stub(&[], target)).flatten() else { return false };
    let Ok(distance) = i32::try_from(stub as isize - (start + JUMP) as isize) else { return false };
    let (first, end) = (start & !(PAGE - 1), (start + JUMP).next_multiple_of(PAGE));
    let code = libc::PROT_READ | libc::PROT_EXEC;
    if !sys::protect(first, end - first, code | libc::PROT_WRITE) {
        return false;
    }
    let jump: [u8; JUMP] = {
        let d = distance.to_le_bytes();
        [0xe9, d[0], d[1], d[2], d[3]]
    };
    // SAFETY: code of the program that nobody runs now, writable since a moment ago.
    unsafe { std::ptr::copy_nonoverlapping(jump.as_ptr(), start as *mut u8, JUMP) };
    sys::protect(first, end - first, code)
}
