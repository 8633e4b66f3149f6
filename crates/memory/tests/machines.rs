//! The machines of sc, tso, pso and pslo against the oracle: every choice that a machine has on a litmus test is
//! taken, and the final states must be exactly those that herd7 allows.
//!
//! Straight-line tests of at most 8 memory operations: no branches, no plain accesses. pslo has an oracle for the
//! `hw` family, where its machine is exact.

use fencepost_memory::{Commit, Machine, Pslo, Pso, Read, Sc, Source, Step, Tso};
use fencepost_trace::{
    EventId, FenceOrder, LoadOrder, Location, Model, RmwOrder, Size, StoreOrder, ThreadId, Update, Value,
};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug)]
enum Instr {
    Load {
        at: Location,
        order: LoadOrder,
        to: usize,
    },
    Store {
        at: Location,
        order: StoreOrder,
        value: Value,
    },
    Rmw {
        at: Location,
        order: RmwOrder,
        update: Update,
        to: usize,
    },
    /// `expected` is the index of a private variable that holds the expected value and receives the seen one.
    Cas {
        at: Location,
        expected: usize,
        desired: Value,
        success: RmwOrder,
        failure: LoadOrder,
        to: usize,
    },
    Fence {
        order: FenceOrder,
    },
}

/// A straight-line litmus test. Registers and private variables are indices into its state.
struct Test {
    threads: Vec<Vec<Instr>>,
    /// The initial state, in the order of the oracle.
    state: Vec<u64>,
    /// Which components of the state are memory.
    memory: Vec<(usize, Location, Value)>,
}

impl Test {
    /// `None` if it is not one of the supported form.
    fn parse(source: &str, vars: &[&str]) -> Option<Test> {
        let body = &source[..source.find("\nlocations").or(source.find("\nexists"))?];
        let (init, body) = body.split_once('{')?.1.split_once('}')?;
        let mut initial = BTreeMap::new();
        for assignment in init.split(';').filter(|a| !a.trim().is_empty()) {
            let (name, value) = assignment.split_once('=')?;
            let name = name.trim().trim_start_matches('[').trim_end_matches(']');
            initial.insert(name.to_owned(), value.trim().parse::<u64>().ok()?);
        }
        let mut locations = BTreeMap::new();
        for (i, name) in initial.keys().enumerate() {
            locations.insert(name.clone(), Location::new(0x1000 + 4 * i as u64, Size::B4));
        }
        // A register that the state does not mention goes behind it.
        let mut names: Vec<String> = vars.iter().map(|v| v.to_string()).collect();
        let mut threads = Vec::new();
        let mut private = BTreeSet::new();
        for (p, thread) in body.split('{').skip(1).enumerate() {
            let code = thread.split('}').next()?;
            let mut instrs = Vec::new();
            for statement in code.split(';').map(str::trim).filter(|s| !s.is_empty()) {
                let (register, call) = match statement.split_once(" = ") {
                    Some((register, call)) => (register.strip_prefix("int ")?, call),
                    None => ("_", statement),
                };
                let mut index = |name: String| {
                    names.iter().position(|n| *n == name).unwrap_or_else(|| {
                        names.push(name);
                        names.len() - 1
                    })
                };
                let to = index(format!("{p}:{register}"));
                let (function, arguments) = call.strip_suffix(')')?.split_once('(')?;
                let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
                let at = |i: usize| locations.get(*arguments.get(i)?).copied();
                let value = |i: usize| Some(Value::from(arguments.get(i)?.parse::<u64>().ok()?));
                let order = |i: usize| arguments.get(i)?.strip_prefix("memory_order_");
                instrs.push(match function {
                    "atomic_load_explicit" => Instr::Load { at: at(0)?, order: load_order(order(1)?), to },
                    "atomic_store_explicit" => {
                        Instr::Store { at: at(0)?, order: store_order(order(2)?), value: value(1)? }
                    }
                    "atomic_exchange_explicit" => {
                        let update = Update::Exchange(value(1)?);
                        Instr::Rmw { at: at(0)?, order: rmw_order(order(2)?), update, to }
                    }
                    "atomic_fetch_add_explicit" => {
                        Instr::Rmw { at: at(0)?, order: rmw_order(order(2)?), update: Update::Add(value(1)?), to }
                    }
                    "atomic_compare_exchange_strong_explicit" => {
                        private.insert(arguments[1].to_owned());
                        Instr::Cas {
                            at: at(0)?,
                            expected: index(arguments[1].to_owned()),
                            desired: value(2)?,
                            success: rmw_order(order(3)?),
                            failure: load_order(order(4)?),
                            to,
                        }
                    }
                    "atomic_thread_fence" => Instr::Fence { order: fence_order(order(0)?) },
                    _ => return None,
                });
            }
            threads.push(instrs);
        }
        let state = names.iter().map(|name| initial.get(name).copied().unwrap_or(0)).collect();
        let shared = |name: &String| locations.get(name).filter(|_| !private.contains(name));
        let memory = names.iter().enumerate();
        let memory = memory.filter_map(|(i, name)| Some((i, *shared(name)?, Value::from(initial[name])))).collect();
        Some(Test { threads, state, memory })
    }

