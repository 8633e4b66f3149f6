//! Exhaustive exploration over execution graphs: every consistent graph exactly once.
//!
//! The algorithm is TruSt (Kokologiannakis, Marmanis, Gladstein, Vafeiadis: Truly Stateless, Optimal
//! Dynamic Partial Order Reduction, POPL 2022). The only state is one graph and a list of alternatives still to be tried:
//!
//! - *Forward*: the program runs, thread by thread. A new read first reads the coherence-last write, and every other
//!   consistent write is noted as an alternative. A new write goes last in coherence order, and every other
//!   consistent position is noted.
//! - *Backward*: a new write may be read by an earlier read that does not precede it. Everything added after that read
//!   and not before the write is deleted, the read reads the write, and the program goes on, *but only if* what is deleted
//!   had been added *maximally*: each read read the last write, each write was last, nothing was the result
//!   of such a step itself. So of all graphs that could lead to the same place only one does.
//!
//! To apply an alternative the graph is cut and the program runs again, each read being fed what its source wrote. So
//! any deterministic [`Threads`](fencepost_engine::Threads) will do, and a subtree of the exploration is a plain value: a
//! graph and an alternative ([`Task`]), which another worker can take.
//!
//! Choices of ours where the paper is silent:
//!
//! - The next thread is the one with the lowest number that can go on. A half-done RMW is completed first.
//! - A guarded access ("lock: once it reads 0") may read a value that its guard does not let through. Its thread then waits for ever
//!   in this graph; a later write revisits it. Such graphs are counted as blocked, not as executions. If the last
//!   write does not let it through either, it is a deadlock.
//! - Joining a thread is not a choice, so that it is no such read: it happens when the thread has ended.
//! - A thread that goes around a loop without effect (see [`digest`](fencepost_engine::Threads::digest)) is stopped
//!   there: whatever its next round could read, its first one can, and the execution in which it does is explored as an
//!   alternative. So loops that wait are explored as if they waited for a value, and end.
//! - Accesses that overlap another of different extent make all of these bytes one cell; see `cells`.

mod cells;
mod error;
mod event;
mod explorer;
mod extend;
mod maximal;
mod parallel;
mod replay;
mod rounds;
mod trace;
mod visitor;
mod walk;

pub use error::ExploreError;
pub use explorer::{Explorer, Options, Races, Task};
pub use parallel::explore_parallel;
pub use replay::replay_steps;
pub use trace::{steps_of, steps_to_end, trace_of};
pub use visitor::{End, Flow, Stuck, Visitor};
