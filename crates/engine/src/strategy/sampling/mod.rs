//! Answers drawn at random.
//!
//! Two things are drawn: who goes next, by one of several schedulers (a file each), and what a load reads
//! ([`read_bias`]). A strategy is a seed and a [`Sampling`], and nothing else: what earlier executions have shown may
//! decide the sampling of the next, never a choice inside it, so that the two give the same execution whenever they
//! are given again. Seeds stay: a scheduler draws from the generator in the same order in every version.
//!
//! What the schedulers share:
//!
//! - *Phases.* A long execution should not be all of one kind, nor a thread stay behind for good: after a phase of
//!   some steps the bias of loads and the priorities of pct are drawn anew. How long a phase is differs between
//!   executions too, because other bugs need that somebody is kept back for long.
//! - *Beginnings.* Threads that are created one after the other start together in every third execution: otherwise the
//!   first would be ahead more often than not. (Not with `random`, which is to be C11Tester's.) A sampling may say
//!   otherwise ([`start`]).
//! - *Time* that passes although somebody could go on ([`haste`]).
//! - *Waiting.* A thread that waits in a loop ([`waiting`](super::waiting)) goes behind all others ([`fairness`]), and
//!   soon reads what is newest. So priorities starve nobody.

mod fairness;
mod haste;
mod operation;
mod pct;
mod pos;
mod priority;
mod random;
mod read_bias;
mod rendezvous;
mod start;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use super::waiting::WaitingLoops;
use super::{Actor, Pending, Random, Strategy, What};
use fairness::Fairness;
use fencepost_memory::Source;
use fencepost_trace::{Access, Beginning, Coverage, EventId, Model, Pair, Sampling, Scheduler, ThreadId, scramble};
use haste::Haste;
use operation::Operation;
use read_bias::ReadBias;
use start::Start;

/// The shortest phase, in steps; there are seven other lengths, each twice as long as the one before.
const PHASE: u64 = 64;

/// What every scheduler may draw from and look at.
#[derive(Clone, Debug)]
struct Draw {
    random: Random,
    /// A number of this execution alone, for what has to be the same whenever it is asked.
    salt: u64,
    model: Model,
    /// The number of the step that is being decided, from 1.
    step: u64,
    bias: ReadBias,
    waiting: WaitingLoops,
}

impl Draw {
    #[inline]
    fn chance(&mut self, percent: u32) -> bool {
        self.random.chance(percent)
    }
}

/// Who goes next.
///
/// In every step [`pick`](Self::pick) is asked if there are several actors, and then the one that goes is told. A
/// scheduler keeps its own memory of threads; [`Draw`] is what it shares with the others.
trait Scheduling {
    /// A new execution, in which choices are drawn like this.
    fn begin(&mut self, sampling: &Sampling, random: &mut Random);

    /// The number of the actor that goes next. Threads come before buffers.
    fn pick(&mut self, draw: &mut Draw, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> usize;

    /// `thread` does this now.
    #[inline]
    fn goes(&mut self, draw: &mut Draw, thread: ThreadId, what: &What) {
        let _ = (draw, thread, what);
    }

    /// A buffered store becomes visible now; `what` tells which.
    #[inline]
    fn commits(&mut self, draw: &mut Draw, what: impl FnOnce() -> What) {
        let _ = (draw, what);
    }

    /// `thread` has gone and seems to wait in a loop: it is to go behind all others. Priorities for that fall from one
    /// time to the next.
    #[inline]
    fn move_behind(&mut self, thread: ThreadId, priority: u64) {
        let _ = (thread, priority);
    }

    /// What holds for long in an execution is to be decided again.
    #[inline]
    fn begin_phase(&mut self) {}
}

/// One of each scheduler, so that none has to be allocated anew where executions take turns with them, and which of
/// them it is.
macro_rules! schedulers {
    ($($name:ident $field:ident: $type:ty),* $(,)?) => {
        #[derive(Clone, Debug, Default)]
        struct Schedulers {
            now: Scheduler,
            $($field: $type,)*
        }

        /// With the scheduler of this execution, whose type is known in each branch.
        macro_rules! with_scheduler {
            ($schedulers:expr, $scheduler:ident => $act:expr) => {
                match $schedulers.now {
                    Scheduler::Mix => unreachable!("internal error: a mix is decided before an execution"),
                    $(Scheduler::$name => {
                        let $scheduler = &mut $schedulers.$field;
                        $act
                    })*
                }
            };
        }
    };
}

schedulers! {
    Random random: random::RandomScheduler,
    Pct pct: pct::Pct,
    Pos pos: pos::Pos,
    Rendezvous rendezvous: rendezvous::Rendezvous,
}

/// Answers from a seed, as a [`Sampling`] says.
#[derive(Clone, Debug)]
pub struct Sampler<'a> {
    draw: Draw,
    schedulers: Schedulers,
    fairness: Fairness,
    haste: Haste,
    start: Start,
    /// How long a phase is, in steps, and the step that begins the next one.
    phase: u64,
    next_phase: u64,
    goal: Option<Pair>,
    coverage: Option<&'a Coverage>,
}

