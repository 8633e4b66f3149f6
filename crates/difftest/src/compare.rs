//! Do the three sources agree?

use crate::program::Program;
use crate::truths::{Effort, Outcomes, Said, Subject};
use fencepost_mailbox::Restart;
use fencepost_trace::{Method, Model};
use std::fmt;
use std::io;

/// How sources disagree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// The machine has an outcome that exploration does not: a false proof, if exploration says that it is complete.
    Missed,
    /// Exploration has an outcome that the machine does not.
    Invented,
    /// Random executions have an outcome that exploration does not.
    Tested,
    /// Random executions have an outcome that the machine, tried completely, does not: one of these two is wrong.
    Reference,
    /// Exploration on two cores is not exploration on one.
    Jobs,
    /// Exploration by sources or by values is not that of execution graphs.
    Methods,
    /// Exploration comes to no end, and the machine has been tried completely.
    Endless,
    /// A program is safe for a model exactly if it has as many execution graphs under it as under sc; `safe` says
    /// otherwise.
    Safety,
    /// The machine itself, without Fencepost, does what exploration does not have.
    Native,
    /// Some source broke down.
    Broken,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Missed => "missed by check",
            Class::Invented => "invented by check",
            Class::Tested => "seen by test, missed by check",
            Class::Reference => "seen by test, not by the reference",
            Class::Jobs => "jobs 2 is not jobs 1",
            Class::Methods => "method rf or causal is not method graph",
            Class::Endless => "check does not end, the reference does",
            Class::Safety => "safe is not what the numbers of execution graphs say",
            Class::Native => "done by the machine itself, missed by check",
            Class::Broken => "broken",
        })
    }
}

/// A disagreement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disagreement {
    /// Under which model.
    pub model: Model,
    /// What kind.
    pub class: Class,
    /// The outcomes, or what broke.
    pub about: Vec<String>,
    /// What the sources said, in words.
    pub sources: String,
}

/// What came of a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// How the sources disagree, if they do.
    pub disagreement: Option<Disagreement>,
    /// Why exploration was not complete.
    pub incomplete: Option<String>,
    /// Why the reference was not.
    pub unfinished: Option<String>,
}

const RACE: &str = "!data-race";
const LIVELOCK: &str = "!livelock";

/// So many times as much time an exploration gets that has not ended where the reference has.
const MORE_TIME: u32 = 3;

/// So many random executions come first.
const FIRST: u64 = 20;

/// Random executions of a program whose outcomes the reference knows are there to try `test`, not `check`: a few are
/// enough.
const FEW: u64 = 300;

/// Where the reference does not: if these have shown all that exploration has, more of them would show nothing new.
const SOME: u64 = 3_000;

/// Of which of so many programs, if the reference has ended, random executions are tried.
const TRIED: u64 = 4;

/// So many times as many executions the reference may have if nothing is left out.
const WITHOUT_SLEEP_SETS: u64 = 10;

/// So many of them run each in a process of its own.
const FORKED: u64 = 10;

/// Of which of so many programs more than the usual is tried.
const SAMPLE: u64 = 16;

/// Of which of so many programs the other methods of exploration are tried.
const METHODS: u64 = 8;

/// Of which of so many programs it is asked whether they are safe.
const SAFETY: u64 = 8;

/// Compares the sources on one program under one model. `seed` decides what is tried beside the usual.
pub fn compare(program: &Program, subject: Subject<'_>, effort: &Effort, seed: u64) -> Comparison {
    match try_compare(program, subject, effort, seed) {
        Ok(comparison) => comparison,
        Err(error) => Comparison {
            disagreement: Some(Disagreement {
                model: subject.model,
                class: Class::Broken,
                about: vec![error.to_string()],
                sources: String::new(),
            }),
            ..Comparison::default()
        },
    }
}

