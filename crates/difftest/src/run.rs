//! Many programs, on several cores.

use crate::compare::{Class, Comparison, Disagreement, compare};
use crate::generate::{Recipe, generate};
use crate::pace::Pace;
use crate::program::{Language, Program};
use crate::shrink::shrink;
use crate::truths::{Effort, Subject};
use crate::units::Unit;
use crate::write;
use fencepost_trace::Model;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io};

/// So many programs are compiled at once: in C many, where the headers take longer than they do; elsewhere fewer.
fn per_unit(recipes: &[Recipe]) -> u64 {
    if recipes.iter().all(|recipe| recipe.language == Language::C) { 48 } else { 12 }
}

/// Of how many units one is run by the machine itself, too.
const NATIVE: u64 = 5;

/// Of so many comparisons it is told how long they took.
const SLOWEST: usize = 8;

/// What to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What programs are made of.
    pub recipes: Vec<Recipe>,
    /// The models.
    pub models: Vec<Model>,
    /// The seed of the first program.
    pub seed: u64,
    /// How many programs in each language.
    pub programs: u64,
    /// When to stop at the latest.
    pub until: Option<Instant>,
    /// How much is done for each.
    pub effort: Effort,
    /// On how many cores.
    pub jobs: usize,
    /// Where disagreements are kept.
    pub save: Option<PathBuf>,
    /// Are they shrunk?
    pub shrinks: bool,
    /// After how many of them it is enough.
    pub enough: u64,
    /// The words on the command line that choose the same programs, but for seed and models.
    pub words: String,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Programs that were compared.
    pub programs: u64,
    /// Comparisons: a program under a model.
    pub comparisons: u64,
    /// Why explorations were not complete.
    pub incomplete: BTreeMap<String, Cases>,
    /// Why references were not.
    pub unfinished: BTreeMap<String, Cases>,
    /// The comparisons that took longest: what took so long is often a loop that nobody recognises as waiting.
    pub slowest: Vec<(Duration, u64, Model)>,
    /// Disagreements: seed, language, the program as it is left, how the sources disagree.
    pub found: Vec<Found>,
}

/// How often something was said, and of which program under which model for the first time.
#[derive(Clone, Copy, Debug)]
pub struct Cases {
    /// How often.
    pub count: u64,
    /// The program.
    pub seed: u64,
    /// The model.
    pub model: Model,
}

/// One case more.
fn add(cases: &mut BTreeMap<String, Cases>, why: Option<String>, seed: u64, model: Model) {
    if let Some(why) = why {
        cases.entry(why).or_insert(Cases { count: 0, seed, model }).count += 1;
    }
}

impl Summary {
    fn took(&mut self, time: Duration, seed: u64, model: Model) {
        self.slowest.push((time, seed, model));
        self.slowest.sort_unstable_by_key(|(time, ..)| Reverse(*time));
        self.slowest.truncate(SLOWEST);
    }
}

/// A disagreement about one program.
#[derive(Clone, Debug)]
pub struct Found {
    /// The seed of the program.
    pub seed: u64,
    /// Its language.
    pub language: Language,
    /// What is left of it.
    pub program: Program,
    /// How the sources disagree.
    pub disagreement: Disagreement,
    /// The text that was printed.
    pub text: String,
}

/// Generates and compares; `tell` is called for each disagreement, and once a minute with how far it is.
pub fn run(plan: &Plan, tell: &(dyn Fn(&str) + Sync)) -> io::Result<Summary> {
    let summary = Mutex::new(Summary::default());
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let pace = Pace::new();
    let per_unit = per_unit(&plan.recipes);
    let per_language = plan.programs.div_ceil(per_unit);
    let units = per_language * plan.recipes.len() as u64;
    let work = || -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let late = plan.until.is_some_and(|until| Instant::now() >= until);
            if number >= units || late || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let recipe = &plan.recipes[(number % plan.recipes.len() as u64) as usize];
            let first = number / plan.recipes.len() as u64 * per_unit;
            let seeds: Vec<u64> = (first..plan.programs.min(first + per_unit)).map(|i| plan.seed + i).collect();
            batch(plan, recipe, &seeds, directory.path(), &summary, (&stop, &pace), tell)?;
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    Ok(summary.into_inner().expect("no worker has panicked"))
}