    fn operations(&self) -> usize {
        self.threads.iter().flatten().filter(|instr| !matches!(instr, Instr::Fence { .. })).count()
    }
}

fn load_order(name: &str) -> LoadOrder {
    match name {
        "relaxed" => LoadOrder::Relaxed,
        "acquire" | "consume" => LoadOrder::Acquire,
        "seq_cst" => LoadOrder::SeqCst,
        _ => panic!("a load of order {name}"),
    }
}

fn store_order(name: &str) -> StoreOrder {
    match name {
        "relaxed" => StoreOrder::Relaxed,
        "release" => StoreOrder::Release,
        "seq_cst" => StoreOrder::SeqCst,
        _ => panic!("a store of order {name}"),
    }
}

fn rmw_order(name: &str) -> RmwOrder {
    match name {
        "relaxed" => RmwOrder::Relaxed,
        "acquire" | "consume" => RmwOrder::Acquire,
        "release" => RmwOrder::Release,
        "acq_rel" => RmwOrder::AcqRel,
        "seq_cst" => RmwOrder::SeqCst,
        _ => panic!("an RMW of order {name}"),
    }
}

fn fence_order(name: &str) -> FenceOrder {
    match name {
        "acquire" | "consume" => FenceOrder::Acquire,
        "release" => FenceOrder::Release,
        "acq_rel" => FenceOrder::AcqRel,
        "seq_cst" => FenceOrder::SeqCst,
        _ => panic!("a fence of order {name}"),
    }
}

/// An execution under way: everything is copied at every choice, and nothing is remembered.
#[derive(Clone)]
struct Execution<M> {
    machine: M,
    next: Vec<usize>,
    state: Vec<u64>,
    events: u32,
}

/// What a thread can do next: a step, what it reads, and what that does to the state.
struct Move {
    step: Step,
    source: Option<Source>,
    set: Vec<(usize, u64)>,
}

/// What can happen next.
enum Choice {
    Commit(Commit),
    Step(ThreadId, Move),
}

impl<M: Machine + Clone> Execution<M> {
    /// The moves of the thread's next instruction.
    fn moves(&mut self, thread: ThreadId, instr: Instr) -> Vec<Move> {
        let sources = |machine: &mut M, read| {
            let mut out = Vec::new();
            machine.sources(thread, read, &mut out);
            out
        };
        let machine = &mut self.machine;
        match instr {
            Instr::Load { at, order, to } => sources(machine, Read { at, order, exclusive: false })
                .into_iter()
                .map(|source| Move {
                    step: Step::Load { at, order, failed_rmw: false },
                    source: Some(source),
                    set: vec![(to, source.value.0 as u64)],
                })
                .collect(),
            Instr::Store { at, order, value } => {
                vec![Move { step: Step::Store { at, order, value }, source: None, set: vec![] }]
            }
            Instr::Rmw { at, order, update, to } => sources(machine, Read { at, order: order.load(), exclusive: true })
                .into_iter()
                .map(|source| {
                    let written = update.apply(source.value, at.size).expect("a plain update");
                    let step = Step::Rmw { at, order, written };
                    Move { step, source: Some(source), set: vec![(to, source.value.0 as u64)] }
                })
                .collect(),
            Instr::Cas { at, expected, desired, success, failure, to } => {
                let wanted = Value::from(self.state[expected]);
                let mut moves = Vec::new();
                for source in sources(machine, Read { at, order: success.load(), exclusive: true }) {
                    if source.value == wanted {
                        let step = Step::Rmw { at, order: success, written: desired };
                        moves.push(Move { step, source: Some(source), set: vec![(to, 1)] });
                    }
                }
                // A seq_cst one is a full barrier either way, and reads the newest value.
                let exclusive = failure == LoadOrder::SeqCst;
                for source in sources(machine, Read { at, order: failure, exclusive }) {
                    if source.value != wanted {
                        let step = Step::Load { at, order: failure, failed_rmw: true };
                        let set = vec![(to, 0), (expected, source.value.0 as u64)];
                        moves.push(Move { step, source: Some(source), set });
                    }
                }
                moves
            }
            Instr::Fence { order } => vec![Move { step: Step::Fence { order }, source: None, set: vec![] }],
        }
    }

    fn take(&mut self, thread: ThreadId, taken: &Move) {
        let mut required = Vec::new();
        self.machine.required(thread, &taken.step, &mut required);
        for commit in required {
            self.machine.commit(commit);
        }
        self.events += 1;
        self.machine.perform(EventId(self.events), thread, &taken.step, taken.source);
        for (variable, value) in &taken.set {
            self.state[*variable] = *value;
        }
        self.next[thread.index()] += 1;
    }

