//! Programs without a compiler: random ones over the engine's operations, hundreds a second.
//!
//! What these leave out is the runtime; what they hold against each other is the exploration of execution graphs, that
//! by sources and by values, and the models' machines, every choice of them. All must end in the same places, and
//! exploration may meet no execution graph twice.

use fencepost_engine::{Execution, Random, Threads, run};
use fencepost_explore::causal::{self, Equivalence};
use fencepost_explore::enumerate::Tree;
use fencepost_explore::graph::{Explorer, Flow, Halt, Options, Stuck, Visitor, trace_of};
use fencepost_memory::graph::{Graph, Node as GraphNode};
use fencepost_memory::{MachineOptions, with_machine};
use fencepost_trace::op::Sync;
use fencepost_trace::{
    Access, EventId, EventKind, Failure, FenceOrder, Guard, Hidden, Label, Limits, LoadOrder, Location, Model, Op,
    Outcome, Reply, RmwOrder, Size, StoreOrder, ThreadId, Trace, Update, Value, execution_seed,
};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The variables.
const VARIABLES: [Location; 3] = [
    Location { address: 0x100, size: Size::B4 },
    Location { address: 0x200, size: Size::B4 },
    Location { address: 0x300, size: Size::B8 },
];

/// The variables that a mutex guards.
const GUARDED: [Location; 2] =
    [Location { address: 0x400, size: Size::B4 }, Location { address: 0x500, size: Size::B4 }];

/// All of them: what they hold in the end is looked at.
const ALL: [Location; 5] = [VARIABLES[0], VARIABLES[1], VARIABLES[2], GUARDED[0], GUARDED[1]];

const MUTEX: [u64; 2] = [0x1000, 0x1040];
const RWLOCK: u64 = 0x2000;
const CONDVAR: u64 = 0x3000;
const SEMAPHORE: u64 = 0x4000;
const BARRIER: u64 = 0x5000;
const ONCE: u64 = 0x6000;

/// A part of a thread. What an operation answers goes to the register of that number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    /// An operation.
    Do(Op, usize),
    /// Only if the register holds this value.
    If(usize, u128, Vec<Node>),
    /// Only if the operation that wrote the register succeeded.
    IfDone(usize, Vec<Node>),
    /// Waits in a loop while the variable holds 0, giving way in between.
    Await(Location, LoadOrder, usize),
    /// Waits on the condition variable while the variable that mutex 0 guards holds 0; the mutex is held.
    WaitForGuarded(usize),
    /// The program fails if both registers hold these.
    FailIf((usize, u128), (usize, u128)),
}

/// What the machine of a thread does.
#[derive(Clone, Copy, Debug)]
enum Code {
    Do(Op, usize),
    /// Goes there unless the register holds this value.
    Unless(usize, u128, usize),
    UnlessDone(usize, usize),
    FailIf((usize, u128), (usize, u128)),
    Jump(usize),
}

/// A program: the first thread creates the others, and waits for them in the end, if `spawns`; otherwise all are there
/// from the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// What its threads do.
    pub threads: Vec<Vec<Node>>,
    /// Does the first thread create the others?
    pub spawns: bool,
    /// What the semaphore starts with.
    pub semaphore: u128,
}

const REGISTERS: usize = 16;

/// A script that can be run.
#[derive(Clone, Debug)]
struct Machine {
    code: Vec<Vec<Code>>,
    spawns: bool,
    semaphore: u128,
    at: Vec<usize>,
    /// The register that waits for an answer.
    target: Vec<Option<usize>>,
    registers: Vec<[(u128, bool); REGISTERS]>,
}

impl Machine {
    fn new(script: &Script) -> Machine {
        let mut code: Vec<Vec<Code>> = Vec::new();
        for (t, body) in script.threads.iter().enumerate() {
            let mut one = Vec::new();
            let others = 1..script.threads.len();
            if t == 0 && script.spawns {
                one.extend(others.clone().map(|_| Code::Do(Op::Spawn, REGISTERS - 1)));
            }
            compile(body, &mut one);
            if t == 0 && script.spawns {
                one.extend(others.map(|t| Code::Do(Op::Join(ThreadId(t as u32)), REGISTERS - 1)));
            }
            code.push(one);
        }
        let count = code.len();
        Machine {
            code,
            spawns: script.spawns,
            semaphore: script.semaphore,
            at: vec![0; count],
            target: vec![None; count],
            registers: vec![[(0, false); REGISTERS]; count],
        }
    }
}

