//! `fencepost.h`: what a test harness says of itself.

use super::{at_work, hook};
use crate::drive::{atomically, control, spec};
use crate::platform::global::active;
use fencepost_trace::Op;
use std::ffi::{CStr, c_char};

/// What the program passes as an address and a length, or as a string that ends with 0.
fn bytes<'a>(address: usize, length: isize) -> &'a [u8] {
    // SAFETY: the program's string, by the contract of the header.
    unsafe {
        match usize::try_from(length) {
            Ok(length) => std::slice::from_raw_parts(address as *const u8, length),
            Err(_) => CStr::from_ptr(address as *const c_char).to_bytes(),
        }
    }
}

hook! { fn __fencepost_op_begin(name: usize, length: isize) {
    if active() {
        at_work(|| {
            if atomically::is_on() {
                // Somebody else may go first.
                control::perform(Op::Yield);
            }
            spec::begin_operation(bytes(name, length));
        });
    }
} }

hook! { fn __fencepost_op_end() {
    if active() {
        at_work(spec::end_operation);
    }
} }

hook! { fn __fencepost_observe(key: usize, length: isize, value: i64) {
    if active() {
        at_work(|| spec::observe(bytes(key, length), value));
    }
} }
