//! Which orderings prevent harmful violations.
//!
//! A cycle is possible as long as one of its pairs can be reordered. So all of them have to be kept in order: each by
//! a fence somewhere between its two accesses. One fence can serve several pairs, and a smallest set of places that
//! serves all is looked for. Then the program is explored or tested with these fences in force. An execution that still
//! fails says which orderings would have prevented it, and one of them has to be there, too; where there is none at
//! hand, the hunt is repeated, and whatever is still harmful adds its pairs.

use super::campaign::{CHANCE, DELAYS};
use super::candidate::Candidate;
use super::options::{Options, is_late};
use super::prevention::{Failure, Ordering, weaker};
use super::root_cause::find_root_causes;
use super::search::{Search, fails_at_random, search_alone};
use super::subject::{Again, Attempt, BASE_SEED, ExposedGraph, Exposure, FencePosition, Fences, ProgramPoint, Subject};
use super::trials::share;
use crate::error::Error;
use fencepost_predict::critical::Node;
use fencepost_predict::{Behind, Item, Profile, cover, passing};
use fencepost_report::{FenceAdvice, FenceKind, HuntMethod, VerifiedBy};
use fencepost_trace::{Cycle, FenceOrder, Model, OrionOptions, Pace, Points, RelaxerOptions, Stop, StrategySpec};
use std::collections::{BTreeMap, BTreeSet};

/// Executions that verify an advice where not all can be explored: few first, since they may fail. Fewer if executions
/// have more events than `LONG`.
const PORTIONS: [u64; 3] = [2_000, 18_000, 80_000];
const LONG: u64 = 1_000;

/// What is advised in the end is held against so many more.
const MORE: u64 = 200_000;
/// Besides, so many in which one cycle is brought about, and of each cycle in each way; before them so many that tell
/// which cycles the orderings leave.
const DIRECTED: u64 = 60_000;
const DIRECTED_EACH: u64 = 2_000;
const PROBED: u64 = 10_000;
const PROBED_EACH: u64 = 20;
/// Of 100 stores with which a cycle could begin, so many are left alone.
const SKIP: u32 = 70;

/// What lies farther behind an access is not looked at for a place between the two.
const FARTHEST: usize = 5_000;

/// How often the orderings are mended, and how often the hunt is repeated for that.
const ROUNDS: usize = 40;
const HUNTS: usize = 4;

/// A pair of program points that must be kept in order.
type Pair = (u32, u32);

/// What orderings have to achieve.
#[derive(Default)]
struct Wanted {
    /// Each of these is kept in order.
    pairs: BTreeSet<Pair>,
    /// Of each of these lists one is in force: all that prevent some execution that failed.
    one_of: Vec<Vec<Ordering>>,
    /// These executions, as far as their lists differ.
    failures: Vec<Failure>,
}

impl Wanted {
    /// This execution is to be prevented; says whether that is new.
    fn add(&mut self, again: &Again, model: Model) -> bool {
        let Some(failure) = Failure::new(again, model) else { return false };
        let list = failure.preventing(model);
        let is_new = !list.is_empty() && !self.one_of.contains(&list);
        if is_new {
            self.one_of.push(list);
            self.failures.push(failure);
        }
        is_new
    }

    /// Do these orderings prevent every execution that failed, each by itself or several together?
    fn is_met_by(&self, fences: &Fences, model: Model) -> bool {
        let alone = |list: &[Ordering]| list.iter().any(|one| is_in_force(*one, fences));
        self.one_of.iter().zip(&self.failures).all(|(list, failure)| alone(list) || failure.is_prevented(fences, model))
    }
}

