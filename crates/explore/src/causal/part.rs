//! What an explorer has done and left to do, as a value: for one that goes on tomorrow, or for one whose work it
//! shares.
//!
//! A state that was expanded relies on what was known of threads then. Explorers that share the work learn different
//! things meanwhile. That does no harm: when their parts are put together, each such state is held against what all of
//! them know, and is taken up again if that is more than it relied on. So nothing is lost, whenever it happens.

use super::explorer::{Expanded, Explorer, Reliance};
use super::knowledge::{History, Told};
use super::steps::Steps;
use super::task::{Choice, Task};
use crate::graph::cells::Cells;
use fencepost_engine::{Threads, WaitSets};
use fencepost_trace::{Answers, Location};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// What one explorer has left, and knows, and has done since it began its part.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Part {
    cells: Cells,
    /// What values of condition variables stand for.
    sets: WaitSets,
    told: Told,
    /// Executions of which several states are a beginning, each once.
    executions: Vec<Steps>,
    open: Vec<Beginning>,
    expanded: Vec<Relying>,
    effort: Answers,
}

/// A state, and on what it relies that not all of its threads were asked: where the others are does not write here.
type Relying = (Beginning, Box<[Location]>, Box<[History]>);

/// A task: so many steps of an execution, by its number, and a read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Beginning {
    execution: u32,
    length: u32,
    choice: Option<Choice>,
}

/// Everything that an exploration needs to go on later.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Saved {
    pub(super) part: Part,
    pub(super) visited: Vec<u128>,
    pub(super) ended: Vec<u128>,
}

impl Saved {
    /// How many states were met.
    pub fn states(&self) -> usize {
        self.visited.len()
    }

    /// How many tasks are open.
    pub fn open(&self) -> usize {
        self.part.open.len()
    }

    /// Is nothing left to do?
    pub fn is_over(&self) -> bool {
        self.part.open.is_empty()
    }
}

/// Tells executions apart by where they are in memory.
#[derive(Default)]
struct Executions {
    numbers: FxHashMap<*const u8, u32>,
    list: Vec<Steps>,
}

impl Executions {
    fn beginning(&mut self, task: &Task) -> Beginning {
        let Task { steps, length, choice, .. } = task;
        let (next, list) = (self.list.len() as u32, &mut self.list);
        let number = match steps.is_empty() {
            // Nothing has no place in memory of its own.
            true => {
                list.push(steps.clone());
                next
            }
            false => *self.numbers.entry(steps.address()).or_insert_with(|| {
                list.push(steps.clone());
                next
            }),
        };
        Beginning { execution: number, length: *length, choice: *choice }
    }
}

impl<T: Threads> Explorer<T> {
    /// All that is left and known, while no run is under way.
    pub fn part(&self) -> Part {
        let mut executions = Executions::default();
        let open = self.tasks.iter().map(|task| executions.beginning(task)).collect();
        let mut expanded = Vec::new();
        for Expanded { task, reliance: Reliance { cells, others, .. } } in self.expanded.iter() {
            if let Some(task) = task {
                expanded.push((executions.beginning(task), cells.clone(), others.clone()));
            }
        }
        Part {
            cells: self.cells.clone(),
            sets: self.walk.sets.clone(),
            told: self.knowledge.tell(),
            executions: executions.list,
            open,
            expanded,
            effort: self.effort,
        }
    }

    /// The same; nothing is left here, and what was done so far is somebody else's to count.
    pub fn take_part(&mut self) -> Part {
        let part = self.part();
        self.tasks.clear();
        self.forget_expanded();
        self.effort = Answers::default();
        part
    }

    /// This explorer is a copy of another by now: of what that has done and left, only the open tasks are shared out.
    pub fn become_copy(&mut self) {
        self.knowledge.become_copy();
        self.forget_expanded();
        self.effort = Answers::default();
    }

    fn forget_expanded(&mut self) {
        self.others = self.next_watcher();
        self.expanded.clear();
    }

    /// Keeps every other open task: the first, third and so on if `first`, otherwise the rest.
    pub fn halve(&mut self, first: bool) {
        let mut keep = !first;
        self.tasks.retain(|_| {
            keep = !keep;
            keep
        });
    }

    /// Takes over what another explorer of the same exploration has left, and learns what it knows.
    pub fn absorb(&mut self, part: Part) {
        let Part { cells, sets, told, executions, open, expanded, effort } = part;
        if self.cells.is_fresh() {
            self.cells = cells;
        }
        self.walk.sets.learn(&sets);
        let task = |beginning: Beginning| {
            let Beginning { execution, length, choice } = beginning;
            Task { steps: executions[execution as usize].clone(), length, choice, last: None }
        };
        let ours = self.knowledge.learn(told);
        self.tasks.extend(open.into_iter().map(task));
        for (beginning, cells, others) in expanded {
            let others = others.iter().map(|history| ours(*history)).collect();
            self.watch(task(beginning), Reliance { cells, others, ..Reliance::default() });
        }
        self.effort.absorb(effort);
        self.wake();
    }

    /// Learns what another explorer of the same exploration knows of the program.
    pub(super) fn learn_from(&mut self, other: &Self) {
        // Which bytes belong together decides what an event is.
        if self.cells.is_fresh() {
            self.cells = other.cells.clone();
        }
        self.walk.sets.learn(&other.walk.sets);
        let _ = self.knowledge.learn(other.knowledge.tell());
        self.wake();
    }

    /// All that it takes to go on later.
    pub fn save(&self) -> Saved {
        Saved { part: self.part(), visited: self.visited.names(), ended: self.ended.names() }
    }

    /// Goes on from there.
    pub fn restore(&mut self, saved: Saved) {
        let Saved { part, visited, ended } = saved;
        self.tasks.clear();
        visited.into_iter().for_each(|name| _ = self.visited.insert(name));
        ended.into_iter().for_each(|name| _ = self.ended.insert(name));
        self.absorb(part);
    }
}
