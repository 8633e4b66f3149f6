//! Questions as they were asked, for other solvers: to check answers, and to compare how long they take.

use super::question::{Desk, Question, is_external};
use fencepost_memory::Checker;
use fencepost_memory::graph::{Flags, Graph, Node, Place};
use fencepost_trace::{Answers, Model};

/// A question and its answer.
#[derive(Clone, Debug)]
pub struct Posed {
    graph: Graph,
    checker: Checker,
    /// For each read what it may read.
    sources: Vec<(Node, Vec<u32>)>,
    finals: Vec<(Place, Vec<u32>)>,
    answer: bool,
    by_solver: bool,
}

/// A question without the words of graphs: is there a strict order of events, and for each read one of its sources,
/// such that all of these hold?
#[derive(Clone, Debug, Default)]
pub struct Puzzle {
    /// Events are numbers below this.
    pub events: usize,
    /// For each read what it may read: one of these.
    pub reads: Vec<Vec<u32>>,
    /// What must hold.
    pub constraints: Vec<Constraint>,
}

/// If a read reads this, one of these pairs is in order.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// The read, by its place in the list, and its source; always, if there is none.
    pub reads: Option<(usize, u32)>,
    /// The first comes before the second, for one of these.
    pub one_of: Vec<(usize, usize)>,
}

impl Posed {
    pub(super) fn new(graph: &Graph, checker: &Checker, question: &Question, finals: &[(Place, Vec<u32>)]) -> Posed {
        let reads = question.reads.iter().filter(|read| !question.is_final(read));
        let sources = reads.map(|read| (Node(read.event as u32), question.sources(read).to_vec())).collect();
        let (graph, checker, finals) = (graph.clone(), checker.clone(), finals.to_vec());
        Posed { graph, checker, sources, finals, answer: false, by_solver: false }
    }

    pub(super) fn answered(self, answer: bool, by_solver: bool) -> Posed {
        Posed { answer, by_solver, ..self }
    }

    /// Did saturation leave it to the solver?
    pub fn is_by_solver(&self) -> bool {
        self.by_solver
    }

    /// What the answer was.
    pub fn answer(&self) -> bool {
        self.answer
    }

    /// Asks again, from the start, and notes how it was answered.
    pub fn ask(&self, answers: &mut Answers) -> bool {
        let sources = |node: Node, list: &mut Vec<u32>| list.extend_from_slice(self.sources_of(node));
        Desk::default().ask(&self.graph, &self.checker, sources, &self.finals, answers).is_some()
    }

    /// Asks the solver alone, without saturation: it is told the rules and nothing that follows from them.
    pub fn ask_solver(&self) -> bool {
        let sources = |node: Node, list: &mut Vec<u32>| list.extend_from_slice(self.sources_of(node));
        Desk::default().ask_solver(&self.graph, &self.checker, sources, &self.finals)
    }

    fn sources_of(&self, node: Node) -> &[u32] {
        let known = self.sources.iter().find(|(read, _)| *read == node);
        &known.expect("every read has sources").1
    }

    /// The same question for somebody else: from the rules as they are written down, nothing concluded.
    pub fn puzzle(&self) -> Puzzle {
        let (graph, checker) = (&self.graph, &self.checker);
        let mut puzzle = Puzzle { events: graph.len() + self.finals.len(), ..Puzzle::default() };
        let mut always = |a: usize, b: usize| {
            puzzle.constraints.push(Constraint { reads: None, one_of: vec![(a, b)] });
        };
        for i in 1..graph.len() {
            always(0, i);
            checker.program_order(graph, Node(i as u32), |later| always(i, later.index()));
        }
        for place in (0..graph.places() as u32).map(Place) {
            for first in &graph.writes(place)[1..] {
                for second in &graph.writes(place)[1..] {
                    let (a, b) = (graph.node(*first), graph.node(*second));
                    if a.thread == b.thread && a.index < b.index {
                        always(first.index(), second.index());
                    }
                }
            }
        }
        for (i, (place, _)) in self.finals.iter().enumerate() {
            graph.writes(*place).iter().for_each(|write| always(write.index(), graph.len() + i));
        }
        for (read, sources) in &self.sources {
            let data = graph.node(*read);
            let write = graph.next(*read).filter(|_| data.flags.has(Flags::EXCLUSIVE)).map(Node::index);
            let mine = |n: &&Node| graph.node(**n).place == data.place && graph.node(**n).flags.has(Flags::WRITE);
            let own = graph.thread(data.thread)[..data.index as usize].iter().rev().find(mine).map(|n| n.index());
            let waits = |source: usize| checker.model() == Model::Sc || is_external(graph, read.index(), source);
            self.add_read(&mut puzzle, (read.index(), write, own), data.place, sources, waits);
        }
        for (i, (place, sources)) in self.finals.iter().enumerate() {
            self.add_read(&mut puzzle, (graph.len() + i, None, None), *place, sources, |_| true);
        }
        puzzle
    }

    fn add_read(
        &self,
        puzzle: &mut Puzzle,
        (event, write, own): (usize, Option<usize>, Option<usize>),
        place: Place,
        sources: &[u32],
        waits: impl Fn(usize) -> bool,
    ) {
        let number = puzzle.reads.len();
        puzzle.reads.push(sources.to_vec());
        for source in sources {
            let mut demand = |one_of| puzzle.constraints.push(Constraint { reads: Some((number, *source)), one_of });
            let chosen = *source as usize;
            if waits(chosen) {
                demand(vec![(chosen, event)]);
            }
            if let Some(own) = own.filter(|own| *own != chosen) {
                demand(vec![(own, chosen)]);
            }
            for other in self.graph.writes(place).iter().map(|other| other.index()) {
                if other != chosen && Some(other) != write {
                    demand(vec![(other, chosen), (write.unwrap_or(event), other)]);
                }
            }
        }
    }
}
