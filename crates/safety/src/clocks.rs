//! What happens before what, along one SC execution: under SC, and under the models that are watched.

use crate::hardware::Hardware;
use crate::language::Language;
use crate::set::Set;
use fencepost_trace::{FenceOrder, LoadOrder, Model, RmwOrder, StoreOrder, Value};

/// What an access is to the models.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A load, or a compare-exchange that failed.
    Load {
        /// with this order
        order: LoadOrder,
        /// it is a compare-exchange
        failed_rmw: bool,
    },
    /// A store.
    Store {
        /// with this order
        order: StoreOrder,
    },
    /// A read-modify-write that wrote.
    Rmw {
        /// with this order
        order: RmwOrder,
    },
}

impl Kind {
    /// A load.
    pub fn load(order: LoadOrder) -> Kind {
        Kind::Load { order, failed_rmw: false }
    }

    /// Does it read?
    #[inline]
    pub fn reads(self) -> bool {
        !matches!(self, Kind::Store { .. })
    }

    /// Does it write?
    #[inline]
    pub fn writes(self) -> bool {
        !matches!(self, Kind::Load { .. })
    }

    pub(crate) fn is_plain(self) -> bool {
        matches!(self, Kind::Load { order: LoadOrder::Plain, .. } | Kind::Store { order: StoreOrder::Plain })
    }

    pub(crate) fn is_seq_cst(self) -> bool {
        match self {
            Kind::Load { order, .. } => order == LoadOrder::SeqCst,
            Kind::Store { order } => order == StoreOrder::SeqCst,
            Kind::Rmw { order } => order == RmwOrder::SeqCst,
        }
    }

    pub(crate) fn acquires(self) -> bool {
        match self {
            Kind::Load { order, .. } => order.acquires(),
            Kind::Store { .. } => false,
            Kind::Rmw { order } => order.load().acquires(),
        }
    }

    pub(crate) fn releases(self) -> bool {
        match self {
            Kind::Load { .. } => false,
            Kind::Store { order } => order.releases(),
            Kind::Rmw { order } => order.store().releases(),
        }
    }
}

/// The order of a model.
#[derive(Clone, Debug)]
enum Order<const W: usize> {
    Hardware(Hardware<W>),
    Language(Language<W>),
}

/// A thread, under SC.
#[derive(Clone, Copy, Debug)]
struct Thread<const W: usize> {
    before: Set<W>,
    /// How often something has changed that is known of it, under sc or a model.
    version: u64,
}

/// The last access of a thread to a place.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// How many stores to the place there were.
    count: u32,
    /// What it was, if it was a load.
    load: Option<Kind>,
    /// The thread's version after it.
    version: u64,
}

impl Seen {
    const NOTHING: Seen = Seen { count: 0, load: None, version: 0 };
}

/// A location, under SC.
#[derive(Clone, Debug)]
struct LocationState<const W: usize> {
    /// The stores to it.
    stores: Set<W>,
    /// Those that nothing can come right before: what an RMW has written.
    exclusive: Set<W>,
    stored: Set<W>,
    loaded: Set<W>,
    writer: usize,
    count: u32,
    /// The numbers of the last stores to it, each at its position, counted round once there are as many as a set has
    /// room for.
    last: Vec<u32>,
    /// By thread: its last access.
    seen: Vec<Seen>,
}

impl<const W: usize> LocationState<W> {
    fn new() -> Self {
        LocationState {
            stores: Set::EMPTY,
            exclusive: Set::EMPTY,
            stored: Set::EMPTY,
            loaded: Set::EMPTY,
            writer: usize::MAX,
            count: 0,
            last: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// As if nobody had accessed it. What was allocated stays.
    fn clear(&mut self) {
        (self.stores, self.exclusive, self.stored, self.loaded) = (Set::EMPTY, Set::EMPTY, Set::EMPTY, Set::EMPTY);
        (self.writer, self.count) = (usize::MAX, 0);
        self.last.clear();
        self.seen.clear();
    }
}

/// A store that is remembered.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Who it is: for the owner of the clocks.
    pub name: u32,
    /// What it overwrote.
    pub overwritten: Value,
    /// Its position in the coherence order of its place, from 1.
    position: u32,
}

/// The clocks of one SC execution. Threads and places are small numbers that the owner gives out.
///
/// ```
/// use fencepost_safety::{Clocks, Kind};
/// use fencepost_trace::{LoadOrder, Model, StoreOrder, Value};
///
/// let (store, load) = (Kind::Store { order: StoreOrder::Relaxed }, Kind::load(LoadOrder::Relaxed));
/// let mut clocks = Clocks::<1>::new(&[Model::Tso, Model::C11], false);
/// clocks.make_room(2, 2);
/// // x = 1; y.load() in thread 0, then y = 1; x.load() in thread 1: store buffering.
/// clocks.access(0, 0, store, Some((0, 10, Value(0))));
/// clocks.access(0, 1, load, None);
/// clocks.access(1, 1, store, Some((1, 11, Value(0))));
/// // The load of y came before y = 1, so that x = 1 is before the next event of thread 1 under SC, but not under TSO.
/// assert_eq!(clocks.overtaken(1, 0).collect::<Vec<_>>(), [0]);
/// assert!(clocks.can_pass(0, 1, 0, load, 0));
/// ```
#[derive(Clone, Debug)]
pub struct Clocks<const W: usize> {
    threads: Vec<Thread<W>>,
    places: Vec<LocationState<W>>,
    slots: Vec<Slot>,
    orders: Vec<Order<W>>,
}

impl<const W: usize> Clocks<W> {
    /// The clocks of these models. `strict` is said in [`language`](crate::language).
    pub fn new(models: &[Model], strict: bool) -> Self {
        let order = |model: &Model| match model {
            Model::C11 => Order::Language(Language::new(strict)),
            _ => Order::Hardware(Hardware::new(*model)),
        };
        let orders = models.iter().map(order).collect();
        Clocks { threads: Vec::new(), places: Vec::new(), slots: Vec::new(), orders }
    }

