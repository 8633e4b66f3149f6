//! One execution: threads and store buffers take steps until nobody can.
//!
//! The execution is a state machine that never calls the program. Whoever owns the program asks it what to do
//! ([`Execution::advance`]) and does it: resume this thread with that reply, and hand over what it asks for next
//! ([`Execution::submit`]). So the same engine runs programs whose threads it resumes one by one
//! ([`run`](crate::run)), and programs that call it from their own stacks.

mod choose;
mod outside;
mod patience;
mod perform;
mod record;
#[cfg(test)]
mod tests;

use crate::lowering::{Lowering, Stage};
use crate::monitor::Monitor;
use crate::races::{Race, RaceDetector};
use crate::strategy::{Actor, Strategy};
use crate::waitset::WaitSets;
use fencepost_memory::{Commit, Machine, Source};
use fencepost_trace::{Access, Guard, Limits, Location, Op, Outcome, Reply, ThreadId, Value, VectorClock};
use record::Record;

pub use patience::Patience;

/// What the owner of the program does next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next {
    /// Resume this thread with this reply, and submit what it asks for.
    Resume(ThreadId, Reply),
    /// Let time pass until the first of the threads that wait for a time ([`Execution::awaits_time`]) may go on, and
    /// submit something else for it.
    TimePasses,
    /// Nothing: the execution is over.
    End(Outcome),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Has a name, but its creator has not performed its creation yet.
    Unborn,
    /// Runs, or is to be resumed.
    Running,
    /// Has asked for something.
    Waiting,
    Done,
}

#[derive(Clone, Debug)]
struct ThreadRun {
    lowering: Lowering,
    /// What it wants, unless it is to be looked at or that is all that it has asked for.
    stage: Stage,
    state: State,
    label: u32,
    /// Is it to be looked at whether it wants something else now?
    fresh: bool,
    /// Does what it wants depend on what it finds?
    guarded: bool,
    /// Where it waits for something that was not there when it last looked; nobody has been there since.
    stuck: Option<Location>,
    patience: Patience,
}

impl ThreadRun {
    /// The access that it wants to make next, if it is one. Not to be asked while it is to be looked at.
    #[inline]
    fn access(&self) -> Option<&Access> {
        match &self.stage {
            _ if self.lowering.access().is_some() => self.lowering.access(),
            Stage::Access(access) => Some(access),
            _ => None,
        }
    }
}

/// One execution under the memory model of `M`. It can be used again and again: [`begin`](Self::begin) starts over.
#[derive(Clone, Debug, Default)]
pub struct Execution<M, W = RaceDetector> {
    machine: M,
    limits: Limits,
    threads: Vec<ThreadRun>,
    /// Has some thread asked for something that it may give up?
    impatient: bool,
    /// Nobody else goes on, and no store leaves a buffer by itself.
    held: Option<ThreadId>,
    sets: WaitSets,
    /// Is everything kept for the trace?
    recording: bool,
    /// Will nobody ask for an event?
    unseen: bool,
    events: u32,
    /// How many of them changed what can be read.
    changes: u64,
    /// The events but the first `forgotten`; under c11 none if nothing is kept.
    records: Vec<Record>,
    /// Who made the last [`MOST_ORIGINS`] events, and where; each has the place of its number.
    origins: Vec<(ThreadId, u32)>,
    forgotten: u32,
    clocks: Vec<u32>,
    choices: Vec<u32>,
    choice_count: u64,
    steps: u64,
    outcome: Option<Outcome>,
    monitor: W,
    // Working memory, kept between steps.
    actors: Vec<Actor>,
    sources: Vec<Source>,
    failing: usize,
    commits: Vec<Commit>,
}
impl<M: Machine> Execution<M> {
    /// An execution on this machine that is watched for races.
    pub fn new(machine: M) -> Self {
        Execution::with_monitor(machine, RaceDetector::default())
    }

    /// The races so far.
    pub fn races(&self) -> &[Race] {
        self.monitor.races()
    }
}

