//! The state machine, driven by hand.

use super::*;
use crate::monitor::Performed;
use crate::strategy::{Follow, Pending, Random};
use crate::{Fibers, run};
use fencepost_memory::{C11, Sc, Step, Tso};
use fencepost_trace::op::Sync;
use fencepost_trace::{Access, EventId, EventKind, Failure, Label, LoadOrder, RmwOrder, Size, StoreOrder, Update};

const X: Location = Location { address: 0x100, size: Size::B4 };
const Y: Location = Location { address: 0x200, size: Size::B4 };
const A: ThreadId = ThreadId(0);
const B: ThreadId = ThreadId(1);

fn load(at: Location) -> Op {
    Op::Access(Access::Load { at, order: LoadOrder::Relaxed, guard: Guard::Any })
}

fn store(at: Location, value: u128) -> Op {
    Op::Access(Access::Store { at, order: StoreOrder::Relaxed, value: Value(value) })
}

fn add(at: Location, by: u128) -> Op {
    let update = Update::Add(Value(by));
    Op::Access(Access::Rmw { at, order: RmwOrder::Relaxed, update, guard: Guard::Any })
}

fn lock(mutex: u64) -> Op {
    Op::Sync(Sync::Lock { mutex })
}

fn unlock(mutex: u64) -> Op {
    Op::Sync(Sync::Unlock { mutex })
}

/// An execution with so many threads, each of which has asked for its first operation, and who is to be resumed.
fn begun<M: Machine>(machine: M, first: &[Op]) -> Execution<M> {
    let mut execution = Execution::new(machine);
    execution.begin(first.len() as u32, Limits::default());
    for (t, op) in (0..).zip(first) {
        let thread = ThreadId(t);
        assert_eq!(advance(&mut execution, &[]), Next::Resume(thread, Reply::NONE), "a thread begins");
        execution.submit(thread, *op, t);
    }
    execution
}

fn advance<M: Machine, W: Monitor>(execution: &mut Execution<M, W>, answers: &[u32]) -> Next {
    execution.advance(&mut Follow::new(answers), &mut |_| Value::ZERO)
}

/// Two threads that add to two variables, under a lock and without.
fn program() -> Fibers {
    Fibers::new(|thread| {
        let child = thread.spawn(|thread| {
            thread.store(X, StoreOrder::Relaxed, Value(1));
            thread.load(Y, LoadOrder::Relaxed);
        });
        thread.store(Y, StoreOrder::Relaxed, Value(1));
        thread.load(X, LoadOrder::Relaxed);
        thread.join(child);
    })
}

#[test]
fn a_thread_is_resumed_with_what_its_operation_gave() {
    let mut execution = begun(Sc::default(), &[store(X, 5)]);
    assert_eq!(advance(&mut execution, &[]), Next::Resume(A, Reply::NONE));
    execution.submit(A, load(X), 1);
    assert_eq!(advance(&mut execution, &[]), Next::Resume(A, Reply { value: Value(5), success: true }));
    execution.submit(A, add(X, 2), 2);
    assert_eq!(advance(&mut execution, &[]), Next::Resume(A, Reply { value: Value(5), success: true }), "the old one");
    execution.submit(A, Op::Exit, 3);
    assert_eq!(advance(&mut execution, &[]), Next::End(Outcome::Finished));
    assert_eq!(advance(&mut execution, &[]), Next::End(Outcome::Finished), "and that is how it stays");
    assert_eq!((execution.steps(), execution.event_count()), (3, 3));
    // A store and a read-modify-write that changes the value.
    assert_eq!(execution.change_count(), 2);
}

#[test]
fn only_what_could_have_been_otherwise_is_a_choice() {
    let mut execution = begun(Sc::default(), &[store(X, 1), store(X, 2)]);
    // Two threads can go: a choice. Then one is left.
    assert_eq!(advance(&mut execution, &[1]), Next::Resume(B, Reply::NONE));
    assert_eq!(execution.choices(), [1]);
    execution.submit(B, Op::Exit, 0);
    assert_eq!(advance(&mut execution, &[]), Next::Resume(A, Reply::NONE));
    assert_eq!((execution.choices(), execution.choice_count()), ([1].as_slice(), 1));
}

