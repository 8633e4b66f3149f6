//! Ctrl-C, and the signals by which others end the command.
//!
//! The first one ends the work as a limit does: what was found is written and printed, and what is temporary removed. A
//! second one ends the process at once.

use fencepost_native::interrupt;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::sync::Arc;

/// From now on signals are a wish.
pub fn catch() {
    let wish = interrupt::flag();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the first one finds that there is no wish yet. A system that refuses this leaves signals as
        // they are.
        let second = flag::register_conditional_default(signal, wish.clone());
        let _ = second.and_then(|_| flag::register(signal, wish.clone()));
    }
}

/// A file that grows past a limit is an error of whoever writes it, not the end of the process.
pub fn survive_limits() {
    let _ = flag::register(SIGXFSZ, Arc::default());
}
