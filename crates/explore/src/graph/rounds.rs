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
//! Rounds of several threads may have no effect *together*: 3 then asks that whoever reads a value in between does so
//! in a round that is taken out as well, of another thread or of this one, and that has come back to where it began.
//! Two threads that each take one lock, fail to take the other's and give theirs back (`std::lock` does so) have gone
//! around for nothing if the one saw the other's lock and the other saw the one's. What is left of the argument is the
//! same: all of these rounds are taken out at once, and who remains has read nothing but values that are there without
//! them.
//!
//! 3 is a question about the whole graph: a thread that was stopped goes on when somebody reads what its round wrote
//! in between (a failed attempt to take the lock that it held). It is asked anew for every step, so that who goes
//! next depends on the graph alone.

use fencepost_memory::graph::{Flags, Graph, Node, Place};
use fencepost_trace::{ThreadId, Value};

/// A round with more writes than this is not looked at: loops that wait are short.
pub(crate) const MOST_WRITES: usize = 8;

/// So many rounds are taken out together at most.
const MOST_ROUNDS: usize = 8;

/// A thread's round ends at most so many events after what others have read of it.
const LONGEST: usize = 64;

/// The events `from..to` of a thread, which ends where it began.
#[derive(Clone, Copy)]
struct Round {
    thread: ThreadId,
    from: usize,
    to: usize,
}

impl Round {
    fn has(&self, thread: ThreadId, index: usize) -> bool {
        self.thread == thread && (self.from..self.to).contains(&index)
    }

    fn overlaps(&self, other: &Round) -> bool {
        self.thread == other.thread && self.from < other.to && other.from < self.to
    }

    fn writes<'g>(&self, graph: &'g Graph) -> impl DoubleEndedIterator<Item = Node> + use<'g> {
        let events = &graph.thread(self.thread)[self.from..self.to];
        events.iter().copied().filter(|node| graph.node(*node).flags.has(Flags::WRITE))
    }

    /// Its writes to a place.
    fn writes_to<'g>(&self, graph: &'g Graph, place: Place) -> impl DoubleEndedIterator<Item = Node> + use<'g> {
        self.writes(graph).filter(move |other| graph.node(*other).place == place)
    }

    /// What a place that it writes held before.
    fn before(&self, graph: &Graph, place: Place) -> Value {
        let first = self.writes_to(graph, place).next().expect("there is one");
        graph.written(place, graph.writes(place)[graph.node(first).position as usize - 1])
    }

    /// Are 1 and 2 true of it?
    fn restores(&self, graph: &Graph) -> bool {
        self.writes(graph).all(|write| {
            let place = graph.node(write).place;
            let here = || self.writes_to(graph, place);
            let (first, last) = (here().next().expect("there is one"), here().next_back().expect("there is one"));
            // Each place once: all of its writes are looked at together.
            write != first || {
                let data = graph.node(first);
                let next_to_each_other = (graph.node(last).position - data.position) as usize + 1 == here().count();
                data.flags.has(Flags::EXCLUSIVE)
                    && !data.flags.has(Flags::WEAVES)
                    && next_to_each_other
                    && graph.node(last).value == self.before(graph, place)
            }
        })
    }
}

/// Where a thread stands: its label, and its local state.
pub(crate) type Standing = (u32, u64);

/// Has what `thread` did from its event number `round` on no effect? `standing` says where another thread stands now,
/// if it is about to read.
pub(crate) fn is_without_effect(
    graph: &Graph,
    thread: ThreadId,
    round: usize,
    mut standing: impl FnMut(ThreadId) -> Option<Standing>,
) -> bool {
    let last = Round { thread, from: round, to: graph.thread(thread).len() };
    // Those that are taken out, and how many of them have been looked at.
    let mut rounds = [last; MOST_ROUNDS];
    let (mut known, mut done) = (1, 0);
    if !last.restores(graph) {
        return false;
    }
    while done < known {
        let round = rounds[done];
        done += 1;
        for write in round.writes(graph) {
            let place = graph.node(write).place;
            if graph.node(write).value == round.before(graph, place) {
                continue;
            }
            for read in graph.reads(place).iter().map(|read| graph.node(*read)).filter(|read| read.source == write) {
                let index = read.index as usize;
                if rounds[..known].iter().any(|round| round.has(read.thread, index)) {
                    continue;
                }
                match round_around(graph, read.thread, index, standing(read.thread)) {
                    Some(found) if known < MOST_ROUNDS && !rounds[..known].iter().any(|r| r.overlaps(&found)) => {
                        rounds[known] = found;
                        known += 1;
                    }
                    _ => return false,
                }
            }
        }
    }
    true
}

/// A round of `thread` that restores what it writes, with its event number `index`; where it stands `now` may be its
/// end.
fn round_around(graph: &Graph, thread: ThreadId, index: usize, now: Option<Standing>) -> Option<Round> {
    let events = graph.thread(thread);
    let data = |i: usize| graph.node(events[i]);
    let starts = (index.saturating_sub(LONGEST)..=index).rev();
    let mut rounds = starts.filter(|i| data(*i).flags.has(Flags::READ) && data(*i).digest != 0).flat_map(|from| {
        let first = (data(from).label, data(from).digest);
        let again = move |to: &usize| match *to {
            end if end == events.len() => now == Some(first),
            to => data(to).flags.has(Flags::READ) && (data(to).label, data(to).digest) == first,
        };
        let ends = (index + 1)..=events.len().min(index + LONGEST);
        ends.filter(again).map(move |to| Round { thread, from, to })
    });
    rounds.find(|round| round.writes(graph).count() <= MOST_WRITES && round.restores(graph))
}

/// Would the thread, going around once more, read the same again? It would read what is last now, and what
/// `is_in_a_round` of a thread that waits like this one, this one among them, leaves everything as it was.
pub(crate) fn repeats(graph: &Graph, thread: ThreadId, round: usize, is_in_a_round: impl Fn(Node) -> bool) -> bool {
    let reads = graph.thread(thread)[round..].iter().filter(|node| graph.node(**node).flags.has(Flags::READ));
    reads.into_iter().all(|read| {
        // What failed for no reason does not do so forever.
        let lasting = graph.node(*read).variant == 0;
        let place = graph.node(*read).place;
        let later = &graph.writes(place)[graph.position_of(*read) as usize + 1..];
        // A value in the middle of somebody's round is gone when that has ended.
        let stays = later.last().is_none_or(|last| graph.written(place, *last) == graph.node(*read).value);
        lasting && stays && later.iter().all(|write| is_in_a_round(*write))
    })
}
