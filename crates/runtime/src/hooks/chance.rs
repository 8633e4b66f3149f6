//! Random numbers that the system gives: the same in every execution, so that executions can be repeated.

use super::{at_work, hook, text};
use crate::platform::global::{Global, active};
use crate::platform::real::real;
use libc::{c_int, c_uint, c_void, size_t, ssize_t};

static STATE: Global<u64> = Global::new(0);

/// Before each execution.
pub fn begin() {
    *STATE.enter() = 0;
}

/// SplitMix64.
fn next() -> u64 {
    let mut state = STATE.enter();
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Fills memory of the program's.
pub fn fill(buffer: *mut c_void, length: size_t) {
    text::write(buffer as usize, length);
    at_work(|| {
        for i in 0..length {
            // SAFETY: the program's buffer, of this length.
            unsafe { *buffer.cast::<u8>().add(i) = (next() >> 56) as u8 };
        }
    });
}

hook! { fn getrandom(buffer: *mut c_void, length: size_t, flags: c_uint) -> ssize_t {
    if !active() {
        return real!(getrandom(buffer, length, flags): fn(*mut c_void, size_t, c_uint) -> ssize_t);
    }
    fill(buffer, length);
    length as ssize_t
} }

hook! { fn getentropy(buffer: *mut c_void, length: size_t) -> c_int {
    if !active() {
        return real!(getentropy(buffer, length): fn(*mut c_void, size_t) -> c_int);
    }
    fill(buffer, length);
    0
} }

// `std::random_device`, which asks the processor where it can.
hook! { fn _ZNSt13random_device9_M_getvalEv(device: *mut c_void) -> c_uint {
    if !active() {
        return real!(_ZNSt13random_device9_M_getvalEv(device): fn(*mut c_void) -> c_uint);
    }
    (next() >> 32) as c_uint
} }

hook! { fn arc4random() -> u32 {
    if !active() {
        return real!(arc4random(): fn() -> u32);
    }
    (next() >> 32) as u32
} }

hook! { fn arc4random_buf(buffer: *mut c_void, length: size_t) {
    if !active() {
        return real!(arc4random_buf(buffer, length): fn(*mut c_void, size_t));
    }
    fill(buffer, length)
} }

hook! { fn arc4random_uniform(bound: u32) -> u32 {
    if !active() {
        return real!(arc4random_uniform(bound): fn(u32) -> u32);
    }
    if bound == 0 { 0 } else { (((next() >> 32) * u64::from(bound)) >> 32) as u32 }
} }