/// The orderings that leave no harmful violation.
///
/// Only the cycles that are root causes are broken at first. If something still fails, its executions say what else is
/// to be kept in order. Where they do not, the hunt is repeated: the root causes of what is still harmful are broken
/// too; if that leads nowhere, all harmful ones are.
pub fn advise(subject: &mut impl Subject, options: &Options, found: &mut Search) -> Result<Vec<FenceAdvice>, Error> {
    let mut wanted = Wanted::default();
    harmful_pairs(found, options.model, true, &mut wanted.pairs);
    if wanted.pairs.is_empty() {
        return Ok(Vec::new());
    }
    known_failures(subject, options, found, &mut wanted)?;
    let mut chosen = choose(subject, options.model, &wanted, &found.seen.profiles);
    let mut verified = None;
    let mut hunts = 0;
    for _ in 0..ROUNDS {
        if is_late(options.deadline) {
            break;
        }
        let mut failing;
        (verified, failing) = holds(subject, options, &chosen, found)?;
        if verified.is_some() {
            leave_out(subject, options, &wanted, found, (&mut chosen, &mut verified))?;
            let Some(VerifiedBy::Tested(done)) = verified.filter(|_| subject.longest() <= LONG) else { break };
            // What remains is held against more executions: what is needed may be so rarely.
            let tested = subject.test(done, MORE, &chosen)?;
            found.executions += tested.executions;
            failing = failed(options.model, tested.failing);
            if failing.is_empty() {
                break;
            }
            verified = None;
        }
        let before = chosen.clone();
        if mend(subject, options, &failing, &chosen, &mut wanted)? {
            chosen = choose(subject, options.model, &wanted, &found.seen.profiles);
            if chosen != before {
                continue;
            }
        }
        hunts += 1;
        if hunts > HUNTS
            || is_late(options.deadline)
            || !hunt_again(subject, options, &failing, &chosen, found, &mut wanted)?
        {
            break;
        }
        chosen = choose(subject, options.model, &wanted, &found.seen.profiles);
    }
    let mut all = wanted.pairs;
    harmful_pairs(found, options.model, false, &mut all);
    Ok(chosen.iter().map(|ordering| advice(subject, *ordering, &chosen, &all, verified)).collect())
}

/// Leaves out what nothing depends on, and replaces full fences by weaker ones where these are enough. A failure that
/// was met once may be too rare to be met again: what remains must prevent it.
fn leave_out(
    subject: &mut impl Subject,
    options: &Options,
    wanted: &Wanted,
    found: &mut Search,
    (chosen, verified): (&mut Vec<Ordering>, &mut Option<VerifiedBy>),
) -> Result<(), Error> {
    let mut i = 0;
    while chosen.len() > 1 && i < chosen.len() && !is_late(options.deadline) {
        let mut rest = chosen.clone();
        rest.remove(i);
        match is_enough(subject, options, wanted, found, &rest)? {
            Some(how) => (*chosen, *verified) = (rest, Some(how)),
            None => i += 1,
        }
    }
    for i in 0..chosen.len() {
        for order in weaker(options.model).iter().filter(|_| chosen[i].1 == FenceOrder::SeqCst) {
            let mut other = chosen.clone();
            other[i].1 = *order;
            if is_late(options.deadline) {
                return Ok(());
            }
            if let Some(how) = is_enough(subject, options, wanted, found, &other)? {
                (*chosen, *verified) = (other, Some(how));
                break;
            }
        }
    }
    Ok(())
}

/// Are fewer or weaker orderings enough, and how is that known?
fn is_enough(
    subject: &mut impl Subject,
    options: &Options,
    wanted: &Wanted,
    found: &mut Search,
    fences: &Fences,
) -> Result<Option<VerifiedBy>, Error> {
    match wanted.is_met_by(fences, options.model) {
        true => Ok(holds(subject, options, fences, found)?.0),
        false => Ok(None),
    }
}

/// Adds what prevents the failures that have been met: of cycles with the same pairs the first.
fn known_failures(
    subject: &mut impl Subject,
    options: &Options,
    found: &Search,
    wanted: &mut Wanted,
) -> Result<(), Error> {
    let mut met: BTreeSet<BTreeSet<Pair>> = BTreeSet::new();
    let mut exposures: Vec<&Exposure> = Vec::new();
    for candidate in found.cycles.iter().filter(|candidate| candidate.is_harmful()) {
        let pairs = candidate.instances.iter().flatten();
        let pairs = pairs.filter_map(|(first, second)| Some((first.class, (*second)?.class))).collect();
        let exposure = candidate.witness.as_ref().map(|witness| &witness.exposure);
        exposures.extend(exposure.filter(|exposure| exposure.harm.is_some() && met.insert(pairs)));
    }
    for again in subject.again(&exposures, &[])? {
        if is_late(options.deadline) {
            break;
        }
        if let Some(again) = again.filter(|again| !again.cut) {
            wanted.add(&again, options.model);
        }
    }
    Ok(())
}

