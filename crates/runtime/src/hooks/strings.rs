//! Functions of libc that read and write memory of the program's.
//!
//! Compilers leave calls of `memcpy` and its like as they are (gcc, if it is asked not to expand them) or rename them
//! (`__tsan_memcpy`, rustc). The runtime's own code calls these functions too, so that they must work at any time,
//! before anything is prepared.
//!
//! What a function reads of a string ends with the byte that decides: the first difference, the character that is
//! looked for, the 0 at the end.

use super::access;
use crate::detect::shadow::{Kind, READ, WRITE};
use crate::platform::global;
use crate::platform::real::real;
use std::arch::{asm, naked_asm};
use std::sync::atomic::{AtomicUsize, Ordering};

static COPY: AtomicUsize = AtomicUsize::new(0);
static MOVE: AtomicUsize = AtomicUsize::new(0);
static SET: AtomicUsize = AtomicUsize::new(0);
static COMPARE: AtomicUsize = AtomicUsize::new(0);
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Looks the real functions up. Until then there are slow ones.
pub fn prepare() {
    COPY.store(crate::platform::real::address!(memcpy), Ordering::Relaxed);
    MOVE.store(crate::platform::real::address!(memmove), Ordering::Relaxed);
    SET.store(crate::platform::real::address!(memset), Ordering::Relaxed);
    COMPARE.store(crate::platform::real::address!(memcmp), Ordering::Relaxed);
    LENGTH.store(crate::platform::real::address!(strlen), Ordering::Relaxed);
}

type Copy = unsafe extern "C" fn(*mut u8, *const u8, usize) -> *mut u8;
type Set = unsafe extern "C" fn(*mut u8, i32, usize) -> *mut u8;
type Compare = unsafe extern "C" fn(*const u8, *const u8, usize) -> i32;
type Length = unsafe extern "C" fn(*const u8) -> usize;

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

/// A function of up to four arguments that gets the return address as the fifth and the stack pointer as the sixth:
/// the runtime calls it too, and must not overwrite where the program called from.
macro_rules! quiet {
    (fn $name:ident($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty, $d:ident: $td:ty, $place:ident) -> $ret:ty
        $body:block) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            pub extern "C" fn body($a: $ta, $b: $tb, $c: $tc, $d: $td, pc: usize, sp: usize) -> $ret {
                let $place = (pc, sp);
                $body
            }
        }
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!("mov r8, [rsp]", "mov r9, rsp", "jmp {body}", body = sym $name::body)
        }
    };
    (fn $name:ident($($argument:ident: $type:ty),*; $place:ident) -> $ret:ty $body:block) => {
        quiet! { @fill $name ($($argument: $type,)*) $place $ret $body }
    };
    (@fill $name:ident ($a:ident: $ta:ty,) $place:ident $ret:ty $body:block) => {
        quiet! { fn $name($a: $ta, _b: usize, _c: usize, _d: usize, $place) -> $ret $body }
    };
    (@fill $name:ident ($a:ident: $ta:ty, $b:ident: $tb:ty,) $place:ident $ret:ty $body:block) => {
        quiet! { fn $name($a: $ta, $b: $tb, _c: usize, _d: usize, $place) -> $ret $body }
    };
    (@fill $name:ident ($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty,) $place:ident $ret:ty $body:block) => {
        quiet! { fn $name($a: $ta, $b: $tb, $c: $tc, _d: usize, $place) -> $ret $body }
    };
    (@fill $name:ident ($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty, $d:ident: $td:ty,) $place:ident $ret:ty
        $body:block) => {
        quiet! { fn $name($a: $ta, $b: $tb, $c: $tc, $d: $td, $place) -> $ret $body }
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
        quiet! { fn $name(to: *mut u8, from: *const u8, length: usize; place) -> *mut u8 {
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
        quiet! { fn $name(to: *mut u8, byte: i32, length: usize; place) -> *mut u8 {
            announce(to as usize, length, WRITE, place);
            // SAFETY: the program's own call.
            unsafe { set(to, byte, length) }
        } }
    )* };
}

sets! { memset __tsan_memset }

quiet! { fn mempcpy(to: *mut u8, from: *const u8, length: usize; place) -> *mut u8 {
    announce(from as usize, length, READ, place);
    announce(to as usize, length, WRITE, place);
    // SAFETY: the program's own call.
    unsafe { copy(to, from, length, &COPY).add(length) }
} }

