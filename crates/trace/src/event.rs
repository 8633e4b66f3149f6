//! What happened: events, and the trace of an execution.

use crate::{EventId, Failure, FenceOrder, Label, LoadOrder, Location, Model, RmwOrder, StoreOrder, ThreadId, Value};
use serde::{Deserialize, Serialize};

/// One step of an execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Its position in the order of execution, from 1.
    pub id: EventId,
    /// Whose step it was. A commit belongs to the thread whose store it makes visible.
    pub thread: ThreadId,
    /// Where in the program: an index into [`Trace::labels`].
    pub label: u32,
    /// What it did.
    pub kind: EventKind,
    /// What happens before it, the event itself included: for each thread, how many of its events.
    /// Empty under the models that have no happens-before of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clock: Vec<u32>,
}

/// What an event did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum EventKind {
    Load {
        at: Location,
        order: LoadOrder,
        value: Value,
        from: EventId,
        /// Where the bytes came from, if from several stores; `from` is then the newest of them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<Part>,
        /// A compare-exchange that failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        failed_rmw: bool,
    },
    Store {
        at: Location,
        order: StoreOrder,
        value: Value,
    },
    Rmw {
        at: Location,
        order: RmwOrder,
        read: Value,
        written: Value,
        from: EventId,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<Part>,
    },
    Fence {
        order: FenceOrder,
    },
    /// A store leaves its thread's store buffer and becomes visible to the others.
    Commit {
        store: EventId,
    },
}

/// Some bytes of a load that came from one store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// The first byte, counted from the load's address.
    pub offset: u8,
    /// How many bytes.
    pub bytes: u8,
    /// The store.
    pub from: EventId,
}

impl EventKind {
    /// The location, if it accesses one.
    pub fn location(&self) -> Option<Location> {
        match *self {
            EventKind::Load { at, .. } | EventKind::Store { at, .. } | EventKind::Rmw { at, .. } => Some(at),
            EventKind::Fence { .. } | EventKind::Commit { .. } => None,
        }
    }

    /// Does it read memory?
    pub fn is_read(&self) -> bool {
        matches!(self, EventKind::Load { .. } | EventKind::Rmw { .. })
    }

    /// Does it write memory?
    pub fn is_write(&self) -> bool {
        matches!(self, EventKind::Store { .. } | EventKind::Rmw { .. })
    }

    /// What it wrote.
    pub fn written(&self) -> Option<Value> {
        match *self {
            EventKind::Store { value, .. } | EventKind::Rmw { written: value, .. } => Some(value),
            _ => None,
        }
    }
}

/// The coherence (modification) order of some bytes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Coherence {
    /// The first byte.
    pub address: u64,
    /// How many bytes: more than one access's where accesses of different size overlap.
    pub bytes: u64,
    /// The stores in order; the initial write before them is left out.
    pub stores: Vec<EventId>,
}

/// How an execution ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// Every thread ended.
    Finished,
    /// The program failed.
    Failed {
        /// The thread that failed.
        thread: ThreadId,
        /// How.
        failure: Failure,
    },
    /// Every thread that is left waits for another.
    Deadlock {
        /// The threads that wait.
        blocked: Vec<ThreadId>,
    },
    /// Every thread that is left repeats a loop without effect, and nobody is left to end it.
    Livelock {
        /// The threads that spin.
        spinning: Vec<ThreadId>,
    },
    /// Cut off by the limit of steps.
    StepLimit,
    /// Cut off because it repeats, in a longer form, an execution that is explored elsewhere.
    Redundant,
}

/// An execution: everything that happened, in order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Trace {
    /// The model it ran under.
    pub model: Model,
    /// How it ended.
    pub outcome: Outcome,
    /// How many threads there were.
    pub threads: u32,
    /// The events in the order of execution; `events[i].id` is `i + 1`.
    pub events: Vec<Event>,
    /// The coherence order of every location that was written.
    pub coherence: Vec<Coherence>,
    /// The program points that the events name.
    pub labels: Vec<Label>,
    /// The answers to all choices: replaying them gives this trace again.
    pub choices: Vec<u32>,
}

impl Trace {
    /// The event of that name; `None` for the initial write.
    pub fn event(&self, id: EventId) -> Option<&Event> {
        self.events.get(id.index().checked_sub(1)?)
    }

    /// The label of an event.
    pub fn label(&self, event: &Event) -> Option<&Label> {
        self.labels.get(event.label as usize)
    }

    /// The bytes of `at` in the end, given its initial value.
    pub fn final_value(&self, at: Location, initial: Value) -> Value {
        let mut bytes = initial.0.to_le_bytes();
        for list in &self.coherence {
            if list.address >= at.end() || at.address >= list.address + list.bytes {
                continue;
            }
            for store in &list.stores {
                let Some(event) = self.event(*store) else { continue };
                let (Some(to), Some(value)) = (event.kind.location(), event.kind.written()) else { continue };
                for (i, byte) in value.0.to_le_bytes().iter().enumerate().take(to.size.bytes() as usize) {
                    let address = to.address + i as u64;
                    if (at.address..at.end()).contains(&address) {
                        bytes[(address - at.address) as usize] = *byte;
                    }
                }
            }
        }
        at.size.truncate(u128::from_le_bytes(bytes))
    }
}
