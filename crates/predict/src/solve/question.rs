//! One question: can these steps be put in an order that contains the cycle?

use super::history::LONGEST;
use super::partial::Order;
use super::{Choice, Lane, Solver};
use crate::profile::Item;
use fencepost_trace::{Location, Schedule, ScheduleStep, Value};
use rustc_hash::FxHashMap;
use std::sync::atomic::Ordering;

/// After so many dead ends a question is given up.
const MOST_CONFLICTS: u32 = 200;
/// Questions with more steps than this are answered as was seen or not at all.
const CAREFUL: usize = 160;

/// Which store a load reads: a step, or the initial value.
const INIT: usize = usize::MAX;

/// Either `w` (another store) comes before the store that is read, or behind the read.
#[derive(Clone, Copy)]
struct Either {
    read: usize,
    from: usize,
    other: usize,
}

pub struct Question<'a> {
    /// The steps, thread by thread, with their thread and position.
    steps: Vec<(Item, u32, u32)>,
    order: Order,
    /// For each location its stores.
    stores: FxHashMap<u64, Vec<usize>>,
    /// The steps that read, and what they may read.
    pub reads: Vec<(usize, Vec<usize>)>,
    /// What they read.
    from: Vec<usize>,
    /// Conflicts of the cycle.
    conflicts: Vec<(usize, usize)>,
    /// The last accesses of the cycle.
    free: Vec<usize>,
    /// What is not decided yet.
    open: Vec<Either>,
    dead_ends: u32,
    initial: &'a FxHashMap<Location, Value>,
}

