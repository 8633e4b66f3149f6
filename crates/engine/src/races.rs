//! The race detector: plain accesses that nothing orders.
//!
//! For each location and thread it keeps the times of the last plain and atomic reads and writes, and compares them with the happens-before
//! clock of the accessing thread. Two accesses race if they conflict, one of them is plain, and neither happens before
//! the other; the later one in the order of execution is the one that notices.

use fencepost_trace::{EventId, Location, ThreadId, VectorClock};
use rustc_hash::FxHashMap;

/// The last access of one kind by one thread.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    time: u32,
    event: u32,
}

/// The kinds of accesses, as positions in a table.
#[derive(Clone, Copy)]
struct Kind {
    write: bool,
    plain: bool,
}

impl Kind {
    fn index(self) -> usize {
        usize::from(self.write) << 1 | usize::from(self.plain)
    }

    fn all() -> [Kind; 4] {
        [(false, false), (false, true), (true, false), (true, true)].map(|(write, plain)| Kind { write, plain })
    }

    fn conflicts(self, other: Kind) -> bool {
        (self.write || other.write) && (self.plain || other.plain)
    }
}

/// Two accesses that race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// The earlier one in the order of execution.
    pub first: EventId,
    /// The later one.
    pub second: EventId,
}

/// Watches the accesses of one execution.
#[derive(Clone, Debug, Default)]
pub struct RaceDetector {
    places: FxHashMap<Location, Vec<[Last; 4]>>,
    /// Locations of different size may overlap: then all pairs have to be looked at.
    sizes_differ: bool,
}

impl RaceDetector {
    /// Forgets the execution.
    pub fn reset(&mut self) {
        self.places.clear();
        self.sizes_differ = false;
    }

    /// An access by `thread`, whose clock includes it.
    pub fn access(
        &mut self,
        event: EventId,
        thread: ThreadId,
        at: Location,
        write: bool,
        plain: bool,
        clock: &VectorClock,
    ) -> Option<Race> {
        let kind = Kind { write, plain };
        let mut race = None;
        if !self.places.contains_key(&at) {
            self.sizes_differ |= self.places.keys().any(|other| other.overlaps(at));
            self.places.insert(at, Vec::new());
        }
        let mut look = |last: &[[Last; 4]]| {
            for (t, kinds) in last.iter().enumerate().filter(|(t, _)| *t != thread.index()) {
                let known = clock.get(ThreadId(t as u32));
                for other in Kind::all().into_iter().filter(|other| kind.conflicts(*other)) {
                    let Last { time, event: earlier } = kinds[other.index()];
                    if time > known && race.is_none() {
                        race = Some(Race { first: EventId(earlier), second: event });
                    }
                }
            }
        };
        if self.sizes_differ {
            let mut overlapping: Vec<_> = self.places.iter().filter(|(other, _)| other.overlaps(at)).collect();
            overlapping.sort_by_key(|(other, _)| **other);
            overlapping.into_iter().for_each(|(_, last)| look(last));
        } else {
            look(&self.places[&at]);
        }
        let last = self.places.get_mut(&at).expect("inserted above");
        if last.len() <= thread.index() {
            last.resize(thread.index() + 1, [Last::default(); 4]);
        }
        last[thread.index()][kind.index()] = Last { time: clock.get(thread), event: event.0 };
        race
    }
}
