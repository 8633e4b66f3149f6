//! Exploration up to values and up to sources against brute force: every choice of the machine is tried, and the
//! vectors of what was read are counted.

use crate::common::script::{APART, Recipe, Script, random_script};
use crate::common::{corpus, report};
use fencepost_engine::{Random, Threads};
use fencepost_explore::causal::{Equivalence, Explorer, Memoised, Team};
use fencepost_explore::enumerate::enumerate;
use fencepost_explore::graph::{self, Flow, Halt, Options, Stuck, Visitor, trace_of};
use fencepost_litmus::LitmusTest;
use fencepost_memory::axioms;
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::op::Sync;
use fencepost_trace::{
    Access, EventKind, Failure, Guard, Label, Limits, LoadOrder, Location, Model, Op, Outcome, Reply, Size, StoreOrder,
    ThreadId, Trace, Value,
};
use std::collections::BTreeSet;

const MODELS: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso];

/// What every thread has read, in order, and what the observed locations hold in the end.
type Vector = (Vec<Vec<(u128, bool)>>, Vec<u128>);

fn vector<T: Threads>(program: &T, trace: &Trace) -> Vector {
    let mut reads = vec![Vec::new(); trace.threads as usize];
    for event in &trace.events {
        match &event.kind {
            EventKind::Load { value, failed_rmw, .. } => reads[event.thread.index()].push((value.0, *failed_rmw)),
            EventKind::Rmw { read, .. } => reads[event.thread.index()].push((read.0, false)),
            _ => {}
        }
    }
    let last = program.observed().iter().map(|at| trace.final_value(*at, program.initial(*at)).0).collect();
    (reads, last)
}

/// The vectors of all executions of the machine.
fn brute_force<T: Threads>(program: &mut T, model: Model) -> (BTreeSet<Vector>, bool) {
    let mut vectors = BTreeSet::new();
    let all = enumerate(program, model, None, Limits::default(), 2_000_000, |program, executed| {
        vectors.insert(vector(program, &executed.trace));
        Flow::Continue(())
    });
    (vectors, all.complete)
}

struct Seen {
    model: Model,
    executions: u64,
    stuck: u64,
    vectors: BTreeSet<Vector>,
    wrong: Option<String>,
}

impl Seen {
    fn new(model: Model) -> Seen {
        Seen { model, executions: 0, stuck: 0, vectors: BTreeSet::new(), wrong: None }
    }

    fn note<T: Threads>(&mut self, program: &T, graph: &Graph, outcome: Outcome) {
        let trace = trace_of(program, graph, self.model, outcome);
        if let Err(violation) = axioms::check(&trace) {
            self.wrong.get_or_insert(format!("an execution that is none: {violation}"));
        }
        self.vectors.insert(vector(program, &trace));
    }
}

impl<T: Threads> Visitor<T> for Seen {
    fn execution(&mut self, program: &T, graph: &Graph) -> Flow {
        self.executions += 1;
        self.note(program, graph, Outcome::Finished);
        Flow::Continue(())
    }

    fn stuck(&mut self, program: &T, graph: &Graph, stuck: Stuck) -> Flow {
        if matches!(stuck, Stuck::Deadlock(_) | Stuck::Livelock(_)) {
            self.stuck += 1;
            self.note(program, graph, stuck.outcome());
        }
        Flow::Continue(())
    }

    fn failed(&mut self, program: &T, graph: &Graph, thread: ThreadId, failure: Failure) -> Flow {
        self.executions += 1;
        self.note(program, graph, Outcome::Failed { thread, failure });
        Flow::Continue(())
    }

    fn race(&mut self, _: &T, _: &Graph, _: Node, _: Node) -> Flow {
        unreachable!("hardware models know no race")
    }
}

fn explored<T: Threads + Clone>(program: &T, model: Model, equivalence: Equivalence) -> Seen {
    let mut explorer = Explorer::new(program.clone(), Options::new(model), equivalence).expect("a hardware model");
    explorer.explore(|| Seen::new(model)).expect("nothing wide overlaps")
}

