//! Can every thread read these values? A question of order alone.
//!
//! Given are the events of an execution: what the program alone preserves of their order under the model, for every
//! read the writes that it may read, for some locations the writes that may be the last. Wanted are a source for each
//! read and one strict order over all events, the *global order*, such that
//!
//! - what the model preserves of program order is in it, and the order of a thread's writes to one location;
//! - a write of another thread comes before those who read it;
//! - every other write to the location comes before the source of a read or after the read; if the read is that of a
//!   read-modify-write, before the source or after its write;
//! - what is read is not older than the thread's own last write to the location: the source is that write or comes
//!   after it. (A read of that write itself need not come after it: it may be read from the store buffer.)
//!
//! That is consistency as [`fencepost_memory::axioms`] has it for SC, TSO and PSO. Coherence order is the global order
//! restricted to a location. The other cases of coherence per location follow: two reads of a thread, or a read and a
//! later write, are ordered by program order in all three models, and that gives a cycle wherever they disagree.
//!
//! The answer comes in two steps. *Saturation* draws all conclusions that leave no choice, and then answers what is
//! left as the witness at hand would, drawing conclusions again after each. If that ends without contradiction, it is
//! an answer; if there was one before the first free choice, there is none. Only what is left goes to the solver.

use super::orders::Orders;
use super::solver;
use fencepost_memory::Checker;
use fencepost_memory::graph::{Flags, Graph, Node, Place};
use fencepost_trace::{Answers, Model, ThreadId};
use rustc_hash::FxHashMap;

/// One read of a question.
#[derive(Clone, Debug)]
pub(super) struct Read {
    /// Its event; those behind the graph's are the observer's.
    pub event: usize,
    pub place: Place,
    /// What it may read.
    pub sources: Vec<u32>,
    /// The thread's own last write before it.
    pub own: Option<usize>,
    /// The write of the same read-modify-write.
    pub write: Option<usize>,
}

/// A question, and what has been concluded.
#[derive(Clone, Debug, Default)]
pub(super) struct Question {
    pub orders: Orders,
    pub reads: Vec<Read>,
    /// The events of the graph; what comes after them is the observer's.
    events: usize,
}

/// What makes an answer: new sources of some reads, and coherence orders.
#[derive(Debug, Default)]
pub(super) struct Witness {
    pub sources: Vec<(Node, Node)>,
    pub orders: Vec<(Place, Vec<Node>)>,
}

impl Witness {
    /// Makes it the graph's.
    pub fn apply(&self, graph: &mut Graph) {
        for (read, source) in &self.sources {
            graph.swap_source(*read, *source);
        }
        for (place, order) in &self.orders {
            graph.reorder(*place, order);
        }
    }
}

/// Asks. `sources` says what a read may read. Of each place in `finals` one of the writes is to be the last.
pub(super) fn ask(
    graph: &Graph,
    checker: &Checker,
    sources: impl Fn(Node) -> Vec<u32>,
    finals: &[(Place, Vec<u32>)],
    answers: &mut Answers,
) -> Option<Witness> {
    let mut question = Question::default();
    if !question.pose(graph, checker, graph.len(), sources, finals) {
        answers.saturation += 1;
        return None;
    }
    question.answer(graph, checker, answers)
}

/// What is known of a graph before one more read is added: the question about that begins with it.
pub(super) fn prepare(graph: &Graph, checker: &Checker, sources: impl Fn(Node) -> Vec<u32>) -> Question {
    let mut question = Question::default();
    let holds =
        question.pose(graph, checker, graph.len() + 1, sources, &[]) && question.conclude(graph, checker.model());
    debug_assert!(holds, "the graph is its own witness");
    question
}

/// Asks whether `read`, the last event of the graph, can read one of `sources`; all else is as it was when `base` was
/// prepared.
pub(super) fn ask_of_load(
    base: &Question,
    graph: &Graph,
    checker: &Checker,
    read: Node,
    sources: &[Node],
    answers: &mut Answers,
) -> Option<Witness> {
    let mut question = base.clone();
    for earlier in graph.thread(graph.node(read).thread).iter().rev().skip(1) {
        let orders = &mut question.orders;
        checker.program_order(graph, *earlier, |later| _ = orders.add(earlier.index(), later.index()));
    }
    question.orders.add(0, read.index());
    question.add_read(graph, read, sources.iter().map(|source| source.0).collect());
    question.answer(graph, checker, answers)
}

