//! The race detector: plain accesses that nothing orders.
//!
//! It keeps every access of the execution, and compares a new one with those to the same bytes: two race if they
//! conflict, one of them is plain, and the earlier one is not in the happens-before clock of the later. So it names
//! exactly the pairs that the definition does; locations that are only accessed atomically cost nothing.

use fencepost_trace::{EventId, Location, ThreadId, VectorClock};
use rustc_hash::FxHashMap;

/// An access: its event, whose it is, when in the thread's own time, and how it was made.
#[derive(Clone, Copy, Debug)]
struct Seen {
    event: EventId,
    thread: ThreadId,
    time: u32,
    write: bool,
    plain: bool,
}

/// Two accesses that race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// The earlier one in the order of execution.
    pub first: EventId,
    /// The later one.
    pub second: EventId,
}

/// The accesses to one location.
#[derive(Clone, Debug, Default)]
struct Place {
    seen: Vec<Seen>,
    /// Is any of them plain?
    plain: bool,
}

/// An access as it is handed to the detector.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// Its event.
    pub event: EventId,
    /// Whose it is.
    pub thread: ThreadId,
    /// Where.
    pub at: Location,
    /// Does it write?
    pub write: bool,
    /// Is it plain?
    pub plain: bool,
}

/// Watches the accesses of one execution.
#[derive(Clone, Debug, Default)]
pub struct RaceDetector {
    places: FxHashMap<Location, Place>,
    /// Locations of different size may overlap: then all that do have to be looked at.
    sizes_differ: bool,
}

impl RaceDetector {
    /// Forgets the execution.
    pub fn reset(&mut self) {
        self.places.clear();
        self.sizes_differ = false;
    }

    /// An access by a thread whose clock includes it: adds its races with earlier ones.
    pub fn access(&mut self, new: Watched, clock: &VectorClock, races: &mut Vec<Race>) {
        let Watched { event, thread, at, write, plain } = new;
        if !self.places.contains_key(&at) {
            self.sizes_differ |= self.places.keys().any(|other| other.overlaps(at));
            self.places.insert(at, Place::default());
        }
        let known = races.len();
        let mut look = |place: &Place| {
            if !plain && !place.plain {
                return;
            }
            let racing = |old: &&Seen| {
                old.thread != thread && (old.write || write) && (old.plain || plain) && old.time > clock.get(old.thread)
            };
            races.extend(place.seen.iter().filter(racing).map(|old| Race { first: old.event, second: event }));
        };
        if self.sizes_differ {
            self.places.iter().filter(|(other, _)| other.overlaps(at)).for_each(|(_, place)| look(place));
            races[known..].sort_by_key(|race| race.first.0);
        } else {
            look(&self.places[&at]);
        }
        let place = self.places.get_mut(&at).expect("inserted above");
        place.plain |= plain;
        place.seen.push(Seen { event, thread, time: clock.get(thread), write, plain });
    }
}
