//! The exploration: graphs, what is still to be tried on each, and how it is tried.

use super::cells::{Cells, extract};
use super::error::ExploreError;
use super::event::{ReadEffect, read_effect, set_source, store_flags};
use super::extend::{Run, current, note_revisits};
use super::maximal::all_races;
use super::preemptions::{Extent, Preemptions};
use super::task::{Alternative, Task};
use super::visitor::{Flow, Stuck, Visitor};
use super::walk::Walk;
use fencepost_engine::{Threads, WaitSets, variants};
use fencepost_memory::Checker;
use fencepost_memory::graph::{Flags, Graph, NewNode, Node, NodeData};
use fencepost_trace::{Access, Guard, Model, Value};

/// How to explore.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The model.
    pub model: Model,
    /// The greatest number of events in one execution.
    pub max_events: usize,
    /// May a weak compare-exchange fail for no reason?
    pub spurious_failures: bool,
    /// What becomes of an execution with a race (C/C++20).
    pub races: Races,
    /// Does creating a thread drain the store buffer, as it does under the hardware models?
    pub drains: bool,
    /// How often a thread goes around a loop without effect before it is stopped there. Executions with a round are
    /// like those without, unless somebody asks for the accesses of the round themselves.
    pub rounds: u32,
    /// Only executions with at most so many preemptions: see `preemptions`.
    pub preemptions: Option<u32>,
}

/// What becomes of an execution with a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Races {
    /// It ends there: the program has no meaning, and one race is told.
    End,
    /// It goes on, reading as if nothing had happened, and in the end all its races are told: [`Visitor::races`].
    All,
    /// Nobody looks for races.
    Ignore,
}

impl Options {
    /// The defaults under one model.
    pub fn new(model: Model) -> Options {
        let drains = model.is_hardware();
        let (spurious_failures, races) = (true, Races::End);
        Options { model, max_events: 100_000, spurious_failures, races, drains, rounds: 0, preemptions: None }
    }

    /// In how many ways can `access` go on after reading `value`?
    pub(crate) fn ways(&self, access: &Access, value: Value, sets: &WaitSets) -> u32 {
        let strong = matches!(access, Access::CompareExchange { .. }) && !self.spurious_failures;
        if strong { 1 } else { variants(access, value, sets) }
    }
}

/// A graph and what is still to be tried on it.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) graph: Graph,
    pub(super) todo: Vec<Alternative>,
}

/// Why an exploration cannot go on as it is.
#[derive(Debug)]
pub(crate) enum Restart<A> {
    /// It has to start over with this: accesses overlap, others have observed rounds of a loop that waits, or a thread
    /// gives way by itself where preemptions are counted.
    Anew(Box<A>),
    Error(ExploreError),
}

/// Explores one program under one model.
pub struct Explorer<T> {
    pub(super) options: Options,
    pub(super) walk: Walk<T>,
    pub(super) checker: Checker,
    pub(super) cells: Cells,
    pub(super) contexts: Vec<Context>,
    /// What has not been begun.
    pub(super) waiting: Vec<Task>,
    pool: Vec<Context>,
    renaming: Vec<Node>,
    preemptions: Option<Preemptions>,
}

impl<T: Threads> Explorer<T> {
    /// An exploration that has not begun.
    pub fn new(program: T, options: Options) -> Result<Self, ExploreError> {
        let checker = Checker::new(options.model);
        let mut walk = Walk::new(program, options.drains, options.max_events);
        walk.rounds = options.rounds;
        Ok(Explorer {
            options,
            walk,
            checker,
            cells: Cells::default(),
            contexts: Vec::new(),
            waiting: Vec::new(),
            pool: Vec::new(),
            renaming: Vec::new(),
            preemptions: options.preemptions.map(|most| Preemptions::new(most, options.model)),
        })
    }

    /// The program.
    pub fn program(&self) -> &T {
        &self.walk.program
    }

