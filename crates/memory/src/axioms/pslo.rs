//! Partial store load order: PSO in which loads may be early too.
//!
//! - preserved: program order from a load to a store;
//! - seq_cst and release as under [PSO](super::pso);
//! - an acquire (or stronger) load or RMW keeps all later accesses behind it;
//! - an acquire (or stronger) fence keeps later accesses behind the loads before it;
//! - an RMW is performed in memory at once, as under PSO; but unless it acquires, later loads may pass it.

use super::Violation;
use super::execution::{Execution, NodeKind};
use super::hardware::{across, atomicity, performed, release_orders, uniproc};
use super::relation::Relation;

/// Is the execution possible under PSLO?
pub fn check(execution: &Execution) -> Result<(), Violation> {
    uniproc(execution)?;
    atomicity(execution)?;
    performed(execution, "pslo", &preserved(execution))
}

/// What PSLO preserves of program order.
pub fn preserved(execution: &Execution) -> Relation {
    let (reads, writes, accesses) = (execution.reads(), execution.writes(), execution.accesses());
    let acquiring = execution.set(|n| matches!(n.kind, NodeKind::Read { order, .. } if order.acquires()));
    let fences = execution.set(|n| matches!(n.kind, NodeKind::Fence { order } if order.acquires()));
    let ppo = execution.po.restrict(&reads, &writes);
    ppo.union(&release_orders(execution))
        .union(&execution.po.restrict(&acquiring, &accesses))
        .union(&across(execution, &fences).restrict(&reads, &accesses))
}
