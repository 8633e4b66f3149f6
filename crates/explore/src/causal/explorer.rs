//! The exploration: tasks, one after the other, and what each run of the program adds to them.

use super::chunks::Chunks;
use super::knowledge::{History, Knowledge, Label};
use super::posed::Posed;
use super::question::Desk;
use super::register::Register;
use super::run::{Ended, Run};
use super::task::{Last, Reader, Task, Whole};
use crate::graph::cells::Cells;
use crate::graph::walk::Walk;
use crate::graph::{ExploreError, Flow, Halt, Options, Restart, Stuck, Visitor};
use fencepost_engine::Threads;
use fencepost_memory::Checker;
use fencepost_memory::graph::Graph;
use fencepost_trace::{Answers, Location, Model};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Which executions are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Equivalence {
    /// Those in which every thread reads the same values in the same places.
    Values,
    /// Those in which every read reads from the same write.
    Sources,
}

/// A state of which not all threads were asked, because the others were not known to write where these read.
pub(super) struct Expanded {
    pub task: Option<Task>,
    pub reliance: Reliance,
}

/// On what it relies that not all threads of a state were asked. There is one for nearly every state: its lists have no
/// room to spare.
#[derive(Default)]
pub(super) struct Reliance {
    /// Where those who were asked read next.
    pub cells: Box<[Location]>,
    /// Where the others are.
    pub others: Box<[History]>,
    /// What some of them could have read.
    pub unasked: Box<[Unasked]>,
    /// The names of the states that this leads to, but for those that were met or cannot be.
    pub names: Box<[u128]>,
}

/// What a thread that was not asked could have read.
#[derive(Clone, Copy)]
pub(super) struct Unasked {
    pub history: History,
    /// Where.
    pub cell: Location,
    /// Which of the names: so many, from there on.
    pub first: u16,
    pub count: u16,
}

/// Explores one program under one model.
pub struct Explorer<T> {
    pub(super) options: Options,
    pub(super) equivalence: Equivalence,
    pub(super) walk: Walk<T>,
    pub(super) checker: Checker,
    pub(super) cells: Cells,
    pub(super) graph: Graph,
    pub(super) knowledge: Knowledge,
    pub(super) tasks: Vec<Task>,
    /// The states that were met, by the names of their histories.
    pub(super) visited: Box<dyn Register>,
    /// Those in which an execution ended.
    pub(super) ended: Box<dyn Register>,
    pub(super) expanded: Chunks<Expanded>,
    /// So many of those before the first of these are somebody else's.
    pub(super) others: u32,
    pub(super) effort: Answers,
    pub(super) desk: Desk,
    /// States that nobody goes on from any more, for their memory.
    pub(super) spare: Vec<Arc<Whole>>,
    /// How many states may be remembered; complete ones always are.
    pub(super) bound: usize,
}

impl<T: Threads> Explorer<T> {
    /// An exploration that has not begun. Models other than SC, TSO and PSO have no such exploration.
    pub fn new(program: T, options: Options, equivalence: Equivalence) -> Result<Self, ExploreError> {
        let checker = match options.model {
            Model::Sc | Model::Tso | Model::Pso => Some(Checker::new(options.model)),
            Model::Pslo | Model::C11 => None,
        };
        Ok(Explorer {
            options,
            equivalence,
            walk: Walk::new(program, true, options.max_events).told_of_creation_only(),
            checker: checker.ok_or(ExploreError::NoAxioms(options.model))?,
            cells: Cells::default(),
            graph: Graph::new(),
            knowledge: Knowledge::default(),
            tasks: Vec::new(),
            visited: Box::new(FxHashSet::default()),
            ended: Box::new(FxHashSet::default()),
            expanded: Chunks::default(),
            others: 0,
            effort: Answers::default(),
            desk: Desk::default(),
            spare: Vec::new(),
            bound: usize::MAX,
        })
    }

    /// Remembers no more than so many states. Past that, nothing is lost and no execution told twice, but runs are made
    /// that could have been left out.
    pub fn remembering(self, bound: Option<u64>) -> Self {
        let bound = bound.map_or(usize::MAX, |bound| usize::try_from(bound).unwrap_or(usize::MAX));
        Explorer { bound, ..self }
    }

    /// Takes note of states, and of those in which an execution ended, there: with others who do the same, if that is
    /// what the registers are for. The states noted so far are moved there.
    pub fn register_in(&mut self, visited: Box<dyn Register>, ended: Box<dyn Register>) {
        for (register, new) in [(&mut self.visited, visited), (&mut self.ended, ended)] {
            let mut old = std::mem::replace(register, new);
            old.names().into_iter().for_each(|name| _ = register.insert(name));
            old.clear();
        }
    }

