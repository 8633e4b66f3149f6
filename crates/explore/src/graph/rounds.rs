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
//! Rounds of several threads, or several of one, may have no effect *together*. Then 1 and 2 are asked of all that
//! they write to a place: the first of each round is a read-modify-write's, all of them stand next to each other, and
//! the last of all writes again what was there before the first. 3 asks that whoever reads a value in between does so
//! in a round that is taken out as well, and that has come back to where it began. Two threads that each take one
//! lock, fail to take the other's and give theirs back (`std::lock` does so) have gone around for nothing if the one
//! saw the other's lock and the other saw the one's; so have two that poll under a lock for reading, whose counts go
//! up and down in any order. What is left of the argument is the same: all of these rounds are taken out at once, and
//! who remains has read nothing but values that are there without them.
//!
//! 3 is a question about the whole graph: a thread that was stopped goes on when somebody reads what its round wrote
//! in between (a failed attempt to take the lock that it held). It is asked anew for every step, so that who goes
//! next depends on the graph alone. Such a thread goes on only when nobody else can: who has observed its round may be
//! in the middle of one of its own, with which it is taken out as soon as that is complete.
//!
//! # Rounds that were observed
//!
//! The argument that every graph `G` is visited (`graph`) follows a run that agrees with `G`, but for *fillers*, events
//! that are deleted in the end. If others observe a round in `G`, and the one who does is a filler at some point of the
//! run, then nobody observes the round there, the thread is stopped, and the run does not come to `G`. (Not if the
//! round itself depends on the observer: one that has counted itself in between, and out later, is there with the
//! round.) So a thread must be let go on after rounds that nobody has observed, as many as of its rounds are observed
//! in `G`: what it has done in the run it does in `G`, where each round that it has left behind has been observed.
//!
//! How many these are is learnt on the way. A thread of which `n` rounds have been observed in some graph may go `n`
//! rounds unobserved; when one more is met, the exploration starts over (`Walk::unobserved`). In the end nothing is
//! missing. Suppose that in some graph `n + 1` rounds of a thread are observed that may go `n`. Take what is before
//! the last of these rounds and before those who observe them. This is a graph in which the thread leaves `n` rounds
//! behind. So it is visited by the argument above, and the thread was found to have one more.
//!
//! Where threads go on unobserved, graphs are met in which nobody observes them to the end. They show what the
//! executions without these rounds show and count as blocked (`Walk::has_gone_in_vain`). Most programs have no such
//! round, and nothing of this happens.

use fencepost_memory::graph::{Flags, Graph, Node, Place};
use fencepost_trace::ThreadId;

/// A round with more writes than this is not looked at: loops that wait are short.
pub(crate) const MOST_WRITES: usize = 24;

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

    fn writes<'g>(&self, graph: &'g Graph) -> impl Iterator<Item = Node> + use<'g> {
        let events = &graph.thread(self.thread)[self.from..self.to];
        events.iter().copied().filter(|node| graph.node(*node).flags.has(Flags::WRITE))
    }

    /// Its writes to a place.
    fn writes_to<'g>(&self, graph: &'g Graph, place: Place) -> impl Iterator<Item = Node> + use<'g> {
        self.writes(graph).filter(move |other| graph.node(*other).place == place)
    }
}

/// Where a thread stands: its label, and its local state.
pub(crate) type Standing = (u32, u64);

/// Where a thread stood before it read, if that is known.
pub(crate) fn stood(graph: &Graph, read: Node) -> Option<Standing> {
    let data = graph.node(read);
    (data.flags.has(Flags::READ) && data.digest != 0).then_some((data.label, data.digest))
}

/// What a round does to others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// Nothing: it can be taken out.
    None,
    /// It would do nothing, were it not for others who have read a value in between, and on whom it does not depend.
    Observed,
    /// It has changed something, or depends on somebody who has observed it.
    Lasting,
}

/// What the events `from..to` of `thread` do to others, after which it stands where it stood before. `standing` says
/// where another thread stands now, if it is about to read.
pub(crate) fn effect(
    graph: &Graph,
    thread: ThreadId,
    (from, to): (usize, usize),
    mut standing: impl FnMut(ThreadId) -> Option<Standing>,
) -> Effect {
    let last = Round { thread, from, to };
    let mut set = Set { rounds: [last; MOST_ROUNDS], known: 1 };
    loop {
        match set.lacks(graph) {
            Lack::Nothing => return Effect::None,
            Lack::Effect => return Effect::Lasting,
            Lack::Round(node) => {
                let data = graph.node(node);
                let found = round_around(graph, data.thread, data.index as usize, standing(data.thread));
                if !found.is_some_and(|round| set.add(round)) {
                    // What is before the end of the round stays wherever the round does.
                    let last = graph.thread(thread)[to - 1];
                    return if graph.porf_le(node, last) { Effect::Lasting } else { Effect::Observed };
                }
            }
        }
    }
}

/// Has what `thread` did from its event number `round` on no effect?
pub(crate) fn is_without_effect(
    graph: &Graph,
    thread: ThreadId,
    round: usize,
    standing: impl FnMut(ThreadId) -> Option<Standing>,
) -> bool {
    effect(graph, thread, (round, graph.thread(thread).len()), standing) == Effect::None
}

/// Rounds that are taken out together.
struct Set {
    rounds: [Round; MOST_ROUNDS],
    known: usize,
}

/// What keeps rounds from being without effect.
enum Lack {
    Nothing,
    /// This event would have to be in one of them.
    Round(Node),
    /// Something that no other round can mend.
    Effect,
}

