//! The search: prediction, then trials.

use super::candidate::Candidate;
use super::options::{Options, is_late};
use super::published::predicted;
use super::round::Round;
use super::settle;
use super::subject::{BASE_SEED, Exposure, Fences, MODELS, ProgramPoint, Seen, Subject, stronger};
use super::trials::share;
use crate::error::Error;
use fencepost_predict::Profile;
use fencepost_predict::critical::{Graph, Limits};
use fencepost_trace::Model;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Stronger models have one of so many parts of the time.
const STRONGER_SHARE: u32 = 3;

/// Where an exploration has no failure, so many executions as `test` has them must not show one.
const HELD_AGAINST: u64 = 5_000;

/// A search under way.
pub struct Search {
    pub seen: Seen,
    pub cycles: Vec<Candidate>,
    /// Were all cycles enumerated and tried?
    pub complete: bool,
    pub executions: u64,
    pub blocked: u64,
    /// How long the prediction took.
    pub prediction: Duration,
    /// If not every execution was looked at: in how many of each cycle harm was looked for.
    pub campaign: u64,
    /// Was every execution looked at, and does one fail as none without reordering does?
    pub settled: bool,
    pub fails: bool,
    /// What that showed.
    pub witnesses: Vec<Exposure>,
    /// If every execution was looked at: how many rounds of loops that wait were gone.
    pub rounds: u32,
    /// Cycles that are not critical: others are in them.
    pub longer: Vec<Candidate>,
}

impl Search {
    /// The cycles, those that are not critical last.
    pub fn all(&self) -> impl Iterator<Item = &Candidate> {
        self.cycles.iter().chain(&self.longer)
    }

    /// For these cycles, with what was seen of the program.
    pub fn new(seen: Seen, cycles: Vec<Candidate>) -> Search {
        Search {
            complete: !seen.unjudged,
            executions: seen.executions,
            blocked: seen.blocked,
            seen,
            cycles,
            prediction: Duration::ZERO,
            campaign: 0,
            settled: false,
            fails: false,
            witnesses: Vec::new(),
            rounds: 0,
            longer: Vec::new(),
        }
    }
}

/// Predicts and tries; what is found under stronger models counts.
///
/// Every execution of a stronger model is one of this model. So whatever chance brings: what is real, or does harm,
/// under tso is so under pso, and what is so under pso under pslo.
pub fn search(subject: &mut impl Subject, options: &Options, fences: &Fences) -> Result<Search, Error> {
    let seen = look(subject, options, fences)?;
    let mut search = under(subject, options, fences, seen, Role::Asked)?;
    Round::new(subject, options, fences).find_longer(&mut search)?;
    Ok(search)
}

/// The same under this model alone.
pub fn search_alone(subject: &mut impl Subject, options: &Options, fences: &Fences) -> Result<Search, Error> {
    let seen = look(subject, options, fences)?;
    under(subject, options, fences, seen, Role::Alone)
}

/// What a search is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It was asked for.
    Asked,
    /// It was asked for, and what stronger models show is not.
    Alone,
    /// A weaker model was asked for.
    Stronger,
}

/// The program without reordering, and whether it could be explored.
fn look(subject: &mut impl Subject, options: &Options, fences: &Fences) -> Result<(Seen, bool), Error> {
    let mut seen = subject.observe(fences)?;
    let small = settle::is_small(subject, options, fences, &mut seen)?;
    Ok((seen, small))
}

fn under(
    subject: &mut impl Subject,
    options: &Options,
    fences: &Fences,
    (mut seen, small): (Seen, bool),
    role: Role,
) -> Result<Search, Error> {
    let plain = seen.clone();
    let whole = if small { settle::histories(subject, options, fences, &mut seen)? } else { None };
    let mut search = predict(options, subject.points(), seen);
    if let Some(rounds) = whole {
        search.rounds = rounds;
        settle::settle(subject, options.model, rounds, fences, &mut search)?;
        if search.settled && !search.fails && fails_at_random(subject, fences, &mut search)? {
            subject.distrust();
            let done = search.executions - plain.executions;
            let mut search = under(subject, options, fences, (plain, false), role)?;
            search.executions += done;
            search.seen.notes.push(
                "every execution was explored and none fails, but executions at random do: threads share memory that \
                 is not seen (code without instrumentation), so that nothing is proved"
                    .to_owned(),
            );
            return Ok(search);
        }
    }
    // If everything was explored, and nothing fails, nothing fails under a stronger model.
    let inherits = role != Role::Alone && options.methods.solve && (!search.settled || search.fails);
    if let Some(model) = stronger(options.model).filter(|_| inherits) {
        let deadline = options
            .deadline
            .map(|deadline| Instant::now() + deadline.saturating_duration_since(Instant::now()) / STRONGER_SHARE);
        let options = Options { model, seed: BASE_SEED, deadline, ..options.clone() };
        let known = plain.executions;
        subject.set_model(model);
        let mut found = under(subject, &options, fences, (plain, small), Role::Stronger)?;
        found.executions -= known;
        search.complete &= found.complete;
        settle::inherit(&mut search, found);
    }
    subject.set_model(options.model);
    if role != Role::Stronger || !search.settled {
        Round::new(subject, options, fences).trials(&mut search)?;
    }
    if small && role != Role::Stronger {
        settle::settle_unknown(subject, options, fences, &mut search)?;
    }
    settle::conclude(&mut search);
    Ok(search)
}

/// Do executions as `test` has them fail as none without reordering does?
pub fn fails_at_random(subject: &mut impl Subject, fences: &Fences, search: &mut Search) -> Result<bool, Error> {
    let executions = share(subject, HELD_AGAINST);
    let tested = subject.test(0, executions, fences)?;
    search.executions += tested.executions;
    Ok(!tested.failing.is_empty())
}

/// The cycles that executions show to be possible.
fn predict(options: &Options, points: &[ProgramPoint], mut seen: Seen) -> Search {
    seen.profiles = Profile::shared_only(&seen.profiles);
    let started = Instant::now();
    let limits = Limits { length: options.length, until: options.deadline, ..Limits::default() };
    let cycles = |model: Model, limits: Limits| {
        let published = predicted(&Options { model, ..options.clone() }, &seen.profiles, points);
        published.unwrap_or_else(|| Graph::new(&seen.profiles, model).cycles(limits))
    };
    let found = cycles(options.model, limits);
    let prediction = started.elapsed();
    let mut candidates: Vec<Candidate> =
        found.cycles.into_iter().map(|(cycle, instances)| Candidate::new(cycle, instances)).collect();
    for model in MODELS {
        let possible = match model == options.model {
            true => None,
            false if is_late(options.deadline) => Some(BTreeMap::new()),
            false => Some(cycles(model, Limits { instances: 0, ..limits }).cycles),
        };
        for candidate in &mut candidates {
            if possible.as_ref().is_none_or(|possible| possible.contains_key(&candidate.cycle)) {
                candidate.models.push(model);
            }
        }
    }
    let mut search = Search::new(seen, candidates);
    // Where no execution came to its end, nobody knows what is behind the limit.
    search.complete &=
        found.complete && !is_late(options.deadline) && (search.executions == 0 || search.blocked < search.executions);
    search.prediction = prediction;
    search
}
