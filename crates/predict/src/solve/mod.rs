//! Solving for a cycle: an execution that contains it, derived from executions that were seen.
//!
//! Threads are deterministic: as long as its loads get the values that they got before, a thread does what it did
//! before. So take from the executions that were seen, for each thread of the cycle, what it did up to its last
//! access of the cycle, and of other threads what these loads read from; keep the value of every load but the last
//! accesses of the cycle, after which nothing is left to keep. What remains is a question of order alone: which store
//! does each load read, and in which order is everything performed, such that
//!
//! - what the model preserves of program order is preserved,
//! - every conflict of the cycle goes the way of the cycle,
//! - no store comes between a load and the store that it reads, and each location is coherent.
//!
//! The unknowns are few, because the execution that was seen answers nearly all of them: its answers are tried first.
//! A solution is a partial order; its linearisation that stays closest to what was seen is the [`Schedule`].

mod history;
mod partial;
mod question;
#[cfg(test)]
mod tests;

pub use history::{LONGEST, Places};

use crate::critical::{Instance, Node};
use crate::profile::{Item, Profile};
use fencepost_trace::{Location, Model, Schedule, Value};
use history::{Found, Histories, Part};
use question::Question;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How much work goes into one cycle, in changes of orders.
const MOST_WORK: u64 = 4_000_000;
/// How many questions are asked for one cycle.
const QUESTIONS: usize = 24;
/// How many ways to find a cycle in one execution are considered, and how many are kept.
const WAYS: usize = 512;
const BEST: usize = 4;
/// How many executions are considered that the threads of the cycle cannot tell apart.
const ALIKE: usize = 8;
/// How many ways to put a cycle together from several executions are considered.
const MIXTURES: usize = 96;
/// How many ways for the last loads to read are tried.
const COMBINATIONS: usize = 12;

/// What is known of the executions that were seen.
pub struct Solver<'a> {
    profiles: &'a [Profile],
    histories: Histories<'a>,
    /// The first execution that is to be asked about.
    fresh: usize,
    /// What locations hold in the beginning, as far as it was read.
    initial: FxHashMap<Location, Value>,
    /// Was something left out because it was too long?
    cut: AtomicBool,
}

/// A step, as thread and position.
type Position = (u32, u32);

/// Schedules that were found.
#[derive(Default)]
struct Answers {
    schedules: Vec<Answer>,
    work: u64,
}

struct Answer {
    schedule: Schedule,
    /// What the last loads of the cycle read in it.
    reads: Vec<Option<Value>>,
    /// Was an execution seen in which every conflict of the cycle went its way?
    seen: bool,
}

impl Answers {
    /// How many of them differ in what the last loads read.
    fn different(&self) -> usize {
        self.schedules.iter().map(|answer| &answer.reads).collect::<FxHashSet<_>>().len()
    }
}

/// How many operations of a thread a schedule lets pass its own stores.
fn reorderings(schedule: &Schedule) -> usize {
    let steps = &schedule.steps;
    let passes =
        |k: usize| steps[..k].iter().filter(|s| s.thread == steps[k].thread && s.index > steps[k].index).count();
    (0..steps.len()).filter(|k| steps[*k].commit).map(passes).sum()
}

/// Which steps are to form the cycle: for each segment its execution, its thread and its two positions.
type Choice = Vec<Part>;

/// A choice behind what makes it better than others: few conflicts that were seen the wrong way, few steps.
type Rated = (usize, usize, Choice);

/// How much has to happen before a cycle is complete, and how much while it comes about.
fn size(choice: &Choice) -> usize {
    choice.iter().map(|(_, _, i, j)| *j as usize + 4 * (j - i) as usize).sum()
}

impl<'a> Solver<'a> {
    /// A solver that knows these executions, of which the first `known` have been asked about before: it asks no
    /// question that they alone give.
    pub fn new(profiles: &'a [Profile], known: usize, model: Model) -> Solver<'a> {
        let mut initial = FxHashMap::default();
        for item in profiles.iter().flat_map(|profile| &profile.threads).flatten() {
            if item.kind.reads && item.from.is_none() {
                initial.insert(item.at, item.read);
            }
        }
        let cut = AtomicBool::new(profiles.iter().flat_map(|profile| &profile.threads).any(|t| t.len() > LONGEST));
        Solver { profiles, histories: Histories::new(profiles, known, model), fresh: known, initial, cut }
    }

    /// Was a question not asked because executions are too long? Then a cycle without a schedule may have one.
    pub fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }

