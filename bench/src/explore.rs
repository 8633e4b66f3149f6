//! Time per execution of exhaustive exploration. GenMC 0.11 takes 15 to 90 µs per execution (15 to 50 on SB and MP).

use crate::counting::explore;
use crate::shapes;
use fencepost_litmus::LitmusTest;
use fencepost_trace::Model;
use std::time::Instant;

/// Prints the table.
pub fn measure() {
    println!("One core. GenMC: 15 to 50 µs per execution on SB and MP, up to 90 elsewhere.\n");
    println!("| test | model | executions | blocked | µs/execution |");
    println!("|---|---|---|---|---|");
    let tests = [
        ("SB(10)", shapes::sb(10)),
        ("MP(8)", shapes::mp(8)),
        ("NINC(7)", shapes::ninc(7)),
        ("READERS(13)", shapes::readers(13)),
        ("SB(10) seq_cst", shapes::sb_sc(10)),
        ("SB(10) fences", shapes::sb_fences(10)),
    ];
    for (name, text) in tests {
        let test = LitmusTest::parse(name, text.as_bytes()).expect("the shapes parse");
        for model in [Model::Sc, Model::Tso, Model::Pso, Model::C11] {
            let warm = explore(&test, model);
            let rounds = (20_000 / warm.executions).max(1);
            let start = Instant::now();
            for _ in 0..rounds {
                explore(&test, model);
            }
            let micros = start.elapsed().as_secs_f64() * 1e6 / (rounds * warm.executions) as f64;
            println!("| {name} | {model} | {} | {} | {micros:.2} |", warm.executions, warm.blocked);
        }
    }
}
