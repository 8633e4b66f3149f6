//! Random programs over the engine's operations: `scripts [FIRST SEED] [COUNT] [ENOUGH] [WITHOUT…]`.

use fencepost_difftest::scripts::{Part, compare, script, shrink};
use fencepost_trace::Model;
use std::collections::BTreeMap;
use std::time::Instant;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, usual: u64| words.get(i).and_then(|word| word.parse().ok()).unwrap_or(usual);
    let (first, count, enough) = (number(0, 1), number(1, 10_000), number(2, 5));
    let without = words.get(3..).unwrap_or_default();
    let parts: Vec<Part> =
        Part::ALL.into_iter().filter(|part| !without.contains(&format!("{part:?}").to_lowercase())).collect();
    let start = Instant::now();
    let mut unfinished: BTreeMap<Model, u64> = BTreeMap::new();
    let (mut programs, mut found) = (0, 0);
    'all: for seed in first..first + count {
        let script = script(seed, &parts);
        programs += 1;
        for model in [Model::Sc, Model::Tso, Model::Pso, Model::C11] {
            let compared = compare(&script, model);
            *unfinished.entry(model).or_default() += u64::from(compared.unfinished);
            if let Some(difference) = compared.difference {
                let (small, difference) = shrink(&script, model, &difference);
                println!("seed {seed}, {model}: {difference:?}");
                for (t, body) in small.threads.iter().enumerate() {
                    println!("  T{t}:");
                    body.iter().for_each(|node| println!("    {node:?}"));
                }
                println!("  spawns {}, semaphore {}", small.spawns, small.semaphore);
                found += 1;
                if found == enough {
                    break 'all;
                }
                break;
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{programs} scripts, {:.0} a second, {found} differ; unfinished {unfinished:?}",
        programs as f64 / seconds
    );
    std::process::exit(i32::from(found > 0));
}
