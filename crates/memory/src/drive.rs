//! Drives a machine by hand, for the tests of the models.

use crate::{Commit, Machine, Read, Source, Step};
use fencepost_trace::{EventId, FenceOrder, LoadOrder, Location, RmwOrder, Size, StoreOrder, ThreadId, Value};

pub(crate) const X: Location = Location { address: 0x1000, size: Size::B4 };
pub(crate) const Y: Location = Location { address: 0x1004, size: Size::B4 };
/// `X` and `Y` together.
pub(crate) const XY: Location = Location { address: 0x1000, size: Size::B8 };
pub(crate) const Z: Location = Location { address: 0x2000, size: Size::B4 };

/// A machine, and the number of events so far. Every location starts with 0.
#[derive(Clone, Default)]
pub(crate) struct Drive<M> {
    pub machine: M,
    events: u32,
}

impl<M: Machine> Drive<M> {
    pub fn new(machine: M) -> Self {
        Drive { machine, events: 0 }
    }

    /// The values that a load may get, in the machine's order.
    pub fn readable(&mut self, thread: u32, at: Location) -> Vec<u128> {
        self.sources(thread, at, LoadOrder::Relaxed, false).iter().map(|source| source.value.0).collect()
    }

    pub fn sources(&mut self, thread: u32, at: Location, order: LoadOrder, exclusive: bool) -> Vec<Source> {
        self.machine.introduce(at, &mut |_| Value::ZERO);
        let mut out = Vec::new();
        self.machine.sources(ThreadId(thread), Read { at, order, exclusive }, &mut out);
        out
    }

    /// The stores that must be committed before the step.
    pub fn required(&self, thread: u32, step: Step) -> Vec<EventId> {
        let mut out = Vec::new();
        self.machine.required(ThreadId(thread), &step, &mut out);
        assert!(out.iter().all(|commit| commit.thread == ThreadId(thread)));
        out.iter().map(|commit| commit.store).collect()
    }

    fn perform(&mut self, thread: u32, step: Step, source: Option<Source>) -> EventId {
        for store in self.required(thread, step) {
            self.commit(thread, store);
        }
        self.events += 1;
        self.machine.perform(EventId(self.events), ThreadId(thread), &step, source);
        EventId(self.events)
    }

    pub fn store(&mut self, thread: u32, at: Location, order: StoreOrder, value: u128) -> EventId {
        self.machine.introduce(at, &mut |_| Value::ZERO);
        self.perform(thread, Step::Store { at, order, value: Value(value) }, None)
    }

    /// Loads the newest value.
    pub fn load(&mut self, thread: u32, at: Location, order: LoadOrder) -> u128 {
        let source = *self.sources(thread, at, order, false).last().expect("there is always a source");
        self.perform(thread, Step::Load { at, order, failed_rmw: false }, Some(source));
        source.value.0
    }

    /// Loads this value, which must be among the sources.
    pub fn load_value(&mut self, thread: u32, at: Location, order: LoadOrder, value: u128) {
        let sources = self.sources(thread, at, order, false);
        let source = sources.iter().find(|source| source.value.0 == value);
        let source = *source.unwrap_or_else(|| panic!("{value} is not among {sources:?}"));
        self.perform(thread, Step::Load { at, order, failed_rmw: false }, Some(source));
    }

    /// A compare-exchange that fails.
    pub fn fail(&mut self, thread: u32, at: Location, order: LoadOrder) -> u128 {
        let source = self.sources(thread, at, order, true)[0];
        self.perform(thread, Step::Load { at, order, failed_rmw: true }, Some(source));
        source.value.0
    }

    pub fn exchange(&mut self, thread: u32, at: Location, order: RmwOrder, value: u128) -> u128 {
        let sources = self.sources(thread, at, order.load(), true);
        assert_eq!(sources.len(), 1, "an RMW reads the newest value");
        self.perform(thread, Step::Rmw { at, order, written: Value(value) }, Some(sources[0]));
        sources[0].value.0
    }

    pub fn fence(&mut self, thread: u32, order: FenceOrder) {
        self.perform(thread, Step::Fence { order }, None);
    }

    pub fn commit(&mut self, thread: u32, store: EventId) {
        self.machine.commit(Commit { thread: ThreadId(thread), store });
    }

    /// The stores that can be committed now.
    pub fn commits(&self) -> Vec<EventId> {
        let mut out = Vec::new();
        self.machine.commits(&mut out);
        out.iter().map(|commit| commit.store).collect()
    }

    /// Commits what can be committed until nothing is left.
    pub fn drain(&mut self) {
        loop {
            let mut out = Vec::new();
            self.machine.commits(&mut out);
            let Some(first) = out.first() else { return };
            self.machine.commit(*first);
        }
    }
}
