//! What belongs to a finding besides its own words: calls, an execution, what the program printed.

use crate::text::{Call, Mark};
use crate::{Describe, Order};
use fencepost_trace::{EventId, ThreadId, Trace};
use std::rc::Rc;

/// What a finding was seen by.
#[derive(Clone, Default)]
pub struct Evidence {
    /// Where threads were, if the finding itself does not say.
    pub stacks: Vec<CallStack>,
    /// The execution that shows it, if it could be run again.
    pub execution: Option<ShownExecution>,
    /// The execution that was met first, if `execution` is a smaller one.
    pub first: Option<ShownExecution>,
    /// What the program had printed.
    pub stdout: String,
    /// The same on the other stream.
    pub stderr: String,
}

/// The calls of a thread, the innermost first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallStack {
    /// Whose they are.
    pub title: String,
    /// The calls.
    pub calls: Vec<Call>,
}

/// An execution with all that it takes to show it.
#[derive(Clone)]
pub struct ShownExecution {
    /// What happened.
    pub trace: Trace,
    /// In which order.
    pub order: Order,
    /// The names for it: variables on stacks have theirs in one execution only.
    pub describe: Rc<dyn Describe>,
    /// The accesses that race.
    pub races: Vec<(EventId, EventId)>,
    /// The final state, as names and values.
    pub state: Vec<(String, String)>,
    /// The threads that take part in what was found: of a long execution, what matters to them is shown.
    pub involved: Vec<ThreadId>,
    /// What happened between the events.
    pub marks: Vec<Mark>,
}

impl From<ShownExecution> for Evidence {
    fn from(execution: ShownExecution) -> Evidence {
        Evidence { execution: Some(execution), ..Evidence::default() }
    }
}
