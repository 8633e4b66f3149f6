//! SC, TSO, PSO and PSLO: the edges out of an event.
//!
//! Each model is one acyclic relation over events: what it preserves of program order, the order of
//! barriers, communication between threads (reads-from of another thread, coherence, and reads-before). Preserved
//! program order is transitive but not a chain, so that the functions below follow a few edges whose
//! closure is that order; NOTE says where this is not obvious.

use super::Search;
use crate::graph::{Flags, Graph, Node, NodeData};
use fencepost_trace::Model;

/// Coherence with the thread's own accesses to the location (*uniproc*): an access may not stand before
/// what its thread has already seen. Reads and writes of one thread move forward in coherence order, so the
/// access before it in program order tells all.
pub(super) fn floor(graph: &Graph, node: Node) -> u32 {
    let data = graph.node(node);
    let earlier = &graph.thread(data.thread)[..data.index as usize];
    earlier.iter().rev().find(|n| graph.node(**n).place == data.place).map_or(0, |before| graph.position_of(*before))
}

/// Coherence and reads-before, which all models keep whole: to the next write of the location.
fn push_next_write(graph: &Graph, node: Node, search: &mut Search) {
    let place = graph.node(node).place;
    if let Some(next) = graph.writes(place).get(graph.position_of(node) as usize + 1) {
        search.push(*next);
    }
}

/// With more reads of a place than this, it pays to find out once who reads what.
const MANY_READS: usize = 12;

fn push_readers(graph: &Graph, write: Node, own_thread_too: bool, search: &mut Search) {
    let data = graph.node(write);
    let reads = graph.reads(data.place);
    if reads.len() > MANY_READS {
        return push_some_readers(graph, write, own_thread_too, search);
    }
    for read in reads {
        let reader = graph.node(*read);
        if reader.source == write && (own_thread_too || reader.thread != data.thread) {
            search.push(*read);
        }
    }
}

#[inline(never)]
fn push_some_readers(graph: &Graph, write: Node, own_thread_too: bool, search: &mut Search) {
    let data = graph.node(write);
    search.readers.find(graph, data.place, search.round);
    let mut read = search.readers.first[write.index()];
    while read != Node::INIT {
        if own_thread_too || graph.node(read).thread != data.thread {
            search.push(read);
        }
        read = search.readers.next[read.index()];
    }
}

fn push_communication(graph: &Graph, node: Node, own_thread_too: bool, search: &mut Search) {
    let flags = graph.node(node).flags;
    if flags.has(Flags::FENCE) {
        return;
    }
    push_next_write(graph, node, search);
    if flags.has(Flags::WRITE) {
        push_readers(graph, node, own_thread_too, search);
    }
}

/// Half of an RMW of the program's; a store to part of a cell is none.
fn is_rmw(flags: Flags) -> bool {
    flags.has(Flags::EXCLUSIVE) && !flags.has(Flags::WEAVES)
}

/// A load of the program's. What a store to part of a cell reads of the rest is none: it stands for the store's place
/// in coherence order, and that store may still be in a buffer when later loads are performed.
fn is_load(flags: Flags) -> bool {
    flags.has(Flags::READ) && !flags.has(Flags::WEAVES)
}

/// Is it before everything later in its thread, under tso and pso alike?
fn orders_all_later(flags: Flags) -> bool {
    is_load(flags)
        || is_rmw(flags)
        || flags.has(Flags::WRITE.with(Flags::SC))
        || flags.has(Flags::FENCE.with(Flags::SC))
}

/// acyclic(po ∪ rf ∪ mo ∪ rb)
pub(super) fn sc(graph: &Graph, node: Node, search: &mut Search) {
    sc_program(graph, node, &mut |next| search.push(next));
    push_communication(graph, node, true, search);
}

fn sc_program(graph: &Graph, node: Node, push: &mut impl FnMut(Node)) {
    if let Some(next) = graph.next(node) {
        push(next);
    }
}

/// The edges that the program alone gives, whatever is read: what `model` preserves of program order, and barriers.
pub(super) fn program_order(model: Model, graph: &Graph, node: Node, push: &mut impl FnMut(Node)) {
    match model {
        Model::Sc => sc_program(graph, node, push),
        Model::Tso => tso_program(graph, node, push),
        Model::Pslo => pslo_program(graph, node, push),
        _ => pso_program(graph, node, push),
    }
}

/// Everything later in the thread. The next read orders what comes after it, so that the scan ends there.
fn push_all_later(graph: &Graph, data: &NodeData, push: &mut impl FnMut(Node)) {
    for later in &graph.thread(data.thread)[data.index as usize + 1..] {
        push(*later);
        if is_load(graph.node(*later).flags) {
            break;
        }
    }
}

/// Where accesses have different extents: the later loads of the thread that cannot be forwarded whole from its newest
/// store that overlaps them. They wait until this store and all others that overlap them are in memory.
fn push_loads_that_wait(graph: &Graph, data: &NodeData, push: &mut impl FnMut(Node)) {
    let Some(at) = data.access.location().filter(|_| data.flags.has(Flags::WRITE.with(Flags::WEAVES))) else { return };
    let later = &graph.thread(data.thread)[data.index as usize + 1..];
    for (i, node) in later.iter().enumerate() {
        let load = graph.node(*node);
        let Some(read) = load.access.location().filter(|_| load.place == data.place && is_load(load.flags)) else {
            continue;
        };
        let stores = later[..i].iter().rev().map(|node| graph.node(*node));
        let overlaps = |store: &NodeData| {
            let written =
                store.access.location().filter(|_| store.place == data.place && store.flags.has(Flags::WRITE));
            written.filter(|written| written.overlaps(read))
        };
        let newest = stores.filter_map(overlaps).next().unwrap_or(at);
        if at.overlaps(read) && !newest.covers(read) {
            push(*node);
        }
    }
}

