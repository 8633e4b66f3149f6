//! The race detector: plain accesses that nothing orders. A monitor.
//!
//! It keeps every access of the execution, and compares a new one with those to the same bytes: two race if they
//! conflict, one of them is plain, and the earlier one is not in the happens-before clock of the later. So it names
//! exactly the pairs that the definition does; locations that are only accessed atomically cost nothing.

use crate::monitor::{Monitor, Performed};
use fencepost_memory::Step;
use fencepost_trace::{EventId, LoadOrder, Location, StoreOrder, ThreadId, VectorClock};
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
struct LocationAccesses {
    seen: Vec<Seen>,
    /// Is any of them plain?
    plain: bool,
}

/// Watches the accesses of one execution.
#[derive(Clone, Debug, Default)]
pub struct RaceDetector {
    places: FxHashMap<Location, LocationAccesses>,
    /// Locations of different size may overlap: then all that do have to be looked at.
    sizes_differ: bool,
    races: Vec<Race>,
}

impl RaceDetector {
    /// The races so far, in the order of their later accesses.
    pub fn races(&self) -> &[Race] {
        &self.races
    }

    /// An access to `at`, by a thread whose clock includes it: adds its races with earlier ones.
    fn access(&mut self, at: Location, new: Seen, clock: &VectorClock) {
        if !self.places.contains_key(&at) {
            self.sizes_differ |= self.places.keys().any(|other| other.overlaps(at));
            self.places.insert(at, LocationAccesses::default());
        }
        let known = self.races.len();
        let races = &mut self.races;
        let mut look = |place: &LocationAccesses| {
            if !new.plain && !place.plain {
                return;
            }
            let racing = |old: &&Seen| {
                old.thread != new.thread
                    && (old.write || new.write)
                    && (old.plain || new.plain)
                    && old.time > clock.get(old.thread)
            };
            races.extend(place.seen.iter().filter(racing).map(|old| Race { first: old.event, second: new.event }));
        };
        if self.sizes_differ {
            self.places.iter().filter(|(other, _)| other.overlaps(at)).for_each(|(_, place)| look(place));
            self.races[known..].sort_by_key(|race| race.first.0);
        } else {
            look(&self.places[&at]);
        }
        let place = self.places.get_mut(&at).expect("inserted above");
        place.plain |= new.plain;
        place.seen.push(new);
    }
}

impl Monitor for RaceDetector {
    fn begin(&mut self) {
        self.places.clear();
        self.sizes_differ = false;
        self.races.clear();
    }

    #[inline]
    fn performed(&mut self, performed: &Performed) {
        let Performed { event, thread, step, .. } = *performed;
        // The hardware models know no races.
        let Some(clock) = performed.clock else { return };
        let (at, write, plain) = match *step {
            Step::Load { at, order, .. } => (at, false, order == LoadOrder::Plain),
            Step::Store { at, order, .. } => (at, true, order == StoreOrder::Plain),
            Step::Rmw { at, .. } => (at, true, false),
            Step::Fence { .. } => return,
        };
        self.access(at, Seen { event, thread, time: clock.get(thread), write, plain }, clock);
    }
}
