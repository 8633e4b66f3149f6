//! What threads were seen to do, each way once: many executions are alike to a single thread.

use super::partial::Order;
use crate::critical::Node;
use crate::order::kept_behind;
use crate::profile::{Item, Profile};
use fencepost_trace::{Location, Model};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::OnceLock;

/// Steps behind this many are not looked at: an answer would have too many.
pub const LONGEST: usize = 500;
/// How many pairs of steps stand for a pair of accesses in one history.
const PAIRS: usize = 6;
/// How many beginnings of a thread are tried where a cycle is put together from several executions.
const MIXED: usize = 3;

/// What a thread did in one execution or more.
pub struct History {
    /// One of these executions.
    pub profile: u32,
    /// Whose it is.
    pub thread: u32,
    /// Which of the histories of that thread it is.
    pub rank: u32,
    /// Where the thread made which access.
    places: FxHashMap<(u32, Location), Vec<u32>>,
    /// For each step a digest of everything up to it.
    digests: Vec<u64>,
    /// What a model preserves of its order.
    order: OnceLock<Order>,
}

impl History {
    fn new(profile: u32, thread: u32, rank: u32, steps: &[Item], digests: Vec<u64>) -> History {
        let mut places: FxHashMap<(u32, Location), Vec<u32>> = FxHashMap::default();
        for (i, item) in steps.iter().enumerate().take(LONGEST).filter(|(_, item)| item.is_visible()) {
            places.entry((item.class, item.at)).or_default().push(i as u32);
        }
        History { profile, thread, rank, places, digests, order: OnceLock::new() }
    }

    /// The positions of an access.
    pub fn positions(&self, node: &Node) -> &[u32] {
        self.places.get(&(node.class, node.at)).map_or(&[], Vec::as_slice)
    }

    /// The same for the same steps, wherever they were seen.
    pub fn digest(&self, end: u32) -> u64 {
        self.digests[end as usize]
    }
}

/// All histories of some executions.
pub struct Histories<'a> {
    profiles: &'a [Profile],
    model: Model,
    /// The histories, in the order of the executions that showed them first.
    pub all: Vec<History>,
    /// For each execution that of each thread.
    pub of: Vec<Vec<u32>>,
    /// For each thread its histories.
    of_thread: Vec<Vec<u32>>,
    /// The first history that the first executions, so many, do not have.
    fresh: u32,
}

/// A part of a choice: an execution, a thread, two positions.
pub type Part = (u32, u32, u32, u32);

/// Where a segment of a cycle is found.
pub struct Found {
    /// For each history of the thread its pairs of positions, those that the model can reorder first, then close ones.
    pub pairs: Vec<Box<[(u32, u32)]>>,
    /// The shortest of all, each with whether it is from a history that was not known before.
    pub shortest: Vec<(bool, Part)>,
}

/// Where segments are found, for those that somebody has asked for.
pub type Places = FxHashMap<(Node, Option<Node>), Rc<Found>>;