    /// An exploration of another program that has not begun, in the memory of this one.
    pub fn renew(&mut self, program: T, options: Options) {
        if options.model != self.options.model {
            self.checker = Checker::new(options.model);
        }
        self.options = options;
        self.walk.renew(program, options.drains, options.max_events);
        self.walk.rounds = options.rounds;
        self.cells.clear();
        self.recycle_all();
        self.waiting.clear();
        self.preemptions = options.preemptions.map(|most| Preemptions::new(most, options.model));
    }

    /// How many graphs it has memory for.
    pub fn graphs(&self) -> usize {
        self.contexts.len() + self.pool.len()
    }

    /// Explores everything. `visitor` is made anew, by `begin`, if the exploration has to start over because accesses
    /// turned out to overlap.
    pub fn explore<V: Visitor<T>>(&mut self, begin: impl FnMut() -> V) -> Result<V, ExploreError> {
        self.explore_with(begin, |_| Flow::Continue(()))
    }

    /// The same; `between` is called after every run of the program and may end it.
    pub fn explore_with<V: Visitor<T>>(
        &mut self,
        mut begin: impl FnMut() -> V,
        mut between: impl FnMut(&mut Self) -> Flow,
    ) -> Result<V, ExploreError> {
        // The root as a task would take memory of its own.
        self.waiting.clear();
        self.cells.clear();
        self.walk.unobserved.clear();
        self.recycle_all();
        let mut context = self.fresh_context();
        context.graph.clear();
        context.todo.clear();
        self.contexts.push(context);
        let mut visitor = begin();
        match self.explore_contexts(true, &mut visitor, &mut between) {
            Ok(_) => Ok(visitor),
            Err(Restart::Anew(task)) => self.explore_from(vec![*task], begin, between),
            Err(Restart::Error(error)) => Err(error),
        }
    }

    fn fresh_context(&mut self) -> Context {
        self.pool.pop().unwrap_or_else(|| Context { graph: Graph::new(), todo: Vec::new() })
    }

    /// The same for part of an exploration: what another has [left](Self::left).
    pub fn explore_from<V: Visitor<T>>(
        &mut self,
        tasks: Vec<Task>,
        mut begin: impl FnMut() -> V,
        mut between: impl FnMut(&mut Self) -> Flow,
    ) -> Result<V, ExploreError> {
        self.waiting = tasks;
        loop {
            let mut visitor = begin();
            match self.explore_waiting(&mut visitor, &mut between) {
                Ok(_) => return Ok(visitor),
                Err(Restart::Anew(task)) => self.waiting = vec![*task],
                Err(Restart::Error(error)) => return Err(error),
            }
        }
    }