impl<'a> Question<'a> {
    pub fn new(solver: &'a Solver<'_>, lanes: &[Lane], choice: &Choice, free: &[(u32, u32)]) -> Option<Question<'a>> {
        let mut steps = Vec::new();
        let mut start = vec![0; lanes.len()];
        for (t, lane) in lanes.iter().enumerate() {
            start[t] = steps.len();
            if lane.end > 0 {
                let thread = &solver.profiles[lane.profile as usize].threads[t][..lane.end];
                steps.extend(thread.iter().enumerate().map(|(i, item)| (*item, t as u32, i as u32)));
            }
        }
        if steps.len() > LONGEST {
            solver.cut.store(true, Ordering::Relaxed);
            return None;
        }
        let at = |t: u32, i: u32| start[t as usize] + i as usize;
        let n = choice.len();
        let conflicts: Vec<(usize, usize)> = (0..n)
            .map(|k| {
                let (a, b) = (choice[k], choice[(k + 1) % n]);
                (at(a.1, a.3), at(b.1, b.2))
            })
            .collect();
        let mut question = Question {
            order: Order::new(steps.len()),
            stores: FxHashMap::default(),
            reads: Vec::new(),
            from: vec![INIT; steps.len()],
            conflicts,
            free: free.iter().map(|(t, j)| at(*t, *j)).collect(),
            open: Vec::new(),
            dead_ends: 0,
            initial: &solver.initial,
            steps,
        };
        for (t, lane) in lanes.iter().enumerate().filter(|(_, lane)| lane.end > 0) {
            let order = solver.histories.order(solver.histories.history(lane.profile, t as u32));
            for i in 0..lane.end {
                for j in (i + 1..lane.end).filter(|j| order.has(i, *j)) {
                    question.order.set(start[t] + i, start[t] + j);
                }
            }
        }
        for (s, (item, ..)) in question.steps.iter().enumerate() {
            if item.kind.writes {
                question.stores.entry(item.at.address / 16).or_default().push(s);
                let last = (item.at.end() - 1) / 16;
                if last != item.at.address / 16 {
                    question.stores.entry(last).or_default().push(s);
                }
            }
        }
        for s in 0..question.steps.len() {
            if question.steps[s].0.kind.reads {
                let inside = |(u, k): &(u32, u32)| (*k as usize) < lanes[*u as usize].end;
                let source = match question.steps[s].0.from {
                    None => Some(INIT),
                    Some(from) if inside(&from) => Some(at(from.0, from.1)),
                    Some(_) => None,
                };
                let candidates = question.candidates(s, source, question.free.contains(&s));
                if candidates.is_empty() {
                    return None;
                }
                question.reads.push((s, candidates));
            }
        }
        // The fewer there are to choose from, the earlier.
        question.reads.sort_by_key(|(s, candidates)| (candidates.len(), question.steps[*s].0.time));
        Some(question)
    }

    /// The stores that overlap a step's location, itself aside.
    fn stores_at(&self, s: usize) -> Vec<usize> {
        let at = self.steps[s].0.at;
        let (first, last) = (at.address / 16, (at.end() - 1) / 16);
        let mut found: Vec<usize> = Vec::new();
        for block in first..=last {
            let here = self.stores.get(&block).into_iter().flatten();
            found.extend(here.filter(|w| **w != s && self.steps[**w].0.at.overlaps(at)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// What a read may read: first what it read, then other stores of the same value, or any if nothing depends on
    /// the value.
    fn candidates(&self, s: usize, source: Option<usize>, free: bool) -> Vec<usize> {
        let (item, thread, index) = self.steps[s];
        let valid = |w: usize| {
            let (store, t, i) = &self.steps[w];
            store.kind.writes && store.at.overlaps(item.at) && (*t != thread || *i < index)
        };
        let mut list: Vec<usize> = Vec::new();
        // In another execution's words the source may be something else.
        if let Some(seen) = source.filter(|w| *w == INIT || valid(*w)) {
            if free || seen == INIT || self.steps[seen].0.written == item.read {
                list.push(seen);
            } else if self.steps[seen].0.at != item.at {
                // Bytes of several stores: only what was seen is known to give the value.
                return vec![seen];
            }
        }
        for w in self.stores_at(s) {
            let store = &self.steps[w].0;
            if valid(w) && store.at == item.at && (free || store.written == item.read) {
                list.push(w);
            }
        }
        if free || self.initial.get(&item.at) == Some(&item.read) {
            list.push(INIT);
        }
        let mut unique = Vec::new();
        for w in list {
            if !unique.contains(&w) {
                unique.push(w);
            }
        }
        unique
    }

    /// Is the read of this number one of the last accesses of the cycle, whose value nothing depends on?
    pub fn is_free(&self, k: usize) -> bool {
        self.free.contains(&self.reads[k].0)
    }

    /// What a read gets from a store; `None` if it is not known.
    pub fn value(&self, read: usize, store: usize) -> Option<Value> {
        match store {
            INIT => self.initial.get(&self.steps[read].0.at).copied(),
            store => Some(self.steps[store].0.written),
        }
    }

    /// How much was done to answer it.
    pub fn work(&self) -> u64 {
        self.order.work
    }

    /// Forgets the answer.
    pub fn start_over(&mut self) {
        self.order.undo(0);
        self.open.clear();
        self.dead_ends = 0;
    }

    /// Looks for an order.
    pub fn answer(&mut self) -> bool {
        for k in 0..self.conflicts.len() {
            let (a, b) = self.conflicts[k];
            // A load behind a store reads it or a later one: see `reads_from`.
            let behind = self.steps[b].0.kind.writes;
            if behind && !self.order.add(a, b) {
                return false;
            }
        }
        self.assign(0)
    }

    /// Decides what the `k`-th read and all later ones read.
    fn assign(&mut self, k: usize) -> bool {
        if k == self.reads.len() {
            return self.decide();
        }
        let read = self.reads[k].0;
        for c in 0..self.reads[k].1.len() {
            let from = self.reads[k].1[c];
            let (mark, length) = (self.order.trail.len(), self.open.len());
            self.from[read] = from;
            if self.reads_from(k, read, from) && self.assign(k + 1) {
                return true;
            }
            self.order.undo(mark);
            self.open.truncate(length);
            self.dead_ends += 1;
            if self.dead_ends > MOST_CONFLICTS {
                return false;
            }
        }
        false
    }

    /// What follows from `read` reading `from`.
    fn reads_from(&mut self, k: usize, read: usize, from: usize) -> bool {
        let (item, thread, index) = self.steps[read];
        if from != INIT && self.steps[from].1 != thread && !self.order.add(from, read) {
            return false;
        }
        for (a, b) in self.conflicts.clone() {
            if b == read && !item.kind.writes && from != a && (from == INIT || !self.order.add(a, from)) {
                return false;
            }
            if a == read && !item.kind.writes && from != INIT && (from == b || !self.order.add(from, b)) {
                return false;
            }
        }
        for other in self.stores_at(read) {
            if other == from {
                continue;
            }
            let (_, t, i) = self.steps[other];
            let ok = if t == thread && i < index {
                // Its own earlier store has been overwritten, as far as it can see.
                from != INIT && self.order.add(other, from)
            } else if t == thread {
                self.order.add(read, other) && (from == INIT || self.order.add(from, other))
            } else if from == INIT {
                self.order.add(read, other)
            } else {
                self.open.push(Either { read, from, other });
                true
            };
            if !ok {
                return false;
            }
        }
        // Two loads of one thread see a location's stores in one order.
        for j in 0..k {
            let (other, theirs) = (self.reads[j].0, self.from[self.reads[j].0]);
            let (that, t, i) = self.steps[other];
            if t != thread || !that.at.overlaps(item.at) || theirs == from {
                continue;
            }
            let (earlier, later) = if i < index { (theirs, from) } else { (from, theirs) };
            if later == INIT || (earlier != INIT && !self.order.add(earlier, later)) {
                return false;
            }
        }
        true
    }

    /// Decides the rest: what has one answer only, then as it was seen, then, if that fails, with care.
    fn decide(&mut self) -> bool {
        let mark = self.order.trail.len();
        let mut open = self.open.clone();
        if !self.settle(&mut open) {
            return false;
        }
        let settled = self.order.trail.len();
        // As it was seen, as far as possible.
        if open.iter().all(|either| {
            let first = self.is_before(either);
            self.put(either, first) || self.put(either, !first)
        }) {
            return true;
        }
        self.order.undo(settled);
        if self.steps.len() <= CAREFUL && self.search(open) {
            return true;
        }
        self.order.undo(mark);
        false
    }

    /// Was the other store seen before the one that is read?
    fn is_before(&self, either: &Either) -> bool {
        self.steps[either.other].0.visible < self.steps[either.from].0.visible
    }

    /// Puts the other store before the one that is read, or behind the read.
    fn put(&mut self, either: &Either, before: bool) -> bool {
        let Either { read, from, other } = *either;
        if before { self.order.add(other, from) } else { self.order.add(read, other) }
    }

    /// Drops what is decided, and decides what has one answer only.
    fn settle(&mut self, open: &mut Vec<Either>) -> bool {
        loop {
            let before = open.len();
            let mut left = Vec::with_capacity(before);
            for either in open.drain(..) {
                let Either { read, from, other } = either;
                if self.order.has(other, from) || self.order.has(read, other) {
                    continue;
                }
                let ok = if self.order.has(from, other) {
                    self.order.add(read, other)
                } else if self.order.has(other, read) {
                    self.order.add(other, from)
                } else {
                    left.push(either);
                    true
                };
                if !ok {
                    return false;
                }
            }
            *open = left;
            if open.len() == before || open.is_empty() {
                return true;
            }
        }
    }

    /// Tries both answers to everything that is open.
    fn search(&mut self, mut open: Vec<Either>) -> bool {
        let Some(either) = open.pop() else { return true };
        let first = self.is_before(&either);
        for before in [first, !first] {
            let mark = self.order.trail.len();
            let mut rest = open.clone();
            if self.put(&either, before) && self.settle(&mut rest) && self.search(rest) {
                return true;
            }
            self.order.undo(mark);
            self.dead_ends += 1;
            if self.dead_ends > MOST_CONFLICTS {
                return false;
            }
        }
        false
    }

    /// The order as steps of threads and buffers, as close as possible to what was seen.
    pub fn schedule(&self, lanes: &[Lane]) -> Schedule {
        let n = self.steps.len();
        let mut waits: Vec<usize> = (0..n).map(|b| (0..n).filter(|a| self.order.has(*a, b)).count()).collect();
        let mut done = vec![false; n];
        let mut schedule = Schedule { expected: vec![Vec::new(); lanes.len()], steps: Vec::new() };
        for (item, thread, _) in &self.steps {
            schedule.expected[*thread as usize].push(item.site);
        }
        // What each location holds, as a list of what was written to it.
        let mut written: FxHashMap<Location, Vec<usize>> = FxHashMap::default();
        let mut emitted = vec![false; n];
        while let Some(next) = (0..n).filter(|s| !done[*s] && waits[*s] == 0).min_by_key(|s| self.steps[*s].0.visible) {
            done[next] = true;
            for (later, waits) in waits.iter_mut().enumerate() {
                *waits -= usize::from(self.order.has(next, later));
            }
            self.emit(next, &mut emitted, &mut written, &mut schedule);
            // Loads that are performed early are made late, and read what they would have read.
            loop {
                let held = (0..n).find(|s| done[*s] && !emitted[*s] && !self.waits_for_earlier(*s, &emitted));
                match held {
                    Some(s) => self.emit(s, &mut emitted, &mut written, &mut schedule),
                    None => break,
                }
            }
        }
        schedule
    }

    /// Does the thread have to make another load first?
    fn waits_for_earlier(&self, s: usize, emitted: &[bool]) -> bool {
        let (_, thread, index) = self.steps[s];
        let before = (s - index as usize)..s;
        debug_assert!(before.clone().all(|e| self.steps[e].1 == thread));
        before.into_iter().any(|e| !emitted[e] && self.steps[e].0.kind.reads)
    }

    fn emit(
        &self,
        s: usize,
        emitted: &mut [bool],
        written: &mut FxHashMap<Location, Vec<usize>>,
        schedule: &mut Schedule,
    ) {
        if self.steps[s].0.kind.reads && self.waits_for_earlier(s, emitted) {
            return;
        }
        emitted[s] = true;
        let (item, thread, index) = self.steps[s];
        let commit = item.kind.writes && !item.kind.reads && !item.kind.seq_cst;
        if item.kind.fence && !item.kind.seq_cst {
            return;
        }
        let mut back = 0;
        if item.kind.reads && !item.kind.writes {
            let stores = written.get(&item.at).map_or(&[][..], Vec::as_slice);
            back = match self.from[s] {
                INIT => stores.len(),
                // Its own store that still waits is read whatever memory holds.
                from => stores.iter().rev().take_while(|w| **w != from).count() * usize::from(stores.contains(&from)),
            };
        }
        if item.kind.writes {
            written.entry(item.at).or_default().push(s);
        }
        schedule.steps.push(ScheduleStep { thread, index, commit, back: back as u32 });
    }
}
