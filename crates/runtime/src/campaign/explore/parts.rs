//! Accesses to parts of what others access as a whole.
//!
//! An exploration has one place for all bytes that overlapping accesses tie together (`explore::graph::cells`), and
//! coherence orders what a thread does there. Of two accesses that have no byte in common, a hardware model would let
//! the second pass the first. Executions in which it does are not explored, and that is said: nothing is proved then.
//!
//! A store to a part takes over the rest of its place from the store before it. Methods that leave the order of stores
//! open, as far as nobody reads it, do not know which that is; under sc that makes no difference, since what is read
//! decides.

use super::{request, unsupported};
use crate::results;
use fencepost_memory::graph::{Graph, NodeData};
use fencepost_trace::{Access, FenceOrder, Location, Model, RmwOrder, StoreOrder};
use rustc_hash::FxHashMap;

/// Looks whether the model could reorder accesses of an execution that the exploration keeps in order. Is the execution
/// one that there is?
pub(super) fn look(graph: &Graph) -> bool {
    let model = request().watch.first().copied().unwrap_or(request().model);
    let is_part = |data: &NodeData| part(graph, data).is_some();
    if !matches!(model, Model::Tso | Model::Pso | Model::Pslo) || !graph.nodes().any(|(_, data)| is_part(data)) {
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
    true
}

/// What an event accesses, if that is a part of its place.
fn part(graph: &Graph, data: &NodeData) -> Option<Location> {
    data.access.location().filter(|at| at.as_hidden().is_none() && *at != graph.location(data.place))
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