/// TSO: everything but store → load. RMWs, failed ones too, and seq_cst fences are full barriers, and a
/// seq_cst store is followed by one.
pub(super) fn tso(graph: &Graph, node: Node, search: &mut Search) {
    tso_program(graph, node, &mut |next| search.push(next));
    push_communication(graph, node, false, search);
}

fn tso_program(graph: &Graph, node: Node, push: &mut impl FnMut(Node)) {
    let data = graph.node(node);
    if orders_all_later(data.flags) {
        push_all_later(graph, data, push);
    } else if data.flags.has(Flags::WRITE) {
        push_loads_that_wait(graph, data, push);
        // To the next write or barrier, each of which orders what comes after it.
        let next = graph.thread(data.thread)[data.index as usize + 1..].iter().find(|later| {
            let later = graph.node(**later).flags;
            later.any(Flags::WRITE.with(Flags::FAILED)) || is_rmw(later) || later.has(Flags::FENCE.with(Flags::SC))
        });
        if let Some(next) = next {
            push(*next);
        }
    }
}

/// PSO: load → anything. Release stores and RMWs come after everything earlier, release fences keep everything
/// earlier before later stores; seq_cst fences and compare-exchanges are full barriers, and a seq_cst store is
/// followed by one.
pub(super) fn pso(graph: &Graph, node: Node, search: &mut Search) {
    pso_program(graph, node, &mut |next| search.push(next));
    push_communication(graph, node, false, search);
}

fn pso_program(graph: &Graph, node: Node, push: &mut impl FnMut(Node)) {
    let data = graph.node(node);
    // NOTE: an RMW is performed in memory at once, so that its write half is before whatever its read half is.
    if orders_all_later(data.flags) {
        push_all_later(graph, data, push);
    } else if data.flags.has(Flags::WRITE) || data.flags.has(Flags::FENCE.with(Flags::RELEASE)) {
        push_loads_that_wait(graph, data, push);
        let fence = data.flags.has(Flags::FENCE);
        for later in &graph.thread(data.thread)[data.index as usize + 1..] {
            let flags = graph.node(*later).flags;
            // NOTE: what collects everything earlier (a release store, RMW or fence, a full barrier) is before the
            // next one that does, so that the first is enough. A fence, however, is also before the stores behind a
            // release store, which that store does not order.
            if collects(graph, *later, flags) {
                push(*later);
                if !fence || flags.has(Flags::FENCE) || orders_all_later(flags) {
                    break;
                }
                continue;
            }
            // The read half of a weaker RMW is before its write half, which must wait for earlier epochs.
            if fence && (flags.has(Flags::WRITE) || is_rmw(flags)) {
                push(*later);
            }
        }
    }
}

/// Does it come after every earlier access of its thread?
fn collects(graph: &Graph, node: Node, flags: Flags) -> bool {
    if flags.has(Flags::READ) && is_rmw(flags) {
        // The order of an RMW's store shows on its write half.
        return graph.next(node).is_some_and(|write| graph.node(write).flags.has(Flags::RELEASE));
    }
    flags.has(Flags::RELEASE) || flags.has(Flags::READ.with(Flags::FAILED).with(Flags::SC))
}

/// PSLO: load → store. Release and seq_cst as under PSO. An acquiring load or RMW comes before everything later, and an
/// acquire fence keeps the loads before it before everything behind it.
pub(super) fn pslo(graph: &Graph, node: Node, search: &mut Search) {
    pslo_program(graph, node, &mut |next| search.push(next));
    push_communication(graph, node, false, search);
}

fn pslo_program(graph: &Graph, node: Node, push: &mut impl FnMut(Node)) {
    let data = graph.node(node);
    let later = &graph.thread(data.thread)[data.index as usize + 1..];
    let full = Flags::FENCE.with(Flags::SC);
    // NOTE: as under PSO, the write half of an RMW is before whatever its read half is.
    let read = match data.flags {
        flags if is_load(flags) => Some(flags),
        flags if is_rmw(flags) => graph.previous(node).map(|read| graph.node(read).flags),
        _ => None,
    };
    if read.is_some_and(|read| read.has(Flags::ACQUIRE))
        || data.flags.has(full)
        || data.flags.has(Flags::WRITE.with(Flags::SC))
    {
        later.iter().for_each(|later| push(*later));
        return;
    }
    push_loads_that_wait(graph, data, push);
    let fence = data.flags.has(Flags::FENCE);
    if fence && !data.flags.has(Flags::RELEASE) {
        return;
    }
    // NOTE: an acquire fence is no event on the way, since a store before it is not before a load behind it.
    let mut acquired = false;
    for next in later {
        let flags = graph.node(*next).flags;
        let ordered = match flags {
            _ if acquired => true,
            flags if flags.has(full) => !fence,
            flags if flags.has(Flags::FENCE) => {
                acquired = read.is_some() && flags.has(Flags::ACQUIRE);
                !fence && flags.has(Flags::RELEASE)
            }
            flags if flags.has(Flags::WRITE) && (fence || read.is_some()) => true,
            flags => !fence && collects(graph, *next, flags),
        };
        if ordered {
            push(*next);
        }
    }
}
