//! Explorations in pieces and on several workers: the same executions, each once.
//!
//! Between two pieces everything is written down, and another explorer, which has seen nothing, reads it back.

use crate::common::corpus;
use crate::common::script::{APART, OVERLAPPING, Recipe, random_script};
use fencepost_engine::{Random, Threads};
use fencepost_explore::causal::{Equivalence, Saved, Team};
use fencepost_explore::graph::{Flow, Halt, Options, Stuck, Task, Visitor, explore_phase, trace_of};
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{Event, EventKind, Failure, Model, Outcome, ThreadId, Trace};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

const MODELS: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso];

/// What was met, and how often each.
type Met = BTreeMap<String, u32>;

/// How executions are told apart.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Graphs,
    Reads(Equivalence),
}

/// Collects names of executions: of a graph all of it; otherwise who has read what, which says the rest.
struct Collect {
    model: Model,
    by: By,
    met: Met,
}

impl Collect {
    fn note<T: Threads>(&mut self, program: &T, graph: &Graph, outcome: Outcome) -> Flow {
        let trace = trace_of(program, graph, self.model, outcome);
        let name = match self.by {
            By::Graphs => whole(&trace),
            By::Reads(equivalence) => reads(program, &trace, equivalence),
        };
        *self.met.entry(name).or_default() += 1;
        Flow::Continue(())
    }
}

fn whole(trace: &Trace) -> String {
    let event = |event: &Event| format!("{} {} {:?}", event.id.0, event.thread.0, event.kind);
    let events: Vec<String> = trace.events.iter().map(event).collect();
    format!("{:?} {} {:?}", trace.outcome, events.join("; "), trace.coherence)
}

fn reads<T: Threads>(program: &T, trace: &Trace, equivalence: Equivalence) -> String {
    let mut reads = vec![Vec::new(); trace.threads as usize];
    for event in &trace.events {
        let place = |id: fencepost_trace::EventId| {
            let of = trace.events.iter().position(|other| other.id == id);
            let of = of.map(|i| {
                let thread = trace.events[i].thread;
                (thread.0, trace.events[..i].iter().filter(|other| other.thread == thread).count())
            });
            format!("{of:?}")
        };
        let (read, from, failed) = match &event.kind {
            EventKind::Load { value, from, failed_rmw, .. } => (value.0, *from, *failed_rmw),
            EventKind::Rmw { read, from, .. } => (read.0, *from, false),
            _ => continue,
        };
        let from = if equivalence == Equivalence::Sources { place(from) } else { String::new() };
        reads[event.thread.index()].push((read, from, failed));
    }
    let last: Vec<_> = program.observed().iter().map(|at| trace.final_value(*at, program.initial(*at)).0).collect();
    format!("{:?} {reads:?} {last:?}", trace.outcome)
}

impl<T: Threads> Visitor<T> for Collect {
    fn execution(&mut self, program: &T, graph: &Graph) -> Flow {
        self.note(program, graph, Outcome::Finished)
    }
    fn stuck(&mut self, program: &T, graph: &Graph, stuck: Stuck) -> Flow {
        if stuck == Stuck::Redundant { Flow::Continue(()) } else { self.note(program, graph, stuck.outcome()) }
    }
    fn failed(&mut self, program: &T, graph: &Graph, thread: ThreadId, failure: Failure) -> Flow {
        self.note(program, graph, Outcome::Failed { thread, failure })
    }
    fn race(&mut self, _: &T, _: &Graph, _: Node, _: Node) -> Flow {
        unreachable!("hardware models know no race")
    }
}

/// Explores on so many workers, in pieces of so many runs.
fn explored<T: Threads + Clone + Send>(program: &T, model: Model, by: By, jobs: usize, piece: u32) -> Met {
    let mut met = Met::new();
    let mut saved: Option<String> = None;
    loop {
        let runs = AtomicU32::new(0);
        let pause = |_| runs.fetch_add(1, Ordering::Relaxed) + 1 >= piece;
        let begin = || Collect { model, by, met: Met::new() };
        let (visitors, halt) = match by {
            By::Graphs => {
                let tasks = saved.map_or_else(|| vec![Task::root()], |text| serde_json::from_str(&text).unwrap());
                let phase = explore_phase(program, Options::new(model), jobs, tasks, begin, pause).unwrap();
                saved = Some(serde_json::to_string(&phase.left).unwrap());
                (phase.visitors, phase.halt)
            }
            By::Reads(equivalence) => {
                let mut team = Team::new(program, Options::new(model), equivalence, jobs).unwrap();
                if let Some(text) = saved {
                    team.restore(serde_json::from_str::<Saved>(&text).unwrap());
                }
                let (visitors, halt) = team.explore_phase(begin, pause).unwrap();
                saved = Some(serde_json::to_string(&team.save()).unwrap());
                (visitors, halt)
            }
        };
        if halt == Halt::Anew {
            met.clear();
        }
        for (name, count) in visitors.into_iter().flat_map(|visitor| visitor.met) {
            *met.entry(name).or_default() += count;
        }
        if halt == Halt::Done {
            return met;
        }
    }
}

/// `overlaps`: do accesses? A store to part of a cell reads the rest of it, which these names do not tell, so that two
/// executions may have the same one.
fn compare<T: Threads + Clone + Send>(program: &T, name: &str, overlaps: bool) -> usize {
    let all = Cell::new(0);
    for model in MODELS {
        for by in [By::Graphs, By::Reads(Equivalence::Sources), By::Reads(Equivalence::Values)] {
            let whole = explored(program, model, by, 1, u32::MAX);
            assert!(overlaps || whole.values().all(|count| *count == 1), "{name} {model}: one twice");
            all.set(all.get() + whole.len());
            for (jobs, piece) in [(1, 1), (1, 7), (2, u32::MAX), (2, 5), (3, 20)] {
                let other = explored(program, model, by, jobs, piece);
                assert!(
                    other == whole,
                    "{name} {model}, {jobs} workers, pieces of {piece}: {} and {} executions",
                    other.len(),
                    whole.len()
                );
            }
        }
    }
    all.get()
}

/// Random programs with read-modify-writes, fences and compare-exchanges; some of them access parts of the same bytes,
/// so that the exploration begins anew on the way.
#[test]
fn pieces_and_workers_meet_the_same_executions() {
    let mut random = Random::new(5);
    let mut executions = 0;
    for i in 0..24 {
        let locations = if i % 3 == 2 { OVERLAPPING } else { APART };
        let recipe = Recipe { threads: 2 + i % 2, operations: 3, locations, plain: false };
        executions += compare(&random_script(&mut random, recipe), &format!("program {i}"), i % 3 == 2);
    }
    assert!(executions > 1_000, "{executions}");
}

/// The corpus has locks, loops that wait and threads that fail.
#[test]
fn the_corpus_in_pieces() {
    let mut executions = 0;
    for case in corpus("classic").iter().step_by(11) {
        executions += compare(&case.litmus.program(), case.litmus.name(), false);
    }
    assert!(executions > 500, "{executions}");
}