fn batch(
    plan: &Plan,
    recipe: &Recipe,
    seeds: &[u64],
    directory: &Path,
    summary: &Mutex<Summary>,
    (stop, pace): (&AtomicBool, &Pace),
    tell: &(dyn Fn(&str) + Sync),
) -> io::Result<()> {
    let programs: Vec<Program> = seeds.iter().map(|seed| generate(recipe, *seed)).collect();
    let native = seeds.first().is_some_and(|seed| (seed / per_unit(&plan.recipes)).is_multiple_of(NATIVE));
    let unit = Unit::build(recipe.language, &programs, directory, "unit", native)?;
    for (number, (seed, program)) in seeds.iter().zip(&programs).enumerate() {
        for model in &plan.models {
            if plan.until.is_some_and(|until| Instant::now() >= until) || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let subject = Subject { unit: &unit, number, model: *model };
            let start = Instant::now();
            let Comparison { disagreement, incomplete, unfinished } = compare(program, subject, &plan.effort, *seed);
            {
                let mut summary = summary.lock().expect("no worker has panicked");
                summary.comparisons += 1;
                summary.took(start.elapsed(), *seed, *model);
                add(&mut summary.incomplete, incomplete, *seed, *model);
                add(&mut summary.unfinished, unfinished, *seed, *model);
            }
            let Some(disagreement) = disagreement else { continue };
            let shrunk = if plan.shrinks && disagreement.class != Class::Broken {
                shrink(recipe.language, program, &disagreement, &plan.effort, directory)?
            } else {
                (program.clone(), disagreement)
            };
            let found = describe(plan, recipe, *seed, shrunk)?;
            tell(&found.text);
            let mut summary = summary.lock().expect("no worker has panicked");
            summary.found.push(found);
            if summary.found.len() as u64 >= plan.enough {
                stop.store(true, Ordering::Relaxed);
            }
            // One model is enough to know that the program shows something.
            break;
        }
        let mut summary = summary.lock().expect("no worker has panicked");
        summary.programs += 1;
        if pace.is_due() {
            tell(&format!("{} programs so far, {} disagreements", summary.programs, summary.found.len()));
        }
    }
    Ok(())
}

fn describe(plan: &Plan, recipe: &Recipe, seed: u64, shrunk: (Program, Disagreement)) -> io::Result<Found> {
    let (program, disagreement) = shrunk;
    let language = recipe.language;
    let model = disagreement.model;
    let name = format!("{}-{seed}-{model}.{}", language.ending(), language.ending());
    let source = write::unit(language, std::slice::from_ref(&program));
    // What all programs have in common tells nothing.
    let own = write::own_part(&source);
    let mut text = format!("seed {seed}, {}, {model}: {}\n", language.ending(), disagreement.class);
    disagreement.about.iter().for_each(|about| text += &format!("    {about}\n"));
    text += &format!("{}\n{own}\n", disagreement.sources);
    let again = format!(
        "cargo run --release -p fencepost-difftest -- --language {} --seed {seed} --programs 1 --models {model} {}",
        language.ending(),
        plan.words
    );
    text += &format!("again: {again}\n");
    if let Some(directory) = &plan.save {
        fs::create_dir_all(directory)?;
        let path = directory.join(&name);
        fs::write(&path, &source)?;
        fs::write(path.with_extension("txt"), &text)?;
        text += &format!("fencepost check --model {model} --keep-going {}\n", path.display());
        text += &format!("fencepost test --model {model} --executions 20000 --keep-going {}\n", path.display());
    }
    Ok(Found { seed, language, program, disagreement, text })
}
