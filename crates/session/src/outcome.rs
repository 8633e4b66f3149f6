//! What comes back.

use crate::error::Error;
use crate::event::Remark;
use fencepost_report::{Describe, Document, Evidence, Report, Verdict};
use std::rc::Rc;

/// The result of `test`, `check` and `hunt`.
pub struct Outcome {
    /// Verdict, counts and findings.
    pub report: Report,
    /// For each finding what it was seen by.
    pub evidence: Vec<Evidence>,
    /// The names of the program.
    pub describe: Rc<dyn Describe>,
    /// What was said on the way.
    pub remarks: Vec<Remark>,
    /// Why a part of it is not on disk, where it was asked for.
    pub unwritten: Option<Error>,
}

impl Outcome {
    /// What it comes to.
    pub fn verdict(&self) -> Verdict {
        self.report.verdict()
    }

    /// All of it, for a report format.
    pub fn document(&self) -> Document<'_> {
        Document { report: &self.report, evidence: &self.evidence, describe: &*self.describe }
    }
}