fn compile(body: &[Node], code: &mut Vec<Code>) {
    for node in body {
        match node {
            Node::Do(op, reg) => code.push(Code::Do(*op, *reg)),
            Node::If(_, _, body) | Node::IfDone(_, body) => {
                let at = code.len();
                code.push(Code::Jump(0));
                compile(body, code);
                let end = code.len();
                code[at] = match node {
                    Node::If(reg, value, _) => Code::Unless(*reg, *value, end),
                    Node::IfDone(reg, _) => Code::UnlessDone(*reg, end),
                    _ => unreachable!("only these have bodies"),
                };
            }
            Node::Await(at, order, reg) => {
                let start = code.len();
                code.push(Code::Do(load(*at, *order), *reg));
                code.push(Code::Unless(*reg, 0, start + 4));
                code.push(Code::Do(Op::Yield, REGISTERS - 1));
                code.push(Code::Jump(start));
            }
            Node::WaitForGuarded(reg) => {
                let start = code.len();
                code.push(Code::Do(load(GUARDED[0], LoadOrder::Plain), *reg));
                code.push(Code::Unless(*reg, 0, start + 4));
                code.push(Code::Do(Op::Sync(Sync::Wait { condvar: CONDVAR, mutex: MUTEX[0] }), REGISTERS - 1));
                code.push(Code::Jump(start));
            }
            Node::FailIf(one, other) => code.push(Code::FailIf(*one, *other)),
        }
    }
}

impl Threads for Machine {
    fn start(&mut self) -> u32 {
        self.at.fill(0);
        self.target.fill(None);
        self.registers.fill([(0, false); REGISTERS]);
        if self.spawns { 1 } else { self.code.len() as u32 }
    }

    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        let t = thread.index();
        if let Some(reg) = self.target[t].take() {
            // The last one is for answers that nobody reads.
            if reg != REGISTERS - 1 {
                self.registers[t][reg] = (reply.value.0, reply.success);
            }
        }
        loop {
            let Some(code) = self.code[t].get(self.at[t]) else { return Op::Exit };
            self.at[t] += 1;
            let holds = |(reg, value): (usize, u128)| self.registers[t][reg].0 == value;
            match *code {
                Code::Do(op, reg) => {
                    self.target[t] = Some(reg);
                    return op;
                }
                Code::Unless(reg, value, end) => {
                    if !holds((reg, value)) {
                        self.at[t] = end;
                    }
                }
                Code::UnlessDone(reg, end) => {
                    if !self.registers[t][reg].1 {
                        self.at[t] = end;
                    }
                }
                Code::FailIf(one, other) => {
                    if holds(one) && holds(other) {
                        return Op::Fail(Failure::Assertion);
                    }
                }
                Code::Jump(to) => self.at[t] = to,
            }
        }
    }

    fn initial(&self, at: Location) -> Value {
        if at == Location::hidden(Hidden::Semaphore, SEMAPHORE) { Value(self.semaphore) } else { Value::ZERO }
    }

    fn observed(&self) -> &[Location] {
        &ALL
    }

    fn label(&self, thread: ThreadId) -> u32 {
        thread.0 * 1000 + self.at[thread.index()] as u32
    }

    fn describe(&self, label: u32) -> Label {
        Label { function: format!("T{}", label / 1000), line: label % 1000, ..Label::default() }
    }

    fn digest(&self, thread: ThreadId) -> Option<u64> {
        let t = thread.index();
        let mut hasher = DefaultHasher::new();
        (self.at[t], self.registers[t]).hash(&mut hasher);
        Some(hasher.finish())
    }
}

fn load(at: Location, order: LoadOrder) -> Op {
    Op::Access(Access::Load { at, order, guard: Guard::Any })
}

/// Parts of what the engine can do, each of which can be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Part {
    WeakCas,
    Locks,
    TryLocks,
    RwLocks,
    Condvars,
    Semaphores,
    Barriers,
    Once,
    Park,
    Waiting,
    Races,
    Fails,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 12] = [
        Part::WeakCas,
        Part::Locks,
        Part::TryLocks,
        Part::RwLocks,
        Part::Condvars,
        Part::Semaphores,
        Part::Barriers,
        Part::Once,
        Part::Park,
        Part::Waiting,
        Part::Races,
        Part::Fails,
    ];
}

