//! Exploration up to what is read: one execution for each vector of read values (or sources), under SC, TSO and PSO.
//!
//! A thread is a deterministic function of what it reads. So an execution is, as far as its threads can tell, a
//! *vector*: for each thread its history, the list of values that it has read. Reads are named by thread and position.
//! Where somebody asks for the final values of memory, these are reads of an observer. The aim is to run one
//! execution for each vector that some execution has, and none twice. This is the equivalence of maximal causality
//! reduction (Huang and Huang, Maximal Causality Reduction for TSO and PSO, OOPSLA 2016); with sources instead of
//! values, that of reads-from.
//!
//! # States
//!
//! A *state* is a vector of histories, not necessarily complete, of which there is an execution: all events that follow
//! from these histories (threads run to their next reads), for each read a source among them with the right value, and
//! coherence orders. One such graph, the witness, is kept with the state. From a state a thread `t` goes on to each
//! label `v` that it *can read*: there is a consistent execution of all events and this read. That is a question of
//! order alone, see `question`. Mostly the sources and orders at hand are an answer; then saturation is tried, and then
//! the solver.
//!
//! States that were met are remembered, by a hash of 128 bits over their histories. So each is met once, and each
//! complete vector is told once. Only if more states are met than may be remembered can runs be repeated; complete
//! vectors are always remembered.
//!
//! # Nothing is lost
//!
//! *If all threads are asked in every state*, every vector is met. Take an execution with these values, and its events
//! in an order that contains program order and reads-from, which have no cycle in these models. What is before some
//! point in this order is an execution too: every axiom forbids a cycle in relations that only shrink when an event is
//! removed that nothing follows. So its histories are a state, and each leads to the next.
//!
//! *Not all threads are asked.* A group of threads is enough if nobody outside of it may write, with or after its next
//! read, where a thread of the group reads next; and if some thread of it cannot stay where it is forever. Take a
//! vector that goes on from the state, and an execution as above. If it has events of the group, the first of them
//! reads what is there: who writes there is in the group, and has done nothing yet. So it can be the next event after
//! the state. And it has such events: a thread that can go on in the end would, and an access without a guard always
//! can. One with a guard can, unless somebody who has written there stopped with a value that the guard refuses; if all
//! threads of a group may stay like that, another group is asked as well.
//!
//! *Where a thread may write* is not known beforehand. It is learnt from all executions so far: a thread with the same
//! history does the same (`knowledge`), if the histories of those whose end it has waited for belong to its own. When
//! more becomes known of a thread that was not asked, so that the group was none, the state is taken up again. That is
//! enough. Suppose that some execution gives a thread a history that never becomes known, and take its events up to the
//! first read, in the order above, that does. Follow the states along it: those who write in it have known histories,
//! so that the argument above holds for it. If it has no event of the group that is asked, let a thread of the group
//! read at its end, which changes nothing for the others. The path ends in a state that contains the history: it is
//! known, a contradiction. Then all vectors are met by the argument above.
//!
//! *What was met is not asked about.* A label that leads to a state which was met before needs no question. Any group
//! will do, and the best is one all of whose labels lead to such states: then nothing is left to do (`next_group`).
//! Of a state that is put off this may show before it is run: a thread that cannot wait, and reads where nobody else
//! may write, is a group, and what it can read is known from the state before (`Explorer::is_met_anyway`). Of one that
//! would be taken up again it may show, too: what threads could read that were not asked is noted with it, and if all
//! that a thread which must be asked now could read was met, it counts as asked (`Explorer::wake`).
//!
//! *What was refuted stays so* while the other threads go on, as long as nobody writes what could take the place of
//! something that was read: an execution in which the read is possible would have one without the later events.
//!
//! *Who waits.* With the same histories some execution may go on and another wait forever, where the order of writes is
//! open. So where every thread has a guard, it is asked whether all can stay where they are, whatever else can be read.
//!
//! # Never more than there are graphs
//!
//! [`graph`](crate::graph) tells of at least as many executions: for each that is told of here there is a graph with
//! the same reads, another one for each, that is told of there. If all threads have come to their ends, the witness is
//! one. So it is if some wait at guards: the last writes are such that they must. The ends of the process are told one
//! by one, by both; which threads have come to one is the same, since it follows from what they have read.
//!
//! *Who waits in a loop* has gone around it once without effect (`graph::rounds`). A graph counts as an execution only
//! if that round has read what it would read again: nothing is written behind it, but by rounds of others that wait
//! in loops, too; otherwise it is blocked. With sources the same is asked for here (`Run::is_read_last`). Without that,
//! a round that has read the write before the last, of the same value, would be one more execution, or several if
//! several threads may end the process. With values it is enough that the last write has the value that was read. Take
//! the rounds of all who wait out: what is left is an execution with the same values (`graph::rounds` says why), and
//! its last values are those that they have read. Put the rounds back at the end, one after the other. Each reads the
//! last values and leaves them as they were, so that nothing else changes, and this is a graph that is told of.
//!
//! *Nothing is lost by it.* Who waits forever goes around again when everybody else has done what they will do. The
//! execution with this round and none of those before it has the same values, and its round has read the last writes.
//!
//! Two things are left. Which round is without effect depends on local states, and these are not always known exactly:
//! `docs/check.md` says where. And a round that takes a lock and releases it is taken to stand together in coherence
//! order, as it does unless others store into a lock that they do not hold.
//!
//! # What is run
//!
//! Where the program can tell where it is ([`Memoised`]), a state that is put off is kept whole, so that going on from
//! it runs nothing again; and threads of the program run only where they get a reply that they have not had before. An
//! execution that is told of is run from its beginning to its end.
//!
//! # Several workers, and tomorrow
//!
//! Workers share the registers of states, so that each state is met by one of them and each complete vector told by
//! one. What they know of threads is their own until their parts are put together (`part`, `team`): the argument above
//! does not ask when a state is taken up again. The same parts, written down, are what a later exploration goes on
//! from.
//!
//! # The rest
//!
//! Locks and the like are guarded accesses of hidden locations, as everywhere; a guard is a condition on the value.
//! Starting and joining a thread are no choices. Loops that wait, the end of the process and overlapping accesses are
//! treated as in [`graph`](crate::graph): a store to part of a cell reads the rest of it, and counts as a read here.
//! The program is told of no order between threads but that of creation and join, which does not depend on sources.

mod chunks;
mod explorer;
mod knowledge;
mod memoised;
mod orders;
mod part;
mod posed;
mod question;
mod register;
mod run;
mod solver;
mod steps;
mod task;
mod team;

pub use explorer::{Equivalence, Explorer};
pub use knowledge::Label;
pub use memoised::Memoised;
pub use part::{Part, Saved};
pub use posed::{Constraint, Posed, Puzzle};
pub use register::Register;
pub use task::Task;
pub use team::Team;
