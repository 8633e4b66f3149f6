//! Exploration up to values and up to sources against brute force: every choice of the machine is tried, and the
//! vectors of what was read are counted.

mod common;

use common::{corpus, report};
use fencepost_engine::Threads;
use fencepost_explore::causal::{Equivalence, Explorer};
use fencepost_explore::enumerate::enumerate;
use fencepost_explore::graph::{Flow, Options, Stuck, Visitor, trace_of};
use fencepost_memory::graph::{Graph, Node};
use fencepost_memory::axioms;
use fencepost_trace::{EventKind, Failure, Limits, Model, Outcome, ThreadId, Trace};
use std::collections::BTreeSet;

const MODELS: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso];

/// What every thread has read, in order, and what the observed locations hold in the end.
type Vector = (Vec<Vec<(u128, bool)>>, Vec<u128>);

fn vector<T: Threads>(program: &T, trace: &Trace) -> Vector {
    let mut reads = vec![Vec::new(); trace.threads as usize];
    for event in &trace.events {
        match &event.kind {
            EventKind::Load { value, failed_rmw, .. } => reads[event.thread.index()].push((value.0, *failed_rmw)),
            EventKind::Rmw { read, .. } => reads[event.thread.index()].push((read.0, false)),
            _ => {}
        }
    }
    let last = program.observed().iter().map(|at| trace.final_value(*at, program.initial(*at)).0).collect();
    (reads, last)
}

/// The vectors of all executions of the machine.
fn brute_force<T: Threads>(program: &mut T, model: Model) -> (BTreeSet<Vector>, bool) {
    let mut vectors = BTreeSet::new();
    let all = enumerate(program, model, None, Limits::default(), 2_000_000, |program, executed| {
        vectors.insert(vector(program, &executed.trace));
        Flow::Continue(())
    });
    (vectors, all.complete)
}

struct Seen {
    model: Model,
    executions: u64,
    stuck: u64,
    vectors: BTreeSet<Vector>,
    wrong: Option<String>,
}

impl Seen {
    fn new(model: Model) -> Seen {
        Seen { model, executions: 0, stuck: 0, vectors: BTreeSet::new(), wrong: None }
    }

    fn note<T: Threads>(&mut self, program: &T, graph: &Graph, outcome: Outcome) {
        let trace = trace_of(program, graph, self.model, outcome);
        if let Err(violation) = axioms::check(&trace) {
            self.wrong.get_or_insert(format!("an execution that is none: {violation}"));
        }
        self.vectors.insert(vector(program, &trace));
    }
}

impl<T: Threads> Visitor<T> for Seen {
    fn execution(&mut self, program: &T, graph: &Graph) -> Flow {
        self.executions += 1;
        self.note(program, graph, Outcome::Finished);
        Flow::Continue(())
    }

    fn stuck(&mut self, program: &T, graph: &Graph, stuck: Stuck) -> Flow {
        if matches!(stuck, Stuck::Deadlock(_) | Stuck::Livelock(_)) {
            self.stuck += 1;
            self.note(program, graph, stuck.outcome());
        }
        Flow::Continue(())
    }

    fn failed(&mut self, program: &T, graph: &Graph, thread: ThreadId, failure: Failure) -> Flow {
        self.executions += 1;
        self.note(program, graph, Outcome::Failed { thread, failure });
        Flow::Continue(())
    }

    fn race(&mut self, _: &T, _: &Graph, _: Node, _: Node) -> Flow {
        unreachable!("hardware models know no race")
    }
}

fn explored<T: Threads + Clone>(program: &T, model: Model, equivalence: Equivalence) -> Seen {
    let mut explorer = Explorer::new(program.clone(), Options::new(model), equivalence).expect("a hardware model");
    explorer.explore(|| Seen::new(model)).expect("nothing wide overlaps")
}

/// Says what is wrong with the exploration of a program, if anything is.
fn compare<T: Threads + Clone>(program: &T, model: Model) -> Option<String> {
    let (expected, complete) = brute_force(&mut program.clone(), model);
    if !complete {
        return None;
    }
    let seen = explored(program, model, Equivalence::Values);
    let (missing, extra) = (expected.difference(&seen.vectors).count(), seen.vectors.difference(&expected).count());
    let count = seen.executions + seen.stuck;
    if let Some(wrong) = seen.wrong {
        return Some(wrong);
    }
    (missing + extra != 0 || count != expected.len() as u64)
        .then(|| format!("{count} executions of {} vectors, {missing} missing, {extra} too many", expected.len()))
}

fn check_family(family: &str, most: usize) {
    let (mut checked, mut wrong) = (0, Vec::new());
    for case in corpus(family).into_iter().filter(|c| c.litmus.memory_operations() <= most) {
        for model in MODELS {
            checked += 1;
            if let Some(difference) = compare(&case.litmus.program(), model) {
                wrong.push(format!("{} {model}: {difference}", case.litmus.name()));
            }
        }
    }
    assert!(checked > 100, "the corpus is there");
    report(checked, &wrong);
}

#[test]
fn classic() {
    check_family("classic", 8);
}

#[test]
fn hw() {
    check_family("hw", 8);
}

#[test]
fn generated() {
    check_family("generated", 8);
}
