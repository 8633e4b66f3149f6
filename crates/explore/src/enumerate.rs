//! Every choice of a machine, one execution after the other.
//!
//! This is how the machines are checked against the axioms, and how models without axioms are explored. It walks the tree
//! of choices depth first, running the program anew for each leaf. One reduction keeps the tree small: a step that no other thread
//! can notice (a store into its own buffer) is taken at once, for it commutes with everything.

use crate::execute::{Executed, executed};
use crate::graph::Flow;
use fencepost_engine::{Actor, Execution, Pending, Strategy, Threads, run};
use fencepost_memory::{C11, Machine, Pslo, Pso, Sc, Source, Tso};
use fencepost_trace::{Limits, Model, ThreadId};

/// How far an enumeration went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Enumerated {
    /// How many executions were run.
    pub executions: u64,
    /// Was every choice tried?
    pub complete: bool,
}

/// Runs every execution that the machine of `model` permits, and shows each to `visit`, which may stop it.
/// After `max_executions` it stops too.
pub fn enumerate<T: Threads>(
    program: &mut T,
    model: Model,
    buffer: Option<u32>,
    limits: Limits,
    max_executions: u64,
    visit: impl FnMut(&T, &Executed) -> Flow,
) -> Enumerated {
    match model {
        Model::Sc => enumerate_on(Sc::default(), program, limits, max_executions, visit),
        Model::Tso => enumerate_on(Tso::with_buffer(buffer), program, limits, max_executions, visit),
        Model::Pso => enumerate_on(Pso::with_buffer(buffer), program, limits, max_executions, visit),
        Model::Pslo => enumerate_on(Pslo::default(), program, limits, max_executions, visit),
        Model::C11 => enumerate_on(C11::default(), program, limits, max_executions, visit),
    }
}

fn enumerate_on<M: Machine, T: Threads>(
    machine: M,
    program: &mut T,
    limits: Limits,
    max_executions: u64,
    mut visit: impl FnMut(&T, &Executed) -> Flow,
) -> Enumerated {
    let mut execution = Execution::new(machine);
    let mut tree = Tree::default();
    let mut executions = 0;
    loop {
        if executions == max_executions {
            return Enumerated { executions, complete: false };
        }
        tree.depth = 0;
        run(&mut execution, program, &mut tree, limits);
        executions += 1;
        if visit(program, &executed(&execution, program)).is_break() {
            return Enumerated { executions, complete: false };
        }
        if !tree.next() {
            return Enumerated { executions, complete: true };
        }
    }
}

/// The path from the root of the tree of choices to the leaf at hand.
#[derive(Default)]
struct Tree {
    /// The answer at each choice, and how many there are.
    path: Vec<(u32, u32)>,
    depth: usize,
}

impl Tree {
    fn answer(&mut self, ways: usize) -> u32 {
        if self.depth == self.path.len() {
            self.path.push((0, ways as u32));
        }
        let (answer, known) = self.path[self.depth];
        assert_eq!(known as usize, ways, "internal error: the same choices led to another choice");
        self.depth += 1;
        answer
    }

    /// On to the next leaf; false if this was the last.
    fn next(&mut self) -> bool {
        while let Some((answer, ways)) = self.path.last_mut() {
            *answer += 1;
            if *answer < *ways {
                return true;
            }
            self.path.pop();
        }
        false
    }
}

impl Strategy for Tree {
    fn actor(&mut self, actors: &[Actor], pending: &dyn Fn(ThreadId) -> Pending) -> usize {
        let local = |actor: &Actor| matches!(actor, Actor::Thread(thread) if pending(*thread).local);
        match actors.iter().position(local) {
            Some(own_affair) => own_affair,
            None => self.answer(actors.len()) as usize,
        }
    }

    fn source(&mut self, _: ThreadId, sources: &[Source]) -> usize {
        self.answer(sources.len()) as usize
    }

    fn variant(&mut self, _: ThreadId, ways: u32) -> u32 {
        self.answer(ways as usize)
    }
}
