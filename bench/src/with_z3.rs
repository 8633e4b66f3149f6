//! The questions of exploration by values, asked of Z3 as well.

use crate::causal::MODELS;
use crate::counting::Counts;
use crate::explore::counter;
use crate::native::verdict;
use crate::shapes;
use fencepost_engine::{Fiber, Fibers, Threads};
use fencepost_explore::causal::{Equivalence, Explorer, Posed, Puzzle};
use fencepost_explore::graph::Options;
use fencepost_litmus::LitmusTest;
use fencepost_trace::op::Sync;
use fencepost_trace::{Answers, LoadOrder, Location, Model, Size, StoreOrder, Value};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use z3::ast::{Bool, Int};
use z3::{SatResult, Solver};

/// So many questions of a program are asked, spread over all that there were.
const MOST: usize = 200;
/// How much faster ours is to be.
const FASTER: f64 = 10.0;

/// Asks both, and compares answers and time.
pub fn compare() {
    println!(
        "The same questions, each asked from its beginning, of ours (saturation, then the solver), of our solver \
         alone, without saturation, and of Z3 {}: those that the execution at hand does not answer as it is. For \
         those that saturation leaves to the solver the time is told apart.\n",
        z3::full_version()
    );
    println!(
        "| program | model | questions | yes | differ | ours, µs | solver alone, µs | Z3, µs | ratio | ratio, solver \
         alone | at least {FASTER} | left to the solver | ours, µs | solver alone, µs | Z3, µs | ratio | ratio, \
         solver alone |"
    );
    println!("|{}", "---|".repeat(17));
    let tests = [
        ("EXAMPLE(2)", shapes::example(2)),
        ("EXAMPLE(3)", shapes::example(3)),
        ("RING(3, 3)", shapes::ring(3, 3)),
        ("NINC(6)", shapes::ninc(6)),
        ("WRITERS(8)", shapes::writers(8)),
    ];
    for (name, text) in tests {
        let test = LitmusTest::parse(name, text.as_bytes()).expect("the shapes parse");
        MODELS.into_iter().for_each(|model| row(name, model, questions(test.program(), model)));
    }
    for model in MODELS {
        row("MUTEX(5) on fibers", model, questions(Fibers::new(|main| counter(main, 5)), model));
    }
    // Of this one saturation leaves some to the solver.
    for model in MODELS {
        row("ACCOUNT(3) on fibers", model, questions(Fibers::new(|main| account(main, 3)), model));
    }
    println!();
}

fn questions<T: Threads>(program: T, model: Model) -> Vec<Posed> {
    let mut explorer = Explorer::new(program, Options::new(model), Equivalence::Values).expect("a hardware model");
    explorer.keep_questions();
    explorer.explore(Counts::default).expect("it can be explored");
    let (left, rest): (Vec<_>, Vec<_>) = explorer.take_questions().into_iter().partition(Posed::is_by_solver);
    let spread = |all: Vec<Posed>| {
        let step = all.len().div_ceil(MOST).max(1);
        all.into_iter().step_by(step)
    };
    spread(left).chain(spread(rest)).collect()
}

/// The program of tests/programs/account.c: under a lock threads pay in and draw, and one looks.
fn account(main: &Fiber<'_>, pairs: u32) {
    const MUTEX: u64 = 0x2000;
    const BALANCE: Location = Location { address: 0x1000, size: Size::B4 };
    const PAID: Location = Location { address: 0x1004, size: Size::B4 };
    const DRAWN: Location = Location { address: 0x1008, size: Size::B4 };
    fn add(thread: &Fiber<'_>, at: Location, amount: u128) {
        let old = thread.load(at, LoadOrder::Plain);
        thread.store(at, StoreOrder::Plain, Value(old.0.wrapping_add(amount) & u128::from(u32::MAX)));
    }
    let change = |amount: u128, count: Location| {
        move |thread: &Fiber<'_>| {
            thread.sync(Sync::Lock { mutex: MUTEX });
            add(thread, BALANCE, amount);
            add(thread, count, 1);
            thread.sync(Sync::Unlock { mutex: MUTEX });
        }
    };
    let look = move |thread: &Fiber<'_>| {
        thread.sync(Sync::Lock { mutex: MUTEX });
        let done = |at: Location| thread.load(at, LoadOrder::Plain).0 == u128::from(pairs);
        if done(PAID) && done(DRAWN) {
            thread.load(BALANCE, LoadOrder::Plain);
        }
        thread.sync(Sync::Unlock { mutex: MUTEX });
    };
    let mut children = vec![main.spawn(look)];
    for _ in 0..pairs {
        children.push(main.spawn(change(2, PAID)));
        children.push(main.spawn(change(4u128.wrapping_neg(), DRAWN)));
    }
    children.into_iter().for_each(|child| main.join(child));
}

