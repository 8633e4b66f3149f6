//! The two papers' own ways, for `--method relaxer` and `--method orion`: what they predict, and the strategies that
//! bring it about.
//!
//! Relaxer's algorithm 1 on each execution without reordering, cycles of length 4, whatever the model is. Orion's race
//! graph of each of them, with its epochs and its cap of the profile, cycles up to the length asked for that the model
//! can reorder.

use super::options::{Options, is_late};
use super::subject::{ProgramPoint, Subject};
use fencepost_predict::critical::{Found, Instance, Node};
use fencepost_predict::orion::{RaceGraph, possible};
use fencepost_predict::{Item, Profile, relaxer};
use fencepost_report::HuntMethod;
use fencepost_trace::{Cycle, Model, OrionOptions, Pace, Points, Segment, Stop, StrategySpec};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// The length of the cycles in Relaxer's experiments.
const RELAXER_LENGTH: usize = 4;
/// The greatest length in Orion's.
const ORION_LENGTH: usize = 8;
/// Of each program point and thread Orion profiles so many accesses.
const CAP: usize = 20;

/// What the one published method that is asked for predicts; `None` if others are asked for, too.
pub fn predicted(options: &Options, profiles: &[Profile], points: &[ProgramPoint]) -> Option<Found> {
    let methods = &options.methods;
    let is_relaxer = match (methods.solve, methods.relaxer.is_some(), methods.orion.is_some()) {
        (false, true, false) => true,
        (false, false, true) => false,
        _ => return None,
    };
    let writes = |class: u32| points.get(class as usize).is_some_and(|point| point.writes);
    let mut names: BTreeSet<Cycle> = BTreeSet::new();
    let mut found = Found { complete: true, ..Found::default() };
    for profile in profiles {
        if is_late(options.deadline) {
            found.complete = false;
            break;
        }
        if is_relaxer {
            names.extend(relaxer::cycles(profile, Some(RELAXER_LENGTH)));
        } else {
            let cycles = RaceGraph::new(profile, CAP).cycles(options.length.unwrap_or(ORION_LENGTH));
            names.extend(cycles.into_iter().filter(|cycle| possible(cycle, options.model, writes)));
        }
    }
    for cycle in names {
        // It was found in one of them.
        let instances = profiles.iter().find_map(|profile| instance(&cycle, profile)).into_iter().collect();
        found.cycles.insert(cycle, instances);
    }
    Some(found)
}

/// The strategies that are asked for, for one cycle.
pub fn strategies(options: &Options, subject: &impl Subject, cycle: &Cycle) -> Vec<(HuntMethod, StrategySpec)> {
    let relaxer = options.methods.relaxer.map(|options| {
        let points = Points::of(cycle, |point| subject.point(point).labels);
        (HuntMethod::Relaxer, StrategySpec::Relaxer { seed: 0, points, options })
    });
    let (model, solve) = (options.model, options.methods.solve);
    let orion = options.methods.orion.map(|mut options| {
        if solve {
            // The other threads may have most of a long execution to go until it is their turn.
            options.patience = options.patience.max(subject.longest());
        }
        let stops = Stop::of(cycle, model, |point| subject.point(point), |_| Vec::new());
        (HuntMethod::Orion, StrategySpec::Orion { seed: 0, stops, options })
    });
    relaxer.into_iter().chain(orion).collect()
}

/// Of each program point the first access of a thread and its last.
type Extent = FxHashMap<u32, (usize, usize)>;

/// Which threads were seen to make which accesses in which order: the threads of the race graph's nodes.
pub struct Parts {
    /// Each thread of each execution.
    seen: Vec<(u32, Extent)>,
    known: BTreeMap<Segment, Vec<u32>>,
}

impl Parts {
    /// Those of these executions.
    pub fn new(profiles: &[Profile]) -> Parts {
        let mut seen = Vec::new();
        for profile in profiles {
            for (t, steps) in profile.threads.iter().enumerate() {
                let mut places = Extent::default();
                for (i, item) in steps.iter().enumerate().filter(|(_, item)| item.is_visible()) {
                    places.entry(item.class).or_insert((i, i)).1 = i;
                }
                seen.push((t as u32, places));
            }
        }
        Parts { seen, known: BTreeMap::new() }
    }

