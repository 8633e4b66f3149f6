//! Sequential consistency: Relaxer's figure 3.
//!
//! Memory is an array `m`; every operation is carried out in it at once. Orders and fences mean nothing, and there
//! is no choice but the order of the threads' steps.

use crate::bytes::Bytes;
use crate::{Commit, Machine, MachineOptions, Read, Source, Step};
use fencepost_trace::{Coherence, EventId, Location, Model, Part, ThreadId, Value, VectorClock};

/// The machine of sequential consistency.
///
/// ```
/// use fencepost_memory::{Machine, Read, Sc, Step};
/// use fencepost_trace::{EventId, LoadOrder, Location, Size, StoreOrder, ThreadId, Value};
/// let mut machine = Sc::default();
/// let x = Location::new(0x1000, Size::B4);
/// machine.introduce(x, &mut |_| Value::ZERO);
/// let store = Step::Store { at: x, order: StoreOrder::Relaxed, value: Value(1) };
/// machine.perform(EventId(1), ThreadId(0), &store, None);
/// let mut sources = Vec::new();
/// machine.sources(ThreadId(1), Read { at: x, order: LoadOrder::Relaxed, exclusive: false }, &mut sources);
/// assert_eq!(sources[0].value, Value(1));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sc {
    /// `m`
    memory: Bytes,
}

impl Machine for Sc {
    const MODEL: Model = Model::Sc;

    fn with_options(_: &MachineOptions) -> Sc {
        Sc::default()
    }

    fn reset(&mut self) {
        self.memory.clear();
    }

    fn forget_order(&mut self, forget: bool) {
        self.memory.set_forgetful(forget);
    }

    #[inline]
    fn introduce(&mut self, at: Location, initial: &mut dyn FnMut(Location) -> Value) {
        self.memory.introduce(at, initial);
    }

    #[inline]
    fn sources(&mut self, _: ThreadId, read: Read, out: &mut Vec<Source>) {
        out.push(self.memory.read(read.at));
    }

    #[inline]
    fn required(&self, _: ThreadId, _: &Step, _: &mut Vec<Commit>) {}

    #[inline]
    fn perform(&mut self, event: EventId, _: ThreadId, step: &Step, _: Option<Source>) {
        match *step {
            Step::Load { at, .. } => self.memory.observe(at),
            Step::Store { at, value, .. } => self.memory.write(at, value, event),
            Step::Rmw { at, written, .. } => {
                self.memory.observe(at);
                self.memory.write(at, written, event);
            }
            Step::Fence { .. } => {}
        }
    }

    #[inline]
    fn commits(&self, _: &mut Vec<Commit>) {}

    fn commit(&mut self, commit: Commit) {
        unreachable!("fencepost: {commit:?} under sc, which buffers nothing");
    }

    #[inline]
    fn is_local(&self, step: &Step) -> bool {
        matches!(step, Step::Fence { .. })
    }

    #[inline]
    fn clock(&self, _: ThreadId) -> Option<&VectorClock> {
        None
    }

    fn parts(&self) -> &[Part] {
        self.memory.parts()
    }

    fn coherence(&self) -> Vec<Coherence> {
        self.memory.coherence(std::iter::empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::{Drive, X, XY, Y};
    use fencepost_trace::{LoadOrder, RmwOrder, StoreOrder};

    #[test]
    fn stores_are_visible_at_once() {
        let mut d = Drive::<Sc>::default();
        d.store(0, X, StoreOrder::Relaxed, 1);
        assert_eq!(d.commits(), []);
        assert_eq!(d.load(1, X, LoadOrder::Relaxed), 1);
        assert_eq!(d.exchange(1, X, RmwOrder::Relaxed, 2), 1);
        assert_eq!(d.load(0, X, LoadOrder::Relaxed), 2);
    }

    #[test]
    fn a_wide_load_reads_two_stores_at_once() {
        let mut d = Drive::<Sc>::default();
        let x = d.store(0, X, StoreOrder::Relaxed, 1);
        let y = d.store(1, Y, StoreOrder::Relaxed, 2);
        assert_eq!(d.load(2, XY, LoadOrder::Relaxed), 2 << 32 | 1);
        assert_eq!(d.machine.parts(), [Part { offset: 0, bytes: 4, from: x }, Part { offset: 4, bytes: 4, from: y }]);
        let wide = d.store(2, XY, StoreOrder::Relaxed, 0);
        assert_eq!(d.load(0, Y, LoadOrder::Relaxed), 0);
        assert_eq!(d.machine.parts(), []);
        // the wide store ties both locations together
        assert_eq!(d.machine.coherence(), [Coherence { address: X.address, bytes: 8, stores: vec![x, y, wide] }]);
    }

    #[test]
    fn reset_forgets() {
        let mut d = Drive::<Sc>::default();
        d.store(0, X, StoreOrder::Relaxed, 1);
        d.machine.reset();
        assert_eq!(d.load(0, X, LoadOrder::Relaxed), 0);
        assert_eq!(d.machine.coherence(), []);
    }
}