/// How long both took.
#[derive(Default)]
struct Times {
    questions: usize,
    ours: Duration,
    alone: Duration,
    z3: Duration,
}

impl Times {
    fn words(&self) -> String {
        if self.questions == 0 {
            return "- | - | - | - | -".to_owned();
        }
        let each = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e6 / self.questions as f64);
        let times = [self.ours, self.alone, self.z3].map(each).join(" | ");
        format!("{times} | {:.0} | {:.0}", self.ratio(self.ours), self.ratio(self.alone))
    }

    /// How much faster it is than Z3.
    fn ratio(&self, time: Duration) -> f64 {
        self.z3.as_secs_f64() / time.as_secs_f64().max(1e-9)
    }
}

fn row(name: &str, model: Model, questions: Vec<Posed>) {
    let (mut all, mut solved) = (Times::default(), Times::default());
    let (mut differ, mut yes) = (0, 0);
    for posed in &questions {
        let mut answers = Answers::default();
        let begun = Instant::now();
        let ours = posed.ask(&mut answers);
        let took = begun.elapsed();
        let begun = Instant::now();
        let alone = posed.ask_solver();
        let took_alone = begun.elapsed();
        let puzzle = posed.puzzle();
        let begun = Instant::now();
        let theirs = ask(&puzzle);
        let z3 = begun.elapsed();
        yes += usize::from(ours);
        differ += usize::from(ours != theirs || alone != theirs || ours != posed.answer());
        for times in [Some(&mut all), posed.is_by_solver().then_some(&mut solved)].into_iter().flatten() {
            times.questions += 1;
            times.ours += took;
            times.alone += took_alone;
            times.z3 += z3;
        }
    }
    if questions.is_empty() {
        return;
    }
    let is_faster = |times: &Times| [times.ours, times.alone].iter().all(|time| times.ratio(*time) >= FASTER);
    let fine = differ == 0 && is_faster(&all) && (solved.questions == 0 || is_faster(&solved));
    println!(
        "| {name} | {model} | {} | {yes} | {differ} | {} | {} | {} | {} |",
        questions.len(),
        all.words(),
        verdict(fine),
        solved.questions,
        solved.words(),
    );
}

/// Asks Z3: an integer for each event, a truth value for each source that a read may have.
fn ask(puzzle: &Puzzle) -> bool {
    let solver = Solver::new();
    let events: Vec<Int> = (0..puzzle.events).map(|event| Int::new_const(format!("e{event}"))).collect();
    let mut chosen: HashMap<(usize, u32), Bool> = HashMap::new();
    for (i, sources) in puzzle.reads.iter().enumerate() {
        let literals: Vec<Bool> = sources.iter().map(|source| Bool::new_const(format!("r{i}s{source}"))).collect();
        solver.assert(Bool::or(&literals));
        for (j, one) in literals.iter().enumerate() {
            for other in &literals[j + 1..] {
                solver.assert(Bool::or(&[one.not(), other.not()]));
            }
            chosen.insert((i, sources[j]), one.clone());
        }
    }
    for constraint in &puzzle.constraints {
        let orders = constraint.one_of.iter().map(|(a, b)| events[*a].lt(&events[*b]));
        let unless = constraint.reads.iter().map(|reads| chosen[reads].not());
        let clause: Vec<Bool> = orders.chain(unless).collect();
        solver.assert(Bool::or(&clause));
    }
    solver.check() == SatResult::Sat
}
