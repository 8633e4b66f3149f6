//! Memory that was mapped in the execution at hand and cannot be written. Somebody else may still change it, through
//! the file: whoever reads finds what is there.

use crate::platform::global::Global;
use fencepost_runtime_core::ranges;
use libc::c_int;

/// As address and length.
static READ_ONLY: Global<Vec<(usize, usize)>> = Global::new(Vec::new());

/// An execution has ended.
pub fn reset() {
    READ_ONLY.enter().clear();
}

/// Is there such memory at this address?
#[inline]
pub fn contains(address: usize) -> bool {
    let list = READ_ONLY.enter();
    !list.is_empty() && list.iter().any(|(at, length)| (*at..at + length).contains(&address))
}

/// Notes whether these pages can be written from now on.
pub fn protect(address: usize, length: usize, protection: c_int) {
    take_away(address, length);
    if protection & libc::PROT_WRITE == 0 {
        READ_ONLY.enter().push((address, length.next_multiple_of(4096)));
    }
}

/// These pages are no longer there.
pub fn take_away(address: usize, length: usize) {
    ranges::cut(&mut READ_ONLY.enter(), address, length);
}
