//! The program along a graph: its threads, resumed step by step with what the graph says they read.

use super::error::ExploreError;
use super::event::{ReadEffect, is_forced, read_effect, store_flags};
use super::rounds::{self, Effect};
use super::visitor::{End, Stuck};
use fencepost_engine::{Lowering, Position, Stage, Threads, WaitSets};
use fencepost_memory::graph::{Flags, Graph, NewNode, Node, NodeData, Place};
use fencepost_trace::{Access, Failure, FenceOrder, Location, Op, Reply, StoreOrder, ThreadId, Value};
use rustc_hash::FxHashMap;
use std::cell::Cell;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Not created (yet).
    Absent,
    Ready,
    /// Waits at a guarded access, and nothing that it could read is left.
    Blocked,
    /// Goes around a loop without effect; its last round starts with the event at this index, and contains writes or
    /// not.
    Spinning {
        round: u32,
        writes: bool,
    },
    Done,
    /// Has ended the process.
    Ended,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadRun {
    lowering: Lowering,
    /// Was it run to its next access, and has not made it yet?
    settled: bool,
    /// That access, where it is only a part of the operation.
    part: Access,
    /// Where it is then.
    label: u32,
    pub(crate) state: State,
    /// How many threads it has created.
    spawned: u32,
    /// How many of its events have been performed.
    pub(crate) performed: u32,
    /// The writing half of an RMW whose reading half is done.
    pub(crate) half: Option<Half>,
    /// A read of what has not been written yet in this run, where values are those of one run.
    deferred: Option<Node>,
    /// The labels of its reads so far, as bits.
    met: u64,
    /// The place of the end of a thread that it waits for, if that was not there when it was looked at.
    pub(crate) awaits: Option<Place>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Half {
    order: StoreOrder,
    pub(crate) written: Value,
    reply: Reply,
    weaves: bool,
}

impl ThreadRun {
    /// The operation on its way.
    pub(crate) fn lowering(&self) -> &Lowering {
        &self.lowering
    }

    /// The access that it is about to make: it was run there. Accesses are large, and to look at it none is copied.
    #[inline]
    pub(crate) fn access(&self) -> &Access {
        debug_assert!(self.settled, "internal error: a thread that was not run to its next access");
        self.lowering.access().unwrap_or(&self.part)
    }

    /// The access has been made, with this result.
    #[inline]
    fn performed(&mut self, reply: Reply) {
        self.settled = false;
        self.lowering.performed(reply);
    }
}

impl Half {
    pub(crate) fn flags(&self) -> Flags {
        store_flags(self.order).with(Flags::EXCLUSIVE).with(Flags::when(self.weaves, Flags::WEAVES))
    }
}

pub(crate) enum Settled {
    /// It is about to make an [access](ThreadRun::access).
    Access,
    Exit,
    End(Option<Failure>),
    /// It goes around a loop in which it does nothing but yield.
    Waits(State),
    Endless,
}

/// What happens before what by the creation and the end of threads.
#[derive(Debug, Default)]
struct Creation {
    clocks: Vec<Vec<u32>>,
    /// What creating or ending a thread hands over, by the location that stands for it.
    given: FxHashMap<Location, Vec<u32>>,
}

/// A copy into what is there needs no new memory.
impl Clone for Creation {
    fn clone(&self) -> Self {
        Creation { clocks: self.clocks.clone(), given: self.given.clone() }
    }

    fn clone_from(&mut self, other: &Self) {
        self.clocks.clone_from(&other.clocks);
        self.given.clone_from(&other.given);
    }
}

impl Creation {
    fn clear(&mut self) {
        self.clocks.iter_mut().for_each(Vec::clear);
        self.given.clear();
    }

    fn of(&self, thread: ThreadId) -> &[u32] {
        self.clocks.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    fn clock(&mut self, thread: ThreadId) -> &mut Vec<u32> {
        let t = thread.index();
        if self.clocks.len() <= t {
            self.clocks.resize(t + 1, Vec::new());
        }
        &mut self.clocks[t]
    }

    fn performs(&mut self, thread: ThreadId) {
        let clock = self.clock(thread);
        if clock.len() <= thread.index() {
            clock.resize(thread.index() + 1, 0);
        }
        clock[thread.index()] += 1;
    }

    fn gives(&mut self, thread: ThreadId, at: Option<Location>) {
        if let Some(at) = at.filter(|at| is_forced(*at)) {
            let clock = self.clock(thread).clone();
            self.given.insert(at, clock);
        }
    }

    fn takes(&mut self, thread: ThreadId, at: Option<Location>) {
        let Some(given) = at.filter(|at| is_forced(*at)).and_then(|at| self.given.get(&at).cloned()) else { return };
        let clock = self.clock(thread);
        if clock.len() < given.len() {
            clock.resize(given.len(), 0);
        }
        clock.iter_mut().zip(&given).for_each(|(own, other)| *own = (*own).max(*other));
    }
}

/// Where the threads of a program stand, to return to.
#[derive(Debug, Default)]
pub(crate) struct Stand {
    position: Position,
    threads: Vec<ThreadRun>,
    creation: Option<Creation>,
    ends: Vec<End>,
}

/// Has a thread gone around a loop?
pub(super) enum Around {
    No,
    /// Yes, and it goes on: others have observed it, or may still do so.
    Again,
    /// Without effect: it waits like this.
    InVain(State),
}

/// How a run of the program ends, when nobody can go on.
pub(crate) enum Ending {
    Complete,
    Stuck(Stuck),
}

/// A program and where its threads stand.
pub(crate) struct Walk<T> {
    pub(crate) program: T,
    pub(crate) sets: WaitSets,
    pub(crate) threads: Vec<ThreadRun>,
    /// The names of created threads, by creator and how many it had created before: the same in every execution.
    names: FxHashMap<(ThreadId, u32), ThreadId>,
    initial_threads: u32,
    hardware: bool,
    /// Labels at which a thread has come by again, as bits: there its state is taken anew in each run.
    pub(super) loops: u64,
    /// Labels at which threads give way by themselves, as bits: a loop that waits, or what follows a yield.
    pub(super) volunteers: u64,
    /// Was it known before this run that threads come by twice somewhere, other than from the program?
    learnt_before: bool,
    /// Was a thread taken to wait in this run, or is it likely to be?
    waited: bool,
    /// How often a thread may yield before it must do something.
    patience: usize,
    /// What happens before what by the creation and the end of threads alone, if that is what the program is told.
    creation: Option<Creation>,
    /// How many rounds without effect a thread may go before it is taken to wait.
    pub(super) rounds: u32,
    /// By thread, how many rounds that write, and that nobody has observed, it may go: see `rounds`.
    pub(super) unobserved: Vec<u32>,
    /// A thread of which others have observed more rounds than that.
    pub(super) observed: Option<ThreadId>,
    /// The threads that have ended the process. Each of them may be the one that does.
    pub(crate) ends: Vec<End>,
    /// The number of this run, and by place that of the run whose initial value is known.
    run: u64,
    known_initial: Vec<u64>,
    /// A thread's local state, and how far it had come with its operation, if nobody has run since.
    known_state: Cell<Option<(ThreadId, u8, u64)>>,
}

impl<T: Threads> Walk<T> {
    pub(crate) fn new(program: T, hardware: bool, patience: usize) -> Walk<T> {
        let loops = program.known_loops();
        Walk {
            program,
            sets: WaitSets::default(),
            threads: Vec::new(),
            names: FxHashMap::default(),
            initial_threads: 0,
            hardware,
            loops,
            volunteers: 0,
            learnt_before: false,
            waited: false,
            patience,
            creation: None,
            rounds: 0,
            unobserved: Vec::new(),
            observed: None,
            ends: Vec::new(),
            run: 0,
            known_initial: Vec::new(),
            known_state: Cell::new(None),
        }
    }

    /// The same; the program is told of no order but that of creating and joining threads, which does not depend on
    /// what is read from where.
    pub(crate) fn told_of_creation_only(self) -> Walk<T> {
        Walk { creation: Some(Creation::default()), ..self }
    }

    /// The same for another program, keeping allocations.
    pub(crate) fn renew(&mut self, program: T, hardware: bool, patience: usize) {
        let (mut threads, mut names) = (std::mem::take(&mut self.threads), std::mem::take(&mut self.names));
        let (known_initial, run) = (std::mem::take(&mut self.known_initial), self.run);
        threads.clear();
        names.clear();
        *self = Walk { threads, names, known_initial, run, ..Walk::new(program, hardware, patience) };
    }

    /// Puts the program back to its beginning.
    pub(crate) fn start(&mut self) {
        self.run += 1;
        self.known_state.set(None);
        self.learnt_before = self.loops & !self.program.known_loops() != 0;
        self.waited = false;
        self.initial_threads = self.program.start();
        self.threads.clear();
        self.ends.clear();
        self.creation.iter_mut().for_each(Creation::clear);
        for t in 0..self.initial_threads {
            self.add_thread(ThreadId(t), false, State::Ready);
        }
    }

    /// Puts down where all threads stand; false if the program could not return there.
    pub(crate) fn stand(&self, stand: &mut Stand) -> bool {
        let Stand { position, threads, creation, ends } = stand;
        if !self.program.position(position) {
            return false;
        }
        threads.clone_from(&self.threads);
        creation.clone_from(&self.creation);
        ends.clone_from(&self.ends);
        true
    }

    /// Returns there; false if the program cannot.
    pub(crate) fn return_to(&mut self, stand: &Stand) -> bool {
        let Stand { position, threads, creation, ends } = stand;
        if !self.program.return_to(position) {
            return false;
        }
        self.run += 1;
        self.known_state.set(None);
        self.threads.clone_from(threads);
        // Places are those of the graph at hand.
        self.threads.iter_mut().for_each(|run| run.awaits = None);
        self.creation.clone_from(creation);
        self.ends.clone_from(ends);
        true
    }

    fn add_thread(&mut self, thread: ThreadId, spawned: bool, state: State) {
        let lowering = Lowering::start(thread, spawned, self.hardware);
        self.threads.push(ThreadRun {
            lowering,
            settled: false,
            part: Access::Fence { order: FenceOrder::Acquire },
            label: 0,
            state,
            spawned: 0,
            performed: 0,
            half: None,
            deferred: None,
            met: 0,
            awaits: None,
        });
    }

    /// Runs `thread` to its next access.
    #[inline]
    pub(crate) fn settle(&mut self, graph: &Graph, thread: ThreadId) -> Settled {
        if self.threads[thread.index()].settled { Settled::Access } else { self.run_on(graph, thread) }
    }

    /// The same where it is not there yet.
    fn run_on(&mut self, graph: &Graph, thread: ThreadId) -> Settled {
        // Where it stood when it yielded, with nothing but yields since.
        let (mut yields, mut yielded) = (0, None);
        // A thread that only yields is stopped by the same limit as one that only reads.
        for _ in 0..self.patience {
            let run = &mut self.threads[thread.index()];
            if run.lowering.access().is_none() {
                if let Some(reply) = run.lowering.answered() {
                    self.resume(graph, thread, reply);
                    continue;
                }
                match run.lowering.stage() {
                    Stage::Access(access) => run.part = access,
                    Stage::Done(reply) => {
                        self.resume(graph, thread, reply);
                        continue;
                    }
                    Stage::Yield => {
                        // Most loops read something between two yields, and come by here once.
                        yields += 1;
                        let standing = (yields > 1).then(|| (self.program.label(thread), self.local_state(thread)));
                        if standing == yielded && standing.is_some_and(|(_, state)| state.is_some()) {
                            let round = graph.thread(thread).len() as u32;
                            self.takes_to_wait(thread);
                            return Settled::Waits(State::Spinning { round, writes: false });
                        }
                        yielded = standing;
                        self.threads[thread.index()].lowering.performed(Reply::NONE);
                        continue;
                    }
                    Stage::Exit => return Settled::Exit,
                    Stage::Fail(failure) => return Settled::End(Some(failure)),
                    Stage::Quit => return Settled::End(None),
                }
            }
            let label = self.program.label(thread);
            let run = &mut self.threads[thread.index()];
            (run.settled, run.label) = (true, label);
            if yields > 0 {
                self.volunteers |= bit_of(label);
            }
            return Settled::Access;
        }
        Settled::Endless
    }

    /// Answers the operation of `thread`, and runs it to the next.
    #[inline]
    fn resume(&mut self, graph: &Graph, thread: ThreadId, reply: Reply) {
        if !self.program.wants_clocks() {
        } else if let Some(clocks) = &self.creation {
            self.program.set_clock(thread, clocks.of(thread));
        } else {
            let last = (self.threads[thread.index()].performed as usize).checked_sub(1);
            let last = last.map(|i| graph.thread(thread)[i]);
            self.program.set_clock(thread, last.map_or(&[][..], |last| graph.hb_clock(last)));
            if self.hardware {
                self.program.set_performed(thread, last.map_or(&[][..], |last| graph.porf_clock(last)));
            }
        }
        self.known_state.set(None);
        let run = &mut self.threads[thread.index()];
        let (program, names, initial) = (&mut self.program, &mut self.names, self.initial_threads);
        let put = |op: &mut Op| program.resume_into(thread, reply, op);
        run.lowering.begin_with(put, || {
            let fresh = ThreadId(initial + names.len() as u32);
            *names.entry((thread, run.spawned)).or_insert(fresh)
        });
    }

    /// Lets a thread take a step that is in the graph already.
    pub(crate) fn replay(&mut self, graph: &mut Graph, node: Node) -> Result<(), ExploreError> {
        let thread = graph.node(node).thread;
        let t = thread.index();
        if self.threads.get(t).is_none_or(|run| run.state != State::Ready) {
            return Err(ExploreError::Nondeterministic(thread));
        }
        if self.program.is_relocated() {
            return self.replay_relocated(graph, node);
        }
        if let Some(half) = self.threads[t].half.take() {
            self.finish_half(thread, &half);
            return Ok(());
        }
        let Settled::Access = self.settle(graph, thread) else {
            return Err(ExploreError::Nondeterministic(thread));
        };
        let NodeData { flags, label, ref access, .. } = *graph.node(node);
        if self.threads[t].access() != access {
            return Err(ExploreError::Nondeterministic(thread));
        }
        if flags.has(Flags::READ) {
            // Rounds of a loop are compared within one run: what is left in registers and on the stack by functions
            // that have returned may differ from run to run.
            if self.loops & bit_of(label) != 0 {
                graph.set_digest(node, self.local_state(thread).unwrap_or(0));
            }
            self.apply_read(graph, node);
        } else if graph.is_wait(node) {
            self.threads[t].performed += 1;
        } else {
            self.finish_write(graph, thread);
        }
        Ok(())
    }

    /// The same where values are those of one run: they are taken from this one.
    fn replay_relocated(&mut self, graph: &mut Graph, node: Node) -> Result<(), ExploreError> {
        let NodeData { thread, flags, place, source, label, .. } = *graph.node(node);
        let t = thread.index();
        self.catch_up(graph, thread)?;
        if let Some(half) = self.threads[t].half.take() {
            let read = graph.previous(node).expect("a writing half follows its reading half");
            graph.copy_operands(read, node);
            graph.set_value(node, half.written);
            self.finish_half(thread, &half);
            return Ok(());
        }
        let Settled::Access = self.settle(graph, thread) else {
            return Err(ExploreError::Nondeterministic(thread));
        };
        let (at, was_at) = (self.threads[t].access().location(), graph.node(node).access.location());
        if at != was_at
            && let Some(was_at) = was_at
            && let Some(op) = self.program.identify(thread, was_at)
        {
            let run = &mut self.threads[t];
            run.lowering.begin(op, || unreachable!("internal error: a new thread is no object"));
            if let Stage::Access(again) = run.lowering.stage() {
                run.part = again;
            }
        }
        let access = self.threads[t].access();
        if !is_alike(access, &graph.node(node).access) {
            return Err(ExploreError::Nondeterministic(thread));
        }
        graph.set_operands(node, access);
        if flags.has(Flags::WRITE)
            && let Access::Store { value, .. } = *access
        {
            graph.set_value(node, value);
        }
        if place != Place::NONE {
            self.refresh_initial(graph, place);
        }
        if graph.is_wait(node) {
            graph.set_digest(node, 0);
            self.threads[t].performed += 1;
        } else if flags.has(Flags::READ) {
            let digest = self.noted_state(thread, label);
            graph.set_digest(node, digest);
            let run = &mut self.threads[t];
            run.met |= bit_of(label);
            if source < node {
                return self.read_again(graph, node);
            }
            run.deferred = Some(node);
        } else {
            self.finish_write(graph, thread);
        }
        Ok(())
    }

    /// Lets a thread have what it read, now that it has been written in this run. A read that was revisited comes
    /// before what it reads; its thread takes no further step before that, so that nobody misses it.
    #[inline]
    fn catch_up(&mut self, graph: &mut Graph, thread: ThreadId) -> Result<(), ExploreError> {
        match self.threads[thread.index()].deferred.take() {
            Some(node) => self.read_again(graph, node),
            None => Ok(()),
        }
    }

    /// Gives a thread what it read, as it was written in this run.
    fn read_again(&mut self, graph: &mut Graph, node: Node) -> Result<(), ExploreError> {
        let NodeData { thread, place, source, variant, flags, ref access, .. } = *graph.node(node);
        let value = graph.written(place, source);
        let effect = read_effect(graph.location(place), access, value, variant, &mut self.sets);
        let writes = match effect {
            ReadEffect::Blocked => return Err(ExploreError::Nondeterministic(thread)),
            ReadEffect::Load { .. } => false,
            ReadEffect::Rmw { .. } => true,
        };
        if writes != flags.has(Flags::EXCLUSIVE) {
            return Err(ExploreError::Nondeterministic(thread));
        }
        graph.set_value(node, value);
        self.apply_effect(graph, node, &effect);
        Ok(())
    }

    /// All that is in the graph has been replayed.
    pub(crate) fn replayed(&mut self, graph: &mut Graph) -> Result<(), ExploreError> {
        (0..self.threads.len() as u32).try_for_each(|t| self.catch_up(graph, ThreadId(t)))
    }

    /// What a place holds initially, in this run.
    pub(crate) fn refresh_initial(&mut self, graph: &mut Graph, place: Place) {
        if self.known_initial.len() <= place.index() {
            self.known_initial.resize(place.index() + 1, 0);
        }
        // Whoever was the first to use the object has said it, once.
        if std::mem::replace(&mut self.known_initial[place.index()], self.run) == self.run {
            return;
        }
        let at = graph.location(place);
        if at.as_hidden().is_none() {
            graph.set_initial(place, self.program.initial(at));
        }
    }

    /// The effect of a read on its thread.
    pub(crate) fn apply_read(&mut self, graph: &Graph, node: Node) {
        let data = graph.node(node);
        let location = graph.location(data.place);
        let effect = read_effect(location, &data.access, data.value, data.variant, &mut self.sets);
        self.apply_effect(graph, node, &effect);
    }

    /// The same where it is known what that is.
    pub(crate) fn apply_effect(&mut self, graph: &Graph, node: Node, effect: &ReadEffect) {
        let data = graph.node(node);
        if let Some(creation) = &mut self.creation {
            creation.performs(data.thread);
            creation.takes(data.thread, data.access.location());
        }
        let run = &mut self.threads[data.thread.index()];
        run.performed += 1;
        run.met |= bit_of(data.label);
        run.awaits = None;
        match *effect {
            ReadEffect::Blocked => unreachable!("internal error: a read that its guard does not let through"),
            ReadEffect::Load { reply, .. } => run.performed(reply),
            ReadEffect::Rmw { order, written, reply, weaves } => {
                run.half = Some(Half { order, written, reply, weaves });
            }
        }
    }

    /// A store or fence has been performed.
    pub(crate) fn finish_write(&mut self, graph: &Graph, thread: ThreadId) {
        let run = &mut self.threads[thread.index()];
        run.performed += 1;
        if let Some(creation) = &mut self.creation {
            creation.performs(thread);
            if let Stage::Access(access) = run.lowering.stage() {
                creation.gives(thread, access.location());
            }
        }
        run.performed(Reply::NONE);
        if matches!(run.lowering.op(), Op::Spawn) {
            run.spawned += 1;
            let child = run.lowering.child();
            while self.threads.len() <= child.index() {
                self.add_thread(ThreadId(self.threads.len() as u32), true, State::Absent);
            }
            self.threads[child.index()].state = State::Ready;
            // The creator learns the child's name before the child runs.
            self.settle(graph, thread);
        }
    }

    /// If the thread stands where it stood before, with the same local state and without having had an effect since:
    /// it waits.
    pub(crate) fn round_without_effect(&mut self, graph: &Graph, thread: ThreadId) -> Option<State> {
        match self.goes_around(graph, thread, self.may_go_unobserved(thread)) {
            Around::InVain(state) => Some(state),
            Around::Again | Around::No => None,
        }
    }

    /// How many rounds that write, and that nobody has observed, the thread may go.
    pub(super) fn may_go_unobserved(&self, thread: ThreadId) -> u32 {
        self.unobserved.get(thread.index()).copied().unwrap_or(0)
    }

    fn takes_to_wait(&mut self, thread: ThreadId) {
        self.waited = true;
        self.program.takes_to_wait(thread);
    }

    /// Is this run to be done again, because the program now looks closer at what its threads do?
    pub(super) fn is_to_be_done_again(&mut self) -> bool {
        let again = self.waited && !self.learnt_before && self.program.looks_closer();
        if again {
            self.loops |= self.program.known_loops();
        }
        again
    }

    /// Does the thread stand where it stood before, with the same local state? It may have gone `more` rounds that
    /// write, and that nobody has observed.
    pub(super) fn goes_around(&mut self, graph: &Graph, thread: ThreadId, more: u32) -> Around {
        let label = self.program.label(thread);
        if self.threads[thread.index()].met & bit_of(label) == 0 {
            return Around::No;
        }
        let events = graph.thread(thread);
        let mut digest = None;
        let mut writes = 0;
        // The last round, and how many there were before it.
        let (mut last, mut met) = (None, 0);
        let mut again = false;
        for (i, node) in events.iter().enumerate().rev() {
            let data = graph.node(*node);
            if data.flags.has(Flags::WRITE) {
                writes += 1;
                if writes > rounds::MOST_WRITES {
                    break;
                }
            }
            if data.label != label || !data.flags.has(Flags::READ) {
                continue;
            }
            if data.digest == 0 && self.is_noted_late() {
                // It has come by twice: from now on its state is noted here. One that gives way in between is about to
                // wait.
                self.loops |= bit_of(label);
                self.waited |= writes == 0 && self.volunteers & bit_of(label) != 0;
                continue;
            }
            // Where the states are those of this run already, they are compared first: that takes less.
            if self.loops & bit_of(label) != 0 {
                if digest.is_none() {
                    let Some(now) = self.local_state(thread) else { return Around::No };
                    digest = Some(now);
                }
                if digest != Some(data.digest) {
                    continue;
                }
            }
            let effect = match writes {
                0 => Effect::None,
                _ => rounds::effect(graph, thread, (i, events.len()), |other| self.standing(graph, other)),
            };
            if effect == Effect::Lasting {
                continue;
            }
            let now = match digest {
                Some(now) => now,
                None => {
                    let Some(now) = self.local_state(thread) else { return Around::No };
                    digest = Some(now);
                    now
                }
            };
            self.loops |= bit_of(label);
            if now != data.digest {
                continue;
            }
            if effect == Effect::Observed {
                again = true;
                continue;
            }
            let state = State::Spinning { round: i as u32, writes: writes > 0 };
            // Rounds that write, and that nobody has observed, are taken for one.
            let state = if writes > 0 && more > 0 { state } else { last.unwrap_or(state) };
            if met >= self.rounds && (writes == 0 || met >= more) {
                self.volunteers |= bit_of(label);
                self.takes_to_wait(thread);
                return Around::InVain(state);
            }
            last = Some(state);
            met += 1;
            again |= writes > 0 && more > 0;
        }
        if again { Around::Again } else { Around::No }
    }

    /// Counts the rounds of this thread, which stands where it began them, that others have observed, and notes if
    /// there are more than it may go unobserved.
    pub(super) fn count_observed(&mut self, graph: &Graph, thread: ThreadId) {
        let Some(now) = self.standing(graph, thread) else { return };
        let events = graph.thread(thread);
        let starts: Vec<usize> = (0..events.len()).filter(|i| rounds::stood(graph, events[*i]) == Some(now)).collect();
        let next = starts.iter().skip(1).copied().chain([events.len()]);
        let rounds = starts.iter().copied().zip(next);
        let is_observed = |round: &(usize, usize)| {
            rounds::effect(graph, thread, *round, |other| self.standing(graph, other)) == Effect::Observed
        };
        if rounds.filter(is_observed).count() as u32 > self.may_go_unobserved(thread) {
            self.observed = Some(thread);
        }
    }

    /// Has a thread gone a round without effect, and gone on? What it does is done in an execution without that round
    /// as well.
    pub(super) fn has_gone_in_vain(&mut self, graph: &Graph) -> bool {
        (0..self.threads.len()).any(|t| {
            let thread = ThreadId(t as u32);
            let events = graph.thread(thread);
            let waits_from = match self.threads[t].state {
                State::Spinning { round, .. } => round as usize,
                _ => events.len().saturating_sub(1),
            };
            let standing = |i: usize| rounds::stood(graph, events[i]);
            let writes = |from: usize, to: usize| {
                events[from..to].iter().filter(|node| graph.node(**node).flags.has(Flags::WRITE)).count()
            };
            (1..=waits_from).any(|to| {
                standing(to).is_some_and(|stands| {
                    (0..to).any(|from| {
                        standing(from) == Some(stands)
                            && (1..=rounds::MOST_WRITES).contains(&writes(from, to))
                            && rounds::effect(graph, thread, (from, to), |other| self.standing(graph, other))
                                == Effect::None
                    })
                })
            })
        })
    }

    /// Does a thread that was found to wait still do so, now that the graph has grown?
    pub(crate) fn still_spins(&mut self, graph: &Graph, thread: ThreadId) -> bool {
        match self.threads[thread.index()].state {
            State::Spinning { round, writes: true } => {
                rounds::is_without_effect(graph, thread, round as usize, |other| self.standing(graph, other))
            }
            State::Spinning { .. } => true,
            _ => false,
        }
    }

    /// Where a thread stands that is about to read. This depends on the graph alone, whenever it is asked.
    fn standing(&mut self, graph: &Graph, thread: ThreadId) -> Option<rounds::Standing> {
        let run = &self.threads[thread.index()];
        let goes_on = matches!(run.state, State::Ready | State::Spinning { .. });
        if !goes_on || run.half.is_some() || run.deferred.is_some() {
            return None;
        }
        let Settled::Access = self.settle(graph, thread) else { return None };
        let run = &self.threads[thread.index()];
        if matches!(run.access(), Access::Store { .. } | Access::Fence { .. }) {
            return None;
        }
        Some((run.label, self.local_state(thread)?))
    }

    /// The thread's local state, and how far it has come with its operation: one may read more than once.
    fn local_state(&self, thread: ThreadId) -> Option<u64> {
        let step = self.threads[thread.index()].lowering.step();
        if let Some((known, at, state)) = self.known_state.get()
            && (known, at) == (thread, step)
        {
            return Some(state);
        }
        let state = self.program.digest(thread)? ^ u64::from(step).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.known_state.set(Some((thread, step, state)));
        Some(state)
    }

    /// Is a thread's state noted only where it has been seen to come by twice?
    fn is_noted_late(&self) -> bool {
        self.program.is_digested_late()
    }

    /// What is noted of a thread's state where it reads; 0 is nothing.
    fn noted_state(&self, thread: ThreadId, label: u32) -> u64 {
        if self.is_noted_late() && self.loops & bit_of(label) == 0 {
            return 0;
        }
        self.local_state(thread).unwrap_or(0)
    }

    /// The event of the access that `thread` is about to make.
    pub(crate) fn new_node(&self, thread: ThreadId, flags: Flags, place: Place) -> NewNode<'_> {
        let run = &self.threads[thread.index()];
        let digest = if flags.has(Flags::READ) { self.noted_state(thread, run.label) } else { 0 };
        NewNode { thread, flags, place, label: run.label, digest, access: run.access() }
    }

    /// The writing half of an RMW that `thread` has begun.
    pub(crate) fn new_half<'a>(&self, read: &'a NodeData, half: &Half) -> NewNode<'a> {
        let NodeData { thread, place, ref access, .. } = *read;
        let label = self.threads[thread.index()].label;
        NewNode { thread, flags: half.flags(), place, label, digest: 0, access }
    }

    /// Nobody can go on.
    pub(crate) fn end(&self, graph: &Graph) -> Ending {
        let waits = |run: &ThreadRun| !matches!(run.state, State::Done | State::Absent | State::Ended);
        let mut stuck = Vec::new();
        let mut spins = false;
        for (t, run) in self.threads.iter().enumerate().filter(|(_, run)| waits(run)) {
            let thread = ThreadId(t as u32);
            let hopeless = match run.state {
                State::Spinning { round, .. } => {
                    spins = true;
                    rounds::repeats(graph, thread, round as usize, |node| self.is_in_a_round(graph, node))
                }
                // The last write does not let it through, or it joins a thread that is among the stuck ones itself.
                _ => true,
            };
            if !hopeless {
                return Ending::Stuck(Stuck::Redundant);
            }
            stuck.push(thread);
        }
        // Who waits when the process ends does not wait forever.
        if stuck.is_empty() || !self.ends.is_empty() {
            return Ending::Complete;
        }
        Ending::Stuck(if spins { Stuck::Livelock(stuck) } else { Stuck::Deadlock(stuck) })
    }

    /// Does an event belong to the last round of a thread that waits in a loop?
    fn is_in_a_round(&self, graph: &Graph, node: Node) -> bool {
        let data = graph.node(node);
        match self.threads[data.thread.index()].state {
            State::Spinning { round, .. } => data.index >= round,
            _ => false,
        }
    }

    /// Thread `thread` ends the process here.
    pub(crate) fn end_by(&mut self, thread: ThreadId, failure: Option<Failure>) {
        self.threads[thread.index()].state = State::Ended;
        self.ends.push(End { thread, failure });
    }

    /// Says that the half-done RMW of `thread` is done.
    pub(crate) fn finish_half(&mut self, thread: ThreadId, half: &Half) {
        self.creation.iter_mut().for_each(|creation| creation.performs(thread));
        let run = &mut self.threads[thread.index()];
        run.performed += 1;
        run.performed(half.reply);
    }
}

/// Are these the same accesses but for the values that they carry?
fn is_alike(one: &Access, other: &Access) -> bool {
    use std::mem::discriminant;
    match (one, other) {
        (Access::Store { at, order, .. }, Access::Store { at: same, order: alike, .. }) => at == same && order == alike,
        (
            Access::Rmw { at, order, update, guard },
            Access::Rmw { at: same, order: alike, update: does, guard: waits },
        ) => at == same && order == alike && discriminant(update) == discriminant(does) && guard == waits,
        (
            Access::CompareExchange { at, success, failure, weak, guard, .. },
            Access::CompareExchange { at: same, success: alike, failure: fails, weak: may_fail, guard: waits, .. },
        ) => at == same && success == alike && failure == fails && weak == may_fail && guard == waits,
        (Access::Load { at, order, guard }, Access::Load { at: same, order: alike, guard: waits }) => {
            at == same && order == alike && guard == waits
        }
        (one, other) => one == other,
    }
}

/// The bit that stands for a label.
pub(super) fn bit_of(label: u32) -> u64 {
    1 << (label % u64::BITS)
}
