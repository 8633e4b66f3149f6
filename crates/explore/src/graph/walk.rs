//! The program along a graph: its threads, resumed step by step with what the graph says they read.

use super::error::ExploreError;
use super::event::{ReadEffect, read_effect, store_flags};
use super::rounds;
use super::visitor::{End, Stuck};
use fencepost_engine::{Lowering, Stage, Threads, WaitSets};
use fencepost_memory::graph::{Flags, Graph, NewNode, Node, Place};
use fencepost_trace::{Access, Failure, Op, Reply, StoreOrder, ThreadId, Value};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
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
pub(super) struct ThreadRun {
    lowering: Lowering,
    pub(super) state: State,
    /// How many threads it has created.
    spawned: u32,
    /// How many of its events have been performed.
    pub(super) performed: u32,
    /// The writing half of an RMW whose reading half is done.
    pub(super) half: Option<Half>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Half {
    order: StoreOrder,
    pub(super) written: Value,
    reply: Reply,
    pub(super) access: Access,
    weaves: bool,
}

impl Half {
    pub(super) fn flags(&self) -> Flags {
        store_flags(self.order).with(Flags::EXCLUSIVE).with(Flags::when(self.weaves, Flags::WEAVES))
    }
}

pub(super) enum Settled {
    Access(Access),
    Exit,
    End(Option<Failure>),
    Endless,
}

/// How a run of the program ends, when nobody can go on.
pub(super) enum Ending {
    Complete,
    Stuck(Stuck),
}

/// A program and where its threads stand.
pub(super) struct Walk<T> {
    pub(super) program: T,
    pub(super) sets: WaitSets,
    pub(super) threads: Vec<ThreadRun>,
    /// The names of created threads, by creator and how many it had created before: the same in every execution.
    names: FxHashMap<(ThreadId, u32), ThreadId>,
    initial_threads: u32,
    hardware: bool,
    /// How often a thread may yield before it must do something.
    patience: usize,
    /// How many rounds without effect a thread may go before it is taken to wait.
    pub(super) rounds: u32,
    /// The threads that have ended the process. Each of them may be the one that does.
    pub(super) ends: Vec<End>,
}

impl<T: Threads> Walk<T> {
    pub(super) fn new(program: T, hardware: bool, patience: usize) -> Walk<T> {
        Walk {
            program,
            sets: WaitSets::default(),
            threads: Vec::new(),
            names: FxHashMap::default(),
            initial_threads: 0,
            hardware,
            patience,
            rounds: 0,
            ends: Vec::new(),
        }
    }

    /// Puts the program back to its beginning.
    pub(super) fn start(&mut self) {
        self.initial_threads = self.program.start();
        self.threads.clear();
        self.ends.clear();
        for t in 0..self.initial_threads {
            self.add_thread(ThreadId(t), false, State::Ready);
        }
    }

    fn add_thread(&mut self, thread: ThreadId, spawned: bool, state: State) {
        let lowering = Lowering::start(thread, spawned, self.hardware);
        self.threads.push(ThreadRun { lowering, state, spawned: 0, performed: 0, half: None });
    }

    /// Runs `thread` to its next access.
    pub(super) fn settle(&mut self, graph: &Graph, thread: ThreadId) -> Settled {
        // A thread that only yields is stopped by the same limit as one that only reads.
        for _ in 0..self.patience {
            match self.threads[thread.index()].lowering.stage() {
                Stage::Access(access) => return Settled::Access(access),
                Stage::Done(reply) => {
                    if self.program.wants_clocks() {
                        let last = (self.threads[thread.index()].performed as usize).checked_sub(1);
                        let clock = last.map_or(&[][..], |i| graph.hb_clock(graph.thread(thread)[i]));
                        self.program.set_clock(thread, clock);
                    }
                    let op = self.program.resume(thread, reply);
                    let run = &mut self.threads[thread.index()];
                    let (names, initial) = (&mut self.names, self.initial_threads);
                    run.lowering.begin(op, || {
                        let fresh = ThreadId(initial + names.len() as u32);
                        *names.entry((thread, run.spawned)).or_insert(fresh)
                    });
                }
                Stage::Yield => self.threads[thread.index()].lowering.performed(Reply::NONE),
                Stage::Exit => return Settled::Exit,
                Stage::Fail(failure) => return Settled::End(Some(failure)),
                Stage::Quit => return Settled::End(None),
            }
        }
        Settled::Endless
    }