/// Executions of a model that fail, by the answers that led to them.
fn failed(model: Model, failing: Vec<Vec<u32>>) -> Vec<Exposure> {
    failing.into_iter().map(|choices| failure(model, choices, None)).collect()
}

/// An execution of a model that fails: the answers that led to it, or its graph.
fn failure(model: Model, choices: Vec<u32>, graph: Option<ExposedGraph>) -> Exposure {
    let (failures, with) = (Vec::new(), Vec::new());
    Exposure { attempt: 0, model, execution: 0, harm: None, failures, choices, graph, with }
}

/// Adds what prevents executions that fail with these orderings in force. Says whether that is anything new.
fn mend(
    subject: &mut impl Subject,
    options: &Options,
    failing: &[Exposure],
    fences: &Fences,
    wanted: &mut Wanted,
) -> Result<bool, Error> {
    let exposures: Vec<&Exposure> = failing.iter().filter(|exposure| exposure.strategy().is_some()).collect();
    let mut new = false;
    for again in subject.again(&exposures, fences)?.into_iter().flatten().filter(|again| !again.cut) {
        new |= wanted.add(&again, options.model);
    }
    Ok(new)
}

/// Hunts with these orderings in force, and adds the pairs of what is still harmful. Says whether that is anything new.
fn hunt_again(
    subject: &mut impl Subject,
    options: &Options,
    failing: &[Exposure],
    fences: &Fences,
    found: &mut Search,
    wanted: &mut Wanted,
) -> Result<bool, Error> {
    let again = Options { trials: options.trials.min(10), ..options.clone() };
    let mut rest = search_alone(subject, &again, fences)?;
    found.executions += rest.executions;
    if !rest.cycles.iter().any(Candidate::is_harmful) {
        // What fails so seldom is found by nobody else: the executions that failed say why.
        explain(subject, &mut rest, failing, fences)?;
    }
    find_root_causes(subject, options, &mut rest, fences)?;
    let before = wanted.pairs.len();
    harmful_pairs(&rest, options.model, true, &mut wanted.pairs);
    if wanted.pairs.len() == before {
        harmful_pairs(found, options.model, false, &mut wanted.pairs);
        harmful_pairs(&rest, options.model, false, &mut wanted.pairs);
    }
    Ok(wanted.pairs.len() > before)
}

/// Does the program never fail as it does only with reordering, with these orderings in force? And how is that known:
/// every execution was explored, or so many were run as `test` does. `None` if it fails, or if there was no time; and
/// executions that fail.
///
/// Where there is too much to explore, a part of it is all the same: an exploration goes through what is rare at random
/// as through everything else.
fn holds(
    subject: &mut impl Subject,
    options: &Options,
    fences: &Fences,
    found: &mut Search,
) -> Result<(Option<VerifiedBy>, Vec<Exposure>), Error> {
    let model = options.model;
    let mut done = 0;
    let mut fails = false;
    // A few executions at random cost less than an exploration, unless they are long.
    let long = subject.longest() > LONG;
    for (i, portion) in PORTIONS.into_iter().enumerate() {
        if i == usize::from(!long) {
            let explored = subject.explore(&[], 0, fences)?;
            found.executions += explored.executions;
            fails = explored.fails.is_some();
            if !explored.failing.is_empty() {
                let graphs = explored.failing.into_iter();
                return Ok((None, graphs.map(|graph| failure(model, Vec::new(), Some(graph))).collect()));
            }
            if explored.complete && !fails {
                if !fails_at_random(subject, fences, found)? {
                    return Ok((Some(VerifiedBy::Explored), Vec::new()));
                }
                subject.distrust();
            }
        }
        if fails && (long || i == 2) {
            // It fails, and so seldom, or so slowly, that others have to say why.
            return Ok((None, Vec::new()));
        }
        if i == 2 && !long {
            let failing = directed(subject, model, fences, found)?;
            if !failing.is_empty() {
                return Ok((None, failed(model, failing)));
            }
        }
        let portion = (portion * LONG / subject.longest().max(LONG)).max(1);
        let tested = subject.test(done, portion, fences)?;
        found.executions += tested.executions;
        // A litmus test is never run at random: all that it does is explored.
        let is_run = i > 0 || tested.executions > 0;
        if !tested.failing.is_empty() || is_late(options.deadline) || is_run && tested.executions < portion {
            return Ok((None, failed(model, tested.failing)));
        }
        done += portion;
    }
    Ok((Some(VerifiedBy::Tested(done)), Vec::new()))
}

