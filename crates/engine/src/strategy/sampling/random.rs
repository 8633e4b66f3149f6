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

    fn commits(&mut self, _: &mut Draw, _: impl FnOnce() -> What) {
        self.storing = None;
    }
}

#[inline]
fn is_quiet_store(what: &What) -> bool {
    matches!(what, What::Access(Access::Store { order: StoreOrder::Relaxed | StoreOrder::Release, .. }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Scene, X, Y, Z, begun, buffer, draw, load, store};
    use super::*;

    #[test]
    fn everybody_is_equally_likely() {
        let mut draw = draw(1, 0);
        let mut random: RandomScheduler = begun(&mut draw, 3, 0);
        let scene = Scene::of(&[load(X), load(Y), load(Z)]);
        let mut counts = [0; 3];
        (0..3000).for_each(|_| counts[scene.pick(&mut random, &mut draw)] += 1);
        // 1000 each on average with a standard deviation of 26: 850 is missed once in 10^8.
        assert!(counts.iter().all(|n| *n > 850), "{counts:?}");
    }

    #[test]
    fn stores_in_a_row_stay_together_under_c11_alone() {
        let alone = |model: Model| {
            let mut draw = draw(5, 0);
            draw.model = model;
            let mut random: RandomScheduler = begun(&mut draw, 3, 0);
            let scene = Scene::of(&[store(X), load(Y)]);
            let picks: Vec<usize> = (0..100).map(|_| scene.pick(&mut random, &mut draw)).collect();
            // As soon as the thread that stores has gone, it goes on.
            picks.iter().skip_while(|pick| **pick != 0).all(|pick| *pick == 0)
        };
        assert!(alone(Model::C11));
        assert!(!alone(Model::Tso), "by chance once in 2^90");
    }

    #[test]
    fn where_everything_stays_old_buffers_wait_for_threads() {
        let scene = Scene::of(&[load(X)]).with(buffer(1, 9), What::Commit(X));
        let commits = |stale: u32| {
            let mut draw = draw(2, stale);
            let mut random: RandomScheduler = begun(&mut draw, 3, 0);
            (0..1000).filter(|_| scene.pick(&mut random, &mut draw) == 1).count()
        };
        assert_eq!(commits(100), 0);
        // 500 with a standard deviation of 16.
        assert!((400..600).contains(&commits(0)));
    }

    #[test]
    fn who_waits_in_a_loop_keeps_no_buffer_from_its_commit() {
        let mut draw = draw(2, 100);
        let mut random: RandomScheduler = begun(&mut draw, 3, 0);
        let scene = Scene::of(&[load(X)]).with(buffer(1, 9), What::Commit(X));
        let returns = (0..=WAITS).map(|_| draw.waiting.visit(ThreadId(0), 0, X.address, false)).last();
        assert_eq!(returns, Some(WAITS));
        assert!((0..100).any(|_| scene.pick(&mut random, &mut draw) == 1), "by chance once in 2^100");
    }
}
