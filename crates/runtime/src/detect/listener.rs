//! Whom the detectors tell, and ask.
//!
//! They are below whoever drives executions, which therefore says once what is to be done.

use crate::detect::shadow::{Earlier, Kind};
use crate::platform::global::Global;

/// What is done with what the detectors find, and what they have to know.
#[derive(Clone, Copy)]
pub struct Listener {
    /// Two accesses race: the earlier one, and the one that the running thread is about to make from a place.
    pub race: fn(usize, Earlier, Kind, usize),
    /// The running thread is about to access a block that was freed, or what lies around one.
    pub wild_access: fn(usize, Earlier, Kind, usize),
    /// A race is about to be told. Has the running thread learnt of something in code without instrumentation?
    pub catch_up: fn() -> bool,
    /// Two accesses to these of eight bytes race. Is that no finding, because they are shared and to be explored?
    pub takes: fn(usize, u8) -> bool,
    /// An access to these of eight bytes is forgotten: races with it may be missed.
    pub lost: fn(usize, u8),
}

static LISTENER: Global<Listener> = Global::new(Listener {
    race: |_, _, _, _| {},
    wild_access: |_, _, _, _| {},
    catch_up: || false,
    takes: |_, _| false,
    lost: |_, _| {},
});

/// From here on it is this one.
pub fn set(listener: Listener) {
    *LISTENER.enter() = listener;
}

/// Who listens.
pub fn listener() -> Listener {
    *LISTENER.enter()
}