    /// An execution begins.
    pub fn clear(&mut self) {
        self.threads.clear();
        self.places.clear();
        self.slots.clear();
        for order in &mut self.orders {
            match order {
                Order::Hardware(order) => order.clear(),
                Order::Language(order) => order.clear(),
            }
        }
    }

    /// Makes threads and places up to these numbers known.
    pub fn make_room(&mut self, threads: usize, places: usize) {
        if self.threads.len() < threads {
            self.threads.resize(threads, Thread { before: Set::EMPTY, version: 0 });
        }
        if self.places.len() < places {
            self.places.resize_with(places, LocationState::new);
        }
        for order in &mut self.orders {
            match order {
                Order::Hardware(order) => order.make_room(threads, places),
                Order::Language(order) => order.make_room(threads, places),
            }
        }
    }

    /// A remembered store.
    pub fn slot(&self, bit: usize) -> &Slot {
        &self.slots[bit]
    }

    /// The stores to the place that an access of the thread must not stand before if the execution is to be SC, and
    /// that the thread itself has not yet seen there.
    #[inline]
    pub fn overtaken(&self, thread: usize, place: usize) -> impl Iterator<Item = usize> {
        let (at, before) = (&self.places[place], &self.threads[thread].before);
        let seen = at.seen.get(thread).map_or(0, |seen| seen.count);
        let first = seen.max(at.count - at.last.len() as u32);
        // What has been forgotten meanwhile is in none of the sets, or another store's number by now.
        let is_there =
            move |bit: usize, position| before.has(bit) && at.stores.has(bit) && self.slots[bit].position == position;
        (first..at.count).filter_map(move |i| {
            let bit = at.last[i as usize % Set::<W>::ROOM] as usize;
            is_there(bit, i + 1).then_some(bit)
        })
    }

    /// May the thread's next access, if it is of this kind, stand right before this store to its place, under the
    /// `model`-th model? The store is one that it would [overtake](Self::overtaken).
    #[inline]
    pub fn can_pass(&self, model: usize, thread: usize, place: usize, kind: Kind, bit: usize) -> bool {
        let bound = kind.writes() && self.places[place].exclusive.has(bit);
        !bound && !self.keeps_behind(model, thread, kind, bit)
    }

    /// Does the order of the `model`-th model alone keep the thread's next access, if it is of this kind, behind this
    /// store?
    #[inline]
    pub fn keeps_behind(&self, model: usize, thread: usize, kind: Kind, bit: usize) -> bool {
        match &self.orders[model] {
            Order::Hardware(order) => order.before(thread, kind).has(bit),
            Order::Language(order) => order.before(thread, kind).has(bit),
        }
    }

    /// Would this access be a load that tells nothing new? The thread has loaded from the place in the same way, nobody
    /// has stored there since, and the thread knows no more than it did. Then nothing [passes](Self::overtaken) and
    /// nothing changes.
    #[inline]
    pub fn is_repeated(&self, thread: usize, place: usize, kind: Kind) -> bool {
        let at = &self.places[place];
        at.seen.get(thread).is_some_and(|seen| {
            seen.load == Some(kind) && seen.count == at.count && seen.version == self.threads[thread].version
        })
    }