fn try_compare(program: &Program, subject: Subject<'_>, effort: &Effort, seed: u64) -> io::Result<Comparison> {
    let model = subject.model;
    let mut check = subject.check(Method::Graph, 1, effort)?;
    if effort.safe {
        let disagreement = safety(subject, &check, effort)?;
        return Ok(Comparison { disagreement, incomplete: check.incomplete, unfinished: None });
    }
    let mut reference = subject.enumerate(effort)?;
    let mut test = Said::default();
    let enough = if reference.incomplete.is_none() && !effort.thorough { FEW } else { effort.executions };
    // Of most programs whose outcomes are known, `test` would show nothing new.
    let tries = reference.incomplete.is_some() || effort.thorough || seed.is_multiple_of(TRIED);
    for end in [FIRST, FEW, SOME.min(enough), enough] {
        // Where none of the first has come to an end, the others will not either.
        let all_cut_off = test.executions > 0 && test.outcomes.is_empty();
        let new = effort.thorough || !check.outcomes.is_subset(&test.outcomes);
        if tries && end > test.executions && new && !all_cut_off {
            let more = subject.test(test.executions, end - test.executions, Restart::Auto, None)?;
            test.outcomes.extend(more.outcomes);
            test.executions += more.executions;
        }
    }
    if seed.is_multiple_of(SAMPLE) {
        test.outcomes.extend(subject.test(0, FORKED, Restart::Fork, None)?.outcomes);
        // As long executions are.
        test.outcomes.extend(subject.test(0, FORKED, Restart::Auto, Some(seed / SAMPLE % 8))?.outcomes);
    }
    let more_than_reference = !test.outcomes.is_subset(&reference.outcomes)
        || model != Model::C11 && !check.outcomes.is_subset(&reference.outcomes);
    if more_than_reference && reference.incomplete.is_none() && effort.sleep_sets {
        // What the sleep sets of the reference have left out is not held against others. They lose livelocks of c11,
        // where a loop waits for a store that another one has overwritten although it was executed later.
        let all = Effort { sleep_sets: false, enumerations: WITHOUT_SLEEP_SETS * effort.enumerations, ..*effort };
        reference = subject.enumerate(&all)?;
    }
    if reference.incomplete.is_none() && check.incomplete.as_deref().is_some_and(is_limit) {
        // The machine may have stood still, or been busy with others. Whoever does not end does not end with more time.
        check = subject.check(Method::Graph, 1, &Effort { time: MORE_TIME * effort.time, ..*effort })?;
    }
    let sources = sources(&check, &reference, &test);
    let found = |class: Class, about: Vec<String>| Disagreement { model, class, about, sources: sources.clone() };
    let mut disagreement = None;
    let mut claim = |class: Class, about: Vec<String>| {
        if !about.is_empty() && disagreement.is_none() {
            disagreement = Some(found(class, about));
        }
    };
    // Under c11 a program with a race may do anything; and whether there is one is the only question.
    let racy = |said: &Said| model == Model::C11 && said.outcomes.contains(RACE);
    let (expected, seen) = match racy(&check) || racy(&reference) || racy(&test) {
        true => (only_race(&reference.outcomes), only_race(&test.outcomes)),
        false => (reference.outcomes.clone(), test.outcomes.clone()),
    };
    let explored = if racy(&check) { only_race(&check.outcomes) } else { check.outcomes.clone() };
    if check.incomplete.is_none() {
        claim(Class::Missed, less(&expected, &explored));
        claim(Class::Tested, less(&seen, &explored));
    }
    if reference.incomplete.is_none() {
        // The machine of c11 reaches less than the axioms permit. Time is no choice to the reference; to `test` it is.
        let reaches_all = match model {
            Model::C11 => false,
            Model::Sc => true,
            Model::Tso | Model::Pso | Model::Pslo => !program.frees(),
        };
        if reaches_all && !program.is_timed() {
            claim(Class::Invented, less(&explored, &expected));
        }
        if !program.is_timed() {
            // Under c11 the order of two stores is open until somebody sees it. The reference goes on as long as a loop
            // may still read the other one, and so does not meet executions in which that never comes.
            let is_open = |outcome: &String| model == Model::C11 && outcome == LIVELOCK && explored.contains(LIVELOCK);
            claim(Class::Reference, less(&seen, &expected).into_iter().filter(|outcome| !is_open(outcome)).collect());
        }
        claim(Class::Endless, check.incomplete.iter().filter(|why| is_limit(why)).cloned().collect());
    }
    let many = check.executions + check.blocked > 1_500;
    if disagreement.is_none() && check.incomplete.is_none() && (many || seed.is_multiple_of(SAMPLE)) {
        let two = subject.check(Method::Graph, 2, effort)?;
        if two != check && two.incomplete.is_none() {
            let about = vec![format!("jobs 1: {}", words(&check)), format!("jobs 2: {}", words(&two))];
            disagreement = Some(found(Class::Jobs, about));
        }
    }
    let methods = matches!(model, Model::Sc | Model::Tso | Model::Pso) && (effort.thorough || seed % METHODS == 1);
    if disagreement.is_none() && check.incomplete.is_none() && methods {
        for method in [Method::Rf, Method::Causal] {
            let other = subject.check(method, 1, effort)?;
            // Stores that overlap others of another size are told apart by all of the bytes around them.
            let comparable = !program.overlaps();
            let agrees = other.outcomes == check.outcomes && (other.executions <= check.executions || !comparable);
            if !agrees && other.incomplete.is_none() {
                let about = vec![format!("graph: {}", words(&check)), format!("{}: {}", method.name(), words(&other))];
                disagreement = Some(found(Class::Methods, about));
                break;
            }
        }
    }
    // Accesses to parts of a word are told apart by all of it, also where no byte shows the difference.
    if disagreement.is_none() && seed % SAFETY == 2 && !program.overlaps() {
        disagreement = safety(subject, &check, effort)?;
    }
    if disagreement.is_none() && model == Model::C11 && !racy(&check) {
        disagreement = native(subject, &check, effort)?;
    }
    Ok(Comparison { disagreement, incomplete: check.incomplete, unfinished: reference.incomplete })
}