    /// Schedules, all different, that make one of these instances of a cycle come true; at most `most`. If `mixed`,
    /// what threads do may be put together from several executions. `places` is remembered from one cycle to the
    /// next.
    pub fn schedules(&self, instances: &[Instance], most: usize, mixed: bool, places: &mut Places) -> Vec<Schedule> {
        let mut answers = Answers::default();
        let find = |instance: &Instance, places: &mut Places| -> Vec<Rc<Found>> {
            instance.iter().map(|segment| self.histories.find(segment, places)).collect()
        };
        let found: Vec<Vec<Rc<Found>>> = instances.iter().map(|instance| find(instance, places)).collect();
        let mut choices = Vec::new();
        instances.iter().zip(&found).for_each(|(instance, found)| self.choices(instance, found, &mut choices));
        self.ask(choices, most, &mut answers);
        if mixed && answers.schedules.is_empty() {
            let mut choices = Vec::new();
            found.iter().for_each(|found| mixed_choices(found, &mut choices));
            self.ask(choices, most, &mut answers);
        }
        // What was seen works. The less is reordered, the less can go wrong on the way. Those first whose last loads
        // read something that no earlier one's do.
        answers.schedules.sort_by_cached_key(|answer| (!answer.seen, reorderings(&answer.schedule)));
        let mut met = FxHashSet::default();
        let (mut schedules, others): (Vec<_>, Vec<_>) =
            answers.schedules.into_iter().partition(|answer| met.insert(answer.reads.clone()));
        schedules.extend(others);
        schedules.into_iter().take(most).map(|answer| answer.schedule).collect()
    }

    /// Asks until there are enough answers, or too many questions.
    fn ask(&self, mut choices: Vec<Rated>, most: usize, answers: &mut Answers) {
        choices.sort();
        let mut asked = FxHashSet::default();
        for (wrong, _, choice) in choices {
            let enough = answers.different() >= most || answers.schedules.len() >= 4 * most;
            if enough || asked.len() == QUESTIONS || answers.work > MOST_WORK {
                break;
            }
            if asked.insert(choice.iter().map(|step| self.look(*step)).collect::<Vec<_>>()) {
                self.solve(&choice, wrong == 0, answers);
            }
        }
    }

    /// What part of a choice looks like: the same steps seen in several executions are one question.
    fn look(&self, (profile, thread, i, j): Part) -> (u32, u32, u32, u64) {
        (thread, i, j, self.histories.history(profile, thread).digest(j))
    }

    /// Ways to find the cycle in one execution, best first: with most conflicts as they should be, and short.
    fn choices(&self, instance: &Instance, found: &[Rc<Found>], choices: &mut Vec<Rated>) {
        let mut met: FxHashMap<Vec<u32>, usize> = FxHashMap::default();
        let mut ranks: Vec<u32> = Vec::with_capacity(instance.len());
        for profile in self.fresh..self.profiles.len() {
            let of = &self.histories.of[profile];
            // An execution that failed early may not have all threads.
            let present = |(node, _): &&(Node, Option<Node>)| (node.thread as usize) < of.len();
            let there = instance.iter().take_while(present);
            ranks.clear();
            ranks.extend(there.map(|(node, _)| self.histories.all[of[node.thread as usize] as usize].rank));
            let is_there = |k: usize| ranks.get(k).is_some_and(|rank| !found[k].pairs[*rank as usize].is_empty());
            if !(0..instance.len()).all(is_there) {
                continue;
            }
            // The same histories in another order of time: one may be closer to the cycle than another.
            match met.get_mut(&ranks) {
                Some(times) if *times == ALIKE => continue,
                Some(times) => *times += 1,
                None => {
                    met.insert(ranks.clone(), 1);
                }
            }
            let lists: Vec<&[(u32, u32)]> =
                found.iter().zip(&ranks).map(|(found, rank)| &found.pairs[*rank as usize][..]).collect();
            self.choices_in(profile as u32, instance, &lists, choices);
        }
    }

