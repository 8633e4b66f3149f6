//! The smallest execution that shows the same.
//!
//! What chance finds is long and arbitrary. [`minimise`] leaves parts of it out, runs what is left, and keeps it if it
//! still shows what it should: first many parts at once, then fewer, down to single ones (delta debugging), over the
//! reads that do not read the newest store, the stores that leave their buffers late, and the turns of threads. Turns
//! of one thread are then put together where that works, and shortened. All of it is repeated until nothing gets
//! smaller, or a number of executions is used up.
//!
//! Nothing depends on time or chance: the same execution becomes the same smaller one. The result is small, not the
//! smallest of all: each part was tried alone and together with its neighbours, not with every other.

use crate::execute::{Executed, execute_by};
use fencepost_engine::{Script, Scripted, Threads, Turn};
use fencepost_trace::{Limits, Plan};
use rustc_hash::FxHashSet;

/// An execution that shows what it should.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// What was done, up to where it shows.
    pub script: Script,
    /// How many operations there were by then.
    pub operations: u64,
    /// The answers of the whole execution.
    pub choices: Vec<u32>,
}

/// What came of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tried {
    /// It was run, in so many steps; with what it is, if it shows what it should.
    Ran {
        /// How many steps it took.
        steps: u64,
        /// The execution, if it is one to be shown.
        shows: Option<Attempt>,
    },
    /// There is no time for it, nor for others.
    NoTime,
}

/// How much may be tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// How many executions.
    pub executions: u64,
    /// How many steps they may take together.
    pub steps: u64,
}

/// Why no more was tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Nothing gets smaller.
    Settled,
    /// The effort was used up.
    Effort,
    /// There was no time.
    Time,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Minimised {
    /// The smallest.
    pub best: Attempt,
    /// How many executions it took.
    pub executions: u64,
    /// Why no more were tried.
    pub ended: Ended,
}

/// Of two executions, the one with less in it to understand is the smaller one: fewer switches and oddities together;
/// then fewer oddities, so that what needs no stale read is shown without; then fewer operations.
fn size(attempt: &Attempt) -> (u32, u32, u64) {
    let (switches, oddities) = (attempt.script.switches(), attempt.script.oddities());
    (switches + oddities, oddities, attempt.operations)
}

/// Looks for a smaller execution than the first; `run` runs a script. The result never has more operations.
pub fn minimise(first: Attempt, effort: Effort, run: impl FnMut(&Script) -> Tried) -> Minimised {
    let most = first.operations;
    let (left, ended) = (effort, Ended::Settled);
    let mut search = Search { best: first, most, left, known: FxHashSet::default(), executions: 0, ended, run };
    search.attempt(Script::default());
    loop {
        let before = size(&search.best);
        search.leave_out(Part::Reads);
        search.leave_out(Part::Results);
        search.leave_out(Part::Late);
        search.leave_out(Part::Turns);
        search.put_together();
        search.shorten();
        if search.ended != Ended::Settled || size(&search.best) == before {
            return Minimised { best: search.best, executions: search.executions, ended: search.ended };
        }
    }
}

/// The lists of a script.
#[derive(Clone, Copy)]
enum Part {
    Reads,
    Results,
    /// Turns of stores, and of time.
    Late,
    /// All turns.
    Turns,
}

impl Part {
    /// How many there are.
    fn count(self, script: &Script) -> usize {
        match self {
            Part::Reads => script.reads.len(),
            Part::Results => script.results.len(),
            Part::Late => script.turns.iter().filter(|turn| is_late(turn)).count(),
            Part::Turns => script.turns.len(),
        }
    }

    /// The same script without these.
    fn without(self, script: &Script, range: std::ops::Range<usize>) -> Script {
        let mut script = script.clone();
        match self {
            Part::Reads => drop(script.reads.drain(range)),
            Part::Results => drop(script.results.drain(range)),
            Part::Turns => drop(script.turns.drain(range)),
            Part::Late => {
                let mut late = 0;
                script.turns.retain(|turn| {
                    let gone = is_late(turn) && range.contains(&late);
                    late += usize::from(is_late(turn));
                    !gone
                });
            }
        }
        script
    }
}

fn is_late(turn: &Turn) -> bool {
    !matches!(turn, Turn::Thread { .. })
}

struct Search<R> {
    best: Attempt,
    /// How many operations there may be.
    most: u64,
    left: Effort,
    /// What was tried before.
    known: FxHashSet<Script>,
    executions: u64,
    ended: Ended,
    run: R,
}