/// Says what is wrong with the exploration of a program, if anything is.
fn compare<T: Threads + Clone>(program: &T, model: Model) -> Option<String> {
    let (expected, complete) = brute_force(&mut program.clone(), model);
    if !complete {
        return None;
    }
    // As it is, and where threads are run only where they have not been before.
    let memoised = Explorer::new(Memoised::new(program.clone()), Options::new(model), Equivalence::Values);
    let memoised = memoised.and_then(|mut explorer| explorer.explore(|| Seen::new(model)));
    let memoised = memoised.expect("nothing wide overlaps, and it is deterministic");
    [explored(program, model, Equivalence::Values), memoised].into_iter().find_map(|seen| {
        let (missing, extra) = (expected.difference(&seen.vectors).count(), seen.vectors.difference(&expected).count());
        let count = seen.executions + seen.stuck;
        if let Some(wrong) = seen.wrong {
            return Some(wrong);
        }
        (missing + extra != 0 || count != expected.len() as u64)
            .then(|| format!("{count} executions of {} vectors, {missing} missing, {extra} too many", expected.len()))
    })
}

fn check_family(family: &str, most: usize) {
    let (mut checked, mut wrong) = (0, Vec::new());
    for case in corpus(family).into_iter().filter(|c| c.litmus.memory_operations() <= most) {
        for model in MODELS {
            checked += 1;
            if let Some(difference) = compare(&case.litmus.program(), model) {
                wrong.push(format!("{} {model}: {difference}", case.litmus.name()));
            }
        }
    }
    assert!(checked > 100, "the corpus is there");
    report(checked, &wrong);
}

/// Executions are as many as there are vectors, and the vectors are those of the machine.
#[test]
fn classic() {
    check_family("classic", 10);
}

/// The same for tests with fences and read-modify-writes of all kinds.
#[test]
fn hw() {
    check_family("hw", 10);
}

#[test]
fn generated() {
    check_family("generated", 10);
}

/// Two workers tell of the same executions as one, whatever each of them learns when.
fn check_two_workers(family: &str, step: usize) {
    let (mut checked, mut wrong) = (0, Vec::new());
    for case in corpus(family).into_iter().filter(|c| c.litmus.memory_operations() <= 10).step_by(step) {
        for model in MODELS {
            checked += 1;
            let program = case.litmus.program();
            let alone = explored(&program, model, Equivalence::Values);
            let mut team = Team::new(&program, Options::new(model), Equivalence::Values, 2).expect("a hardware model");
            let (seen, halt) = team.explore_phase(|| Seen::new(model), |_| false).expect("nothing wide overlaps");
            let count: u64 = seen.iter().map(|seen| seen.executions + seen.stuck).sum();
            let vectors: BTreeSet<Vector> = seen.into_iter().flat_map(|seen| seen.vectors).collect();
            if halt != Halt::Done || count != alone.executions + alone.stuck || vectors != alone.vectors {
                wrong.push(format!("{} {model}: {count} executions", case.litmus.name()));
            }
        }
    }
    assert!(checked > 30, "the corpus is there");
    report(checked, &wrong);
}

#[test]
fn two_workers() {
    check_two_workers("classic", 3);
    check_two_workers("hw", 9);
}

#[test]
#[ignore = "takes minutes"]
fn two_workers_on_every_test() {
    ["classic", "hw", "generated"].into_iter().for_each(|family| check_two_workers(family, 1));
}

fn location(i: u64) -> Location {
    Location::new(0x100 + 0x10 * i, Size::B4)
}

fn store(i: u64, value: u64) -> Op {
    Op::Access(Access::Store { at: location(i), order: StoreOrder::Relaxed, value: Value::from(value) })
}

fn load(i: u64) -> Op {
    Op::Access(Access::Load { at: location(i), order: LoadOrder::Relaxed, guard: Guard::Any })
}

/// A thread waits for the end of another and writes then: a third one may read that, or not.
#[test]
fn what_is_written_after_a_join_is_read() {
    for model in MODELS {
        let script = Script::new(vec![vec![Op::Join(ThreadId(1)), store(0, 1)], vec![load(1)], vec![load(0)]]);
        assert_eq!(compare(&script, model), None, "{model}");
    }
}

/// What a thread has read decides what another does that waits for its end, without any operation that tells it: plain
/// memory that only the two of them use.
#[derive(Clone)]
struct HandedOver {
    next: [usize; 4],
    handed: u128,
    /// What has to be handed over for the write to happen.
    wanted: u128,
}

