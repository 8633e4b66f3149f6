//! The questions that saturation leaves: a propositional solver (batsat) with a theory of orders.
//!
//! Unknown are the order of two writes to one location, the source of a read that has several, and, where both are
//! unknown, whether the read comes before another write. Each literal stands for edges between events, and the
//! theory's one axiom is that these, together with what is known already, have no cycle.

use super::orders::Orders;
use super::question::Question;
use batsat::{BasicSolver, Lit, SolverInterface, Theory, TheoryArg, lbool};
use fencepost_memory::graph::{Graph, Node, Place};
use fencepost_trace::Model;
use rustc_hash::FxHashMap;

/// Completes the orders and sources of `question`, if that is possible.
pub(super) fn solve(question: &mut Question, graph: &Graph, model: Model) -> bool {
    let mut encoding =
        Encoding { graph, solver: BasicSolver::default(), order: FxHashMap::default(), edges: Vec::new() };
    let mut selected = Vec::new();
    let mut exclusive: FxHashMap<(Place, u32), Vec<Option<Lit>>> = FxHashMap::default();
    for (i, read) in question.reads.iter().enumerate() {
        let sources = question.sources(read);
        let several = sources.len() > 1;
        let now = if question.is_final(read) { Node::INIT } else { graph.node(Node(read.event as u32)).source };
        let literal = |source: &u32| several.then(|| encoding.fresh(*source == now.0));
        let literals: Vec<Option<Lit>> = sources.iter().map(literal).collect();
        if read.write.is_some() {
            for (source, literal) in sources.iter().zip(&literals) {
                exclusive.entry((read.place, *source)).or_default().push(*literal);
            }
        }
        if several {
            encoding.clause(literals.iter().flatten().copied().collect());
            for (j, one) in literals.iter().flatten().enumerate() {
                literals.iter().flatten().skip(j + 1).for_each(|other| encoding.clause(vec![!*one, !*other]));
            }
        }
        let writes = graph.writes(read.place);
        let end = read.write.unwrap_or(read.event);
        for (source, chosen) in sources.iter().map(|s| *s as usize).zip(&literals) {
            let unless: Vec<Lit> = chosen.iter().map(|lit| !*lit).collect();
            if let Some(chosen) = chosen
                && question.is_behind(model, read, source)
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
                    let otherwise = chosen.is_none().then_some(first);
                    encoding.read_before(question, (read.event, now), other, otherwise)
                };
                encoding.either(&unless, &[first, second]);
            }
        }
        selected.push((i, literals));
    }
    // No two read-modify-writes read one write.
    for literals in exclusive.values() {
        for (i, one) in literals.iter().enumerate() {
            for other in &literals[i + 1..] {
                encoding.clause([one, other].into_iter().flatten().map(|literal| !*literal).collect());
            }
        }
    }
    let Encoding { mut solver, order, edges, .. } = encoding;
    let mut theory = Acyclic::new(question, edges);
    if solver.solve_limited_th(&mut theory, &[]) != lbool::TRUE {
        return false;
    }
    for (i, literals) in selected {
        if let Some(chosen) = literals.iter().position(|lit| lit.is_some_and(|l| solver.value_lit(l) == lbool::TRUE)) {
            question.choose(i, question.sources(&question.reads[i])[chosen]);
        }
    }
    for ((a, b), literal) in order {
        let (a, b) = if solver.value_lit(literal) == lbool::TRUE { (a, b) } else { (b, a) };
        question.orders.add(a, b).expect("internal error: the solver's order has a cycle");
    }
    // What follows for the reads.
    let consistent = question.conclude(model);
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

struct Encoding<'a> {
    /// What is tried first.
    graph: &'a Graph,
    solver: BasicSolver,
    /// For two writes, the first of the lower number: the literal that says that it comes before the other.
    order: FxHashMap<(usize, usize), Lit>,
    /// If the literal is true, the one event comes before the other.
    edges: Vec<(Lit, usize, usize)>,
}

impl Encoding<'_> {
    /// A new literal, and which of its values is tried first.
    fn fresh(&mut self, first: bool) -> Lit {
        let first = if first { lbool::TRUE } else { lbool::FALSE };
        Lit::new(self.solver.new_var(first, true), true)
    }

    fn position(&self, write: usize) -> u32 {
        self.graph.node(Node(write as u32)).position
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
                let literal = self.fresh(self.position(low) < self.position(high));
                self.order.insert((low, high), literal);
                self.edge(literal, low, high);
                self.edge(!literal, high, low);
                literal
            }
        };
        Known::Open(if a == low { literal } else { !literal })
    }

    /// The read comes before the write. If `otherwise` is all that could hold instead, no new literal is needed.
    fn read_before(
        &mut self,
        question: &Question,
        (read, source): (usize, Node),
        write: usize,
        otherwise: Option<Known>,
    ) -> Known {
        if question.orders.has(read, write) {
            return Known::Yes;
        }
        if question.orders.has(write, read) {
            return Known::No;
        }
        let literal = match otherwise {
            Some(Known::Open(literal)) => !literal,
            _ => self.fresh(self.position(source.index()) < self.position(write)),
        };
        self.edge(literal, read, write);
        Known::Open(literal)
    }
}

