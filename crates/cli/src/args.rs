//! What was typed.
//!
//! Options that several commands share are structs here, each with its help beside it; those of one command are in
//! its file in [`commands`](crate::commands).

use crate::commands::Command;
use crate::error::Error;
use crate::screen;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, Parser, ValueEnum};
use fencepost_mailbox::Volatile;
use fencepost_report::Format;
use fencepost_session::{CampaignRequest, Work};
use fencepost_trace::{Model, Sampling, Scheduler};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Finds the concurrency bugs that only appear when memory is relaxed, and shows the execution that breaks.
#[derive(Parser, Debug)]
#[command(name = "fencepost", version, max_term_width = 100)]
#[command(after_help = "Exit status: 0 nothing found, 1 something was found, 2 the command could not do its work, \
    3 nothing found but a limit stopped the work.")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub screen: ScreenArgs,
}

/// How to print.
#[derive(Args, Clone, Debug)]
pub struct ScreenArgs {
    #[arg(long, global = true, help = format_help(), value_parser = formats(), default_value = "text")]
    #[arg(value_name = "FORMAT", hide_possible_values = true, help_heading = "Output")]
    pub format: Format,
    /// When to use colours: auto (on a terminal, unless NO_COLOR is set), always, never
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    #[arg(hide_possible_values = true, help_heading = "Output")]
    pub color: Colour,
    /// Write the report of test, check or hunt to a file, too, in one of the formats of --format; may be given several
    /// times (litmus: html only)
    #[arg(long, global = true, value_name = "FORMAT=FILE", value_parser = output, help_heading = "Output")]
    pub output: Vec<(Format, PathBuf)>,
    /// Write a page for a browser: the same as --output html=FILE
    #[arg(long, global = true, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Show every step of an execution, those of the languages' standard libraries too
    #[arg(long, short, global = true, conflicts_with = "quiet", help_heading = "Output")]
    pub verbose: bool,
    /// Print the verdict only
    #[arg(long, short, global = true, help_heading = "Output")]
    pub quiet: bool,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colour {
    Auto,
    Always,
    Never,
}

/// How much work to do, and on how many cores.
#[derive(Args, Clone, Debug)]
pub struct WorkArgs {
    /// Stop after so many executions
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Work and limits")]
    pub executions: Option<u64>,
    /// Stop after so long: 30s, 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Work and limits")]
    pub time: Option<Duration>,
    /// Use so many cores [default: all]
    #[arg(long, short, value_name = "N", value_parser = positive, help_heading = "Work and limits")]
    pub jobs: Option<u64>,
    /// Cut an execution off after so many steps [default: 2000 for litmus tests; for programs 1000000, check 10000]
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Work and limits")]
    pub max_steps: Option<u64>,
}

impl WorkArgs {
    /// As a value.
    pub fn work(&self) -> Work {
        let usual = Work::default();
        // More threads than this help nobody, and the system has limits too.
        let jobs = self.jobs.map_or(usual.jobs, |jobs| jobs.min(1024) as usize);
        Work { executions: self.executions, time: self.time, jobs, max_steps: self.max_steps }
    }
}

/// What a campaign on one target takes.
#[derive(Args, Clone, Debug)]
pub struct CampaignArgs {
    /// An executable built with -fsanitize=thread or `fencepost cc`, a .c, .cc, .cpp or .rs file, or a .litmus file
    #[arg(value_name = "TARGET")]
    pub target: PathBuf,
    /// Arguments for the target
    #[arg(last = true, value_name = "ARGS")]
    pub arguments: Vec<String>,
    /// The memory model: sc, tso, pso, pslo, c11
    #[arg(long, value_name = "MODEL", default_value = "c11", value_parser = Model::from_str)]
    pub model: Model,
    #[command(flatten)]
    pub work: WorkArgs,
    /// The seed of the campaign: the same seed gives the same executions and findings, whatever --jobs is
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Do not stop at the first finding
    #[arg(long)]
    pub keep_going: bool,
    /// Hold what the program observes (fencepost.h) against a specification: atomic (any outcome that it does not
    /// have when each operation takes effect at once is a spec-violation)
    #[arg(long, value_enum, value_name = "SPEC", hide_possible_values = true)]
    pub spec: Option<Spec>,
    /// Where the report (run.json), findings and their executions are written; those of an earlier run there are
    /// removed
    #[arg(long, value_name = "DIR", default_value = "fencepost-out")]
    pub out: PathBuf,
    /// Give an execution of a native program up after so long [default: 10s]; a litmus test is ended by --max-steps
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Work and limits")]
    pub timeout: Option<Duration>,
    /// What volatile accesses of a native program are under c11: relaxed (atomics), acqrel (acquire and release
    /// atomics), plain [default: relaxed]
    #[arg(long, value_name = "WHAT", value_parser = volatile)]
    pub volatile: Option<Volatile>,
    /// Findings in a native program that are not to be reported: a file of rules as ThreadSanitizer's (race:PATTERN,
    /// race_top:, deadlock:, called_from_lib:) [default: what TSAN_OPTIONS says]
    #[arg(long, value_name = "FILE")]
    pub suppressions: Option<PathBuf>,
}

impl From<CampaignArgs> for CampaignRequest {
    fn from(args: CampaignArgs) -> CampaignRequest {
        CampaignRequest {
            work: args.work.work(),
            target: args.target,
            arguments: args.arguments,
            model: args.model,
            seed: args.seed,
            keep_going: args.keep_going,
            spec: args.spec.map(Into::into),
            out: Some(args.out),
            timeout: args.timeout,
            volatile: args.volatile,
            suppressions: args.suppressions,
        }
    }
}

/// How choices are drawn.
#[derive(Args, Clone, Copy, Debug)]
pub struct SamplingArgs {
    // The names and what is said of them come from the type.
    #[arg(long, value_name = "NAME", default_value = "mix", value_parser = Scheduler::from_str)]
    #[arg(help_heading = "Strategy", help = format!("How choices are drawn: {}", Scheduler::summaries()))]
    pub strategy: Scheduler,
    /// pct: how many ordering constraints a bug may need; priorities change at one point less [default: 3]
    #[arg(long, value_name = "N", value_parser = depth, help_heading = "Strategy")]
    pub depth: Option<u32>,
    /// Prefer what is old in so many of 100 choices: loads read old stores, stores stay in their buffers [default: it
    /// varies]
    #[arg(long, value_name = "PERCENT", value_parser = percent, help_heading = "Strategy")]
    pub stale: Option<u32>,
}

impl SamplingArgs {
    /// As a value.
    pub fn sampling(&self) -> Sampling {
        let usual = Sampling::with(self.strategy);
        Sampling { depth: self.depth.unwrap_or(usual.depth), stale: self.stale, ..usual }
    }
}

/// What a program's observations are held against.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spec {
    Atomic,
}

