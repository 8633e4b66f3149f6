//! Names of threads and events: small integers that cannot be mixed up.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A program thread, numbered in the order of creation. The first thread is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// The position in tables indexed by thread.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}", self.0)
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// An event of one execution: its position in the order of execution, counted from 1.
///
/// 0 is [`EventId::INIT`], which stands for the write of every location's initial value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(pub u32);

impl EventId {
    /// The initial value of every location, before the program starts.
    pub const INIT: EventId = EventId(0);

    /// The position in tables indexed by event; `INIT` is at 0.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Is this the initial write?
    #[inline]
    pub fn is_init(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_init() { f.write_str("init") } else { write!(f, "e{}", self.0) }
    }
}