    /// Keeps the questions that are asked from now on, but for those that the execution at hand answers as it is.
    pub fn keep_questions(&mut self) {
        self.desk.kept = Some(Vec::new());
    }

    /// Those that were kept so far.
    pub fn take_questions(&mut self) -> Vec<Posed> {
        self.desk.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The program.
    pub fn program(&self) -> &T {
        &self.walk.program
    }

    /// What the exploration has cost so far.
    pub fn effort(&self) -> Answers {
        Answers { remembered: (self.knowledge.len() + self.visited.len()) as u64, ..self.effort }
    }

    /// How many tasks are open.
    pub fn alternatives(&self) -> usize {
        self.tasks.len()
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
        self.tasks = vec![Task::root()];
        loop {
            let mut visitor = begin();
            if self.explore_on(&mut visitor, &mut between)? != Halt::Anew {
                return Ok(visitor);
            }
        }
    }

    /// Goes on with what is open, until nothing is or somebody stops it. If accesses turn out to overlap, all has to
    /// begin anew: everything is open again, and what the visitor was told of is worth nothing.
    pub fn explore_on<V: Visitor<T>>(
        &mut self,
        visitor: &mut V,
        between: impl FnMut(&mut Self) -> Flow,
    ) -> Result<Halt, ExploreError> {
        match self.explore_open(visitor, between) {
            Ok(Flow::Continue(())) => Ok(Halt::Done),
            Ok(Flow::Break(())) => Ok(Halt::Stopped),
            Err(Restart::Anew(merged)) => {
                self.start_over(*merged);
                Ok(Halt::Anew)
            }
            Err(Restart::Error(error)) => Err(error),
        }
    }

    /// Everything is open, of a program of which it is known which bytes belong together.
    pub(super) fn start_over(&mut self, cells: Cells) {
        self.cells = cells;
        self.knowledge = Knowledge::default();
        self.forget_states();
        self.expanded.clear();
        self.others = 0;
        self.effort = Answers::default();
        self.tasks = vec![Task::root()];
    }

    /// No state has been met.
    pub fn forget_states(&mut self) {
        self.visited.clear();
        self.ended.clear();
    }

    /// Everything is open.
    pub fn open_all(&mut self) {
        self.tasks = vec![Task::root()];
    }

    /// Explores all open tasks.
    pub(super) fn explore_open<V: Visitor<T>>(
        &mut self,
        visitor: &mut V,
        mut between: impl FnMut(&mut Self) -> Flow,
    ) -> Result<Flow, Restart<Cells>> {
        while let Some(mut task) = self.tasks.pop() {
            if let Some(reliance) = self.is_met_anyway(&task) {
                self.watch(task, reliance);
                self.wake();
                continue;
            }
            let ended = Run::new(self, &task).run().and_then(|ended| self.make_real(ended));
            self.use_again(task.take_whole());
            let flow = match ended {
                Ok(ended) => self.tell(ended, visitor),
                Err(error) => {
                    return Err(match self.cells.take_merged() {
                        Some(merged) => Restart::Anew(Box::new(merged)),
                        None => Restart::Error(error),
                    });
                }
            };
            self.wake();
            if flow.is_break() || between(self).is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(Flow::Continue(()))
    }

    /// Does whatever comes of a state lead through states that were met? That is so if some thread cannot wait and
    /// reads where nobody else may write: it alone may be asked what it reads, and if all of that was met, nothing is
    /// left. Says what this relies on: where it reads, and the histories of the others.
    fn is_met_anyway(&self, task: &Task) -> Option<Reliance> {
        let Last { before, thread, label, .. } = task.last.as_deref()?;
        let knowledge = &self.knowledge;
        let at = before.histories[thread.index()]?;
        let now = knowledge.known_after(at, *label)?;
        let name = knowledge.name_of_state(before.name, at, *label);
        let met = before.readers.iter().find(|reader| {
            let Reader { thread: asked, cell, labels, all } = reader;
            let history = |t: usize| if t == thread.index() { Some(now) } else { before.histories[t] };
            let mut others = (0..before.histories.len()).filter(|t| *t != asked.index()).filter_map(history);
            asked != thread
                && !knowledge.writes_here(now, *cell)
                // What is impossible stays so, unless something new can be read instead of something else.
                && (*all || self.equivalence == Equivalence::Sources || knowledge.is_quiet(now))
                && !others.any(|other| knowledge.may_write(other, *cell))
                && before.histories[asked.index()].is_some_and(|at| {
                    let is_met = |label: &Label| self.visited.contains(knowledge.name_of_state(name, at, *label));
                    labels.iter().all(is_met)
                })
        })?;
        let history = |t: usize| if t == thread.index() { Some(now) } else { before.histories[t] };
        let others = (0..before.histories.len()).filter(|t| *t != met.thread.index()).filter_map(history);
        Some(Reliance { cells: Box::new([met.cell]), others: others.collect(), ..Reliance::default() })
    }

    /// Whoever is told of an execution finds the program there.
    fn make_real(&mut self, ended: Ended) -> Result<Ended, ExploreError> {
        if matches!(ended, Ended::InVain) {
            return Ok(ended);
        }
        let program = &mut self.walk.program;
        program.run_for_real();
        match program.diverged() {
            Some(thread) => Err(ExploreError::Nondeterministic(thread)),
            None if program.is_abandoned() => Ok(Ended::InVain),
            None => Ok(ended),
        }
    }

    fn tell<V: Visitor<T>>(&mut self, ended: Ended, visitor: &mut V) -> Flow {
        let (program, graph, ends) = (&self.walk.program, &self.graph, &self.walk.ends);
        let tell_ends = |visitor: &mut V, graph: &Graph| {
            ends.iter().try_for_each(|end| {
                let others: Vec<_> = ends.iter().map(|e| e.thread).filter(|other| *other != end.thread).collect();
                visitor.ended(program, graph, *end, &others)
            })
        };
        match ended {
            Ended::InVain => {
                self.effort.in_vain += 1;
                Flow::Continue(())
            }
            Ended::Complete | Ended::Observed(_) if !ends.is_empty() => tell_ends(visitor, graph),
            Ended::Complete => visitor.execution(program, graph),
            Ended::Observed(graphs) => graphs.iter().try_for_each(|graph| visitor.execution(program, graph)),
            Ended::Stuck(stuck) => {
                visitor.stuck(program, graph, stuck.clone())?;
                if stuck == Stuck::Limit { tell_ends(visitor, graph) } else { Flow::Continue(()) }
            }
        }
    }

    /// Takes a state up again when it becomes known that one of the others is followed by a write to one of the cells.
    pub(super) fn watch(&mut self, mut task: Task, reliance: Reliance) {
        self.use_again(task.take_whole());
        let watcher = self.next_watcher();
        // What became known meanwhile was not watched.
        self.knowledge.grown.push(watcher);
        reliance.others.iter().for_each(|history| self.knowledge.watch(*history, watcher));
        self.expanded.push(Expanded { task: Some(task), reliance });
    }

    /// Takes up again states where more threads have to be asked, by what is known now. Where all that such a thread
    /// could read leads to states that were met, there is nothing to ask: it counts as asked.
    pub(super) fn wake(&mut self) {
        let mut grown = std::mem::take(&mut self.knowledge.grown);
        grown.sort_unstable();
        grown.dedup();
        for watcher in grown.drain(..) {
            // The copies of others are theirs.
            let Some(own) = watcher.checked_sub(self.others) else { continue };
            let Expanded { task, reliance } = self.expanded.get_mut(own as usize);
            while task.is_some() {
                let Reliance { cells, others, unasked, names } = reliance;
                let concerns = |other: &History| cells.iter().any(|cell| self.knowledge.may_write(*other, *cell));
                let Some(other) = others.iter().position(concerns) else { break };
                let is_met = |one: &Unasked| {
                    let names = &names[one.first as usize..][..one.count as usize];
                    one.history == others[other] && names.iter().all(|name| self.visited.contains(*name))
                };
                if let Some(met) = unasked.iter().position(is_met) {
                    let met = take_out(unasked, met);
                    *cells = cells.iter().copied().chain([met.cell]).collect();
                    take_out(others, other);
                } else {
                    self.tasks.extend(task.take());
                    *reliance = Reliance::default();
                }
            }
        }
        self.knowledge.grown = grown;
    }

    /// Nobody goes on from this state any more, unless others have it, too.
    fn use_again(&mut self, whole: Option<Arc<Whole>>) {
        self.spare.extend(whole.filter(|whole| Arc::strong_count(whole) == 1));
    }

    /// Takes note of a state, by its name. Says whether it is new, as far as is remembered.
    pub(super) fn is_new(&mut self, name: u128) -> bool {
        let has_room = self.bound == usize::MAX || self.visited.len() < self.bound;
        if has_room { self.visited.insert(name) } else { !self.visited.contains(name) }
    }

    /// The number of the next state that is noted as not asked of everybody.
    pub(super) fn next_watcher(&self) -> u32 {
        self.others + self.expanded.len() as u32
    }
}

/// Removes one from a list, the order of which means nothing.
fn take_out<E: Copy>(list: &mut Box<[E]>, at: usize) -> E {
    let mut rest = std::mem::take(list).into_vec();
    let taken = rest.swap_remove(at);
    *list = rest.into_boxed_slice();
    taken
}