impl Question {
    fn answer(mut self, graph: &Graph, checker: &Checker, answers: &mut Answers) -> Option<Witness> {
        if !self.conclude(graph, checker.model()) {
            answers.saturation += 1;
            return None;
        }
        let base = self.clone();
        if self.decide_as_witness(graph, checker.model()) {
            answers.saturation += 1;
            return Some(self.witness(graph));
        }
        answers.solver += 1;
        let mut question = base;
        solver::solve(&mut question, graph, checker.model()).then(|| question.witness(graph))
    }

    fn add_read(&mut self, graph: &Graph, read: Node, sources: Vec<u32>) {
        let data = graph.node(read);
        let earlier = &graph.thread(data.thread)[..data.index as usize];
        let mine = |n: &&Node| graph.node(**n).place == data.place && graph.node(**n).flags.has(Flags::WRITE);
        let own = earlier.iter().rev().find(mine).map(|n| n.index());
        let exclusive = data.flags.has(Flags::EXCLUSIVE);
        let write = graph.next(read).filter(|_| exclusive).map(Node::index);
        self.reads.push(Read { event: read.index(), place: data.place, sources, own, write });
    }
}
impl Question {
    fn pose(
        &mut self,
        graph: &Graph,
        checker: &Checker,
        events: usize,
        sources: impl Fn(Node) -> Vec<u32>,
        finals: &[(Place, Vec<u32>)],
    ) -> bool {
        self.events = events;
        self.orders.reset(events + finals.len());
        let orders = &mut self.orders;
        for i in (1..graph.len() as u32).rev() {
            let mut fine = true;
            checker.program_order(graph, Node(i), |later| fine &= orders.add(i as usize, later.index()).is_some());
            debug_assert!(fine);
        }
        for i in 1..graph.len() {
            orders.add(0, i);
        }
        // A thread's writes to a place are in coherence order as they are in program order.
        let mut last: FxHashMap<Place, Node> = FxHashMap::default();
        for t in 0..graph.threads() as u32 {
            last.clear();
            for write in graph.thread(ThreadId(t)).iter().filter(|n| graph.node(**n).flags.has(Flags::WRITE)) {
                let before = last.insert(graph.node(*write).place, *write);
                if before.is_some_and(|before| orders.add(before.index(), write.index()).is_none()) {
                    return false;
                }
            }
        }
        for place in (0..graph.places() as u32).map(Place) {
            for read in graph.reads(place) {
                self.add_read(graph, *read, sources(*read));
            }
        }
        for (i, (place, last)) in finals.iter().enumerate() {
            let event = self.events + i;
            for write in graph.writes(*place) {
                self.orders.add(write.index(), event);
            }
            self.reads.push(Read { event, place: *place, sources: last.clone(), own: None, write: None });
        }
        true
    }

    /// Draws all conclusions that leave no choice; false if they contradict each other.
    pub fn conclude(&mut self, graph: &Graph, model: Model) -> bool {
        let mut reads = std::mem::take(&mut self.reads);
        let mut fine = true;
        loop {
            let mut changed = false;
            for read in &mut reads {
                match self.conclude_read(graph, model, read) {
                    Some(more) => changed |= more,
                    None => fine = false,
                }
                if !fine {
                    break;
                }
            }
            if !fine || !changed {
                break;
            }
        }
        self.reads = reads;
        fine
    }