    fn choices_in(&self, profile: u32, instance: &Instance, lists: &[&[(u32, u32)]], choices: &mut Vec<Rated>) {
        let seen = |t: u32, i: u32| self.profiles[profile as usize].threads[t as usize][i as usize].visible;
        let combinations: usize = lists.iter().map(|list| list.len()).product();
        let mut best: Vec<Rated> = Vec::with_capacity(BEST + 1);
        let mut choice: Choice = Vec::with_capacity(lists.len());
        for n in 0..combinations.min(WAYS) {
            let mut rest = n;
            choice.clear();
            for (list, (node, _)) in lists.iter().zip(instance) {
                let (i, j) = list[rest % list.len()];
                rest /= list.len();
                choice.push((profile, node.thread, i, j));
            }
            let wrong = (0..choice.len()).filter(|k| {
                let (a, b) = (choice[*k], choice[(k + 1) % choice.len()]);
                seen(a.1, a.3) > seen(b.1, b.2)
            });
            let (wrong, size) = (wrong.count(), size(&choice));
            let place = best.partition_point(|(w, s, known)| (*w, *s, known) <= (wrong, size, &choice));
            if place < BEST {
                best.insert(place, (wrong, size, choice.clone()));
                best.truncate(BEST);
            }
        }
        choices.extend(best);
    }

    fn solve(&self, choice: &Choice, seen: bool, answers: &mut Answers) {
        let Some((lanes, free)) = self.lanes(choice) else { return };
        let Some(mut question) = Question::new(self, &lanes, choice, &free) else { return };
        // The last loads may read several things, and what becomes of the program depends on it.
        let free: Vec<usize> = (0..question.reads.len()).filter(|k| question.is_free(*k)).collect();
        let lists: Vec<Vec<usize>> = free.iter().map(|k| std::mem::take(&mut question.reads[*k].1)).collect();
        let combinations: usize = lists.iter().map(Vec::len).product();
        let mut values: FxHashSet<Vec<Option<Value>>> = FxHashSet::default();
        for n in 0..combinations.min(COMBINATIONS) {
            let mut rest = n;
            for (k, list) in free.iter().zip(&lists) {
                question.reads[*k].1 = vec![list[rest % list.len()]];
                rest /= list.len();
            }
            let reads: Vec<Option<Value>> =
                free.iter().map(|k| question.value(question.reads[*k].0, question.reads[*k].1[0])).collect();
            if values.contains(&reads) {
                continue;
            }
            if question.answer() {
                let schedule = question.schedule(&lanes);
                values.insert(reads.clone());
                if answers.schedules.iter().all(|known| known.schedule != schedule) {
                    answers.schedules.push(Answer { schedule, reads, seen });
                }
            }
            question.start_over();
        }
        answers.work += question.work();
    }

    /// What each thread does: everything up to its last access of the cycle, and what that reads from. Also which
    /// loads may read anything: the last accesses of the cycle, unless a thread has to go on behind them, as it did
    /// with the value that it read.
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
            // What lies behind a load that reads something else now may never happen; perhaps the same value comes
            // from elsewhere.
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

/// Ways to put a cycle together from several executions, where none has all of it: the shortest parts first.
fn mixed_choices(found: &[Rc<Found>], choices: &mut Vec<Rated>) {
    let lists: Vec<&[(bool, Part)]> = found.iter().map(|found| &found.shortest[..]).collect();
    let longest: usize = lists.iter().map(|list| list.len().saturating_sub(1)).sum();
    let mut left = MIXTURES;
    for sum in 0..=longest {
        mix(&lists, sum, &mut Vec::with_capacity(lists.len()), false, &mut left, choices);
    }
}

/// All ways to take one part from each list, with numbers of this sum, that have something new in them.
fn mix(
    lists: &[&[(bool, Part)]],
    sum: usize,
    taken: &mut Choice,
    fresh: bool,
    left: &mut usize,
    choices: &mut Vec<Rated>,
) {
    let Some((list, rest)) = lists.split_first() else {
        if sum == 0 && fresh && *left > 0 {
            *left -= 1;
            choices.push((taken.len(), size(taken), taken.clone()));
        }
        return;
    };
    for (i, (new, part)) in list.iter().enumerate().take(sum + 1) {
        taken.push(*part);
        mix(rest, sum - i, taken, fresh || *new, left, choices);
        taken.pop();
    }
}

/// What one thread does: the beginning of what it did in an execution.
#[derive(Clone, Copy, Debug)]
struct Lane {
    profile: u32,
    end: usize,
    checked: usize,
}