quiet! { fn bzero(to: *mut u8, length: usize; place) -> *mut u8 {
    announce(to as usize, length, WRITE, place);
    // SAFETY: the program's own call.
    unsafe { set(to, 0, length) }
} }

/// What `_FORTIFY_SOURCE` makes of them: they know how large the target is.
macro_rules! checked {
    ($($name:ident $check:ident $from:ident;)*) => { $(
        quiet! { fn $name(to: *mut u8, from: usize, length: usize, room: usize; place) -> *mut u8 {
            if length > room {
                return real!($name(to, from, length, room): fn(*mut u8, usize, usize, usize) -> *mut u8);
            }
            checked!(@$from from length place);
            announce(to as usize, length, WRITE, place);
            // SAFETY: the program's own call.
            unsafe { checked!(@$check to from length) }
        } }
    )* };
    (@memory $from:ident $length:ident $place:ident) => { announce($from, $length, READ, $place) };
    (@byte $from:ident $length:ident $place:ident) => {};
    (@copy $to:ident $from:ident $length:ident) => { copy($to, $from as *const u8, $length, &COPY) };
    (@moving $to:ident $from:ident $length:ident) => { copy($to, $from as *const u8, $length, &MOVE) };
    (@set $to:ident $from:ident $length:ident) => { set($to, $from as i32, $length) };
}

checked! {
    __memcpy_chk copy memory;
    __memmove_chk moving memory;
    __memset_chk set byte;
}

/// A byte of a string. Not for the compiler to make a call of one of these functions of a loop over it.
///
/// # Safety
/// It is there.
#[inline(always)]
unsafe fn byte(text: *const u8, at: usize) -> u8 {
    // SAFETY: the caller's promise.
    unsafe { text.add(at).read_volatile() }
}

/// How many bytes up to the first that is `wanted` or 0, at most `most`. Without that byte.
///
/// # Safety
/// They are there.
unsafe fn span(text: *const u8, wanted: u8, most: usize) -> usize {
    // SAFETY: the caller's promise: none behind the first such byte is looked at.
    (0..most).find(|i| unsafe { matches!(byte(text, *i), b if b == wanted || b == 0) }).unwrap_or(most)
}

/// Where two texts first differ, or both end if 0 ends them; at most `most`.
///
/// # Safety
/// They are there up to that byte.
unsafe fn common(one: *const u8, other: *const u8, most: usize, ends: bool) -> usize {
    let differ = |i: usize| {
        // SAFETY: the caller's promise: none behind the first such byte is looked at.
        let (a, b) = unsafe { (byte(one, i), byte(other, i)) };
        a != b || (ends && a == 0)
    };
    (0..most).find(|i| differ(*i)).unwrap_or(most)
}

/// Which of two texts is the larger: by the byte at which they differ.
///
/// # Safety
/// That byte is there.
unsafe fn order(one: *const u8, other: *const u8, at: usize, most: usize) -> i32 {
    // SAFETY: the caller's promise.
    if at == most { 0 } else { unsafe { i32::from(byte(one, at)) - i32::from(byte(other, at)) } }
}

macro_rules! comparisons {
    ($($name:ident $(($limit:ident))?;)*) => { $(
        quiet! { fn $name(one: *const u8, other: *const u8, most: usize; place) -> i32 {
            let most = comparisons!(@limit $($limit)? most);
            // SAFETY: the program's own call.
            unsafe {
                if global::active() {
                    let read = common(one, other, most, true).saturating_add(1).min(most);
                    announce(one as usize, read, READ, place);
                    announce(other as usize, read, READ, place);
                }
                order(one, other, common(one, other, most, true), most)
            }
        } }
    )* };
    (@limit limited $most:ident) => { $most };
    (@limit $most:ident) => {{ let _ = $most; usize::MAX }};
}

comparisons! {
    strcmp;
    strncmp (limited);
}

