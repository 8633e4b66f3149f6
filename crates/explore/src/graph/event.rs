//! What an access is in a graph: its flags, which for a read follow from the value it reads.

use super::cells::{extract, weave};
use fencepost_engine::{Effect, WaitSets, effect};
use fencepost_memory::graph::{Flags, Graph, Node};
use fencepost_trace::{Access, FenceOrder, Guard, Hidden, LoadOrder, Location, Reply, StoreOrder, Value};

/// What a read does to its thread: [`Effect`], with partial stores to a cell as RMWs.
pub(crate) enum ReadEffect {
    Load { order: LoadOrder, failed_rmw: bool, reply: Reply },
    Rmw { order: StoreOrder, written: Value, reply: Reply, weaves: bool },
    Blocked,
}

pub(crate) fn read_effect(
    cell: Location,
    access: &Access,
    whole: Value,
    variant: u32,
    sets: &mut WaitSets,
) -> ReadEffect {
    let whole_with = |part: Value| weave(cell, access, whole, part);
    if let Access::Store { order, value, .. } = *access {
        return ReadEffect::Rmw { order, written: whole_with(value), reply: Reply::NONE, weaves: true };
    }
    match effect(access, extract(cell, access, whole), variant, sets) {
        Effect::Blocked => ReadEffect::Blocked,
        Effect::Load { order, failed_rmw, reply } => ReadEffect::Load { order, failed_rmw, reply },
        Effect::Rmw { order, written, reply } => {
            ReadEffect::Rmw { order: order.store(), written: whole_with(written), reply, weaves: false }
        }
    }
}

/// Lets `read` read `source`: what it is (an RMW, a failed one, a wait) follows from the value. The flags say that.
pub(crate) fn set_source(graph: &mut Graph, read: Node, source: Node, variant: u32, sets: &WaitSets) -> Flags {
    let data = graph.node(read);
    let value = graph.written(data.place, source);
    let flags = read_flags(graph.location(data.place), &data.access, value, variant, sets);
    graph.set_source(read, source, value, variant, flags);
    flags
}

/// What a read of this value is. That takes less than its [effect](read_effect).
pub(crate) fn read_flags(cell: Location, access: &Access, whole: Value, variant: u32, sets: &WaitSets) -> Flags {
    let guard = access.guard();
    if guard != Guard::Any && !sets.passes(guard, extract(cell, access, whole)) {
        return Flags::READ.with(Flags::BLOCKED);
    }
    match *access {
        Access::Load { order, .. } => load_flags(order),
        Access::Rmw { order, .. } => load_flags(order.load()).with(Flags::EXCLUSIVE),
        Access::CompareExchange { expected, success, failure, .. } => {
            if extract(cell, access, whole) == expected && variant == 0 {
                load_flags(success.load()).with(Flags::EXCLUSIVE)
            } else {
                load_flags(failure).with(Flags::FAILED)
            }
        }
        Access::Store { order, .. } => {
            let order = if order == StoreOrder::Plain { LoadOrder::Plain } else { LoadOrder::Relaxed };
            load_flags(order).with(Flags::EXCLUSIVE).with(Flags::WEAVES)
        }
        Access::Fence { .. } => unreachable!("fences read nothing"),
    }
}

pub(crate) fn store_flags(order: StoreOrder) -> Flags {
    Flags::WRITE
        .with(Flags::when(order.releases(), Flags::RELEASE))
        .with(Flags::when(order == StoreOrder::SeqCst, Flags::SC))
        .with(Flags::when(order == StoreOrder::Plain, Flags::PLAIN))
}

fn load_flags(order: LoadOrder) -> Flags {
    Flags::READ
        .with(Flags::when(order.acquires(), Flags::ACQUIRE))
        .with(Flags::when(order == LoadOrder::SeqCst, Flags::SC))
        .with(Flags::when(order == LoadOrder::Plain, Flags::PLAIN))
}

fn fence_flags(order: FenceOrder) -> Flags {
    Flags::FENCE
        .with(Flags::when(order.acquires(), Flags::ACQUIRE))
        .with(Flags::when(order.releases(), Flags::RELEASE))
        .with(Flags::when(order == FenceOrder::SeqCst, Flags::SC))
}

/// Half of a store to part of a cell?
pub(crate) fn is_weaving(flags: Flags) -> bool {
    flags.has(Flags::WEAVES)
}

/// Reads that are not choices: a thread's start and a join, whose source is fixed.
pub(crate) fn is_forced(at: Location) -> bool {
    at.is_hidden(Hidden::ThreadStart) || at.is_hidden(Hidden::ThreadEnd)
}

pub(crate) fn is_join(at: Location) -> bool {
    at.is_hidden(Hidden::ThreadEnd)
}

/// What a store or fence is.
pub(crate) fn write_flags(access: &Access) -> Flags {
    match *access {
        Access::Fence { order } => fence_flags(order),
        Access::Store { order, .. } => store_flags(order),
        _ => unreachable!("what a read is follows from what it reads"),
    }
}
