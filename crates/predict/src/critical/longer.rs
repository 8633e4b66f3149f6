//! Cycles that are not critical: a location may come back, and the two accesses of a thread may be to one location.
//!
//! Each contains a critical cycle, so that they say nothing new of what can go wrong. Orion reports them all the same
//! (its cycles are minimal in the threads, not in the locations), and who compares the two misses them otherwise. With
//! two threads there are none that a model permits: all four accesses would be to one location, which is coherent.

use super::{Found, Graph, Limits, Search};

impl Graph {
    /// The cycles of the two shapes of Orion's figure 4 that are not critical: no thread twice, a pair of accesses in
    /// program order from each or a store alone between two loads, and one pair that the model can reorder.
    pub fn longer_cycles(&self, limits: Limits) -> Found {
        let mut search = Search::new(self, limits);
        if self.threads < 3 {
            return search.found;
        }
        for a in 0..self.nodes.len() as u32 {
            for (b, _) in self.pairs[a as usize].iter().filter(|(_, passes)| *passes) {
                search.longer_from(a, *b);
                search.starts.insert((a, *b));
            }
        }
        // What is left of the instances may be critical.
        let critical = self.cycles(Limits { instances: 0, ..limits });
        search.found.cycles.retain(|cycle, _| !critical.cycles.contains_key(cycle));
        search.found.complete &= critical.complete;
        search.found
    }
}

impl Search<'_> {
    fn longer_from(&mut self, a: u32, b: u32) {
        let thread = self.node(a).thread as usize;
        self.used[thread] = true;
        self.path.push((a, Some(b)));
        self.go_on(b, 2);
        self.path.pop();
        self.used[thread] = false;
    }

    /// Closes the cycle behind `current`, the last of so many accesses, if it can be, and goes on behind it.
    fn go_on(&mut self, current: u32, length: usize) {
        self.steps += 1;
        if self.limits.are_reached(self.steps) {
            self.found.complete = false;
            return;
        }
        let graph = self.graph;
        let start = self.path[0].0;
        let after_single = self.path.last().is_some_and(|(_, second)| second.is_none());
        let begins = !after_single || !self.node(start).access.1;
        if self.path.len() > 1 && begins && graph.conflicts[current as usize].contains(&start) {
            self.report();
        }
        for next in &graph.conflicts[current as usize] {
            let one = *self.node(*next);
            // As in a critical cycle: a store alone is between two loads that do not write.
            if self.used[one.thread as usize] || length + 1 > self.length || after_single && one.access.1 {
                continue;
            }
            self.used[one.thread as usize] = true;
            if !self.node(current).access.1 && one.access.1 && !after_single {
                self.path.push((*next, None));
                self.go_on(*next, length + 1);
                self.path.pop();
            }
            if length + 2 <= self.length {
                let others = graph.pairs[*next as usize].iter().filter(|(second, passes)| {
                    // Cycles with this pair have been found from there.
                    !*passes || !self.starts.contains(&(*next, *second))
                });
                let others: Vec<u32> = others.map(|(second, _)| *second).collect();
                for second in others.into_iter().chain(graph.same[*next as usize].iter().copied()) {
                    self.path.push((*next, Some(second)));
                    self.go_on(second, length + 2);
                    self.path.pop();
                }
            }
            self.used[one.thread as usize] = false;
        }
    }
}