impl Threads for HandedOver {
    fn start(&mut self) -> u32 {
        self.next = [0; 4];
        1
    }

    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        let t = thread.index();
        self.next[t] += 1;
        match (t, self.next[t]) {
            (0, 1..=3) => Op::Spawn,
            (0, 4) => Op::Join(ThreadId(2)),
            (0, 5) if self.handed == self.wanted => store(1, 1),
            (1, 1) => load(1),
            (2, 1) => load(0),
            (2, 2) => {
                self.handed = reply.value.0;
                Op::Exit
            }
            (3, 1) => store(0, 1),
            _ => Op::Exit,
        }
    }

    fn initial(&self, _: Location) -> Value {
        Value::ZERO
    }

    fn label(&self, thread: ThreadId) -> u32 {
        thread.0 * 10 + self.next[thread.index()] as u32
    }

    fn describe(&self, _: u32) -> Label {
        Label::default()
    }

    fn digest(&self, _: ThreadId) -> Option<u64> {
        None
    }
}

/// If the second created thread reads what is wanted, the first may read 0 or 1, otherwise 0: three vectors, whatever
/// comes first.
#[test]
fn what_is_written_after_a_join_depends_on_who_was_joined() {
    for (model, wanted) in MODELS.into_iter().flat_map(|model| [(model, 0), (model, 1)]) {
        let program = HandedOver { next: [0; 4], handed: 0, wanted };
        assert_eq!(compare(&program, model), None, "{model}");
        assert_eq!(explored(&program, model, Equivalence::Values).executions, 3, "{model}, {wanted}");
    }
}

/// Three threads take one lock and look at what it protects: who is refused at first reads later.
#[test]
fn locked_data() {
    let lock = Op::Sync(Sync::Lock { mutex: 8 });
    let unlock = Op::Sync(Sync::Unlock { mutex: 8 });
    let thread = |value| vec![lock, load(0), store(0, value), unlock];
    for model in MODELS {
        let script = Script::new(vec![thread(1), thread(2), thread(3)]);
        assert_eq!(compare(&script, model), None, "{model}");
        // Six orders, and each can be told by what is read.
        assert_eq!(explored(&script, model, Equivalence::Values).executions, 6, "{model}");
    }
}

/// So little is remembered that runs are repeated: what is told stays the same.
#[test]
fn whatever_is_remembered_nothing_is_told_twice() {
    let mut random = Random::new(11);
    for i in 0..20 {
        let recipe = Recipe { threads: 2 + i % 2, operations: 3, locations: APART, plain: false };
        let script = random_script(&mut random, recipe);
        for model in MODELS {
            let all = explored(&script, model, Equivalence::Values);
            let explorer = Explorer::new(script.clone(), Options::new(model), Equivalence::Values);
            let mut explorer = explorer.expect("a hardware model").remembering(Some(3));
            let few = explorer.explore(|| Seen::new(model)).expect("nothing wide overlaps");
            assert_eq!((few.executions, few.stuck), (all.executions, all.stuck), "program {i} {model}");
            assert_eq!(few.vectors, all.vectors, "program {i} {model}");
        }
    }
}

fn count(threads: &[&[Op]], model: Model, equivalence: Equivalence) -> u64 {
    let script = Script::new(threads.iter().map(|ops| ops.to_vec()).collect());
    let seen = explored(&script, model, equivalence);
    assert_eq!(seen.wrong, None);
    seen.executions + seen.stuck
}

/// Who writes does not matter as long as nobody reads: n writers and one read are n + 1 vectors, and as many ways to
/// read from a write.
#[test]
fn writers_that_nobody_tells_apart() {
    let writers: Vec<Vec<Op>> = (1..=6).map(|value| vec![store(0, value)]).collect();
    let reader = [load(0)];
    let mut threads: Vec<&[Op]> = writers.iter().map(Vec::as_slice).collect();
    threads.push(&reader);
    for model in MODELS {
        assert_eq!(count(&threads, model, Equivalence::Values), 7);
        assert_eq!(count(&threads, model, Equivalence::Sources), 7);
    }
    // Writes of the same value are one to a reader, and several to who asks where it comes from.
    let same: Vec<Vec<Op>> = (0..4).map(|_| vec![store(0, 1)]).collect();
    let mut threads: Vec<&[Op]> = same.iter().map(Vec::as_slice).collect();
    threads.push(&reader);
    for model in MODELS {
        assert_eq!(count(&threads, model, Equivalence::Values), 2);
        assert_eq!(count(&threads, model, Equivalence::Sources), 5);
    }
}