impl<M: Machine, W: Monitor> Execution<M, W> {
    /// An execution on this machine that `monitor` watches; `()` if nobody does.
    pub fn with_monitor(machine: M, monitor: W) -> Self {
        Execution {
            machine,
            limits: Limits::default(),
            threads: Vec::new(),
            impatient: false,
            held: None,
            sets: WaitSets::default(),
            recording: true,
            unseen: false,
            events: 0,
            changes: 0,
            records: Vec::new(),
            origins: Vec::new(),
            forgotten: 0,
            clocks: Vec::new(),
            choices: Vec::new(),
            choice_count: 0,
            steps: 0,
            outcome: None,
            monitor,
            actors: Vec::new(),
            sources: Vec::new(),
            failing: 0,
            commits: Vec::new(),
        }
    }

    /// Starts over, with `threads` threads that exist from the start.
    pub fn begin(&mut self, threads: u32, limits: Limits) {
        self.machine.forget_order(!self.recording);
        self.machine.reset();
        self.limits = limits;
        self.threads.clear();
        self.impatient = false;
        self.held = None;
        for t in 0..threads {
            self.add_thread(ThreadId(t), State::Running);
            self.machine.begin_thread(ThreadId(t), None);
        }
        self.sets.forget_much();
        self.events = 0;
        self.changes = 0;
        self.records.clear();
        self.origins.clear();
        self.forgotten = 0;
        self.clocks.clear();
        self.choices.clear();
        self.choice_count = 0;
        self.steps = 0;
        self.outcome = None;
        self.monitor.begin();
    }

    fn add_thread(&mut self, thread: ThreadId, state: State) {
        let lowering = Lowering::start(thread, state == State::Unborn, M::MODEL.is_hardware());
        let patience = Patience::Endless;
        self.threads.push(ThreadRun {
            lowering,
            stage: Stage::Yield,
            state,
            label: 0,
            fresh: true,
            guarded: true,
            stuck: None,
            patience,
        });
    }

    /// What `thread` asks for, at the program point `label`.
    pub fn submit(&mut self, thread: ThreadId, op: Op, label: u32) {
        self.submit_timed(thread, op, label, Patience::Endless);
        if let Op::Join(of) = op {
            self.machine.await_end(thread, of);
        }
    }

    /// The same where somebody else puts the operation into its place and says where it is: operations are large.
    #[inline]
    pub fn submit_with(&mut self, thread: ThreadId, put: impl FnOnce(&mut Op) -> u32) {
        self.submit_as(thread, Patience::Endless, put);
        if let Op::Join(of) = *self.threads[thread.index()].lowering.op() {
            self.machine.await_end(thread, of);
        }
    }

    /// The same for an operation that may be given up before it is done, by submitting another.
    pub fn submit_timed(&mut self, thread: ThreadId, op: Op, label: u32, patience: Patience) {
        self.submit_as(thread, patience, |own| {
            *own = op;
            label
        });
    }

    #[inline]
    fn submit_as(&mut self, thread: ThreadId, patience: Patience, put: impl FnOnce(&mut Op) -> u32) {
        let next = ThreadId(self.threads.len() as u32);
        let run = &mut self.threads[thread.index()];
        let label = &mut run.label;
        run.lowering.begin_with(|op| *label = put(op), || next);
        run.state = State::Waiting;
        run.fresh = true;
        run.stuck = None;
        run.patience = patience;
        self.impatient |= patience != Patience::Endless;
        if matches!(self.threads[thread.index()].lowering.op(), Op::Spawn) {
            self.add_thread(next, State::Unborn);
            self.machine.begin_thread(next, Some(thread));
        }
    }

    /// From now on only this thread goes on, whose accesses are one step to all others; with `None` all do again.
    pub fn hold(&mut self, thread: Option<ThreadId>) {
        self.held = thread;
    }

