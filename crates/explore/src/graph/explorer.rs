//! The exploration itself.

use super::cells::{CellError, Cells, extract, weave};
use fencepost_engine::{Effect, Lowering, Stage, Threads, WaitSets, effect, variants};
use fencepost_memory::Checker;
use fencepost_memory::graph::{Flags, Graph, NewNode, Node, Place};
use fencepost_trace::{
    Access, Failure, FenceOrder, Hidden, LoadOrder, Location, Model, Op, Outcome, Reply, RmwOrder, StoreOrder,
    ThreadId, Value,
};
use rustc_hash::FxHashMap;
use std::fmt;

/// Go on, or stop the whole exploration?
pub type Flow = std::ops::ControlFlow<()>;

/// Why an execution has threads that cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stuck {
    /// Every thread that is left waits for something that will never come.
    Deadlock(Vec<ThreadId>),
    /// Every thread that is left waits or repeats a loop without effect, and nothing will ever change.
    Livelock(Vec<ThreadId>),
    /// It waits for a value that is there already: the execution in which it reads that is explored elsewhere.
    Redundant,
    /// The limit of events was hit: the exploration is not complete.
    Limit,
}

impl Stuck {
    /// The outcome that it stands for in a trace.
    pub fn outcome(self) -> Outcome {
        match self {
            Stuck::Deadlock(blocked) => Outcome::Deadlock { blocked },
            Stuck::Livelock(spinning) => Outcome::Livelock { spinning },
            Stuck::Redundant => Outcome::Redundant,
            Stuck::Limit => Outcome::StepLimit,
        }
    }
}

/// Who is told of what exploration meets. The program's threads stand where the execution left them.
pub trait Visitor<T> {
    /// A complete execution.
    fn execution(&mut self, program: &T, graph: &Graph) -> Flow;

    /// An execution that cannot be completed.
    fn stuck(&mut self, program: &T, graph: &Graph, stuck: Stuck) -> Flow;

    /// The program failed in this execution.
    fn failed(&mut self, program: &T, graph: &Graph, thread: ThreadId, failure: Failure) -> Flow;

    /// Two accesses race (C/C++20 only).
    fn race(&mut self, program: &T, graph: &Graph, first: Node, second: Node) -> Flow;
}

/// What can go wrong with the program or with the request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExploreError {
    /// The model has no axioms to explore by.
    NoAxioms(Model),
    /// A thread did something else than before, although it got the same replies.
    Nondeterministic(ThreadId),
    /// Overlapping accesses of different sizes tie more than 16 bytes together.
    WideOverlap(Location),
    /// The steps to replay are not an execution of this program.
    Diverged(u32),
}

impl fmt::Display for ExploreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExploreError::NoAxioms(model) => write!(f, "the model {model} cannot be explored exhaustively"),
            ExploreError::Nondeterministic(thread) => {
                write!(
                    f,
                    "the program is not deterministic: thread {thread} took another path although it read the same values"
                )
            }
            ExploreError::WideOverlap(at) => {
                write!(f, "accesses of different sizes overlap over more than 16 bytes at address {:#x}", at.address)
            }
            ExploreError::Diverged(step) => write!(f, "step {step} does not fit this program"),
        }
    }
}

impl std::error::Error for ExploreError {}

/// How to explore.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The model.
    pub model: Model,
    /// The greatest number of events in one execution.
    pub max_events: usize,
    /// May a weak compare-exchange fail for no reason?
    pub spurious_failures: bool,
}

impl Options {
    /// The defaults under one model.
    pub fn new(model: Model) -> Options {
        Options { model, max_events: 100_000, spurious_failures: true }
    }

    /// In how many ways can `access` go on after reading `value`?
    fn ways(&self, access: &Access, value: Value, sets: &WaitSets) -> u32 {
        let strong = matches!(access, Access::CompareExchange { .. }) && !self.spurious_failures;
        if strong { 1 } else { variants(access, value, sets) }
    }
}

/// One thing still to be tried, at an event: everything added after it is cut off first.
#[derive(Clone, Copy, Debug)]
enum Alternative {
    /// The read reads another write.
    Source { read: Node, source: Node, variant: u32 },
    /// The write stands elsewhere in coherence order.
    Position { write: Node, position: u32 },
    /// An earlier read reads the write.
    Revisit { write: Node, read: Node, variant: u32 },
}

