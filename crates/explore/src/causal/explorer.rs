//! The exploration: tasks, one after the other, and what each run of the program adds to them.

use super::knowledge::Knowledge;
use super::run::{Ended, Run};
use super::task::{PutOff, Task};
use crate::graph::cells::Cells;
use crate::graph::walk::Walk;
use crate::graph::{ExploreError, Flow, Options, Restart, Stuck, Visitor};
use fencepost_engine::Threads;
use fencepost_memory::Checker;
use fencepost_memory::graph::Graph;
use fencepost_trace::{Access, Answers, Location, Model, ThreadId};
use rustc_hash::FxHashSet;

use super::knowledge::{History, Label};

/// Which executions are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Equivalence {
    /// Those in which every thread reads the same values in the same places.
    Values,
    /// Those in which every read reads from the same write.
    Sources,
}

/// What an exploration has cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Effort {
    /// How many questions were answered, and how.
    pub answers: Answers,
    /// Runs of the program that came to nothing: what they waited for never came.
    pub in_vain: u64,
    /// How many histories of threads, and tasks put aside, are remembered.
    pub remembered: u64,
}

/// What was put aside because nothing is known that it could wait for.
pub(super) struct Dormant {
    pub task: Option<Task>,
    /// The thread that waits in vain, and for what. `None` if reads have no source.
    pub waits: Option<(ThreadId, Access, Location)>,
    /// Where all threads are.
    pub histories: Vec<Option<History>>,
    /// If something is there that it cannot read: what was read so far and might be read from elsewhere, and how
    /// many ways for that were known.
    pub reads: Option<(FxHashSet<(Location, u128)>, usize)>,
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
    pub(super) dormant: Vec<Dormant>,
    pub(super) effort: Effort,
    /// How much may be remembered; beyond, nothing is put aside.
    pub(super) bound: usize,
}

impl<T: Threads> Explorer<T> {
    /// An exploration that has not begun. Models other than SC, TSO and PSO have no such exploration.
    pub fn new(program: T, options: Options, equivalence: Equivalence) -> Result<Self, ExploreError> {
        let checker = match options.model {
            Model::Sc | Model::Tso | Model::Pso => Checker::new(options.model),
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
            dormant: Vec::new(),
            effort: Effort::default(),
            bound: usize::MAX,
        })
    }

    /// Remembers no more than so many histories and tasks put aside. Beyond, nothing is lost, but runs are made that
    /// could have been left out.
    pub fn remembering(self, bound: usize) -> Self {
        Explorer { bound, ..self }
    }

    /// The program.
    pub fn program(&self) -> &T {
        &self.walk.program
    }

    /// What the exploration has cost so far.
    pub fn effort(&self) -> Effort {
        Effort { remembered: (self.knowledge.len() + self.dormant.len()) as u64, ..self.effort }
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
        loop {
            let mut visitor = begin();
            self.tasks = vec![Task::root()];
            match self.explore_open(&mut visitor, &mut between) {
                Ok(_) => return Ok(visitor),
                Err(Restart::Merged(merged)) => self.start_over(merged),
                Err(Restart::Error(error)) => return Err(error),
            }
        }
    }

    fn start_over(&mut self, cells: Cells) {
        self.cells = cells;
        self.knowledge = Knowledge::default();
        self.dormant.clear();
        self.effort = Effort::default();
    }

    /// Explores all open tasks.
    pub(super) fn explore_open<V: Visitor<T>>(
        &mut self,
        visitor: &mut V,
        mut between: impl FnMut(&mut Self) -> Flow,
    ) -> Result<Flow, Restart> {
        while let Some(task) = self.tasks.pop() {
            let flow = match Run::new(self, &task).run() {
                Ok(ended) => self.tell(ended, visitor),
                Err(error) => {
                    return Err(match self.cells.take_merged() {
                        Some(merged) => Restart::Merged(merged),
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
            Ended::Complete(_) if !ends.is_empty() => tell_ends(visitor, graph),
            Ended::Complete(graphs) => graphs.iter().try_for_each(|graph| visitor.execution(program, graph)),
            Ended::Stuck(stuck) => {
                visitor.stuck(program, graph, stuck.clone())?;
                if stuck == Stuck::Limit { tell_ends(visitor, graph) } else { Flow::Continue(()) }
            }
        }
    }

    /// Takes up what was put aside and now has something to wait for.
    fn wake(&mut self) {
        let mut grown = std::mem::take(&mut self.knowledge.grown);
        grown.sort_unstable();
        grown.dedup();
        for watcher in grown.drain(..) {
            let dormant = &self.dormant[watcher as usize];
            let Some(task) = &dormant.task else { continue };
            if self.has_hope(dormant, task) {
                let task = self.dormant[watcher as usize].task.take().expect("it is there");
                let forget = |put_off: PutOff| PutOff { impossible: Vec::new(), ..put_off };
                self.tasks.push(Task { put_off: task.put_off.into_iter().map(forget).collect(), ..task });
            }
        }
        self.knowledge.grown = grown;
    }

    /// Is something known that it could wait for?
    fn has_hope(&self, dormant: &Dormant, task: &Task) -> bool {
        let all = || dormant.histories.iter().flatten();
        if let Some((thread, access, cell)) = &dormant.waits {
            let put_off = task.put_off(*thread).expect("it was put off");
            let future = |history: &History| {
                let known = self.knowledge.future(*history, *cell);
                self.offers(known, access, *cell, &put_off.labels)
            };
            let mut others = dormant.histories.iter().enumerate().filter(|(t, _)| *t != thread.index());
            if others.any(|(_, history)| history.as_ref().is_some_and(future)) || self.can_stay(all(), access, *cell) {
                return true;
            }
        }
        // Others may read the same from elsewhere, so that what was impossible is possible.
        dormant.reads.as_ref().is_some_and(|(reads, known)| {
            all().map(|history| self.knowledge.offers_again(*history, reads)).sum::<usize>() > *known
        })
    }

    /// Is something among `known` that the access may read, besides these?
    pub(super) fn offers(
        &self,
        known: impl Iterator<Item = super::knowledge::Written>,
        access: &Access,
        cell: Location,
        besides: &[Label],
    ) -> bool {
        let mut known = known;
        known.any(|written| match written {
            super::knowledge::Written::Any => !self.only_passes_one_of(access, besides),
            super::knowledge::Written::Key(key) => {
                self.labels(access, cell, key).any(|label| !besides.contains(&label))
            }
        })
    }

    /// Do the labels exhaust what the guard lets through?
    fn only_passes_one_of(&self, access: &Access, labels: &[Label]) -> bool {
        match access.guard() {
            fencepost_trace::Guard::Equals(value) => {
                self.labels_of_value(access, value).all(|label| labels.contains(&label))
            }
            _ => false,
        }
    }

    /// May a thread stay at this access forever? Somebody must be known to stop with a last write that does not let it
    /// through.
    pub(super) fn can_stay<'a>(
        &self,
        histories: impl Iterator<Item = &'a History>,
        access: &Access,
        cell: Location,
    ) -> bool {
        let refuses = |key: u128| !self.walk.sets.passes(access.guard(), fencepost_trace::Value(key));
        if access.guard() == fencepost_trace::Guard::Any {
            return false;
        }
        if cell.as_hidden().is_none() || refuses(self.walk.program.initial(cell).0) {
            return true;
        }
        let mut histories = histories;
        histories.any(|history| self.knowledge.last_writes(*history, cell).any(refuses))
    }
}
