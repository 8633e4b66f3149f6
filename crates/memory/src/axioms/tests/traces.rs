//! What the programs of the corpus do not show: accesses of different sizes, ill-formed traces, cycles of
//! po ∪ rf, clocks, races.

use crate::axioms::{Violation, check, races};
use fencepost_trace::{
    Coherence, Event, EventId, EventKind, FenceOrder, LoadOrder, Location, Model, Outcome, Part, RmwOrder, Size,
    StoreOrder, ThreadId, Trace, Value,
};

const X: u64 = 0x1000;
const Y: u64 = 0x2000;

struct Builder(Trace);

impl Builder {
    fn new(model: Model) -> Builder {
        let (events, coherence, labels, choices) = Default::default();
        Builder(Trace { model, outcome: Outcome::Finished, threads: 2, events, coherence, labels, choices })
    }

    fn event(mut self, thread: u32, kind: EventKind) -> Self {
        let id = EventId(self.0.events.len() as u32 + 1);
        self.0.events.push(Event { id, thread: ThreadId(thread), label: 0, kind, clock: Vec::new() });
        self
    }

    fn store(self, thread: u32, at: u64, size: Size, value: u128, order: StoreOrder) -> Self {
        self.event(thread, EventKind::Store { at: Location::new(at, size), order, value: Value(value) })
    }

    fn load(self, thread: u32, at: u64, size: Size, value: u128, from: u32, order: LoadOrder) -> Self {
        let at = Location::new(at, size);
        let (value, from, parts) = (Value(value), EventId(from), Vec::new());
        self.event(thread, EventKind::Load { at, order, value, from, parts, failed_rmw: false })
    }

    /// A relaxed load of two bytes, one from each.
    fn halves(self, thread: u32, value: u128, from: [u32; 2]) -> Self {
        let at = Location::new(X, Size::B2);
        let part = |offset: u8| Part { offset, bytes: 1, from: EventId(from[offset as usize]) };
        let (order, value, from, parts) = (LoadOrder::Relaxed, Value(value), EventId(from[0]), vec![part(0), part(1)]);
        self.event(thread, EventKind::Load { at, order, value, from, parts, failed_rmw: false })
    }

    fn rmw(self, thread: u32, at: u64, read: u128, written: u128, from: u32) -> Self {
        let at = Location::new(at, Size::B4);
        let (order, from, parts) = (RmwOrder::Relaxed, EventId(from), Vec::new());
        self.event(thread, EventKind::Rmw { at, order, read: Value(read), written: Value(written), from, parts })
    }

    fn coherence(mut self, address: u64, bytes: u64, stores: &[u32]) -> Self {
        self.0.coherence.push(Coherence { address, bytes, stores: stores.iter().map(|&s| EventId(s)).collect() });
        self
    }

    fn clocks(mut self, clocks: &[&[u32]]) -> Self {
        for (event, clock) in self.0.events.iter_mut().zip(clocks) {
            event.clock = clock.to_vec();
        }
        self
    }

    fn under(&self, model: Model) -> Result<(), Violation> {
        check(&Trace { model, ..self.0.clone() })
    }

    fn axiom(&self, model: Model) -> &'static str {
        self.under(model).map_or_else(|v| v.axiom, |()| "none")
    }
}

use LoadOrder::Relaxed as LoadRelaxed;
use StoreOrder::Relaxed as StoreRelaxed;

#[test]
fn values_out_of_thin_air_are_nobodys() {
    // LB with both loads reading the other thread's store: no order of execution gives this trace.
    let trace = Builder::new(Model::C11)
        .load(0, X, Size::B4, 1, 4, LoadRelaxed)
        .store(0, Y, Size::B4, 1, StoreRelaxed)
        .load(1, Y, Size::B4, 1, 2, LoadRelaxed)
        .store(1, X, Size::B4, 1, StoreRelaxed)
        .coherence(X, 4, &[4])
        .coherence(Y, 4, &[2]);
    let got = Model::ALL.map(|model| trace.axiom(model));
    assert_eq!(got, ["sc", "tso", "pso", "pslo", "no-thin-air"]);
}