impl Alternative {
    fn node(self) -> Node {
        match self {
            Alternative::Source { read, .. } => read,
            Alternative::Position { write, .. } | Alternative::Revisit { write, .. } => write,
        }
    }
}

/// A subtree of an exploration, as a value.
#[derive(Clone, Debug)]
pub struct Task {
    graph: Graph,
    todo: Option<Alternative>,
    cells: Cells,
}

impl Task {
    /// The whole exploration.
    pub(super) fn root(cells: Cells) -> Task {
        Task { graph: Graph::new(), todo: None, cells }
    }
}

/// A graph and what is still to be tried on it.
#[derive(Debug)]
struct Context {
    graph: Graph,
    todo: Vec<Alternative>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Not created (yet).
    Absent,
    Ready,
    /// Waits at a read that its guard does not let through.
    Blocked,
    /// Goes around a loop without effect; its last round starts with the event at this index.
    Spinning(u32),
    Done,
}

#[derive(Clone, Copy, Debug)]
struct ThreadRun {
    lowering: Lowering,
    state: State,
    /// How many threads it has created.
    spawned: u32,
    /// The writing half of an RMW whose reading half is done.
    half: Option<Half>,
}

#[derive(Clone, Copy, Debug)]
struct Half {
    order: StoreOrder,
    written: Value,
    reply: Reply,
    access: Access,
    weaves: bool,
}

impl Half {
    fn flags(&self) -> Flags {
        store_flags(self.order).with(Flags::EXCLUSIVE).with(Flags::when(self.weaves, Flags::WEAVES))
    }
}

/// Explores one program under one model.
pub struct Explorer<T> {
    program: T,
    options: Options,
    checker: Checker,
    sets: WaitSets,
    cells: Cells,
    /// The names of created threads, by creator and how many it had created before: the same in every execution.
    names: FxHashMap<(ThreadId, u32), ThreadId>,
    initial_threads: u32,
    threads: Vec<ThreadRun>,
    contexts: Vec<Context>,
    pool: Vec<Context>,
    renaming: Vec<Node>,
}

/// Whether a run of the program came to an end that is to be reported.
enum Run {
    Complete,
    Stuck(Stuck),
    Failed(ThreadId, Failure),
    /// The graph is inconsistent: only its alternatives are of interest.
    Dead,
    Race(Node, Node),
    Error(ExploreError),
}

impl<T: Threads> Explorer<T> {
    /// An exploration that has not begun.
    pub fn new(program: T, options: Options) -> Result<Self, ExploreError> {
        let checker = Checker::new(options.model).ok_or(ExploreError::NoAxioms(options.model))?;
        Ok(Explorer {
            program,
            options,
            checker,
            sets: WaitSets::default(),
            cells: Cells::default(),
            names: FxHashMap::default(),
            initial_threads: 0,
            threads: Vec::new(),
            contexts: Vec::new(),
            pool: Vec::new(),
            renaming: Vec::new(),
        })
    }

    /// The program.
    pub fn program(&self) -> &T {
        &self.program
    }

    /// Explores everything. `visitor` is made anew, by `begin`, if the exploration has to start over because accesses turned
    /// out to overlap.
    pub fn explore<V: Visitor<T>>(&mut self, mut begin: impl FnMut() -> V) -> Result<V, ExploreError> {
        let mut cells = Cells::default();
        loop {
            let mut visitor = begin();
            match self.explore_task(Task::root(cells.clone()), &mut visitor, |_| Flow::Continue(())) {
                Ok(_) => return Ok(visitor),
                Err(Restart::Merged(merged)) => cells = merged,
                Err(Restart::Error(error)) => return Err(error),
            }
        }
    }

    /// Explores a subtree. `between` is called after every execution and may take tasks off with [`split`](Self::split).
    pub(super) fn explore_task<V: Visitor<T>>(
        &mut self,
        task: Task,
        visitor: &mut V,
        mut between: impl FnMut(&mut Self) -> Flow,
    ) -> Result<Flow, Restart> {
        self.cells = task.cells;
        self.recycle_all();
        let mut context = self.pool.pop().unwrap_or_else(|| Context { graph: Graph::new(), todo: Vec::new() });
        context.graph = task.graph;
        context.todo.clear();
        context.todo.extend(task.todo);
        let mut pending = context.todo.is_empty();
        self.contexts.push(context);
        loop {
            if !pending && !self.backtrack() {
                return Ok(Flow::Continue(()));
            }
            pending = false;
            let run = self.run();
            let graph = &self.contexts.last().expect("a run has a context").graph;
            let flow = match run {
                Run::Complete => visitor.execution(&self.program, graph),
                Run::Stuck(stuck) => visitor.stuck(&self.program, graph, stuck),
                Run::Failed(thread, failure) => visitor.failed(&self.program, graph, thread, failure),
                Run::Race(first, second) => visitor.race(&self.program, graph, first, second),
                Run::Dead => Flow::Continue(()),
                Run::Error(error) => return Err(self.restart_for(error)),
            };
            if flow.is_break() || between(self).is_break() {
                return Ok(Flow::Break(()));
            }
        }
    }

