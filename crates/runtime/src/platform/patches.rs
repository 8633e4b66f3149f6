//! Functions of the program that are led to others.
//!
//! The first five bytes of such a function become a jump to a stub near by, which jumps on to wherever the other one
//! is. The instructions that were there are copied, with a jump to what follows them: so the function can still be
//! called. That is possible where they do not depend on where they stand; what a function begins with hardly ever does.

use crate::platform::global::Global;
use crate::platform::{modules, sys};

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
    if STUBS.get().1 == 0 {
        let at = page()?;
        *STUBS.get() = (at, at + PAGE);
    }
    let (next, end) = *STUBS.get();
    let after = next + length.next_multiple_of(16);
    (after <= end).then(|| {
        STUBS.get().0 = after;
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
    let (_, end) = *STUBS.get();
    if end != 0 {
        sys::protect(end - PAGE, PAGE, libc::PROT_READ | libc::PROT_EXEC);
        *STUBS.get() = (0, 0);
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

/// The length of an instruction that does the same wherever it stands, if it is one of those that functions begin with.
fn movable(code: &[u8]) -> Option<usize> {
    let prefixes = code.iter().take_while(|byte| matches!(byte, 0xf0 | 0x64 | 0x66 | 0x40..=0x4f)).count();
    let after = code.get(prefixes..)?;
    Some(
        prefixes
            + match *after {
                [0xf3, 0x0f, 0x1e, 0xfa, ..] => 4,
                [0x50..=0x5f, ..] => 1,
                [0xb8..=0xbf, ..] if prefixes == 0 => 5,
                [0x0f, 0xb1 | 0xc1, ..] => 2 + operands(&after[2..])?,
                [0x83 | 0xc6, ..] => 2 + operands(&after[1..])?,
                [0x81 | 0xc7, ..] => 5 + operands(&after[1..])?,
                [0x01 | 0x03 | 0x29 | 0x2b | 0x31 | 0x33 | 0x39 | 0x3b | 0x85 | 0x87 | 0x89 | 0x8b | 0x8d, ..] => {
                    1 + operands(&after[1..])?
                }
                // inc, dec, push
                [0xff, form, ..] if matches!(form >> 3 & 7, 0 | 1 | 6) => 1 + operands(&after[1..])?,
                _ => return None,
            },
    )
}

/// The length of what says which registers and memory an instruction works on, unless that depends on where it stands.
fn operands(code: &[u8]) -> Option<usize> {
    let (form, index) = (*code.first()?, code.get(1).copied());
    let (kind, register) = (form >> 6, form & 7);
    let has_index = kind != 3 && register == 4;
    let length = 1 + usize::from(has_index);
    Some(match kind {
        3 => 1,
        0 if register == 5 => return None,
        0 if has_index && index? & 7 == 5 => length + 4,
        0 => length,
        1 => length + 1,
        _ => length + 4,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_functions_begin_with_have_their_length() {
        for code in [
            &[0x55][..],                                 // push rbp
            &[0x41, 0x57],                               // push r15
            &[0x48, 0x89, 0xe5],                         // mov rbp, rsp
            &[0x48, 0x83, 0xec, 0x20],                   // sub rsp, 32
            &[0x48, 0x81, 0xec, 0, 1, 0, 0],             // sub rsp, 256
            &[0xf0, 0xff, 0x07],                         // lock inc dword [rdi]
            &[0xf0, 0x48, 0xff, 0x47, 0x08],             // lock inc qword [rdi + 8]
            &[0xb8, 1, 0, 0, 0],                         // mov eax, 1
            &[0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0], // mov rax, fs:[0]
            &[0xf0, 0x0f, 0xb1, 0x0f],                   // lock cmpxchg [rdi], ecx
        ] {
            assert_eq!(movable(&[code, &[0x90; 8]].concat()), Some(code.len()), "{code:x?}");
        }
    }

    #[test]
    fn what_depends_on_its_place_is_not_moved() {
        for code in [
            &[0xe8, 0, 0, 0, 0][..],         // call
            &[0x74, 4],                      // je
            &[0x48, 0x8b, 0x05, 0, 0, 0, 0], // mov rax, [rip]
            &[0xff, 0x25, 0, 0, 0, 0],       // jmp [rip]
            &[0x48, 0x8d, 0x3d, 0, 0, 0, 0], // lea rdi, [rip]
            &[0xff, 0xd0],                   // call rax
        ] {
            assert_eq!(movable(&[code, &[0x90; 8]].concat()), None, "{code:x?}");
        }
    }
}