#[test]
fn an_answer_counts_modulo_the_number_of_possibilities() {
    let mut execution = begun(Sc::default(), &[store(X, 1), store(X, 2)]);
    assert_eq!(advance(&mut execution, &[7]), Next::Resume(B, Reply::NONE));
    assert_eq!(execution.choices(), [1], "what is kept is the answer that counted");
}

#[test]
fn the_same_answers_give_the_same_trace() {
    let mut program = program();
    let describe = |label: u32| Label { line: label, ..Label::default() };
    for seed in 0..20 {
        let mut execution = Execution::new(C11::default());
        run(&mut execution, &mut program, &mut Random::new(seed), Limits::default());
        let (trace, choices) = (execution.trace(describe), execution.choices().to_vec());
        // Even on an execution that was used before, and through a strategy of which only the trait is known.
        let mut again: Box<dyn Strategy> = Box::new(Follow::new(choices));
        run(&mut execution, &mut program, &mut again, Limits::default());
        assert_eq!(execution.trace(describe), trace);
    }
}

#[test]
fn threads_that_wait_for_each_other_are_a_deadlock() {
    let mut execution = begun(Sc::default(), &[lock(1), lock(2)]);
    for (thread, mutex, answer) in [(A, 2, 0), (B, 1, 1)] {
        assert_eq!(advance(&mut execution, &[answer]), Next::Resume(thread, Reply::NONE));
        execution.submit(thread, lock(mutex), 0);
    }
    assert_eq!(advance(&mut execution, &[]), Next::End(Outcome::Deadlock { blocked: vec![A, B] }));
}

#[test]
fn a_lock_lets_the_next_one_in_when_it_is_released() {
    let mut execution = begun(Sc::default(), &[lock(1), lock(1)]);
    assert_eq!(advance(&mut execution, &[0]), Next::Resume(A, Reply::NONE));
    execution.submit(A, unlock(1), 0);
    // There is nothing to choose: the other one waits.
    assert_eq!(advance(&mut execution, &[]), Next::Resume(A, Reply::NONE));
    execution.submit(A, Op::Exit, 0);
    assert_eq!(advance(&mut execution, &[]), Next::Resume(B, Reply::NONE));
    assert_eq!(execution.choices(), [0]);
}

#[test]
fn a_thread_does_not_begin_before_its_creation() {
    let mut execution = begun(Sc::default(), &[Op::Spawn]);
    // The creator's store and the child's go-ahead are two steps; in between nothing else is possible.
    assert_eq!(advance(&mut execution, &[]), Next::Resume(A, Reply { value: Value(1), success: true }));
    execution.submit(A, Op::Join(B), 0);
    assert_eq!(advance(&mut execution, &[]), Next::Resume(B, Reply::NONE));
    execution.submit(B, Op::Exit, 0);
    assert_eq!(advance(&mut execution, &[]), Next::Resume(A, Reply::NONE), "it has ended");
}

#[test]
fn a_failure_is_a_step_that_ends_the_execution_wherever_others_are() {
    let mut execution = begun(Sc::default(), &[store(X, 1), Op::Fail(Failure::Abort)]);
    assert_eq!(advance(&mut execution, &[1]), Next::End(Outcome::Failed { thread: B, failure: Failure::Abort }));
    assert_eq!(execution.event_count(), 0);
    // Others may go first: what they do then has happened.
    let mut execution = begun(Sc::default(), &[store(X, 1), Op::Fail(Failure::Abort)]);
    assert_eq!(advance(&mut execution, &[0]), Next::Resume(A, Reply::NONE));
    assert_eq!((execution.event_count(), execution.choices()), (1, [0].as_slice()));
}