    /// The access happens: as a load of the last store, or as the next store. A store has a number of its own, a name
    /// and what it overwrites.
    #[inline]
    pub fn access(&mut self, thread: usize, place: usize, kind: Kind, store: Option<(usize, u32, Value)>) {
        let at = &mut self.places[place];
        let own = at.writer == thread;
        let Thread { before, version } = &mut self.threads[thread];
        let mut changed = before.grow(&at.stored);
        let bit = store.map(|(bit, ..)| bit);
        match store {
            None => at.loaded.join(before),
            Some((bit, name, overwritten)) => {
                changed = true;
                before.join(&at.loaded);
                before.insert(bit);
                at.stores.insert(bit);
                if matches!(kind, Kind::Rmw { .. }) {
                    at.exclusive.insert(bit);
                }
                (at.stored, at.loaded) = (*before, Set::EMPTY);
                at.writer = thread;
                match at.last.get_mut(at.count as usize % Set::<W>::ROOM) {
                    Some(oldest) => *oldest = bit as u32,
                    None => at.last.push(bit as u32),
                }
                at.count += 1;
                let slot = Slot { name, overwritten, position: at.count };
                if bit < self.slots.len() {
                    self.slots[bit] = slot;
                } else {
                    self.slots.resize(bit + 1, slot);
                }
            }
        }
        for order in &mut self.orders {
            changed |= match order {
                Order::Hardware(order) => order.performed(thread, place, kind, bit, own),
                Order::Language(order) => order.performed(thread, place, kind, bit, &at.stores),
            };
        }
        *version += u64::from(changed);
        if at.seen.len() <= thread {
            at.seen.resize(thread + 1, Seen::NOTHING);
        }
        at.seen[thread] = Seen { count: at.count, load: bit.is_none().then_some(kind), version: *version };
    }

    /// Nothing can come right before the last store to this place: it is part of a store to more bytes.
    pub fn bind_last(&mut self, place: usize, bit: usize) {
        self.places[place].exclusive.insert(bit);
    }

    /// A fence.
    pub fn fence(&mut self, thread: usize, order: FenceOrder) {
        self.threads[thread].version += 1;
        for model in &mut self.orders {
            match model {
                Order::Hardware(model) => model.fence(thread, order),
                Order::Language(model) => model.fence(thread, order),
            }
        }
    }

    /// Forgets the 64 stores of a word, as far as threads know of them.
    pub(crate) fn forget_in_threads(&mut self, word: usize) {
        self.threads.iter_mut().for_each(|thread| thread.before.clear_word(word));
        for order in &mut self.orders {
            match order {
                Order::Hardware(order) => order.forget_in_threads(word),
                Order::Language(order) => order.forget_in_threads(word),
            }
        }
    }

    /// The same for a place.
    pub(crate) fn forget_in_place(&mut self, place: usize, word: usize) {
        let at = &mut self.places[place];
        [&mut at.stores, &mut at.exclusive, &mut at.stored, &mut at.loaded]
            .into_iter()
            .for_each(|set| set.clear_word(word));
        for order in &mut self.orders {
            match order {
                Order::Hardware(order) => order.forget_in_place(place, word),
                Order::Language(order) => order.forget_in_place(place, word),
            }
        }
    }

    /// Forgets a place altogether.
    pub(crate) fn forget_place(&mut self, place: usize) {
        self.places[place].clear();
        for order in &mut self.orders {
            match order {
                Order::Hardware(order) => order.forget_place(place),
                Order::Language(order) => order.forget_place(place),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A load that is said to tell nothing new changes nothing, under any model, and would pass no store.
    #[test]
    fn repeated_loads_change_nothing() {
        const LOADS: [LoadOrder; 4] = [LoadOrder::Plain, LoadOrder::Relaxed, LoadOrder::Acquire, LoadOrder::SeqCst];
        const STORES: [StoreOrder; 3] = [StoreOrder::Relaxed, StoreOrder::Release, StoreOrder::SeqCst];
        const RMWS: [RmwOrder; 3] = [RmwOrder::Relaxed, RmwOrder::AcqRel, RmwOrder::SeqCst];
        const FENCES: [FenceOrder; 3] = [FenceOrder::Acquire, FenceOrder::Release, FenceOrder::SeqCst];
        let mut random = fencepost_engine::Random::new(14);
        let mut draw = |n: usize| random.below(n);
        let (mut repeated, mut others) = (0, 0);
        for _ in 0..200 {
            let mut clocks = Clocks::<2>::new(&[Model::Tso, Model::Pso, Model::Pslo, Model::C11], true);
            clocks.make_room(3, 2);
            let mut stores = 0;
            for _ in 0..60 {
                let (thread, place) = (draw(3), draw(2));
                let failed_rmw = draw(8) == 0;
                let kind = match draw(10) {
                    0 => Kind::Store { order: STORES[draw(3)] },
                    1 => Kind::Rmw { order: RMWS[draw(3)] },
                    2 => {
                        clocks.fence(thread, FENCES[draw(3)]);
                        continue;
                    }
                    _ => Kind::Load { order: LOADS[draw(4)], failed_rmw },
                };
                let before = clocks.is_repeated(thread, place, kind).then(|| clocks.clone());
                let bit = kind.writes().then_some((stores, 0, Value::ZERO));
                clocks.access(thread, place, kind, bit);
                stores += usize::from(kind.writes());
                match before {
                    Some(before) => {
                        assert_eq!(format!("{before:?}"), format!("{clocks:?}"));
                        assert_eq!(before.overtaken(thread, place).next(), None);
                        repeated += 1;
                    }
                    None => others += 1,
                }
            }
        }
        assert!(repeated > 500 && others > 500, "{repeated} {others}");
    }
}