impl std::str::FromStr for Part {
    type Err = String;
    fn from_str(text: &str) -> Result<Part, String> {
        let wanted = text.replace('-', "");
        let found = Part::ALL.into_iter().find(|part| format!("{part:?}").to_lowercase() == wanted);
        found.ok_or_else(|| "no part of that name".to_owned())
    }
}

/// The script of this seed.
pub fn script(seed: u64, parts: &[Part]) -> Script {
    let mut random = Random::new(execution_seed(seed, 7));
    let threads = [2, 2, 3, 3, 4][random.below(5)];
    let mut chosen = Vec::new();
    for _ in 0..random.below(4) {
        if !parts.is_empty() {
            chosen.push(parts[random.below(parts.len())]);
        }
    }
    let mut writer = Writer { random, chosen, threads, registers: 0, held: Vec::new(), fresh: 0 };
    let share = 1 + 8 / threads;
    let bodies = (0..threads).map(|t| writer.thread(t, share)).collect();
    Script { threads: bodies, spawns: writer.one_in(2), semaphore: writer.random.below(2) as u128 }
}

struct Writer {
    random: Random,
    chosen: Vec<Part>,
    threads: usize,
    registers: usize,
    held: Vec<Sync>,
    fresh: u128,
}

impl Writer {
    fn one_in(&mut self, bound: usize) -> bool {
        self.random.below(bound) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len())]
    }

    fn register(&mut self) -> usize {
        let reg = self.registers;
        self.registers = (reg + 1).min(REGISTERS - 2);
        reg
    }

    fn thread(&mut self, t: usize, share: usize) -> Vec<Node> {
        self.registers = 0;
        self.held.clear();
        let mut body = Vec::new();
        for _ in 0..self.random.below(share + 1) {
            let nodes = self.nodes(t);
            body.extend(nodes);
        }
        while let Some(unlock) = self.held.pop() {
            body.push(Node::Do(Op::Sync(unlock), REGISTERS - 1));
        }
        if self.chosen.contains(&Part::Fails) && self.registers > 0 && self.one_in(2) {
            let mut claim = || (self.random.below(self.registers), self.random.below(4) as u128);
            body.push(Node::FailIf(claim(), claim()));
        }
        body
    }

    fn nodes(&mut self, t: usize) -> Vec<Node> {
        if self.registers > 0 && self.one_in(5) {
            let (reg, value) = (self.random.below(self.registers), self.random.below(4) as u128);
            return vec![Node::If(reg, value, vec![self.access()])];
        }
        if self.chosen.is_empty() || self.one_in(2) {
            return vec![self.access()];
        }
        let chosen = self.chosen.clone();
        let which = self.random.below(2);
        let mutex = MUTEX[which];
        let part = self.pick(&chosen);
        let sync = |sync: Sync, reg: usize| vec![Node::Do(Op::Sync(sync), reg)];
        match part {
            Part::Locks if !self.held.is_empty() && self.one_in(2) => {
                let index = self.random.below(self.held.len());
                let unlock = self.held.remove(index);
                sync(unlock, REGISTERS - 1)
            }
            Part::Locks if !self.held.contains(&Sync::Unlock { mutex }) => {
                self.held.push(Sync::Unlock { mutex });
                let mut nodes = sync(Sync::Lock { mutex }, REGISTERS - 1);
                if self.one_in(2) {
                    nodes.push(self.guarded(which));
                }
                nodes
            }
            Part::RwLocks if self.held.is_empty() => {
                let (lock, unlock) = match self.one_in(2) {
                    true => (Sync::ReadLock { lock: RWLOCK }, Sync::ReadUnlock { lock: RWLOCK }),
                    false => (Sync::WriteLock { lock: RWLOCK }, Sync::WriteUnlock { lock: RWLOCK }),
                };
                self.held.push(unlock);
                sync(lock, REGISTERS - 1)
            }
            Part::TryLocks => {
                let reg = self.register();
                let (attempt, undo) = match self.random.below(4) {
                    0 => (Sync::TryReadLock { lock: RWLOCK }, Sync::ReadUnlock { lock: RWLOCK }),
                    1 => (Sync::TryWriteLock { lock: RWLOCK }, Sync::WriteUnlock { lock: RWLOCK }),
                    _ => (Sync::TryLock { mutex }, Sync::Unlock { mutex }),
                };
                if self.held.contains(&undo) {
                    return vec![self.access()];
                }
                let body = vec![self.access(), Node::Do(Op::Sync(undo), REGISTERS - 1)];
                vec![Node::Do(Op::Sync(attempt), reg), Node::IfDone(reg, body)]
            }
            Part::Condvars if self.held.is_empty() => {
                let lock = Node::Do(Op::Sync(Sync::Lock { mutex: MUTEX[0] }), REGISTERS - 1);
                let unlock = Node::Do(Op::Sync(Sync::Unlock { mutex: MUTEX[0] }), REGISTERS - 1);
                if self.one_in(2) {
                    return vec![lock, Node::WaitForGuarded(self.register()), unlock];
                }
                let condvar = CONDVAR;
                let notify = if self.one_in(2) { Sync::NotifyOne { condvar } } else { Sync::NotifyAll { condvar } };
                let notify = Node::Do(Op::Sync(notify), REGISTERS - 1);
                let write = Access::Store { at: GUARDED[0], order: StoreOrder::Plain, value: Value(1) };
                let write = Node::Do(Op::Access(write), REGISTERS - 1);
                if self.one_in(2) { vec![lock, write, notify, unlock] } else { vec![lock, write, unlock, notify] }
            }
            Part::Semaphores => match self.random.below(4) {
                0 => sync(Sync::TryAcquire { semaphore: SEMAPHORE }, self.register()),
                1 => sync(Sync::Acquire { semaphore: SEMAPHORE }, REGISTERS - 1),
                _ => sync(Sync::Release { semaphore: SEMAPHORE }, REGISTERS - 1),
            },
            Part::Barriers => sync(Sync::BarrierWait { barrier: BARRIER, parties: 2 }, self.register()),
            Part::Once => {
                let reg = self.register();
                let end = if self.one_in(4) { Sync::OnceAbandon { once: ONCE } } else { Sync::OnceEnd { once: ONCE } };
                let body = vec![self.access(), Node::Do(Op::Sync(end), REGISTERS - 1)];
                vec![Node::Do(Op::Sync(Sync::OnceBegin { once: ONCE }), reg), Node::IfDone(reg, body)]
            }
            Part::Park => match self.one_in(2) {
                true => sync(Sync::Park, REGISTERS - 1),
                false => {
                    let other = (t + 1 + self.random.below(self.threads - 1)) % self.threads;
                    sync(Sync::Unpark { thread: ThreadId(other as u32) }, REGISTERS - 1)
                }
            },
            Part::Waiting => {
                let orders = [LoadOrder::Relaxed, LoadOrder::Acquire, LoadOrder::SeqCst];
                let (at, order) = (self.pick(&VARIABLES), self.pick(&orders));
                vec![Node::Await(at, order, self.register())]
            }
            Part::Races => {
                let at = self.pick(&VARIABLES);
                match self.one_in(2) {
                    true => vec![Node::Do(load(at, LoadOrder::Plain), self.register())],
                    false => {
                        let value = self.value();
                        let store = Access::Store { at, order: StoreOrder::Plain, value };
                        vec![Node::Do(Op::Access(store), REGISTERS - 1)]
                    }
                }
            }
            Part::WeakCas => vec![self.compare_exchange(true)],
            Part::Locks | Part::RwLocks | Part::Condvars | Part::Fails => vec![self.access()],
        }
    }

    fn value(&mut self) -> Value {
        self.fresh = self.fresh % 3 + 1;
        Value(self.fresh)
    }

    fn guarded(&mut self, which: usize) -> Node {
        let at = GUARDED[which];
        match self.one_in(2) {
            true => Node::Do(load(at, LoadOrder::Plain), self.register()),
            false => {
                let value = self.value();
                Node::Do(Op::Access(Access::Store { at, order: StoreOrder::Plain, value }), REGISTERS - 1)
            }
        }
    }

    fn compare_exchange(&mut self, weak: bool) -> Node {
        let rmws = [RmwOrder::Relaxed, RmwOrder::Acquire, RmwOrder::Release, RmwOrder::AcqRel, RmwOrder::SeqCst];
        let loads = [LoadOrder::Relaxed, LoadOrder::Acquire, LoadOrder::SeqCst];
        let access = Access::CompareExchange {
            at: self.pick(&VARIABLES),
            expected: Value(self.random.below(2) as u128),
            desired: self.value(),
            success: self.pick(&rmws),
            failure: self.pick(&loads),
            weak,
            guard: Guard::Any,
        };
        Node::Do(Op::Access(access), self.register())
    }

    fn access(&mut self) -> Node {
        let at = self.pick(&VARIABLES);
        match self.random.below(10) {
            0..=3 => {
                let order = self.pick(&[LoadOrder::Relaxed, LoadOrder::Acquire, LoadOrder::SeqCst]);
                Node::Do(load(at, order), self.register())
            }
            4..=6 => {
                let order = self.pick(&[StoreOrder::Relaxed, StoreOrder::Release, StoreOrder::SeqCst]);
                let value = self.value();
                Node::Do(Op::Access(Access::Store { at, order, value }), REGISTERS - 1)
            }
            7 => {
                let rmws =
                    [RmwOrder::Relaxed, RmwOrder::Acquire, RmwOrder::Release, RmwOrder::AcqRel, RmwOrder::SeqCst];
                let value = self.value();
                let update = if self.one_in(2) { Update::Exchange(value) } else { Update::Add(Value(1)) };
                let access = Access::Rmw { at, order: self.pick(&rmws), update, guard: Guard::Any };
                Node::Do(Op::Access(access), self.register())
            }
            8 => {
                let orders = [FenceOrder::Acquire, FenceOrder::Release, FenceOrder::AcqRel, FenceOrder::SeqCst];
                let order = self.pick(&orders);
                Node::Do(Op::Access(Access::Fence { order }), REGISTERS - 1)
            }
            _ => self.compare_exchange(false),
        }
    }
}

