//! Accesses to parts of what others access as a whole.
//!
//! An exploration has one place for all bytes that overlapping accesses tie together (`explore::graph::cells`), and
//! coherence orders what a thread does there. Of two accesses that have no byte in common, a hardware model would let
//! the second pass the first. Executions in which it does are not explored, and that is said: nothing is proved then.
//!
//! A store to a part reads the rest of its place, and explored executions have no cycle of program order and
//! reads-from. Where the model delays such a store past later ones, somebody who has read one of those may store to the
//! place before it does: what it takes over would then come from a store that depends on it. That is said, too. Of a
//! missed execution of this kind there is always an explored one that shows it: the same up to that other store, with
//! the delayed one just before it.
//!
//! C/C++20 has no word on accesses of different extents, and the machine of c11 keeps each byte's stores in order. The
//! same two things are said of it, with happens-before in the place of the orders of a hardware model:
//!
//! 1. Two accesses to a place that have no byte in common, one of which happens before the other, while a third is
//!    ordered with one of them in neither way.
//! 2. A write to a part, and a write of another thread to its place that depends on it by program order and
//!    reads-from, and does not happen after it. (That it has read the first write itself is no such dependence: then it
//!    comes after it in any case.)
//!
//! *Why that is enough.* Take an execution of the machine, and of it the accesses to one place, with the order of
//! writes and who reads whom for each byte, and happens-before. If these have no cycle, put them into a line: the
//! exploration has the execution in which the place goes through its values in that order, unless a write to a part
//! would take over what depends on it, which is 2. If they have a cycle, it goes from one part to another: where
//! accesses overlap, the machine performs them in the order of execution, so that it does so along happens-before,
//! between two accesses without a common byte; and if everybody else were ordered with both of them, each step of the
//! cycle would be, and happens-before would have it. That is 1, and what comes before the step that closes the cycle
//! is explored.
//!
//! A store to a part takes over the rest of its place from the store before it. Methods that leave the order of stores
//! open, as far as nobody reads it, do not know which that is; under sc that makes no difference, since what is read
//! decides.

use super::{request, unsupported};
use crate::results;
use fencepost_memory::graph::{Flags, Graph, Node, NodeData, Place};
use fencepost_trace::{Access, FenceOrder, Location, Model, RmwOrder, StoreOrder};
use rustc_hash::{FxHashMap, FxHashSet};

/// Looks whether the model could reorder accesses of an execution that the exploration keeps in order. Is the execution
/// one that there is?
pub(super) fn look(graph: &Graph) -> bool {
    let model = request().watch.first().copied().unwrap_or(request().model);
    let is_part = |data: &NodeData| part(graph, data).is_some();
    if model == Model::Sc || !graph.nodes().any(|(_, data)| is_part(data)) {
        return true;
    }
    if model == Model::C11 {
        if is_tied(graph) {
            unsupported(
                "threads access different parts of memory that is also accessed as a whole: not every order in which \
                 these can happen is explored",
            );
        } else if depends_on_part(graph) {
            unsupported(
                "a thread writes to a part of memory that is also accessed as a whole: that this can come after a \
                 write which has seen something later of that thread is not explored",
            );
        }
        return true;
    }
    if results::is_by_less_than_graphs() {
        unsupported(
            "threads access parts of memory that is also accessed as a whole: this method does not explore that \
             (--method graph does)",
        );
        return false;
    }
    let others = |data: &NodeData| {
        graph.nodes().any(|(_, other)| {
            other.place == data.place && other.thread != data.thread && other.access.location().is_some()
        })
    };
    // By thread: its accesses to parts since the last full barrier, in program order.
    let mut before: FxHashMap<u32, Vec<(&NodeData, Location)>> = FxHashMap::default();
    for (_, data) in graph.nodes() {
        let list = before.entry(data.thread.0).or_default();
        let is_barrier = is_barrier(&data.access, model);
        if is_barrier && !matches!(data.access, Access::Store { .. }) {
            list.clear();
        }
        let Some(at) = part(graph, data) else { continue };
        let passes = |(first, other): &(&NodeData, Location)| {
            first.place == data.place && !other.overlaps(at) && can_pass(model, &first.access, &data.access)
        };
        if list.iter().any(passes) && others(data) {
            unsupported(
                "a thread accesses parts, one after the other, of memory that is also accessed as a whole: that the \
                 model can reorder these is not explored",
            );
            return true;
        }
        // Nothing passes a seq_cst store, which may pass others itself.
        if is_barrier {
            list.clear();
        } else {
            list.push((data, at));
        }
    }
    if model != Model::Tso && is_delayed(graph, model) {
        unsupported(
            "a thread stores to a part of memory that is also accessed as a whole: that the model can delay this store \
             past later ones is not explored",
        );
    }
    true
}