/// Does the machine itself do what it cannot do under c11 (where the program has no race), or under tso?
fn native(subject: Subject<'_>, check: &Said, effort: &Effort) -> io::Result<Option<Disagreement>> {
    let Some(native) = subject.unit.native.as_ref().filter(|_| check.incomplete.is_none()) else { return Ok(None) };
    let seen = native.run(subject.number)?;
    let tso = Subject { model: Model::Tso, ..subject }.check(Method::Graph, 1, effort)?;
    let wrong = [(Model::C11, check), (Model::Tso, &tso)].into_iter().find_map(|(model, said)| {
        let about = if said.incomplete.is_none() { less(&seen, &said.outcomes) } else { Vec::new() };
        (!about.is_empty()).then(|| (format!("check under {model}: {}", words(said)), about))
    });
    Ok(wrong.map(|(sources, about)| Disagreement { model: subject.model, class: Class::Native, about, sources }))
}

/// Is the program safe exactly if it has the same execution graphs under the model as under sc? All of those are graphs
/// of the model, so that their numbers tell. On one core and on two.
fn safety(subject: Subject<'_>, check: &Said, effort: &Effort) -> io::Result<Option<Disagreement>> {
    let model = subject.model;
    if model == Model::Sc || check.incomplete.is_some() {
        return Ok(None);
    }
    let sc = Subject { model: Model::Sc, ..subject }.check(Method::Graph, 1, effort)?;
    if sc.incomplete.is_some() {
        return Ok(None);
    }
    let graphs = |said: &Said| said.executions + said.blocked;
    let racy = model == Model::C11 && check.outcomes.contains(RACE);
    // When a round of a loop that waits is known for one depends on what its thread keeps in registers: there may be
    // one more of them under one model than under another, and more that is cut off.
    if !racy && sc.executions == check.executions && sc.blocked > 0 && check.blocked > 0 && sc.blocked != check.blocked
    {
        return Ok(None);
    }
    let leaves = racy || graphs(&sc) != graphs(check);
    let answers = [subject.leaves_sc(1, effort)?, subject.leaves_sc(2, effort)?];
    if answers.into_iter().flatten().all(|answer| answer == leaves) {
        return Ok(None);
    }
    let words = answers.map(|answer| match answer {
        Some(true) => "unsafe",
        Some(false) => "safe",
        None => "incomplete",
    });
    let about = vec![format!("{} graphs under sc, {} under {model}", graphs(&sc), graphs(check)), words.join(", ")];
    Ok(Some(Disagreement { model, class: Class::Safety, about, sources: String::new() }))
}

/// Was it a limit that stopped an exploration, and not something that it does not explore?
fn is_limit(why: &str) -> bool {
    why.contains("limit of time") || why.contains("cut off")
}

fn less(all: &Outcomes, known: &Outcomes) -> Vec<String> {
    all.difference(known).cloned().collect()
}

fn only_race(outcomes: &Outcomes) -> Outcomes {
    outcomes.iter().filter(|outcome| *outcome == RACE).cloned().collect()
}

fn words(said: &Said) -> String {
    let incomplete = said.incomplete.as_ref().map_or(String::new(), |why| format!(", incomplete: {why}"));
    let outcomes: Vec<&str> = said.outcomes.iter().map(String::as_str).collect();
    format!(
        "{} executions, {} blocked{incomplete}; {} outcomes: {}",
        said.executions,
        said.blocked,
        outcomes.len(),
        outcomes.join(" | ")
    )
}

fn sources(check: &Said, reference: &Said, test: &Said) -> String {
    format!("check:     {}\nreference: {}\ntest:      {}", words(check), words(reference), words(test))
}
