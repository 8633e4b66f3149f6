//! What the hardware models share.
//!
//! Each is two demands and, where there are RMWs, a third:
//!
//! 1. [`uniproc`]: on every single byte, the execution is sequentially consistent;
//! 2. [`performed`]: there is an order in which the accesses are performed in memory, in keeping with what
//!    the model preserves of program order and with what the loads read;
//! 3. [`atomicity`]: no store gets between an RMW's read and its write.
//!
//! The models differ in what they preserve. To them a plain access is a relaxed one.

use super::Violation;
use super::execution::{Execution, NodeKind};
use super::relation::{Relation, Set};
use fencepost_trace::{FenceOrder, RmwOrder, StoreOrder};

/// On every byte: acyclic(po-loc ∪ rf ∪ mo ∪ rb).
///
/// It is asked of each byte by itself: two threads that each store one half of a word and load the whole may
/// both miss the other's half, each forwarding its own, as in SB.
pub fn uniproc(execution: &Execution) -> Result<(), Violation> {
    for region in &execution.regions {
        let here = Set::filter(execution.size(), |i| region.accesses.binary_search(&i).is_ok());
        let communication = Relation::from_pairs(execution.size(), region.rf().chain(region.mo()).chain(region.rb()));
        if let Some(cycle) = execution.po.restrict(&here, &here).union(&communication).find_cycle() {
            let message = format!("byte {:#x} is not coherent", region.address);
            return Err(execution.violation("uniproc", &cycle, message));
        }
    }
    Ok(())
}

/// On every byte: rmw ∩ rb;mo = ∅. Nothing is mo-between what an RMW read and what it wrote.
pub fn atomicity(execution: &Execution) -> Result<(), Violation> {
    for region in &execution.regions {
        for &(read, place) in &region.reads {
            let Some(write) = execution.rmw.successors(read).next() else { continue };
            // A write before its own read's source is a matter of coherence, not of atomicity.
            let own = region.writes.iter().position(|&w| w == write).unwrap_or(0);
            if own > place + 1 {
                let events = [region.writes[place], region.writes[place + 1], write];
                return Err(execution.violation("atomicity", &events, "a store between an RMW's read and its write"));
            }
        }
    }
    Ok(())
}

/// acyclic(preserved ∪ rfe ∪ mo ∪ rb), the halves of each RMW being one event.
///
/// rfi is left out: a load may read its own thread's store before that is performed.
pub fn performed(execution: &Execution, axiom: &'static str, preserved: &Relation) -> Result<(), Violation> {
    let order = preserved
        .union(&execution.external(&execution.rf))
        .union(&execution.mo)
        .union(&execution.rb)
        .contract(&execution.rmw);
    match order.find_cycle() {
        None => Ok(()),
        Some(cycle) => Err(execution.violation(axiom, &cycle, "these accesses cannot be performed in any order")),
    }
}

/// What lies before any of `barriers` in program order before what lies behind it.
pub fn across(execution: &Execution, barriers: &Set) -> Relation {
    execution.po.compose(&Relation::identity(barriers)).compose(&execution.po)
}

/// A seq_cst store is followed by a full barrier: itself and all before it come before all behind it.
pub fn seq_cst_stores(execution: &Execution) -> Relation {
    let stores =
        execution.set(|n| n.rmw.is_none() && matches!(n.kind, NodeKind::Write { order: StoreOrder::SeqCst, .. }));
    execution.po.reflexive().compose(&Relation::identity(&stores)).compose(&execution.po)
}

/// seq_cst fences.
pub fn full_fences(execution: &Execution) -> Set {
    execution.set(|n| n.kind == NodeKind::Fence { order: FenceOrder::SeqCst })
}

/// RMWs, and compare-exchanges that failed, that are full barriers themselves: of any order on TSO, with
/// seq_cst on the weaker models. A compare-exchange that failed has its failure order.
///
/// For RMWs that write, this follows from their being one event in [`performed`]: as stores they come behind what
/// is before them, as loads before what is behind. It is said all the same, as the definition says it.
pub fn full_rmws(execution: &Execution, of_any_order: bool) -> Set {
    execution.set(|n| match (n.kind, n.rmw) {
        (_, Some(order)) => of_any_order || order == RmwOrder::SeqCst,
        (NodeKind::Read { failed_rmw: true, .. }, None) => of_any_order || n.is_seq_cst(),
        _ => false,
    })
}

/// Everything before one of `events` in program order before it, and it before everything behind.
pub fn around(execution: &Execution, events: &Set) -> Relation {
    let all = execution.set(|_| true);
    execution.po.restrict(&all, events).union(&execution.po.restrict(events, &all)).union(&across(execution, events))
}

/// The orders of PSO and PSLO that come from the program's memory orders: on both, seq_cst and release.
pub fn release_orders(execution: &Execution) -> Relation {
    let (accesses, writes) = (execution.accesses(), execution.writes());
    let releasing = execution.set(|n| matches!(n.kind, NodeKind::Write { order, .. } if order.releases()));
    let fences = execution.set(|n| matches!(n.kind, NodeKind::Fence { order } if order.releases()));
    let full = across(execution, &full_fences(execution))
        .union(&around(execution, &full_rmws(execution, false)))
        .union(&seq_cst_stores(execution))
        .restrict(&accesses, &accesses);
    execution
        .po
        .restrict(&accesses, &releasing)
        .union(&across(execution, &fences).restrict(&accesses, &writes))
        .union(&full)
}