    /// Takes the steps that touch nothing but the thread's own buffer: no other step can tell when they are taken.
    fn take_local(&mut self, test: &Test) {
        for (p, code) in test.threads.iter().enumerate() {
            while let Some(&Instr::Store { at, order, value }) = code.get(self.next[p]) {
                if M::MODEL == Model::Sc || order == StoreOrder::SeqCst {
                    break;
                }
                self.take(
                    ThreadId(p as u32),
                    &Move { step: Step::Store { at, order, value }, source: None, set: vec![] },
                );
            }
        }
    }

    fn explore(mut self, test: &Test, finals: &mut BTreeSet<Vec<u64>>) {
        self.take_local(test);
        let mut commits = Vec::new();
        self.machine.commits(&mut commits);
        let mut choices: Vec<Choice> = commits.into_iter().map(Choice::Commit).collect();
        for (p, code) in test.threads.iter().enumerate() {
            if let Some(instr) = code.get(self.next[p]) {
                let thread = ThreadId(p as u32);
                choices.extend(self.moves(thread, *instr).into_iter().map(|step| Choice::Step(thread, step)));
            }
        }
        let Some((last, others)) = choices.split_last() else {
            finals.insert(self.finish(test));
            return;
        };
        for choice in others {
            let mut after = self.clone();
            after.choose(choice);
            after.explore(test, finals);
        }
        self.choose(last);
        self.explore(test, finals);
    }

    fn choose(&mut self, choice: &Choice) {
        match choice {
            Choice::Commit(commit) => self.machine.commit(*commit),
            Choice::Step(thread, step) => self.take(*thread, step),
        }
    }

    /// The final state.
    fn finish(mut self, test: &Test) -> Vec<u64> {
        // A thread that never did anything, about to write, reads the newest values.
        let observer = ThreadId(test.threads.len() as u32);
        for (variable, at, _) in &test.memory {
            let mut out = Vec::new();
            let read = Read { at: *at, order: LoadOrder::Relaxed, exclusive: true };
            self.machine.sources(observer, read, &mut out);
            self.state[*variable] = out[0].value.0 as u64;
        }
        self.state
    }
}

fn finals<M: Machine + Clone>(mut machine: M, test: &Test) -> BTreeSet<Vec<u64>> {
    for (_, at, initial) in &test.memory {
        machine.introduce(*at, &mut |_| *initial);
    }
    let start = Execution { machine, next: vec![0; test.threads.len()], state: test.state.clone(), events: 0 };
    let mut finals = BTreeSet::new();
    start.explore(test, &mut finals);
    finals
}

/// Checks one model on one family. Every test that is checked must agree; at least `least` must be checked, so that
/// a parser that understands nothing does not pass.
fn check<M: Machine + Clone + Default>(family: &str, least: usize) {
    let path = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracle/{}.jsonl"), family);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (mut checked, mut wrong) = (0, Vec::new());
    for line in text.lines() {
        let json: Json = serde_json::from_str(line).expect("the oracle is JSON");
        let Some(model) = json["models"].get(M::MODEL.name()) else { continue };
        let vars: Vec<&str> = json["vars"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
        let Some(test) = Test::parse(json["source"].as_str().unwrap(), &vars) else { continue };
        if test.operations() > 8 {
            continue;
        }
        let numbers = |state: &Json| state.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        let expected: BTreeSet<Vec<u64>> = model["states"].as_array().unwrap().iter().map(numbers).collect();
        let found = finals(M::default(), &test);
        let found: BTreeSet<Vec<u64>> = found.into_iter().map(|state| state[..vars.len()].to_vec()).collect();
        checked += 1;
        if found != expected {
            let missing: Vec<_> = expected.difference(&found).collect();
            let extra: Vec<_> = found.difference(&expected).collect();
            wrong.push(format!("{}: {vars:?} misses {missing:?}, has {extra:?} too", json["name"]));
        }
    }
    println!("{} on {family}: {checked} checked, {} wrong", M::MODEL, wrong.len());
    assert!(wrong.is_empty(), "{} of {checked} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked >= least, "only {checked} tests of {family} were understood");
}

#[test]
fn sc() {
    check::<Sc>("classic", 430);
    check::<Sc>("hw", 490);
    check::<Sc>("generated", 1500);
}

#[test]
fn tso() {
    check::<Tso>("classic", 430);
    check::<Tso>("hw", 490);
    check::<Tso>("generated", 1500);
}

#[test]
fn pso() {
    check::<Pso>("classic", 430);
    check::<Pso>("hw", 490);
    check::<Pso>("generated", 1500);
}

#[test]
fn pslo() {
    check::<Pslo>("hw", 490);
}
