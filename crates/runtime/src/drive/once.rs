//! What is done once, as the program's memory has it.

use crate::drive::control;
use fencepost_trace::{Location, Size, Value};

/// Guards of C++ statics are told from `pthread_once_t` by this bit of the key.
pub const GUARD: u64 = Location::OTHER_KEY;
/// How glibc marks a `pthread_once_t` that is done.
pub const DONE: u32 = 2;

/// What the engine should believe of one that it does not know yet: 2 if it was done before the execution began.
pub fn initial(key: u64) -> Value {
    let done = if key & GUARD != 0 {
        control::memory(Location::new(key & !GUARD, Size::B1)) != Value::ZERO
    } else {
        control::memory(Location::new(key, Size::B4)).0 & u128::from(DONE) != 0
    };
    if done { Value(2) } else { Value::ZERO }
}
