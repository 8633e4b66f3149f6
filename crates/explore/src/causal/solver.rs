//! The questions that saturation leaves: a propositional solver (batsat) with a theory of orders.
//!
//! Unknown are the order of two writes to one location, the source of a read that has several, and, where both are
//! unknown, whether the read comes before another write. Each literal stands for edges between events, and the
//! theory's one axiom is that these, together with what is known already, have no cycle.

use super::question::{Question, is_external};
use batsat::{BasicSolver, Lit, SolverInterface, Theory, TheoryArg, lbool};
use fencepost_memory::graph::Graph;
use fencepost_trace::Model;
use rustc_hash::FxHashMap;

/// Completes the orders and sources of `question`, if that is possible.
pub(super) fn solve(question: &mut Question, graph: &Graph, model: Model) -> bool {
    let mut encoding = Encoding { solver: BasicSolver::default(), order: FxHashMap::default(), edges: Vec::new() };
    let mut selected = Vec::new();
    for (i, read) in question.reads.iter().enumerate() {
        let several = read.sources.len() > 1;
        let literals: Vec<Option<Lit>> = read.sources.iter().map(|_| several.then(|| encoding.fresh())).collect();
        if several {
            encoding.clause(literals.iter().flatten().copied().collect());
            for (j, one) in literals.iter().flatten().enumerate() {
                literals.iter().flatten().skip(j + 1).for_each(|other| encoding.clause(vec![!*one, !*other]));
            }
        }
        let writes = graph.writes(read.place);
        let end = read.write.unwrap_or(read.event);
        for (source, chosen) in read.sources.iter().map(|s| *s as usize).zip(&literals) {
            let unless: Vec<Lit> = chosen.iter().map(|lit| !*lit).collect();
            if let Some(chosen) = chosen
                && (question.is_final(read) || model == Model::Sc || is_external(graph, read, source))
            {
                encoding.edge(*chosen, source, read.event);
            }
            if let Some(own) = read.own.filter(|own| *own != source) {
                let known = encoding.before(question, own, source);
                encoding.either(&unless, &[known]);
            }
            for other in writes.iter().map(|w| w.index()) {
                if other == source || Some(other) == read.write {
                    continue;
                }
                let first = encoding.before(question, other, source);
                let second = if read.write.is_some() {
                    encoding.before(question, end, other)
                } else {
                    encoding.read_before(question, read.event, other, chosen.is_none().then_some(first))
                };
                encoding.either(&unless, &[first, second]);
            }
        }
        selected.push((i, literals));
    }
    let Encoding { mut solver, order, edges } = encoding;
    let mut theory = Acyclic::new(question, edges);
    if solver.solve_limited_th(&mut theory, &[]) != lbool::TRUE {
        return false;
    }
    for (i, literals) in selected {
        if let Some(chosen) = literals.iter().position(|lit| lit.is_some_and(|l| solver.value_lit(l) == lbool::TRUE)) {
            question.reads[i].sources = vec![question.reads[i].sources[chosen]];
        }
    }
    for ((a, b), literal) in order {
        let (a, b) = if solver.value_lit(literal) == lbool::TRUE { (a, b) } else { (b, a) };
        question.orders.add(a, b).expect("internal error: the solver's order has a cycle");
    }
    // What follows for the reads.
    let consistent = question.conclude(graph, model);
    debug_assert!(consistent);
    consistent
}

/// What is known of a statement.
#[derive(Clone, Copy)]
enum Known {
    Yes,
    No,
    Open(Lit),
}

struct Encoding {
    solver: BasicSolver,
    /// For two writes, the first of the lower number: the literal that says that it comes before the other.
    order: FxHashMap<(usize, usize), Lit>,
    /// If the literal is true, the one event comes before the other.
    edges: Vec<(Lit, usize, usize)>,
}

impl Encoding {
    fn fresh(&mut self) -> Lit {
        Lit::new(self.solver.new_var_default(), true)
    }

    fn clause(&mut self, mut clause: Vec<Lit>) {
        self.solver.add_clause_reuse(&mut clause);
    }

    fn edge(&mut self, literal: Lit, a: usize, b: usize) {
        self.edges.push((literal, a, b));
    }

    /// One of the statements holds, or one of the literals.
    fn either(&mut self, literals: &[Lit], statements: &[Known]) {
        let mut clause = literals.to_vec();
        for statement in statements {
            match statement {
                Known::Yes => return,
                Known::No => {}
                Known::Open(literal) => clause.push(*literal),
            }
        }
        self.clause(clause);
    }

