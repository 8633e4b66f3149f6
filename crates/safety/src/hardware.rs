//! TSO, PSO and PSLO: the order in which accesses are performed in memory, along an SC execution.
//!
//! Each model is `acyclic(preserved ∪ rfe ∪ mo ∪ rb)` with the halves of an RMW as one event
//! (`fencepost_memory::axioms::hardware`). For each event the stores are kept that come before it in the closure of
//! that relation. A set of stores is needed, not a number for each thread: under PSO a thread's stores reach memory in
//! any order. Reading one's own store is no edge (*forwarding*), so that it tells nothing.
//!
//! What a thread has done is kept as the stores that the model keeps before its next access, by the kind of that:
//!
//! | | `loads`: before a load | `stores`: before a store | `all`: before what orders everything |
//! |---|---|---|---|
//! | tso | loads, full barriers | = `all` | everything |
//! | pso | loads, full barriers | loads, release fences, full barriers | everything |
//! | pslo | acquiring loads, acquire fences (loads before them), full barriers | as pso | everything |

use crate::clocks::Kind;
use crate::set::Set;
use fencepost_trace::{FenceOrder, Model, RmwOrder, StoreOrder};

/// What comes before the next accesses of a thread.
#[derive(Clone, Copy, Debug)]
struct Thread<const W: usize> {
    loads: Set<W>,
    stores: Set<W>,
    /// Before an earlier load: what an acquire fence orders under PSLO.
    read: Set<W>,
    all: Set<W>,
}

impl<const W: usize> Thread<W> {
    const NEW: Thread<W> = Thread { loads: Set::EMPTY, stores: Set::EMPTY, read: Set::EMPTY, all: Set::EMPTY };

    /// Everything before comes before everything later. Returns whether that is new.
    fn full_barrier(&mut self) -> bool {
        // Both are part of it.
        let new = self.loads != self.all || self.stores != self.all;
        self.loads = self.all;
        self.stores = self.all;
        new
    }
}

/// What comes before accesses of a location.
#[derive(Clone, Copy, Debug)]
struct LocationOrder<const W: usize> {
    /// Before the last store, itself included.
    stored: Set<W>,
    /// Before the loads since.
    loaded: Set<W>,
}

impl<const W: usize> LocationOrder<W> {
    const NEW: LocationOrder<W> = LocationOrder { stored: Set::EMPTY, loaded: Set::EMPTY };
}

/// The order of one hardware model.
#[derive(Clone, Debug)]
pub struct Hardware<const W: usize> {
    model: Model,
    threads: Vec<Thread<W>>,
    places: Vec<LocationOrder<W>>,
}

impl<const W: usize> Hardware<W> {
    /// Nothing has happened.
    pub fn new(model: Model) -> Self {
        Hardware { model, threads: Vec::new(), places: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.threads.clear();
        self.places.clear();
    }

    pub(crate) fn make_room(&mut self, threads: usize, places: usize) {
        if self.threads.len() < threads {
            self.threads.resize(threads, Thread::NEW);
        }
        if self.places.len() < places {
            self.places.resize(places, LocationOrder::NEW);
        }
    }

    pub(crate) fn forget_in_threads(&mut self, word: usize) {
        for thread in &mut self.threads {
            [&mut thread.loads, &mut thread.stores, &mut thread.read, &mut thread.all]
                .into_iter()
                .for_each(|set| set.clear_word(word));
        }
    }

    pub(crate) fn forget_in_place(&mut self, place: usize, word: usize) {
        let place = &mut self.places[place];
        place.stored.clear_word(word);
        place.loaded.clear_word(word);
    }

    pub(crate) fn forget_place(&mut self, place: usize) {
        self.places[place] = LocationOrder::NEW;
    }

    /// The stores that come before the thread's next access, if that is of this kind, by the order of its thread.
    #[inline]
    pub(crate) fn before(&self, thread: usize, kind: Kind) -> &Set<W> {
        let thread = &self.threads[thread];
        let tso = self.model == Model::Tso;
        match kind {
            Kind::Load { failed_rmw: true, .. } if tso || kind.is_seq_cst() => &thread.all,
            Kind::Load { .. } => &thread.loads,
            Kind::Store { .. } if tso => &thread.all,
            Kind::Store { order } if order.releases() => &thread.all,
            // What comes before a load comes before a store, too, in all three.
            Kind::Store { .. } => &thread.stores,
            Kind::Rmw { order } if tso || order.store().releases() => &thread.all,
            Kind::Rmw { .. } => &thread.stores,
        }
    }

    /// The access has happened; `own` says whether the last store to the place is of the same thread. Returns whether
    /// more is known of the thread now.
    #[inline]
    pub(crate) fn performed(&mut self, thread: usize, at: usize, kind: Kind, bit: Option<usize>, own: bool) -> bool {
        let mut before = *self.before(thread, kind);
        let place = &mut self.places[at];
        match bit {
            None => {
                if !own {
                    before.join(&place.stored);
                }
                place.loaded.join(&before);
            }
            Some(bit) => {
                before.join(&place.stored);
                before.join(&place.loaded);
                before.insert(bit);
                place.stored = before;
                place.loaded = Set::EMPTY;
            }
        }
        let model = self.model;
        let thread = &mut self.threads[thread];
        let mut more = thread.all.grow(&before);
        match kind {
            Kind::Load { failed_rmw: true, .. } if model == Model::Tso || kind.is_seq_cst() => {
                more |= thread.full_barrier();
            }
            Kind::Rmw { order } if model == Model::Tso || order == RmwOrder::SeqCst => more |= thread.full_barrier(),
            Kind::Store { order: StoreOrder::SeqCst } => more |= thread.full_barrier(),
            Kind::Store { .. } => {}
            Kind::Load { order, .. } => {
                more |= thread.stores.grow(&before);
                if model != Model::Pslo || order.acquires() {
                    more |= thread.loads.grow(&before);
                }
            }
            Kind::Rmw { order } => {
                more |= thread.stores.grow(&before);
                if model != Model::Pslo || order.load().acquires() {
                    more |= thread.loads.grow(&before);
                }
            }
        }
        // Only an acquire fence of pslo asks for it.
        if model == Model::Pslo && kind.reads() {
            more |= thread.read.grow(&before);
        }
        more
    }

    /// A fence.
    pub(crate) fn fence(&mut self, thread: usize, order: FenceOrder) {
        let thread = &mut self.threads[thread];
        match order {
            FenceOrder::SeqCst => _ = thread.full_barrier(),
            _ if self.model == Model::Tso => {}
            _ => {
                if order.releases() {
                    thread.stores = thread.all;
                }
                if self.model == Model::Pslo && order.acquires() {
                    thread.loads.join(&thread.read);
                }
            }
        }
    }
}
