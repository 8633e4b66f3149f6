//! A litmus test with fences that it does not have, and one execution of it.

use crate::litmus::{Altered, Change, LitmusCase};
use fencepost_engine::{Execution, Strategy, Threads, run};
use fencepost_litmus::LitmusProgram;
use fencepost_memory::Machine;
use fencepost_trace::{Limits, Outcome, Trace};

/// A program with more fences. Its program points are described by their numbers.
pub type Fenced<'a> = Altered<&'a mut LitmusProgram>;

/// The program with these fences.
pub fn fenced<'a>(program: &'a mut LitmusProgram, fences: &[Change]) -> Fenced<'a> {
    Altered::new(program, fences).numbered()
}

/// An execution: its trace, the label numbers of its labels, and its final state if it has one.
pub struct Ran {
    pub trace: Trace,
    pub labels: Vec<u32>,
    pub state: Option<Vec<i64>>,
}

impl Ran {
    /// An execution that the program has just run, whose labels are numbers.
    pub fn of(program: &LitmusProgram, mut trace: Trace) -> Ran {
        let labels: Vec<u32> = trace.labels.iter().map(|label| label.line).collect();
        trace.labels = labels.iter().map(|label| program.describe(*label)).collect();
        let state = (trace.outcome == Outcome::Finished).then(|| LitmusCase::state(program, &trace));
        Ran { trace, labels, state }
    }
}

/// Runs it once.
pub fn execute_on<M: Machine>(
    machine: M,
    program: &mut LitmusProgram,
    limits: Limits,
    strategy: &mut impl Strategy,
    fences: &[Change],
) -> Ran {
    let mut execution = Execution::new(machine);
    let mut fenced = fenced(program, fences);
    run(&mut execution, &mut fenced, strategy, limits);
    let trace = execution.trace(|label| fenced.describe(label));
    Ran::of(program, trace)
}