    /// Write `a` comes before write `b`.
    fn before(&mut self, question: &Question, a: usize, b: usize) -> Known {
        if question.orders.has(a, b) {
            return Known::Yes;
        }
        if a == b || question.orders.has(b, a) {
            return Known::No;
        }
        let (low, high) = (a.min(b), a.max(b));
        let literal = match self.order.get(&(low, high)) {
            Some(literal) => *literal,
            None => {
                let literal = self.fresh();
                self.order.insert((low, high), literal);
                self.edge(literal, low, high);
                self.edge(!literal, high, low);
                literal
            }
        };
        Known::Open(if a == low { literal } else { !literal })
    }

    /// The read comes before the write. If `otherwise` is all that could hold instead, no new literal is needed.
    fn read_before(&mut self, question: &Question, read: usize, write: usize, otherwise: Option<Known>) -> Known {
        if question.orders.has(read, write) {
            return Known::Yes;
        }
        if question.orders.has(write, read) {
            return Known::No;
        }
        let literal = match otherwise {
            Some(Known::Open(literal)) => !literal,
            _ => self.fresh(),
        };
        self.edge(literal, read, write);
        Known::Open(literal)
    }
}

/// No cycle among the edges of true literals and the orders that are known.
struct Acyclic<'a> {
    question: &'a Question,
    edges: FxHashMap<Lit, Vec<(usize, usize)>>,
    active: Vec<(Lit, usize, usize)>,
    /// How many literals have been looked at.
    seen: usize,
    levels: Vec<(usize, usize)>,
}

impl<'a> Acyclic<'a> {
    fn new(question: &'a Question, edges: Vec<(Lit, usize, usize)>) -> Acyclic<'a> {
        let mut table: FxHashMap<Lit, Vec<(usize, usize)>> = FxHashMap::default();
        edges.into_iter().for_each(|(literal, a, b)| table.entry(literal).or_default().push((a, b)));
        debug_assert!(question.events() > 0);
        Acyclic { question, edges: table, active: Vec::new(), seen: 0, levels: Vec::new() }
    }

    fn check(&mut self, acts: &mut TheoryArg<'_>) {
        while self.seen < acts.model().len() {
            let literal = acts.model()[self.seen];
            self.seen += 1;
            for (a, b) in self.edges.get(&literal).cloned().unwrap_or_default() {
                self.active.push((literal, a, b));
                if let Some(cycle) = self.cycle(a, b) {
                    let lemma: Vec<Lit> = cycle.into_iter().map(|lit| !lit).collect();
                    acts.raise_conflict(&lemma, false);
                    return;
                }
            }
        }
    }

    /// The literals of a cycle through the edge added last, from `a` to `b`.
    fn cycle(&self, a: usize, b: usize) -> Option<Vec<Lit>> {
        let orders = &self.question.orders;
        let leads = |from: usize, to: usize| from == to || orders.has(from, to);
        // Breadth first over edges; each remembers the one before it.
        let last = self.active.len() - 1;
        let mut before: Vec<Option<usize>> = vec![None; self.active.len()];
        let mut queue = vec![last];
        let mut next = 0;
        let mut known = vec![false; self.active.len()];
        known[last] = true;
        debug_assert_eq!((self.active[last].1, self.active[last].2), (a, b));
        while next < queue.len() {
            let at = queue[next];
            next += 1;
            if leads(self.active[at].2, a) {
                let mut literals = vec![self.active[at].0];
                let mut step = at;
                while let Some(previous) = before[step] {
                    literals.push(self.active[previous].0);
                    step = previous;
                }
                literals.sort_unstable();
                literals.dedup();
                return Some(literals);
            }
            for (i, edge) in self.active.iter().enumerate() {
                if !known[i] && leads(self.active[at].2, edge.1) {
                    known[i] = true;
                    before[i] = Some(at);
                    queue.push(i);
                }
            }
        }
        None
    }
}

impl Theory for Acyclic<'_> {
    fn final_check(&mut self, acts: &mut TheoryArg<'_>) {
        self.check(acts);
    }

    fn partial_check(&mut self, acts: &mut TheoryArg<'_>) {
        self.check(acts);
    }

    fn create_level(&mut self) {
        self.levels.push((self.active.len(), self.seen));
    }

    fn pop_levels(&mut self, n: usize) {
        let kept = self.levels.len() - n;
        if let Some((active, seen)) = self.levels.get(kept).copied() {
            self.active.truncate(active);
            self.seen = seen;
        }
        self.levels.truncate(kept);
    }

    fn n_levels(&self) -> usize {
        self.levels.len()
    }

    fn explain_propagation(&mut self, _: Lit) -> &[Lit] {
        &[]
    }
}