/// Two readers and two writers of two locations, all independent: each reader sees the write or not.
#[test]
fn independent_readers() {
    let (a, b, c, d) = ([store(0, 1)], [store(1, 1)], [load(0)], [load(1)]);
    for model in MODELS {
        assert_eq!(count(&[&a, &b, &c, &d], model, Equivalence::Values), 4);
    }
}

/// Store buffering has 3 outcomes under SC and 4 with store buffers; reading one's own store in between, which the
/// buffer answers, changes nothing.
#[test]
fn stores_are_read_from_the_buffer() {
    let (left, right) = ([store(0, 1), load(1)], [store(1, 1), load(0)]);
    let (left_own, right_own) = ([store(0, 1), load(0), load(1)], [store(1, 1), load(1), load(0)]);
    for (model, expected) in [(Model::Sc, 3), (Model::Tso, 4), (Model::Pso, 4)] {
        assert_eq!(count(&[&left, &right], model, Equivalence::Values), expected);
        assert_eq!(count(&[&left_own, &right_own], model, Equivalence::Values), expected);
    }
}

/// Figure 6 of the paper as its constraints give it (`tests/programs/mcr_example.c`), with so many rounds.
fn example(rounds: usize) -> LitmusTest {
    let store = |at: &str, value: u32| format!("atomic_store_explicit({at}, {value}, memory_order_relaxed);\n");
    let load = |to: &str, at: &str| format!("{to} = atomic_load_explicit({at}, memory_order_relaxed);\n");
    let round =
        [("z", 0), ("x", 0), ("y", 0), ("x", 2), ("y", 3), ("z", 1)].map(|(at, value)| store(at, value)).concat();
    let look = [load("a", "x"), load("b", "y")].concat();
    let all = "(atomic_int* x, atomic_int* y, atomic_int* z)";
    let reads = format!("{}if (a == 1) {{ {look} if (a + 1 != b) {{ {look} }} }}\n", load("a", "z"));
    let text = format!(
        "C example\n{{ [x]=0; [y]=0; [z]=0; }}\nP0 {all} {{ {} }}\nP1 {all} {{ int a = 0; int b = 0; {} }}\nexists \
         (1:a=9)\n",
        round.repeat(rounds),
        reads.repeat(rounds)
    );
    LitmusTest::parse("example", text.as_bytes()).expect("a litmus test")
}

/// Its vectors, as brute force counts them.
#[test]
fn the_example_of_the_paper() {
    for (rounds, expected) in [(1, [2, 2, 10]), (2, [52, 52, 188])] {
        for (model, expected) in MODELS.into_iter().zip(expected) {
            let program = example(rounds).program();
            assert_eq!(explored(&program, model, Equivalence::Values).executions, expected, "{rounds} {model}");
            assert_eq!(compare(&program, model), None, "{rounds} {model}");
        }
    }
}

/// Random programs with read-modify-writes, fences and weak compare-exchanges against brute force.
#[test]
fn random_programs() {
    let mut wrong = Vec::new();
    let mut random = Random::new(7);
    let programs = 150;
    for i in 0..programs {
        let recipe = Recipe { threads: 2 + i % 2, operations: 3, locations: APART, plain: false };
        let script = random_script(&mut random, recipe);
        for model in MODELS {
            if let Some(difference) = compare(&script, model) {
                wrong.push(format!("program {i} {model}: {difference}\n{:?}", script.threads));
            }
        }
    }
    report(programs, &wrong);
}

