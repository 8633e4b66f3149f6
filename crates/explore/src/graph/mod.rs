//! Exhaustive exploration over execution graphs: every consistent graph exactly once.
//!
//! The algorithm is TruSt (Kokologiannakis, Marmanis, Gladstein, Vafeiadis: Truly Stateless, Optimal Dynamic Partial
//! Order Reduction, POPL 2022). The only state is one graph and a list of alternatives still to be tried:
//!
//! - *Forward*: the program runs, thread by thread. A new read first reads the coherence-last write, and every other
//!   consistent write is noted as an alternative. A new write goes last in coherence order, and every other
//!   consistent position is noted.
//! - *Backward*: a new write may be read by an earlier read that does not precede it. Everything added after that
//!   read and not before the write is deleted, the read reads the write, and the program goes on, *but only if* what
//!   is deleted had been added *maximally*: each read read the last write, each write was last, nothing was the
//!   result of such a step itself. So of all graphs that could lead to the same place only one does.
//!
//! To apply an alternative the graph is cut and the program runs again, each read being fed what its source wrote. So
//! any deterministic [`Threads`](fencepost_engine::Threads) will do, and a subtree of the exploration is a plain
//! value: a graph and an alternative ([`Task`]), which another worker can take.
//!
//! Choices of ours where the paper is silent:
//!
//! - The next thread is the one with the lowest number that can go on. A half-done RMW is completed first.
//! - A thread whose next access is guarded ("lock: once it reads 0") and would have to wait if it read the last write
//!   goes last: see below.
//! - Joining a thread is not a choice, so that it is no such read: it happens when the thread has ended.
//! - A thread that goes around a loop without effect is stopped there: whatever its next round could read, its first
//!   one can, and the execution in which it does is explored as an alternative. So loops that wait are explored as if
//!   they waited for a value, and end. What has no effect, and why nothing is lost, is said in `rounds`.
//! - The end of the process (`exit`, a failure) is the last step of the thread that ends it. No event depends on it,
//!   so that every consistent graph that the other threads can still build is one in which it comes last: they run
//!   on, and a graph in which several threads end the process is told of once for each of them ([`Visitor::ended`]).
//!   An execution in which the others were cut short is the beginning of one of these, and shows nothing that it does
//!   not show: what has failed or raced stays so.
//! - Accesses that overlap another of different extent make all of these bytes one cell; see `cells`.
//!
//! # Guarded accesses
//!
//! TruSt knows no access that waits. One way is to let a guarded read read what its guard refuses, and to leave its
//! thread there until a later write revisits it. That is complete, but most graphs then contain threads that are
//! stuck for no reason of the program's. Here a graph contains no refused read:
//!
//! 1. *Put off.* A guarded read that the coherence-last write does not let through is not added while anything else
//!    can be.
//! 2. *Give way.* A write `w` that revisits a guarded read `r` and is refused by its guard (it has taken the lock
//!    that `r` took) makes `r` a *wait*: an event that accesses and orders nothing and remembers `w`. The thread
//!    stays at its access, which is added again when it is let through (by 1).
//! 3. *Decline.* An access that has waited reads none of the writes up to the `w` of its wait: executions in which it
//!    reads those belong to the graphs in which it had not given way.
//! 4. *At last.* If nobody can go on but by an access that is put off, a wait is added for it too, as if it had
//!    declined all writes that there are; those that would let it through are alternatives. A graph in which no such
//!    write is left either is a deadlock.
//!
//! *Every complete graph is visited.* TruSt's argument takes a complete consistent graph `G` and follows the run that
//! agrees with `G` as long as it can: the next event is added as it is in `G`, and if it is a read `e` whose source
//! `w` is not there yet, it is added maximally and the run goes on until `w` comes and revisits it: events before `w`
//! (in program order and reads-from) are added as in `G`, all others maximally, and are deleted in the end. Whenever
//! an event before `w` makes such a filler no longer maximal, the branch is taken in which it revisits the first of
//! these fillers, and the rest is built again. This ends, since each time the sequence of events grows in the lexical
//! order of the choices made. Guards add three cases. An event `r` before `w` may be put off because of a filler,
//! which holds the lock. Then either the filler's thread releases it, or nobody can go on and rule 4 applies; in both
//! cases `r` is added with what it reads in `G` as an alternative. That is what the filler has read, too, so that the
//! writing half of `r` revisits the filler, and it gives way (rule 2): one event before `w` more is in place, and the
//! filler comes again when the lock is free. The filler's wait does not stand in the way of the last step: it is
//! deleted like a maximal event if, and only if, the write that it gave way to is kept or older (`maximal`);
//! otherwise two fillers would have changed places, which the run that is followed never does. And `e` itself may be
//! guarded: if `w` lets it through, nothing is new; in `G` no other case exists. A wait, unlike a refused read, takes
//! part in no axiom, so that it keeps no write from standing where it stands in `G`.
//!
//! *None twice.* Which access comes next depends on the graph alone, by 1 and 4 as without guards. So a graph with
//! its order of addition tells the step that made it: a revisit by its read and write, giving way by its wait and the
//! write that it names. Rule 3 keeps the one way out that was left: without it, two accesses that take a lock could
//! displace each other forever.
//!
//! Both are also measured: random programs over all synchronisation, every choice of the machines against this
//! exploration, and no graph met twice (`crates/difftest`, `tests/all/blocking.rs`).

mod borderline;
pub(crate) mod cells;
mod error;
pub(crate) mod event;
mod explorer;
mod extend;
mod maximal;
mod parallel;
mod preemptions;
mod replay;
pub(crate) mod rounds;
mod stepwise;
mod task;
mod trace;
mod visitor;
pub(crate) mod walk;

pub use borderline::{Borderline, Judge, Unjudged};
pub use error::ExploreError;
pub(crate) use explorer::Restart;
pub use explorer::{Explorer, Options, Races};
pub use maximal::all_races;
pub use parallel::{Phase, explore_parallel, explore_phase};
pub use replay::replay_steps;
pub use stepwise::Run;
pub use task::Task;
pub use trace::{steps_of, steps_to_end, trace_of};
pub use visitor::{End, Flow, Halt, Stuck, Visitor};
