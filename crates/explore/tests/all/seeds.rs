//! A seed means the same execution in every version: what was found with a seed last year is found with it again.

use fencepost_explore::execute;
use fencepost_litmus::LitmusTest;
use fencepost_trace::{Limits, Model, Pair, Plan, Sampling, Scheduler, StrategySpec, execution_seed};
use std::path::Path;

/// How many executions of each program, model and preference for old values.
const EXECUTIONS: u64 = 40;

/// Long enough for several phases, with a loop that waits and stores in a row.
const LONG: &str = r"
    C long
    { [x]=0; [y]=0; [z]=0; }
    P0 (atomic_int* x, atomic_int* y, atomic_int* z) {
      int i = 0;
      while (i < 60) {
        atomic_store_explicit(x, i, memory_order_relaxed);
        atomic_store_explicit(z, i, memory_order_release);
        i = i + 1;
      }
      atomic_store_explicit(y, 1, memory_order_release);
    }
    P1 (atomic_int* x, atomic_int* y, atomic_int* z) {
      int r0 = 0;
      int sum = 0;
      while (r0 == 0) {
        sum = sum + atomic_load_explicit(x, memory_order_relaxed);
        r0 = atomic_load_explicit(y, memory_order_acquire);
      }
    }
    P2 (atomic_int* x, atomic_int* y, atomic_int* z) {
      int i = 0;
      while (i < 40) {
        int r0 = atomic_fetch_add_explicit(z, 1, memory_order_acq_rel);
        int r1 = atomic_load_explicit(x, memory_order_relaxed);
        i = i + 1;
      }
    }
    exists (1:r0=1)
";

/// FNV-1a over numbers.
fn add(digest: &mut u64, number: u64) {
    for byte in number.to_le_bytes() {
        *digest = (*digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

/// A digest of all answers that `scheduler` gives, for every model and for several preferences of loads.
fn digest(scheduler: Scheduler) -> u64 {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/litmus");
    let file = |name: &str| std::fs::read(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let sources = [
        LONG.as_bytes().to_vec(),
        file("IRIW.litmus"),
        file("MP+spin.litmus"),
        file("SB.litmus"),
        file("lost-update.litmus"),
    ];
    let goals = [None, Some(Pair { store: 1, load: 2, own: false })];
    let mut digest = 0xcbf2_9ce4_8422_2325;
    for source in sources {
        let mut program = LitmusTest::parse("seeds", &source).expect("a litmus test").program();
        for model in Model::ALL {
            for (stale, depth, length) in [(None, 3, 0), (Some(0), 1, 0), (Some(90), 12, 100)] {
                for execution in 0..EXECUTIONS {
                    let goal = goals[execution as usize % 2];
                    let sampling = Sampling { stale, depth, length, goal, ..Sampling::with(scheduler) };
                    let seed = execution_seed(7, execution);
                    let strategy = StrategySpec::Random { seed, sampling: sampling.of_execution(execution) };
                    let plan = Plan::new(model, strategy, Limits { max_steps: 3_000 });
                    let trace = execute(&mut program, &plan).expect("it runs").trace;
                    trace.choices.iter().for_each(|choice| add(&mut digest, u64::from(*choice)));
                    add(&mut digest, u64::MAX);
                }
            }
        }
    }
    digest
}

/// The digests are those of version 0.1.0, before each scheduler had a file of its own.
#[test]
fn a_seed_means_the_same_execution_in_every_version() {
    let known: [(Scheduler, u64); 5] = [
        (Scheduler::Mix, 0x9273_aa68_9ad1_8864),
        (Scheduler::Random, 0xf7df_ca1e_ffa4_3176),
        (Scheduler::Pct, 0xbfa8_1a90_ed0c_d516),
        (Scheduler::Pos, 0x3810_dade_b10f_b384),
        (Scheduler::Rendezvous, 0xe7d3_8798_0ac1_eca4),
    ];
    let found = known.map(|(scheduler, _)| (scheduler, digest(scheduler)));
    assert_eq!(found, known);
}
