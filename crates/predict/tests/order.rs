//! What prediction takes to be preserved of program order, against the axioms of the models.

use fencepost_memory::axioms::{Execution, Relation, pslo, pso, tso};
use fencepost_predict::{Profile, kept_behind, passing};
use fencepost_trace::{
    Coherence, Event, EventId, EventKind, FenceOrder, LoadOrder, Location, Model, Outcome, RmwOrder, Size, StoreOrder,
    ThreadId, Trace, Value,
};

use std::collections::BTreeSet;

struct Random(u64);

impl Random {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        from[(self.0 >> 33) as usize % from.len()]
    }
}

/// One thread that accesses a new location each time: nothing but the model orders its accesses.
fn thread(random: &mut Random) -> Trace {
    thread_of(random, 7, 7)
}

/// One thread with so many steps, at so many locations.
fn thread_of(random: &mut Random, steps: u32, locations: u32) -> Trace {
    let mut trace = Trace {
        model: Model::Sc,
        outcome: Outcome::Finished,
        threads: 1,
        events: Vec::new(),
        coherence: Vec::new(),
        labels: Vec::new(),
        choices: Vec::new(),
    };
    for id in 1..=steps {
        let at = Location::new(0x1000 + 16 * u64::from(id % locations), Size::B4);
        let (from, parts) = (EventId::INIT, Vec::new());
        let kind = match random.pick(&[0, 0, 0, 1, 1, 1, 2, 3, 4]) {
            0 => {
                let order = random.pick(&[LoadOrder::Plain, LoadOrder::Relaxed, LoadOrder::Acquire]);
                EventKind::Load { at, order, value: Value(0), from, parts, failed_rmw: false }
            }
            1 => {
                use StoreOrder::{Plain, Relaxed, Release, SeqCst};
                EventKind::Store { at, order: random.pick(&[Plain, Relaxed, Release, SeqCst]), value: Value(1) }
            }
            2 => {
                use RmwOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst};
                let order = random.pick(&[Relaxed, Acquire, Release, AcqRel, SeqCst]);
                EventKind::Rmw { at, order, read: Value(0), written: Value(1), from, parts }
            }
            3 => {
                let order = random.pick(&[LoadOrder::Relaxed, LoadOrder::Acquire, LoadOrder::SeqCst]);
                EventKind::Load { at, order, value: Value(0), from, parts, failed_rmw: true }
            }
            _ => {
                use FenceOrder::{AcqRel, Acquire, Release, SeqCst};
                EventKind::Fence { order: random.pick(&[Acquire, Release, AcqRel, SeqCst]) }
            }
        };
        if kind.is_write() {
            trace.coherence.push(Coherence { address: at.address, bytes: 4, stores: vec![EventId(id)] });
        }
        trace.events.push(Event { id: EventId(id), thread: ThreadId(0), label: 0, kind, clock: Vec::new() });
    }
    trace
}

#[test]
fn program_order_is_preserved_as_the_axioms_say() {
    let mut random = Random(1);
    let (mut kept_pairs, mut free_pairs) = (0, 0);
    for _ in 0..2_000 {
        let trace = thread(&mut random);
        let execution = Execution::from_trace(&trace).expect("it is well formed");
        let profile = Profile::new(&trace, |_| (0, 0));
        for model in [Model::Tso, Model::Pso, Model::Pslo] {
            let preserved: Relation = match model {
                Model::Tso => tso::preserved(&execution),
                Model::Pso => pso::preserved(&execution),
                _ => pslo::preserved(&execution),
            };
            let order = preserved.contract(&execution.rmw).closure();
            let halves = |event: &Event| -> Vec<usize> {
                (0..execution.size()).filter(|n| execution.nodes[*n].id == event.id).collect()
            };
            let mut kept = Vec::new();
            for (i, first) in trace.events.iter().enumerate() {
                kept_behind(model, &profile.threads[0], i, &mut kept);
                for (j, second) in trace.events.iter().enumerate().skip(i + 1) {
                    // A fence is ordered with nothing by itself.
                    if first.kind.location().is_none() || second.kind.location().is_none() {
                        continue;
                    }
                    let (from, to) = (halves(first), halves(second));
                    let by_axioms = from.iter().any(|a| to.iter().any(|b| order.contains(*a, *b)));
                    assert_eq!(kept[j], by_axioms, "{model}: {} and {} of {:?}", i + 1, j + 1, trace.events);
                    *if by_axioms { &mut kept_pairs } else { &mut free_pairs } += 1;
                }
            }
        }
    }
    assert!(kept_pairs > 10_000 && free_pairs > 10_000, "{kept_pairs} {free_pairs}");
}

/// All at once, it is the same: which accesses can pass which, by name.
#[test]
fn one_pass_finds_every_pair() {
    let mut random = Random(7);
    let mut pairs = 0;
    for _ in 0..300 {
        let trace = thread_of(&mut random, 40, 3);
        let mut kinds: Vec<String> = Vec::new();
        let profile = Profile::new(&trace, |event| {
            // A name is a kind of access and a place.
            let kind = format!("{:?}", event.kind);
            let name = kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            });
            (name as u32, name as u32)
        });
        let steps = &profile.threads[0];
        let names: Vec<Option<u32>> = steps.iter().map(|item| item.is_visible().then_some(item.class)).collect();
        for model in [Model::Tso, Model::Pso, Model::Pslo] {
            let (mut expected, mut found) = (BTreeSet::new(), BTreeSet::new());
            let mut kept = Vec::new();
            for (i, first) in names.iter().enumerate() {
                kept_behind(model, steps, i, &mut kept);
                let free = names.iter().enumerate().skip(i + 1).filter(|(j, _)| !kept[*j]);
                expected.extend(free.filter_map(|(_, second)| first.zip(*second)));
            }
            passing(model, steps, &names, |first, second| _ = found.insert((first, second)));
            assert_eq!(found, expected, "{model}: {:?}", trace.events);
            pairs += found.len();
        }
    }
    assert!(pairs > 1_000, "{pairs}");
}
