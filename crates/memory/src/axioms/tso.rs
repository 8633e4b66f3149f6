//! Total store order (x86, SPARC TSO): a thread's stores reach memory late, in order.
//!
//! - preserved: program order between accesses, but for a store and a later load;
//! - a seq_cst fence is a full barrier; so is every RMW, and every compare-exchange that failed;
//! - a seq_cst store is followed by a full barrier;
//! - weaker fences, acquire and release mean nothing.

use super::Violation;
use super::execution::Execution;
use super::hardware::{across, around, atomicity, full_fences, full_rmws, performed, seq_cst_stores, uniproc};
use super::relation::Relation;

/// Is the execution possible under TSO?
pub fn check(execution: &Execution) -> Result<(), Violation> {
    uniproc(execution)?;
    atomicity(execution)?;
    performed(execution, "tso", &preserved(execution))
}

/// What TSO preserves of program order.
pub fn preserved(execution: &Execution) -> Relation {
    let (reads, writes, accesses) = (execution.reads(), execution.writes(), execution.accesses());
    let ppo = execution.po.difference(&Relation::product(&writes, &reads));
    ppo.union(&across(execution, &full_fences(execution)))
        .union(&around(execution, &full_rmws(execution, true)))
        .union(&seq_cst_stores(execution))
        .restrict(&accesses, &accesses)
}
