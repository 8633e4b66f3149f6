//! How threads begin that are created one after the other.
//!
//! Whoever is created first is ahead of the others more often than not, so that a bug which needs it to be late is seen
//! rarely. Some executions therefore have all of them created and started before any goes on, and in some of these the
//! oldest or the newest go first for a while, or all go in turns, so that they meet at what they do first.

use super::{Actor, Draw, Pending, What};
use fencepost_trace::{Beginning, Hidden, ThreadId};

/// A thread that has come back to the same place so often waits, and does not go first.
const WAITS: u32 = 3;

/// What is left to do of a beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    beginning: Beginning,
    /// For so many steps an order holds.
    ordered: u32,
    /// Who went last while it held.
    last: Option<ThreadId>,
}

impl Start {
    /// With an order, if there is one, that holds for so many steps.
    pub fn new(beginning: Beginning, ordered: u32) -> Start {
        let ordered = match beginning {
            Beginning::Oldest | Beginning::Newest | Beginning::Turns => ordered,
            Beginning::Free | Beginning::Together => 0,
        };
        Start { beginning, ordered, last: None }
    }

    /// Who goes next, if that is a matter of beginning.
    #[inline]
    pub fn pick(&mut self, draw: &mut Draw, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        if self.beginning == Beginning::Free {
            return None;
        }
        if let Some(starts) = actors.iter().position(|actor| is_start(&pending(actor).what)) {
            return Some(starts);
        }
        if self.ordered == 0 {
            return None;
        }
        let first = self.first(draw, actors)?;
        // Who gives way wants others to go, in whatever order.
        let yields = matches!(pending(&actors[first]).what, What::Yield);
        self.ordered = if yields { 0 } else { self.ordered - 1 };
        Some(first)
    }

    /// Who goes next of those that do not wait, while an order holds.
    fn first(&mut self, draw: &mut Draw, actors: &[Actor]) -> Option<usize> {
        let offset = draw.random.below(actors.len());
        // From anywhere on, so that turns are not always the same.
        let all = (0..actors.len()).map(|i| (offset + i) % actors.len());
        let threads = all.filter_map(|at| match actors[at] {
            Actor::Thread(thread) if draw.waiting.returns(thread) < WAITS => Some((thread, at)),
            Actor::Thread(_) | Actor::Buffer(_) => None,
        });
        let (thread, at) = match self.beginning {
            Beginning::Oldest => threads.min(),
            Beginning::Newest => threads.max(),
            Beginning::Free | Beginning::Together | Beginning::Turns => {
                let last = self.last;
                threads.min_by_key(|(thread, _)| Some(*thread) == last)
            }
        }?;
        self.last = Some(thread);
        Some(at)
    }
}

/// Is a thread about to create another one, or to start?
fn is_start(what: &What) -> bool {
    match what {
        What::Access(access) => {
            access.location().and_then(|at| at.as_hidden()).is_some_and(|(kind, _)| kind == Hidden::ThreadStart)
        }
        What::Yield | What::Quit | What::Commit(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{X, Y, Z, draw, load};
    use super::*;
    use crate::strategy::Drains;
    use fencepost_trace::Location;

    /// Who goes next of three threads, at each of so many steps; the second is about to start, once.
    fn picks(beginning: Beginning, steps: usize, draw: &mut Draw) -> Vec<Option<usize>> {
        let mut start = Start::new(beginning, 16);
        let actors = [0, 1, 2].map(|thread| Actor::Thread(ThreadId(thread)));
        let hidden = Location::hidden(Hidden::ThreadStart, 1);
        (0..steps)
            .map(|step| {
                let pending = |actor: &Actor| {
                    let what = match actor {
                        Actor::Thread(ThreadId(1)) if step == 0 => load(hidden),
                        Actor::Thread(ThreadId(0)) => load(X),
                        Actor::Thread(ThreadId(1)) => load(Y),
                        Actor::Thread(_) | Actor::Buffer(_) => load(Z),
                    };
                    Pending { what, label: 0, local: false, drains: Drains::Perhaps }
                };
                start.pick(draw, &actors, &pending)
            })
            .collect()
    }

    #[test]
    fn who_starts_goes_first_and_then_the_oldest_or_the_newest() {
        let of = |beginning| picks(beginning, 4, &mut draw(1, 0));
        assert_eq!(of(Beginning::Free), [None; 4]);
        assert_eq!(of(Beginning::Together), [Some(1), None, None, None]);
        assert_eq!(of(Beginning::Oldest), [Some(1), Some(0), Some(0), Some(0)]);
        assert_eq!(of(Beginning::Newest), [Some(1), Some(2), Some(2), Some(2)]);
    }

    #[test]
    fn an_order_holds_for_some_steps_only() {
        let picks = picks(Beginning::Newest, 30, &mut draw(1, 0));
        assert_eq!(picks.iter().filter(|pick| **pick == Some(2)).count(), 16);
        assert_eq!(picks.last(), Some(&None));
    }

    #[test]
    fn who_waits_in_a_loop_does_not_go_first() {
        let mut draw = draw(1, 0);
        (0..=WAITS).for_each(|_| _ = draw.waiting.visit(ThreadId(2), 0, Z.address, false));
        assert_eq!(picks(Beginning::Newest, 2, &mut draw), [Some(1), Some(1)]);
    }

    #[test]
    fn in_turns_nobody_goes_twice_in_a_row() {
        let picks: Vec<Option<usize>> = picks(Beginning::Turns, 17, &mut draw(1, 0)).split_off(1);
        assert!(picks.iter().all(Option::is_some) && picks.windows(2).all(|pair| pair[0] != pair[1]), "{picks:?}");
        // 16 of three: one of them is missed once in 10^4, and the seed is fixed.
        assert!((0..3).all(|thread| picks.contains(&Some(thread))));
    }

    #[test]
    fn an_order_ends_where_somebody_gives_way() {
        let mut draw = draw(1, 0);
        let mut start = Start::new(Beginning::Oldest, 16);
        let actors = [0, 1].map(|thread| Actor::Thread(ThreadId(thread)));
        let yields = |_: &Actor| Pending { what: What::Yield, label: 0, local: false, drains: Drains::Perhaps };
        assert_eq!(start.pick(&mut draw, &actors, &yields), Some(0));
        assert_eq!(start.pick(&mut draw, &actors, &yields), None);
    }
}
