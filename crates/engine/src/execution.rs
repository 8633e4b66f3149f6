//! One execution: threads and store buffers take steps until nobody can.
//!
//! The execution is a state machine that never calls the program. Whoever owns the program asks it what to do
//! ([`Execution::advance`]) and does it: resume this thread with that reply, and hand over what it asks for next
//! ([`Execution::submit`]). So the same engine runs programs whose threads it resumes one by one
//! ([`run`](crate::run)), and programs that call it from their own stacks.

use crate::effect::{Effect, effect, variants};
use crate::lowering::{Lowering, Stage};
use crate::races::{Race, RaceDetector, Watched};
use crate::strategy::{Actor, Pending, Strategy, What};
use crate::waitset::WaitSets;
use fencepost_memory::{Commit, Machine, Read, Source, Step};
use fencepost_trace::op::Sync;
use fencepost_trace::{
    Access, Event, EventId, EventKind, Guard, Label, Limits, LoadOrder, Location, Model, Op, Outcome, Part, Reply,
    RmwOrder, StoreOrder, ThreadId, Trace, Value, VectorClock,
};

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

/// How long a thread waits for what it has asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Patience {
    /// As long as it takes.
    #[default]
    Endless,
    /// Until a time that comes when nobody else can go on.
    Long,
    /// Until a time that may come at any moment, whatever others are about to do.
    Short,
}

/// What is kept of an event while the execution runs.
#[derive(Clone, Debug)]
struct Record {
    thread: ThreadId,
    label: u32,
    kind: EventKind,
    /// Where its clock ends in the list of all clocks; it starts where the one before ends.
    clock_end: usize,
}

/// Of how many events it is known where they were, whatever is kept of them.
const MOST_ORIGINS: usize = 1 << 14;

/// Answers are kept up to this number if nothing else is: an execution with more of them is named by its strategy's
/// seed.
const MOST_CHOICES: usize = 1 << 17;

/// One execution under the memory model of `M`. It can be used again and again: [`begin`](Self::begin) starts over.
#[derive(Clone, Debug, Default)]
pub struct Execution<M> {
    machine: M,
    limits: Limits,
    threads: Vec<ThreadRun>,
    /// Has some thread asked for something that it may give up?
    impatient: bool,
    sets: WaitSets,
    /// Is everything kept for the trace?
    recording: bool,
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
    detector: RaceDetector,
    looks_for_races: bool,
    races: Vec<Race>,
    // Working memory, kept between steps.
    actors: Vec<Actor>,
    sources: Vec<Source>,
    failing: usize,
    commits: Vec<Commit>,
}

impl<M: Machine> Execution<M> {
    /// An execution on this machine.
    pub fn new(machine: M) -> Self {
        Execution {
            machine,
            limits: Limits::default(),
            threads: Vec::new(),
            impatient: false,
            sets: WaitSets::default(),
            recording: true,
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
            detector: RaceDetector::default(),
            looks_for_races: true,
            races: Vec::new(),
            actors: Vec::new(),
            sources: Vec::new(),
            failing: 0,
            commits: Vec::new(),
        }
    }

    /// Leaves the search for races to the owner of the program.
    pub fn without_race_detector(self) -> Self {
        Execution { looks_for_races: false, ..self }
    }

    /// Says, before it begins, whether everything is kept for the trace, and races are looked for. If not, the
    /// execution can be as long as it likes: of its events only those are kept that its owner has not seen
    /// ([`forget_before`](Self::forget_before)), and of its answers the first hundred thousand or so.
    pub fn set_recording(&mut self, recording: bool) {
        self.recording = recording;
    }

    /// Starts over, with `threads` threads that exist from the start.
    pub fn begin(&mut self, threads: u32, limits: Limits) {
        self.machine.forget_order(!self.recording);
        self.machine.reset();
        self.limits = limits;
        self.threads.clear();
        self.impatient = false;
        for t in 0..threads {
            self.add_thread(ThreadId(t), State::Running);
            self.machine.begin_thread(ThreadId(t), None);
        }
        self.sets = WaitSets::default();
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
        self.detector.reset();
        self.races.clear();
    }