#[test]
fn the_end_of_the_process_is_a_step_among_others() {
    let mut execution = begun(Sc::default(), &[store(X, 1), Op::Quit]);
    assert_eq!(advance(&mut execution, &[1]), Next::Resume(B, Reply::NONE));
    assert!(execution.quits(B) && !execution.quits(A));
    execution.finish();
    assert_eq!(advance(&mut execution, &[]), Next::End(Outcome::Finished));
}

#[test]
fn a_limit_of_steps_can_be_extended() {
    let mut execution = Execution::new(Sc::default());
    execution.begin(1, Limits { max_steps: 1 });
    assert_eq!(advance(&mut execution, &[]), Next::Resume(A, Reply::NONE));
    execution.submit(A, store(X, 1), 0);
    assert_eq!(advance(&mut execution, &[]), Next::Resume(A, Reply::NONE));
    execution.submit(A, store(X, 2), 0);
    assert_eq!(advance(&mut execution, &[]), Next::End(Outcome::StepLimit));
    execution.extend(1);
    assert_eq!(advance(&mut execution, &[]), Next::Resume(A, Reply::NONE));
}

/// Abandons every execution.
struct GivesUp;

impl Strategy for GivesUp {
    fn actor(&mut self, _: &[Actor], _: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        None
    }
    fn source(&mut self, _: ThreadId, _: &[Source]) -> usize {
        0
    }
    fn variant(&mut self, _: ThreadId, _: u32) -> u32 {
        0
    }
}

#[test]
fn a_strategy_may_abandon_an_execution() {
    let mut execution = begun(Sc::default(), &[store(X, 1)]);
    let next = execution.advance(&mut GivesUp, &mut |_| Value::ZERO);
    assert_eq!(next, Next::End(Outcome::Redundant));
}

#[test]
fn time_passes_when_nobody_else_can_go_on_or_earlier_if_it_may() {
    for (patience, answers, passes) in
        [(Patience::Long, [0].as_slice(), false), (Patience::Short, &[0], false), (Patience::Short, &[1], true)]
    {
        let mut execution = begun(Sc::default(), &[lock(1), store(X, 1)]);
        // The first thread takes the mutex, and waits for it a second time until some time.
        assert_eq!(advance(&mut execution, &[0]), Next::Resume(A, Reply::NONE));
        execution.submit_timed(A, lock(1), 0, patience);
        let next = advance(&mut execution, answers);
        let expected = if passes { Next::TimePasses } else { Next::Resume(B, Reply::NONE) };
        assert_eq!(next, expected, "{patience:?}");
        assert!(execution.awaits_time(A) && !execution.awaits_time(B));
        if !passes {
            execution.submit(B, Op::Exit, 0);
            assert_eq!(advance(&mut execution, &[]), Next::TimePasses, "nobody else is left");
        }
        // It gives up, and does something else.
        execution.submit(A, store(Y, 1), 0);
        assert!(!execution.awaits_time(A));
    }
}

/// Notes what it is shown.
#[derive(Default)]
struct Notes {
    begun: u32,
    performed: Vec<(EventId, ThreadId, u32, Option<Location>)>,
    committed: Vec<EventId>,
}

impl Monitor for Notes {
    fn begin(&mut self) {
        *self = Notes { begun: self.begun + 1, ..Notes::default() };
    }
    fn performed(&mut self, performed: &Performed) {
        let Performed { event, thread, label, step, .. } = *performed;
        self.performed.push((event, thread, label, step.location()));
    }
    fn committed(&mut self, commit: Commit) {
        self.committed.push(commit.store);
    }
}