/// Executions in which a cycle is brought about, or its stores are late, with these orderings in force: the answers
/// that led to those that fail. What is rare at random may be met here.
///
/// Each cycle that was real without the orderings has a few: those that are still real share the rest. In which round
/// of a loop a cycle begins is left to chance, and threads go on for a while before others do: what a failure needs
/// besides the cycle is often that somebody is late.
fn directed(
    subject: &mut impl Subject,
    model: Model,
    fences: &Fences,
    found: &mut Search,
) -> Result<Vec<Vec<u32>>, Error> {
    let is_real = |candidate: &&Candidate| candidate.is_harmful() || candidate.exposed > 0;
    let cycles: Vec<Cycle> = found.cycles.iter().filter(is_real).map(|candidate| candidate.cycle.clone()).collect();
    let attempts: Vec<Attempt> = cycles.iter().flat_map(|cycle| ways(subject, model, cycle)).collect();
    let each = |attempts: &[Attempt], all: u64, most: u64| (all / attempts.len().max(1) as u64).min(most);
    let few = share(subject, each(&attempts, PROBED, PROBED_EACH)).max(1);
    let met = subject.direct(&attempts, few, BASE_SEED, fences)?;
    found.executions += few * attempts.len() as u64;
    if !met.failing.is_empty() {
        return Ok(met.failing);
    }
    let real: BTreeSet<&Cycle> = met.met.iter().map(|attempt| &attempts[*attempt].cycle).collect();
    let rest: Vec<Attempt> = attempts.iter().filter(|attempt| real.contains(&attempt.cycle)).cloned().collect();
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    let many = share(subject, each(&rest, DIRECTED, DIRECTED_EACH)).max(1);
    let met = subject.direct(&rest, many, !BASE_SEED, fences)?;
    found.executions += many * rest.len() as u64;
    Ok(met.failing)
}

/// How a cycle is brought about to see what it does.
fn ways(subject: &impl Subject, model: Model, cycle: &Cycle) -> Vec<Attempt> {
    let points = Points::of(cycle, |point| subject.point(point).labels);
    let late = DELAYS.map(|delay| {
        let options = RelaxerOptions { chance: CHANCE, store_delay: delay, load_delay: delay / 2 };
        StrategySpec::Relaxer { seed: 0, points: points.clone(), options }
    });
    let stops = Stop::of(cycle, model, |point| subject.point(point), |_| Vec::new());
    let exact = [Pace::Two, Pace::Eight, Pace::Long].map(|pace| {
        let patience = OrionOptions::default().patience.max(subject.longest());
        let options = OrionOptions { buffer: None, patience, pace, skip: SKIP, ..OrionOptions::default() };
        StrategySpec::Orion { seed: 0, stops: stops.clone(), options }
    });
    late.into_iter().chain(exact).map(|strategy| Attempt { cycle: cycle.clone(), strategy }).collect()
}

