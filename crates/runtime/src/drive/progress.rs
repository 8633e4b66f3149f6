//! Has a thread changed memory since its last operation?
//!
//! A loop that waits may store what it has read into a variable of its own, the same value every time. That is no
//! progress. So what memory held before a plain write is kept until the thread's next operation, and only if
//! something else is there then, the write counts. What is written to and fro between two operations does not; nor
//! does it have to, since nobody else has run.

use crate::drive::{control, stall};
use crate::platform::global::{self, Global};
use crate::threads::fibers;
use fencepost_trace::{Location, Size};

/// So many places are remembered; with more, it counts.
const MOST: usize = 64;
/// The longest write that is looked at.
const LONGEST: usize = 64;

struct Writes {
    /// Of the first writes: where, how many bytes, and what was there.
    places: [(usize, Size, u128); MOST],
    used: usize,
    /// There were more.
    many: bool,
}

static WRITES: Global<Writes> = Global::new(Writes { places: [(0, Size::B1, 0); MOST], used: 0, many: false });

/// A new execution.
pub fn reset() {
    let mut writes = WRITES.enter();
    (writes.used, writes.many) = (0, false);
}

/// The running thread is about to make a plain write.
#[inline]
pub fn writes(address: usize, length: usize) {
    if global::explores() || stall::is_on() {
        remember(address, length);
    }
}

fn remember(address: usize, length: usize) {
    let mut writes = WRITES.enter();
    let stack = fibers::me().stack;
    // What it keeps on its stack is looked at itself.
    if writes.many || (stack.0..stack.1).contains(&address) {
        return;
    }
    if length > LONGEST {
        writes.many = true;
        return;
    }
    let (mut at, end) = (address, address + length);
    while at < end {
        let size = [Size::B8, Size::B4, Size::B2].into_iter().find(|size| size.bytes() as usize <= end - at);
        let size = size.unwrap_or(Size::B1);
        writes.keep(at, size);
        at += size.bytes() as usize;
    }
}

impl Writes {
    fn keep(&mut self, at: usize, size: Size) {
        if self.places[..self.used].iter().any(|(known, length, _)| (*known, *length) == (at, size)) {
            return;
        }
        if self.used == MOST {
            self.many = true;
            return;
        }
        self.places[self.used] = (at, size, control::memory(Location::new(at as u64, size)).0);
        self.used += 1;
    }

    fn has_changed(&self) -> bool {
        let differs =
            |(at, size, old): &(usize, Size, u128)| control::memory(Location::new(*at as u64, *size)).0 != *old;
        self.many || self.places[..self.used].iter().any(differs)
    }
}

/// The running thread asks for an operation, or memory goes away: what it has written until now is looked at.
#[inline]
pub fn settle() {
    let mut writes = WRITES.enter();
    if writes.used != 0 || writes.many {
        if writes.has_changed() {
            fibers::me().writes += 1;
        }
        (writes.used, writes.many) = (0, false);
    }
}
