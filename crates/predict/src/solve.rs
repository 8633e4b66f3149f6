//! Solving for a cycle: an execution that contains it, derived from executions that were seen.
//!
//! Threads are deterministic: as long as its loads get the values that they got before, a thread does what it did before. So take from the
//! executions that were seen, for each thread of the cycle, what it did up to its last access of the cycle, and of other threads what these
//! loads read from; keep the value of every load but the last accesses of the cycle, after which nothing is left to keep. What
//! remains is a question of order alone: which store does each load read, and in which order is everything performed, such that
//!
//! - what the model preserves of program order is preserved,
//! - every conflict of the cycle goes the way of the cycle,
//! - no store comes between a load and the store that it reads, and each location is coherent.
//!
//! The unknowns are few, because the execution that was seen answers nearly all of them: its answers are tried first. A solution is a partial order; its
//! linearisation that stays closest to what was seen is the [`Course`].

use crate::critical::{Instance, Node};
use crate::order::kept_behind;
use crate::profile::{Item, Profile};
use fencepost_trace::{Course, CourseStep, Location, Model, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// More steps than this before the end of a cycle are not solved for.
const MOST_STEPS: usize = 500;
/// After so many dead ends a question is given up.
const MOST_CONFLICTS: u32 = 200;
/// Questions with more steps than this are answered as was seen or not at all.
const CAREFUL: usize = 160;
/// How much work goes into one cycle, in changes of orders.
const MOST_WORK: u64 = 4_000_000;
/// How many pairs of steps stand for a pair of accesses in one execution.
const PAIRS: usize = 6;
/// How many questions are asked for one cycle.
const QUESTIONS: usize = 24;
/// How many beginnings of a thread are tried where a cycle is put together from several executions.
const MIXED: usize = 3;
/// How many ways for the last loads to read are tried.
const COMBINATIONS: usize = 12;

/// What is known of the executions that were seen.
pub struct Solver<'a> {
    profiles: &'a [Profile],
    model: Model,
    /// In each execution where a thread made which access.
    places: Vec<FxHashMap<(u32, u32, Location), Vec<u32>>>,
    /// What locations hold in the beginning, as far as it was read.
    initial: FxHashMap<Location, Value>,
}

/// A step, as thread and position.
type Position = (u32, u32);

/// Courses that were found, each with what the last loads of the cycle read in it.
#[derive(Default)]
struct Answers {
    courses: Vec<(Vec<Option<Value>>, Course)>,
    work: u64,
}

impl Answers {
    /// How many of them differ in what the last loads read.
    fn different(&self) -> usize {
        self.courses.iter().map(|(values, _)| values).collect::<FxHashSet<_>>().len()
    }
}

/// How many operations of a thread a course lets pass its own stores.
fn reorderings(course: &Course) -> usize {
    let steps = &course.steps;
    let passes =
        |k: usize| steps[..k].iter().filter(|s| s.thread == steps[k].thread && s.index > steps[k].index).count();
    (0..steps.len()).filter(|k| steps[*k].commit).map(passes).sum()
}

/// Which steps are to form the cycle: for each segment its execution, its thread and its two positions.
type Choice = Vec<(u32, u32, u32, u32)>;