#[test]
fn a_monitor_sees_every_operation_and_every_commit() {
    let mut execution = Execution::with_monitor(Tso::default(), Notes::default());
    execution.begin(1, Limits::default());
    advance(&mut execution, &[]);
    execution.submit(A, store(X, 1), 40);
    advance(&mut execution, &[]);
    execution.submit(A, load(Y), 41);
    // The thread's load goes before the buffer.
    advance(&mut execution, &[0]);
    execution.submit(A, Op::Exit, 42);
    assert_eq!(advance(&mut execution, &[]), Next::End(Outcome::Finished));
    let notes = execution.monitor();
    assert_eq!(notes.performed, [(EventId(1), A, 40, Some(X)), (EventId(2), A, 41, Some(Y))]);
    assert_eq!(notes.committed, [EventId(1)]);
    execution.begin(1, Limits::default());
    assert_eq!((execution.monitor().begun, execution.monitor().performed.len()), (2, 0), "each execution anew");
}

#[test]
fn monitors_change_nothing_and_ride_along() {
    let mut program = program();
    for seed in 0..20 {
        for recording in [true, false] {
            let mut alone = Execution::with_monitor(C11::default(), ());
            let mut both = Execution::with_monitor(C11::default(), (Notes::default(), RaceDetector::default()));
            alone.set_recording(recording);
            both.set_recording(recording);
            run(&mut alone, &mut program, &mut Random::new(seed), Limits::default());
            run(&mut both, &mut program, &mut Random::new(seed), Limits::default());
            assert_eq!(alone.choices(), both.choices());
            assert_eq!(both.monitor().0.performed.len(), both.event_count());
            assert!(both.monitor().1.races().is_empty(), "every access is atomic");
        }
    }
}

#[test]
fn the_race_detector_names_the_pairs_that_nothing_orders() {
    let plain = |value: u128| Op::Access(Access::Store { at: X, order: StoreOrder::Plain, value: Value(value) });
    let mut execution = begun(C11::default(), &[plain(1), plain(2)]);
    advance(&mut execution, &[0]);
    execution.submit(A, Op::Exit, 0);
    advance(&mut execution, &[]);
    assert_eq!(execution.races(), [Race { first: EventId(1), second: EventId(2) }]);
    // The hardware models know no plain accesses, and no races.
    let mut execution = begun(Sc::default(), &[plain(1), plain(2)]);
    advance(&mut execution, &[0]);
    execution.submit(A, Op::Exit, 0);
    advance(&mut execution, &[]);
    assert!(execution.races().is_empty());
}

#[test]
fn what_happens_behind_the_engines_back_is_an_event_and_no_choice() {
    let mut execution = begun(C11::default(), &[store(X, 1)]);
    advance(&mut execution, &[]);
    execution.introduce(Y, &mut |_| Value(7));
    assert_eq!(execution.peek(A, Y), Value(7), "what memory held");
    execution.intrude(A, Y, Value(8));
    execution.look(A, Y, LoadOrder::Acquire, 50);
    execution.overwrite(A, X, Value(9), 51);
    assert_eq!((execution.peek(A, X), execution.peek(A, Y)), (Value(9), Value(8)));
    assert_eq!((execution.event_count(), execution.choice_count(), execution.steps()), (4, 0, 1));
    let kinds: Vec<bool> = (2..=4).map(|id| matches!(execution.event(EventId(id)).1, EventKind::Rmw { .. })).collect();
    assert_eq!(kinds, [true, false, false], "an intrusion is an exchange");
}

#[test]
fn of_a_long_execution_that_is_not_recorded_only_what_is_needed_is_kept() {
    let mut execution = Execution::with_monitor(Tso::default(), ());
    execution.set_recording(false);
    execution.begin(1, Limits::default());
    advance(&mut execution, &[]);
    execution.submit(A, store(X, 1), 7);
    advance(&mut execution, &[]);
    // The store stays in its buffer while the thread reads 5,000 times.
    let reads = 5_000;
    for _ in 0..reads {
        execution.submit(A, load(Y), 8);
        assert!(matches!(advance(&mut execution, &[0]), Next::Resume(A, _)));
    }
    execution.forget_before(EventId(reads + 1));
    assert_eq!(execution.event(EventId(1)).0, A, "a store that waits is not forgotten");
    // Once it has left, all but the last event is.
    execution.submit(A, Op::Exit, 9);
    assert_eq!(advance(&mut execution, &[]), Next::End(Outcome::Finished));
    let last = EventId(execution.event_count() as u32);
    execution.forget_before(last);
    assert!(matches!(execution.event(last).1, EventKind::Commit { store: EventId(1) }));
    assert_eq!(execution.forgotten, last.0 - 1);
}