/// How an execution ends.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)]
pub enum Ending {
    /// With these registers and this memory.
    Finished(Vec<Vec<(u128, bool)>>, Vec<u128>),
    /// This thread failed, with these registers.
    Failed(u32, Vec<(u128, bool)>),
    /// These threads wait; the registers of all.
    Deadlock(Vec<u32>, Vec<Vec<(u128, bool)>>),
    /// Some threads go around loops, and nobody else can go on.
    Livelock(Vec<Vec<(u128, bool)>>),
    Race,
}

fn registers(machine: &Machine) -> Vec<Vec<(u128, bool)>> {
    machine.registers.iter().map(|registers| used(registers)).collect()
}

/// The registers up to the last one that was written.
fn used(registers: &[(u128, bool)]) -> Vec<(u128, bool)> {
    let end = registers.iter().rposition(|register| *register != (0, false)).map_or(0, |last| last + 1);
    registers[..end].to_vec()
}

fn memory(machine: &Machine, trace: &Trace) -> Vec<u128> {
    ALL.iter().map(|at| trace.final_value(*at, machine.initial(*at)).0).collect()
}

fn ending(machine: &Machine, trace: &Trace, outcome: &Outcome) -> Option<Ending> {
    let ids = |threads: &[ThreadId]| threads.iter().map(|thread| thread.0).collect();
    Some(match outcome {
        Outcome::Finished => Ending::Finished(registers(machine), memory(machine, trace)),
        Outcome::Failed { thread, .. } => Ending::Failed(thread.0, used(&machine.registers[thread.index()])),
        Outcome::Deadlock { blocked } => Ending::Deadlock(ids(blocked), registers(machine)),
        // Who waits for those that go around is among them or not: that is a matter of words.
        Outcome::Livelock { .. } => Ending::Livelock(registers(machine)),
        Outcome::StepLimit | Outcome::Redundant => return None,
    })
}

