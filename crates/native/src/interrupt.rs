//! The wish that the work end before it is done: Ctrl-C, or a signal from whoever started the command.
//!
//! Signals are the process's, and so is this wish. Whoever works looks at it where it looks at the clock, and ends in
//! the same way: with what there is.

use signal_hook::low_level::{emulate_default_handler, register};
use std::sync::atomic::{AtomicBool, Ordering};

static WISH: AtomicBool = AtomicBool::new(false);

/// From now on the first of these signals is a wish, and the second ends the process as it would have anyway. A system
/// that refuses this leaves signals as they are.
pub fn catch(signals: &[i32]) {
    for &signal in signals {
        // Asked and said in one step: two signals may come to two threads at the same time.
        let come = move || {
            if WISH.swap(true, Ordering::Relaxed) {
                let _ = emulate_default_handler(signal);
            }
        };
        // SAFETY: a step on an atomic, and a function that is made for handlers of signals.
        let _ = unsafe { register(signal, come) };
    }
}

/// Is the work to end?
pub fn is_wished() -> bool {
    WISH.load(Ordering::Relaxed)
}
