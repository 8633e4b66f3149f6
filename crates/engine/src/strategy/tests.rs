//! The strategies that bring a cycle about, on store buffering: each of two threads stores, then loads what the other
//! stores. That both loads read the initial value takes two stores that wait in their buffers.

use super::*;
use crate::{Execution, Threads, run};
use fencepost_memory::Tso;
use fencepost_trace::{
    EventKind, Guard, Label, Limits, LoadOrder, Model, Op, OrionOptions, Outcome, Pace, Points, RelaxerOptions, Reply,
    Schedule, ScheduleStep, Size, Stop, StoreOrder, StrategySpec, Value,
};

const X: Location = Location { address: 0x100, size: Size::B4 };
const Y: Location = Location { address: 0x200, size: Size::B4 };

/// Lists of operations; the i-th of thread t has the label 10 (t + 1) + i.
struct Script {
    threads: Vec<Vec<Op>>,
    at: Vec<usize>,
}

impl Threads for Script {
    fn start(&mut self) -> u32 {
        self.at = vec![0; self.threads.len()];
        self.threads.len() as u32
    }
    fn resume(&mut self, thread: ThreadId, _: Reply) -> Op {
        let at = &mut self.at[thread.index()];
        *at += 1;
        self.threads[thread.index()].get(*at - 1).copied().unwrap_or(Op::Exit)
    }
    fn initial(&self, _: Location) -> Value {
        Value::ZERO
    }
    fn observed(&self) -> &[Location] {
        &[]
    }
    fn label(&self, thread: ThreadId) -> u32 {
        10 * (thread.0 + 1) + self.at[thread.index()] as u32 - 1
    }
    fn describe(&self, label: u32) -> Label {
        Label { line: label, ..Label::default() }
    }
    fn digest(&self, _: ThreadId) -> Option<u64> {
        None
    }
}

fn store_buffering() -> Script {
    let store = |at: Location| Op::Access(Access::Store { at, order: StoreOrder::Relaxed, value: Value(1) });
    let load = |at: Location| Op::Access(Access::Load { at, order: LoadOrder::Relaxed, guard: Guard::Any });
    Script { threads: vec![vec![store(X), load(Y)], vec![store(Y), load(X)]], at: Vec::new() }
}

/// In how many of 100 executions both loads read the initial value.
fn cycles(strategy: impl Fn(u64) -> StrategySpec) -> usize {
    cycles_of(store_buffering, strategy)
}

fn cycles_of(script: impl Fn() -> Script, strategy: impl Fn(u64) -> StrategySpec) -> usize {
    let shows = |seed: u64| {
        let mut strategy = Planned::new(Model::Tso, strategy(seed), None).expect("no graph");
        let mut execution = Execution::new(Tso::default());
        let outcome = run(&mut execution, &mut script(), &mut strategy, Limits::default());
        assert_eq!(outcome, Outcome::Finished);
        let trace = execution.trace(|label| Label { line: label, ..Label::default() });
        let mut loads = trace.events.iter().filter_map(|event| match event.kind {
            EventKind::Load { from, .. } => Some(from),
            _ => None,
        });
        loads.all(|from| from == EventId::INIT)
    };
    (0..100).filter(|seed| shows(*seed)).count()
}

fn step(thread: u32, index: u32) -> ScheduleStep {
    ScheduleStep { thread, index, commit: false, back: 0 }
}

#[test]
fn a_schedule_is_followed_to_its_end() {
    let steps = vec![step(0, 0), step(0, 1), step(1, 0), step(1, 1)];
    let schedule = Schedule { expected: vec![vec![10, 11], vec![20, 21]], steps };
    assert_eq!(cycles(|seed| StrategySpec::Schedule { seed, schedule: schedule.clone() }), 100);
    // With a commit in between the second thread reads the first one's store.
    let mut committing = schedule;
    committing.steps.insert(2, ScheduleStep { commit: true, ..step(0, 0) });
    assert_eq!(cycles(|seed| StrategySpec::Schedule { seed, schedule: committing.clone() }), 0);
}