impl From<Spec> for fencepost_session::Spec {
    fn from(spec: Spec) -> fencepost_session::Spec {
        match spec {
            Spec::Atomic => fencepost_session::Spec::Atomic,
        }
    }
}

/// The models of `litmus`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelList(pub Vec<Model>);

impl FromStr for ModelList {
    type Err = String;
    fn from_str(text: &str) -> Result<ModelList, String> {
        let mut models = Vec::new();
        for name in text.split(',').map(str::trim) {
            let unknown = |_| format!("unknown memory model '{name}': expected sc, tso, pso, pslo, c11 or all");
            let named = match name {
                "all" => Model::ALL.to_vec(),
                "rmo" => {
                    let why = "it has executions that no execution under sc leads to (docs/safe.md)";
                    return Err(format!("rmo is not offered: {why}"));
                }
                _ => vec![name.parse().map_err(unknown)?],
            };
            for model in named {
                if !models.contains(&model) {
                    models.push(model);
                }
            }
        }
        Ok(ModelList(models))
    }
}

/// The report formats by their names.
fn formats() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.iter().map(|format| format.name());
    PossibleValuesParser::new(names).try_map(|name| Format::from_str(&name))
}

fn format_help() -> String {
    let formats: Vec<String> =
        Format::ALL.iter().map(|format| format!("{} ({})", format.name(), format.about())).collect();
    format!("How to print: {}", formats.join(", "))
}

