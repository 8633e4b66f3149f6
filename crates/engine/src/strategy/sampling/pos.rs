//! pos: operations have priorities, and draw new ones when they meet a conflicting one.
//!
//! Yuan, Yang, Gu: Partial Order Aware Concurrency Sampling, CAV 2018. Every operation draws a priority when it is
//! asked for, and again whenever an operation is performed that conflicts with it. Deviations:
//!
//! 1. Waiting threads go behind all others.
//! 2. A commit of a buffered store is an operation as well. It has no memory of its own: its priority follows from the
//!    store and from how often its location was written, with several locations folded into one.

use super::operation::Operation;
use super::priority::{USUAL, drawn, of_buffer};
use super::{Draw, Scheduling};
use crate::strategy::per_thread::PerThread;
use crate::strategy::{Actor, Pending, Random, What};
use fencepost_trace::{Sampling, ThreadId, scramble};

/// A thread's next operation.
#[derive(Clone, Copy, Debug, Default)]
struct Next {
    /// 0 if it is not known yet.
    priority: u64,
    operation: Operation,
}

/// Picks the operation with the highest priority.
#[derive(Clone, Debug, Default)]
pub(super) struct Pos {
    next: PerThread<Next>,
    /// How often a location was written, folded: commits there draw again.
    salts: [u32; 16],
}

impl Pos {
    /// Whoever is about to do something that conflicts with what is done now draws again.
    fn performed(&mut self, draw: &mut Draw, operation: &Operation) {
        if operation.place != 0 && operation.writes {
            self.salts[fold(operation.place)] += 1;
        }
        for next in self.next.iter_mut() {
            if next.priority >= USUAL && operation.conflicts_with(&next.operation) {
                next.priority = drawn(USUAL, draw);
            }
        }
    }
}

impl Scheduling for Pos {
    fn begin(&mut self, _: &Sampling, _: &mut Random) {
        self.next.clear();
        self.salts = [0; 16];
    }

    fn pick(&mut self, draw: &mut Draw, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> usize {
        let (mut best, mut most) = (0, 0);
        for (i, actor) in actors.iter().enumerate() {
            let priority = match actor {
                Actor::Thread(thread) => {
                    let next = self.next.get(*thread);
                    if next.priority == 0 {
                        let operation = Operation::of(&pending(actor).what);
                        *next = Next { priority: drawn(USUAL, draw), operation };
                    }
                    next.priority
                }
                Actor::Buffer(commit) => {
                    let salt = self.salts[fold(Operation::of(&pending(actor).what).place)];
                    of_buffer(u64::from(commit.store.0) | u64::from(salt) << 32, draw)
                }
            };
            if priority > most {
                (best, most) = (i, priority);
            }
        }
        best
    }

    fn goes(&mut self, draw: &mut Draw, thread: ThreadId, what: &What) {
        // Its next operation draws anew.
        self.next.get(thread).priority = 0;
        self.performed(draw, &Operation::of(what));
    }

    fn commits(&mut self, draw: &mut Draw, what: &What) {
        self.performed(draw, &Operation::of(what));
    }

    fn move_behind(&mut self, thread: ThreadId, priority: u64) {
        *self.next.get(thread) = Next { priority, operation: Operation::default() };
    }
}

#[inline]
fn fold(place: u64) -> usize {
    (scramble(place) >> 60) as usize
}
