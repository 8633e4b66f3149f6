//! C/C++20: which stores an access cannot stand before, along an SC execution.
//!
//! RC11's coherence says that an access comes, in modification order, behind every store that happens before it, and
//! behind what was read by every load that happens before it. Along an SC execution each access is the last in the
//! modification order so far, so that these are all stores to its location up to there. They are kept like a clock:
//! carried by program order, and by release and acquire.
//!
//! For seq_cst accesses and fences RC11 has one axiom more (psc). There are two ways to deal with it:
//!
//! - *open*: it is left aside. What is found may be forbidden by psc; who asks looks again, at the whole execution.
//! - *strict*: the sets of C11Tester's machine take its place, with the order of execution as the order of seq_cst
//!   operations. They forbid at least what psc forbids, so that what is found is certain; a few successors that psc
//!   would permit are not found (those that need a seq_cst order against program order and reads-from).

use crate::clocks::Kind;
use crate::set::Set;
use fencepost_trace::{FenceOrder, StoreOrder};

#[derive(Clone, Copy, Debug)]
struct Thread<const W: usize> {
    /// What its next access cannot stand before.
    known: Set<W>,
    /// What becomes known with an acquire fence.
    acquirable: Set<W>,
    /// What was known at the last release fence, if there was one.
    released: Option<Set<W>>,
}

/// The order of C/C++20.
#[derive(Clone, Debug)]
pub struct Language<const W: usize> {
    strict: bool,
    threads: Vec<Thread<W>>,
    /// What an acquire of the last store learns.
    places: Vec<Set<W>>,
    /// Known at some seq_cst fence.
    fenced: Set<W>,
    /// By seq_cst operations.
    seq_cst: Set<W>,
}

impl<const W: usize> Language<W> {
    /// Nothing has happened.
    pub fn new(strict: bool) -> Self {
        let (threads, places) = (Vec::new(), Vec::new());
        Language { strict, threads, places, fenced: Set::EMPTY, seq_cst: Set::EMPTY }
    }

    pub(crate) fn clear(&mut self) {
        *self = Language::new(self.strict);
    }

    pub(crate) fn make_room(&mut self, threads: usize, places: usize) {
        if self.threads.len() < threads {
            let new = Thread { known: Set::EMPTY, acquirable: Set::EMPTY, released: None };
            self.threads.resize(threads, new);
        }
        if self.places.len() < places {
            self.places.resize(places, Set::EMPTY);
        }
    }

    pub(crate) fn forget_in_threads(&mut self, word: usize) {
        for thread in &mut self.threads {
            [&mut thread.known, &mut thread.acquirable].into_iter().for_each(|set| set.clear_word(word));
            thread.released.iter_mut().for_each(|set| set.clear_word(word));
        }
        self.fenced.clear_word(word);
        self.seq_cst.clear_word(word);
    }

    pub(crate) fn forget_in_place(&mut self, place: usize, word: usize) {
        self.places[place].clear_word(word);
    }

    pub(crate) fn forget_place(&mut self, place: usize) {
        self.places[place] = Set::EMPTY;
    }

    /// The stores that the thread's next access cannot stand before.
    #[inline]
    pub(crate) fn before(&self, thread: usize, kind: Kind) -> Set<W> {
        let mut known = self.threads[thread].known;
        if self.strict && kind.is_seq_cst() {
            known.join(&self.fenced);
            known.join(&self.seq_cst);
        }
        known
    }

    /// The access has happened. `stores` are those to its place so far, its own included. Returns whether more is known
    /// of the thread now.
    #[inline]
    pub(crate) fn performed(
        &mut self,
        thread: usize,
        at: usize,
        kind: Kind,
        bit: Option<usize>,
        stores: &Set<W>,
    ) -> bool {
        let (thread, released) = (&mut self.threads[thread], &mut self.places[at]);
        let mut more = false;
        if kind.reads() && !kind.is_plain() {
            more |= thread.acquirable.grow(released);
            if kind.acquires() {
                more |= thread.known.grow(released);
            }
        }
        more |= thread.known.grow(stores);
        let Some(bit) = bit else { return more };
        let mut now = match (kind.releases(), &thread.released) {
            (true, _) => thread.known,
            (false, Some(before)) if !kind.is_plain() => *before,
            _ => Set::EMPTY,
        };
        if matches!(kind, Kind::Rmw { .. }) {
            now.join(released);
        }
        *released = now;
        if matches!(kind, Kind::Store { order: StoreOrder::SeqCst }) || (kind.is_seq_cst() && kind.writes()) {
            self.seq_cst.insert(bit);
        }
        more
    }

    /// A fence.
    pub(crate) fn fence(&mut self, thread: usize, order: FenceOrder) {
        let thread = &mut self.threads[thread];
        if order.acquires() {
            thread.known.join(&thread.acquirable);
        }
        if order == FenceOrder::SeqCst && self.strict {
            self.fenced.join(&thread.known);
            thread.known.join(&self.fenced);
            thread.known.join(&self.seq_cst);
        }
        if order.releases() {
            thread.released = Some(thread.known);
        }
    }
}