impl<'a> Solver<'a> {
    /// A solver that knows these executions.
    pub fn new(profiles: &'a [Profile], model: Model) -> Solver<'a> {
        let mut initial = FxHashMap::default();
        let places = profiles.iter().map(|profile| {
            let mut places: FxHashMap<(u32, u32, Location), Vec<u32>> = FxHashMap::default();
            for (t, thread) in profile.threads.iter().enumerate() {
                for (i, item) in thread.iter().enumerate().filter(|(_, item)| !item.kind.fence) {
                    if item.is_visible() {
                        places.entry((t as u32, item.class, item.at)).or_default().push(i as u32);
                    }
                    if item.kind.reads && item.from.is_none() {
                        initial.insert(item.at, item.read);
                    }
                }
            }
            places
        });
        Solver { places: places.collect(), profiles, model, initial }
    }

    /// Courses, all different, that make one of these instances of a cycle come true; at most `most`.
    pub fn courses(&self, instances: &[Instance], most: usize) -> Vec<Course> {
        let mut choices: Vec<(usize, usize, Choice)> = Vec::new();
        for instance in instances {
            for profile in 0..self.profiles.len() as u32 {
                self.choices_in(profile, instance, &mut choices);
            }
        }
        let mut answers = Answers::default();
        self.ask(choices, most, &mut answers);
        if answers.courses.is_empty() {
            let mut choices = Vec::new();
            instances.iter().for_each(|instance| self.mixed_choices(instance, &mut choices));
            self.ask(choices, most, &mut answers);
        }
        // The less is reordered, the less can go wrong on the way. Those first whose last loads read something that no earlier one's do.
        answers.courses.sort_by_cached_key(|(_, course)| reorderings(course));
        let mut met = FxHashSet::default();
        let (mut courses, others): (Vec<_>, Vec<_>) =
            answers.courses.into_iter().partition(|(values, _)| met.insert(values.clone()));
        courses.extend(others);
        courses.into_iter().take(most).map(|(_, course)| course).collect()
    }

    /// Asks until there are enough answers, or too many questions.
    fn ask(&self, mut choices: Vec<(usize, usize, Choice)>, most: usize, answers: &mut Answers) {
        choices.sort();
        let mut asked = FxHashSet::default();
        for (_, _, choice) in choices {
            let enough = answers.different() >= most || answers.courses.len() >= 4 * most;
            if enough || asked.len() == QUESTIONS || answers.work > MOST_WORK {
                break;
            }
            if asked.insert(self.look(&choice)) {
                self.solve(&choice, answers);
            }
        }
    }

    /// What a choice looks like: the same steps seen in several executions are one question.
    fn look(&self, choice: &Choice) -> Vec<(u32, u32, u32, u64)> {
        let digest = |profile: u32, thread: u32, end: u32| {
            use std::hash::{Hash, Hasher};
            let mut hasher = rustc_hash::FxHasher::default();
            for item in &self.profiles[profile as usize].threads[thread as usize][..=end as usize] {
                (item.spot, item.kind, item.at, item.read, item.written).hash(&mut hasher);
            }
            hasher.finish()
        };
        choice.iter().map(|(p, t, i, j)| (*t, *i, *j, digest(*p, *t, *j))).collect()
    }

    /// The positions of an access in an execution.
    fn positions(&self, profile: u32, node: &Node) -> &[u32] {
        self.places[profile as usize].get(&(node.thread, node.class, node.at)).map_or(&[], Vec::as_slice)
    }

    /// Pairs of positions of a segment, those that the model can reorder first, then close ones.
    fn pairs(&self, profile: u32, (first, second): &(Node, Option<Node>)) -> Vec<(u32, u32)> {
        let firsts = self.positions(profile, first);
        let Some(second) = second else { return firsts.iter().take(PAIRS).map(|i| (*i, *i)).collect() };
        let seconds = self.positions(profile, second);
        // An execution that failed early may not have all threads.
        let Some(steps) = self.profiles[profile as usize].threads.get(first.thread as usize) else { return Vec::new() };
        let mut pairs = Vec::new();
        let mut kept = Vec::new();
        for i in firsts {
            let behind = seconds.partition_point(|j| j <= i);
            if behind == seconds.len() {
                continue;
            }
            kept_behind(self.model, steps, *i as usize, &mut kept);
            pairs.extend(seconds[behind..].iter().take(PAIRS).map(|j| (kept[*j as usize], j - i, *i, *j)));
        }
        pairs.sort_unstable();
        pairs.truncate(PAIRS);
        pairs.into_iter().map(|(_, _, i, j)| (i, j)).collect()
    }

    /// Ways to find the cycle in one execution, best first: with most conflicts as they should be, and short.
    fn choices_in(&self, profile: u32, instance: &Instance, choices: &mut Vec<(usize, usize, Choice)>) {
        let pairs: Vec<Vec<(u32, u32)>> = instance.iter().map(|segment| self.pairs(profile, segment)).collect();
        let combinations: usize = pairs.iter().map(Vec::len).product();
        let steps = |t: u32| &self.profiles[profile as usize].threads[t as usize];
        let mut best: Vec<(usize, usize, Choice)> = Vec::new();
        for n in 0..combinations.min(512) {
            let mut rest = n;
            let mut choice: Choice = Vec::with_capacity(pairs.len());
            for (list, (node, _)) in pairs.iter().zip(instance) {
                let (i, j) = list[rest % list.len()];
                rest /= list.len();
                choice.push((profile, node.thread, i, j));
            }
            let wrong = (0..choice.len()).filter(|k| {
                let (a, b) = (choice[*k], choice[(k + 1) % choice.len()]);
                steps(a.1)[a.3 as usize].time > steps(b.1)[b.2 as usize].time
            });
            let size = choice.iter().map(|(_, _, i, j)| *j as usize + 4 * (j - i) as usize).sum();
            best.push((wrong.count(), size, choice));
        }
        best.sort();
        best.truncate(4);
        choices.extend(best);
    }

    /// Ways to put the cycle together from several executions, where none has all of it.
    fn mixed_choices(&self, instance: &Instance, choices: &mut Vec<(usize, usize, Choice)>) {
        let mut options: Vec<Vec<(u32, u32, u32, u32)>> = Vec::new();
        for segment in instance {
            let thread = segment.0.thread;
            let mut all: Vec<_> = (0..self.profiles.len() as u32)
                .flat_map(|profile| self.pairs(profile, segment).into_iter().map(move |(i, j)| (profile, thread, i, j)))
                .collect();
            all.sort_by_key(|(profile, _, i, j)| (j + 4 * (j - i), *profile));
            let mut met = FxHashSet::default();
            all.retain(|option| met.len() < MIXED && met.insert(self.look(&vec![*option])));
            options.push(all);
        }
        let combinations: usize = options.iter().map(Vec::len).product();
        for n in 0..combinations.min(128) {
            let mut rest = n;
            let choice: Choice = options
                .iter()
                .map(|list| {
                    let option = list[rest % list.len()];
                    rest /= list.len();
                    option
                })
                .collect();
            let size = choice.iter().map(|(_, _, i, j)| *j as usize + 4 * (j - i) as usize).sum();
            choices.push((choice.len(), size, choice));
        }
    }

    fn solve(&self, choice: &Choice, answers: &mut Answers) {
        let Some((lanes, free)) = self.lanes(choice) else { return };
        let Some(question) = Question::new(self, &lanes, choice, &free) else { return };
        // The last loads may read several things, and what becomes of the program depends on it.
        let free: Vec<usize> = (0..question.reads.len()).filter(|k| question.is_free(*k)).collect();
        let combinations: usize = free.iter().map(|k| question.reads[*k].1.len()).product();
        let mut values: FxHashSet<Vec<Option<Value>>> = FxHashSet::default();
        for n in 0..combinations.min(COMBINATIONS) {
            let mut rest = n;
            let mut one = question.clone();
            for k in &free {
                let list = &question.reads[*k].1;
                one.reads[*k].1 = vec![list[rest % list.len()]];
                rest /= list.len();
            }
            let reads: Vec<Option<Value>> =
                free.iter().map(|k| one.value(one.reads[*k].0, one.reads[*k].1[0])).collect();
            if values.contains(&reads) {
                continue;
            }
            one.order.trail.clear();
            let found = one.answer();
            answers.work += one.order.work;
            if found {
                let course = one.course(&lanes);
                values.insert(reads.clone());
                if answers.courses.iter().all(|(_, known)| *known != course) {
                    answers.courses.push((reads, course));
                }
            }
        }
    }

    /// What each thread does: everything up to its last access of the cycle, and what that reads from. Also which loads may read anything: the last
    /// accesses of the cycle, unless a thread has to go on behind them, as it did with the value that it read.
    fn lanes(&self, choice: &Choice) -> Option<(Vec<Lane>, Vec<Position>)> {
        let threads = self.profiles.iter().map(|profile| profile.threads.len()).max()?;
        let mut lanes = vec![Lane { profile: u32::MAX, end: 0, checked: 0 }; threads];
        for (profile, thread, _, j) in choice {
            lanes[*thread as usize] = Lane { profile: *profile, end: *j as usize + 1, checked: 0 };
        }
        let reads = |p: u32, t: u32, j: u32| self.profiles[p as usize].threads[t as usize][j as usize].kind.reads;
        let last = choice.iter().filter(|(p, t, _, j)| reads(*p, *t, *j)).map(|(_, t, _, j)| (*t, *j));
        let mut free: Vec<Position> = last.collect();
        while let Some(t) = lanes.iter().position(|lane| lane.checked < lane.end) {
            let lane = lanes[t];
            let i = lane.checked;
            lanes[t].checked += 1;
            let item = self.profiles[lane.profile as usize].threads[t][i];
            let Some((u, k)) = item.from else { continue };
            if free.contains(&(t as u32, i as u32)) {
                continue;
            }
            let other = lanes[u as usize];
            let needed = if other.profile == u32::MAX || other.profile == lane.profile {
                k as usize + 1
            } else {
                let written = self.profiles[lane.profile as usize].item((u, k)).written;
                let theirs = &self.profiles[other.profile as usize].threads[u as usize];
                let same = |s: &Item| s.kind.writes && s.at == item.at && s.written == written;
                theirs.iter().position(same)? + 1
            };
            // What lies behind a load that reads something else now may never happen; perhaps the same value comes from elsewhere.
            if let Some(at) = free.iter().position(|(thread, j)| *thread == u && needed > *j as usize + 1) {
                if self.comes_from_elsewhere(&lanes, &item) {
                    continue;
                }
                let (_, j) = free.remove(at);
                lanes[u as usize].checked = lanes[u as usize].checked.min(j as usize);
            }
            let other = &mut lanes[u as usize];
            if other.profile == u32::MAX {
                other.profile = lane.profile;
            }
            other.end = other.end.max(needed);
        }
        Some((lanes, free))
    }

    /// Is the value that a read needs there in the beginning, or written by what is in the lanes already?
    fn comes_from_elsewhere(&self, lanes: &[Lane], item: &Item) -> bool {
        let same = |s: &Item| s.kind.writes && s.at == item.at && s.written == item.read;
        self.initial.get(&item.at) == Some(&item.read)
            || lanes.iter().enumerate().any(|(t, lane)| {
                lane.end > 0 && self.profiles[lane.profile as usize].threads[t][..lane.end].iter().any(same)
            })
    }
}

/// What one thread does: the beginning of what it did in an execution.
#[derive(Clone, Copy, Debug)]
struct Lane {
    profile: u32,
    end: usize,
    checked: usize,
}

/// Which store a load reads: a step, or the initial value.
const INIT: usize = usize::MAX;

/// A partial order of steps, with its transitive closure, that can be taken back.
#[derive(Clone)]
struct Order {
    words: usize,
    /// Row by row, what comes behind each step.
    behind: Vec<u64>,
    /// What was overwritten.
    trail: Vec<(u32, u64)>,
    work: u64,
}

impl Order {
    fn new(n: usize) -> Order {
        let words = n.div_ceil(64);
        Order { words, behind: vec![0; words * n], trail: Vec::new(), work: 0 }
    }

