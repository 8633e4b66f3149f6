//! The search: prediction, then trials.

use super::candidate::Candidate;
use super::options::{Options, is_late};
use super::settle;
use super::subject::{Exposure, Fences, Seen, Subject};
use super::trials::trials;
use crate::error::Error;
use fencepost_predict::Profile;
use fencepost_predict::critical::{Graph, Limits};
use fencepost_trace::Model;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

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
    /// Was every execution looked at?
    pub settled: bool,
    /// What that showed.
    pub witnesses: Vec<Exposure>,
}

/// Predicts and tries.
pub fn search(
    subject: &mut impl Subject,
    options: &Options,
    fences: &Fences,
    deadline: Option<Instant>,
) -> Result<Search, Error> {
    let mut seen = subject.observe(fences)?;
    let whole = settle::histories(subject, options, fences, &mut seen)?;
    seen.profiles = Profile::shared_only(&seen.profiles);
    let started = Instant::now();
    let limits = Limits { length: options.length, until: deadline, ..Limits::default() };
    let found = Graph::new(&seen.profiles, options.model).cycles(limits);
    let prediction = started.elapsed();
    let mut cycles: Vec<Candidate> =
        found.cycles.into_iter().map(|(cycle, instances)| Candidate::new(cycle, instances)).collect();
    for model in [Model::Tso, Model::Pso, Model::Pslo] {
        let possible = match model == options.model {
            true => None,
            false if is_late(deadline) => Some(BTreeMap::new()),
            false => Some(Graph::new(&seen.profiles, model).cycles(Limits { instances: 0, ..limits }).cycles),
        };
        for candidate in &mut cycles {
            if possible.as_ref().is_none_or(|possible| possible.contains_key(&candidate.cycle)) {
                candidate.models.push(model);
            }
        }
    }
    let (executions, blocked, unjudged) = (seen.executions, seen.blocked, seen.unjudged);
    let mut search = Search {
        seen,
        cycles,
        // Where no execution came to its end, nobody knows what is behind the limit.
        complete: found.complete && !unjudged && !is_late(deadline) && (executions == 0 || blocked < executions),
        executions,
        blocked,
        prediction,
        settled: false,
        campaign: 0,
        witnesses: Vec::new(),
    };
    if let Some(rounds) = whole {
        settle::settle(subject, options.model, rounds, fences, &mut search)?;
    }
    trials(subject, options, fences, deadline, &mut search)?;
    settle::conclude(&mut search);
    Ok(search)
}
