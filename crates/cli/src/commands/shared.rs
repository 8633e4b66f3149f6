//! What `test` and `check` have in common: from a tally to a report, on disk and on the screen.

use crate::args::CampaignArgs;
use crate::error::{Error, Status};
use crate::recording::{Recording, clear, write_whole};
use crate::screen::Screen;
use crate::subject::Subject;
use crate::tally::{Found, Stop, Tally, Watch};
use crate::witness::Witness;
use fencepost_report::{RunReport, Seen, Verdict, text};
use fencepost_trace::{Finding, Severity};
use std::path::Path;
use std::time::Instant;

/// A campaign on a litmus test.
pub struct Campaign<'a> {
    pub command: &'static str,
    pub args: &'a CampaignArgs,
    pub subject: &'a Subject,
    /// The digest of the test's file.
    pub digest: &'a str,
    pub started: Instant,
}

/// What a campaign looks for.
pub fn watch(args: &CampaignArgs, buffer: Option<u32>) -> Watch {
    let stop = if args.keep_going { Stop::Never } else { Stop::AtFinding };
    Watch { model: args.model, buffer, limits: args.work.limits(), condition: true, stop }
}

impl Campaign<'_> {
    /// Writes and prints what came of it. `complete` says whether everything was explored, if the command explores.
    pub fn finish(&self, mut tally: Tally, complete: Option<bool>, screen: &mut Screen) -> Result<Status, Error> {
        tally.findings.sort_by_key(|found| found.first);
        clear(&self.args.out);
        let mut problem = None;
        let (mut findings, mut shown) = (Vec::new(), Vec::new());
        for (i, found) in tally.findings.iter().enumerate() {
            let witness = Witness::new(self.subject, found.plan.clone())
                .map_err(|error| Error::Explore { target: self.target(), error })?;
            let mut finding = finding(i as u32 + 1, found);
            match self.record(&mut finding, &witness) {
                Ok(()) => {}
                Err(error) => problem = problem.or(Some(error)),
            }
            findings.push(finding);
            let visible = !screen.json() && !screen.quiet;
            shown.push(visible.then(|| witness.text(self.subject, screen.look)));
        }
        let verdict = match complete {
            _ if !findings.is_empty() => Verdict::Fail,
            Some(false) => Verdict::Incomplete,
            None if tally.executions == 0 && tally.blocked > 0 => Verdict::Incomplete,
            _ => Verdict::Pass,
        };
        let report = RunReport {
            fencepost: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.command.to_owned(),
            target: self.target(),
            model: self.args.model,
            seed: self.args.seed,
            verdict,
            complete: complete.unwrap_or(false),
            // Of a random campaign those that were cut off are executions like any other; of an exploration they are
            // none of the program's.
            executions: if complete.is_none() { tally.executions + tally.blocked } else { tally.executions },
            blocked: tally.blocked,
            failing_executions: tally.failing,
            states: Some(tally.states.len() as u64),
            coverage: complete
                .is_none()
                .then(|| Seen::new(tally.pairs.values().copied(), tally.executions + tally.blocked)),
            seconds: self.started.elapsed().as_secs_f64(),
            restart: None,
            findings,
            suppressed: 0,
        };
        problem = problem.or(write_run(&self.args.out, &report));
        self.print(&report, &shown, screen)?;
        match (problem, verdict) {
            (Some(error), _) => Err(error),
            (None, Verdict::Pass) => Ok(Status::Clean),
            (None, Verdict::Fail) => Ok(Status::Found),
            (None, Verdict::Incomplete) => Ok(Status::Incomplete),
        }
    }

    fn print(&self, report: &RunReport, shown: &[Option<String>], screen: &mut Screen) -> Result<(), Error> {
        let look = screen.look;
        match (screen.json(), screen.quiet) {
            (true, _) => screen.print(&report.to_json()),
            (false, true) => screen.print(&format!("{}\n", report.verdict)),
            (false, false) => screen.print(&text::run(report, shown, self.subject, look)),
        }
    }

    fn target(&self) -> String {
        self.args.target.display().to_string()
    }

    /// Writes the finding's execution, and notes where.
    fn record(&self, finding: &mut Finding, witness: &Witness) -> Result<(), Error> {
        let name = format!("finding-{}", finding.id);
        let path = self.args.out.join(format!("{name}.json"));
        finding.replay = Some(path.display().to_string());
        let mut recording = Recording::new(self.command, &self.target(), self.digest, witness);
        recording.finding = Some(finding.clone());
        let written = recording.write(&self.args.out, &name, Some(&witness.trace));
        if written.is_err() {
            finding.replay = None;
        }
        written.map(|_| ())
    }
}

/// Writes the report beside its findings. Only with findings it is an error if that cannot be done.
pub fn write_run(directory: &Path, report: &RunReport) -> Option<Error> {
    let error = write_whole(&directory.join("run.json"), report.to_json().as_bytes()).err()?;
    if report.verdict == Verdict::Fail {
        return Some(error);
    }
    eprintln!("warning: {error}");
    None
}

fn finding(id: u32, found: &Found) -> Finding {
    Finding {
        id,
        kind: found.key.kind,
        message: found.message.clone(),
        count: found.count,
        first_execution: found.first,
        severity: Severity::Harmful,
        labels: found.key.labels.clone(),
        stacks: Vec::new(),
        memory: None,
        reason: Vec::new(),
        replay: None,
    }
}