    fn conclude_read(&mut self, graph: &Graph, model: Model, read: &mut Read) -> Option<bool> {
        let writes = graph.writes(read.place);
        let mut changed = false;
        if read.sources.len() > 1 {
            let known = read.sources.len();
            let mut sources = std::mem::take(&mut read.sources);
            sources.retain(|source| self.is_possible(writes, read, *source as usize));
            read.sources = sources;
            changed |= read.sources.len() != known;
        }
        let orders = &mut self.orders;
        let &[source] = &read.sources[..] else { return (!read.sources.is_empty()).then_some(changed) };
        let source = source as usize;
        if self.events <= read.event || model == Model::Sc || is_external(graph, read, source) {
            changed |= orders.add(source, read.event)?;
        }
        if let Some(own) = read.own.filter(|own| *own != source) {
            changed |= orders.add(own, source)?;
        }
        let end = read.write.unwrap_or(read.event);
        for other in writes.iter().map(|w| w.index()).filter(|other| *other != source && Some(*other) != read.write) {
            if orders.has(source, other) {
                changed |= orders.add(end, other)?;
            } else if orders.has(other, end) || orders.has(other, read.event) {
                changed |= orders.add(other, source)?;
            }
        }
        Some(changed)
    }

    fn is_possible(&self, writes: &[Node], read: &Read, source: usize) -> bool {
        let orders = &self.orders;
        let end = read.write.unwrap_or(read.event);
        if orders.has(read.event, source) || read.write == Some(source) {
            return false;
        }
        if read.own.is_some_and(|own| own != source && orders.has(source, own)) {
            return false;
        }
        !writes.iter().map(|w| w.index()).any(|other| {
            other != source
                && Some(other) != read.write
                && orders.has(source, other)
                && (orders.has(other, read.event) || orders.has(other, end))
        })
    }

    /// Decides what is open as the graph has it.
    fn decide_as_witness(&mut self, graph: &Graph, model: Model) -> bool {
        for i in 0..self.reads.len() {
            let read = &self.reads[i];
            if read.sources.len() > 1 {
                let now = if read.event < self.events { graph.node(Node(read.event as u32)).source.0 } else { 0 };
                let position = |w: &u32| graph.node(Node(*w)).position;
                let chosen = match read.sources.iter().find(|source| **source == now && read.event < self.events) {
                    Some(source) => *source,
                    None => *read.sources.iter().max_by_key(|w| position(w)).expect("there is one"),
                };
                self.reads[i].sources = vec![chosen];
                if !self.conclude(graph, model) {
                    return false;
                }
            }
        }
        for i in 0..self.reads.len() {
            let read = self.reads[i].clone();
            let source = read.sources[0] as usize;
            let end = read.write.unwrap_or(read.event);
            let mut changed = false;
            for other in graph.writes(read.place) {
                let x = other.index();
                if x == source || Some(x) == read.write || self.orders.has(x, source) || self.orders.has(end, x) {
                    continue;
                }
                let before = graph.node(*other).position < graph.node(Node(source as u32)).position;
                let (first, second) = if before { ((x, source), (end, x)) } else { ((end, x), (x, source)) };
                if self.orders.add(first.0, first.1).is_none() && self.orders.add(second.0, second.1).is_none() {
                    return false;
                }
                changed = true;
            }
            if changed && !self.conclude(graph, model) {
                return false;
            }
        }
        true
    }

    /// Everything is decided: any order that extends what is there will do.
    pub fn witness(&self, graph: &Graph) -> Witness {
        let mut witness = Witness::default();
        for read in self.reads.iter().filter(|read| read.event < self.events) {
            let (node, source) = (Node(read.event as u32), Node(read.sources[0]));
            if graph.node(node).source != source {
                witness.sources.push((node, source));
            }
        }
        let ranks: Vec<u32> = (0..self.events).map(|event| self.orders.count_before(event)).collect();
        for place in (0..graph.places() as u32).map(Place) {
            let mut order = graph.writes(place).to_vec();
            order.sort_by_key(|write| (ranks[write.index()], graph.node(*write).position));
            if order != graph.writes(place) {
                witness.orders.push((place, order));
            }
        }
        witness
    }

    /// How many events there are, the observer's included.
    pub fn events(&self) -> usize {
        self.events + self.reads.iter().filter(|read| read.event >= self.events).count()
    }

    /// Is the read the observer's?
    pub fn is_final(&self, read: &Read) -> bool {
        read.event >= self.events
    }
}

/// Is the source another thread's write?
pub(super) fn is_external(graph: &Graph, read: &Read, source: usize) -> bool {
    graph.node(Node(source as u32)).thread != graph.node(Node(read.event as u32)).thread
}