/// An execution graph without the order in which it was built: each thread's events with what they read, and the order
/// of the stores to each place.
fn signature(trace: &Trace) -> u64 {
    let mut counts: BTreeMap<ThreadId, u32> = BTreeMap::new();
    let mut names: Vec<(u32, u32)> = vec![(u32::MAX, 0)];
    for event in &trace.events {
        let count = counts.entry(event.thread).or_default();
        names.push((event.thread.0, *count));
        *count += 1;
    }
    let name = |id: EventId| names.get(id.index()).copied().unwrap_or((u32::MAX, 1));
    let mut events: Vec<_> = trace.events.iter().collect();
    events.sort_by_key(|event| name(event.id));
    let mut hasher = DefaultHasher::new();
    for event in events {
        name(event.id).hash(&mut hasher);
        event.kind.location().map(|at| (at.address, at.size.bytes())).hash(&mut hasher);
        if let EventKind::Load { from, value, .. } | EventKind::Rmw { from, read: value, .. } = &event.kind {
            (name(*from), value.0).hash(&mut hasher);
        }
        event.kind.written().map(|value| value.0).hash(&mut hasher);
    }
    let mut orders: Vec<_> = trace.coherence.iter().collect();
    orders.sort_by_key(|list| list.address);
    for list in orders {
        list.address.hash(&mut hasher);
        list.stores.iter().for_each(|store| name(*store).hash(&mut hasher));
    }
    hasher.finish()
}

