//! Which reads a new write may revisit, which can never go on, and which accesses race.

use fencepost_memory::graph::{Flags, Graph, Node, Place};
use fencepost_trace::{Hidden, Value};

/// May `write` revisit `read`? All that is deleted, and `read` itself, must have been added maximally: as if the program had just run
/// on, reading and writing last, on the events before it and on those before `write`.
pub(super) fn maximal_after(graph: &Graph, read: Node, write: Node) -> bool {
    let kept = |n: Node| graph.porf_le(n, write);
    for i in read.0..write.0 {
        let node = Node(i);
        if node != read && kept(node) {
            continue;
        }
        let data = graph.node(node);
        if data.place == Place::NONE {
            continue;
        }
        let previous = |n: Node| n <= node || (n != write && kept(n));
        let stands_for = if data.flags.has(Flags::READ) {
            if data.variant != 0 || !previous(data.source) {
                return false;
            }
            data.source
        } else {
            let revisited = |r: &Node| *r < node && graph.node(*r).source == node;
            if graph.reads(data.place).iter().any(revisited) {
                return false;
            }
            node
        };
        let position = graph.node(stands_for).position as usize;
        if graph.writes(data.place)[position + 1..].iter().any(|later| previous(*later)) {
            return false;
        }
    }
    true
}

/// An access that races with `node`.
pub(super) fn race_with(graph: &Graph, node: Node) -> Option<(Node, Node)> {
    let place = graph.node(node).place;
    let accesses = graph.writes(place).iter().chain(graph.reads(place));
    accesses.copied().find(|other| races(graph, *other, node)).map(|other| (other, node))
}

/// All pairs of accesses that race.
pub(super) fn all_races(graph: &Graph) -> Vec<(Node, Node)> {
    let mut pairs = Vec::new();
    for place in (0..graph.places() as u32).map(Place).filter(|place| graph.plain_accesses(*place) > 0) {
        // The reading half of a store to part of a cell is no read of the program's.
        let reads = graph.reads(place).iter().filter(|read| !graph.node(**read).flags.has(Flags::WEAVES));
        let accesses: Vec<Node> = graph.writes(place).iter().chain(reads).copied().collect();
        for (i, first) in accesses.iter().enumerate() {
            let others = accesses[i + 1..].iter().filter(|second| races(graph, *first, **second));
            pairs.extend(others.map(|second| (*first, *second)));
        }
    }
    pairs
}

/// Two accesses of one place race if they conflict in some byte, one of them is plain, and neither happens before the other.
fn races(graph: &Graph, first: Node, second: Node) -> bool {
    if first == Node::INIT || second == Node::INIT {
        return false;
    }
    let (one, other) = (graph.node(first), graph.node(second));
    let overlap = match (one.access.location(), other.access.location()) {
        (Some(a), Some(b)) => a.overlaps(b),
        _ => false,
    };
    one.thread != other.thread
        && overlap
        && (one.flags.has(Flags::PLAIN) || other.flags.has(Flags::PLAIN))
        && (one.flags.has(Flags::WRITE) || other.flags.has(Flags::WRITE))
        && !graph.hb(first, second)
        && !graph.hb(second, first)
}

/// Does a thread wait at `place` for something that can no longer come in any graph that grows from this one?
///
/// While a lock is held, the only write that can follow in coherence order is its release by the owner. A thread that has read
/// "held" and was not turned to that release when it came is never turned to anything: every later write comes after
/// the release, in program order and reads-from, so that the read is no longer maximal. No execution is completed from here.
pub(super) fn is_doomed(graph: &Graph, place: Place) -> bool {
    let Some((kind, _)) = graph.location(place).as_hidden() else { return false };
    let held = |value: Value| match kind {
        Hidden::Mutex => value != Value::ZERO,
        Hidden::RwLock => value == Value(u64::MAX.into()),
        Hidden::Once => value == Value(1),
        _ => false,
    };
    let last = graph.writes(place).len() - 1;
    graph.reads(place).iter().any(|read| {
        let data = graph.node(*read);
        data.flags.has(Flags::BLOCKED) && held(data.value) && (graph.position_of(*read) as usize) < last
    })
}
