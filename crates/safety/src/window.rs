//! The monitor with bounded memory: it rides on an execution under SC of any length.
//!
//! It remembers the last [`WINDOW`] stores. An older one counts as known to all, so that nothing is reported that is
//! not so; a violation whose overtaken store lies further back is missed. (The store buffers of processors hold some
//! 50.) A location that nobody has accessed for that long is forgotten, so that memory does not grow with the
//! execution.
//!
//! What else it does not report, because it cannot be sure:
//!
//! 1. An RMW, a compare-exchange that failed, or an access of a lock, that would have read *another value*: what it
//!    would have done then is not known here. Exploration knows, and reports these.
//! 2. Accesses to bytes that others access with another extent. They order what they order, but are not asked about.
//! 3. Under c11: see *strict* in [`language`](crate::language).

use crate::clocks::{Clocks, Kind};
use fencepost_engine::{Monitor, Performed};
use fencepost_memory::Step;
use fencepost_trace::{EventId, Location, Model, ThreadId, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Words of a set.
const WORDS: usize = 4;

/// So many stores are remembered.
pub const WINDOW: usize = 64 * WORDS;

/// Two accesses by which an execution can leave SC under a model: the first time that they were met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaving {
    /// The model.
    pub model: Model,
    /// The access that can come too early.
    pub event: EventId,
    /// Whose it is.
    pub thread: ThreadId,
    /// Is it a read?
    pub early: bool,
    /// Where.
    pub address: u64,
    /// Its program point.
    pub label: u32,
    /// The store that it can pass, by its program point.
    pub overtaken: u32,
    /// Whose that is.
    pub by: ThreadId,
    /// The event before it in its thread, by its program point.
    pub after: u32,
}

/// A location that is remembered.
#[derive(Clone, Copy, Debug)]
struct Known {
    at: Location,
    /// The next one that begins in the same sixteen bytes, by its place.
    next: Option<u32>,
    /// The word that was in use at the last access.
    last: u64,
    /// What it holds.
    value: Option<Value>,
    /// Others access some of its bytes with another extent.
    mixed: bool,
}

/// Watches one execution after the other.
#[derive(Clone, Debug)]
pub struct Window {
    models: Vec<Model>,
    clocks: Clocks<WORDS>,
    /// By sixteen bytes: the first location that begins there.
    granules: FxHashMap<u64, u32>,
    places: Vec<Known>,
    free: Vec<u32>,
    threads: usize,
    /// By thread: the program point of its last event.
    last: Vec<u32>,
    /// By the number of a store in the window: its program point, and whose it is.
    names: Vec<(u32, ThreadId)>,
    /// How many stores there were.
    stores: u64,
    known: FxHashSet<(Model, u32, u32)>,
    found: Vec<Leaving>,
}

impl Window {
    /// A monitor for these models.
    pub fn new(models: &[Model]) -> Window {
        Window {
            models: models.to_vec(),
            clocks: Clocks::new(models, true),
            granules: FxHashMap::default(),
            places: Vec::new(),
            free: Vec::new(),
            threads: 0,
            last: Vec::new(),
            names: vec![(0, ThreadId(0)); WINDOW],
            stores: 0,
            known: FxHashSet::default(),
            found: Vec::new(),
        }
    }

    /// What was found in this execution: each pair of program points once for each model.
    pub fn found(&self) -> &[Leaving] {
        &self.found
    }

