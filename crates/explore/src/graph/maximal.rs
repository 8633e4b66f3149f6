//! Which reads a new write may revisit, and which accesses race.

use fencepost_memory::graph::{Flags, Graph, Node, Place};

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
    let data = graph.node(node);
    let races = |other: &Node| {
        let with = graph.node(*other);
        *other != Node::INIT
            && with.thread != data.thread
            && (with.flags.has(Flags::PLAIN) || data.flags.has(Flags::PLAIN))
            && (with.flags.has(Flags::WRITE) || data.flags.has(Flags::WRITE))
            && !graph.hb(*other, node)
            && !graph.hb(node, *other)
    };
    let accesses = graph.writes(data.place).iter().chain(graph.reads(data.place));
    accesses.copied().find(|o| races(o)).map(|other| (other, node))
}