/// A store that the schedule does not know of leaves its buffer at once: under tso those behind it could not leave
/// before it does, and the commit that the schedule asks for would not be there.
#[test]
fn what_a_schedule_does_not_know_of_does_not_wait() {
    let own = Location { address: 0x300, size: Size::B4 };
    let script = || {
        let mut script = store_buffering();
        let store = Access::Store { at: own, order: StoreOrder::Relaxed, value: Value(1) };
        script.threads[0].insert(0, Op::Access(store));
        script
    };
    let commit = ScheduleStep { commit: true, ..step(0, 0) };
    let steps = vec![step(0, 0), step(0, 1), commit, step(1, 0), step(1, 1)];
    let mut schedule = Schedule { expected: vec![vec![11, 12], vec![20, 21]], steps };
    let on = |schedule: &Schedule| {
        let schedule = schedule.clone();
        cycles_of(script, move |seed| StrategySpec::Schedule { seed, schedule: schedule.clone() })
    };
    assert_eq!(on(&schedule), 0, "thread 1 reads what thread 0 has stored");
    schedule.steps.remove(2);
    assert_eq!(on(&schedule), 100, "what the schedule knows of waits");
}

#[test]
fn where_a_schedule_cannot_be_followed_nothing_is_reordered() {
    // No thread ever comes to such a program point: after some operations that nobody expected it is given up.
    let schedule = Schedule { expected: vec![vec![98, 99], vec![]], steps: vec![step(1, 1)] };
    assert_eq!(cycles(|seed| StrategySpec::Schedule { seed, schedule: schedule.clone() }), 0);
    let mut strategy = OnSchedule::new(Schedule::default(), 1);
    assert!(strategy.is_done(), "one without steps is at its end");
    let actors = [Actor::Thread(ThreadId(0)), Actor::Buffer(Commit { thread: ThreadId(0), store: EventId(1) })];
    let pending = |_: &Actor| Pending { what: What::Yield, label: 0, local: false, drains: Drains::Perhaps };
    assert_eq!(strategy.actor(&actors, &pending), Some(1), "what is stored is visible at once");
}

#[test]
fn relaxer_holds_the_stores_of_the_cycle_back_by_chance() {
    let points = Points { late: vec![10, 20], early: vec![11, 21] };
    let with = |chance: u32| {
        let options = RelaxerOptions { chance, ..RelaxerOptions::default() };
        cycles(|seed| StrategySpec::Relaxer { seed, points: points.clone(), options })
    };
    // Two stores that are delayed for longer than the execution is; none; and each by chance, which gives the cycle
    // if both are (25 of 100, standard deviation 4), or if one is and its thread goes first.
    assert_eq!(with(100), 100);
    assert_eq!(with(0), 0);
    assert!((10..90).contains(&with(50)));
}

#[test]
fn orion_brings_the_cycle_about_in_its_order() {
    let stop =
        |label: u32, passable: bool| Stop { labels: vec![label], passable, last: !passable, threads: Vec::new() };
    let stops = vec![stop(10, true), stop(11, false), stop(20, true), stop(21, false)];
    let options = OrionOptions::default();
    assert_eq!(cycles(|seed| StrategySpec::Orion { seed, stops: stops.clone(), options }), 100);
    // Both threads have their part; nobody else may take it.
    let taken = |by: [u32; 2]| {
        let mut stops = stops.clone();
        stops.iter_mut().enumerate().for_each(|(i, stop)| stop.threads = vec![by[i / 2]]);
        cycles(|seed| StrategySpec::Orion { seed, stops: stops.clone(), options })
    };
    assert_eq!((taken([0, 1]), taken([7, 8])), (100, 0));
    for pace in Pace::ALL {
        let options = OrionOptions { pace, ..options };
        assert_eq!(cycles(|seed| StrategySpec::Orion { seed, stops: stops.clone(), options }), 100, "{pace:?}");
    }
    // Stores with which it could begin are left alone now and then, or always.
    let with = |skip: u32| {
        let options = OrionOptions { skip, ..options };
        cycles(|seed| StrategySpec::Orion { seed, stops: stops.clone(), options })
    };
    assert_eq!(with(100), 0);
    assert!((1..100).contains(&with(70)), "{}", with(70));
    // A cycle that the program does not have is never begun.
    let elsewhere = vec![stop(70, true), stop(71, false)];
    assert_eq!(cycles(|seed| StrategySpec::Orion { seed, stops: elsewhere.clone(), options }), 0);
}

#[test]
fn without_preference_the_cycle_comes_about_by_chance() {
    let by_chance = cycles(|seed| StrategySpec::Uniform { seed });
    assert!((1..100).contains(&by_chance), "{by_chance}");
}

#[test]
fn a_graph_is_no_strategy_of_a_machine() {
    let graph = StrategySpec::Graph { steps: Vec::new(), shared: Vec::new() };
    assert!(Planned::new(Model::Tso, graph, None).is_none());
}