impl Set {
    fn has(&self, graph: &Graph, node: Node) -> bool {
        let data = graph.node(node);
        node != Node::INIT && self.rounds[..self.known].iter().any(|round| round.has(data.thread, data.index as usize))
    }

    /// One more, if there is room for it.
    fn add(&mut self, round: Round) -> bool {
        let fits = self.known < MOST_ROUNDS && !self.rounds[..self.known].iter().any(|other| other.overlaps(&round));
        if fits {
            self.rounds[self.known] = round;
            self.known += 1;
        }
        fits
    }

    fn lacks(&self, graph: &Graph) -> Lack {
        let places = self.rounds[..self.known].iter().flat_map(|round| round.writes(graph));
        let lack = |write: Node| match self.lacks_at(graph, write, true) {
            Lack::Nothing => None,
            lack => Some(lack),
        };
        places.into_iter().find_map(lack).unwrap_or(Lack::Nothing)
    }

    /// What is lacking at the place of a write, which is one of theirs: 1, 2, and, if `readers` are asked, 3.
    fn lacks_at(&self, graph: &Graph, write: Node, readers: bool) -> Lack {
        let place = graph.node(write).place;
        let writes = graph.writes(place);
        let is_ours = |position: &usize| self.has(graph, writes[*position]);
        let first = (1..writes.len()).find(is_ours).expect("this one is");
        // Each place once: all of its writes are looked at together.
        if writes[first] != write {
            return Lack::Nothing;
        }
        let continues = |write: Node| {
            let flags = graph.node(write).flags;
            flags.has(Flags::EXCLUSIVE) && !flags.has(Flags::WEAVES)
        };
        let mut firsts = self.rounds[..self.known].iter().filter_map(|round| round.writes_to(graph, place).next());
        if !firsts.all(continues) {
            return Lack::Effect;
        }
        let last = (first..writes.len()).rfind(is_ours).expect("the first is");
        if let Some(other) = (first..last).find(|position| !is_ours(position)) {
            return Lack::Round(writes[other]);
        }
        let before = graph.written(place, writes[first - 1]);
        if graph.node(writes[last]).value != before {
            return writes.get(last + 1).map_or(Lack::Effect, |next| Lack::Round(*next));
        }
        if !readers {
            return Lack::Nothing;
        }
        let changes = |source: Node| {
            let data = graph.node(source);
            (first..=last).contains(&(data.position as usize)) && data.value != before
        };
        let mut reads = graph.reads(place).iter().copied();
        let outside = reads.find(|read| changes(graph.node(*read).source) && !self.has(graph, *read));
        outside.map_or(Lack::Nothing, Lack::Round)
    }
}

/// A round of `thread` with its event number `index`: one that restores by itself what it writes, or else the shortest.
/// Where the thread stands `now` may be its end.
fn round_around(graph: &Graph, thread: ThreadId, index: usize, now: Option<Standing>) -> Option<Round> {
    let events = graph.thread(thread);
    let stood = |i: usize| stood(graph, events[i]);
    let mut ends = [(0, (0, 0)); LONGEST];
    let mut known = 0;
    for to in index + 1..=events.len().min(index + LONGEST) {
        if let Some(standing) = if to == events.len() { now } else { stood(to) } {
            ends[known] = (to, standing);
            known += 1;
        }
    }
    let starts = (index.saturating_sub(LONGEST)..=index).rev();
    let starts = starts.filter_map(|from| stood(from).map(|first| (from, first)));
    let mut rounds = starts.flat_map(|(from, first)| {
        let ends = ends[..known].iter().filter(move |(_, standing)| *standing == first);
        ends.map(move |(to, _)| Round { thread, from, to: *to })
    });
    let mut shortest = None;
    let restores = |round: &Round| {
        let alone = Set { rounds: [*round; MOST_ROUNDS], known: 1 };
        round.writes(graph).all(|write| matches!(alone.lacks_at(graph, write, false), Lack::Nothing))
    };
    let best = rounds.find(|round| {
        let is_short = round.writes(graph).count() <= MOST_WRITES;
        shortest = shortest.or(is_short.then_some(*round));
        is_short && restores(round)
    });
    best.or(shortest)
}

/// Would the thread, going around once more, read the same again? It would read what is last now, and what
/// `is_in_a_round` of a thread that waits like this one, this one among them, leaves everything as it was.
pub(crate) fn repeats(graph: &Graph, thread: ThreadId, round: usize, is_in_a_round: impl Fn(Node) -> bool) -> bool {
    let reads = graph.thread(thread)[round..].iter().filter(|node| graph.node(**node).flags.has(Flags::READ));
    // What it wrote itself in this round it writes again.
    let is_own = |read: &&Node| is_own(graph, thread, round, graph.node(**read).source);
    reads.filter(|read| !is_own(read)).all(|read| {
        // What failed for no reason does not do so forever.
        let lasting = graph.node(*read).variant == 0;
        let place = graph.node(*read).place;
        let later = &graph.writes(place)[graph.position_of(*read) as usize + 1..];
        // A value in the middle of somebody's round is gone when that has ended.
        let stays = later.last().is_none_or(|last| graph.written(place, *last) == graph.node(*read).value);
        lasting && stays && later.iter().all(|write| is_in_a_round(*write))
    })
}

/// Is `write` one of the writes of the round of `thread` that begins with its event number `round`?
pub(crate) fn is_own(graph: &Graph, thread: ThreadId, round: usize, write: Node) -> bool {
    let data = graph.node(write);
    write != Node::INIT && data.thread == thread && data.index as usize >= round
}