    fn explore_waiting<V: Visitor<T>>(
        &mut self,
        visitor: &mut V,
        between: &mut impl FnMut(&mut Self) -> Flow,
    ) -> Result<Flow, Restart<Task>> {
        while let Some(task) = self.waiting.pop() {
            if self.explore_task(task, visitor, &mut *between)?.is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(Flow::Continue(()))
    }

    /// What has not been explored yet, between two runs or after an exploration that was stopped.
    pub fn left(&self) -> Vec<Task> {
        let open = self.contexts.iter().filter_map(|context| {
            let last = context.todo.iter().map(|alternative| alternative.node()).max()?;
            let mut graph = context.graph.clone();
            graph.truncate(last.index() + 1);
            Some(self.task(graph, context.todo.clone()))
        });
        self.waiting.iter().cloned().chain(open).collect()
    }

    /// Part of this exploration, with all that is known.
    fn task(&self, graph: Graph, todo: Vec<Alternative>) -> Task {
        let Walk { loops, volunteers, ref unobserved, ref sets, .. } = self.walk;
        let (cells, sets, unobserved) = (self.cells.clone(), sets.clone(), unobserved.clone());
        Task { graph, todo, cells, sets, loops, volunteers, unobserved }
    }

    /// Explores a subtree. `between` is called after every execution and may take tasks off with
    /// [`split`](Self::split).
    pub(super) fn explore_task<V: Visitor<T>>(
        &mut self,
        task: Task,
        visitor: &mut V,
        between: impl FnMut(&mut Self) -> Flow,
    ) -> Result<Flow, Restart<Task>> {
        self.cells = task.cells;
        self.walk.sets.learn(&task.sets);
        self.walk.loops |= task.loops;
        self.walk.unobserved = task.unobserved;
        self.walk.volunteers |= task.volunteers;
        self.recycle_all();
        let mut context = self.fresh_context();
        context.graph = task.graph;
        context.todo = task.todo;
        let pending = context.todo.is_empty();
        self.contexts.push(context);
        self.explore_contexts(pending, visitor, between)
    }

    /// Explores what lies in `contexts`. Is the last graph one that was not run yet?
    fn explore_contexts<V: Visitor<T>>(
        &mut self,
        mut pending: bool,
        visitor: &mut V,
        mut between: impl FnMut(&mut Self) -> Flow,
    ) -> Result<Flow, Restart<Task>> {
        let volunteers = self.walk.volunteers;
        loop {
            if !pending && !self.backtrack() {
                return Ok(Flow::Continue(()));
            }
            if !pending && self.exceeds(Extent::Lasting) {
                if visitor.left_out().is_break() || between(self).is_break() {
                    return Ok(Flow::Break(()));
                }
                continue;
            }
            pending = false;
            let run = self.run_for_good();
            if let Some(thread) = self.walk.observed.take() {
                let unobserved = &mut self.walk.unobserved;
                unobserved.resize(unobserved.len().max(thread.index() + 1), 0);
                unobserved[thread.index()] += 1;
                return Err(self.anew(self.cells.unmet()));
            }
            if self.options.preemptions.is_some() && self.walk.volunteers != volunteers {
                // What was left out before may have fewer preemptions than it seemed to have.
                return Err(self.anew(self.cells.unmet()));
            }
            let left_out = matches!(run, Run::Complete) && self.walk.ends.is_empty() && self.exceeds(Extent::Whole);
            let graph = &self.contexts.last().expect("a run has a context").graph;
            let complete = matches!(run, Run::Complete) && self.walk.ends.iter().all(|end| end.failure.is_none());
            if matches!(run, Run::Complete | Run::Stuck(Stuck::Deadlock(_) | Stuck::Livelock(_)))
                && let races = self.races_of(graph)
                && !races.is_empty()
            {
                if visitor.races(&self.walk.program, graph, &races).is_break() {
                    return Ok(Flow::Break(()));
                }
                if complete {
                    if between(self).is_break() {
                        return Ok(Flow::Break(()));
                    }
                    continue;
                }
            }
            let flow = match run {
                Run::Complete if left_out => visitor.left_out(),
                Run::Complete if self.walk.ends.is_empty() => visitor.execution(&self.walk.program, graph),
                Run::Complete => self.tell_ends(visitor),
                Run::Stuck(Stuck::Limit) if !self.walk.ends.is_empty() => {
                    match visitor.stuck(&self.walk.program, graph, Stuck::Limit) {
                        Flow::Continue(()) => self.tell_ends(visitor),
                        stop => stop,
                    }
                }
                Run::Stuck(stuck) => visitor.stuck(&self.walk.program, graph, stuck),
                Run::Race(first, second) => visitor.race(&self.walk.program, graph, first, second),
                Run::Dead | Run::Again => Flow::Continue(()),
                Run::Error(error) => return Err(self.restart_for(error)),
            };
            if flow.is_break() || between(self).is_break() {
                return Ok(Flow::Break(()));
            }
        }
    }

    /// Runs the program; once more, if it then looks closer at what its threads do.
    fn run_for_good(&mut self) -> Run {
        let (events, alternatives) = (self.context().graph.len(), self.context().todo.len());
        let volunteers = self.walk.volunteers;
        match self.run() {
            Run::Again => {
                let context = current(&mut self.contexts);
                context.graph.truncate(events);
                context.todo.truncate(alternatives);
                self.walk.volunteers = volunteers;
                self.walk.observed = None;
                self.run()
            }
            run => run,
        }
    }

    /// Does the graph at hand have more preemptions than are wanted?
    fn exceeds(&mut self, extent: Extent) -> bool {
        let Some(preemptions) = &mut self.preemptions else { return false };
        let graph = &current(&mut self.contexts).graph;
        preemptions.exceed(graph, extent, &self.walk.sets, self.walk.volunteers)
    }

    /// Tells of each way in which the process has ended in the graph at hand.
    fn tell_ends<V: Visitor<T>>(&mut self, visitor: &mut V) -> Flow {
        let graph = &current(&mut self.contexts).graph;
        let ends = &self.walk.ends;
        ends.iter().try_for_each(|end| {
            let others: Vec<_> = ends.iter().map(|other| other.thread).filter(|other| *other != end.thread).collect();
            visitor.ended(&self.walk.program, graph, *end, &others)
        })
    }

    /// All races of a graph, if somebody wants all.
    fn races_of(&self, graph: &Graph) -> Vec<(Node, Node)> {
        let wanted = self.options.races == Races::All && self.options.model == Model::C11;
        if wanted { all_races(graph) } else { Vec::new() }
    }

    /// Start over with these cells, and with what else is known.
    fn anew(&self, cells: Cells) -> Restart<Task> {
        let task = Task::with(cells, self.walk.volunteers).going(self.walk.unobserved.clone());
        Restart::Anew(Box::new(task))
    }

    fn restart_for(&mut self, error: ExploreError) -> Restart<Task> {
        match self.cells.take_merged() {
            Some(merged) => self.anew(merged),
            None => Restart::Error(error),
        }
    }

    fn recycle_all(&mut self) {
        self.pool.append(&mut self.contexts);
    }

    /// Goes on from `graph` under another model, until the visitor has enough; what is left of the exploration at hand
    /// is as before. The graph is one that the program can build, and consistent under that model.
    pub fn extend<V: Visitor<T>>(&mut self, graph: Graph, model: Model, visitor: &mut V) -> Result<(), ExploreError> {
        let other = Checker::new(model);
        let contexts = std::mem::take(&mut self.contexts);
        let checker = std::mem::replace(&mut self.checker, other);
        let before = std::mem::replace(&mut self.options.model, model);
        let (cells, unobserved) = (self.cells.clone(), self.walk.unobserved.clone());
        let mut going = unobserved.clone();
        let explored = loop {
            let (cells, sets) = (Cells::of(&graph, &cells), WaitSets::default());
            let (todo, unobserved) = (Vec::new(), going.clone());
            let task = Task { graph: graph.clone(), todo, cells, sets, loops: 0, volunteers: 0, unobserved };
            let explored = self.explore_task(task, visitor, |_| Flow::Continue(()));
            self.recycle_all();
            match explored {
                Err(Restart::Anew(task)) if task.unobserved != going => going = task.unobserved,
                explored => break explored,
            }
        };
        (self.contexts, self.checker, self.options.model) = (contexts, checker, before);
        (self.cells, self.walk.unobserved) = (cells, unobserved);
        match explored {
            Err(Restart::Error(error)) => Err(error),
            // That the cells are too narrow the exploration at hand will find out itself.
            Ok(_) | Err(Restart::Anew(_)) => Ok(()),
        }
    }

    /// Takes the largest piece of work off, for somebody else to do.
    pub(super) fn split(&mut self) -> Option<Task> {
        let context = self.contexts.iter_mut().find(|c| !c.todo.is_empty())?;
        let alternative = context.todo.remove(0);
        let mut graph = Graph::new();
        let last = alternative.node();
        graph.assign_part(&context.graph, |n| n <= last, Node::INIT, &mut self.renaming);
        // A read at the cut may have been revisited from behind it only if it was kept, and it was not.
        Some(self.task(graph, vec![alternative]))
    }

    /// How many alternatives are left to be tried.
    pub fn alternatives(&self) -> usize {
        let waiting: usize = self.waiting.iter().map(Task::alternatives).sum();
        waiting + self.contexts.iter().map(|context| context.todo.len()).sum::<usize>()
    }

    /// Keeps every other alternative: the first, third and so on if `first`, otherwise the rest. So two copies of an
    /// exploration share what is left.
    pub fn halve(&mut self, first: bool) {
        let mut keep = !first;
        let mut every_other = || {
            keep = !keep;
            keep
        };
        self.waiting.retain(|_| every_other());
        for context in &mut self.contexts {
            context.todo.retain(|_| every_other());
        }
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
                    if graph.is_wait(read) {
                        graph.unwait(read);
                    }
                    set_source(graph, read, source, variant, &self.walk.sets);
                    if !self.is_taken(read) {
                        return true;
                    }
                    self.add_second(read);
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

    /// Is `read` the reading half of an RMW, and its source what another RMW has read?
    fn is_taken(&self, read: Node) -> bool {
        let graph = &self.context().graph;
        let data = graph.node(read);
        let next = graph.writes(data.place).get(graph.position_of(read) as usize + 1);
        data.flags.has(Flags::EXCLUSIVE) && next.is_some_and(|next| graph.node(*next).flags.has(Flags::EXCLUSIVE))
    }

    /// Adds the writing half of such an RMW. No graph with both is consistent, so that the program need not run: all
    /// that is of interest are the reads that this write may be read by instead, the other RMW's above all.
    fn add_second(&mut self, read: Node) {
        let context = self.contexts.last_mut().expect("an alternative has a context");
        let data = *context.graph.node(read);
        let location = context.graph.location(data.place);
        let effect = read_effect(location, &data.access, data.value, data.variant, &mut self.walk.sets);
        let ReadEffect::Rmw { order, written, weaves, .. } = effect else { return };
        let flags = store_flags(order).with(Flags::EXCLUSIVE).with(Flags::when(weaves, Flags::WEAVES));
        let NodeData { thread, place, label, ref access, .. } = data;
        let write = context.graph.add(NewNode { thread, flags, place, label, digest: 0, access });
        context.graph.set_value(write, written);
        note_revisits(context, write, &self.options, &self.walk.sets);
        context.graph.place_write(write, context.graph.position_of(read) + 1);
    }

    /// Opens a new context in which `read` reads `write`, and nothing that depended on its old source is left. A
    /// guarded read that `write` does not let through waits instead.
    fn revisit(&mut self, write: Node, read: Node, variant: u32) -> bool {
        let mut child = self.fresh_context();
        let parent = self.contexts.last_mut().expect("a revisit has a context");
        parent.graph.unplace_write(write);
        let from = &parent.graph;
        let waits = is_refused(from, read, write, &self.walk.sets);
        let keep = |n: Node| n <= read || n == write || from.porf_le(n, write);
        child.graph.assign_part(from, keep, read, &mut self.renaming);
        child.todo.clear();
        let (read, write) = (self.renaming[read.index()], self.renaming[write.index()]);
        let graph = &mut child.graph;
        if waits {
            graph.wait(read, write);
        } else {
            set_source(graph, read, write, variant, &self.walk.sets);
        }
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
            let consistent = self.checker.admits(graph, write) && (waits || self.checker.admits(graph, read));
            if consistent && let Some(other) = found.replace(position) {
                child.todo.push(Alternative::Position { write, position: other });
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

    /// The graph at hand and what is to be tried on it.
    pub(super) fn context(&self) -> &Context {
        self.contexts.last().expect("a run has a context")
    }
}

/// Does the guard of `read` not let the value of `write` through?
fn is_refused(graph: &Graph, read: Node, write: Node, sets: &WaitSets) -> bool {
    let (reading, writing) = (graph.node(read), graph.node(write));
    let guard = reading.access.guard();
    guard != Guard::Any && !sets.passes(guard, extract(graph.location(reading.place), &reading.access, writing.value))
}