/// Which of the cycles are in executions that fail: those that are enough for it are harmful.
fn explain(
    subject: &mut impl Subject,
    search: &mut Search,
    failing: &[Exposure],
    fences: &Fences,
) -> Result<(), Error> {
    let answers = failing.iter().map(|exposure| &exposure.choices).enumerate();
    for (number, choices) in answers.filter(|(_, choices)| !choices.is_empty()) {
        let follow = |candidate: &Candidate| Attempt {
            cycle: candidate.cycle.clone(),
            strategy: StrategySpec::Follow { choices: choices.clone() },
        };
        let attempts: Vec<Attempt> = search.cycles.iter().map(follow).collect();
        let (_, exposures) = subject.attempt(&attempts, 1, number as u64, fences)?;
        search.executions += attempts.len() as u64;
        for mut exposure in exposures {
            exposure.choices.clone_from(choices);
            let candidate = &mut search.cycles[exposure.attempt];
            candidate.trials += 1;
            candidate.note(exposure, HuntMethod::Random);
        }
    }
    Ok(())
}

/// The pairs of harmful cycles, all or the root causes, that the model can reorder.
fn harmful_pairs(search: &Search, model: Model, root_causes: bool, pairs: &mut BTreeSet<Pair>) {
    // Cycles share most of their pairs.
    let mut asked: BTreeSet<(Node, Node)> = BTreeSet::new();
    for candidate in
        search.cycles.iter().filter(|candidate| candidate.is_harmful() && (candidate.root_cause || !root_causes))
    {
        for instance in &candidate.instances {
            for (first, second) in instance {
                let Some(second) = second else { continue };
                if !pairs.contains(&(first.class, second.class))
                    && asked.insert((*first, *second))
                    && can_pass(&search.seen.profiles, model, first, second)
                {
                    pairs.insert((first.class, second.class));
                }
            }
        }
    }
}

/// Can the second pass the first, as far as was seen?
fn can_pass(profiles: &[Profile], model: Model, first: &Node, second: &Node) -> bool {
    let is = |item: &Item, node: &Node| item.class == node.class && item.at == node.at;
    profiles.iter().any(|profile| {
        let Some(thread) = profile.threads.get(first.thread as usize) else { return false };
        let name = |item: &Item| if is(item, first) { Some(0) } else { is(item, second).then_some(1) };
        let names: Vec<Option<u32>> = thread.iter().map(name).collect();
        let mut found = false;
        passing(model, thread, &names, |a, b| found |= (a, b) == (0, 1));
        found
    })
}

/// The fewest orderings that keep each pair in order and have one of each list; weaker ones where that is as good.
fn choose(subject: &impl Subject, model: Model, wanted: &Wanted, profiles: &[Profile]) -> Vec<Ordering> {
    let mut lists: Vec<Vec<Ordering>> = wanted.one_of.clone();
    for pair in &wanted.pairs {
        let order = needed_order(subject, model, *pair);
        let both = |place| [(place, order), (place, FenceOrder::SeqCst)];
        lists.push(places_between(model, *pair, profiles).flat_map(both).collect());
    }
    // Better ones first. Before the second access is where a release store or a fence is usually written.
    let seconds: BTreeSet<u32> = wanted.pairs.iter().map(|(_, second)| *second).collect();
    let rank = |(place, order): &Ordering| {
        let full = *order == FenceOrder::SeqCst;
        (full, !(place.before && seconds.contains(&place.point)), *place, *order == FenceOrder::Acquire)
    };
    let mut all: Vec<Ordering> = lists.iter().flatten().copied().collect();
    all.sort_by_key(rank);
    all.dedup();
    // Of two orderings one of which serves all that the other does, the other is not needed.
    let serves = |one: &Ordering| -> Vec<bool> { lists.iter().map(|list| list.contains(one)).collect() };
    let served: Vec<Vec<bool>> = all.iter().map(serves).collect();
    let covers = |a: &[bool], b: &[bool]| b.iter().zip(a).all(|(b, a)| !b || *a);
    let is_needed = |i: &usize| {
        let better = |k: usize| covers(&served[k], &served[*i]) && (k < *i || !covers(&served[*i], &served[k]));
        !(0..all.len()).any(|k| k != *i && better(k))
    };
    let needed: Vec<usize> = (0..all.len()).filter(is_needed).collect();
    let of = |list: &Vec<Ordering>| needed.iter().copied().filter(|i| list.contains(&all[*i])).collect();
    let mut chosen = cover::smallest(&lists.iter().map(of).collect::<Vec<_>>());
    // Each is replaced by the best that does as well.
    for k in 0..chosen.len() {
        let does = |i: &usize| {
            let mut other = chosen.clone();
            other[k] = *i;
            (0..lists.len()).all(|list| other.iter().any(|one| served[*one][list]))
        };
        chosen[k] = (0..chosen[k]).find(does).unwrap_or(chosen[k]);
    }
    let mut orders: BTreeMap<FencePosition, FenceOrder> = BTreeMap::new();
    for (place, order) in chosen.into_iter().map(|i| all[i]) {
        let known = orders.entry(place).or_insert(order);
        *known = stronger(*known, order);
    }
    orders.into_iter().collect()
}

