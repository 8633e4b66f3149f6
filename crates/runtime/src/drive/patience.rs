//! How long a thread may go on without an operation.

use std::sync::atomic::{AtomicU32, Ordering};

/// How many plain accesses a thread makes before it gives way, so that a loop which waits for a plain variable to
/// change ends.
const PATIENCE: u32 = 20_000;
static LEFT: AtomicU32 = AtomicU32::new(PATIENCE);

/// A new execution, or an operation at which others got their chance: patience is fresh.
#[inline]
pub fn renew() {
    LEFT.store(PATIENCE, Ordering::Relaxed);
}

#[inline(always)]
fn take() -> u32 {
    let left = LEFT.load(Ordering::Relaxed);
    LEFT.store(left.wrapping_sub(1), Ordering::Relaxed);
    left
}

/// One access more. Was there no patience left for it?
#[inline(always)]
pub fn ends() -> bool {
    take() == 0
}

/// One access more. Has patience ended before it?
#[inline(always)]
pub fn has_ended() -> bool {
    take() > PATIENCE
}