/// Point 1 of c11.
fn is_tied(graph: &Graph) -> bool {
    let accesses = |place: Place| {
        let reads = graph.reads(place).iter().filter(|read| !graph.node(**read).flags.has(Flags::WEAVES));
        graph.writes(place)[1..].iter().chain(reads).copied().collect::<Vec<Node>>()
    };
    let at = |node: Node| graph.node(node).access.location();
    let are_apart = |a: Node, b: Node| at(a).zip(at(b)).is_some_and(|(a, b)| !a.overlaps(b));
    let is_unordered = |a: Node, b: Node| a != b && !graph.hb(a, b) && !graph.hb(b, a);
    let is_part = |node: &Node| part(graph, graph.node(*node)).is_some();
    (0..graph.places() as u32).map(Place).any(|place| {
        let all = accesses(place);
        all.iter().filter(|first| is_part(first)).any(|first| {
            let mut later = all.iter().filter(|second| are_apart(*first, **second) && graph.hb(*first, **second));
            later.any(|second| all.iter().any(|other| is_unordered(*other, *first) || is_unordered(*other, *second)))
        })
    })
}

/// Point 2 of c11.
fn depends_on_part(graph: &Graph) -> bool {
    let parts = graph.nodes().filter(|(_, data)| data.flags.has(Flags::WRITE) && part(graph, data).is_some());
    parts.into_iter().any(|(first, data)| {
        let at = data.access.location();
        let overlaps = |other: &NodeData| at.zip(other.access.location()).is_some_and(|(at, other)| at.overlaps(other));
        graph.writes(data.place)[1..].iter().any(|write| {
            let other = graph.node(*write);
            // By what its thread does next, or by who reads it; but who reads it and then writes there comes after it.
            let read = |read: &Node| {
                let reader = graph.node(*read);
                let comes_after = graph.hb(*read, *write) && overlaps(other);
                reader.source == first
                    && !reader.flags.has(Flags::WEAVES)
                    && graph.porf_le(*read, *write)
                    && !comes_after
            };
            let depends = || {
                graph.next(first).is_some_and(|next| graph.porf_le(next, *write))
                    || graph.reads(data.place).iter().any(read)
            };
            // What another has written there, a read-modify-write really reads.
            let takes_over = data.flags.has(Flags::WEAVES) || !overlaps(other);
            other.thread != data.thread && takes_over && !graph.hb(first, *write) && depends()
        })
    })
}

/// Is there a store to a part, a later one of its thread that the model lets pass it, and a store of another thread to
/// the same place that depends on the later one?
fn is_delayed(graph: &Graph, model: Model) -> bool {
    let mut readers: FxHashMap<Node, Vec<Node>> = FxHashMap::default();
    for (node, data) in graph.nodes().filter(|(_, data)| data.flags.has(Flags::READ) && !data.flags.has(Flags::WEAVES))
    {
        readers.entry(data.source).or_default().push(node);
    }
    let is_store = |data: &NodeData| matches!(data.access, Access::Store { .. }) && data.flags.has(Flags::WRITE);
    let parts = graph.nodes().filter(|(_, data)| is_store(data) && part(graph, data).is_some());
    parts.into_iter().any(|(_, first)| {
        let later = &graph.thread(first.thread)[first.index as usize + 1..];
        let before_barrier = later.iter().take_while(|node| !is_barrier(&graph.node(**node).access, model));
        let passes = |node: &&Node| {
            let data = graph.node(**node);
            data.flags.has(Flags::WRITE) && data.place != first.place && can_pass(model, &first.access, &data.access)
        };
        let mut open: Vec<Node> = before_barrier.filter(passes).copied().collect();
        let mut met: FxHashSet<Node> = open.iter().copied().collect();
        while let Some(node) = open.pop() {
            let data = graph.node(node);
            if data.thread != first.thread && data.flags.has(Flags::WRITE) && data.place == first.place {
                return true;
            }
            let next = graph.next(node).filter(|_| data.thread != first.thread);
            let read_by = readers.get(&node).into_iter().flatten().copied();
            open.extend(next.into_iter().chain(read_by).filter(|node| met.insert(*node)));
        }
        false
    })
}

/// What an event accesses, if that is a part of its place. (A wait accesses nothing.)
fn part(graph: &Graph, data: &NodeData) -> Option<Location> {
    let at = data.access.location().filter(|_| data.place != Place::NONE)?;
    (at.as_hidden().is_none() && at != graph.location(data.place)).then_some(at)
}

/// Does it keep all that is behind it behind all that is before it, itself included?
fn is_barrier(access: &Access, model: Model) -> bool {
    match access {
        Access::Fence { order } => *order == FenceOrder::SeqCst,
        Access::Store { order, .. } => *order == StoreOrder::SeqCst,
        Access::Rmw { .. } | Access::CompareExchange { .. } => model == Model::Tso,
        Access::Load { .. } => false,
    }
}

/// Would the model let the second of two accesses pass the first, if they were to different locations?
fn can_pass(model: Model, first: &Access, second: &Access) -> bool {
    match (first, second) {
        (Access::Store { .. }, Access::Load { .. }) => true,
        (Access::Store { .. }, Access::Store { order, .. }) => model != Model::Tso && !order.releases(),
        (Access::Store { .. }, Access::Rmw { order, .. }) => model != Model::Tso && !order.store().releases(),
        // If it fails it is a load.
        (Access::Store { .. }, Access::CompareExchange { success, .. }) => *success != RmwOrder::SeqCst,
        (Access::Load { order, .. }, Access::Load { .. }) => model == Model::Pslo && !order.acquires(),
        (Access::Rmw { order, .. }, Access::Load { .. }) => model == Model::Pslo && !order.load().acquires(),
        (Access::CompareExchange { failure, .. }, Access::Load { .. }) => model == Model::Pslo && !failure.acquires(),
        _ => false,
    }
}