/// Is it there, or something stronger in its place?
fn is_in_force((place, order): Ordering, fences: &Fences) -> bool {
    fences.iter().any(|(other, strong)| *other == place && stronger(*strong, order) == *strong)
}

/// Where an ordering keeps a pair in order.
fn places_between(model: Model, (first, second): Pair, profiles: &[Profile]) -> impl Iterator<Item = FencePosition> {
    let own = [FencePosition { point: second, before: true }, FencePosition { point: first, before: false }];
    let others = always_between(model, (first, second), profiles).into_iter();
    own.into_iter().chain(others.map(|point| FencePosition { point, before: false }))
}

/// Which order that takes.
fn needed_order(subject: &impl Subject, model: Model, (first, second): Pair) -> FenceOrder {
    let (first, second) = (&subject.points()[first as usize], &subject.points()[second as usize]);
    match (first.writes, second.writes) {
        (true, true) if model != Model::Tso => FenceOrder::Release,
        (false, _) => FenceOrder::Acquire,
        _ => FenceOrder::SeqCst,
    }
}

fn stronger(a: FenceOrder, b: FenceOrder) -> FenceOrder {
    match (a, b) {
        (FenceOrder::SeqCst, _) | (_, FenceOrder::SeqCst) => FenceOrder::SeqCst,
        (a, b) if a == b => a,
        _ => FenceOrder::AcqRel,
    }
}

/// The program points that lie between the two wherever the second was seen to be able to pass the first.
fn always_between(model: Model, (first, second): Pair, profiles: &[Profile]) -> Vec<u32> {
    let mut common: Option<BTreeSet<u32>> = None;
    for thread in profiles.iter().flat_map(|profile| &profile.threads) {
        for (i, _) in thread.iter().enumerate().filter(|(_, item)| item.class == first && item.is_visible()) {
            let mut behind = Behind::new(model, &thread[i]);
            let mut between: BTreeSet<u32> = BTreeSet::new();
            for item in thread[i + 1..].iter().take(FARTHEST) {
                let kept = behind.keeps(item);
                if behind.is_closed() {
                    break;
                }
                // Behind the nearest there is no less between.
                if item.class == second && item.is_visible() && !kept {
                    common = Some(match common {
                        None => between,
                        Some(common) => common.intersection(&between).copied().collect(),
                    });
                    break;
                }
                between.extend(item.is_visible().then_some(item.class));
            }
        }
    }
    common.unwrap_or_default().into_iter().collect()
}