    fn restart_for(&mut self, error: ExploreError) -> Restart {
        match self.cells.take_merged() {
            Some(merged) => Restart::Merged(merged),
            None => Restart::Error(error),
        }
    }

    fn recycle_all(&mut self) {
        self.pool.append(&mut self.contexts);
    }

    /// Begins with one graph and nothing to be tried.
    pub(super) fn open(&mut self, graph: Graph) {
        self.recycle_all();
        self.contexts.push(Context { graph, todo: Vec::new() });
    }

    /// Gives that graph away.
    pub(super) fn close(&mut self) -> Graph {
        self.contexts.pop().expect("it was opened").graph
    }

    /// Makes cells wider if that is what stopped the run.
    pub(super) fn widen_cells(&mut self) -> bool {
        match self.cells.take_merged() {
            Some(merged) => {
                self.cells = merged;
                true
            }
            None => false,
        }
    }

    pub(super) fn graph_and_sets(&mut self) -> (&mut Graph, &mut WaitSets) {
        (&mut self.contexts.last_mut().expect("a run has a context").graph, &mut self.sets)
    }

    /// Takes the largest piece of work off, for somebody else to do.
    pub(super) fn split(&mut self) -> Option<Task> {
        let context = self.contexts.iter_mut().find(|c| !c.todo.is_empty())?;
        let alternative = context.todo.remove(0);
        let mut graph = Graph::new();
        let last = alternative.node();
        graph.assign_part(&context.graph, |n| n <= last, Node::INIT, &mut self.renaming);
        // A read at the cut may have been revisited from beyond it only if it was kept, and it was not.
        Some(Task { graph, todo: Some(alternative), cells: self.cells.clone() })
    }