impl<R: FnMut(&Script) -> Tried> Search<R> {
    /// Runs a script. Is it the smallest now?
    fn attempt(&mut self, script: Script) -> bool {
        if self.ended != Ended::Settled || script == self.best.script || !self.known.insert(script.clone()) {
            return false;
        }
        if self.left.executions == 0 || self.left.steps == 0 {
            self.ended = Ended::Effort;
            return false;
        }
        let (steps, shows) = match (self.run)(&script) {
            Tried::Ran { steps, shows } => (steps, shows),
            Tried::NoTime => {
                self.ended = Ended::Time;
                return false;
            }
        };
        self.executions += 1;
        self.left.executions -= 1;
        self.left.steps = self.left.steps.saturating_sub(steps);
        match shows.filter(|new| new.operations <= self.most && size(new) < size(&self.best)) {
            Some(new) => {
                self.best = new;
                true
            }
            None => false,
        }
    }

    /// Leaves out all, then halves, quarters and so on down to single ones, the last first.
    fn leave_out(&mut self, part: Part) {
        let mut piece = part.count(&self.best.script);
        while piece > 0 && self.ended == Ended::Settled {
            let mut end = part.count(&self.best.script);
            while end > 0 {
                let start = end.saturating_sub(piece);
                self.attempt(part.without(&self.best.script, start..end));
                end = start.min(part.count(&self.best.script));
            }
            piece /= 2;
        }
    }

    /// Puts a thread's next turn right behind one of its turns; or lets it go on as long as it can.
    fn put_together(&mut self) {
        let mut i = 0;
        while i < self.best.script.turns.len() && self.ended == Ended::Settled {
            let turns = &self.best.script.turns;
            let Turn::Thread { thread, .. } = turns[i] else {
                i += 1;
                continue;
            };
            let own = |turn: &Turn| matches!(turn, Turn::Thread { thread: other, .. } if *other == thread);
            let mut together = self.best.script.clone();
            if let Some(next) = (i + 1..turns.len()).find(|at| own(&turns[*at])) {
                together.turns[i] = together.turns.remove(next);
            }
            let mut alone = self.best.script.clone();
            let mut at = 0;
            alone.turns.retain(|turn| {
                at += 1;
                at <= i + 1 || !own(turn)
            });
            alone.turns[i] = Turn::Thread { thread, until: u32::MAX };
            if !self.attempt(together) && !self.attempt(alone) {
                i += 1;
            }
        }
    }

    /// Lets threads take fewer steps in their turns.
    fn shorten(&mut self) {
        let mut i = self.best.script.turns.len();
        while i > 0 && self.ended == Ended::Settled {
            i -= 1;
            let mut less = u32::MAX;
            while let Some(Turn::Thread { thread, until }) = self.best.script.turns.get(i).copied() {
                let before = self.best.script.turns[..i].iter().rev().find_map(|turn| match turn {
                    Turn::Thread { thread: other, until } if *other == thread => Some(*until),
                    _ => None,
                });
                less = less.min(until.saturating_sub(before.unwrap_or(0))) / 2;
                if less == 0 {
                    break;
                }
                let mut script = self.best.script.clone();
                script.turns[i] = Turn::Thread { thread, until: until - less };
                if self.attempt(script) {
                    less = u32::MAX;
                }
            }
        }
    }
}

/// Minimises an execution of a program whose threads the engine resumes. `plan` says under what, and `choices` which
/// execution; `shows` says whether one shows what it should, and in how many operations.
pub fn minimise_execution<T: Threads>(
    program: &mut T,
    plan: &Plan,
    choices: Vec<u32>,
    effort: Effort,
    mut shows: impl FnMut(&T, &Executed) -> Option<u64>,
) -> Option<Minimised> {
    let mut try_out = |scripted: Scripted, limits: Limits| {
        let mut scripted = scripted;
        let executed = execute_by(program, &Plan { limits, ..plan.clone() }, &mut scripted);
        let operations = shows(program, &executed);
        let choices = executed.trace.choices;
        let shows = operations.map(|operations| Attempt { script: scripted.done(), operations, choices });
        (executed.steps, shows)
    };
    let (steps, first) = try_out(Scripted::learning(choices), plan.limits);
    // What takes much longer is not smaller.
    let limits = Limits { max_steps: plan.limits.max_steps.min(longest(steps)) };
    Some(minimise(first?, effort, |script| {
        let (steps, shows) = try_out(Scripted::new(script.clone()), limits);
        Tried::Ran { steps, shows }
    }))
}

/// How many steps an attempt may take if the first took so many.
pub fn longest(steps: u64) -> u64 {
    steps.saturating_mul(2).saturating_add(1_000)
}
