//! Data races under the hardware models. They are no errors there, but told beside the verdict.
//!
//! Two accesses of different threads to the same memory race if one of them writes, one of them is plain, and neither
//! happens before the other: by program order, creation and end of threads, locks and the like, and by atomics as C11
//! has it, all along the execution at hand. Plain accesses that may race are events of every execution that has them,
//! so that the graph says it all.

use super::request;
use super::workers::locked;
use crate::platform::global::Global;
use crate::platform::modules;
use crate::results;
use fencepost_explore::graph::all_races;
use fencepost_mailbox::{Record, Stack};
use fencepost_memory::graph::{Flags, Graph, NodeData, Place};
use fencepost_trace::{Action, CampaignSpec, Method, Model};
use rustc_hash::FxHashSet;

/// The pairs of program points that were told.
static TOLD: Global<Option<FxHashSet<(u32, u32)>>> = Global::new(None);

/// A graph that is looked at in place of another one. It stays, so that memory is not asked for again and again.
static COPY: Global<Option<Graph>> = Global::new(None);

/// The exploration begins, perhaps not for the first time.
pub(super) fn begin() {
    *TOLD.enter() = Some(FxHashSet::default());
}

/// Tells of the races of an execution that were not met before.
pub(super) fn look(graph: &Graph) {
    let has_plain = || (0..graph.places() as u32).any(|place| graph.plain_accesses(Place(place)) > 0);
    let request = request();
    if request.model == Model::C11 || !request.watch.is_empty() || request.hunt.is_some() || !has_plain() {
        return;
    }
    let CampaignSpec::Explore { method: Method::Rf | Method::Causal, .. } = request.campaign else {
        return tell(graph);
    };
    // Sources change there when questions are answered, and clocks do not.
    let mut copy = COPY.enter();
    let copy = copy.get_or_insert_with(|| graph.clone());
    copy.clone_from(graph);
    copy.refresh_clocks();
    tell(copy);
}

fn tell(graph: &Graph) {
    for (first, second) in all_races(graph) {
        let [first, second] = [first, second].map(|node| graph.node(node));
        let points = (first.label.min(second.label), first.label.max(second.label));
        if TOLD.enter().get_or_insert_default().insert(points) {
            let record = Record::Race { first: access(first), second: access(second) };
            locked(|| results::log(&record));
        }
    }
}

fn access(data: &NodeData) -> Stack {
    let access = match (data.flags.has(Flags::PLAIN), data.flags.has(Flags::WRITE)) {
        (true, true) => Action::Write,
        (true, false) => Action::Read,
        (false, true) => Action::AtomicWrite,
        (false, false) => Action::AtomicRead,
    };
    Stack { thread: data.thread.0, access, frames: vec![modules::place(data.label)] }
}
