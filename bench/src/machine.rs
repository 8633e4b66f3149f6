//! Random executions per second of the machines, on small litmus tests: executing, recording, building the trace.

use crate::shapes;
use fencepost_explore::execute;
use fencepost_litmus::LitmusTest;
use fencepost_trace::{Model, Plan};
use std::time::Instant;

/// Prints the table.
pub fn measure() {
    println!("One core.\n");
    println!("| test | model | executions/s |");
    println!("|---|---|---|");
    for (name, text) in [("SB(2)", shapes::sb(2)), ("MP(4)", shapes::mp(4))] {
        let test = LitmusTest::parse(name, text.as_bytes()).expect("the shapes parse");
        for model in Model::ALL {
            let mut program = test.program();
            let start = Instant::now();
            let executions = 50_000;
            for i in 0..executions {
                execute(&mut program, &Plan::random(model, 1, i)).expect("a machine runs");
            }
            println!("| {name} | {model} | {:.0} |", executions as f64 / start.elapsed().as_secs_f64());
        }
    }
}