    /// Takes steps until the program has to do something. `initial` tells what memory holds in the beginning.
    pub fn advance(&mut self, strategy: &mut impl Strategy, initial: &mut dyn FnMut(Location) -> Value) -> Next {
        loop {
            if let Some(outcome) = &self.outcome {
                return Next::End(outcome.clone());
            }
            if let Some(next) = self.settle() {
                return next;
            }
            self.find_actors(initial);
            let patience = self.least_patience();
            if self.actors.is_empty() {
                if patience != Patience::Endless {
                    return Next::TimePasses;
                }
                self.outcome = Some(self.final_outcome());
                continue;
            }
            if self.steps == self.limits.max_steps {
                self.outcome = Some(Outcome::StepLimit);
                continue;
            }
            self.steps += 1;
            let choice = self.choose_actor(strategy, patience == Patience::Short);
            match choice.map(|choice| self.actors.get(choice).copied()) {
                Some(Some(Actor::Buffer(commit))) => self.commit(commit),
                Some(Some(Actor::Thread(thread))) => self.take_step(thread, strategy, initial),
                Some(None) => return Next::TimePasses,
                None => self.outcome = Some(Outcome::Redundant),
            }
        }
    }

    /// Finds a thread that is to be resumed, and ends those that are done.
    fn settle(&mut self) -> Option<Next> {
        for t in 0..self.threads.len() {
            let run = &mut self.threads[t];
            let thread = ThreadId(t as u32);
            if !run.fresh {
                continue;
            }
            if matches!(run.state, State::Done | State::Unborn) {
                continue;
            }
            if let Some(access) = run.lowering.access() {
                run.fresh = false;
                run.guarded = access.guard() != Guard::Any;
                continue;
            }
            if let Some(reply) = run.lowering.answered() {
                run.state = State::Running;
                return Some(Next::Resume(thread, reply));
            }
            run.stage = run.lowering.stage();
            match &run.stage {
                Stage::Done(reply) => {
                    run.state = State::Running;
                    return Some(Next::Resume(thread, *reply));
                }
                Stage::Exit => {
                    run.state = State::Done;
                    self.machine.end_thread(thread);
                }
                Stage::Access(access) => {
                    run.fresh = false;
                    run.guarded = access.guard() != Guard::Any;
                }
                // Others may go on between what a thread does last and its failure.
                Stage::Yield | Stage::Quit | Stage::Fail(_) => {
                    run.fresh = false;
                    run.guarded = false;
                }
            }
        }
        None
    }

    fn find_actors(&mut self, initial: &mut dyn FnMut(Location) -> Value) {
        self.actors.clear();
        for t in 0..self.threads.len() {
            if self.threads[t].state != State::Waiting || self.threads[t].stuck.is_some() {
                continue;
            }
            let thread = ThreadId(t as u32);
            if self.held.is_some_and(|held| held != thread) {
                continue;
            }
            if !self.threads[t].guarded {
                self.actors.push(Actor::Thread(thread));
                continue;
            }
            let enabled = match self.threads[t].access().map(Access::location) {
                Some(at) => {
                    self.find_sources(thread, initial);
                    if self.sources.is_empty() {
                        self.threads[t].stuck = at;
                    }
                    !self.sources.is_empty()
                }
                None => true,
            };
            if enabled {
                self.actors.push(Actor::Thread(thread));
            }
        }
        if self.held.is_some() {
            return;
        }
        self.commits.clear();
        self.machine.commits(&mut self.commits);
        self.actors.extend(self.commits.iter().map(|c| Actor::Buffer(*c)));
    }

    fn final_outcome(&self) -> Outcome {
        let blocked: Vec<ThreadId> = (0..self.threads.len() as u32)
            .map(ThreadId)
            .filter(|t| !matches!(self.threads[t.index()].state, State::Done | State::Unborn))
            .collect();
        if blocked.is_empty() { Outcome::Finished } else { Outcome::Deadlock { blocked } }
    }

    /// What happens before the next event of `thread`, under a model with a happens-before of its own.
    #[inline]
    pub fn clock(&self, thread: ThreadId) -> Option<&VectorClock> {
        self.machine.clock(thread)
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Who watches.
    pub fn monitor(&self) -> &W {
        &self.monitor
    }

    /// The same, to set it up before an execution.
    pub fn monitor_mut(&mut self) -> &mut W {
        &mut self.monitor
    }

    /// How many steps were taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}
