//! What is left of an exploration is a value: written down and read back, by an explorer that has seen nothing of it,
//! it gives exactly the executions that it would have given.

use crate::common::corpus;
use fencepost_engine::{Fiber, Fibers, Threads};
use fencepost_explore::graph::{self, Flow, Options, Races, Run, Stuck, Task, Visitor};
use fencepost_explore::{Explorer as _, Next, explore};
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::op::Sync;
use fencepost_trace::{Event, Failure, LoadOrder, Location, Model, Outcome, Size, StoreOrder, ThreadId, Trace, Value};
use std::collections::BTreeMap;

const MODELS: [Model; 4] = [Model::Sc, Model::Tso, Model::Pso, Model::C11];

/// Which executions there were, and how often each.
type Met = BTreeMap<String, u32>;

fn note(met: &mut Met, run: &Run) {
    for trace in &run.traces {
        *met.entry(key(trace)).or_default() += 1;
    }
}

/// An execution but for program points, whose numbers fibers give out as they come.
fn key(trace: &Trace) -> String {
    let event = |event: &Event| format!("{} {} {:?}", event.id.0, event.thread.0, event.kind);
    let events: Vec<String> = trace.events.iter().map(event).collect();
    format!("{:?} {} {:?}", trace.outcome, events.join("; "), trace.coherence)
}

fn explorer<T: Threads>(program: T, model: Model) -> graph::Explorer<T> {
    graph::Explorer::new(program, Options { races: Races::All, ..Options::new(model) }).expect("it has axioms")
}

/// In one go, with one explorer.
fn at_once<T: Threads>(program: T, model: Model) -> Met {
    let visit = |met: &mut Met, run: &Run| {
        note(met, run);
        Flow::Continue(())
    };
    let (met, left) = explore(&mut explorer(program, model), Met::new, visit).expect("it can be explored");
    assert!(left.is_empty());
    met
}

/// Each execution by an explorer of its own, which is given the plan as text.
fn by_many<T: Threads>(program: impl Fn() -> T, model: Model) -> Met {
    let mut met = Met::new();
    let mut plans: Vec<String> = vec![serde_json::to_string(&Task::root()).expect("a task is JSON")];
    while let Some(plan) = plans.pop() {
        let task: Task = serde_json::from_str(&plan).expect("and back");
        let mut explorer = explorer(program(), model);
        let run = explorer.execute(task).expect("it can be explored");
        note(&mut met, &run);
        let tasks = match explorer.next(&run) {
            Next::Also(tasks) => tasks,
            Next::Anew(tasks) => {
                met.clear();
                plans.clear();
                tasks
            }
        };
        plans.extend(tasks.iter().map(|task| serde_json::to_string(task).expect("a task is JSON")));
    }
    met
}

/// The corpus has every kind of access, and tests in which accesses of different sizes make the exploration begin
/// again. Each execution is met once (that it is the right number of them, `oracle` says of the fast way).
#[test]
fn a_plan_read_back_gives_the_same_executions() {
    let mut executions = 0;
    for case in corpus("classic").iter().step_by(9) {
        for model in MODELS {
            let whole = at_once(case.litmus.program(), model);
            let parts = by_many(|| case.litmus.program(), model);
            assert!(parts == whole, "{} {model}", case.litmus.name());
            assert!(whole.values().all(|count| *count == 1), "{} {model}: one twice", case.litmus.name());
            executions += whole.len();
        }
    }
    assert!(executions > 1_000, "the corpus is there: {executions}");
}

const FLAG: Location = Location { address: 0x1000, size: Size::B4 };
const MUTEX: u64 = 0x2000;
const CONDITION: u64 = 0x2040;

/// Two threads wait for a flag, a third sets it and wakes both. The states of the condition variable are numbers in
/// the graph, and an explorer that gets the graph must know what they stand for.
fn waiters() -> Fibers {
    Fibers::new(|main| {
        let wait = |thread: &Fiber<'_>| {
            thread.sync(Sync::Lock { mutex: MUTEX });
            while thread.load(FLAG, LoadOrder::Plain) == Value::ZERO {
                thread.sync(Sync::Wait { condvar: CONDITION, mutex: MUTEX });
            }
            thread.sync(Sync::Unlock { mutex: MUTEX });
        };
        let (first, second) = (main.spawn(wait), main.spawn(wait));
        main.sync(Sync::Lock { mutex: MUTEX });
        main.store(FLAG, StoreOrder::Plain, Value(1));
        main.sync(Sync::NotifyAll { condvar: CONDITION });
        main.sync(Sync::Unlock { mutex: MUTEX });
        [first, second].into_iter().for_each(|thread| main.join(thread));
    })
}

#[test]
fn condition_variables_go_with_their_plans() {
    for model in MODELS {
        let whole = at_once(waiters(), model);
        assert!(whole.len() > 4, "{model}: {}", whole.len());
        assert!(by_many(waiters, model) == whole, "{model}");
    }
}

/// An exploration that is stopped after any number of runs is finished by another from what is left.
#[test]
fn what_is_left_after_a_stop_is_the_rest() {
    for model in MODELS {
        let whole = at_once(waiters(), model);
        for runs in 1..whole.len() {
            let mut first = explorer(waiters(), model);
            let mut count = 0;
            let mut met = first
                .explore_with(
                    || Collect(model, Met::new()),
                    |_| {
                        count += 1;
                        if count == runs { Flow::Break(()) } else { Flow::Continue(()) }
                    },
                )
                .expect("it can be explored")
                .1;
            let left = serde_json::to_string(&first.left()).expect("tasks are JSON");
            let tasks: Vec<Task> = serde_json::from_str(&left).expect("and back");
            let rest = explorer(waiters(), model)
                .explore_from(tasks, || Collect(model, Met::new()), |_| Flow::Continue(()))
                .expect("it can be explored")
                .1;
            for (trace, count) in rest {
                *met.entry(trace).or_default() += count;
            }
            assert!(met == whole, "{model} after {runs} runs");
        }
    }
}

/// A visitor that keeps traces.
struct Collect(Model, Met);

impl Collect {
    fn add<T: Threads>(&mut self, program: &T, graph: &Graph, outcome: Outcome) -> Flow {
        *self.1.entry(key(&graph::trace_of(program, graph, self.0, outcome))).or_default() += 1;
        Flow::Continue(())
    }
}

impl<T: Threads> Visitor<T> for Collect {
    fn execution(&mut self, program: &T, graph: &Graph) -> Flow {
        self.add(program, graph, Outcome::Finished)
    }
    fn stuck(&mut self, program: &T, graph: &Graph, stuck: Stuck) -> Flow {
        self.add(program, graph, stuck.outcome())
    }
    fn failed(&mut self, _: &T, _: &Graph, _: ThreadId, _: Failure) -> Flow {
        panic!("nothing fails here")
    }
    fn race(&mut self, _: &T, _: &Graph, _: Node, _: Node) -> Flow {
        panic!("nothing races here")
    }
}