/// An ordering in the words of the program.
fn advice(
    subject: &impl Subject,
    (position, order): Ordering,
    chosen: &Fences,
    pairs: &BTreeSet<Pair>,
    verified: Option<VerifiedBy>,
) -> FenceAdvice {
    let points = subject.points();
    let point = &points[position.point as usize];
    // A line may have several.
    let sides = [true, false].map(|before| {
        let is_here = |(other, _): &&Ordering| {
            let label = &points[other.point as usize].label;
            other.before == before && (&label.file, label.line) == (&point.label.file, point.label.line)
        };
        chosen.iter().filter(is_here).map(|(_, order)| *order).reduce(stronger)
    });
    let reads = edited(subject, point, sides);
    let (file, line) = (point.label.file.clone(), point.label.line);
    let short = file.rsplit('/').next().unwrap_or(&file).to_owned();
    let served: Vec<(u32, u32)> = pairs
        .iter()
        .filter(|(first, second)| if position.before { *second == position.point } else { *first == position.point })
        .map(|(first, second)| (points[*first as usize].label.line, points[*second as usize].label.line))
        .collect();
    let kind = FenceKind::of(order);
    let name = kind.words();
    let advice = match (order, position.before, &served[..]) {
        (FenceOrder::Release, true, _) => {
            let what = if point.reads { "operation" } else { "store" };
            format!("{short}:{line}: make this {what} release, or put a {name} before it")
        }
        (FenceOrder::Acquire, false, _) if !point.writes => {
            format!("{short}:{line}: make this load acquire, or put a {name} behind it, each time that it is made")
        }
        (_, before, _) => {
            let place = placed(subject, point, &format!("{short}:{line}"), name, before);
            reads.as_ref().map_or_else(|| place.clone(), |reads| format!("{place}: {reads}"))
        }
    };
    let before = position.before;
    let by = verified;
    FenceAdvice { advice, file, line, before, order: kind, pairs: served, verified: by.is_some(), by, reads }
}

/// Where a fence belongs: at the access itself, each time that it is made.
fn placed(subject: &impl Subject, point: &ProgramPoint, place: &str, name: &str, before: bool) -> String {
    let (what, side) = (if point.writes { "store" } else { "load" }, if before { "before" } else { "behind" });
    let statement = subject.describe().statement(&point.label).unwrap_or_default();
    match is_condition(&statement) {
        true => format!("{place}: {name} {side} the {what} in this condition, at each evaluation"),
        false => format!("{place}: {name} right {side} the {what} of this line, each time"),
    }
}

/// Is the statement the head of a loop or of a branch?
fn is_condition(statement: &str) -> bool {
    let heads = ["while (", "if (", "} while (", "else if (", "} else if ("];
    heads.iter().any(|head| statement.starts_with(head))
}

/// The statement as it would read with fences before and behind it; `None` where a line alone does not tell how.
fn edited(subject: &impl Subject, point: &ProgramPoint, sides: [Option<FenceOrder>; 2]) -> Option<String> {
    let line = subject.describe().statement(&point.label)?;
    with_fences(&line, &point.label.file, sides)
}

fn with_fences(line: &str, file: &str, sides: [Option<FenceOrder>; 2]) -> Option<String> {
    let (statement, comment) = without_comment(line);
    fence(file, FenceOrder::SeqCst)?;
    let [before, behind] = sides.map(|order| order.and_then(|order| fence(file, order)));
    let text = if is_condition(statement) {
        let (head, rest) = statement.split_once('(')?;
        // A comma evaluates the fence first, every time.
        let first = before.map_or_else(String::new, |fence| format!("{fence}, "));
        match behind {
            None => format!("{head}({first}{rest}"),
            // GNU C, as everywhere where ThreadSanitizer is.
            Some(fence) => {
                let (condition, rest) = closed(rest).filter(|(condition, _)| is_single(condition))?;
                format!("{head}({first}({{ int holds = ({condition}) != 0; {fence}; holds; }})){rest}")
            }
        }
    } else {
        let first = statement.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let is_statement = statement.ends_with(';') && !["for", "else", "do", "case", "default"].contains(&first);
        if !is_statement || behind.is_some() && ["return", "goto", "break", "continue"].contains(&first) {
            return None;
        }
        let before = before.map_or_else(String::new, |fence| format!("{fence}; "));
        let behind = behind.map_or_else(String::new, |fence| format!(" {fence};"));
        let all = format!("{before}{statement}{behind}");
        // What is declared is needed behind; anything else may be all that a branch has.
        if is_declaration(statement) { all } else { format!("{{ {all} }}") }
    };
    Some(if comment.is_empty() { text } else { format!("{text} {comment}") })
}