    /// Applies the next alternative; false if there is none.
    fn backtrack(&mut self) -> bool {
        while let Some(context) = self.contexts.last_mut() {
            let Some(alternative) = context.todo.pop() else {
                let context = self.contexts.pop().expect("it was there");
                self.pool.push(context);
                continue;
            };
            let graph = &mut context.graph;
            graph.truncate(alternative.node().index() + 1);
            match alternative {
                Alternative::Source { read, source, variant } => {
                    set_source(graph, read, source, variant, &mut self.sets);
                    return true;
                }
                Alternative::Position { write, position } => {
                    graph.unplace_write(write);
                    graph.place_write(write, position);
                    return true;
                }
                Alternative::Revisit { write, read, variant } => {
                    if self.revisit(write, read, variant) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Opens a new context in which `read` reads `write`, and nothing that depended on its old source is left.
    fn revisit(&mut self, write: Node, read: Node, variant: u32) -> bool {
        let mut child = self.pool.pop().unwrap_or_else(|| Context { graph: Graph::new(), todo: Vec::new() });
        let parent = self.contexts.last_mut().expect("a revisit has a context");
        parent.graph.unplace_write(write);
        let from = &parent.graph;
        let keep = |n: Node| n <= read || n == write || from.porf_le(n, write);
        child.graph.assign_part(from, keep, read, &mut self.renaming);
        child.todo.clear();
        let (read, write) = (self.renaming[read.index()], self.renaming[write.index()]);
        set_source(&mut child.graph, read, write, variant, &mut self.sets);
        let graph = &mut child.graph;
        let place = graph.node(write).place;
        let mut found = None;
        let positions = if graph.node(write).flags.has(Flags::EXCLUSIVE) {
            let own = graph.previous(write).expect("an exclusive write follows its read");
            let position = graph.position_of(own) + 1;
            position..position + 1
        } else {
            1..graph.writes(place).len() as u32 + 1
        };
        for position in positions {
            graph.place_write(write, position);
            if self.checker.admits(graph, write) && self.checker.admits(graph, read) {
                if let Some(other) = found.replace(position) {
                    child.todo.push(Alternative::Position { write, position: other });
                }
            }
            graph.unplace_write(write);
        }
        let Some(position) = found else {
            self.pool.push(child);
            return false;
        };
        graph.place_write(write, position);
        if parent.todo.is_empty() {
            self.pool.extend(self.contexts.pop());
        }
        self.contexts.push(child);
        true
    }

    /// Puts the program back to its beginning.
    pub(super) fn start_program(&mut self) {
        self.initial_threads = self.program.start();
        self.threads.clear();
        let hardware = self.options.model.is_hardware();
        self.threads.extend((0..self.initial_threads).map(|t| ThreadRun {
            lowering: Lowering::start(ThreadId(t), false, hardware),
            state: State::Ready,
            spawned: 0,
            half: None,
        }));
    }

    /// Runs the program from the beginning along the graph, and on to its end.
    fn run(&mut self) -> Run {
        self.start_program();
        let known = self.contexts.last().expect("a run has a context").graph.len();
        for i in 1..known as u32 {
            if let Err(error) = self.replay(Node(i)) {
                return Run::Error(error);
            }
        }
        if self.options.model == Model::C11
            && let Some((first, second)) = self.race_of_last()
        {
            return Run::Race(first, second);
        }
        loop {
            if self.graph().len() > self.options.max_events {
                return Run::Stuck(Stuck::Limit);
            }
            match self.step() {
                Ok(None) => {}
                Ok(Some(end)) => return end,
                Err(error) => return Run::Error(error),
            }
        }
    }

    fn graph(&self) -> &Graph {
        &self.contexts.last().expect("a run has a context").graph
    }

    /// Runs `thread` to its next access; `None` if it has ended.
    fn settle(&mut self, thread: ThreadId) -> Settled {
        // A thread that only yields is stopped by the same limit as one that only reads.
        for _ in 0..self.options.max_events {
            match self.threads[thread.index()].lowering.stage() {
                Stage::Access(access) => return Settled::Access(access),
                Stage::Done(reply) => {
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
                Stage::Fail(failure) => return Settled::Fail(failure),
            }
        }
        Settled::Endless
    }

    /// Lets a thread take a step that is in the graph already.
    fn replay(&mut self, node: Node) -> Result<(), ExploreError> {
        let data = *self.graph().node(node);
        let thread = data.thread;
        let t = thread.index();
        if self.threads.get(t).is_none_or(|run| run.state != State::Ready) {
            return Err(ExploreError::Nondeterministic(thread));
        }
        if let Some(half) = self.threads[t].half.take() {
            self.threads[t].lowering.performed(half.reply);
            return Ok(());
        }
        match self.settle(thread) {
            Settled::Access(access) if access == data.access => {}
            _ => return Err(ExploreError::Nondeterministic(thread)),
        }
        if data.flags.has(Flags::READ) {
            self.apply_read(node);
        } else {
            self.finish_write(thread);
        }
        Ok(())
    }

    /// The effect of a read on its thread.
    pub(super) fn apply_read(&mut self, node: Node) {
        let graph = &self.contexts.last().expect("a run has a context").graph;
        let data = graph.node(node);
        let run = &mut self.threads[data.thread.index()];
        match read_effect(graph.location(data.place), &data.access, data.value, data.variant, &mut self.sets) {
            ReadEffect::Blocked => run.state = State::Blocked,
            ReadEffect::Load { reply, .. } => run.lowering.performed(reply),
            ReadEffect::Rmw { order, written, reply, weaves } => {
                run.half = Some(Half { order, written, reply, access: data.access, weaves });
            }
        }
    }

    /// A store or fence has been performed.
    fn finish_write(&mut self, thread: ThreadId) {
        let run = &mut self.threads[thread.index()];
        run.lowering.performed(Reply::NONE);
        if *run.lowering.op() == Op::Spawn {
            run.spawned += 1;
            let child = run.lowering.child();
            let hardware = self.options.model.is_hardware();
            while self.threads.len() <= child.index() {
                let name = ThreadId(self.threads.len() as u32);
                let lowering = Lowering::start(name, true, hardware);
                self.threads.push(ThreadRun { lowering, state: State::Absent, spawned: 0, half: None });
            }
            self.threads[child.index()].state = State::Ready;
            // The creator learns the child's name before the child runs.
            self.settle(thread);
        }
    }

    /// Adds the next event; says if the run is over.
    fn step(&mut self) -> Result<Option<Run>, ExploreError> {
        if let Some(t) = self.threads.iter().position(|run| run.half.is_some()) {
            return self.add_exclusive_write(ThreadId(t as u32));
        }
        for t in 0..self.threads.len() {
            if self.threads[t].state != State::Ready {
                continue;
            }
            let thread = ThreadId(t as u32);
            let access = match self.settle(thread) {
                Settled::Access(access) => access,
                Settled::Exit => {
                    self.threads[t].state = State::Done;
                    continue;
                }
                Settled::Fail(failure) => return Ok(Some(Run::Failed(thread, failure))),
                Settled::Endless => return Ok(Some(Run::Stuck(Stuck::Limit))),
            };
            match access {
                Access::Store { at, order, value } => return self.add_store(thread, access, at, order, value),
                Access::Fence { order } => return Ok(self.add_fence(thread, access, order)),
                _ => {}
            }
            let at = access.location().expect("what is left reads a location");
            let place = self.place(at)?;
            if is_join(at) && self.graph().writes(place).len() == 1 {
                // The thread that it joins has not ended yet.
                continue;
            }
            if let Some(round) = self.round_without_effect(thread) {
                self.threads[t].state = State::Spinning(round);
                continue;
            }
            return Ok(self.add_read(thread, access, place));
        }
        Ok(Some(self.end()))
    }

    /// The place of a location, made known to the graph.
    fn place(&mut self, at: Location) -> Result<Place, ExploreError> {
        let context = self.contexts.last_mut().expect("a run has a context");
        let program = &self.program;
        self.cells.place(at, &mut context.graph, |at| program.initial(at)).map_err(|error| match error {
            CellError::Merged => ExploreError::WideOverlap(at),
            CellError::TooWide => ExploreError::WideOverlap(at),
        })
    }

    /// If the thread stands where it stood before, with the same local state and nothing written since: the
    /// index of the event with which that round began.
    fn round_without_effect(&self, thread: ThreadId) -> Option<u32> {
        let label = self.program.label(thread);
        let graph = self.graph();
        let events = graph.thread(thread);
        let mut digest = None;
        for (i, node) in events.iter().enumerate().rev() {
            let data = graph.node(*node);
            if data.flags.has(Flags::WRITE) {
                return None;
            }
            if data.label == label && data.flags.has(Flags::READ) {
                let now = match digest {
                    Some(now) => now,
                    None => {
                        let now = self.program.digest(thread)?;
                        digest = Some(now);
                        now
                    }
                };
                if now == data.digest {
                    return Some(i as u32);
                }
            }
        }
        None
    }

    fn new_node(&self, thread: ThreadId, flags: Flags, place: Place, access: Access) -> NewNode {
        let label = self.program.label(thread);
        let digest = if flags.has(Flags::READ) { self.program.digest(thread).unwrap_or(0) } else { 0 };
        NewNode { thread, flags, place, label, digest, access }
    }

    /// Adds the next event of `thread`, leaving open what a read reads and where a write stands. `None` if it has
    /// no next event.
    pub(super) fn add_bare(&mut self, thread: ThreadId) -> Result<Option<Node>, ExploreError> {
        let Some(run) = self.threads.get_mut(thread.index()).filter(|run| run.state == State::Ready) else {
            return Ok(None);
        };
        if let Some(half) = run.half.take() {
            run.lowering.performed(half.reply);
            let read = *self.graph().thread(thread).last().expect("its reading half");
            let place = self.graph().node(read).place;
            let new = self.new_node(thread, half.flags(), place, half.access);
            let graph = self.graph_mut();
            let write = graph.add(new);
            graph.set_value(write, half.written);
            return Ok(Some(write));
        }
        let Settled::Access(access) = self.settle(thread) else { return Ok(None) };
        let (flags, place) = match access {
            Access::Fence { order } => (fence_flags(order), Place::NONE),
            Access::Store { at, order, .. } => {
                let place = self.place(at)?;
                let whole = self.graph().location(place) == at;
                (if whole { store_flags(order) } else { Flags::READ }, place)
            }
            _ => (Flags::READ, self.place(access.location().expect("what is left reads a location"))?),
        };
        let new = self.new_node(thread, flags, place, access);
        let graph = self.graph_mut();
        let node = graph.add(new);
        if let (Access::Store { value, .. }, true) = (access, flags.has(Flags::WRITE)) {
            graph.set_value(node, value);
        }
        if !flags.has(Flags::READ) {
            self.finish_write(thread);
        }
        Ok(Some(node))
    }

    /// How the execution stands, when nothing more is added.
    pub(super) fn outcome_here(&mut self) -> Outcome {
        for t in 0..self.threads.len() {
            let thread = ThreadId(t as u32);
            if self.threads[t].state == State::Ready && self.threads[t].half.is_none() {
                match self.settle(thread) {
                    Settled::Exit => self.threads[t].state = State::Done,
                    Settled::Fail(failure) => return Outcome::Failed { thread, failure },
                    Settled::Access(_) if self.round_without_effect(thread).is_some() => {
                        let round = self.round_without_effect(thread).expect("just seen");
                        self.threads[t].state = State::Spinning(round);
                    }
                    Settled::Access(_) | Settled::Endless => {}
                }
            }
        }
        match self.end() {
            Run::Complete => Outcome::Finished,
            Run::Stuck(stuck) => stuck.outcome(),
            _ => Outcome::StepLimit,
        }
    }

    fn add_fence(&mut self, thread: ThreadId, access: Access, order: FenceOrder) -> Option<Run> {
        let new = self.new_node(thread, fence_flags(order), Place::NONE, access);
        self.graph_mut().add(new);
        self.finish_write(thread);
        None
    }

    pub(super) fn graph_mut(&mut self) -> &mut Graph {
        &mut self.contexts.last_mut().expect("a run has a context").graph
    }

    fn add_read(&mut self, thread: ThreadId, access: Access, place: Place) -> Option<Run> {
        let new = self.new_node(thread, Flags::READ, place, access);
        let context = self.contexts.last_mut().expect("a run has a context");
        let graph = &mut context.graph;
        let read = graph.add(new);
        let last = graph.writes(place).len() - 1;
        if !is_forced(graph.location(place)) {
            let floor = self.checker.floor(graph, read);
            for position in floor..=last {
                let source = graph.writes(place)[position];
                let value = graph.written(place, source);
                let ways = self.options.ways(&access, extract(graph.location(place), &access, value), &self.sets);
                for variant in (0..ways).rev() {
                    if position == last && variant == 0 {
                        break;
                    }
                    set_source(graph, read, source, variant, &mut self.sets);
                    if self.checker.admits(graph, read) {
                        context.todo.push(Alternative::Source { read, source, variant });
                    }
                }
            }
        }
        let source = graph.writes(place)[last];
        set_source(graph, read, source, 0, &mut self.sets);
        self.apply_read(read);
        self.race_of_last().map(|(first, second)| Run::Race(first, second))
    }

    fn add_store(
        &mut self,
        thread: ThreadId,
        access: Access,
        at: Location,
        order: StoreOrder,
        value: Value,
    ) -> Result<Option<Run>, ExploreError> {
        let place = self.place(at)?;
        if self.graph().location(place) != at {
            // Part of a cell: it keeps the other bytes, as an RMW would.
            return Ok(self.add_read(thread, access, place));
        }
        let new = self.new_node(thread, store_flags(order), place, access);
        let graph = self.graph_mut();
        let write = graph.add(new);
        graph.set_value(write, value);
        self.note_revisits(write);
        self.finish_write(thread);
        let context = self.contexts.last_mut().expect("a run has a context");
        let graph = &mut context.graph;
        let last = graph.writes(place).len() as u32;
        if last > 1 {
            let floor = self.checker.floor(graph, write) as u32;
            for position in floor + 1..last {
                graph.place_write(write, position);
                if self.checker.admits(graph, write) {
                    context.todo.push(Alternative::Position { write, position });
                }
                graph.unplace_write(write);
            }
        }
        graph.place_write(write, last);
        Ok(self.race_of_last().map(|(first, second)| Run::Race(first, second)))
    }

    fn add_exclusive_write(&mut self, thread: ThreadId) -> Result<Option<Run>, ExploreError> {
        let half = self.threads[thread.index()].half.take().expect("the thread has a half-done RMW");
        let read = *self.graph().thread(thread).last().expect("its reading half");
        let place = self.graph().node(read).place;
        let new = self.new_node(thread, half.flags(), place, half.access);
        let graph = self.graph_mut();
        let write = graph.add(new);
        graph.set_value(write, half.written);
        self.note_revisits(write);
        self.threads[thread.index()].lowering.performed(half.reply);
        let context = self.contexts.last_mut().expect("a run has a context");
        let graph = &mut context.graph;
        let position = graph.position_of(read) + 1;
        graph.place_write(write, position);
        if !self.checker.admits(graph, write) {
            return Ok(Some(Run::Dead));
        }
        Ok(self.race_of_last().map(|(first, second)| Run::Race(first, second)))
    }

    /// Notes the earlier reads that could read the new write, which stands nowhere in coherence order yet.
    fn note_revisits(&mut self, write: Node) {
        let context = self.contexts.last_mut().expect("a run has a context");
        let (graph, todo) = (&context.graph, &mut context.todo);
        let place = graph.node(write).place;
        if is_forced(graph.location(place)) {
            return;
        }
        let value = graph.node(write).value;
        for read in graph.reads(place) {
            if graph.porf_le(*read, write) || !maximal_after(graph, *read, write) {
                continue;
            }
            let access = &graph.node(*read).access;
            let ways = self.options.ways(access, extract(graph.location(place), access, value), &self.sets);
            todo.extend((0..ways).rev().map(|variant| Alternative::Revisit { write, read: *read, variant }));
        }
    }

    /// A race between the event added last (or a read that was turned to it) and another.
    fn race_of_last(&self) -> Option<(Node, Node)> {
        if self.options.model != Model::C11 {
            return None;
        }
        let graph = self.graph();
        let last = graph.last();
        let data = graph.node(last);
        if data.place == Place::NONE || graph.plain_accesses(data.place) == 0 {
            return None;
        }
        let mut suspects = vec![last];
        suspects.extend(graph.reads(data.place).iter().filter(|r| graph.node(**r).source == last));
        suspects.into_iter().find_map(|one| race_with(graph, one))
    }

    /// Nobody can go on.
    fn end(&self) -> Run {
        let waits = |run: &ThreadRun| !matches!(run.state, State::Done | State::Absent);
        if !self.threads.iter().any(waits) {
            return Run::Complete;
        }
        let graph = self.graph();
        let mut stuck = Vec::new();
        let mut spins = false;
        for (t, run) in self.threads.iter().enumerate().filter(|(_, run)| waits(run)) {
            let thread = ThreadId(t as u32);
            let events = graph.thread(thread);
            let latest = |node: &Node| {
                let data = graph.node(*node);
                !data.flags.has(Flags::READ) || graph.position_of(*node) as usize + 1 == graph.writes(data.place).len()
            };
            let hopeless = match run.state {
                State::Blocked => events.last().is_none_or(latest),
                State::Spinning(round) => {
                    spins = true;
                    events[round as usize..].iter().all(latest)
                }
                // It joins a thread that is among the stuck ones itself.
                _ => true,
            };
            if !hopeless {
                return Run::Stuck(Stuck::Redundant);
            }
            stuck.push(thread);
        }
        Run::Stuck(if spins { Stuck::Livelock(stuck) } else { Stuck::Deadlock(stuck) })
    }
}

/// Why an exploration cannot go on as it is.
#[derive(Debug)]
pub(super) enum Restart {
    /// Accesses overlap: start over with these cells.
    Merged(Cells),
    Error(ExploreError),
}

enum Settled {
    Access(Access),
    Exit,
    Fail(Failure),
    Endless,
}

/// What a read does to its thread: [`Effect`], with partial stores to a cell as RMWs.
enum ReadEffect {
    Load { order: LoadOrder, failed_rmw: bool, reply: Reply },
    Rmw { order: StoreOrder, written: Value, reply: Reply, weaves: bool },
    Blocked,
}

fn read_effect(cell: Location, access: &Access, whole: Value, variant: u32, sets: &mut WaitSets) -> ReadEffect {
    let whole_with = |part: Value| weave(cell, access, whole, part);
    if let Access::Store { order, value, .. } = *access {
        return ReadEffect::Rmw { order, written: whole_with(value), reply: Reply::NONE, weaves: true };
    }
    match effect(access, extract(cell, access, whole), variant, sets) {
        Effect::Blocked => ReadEffect::Blocked,
        Effect::Load { order, failed_rmw, reply } => ReadEffect::Load { order, failed_rmw, reply },
        Effect::Rmw { order, written, reply } => {
            ReadEffect::Rmw { order: order.store(), written: whole_with(written), reply, weaves: false }
        }
    }
}

fn store_flags(order: StoreOrder) -> Flags {
    Flags::WRITE
        .with(Flags::when(order.releases(), Flags::RELEASE))
        .with(Flags::when(order == StoreOrder::SeqCst, Flags::SC))
        .with(Flags::when(order == StoreOrder::Plain, Flags::PLAIN))
}

fn load_flags(order: LoadOrder) -> Flags {
    Flags::READ
        .with(Flags::when(order.acquires(), Flags::ACQUIRE))
        .with(Flags::when(order == LoadOrder::SeqCst, Flags::SC))
        .with(Flags::when(order == LoadOrder::Plain, Flags::PLAIN))
}

fn fence_flags(order: FenceOrder) -> Flags {
    Flags::FENCE
        .with(Flags::when(order.acquires(), Flags::ACQUIRE))
        .with(Flags::when(order.releases(), Flags::RELEASE))
        .with(Flags::when(order == FenceOrder::SeqCst, Flags::SC))
}

/// Half of a store to part of a cell?
pub(super) fn is_weaving(flags: Flags) -> bool {
    flags.has(Flags::WEAVES)
}

/// Lets `read` read `source`: what it is (an RMW, a failed one, a wait) follows from the value.
pub(super) fn set_source(graph: &mut Graph, read: Node, source: Node, variant: u32, sets: &mut WaitSets) {
    let data = graph.node(read);
    let (place, access) = (data.place, data.access);
    let value = graph.written(place, source);
    let flags = match read_effect(graph.location(place), &access, value, variant, sets) {
        ReadEffect::Load { order, failed_rmw, .. } => load_flags(order).with(Flags::when(failed_rmw, Flags::FAILED)),
        ReadEffect::Rmw { weaves, .. } => {
            let order = match access {
                Access::Rmw { order, .. } => order.load(),
                Access::CompareExchange { success, .. } => success.load(),
                Access::Store { order: StoreOrder::Plain, .. } => LoadOrder::Plain,
                _ => RmwOrder::Relaxed.load(),
            };
            load_flags(order).with(Flags::EXCLUSIVE).with(Flags::when(weaves, Flags::WEAVES))
        }
        ReadEffect::Blocked => Flags::READ.with(Flags::BLOCKED),
    };
    graph.set_source(read, source, value, variant, flags);
}

/// Reads that are not choices: a thread's start and a join, whose source is fixed.
fn is_forced(at: Location) -> bool {
    matches!(at.as_hidden(), Some((Hidden::ThreadStart | Hidden::ThreadEnd, _)))
}

fn is_join(at: Location) -> bool {
    matches!(at.as_hidden(), Some((Hidden::ThreadEnd, _)))
}

/// May `write` revisit `read`? All that is deleted, and `read` itself, must have been added maximally: as if the program had just run
/// on, reading and writing last, on the events before it and on those before `write`.
fn maximal_after(graph: &Graph, read: Node, write: Node) -> bool {
    let kept = |n: Node| graph.porf_le(n, write);
    for i in read.0..write.0 {
        let node = Node(i);
        if node != read && kept(node) {
            continue;
        }
        let data = graph.node(node);
        if data.place == Place::NONE {
            continue;
        }
        let previous = |n: Node| n <= node || (n != write && kept(n));
        let stands_for = if data.flags.has(Flags::READ) {
            if data.variant != 0 || !previous(data.source) {
                return false;
            }
            data.source
        } else {
            let revisited = |r: &Node| *r < node && graph.node(*r).source == node;
            if graph.reads(data.place).iter().any(revisited) {
                return false;
            }
            node
        };
        let position = graph.node(stands_for).position as usize;
        if graph.writes(data.place)[position + 1..].iter().any(|later| previous(*later)) {
            return false;
        }
    }
    true
}

/// An access that races with `node`.
fn race_with(graph: &Graph, node: Node) -> Option<(Node, Node)> {
    let data = graph.node(node);
    let races = |other: &Node| {
        let with = graph.node(*other);
        *other != Node::INIT
            && with.thread != data.thread
            && (with.flags.has(Flags::PLAIN) || data.flags.has(Flags::PLAIN))
            && (with.flags.has(Flags::WRITE) || data.flags.has(Flags::WRITE))
            && !graph.hb(*other, node)
            && !graph.hb(node, *other)
    };
    let accesses = graph.writes(data.place).iter().chain(graph.reads(data.place));
    accesses.copied().find(|o| races(o)).map(|other| (other, node))
}
