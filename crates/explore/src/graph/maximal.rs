//! Which reads a new write may revisit, and which accesses race.

use fencepost_memory::graph::{Flags, Graph, Node, Place};

/// May `write` revisit `read`? All that is deleted, and `read` itself, must have been added maximally: as if the
/// program had just run on, reading and writing last, on the events before it and on those before `write`.
pub(super) fn maximal_after(graph: &Graph, read: Node, write: Node) -> bool {
    let kept = |n: Node| graph.porf_le(n, write);
    for i in read.0..write.0 {
        let node = Node(i);
        if node != read && kept(node) {
            continue;
        }
        let data = graph.node(node);
        let previous = |n: Node| n <= node || (n != write && kept(n));
        if data.place == Place::NONE {
            // Had it not been for what it gave way to, the thread would not wait.
            if graph.is_wait(node) && !previous(data.source) {
                return false;
            }
            continue;
        }
        let stands_for = if data.flags.has(Flags::READ) {
            if data.variant != 0 || !previous(data.source) {
                return false;
            }
            data.source
        } else {
            let revisited = |r: &Node| *r < node && graph.node(*r).source == node;
            if graph.reads(data.place).iter().any(revisited) || graph.waits().iter().any(revisited) {
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

/// All pairs of accesses that race under C/C++20.
pub fn all_races(graph: &Graph) -> Vec<(Node, Node)> {
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

/// Two accesses of one place race if they conflict in some byte, one of them is plain, and neither happens before the
/// other.
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
