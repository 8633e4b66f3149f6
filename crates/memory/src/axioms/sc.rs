//! Sequential consistency: acyclic(po ∪ rf ∪ mo ∪ rb), and RMWs are atomic.
//!
//! Orders and fences mean nothing.

use super::Violation;
use super::execution::Execution;
use super::hardware::atomicity;

/// Is the execution sequentially consistent?
pub fn check(execution: &Execution) -> Result<(), Violation> {
    let order = execution.po.union(&execution.rf).union(&execution.mo).union(&execution.rb);
    if let Some(cycle) = order.find_cycle() {
        return Err(execution.violation("sc", &cycle, "no interleaving of the threads has these accesses"));
    }
    atomicity(execution)
}