impl<'a> Histories<'a> {
    /// The histories of executions, the first `known` of which are not new.
    pub fn new(profiles: &'a [Profile], known: usize, model: Model) -> Histories<'a> {
        let threads = profiles.iter().map(|profile| profile.threads.len()).max().unwrap_or(0);
        let mut histories = Histories {
            profiles,
            model,
            all: Vec::new(),
            of: Vec::with_capacity(profiles.len()),
            of_thread: vec![Vec::new(); threads],
            fresh: 0,
        };
        let mut names: FxHashMap<(u32, usize, u64), u32> = FxHashMap::default();
        for (p, profile) in profiles.iter().enumerate() {
            if p == known {
                histories.fresh = histories.all.len() as u32;
            }
            let mut of = Vec::with_capacity(profile.threads.len());
            for (t, steps) in profile.threads.iter().enumerate() {
                let digests = digests(steps);
                let name = (t as u32, steps.len(), digests.last().copied().unwrap_or(0));
                of.push(*names.entry(name).or_insert_with(|| {
                    let (number, rank) = (histories.all.len() as u32, histories.of_thread[t].len() as u32);
                    histories.of_thread[t].push(number);
                    histories.all.push(History::new(p as u32, t as u32, rank, steps, digests));
                    number
                }));
            }
            histories.of.push(of);
        }
        histories
    }

    /// The history of a thread in an execution.
    pub fn history(&self, profile: u32, thread: u32) -> &History {
        &self.all[self.of[profile as usize][thread as usize] as usize]
    }

    /// What the model preserves of the order of a history's steps.
    pub fn order<'h>(&self, history: &'h History) -> &'h Order {
        history.order.get_or_init(|| {
            let steps = &self.profiles[history.profile as usize].threads[history.thread as usize];
            preserved(self.model, &steps[..steps.len().min(LONGEST)])
        })
    }

    /// Where a segment is found.
    pub fn find(&self, segment: &(Node, Option<Node>), places: &mut Places) -> Rc<Found> {
        places.entry(*segment).or_insert_with(|| Rc::new(self.search(segment))).clone()
    }

    fn search(&self, (first, second): &(Node, Option<Node>)) -> Found {
        let thread = first.thread;
        let numbers = self.of_thread.get(thread as usize).map_or(&[][..], Vec::as_slice);
        let mut pairs = Vec::with_capacity(numbers.len());
        let mut all: Vec<(bool, Part, u64)> = Vec::new();
        for number in numbers {
            let history = &self.all[*number as usize];
            let list = self.pairs(history, first, second.as_ref());
            let fresh = *number >= self.fresh;
            all.extend(list.iter().map(|(i, j)| (fresh, (history.profile, thread, *i, *j), history.digest(*j))));
            pairs.push(list);
        }
        all.sort_by_key(|(_, (profile, _, i, j), _)| (j + 4 * (j - i), *profile));
        let (mut met, mut kept) = (FxHashSet::default(), [0, 0]);
        all.retain(|(fresh, (_, _, i, j), digest)| {
            let kept = &mut kept[usize::from(*fresh)];
            let keep = *kept < MIXED && met.insert((*i, *j, *digest));
            *kept += usize::from(keep);
            keep
        });
        Found { pairs, shortest: all.into_iter().map(|(fresh, part, _)| (fresh, part)).collect() }
    }

    fn pairs(&self, history: &History, first: &Node, second: Option<&Node>) -> Box<[(u32, u32)]> {
        let firsts = history.positions(first);
        let Some(second) = second else { return firsts.iter().take(PAIRS).map(|i| (*i, *i)).collect() };
        let seconds = history.positions(second);
        let mut pairs = Vec::new();
        for i in firsts {
            let behind = &seconds[seconds.partition_point(|j| j <= i)..];
            if !behind.is_empty() {
                let order = self.order(history);
                let passed = behind.iter().take(PAIRS);
                pairs.extend(passed.map(|j| (order.has(*i as usize, *j as usize), j - i, *i, *j)));
            }
        }
        pairs.sort_unstable();
        pairs.truncate(PAIRS);
        pairs.into_iter().map(|(_, _, i, j)| (i, j)).collect()
    }
}

fn digests(steps: &[Item]) -> Vec<u64> {
    let mut hasher = FxHasher::default();
    let each = steps.iter().map(|item| {
        (item.site, item.kind, item.at, item.read, item.written).hash(&mut hasher);
        hasher.finish()
    });
    each.collect()
}

/// Orders the steps of a thread as the model does.
fn preserved(model: Model, steps: &[Item]) -> Order {
    let mut order = Order::new(steps.len());
    let mut kept = Vec::new();
    // A full barrier waits for everything and everything for it.
    let barrier = |k: usize| steps[k].kind.fence && steps[k].kind.seq_cst;
    // From the end, so that rows are complete when they are joined.
    for i in (0..steps.len()).rev() {
        kept_behind(model, steps, i, &mut kept);
        for (j, kept) in kept.iter().enumerate().skip(i + 1) {
            if *kept || barrier(i) || barrier(j) {
                // Always possible: it follows program order.
                order.add(i, j);
            }
        }
    }
    order
}
