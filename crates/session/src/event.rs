//! What happens while a request is worked on.

use crate::error::Error;
use crate::limits::Budget;
use crate::litmus::{LitmusExplored, SafeJudged};
use crate::progress::watched;
use fencepost_report::{HuntCycle, Verdict};
use fencepost_trace::{Finding, Model};
use std::fmt;

/// Something that whoever asked may want to know at once.
pub enum Event<'a> {
    /// Executions are about to be run, as many as this permits.
    Started(Budget),
    /// Comes about every tenth of a second while executions are run.
    Progress(Standing),
    /// Something that bears on how far the result can be trusted.
    Remark(&'a Remark),
    /// The outcomes that a specification permits are being collected, from so many schedules at most.
    Collecting {
        /// The greatest number of schedules.
        schedules: u64,
    },
    /// They have been.
    Collected {
        /// How many outcomes there are.
        outcomes: u64,
        /// How many schedules there were.
        schedules: u64,
    },
    /// A smaller execution of a finding is being looked for.
    Minimising {
        /// Which finding, from 1.
        finding: u64,
        /// How many there are.
        of: u64,
    },
    /// A finding, with all its details; its execution has been written if that was asked for.
    Finding(&'a Finding),
    /// A cycle that was predicted, and what became of it.
    Cycle(&'a HuntCycle),
    /// A litmus test that has been explored under its models.
    Litmus(&'a LitmusExplored),
    /// A litmus test that has been judged under a model.
    Safe(&'a SafeJudged),
    /// A litmus test that could not be, or not under this model.
    LitmusFailed {
        /// Why.
        error: &'a Error,
        /// The model, if it is the reason.
        model: Option<Model>,
    },
    /// The result is there.
    Done(Verdict),
}

/// How far the work is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// Executions so far.
    pub executions: u64,
    /// Findings so far; the same one in two workers may count twice.
    pub findings: u64,
    /// Of an exploration: how many tasks are open.
    pub open: u64,
    /// Of an exploration: about how many executions are left.
    pub left: u64,
    /// Of random executions of a program: how many pairs of a store and a read from it have been seen, at least.
    pub pairs: u64,
}

/// What a user should know who reads the result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Remark {
    /// Good to know.
    Note(String),
    /// The result may be worth less than it seems.
    Warning(String),
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remark::Note(text) => write!(f, "note: {text}"),
            Remark::Warning(text) => write!(f, "warning: {text}"),
        }
    }
}

/// Takes events, on the thread that made the request. Any `FnMut(Event<'_>)` is one.
pub trait Sink {
    /// Something has happened.
    fn event(&mut self, event: Event<'_>);

    /// Is nobody there any more? Asked between litmus tests: then the rest of them is left alone.
    fn is_closed(&self) -> bool {
        false
    }
}

impl<F: FnMut(Event<'_>)> Sink for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}

/// The sink, and the remarks that went there, which are a part of the result too.
pub(crate) struct Log<'a> {
    sink: &'a mut dyn Sink,
    pub remarks: Vec<Remark>,
}

impl<'a> Log<'a> {
    pub fn new(sink: &'a mut dyn Sink) -> Log<'a> {
        Log { sink, remarks: Vec::new() }
    }

    pub fn emit(&mut self, event: Event<'_>) {
        self.sink.event(event);
    }

    pub fn is_closed(&self) -> bool {
        self.sink.is_closed()
    }

    pub fn remark(&mut self, remark: Remark) {
        self.sink.event(Event::Remark(&remark));
        self.remarks.push(remark);
    }

    pub fn note(&mut self, text: impl Into<String>) {
        self.remark(Remark::Note(text.into()));
    }

    pub fn warning(&mut self, text: impl Into<String>) {
        self.remark(Remark::Warning(text.into()));
    }

    /// Does the work, and tells meanwhile how far it is: `done` says.
    pub fn watch<T: Send>(&mut self, mut done: impl FnMut() -> Standing, work: impl FnOnce() -> T + Send) -> T {
        watched(|| self.sink.event(Event::Progress(done())), work)
    }
}
