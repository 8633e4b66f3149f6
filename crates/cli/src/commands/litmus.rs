//! `fencepost litmus`: the final states of litmus tests.

use crate::args::{ModelList, WorkArgs};
use crate::error::{Error, Status};
use crate::screen::{Screen, complain_of};
use fencepost_report::{Format, LitmusReport, html, litmus_error_json, litmus_json, text};
use fencepost_session::{
    Error as SessionError, Event, LitmusExplored, LitmusRequest, LitmusTotals, Sink, Wanted, litmus, plain, write_whole,
};
use fencepost_trace::Model;
use serde_json::Value;
use std::path::PathBuf;

/// Tell exactly which final states litmus tests can end in, under each memory model.
///
/// A state that `exists` asks for is an answer, not a finding: the exit status is 0 unless a file could not be run
/// (2). To be told by the exit status, use `fencepost check`. Limits are for each test and model; a result that one
/// cut short says so.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 fencepost litmus tests/litmus/SB.litmus      # the final states under every model\n\
    \x20 fencepost litmus tests/litmus --model tso,c11 --format json\n\
    \x20 fencepost litmus tests/litmus/IRIW.litmus --html iriw.html   # execution graphs, side by side")]
pub struct Args {
    /// Litmus tests; directories are searched for *.litmus; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Memory models: a list of sc, tso, pso, pslo, c11, separated by commas, or all
    #[arg(long, value_name = "MODELS", default_value = "all")]
    model: ModelList,
    /// Show an execution that ends in this state, such as '0:r0=0,x=1', or in one that the condition speaks of
    /// (exists), or that has a data race (race)
    #[arg(long, value_name = "STATE")]
    show: Option<Wanted>,
    /// Write the executions shown to this directory, for replay
    #[arg(long, value_name = "DIR", requires = "show")]
    out: Option<PathBuf>,
    /// Try every choice of the operational machine, for all models (pslo has no other way) [default: every execution
    /// graph that the axioms permit]
    #[arg(long)]
    machine: bool,
    /// How many stores fit a store buffer (tso, pso, with --machine) [default: any number]
    #[arg(long, value_name = "N", requires = "machine")]
    buffer: Option<u32>,
    #[command(flatten)]
    work: WorkArgs,
}

pub fn run(args: Args, screen: &mut Screen) -> Result<Status, Error> {
    if !matches!(screen.format, Format::Text | Format::Json) {
        let name = screen.format.name();
        return Err(Error::usage(format!("litmus prints text or json, not {name}: use `fencepost check`")));
    }
    let is_other = |(format, _): &&(Format, PathBuf)| *format != Format::Html;
    if let Some((format, _)) = screen.files().iter().find(is_other) {
        let name = format.name();
        return Err(Error::usage(format!("litmus writes pages (html) to files, not {name}: use `fencepost check`")));
    }
    let pages: Vec<PathBuf> = screen.files().iter().map(|(_, file)| file.clone()).collect();
    let request = LitmusRequest {
        files: args.files,
        models: args.model.0,
        show: args.show,
        graphs: !pages.is_empty(),
        out: args.out,
        machine: args.machine,
        buffer: args.buffer,
        work: args.work.work(),
    };
    let (asked, draws) = (request.show.is_some(), request.graphs);
    let mut printer = Printer { screen, asked, draws, tests: Vec::new(), first: true, problem: None };
    let totals = litmus(&request, &mut printer)?;
    pages.iter().try_for_each(|file| write_whole(file, html::litmus_page(&printer.tests).as_bytes()))?;
    if let Some(problem) = printer.problem {
        return Err(problem);
    }
    printer.summary(totals)?;
    Ok(if totals.failed > 0 { Status::Failed } else { Status::Clean })
}

/// Prints each test as it is done.
struct Printer<'a> {
    screen: &'a mut Screen,
    /// Was an execution asked for?
    asked: bool,
    /// Is there a page to be made?
    draws: bool,
    /// The tests that are on it.
    tests: Vec<Value>,
    first: bool,
    /// Why nothing more can be printed.
    problem: Option<Error>,
}

impl Sink for Printer<'_> {
    fn event(&mut self, event: Event<'_>) {
        let text = match event {
            Event::Litmus(explored) => self.explored(explored),
            Event::LitmusFailed { error, model } => self.failed(error, model),
            other => return self.screen.event(other),
        };
        if self.problem.is_none() && !text.is_empty() {
            self.problem = self.screen.print(&text).err();
        }
    }

    fn is_closed(&self) -> bool {
        self.problem.is_some()
    }
}

impl Printer<'_> {
    fn failed(&mut self, error: &SessionError, model: Option<Model>) -> String {
        complain_of(&error.to_string());
        if self.screen.text() {
            return String::new();
        }
        let (file, line, column, message) = place_of(error);
        litmus_error_json(&file, model, line, column, &message) + "\n"
    }

    fn explored(&mut self, explored: &LitmusExplored) -> String {
        let report = &explored.report;
        if report.results.is_empty() {
            return String::new();
        }
        if self.draws {
            self.tests.push(html::litmus(report, &explored.graphs));
        }
        if !self.screen.text() {
            let lines = report.results.iter().zip(&explored.shown);
            return lines
                .map(|(result, shown)| {
                    litmus_json(report, result, shown.as_ref().map(|execution| &execution.trace)) + "\n"
                })
                .collect();
        }
        if self.screen.quiet {
            return text::litmus_brief(report, self.screen.style);
        }
        let gap = if std::mem::take(&mut self.first) { "" } else { "\n" };
        let shown = if self.asked { self.shown(report, explored) } else { String::new() };
        format!("{gap}{}{shown}", text::litmus(report, self.screen.style))
    }

    /// What was asked for, models together that show the same.
    fn shown(&self, report: &LitmusReport, explored: &LitmusExplored) -> String {
        let mut groups: Vec<(String, String)> = Vec::new();
        for (result, shown) in report.results.iter().zip(&explored.shown) {
            let text = match shown {
                Some(execution) => format!(":\n{}", text::shown_execution(execution, self.screen.style)),
                None if result.complete => ": no execution reaches this\n".to_owned(),
                None => ": not reached before the search ended\n".to_owned(),
            };
            match groups.iter_mut().find(|(_, known)| *known == text) {
                Some((models, _)) => *models += &format!(", {}", result.model),
                None => groups.push((result.model.to_string(), text)),
            }
        }
        groups.iter().map(|(models, text)| format!("\nunder {models}{text}")).collect()
    }

    fn summary(&mut self, totals: LitmusTotals) -> Result<(), Error> {
        if totals.files < 2 || !self.screen.text() || self.screen.quiet {
            return Ok(());
        }
        let LitmusTotals { tests, failed, races, incomplete, .. } = totals;
        let gap = if self.first { "" } else { "\n" };
        self.screen.print(&format!("{gap}{}", text::litmus_summary(tests, failed, races, incomplete)))
    }
}

/// Where something is wrong, and what: file, line, column, message.
pub fn place_of(error: &SessionError) -> (String, u32, u32, String) {
    match error {
        SessionError::Litmus { file, error } => (file.clone(), error.line, error.column, error.message.clone()),
        SessionError::Target { target, problem } => (target.clone(), 0, 0, problem.clone()),
        SessionError::Explore { target, error } => (target.clone(), 0, 0, error.to_string()),
        SessionError::Read { path, cause } => (path.display().to_string(), 0, 0, plain(cause)),
        other => (String::new(), 0, 0, other.to_string()),
    }
}
