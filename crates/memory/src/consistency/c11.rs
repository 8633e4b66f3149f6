//! C/C++20 (RC11): coherence and the order of seq_cst events.
//!
//! Happens-before and `sb ∪ rf` are kept by the graph's clocks, atomicity is checked for all models alike.
//! What is left of the axioms for a new event that is the last of its thread:
//!
//! - coherence, `hb ; eco?` irreflexive: nothing that happens before the event may have seen a later write than it
//!   does;
//! - `psc` acyclic, where a cycle must leave the new event by coherence or reads-before: no other edge leads out of it.

use super::Search;
use crate::graph::{Flags, Graph, Node, Place};

/// The last write in coherence order that something before the access, in happens-before, wrote or read.
pub(super) fn floor(graph: &Graph, node: Node) -> u32 {
    let place = graph.node(node).place;
    let writes = graph.writes(place);
    if writes.len() == 1 {
        return 0;
    }
    let before = graph.hb_clock(node);
    let is_before = |other: Node| {
        let data = graph.node(other);
        other != node && before.get(data.thread.index()).is_some_and(|seen| *seen > data.index)
    };
    let last = writes.len() as u32 - 1;
    let mut floor = (1..writes.len()).rfind(|position| is_before(writes[*position])).unwrap_or(0) as u32;
    for read in graph.reads(place).iter().rev() {
        // Nobody can have seen more.
        if floor == last {
            break;
        }
        if is_before(*read) {
            floor = floor.max(graph.position_of(*read));
        }
    }
    floor
}

/// No cycle of `psc` goes through the new event.
pub(super) fn sc_order(graph: &Graph, node: Node, search: &mut Search) -> bool {
    let data = graph.node(node);
    if data.flags.has(Flags::SC) {
        return !search.cycle_through(graph, node, psc);
    }
    // Otherwise a new edge of psc starts at a seq_cst fence that happens before the event. Of the fences of one
    // thread the last is enough: the earlier ones are before it in psc.
    for (i, fence) in graph.sc_fences().iter().enumerate() {
        if !graph.hb(*fence, node) {
            continue;
        }
        let thread = graph.node(*fence).thread;
        let later = graph.sc_fences()[i + 1..].iter().any(|f| graph.node(*f).thread == thread && graph.hb(*f, node));
        if later {
            continue;
        }
        if search.cycle_through(graph, *fence, psc) {
            return false;
        }
    }
    true
}

/// The edges of
/// `psc = ([SC] ∪ [Fsc];hb?) ; scb ; ([SC] ∪ hb?;[Fsc])  ∪  [Fsc];(hb ∪ hb;eco;hb);[Fsc]`
/// with `scb = sb ∪ sb≠loc;hb;sb≠loc ∪ hb|loc ∪ mo ∪ rb`.
fn psc(graph: &Graph, from: Node, search: &mut Search) {
    if graph.node(from).flags.has(Flags::FENCE) {
        psc_from_fence(graph, from, search)
    } else {
        psc_from_access(graph, from, search)
    }
}

/// `scb` reaches `to`: on to it, and to the seq_cst fences that it happens before.
fn arrive(graph: &Graph, to: Node, search: &mut Search) {
    if graph.node(to).flags.has(Flags::SC) {
        search.push(to);
    }
    arrive_at_fences(graph, to, search);
}

fn arrive_at_fences(graph: &Graph, to: Node, search: &mut Search) {
    for fence in graph.sc_fences() {
        if graph.hb(to, *fence) {
            search.push(*fence);
        }
    }
}

fn psc_from_access(graph: &Graph, from: Node, search: &mut Search) {
    let data = graph.node(from);
    let later = &graph.thread(data.thread)[data.index as usize + 1..];
    for next in later {
        arrive(graph, *next, search);
    }
    // sb≠loc ; hb ; sb≠loc. The earliest event elsewhere happens before the most.
    let elsewhere = later.iter().find(|n| graph.node(**n).place != data.place).copied();
    for (to, target) in graph.nodes() {
        let through = elsewhere.is_some_and(|first| {
            target.previous_elsewhere != Node::INIT
                && target.thread != data.thread
                && graph.hb(first, target.previous_elsewhere)
        });
        if through || (target.place == data.place && graph.hb(from, to)) {
            arrive(graph, to, search);
        }
    }
    for to in &graph.writes(data.place)[graph.position_of(from) as usize + 1..] {
        arrive(graph, *to, search);
    }
}

fn psc_from_fence(graph: &Graph, fence: Node, search: &mut Search) {
    arrive_at_fences(graph, fence, search);
    let mut after = |node: Node| node == fence || graph.hb(fence, node);
    for (to, target) in graph.nodes() {
        // hb? ; sb, which takes in hb? ; sb≠loc ; hb ; sb≠loc
        let by_sb = target.index > 0 && graph.previous(to).is_some_and(&mut after);
        if by_sb {
            arrive(graph, to, search);
        }
    }
    for place in (0..graph.places() as u32).map(Place) {
        psc_from_fence_at(graph, fence, place, search);
    }
}

/// `[Fsc];hb ; (hb|loc ∪ mo ∪ rb)` and `[Fsc];hb;eco;hb;[Fsc]` by way of one location.
fn psc_from_fence_at(graph: &Graph, fence: Node, place: Place, search: &mut Search) {
    let (writes, reads) = (graph.writes(place), graph.reads(place));
    let accesses = || writes.iter().skip(1).chain(reads).copied();
    let mut least = u32::MAX;
    for access in accesses().filter(|a| graph.hb(fence, *a)) {
        least = least.min(graph.position_of(access));
        for to in accesses().filter(|to| graph.hb(access, *to)) {
            arrive(graph, to, search);
        }
    }
    if least == u32::MAX {
        return;
    }
    for to in writes.iter().skip(least as usize + 1) {
        arrive(graph, *to, search);
    }
    // eco ends in rf: reads of later writes, and of the fence's own side's writes.
    for read in reads {
        let source = graph.node(*read).source;
        if graph.position_of(*read) > least || (source != Node::INIT && graph.hb(fence, source)) {
            arrive_at_fences(graph, *read, search);
        }
    }
}