/// No cycle among the edges of true literals and the orders that are known. What these orders refute is told at once.
struct Acyclic<'a> {
    question: &'a Question,
    /// All edges, by literal.
    edges: Vec<(Lit, usize, usize)>,
    /// Where those of a literal are.
    spans: FxHashMap<Lit, (usize, usize)>,
    /// Those of the literals that are true.
    active: Vec<(Lit, usize, usize)>,
    /// What follows from these.
    orders: Orders,
    /// How many literals have been looked at.
    seen: usize,
    levels: Vec<(usize, usize, Orders)>,
    /// Orders that are not used any more, for the memory.
    spare: Vec<Orders>,
    /// For a literal that was told: the edge of its opposite that was refuted, and by how many active ones.
    told: FxHashMap<Lit, (usize, usize)>,
    explanation: Vec<Lit>,
}

impl<'a> Acyclic<'a> {
    fn new(question: &'a Question, mut edges: Vec<(Lit, usize, usize)>) -> Acyclic<'a> {
        edges.sort_unstable();
        let mut spans = FxHashMap::default();
        for (i, (literal, _, _)) in edges.iter().enumerate() {
            spans.entry(*literal).or_insert((i, i)).1 = i + 1;
        }
        let mut orders = Orders::default();
        orders.copy_from(&question.orders);
        let (active, levels, spare, told, explanation) = Default::default();
        Acyclic { question, edges, spans, active, orders, seen: 0, levels, spare, told, explanation }
    }

    fn check(&mut self, acts: &mut TheoryArg<'_>) {
        while self.seen < acts.model().len() {
            let literal = acts.model()[self.seen];
            self.seen += 1;
            let (first, last) = self.spans.get(&literal).copied().unwrap_or_default();
            for i in first..last {
                let (_, a, b) = self.edges[i];
                if self.orders.add(a, b).is_none() {
                    self.explain(b, a, self.active.len());
                    self.explanation.push(literal);
                    self.explanation.sort_unstable();
                    self.explanation.dedup();
                    let lemma: Vec<Lit> = self.explanation.iter().map(|literal| !*literal).collect();
                    acts.raise_conflict(&lemma, false);
                    return;
                }
                self.active.push((literal, a, b));
            }
        }
        for (i, (literal, a, b)) in self.edges.iter().enumerate() {
            if self.orders.has(*b, *a) && acts.value(literal.var()) == lbool::UNDEF {
                self.told.insert(!*literal, (i, self.active.len()));
                if !acts.propagate(!*literal) {
                    return;
                }
            }
        }
    }

    /// The literals by which `from` comes before `to`, among the first so many edges.
    fn explain(&mut self, from: usize, to: usize, edges: usize) {
        let known = &self.question.orders;
        let active = &self.active[..edges];
        // By event: was it reached, and by which edge?
        const BEGIN: u32 = u32::MAX;
        let mut by: Vec<Option<u32>> = vec![None; known.events()];
        by[from] = Some(BEGIN);
        known.each_after(from, |event| by[event] = Some(BEGIN));
        while by[to].is_none() {
            let mut more = false;
            for (i, (_, a, b)) in active.iter().enumerate() {
                if by[*a].is_some() && by[*b].is_none() {
                    more = true;
                    by[*b] = Some(i as u32);
                    known.each_after(*b, |event| _ = by[event].get_or_insert(i as u32));
                }
            }
            assert!(more, "internal error: an order without a reason");
        }
        self.explanation.clear();
        let mut at = by[to].expect("it was reached");
        while at != BEGIN {
            let (literal, a, _) = active[at as usize];
            self.explanation.push(literal);
            at = by[a].expect("it was reached before");
        }
        self.explanation.sort_unstable();
        self.explanation.dedup();
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
        let mut orders = self.spare.pop().unwrap_or_default();
        orders.copy_from(&self.orders);
        self.levels.push((self.active.len(), self.seen, orders));
    }

    fn pop_levels(&mut self, n: usize) {
        let kept = self.levels.len() - n;
        for (i, (active, seen, orders)) in self.levels.drain(kept..).enumerate() {
            let unused = if i == 0 {
                self.active.truncate(active);
                self.seen = seen;
                std::mem::replace(&mut self.orders, orders)
            } else {
                orders
            };
            self.spare.push(unused);
        }
    }

    fn n_levels(&self) -> usize {
        self.levels.len()
    }

    fn explain_propagation(&mut self, literal: Lit) -> &[Lit] {
        let (edge, active) = self.told[&literal];
        let (_, a, b) = self.edges[edge];
        self.explain(b, a, active);
        &self.explanation
    }
}
