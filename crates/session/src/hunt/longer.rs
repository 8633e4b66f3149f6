//! Cycles that are not critical: a critical one is in each of them.
//!
//! They are no news, and nothing else depends on them: not what does harm, not what is advised. But they are real or
//! not like any other, and Orion reports them. So they are looked for once all is known of the critical ones: in an
//! exploration of every execution, where there was one, and otherwise in executions at random and by solving.

use super::candidate::Candidate;
use super::options::{Options, is_late};
use super::round::Round;
use super::search::Search;
use super::settle;
use super::subject::{BASE_SEED, MODELS, Subject};
use crate::error::Error;
use fencepost_predict::critical::{Found, Graph, Limits};
use fencepost_trace::{Cycle, Model, Severity};
use std::collections::BTreeMap;

/// If there are more, none is tried: each takes as long as a critical one.
const MOST: usize = 3_000;
/// How many steps their prediction may take.
const STEPS: u64 = 20_000_000;

impl<S: Subject> Round<'_, S> {
    /// Looks for them, under stronger models first: what is real there is real here.
    pub fn find_longer(&mut self, search: &mut Search) -> Result<(), Error> {
        let (options, fences) = (self.options, self.fences);
        if !options.methods.solve || search.cycles.is_empty() || is_late(options.deadline) {
            return Ok(());
        }
        let limits = Limits { length: options.length, steps: STEPS, until: options.deadline, ..Limits::default() };
        let predicted: BTreeMap<Model, Found> = MODELS
            .into_iter()
            .map(|model| (model, Graph::new(&search.seen.profiles, model).longer_cycles(limits)))
            .collect();
        let mut before: Option<Search> = None;
        for model in MODELS.into_iter().filter(|model| *model <= options.model) {
            let found = &predicted[&model];
            let asked = model == options.model;
            if search.settled && !asked {
                continue;
            }
            if found.cycles.len() > MOST || !found.complete {
                let number = found.cycles.len();
                search.seen.notes.push(format!(
                    "more than {} cycles under {model} contain other ones: they were not looked for",
                    number.min(MOST)
                ));
            } else {
                let is_possible = |cycle: &Cycle, model: &Model| predicted[model].cycles.contains_key(cycle);
                let cycles = found.cycles.iter().map(|(cycle, instances)| {
                    let models = MODELS.into_iter().filter(|model| is_possible(cycle, model)).collect();
                    Candidate { models, ..Candidate::new(cycle.clone(), instances.clone()) }
                });
                let mut part = Search::new(search.seen.clone(), cycles.collect());
                (part.executions, part.blocked) = (0, 0);
                let seed = if asked { options.seed } else { BASE_SEED };
                let options = Options { model, seed, longer: true, ..options.clone() };
                self.subject.set_model(model);
                if search.settled {
                    settle::settle(self.subject, model, search.rounds, fences, &mut part)?;
                }
                if let Some(stronger) = before.take() {
                    settle::inherit(&mut part, stronger);
                }
                Round::new(&mut *self.subject, &options, fences).trials(&mut part)?;
                settle::conclude(&mut part);
                before = Some(part);
            }
        }
        self.subject.set_model(options.model);
        if let Some(part) = before {
            search.executions += part.executions;
            search.blocked += part.blocked;
            search.complete &= part.complete;
            search.longer = part.cycles;
            search.longer.retain(|candidate| matches!(candidate.outcome(), Severity::Harmful | Severity::Benign));
        }
        Ok(())
    }
}