    /// How many locations are remembered.
    pub fn places(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// The place of a location, up to date.
    #[inline]
    fn place(&mut self, at: Location) -> usize {
        let granule = at.address / 16;
        let known = self.beginning_in(granule).find(|place| self.places[*place].at == at);
        match known {
            Some(place) => {
                self.catch_up(place);
                place
            }
            None => self.introduce(at, granule),
        }
    }

    /// The places of the locations that begin in these sixteen bytes.
    #[inline]
    fn beginning_in(&self, granule: u64) -> impl Iterator<Item = usize> {
        let first = self.granules.get(&granule).copied();
        std::iter::successors(first, |place| self.places[*place as usize].next).map(|place| place as usize)
    }

    /// The places of the locations that share bytes with this one, itself left out.
    fn neighbours(&self, at: Location) -> Vec<usize> {
        let granule = at.address / 16;
        let near = [granule.wrapping_sub(1), granule, granule + 1];
        let near = near.into_iter().flat_map(|granule| self.beginning_in(granule));
        near.filter(|place| self.places[*place].at != at && self.places[*place].at.overlaps(at)).collect()
    }

    #[cold]
    fn introduce(&mut self, at: Location, granule: u64) -> usize {
        let neighbours = self.neighbours(at);
        neighbours.iter().for_each(|other| self.places[*other].mixed = true);
        let next = self.granules.get(&granule).copied();
        let known = Known { at, next, last: self.word(), value: None, mixed: !neighbours.is_empty() };
        let place = match self.free.pop() {
            Some(place) => {
                self.clocks.forget_place(place as usize);
                self.places[place as usize] = known;
                place
            }
            None => {
                self.places.push(known);
                self.clocks.make_room(self.threads, self.places.len());
                self.places.len() as u32 - 1
            }
        };
        self.granules.insert(granule, place);
        place as usize
    }

    /// The word in use, counted from the beginning.
    fn word(&self) -> u64 {
        self.stores / 64
    }

    /// Forgets in a place what has left the window since its last access.
    #[inline]
    fn catch_up(&mut self, place: usize) {
        let (now, last) = (self.word(), self.places[place].last);
        if now != last {
            let from = (last + 1).max((now + 1).saturating_sub(WORDS as u64));
            (from..=now).for_each(|word| self.clocks.forget_in_place(place, word as usize % WORDS));
            self.places[place].last = now;
        }
    }

    /// The number of a new store.
    #[inline]
    fn bit(&mut self) -> usize {
        let bit = self.stores as usize % WINDOW;
        self.stores += 1;
        if self.stores.is_multiple_of(64) {
            self.turn();
        }
        bit
    }

    /// A word is full: the next one is used again. Once in a window, what nobody has accessed meanwhile is forgotten.
    fn turn(&mut self) {
        let now = self.word();
        self.clocks.forget_in_threads(now as usize % WORDS);
        if !now.is_multiple_of(WORDS as u64) {
            return;
        }
        let (places, free) = (&mut self.places, &mut self.free);
        self.granules.retain(|_, first| {
            let (mut left, mut kept) = (Some(*first), None);
            while let Some(place) = left {
                let known = &mut places[place as usize];
                left = known.next;
                if known.last + WORDS as u64 > now {
                    known.next = kept;
                    kept = Some(place);
                } else {
                    free.push(place);
                }
            }
            kept.is_some_and(|place| {
                *first = place;
                true
            })
        });
    }

    fn access(&mut self, performed: &Performed, at: Location, kind: Kind, written: Option<Value>) {
        let thread = performed.thread.index();
        let read = performed.source.map(|source| source.value);
        if thread >= self.threads {
            self.threads = thread + 1;
            self.last.resize(self.threads, 0);
            self.clocks.make_room(self.threads, self.places.len());
        }
        let place = self.place(at);
        if !self.places[place].mixed {
            if written.is_none() && self.clocks.is_repeated(thread, place, kind) {
                self.last[thread] = performed.label;
                return;
            }
            self.ask(performed, place, at, kind, read);
        }
        let overwritten = read.or(self.places[place].value).unwrap_or(Value::ZERO);
        let store = written.map(|_| self.bit());
        if store.is_some() {
            self.catch_up(place);
        }
        store.iter().for_each(|bit| self.names[*bit] = (performed.label, performed.thread));
        self.clocks.access(thread, place, kind, store.map(|bit| (bit, bit as u32, overwritten)));
        if self.places[place].mixed {
            for other in self.neighbours(at) {
                self.catch_up(other);
                let store = written.map(|_| self.bit());
                self.catch_up(other);
                store.iter().for_each(|bit| self.names[*bit] = (performed.label, performed.thread));
                self.clocks.access(thread, other, kind, store.map(|bit| (bit, bit as u32, Value::ZERO)));
                self.places[other].value = None;
            }
        }
        self.places[place].value = written.or(read);
        self.last[thread] = performed.label;
    }

    /// Could this access have come too early?
    #[inline]
    fn ask(&mut self, performed: &Performed, place: usize, at: Location, kind: Kind, read: Option<Value>) {
        let thread = performed.thread.index();
        let surely =
            matches!(kind, Kind::Load { failed_rmw: false, .. } | Kind::Store { .. }) && at.as_hidden().is_none();
        for bit in self.clocks.overtaken(thread, place) {
            let slot = *self.clocks.slot(bit);
            if !surely && read != Some(slot.overwritten) {
                continue;
            }
            for (i, model) in self.models.iter().enumerate() {
                if !self.clocks.can_pass(i, thread, place, kind, bit) {
                    continue;
                }
                if self.known.insert((*model, performed.label, self.names[slot.name as usize].0)) {
                    self.found.push(Leaving {
                        model: *model,
                        event: performed.event,
                        thread: performed.thread,
                        early: kind.reads(),
                        address: at.address,
                        by: self.names[slot.name as usize].1,
                        label: performed.label,
                        overtaken: self.names[slot.name as usize].0,
                        after: self.last[thread],
                    });
                }
            }
        }
    }
}

impl Monitor for Window {
    fn begin(&mut self) {
        self.clocks.clear();
        self.granules.clear();
        self.places.clear();
        self.free.clear();
        self.threads = 0;
        self.last.clear();
        self.stores = 0;
        self.known.clear();
        self.found.clear();
    }

    #[inline]
    fn performed(&mut self, performed: &Performed) {
        match *performed.step {
            Step::Load { at, order, failed_rmw } => self.access(performed, at, Kind::Load { order, failed_rmw }, None),
            Step::Store { at, order, value } => self.access(performed, at, Kind::Store { order }, Some(value)),
            Step::Rmw { at, order, written } => self.access(performed, at, Kind::Rmw { order }, Some(written)),
            Step::Fence { order } => {
                let thread = performed.thread.index();
                if thread < self.threads {
                    self.clocks.fence(thread, order);
                }
            }
        }
    }
}
