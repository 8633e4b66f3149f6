//! The strategies: nobody starves, a plan says everything, and what is possible is met.

use fencepost_engine::Threads;
use fencepost_explore::{execute, execute_noting};
use fencepost_litmus::{LitmusProgram, LitmusTest};
use fencepost_trace::{BLOCK, Coverage, Limits, Model, Outcome, Plan, Sampling, Scheduler, StrategySpec};
use std::collections::BTreeSet;

/// Waits for a flag.
const FLAG: &str = r"
    C flag
    { [x]=0; [y]=0; }
    P0 (atomic_int* x, atomic_int* y) {
      atomic_store_explicit(x, 1, memory_order_relaxed);
      atomic_store_explicit(y, 1, memory_order_release);
    }
    P1 (atomic_int* x, atomic_int* y) {
      int r0 = 0;
      while (r0 == 0) r0 = atomic_load_explicit(y, memory_order_acquire);
      int r1 = atomic_load_explicit(x, memory_order_relaxed);
    }
    exists (1:r0=1)
";

/// A ticket lock that all threads take.
const TICKET: &str = r"
    C ticket
    { [next]=0; [now]=0; [x]=0; }
    P0 (atomic_int* next, atomic_int* now, atomic_int* x) {
      int mine = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
      int serving = atomic_load_explicit(now, memory_order_acquire);
      while (serving != mine) serving = atomic_load_explicit(now, memory_order_acquire);
      int r0 = atomic_load_explicit(x, memory_order_relaxed);
      atomic_store_explicit(x, r0 + 1, memory_order_relaxed);
      atomic_store_explicit(now, mine + 1, memory_order_release);
    }
    P1 (atomic_int* next, atomic_int* now, atomic_int* x) {
      int mine = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
      int serving = atomic_load_explicit(now, memory_order_acquire);
      while (serving != mine) serving = atomic_load_explicit(now, memory_order_acquire);
      int r0 = atomic_load_explicit(x, memory_order_relaxed);
      atomic_store_explicit(x, r0 + 1, memory_order_relaxed);
      atomic_store_explicit(now, mine + 1, memory_order_release);
    }
    P2 (atomic_int* next, atomic_int* now, atomic_int* x) {
      int mine = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
      int serving = atomic_load_explicit(now, memory_order_acquire);
      while (serving != mine) serving = atomic_load_explicit(now, memory_order_acquire);
      int r0 = atomic_load_explicit(x, memory_order_relaxed);
      atomic_store_explicit(x, r0 + 1, memory_order_relaxed);
      atomic_store_explicit(now, mine + 1, memory_order_release);
    }
    exists (x=3)
";

/// A lock that is taken by exchanging, with writes in every round of the loop.
const EXCHANGE: &str = r"
    C exchange
    { [lock]=0; [x]=0; }
    P0 (atomic_int* lock, atomic_int* x) {
      while (atomic_exchange_explicit(lock, 1, memory_order_acquire) != 0) { }
      atomic_store_explicit(x, 1, memory_order_relaxed);
      atomic_store_explicit(lock, 0, memory_order_release);
    }
    P1 (atomic_int* lock, atomic_int* x) {
      while (atomic_exchange_explicit(lock, 1, memory_order_acquire) != 0) { }
      int r0 = atomic_load_explicit(x, memory_order_relaxed);
      atomic_store_explicit(lock, 0, memory_order_release);
    }
    exists (x=1)
";

/// Two threads that wait for each other in turns.
const PING_PONG: &str = r"
    C ping_pong
    { [turn]=0; }
    P0 (atomic_int* turn) {
      int r0 = 0;
      atomic_store_explicit(turn, 1, memory_order_relaxed);
      while (r0 != 2) r0 = atomic_load_explicit(turn, memory_order_relaxed);
      atomic_store_explicit(turn, 3, memory_order_relaxed);
    }
    P1 (atomic_int* turn) {
      int r0 = 0;
      while (r0 != 1) r0 = atomic_load_explicit(turn, memory_order_relaxed);
      atomic_store_explicit(turn, 2, memory_order_relaxed);
      while (r0 != 3) r0 = atomic_load_explicit(turn, memory_order_relaxed);
    }
    exists (turn=3)
";

