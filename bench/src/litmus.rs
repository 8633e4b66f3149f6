//! Litmus tests per second: parsing, exploring, collecting the states, as `fencepost litmus` does on one core.
//!
//! herd7 took 11 to 20 ms of CPU time a test in the median, and 43 ms on average for the generated family under RC11
//! (measured on the machine that the corpus was made on).

use fencepost_engine::Threads;
use fencepost_explore::graph::{Explorer, Flow, Options, Stuck, Visitor};
use fencepost_litmus::{LitmusProgram, LitmusTest};
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{Failure, Model, ThreadId};
use std::collections::BTreeMap;
use std::time::Instant;

/// The median of herd7, at its fastest.
const HERD_MEDIAN_MS: f64 = 11.0;

#[derive(Default)]
struct States(BTreeMap<Vec<i64>, u64>);

impl Visitor<LitmusProgram> for States {
    fn execution(&mut self, program: &LitmusProgram, graph: &Graph) -> Flow {
        let state = program.state(|at| graph.final_value_at(at).unwrap_or_else(|| program.initial(at)));
        *self.0.entry(state).or_default() += 1;
        Flow::Continue(())
    }
    fn stuck(&mut self, _: &LitmusProgram, _: &Graph, _: Stuck) -> Flow {
        Flow::Continue(())
    }
    fn failed(&mut self, _: &LitmusProgram, _: &Graph, _: ThreadId, _: Failure) -> Flow {
        Flow::Continue(())
    }
    fn race(&mut self, _: &LitmusProgram, _: &Graph, _: Node, _: Node) -> Flow {
        Flow::Break(())
    }
}

/// The sources of all tests of the corpus.
pub fn corpus() -> Vec<String> {
    let mut sources = Vec::new();
    for family in ["classic", "hw", "generated"] {
        let path = format!("{}/../tests/oracle/{family}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("the corpus is part of the repository");
        for line in text.lines() {
            let test: serde_json::Value = serde_json::from_str(line).expect("one test a line");
            sources.push(test["source"].as_str().expect("a source").to_owned());
        }
    }
    sources
}

/// Prints the table.
pub fn measure() {
    let sources = corpus();
    println!(
        "{} tests of tests/oracle, one core; herd7: {HERD_MEDIAN_MS} ms in the median at its fastest.\n",
        sources.len()
    );
    let start = Instant::now();
    for source in &sources {
        LitmusTest::parse("bench", source.as_bytes()).expect("the corpus parses");
    }
    println!("Parsing alone: {:.1} µs/test.\n", start.elapsed().as_secs_f64() * 1e6 / sources.len() as f64);
    println!("| model | tests/s | µs/test | herd7's time over ours |");
    println!("|---|---|---|---|");
    for model in [Model::Sc, Model::Tso, Model::Pso, Model::C11] {
        let start = Instant::now();
        for source in &sources {
            let test = LitmusTest::parse("bench", source.as_bytes()).expect("the corpus parses");
            let mut explorer = Explorer::new(test.program(), Options::new(model)).expect("the model has axioms");
            explorer.explore(States::default).expect("a litmus test can be explored");
        }
        let micros = start.elapsed().as_secs_f64() * 1e6 / sources.len() as f64;
        println!("| {model} | {:.0} | {micros:.1} | {:.0} |", 1e6 / micros, HERD_MEDIAN_MS * 1e3 / micros);
    }
}
