//! The predictions of the two papers, for `--method relaxer` and `--method orion`.
//!
//! Relaxer's algorithm 1 on each execution without reordering, cycles of length 4, whatever the model is. Orion's race
//! graph of each of them, with its epochs and its cap of the profile, cycles up to the length asked for that the model
//! can reorder.

use super::options::{Options, is_late};
use super::subject::ProgramPoint;
use fencepost_predict::critical::{Found, Instance, Node};
use fencepost_predict::orion::{RaceGraph, possible};
use fencepost_predict::{Item, Profile, relaxer};
use fencepost_trace::{Cycle, Segment};
use std::collections::BTreeSet;
use std::time::Instant;

/// The length of the cycles in Relaxer's experiments.
const RELAXER_LENGTH: usize = 4;
/// The greatest length in Orion's.
const ORION_LENGTH: usize = 8;
/// Of each program point and thread Orion profiles so many accesses.
const CAP: usize = 20;

/// What the one published method that is asked for predicts; `None` if others are asked for, too.
pub fn predicted(
    options: &Options,
    profiles: &[Profile],
    points: &[ProgramPoint],
    deadline: Option<Instant>,
) -> Option<Found> {
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
        if is_late(deadline) {
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