    fn has(&self, a: usize, b: usize) -> bool {
        self.behind[a * self.words + b / 64] >> (b % 64) & 1 == 1
    }

    /// Puts `b` behind `a`; false if that makes a cycle.
    fn add(&mut self, a: usize, b: usize) -> bool {
        if a == b || self.has(b, a) {
            return false;
        }
        if self.has(a, b) {
            return true;
        }
        let words = self.words;
        let mut row = self.behind[b * words..(b + 1) * words].to_vec();
        row[b / 64] |= 1 << (b % 64);
        for x in 0..self.behind.len() / words {
            if x == a || self.has(x, a) {
                for (i, more) in row.iter().enumerate() {
                    let word = &mut self.behind[x * words + i];
                    if *word | more != *word {
                        self.trail.push(((x * words + i) as u32, *word));
                        *word |= more;
                    }
                }
                self.work += 1;
            }
        }
        true
    }

    /// Takes back everything since the trail had this length.
    fn undo(&mut self, to: usize) {
        while self.trail.len() > to {
            if let Some((at, word)) = self.trail.pop() {
                self.behind[at as usize] = word;
            }
        }
    }
}

/// Either `w` (another store) comes before the store that is read, or behind the read.
#[derive(Clone, Copy)]
struct Either {
    read: usize,
    from: usize,
    other: usize,
}

#[derive(Clone)]
struct Question<'a> {
    model: Model,
    /// The steps, thread by thread, with their thread and position.
    steps: Vec<(Item, u32, u32)>,
    order: Order,
    /// For each location its stores.
    stores: FxHashMap<u64, Vec<usize>>,
    /// The steps that read, and what they may read.
    reads: Vec<(usize, Vec<usize>)>,
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
    fn new(solver: &'a Solver<'_>, lanes: &[Lane], choice: &Choice, free: &[(u32, u32)]) -> Option<Question<'a>> {
        let mut steps = Vec::new();
        let mut start = vec![0; lanes.len()];
        for (t, lane) in lanes.iter().enumerate() {
            start[t] = steps.len();
            if lane.end > 0 {
                let thread = &solver.profiles[lane.profile as usize].threads[t][..lane.end];
                steps.extend(thread.iter().enumerate().map(|(i, item)| (*item, t as u32, i as u32)));
            }
        }
        if steps.len() > MOST_STEPS {
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
            model: solver.model,
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
        for (t, lane) in lanes.iter().enumerate() {
            question.preserve(start[t], lane.end)?;
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

    /// Orders the steps of a thread as the model does.
    fn preserve(&mut self, start: usize, length: usize) -> Option<()> {
        let thread: Vec<Item> = self.steps[start..start + length].iter().map(|(item, ..)| *item).collect();
        let mut kept = Vec::new();
        // From the end, so that rows are complete when they are joined.
        for i in (0..length).rev() {
            kept_behind(self.model, &thread, i, &mut kept);
            for (j, kept) in kept.iter().enumerate().skip(i + 1) {
                // A full barrier waits for everything and everything for it.
                let barrier = |k: usize| thread[k].kind.fence && thread[k].kind.seq_cst;
                if (*kept || barrier(i) || barrier(j)) && !self.order.add(start + i, start + j) {
                    return None;
                }
            }
        }
        Some(())
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

    /// What a read may read: first what it read, then other stores of the same value, or any if nothing depends on the value.
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
    fn is_free(&self, k: usize) -> bool {
        self.free.contains(&self.reads[k].0)
    }

    /// What a read gets from a store; `None` if it is not known.
    fn value(&self, read: usize, store: usize) -> Option<Value> {
        match store {
            INIT => self.initial.get(&self.steps[read].0.at).copied(),
            store => Some(self.steps[store].0.written),
        }
    }

    /// Looks for an order.
    fn answer(&mut self) -> bool {
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
        self.steps[either.other].0.time < self.steps[either.from].0.time
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
    fn course(&self, lanes: &[Lane]) -> Course {
        let n = self.steps.len();
        let mut waits: Vec<usize> = (0..n).map(|b| (0..n).filter(|a| self.order.has(*a, b)).count()).collect();
        let mut done = vec![false; n];
        let mut course = Course { expected: vec![Vec::new(); lanes.len()], steps: Vec::new() };
        for (item, thread, _) in &self.steps {
            course.expected[*thread as usize].push(item.spot);
        }
        // What each location holds, as a list of what was written to it.
        let mut written: FxHashMap<Location, Vec<usize>> = FxHashMap::default();
        let mut emitted = vec![false; n];
        while let Some(next) = (0..n).filter(|s| !done[*s] && waits[*s] == 0).min_by_key(|s| self.steps[*s].0.time) {
            done[next] = true;
            for (later, waits) in waits.iter_mut().enumerate() {
                *waits -= usize::from(self.order.has(next, later));
            }
            self.emit(next, &mut emitted, &mut written, &mut course);
            // Loads that are performed early are made late, and read what they would have read.
            loop {
                let held = (0..n).find(|s| done[*s] && !emitted[*s] && !self.waits_for_earlier(*s, &emitted));
                match held {
                    Some(s) => self.emit(s, &mut emitted, &mut written, &mut course),
                    None => break,
                }
            }
        }
        course
    }

    /// Does the thread have to make another load first?
    fn waits_for_earlier(&self, s: usize, emitted: &[bool]) -> bool {
        let (_, thread, index) = self.steps[s];
        let before = (s - index as usize)..s;
        debug_assert!(before.clone().all(|e| self.steps[e].1 == thread));
        before.into_iter().any(|e| !emitted[e] && self.steps[e].0.kind.reads)
    }

    fn emit(&self, s: usize, emitted: &mut [bool], written: &mut FxHashMap<Location, Vec<usize>>, course: &mut Course) {
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
        course.steps.push(CourseStep { thread, index, commit, back: back as u32 });
    }
}
