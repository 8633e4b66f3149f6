//! Every choice of a machine, one execution after the other.
//!
//! This is how the machines are checked against the axioms, and how models without axioms are explored. It walks the
//! tree of choices depth first, running the program anew for each leaf. Three reductions keep the tree small, none of
//! which loses a final state:
//!
//! - A step that no other thread can notice, whatever they do, is taken at once, for it commutes with everything: a
//!   store into its own buffer, a full fence of hardware when its thread's buffer is empty, the look at a flag that is
//!   set once and has been set (a thread's start, or the end of one that is joined).
//! - A step of hardware that would first make buffered stores of its own thread visible is put off until the buffer has
//!   done so by steps of its own: that is the same execution, told in smaller steps.
//! - Sleep sets (Godefroid: Partial-Order Methods for the Verification of Concurrent Systems, 1996): after all
//!   executions that go on with one actor have been tried, it need not be tried again next to another actor until
//!   something happens that it does not commute with.

use crate::execute::{Executed, executed};
use crate::graph::Flow;
use fencepost_engine::{Actor, Drains, Execution, Pending, Strategy, Threads, What, run};
use fencepost_memory::{Machine, MachineOptions, Source, with_machine};
use fencepost_trace::{
    Access, FenceOrder, Guard, Hidden, Limits, LoadOrder, Location, Model, Outcome, RmwOrder, StoreOrder, ThreadId,
};

/// How far an enumeration went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Enumerated {
    /// How many executions were run to their end.
    pub executions: u64,
    /// Was every choice tried?
    pub complete: bool,
}

/// Runs every execution that the machine of `model` permits, up to the order of steps that commute, and shows each to
/// `visit`, which may stop it. After `max_executions` it stops too.
pub fn enumerate<T: Threads>(
    program: &mut T,
    model: Model,
    buffer: Option<u32>,
    limits: Limits,
    max_executions: u64,
    visit: impl FnMut(&T, &Executed) -> Flow,
) -> Enumerated {
    let options = MachineOptions::with_buffer(buffer);
    with_machine!(model, &options, machine => enumerate_on(machine, program, limits, max_executions, visit))
}

fn enumerate_on<M: Machine, T: Threads>(
    machine: M,
    program: &mut T,
    limits: Limits,
    max_executions: u64,
    mut visit: impl FnMut(&T, &Executed) -> Flow,
) -> Enumerated {
    let mut execution = Execution::new(machine);
    let mut tree = Tree::new(M::MODEL);
    let mut executions = 0;
    loop {
        if executions == max_executions {
            return Enumerated { executions, complete: false };
        }
        tree.restart();
        let outcome = run(&mut execution, program, &mut tree, limits);
        if outcome != Outcome::Redundant {
            executions += 1;
            if visit(program, &executed(&execution, program)).is_break() {
                return Enumerated { executions, complete: false };
            }
        }
        if !tree.advance() {
            return Enumerated { executions, complete: true };
        }
    }
}

/// What a step has to do with memory, as far as order matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Touch {
    /// `None`: no location in particular.
    at: Option<Location>,
    writes: bool,
    /// It commutes with no other such step.
    global: bool,
    /// It commutes with nothing at all.
    everything: bool,
}

impl Touch {
    const NOTHING: Touch = Touch { at: None, writes: false, global: false, everything: false };

    fn commutes_with(&self, other: &Touch) -> bool {
        let conflict = match (self.at, other.at) {
            (Some(a), Some(b)) => (self.writes || other.writes) && a.overlaps(b),
            _ => false,
        };
        !(self.everything || other.everything || self.global && other.global || conflict)
    }

