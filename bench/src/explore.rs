//! Time per execution of exhaustive exploration. GenMC 0.11 takes 15 to 90 µs per execution (15 to 50 on SB and MP).

use crate::counting::Counts;
use crate::shapes;
use fencepost_engine::{Fiber, Fibers, Threads};
use fencepost_explore::graph::{Explorer, Options};
use fencepost_litmus::LitmusTest;
use fencepost_trace::op::Sync;
use fencepost_trace::{LoadOrder, Location, Model, Size, StoreOrder, Value};
use std::time::Instant;

const MODELS: [Model; 4] = [Model::Sc, Model::Tso, Model::Pso, Model::C11];

/// Prints the table.
pub fn measure() {
    println!(
        "One core. GenMC: 15 to 50 µs per execution on SB and MP, up to 90 elsewhere. The time of blocked executions \
         is counted in.\n"
    );
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
        MODELS.into_iter().for_each(|model| row(name, model, || test.program()));
    }
    for threads in [4, 6] {
        let name = format!("MUTEX({threads}) on fibers");
        MODELS.into_iter().for_each(|model| row(&name, model, || Fibers::new(move |main| counter(main, threads))));
    }
}

fn row<T: Threads>(name: &str, model: Model, program: impl Fn() -> T) {
    let explore = || {
        let mut explorer = Explorer::new(program(), Options::new(model)).expect("the model has axioms");
        explorer.explore(Counts::default).expect("it can be explored")
    };
    let warm = explore();
    let rounds = (20_000 / (warm.executions + warm.blocked).max(1)).max(1);
    let start = Instant::now();
    for _ in 0..rounds {
        explore();
    }
    let micros = start.elapsed().as_secs_f64() * 1e6 / (rounds * warm.executions) as f64;
    println!("| {name} | {model} | {} | {} | {micros:.2} |", warm.executions, warm.blocked);
}

/// Threads that increment a counter under a mutex.
pub fn counter(main: &Fiber<'_>, threads: u32) {
    const COUNTER: Location = Location { address: 0x1000, size: Size::B4 };
    const MUTEX: u64 = 0x2000;
    let increment = |thread: &Fiber<'_>| {
        thread.sync(Sync::Lock { mutex: MUTEX });
        let old = thread.load(COUNTER, LoadOrder::Plain);
        thread.store(COUNTER, StoreOrder::Plain, Value(old.0 + 1));
        thread.sync(Sync::Unlock { mutex: MUTEX });
    };
    let children: Vec<_> = (0..threads).map(|_| main.spawn(increment)).collect();
    children.into_iter().for_each(|child| main.join(child));
}
