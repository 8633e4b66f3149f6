//! Against the definition, by brute force.

use super::*;
use crate::Item;
use crate::order::kept_behind;
use crate::testing::{fence, profile, read, read_newest, rmw, write};
use std::collections::BTreeSet;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

/// A program's execution: threads at their own program points, interleaved at random.
fn random_profile(random: &mut Random, code: &[Vec<Item>]) -> Profile {
    let mut threads: Vec<Vec<Item>> = code.to_vec();
    // Some threads stop early, as if they had taken another path.
    for thread in &mut threads {
        if random.below(3) == 0 {
            thread.truncate(random.below(thread.len() as u64 + 1) as usize);
        }
    }
    let mut next = vec![0; threads.len()];
    let total: usize = threads.iter().map(Vec::len).sum();
    for time in 1..=total as u32 {
        let ready: Vec<usize> = (0..threads.len()).filter(|t| next[*t] < threads[*t].len()).collect();
        let t = ready[random.below(ready.len() as u64) as usize];
        threads[t][next[t]].time = time;
        next[t] += 1;
    }
    let mut profile = Profile { threads };
    read_newest(&mut profile);
    profile
}

fn random_code(random: &mut Random) -> Vec<Vec<Item>> {
    let threads = 2 + random.below(3);
    (0..threads as u32)
        .map(|t| {
            (0..1 + random.below(4) as u32)
                .map(|i| {
                    // Some program points are shared by all threads.
                    let class = if random.below(3) == 0 { i } else { 10 * (t + 1) + i };
                    let x = random.below(3);
                    match random.below(9) {
                        0 => fence(class),
                        // One program point makes one kind of access.
                        1 => rmw(class + 400, x),
                        n if n < 5 => read(class + 100, x),
                        _ => write(class + 200, x),
                    }
                })
                .collect()
        })
        .collect()
}

/// A part of one thread: whose, its accesses, and whether the model can reorder them.
type Part = (u32, Item, Option<Item>, bool);

/// Is what was chosen of all parts a cycle of the kind that is looked for?
type Definition = fn(&[Part], &[usize]) -> bool;

/// A definition, word by word, on all sequences of accesses.
fn brute_force(profiles: &[Profile], model: Model, length: usize, is_one: Definition) -> BTreeSet<Cycle> {
    // All segments of all threads.
    let mut segments: Vec<Part> = Vec::new();
    for profile in profiles {
        for (t, thread) in profile.threads.iter().enumerate() {
            for (i, first) in thread.iter().enumerate().filter(|(_, item)| item.is_visible()) {
                segments.push((t as u32, *first, None, false));
                let mut kept = Vec::new();
                kept_behind(model, thread, i, &mut kept);
                for (j, second) in thread.iter().enumerate().skip(i + 1).filter(|(_, item)| item.is_visible()) {
                    segments.push((t as u32, *first, Some(*second), !kept[j]));
                }
            }
        }
    }
    let mut found = BTreeSet::new();
    let mut path = Vec::new();
    grow(&segments, length, is_one, &mut path, &mut found);
    found
}

fn grow(segments: &[Part], length: usize, is_one: Definition, path: &mut Vec<usize>, found: &mut BTreeSet<Cycle>) {
    if path.len() > 1 && is_one(segments, path) {
        let segment =
            |s: &usize| Segment { first: segments[*s].1.class, second: segments[*s].2.map(|item| item.class) };
        found.insert(Cycle { segments: path.iter().map(segment).collect() }.canonical());
    }
    for (i, (thread, ..)) in segments.iter().enumerate() {
        let size: usize = path.iter().chain([&i]).map(|s| 1 + usize::from(segments[*s].2.is_some())).sum();
        let linked = path.last().is_none_or(|s| segments[*s].2.unwrap_or(segments[*s].1).conflicts(&segments[i].1));
        if size <= length && linked && path.iter().all(|s| segments[*s].0 != *thread) {
            path.push(i);
            grow(segments, length, is_one, path, found);
            path.pop();
        }
    }
}

/// Orion's figure 4: conflicts from thread to thread, and a store alone is between two loads.
fn is_of_figure_4(segments: &[Part], path: &[usize]) -> bool {
    let chosen: Vec<_> = path.iter().map(|s| &segments[*s]).collect();
    let n = chosen.len();
    let last = |k: usize| chosen[k % n].2.unwrap_or(chosen[k % n].1);
    let linked = (0..n).all(|k| last(k).conflicts(&chosen[(k + 1) % n].1));
    let alone = (0..n).all(|k| {
        let writes = |item: Item| item.kind.writes;
        chosen[k].2.is_some() || writes(chosen[k].1) && !writes(last(k + n - 1)) && !writes(chosen[(k + 1) % n].1)
    });
    // Two accesses to one location keep their order, whatever the model says of other ones.
    let reordered = |s: &&Part| s.3 && s.2.is_some_and(|second| !second.at.overlaps(s.1.at));
    linked && alone && chosen.iter().any(reordered)
}

