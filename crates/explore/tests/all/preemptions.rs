//! Explorations with a bound on preemptions: all that is within it, and nothing else.

use crate::common::script::{APART, Recipe, Script, random_script};
use fencepost_engine::{Random, WaitSets};
use fencepost_explore::graph::{Explorer, Flow, Options, Races, Stuck, Visitor, explore_parallel};
use fencepost_memory::graph::{Flags, Graph, Node, Place};
use fencepost_trace::op::Sync;
use fencepost_trace::{
    Access, Failure, Guard, LoadOrder, Location, Model, Op, Size, StoreOrder, ThreadId, Update, Value, execution_seed,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A graph as a value: what every event of every thread reads, and where every write stands.
type Name = Vec<(u32, u32, Option<(u32, u32)>, u32, u32)>;

fn name(graph: &Graph) -> Name {
    let mut events: Name = graph
        .nodes()
        .filter(|(node, _)| !graph.is_wait(*node))
        .map(|(_, data)| {
            let source = data.flags.has(Flags::READ).then(|| graph.node(data.source));
            let source = source.map(|source| (source.thread.0, source.index));
            (data.thread.0, data.index, source, data.position, data.variant)
        })
        .collect();
    events.sort_unstable();
    events
}

/// The fewest preemptions by definition: every order of all events, whoever stops whenever.
fn fewest(graph: &Graph, total: bool) -> u32 {
    let threads: Vec<Vec<Node>> = (0..graph.threads() as u32).map(|t| graph.thread(ThreadId(t)).to_vec()).collect();
    let is_done = |done: &[usize], node: Node| {
        let data = graph.node(node);
        node == Node::INIT || done[data.thread.index()] > data.index as usize
    };
    let step = |t: usize, at: usize| {
        let is_half = graph.node(threads[t][at]).flags.has(Flags::READ.with(Flags::EXCLUSIVE));
        if is_half { 2 } else { 1 }
    };
    let possible = |done: &[usize], t: usize| {
        let steps = threads[t][done[t]..].iter().take(step(t, done[t]));
        steps.clone().all(|node| {
            let data = graph.node(*node);
            let own = |other: Node| steps.clone().any(|node| *node == other);
            let is_read = data.flags.has(Flags::READ);
            let earlier = |other: Node| {
                let write = data.flags.has(Flags::WRITE) && graph.position_of(other) < data.position;
                total && write && !own(other)
            };
            let accesses: Vec<Node> = match data.place {
                Place::NONE => Vec::new(),
                place => graph.writes(place).iter().chain(graph.reads(place)).copied().collect(),
            };
            (!is_read || data.place == Place::NONE || is_done(done, data.source))
                && accesses.into_iter().filter(|other| earlier(*other)).all(|other| is_done(done, other))
        })
    };
    // Could the thread go on, if it were given what there is?
    let could = |done: &[usize], t: usize| {
        let Some(node) = threads[t].get(done[t]) else { return false };
        let data = graph.node(*node);
        if data.place == Place::NONE || data.access.guard() == Guard::Any {
            return true;
        }
        let newest = graph.writes(data.place).iter().rev().find(|write| is_done(done, **write));
        let value = graph.written(data.place, *newest.expect("the initial write"));
        WaitSets::default().passes(data.access.guard(), value)
    };
    let mut best: BTreeMap<(Vec<usize>, Option<usize>), u32> = BTreeMap::new();
    let mut open = VecDeque::from([(vec![0; threads.len()], None, 0)]);
    while let Some((done, current, cost)) = open.pop_front() {
        if done.iter().zip(&threads).all(|(done, thread)| *done == thread.len()) {
            return cost;
        }
        if best.get(&(done.clone(), current)).is_some_and(|least| *least <= cost) {
            continue;
        }
        best.insert((done.clone(), current), cost);
        for t in (0..threads.len()).filter(|t| done[*t] < threads[*t].len() && possible(&done, *t)) {
            let preempts = current.is_some_and(|current: usize| current != t && could(&done, current));
            let mut next = done.clone();
            next[t] += step(t, done[t]);
            if preempts {
                open.push_back((next, Some(t), cost + 1));
            } else {
                open.push_front((next, Some(t), cost));
            }
        }
    }
    unreachable!("a consistent graph has an order")
}

#[derive(Default)]
struct Met {
    total: bool,
    counts: bool,
    /// The graphs, each with its number of preemptions if somebody counts.
    graphs: BTreeMap<Name, u32>,
    read: BTreeSet<Read>,
    left_out: u64,
}

impl Visitor<Script> for Met {
    fn execution(&mut self, program: &Script, graph: &Graph) -> Flow {
        let fewest = if self.counts { fewest(graph, self.total) } else { 0 };
        assert!(self.graphs.insert(name(graph), fewest).is_none(), "the same graph twice");
        self.read.insert(program.read());
        Flow::Continue(())
    }
    fn stuck(&mut self, _: &Script, _: &Graph, _: Stuck) -> Flow {
        Flow::Continue(())
    }
    fn failed(&mut self, _: &Script, _: &Graph, _: ThreadId, _: Failure) -> Flow {
        Flow::Continue(())
    }
    fn race(&mut self, _: &Script, _: &Graph, _: Node, _: Node) -> Flow {
        Flow::Continue(())
    }
    fn left_out(&mut self) -> Flow {
        self.left_out += 1;
        Flow::Continue(())
    }
}

fn options(model: Model, preemptions: Option<u32>) -> Options {
    Options { preemptions, races: Races::Ignore, spurious_failures: false, ..Options::new(model) }
}

fn explore(program: &Script, model: Model, preemptions: Option<u32>) -> Met {
    let mut explorer = Explorer::new(program.clone(), options(model, preemptions)).expect("it has axioms");
    let counts = preemptions.is_none();
    explorer.explore(|| Met { total: model == Model::Sc, counts, ..Met::default() }).expect("it is explored")
}

/// Within each bound exactly the graphs that have so few preemptions by definition are met.
fn agrees(program: &Script, model: Model) {
    let all = explore(program, model, None);
    for most in 0..4 {
        let bounded = explore(program, model, Some(most));
        let within = all.graphs.iter().filter(|(_, fewest)| **fewest <= most).map(|(name, _)| name);
        let within: Vec<_> = within.collect();
        assert!(within.iter().copied().eq(bounded.graphs.keys()), "{model} {most}: {:#?}", program.threads);
        assert_eq!(bounded.left_out == 0, within.len() == all.graphs.len(), "it says if something is left out");
    }
}

#[test]
fn the_graphs_of_random_programs_are_those_within_the_bound() {
    let recipes = [
        (150, Recipe { threads: 2, operations: 5, locations: APART, plain: false }),
        (150, Recipe { threads: 3, operations: 3, locations: APART, plain: false }),
        (50, Recipe { threads: 4, operations: 2, locations: APART, plain: false }),
    ];
    for (count, recipe) in recipes {
        for i in 0..count {
            let program = random_script(&mut Random::new(execution_seed(7, i)), recipe);
            for model in [Model::Sc, Model::Tso, Model::Pso, Model::C11] {
                agrees(&program, model);
            }
        }
    }
}

const X: Location = Location { address: 0x1000, size: Size::B4 };
const Y: Location = Location { address: 0x1010, size: Size::B4 };

/// Random sections under locks, with accesses in them and between them.
fn random_sections(random: &mut Random, threads: usize, parts: usize) -> Script {
    let access = |random: &mut Random| {
        let at = [X, Y][random.below(2)];
        Op::Access(match random.below(3) {
            0 => Access::Load { at, order: LoadOrder::Relaxed, guard: Guard::Any },
            1 => Access::Store { at, order: StoreOrder::Release, value: Value(1 + random.below(3) as u128) },
            _ => {
                let update = Update::Add(Value(1));
                Access::Rmw { at, order: fencepost_trace::RmwOrder::AcqRel, update, guard: Guard::Any }
            }
        })
    };
    let thread = |random: &mut Random| {
        let mut ops = Vec::new();
        for _ in 0..1 + random.below(parts) {
            let lock = [0x2000, 0x2040][random.below(2)];
            let around = match random.below(4) {
                0 => None,
                1 => Some((Sync::ReadLock { lock: 0x3000 }, Sync::ReadUnlock { lock: 0x3000 })),
                2 => Some((Sync::WriteLock { lock: 0x3000 }, Sync::WriteUnlock { lock: 0x3000 })),
                _ => Some((Sync::Lock { mutex: lock }, Sync::Unlock { mutex: lock })),
            };
            ops.extend(around.map(|(begin, _)| Op::Sync(begin)));
            ops.extend((0..random.below(2)).map(|_| access(random)));
            ops.extend(around.map(|(_, end)| Op::Sync(end)));
        }
        ops
    };
    Script::new((0..threads).map(|_| thread(random)).collect())
}

#[test]
fn the_graphs_of_programs_with_locks_are_those_within_the_bound() {
    for (threads, parts, count) in [(2, 4, 150), (3, 2, 150), (4, 2, 30)] {
        for i in 0..count {
            let program = random_sections(&mut Random::new(execution_seed(11, i)), threads, parts);
            for model in [Model::Sc, Model::C11] {
                agrees(&program, model);
            }
        }
    }
}

/// What each thread has read, in order.
type Read = Vec<Vec<(u128, bool)>>;

/// What the threads can read under SC with so few preemptions, by running them in every order.
fn interleaved(program: &Script, most: u32) -> BTreeSet<Read> {
    type Memory = BTreeMap<u64, u128>;
    fn go(
        program: &Script,
        (done, memory, read): (&[usize], &Memory, &Read),
        current: Option<usize>,
        left: u32,
        all: &mut BTreeSet<Read>,
    ) {
        let ready: Vec<usize> = (0..done.len()).filter(|t| done[*t] < program.threads[*t].len()).collect();
        if ready.is_empty() {
            all.insert(read.clone());
        }
        for t in &ready {
            let preempts = current.is_some_and(|current| current != *t && ready.contains(&current));
            let Some(left) = left.checked_sub(u32::from(preempts)) else { continue };
            let Op::Access(access) = program.threads[*t][done[*t]] else { unreachable!("only accesses") };
            let (mut done, mut memory, mut read) = (done.to_vec(), memory.clone(), read.clone());
            done[*t] += 1;
            let mut reply = (0, true);
            if let Some(at) = access.location() {
                let initial = fencepost_engine::Threads::initial(program, at).0;
                let cell = memory.entry(at.address).or_insert(initial);
                let before = *cell;
                match access {
                    Access::Load { .. } => reply.0 = before,
                    Access::Store { value, .. } => *cell = value.0,
                    Access::Rmw { update, .. } => {
                        *cell = match update {
                            Update::Exchange(value) => value.0,
                            Update::Add(value) => at.size.truncate(before.wrapping_add(value.0)).0,
                            _ => unreachable!("there are no others in these programs"),
                        };
                        reply.0 = before;
                    }
                    Access::CompareExchange { expected, desired, .. } => {
                        reply = (before, before == expected.0);
                        *cell = if reply.1 { desired.0 } else { before };
                    }
                    Access::Fence { .. } => unreachable!("a fence has no location"),
                }
            }
            if !matches!(access, Access::Store { .. } | Access::Fence { .. }) {
                read[*t].push(reply);
            }
            go(program, (&done, &memory, &read), Some(*t), left, all);
        }
    }
    let mut all = BTreeSet::new();
    let count = program.threads.len();
    go(program, (&vec![0; count], &Memory::new(), &vec![Vec::new(); count]), None, most, &mut all);
    all
}

/// What was read, without the replies to stores and fences.
fn values(program: &Script, read: &Read) -> Read {
    let is_read = |op: &Op| !matches!(op, Op::Access(Access::Store { .. } | Access::Fence { .. }));
    let of_thread = |(ops, replies): (&Vec<Op>, &Vec<(u128, bool)>)| {
        let kept = ops.iter().zip(replies).filter(|(op, _)| is_read(op));
        kept.map(|(op, (value, success))| {
            let is_exchange = matches!(op, Op::Access(Access::CompareExchange { .. }));
            (*value, *success || !is_exchange)
        })
        .collect()
    };
    program.threads.iter().zip(read).map(of_thread).collect()
}

/// Under SC a preemption is what it is when threads are run by turns: what they read is the same.
#[test]
fn threads_read_what_they_read_when_they_run_by_turns() {
    for i in 0..150 {
        let recipe = Recipe { threads: 3, operations: 4, locations: APART, plain: false };
        let program = random_script(&mut Random::new(execution_seed(13, i)), recipe);
        for most in 0..3 {
            let bounded = explore(&program, Model::Sc, Some(most));
            let read: BTreeSet<_> = bounded.read.iter().map(|read| values(&program, read)).collect();
            assert_eq!(read, interleaved(&program, most), "{most}: {:#?}", program.threads);
        }
    }
}

/// Store buffering under SC: each thread reads the other's store, or one of them does not because it was first. Without
/// a preemption one thread comes before the other; with one both see the other's store.
#[test]
fn store_buffering_takes_one_preemption() {
    let store = |at| Op::Access(Access::Store { at, order: StoreOrder::Relaxed, value: Value(1) });
    let load = |at| Op::Access(Access::Load { at, order: LoadOrder::Relaxed, guard: Guard::Any });
    let program = Script::new(vec![vec![store(X), load(Y)], vec![store(Y), load(X)]]);
    for (most, executions) in [(Some(0), 2), (Some(1), 3), (None, 3)] {
        let met = explore(&program, Model::Sc, most);
        assert_eq!(met.graphs.len(), executions, "{most:?}");
        let parts = explore_parallel(&program, options(Model::Sc, most), 2, Met::default).expect("it is explored");
        assert_eq!(parts.iter().map(|met| met.graphs.len()).sum::<usize>(), executions, "{most:?} on two workers");
    }
}