#[test]
fn a_word_may_be_read_from_two_stores() {
    let trace = |value, low, high| {
        Builder::new(Model::Sc)
            .store(0, X, Size::B2, 0x1122, StoreRelaxed)
            .store(0, X + 1, Size::B1, 0x33, StoreRelaxed)
            .halves(1, value, [low, high])
            .coherence(X, 2, &[1, 2])
    };
    assert_eq!(trace(0x3322, 1, 2).axiom(Model::Sc), "none");
    assert_eq!(trace(0x1122, 1, 1).axiom(Model::Sc), "none");
    // the high byte is what the second store wrote
    assert_eq!(trace(0x1122, 1, 2).axiom(Model::Sc), "well-formed");
    // the second store does not write the low byte
    assert_eq!(trace(0x3333, 2, 2).axiom(Model::Sc), "well-formed");
    // to see the second store is to see the first, if stores are not reordered
    let torn = trace(0x3300, 0, 2);
    assert_eq!([Model::Sc, Model::Tso].map(|m| torn.axiom(m)), ["sc", "tso"]);
    // The stores share the high byte, and mo keeps them in order there: on PSO too.
    assert_eq!(torn.axiom(Model::Pso), "pso");
}

#[test]
fn halves_of_a_word_are_buffered_apart() {
    // SB with both locations in one word: each thread forwards its own half and misses the other's.
    let trace = Builder::new(Model::Tso)
        .store(0, X, Size::B1, 1, StoreRelaxed)
        .halves(0, 0x0001, [1, 0])
        .store(1, X + 1, Size::B1, 1, StoreRelaxed)
        .halves(1, 0x0100, [0, 3])
        .coherence(X, 1, &[1])
        .coherence(X + 1, 1, &[3]);
    let got = Model::ALL.map(|model| trace.axiom(model));
    assert_eq!(got, ["sc", "none", "none", "none", "none"]);
}

#[test]
fn bytes_are_coherent_one_by_one() {
    // The new value of a byte, and then, in a wider load, the old one.
    let trace = Builder::new(Model::C11)
        .store(0, X, Size::B2, 0x0101, StoreRelaxed)
        .load(1, X, Size::B1, 1, 1, LoadRelaxed)
        .halves(1, 0x0100, [0, 1])
        .coherence(X, 2, &[1]);
    let got = Model::ALL.map(|model| trace.axiom(model));
    assert_eq!(got, ["sc", "uniproc", "uniproc", "uniproc", "coherence"]);
}

#[test]
fn nothing_gets_between_the_halves_of_an_rmw() {
    let trace = |mo: &[u32]| {
        Builder::new(Model::Sc).rmw(0, X, 0, 1, 0).store(1, X, Size::B4, 2, StoreRelaxed).coherence(X, 4, mo)
    };
    for model in Model::ALL {
        assert_eq!(trace(&[1, 2]).under(model), Ok(()));
    }
    let got = Model::ALL.map(|model| trace(&[2, 1]).axiom(model));
    // For SC too it is a rule of its own: read, store, write would be an interleaving.
    assert_eq!(got, ["atomicity"; 5]);
}

#[test]
fn commits_are_not_events() {
    let trace = Builder::new(Model::Tso)
        .store(0, X, Size::B4, 1, StoreRelaxed)
        .load(0, Y, Size::B4, 0, 0, LoadRelaxed)
        .event(0, EventKind::Commit { store: EventId(1) })
        .load(1, X, Size::B4, 1, 1, LoadRelaxed)
        .coherence(X, 4, &[1]);
    assert_eq!(trace.under(Model::Tso), Ok(()));
}

