//! What the program says of itself through `fencepost.h`: its operations, and what it observes; and whether that is
//! allowed.
//!
//! The outcome of an execution is the last value of each key that it observed. The host has the outcomes of atomic
//! operations collected first (see [`atomically`](crate::drive::atomically)) and hands them over with the request of
//! the campaign proper; any other outcome is a finding.

use crate::drive::ending::Verdict;
use crate::drive::findings;
use crate::platform::global::{Entered, Global};
use crate::platform::{global, modules};
use crate::results;
use crate::threads::fibers;
use fencepost_mailbox::{Observations, Record, Request, Stack};
use fencepost_trace::{FindingKind, ThreadId};
use rustc_hash::{FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

struct Operation {
    thread: ThreadId,
    name: String,
    /// Where it was begun.
    pc: usize,
    /// Its place among the beginnings and ends of operations.
    began: usize,
    ended: Option<usize>,
}

#[derive(Default)]
struct State {
    /// In the order of their beginnings.
    operations: Vec<Operation>,
    /// How many operations have begun or ended.
    moments: usize,
    /// For each thread how deep in operations it is.
    depths: Vec<u32>,
    observed: Observations,
    /// The hashes of the outcomes that are allowed, if there is a specification.
    allowed: Option<FxHashSet<u64>>,
}

static STATE: Global<Option<State>> = Global::new(None);

#[track_caller]
fn state() -> Entered<'static, State> {
    STATE.enter().map(|state| state.get_or_insert_with(State::default))
}

/// Once, before the first execution.
pub fn prepare(request: &Request) {
    state().allowed = request.spec.as_ref().map(|outcomes| outcomes.iter().map(hash).collect());
}

/// Before each execution.
pub fn begin() {
    let mut state = state();
    state.operations.clear();
    state.moments = 0;
    state.depths.clear();
    state.observed.clear();
}

impl State {
    fn depth(&mut self, thread: ThreadId) -> &mut u32 {
        if self.depths.len() <= thread.index() {
            self.depths.resize(thread.index() + 1, 0);
        }
        &mut self.depths[thread.index()]
    }
}

/// Is this thread inside an operation?
pub fn is_inside(thread: ThreadId) -> bool {
    state().depths.get(thread.index()).is_some_and(|depth| *depth > 0)
}

/// The running thread begins an operation.
pub fn begin_operation(name: &[u8]) {
    let thread = fibers::current();
    let state = &mut *state();
    let depth = state.depth(thread);
    *depth += 1;
    if *depth > 1 {
        return;
    }
    let name = String::from_utf8_lossy(name).into_owned();
    state.operations.push(Operation { thread, name, pc: global::caller(), began: state.moments, ended: None });
    state.moments += 1;
}

/// The running thread has completed its operation.
pub fn end_operation() {
    let thread = fibers::current();
    let state = &mut *state();
    let depth = state.depth(thread);
    *depth = depth.saturating_sub(1);
    if *depth > 0 {
        return;
    }
    if let Some(operation) = state.operations.iter_mut().rev().find(|o| o.thread == thread && o.ended.is_none()) {
        operation.ended = Some(state.moments);
        state.moments += 1;
    }
}

/// The execution has this result.
pub fn observe(key: &[u8], value: i64) {
    state().observed.insert(String::from_utf8_lossy(key).into_owned(), value);
}

fn hash(outcome: &Observations) -> u64 {
    let mut hasher = FxHasher::default();
    outcome.hash(&mut hasher);
    hasher.finish().wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

/// Is the outcome so far, if it is the last word, one that the specification does not allow?
pub fn is_violated() -> bool {
    let state = state();
    state.allowed.as_ref().is_some_and(|allowed| !allowed.contains(&hash(&state.observed)))
}

/// The execution has ended like this: a finding, if its outcome is not allowed.
pub fn judge(verdict: &Verdict, request: &Request) {
    // What ends otherwise has no outcome, and is a finding of its own.
    if *verdict != Verdict::Exit(0) || !is_violated() {
        return;
    }
    let state = state();
    let allowed = request.spec.as_deref().unwrap_or_default();
    let message = format!(
        "the outcome {} is none of the {} that atomic operations have; nearest: {}; operations: {}",
        shown(&state.observed),
        allowed.len(),
        nearest(&state.observed, allowed).join(", "),
        in_order(&state.operations),
    );
    let stack =
        |o: &Operation| Stack { thread: o.thread.0, access: o.name.clone().into(), frames: vec![modules::frame(o.pc)] };
    let stacks = state.operations.iter().map(stack).collect();
    let name = hash(&state.observed);
    drop(state);
    findings::found_there(FindingKind::SpecViolation, name, message, stacks);
}

/// The outcome of an execution of atomic operations, which is allowed by definition.
pub fn collect(verdict: &Verdict) {
    if *verdict == Verdict::Exit(0)
        && let Some(header) = results::header()
    {
        let outcome = state().observed.clone();
        // Without room in the table it counts every time, and the host sees the limit.
        if header.table.met(hash(&outcome), 0) != Some(false) {
            results::log(&Record::Outcome { outcome });
        }
    }
}

fn shown(outcome: &Observations) -> String {
    let parts: Vec<String> = outcome.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    format!("{{{}}}", parts.join(", "))
}

/// How many nearest outcomes are shown.
const NEAREST: usize = 3;

/// The outcomes that differ in the fewest keys.
fn nearest(outcome: &Observations, allowed: &[Observations]) -> Vec<String> {
    let distance = |other: &Observations| {
        let changed = outcome.iter().filter(|(key, value)| other.get(*key) != Some(*value)).count();
        changed + other.keys().filter(|key| !outcome.contains_key(*key)).count()
    };
    let least = allowed.iter().map(distance).min().unwrap_or(0);
    allowed.iter().filter(|other| distance(other) == least).take(NEAREST).map(shown).collect()
}

/// The operations in the order of their beginnings, with those that were under way then.
fn in_order(operations: &[Operation]) -> String {
    let name = |o: &Operation| format!("{} in thread {}", o.name, o.thread.0);
    if global::explores() {
        // An exploration runs threads in an order of its own.
        return operations.iter().map(name).collect::<Vec<String>>().join(", ") + ", in the order of the execution";
    }
    let parts: Vec<String> = operations
        .iter()
        .enumerate()
        .map(|(i, operation)| {
            let under_way = |o: &&Operation| o.ended.is_none_or(|ended| ended > operation.began);
            let during: Vec<String> = operations[..i].iter().filter(under_way).map(name).collect();
            match &during[..] {
                [] => name(operation),
                others => format!("{} (during {})", name(operation), others.join(" and ")),
            }
        })
        .collect();
    parts.join(", ")
}