    fn of(model: Model, pending: &Pending) -> Touch {
        let access = match &pending.what {
            What::Yield => return Touch::NOTHING,
            What::Quit => return Touch { everything: true, ..Touch::NOTHING },
            What::Commit(at) => return Touch { at: Some(*at), writes: true, ..Touch::NOTHING },
            What::Access(access) => access,
        };
        let writes = !matches!(access, Access::Load { .. });
        let plain = Touch { at: access.location(), writes, ..Touch::NOTHING };
        // A thread that is cancelled does not go on with what it was about to do.
        if cancels(access) {
            return Touch { everything: true, ..plain };
        }
        match model {
            Model::Sc => plain,
            // seq_cst operations happen in one order.
            Model::C11 => Touch { global: is_seq_cst(access), ..plain },
            // What drains a buffer makes several stores visible at once. Where nothing is left to drain, it is an
            // access of memory like any other.
            Model::Tso | Model::Pso => Touch { everything: pending.drains != Drains::Nothing, ..plain },
            Model::Pslo => {
                // An acquire looks at all locations.
                let simple = matches!(*access, Access::Load { order, .. } if !order.acquires());
                Touch { everything: !simple, ..plain }
            }
        }
    }
}

/// Is a thread asked to end? It is from then on, even while the store waits in a buffer.
fn cancels(access: &Access) -> bool {
    matches!(access.location().and_then(Location::as_hidden), Some((Hidden::Cancellation, _)))
}

/// Does this step commute with whatever others do, now and later?
fn is_own_affair(model: Model, pending: &Pending) -> bool {
    let What::Access(access) = pending.what else { return false };
    if cancels(&access) {
        return false;
    }
    let is_empty_fence = || {
        let hardware = matches!(model, Model::Tso | Model::Pso);
        hardware && matches!(access, Access::Fence { .. }) && pending.drains == Drains::Nothing
    };
    // Nobody clears these flags. (Under pslo an acquiring load looks at all locations.)
    let is_set_for_good = || {
        let hidden = access.location().and_then(Location::as_hidden);
        let flag = matches!(hidden, Some((Hidden::ThreadStart | Hidden::ThreadEnd, _)));
        flag && model != Model::Pslo && matches!(access, Access::Load { .. }) && access.guard() != Guard::Any
    };
    pending.local || is_empty_fence() || is_set_for_good()
}

/// Is this step put off until its thread's buffer has made visible what has to be before it?
fn is_put_off(model: Model, pending: &Pending) -> bool {
    matches!(model, Model::Tso | Model::Pso) && pending.drains == Drains::Stores
}

fn is_seq_cst(access: &Access) -> bool {
    match *access {
        Access::Load { order, .. } => order == LoadOrder::SeqCst,
        Access::Store { order, .. } => order == StoreOrder::SeqCst,
        Access::Rmw { order, .. } => order == RmwOrder::SeqCst,
        Access::CompareExchange { success, failure, .. } => success == RmwOrder::SeqCst || failure == LoadOrder::SeqCst,
        Access::Fence { order } => order == FenceOrder::SeqCst,
    }
}

/// An actor, and what its next step touches.
type Sleeper = (Actor, Touch);

/// A choice on the way to the leaf at hand.
enum Branch {
    /// One of so many sources or results.
    Value { answer: u32, ways: u32 },
    /// An actor: the one being tried, those already tried, and those that sleep.
    Actor { now: Sleeper, tried: Vec<Sleeper>, sleeping: Vec<Sleeper>, untried: Vec<Sleeper> },
}

/// The tree of all choices of a machine, as a strategy: the path from its root to the leaf at hand. Before each
/// execution [`restart`](Tree::restart), after it [`advance`](Tree::advance).
///
/// A loop that waits has no end here, unless such loops are [recognised](Tree::with_waiting): then a thread that
/// comes back to the same yield so many times, and has written nothing but hidden locations (locks) in between, waits
/// there until somebody else has written. That loses no outcome of a loop that has no other end: what its next round
/// could read, the one before could have read as well, and the execution in which it did is in the tree, too. If only
/// such threads are left, nothing will ever change: see [`livelock`](Tree::livelock). What the others have read since
/// may have left a thread with less to read than in its last round (under c11 a read decides about the order of
/// stores), so that those with something else to read look once more before that is said.
pub struct Tree {
    model: Model,
    sleep_sets: bool,
    /// How often a thread comes back to a yield before it is taken to wait there; 0 for never.
    waiting: u32,
    path: Vec<Branch>,
    depth: usize,
    sleeping: Vec<Sleeper>,
    rounds: Vec<Round>,
    livelock: Option<Vec<ThreadId>>,
}

