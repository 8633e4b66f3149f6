//! Actors and what they are about to do, for the tests of the schedulers.

use super::read_bias::ReadBias;
use super::{Draw, Scheduling};
use crate::strategy::waiting::WaitingLoops;
use crate::strategy::{Actor, Drains, Pending, Random, What};
use fencepost_memory::Commit;
use fencepost_trace::{
    Access, EventId, Guard, LoadOrder, Location, Model, Sampling, Scheduler, Size, StoreOrder, ThreadId,
};

pub(super) const X: Location = Location { address: 0x100, size: Size::B4 };
pub(super) const Y: Location = Location { address: 0x200, size: Size::B4 };
pub(super) const Z: Location = Location { address: 0x300, size: Size::B4 };

pub(super) fn load(at: Location) -> What {
    What::Access(Access::Load { at, order: LoadOrder::Relaxed, guard: Guard::Any })
}

pub(super) fn store(at: Location) -> What {
    What::Access(Access::Store { at, order: StoreOrder::Relaxed, value: fencepost_trace::Value(1) })
}

pub(super) fn buffer(thread: u32, store: u32) -> Actor {
    Actor::Buffer(Commit { thread: ThreadId(thread), store: EventId(store) })
}

/// What a scheduler may draw from, in an execution with this much that is old.
pub(super) fn draw(seed: u64, stale: u32) -> Draw {
    let (mut random, mut bias) = (Random::new(seed), ReadBias::new());
    let salt = random.bits();
    bias.begin(&Sampling { stale: Some(stale), ..Sampling::default() }, &mut random);
    Draw { random, salt, model: Model::C11, step: 0, bias, waiting: WaitingLoops::default() }
}

/// A scheduler at the beginning of an execution.
pub(super) fn begun<S: Scheduling + Default>(draw: &mut Draw, depth: u32, length: u64) -> S {
    let mut scheduler = S::default();
    let sampling = Sampling { depth, length, ..Sampling::with(Scheduler::Mix) };
    scheduler.begin(&sampling, &mut draw.random);
    scheduler
}

/// Actors, each with what it is about to do.
pub(super) struct Scene(pub Vec<(Actor, What)>);

impl Scene {
    /// Threads from 0 on.
    pub fn of(threads: &[What]) -> Scene {
        Scene((0..).map(|t| Actor::Thread(ThreadId(t))).zip(threads.iter().copied()).collect())
    }

    pub fn with(mut self, actor: Actor, what: What) -> Scene {
        self.0.push((actor, what));
        self
    }

    /// Whom the scheduler picks. It is told, unless that is a thread for whom something else has to be decided first.
    pub fn pick(&self, scheduler: &mut impl Scheduling, draw: &mut Draw) -> usize {
        draw.step += 1;
        let actors: Vec<Actor> = self.0.iter().map(|(actor, _)| *actor).collect();
        let pending = |actor: &Actor| {
            let (_, what) = self.0.iter().find(|(known, _)| known == actor).expect("it is there");
            Pending { what: *what, label: 0, local: false, drains: Drains::Perhaps }
        };
        let picked = scheduler.pick(draw, &actors, &pending);
        match self.0[picked] {
            (Actor::Thread(thread), what) => scheduler.goes(draw, thread, &what),
            (Actor::Buffer(_), what) => scheduler.commits(draw, || what),
        }
        picked
    }
}
