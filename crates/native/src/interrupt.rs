//! The wish that the work end before it is done: Ctrl-C, or a signal from whoever started the command.
//!
//! Signals are the process's, and so is this wish. Whoever works looks at it where it looks at the clock, and ends in
//! the same way: with what there is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

static WISH: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// What a handler of signals sets.
pub fn flag() -> Arc<AtomicBool> {
    WISH.clone()
}

/// Is the work to end?
pub fn is_wished() -> bool {
    WISH.load(Ordering::Relaxed)
}