/// Where a thread is in a loop that waits.
#[derive(Clone, Copy, Default)]
struct Round {
    /// The program point of its last yield.
    last: Option<u32>,
    /// How often in a row it has been there, with nothing written in between.
    count: u32,
    /// Has it written since?
    wrote: bool,
    /// Could it have read something else since?
    stale: bool,
    /// Has anybody else written since?
    changed: bool,
    /// How often it has looked once more.
    looks: u32,
}

/// A thread looks once more so often: as often as there are others whose reads leave it less to read.
const LOOKS: u32 = 4;

impl Round {
    /// Is a yield at this program point one round more?
    fn is_again(&self, label: u32) -> bool {
        self.last == Some(label) && !self.wrote && !self.changed
    }
}

impl Tree {
    /// The tree of the machine of `model`.
    pub fn new(model: Model) -> Tree {
        Tree {
            model,
            sleep_sets: true,
            waiting: 0,
            path: Vec::new(),
            depth: 0,
            sleeping: Vec::new(),
            rounds: Vec::new(),
            livelock: None,
        }
    }

    /// The same, and nothing is left out that differs from others only in the order of steps that commute.
    pub fn without_sleep_sets(self) -> Tree {
        Tree { sleep_sets: false, ..self }
    }

    /// The same, and loops that wait come to an end after so many rounds: more than any loop has that gives way and
    /// comes to an end by itself.
    pub fn with_waiting(self, rounds: u32) -> Tree {
        Tree { waiting: rounds, ..self }
    }

    /// Back to the root: a new execution.
    pub fn restart(&mut self) {
        self.depth = 0;
        self.sleeping.clear();
        self.rounds.clear();
        self.livelock = None;
    }

    /// If the execution was abandoned because the threads that are left go around loops forever: these threads.
    pub fn livelock(&self) -> Option<&[ThreadId]> {
        self.livelock.as_deref()
    }

    fn value(&mut self, ways: u32) -> u32 {
        if self.depth == self.path.len() {
            self.path.push(Branch::Value { answer: 0, ways });
        }
        let Branch::Value { answer, ways: known } = self.path[self.depth] else {
            unreachable!("internal error: the same choices led to another choice");
        };
        assert_eq!(known, ways, "internal error: the same choices led to another choice");
        self.depth += 1;
        answer
    }

    /// On to the next leaf; false if this was the last.
    pub fn advance(&mut self) -> bool {
        // What lies behind the point where an execution was abandoned was never there.
        self.path.truncate(self.depth);
        while let Some(branch) = self.path.last_mut() {
            match branch {
                Branch::Value { answer, ways } if *answer + 1 < *ways => {
                    *answer += 1;
                    return true;
                }
                Branch::Actor { now, tried, untried, .. } if !untried.is_empty() => {
                    tried.push(*now);
                    *now = untried.remove(0);
                    return true;
                }
                _ => {}
            }
            self.path.pop();
        }
        false
    }

    fn round(&mut self, thread: ThreadId) -> &mut Round {
        if self.rounds.len() <= thread.index() {
            self.rounds.resize(thread.index() + 1, Round::default());
        }
        &mut self.rounds[thread.index()]
    }

    /// Is this a thread that would go around a loop once more, although nothing has changed?
    fn waits(&self, actor: &Actor, pending: &dyn Fn(&Actor) -> Pending) -> bool {
        let Actor::Thread(thread) = actor else { return false };
        if self.waiting == 0 {
            return false;
        }
        let Some(round) = self.rounds.get(thread.index()) else { return false };
        let next = pending(actor);
        matches!(next.what, What::Yield) && round.is_again(next.label) && round.count >= self.waiting
    }

    /// If all wait: one that had something else to read, and looks once more.
    fn another_look(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        if !actors.iter().all(|actor| self.waits(actor, pending)) {
            return None;
        }
        let looks = |round: &Round| round.stale && round.looks < LOOKS;
        let index = actors
            .iter()
            .position(|actor| thread_of(actor).is_some_and(|thread| looks(&self.rounds[thread.index()])))?;
        self.round(thread_of(&actors[index])?).looks += 1;
        Some(index)
    }