struct Watch {
    model: Model,
    endings: BTreeSet<Ending>,
    graphs: BTreeSet<u64>,
    executions: u64,
    twice: u64,
    incomplete: bool,
}

impl Watch {
    fn new(model: Model) -> Watch {
        let (endings, graphs) = (BTreeSet::new(), BTreeSet::new());
        Watch { model, endings, graphs, executions: 0, twice: 0, incomplete: false }
    }

    fn see(&mut self, machine: &Machine, graph: &Graph, outcome: Outcome) -> Flow {
        let trace = trace_of(machine, graph, self.model, outcome.clone());
        self.executions += 1;
        if !self.graphs.insert(signature(&trace)) {
            self.twice += 1;
        }
        self.endings.extend(ending(machine, &trace, &outcome));
        if self.executions > MOST { Flow::Break(()) } else { Flow::Continue(()) }
    }
}

impl Visitor<Machine> for Watch {
    fn execution(&mut self, machine: &Machine, graph: &Graph) -> Flow {
        self.see(machine, graph, Outcome::Finished)
    }
    fn stuck(&mut self, machine: &Machine, graph: &Graph, stuck: Stuck) -> Flow {
        match stuck {
            Stuck::Redundant => Flow::Continue(()),
            Stuck::Limit => {
                self.incomplete = true;
                Flow::Break(())
            }
            stuck => self.see(machine, graph, stuck.outcome()),
        }
    }
    fn failed(&mut self, machine: &Machine, graph: &Graph, thread: ThreadId, failure: Failure) -> Flow {
        // Where the others stand when one fails is nobody's business, so that the graph may be there twice.
        let trace = trace_of(machine, graph, self.model, Outcome::Finished);
        self.endings.extend(ending(machine, &trace, &Outcome::Failed { thread, failure }));
        Flow::Continue(())
    }
    fn race(&mut self, _: &Machine, _: &Graph, _: GraphNode, _: GraphNode) -> Flow {
        self.endings.insert(Ending::Race);
        Flow::Continue(())
    }
}

/// So many executions are looked at.
const MOST: u64 = 20_000;

/// How the two disagree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    /// The machine ends where exploration does not.
    Missed(Vec<Ending>),
    /// Exploration ends where the machine does not.
    Invented(Vec<Ending>),
    /// So many execution graphs were met twice.
    Twice(u64),
    /// Exploration by sources, or by values, ends elsewhere than that of execution graphs: what it misses, and what it
    /// invents.
    Method(Equivalence, Vec<Ending>, Vec<Ending>),
    /// It has more executions, so many.
    More(Equivalence, u64),
    /// Two workers come to something else than one: executions of one, and of two.
    Workers(Equivalence, u64, u64),
    /// The exploration broke off.
    Broken(String),
}

impl Difference {
    /// Is it of the same kind?
    pub fn is_like(&self, other: &Difference) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// What came of a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    /// How they differ, if they do.
    pub difference: Option<Difference>,
    /// Did one of them not end?
    pub unfinished: bool,
}