impl<'a> Sampler<'a> {
    /// For an execution under `model`. Pairs of stores and loads are noted in `coverage`.
    pub fn new(model: Model, seed: u64, sampling: &Sampling, coverage: Option<&'a Coverage>) -> Self {
        let (random, bias, waiting) = (Random::new(seed), ReadBias::new(), WaitingLoops::default());
        let mut sampler = Sampler {
            draw: Draw { random, salt: 0, model, step: 0, bias, waiting },
            schedulers: Schedulers::default(),
            fairness: Fairness::new(false),
            haste: Haste::default(),
            start: Start::new(Beginning::Free, 0),
            phase: 0,
            next_phase: 0,
            goal: None,
            coverage,
        };
        sampler.begin(seed, sampling);
        sampler
    }

    /// Starts over for another execution, keeping allocations.
    pub fn begin(&mut self, seed: u64, sampling: &Sampling) {
        // A mix that nobody has decided is decided here.
        let scheduler = sampling.of_execution(seed).scheduler;
        let Draw { random, salt, step, bias, waiting, .. } = &mut self.draw;
        *random = Random::new(seed);
        *salt = random.bits();
        *step = 0;
        waiting.clear();
        self.goal = sampling.goal;
        let together = scheduler != Scheduler::Random && random.below(3) == 0;
        bias.begin(sampling, random);
        self.phase = PHASE << random.below(8);
        self.next_phase = self.phase;
        self.fairness = Fairness::new(scheduler == Scheduler::Pct && pct::Pct::is_without_yield(*salt));
        self.haste = Haste::of(scramble(*salt ^ seed.rotate_left(32)));
        self.schedulers.now = scheduler;
        with_scheduler!(self.schedulers, scheduler => scheduler.begin(sampling, random));
        let usual = if together { Beginning::Together } else { Beginning::Free };
        let beginning = sampling.beginning.unwrap_or(usual);
        self.start = Start::new(beginning, sampling.ordered);
        if let Some(coverage) = self.coverage {
            coverage.drawn(scheduler, bias.reads(), beginning);
        }
    }

    #[cold]
    fn begin_phase(&mut self) {
        self.next_phase += self.phase;
        self.draw.bias.draw(&mut self.draw.random);
        with_scheduler!(self.schedulers, scheduler => scheduler.begin_phase());
    }

    #[inline]
    fn pick(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> usize {
        if actors.len() == 1 {
            return 0;
        }
        if let Some(first) = self.start.pick(&mut self.draw, actors, pending) {
            return first;
        }
        with_scheduler!(self.schedulers, scheduler => scheduler.pick(&mut self.draw, actors, pending))
    }

    /// The thread goes: keeps track of it.
    #[inline]
    fn goes(&mut self, thread: ThreadId, next: &Pending) {
        let Operation { place, writes } = Operation::of(&next.what);
        let returns = self.draw.waiting.visit(thread, next.label, place, writes);
        let behind = self.fairness.goes(thread, matches!(next.what, What::Yield), returns);
        with_scheduler!(self.schedulers, scheduler => {
            scheduler.goes(&mut self.draw, thread, &next.what);
            if let Some(priority) = behind {
                scheduler.move_behind(thread, priority);
            }
        });
    }
}

impl Strategy for Sampler<'_> {
    #[inline]
    fn actor(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        self.draw.step += 1;
        if self.draw.step == self.next_phase {
            self.begin_phase();
        }
        let choice = self.pick(actors, pending);
        let next = || pending(&actors[choice]);
        match actors[choice] {
            Actor::Thread(thread) => self.goes(thread, &next()),
            Actor::Buffer(_) => {
                with_scheduler!(self.schedulers, scheduler => scheduler.commits(&mut self.draw, || next().what));
            }
        }
        Some(choice)
    }

    fn actor_or_time(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        if self.haste.passes(&mut self.draw.random) {
            return Some(actors.len());
        }
        self.actor(actors, pending)
    }

    fn source(&mut self, _: ThreadId, sources: &[Source]) -> usize {
        self.draw.random.below(sources.len())
    }

    fn source_of(
        &mut self,
        thread: ThreadId,
        access: &Access,
        label: u32,
        sources: &[Source],
        origin: &dyn Fn(EventId) -> (ThreadId, u32),
    ) -> usize {
        let pair = |source: &Source| {
            let (writer, store) = origin(source.event);
            Pair { store, load: label, own: writer == thread }
        };
        if let Some(coverage) = self.coverage {
            sources.iter().for_each(|source| coverage.offered(pair(source)));
        }
        if let Some(goal) = self.goal
            && goal.load == label
            && let Some(wished) = sources.iter().position(|source| pair(source) == goal)
        {
            self.goal = None;
            return wished;
        }
        let Draw { random, bias, waiting, .. } = &mut self.draw;
        match access {
            Access::Load { .. } => bias.choose(random, thread, waiting.returns(thread), sources.len()),
            _ => random.below(sources.len()),
        }
    }

    fn has_read(&mut self, thread: ThreadId, label: u32, origin: &dyn Fn() -> (ThreadId, u32)) {
        if let Some(coverage) = self.coverage {
            let (writer, store) = origin();
            coverage.seen(Pair { store, load: label, own: writer == thread });
        }
    }

    fn variant(&mut self, _: ThreadId, ways: u32) -> u32 {
        self.draw.random.below(ways as usize) as u32
    }
}
