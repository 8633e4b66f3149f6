//! Functions of libc that read and write memory of the program's.
//!
//! Compilers leave calls of `memcpy` and its like as they are (gcc) or rename them (`__tsan_memcpy`, clang). The runtime's own code calls these functions
//! too, so that they must work at any time, before anything is prepared.

use super::access;
use crate::global;
use crate::shadow::{Kind, READ, WRITE};
use std::arch::{asm, naked_asm};
use std::sync::atomic::{AtomicUsize, Ordering};

static COPY: AtomicUsize = AtomicUsize::new(0);
static MOVE: AtomicUsize = AtomicUsize::new(0);
static SET: AtomicUsize = AtomicUsize::new(0);

/// Looks the real functions up. Until then there are slow ones.
pub fn prepare() {
    COPY.store(crate::real::address!(memcpy), Ordering::Relaxed);
    MOVE.store(crate::real::address!(memmove), Ordering::Relaxed);
    SET.store(crate::real::address!(memset), Ordering::Relaxed);
}

type Copy = unsafe extern "C" fn(*mut u8, *const u8, usize) -> *mut u8;
type Set = unsafe extern "C" fn(*mut u8, i32, usize) -> *mut u8;

/// Copies, whichever way the two overlap.
///
/// # Safety
/// As `memmove`.
#[inline(always)]
unsafe fn copy(to: *mut u8, from: *const u8, length: usize, real: &AtomicUsize) -> *mut u8 {
    let real = real.load(Ordering::Relaxed);
    if real != 0 {
        // SAFETY: the address of libc's function.
        return unsafe { std::mem::transmute::<usize, Copy>(real)(to, from, length) };
    }
    // SAFETY: the caller's promise. Backwards if the target begins within the source.
    unsafe {
        if (to as usize).wrapping_sub(from as usize) < length {
            asm!("std", "rep movsb", "cld", inout("rcx") length => _, inout("rdi") to.add(length).wrapping_sub(1) => _,
                inout("rsi") from.add(length).wrapping_sub(1) => _, options(nostack));
        } else {
            asm!("rep movsb", inout("rcx") length => _, inout("rdi") to => _, inout("rsi") from => _,
                options(nostack, preserves_flags));
        }
    }
    to
}

/// # Safety
/// As `memset`.
#[inline(always)]
unsafe fn set(to: *mut u8, byte: i32, length: usize) -> *mut u8 {
    let real = SET.load(Ordering::Relaxed);
    if real != 0 {
        // SAFETY: the address of libc's function.
        return unsafe { std::mem::transmute::<usize, Set>(real)(to, byte, length) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        asm!("rep stosb", inout("rcx") length => _, inout("rdi") to => _, in("al") byte as u8,
            options(nostack, preserves_flags));
    }
    to
}

/// A function of three arguments that gets the return address as the fourth and the stack pointer as the fifth: the runtime calls it too, and
/// must not overwrite where the program called from.
macro_rules! quiet {
    (fn $name:ident($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty, $place:ident) -> $ret:ty $body:block) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            pub extern "C" fn body($a: $ta, $b: $tb, $c: $tc, pc: usize, sp: usize) -> $ret {
                let $place = (pc, sp);
                $body
            }
        }
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!("mov rcx, [rsp]", "mov r8, rsp", "jmp {body}", body = sym $name::body)
        }
    };
}

/// The program is about to read or write memory through a function of libc.
#[inline(always)]
fn announce(address: usize, length: usize, kind: Kind, place: (usize, usize)) {
    if global::active() {
        global::set_caller(place.0, place.1);
        access::by_library(address, length, kind, place.0);
    }
}

macro_rules! copies {
    ($($name:ident $real:ident;)*) => { $(
        quiet! { fn $name(to: *mut u8, from: *const u8, length: usize, place) -> *mut u8 {
            announce(from as usize, length, READ, place);
            announce(to as usize, length, WRITE, place);
            // SAFETY: the program's own call.
            unsafe { copy(to, from, length, &$real) }
        } }
    )* };
}

copies! {
    memcpy COPY;
    memmove MOVE;
    __tsan_memcpy COPY;
    __tsan_memmove MOVE;
}

macro_rules! sets {
    ($($name:ident)*) => { $(
        quiet! { fn $name(to: *mut u8, byte: i32, length: usize, place) -> *mut u8 {
            announce(to as usize, length, WRITE, place);
            // SAFETY: the program's own call.
            unsafe { set(to, byte, length) }
        } }
    )* };
}

sets! { memset __tsan_memset }
