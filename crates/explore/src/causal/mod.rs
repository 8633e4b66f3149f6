//! Exploration up to what is read: one execution for each vector of read values (or sources), under SC, TSO and PSO.
//!
//! A thread is a deterministic function of what it reads. So an execution is, as far as its threads can tell, a
//! *vector*: for each thread its history, the list of values that it has read. Reads are named by thread and position.
//! Where somebody asks for the final values of memory, these are reads of an observer. The aim is to run one
//! execution for each vector that some execution has, and none twice. This is the equivalence of maximal causality
//! reduction (Huang and Huang, Maximal Causality Reduction for TSO and PSO, OOPSLA 2016); with sources instead of
//! values, that of reads-from.
//!
//! # The tree
//!
//! A state is a vector of histories `H`, not necessarily complete, and for some threads a set of labels that their
//! next read does *not* get: they are *put off*. It stands for all complete vectors that extend `H` and respect the
//! sets. All threads run to their next reads, since what they write on the way follows from `H`. Then one thread `t`
//! is picked, and the vectors are divided:
//!
//! - for each label `v` that `t` can read now: those in which its next read gets `v`;
//! - the rest: `t` is put off for all of these labels.
//!
//! The parts are disjoint, and together they are everything. So no vector is met twice, whatever is picked, in
//! whatever order, by however many workers, and nothing has to be remembered for that. A state in which nobody can go
//! on is a complete vector if all threads have ended, a deadlock or livelock if those that are left wait for values
//! that are not the last ones, and nothing otherwise.
//!
//! `t` *can read* `v` if there is a consistent execution of all events of `H` and this read: sources with the right
//! values for all reads, and coherence orders. That is a question of order alone, see `question`. Mostly the sources
//! and orders at hand are an answer; then saturation is tried, and then the solver.
//!
//! # What is put aside
//!
//! The rest is empty most of the time, and to find that out by running it would cost far more than the exploration
//! itself. So it is only run if somebody is *known* to write what `t` waits for: in some execution so far, a thread with the
//! history that it has now went on to write such a value, or was about to do a read-modify-write there (`knowledge`).
//! Otherwise it is put aside, and taken up when more is known of one of the threads involved. The same holds for each
//! state on the way: if a thread that is put off has nothing to wait for any more, the state is put aside.
//!
//! In the same way a read of `H` may have a value that another thread will write *again*. The witness at hand then
//! takes it from a write that is there, but in the vector that is looked for it comes from one that is still to come,
//! and only so can another read get its value. Such a read is left open if the write is known; the state is given up
//! when it can no longer be closed. (With sources instead of values this does not arise.)
//!
//! # Nothing is lost
//!
//! *Every history that some execution gives a thread becomes known.* Suppose not, and take an execution whose events
//! `e1 … ek`, in the global order, end with the first read that gives a thread a history that is not known. Follow the
//! tree along the vectors that extend it: at each node, if the read of the thread that is picked is among these events,
//! the vector says what it gets; if it is not, let it read at the end, which is always possible. What it gets was
//! written by an event before `ek`, with a history that is known, or by the read-modify-write `ek`, which was pending at
//! a known history and is counted. So the part of the tree is not put aside. The same holds for reads that have to be
//! left open. The path ends in a complete execution that contains `ek`, so that its history is known: a contradiction.
//!
//! *Every vector is met.* All histories of its execution are known, so that no part on the way to it is put aside.
//!
//! Threads that wait forever are the exception to "known to write": a guarded access that could go on may also stay
//! where it is, if somebody stops with a last write that its guard refuses. That is known in the same way.
//!
//! # The rest
//!
//! Locks and the like are guarded accesses of hidden locations, as everywhere; a guard is a condition on the value.
//! Starting and joining a thread are no choices. Loops that wait, the end of the process and overlapping accesses are
//! treated as in [`graph`](crate::graph): a store to part of a cell reads the rest of it, and counts as a read here.
//! The program is told of no order between threads but that of creation and join, which does not depend on sources.

mod explorer;
mod knowledge;
mod orders;
mod question;
mod run;
mod solver;
mod task;

pub use explorer::{Effort, Equivalence, Explorer};
pub use knowledge::Label;
pub use task::Task;
