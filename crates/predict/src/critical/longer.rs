//! Cycles that are not critical: a location may come back, and the two accesses of a thread may be to one location.
//!
//! Each contains a critical cycle, so that they say nothing new of what can go wrong. Orion reports them all the same
//! (its cycles are minimal in the threads, not in the locations), and who compares the two misses them otherwise. With
//! two threads there are none that a model permits: all four accesses would be to one location, which is coherent.

use super::{Found, Graph, Limits, Shape};

impl Graph {
    /// The cycles of the two shapes of Orion's figure 4 that are not critical: no thread twice, a pair of accesses in
    /// program order from each or a store alone between two loads, and one pair that the model can reorder.
    pub fn longer_cycles(&self, limits: Limits) -> Found {
        if self.threads < 3 {
            return Found { complete: true, ..Found::default() };
        }
        let mut found = self.search(Shape::Any, limits);
        // What is left of the instances may be critical.
        let critical = self.cycles(Limits { instances: 0, ..limits });
        found.cycles.retain(|cycle, _| !critical.cycles.contains_key(cycle));
        found.complete &= critical.complete;
        found
    }
}