#[test]
fn ill_formed_traces_are_told_so() {
    let store = || Builder::new(Model::Sc).store(0, X, Size::B4, 1, StoreRelaxed);
    let loads = |value, from| store().load(1, X, Size::B4, value, from, LoadRelaxed).coherence(X, 4, &[1]);
    let short = Part { offset: 0, bytes: 2, from: EventId::INIT };
    let parts = |parts| {
        let (at, order, from) = (Location::new(X, Size::B4), LoadRelaxed, EventId::INIT);
        Builder::new(Model::Sc).event(0, EventKind::Load { at, order, value: Value(0), from, parts, failed_rmw: false })
    };
    let mut renamed = loads(1, 1);
    renamed.0.events[1].id = EventId(7);
    let table = [
        ("fine", loads(1, 1), "none"),
        ("a value that the store did not write", loads(2, 1), "well-formed"),
        ("a source that is no store", loads(1, 2), "well-formed"),
        ("a source that is not there", loads(1, 9), "well-formed"),
        (
            "a store to elsewhere as the source",
            store().load(1, Y, Size::B4, 1, 1, LoadRelaxed).coherence(X, 4, &[1]),
            "well-formed",
        ),
        ("a store without a place in coherence order", store(), "well-formed"),
        ("a store with two places", store().coherence(X, 4, &[1, 1]), "well-formed"),
        ("two coherence orders of one byte", store().coherence(X, 4, &[1]).coherence(X, 1, &[1]), "well-formed"),
        ("a coherence order of what is not there", store().coherence(X, 4, &[1, 5]), "well-formed"),
        (
            "a coherence order of a store to elsewhere",
            store().coherence(X, 4, &[1]).coherence(Y, 4, &[1]),
            "well-formed",
        ),
        ("a coherence order in two pieces", store().coherence(X, 2, &[1]).coherence(X + 2, 2, &[1]), "none"),
        ("parts that leave bytes out", parts(vec![short]), "well-formed"),
        ("parts that overlap", parts(vec![short, short, Part { offset: 2, ..short }]), "well-formed"),
        ("parts past the end", parts(vec![short, Part { offset: 2, bytes: 3, ..short }]), "well-formed"),
        ("parts in any order", parts(vec![Part { offset: 2, ..short }, short]), "none"),
        ("an event out of its place", renamed, "well-formed"),
        (
            "two opinions of an initial value",
            Builder::new(Model::Sc).load(0, X, Size::B4, 5, 0, LoadRelaxed).load(1, X, Size::B1, 6, 0, LoadRelaxed),
            "well-formed",
        ),
    ];
    for (name, trace, axiom) in table {
        assert_eq!(trace.axiom(Model::Sc), axiom, "{name}");
    }
}

/// MP: plain data, and a flag that is released with a fence or without.
fn message_passing(release: bool) -> Builder {
    let builder = Builder::new(Model::C11).store(0, X, Size::B4, 1, StoreOrder::Plain);
    let order = if release { FenceOrder::Release } else { FenceOrder::Acquire };
    builder
        .event(0, EventKind::Fence { order })
        .rmw(0, Y, 0, 1, 0)
        .load(1, Y, Size::B4, 1, 3, LoadOrder::Acquire)
        .load(1, X, Size::B4, 1, 1, LoadOrder::Plain)
        .coherence(X, 4, &[1])
        .coherence(Y, 4, &[3])
}

#[test]
fn races_are_conflicts_without_happens_before() {
    assert_eq!(races(&message_passing(true).0), []);
    assert_eq!(races(&message_passing(false).0), [(EventId(1), EventId(5))]);

    // An RMW both reads and writes, and is one event; two loads never race, nor do two atomics.
    let trace = Builder::new(Model::C11)
        .rmw(0, X, 0, 1, 0)
        .store(1, X + 3, Size::B1, 0, StoreOrder::Plain)
        .load(0, Y, Size::B4, 0, 0, LoadOrder::Plain)
        .load(1, Y, Size::B4, 0, 0, LoadOrder::Plain)
        .coherence(X, 4, &[1, 2]);
    assert_eq!(races(&trace.0), [(EventId(1), EventId(2))]);
}

#[test]
fn clocks_say_what_happens_before() {
    let own: [&[u32]; 3] = [&[1], &[2], &[3]];
    let with = |release, fourth: &[u32], fifth: &[u32]| {
        message_passing(release).clocks(&[own[0], own[1], own[2], fourth, fifth]).axiom(Model::C11)
    };
    // The fence is what synchronises, and the RMW behind it does not happen before the load.
    assert_eq!(with(true, &[2, 1], &[2, 2]), "none");
    assert_eq!(with(true, &[3, 1], &[3, 2]), "clock", "too much is known");
    assert_eq!(with(true, &[0, 1], &[0, 2]), "clock", "too little is known");
    assert_eq!(with(false, &[0, 1], &[0, 2]), "none");
    assert_eq!(with(true, &[2, 0], &[2, 1]), "clock", "an event is in its own clock");
    assert_eq!(with(true, &[], &[2, 2]), "none", "without a clock, nothing is said");
}

#[test]
fn a_violation_names_its_events() {
    let trace = Builder::new(Model::Sc)
        .store(0, X, Size::B4, 1, StoreRelaxed)
        .load(0, Y, Size::B4, 0, 0, LoadRelaxed)
        .store(1, Y, Size::B4, 1, StoreRelaxed)
        .load(1, X, Size::B4, 0, 0, LoadRelaxed)
        .coherence(X, 4, &[1])
        .coherence(Y, 4, &[3]);
    let violation = trace.under(Model::Sc).unwrap_err();
    assert_eq!(violation.to_string(), "sc: no interleaving of the threads has these accesses: e1, e2, e3, e4");
}