fn program(source: &str) -> LitmusProgram {
    LitmusTest::parse("test", source.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{source}")).program()
}

/// Everything that can be asked for.
fn samplings() -> Vec<Sampling> {
    let mut all = Vec::new();
    for scheduler in Scheduler::ALL {
        for stale in [None, Some(0), Some(90), Some(100)] {
            for depth in [1, 3, 20] {
                all.push(Sampling { stale, depth, ..Sampling::with(scheduler) });
            }
        }
    }
    all
}

fn plan(model: Model, campaign: u64, sampling: &Sampling, execution: u64, coverage: &Coverage) -> Plan {
    let strategy = sampling.strategy(campaign, execution, coverage);
    Plan::new(model, strategy, Limits { max_steps: 2_000 })
}

#[test]
fn nobody_starves_who_waits_in_a_loop() {
    for (name, source) in [("flag", FLAG), ("ticket", TICKET), ("exchange", EXCHANGE), ("ping-pong", PING_PONG)] {
        let mut program = program(source);
        for model in Model::ALL {
            for sampling in samplings() {
                let coverage = Coverage::new();
                for execution in 0..100 {
                    let plan = plan(model, 1, &sampling, execution, &coverage);
                    let executed = execute_noting(&mut program, &plan, Some(&coverage)).expect("it runs");
                    coverage.end(executed.steps);
                    assert_eq!(executed.trace.outcome, Outcome::Finished, "{name} under {model}: {plan:?}");
                }
            }
        }
    }
}

#[test]
fn a_plan_says_everything_whatever_was_seen_before() {
    let mut program = program(TICKET);
    let mut goals = 0;
    for sampling in samplings() {
        let coverage = Coverage::new();
        for execution in 0..BLOCK {
            let plan = plan(Model::C11, 5, &sampling, execution, &coverage);
            let StrategySpec::Random { sampling, .. } = plan.strategy else { unreachable!() };
            goals += u64::from(sampling.goal.is_some());
            let executed = execute_noting(&mut program, &plan, Some(&coverage)).expect("it runs");
            coverage.end(executed.steps);
            let written = serde_json::to_string(&plan).expect("a plan is JSON");
            let read = serde_json::from_str(&written).expect("and back");
            assert_eq!(execute(&mut program, &read).expect("it runs"), executed);
        }
    }
    assert!(goals > 0, "nothing was steered");
}

/// The states of `source` within so many executions.
fn states(source: &str, model: Model, sampling: &Sampling, executions: u64) -> BTreeSet<Vec<i64>> {
    let mut program = program(source);
    let mut states = BTreeSet::new();
    let coverage = Coverage::new();
    for execution in 0..executions {
        let plan = plan(model, 1, sampling, execution, &coverage);
        let executed = execute_noting(&mut program, &plan, Some(&coverage)).expect("it runs");
        coverage.end(executed.steps);
        states.insert(program.state(|at| executed.trace.final_value(at, program.initial(at))));
    }
    states
}

#[test]
fn every_strategy_meets_everything_that_a_model_permits() {
    // Two threads that write to each other's location and read: all states, buffered or stale.
    let source = r"
        C SB
        { [x]=0; [y]=0; }
        P0 (atomic_int* x, atomic_int* y) {
          atomic_store_explicit(x, 1, memory_order_relaxed);
          int r0 = atomic_load_explicit(y, memory_order_relaxed);
        }
        P1 (atomic_int* x, atomic_int* y) {
          atomic_store_explicit(y, 1, memory_order_relaxed);
          int r0 = atomic_load_explicit(x, memory_order_relaxed);
        }
        exists (0:r0=0 /\ 1:r0=0)
    ";
    for (model, expected) in [(Model::Sc, 3), (Model::Tso, 4), (Model::Pso, 4), (Model::Pslo, 4), (Model::C11, 4)] {
        for scheduler in Scheduler::ALL {
            let met = states(source, model, &Sampling::with(scheduler), 200);
            assert_eq!(met.len(), expected, "{scheduler} under {model}: {met:?}");
        }
    }
}

#[test]
fn what_is_old_is_read_more_often_if_that_is_asked_for() {
    let source = r"
        C old
        { [x]=0; }
        P0 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
        P1 (atomic_int* x) { int r0 = atomic_load_explicit(x, memory_order_relaxed); }
        exists (1:r0=1)
    ";
    let mut program = program(source);
    let mut stale = |percent: u32| {
        let sampling = Sampling { stale: Some(percent), ..Sampling::with(Scheduler::Random) };
        let limits = Limits::default();
        let zeros = (0..1_000).filter(|seed| {
            let strategy = StrategySpec::Random { seed: *seed, sampling };
            let plan = Plan::new(Model::C11, strategy, limits);
            let trace = execute(&mut program, &plan).expect("it runs").trace;
            program.state(|at| trace.final_value(at, program.initial(at)))[0] == 0
        });
        zeros.count()
    };
    let [never, often] = [stale(0), stale(90)];
    // 3 of 4 and 39 of 40 are expected; five standard deviations are 70 and 25.
    assert!((680..=820).contains(&never) && often > 940, "{never} {often}");
}