/// Holds exploration against the machine.
pub fn compare(script: &Script, model: Model) -> Compared {
    let machine = Machine::new(script);
    let begin = || Watch::new(model);
    let options = Options { max_events: 1_000, ..Options::new(model) };
    let explored = Explorer::new(machine.clone(), options).and_then(|mut explorer| explorer.explore(begin));
    let watch = match explored {
        Ok(watch) => watch,
        Err(error) => {
            return Compared { difference: Some(Difference::Broken(error.to_string())), unfinished: false };
        }
    };
    let by_reads = match model {
        Model::Sc | Model::Tso | Model::Pso if !watch.incomplete && watch.executions <= MOST => {
            [Equivalence::Sources, Equivalence::Values]
                .into_iter()
                .find_map(|e| compare_method(&machine, options, e, &watch))
        }
        _ => None,
    };
    let mut runner = machine;
    let Reached { endings: reached, complete } =
        with_machine!(model, &MachineOptions::default(), machine => reach(machine, &mut runner));
    let unfinished = !complete || watch.incomplete || watch.executions > MOST;
    let racy = watch.endings.contains(&Ending::Race) || reached.contains(&Ending::Race);
    let compared = |set: &BTreeSet<Ending>| -> BTreeSet<Ending> {
        set.iter().filter(|ending| !racy || **ending == Ending::Race).cloned().collect()
    };
    let (explored, reached) = (compared(&watch.endings), compared(&reached));
    let missed: Vec<Ending> = reached.difference(&explored).cloned().collect();
    let invented: Vec<Ending> = explored.difference(&reached).cloned().collect();
    let difference = if !missed.is_empty() && !watch.incomplete && watch.executions <= MOST {
        Some(Difference::Missed(missed))
    } else if !invented.is_empty() && complete && model != Model::C11 {
        Some(Difference::Invented(invented))
    } else if watch.twice > 0 && !racy {
        Some(Difference::Twice(watch.twice))
    } else {
        by_reads
    };
    Compared { difference, unfinished }
}

/// Holds exploration by sources or values against that of execution graphs, which is complete.
fn compare_method(machine: &Machine, options: Options, equivalence: Equivalence, graphs: &Watch) -> Option<Difference> {
    let begin = || Watch::new(options.model);
    let explorer = causal::Explorer::new(machine.clone(), options, equivalence);
    let watch = match explorer.and_then(|mut explorer| explorer.explore(begin)) {
        Ok(watch) => watch,
        Err(error) => return Some(Difference::Broken(error.to_string())),
    };
    if watch.incomplete {
        return None;
    }
    if watch.executions > graphs.executions {
        return Some(Difference::More(equivalence, watch.executions));
    }
    let missed: Vec<Ending> = graphs.endings.difference(&watch.endings).cloned().collect();
    let invented: Vec<Ending> = watch.endings.difference(&graphs.endings).cloned().collect();
    if !missed.is_empty() || !invented.is_empty() {
        return Some(Difference::Method(equivalence, missed, invented));
    }
    compare_workers(machine, options, equivalence, &watch)
}

/// Holds two workers against one.
fn compare_workers(machine: &Machine, options: Options, equivalence: Equivalence, alone: &Watch) -> Option<Difference> {
    let mut team = match causal::Team::new(machine, options, equivalence, 2) {
        Ok(team) => team,
        Err(error) => return Some(Difference::Broken(error.to_string())),
    };
    loop {
        let (watches, halt) = match team.explore_phase(|| Watch::new(options.model), |_| false) {
            Ok(explored) => explored,
            Err(error) => return Some(Difference::Broken(error.to_string())),
        };
        if halt == Halt::Anew {
            continue;
        }
        if watches.iter().any(|watch| watch.incomplete) {
            return None;
        }
        let executions = watches.iter().map(|watch| watch.executions).sum();
        let endings: BTreeSet<Ending> = watches.into_iter().flat_map(|watch| watch.endings).collect();
        let same = executions == alone.executions && endings == alone.endings;
        return (!same).then_some(Difference::Workers(equivalence, alone.executions, executions));
    }
}

/// Where a machine ends.
struct Reached {
    endings: BTreeSet<Ending>,
    /// Was every choice tried?
    complete: bool,
}

/// So many steps are tried, those of executions that were abandoned included.
const STEPS: u64 = 60_000;

