//! Priorities, for the schedulers that have some.

use super::Draw;
use fencepost_trace::scramble;

// From the lowest: threads that wait, from `WAITING` down; threads that pct has moved back; buffers that keep their
// stores; everybody else.
pub(super) const WAITING: u64 = 1 << 40;
pub(super) const MOVED_BACK: u64 = 1 << 41;
const KEPT: u64 = 1 << 42;
pub(super) const USUAL: u64 = 1 << 43;

/// Within a band, a random number of so many bits decides.
const BAND: u64 = (1 << 40) - 1;

/// A new priority in a band.
#[inline]
pub(super) fn drawn(band: u64, draw: &mut Draw) -> u64 {
    band | draw.random.bits() & BAND
}

/// The priority of a buffer, which has no memory of its own: it follows from what is to be committed.
#[inline]
pub(super) fn of_buffer(what: u64, draw: &Draw) -> u64 {
    let bits = scramble(draw.salt ^ what);
    let keeps = bits >> 40 & 0xffff < u64::from(draw.bias.kept()) * 0xffff / 100;
    let band = if keeps { KEPT } else { USUAL };
    band | bits & BAND
}