    fn add_thread(&mut self, thread: ThreadId, state: State) {
        let lowering = Lowering::start(thread, state == State::Unborn, M::MODEL.is_hardware());
        let patience = Patience::Endless;
        self.threads.push(ThreadRun { lowering, state, label: 0, fresh: true, guarded: true, stuck: None, patience });
    }

    /// What `thread` asks for, at the program point `label`.
    pub fn submit(&mut self, thread: ThreadId, op: Op, label: u32) {
        self.submit_timed(thread, op, label, Patience::Endless);
        if let Op::Join(of) = op {
            self.machine.await_end(thread, of);
        }
    }

    /// The same for an operation that may be given up before it is done, by submitting another.
    pub fn submit_timed(&mut self, thread: ThreadId, op: Op, label: u32, patience: Patience) {
        let next = ThreadId(self.threads.len() as u32);
        let run = &mut self.threads[thread.index()];
        run.lowering.begin(op, || next);
        run.label = label;
        run.state = State::Waiting;
        run.fresh = true;
        run.stuck = None;
        run.patience = patience;
        self.impatient |= patience != Patience::Endless;
        if matches!(op, Op::Spawn) {
            self.add_thread(next, State::Unborn);
            self.machine.begin_thread(next, Some(thread));
        }
    }

    /// Takes steps until the program has to do something. `initial` tells what memory holds in the beginning.
    pub fn advance(&mut self, strategy: &mut impl Strategy, initial: &mut dyn FnMut(Location) -> Value) -> Next {
        loop {
            if let Some(outcome) = &self.outcome {
                return Next::End(outcome.clone());
            }
            match self.settle() {
                Some(next) => return next,
                None if self.outcome.is_some() => continue,
                None => {}
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
            match run.state {
                State::Done | State::Unborn => {}
                State::Running | State::Waiting => match run.lowering.stage() {
                    Stage::Done(reply) => {
                        run.state = State::Running;
                        return Some(Next::Resume(thread, reply));
                    }
                    Stage::Exit => {
                        run.state = State::Done;
                        self.machine.end_thread(thread);
                    }
                    Stage::Fail(failure) => {
                        self.outcome = Some(Outcome::Failed { thread, failure });
                        return None;
                    }
                    Stage::Access(access) => {
                        run.fresh = false;
                        run.guarded = access.guard() != Guard::Any;
                    }
                    Stage::Yield | Stage::Quit => {
                        run.fresh = false;
                        run.guarded = false;
                    }
                },
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
            if !self.threads[t].guarded {
                self.actors.push(Actor::Thread(thread));
                continue;
            }
            let enabled = match self.threads[t].lowering.stage() {
                Stage::Access(access) => {
                    self.find_sources(thread, &access, initial);
                    if self.sources.is_empty() {
                        self.threads[t].stuck = access.location();
                    }
                    !self.sources.is_empty()
                }
                _ => true,
            };
            if enabled {
                self.actors.push(Actor::Thread(thread));
            }
        }
        self.commits.clear();
        self.machine.commits(&mut self.commits);
        self.actors.extend(self.commits.iter().map(|c| Actor::Buffer(*c)));
    }

    /// Does `thread` wait for something that is not there, and only until a time?
    pub fn awaits_time(&self, thread: ThreadId) -> bool {
        self.patience_of(thread) != Patience::Endless
    }

    fn patience_of(&self, thread: ThreadId) -> Patience {
        let run = &self.threads[thread.index()];
        // A thread that was woken takes its mutex back, however long that takes.
        let is_woken = matches!(run.lowering.op(), Op::Sync(Sync::Wait { .. })) && run.lowering.step() != 2;
        let waits = run.patience != Patience::Endless && run.stuck.is_some() && run.state == State::Waiting;
        if waits && !is_woken && self.has_tried(thread) { run.patience } else { Patience::Endless }
    }

    /// Could the thread have failed to get what it waits for? To try is to attempt a read-modify-write, which the
    /// stores before it may have to precede whether it succeeds or not.
    fn has_tried(&self, thread: ThreadId) -> bool {
        let (at, order) = match self.threads[thread.index()].lowering.stage() {
            Stage::Access(Access::Rmw { at, order, .. }) => (at, order.load()),
            Stage::Access(Access::CompareExchange { at, failure, .. }) => (at, failure),
            _ => return true,
        };
        let mut required = Vec::new();
        self.machine.required(thread, &Step::Load { at, order, failed_rmw: true }, &mut required);
        required.is_empty()
    }

    /// The least patience of those who wait.
    fn least_patience(&mut self) -> Patience {
        if !self.impatient {
            return Patience::Endless;
        }
        self.impatient = self.threads.iter().any(|run| run.patience != Patience::Endless);
        let rank = |patience: &Patience| *patience as u8;
        let threads = (0..self.threads.len() as u32).map(ThreadId);
        threads.map(|thread| self.patience_of(thread)).max_by_key(rank).unwrap_or_default()
    }

    /// What `thread` has asked for may be given up from now on.
    pub fn give_up_early(&mut self, thread: ThreadId) {
        self.threads[thread.index()].patience = Patience::Short;
        self.impatient = true;
    }

    /// The number of an actor, or the one behind the last if time passes.
    fn choose_actor(&mut self, strategy: &mut impl Strategy, may_pass: bool) -> Option<usize> {
        let (threads, machine, records, first) =
            (&self.threads, &self.machine, &self.records, self.forgotten as usize + 1);
        let pending = |actor: &Actor| match actor {
            Actor::Thread(thread) => {
                let run = &threads[thread.index()];
                let what = match run.lowering.stage() {
                    Stage::Access(access) => What::Access(access),
                    Stage::Quit => What::Quit,
                    _ => What::Yield,
                };
                let local = local_step(&what).is_some_and(|step| machine.is_local(&step));
                Pending { what, label: run.label, local }
            }
            Actor::Buffer(commit) => {
                let store = &records[commit.store.index() - first];
                let at = store.kind.location().expect("a store has a location");
                Pending { what: What::Commit(at), label: store.label, local: false }
            }
        };
        let ways = self.actors.len() + usize::from(may_pass);
        let choice = match may_pass {
            true => strategy.actor_or_time(&self.actors, &pending)?,
            false => strategy.actor(&self.actors, &pending)?,
        };
        let choice = choice % ways;
        if ways > 1 {
            self.note_choice(choice as u32);
        }
        Some(choice)
    }

    #[inline]
    fn note_choice(&mut self, choice: u32) {
        self.choice_count += 1;
        if self.recording || self.choices.len() < MOST_CHOICES {
            self.choices.push(choice);
        }
    }

    fn choose_source(&mut self, thread: ThreadId, strategy: &mut impl Strategy) -> usize {
        if self.sources.len() == 1 {
            return 0;
        }
        let choice = strategy.source(thread, &self.sources) % self.sources.len();
        self.note_choice(choice as u32);
        choice
    }

    /// What a thread's access reads.
    fn choose_read(&mut self, thread: ThreadId, access: &Access, strategy: &mut impl Strategy) -> usize {
        let label = self.threads[thread.index()].label;
        let (origins, events) = (&self.origins, self.events as usize);
        let origin = |store: EventId| match store.index().checked_sub(1) {
            Some(i) if i + MOST_ORIGINS >= events && i < events => {
                let (thread, label) = origins[i % MOST_ORIGINS];
                (thread, label.wrapping_add(1))
            }
            // The initial value, or one as old as that.
            _ => (ThreadId(u32::MAX), 0),
        };
        let mut choice = 0;
        if self.sources.len() > 1 && strategy.wants_newest() {
            choice = newest(&mut self.machine, access, &self.sources);
        } else if self.sources.len() > 1 {
            choice = strategy.source_of(thread, access, label, &self.sources, &origin) % self.sources.len();
        }
        let store = self.sources[choice].event;
        strategy.has_read(thread, label, || origin(store));
        if self.sources.len() > 1 {
            self.note_choice(choice as u32);
        }
        choice
    }

    fn choose_variant(&mut self, thread: ThreadId, ways: u32, strategy: &mut impl Strategy) -> u32 {
        if ways == 1 {
            return 0;
        }
        let choice = strategy.variant(thread, ways) % ways;
        self.note_choice(choice);
        choice
    }

    /// The stores that an access may read and that its guard lets through. Of a compare-exchange, the first
    /// `failing` are those on which it fails; a weak one may have the same store in both parts.
    fn find_sources(&mut self, thread: ThreadId, access: &Access, initial: &mut dyn FnMut(Location) -> Value) {
        self.sources.clear();
        self.failing = 0;
        let (sets, guard) = (&self.sets, access.guard());
        match *access {
            Access::Store { .. } | Access::Fence { .. } => {}
            Access::Load { at, order, .. } => {
                self.machine.introduce(at, initial);
                self.machine.sources(thread, Read { at, order, exclusive: false }, &mut self.sources);
                self.sources.retain(|s| sets.passes(guard, s.value));
            }
            Access::Rmw { at, order, .. } => {
                self.machine.introduce(at, initial);
                self.machine.sources(thread, Read { at, order: order.load(), exclusive: true }, &mut self.sources);
                self.sources.retain(|s| sets.passes(guard, s.value));
            }
            Access::CompareExchange { at, expected, success, failure, weak, .. } => {
                self.machine.introduce(at, initial);
                // In hardware a seq_cst compare-exchange looks at memory itself, even if it then fails.
                let exclusive = M::MODEL.is_hardware() && failure == LoadOrder::SeqCst;
                self.machine.sources(thread, Read { at, order: failure, exclusive }, &mut self.sources);
                self.sources.retain(|s| (weak || s.value != expected) && sets.passes(guard, s.value));
                self.failing = self.sources.len();
                self.machine.sources(thread, Read { at, order: success.load(), exclusive: true }, &mut self.sources);
                let mut kept = self.failing;
                for i in self.failing..self.sources.len() {
                    let source = self.sources[i];
                    if source.value == expected && sets.passes(guard, source.value) {
                        self.sources[kept] = source;
                        kept += 1;
                    }
                }
                self.sources.truncate(kept);
            }
        }
    }

    fn take_step(
        &mut self,
        thread: ThreadId,
        strategy: &mut impl Strategy,
        initial: &mut dyn FnMut(Location) -> Value,
    ) {
        let access = match self.threads[thread.index()].lowering.stage() {
            Stage::Access(access) => access,
            Stage::Yield | Stage::Quit => {
                let run = &mut self.threads[thread.index()];
                run.fresh = true;
                return run.lowering.performed(Reply::NONE);
            }
            stage => unreachable!("internal error: a thread that is not waiting was chosen: {stage:?}"),
        };
        let (step, source, reply) = match access {
            Access::Fence { order } => (Step::Fence { order }, None, Reply::NONE),
            Access::Store { at, order, value } => {
                self.machine.introduce(at, initial);
                (Step::Store { at, order, value }, None, Reply::NONE)
            }
            _ => {
                self.find_sources(thread, &access, initial);
                let choice = self.choose_read(thread, &access, strategy);
                let source = self.sources[choice];
                let variant = match access {
                    Access::CompareExchange { .. } => u32::from(choice < self.failing),
                    _ => self.choose_variant(thread, variants(&access, source.value, &self.sets), strategy),
                };
                let (step, reply) = self.decide(&access, source, variant);
                (step, Some(source), reply)
            }
        };
        self.perform(thread, &step, source);
        let run = &mut self.threads[thread.index()];
        run.lowering.performed(reply);
        run.fresh = true;
        if *run.lowering.op() == Op::Spawn && matches!(step, Step::Store { .. }) {
            // It first takes its creator's go-ahead.
            let child = run.lowering.child();
            self.threads[child.index()].state = State::Waiting;
        }
    }

    fn decide(&mut self, access: &Access, source: Source, variant: u32) -> (Step, Reply) {
        let at = access.location().expect("a read has a location");
        match effect(access, source.value, variant, &mut self.sets) {
            Effect::Load { order, failed_rmw, reply } => (Step::Load { at, order, failed_rmw }, reply),
            Effect::Rmw { order, written, reply } => (Step::Rmw { at, order, written }, reply),
            Effect::Blocked => unreachable!("internal error: a blocked access was chosen"),
        }
    }

    fn perform(&mut self, thread: ThreadId, step: &Step, source: Option<Source>) {
        self.commits.clear();
        self.machine.required(thread, step, &mut self.commits);
        let required = std::mem::take(&mut self.commits);
        for commit in &required {
            self.commit(*commit);
        }
        self.commits = required;
        let event = EventId(self.events + 1);
        self.machine.perform(event, thread, step, source);
        self.changes += u64::from(match *step {
            Step::Store { .. } => true,
            Step::Rmw { written, .. } => source.is_none_or(|source| source.value != written),
            Step::Load { .. } | Step::Fence { .. } => false,
        });
        self.touch(step.location());
        let label = self.threads[thread.index()].label;
        if self.recording || M::MODEL.is_hardware() {
            let parts = if self.recording { self.machine.parts().to_vec() } else { Vec::new() };
            self.record(thread, label, kind_of(step, source, parts));
        } else {
            self.count_event(thread, label);
        }
        if self.recording && M::MODEL == Model::C11 && self.looks_for_races {
            self.watch(event, thread, step);
        }
    }

    fn commit(&mut self, commit: Commit) {
        self.machine.commit(commit);
        self.changes += 1;
        let store = self.record_of(commit.store);
        let (label, at) = (store.label, store.kind.location());
        self.touch(at);
        self.record(commit.thread, label, EventKind::Commit { store: commit.store });
    }

    /// Somebody was at `at`: those who wait there look again.
    #[inline]
    fn touch(&mut self, at: Option<Location>) {
        let Some(at) = at else { return };
        for run in &mut self.threads {
            if run.stuck.is_some_and(|stuck| stuck.overlaps(at)) {
                run.stuck = None;
            }
        }
    }

    #[inline]
    fn record_of(&self, event: EventId) -> &Record {
        &self.records[event.index() - self.forgotten as usize - 1]
    }

    #[inline]
    fn count_event(&mut self, thread: ThreadId, label: u32) {
        let place = self.events as usize % MOST_ORIGINS;
        match self.origins.get_mut(place) {
            Some(origin) => *origin = (thread, label),
            None => self.origins.push((thread, label)),
        }
        self.events += 1;
    }

    fn record(&mut self, thread: ThreadId, label: u32, kind: EventKind) {
        self.count_event(thread, label);
        if self.recording
            && let Some(clock) = self.machine.clock(thread)
        {
            self.clocks.extend_from_slice(clock.slots());
        }
        self.records.push(Record { thread, label, kind, clock_end: self.clocks.len() });
    }

    /// Shows the access to the race detector.
    fn watch(&mut self, event: EventId, thread: ThreadId, step: &Step) {
        let (at, write, plain) = match *step {
            Step::Load { at, order, .. } => (at, false, order == LoadOrder::Plain),
            Step::Store { at, order, .. } => (at, true, order == StoreOrder::Plain),
            Step::Rmw { at, .. } => (at, true, false),
            Step::Fence { .. } => return,
        };
        if let Some(clock) = self.machine.clock(thread) {
            self.detector.access(Watched { event, thread, at, write, plain }, clock, &mut self.races);
        }
    }

    fn final_outcome(&self) -> Outcome {
        let blocked: Vec<ThreadId> = (0..self.threads.len() as u32)
            .map(ThreadId)
            .filter(|t| !matches!(self.threads[t.index()].state, State::Done | State::Unborn))
            .collect();
        if blocked.is_empty() { Outcome::Finished } else { Outcome::Deadlock { blocked } }
    }

    /// Decides what `at` holds in the end, where the model leaves it open: the choice is made as for a load that
    /// everything happens before. To be called after the end of an execution that finished.
    pub fn settle_memory(
        &mut self,
        at: Location,
        strategy: &mut impl Strategy,
        initial: &mut dyn FnMut(Location) -> Value,
    ) {
        self.machine.introduce(at, initial);
        self.sources.clear();
        self.machine.final_sources(at, &mut self.sources);
        if self.sources.len() > 1 {
            let choice = self.choose_source(ThreadId(0), strategy);
            self.machine.settle(at, self.sources[choice]);
        }
    }

    /// Has `thread` been let to end the process?
    pub fn quits(&self, thread: ThreadId) -> bool {
        *self.threads[thread.index()].lowering.op() == Op::Quit
    }

    /// The process has ended.
    pub fn finish(&mut self) {
        self.outcome = Some(Outcome::Finished);
    }

    /// Gives an execution that the limit of steps has ended some more.
    pub fn extend(&mut self, steps: u64) {
        if self.outcome == Some(Outcome::StepLimit) {
            self.outcome = None;
            self.limits.max_steps += steps;
        }
    }

    /// What happens before the next event of `thread`, under a model with a happens-before of its own.
    #[inline]
    pub fn clock(&self, thread: ThreadId) -> Option<&VectorClock> {
        self.machine.clock(thread)
    }

    /// Makes a location known before the program changes it behind the engine's back.
    pub fn introduce(&mut self, at: Location, initial: &mut dyn FnMut(Location) -> Value) {
        self.machine.introduce(at, initial);
    }

    /// What `thread` would read from a known location now, if it read its newest value.
    pub fn peek(&mut self, thread: ThreadId, at: Location) -> Value {
        self.sources.clear();
        self.machine.sources(thread, Read { at, order: LoadOrder::Plain, exclusive: true }, &mut self.sources);
        self.sources.last().map_or(Value::ZERO, |source| source.value)
    }

    /// The program has written `value` to a known location behind the engine's back: `thread` did, in code that
    /// submits nothing. It counts as an acquiring and releasing exchange, and is performed at once, without a choice.
    pub fn intrude(&mut self, thread: ThreadId, at: Location, value: Value) {
        self.sources.clear();
        self.machine.sources(thread, Read { at, order: LoadOrder::Acquire, exclusive: true }, &mut self.sources);
        let newest = self.sources.last().copied();
        self.perform(thread, &Step::Rmw { at, order: RmwOrder::AcqRel, written: value }, newest);
    }

    /// `thread` has read the newest value of a known location in code that submits nothing, at or before the program
    /// point `label`: performed at once, without a choice.
    pub fn look(&mut self, thread: ThreadId, at: Location, order: LoadOrder, label: u32) {
        self.threads[thread.index()].label = label;
        self.sources.clear();
        self.machine.sources(thread, Read { at, order, exclusive: false }, &mut self.sources);
        let newest = self.sources.last().copied();
        self.perform(thread, &Step::Load { at, order, failed_rmw: false }, newest);
    }

    /// The memory of a known location was given back and is used for something else from now on.
    pub fn retire(&mut self, at: Location) {
        self.machine.retire(at);
    }

    /// `thread` has made a plain store to a known location at the program point `label` and goes on: performed at
    /// once, without a choice.
    pub fn overwrite(&mut self, thread: ThreadId, at: Location, value: Value, label: u32) {
        self.threads[thread.index()].label = label;
        self.perform(thread, &Step::Store { at, order: StoreOrder::Plain, value }, None);
    }

    /// How many events there are.
    #[inline]
    pub fn event_count(&self) -> usize {
        self.events as usize
    }

    /// How many events changed what can be read: stores, also when they leave a buffer, and read-modify-writes that
    /// wrote another value than they read.
    #[inline]
    pub fn change_count(&self) -> u64 {
        self.changes
    }

    /// Nobody will ask for events before this one again, but for stores that wait in a buffer.
    pub fn forget_before(&mut self, event: EventId) {
        const FEW: usize = 1024;
        if self.recording || self.records.len() < FEW {
            return;
        }
        self.commits.clear();
        self.machine.commits(&mut self.commits);
        let oldest = self.commits.iter().map(|commit| commit.store).min().unwrap_or(event).min(event);
        let gone = oldest.index() - self.forgotten as usize - 1;
        self.records.drain(..gone);
        self.forgotten += gone as u32;
    }

    /// Whose event this was, and what it did.
    #[inline]
    pub fn event(&self, id: EventId) -> (ThreadId, &EventKind) {
        let record = self.record_of(id);
        (record.thread, &record.kind)
    }

    /// The answers so far; if not everything is recorded, the first of them.
    pub fn choices(&self) -> &[u32] {
        &self.choices
    }

    /// How many answers there were.
    pub fn choice_count(&self) -> u64 {
        self.choice_count
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// The races so far.
    pub fn races(&self) -> &[Race] {
        &self.races
    }

    /// How many steps were taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The trace of an execution that was recorded; `describe` tells what a label stands for.
    pub fn trace(&self, describe: impl Fn(u32) -> Label) -> Trace {
        let mut labels: Vec<u32> = self.records.iter().map(|r| r.label).collect();
        labels.sort_unstable();
        labels.dedup();
        let mut clock_start = 0;
        let events = self.records.iter().enumerate().map(|(i, record)| {
            let clock = self.clocks[clock_start..record.clock_end].to_vec();
            clock_start = record.clock_end;
            Event {
                id: EventId(i as u32 + 1),
                thread: record.thread,
                label: labels.binary_search(&record.label).expect("every label is in the list") as u32,
                kind: record.kind.clone(),
                clock,
            }
        });
        Trace {
            model: M::MODEL,
            outcome: self.outcome.clone().unwrap_or(Outcome::StepLimit),
            threads: self.threads.len() as u32,
            events: events.collect(),
            coherence: self.machine.coherence(),
            labels: labels.iter().map(|l| describe(*l)).collect(),
            choices: self.choices.clone(),
        }
    }
}

/// The source that may be the last store of all; where the model leaves several, the one that was made last.
fn newest<M: Machine>(machine: &mut M, access: &Access, sources: &[Source]) -> usize {
    let mut last = Vec::new();
    access.location().into_iter().for_each(|at| machine.final_sources(at, &mut last));
    let lasting = |source: &Source| last.iter().any(|last| last.event == source.event);
    sources.iter().rposition(lasting).unwrap_or(sources.len() - 1)
}

/// Stores and fences as the machine will see them; reads are never local.
fn local_step(what: &What) -> Option<Step> {
    match *what {
        What::Access(Access::Store { at, order, value }) => Some(Step::Store { at, order, value }),
        What::Access(Access::Fence { order }) => Some(Step::Fence { order }),
        _ => None,
    }
}

fn kind_of(step: &Step, source: Option<Source>, parts: Vec<Part>) -> EventKind {
    let read = source.unwrap_or(Source { event: EventId::INIT, value: Value::ZERO });
    match *step {
        Step::Load { at, order, failed_rmw } => {
            EventKind::Load { at, order, value: read.value, from: read.event, parts, failed_rmw }
        }
        Step::Store { at, order, value } => EventKind::Store { at, order, value },
        Step::Rmw { at, order, written } => {
            EventKind::Rmw { at, order, read: read.value, written, from: read.event, parts }
        }
        Step::Fence { order } => EventKind::Fence { order },
    }
}
