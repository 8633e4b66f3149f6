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
    interrupt::catch(&[SIGINT, SIGTERM, SIGHUP]);
}

/// A file that grows past a limit is an error of whoever writes it, not the end of the process.
pub fn survive_limits() {
    let _ = flag::register(SIGXFSZ, Arc::default());
}