macro_rules! memory_comparisons {
    ($($name:ident)*) => { $(
        quiet! { fn $name(one: *const u8, other: *const u8, length: usize; place) -> i32 {
            announce(one as usize, length, READ, place);
            announce(other as usize, length, READ, place);
            let real = COMPARE.load(Ordering::Relaxed);
            // SAFETY: the address of libc's function, or the program's own call.
            unsafe {
                match real {
                    0 => order(one, other, common(one, other, length, false), length),
                    real => std::mem::transmute::<usize, Compare>(real)(one, other, length),
                }
            }
        } }
    )* };
}

memory_comparisons! { memcmp bcmp }

/// How long a string is.
///
/// # Safety
/// It has an end.
unsafe fn length(text: *const u8) -> usize {
    let real = LENGTH.load(Ordering::Relaxed);
    // SAFETY: the address of libc's function; the caller's promise.
    unsafe {
        match real {
            0 => span(text, 0, usize::MAX),
            real => std::mem::transmute::<usize, Length>(real)(text),
        }
    }
}

quiet! { fn strlen(text: *const u8; place) -> usize {
    // SAFETY: the program's own call.
    unsafe {
        if global::active() {
            announce(text as usize, length(text) + 1, READ, place);
        }
        length(text)
    }
} }

quiet! { fn strnlen(text: *const u8, most: usize; place) -> usize {
    // SAFETY: the program's own call.
    unsafe {
        announce(text as usize, span(text, 0, most).saturating_add(1).min(most), READ, place);
        span(text, 0, most)
    }
} }

quiet! { fn strchr(text: *const u8, wanted: i32; place) -> *const u8 {
    // SAFETY: the program's own call.
    unsafe {
        announce(text as usize, span(text, wanted as u8, usize::MAX) + 1, READ, place);
        let at = span(text, wanted as u8, usize::MAX);
        if byte(text, at) == wanted as u8 { text.add(at) } else { std::ptr::null() }
    }
} }

quiet! { fn memchr(text: *const u8, wanted: i32, length: usize; place) -> *const u8 {
    // SAFETY: the program's own call; none behind the byte that is looked for is touched.
    unsafe {
        let found = || (0..length).find(|i| byte(text, *i) == wanted as u8);
        announce(text as usize, found().map_or(length, |at| at + 1), READ, place);
        found().map_or(std::ptr::null(), |at| text.add(at))
    }
} }

/// Copies a string to `to`, whose end it gives.
///
/// # Safety
/// The program's own call.
unsafe fn copy_string(to: *mut u8, from: *const u8, most: usize, place: (usize, usize)) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let length = if most == usize::MAX { length(from) } else { span(from, 0, most) };
        let whole = length.saturating_add(1).min(most);
        announce(from as usize, whole, READ, place);
        announce(to as usize, whole, WRITE, place);
        copy(to, from, whole, &COPY).add(length)
    }
}

quiet! { fn strcpy(to: *mut u8, from: *const u8; place) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe { copy_string(to, from, usize::MAX, place) };
    to
} }

quiet! { fn stpcpy(to: *mut u8, from: *const u8; place) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe { copy_string(to, from, usize::MAX, place) }
} }

quiet! { fn strncpy(to: *mut u8, from: *const u8, most: usize; place) -> *mut u8 {
    // SAFETY: the program's own call. What is left of the target is filled with 0.
    unsafe {
        let length = span(from, 0, most);
        announce(from as usize, length.saturating_add(1).min(most), READ, place);
        announce(to as usize, most, WRITE, place);
        copy(to, from, length, &COPY);
        set(to.add(length), 0, most - length);
    }
    to
} }

/// Appends a string of at most so many bytes.
///
/// # Safety
/// The program's own call.
unsafe fn append(to: *mut u8, from: *const u8, most: usize, place: (usize, usize)) {
    // SAFETY: the caller's promise.
    unsafe {
        let end = length(to);
        announce(to as usize, end + 1, READ, place);
        let length = span(from, 0, most);
        announce(from as usize, length.saturating_add(1).min(most), READ, place);
        announce(to as usize + end, length + 1, WRITE, place);
        copy(to.add(end), from, length, &COPY);
        set(to.add(end + length), 0, 1);
    }
}

quiet! { fn strcat(to: *mut u8, from: *const u8; place) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe { append(to, from, usize::MAX, place) };
    to
} }

quiet! { fn strncat(to: *mut u8, from: *const u8, most: usize; place) -> *mut u8 {
    // SAFETY: the program's own call.
    unsafe { append(to, from, most, place) };
    to
} }
