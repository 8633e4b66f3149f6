//! All interleavings of every test of the oracle, against its states under sequential consistency.
//!
//! Sequential consistency needs no memory model: one memory, one operation at a time. So this checks the whole
//! way from text to final states, and the digests: two configurations with the same digests and the same memory
//! are taken for one, which would lose states if a digest left out something that matters.

use fencepost_engine::Threads;
use fencepost_litmus::{LitmusProgram, LitmusTest};
use fencepost_trace::{Access, Location, Op, Reply, ThreadId, Value};
use std::collections::{BTreeMap, BTreeSet, HashSet};

type Memory = BTreeMap<Location, Value>;

#[derive(Clone)]
struct Configuration {
    program: LitmusProgram,
    memory: Memory,
    /// What each thread asks for next.
    next: Vec<Op>,
}

fn states(test: &LitmusTest) -> BTreeSet<Vec<i64>> {
    let mut program = test.program();
    let threads = program.start();
    let next = (0..threads).map(|thread| program.resume(ThreadId(thread), Reply::NONE)).collect();
    let mut work = vec![Configuration { program, memory: Memory::new(), next }];
    let (mut seen, mut found) = (HashSet::new(), BTreeSet::new());
    while let Some(configuration) = work.pop() {
        let Configuration { program, memory, next } = &configuration;
        let digests: Vec<_> = (0..threads).map(|thread| program.digest(ThreadId(thread)).unwrap()).collect();
        if !seen.insert((digests, memory.clone())) {
            continue;
        }
        if next.iter().all(|op| *op == Op::Exit) {
            found.insert(program.state(|at| memory.get(&at).copied().unwrap_or_else(|| program.initial(at))));
        }
        for (thread, op) in next.iter().enumerate() {
            if let Op::Access(access) = *op {
                let mut after = configuration.clone();
                let reply = perform(&after.program, &mut after.memory, access);
                after.next[thread] = after.program.resume(ThreadId(thread as u32), reply);
                work.push(after);
            }
        }
    }
    found
}

fn perform(program: &LitmusProgram, memory: &mut Memory, access: Access) -> Reply {
    let Some(at) = access.location() else { return Reply::NONE };
    let old = memory.get(&at).copied().unwrap_or_else(|| program.initial(at));
    let (new, success) = match access {
        Access::Store { value, .. } => (value, true),
        Access::Rmw { update, .. } => (update.apply(old, at.size).unwrap(), true),
        Access::CompareExchange { expected, desired, .. } if expected == old => (desired, true),
        Access::CompareExchange { .. } => (old, false),
        Access::Load { .. } | Access::Fence { .. } => (old, true),
    };
    memory.insert(at, new);
    Reply { value: old, success }
}

#[test]
fn interleavings_give_the_states_of_the_oracle() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracle");
    let mut compared = 0;
    for file in ["classic.jsonl", "hw.jsonl", "generated.jsonl"] {
        let text = std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
        for line in text.lines() {
            let oracle: serde_json::Value = serde_json::from_str(line).unwrap();
            let Some(expected) = oracle["models"]["sc"]["states"].as_array() else { continue };
            let values = |state: &serde_json::Value| {
                state.as_array().unwrap().iter().map(|value| value.as_i64().unwrap()).collect::<Vec<i64>>()
            };
            let test = LitmusTest::parse(file, oracle["source"].as_str().unwrap().as_bytes()).unwrap();
            assert_eq!(states(&test), expected.iter().map(values).collect(), "{}", test.source());
            compared += 1;
        }
    }
    assert!(compared > 2_000, "{compared}");
}