    /// Lets a thread take a step that is in the graph already.
    pub(super) fn replay(&mut self, graph: &Graph, node: Node) -> Result<(), ExploreError> {
        let data = graph.node(node);
        let thread = data.thread;
        let t = thread.index();
        if self.threads.get(t).is_none_or(|run| run.state != State::Ready) {
            return Err(ExploreError::Nondeterministic(thread));
        }
        if let Some(half) = self.threads[t].half.take() {
            self.finish_half(thread, &half);
            return Ok(());
        }
        match self.settle(graph, thread) {
            Settled::Access(access) if access == data.access => {}
            _ => return Err(ExploreError::Nondeterministic(thread)),
        }
        if data.flags.has(Flags::READ) {
            self.apply_read(graph, node);
        } else if graph.is_wait(node) {
            self.threads[t].performed += 1;
        } else {
            self.finish_write(graph, thread);
        }
        Ok(())
    }

    /// The effect of a read on its thread.
    pub(super) fn apply_read(&mut self, graph: &Graph, node: Node) {
        let data = graph.node(node);
        let run = &mut self.threads[data.thread.index()];
        run.performed += 1;
        match read_effect(graph.location(data.place), &data.access, data.value, data.variant, &mut self.sets) {
            ReadEffect::Blocked => unreachable!("internal error: a read that its guard does not let through"),
            ReadEffect::Load { reply, .. } => run.lowering.performed(reply),
            ReadEffect::Rmw { order, written, reply, weaves } => {
                run.half = Some(Half { order, written, reply, access: data.access, weaves });
            }
        }
    }

    /// A store or fence has been performed.
    pub(super) fn finish_write(&mut self, graph: &Graph, thread: ThreadId) {
        let run = &mut self.threads[thread.index()];
        run.performed += 1;
        run.lowering.performed(Reply::NONE);
        if *run.lowering.op() == Op::Spawn {
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
    pub(super) fn round_without_effect(&self, graph: &Graph, thread: ThreadId) -> Option<State> {
        let label = self.program.label(thread);
        let events = graph.thread(thread);
        let mut digest = None;
        let mut writes = 0;
        // The last round, and how many there were before it.
        let (mut last, mut met) = (None, 0);
        for (i, node) in events.iter().enumerate().rev() {
            let data = graph.node(*node);
            if data.flags.has(Flags::WRITE) {
                writes += 1;
                if writes > rounds::MOST_WRITES {
                    return None;
                }
            }
            if data.label == label
                && data.flags.has(Flags::READ)
                && (writes == 0 || rounds::is_without_effect(graph, thread, i))
            {
                let now = match digest {
                    Some(now) => now,
                    None => {
                        let now = self.local_state(thread)?;
                        digest = Some(now);
                        now
                    }
                };
                if now == data.digest {
                    last = last.or(Some(State::Spinning { round: i as u32, writes: writes > 0 }));
                    if met == self.rounds {
                        return last;
                    }
                    met += 1;
                }
            }
        }
        None
    }

    /// Does a thread that was found to wait still do so, now that the graph has grown?
    pub(super) fn still_spins(&self, graph: &Graph, thread: ThreadId) -> bool {
        match self.threads[thread.index()].state {
            State::Spinning { round, writes: true } => rounds::is_without_effect(graph, thread, round as usize),
            State::Spinning { .. } => true,
            _ => false,
        }
    }

    /// The thread's local state, and how far it has come with its operation: one may read more than once.
    fn local_state(&self, thread: ThreadId) -> Option<u64> {
        let step = u64::from(self.threads[thread.index()].lowering.step());
        Some(self.program.digest(thread)? ^ step.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(super) fn new_node(&self, thread: ThreadId, flags: Flags, place: Place, access: Access) -> NewNode {
        let label = self.program.label(thread);
        let digest = if flags.has(Flags::READ) { self.local_state(thread).unwrap_or(0) } else { 0 };
        NewNode { thread, flags, place, label, digest, access }
    }

    /// Nobody can go on.
    pub(super) fn end(&self, graph: &Graph) -> Ending {
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
    pub(super) fn end_by(&mut self, thread: ThreadId, failure: Option<Failure>) {
        self.threads[thread.index()].state = State::Ended;
        self.ends.push(End { thread, failure });
    }

    /// Says that the half-done RMW of `thread` is done.
    pub(super) fn finish_half(&mut self, thread: ThreadId, half: &Half) {
        let run = &mut self.threads[thread.index()];
        run.performed += 1;
        run.lowering.performed(half.reply);
    }
}