/// A format and the file that it goes to.
fn output(text: &str) -> Result<(Format, PathBuf), String> {
    let (format, file) = text.split_once('=').ok_or("expected FORMAT=FILE")?;
    Ok((format.parse()?, file.into()))
}

/// What a volatile access is.
fn volatile(text: &str) -> Result<Volatile, String> {
    match text {
        "relaxed" => Ok(Volatile::Relaxed),
        "acqrel" => Ok(Volatile::AcqRel),
        "plain" => Ok(Volatile::Plain),
        _ => Err("expected relaxed, acqrel or plain".to_owned()),
    }
}

/// A number of things to do.
pub fn positive(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "expected a number, 1 or more".to_owned())
}

fn depth(text: &str) -> Result<u32, String> {
    let fits = |n: &u32| (1..=Sampling::MOST_DEPTH).contains(n);
    text.parse().ok().filter(fits).ok_or_else(|| format!("expected a number from 1 to {}", Sampling::MOST_DEPTH))
}

fn percent(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|n| *n <= 100).ok_or_else(|| "expected a number from 0 to 100".to_owned())
}

/// `30s`, `5m`, `1h`, `250ms`; a number alone is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("expected a time such as 30s, 5m or 1h".to_owned()),
    };
    let number: f64 = digits.parse().map_err(|_| "expected a time such as 30s, 5m or 1h".to_owned())?;
    match Duration::try_from_secs_f64(number * scale) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("a time is more than 0 and not too long".to_owned()),
    }
}

/// Reads the command line.
pub fn parse() -> Result<Cli, Error> {
    Cli::try_parse().map_err(|error| {
        let text = error.render();
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                let ansi = screen::colours(Colour::Auto);
                let text = if ansi { text.ansi().to_string() } else { text.to_string() };
                screen::print(&text).err().unwrap_or(Error::Help(text))
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Error::usage("no command: try `fencepost --help`"),
            _ => Error::usage(one_line(&text.to_string())),
        }
    })
}

/// The part of clap's message that says what is wrong, in one line.
fn one_line(text: &str) -> String {
    let problem: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let problem = problem.join(" ");
    let tip = text.lines().map(str::trim).find(|line| line.starts_with("tip:"));
    let tip = tip.map_or_else(String::new, |tip| format!(" ({tip})"));
    format!("{}{tip}; see --help", problem.strip_prefix("error: ").unwrap_or(&problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_have_units() {
        let ms = |text| duration(text).map(|time| time.as_millis());
        assert_eq!(ms("30s"), Ok(30_000));
        assert_eq!(ms("5m"), Ok(300_000));
        assert_eq!(ms("1h"), Ok(3_600_000));
        assert_eq!(ms("250ms"), Ok(250));
        assert_eq!(ms("1.5"), Ok(1_500));
        for bad in ["", "s", "5x", "-1s", "0s", "nans", "1e300h", "ß"] {
            assert!(ms(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn models_are_listed_once_in_the_order_typed() {
        let list = |text: &str| text.parse().map(|ModelList(models)| models);
        assert_eq!(list("tso,sc,tso"), Ok(vec![Model::Tso, Model::Sc]));
        assert_eq!(list("c11,all").unwrap()[..2], [Model::C11, Model::Sc]);
        assert!(list("x86").is_err() && list("").is_err());
    }
}
