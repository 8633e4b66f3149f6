//! Partial store order (SPARC PSO): a thread's stores reach memory late, those to one location in order.
//!
//! - preserved: program order from a load to any access;
//! - a seq_cst fence is a full barrier; so is a seq_cst RMW, and a compare-exchange that failed with a
//!   seq_cst failure order;
//! - a seq_cst store is followed by a full barrier;
//! - a release (or stronger) store or RMW comes after all earlier accesses;
//! - a release (or stronger) fence keeps earlier accesses before later stores; later loads may pass it;
//! - an RMW of any order is performed in memory at once: whatever comes before or behind one half comes before or
//!   behind the other. It reads, so that no later access passes it; but unless it releases, earlier
//!   stores to other locations may reach memory behind it. (Those to its own are before it in mo.)
//! - acquire means nothing: no access passes an earlier load.

use super::Violation;
use super::execution::Execution;
use super::hardware::{atomicity, performed, release_orders, uniproc};
use super::relation::Relation;

/// Is the execution possible under PSO?
pub fn check(execution: &Execution) -> Result<(), Violation> {
    uniproc(execution)?;
    atomicity(execution)?;
    performed(execution, "pso", &preserved(execution))
}

/// What PSO preserves of program order.
pub fn preserved(execution: &Execution) -> Relation {
    let ppo = execution.po.restrict(&execution.reads(), &execution.accesses());
    ppo.union(&release_orders(execution))
}
