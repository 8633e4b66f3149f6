//! Findings on disk while the work goes on, so that nothing is lost that was told of, however the process ends.
//!
//! What is written here has all that a replay needs, but neither trace nor details; those come when the work is done,
//! under the final numbers.

use super::Program;
use super::examine::{Examiner, strategy};
use super::finding::finding;
use crate::recording::Recording;
use fencepost_mailbox::Report;
use fencepost_native::host::{Campaign, Found};
use fencepost_report::Command;
use fencepost_trace::Plan;
use std::path::Path;

/// Writes findings as they come.
pub struct Keeper<'a> {
    pub command: Command,
    pub program: &'a Program,
    pub examiner: &'a Examiner<'a>,
    pub plan: &'a Plan,
    pub out: Option<&'a Path>,
    /// Those that were met.
    known: Vec<u64>,
}

impl<'a> Keeper<'a> {
    pub fn new(command: Command, examiner: &'a Examiner<'a>, plan: &'a Plan, out: Option<&'a Path>) -> Keeper<'a> {
        Keeper { command, program: examiner.program, examiner, plan, out, known: Vec::new() }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.known.len() as u64
    }

    /// Something was found, perhaps not for the first time.
    pub fn keep(&mut self, campaign: &Campaign, report: Report) {
        if self.known.contains(&report.fingerprint) {
            return;
        }
        let (fingerprint, execution) = (report.fingerprint, report.execution);
        let found = Found { count: 1, first_execution: execution, report };
        let mut finding = finding(self.known.len() as u32 + 1, &found, &self.examiner.symbolizer);
        if self.examiner.is_suppressed(&found, &finding) {
            return;
        }
        self.known.push(fingerprint);
        let Some(out) = self.out else { return };
        let name = format!("finding-{}", finding.id);
        finding.replay = Some(out.join(format!("{name}.json")).display().to_string());
        let plan = Plan { strategy: strategy(&found), ..self.plan.clone() };
        let number = found.report.drawn.map(|_| execution);
        let request = &campaign.request;
        let recording = Recording::native(self.command, self.program, plan, request, number, String::new());
        // What cannot be written now cannot be in the end either, and is said then.
        let _ = Recording { finding: Some(finding), ..recording }.write(out, &name, None);
    }
}