/// As many more as take minutes.
#[test]
#[ignore = "takes minutes"]
fn a_thousand_random_programs() {
    let mut random = Random::new(23);
    let mut wrong = Vec::new();
    for i in 0..1_000 {
        let recipe = Recipe { threads: 2 + i % 2, operations: 3 + i % 2, locations: APART, plain: false };
        let script = random_script(&mut random, recipe);
        for model in MODELS {
            if let Some(difference) = compare(&script, model) {
                wrong.push(format!("program {i} {model}: {difference}\n{:?}", script.threads));
            }
        }
    }
    report(1_000, &wrong);
}

/// Two threads that take two locks in different orders: the deadlock is found, and so are all other outcomes.
#[test]
fn locks() {
    let lock = |mutex| Op::Sync(Sync::Lock { mutex });
    let unlock = |mutex| Op::Sync(Sync::Unlock { mutex });
    let (a, b) = (8, 16);
    let one = vec![lock(a), lock(b), store(0, 1), unlock(b), unlock(a)];
    let other = vec![lock(b), lock(a), load(0), unlock(a), unlock(b)];
    for model in MODELS {
        let script = Script::new(vec![one.clone(), other.clone()]);
        let seen = explored(&script, model, Equivalence::Values);
        assert_eq!((seen.executions, seen.stuck, seen.wrong), (2, 1, None), "{model}");
        assert_eq!(compare(&script, model), None, "{model}");
    }
}

/// What is done under locks does not overlap, which questions rely on: random critical sections of two locks, one in
/// the other or one after the other, against brute force.
#[test]
fn random_critical_sections() {
    let mut random = Random::new(13);
    let mut wrong = Vec::new();
    let programs = 120;
    for i in 0..programs {
        let threads = (0..3).map(|t| {
            let mut below = |bound| random.below(bound) as u64;
            let mutex = 8 + 8 * (below(4) / 3);
            let mut ops = vec![Op::Sync(Sync::Lock { mutex })];
            for _ in 0..1 + below(2) {
                let at = below(2);
                ops.push(if below(2) == 0 { load(at) } else { store(at, 1 + below(2)) });
            }
            ops.push(Op::Sync(Sync::Unlock { mutex }));
            if t == 0 {
                // Once more, or without a lock.
                let again = ops.clone();
                ops.extend(if below(2) == 0 { again } else { vec![load(0)] });
            }
            ops
        });
        let script = Script::new(threads.collect());
        for model in MODELS {
            if let Some(difference) = compare(&script, model) {
                wrong.push(format!("program {i} {model}: {difference}\n{:?}", script.threads));
            }
        }
    }
    report(programs, &wrong);
}

/// Never more executions than reads-from classes, and never more of these than graphs.
#[test]
fn coarser_methods_have_fewer_executions() {
    let mut checked = 0;
    for case in corpus("hw").into_iter().filter(|c| c.litmus.memory_operations() <= 7).step_by(5) {
        for model in MODELS {
            let program = case.litmus.program();
            let [values, sources] = [Equivalence::Values, Equivalence::Sources]
                .map(|equivalence| explored(&program, model, equivalence).executions);
            let mut explorer = graph::Explorer::new(program, Options::new(model)).expect("a hardware model");
            let graphs = explorer.explore(|| Seen::new(model)).expect("nothing overlaps").executions;
            assert!(values <= sources && sources <= graphs, "{} {model}", case.litmus.name());
            checked += 1;
        }
    }
    assert!(checked > 30, "the corpus is there");
}

/// Five threads come to a barrier of two: who is left waits forever, whoever that is. With the same reads some
/// executions go on and others do not.
#[test]
fn who_is_left_at_a_barrier() {
    let wait = Op::Sync(Sync::BarrierWait { barrier: 64, parties: 2 });
    for threads in [3, 4] {
        for model in MODELS {
            let script = Script::new((0..threads).map(|t| vec![wait; if t == 0 { 2 } else { 1 }]).collect());
            assert_eq!(compare(&script, model), None, "{threads} {model}");
            let mut explorer = graph::Explorer::new(script.clone(), Options::new(model)).expect("a hardware model");
            let graphs = explorer.explore(|| Seen::new(model)).expect("nothing overlaps");
            for equivalence in [Equivalence::Values, Equivalence::Sources] {
                let seen = explored(&script, model, equivalence);
                assert_eq!(seen.vectors, graphs.vectors, "{threads} {model} {equivalence:?}");
            }
        }
    }
}
