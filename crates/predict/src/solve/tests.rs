//! Schedules are held against a machine with store buffers, written out here.

use super::*;
use crate::critical::{Graph, Limits};
use crate::testing::{fence, lock, profile, read, unlock, write};

/// All schedules of all critical cycles of this execution.
fn solve(threads: &[&[Item]], model: Model) -> Vec<(Instance, Vec<Schedule>)> {
    let profiles = [profile(threads)];
    let cycles = Graph::new(&profiles, model).cycles(Limits::default()).cycles;
    let solver = Solver::new(&profiles, 0, model);
    let mut places = Places::default();
    let solved = cycles.into_values().map(|instances| {
        let schedules = solver.schedules(&instances, 5, true, &mut places);
        (instances[0].clone(), schedules)
    });
    solved.collect()
}

/// What each load of a schedule reads on a machine with one first-in-first-out buffer for each thread: by thread and
/// position, the class of the store, or nothing for the initial value. A schedule says when stores leave their buffers;
/// they enter them when their thread comes by.
fn run(threads: &[&[Item]], schedule: &Schedule) -> Vec<((u32, u32), Option<u32>)> {
    let mut memory: FxHashMap<Location, u32> = FxHashMap::default();
    let mut buffers: Vec<Vec<Item>> = vec![Vec::new(); threads.len()];
    let mut next = vec![0; threads.len()];
    let mut reads = Vec::new();
    for step in &schedule.steps {
        let (t, index) = (step.thread as usize, step.index as usize);
        let (item, buffer) = (threads[t][index], &mut buffers[t]);
        let until = index + usize::from(step.commit);
        for store in &threads[t][next[t].min(until)..until] {
            assert!(store.kind.writes && !store.kind.reads, "only stores are passed by: {schedule:?}");
            buffer.push(*store);
        }
        next[t] = next[t].max(until);
        if step.commit {
            let store = buffer.remove(0);
            assert_eq!(store.class, item.class, "stores of a thread leave its buffer in order");
            memory.insert(store.at, store.class);
            continue;
        }
        next[t] = index + 1;
        if item.kind.fence || item.kind.exclusive {
            assert!(buffer.is_empty(), "a fence waits for the buffer: {schedule:?}");
        } else {
            let own = buffer.iter().rev().find(|store| store.at == item.at).map(|store| store.class);
            reads.push(((step.thread, step.index), own.or(memory.get(&item.at).copied())));
        }
    }
    reads
}

/// Store buffering: both loads pass the stores before them, and read the initial value.
#[test]
fn store_buffering_has_a_schedule_under_tso() {
    let (first, second) = ([write(1, 0), read(2, 1)], [write(3, 1), read(4, 0)]);
    let solved = solve(&[&first, &second], Model::Tso);
    let [(_, schedules)] = &solved[..] else { panic!("one cycle: {solved:?}") };
    assert!(!schedules.is_empty());
    for schedule in schedules {
        let reads = run(&[&first, &second], schedule);
        assert!(reads.contains(&((0, 1), None)) && reads.contains(&((1, 1), None)), "{reads:?}");
    }
}

/// With fences between store and load there is no cycle that tso can make real, and so nothing to solve.
#[test]
fn fences_leave_nothing_to_solve() {
    let (first, second) = ([write(1, 0), fence(5), read(2, 1)], [write(3, 1), fence(6), read(4, 0)]);
    assert!(solve(&[&first, &second], Model::Tso).iter().all(|(_, schedules)| schedules.is_empty()));
}

/// One fence does not prevent it: the other thread's load passes its store.
#[test]
fn one_fence_is_not_enough() {
    let (first, second) = ([write(1, 0), fence(5), read(2, 1)], [write(3, 1), read(4, 0)]);
    let solved = solve(&[&first, &second], Model::Tso);
    assert!(solved.iter().any(|(_, schedules)| !schedules.is_empty()), "{solved:?}");
    for schedule in solved.iter().flat_map(|(_, schedules)| schedules) {
        let reads = run(&[&first, &second], schedule);
        assert!(reads.contains(&((0, 2), None)) && reads.contains(&((1, 1), None)), "{reads:?}");
    }
}

/// What comes before the cycle keeps its values: a thread that has taken a lock has taken it.
#[test]
fn steps_before_the_cycle_are_part_of_the_schedule() {
    let first = [lock(1), write(7, 2), unlock(1), write(1, 0), read(2, 1)];
    let second = [write(3, 1), read(4, 0)];
    let solved = solve(&[&first, &second], Model::Tso);
    assert!(solved.iter().any(|(_, schedules)| !schedules.is_empty()));
    for schedule in solved.iter().flat_map(|(_, schedules)| schedules) {
        let has = |index: u32| schedule.steps.iter().any(|step| step.thread == 0 && step.index == index);
        assert!((0..5).all(has), "{schedule:?}");
    }
}

/// An execution that is too long to be asked about is said to be.
#[test]
fn what_is_too_long_is_said() {
    let mut first: Vec<Item> = (0..LONGEST as u32).map(|i| write(100 + i, 5)).collect();
    first.extend([write(1, 0), read(2, 1)]);
    let second = [write(3, 1), read(4, 0)];
    let profiles = [profile(&[&first, &second])];
    assert!(Solver::new(&profiles, 0, Model::Tso).is_cut());
    let profiles = [profile(&[&second, &second])];
    assert!(!Solver::new(&profiles, 0, Model::Tso).is_cut());
}
