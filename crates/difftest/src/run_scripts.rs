//! Many scripts, on several cores.

use crate::pace::Pace;
use crate::scripts::{Difference, Part, Script, compare, script, shrink};
use fencepost_trace::Model;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What scripts are made of.
    pub parts: Vec<Part>,
    /// The models.
    pub models: Vec<Model>,
    /// The seed of the first script.
    pub seed: u64,
    /// How many scripts.
    pub scripts: u64,
    /// When to stop at the latest.
    pub until: Option<Instant>,
    /// On how many cores.
    pub jobs: usize,
    /// After how many differences it is enough.
    pub enough: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// How many scripts were compared.
    pub scripts: u64,
    /// How many comparisons of them did not come to an end.
    pub unfinished: u64,
    /// The seeds of those that differ, with the model and how, shrunk.
    pub found: Vec<(u64, Model, Difference, Script)>,
}

/// Generates and compares; `tell` is called for each difference, and once a minute with how far it is.
pub fn run(plan: &Plan, tell: &(dyn Fn(&str) + Sync)) -> Summary {
    let summary = Mutex::new(Summary::default());
    let next = AtomicU64::new(0);
    let pace = Pace::new();
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let late = plan.until.is_some_and(|until| Instant::now() >= until);
            let enough = summary.lock().expect("no worker has panicked").found.len() as u64 >= plan.enough;
            if number >= plan.scripts || late || enough {
                return;
            }
            let seed = plan.seed + number;
            let (unfinished, found) = one(plan, seed);
            let mut summary = summary.lock().expect("no worker has panicked");
            summary.scripts += 1;
            summary.unfinished += unfinished;
            if pace.is_due() {
                tell(&format!("{} scripts so far, {} differ", summary.scripts, summary.found.len()));
            }
            if let Some((model, difference, script)) = found {
                tell(&describe(seed, model, &difference, &script));
                summary.found.push((seed, model, difference, script));
            }
        }
    };
    std::thread::scope(|scope| (0..plan.jobs.max(1)).for_each(|_| drop(scope.spawn(work))));
    summary.into_inner().expect("no worker has panicked")
}

/// Compares one script under all models, up to the first that shows a difference.
fn one(plan: &Plan, seed: u64) -> (u64, Option<(Model, Difference, Script)>) {
    let script = script(seed, &plan.parts);
    let mut unfinished = 0;
    for model in &plan.models {
        let compared = compare(&script, *model);
        unfinished += u64::from(compared.unfinished);
        if let Some(difference) = compared.difference {
            let (small, difference) = shrink(&script, *model, &difference);
            return (unfinished, Some((*model, difference, small)));
        }
    }
    (unfinished, None)
}

fn describe(seed: u64, model: Model, difference: &Difference, script: &Script) -> String {
    let mut text = format!("script {seed}, {model}: {difference:?}\n");
    for (t, body) in script.threads.iter().enumerate() {
        let _ = writeln!(text, "  T{t}:");
        body.iter().for_each(|node| text += &format!("    {node:?}\n"));
    }
    let _ = writeln!(text, "  the first thread creates the others: {}; semaphore {}", script.spawns, script.semaphore);
    text
}
