//! The models as axioms: predicates on finished executions, to be read against the papers.
//!
//! A machine says how an execution comes about, step by step; axioms say of a whole execution whether it may
//! come about at all, and by which rule not. They are written for clarity: exploration checks its steps
//! with faster means, and is itself checked against this.
//!
//! - [`relation`]: relations, with the operations of the literature;
//! - [`execution`]: what the axioms speak of: po, rf, mo, rb, byte by byte;
//! - [`hardware`]: what the hardware models share; [`sc`], [`tso`], [`pso`], [`pslo`]: one model each;
//! - [`restricted`]: a model of which only some pairs may be reordered;
//! - [`c11`]: C/C++20, with happens-before and data races.
//!
//! The tests enumerate all executions of every litmus test of the corpus (`tests/oracle`) by brute force and
//! compare with what herd7 says of it: the states, and the number of executions up to (rf, mo). PSLO's acquire and
//! release are not in the corpus; shapes by hand are all that tests them.
//!
//! What memory does to the values of an execution that was cut off is judged like that of a finished one: all
//! models are closed under prefixes of po ∪ rf.

pub mod c11;
pub mod execution;
pub mod hardware;
pub mod pslo;
pub mod pso;
pub mod relation;
pub mod restricted;
pub mod sc;
#[cfg(test)]
mod tests;
pub mod tso;

pub use execution::Execution;
pub use relation::{Relation, Set};

use fencepost_trace::{EventId, Model, Trace};
use std::fmt;

/// The rule that an execution breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which: `well-formed`, `uniproc`, `atomicity`, `coherence`, `no-thin-air`, `clock`, or the name of a
    /// model for its main axiom.
    pub axiom: &'static str,
    /// The events that take part: the cycle in its order, if it is one.
    pub events: Vec<EventId>,
    /// In words.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.axiom, self.message)?;
        for (i, event) in self.events.iter().enumerate() {
            write!(f, "{}{event:?}", if i == 0 { ": " } else { ", " })?;
        }
        Ok(())
    }
}

impl std::error::Error for Violation {}

/// Is the execution possible under its own model?
///
/// ```
/// use fencepost_memory::axioms;
/// use fencepost_trace::{Model, Outcome, Trace};
/// let (events, coherence, labels, choices) = Default::default();
/// let (model, outcome, threads) = (Model::Tso, Outcome::Finished, 1);
/// let nothing = Trace { model, outcome, threads, events, coherence, labels, choices };
/// assert_eq!(axioms::check(&nothing), Ok(()));
/// ```
pub fn check(trace: &Trace) -> Result<(), Violation> {
    let execution = Execution::from_trace(trace)?;
    consistent(&execution, trace.model)?;
    match trace.model {
        Model::C11 => c11::check_clocks(trace, &execution),
        _ => Ok(()),
    }
}

/// Is the execution possible under this model?
pub fn consistent(execution: &Execution, model: Model) -> Result<(), Violation> {
    match model {
        Model::Sc => sc::check(execution),
        Model::Tso => tso::check(execution),
        Model::Pso => pso::check(execution),
        Model::Pslo => pslo::check(execution),
        Model::C11 => c11::check(execution),
    }
}

/// The data races of an execution under C/C++20's happens-before; none if it is not well formed.
pub fn races(trace: &Trace) -> Vec<(EventId, EventId)> {
    Execution::from_trace(trace).map_or_else(|_| Vec::new(), |execution| c11::races(&execution))
}
