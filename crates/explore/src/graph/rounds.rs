//! Rounds of waiting loops that leave no trace.
//!
//! A thread that comes back to where it stood before, in the same local state, has gone around a loop. If the round
//! has *no effect*, every execution that contains it has a twin without it, in which everybody reads the same values:
//! so the exploration may stop the thread there and leave the execution with the round out. Reading alone has no
//! effect. A round that writes has none if, for each place that it writes,
//!
//! 1. its first write there is that of a read-modify-write, which has read `v` from the write `u` before it;
//! 2. its writes there stand next to each other in coherence order, and the last of them writes `v` again;
//! 3. nobody else reads a write of the round that wrote another value than `v`.
//!
//! *Why.* Take the round out; whoever read one of its writes (which wrote `v`) reads `u` instead. Values are the
//! same, so that every thread does what it did. By 2 nothing stood between `u` and the round's last write, so that
//! coherence order and the exclusiveness of other read-modify-writes hold, and no reader has got an older write than
//! before relative to what remains. A reader that now reads `u` was ordered after `u` before: through coherence order
//! in the hardware models, where a read-modify-write commits at once; through the release sequence, which the
//! read-modify-write of 1 continues, in C/C++20. So no order is added, and some may be gone, and an execution that is
//! consistent with more order is consistent with less; a race or a failure that it has stays. A lock taken, something
//! looked at and the lock released is such a round, a `test_and_set` of what is set already is another.
//!
//! 3 is a question about the whole graph: a thread that was stopped goes on when somebody reads what its round wrote
//! in between (a failed attempt to take the lock that it held). It is asked anew for every step, so that who goes
//! next depends on the graph alone.

use fencepost_memory::graph::{Flags, Graph, Node};
use fencepost_trace::ThreadId;

/// A round with more writes than this is not looked at: loops that wait are short.
pub(crate) const MOST_WRITES: usize = 8;

/// Has what `thread` did from its event number `round` on no effect?
pub(crate) fn is_without_effect(graph: &Graph, thread: ThreadId, round: usize) -> bool {
    let events = &graph.thread(thread)[round..];
    let writes = || events.iter().copied().filter(|node| graph.node(*node).flags.has(Flags::WRITE));
    writes().all(|write| {
        let place = graph.node(write).place;
        let here = || writes().filter(|other| graph.node(*other).place == place);
        let (first, last) = (here().next().expect("there is one"), here().next_back().expect("there is one"));
        // Each place once: all of its writes are looked at together.
        write != first || {
            let data = graph.node(first);
            let next_to_each_other = (graph.node(last).position - data.position) as usize + 1 == here().count();
            let before = graph.written(place, graph.writes(place)[data.position as usize - 1]);
            data.flags.has(Flags::EXCLUSIVE)
                && !data.flags.has(Flags::WEAVES)
                && next_to_each_other
                && graph.node(last).value == before
                && here().all(|own| graph.node(own).value == before || !is_read_by_others(graph, thread, own))
        }
    })
}

fn is_read_by_others(graph: &Graph, thread: ThreadId, write: Node) -> bool {
    let reads = graph.reads(graph.node(write).place);
    reads.iter().any(|read| graph.node(*read).source == write && graph.node(*read).thread != thread)
}

/// Would the thread, going around once more, read the same again? It would read what is last now, and what
/// `is_in_a_round` of a thread that waits like this one, this one among them, leaves everything as it was.
pub(crate) fn repeats(graph: &Graph, thread: ThreadId, round: usize, is_in_a_round: impl Fn(Node) -> bool) -> bool {
    let reads = graph.thread(thread)[round..].iter().filter(|node| graph.node(**node).flags.has(Flags::READ));
    reads.into_iter().all(|read| {
        // What failed for no reason does not do so forever.
        let lasting = graph.node(*read).variant == 0;
        let later = &graph.writes(graph.node(*read).place)[graph.position_of(*read) as usize + 1..];
        lasting && later.iter().all(|write| is_in_a_round(*write))
    })
}
