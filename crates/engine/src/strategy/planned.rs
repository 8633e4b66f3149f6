//! From the description of a strategy to the strategy.

use super::{Actor, Follow, OnSchedule, Orion, Pending, Random, Relaxer, Sampler, Strategy};
use fencepost_memory::Source;
use fencepost_trace::{Access, Coverage, EventId, Model, StrategySpec, ThreadId};

/// The strategy that a [`StrategySpec`] describes. Which one it is was decided before the execution, and each call is
/// passed on without a table of functions.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one of them for many executions, and most are samplers")]
pub enum Planned<'a> {
    /// Draws at random.
    Sampler(Sampler<'a>),
    /// Draws without any preference.
    Uniform(Random),
    /// Gives recorded answers.
    Follow(Follow),
    /// Follows a schedule.
    OnSchedule(OnSchedule),
    /// Brings a cycle about as Relaxer does.
    Relaxer(Relaxer),
    /// Brings a cycle about as Orion does.
    Orion(Orion),
}

impl<'a> Planned<'a> {
    /// For an execution under `model`. If answers are random, pairs of stores and loads are noted in `coverage`.
    /// `None` for an execution graph, which has no choices.
    pub fn new(model: Model, spec: StrategySpec, coverage: Option<&'a Coverage>) -> Option<Planned<'a>> {
        Some(match spec {
            StrategySpec::Random { seed, sampling } => Planned::Sampler(Sampler::new(model, seed, &sampling, coverage)),
            StrategySpec::Uniform { seed } => Planned::Uniform(Random::new(seed)),
            StrategySpec::Follow { choices } => Planned::Follow(Follow::new(choices)),
            StrategySpec::Schedule { seed, schedule } => Planned::OnSchedule(OnSchedule::new(schedule, seed)),
            StrategySpec::Relaxer { seed, points, options } => {
                Planned::Relaxer(Relaxer::new(points, options, model, seed))
            }
            StrategySpec::Orion { seed, stops, options } => Planned::Orion(Orion::new(stops, options, seed)),
            StrategySpec::Graph { .. } => return None,
        })
    }
}

/// Passes a call on.
macro_rules! each {
    ($planned:expr, $strategy:ident => $act:expr) => {
        match $planned {
            Planned::Sampler($strategy) => $act,
            Planned::Uniform($strategy) => $act,
            Planned::Follow($strategy) => $act,
            Planned::OnSchedule($strategy) => $act,
            Planned::Relaxer($strategy) => $act,
            Planned::Orion($strategy) => $act,
        }
    };
}

impl Strategy for Planned<'_> {
    #[inline]
    fn actor(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        each!(self, strategy => strategy.actor(actors, pending))
    }

    fn actor_or_time(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        each!(self, strategy => strategy.actor_or_time(actors, pending))
    }

    fn source(&mut self, thread: ThreadId, sources: &[Source]) -> usize {
        each!(self, strategy => strategy.source(thread, sources))
    }

    #[inline]
    fn wants_newest(&self) -> bool {
        each!(self, strategy => strategy.wants_newest())
    }

    #[inline]
    fn source_of(
        &mut self,
        thread: ThreadId,
        access: &Access,
        label: u32,
        sources: &[Source],
        origin: &dyn Fn(EventId) -> (ThreadId, u32),
    ) -> usize {
        each!(self, strategy => strategy.source_of(thread, access, label, sources, origin))
    }

    #[inline]
    fn has_read(&mut self, thread: ThreadId, label: u32, origin: &dyn Fn() -> (ThreadId, u32)) {
        each!(self, strategy => strategy.has_read(thread, label, origin));
    }

    fn variant(&mut self, thread: ThreadId, ways: u32) -> u32 {
        each!(self, strategy => strategy.variant(thread, ways))
    }
}
