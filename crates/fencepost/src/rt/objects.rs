//! Which object is which.
//!
//! An execution is run again and again along its graph, and what a thread accesses must have the same name every time.
//! Addresses will not do: the heap gives others in every run. Constructors are `const`, so that nothing is known of an
//! object before it is used. So an object carries a *stamp*, which says under which number it is known in the execution
//! at hand, and gets its name when it is first used, after the thread that does and how many operations it had asked
//! for.
//! Another thread may be the first when the execution is run again: exploration then says which object it was
//! ([`Threads::identify`](fencepost_engine::Threads::identify)), and it takes that name.
//!
//! A stamp of an earlier execution means nothing, so that statics start anew in each. A stamp of another worker is left
//! alone: this worker then knows the object by its address, for it is shared and lives on.

use super::cells::PlainState;
use super::context::Context;
use crate::alloc::Internal;
use fencepost_trace::{Hidden, Location, Size, ThreadId};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is known under a number in some execution: worker, execution, number. 0 is nothing.
#[derive(Debug, Default)]
pub(crate) struct Stamp(AtomicU64);

const INDEX_BITS: u32 = 20;
const EXECUTION_BITS: u32 = 28;

impl Stamp {
    pub(crate) const fn new() -> Stamp {
        Stamp(AtomicU64::new(0))
    }

    /// It is to be a new object when it is used next: nobody else can see it now.
    pub(crate) fn reset(&mut self) {
        *self.0.get_mut() = 0;
    }
}

/// What kind of object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Memory of this width.
    Memory(Size),
    /// The state of a lock or the like.
    Hidden(Hidden),
    /// Plain memory, which is no location to the engine.
    Plain,
}

impl Kind {
    /// Tells the names of different kinds apart.
    fn number(self) -> u64 {
        match self {
            Kind::Memory(size) => size.bytes().trailing_zeros().into(),
            Kind::Hidden(kind) => 5 + kind as u64,
            Kind::Plain => 31,
        }
    }
}

pub(super) struct Object {
    kind: Kind,
    name: u64,
    /// Where it is; nowhere if it is plain memory.
    pub(super) at: Location,
    /// Who made it, when (as one more than the number of its events), and where; if that is known.
    pub(super) created: Option<(ThreadId, u32, u32)>,
    pub(super) plain: PlainState,
}

/// Where the object of this kind and name is.
fn place(kind: Kind, name: u64) -> Location {
    match kind {
        Kind::Memory(size) => Location::new(name << 4, size),
        Kind::Hidden(kind) => Location::hidden(kind, name << 3),
        Kind::Plain => Location::new(0, Size::B1),
    }
}

#[derive(Default)]
pub(super) struct Objects {
    pub(super) list: Vec<Object>,
    /// Names, and what memory of that name holds initially.
    names: FxHashMap<u64, u128>,
    /// Objects that another worker has stamped, by address.
    foreign: FxHashMap<usize, u32>,
}

impl Objects {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.names.clear();
        self.foreign.clear();
    }

    /// What memory at this location holds initially.
    pub(super) fn initial(&self, at: Location) -> u128 {
        self.names.get(&(at.address >> 4)).copied().unwrap_or(0)
    }

    /// Gives an object the name of another location; false if that is taken.
    pub(super) fn rename(&mut self, index: u32, at: Location) -> bool {
        let object = &mut self.list[index as usize];
        let name = match (object.kind, at.as_hidden()) {
            (Kind::Memory(size), None) if size == at.size => at.address >> 4,
            (Kind::Hidden(kind), Some((same, key))) if kind == same => key >> 3,
            _ => return false,
        };
        if name == object.name || self.names.contains_key(&name) {
            return false;
        }
        let initial = self.names.remove(&object.name).unwrap_or(0);
        (object.name, object.at) = (name, place(object.kind, name));
        self.names.insert(name, initial);
        true
    }
}

impl Context {
    /// What the stamps of the execution at hand begin with.
    pub(super) fn stamp_of_execution(&self) -> u64 {
        (self.worker << EXECUTION_BITS | self.execution.get() & ((1 << EXECUTION_BITS) - 1)) << INDEX_BITS
    }

    /// The number of the object with this stamp, and whether it is new in this execution.
    #[inline]
    pub(super) fn object(&self, stamp: &Stamp, kind: Kind, initial: impl FnOnce() -> u128) -> (u32, bool) {
        let own = self.own.get();
        let seen = stamp.0.load(Ordering::Relaxed);
        if seen >> INDEX_BITS << INDEX_BITS == own && seen != 0 {
            return ((seen & ((1 << INDEX_BITS) - 1)) as u32, false);
        }
        self.new_object(stamp, seen, own, kind, initial())
    }

    #[cold]
    fn new_object(&self, stamp: &Stamp, seen: u64, own: u64, kind: Kind, initial: u128) -> (u32, bool) {
        let _own = Internal::enter();
        let mut objects = self.objects.borrow_mut();
        let address = std::ptr::from_ref(stamp).addr();
        let is_foreign = seen != 0 && seen >> (INDEX_BITS + EXECUTION_BITS) != self.worker;
        if is_foreign && let Some(index) = objects.foreign.get(&address) {
            return (*index, false);
        }
        let index = objects.list.len() as u32;
        assert!(index < 1 << INDEX_BITS, "fencepost: one execution uses more than a million objects");
        let first = !is_foreign
            && stamp.0.compare_exchange(seen, own | u64::from(index), Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !first {
            objects.foreign.insert(address, index);
        }
        let thread = self.thread();
        let ops = self.state(|state| state.ops);
        // 12 bits of thread, 20 of operations, 5 of kind, 3 for those who find their name taken.
        let mut name = ((u64::from(thread.0) << 20 | u64::from(ops) & 0xf_ffff) << 5 | kind.number()) << 3 | 1;
        while objects.names.contains_key(&name) {
            name += 1;
        }
        if kind != Kind::Plain {
            objects.names.insert(name, initial);
        }
        objects.list.push(Object { kind, name, at: place(kind, name), created: None, plain: PlainState::default() });
        (index, true)
    }

    /// The object is being made, by the thread that runs.
    pub(crate) fn created(
        &self,
        stamp: &Stamp,
        kind: Kind,
        caller: &'static std::panic::Location<'static>,
        initial: u128,
    ) {
        let (index, _) = self.object(stamp, kind, || initial);
        let thread = self.thread();
        let time = self.state(|state| state.clock.get(thread.index()).copied().unwrap_or(0)).saturating_add(1);
        let label = self.label(caller);
        self.objects.borrow_mut().list[index as usize].created = Some((thread, time, label));
    }
}

impl Context {
    /// Has the object with this stamp been used in this execution?
    pub(crate) fn knows(&self, stamp: &Stamp) -> bool {
        let own = self.own.get();
        let seen = stamp.0.load(Ordering::Relaxed);
        let address = std::ptr::from_ref(stamp).addr();
        seen != 0 && (seen >> INDEX_BITS << INDEX_BITS == own || self.objects.borrow().foreign.contains_key(&address))
    }
}
