//! The questions of exploration by values, asked of Z3 as well.

use crate::causal::MODELS;
use crate::counting::Counts;
use crate::explore::counter;
use crate::native::verdict;
use crate::shapes;
use fencepost_engine::{Fibers, Threads};
use fencepost_explore::causal::{Equivalence, Explorer, Posed, Puzzle};
use fencepost_explore::graph::Options;
use fencepost_litmus::LitmusTest;
use fencepost_trace::{Answers, Model};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use z3::ast::{Bool, Int};
use z3::{SatResult, Solver};

/// So many questions of a program are asked, spread over all that there were.
const MOST: usize = 500;
/// How much faster ours is to be.
const FASTER: f64 = 10.0;

/// Asks both, and compares answers and time.
pub fn compare() {
    println!(
        "The same questions, each asked from its beginning, of ours (saturation, then the solver) and of Z3 {}: those \
         that the execution at hand does not answer as it is. For those that go to the solver the time is told \
         apart.\n",
        z3::full_version()
    );
    println!(
        "| program | model | questions | yes | differ | ours, µs | Z3, µs | ratio | at least {FASTER} | by the solver \
         | ours, µs | Z3, µs | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
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
    println!();
}

fn questions<T: Threads>(program: T, model: Model) -> Vec<Posed> {
    let mut explorer = Explorer::new(program, Options::new(model), Equivalence::Values).expect("a hardware model");
    explorer.keep_questions();
    explorer.explore(Counts::default).expect("it can be explored");
    let all = explorer.take_questions();
    let step = all.len().div_ceil(MOST).max(1);
    all.into_iter().step_by(step).collect()
}

/// How long both took.
#[derive(Default)]
struct Times {
    questions: usize,
    ours: Duration,
    z3: Duration,
}

impl Times {
    fn words(&self) -> [String; 3] {
        let each = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e6 / self.questions.max(1) as f64);
        let ratio = if self.questions == 0 { "-".to_owned() } else { format!("{:.0}", self.ratio()) };
        [each(self.ours), each(self.z3), ratio]
    }

    fn ratio(&self) -> f64 {
        self.z3.as_secs_f64() / self.ours.as_secs_f64().max(1e-9)
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
        let puzzle = posed.puzzle();
        let begun = Instant::now();
        let theirs = ask(&puzzle);
        let z3 = begun.elapsed();
        yes += usize::from(ours);
        differ += usize::from(ours != theirs || ours != posed.answer());
        for times in [Some(&mut all), (answers.solver > 0).then_some(&mut solved)].into_iter().flatten() {
            times.questions += 1;
            times.ours += took;
            times.z3 += z3;
        }
    }
    if questions.is_empty() {
        return;
    }
    let ([ours, z3, ratio], [ours_solved, z3_solved, ratio_solved]) = (all.words(), solved.words());
    println!(
        "| {name} | {model} | {} | {yes} | {differ} | {ours} | {z3} | {ratio} | {} | {} | {ours_solved} | {z3_solved} \
         | {ratio_solved} |",
        questions.len(),
        verdict(differ == 0 && all.ratio() >= FASTER),
        solved.questions,
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