fn is_critical(segments: &[Part], path: &[usize]) -> bool {
    let chosen: Vec<_> = path.iter().map(|s| &segments[*s]).collect();
    let n = chosen.len();
    // Every conflict is one.
    let linked = (0..n).all(|k| {
        let last = chosen[k].2.unwrap_or(chosen[k].1);
        last.conflicts(&chosen[(k + 1) % n].1)
    });
    // The accesses of a location are neighbours, at most three, of these shapes.
    let accesses: Vec<Item> = chosen.iter().flat_map(|s| std::iter::once(s.1).chain(s.2)).collect();
    let locations: BTreeSet<Location> = accesses.iter().map(|item| item.at).collect();
    let m = accesses.len();
    let shaped = locations.iter().all(|at| {
        let here: Vec<usize> = (0..m).filter(|i| accesses[*i].at == *at).collect();
        let neighbours = |i: usize, j: usize| (i + 1) % m == j;
        match here[..] {
            [i, j] => neighbours(i, j) || neighbours(j, i),
            [i, j, k] => {
                let orders = [[i, j, k], [j, k, i], [k, i, j]];
                orders.iter().any(|[a, b, c]| {
                    let writes = |i: &usize| accesses[*i].kind.writes;
                    neighbours(*a, *b) && neighbours(*b, *c) && !writes(a) && writes(b) && !writes(c)
                })
            }
            _ => false,
        }
    });
    let pairs = chosen.iter().all(|s| s.2.is_none_or(|second| second.at != s.1.at));
    // A store that is alone has its two neighbours at its location.
    let alone = chosen.iter().all(|s| s.2.is_some() || accesses.iter().filter(|item| item.at == s.1.at).count() == 3);
    linked && shaped && pairs && alone && chosen.iter().any(|s| s.3)
}

#[test]
fn direct_enumeration_is_the_definition() {
    let mut random = Random(1);
    let (mut total, mut odd) = (0, 0);
    for round in 0..300 {
        let code = random_code(&mut random);
        let profiles: Vec<Profile> = (0..1 + random.below(2)).map(|_| random_profile(&mut random, &code)).collect();
        for model in [Model::Tso, Model::Pso, Model::Pslo] {
            for length in [4, 5, 8] {
                let limits = Limits { length: Some(length), ..Limits::default() };
                let direct = Graph::new(&profiles, model).cycles(limits);
                assert!(direct.complete);
                let direct: BTreeSet<Cycle> = direct.cycles.into_keys().collect();
                assert_eq!(
                    direct,
                    brute_force(&profiles, model, length, is_critical),
                    "round {round}, {model}, {code:?}"
                );
                total += direct.len();
                odd += direct.iter().filter(|cycle| cycle.length() % 2 == 1).count();
            }
        }
    }
    assert!(total > 1000 && odd > 50, "{total} cycles, {odd} of odd length: too few to mean anything");
}

#[test]
fn longer_cycles_are_those_of_figure_4_that_are_not_critical() {
    let mut random = Random(3);
    let mut total = 0;
    for round in 0..1_200 {
        let code = random_code(&mut random);
        let profile = random_profile(&mut random, &code);
        for model in [Model::Tso, Model::Pso, Model::Pslo] {
            let profiles = std::slice::from_ref(&profile);
            let direct = Graph::new(profiles, model).longer_cycles(Limits::default());
            assert!(direct.complete);
            let direct: BTreeSet<Cycle> = direct.cycles.into_keys().collect();
            let mut expected = brute_force(profiles, model, 8, is_of_figure_4);
            brute_force(profiles, model, 8, is_critical).iter().for_each(|cycle| _ = expected.remove(cycle));
            if profile.threads.len() < 3 {
                // All four accesses are to one location: there is no pair to reorder.
                assert!(expected.is_empty(), "round {round}, {model}, {code:?}");
            }
            assert_eq!(direct, expected, "round {round}, {model}, {code:?}");
            total += direct.len();
        }
    }
    assert!(total > 150, "{total} cycles: too few to mean anything");
}

#[test]
fn more_executions_never_mean_fewer_cycles() {
    let mut random = Random(2);
    for _ in 0..50 {
        let code = random_code(&mut random);
        let profiles: Vec<Profile> = (0..6).map(|_| random_profile(&mut random, &code)).collect();
        let cycles = |n: usize| Graph::new(&profiles[..n], Model::Pso).cycles(Limits::default()).cycles;
        let mut before = cycles(1);
        for n in 2..=6 {
            let now = cycles(n);
            assert!(before.keys().all(|cycle| now.contains_key(cycle)));
            before = now;
        }
        // And their order does not matter.
        let mut reversed = profiles.clone();
        reversed.reverse();
        let other = Graph::new(&reversed, Model::Pso).cycles(Limits::default()).cycles;
        assert_eq!(before, other);
    }
}

#[test]
fn store_buffering_and_message_passing() {
    let (x, y) = (0, 1);
    let sb = profile(&[&[write(1, x), read(2, y)], &[write(3, y), read(4, x)]]);
    let mp = profile(&[&[write(1, x), write(2, y)], &[read(3, y), read(4, x)]]);
    let count = |profile: &Profile, model| {
        Graph::new(std::slice::from_ref(profile), model).cycles(Limits::default()).cycles.len()
    };
    let counts =
        |profile: &Profile| [Model::Sc, Model::Tso, Model::Pso, Model::Pslo].map(|model| count(profile, model));
    assert_eq!(counts(&sb), [0, 1, 1, 1]);
    assert_eq!(counts(&mp), [0, 0, 1, 1]);
    let fenced = profile(&[&[write(1, x), fence(9), read(2, y)], &[write(3, y), fence(9), read(4, x)]]);
    assert_eq!(counts(&fenced), [0; 4]);
    let half = profile(&[&[write(1, x), fence(9), read(2, y)], &[write(3, y), read(4, x)]]);
    assert_eq!(counts(&half), [0, 1, 1, 1]);
}
