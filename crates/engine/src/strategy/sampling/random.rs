//! random: everybody equally likely, at every step.
//!
//! As in C11Tester (Luo, Demsky: C11Tester: A Race Detector for C/C++ Atomics, ASPLOS 2021), under c11 a thread that
//! has made a relaxed or release store goes on as long as more of them follow: nobody can tell the difference, and
//! loads have more to choose from.

use super::{Draw, Scheduling};
use crate::strategy::{Actor, Pending, Random, What};
use fencepost_trace::{Access, Model, Sampling, StoreOrder, ThreadId};

/// A thread that has come back so often keeps no buffer from making its stores visible.
const WAITS: u32 = 3;

/// Picks anybody.
#[derive(Clone, Debug, Default)]
pub(super) struct RandomScheduler {
    /// Who made a store that others need not be asked after, in the last step.
    storing: Option<ThreadId>,
}

impl RandomScheduler {
    fn next_store(&self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        let thread = self.storing?;
        let same = actors.iter().position(|actor| *actor == Actor::Thread(thread))?;
        is_quiet_store(&pending(&actors[same]).what).then_some(same)
    }
}

impl Scheduling for RandomScheduler {
    fn begin(&mut self, _: &Sampling, _: &mut Random) {
        self.storing = None;
    }

    fn pick(&mut self, draw: &mut Draw, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> usize {
        if let Some(same) = self.next_store(actors, pending) {
            return same;
        }
        // Threads come before buffers.
        if matches!(actors.last(), Some(Actor::Buffer(_))) && draw.chance(draw.bias.kept()) {
            let threads = actors.iter().take_while(|actor| matches!(actor, Actor::Thread(_))).count();
            if threads > 0 {
                let choice = draw.random.below(threads);
                if let Actor::Thread(thread) = actors[choice]
                    && draw.waiting.returns(thread) < WAITS
                {
                    return choice;
                }
            }
        }
        draw.random.below(actors.len())
    }

    fn goes(&mut self, draw: &mut Draw, thread: ThreadId, what: &What) {
        self.storing = (draw.model == Model::C11 && is_quiet_store(what)).then_some(thread);
    }

    fn commits(&mut self, _: &mut Draw, _: &What) {
        self.storing = None;
    }
}

#[inline]
fn is_quiet_store(what: &What) -> bool {
    matches!(what, What::Access(Access::Store { order: StoreOrder::Relaxed | StoreOrder::Release, .. }))
}