#[test]
fn answers_are_kept_up_to_a_number_unless_the_execution_is_recorded() {
    let steps = 2 * record::MOST_CHOICES as u64;
    for recording in [true, false] {
        let mut execution = Execution::with_monitor(Sc::default(), ());
        execution.set_recording(recording);
        execution.begin(2, Limits { max_steps: steps });
        let mut random = Random::new(1);
        while let Next::Resume(thread, _) = execution.advance(&mut random, &mut |_| Value::ZERO) {
            execution.submit(thread, Op::Yield, 0);
        }
        assert_eq!(execution.choice_count(), steps);
        let kept = if recording { steps } else { steps / 2 };
        assert_eq!(execution.choices().len() as u64, kept);
    }
}

#[test]
fn the_last_store_to_a_location_is_a_choice_where_the_model_leaves_it_open() {
    let mut execution = begun(C11::default(), &[store(X, 1), store(X, 2)]);
    for (thread, answers) in [(A, [0].as_slice()), (B, &[])] {
        assert_eq!(advance(&mut execution, answers), Next::Resume(thread, Reply::NONE));
        execution.submit(thread, Op::Exit, 0);
    }
    assert_eq!(advance(&mut execution, &[]), Next::End(Outcome::Finished));
    execution.settle_memory(X, &mut Follow::new([0]), &mut |_| Value::ZERO);
    assert_eq!(execution.choices(), [0, 0]);
    let last = |execution: &Execution<C11>| {
        let trace = execution.trace(|_| Label::default());
        trace.final_value(X, Value::ZERO)
    };
    let first_choice = last(&execution);
    // The other answer gives the other value.
    let mut other = begun(C11::default(), &[store(X, 1), store(X, 2)]);
    for (thread, answers) in [(A, [0].as_slice()), (B, &[])] {
        assert_eq!(advance(&mut other, answers), Next::Resume(thread, Reply::NONE));
        other.submit(thread, Op::Exit, 0);
    }
    advance(&mut other, &[]);
    other.settle_memory(X, &mut Follow::new([1]), &mut |_| Value::ZERO);
    assert_ne!(last(&other), first_choice);
}

#[test]
fn a_step_is_what_the_machine_performs() {
    // Of a compare-exchange nothing is left but a read-modify-write or a load.
    let exchange = |expected: u128| {
        Op::Access(Access::CompareExchange {
            at: X,
            expected: Value(expected),
            desired: Value(9),
            success: RmwOrder::Relaxed,
            failure: LoadOrder::Relaxed,
            weak: false,
            guard: Guard::Any,
        })
    };
    #[derive(Default)]
    struct Steps(Vec<Step>);
    impl Monitor for Steps {
        fn begin(&mut self) {
            self.0.clear();
        }
        fn performed(&mut self, performed: &Performed) {
            self.0.push(*performed.step);
        }
    }
    let mut execution = Execution::with_monitor(Sc::default(), Steps::default());
    execution.begin(1, Limits::default());
    advance(&mut execution, &[]);
    for (expected, success) in [(0, true), (0, false)] {
        execution.submit(A, exchange(expected), 0);
        let Next::Resume(A, reply) = advance(&mut execution, &[]) else { panic!("it goes on") };
        assert_eq!(reply.success, success);
    }
    let steps = &execution.monitor().0;
    assert!(matches!(steps[0], Step::Rmw { written: Value(9), .. }));
    assert!(matches!(steps[1], Step::Load { failed_rmw: true, .. }));
}