    /// The actor takes its step.
    fn takes(&mut self, actor: &Actor, next: &Pending) {
        let (thread, writes) = match (actor, next.what) {
            (Actor::Thread(thread), What::Yield) => {
                let round = self.round(*thread);
                let (count, looks) = if round.is_again(next.label) { (round.count + 1, round.looks) } else { (1, 0) };
                *round = Round { last: Some(next.label), count, looks, ..Round::default() };
                return;
            }
            (Actor::Thread(thread), What::Access(access)) => {
                // A fence of hardware makes visible what waits in a buffer.
                let writes = match access {
                    Access::Load { .. } => false,
                    Access::Fence { .. } => self.model.is_hardware(),
                    _ => true,
                };
                let own = access.location().is_some_and(|at| at.as_hidden().is_none());
                self.round(*thread).wrote |= writes && own;
                (*thread, writes)
            }
            (Actor::Thread(thread), What::Quit | What::Commit(_)) => (*thread, true),
            (Actor::Buffer(commit), _) => (commit.thread, true),
        };
        if writes {
            let others = self.rounds.iter_mut().enumerate().filter(|(t, _)| *t != thread.index());
            others.for_each(|(_, round)| round.changed = true);
        }
    }
}

impl Strategy for Tree {
    fn looks_at_drains(&self) -> bool {
        self.sleep_sets
    }

    fn actor(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        if self.sleep_sets
            && let Some(own_affair) = actors.iter().position(|actor| is_own_affair(self.model, &pending(actor)))
        {
            self.takes(&actors[own_affair], &pending(&actors[own_affair]));
            return Some(own_affair);
        }
        if let Some(looks) = self.another_look(actors, pending) {
            self.takes(&actors[looks], &pending(&actors[looks]));
            return Some(looks);
        }
        if self.depth == self.path.len() {
            let touch = |actor: &Actor| (*actor, Touch::of(self.model, &pending(actor)));
            let awake = |actor: &&Actor| !self.sleeping.iter().any(|(sleeper, _)| sleeper == *actor);
            let put_off = |actor: &Actor| self.sleep_sets && is_put_off(self.model, &pending(actor));
            let moving: Vec<&Actor> =
                actors.iter().filter(|actor| !self.waits(actor, pending) && !put_off(actor)).collect();
            if moving.is_empty() {
                let threads: Vec<ThreadId> = actors.iter().filter_map(thread_of).collect();
                if threads.iter().all(|thread| !self.rounds[thread.index()].stale) {
                    self.livelock = Some(threads);
                }
                return None;
            }
            let mut untried: Vec<Sleeper> = moving.into_iter().filter(awake).map(touch).collect();
            if untried.is_empty() {
                return None;
            }
            let now = untried.remove(0);
            self.path.push(Branch::Actor { now, tried: Vec::new(), sleeping: self.sleeping.clone(), untried });
        }
        let Branch::Actor { now, tried, sleeping, .. } = &self.path[self.depth] else {
            unreachable!("internal error: the same choices led to another choice");
        };
        self.depth += 1;
        self.sleeping.clear();
        if self.sleep_sets {
            let still = sleeping.iter().chain(tried).filter(|sleeper| sleeper.1.commutes_with(&now.1));
            self.sleeping.extend(still);
        }
        let index = actors.iter().position(|actor| *actor == now.0);
        let index = index.expect("internal error: the same choices led to other actors");
        self.takes(&actors[index], &pending(&actors[index]));
        Some(index)
    }

    fn actor_or_time(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        if self.value(2) == 0 {
            let chosen = self.actor(actors, pending);
            // Who goes around in a loop may go on when time has passed, and that is tried next.
            self.livelock = None;
            return chosen;
        }
        // Nobody knows who goes on then, and with whom that commutes.
        self.sleeping.clear();
        Some(actors.len())
    }

    fn source(&mut self, thread: ThreadId, sources: &[Source]) -> usize {
        self.round(thread).stale = true;
        self.value(sources.len() as u32) as usize
    }

    fn variant(&mut self, _: ThreadId, ways: u32) -> u32 {
        self.value(ways)
    }
}

fn thread_of(actor: &Actor) -> Option<ThreadId> {
    match actor {
        Actor::Thread(thread) => Some(*thread),
        Actor::Buffer(_) => None,
    }
}