/// What stands before the parenthesis that closes one that is open, and what stands behind it.
fn closed(text: &str) -> Option<(&str, &str)> {
    let mut open = 1;
    for (at, c) in text.char_indices() {
        open = match c {
            '(' => open + 1,
            ')' => open - 1,
            _ => open,
        };
        if open == 0 {
            return Some((&text[..at], &text[at + 1..]));
        }
    }
    None
}

/// Is all of a condition evaluated, so that what is behind it is behind each of its accesses?
fn is_single(condition: &str) -> bool {
    !["&&", "||", "?", ",", "\"", "'"].iter().any(|part| condition.contains(part))
}

/// A fence in the language of the file; `None` if that is not C or C++.
fn fence(file: &str, order: FenceOrder) -> Option<String> {
    let (_, extension) = file.rsplit_once('.')?;
    let space = match extension {
        "c" | "h" => "",
        "cc" | "cpp" | "cxx" | "hpp" | "hh" => "std::",
        _ => return None,
    };
    let order = match order {
        FenceOrder::SeqCst => "seq_cst",
        FenceOrder::Release => "release",
        FenceOrder::Acquire => "acquire",
        FenceOrder::AcqRel => "acq_rel",
    };
    Some(format!("{space}atomic_thread_fence({space}memory_order_{order})"))
}

/// The code of a line, and the comment at its end.
fn without_comment(line: &str) -> (&str, &str) {
    let ends = |at: &usize| line[*at..].find("*/").is_some_and(|end| at + end + 2 == line.len());
    let at = [line.find("/*").filter(ends), line.find("//")].into_iter().flatten().min();
    at.map_or((line, ""), |at| (line[..at].trim_end(), &line[at..]))
}

/// Does it declare a variable: a type and a name before anything else?
fn is_declaration(statement: &str) -> bool {
    let head = statement.split(['=', '(', '[', ';']).next().unwrap_or_default();
    let mut words = head.split_whitespace();
    let is_word = |word: &str| word.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '*' || c == '&');
    words.next().is_some_and(|first| first != "return") && words.next().is_some_and(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are() {
        assert_eq!(without_comment("x = 1; /* 3 */"), ("x = 1;", "/* 3 */"));
        assert_eq!(without_comment("f(/* all */ 1);"), ("f(/* all */ 1);", ""));
        for declaration in ["int last = number[other];", "struct node *old = f(x);", "unsigned n;"] {
            assert!(is_declaration(declaration), "{declaration}");
        }
        for other in ["x = 1;", "x += 1;", "*p = 2;", "f(a, b);", "return x;", "number[me] = mine;"] {
            assert!(!is_declaration(other), "{other}");
        }
        assert!(is_condition("} while (n != load(&shared));") && !is_condition("x = 1;"));
        assert_eq!(closed("n != load(&shared));"), Some(("n != load(&shared)", ";")));
        assert_eq!(closed("(a == b"), None);
        assert!(is_single("n != load(&shared)") && !is_single("a && b"));
        let (release, acquire) = (Some(FenceOrder::Release), Some(FenceOrder::Acquire));
        let both = |line: &str, sides| {
            let text = with_fences(line, "a.c", sides)?;
            Some(
                text.replace("atomic_thread_fence(memory_order_", "F(")
                    .replace("F(release)", "R")
                    .replace("F(acquire)", "A"),
            )
        };
        assert_eq!(both("x = 1; /* 3 */", [release, acquire]).as_deref(), Some("{ R; x = 1; A; } /* 3 */"));
        assert_eq!(both("while (x)", [release, None]).as_deref(), Some("while (R, x)"));
        let behind = Some("if (({ int holds = (x) != 0; A; holds; })) {");
        assert_eq!(both("if (x) {", [None, acquire]).as_deref(), behind);
        assert_eq!(both("if (x && y) {", [None, acquire]), None);
        assert_eq!(with_fences("x = 1;", "a.rs", [release, None]), None);
    }
}