    fn threads(&mut self, segment: Segment) -> Vec<u32> {
        let seen = &self.seen;
        let takes = |places: &Extent| {
            let (first, last) = (places.get(&segment.first), places.get(&segment.last()));
            first.zip(last).is_some_and(|(first, last)| segment.second.is_none() || first.0 < last.1)
        };
        let find = || {
            let threads: BTreeSet<u32> = seen.iter().filter(|(_, places)| takes(places)).map(|(t, _)| *t).collect();
            threads.into_iter().collect()
        };
        self.known.entry(segment).or_insert_with(find).clone()
    }

    /// Orion's strategies for a cycle: whichever store comes first is buffered, as in the paper, or always the same
    /// one; each with each pace of the program before that (the paper has that of its machine), and under pso with the
    /// thread's other stores in the buffer until it is full (as in the paper), or visible at once.
    pub fn strategies(
        &mut self,
        options: &Options,
        orion: OrionOptions,
        subject: &impl Subject,
        cycle: &Cycle,
    ) -> Vec<StrategySpec> {
        let stops = Stop::of(cycle, options.model, |point| subject.point(point), |segment| self.threads(segment));
        let passable: Vec<usize> = (0..stops.len()).filter(|i| stops[*i].passable).collect();
        // As the paper does it first.
        let mut begun: Vec<Vec<Stop>> = vec![stops.clone()];
        if !orion.all && passable.len() > 1 {
            let only = |first: &usize| {
                let mut stops = stops.clone();
                stops.iter_mut().enumerate().for_each(|(i, stop)| stop.passable &= i == *first);
                stops
            };
            begun.extend(passable.iter().map(only));
        }
        // What passes under tso passes in the order of the buffer.
        let eager = if options.model == Model::Tso { &[false][..] } else { &[false, true] };
        let mut all = Vec::new();
        for stops in begun {
            for pace in Pace::ALL {
                all.extend(eager.iter().map(|eager| {
                    let options = OrionOptions { pace, eager: Some(*eager), ..orion };
                    StrategySpec::Orion { seed: 0, stops: stops.clone(), options }
                }));
            }
        }
        all
    }
}

/// How a cycle could come about: accesses of an execution.
fn instance(cycle: &Cycle, profile: &Profile) -> Option<Instance> {
    let parts: Vec<Instance> = cycle.segments.iter().map(|segment| parts(*segment, profile)).collect();
    let mut chosen = Instance::new();
    complete(&parts, &mut chosen).then_some(chosen)
}

/// Everything that one segment can be.
fn parts(segment: Segment, profile: &Profile) -> Instance {
    let mut all = BTreeSet::new();
    for (t, steps) in profile.threads.iter().enumerate() {
        let node = |item: &Item| Node {
            thread: t as u32,
            class: item.class,
            at: item.at,
            access: (item.kind.reads, item.kind.writes),
            epoch: 0,
        };
        let of =
            |class: u32| steps.iter().enumerate().filter(move |(_, item)| item.is_visible() && item.class == class);
        for (i, first) in of(segment.first) {
            match segment.second {
                None => _ = all.insert((node(first), None)),
                Some(second) => {
                    all.extend(of(second).filter(|(j, _)| i < *j).map(|(_, s)| (node(first), Some(node(s)))))
                }
            }
        }
    }
    all.into_iter().collect()
}

/// Chooses one of each, so that neighbours conflict.
fn complete(parts: &[Instance], chosen: &mut Instance) -> bool {
    let conflict = |(a, b): &(Node, Option<Node>), (c, _): &(Node, Option<Node>)| {
        let last = b.as_ref().unwrap_or(a);
        last.thread != c.thread && (last.access.1 || c.access.1) && last.at.overlaps(c.at)
    };
    let Some(next) = parts.get(chosen.len()) else {
        return chosen.last().zip(chosen.first()).is_some_and(|(last, first)| conflict(last, first));
    };
    for part in next {
        if chosen.last().is_none_or(|last| conflict(last, part)) {
            chosen.push(*part);
            if complete(parts, chosen) {
                return true;
            }
            chosen.pop();
        }
    }
    false
}
