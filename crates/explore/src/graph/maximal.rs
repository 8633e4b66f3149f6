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