/// Tries every choice of a machine.
fn reach<M: fencepost_memory::Machine>(model: M, machine: &mut Machine) -> Reached {
    let mut execution = Execution::new(model);
    let mut tree = Tree::new(M::MODEL).with_waiting(1);
    let mut endings = BTreeSet::new();
    let mut steps = 0;
    loop {
        tree.restart();
        let mut outcome = run(&mut execution, machine, &mut tree, Limits { max_steps: 300 });
        if let Some(spinning) = tree.livelock() {
            outcome = Outcome::Livelock { spinning: spinning.to_vec() };
        }
        if outcome != Outcome::Redundant {
            let trace = execution.trace(|label| machine.describe(label));
            endings.extend(ending(machine, &trace, &outcome));
        }
        if !execution.races().is_empty() {
            endings.insert(Ending::Race);
        }
        steps += execution.steps();
        if outcome == Outcome::StepLimit || steps > STEPS {
            return Reached { endings, complete: false };
        }
        if !tree.advance() {
            return Reached { endings, complete: true };
        }
    }
}

/// The smallest script that differs in the same way.
pub fn shrink(script: &Script, model: Model, difference: &Difference) -> (Script, Difference) {
    let mut best = (script.clone(), difference.clone());
    'again: loop {
        for candidate in simpler(&best.0) {
            if let Some(found) = compare(&candidate, model).difference
                && found.is_like(difference)
            {
                best = (candidate, found);
                continue 'again;
            }
        }
        return best;
    }
}

fn simpler(script: &Script) -> Vec<Script> {
    let mut all = Vec::new();
    let with = |t: usize, body: Vec<Node>| {
        let mut simple = script.clone();
        simple.threads[t] = body;
        simple
    };
    for t in 0..script.threads.len() {
        if !script.threads[t].is_empty() {
            all.push(with(t, Vec::new()));
        }
    }
    if script.threads.len() > 2 && script.threads.last().is_some_and(Vec::is_empty) {
        let mut simple = script.clone();
        simple.threads.pop();
        all.push(simple);
    }
    for (t, body) in script.threads.iter().enumerate() {
        for (i, node) in body.iter().enumerate() {
            all.push(with(t, removed(body, i)));
            if let Node::If(_, _, inner) | Node::IfDone(_, inner) = node {
                let mut flat = body.clone();
                flat.splice(i..=i, inner.iter().cloned());
                all.push(with(t, flat));
            }
            if let Node::Do(Op::Access(access), reg) = node {
                let simple = plainer(access);
                if simple != *access {
                    let mut body = body.clone();
                    body[i] = Node::Do(Op::Access(simple), *reg);
                    all.push(with(t, body));
                }
            }
        }
    }
    if script.spawns {
        all.push(Script { spawns: false, ..script.clone() });
    }
    all
}

/// The body without node `i`; a lock goes with its release.
fn removed(body: &[Node], i: usize) -> Vec<Node> {
    let mut less = body.to_vec();
    let gone = less.remove(i);
    let release = |node: &Node| match node {
        Node::Do(Op::Sync(Sync::Lock { mutex }), _) => Some(Sync::Unlock { mutex: *mutex }),
        Node::Do(Op::Sync(Sync::ReadLock { lock }), _) => Some(Sync::ReadUnlock { lock: *lock }),
        Node::Do(Op::Sync(Sync::WriteLock { lock }), _) => Some(Sync::WriteUnlock { lock: *lock }),
        _ => None,
    };
    if let Some(release) = release(&gone) {
        let at = less[i..].iter().position(|node| matches!(node, Node::Do(Op::Sync(sync), _) if *sync == release));
        at.map(|at| less.remove(i + at));
    } else if let Node::Do(Op::Sync(sync), _) = gone {
        let at = less[..i].iter().rposition(|node| release(node) == Some(sync));
        at.map(|at| less.remove(at));
    }
    less
}

/// The same access, relaxed.
fn plainer(access: &Access) -> Access {
    match *access {
        Access::Load { at, guard, order } if order != LoadOrder::Plain => {
            Access::Load { at, guard, order: LoadOrder::Relaxed }
        }
        Access::Store { at, value, order } if order != StoreOrder::Plain => {
            Access::Store { at, value, order: StoreOrder::Relaxed }
        }
        Access::Rmw { at, update, guard, .. } => Access::Rmw { at, update, guard, order: RmwOrder::Relaxed },
        Access::CompareExchange { at, expected, desired, weak, guard, .. } => Access::CompareExchange {
            at,
            expected,
            desired,
            weak,
            guard,
            success: RmwOrder::Relaxed,
            failure: LoadOrder::Relaxed,
        },
        other => other,
    }
}
