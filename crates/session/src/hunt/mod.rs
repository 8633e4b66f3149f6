//! From a program to its violations of sequential consistency, those that hurt, and what prevents them.
//!
//! - [`subject`]: a program as the search sees it; [`mod@litmus`] and [`mod@native`]: the two kinds;
//! - [`search`](mod@search): prediction, then [`trials`] of each [`candidate`], made in [`round`]s, with schedules from
//!   [`lessons`];
//! - [`longer`]: cycles that others are in;
//! - [`published`]: the predictions of the papers that this comes from;
//! - [`campaign`]: where not every execution can be explored, which cycles are there and do harm;
//! - [`settle`](mod@settle): what the exploration of every execution says, where there is one;
//! - [`verify`](mod@verify): is what was brought about real; [`root_cause`]: which violations explain the failures;
//! - [`fences`]: which orderings break the harmful cycles, and the proof by running again;
//! - [`prevention`]: which orderings prevent an execution that fails;
//! - [`report`](mod@report): the result.

mod campaign;
mod candidate;
mod fenced;
mod fences;
mod lessons;
mod litmus;
mod longer;
mod native;
mod options;
mod points;
mod prevention;
mod published;
mod report;
mod root_cause;
mod round;
mod search;
mod settle;
mod subject;
mod trials;
mod verify;

pub use prevention::{Failure, Ordering, weaker};
pub use subject::FencePosition;

use crate::error::Error;
use crate::event::{Log, Sink};
use crate::finish::prepare;
use crate::outcome::Outcome;
use crate::request::HuntRequest;
use crate::target::Target;
use fencepost_trace::Model;
use options::Options;
use std::time::Instant;
use subject::{Seen, Subject};

/// Of an execution with more events than this only the beginning is held against the axioms, and no schedule is made.
const LONGEST: usize = 1_000;

/// Predicts violations of sequential consistency, forces each one to happen, and tells those that break the program
/// from those that do not.
pub fn hunt(request: &HuntRequest, sink: &mut dyn Sink) -> Result<Outcome, Error> {
    validate(request)?;
    let options = Options::new(request);
    let mut log = Log::new(sink);
    match Target::load(&request.target, &request.arguments)? {
        Target::Litmus(_) if request.spec.is_some() => {
            let problem = format!("--spec is for native programs: {} is a litmus test", request.target.display());
            Err(Error::Usage(problem))
        }
        Target::Litmus(case) => {
            prepare(request.out.as_deref())?;
            run(&mut litmus::LitmusSubject::new(&case, &request.target, &options), &options, request.fences, &mut log)
        }
        Target::Native(program) => {
            prepare(request.out.as_deref())?;
            let mut subject = native::NativeSubject::new(&program, &options, &mut log)?;
            run(&mut subject, &options, request.fences, &mut log)
        }
    }
}

fn validate(request: &HuntRequest) -> Result<(), Error> {
    let model = request.model;
    if !matches!(model, Model::Tso | Model::Pso | Model::Pslo) {
        let why = match model {
            Model::C11 => {
                "under c11 a load may read an older store although no two accesses of a thread change places, so that \
                 there is no pair to try alone or to hold in order; fencepost safe --model c11 tells whether weak \
                 orders matter and which would have to be stronger, check and test what goes wrong"
            }
            _ => "it has no machine that reorders what sc orders",
        };
        let problem = format!("hunt is for tso, pso and pslo, not {model}: {why}");
        return Err(Error::Usage(problem));
    }
    if request.methods.relaxer.is_some_and(|bias| bias.load_delay >= bias.store_delay) {
        return Err(Error::Usage("--load-delay must be less than --store-delay".to_owned()));
    }
    if request.buffer.is_some() && model == Model::Pslo {
        return Err(Error::Usage("--buffer is for tso and pso: pslo has no store buffers to bound".to_owned()));
    }
    Ok(())
}

/// The whole hunt, whatever kind of program it is.
fn run(subject: &mut impl Subject, options: &Options, advise: bool, log: &mut Log<'_>) -> Result<Outcome, Error> {
    let started = Instant::now();
    let mut search = search::search(subject, options, &[])?;
    search.seen.notes.drain(..).for_each(|note| log.note(note));
    fails_anyway(&search.seen).into_iter().for_each(|warning| log.warning(warning));
    verify::verify(subject, options, &mut search, log)?;
    root_cause::find_root_causes(subject, options, &mut search, &[])?;
    let late = options::is_late(options.end);
    if advise && late && search.cycles.iter().any(candidate::Candidate::is_harmful) {
        log.note("there was no time to look for orderings that prevent what breaks the program".to_owned());
    }
    let advice = match advise && !late {
        true => fences::advise(subject, options, &mut search)?,
        false => Vec::new(),
    };
    Ok(report::report(subject, options, search, advice, started, log))
}

/// A word about a program that does not need reordering to fail.
fn fails_anyway(seen: &Seen) -> Option<String> {
    let (all, failing, blocked) = (seen.executions, seen.failing, seen.blocked);
    match (failing, blocked) {
        (0, _) if !seen.failures.is_empty() => Some(
            "the program fails without reordering too, as an exploration shows (fencepost check --model sc); only what \
             reordering adds is called harmful"
                .to_owned(),
        ),
        (0, 0) => None,
        (0, blocked) if blocked == all => {
            Some("without reordering no execution ended: what is behind the limit is not seen (--max-steps)".to_owned())
        }
        (0, _) => None,
        (failing, _) if failing == all => Some(
            "the program fails in every execution without reordering: what would happen behind the failure is not \
             seen. Mend that first (fencepost test --model sc)"
                .to_owned(),
        ),
        (failing, _) => Some(format!(
            "the program fails without reordering too, in {failing} of {all} executions; only what reordering adds is \
             called harmful"
        )),
    }
}
