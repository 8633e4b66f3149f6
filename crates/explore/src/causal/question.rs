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
//! What follows from these for locks is a rule of its own: two threads do not hold one at the same time.
//!
//! The answer comes in two steps. *Saturation* draws all conclusions that leave no choice, and then answers what is
//! left as the witness at hand would, drawing conclusions again after each. If that ends without contradiction, it is
//! an answer; if there was one before the first free choice, there is none. If neither is the case, what leads to a
//! contradiction when it is tried alone is ruled out, and the rest is tried again. Only what is left goes to the
//! solver.

use super::orders::{Changed, Orders};
use super::posed::Posed;
use super::solver;
use fencepost_memory::Checker;
use fencepost_memory::graph::{Flags, Graph, Node, NodeData, Place};
use fencepost_trace::{Answers, Location, Model, ThreadId, Value};

/// One read of a question.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    /// Its event; those behind the graph's are the observer's.
    pub event: usize,
    pub place: Place,
    /// The thread's own last write before it.
    pub own: Option<usize>,
    /// The write of the same read-modify-write.
    pub write: Option<usize>,
    /// What it may read: so many, from there on in the list of all.
    first: usize,
    count: usize,
}

/// From a lock's being taken to its release, by the writes that do so.
#[derive(Clone, Copy, Debug)]
struct Section {
    place: Place,
    thread: ThreadId,
    lock: usize,
    /// None if it has not been released.
    unlock: Option<usize>,
}

/// A question, and what has been concluded.
#[derive(Clone, Debug, Default)]
pub(super) struct Question {
    pub orders: Orders,
    pub reads: Vec<Read>,
    /// What reads may read, one after the other.
    sources: Vec<u32>,
    /// By place, its writes as bits.
    writes: Vec<u64>,
    /// What orders begin with.
    pairs: Vec<(u32, u32)>,
    /// By read, on which events' orders its conclusions depend, as bits.
    depends: Vec<u64>,
    /// Events that were looked at again last, for the memory.
    changed: Changed,
    /// By write, the read-modify-write that is known to read it: no other can. Initial writes come last, by place.
    taken: Vec<u32>,
    /// The events of the graph; what comes after them is the observer's.
    events: usize,
    /// What is done under locks: see [`conclude_sections`](Question::conclude_sections).
    sections: Vec<Section>,
    /// By place: is it no lock?
    odd: Vec<bool>,
    /// Is only that concluded which stays true whatever events are added? See [`Desk::prepare_firm`].
    firm: bool,
    /// Has something turned out to be no lock after all?
    lost: bool,
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

/// What is known of a graph.
#[derive(Debug, Default)]
pub(super) struct Base {
    question: Question,
    /// Of so many of its events; 0 if of none.
    prepared: usize,
    /// How many locations were growing.
    growing: usize,
}

/// For so many more events there is room.
const SLACK: usize = 8;

/// Questions that are answered one after the other in the same memory.
#[derive(Debug, Default)]
pub(super) struct Desk {
    /// What is known of the graph at hand before one more read is added.
    base: Question,
    /// Of so many of its events; 0 if of none.
    prepared: usize,
    /// Locations where something was written that an earlier read might have read instead of what it has read.
    growing: Vec<Location>,
    /// What is known of the graph at hand, but for what reads of these tell; and of how many of its events.
    firm: Question,
    firm_prepared: usize,
    question: Question,
    concluded: Question,
    /// For decisions that may turn out to be wrong.
    before: Question,
    /// What comes before a read that may be added, as bits; for the memory.
    row: Vec<u64>,
    /// All that was asked, if that is wanted.
    pub kept: Option<Vec<Posed>>,
}

impl Desk {
    /// The graph is another one.
    pub fn forget(&mut self) {
        (self.prepared, self.firm_prepared) = (0, 0);
    }

    /// Puts down what is known of the graph at hand, for one that begins like it.
    pub fn put_down(&self, base: &mut Base) {
        let (question, prepared) = match self.firm_prepared {
            0 => (&self.base, self.prepared),
            prepared => (&self.firm, prepared),
        };
        (base.prepared, base.growing) = (prepared, self.growing.len());
        if prepared > 0 {
            base.question.copy_from(question);
        }
    }

    /// The graph is one that begins like the one of which this is known.
    pub fn set_base(&mut self, base: &Base) {
        self.forget();
        let Base { question, prepared, growing } = base;
        if *prepared == 0 {
            return;
        }
        if !question.firm {
            self.base.copy_from(question);
            self.prepared = *prepared;
        } else if *growing == self.growing.len() {
            self.firm.copy_from(question);
            self.firm_prepared = *prepared;
        }
    }

    /// Is the base that of the graph at hand, which is as long as this?
    pub fn is_prepared(&self, length: usize) -> bool {
        self.prepared == length
    }

    /// Is there something that [`prepare_firm`](Self::prepare_firm) does not know already?
    pub fn wants_firm(&self, length: usize) -> bool {
        !self.growing.is_empty() && self.kept.is_none() && self.firm_prepared != length
    }

    /// Takes note of what stays true of a graph whatever events are added.
    ///
    /// What a read of a growing location reads is open again with each write there that it might have read instead, and
    /// with it all that followed. So such reads tell nothing here, but for this: two threads that have taken and
    /// released a lock did not hold it at the same time, whichever release each of them has read. That stays true as
    /// long as the location is that of a lock. What others read has one more event to read only if their location
    /// begins to grow, and then all is concluded anew. So whatever is known here holds in every answer for a graph that
    /// begins like this one.
    ///
    /// This is less than what [`prepare`](Self::prepare) knows, takes a fraction of the time where threads take locks
    /// again and again, and rules out nearly all that can be ruled out.
    pub fn prepare_firm(
        &mut self,
        graph: &Graph,
        checker: &Checker,
        sources: impl Fn(Node, &mut Vec<u32>),
        is_alike: impl Fn(Node, Node) -> bool,
    ) {
        let (length, before) = (graph.len(), self.firm_prepared);
        let (known, events) = (self.growing.len(), self.firm.events);
        self.note_growth(graph, before, is_alike);
        let growing = &self.growing;
        let counts = |place: Place| !growing.contains(&graph.location(place));
        let mut extends = before > 0 && length + 2 <= events && growing.len() == known;
        if extends {
            self.firm.lost = false;
            self.firm.extend(graph, checker, before, counts, &sources);
            extends = !self.firm.lost;
        }
        if !extends {
            let events = (length + 2 + SLACK).next_multiple_of(64);
            self.firm.firm = true;
            self.firm.pose(graph, checker, events, counts, &sources, &[]);
        }
        let holds = self.firm.conclude(checker.model());
        self.firm_prepared = length;
        debug_assert!(holds, "the graph is its own witness");
    }

    /// Takes note of the locations of events from `before` on where something is written that an earlier read might
    /// have read. Says whether there are any.
    fn note_growth(&mut self, graph: &Graph, before: usize, is_alike: impl Fn(Node, Node) -> bool) -> bool {
        let mut grows = false;
        for write in (before.max(1)..graph.len()).map(|event| Node(event as u32)) {
            let place = graph.node(write).place;
            if !graph.node(write).flags.has(Flags::WRITE) {
                continue;
            }
            let mut reads = graph.reads(place).iter().filter(|read| read.index() < before);
            if reads.any(|read| is_alike(*read, write)) {
                grows = true;
                let location = graph.location(place);
                if !self.growing.contains(&location) {
                    self.growing.push(location);
                }
            }
        }
        grows
    }

    /// Takes note of what is known of a graph before one more read is added: questions about that begin with it.
    ///
    /// What follows for a graph stays so when events are added, unless one of them is something that an earlier read
    /// might have read instead (`is_alike`).
    pub fn prepare(
        &mut self,
        graph: &Graph,
        checker: &Checker,
        sources: impl Fn(Node, &mut Vec<u32>),
        is_alike: impl Fn(Node, Node) -> bool,
    ) {
        let (length, before) = (graph.len(), self.prepared);
        // Room for a read-modify-write.
        let extends = before > 0 && length + 2 <= self.base.events && !self.note_growth(graph, before, is_alike);
        if extends {
            self.base.extend(graph, checker, before, |_| true, sources);
        } else {
            let events = (length + 2 + SLACK).next_multiple_of(64);
            self.base.pose(graph, checker, events, |_| true, sources, &[]);
        }
        let holds = self.base.conclude(checker.model());
        debug_assert!(holds, "the graph is its own witness");
        self.prepared = length;
    }

    /// Asks. `sources` says what a read may read. Of each place in `finals` one of the writes is to be the last.
    pub fn ask(
        &mut self,
        graph: &Graph,
        checker: &Checker,
        sources: impl Fn(Node, &mut Vec<u32>),
        finals: &[(Place, Vec<u32>)],
        answers: &mut Answers,
    ) -> Option<Witness> {
        self.question.pose(graph, checker, graph.len(), |_| true, sources, finals);
        self.answer(graph, checker, finals, answers)
    }

    /// Asks whether `read` can read one of `sources`; all else is as it was when the base was prepared. The read is the
    /// last event of the graph, or the last but one if it has a write: nobody else reads that.
    pub fn ask_of_read(
        &mut self,
        graph: &Graph,
        checker: &Checker,
        read: Node,
        sources: &[Node],
        answers: &mut Answers,
    ) -> Option<Witness> {
        self.question.copy_from(&self.base);
        if !self.question.add_last(graph, checker, read, sources) {
            answers.saturation += 1;
            return None;
        }
        self.answer(graph, checker, &[], answers)
    }

    /// Does what is known of the graph without `read`, its last event, leave none of `sources` to it? That is no answer
    /// if not, but it takes little: most values that a lock keeps from a read are ruled out like this.
    pub fn rules_out(&mut self, graph: &Graph, checker: &Checker, read: Node, sources: &[Node]) -> bool {
        // Who wants to see all questions wants to see these, too.
        if self.kept.is_some() {
            return false;
        }
        let known = match read.index() {
            length if length == self.prepared => &self.base,
            length if length == self.firm_prepared => &self.firm,
            _ => return false,
        };
        let Question { orders, writes, taken, sections, .. } = known;
        let (words, row) = (orders.words(), &mut self.row);
        row.clear();
        row.resize(words, 0);
        let NodeData { thread, index, place, flags, .. } = *graph.node(read);
        let earlier = &graph.thread(thread)[..index as usize];
        // Under SC the one before it stands for all.
        let first = if checker.model() == Model::Sc { earlier.len().saturating_sub(1) } else { 0 };
        for before in &earlier[first..] {
            checker.program_order(graph, *before, |later| {
                if later == read {
                    row.iter_mut().enumerate().for_each(|(word, row)| *row |= orders.before(before.index(), word));
                    row[before.index() / 64] |= 1 << (before.index() % 64);
                }
            });
        }
        // Who holds a lock now has taken it after all who have released it.
        for held in sections.iter().filter(|section| section.unlock.is_none()) {
            if row[held.lock / 64] >> (held.lock % 64) & 1 != 0 {
                for unlock in sections.iter().filter(|other| other.place == held.place).filter_map(|other| other.unlock)
                {
                    row.iter_mut().enumerate().for_each(|(word, row)| *row |= orders.before(unlock, word));
                    row[unlock / 64] |= 1 << (unlock % 64);
                }
            }
        }
        let mine = |n: &&Node| graph.node(**n).place == place && graph.node(**n).flags.has(Flags::WRITE);
        let own = earlier.iter().rev().find(mine).map(|n| n.index());
        sources.iter().map(|source| source.index()).all(|source| {
            let is_taken = || flags.has(Flags::EXCLUSIVE) && taken[known.slot(place, source)] != 0;
            let is_over = |word: usize| {
                let others = writes[place.index() * words + word] & row[word];
                others & orders.after(source, word) & !bit_of(source, word) != 0
            };
            own.is_some_and(|own| own != source && orders.has(source, own)) || is_taken() || (0..words).any(is_over)
        })
    }

    fn answer(
        &mut self,
        graph: &Graph,
        checker: &Checker,
        finals: &[(Place, Vec<u32>)],
        answers: &mut Answers,
    ) -> Option<Witness> {
        let posed = self.kept.is_some().then(|| Posed::new(graph, checker, &self.question, finals));
        let before = answers.solver;
        let witness = self.find(graph, checker, answers);
        if let (Some(kept), Some(posed)) = (&mut self.kept, posed) {
            kept.push(posed.answered(witness.is_some(), answers.solver > before));
        }
        witness
    }

    /// The same of the solver alone, without saturation.
    pub fn ask_solver(
        &mut self,
        graph: &Graph,
        checker: &Checker,
        sources: impl Fn(Node, &mut Vec<u32>),
        finals: &[(Place, Vec<u32>)],
    ) -> bool {
        let (question, model) = (&mut self.question, checker.model());
        question.pose(graph, checker, graph.len(), |_| true, sources, finals);
        // Where there is one source, the solver has nothing to choose, and takes it that the read comes after it.
        for i in 0..question.reads.len() {
            let read = question.reads[i];
            let &[source] = question.sources(&read) else { continue };
            let source = source as usize;
            if question.is_behind(model, &read, source) && question.orders.add(source, read.event).is_none() {
                return false;
            }
        }
        solver::solve(question, graph, model)
    }

    fn find(&mut self, graph: &Graph, checker: &Checker, answers: &mut Answers) -> Option<Witness> {
        let question = &mut self.question;
        if !question.conclude(checker.model()) {
            answers.saturation += 1;
            return None;
        }
        self.concluded.copy_from(question);
        if question.decide_as_witness(graph, checker.model(), &mut self.before) {
            answers.saturation += 1;
            return Some(question.witness(graph));
        }
        let question = &mut self.concluded;
        if !question.probe(graph, checker.model(), &mut self.before) {
            answers.saturation += 1;
            return None;
        }
        self.question.copy_from(question);
        if self.question.decide_as_witness(graph, checker.model(), &mut self.before) {
            answers.saturation += 1;
            return Some(self.question.witness(graph));
        }
        answers.solver += 1;
        solver::solve(question, graph, checker.model()).then(|| question.witness(graph))
    }
}

impl Question {
    fn copy_from(&mut self, other: &Question) {
        self.orders.copy_from(&other.orders);
        self.reads.clone_from(&other.reads);
        self.sources.clone_from(&other.sources);
        self.writes.clone_from(&other.writes);
        self.depends.clone_from(&other.depends);
        self.taken.clone_from(&other.taken);
        self.events = other.events;
        self.sections.clone_from(&other.sections);
        self.odd.clone_from(&other.odd);
        self.firm = other.firm;
    }

    /// What a read may read.
    pub fn sources(&self, read: &Read) -> &[u32] {
        &self.sources[read.first..read.first + read.count]
    }

    /// It is known what a read reads.
    pub fn choose(&mut self, read: usize, source: u32) {
        let read = &mut self.reads[read];
        self.sources[read.first] = source;
        read.count = 1;
        self.orders.touch(read.event);
    }

    /// One more read, of what has been added to the list of all since `first`.
    fn add_read(&mut self, graph: &Graph, read: Node, first: usize) {
        let data = graph.node(read);
        let earlier = &graph.thread(data.thread)[..data.index as usize];
        let mine = |n: &&Node| graph.node(**n).place == data.place && graph.node(**n).flags.has(Flags::WRITE);
        let own = earlier.iter().rev().find(mine).map(|n| n.index());
        let exclusive = data.flags.has(Flags::EXCLUSIVE);
        let write = graph.next(read).filter(|_| exclusive).map(Node::index);
        let count = self.sources.len() - first;
        self.push_read(Read { event: read.index(), place: data.place, own, write, first, count });
    }

    fn push_read(&mut self, read: Read) {
        let row = self.depends.len();
        self.depends.resize(row + self.orders.words(), 0);
        let sources = self.sources[read.first..read.first + read.count].iter().map(|source| *source as usize);
        for event in sources.chain([read.event]).chain(read.write) {
            self.depends[row + event / 64] |= 1 << (event % 64);
        }
        self.reads.push(read);
    }

    /// Adds what the graph has from this event on. Reads of places that do not count are left out.
    fn extend(
        &mut self,
        graph: &Graph,
        checker: &Checker,
        from: usize,
        counts: impl Fn(Place) -> bool,
        sources: impl Fn(Node, &mut Vec<u32>),
    ) {
        self.writes.resize(graph.places() * self.orders.words(), 0);
        self.orders.set_places(graph.places());
        self.taken.resize(self.events + graph.places(), 0);
        self.odd.resize(graph.places(), false);
        let mut before = Vec::new();
        for node in (from..graph.len()).map(|event| Node(event as u32)) {
            let NodeData { thread, index, flags, place, .. } = graph.node(node);
            if flags.has(Flags::WRITE) {
                self.note_write(*place, node.index());
            }
            before.clear();
            before.push(0);
            let earlier = &graph.thread(*thread)[..*index as usize];
            // Under SC the one before it stands for all.
            let first = if checker.model() == Model::Sc { earlier.len().saturating_sub(1) } else { 0 };
            for other in &earlier[first..] {
                checker.program_order(graph, *other, |later| {
                    if later == node {
                        before.push(other.index());
                    }
                });
            }
            if flags.has(Flags::WRITE) {
                let mine = |n: &&Node| graph.node(**n).place == *place && graph.node(**n).flags.has(Flags::WRITE);
                before.extend(earlier.iter().rev().find(mine).map(|own| own.index()));
            }
            // Whoever reads what was there initially does so before it, if it is a write.
            self.orders.append(node.index(), before.iter().copied());
            if flags.has(Flags::WRITE) {
                self.note_section(graph, node);
            }
            if flags.has(Flags::READ) && counts(*place) {
                let first = self.sources.len();
                sources(node, &mut self.sources);
                self.add_read(graph, node, first);
                self.orders.touch(node.index());
            }
        }
    }

    /// Adds the last events of the graph, a read and perhaps its write.
    fn add_last(&mut self, graph: &Graph, checker: &Checker, read: Node, sources: &[Node]) -> bool {
        let NodeData { thread, place, .. } = *graph.node(read);
        let thread = graph.thread(thread);
        if graph.last() != read {
            self.note_write(place, graph.last().index());
        }
        let orders = &mut self.orders;
        let mut fine = true;
        // Under SC the one before it stands for all.
        let index = graph.node(read).index as usize;
        let first = if checker.model() == Model::Sc { index.saturating_sub(1) } else { 0 };
        for earlier in &thread[first..] {
            checker.program_order(graph, *earlier, |later| {
                if later >= read {
                    fine &= orders.add(earlier.index(), later.index()).is_some();
                }
            });
        }
        let first = self.sources.len();
        self.sources.extend(sources.iter().map(|source| source.0));
        self.add_read(graph, read, first);
        for event in read.index()..graph.len() {
            fine &= self.orders.add(0, event).is_some();
        }
        self.orders.touch(read.index());
        if let Some(Read { own, write: Some(write), .. }) = self.reads.last().copied() {
            self.note_section(graph, Node(write as u32));
            // Whoever reads what was there initially does so before this.
            self.orders.touch_at(0, place.index());
            fine &= own.is_none_or(|own| self.orders.add(own, write).is_some());
        }
        fine
    }

    fn pose(
        &mut self,
        graph: &Graph,
        checker: &Checker,
        events: usize,
        counts: impl Fn(Place) -> bool,
        sources: impl Fn(Node, &mut Vec<u32>),
        finals: &[(Place, Vec<u32>)],
    ) {
        self.events = events;
        self.reads.clear();
        self.sources.clear();
        self.depends.clear();
        self.taken.clear();
        self.taken.resize(events + graph.places(), 0);
        let pairs = &mut self.pairs;
        pairs.clear();
        for i in (1..graph.len() as u32).rev() {
            checker.program_order(graph, Node(i), |later| pairs.push((i, later.0)));
            // A thread's writes to a place are in coherence order as they are in program order.
            let data = graph.node(Node(i));
            if data.flags.has(Flags::WRITE) {
                let later = &graph.thread(data.thread)[data.index as usize + 1..];
                let is_next =
                    |n: &&Node| graph.node(**n).place == data.place && graph.node(**n).flags.has(Flags::WRITE);
                pairs.extend(later.iter().find(is_next).map(|next| (i, next.0)));
            }
        }
        pairs.extend((1..graph.len() as u32).map(|i| (0, i)));
        self.orders.begin(events + finals.len(), graph.places(), pairs);
        self.writes.clear();
        self.writes.resize(graph.places() * self.orders.words(), 0);
        for place in (0..graph.places() as u32).map(Place) {
            graph.writes(place).iter().for_each(|write| self.note_write(place, write.index()));
        }
        self.sections.clear();
        self.odd.clear();
        self.odd.resize(graph.places(), false);
        for (node, data) in graph.nodes() {
            if data.flags.has(Flags::WRITE) {
                self.note_section(graph, node);
            }
        }
        for place in (0..graph.places() as u32).map(Place).filter(|place| counts(*place)) {
            for read in graph.reads(place) {
                let first = self.sources.len();
                sources(*read, &mut self.sources);
                self.add_read(graph, *read, first);
            }
        }
        for (i, (place, last)) in finals.iter().enumerate() {
            let event = self.events + i;
            for write in graph.writes(*place) {
                self.orders.add(write.index(), event);
            }
            let first = self.sources.len();
            self.sources.extend_from_slice(last);
            self.push_read(Read { event, place: *place, own: None, write: None, first, count: last.len() });
        }
    }

    /// Draws all conclusions that leave no choice; false if they contradict each other.
    pub fn conclude(&mut self, model: Model) -> bool {
        let mut changed = std::mem::take(&mut self.changed);
        let mut fine = true;
        while fine && self.orders.take_changed(&mut changed) {
            let words = changed.words();
            for i in 0..self.reads.len() {
                let row = &self.depends[i * words..(i + 1) * words];
                let place = self.reads[i].place.index();
                let depends = row.iter().enumerate().any(|(word, on)| on & changed.word(place, word) != 0);
                if depends && self.conclude_read(model, i).is_none() {
                    fine = false;
                    break;
                }
            }
            fine = fine && self.conclude_sections(&changed).is_some();
        }
        self.changed = changed;
        fine
    }

    /// Takes note of what a write is to a lock. A place is one if it is 0 initially, and every write to it either makes
    /// something else of 0 in one step, or is a 0 of the thread that did so before.
    fn note_section(&mut self, graph: &Graph, write: Node) {
        let NodeData { place, thread, flags, value, .. } = *graph.node(write);
        if self.odd[place.index()] {
            return;
        }
        let is_zero = |value: Value| value == Value::ZERO;
        let is_free = is_zero(graph.written(place, Node::INIT));
        let mut sections = self.sections.iter_mut();
        let open = sections.find(|one| (one.place, one.thread, one.unlock) == (place, thread, None));
        let takes = flags.has(Flags::EXCLUSIVE) && graph.previous(write).is_some_and(|r| is_zero(graph.node(r).value));
        match open {
            None if is_free && takes && !is_zero(value) => {
                self.sections.push(Section { place, thread, lock: write.index(), unlock: None });
                self.orders.touch_at(write.index(), place.index());
            }
            Some(section) if !flags.has(Flags::EXCLUSIVE) && is_zero(value) => {
                section.unlock = Some(write.index());
                self.orders.touch_at(write.index(), place.index());
            }
            _ => {
                self.odd[place.index()] = true;
                let known = self.sections.len();
                self.sections.retain(|section| section.place != place);
                self.lost |= self.sections.len() < known;
            }
        }
    }

    /// What two threads do under one lock does not overlap.
    ///
    /// This follows from the rest, but takes a choice of sources to show. Take the writes to a lock in coherence order.
    /// Whoever takes it has the 0 that it reads immediately before it. So after the first who does somebody writes 0,
    /// who must have taken it before: the same; and so on.
    fn conclude_sections(&mut self, changed: &Changed) -> Option<()> {
        let is_among = |section: &Section| {
            let is_among = |event: usize| changed.has(section.place.index(), event);
            is_among(section.lock) || section.unlock.is_some_and(is_among)
        };
        for i in 0..self.sections.len() {
            let one = self.sections[i];
            if !is_among(&one) {
                continue;
            }
            for j in 0..self.sections.len() {
                let other = self.sections[j];
                // Two that are both among them meet once.
                if one.place != other.place || i == j || (j < i && is_among(&other)) {
                    continue;
                }
                for (first, second) in [(one, other), (other, one)] {
                    // Who has not released it may do so later.
                    let is_open = first.unlock.is_none() || second.unlock.is_none();
                    if self.firm && is_open {
                        continue;
                    }
                    let is_first = second.unlock.is_none_or(|unlock| self.orders.has(first.lock, unlock));
                    if is_first {
                        self.orders.add(first.unlock?, second.lock)?;
                    }
                }
            }
        }
        Some(())
    }

    fn conclude_read(&mut self, model: Model, at: usize) -> Option<()> {
        let mut read = self.reads[at];
        if read.count > 1 {
            let mut kept = read.first;
            for i in read.first..read.first + read.count {
                let source = self.sources[i];
                if self.is_possible(model, &read, source as usize) {
                    self.sources[kept] = source;
                    kept += 1;
                }
            }
            read.count = kept - read.first;
            self.reads[at].count = read.count;
        }
        if read.count != 1 {
            return (read.count != 0).then_some(());
        }
        let source = self.sources[read.first] as usize;
        if read.write.is_some() {
            let taken = self.slot(read.place, source);
            match std::mem::replace(&mut self.taken[taken], read.event as u32) {
                // Others cannot read it any more.
                0 => self.orders.touch_at(source, read.place.index()),
                known if known as usize == read.event => {}
                _ => return None,
            }
        }
        let is_behind = self.is_behind(model, &read, source);
        let orders = &mut self.orders;
        if is_behind {
            orders.add(source, read.event)?;
        }
        if let Some(own) = read.own.filter(|own| *own != source) {
            orders.add(own, source)?;
        }
        let end = read.write.unwrap_or(read.event);
        for word in 0..orders.words() {
            let others = others(&self.writes, orders.words(), &read, source, word);
            let mut later = others & orders.after(source, word) & !orders.after(end, word);
            while later != 0 {
                orders.add(end, word * 64 + later.trailing_zeros() as usize)?;
                later &= later - 1;
            }
            let before = orders.before(end, word) | orders.before(read.event, word);
            let mut earlier = others & before & !orders.before(source, word);
            while earlier != 0 {
                orders.add(word * 64 + earlier.trailing_zeros() as usize, source)?;
                earlier &= earlier - 1;
            }
        }
        Some(())
    }

    /// Does a read come after this source? It need not if it is the thread's own, and read from the store buffer.
    pub fn is_behind(&self, model: Model, read: &Read, source: usize) -> bool {
        self.is_final(read) || model == Model::Sc || read.own != Some(source)
    }

    fn note_write(&mut self, place: Place, write: usize) {
        // What was there initially comes before everything: that never changes.
        if write != 0 {
            self.orders.set_write(write, place.index());
        }
        self.writes[place.index() * self.orders.words() + write / 64] |= 1 << (write % 64);
    }

    /// Where it is noted who has taken a write.
    fn slot(&self, place: Place, write: usize) -> usize {
        if write == 0 { self.events + place.index() } else { write }
    }

    fn is_possible(&self, model: Model, read: &Read, source: usize) -> bool {
        let orders = &self.orders;
        let end = read.write.unwrap_or(read.event);
        if read.write == Some(source) || orders.has(read.event, source) && self.is_behind(model, read, source) {
            return false;
        }
        if read.own.is_some_and(|own| own != source && orders.has(source, own)) {
            return false;
        }
        if read.write.is_some() && ![0, read.event as u32].contains(&self.taken[self.slot(read.place, source)]) {
            return false;
        }
        (0..orders.words()).all(|word| {
            let before = orders.before(end, word) | orders.before(read.event, word);
            others(&self.writes, orders.words(), read, source, word) & orders.after(source, word) & before == 0
        })
    }

    /// Draws the conclusions that show when one of two things is tried: what leads to a contradiction at once does not
    /// hold. False if nothing is left.
    fn probe(&mut self, graph: &Graph, model: Model, before: &mut Question) -> bool {
        for i in 0..self.reads.len() {
            let count = self.reads[i].count;
            if count > 1 {
                let sources = self.sources(&self.reads[i]).to_vec();
                let mut kept = Vec::with_capacity(count);
                before.copy_from(self);
                for source in sources {
                    self.choose(i, source);
                    if self.conclude(model) {
                        kept.push(source);
                    }
                    self.copy_from(before);
                }
                if kept.len() < count {
                    let first = self.reads[i].first;
                    self.sources[first..first + kept.len()].copy_from_slice(&kept);
                    self.reads[i].count = kept.len();
                    self.orders.touch(self.reads[i].event);
                    if kept.is_empty() || !self.conclude(model) {
                        return false;
                    }
                }
            }
            if self.reads[i].count == 1 && !self.probe_writes(graph, model, i, before) {
                return false;
            }
        }
        true
    }

    /// The same for the writes that a read does not read: before its source, or after it?
    fn probe_writes(&mut self, graph: &Graph, model: Model, read: usize, before: &mut Question) -> bool {
        let read = self.reads[read];
        let source = self.sources[read.first] as usize;
        let end = read.write.unwrap_or(read.event);
        for x in graph.writes(read.place).iter().map(|other| other.index()) {
            if x == source || Some(x) == read.write || self.orders.has(x, source) || self.orders.has(end, x) {
                continue;
            }
            let ways = [(x, source), (end, x)];
            let mut holds = [false; 2];
            before.copy_from(self);
            for (way, holds) in ways.iter().zip(&mut holds) {
                *holds = self.orders.add(way.0, way.1).is_some() && self.conclude(model);
                self.copy_from(before);
            }
            let fine = match holds {
                [true, true] => true,
                [false, false] => false,
                [first, _] => {
                    let (a, b) = ways[usize::from(!first)];
                    self.orders.add(a, b).is_some() && self.conclude(model)
                }
            };
            if !fine {
                return false;
            }
        }
        true
    }

    /// Decides what is open as the graph has it, or, where that leads to a contradiction at once, otherwise. Decisions
    /// are not taken back.
    fn decide_as_witness(&mut self, graph: &Graph, model: Model, before: &mut Question) -> bool {
        for i in 0..self.reads.len() {
            if self.reads[i].count > 1 && !self.decide_source(graph, model, i, before) {
                return false;
            }
        }
        for i in 0..self.reads.len() {
            if !self.decide_writes(graph, model, i, before) {
                return false;
            }
        }
        true
    }

    /// Decides what a read reads.
    fn decide_source(&mut self, graph: &Graph, model: Model, read: usize, before: &mut Question) -> bool {
        before.copy_from(self);
        let Read { event, first, .. } = self.reads[read];
        let now = if event < self.events { Some(graph.node(Node(event as u32)).source.0) } else { None };
        loop {
            let left = self.sources(&self.reads[read]);
            let rank = |source: &u32| (Some(*source) == now, graph.node(Node(*source)).position);
            let Some(chosen) = left.iter().copied().max_by_key(rank) else { return false };
            self.choose(read, chosen);
            if self.conclude(model) {
                return true;
            }
            // Not that one.
            let count = before.reads[read].count;
            let sources = &mut before.sources[first..first + count];
            let place = sources.iter().position(|source| *source == chosen).expect("it was chosen from these");
            sources[place..].rotate_left(1);
            before.reads[read].count -= 1;
            self.copy_from(before);
        }
    }

    /// Decides which writes come before the source of a read, and which after the read.
    fn decide_writes(&mut self, graph: &Graph, model: Model, read: usize, before: &mut Question) -> bool {
        let read = self.reads[read];
        let source = self.sources[read.first] as usize;
        let end = read.write.unwrap_or(read.event);
        let is_open = |question: &Question, x: usize| {
            x != source && Some(x) != read.write && !question.orders.has(x, source) && !question.orders.has(end, x)
        };
        let ways = |other: Node| {
            let x = other.index();
            let earlier = graph.node(other).position < graph.node(Node(source as u32)).position;
            if earlier { [(x, source), (end, x)] } else { [(end, x), (x, source)] }
        };
        let writes = graph.writes(read.place);
        if !writes.iter().any(|other| is_open(self, other.index())) {
            return true;
        }
        // All of them at once, mostly.
        before.copy_from(self);
        let mut fine = true;
        for other in writes {
            if is_open(self, other.index()) {
                let [first, second] = ways(*other);
                fine &= self.orders.add(first.0, first.1).is_some() || self.orders.add(second.0, second.1).is_some();
            }
        }
        if fine && self.conclude(model) {
            return true;
        }
        self.copy_from(before);
        for other in writes {
            if !is_open(self, other.index()) {
                continue;
            }
            before.copy_from(self);
            let [first, second] = ways(*other);
            if self.orders.add(first.0, first.1).is_some() && self.conclude(model) {
                continue;
            }
            self.copy_from(before);
            if self.orders.add(second.0, second.1).is_none() || !self.conclude(model) {
                return false;
            }
        }
        true
    }

    /// Everything is decided: any order that extends what is there will do.
    pub fn witness(&self, graph: &Graph) -> Witness {
        let mut witness = Witness::default();
        for read in self.reads.iter().filter(|read| read.event < self.events) {
            let (node, source) = (Node(read.event as u32), Node(self.sources[read.first]));
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

    /// Is the read the observer's?
    pub fn is_final(&self, read: &Read) -> bool {
        read.event >= self.events
    }
}

/// The writes to the place of a read but for its source and its own, among 64 events.
#[inline]
fn others(writes: &[u64], words: usize, read: &Read, source: usize, word: usize) -> u64 {
    writes[read.place.index() * words + word]
        & !bit_of(source, word)
        & !read.write.map_or(0, |write| bit_of(write, word))
}

/// The bit of an event in one of the words of a row.
#[inline]
fn bit_of(event: usize, word: usize) -> u64 {
    if event / 64 == word { 1 << (event % 64) } else { 0 }
}

/// Is the source another thread's write?
pub(super) fn is_external(graph: &Graph, read: usize, source: usize) -> bool {
    graph.node(Node(source as u32)).thread != graph.node(Node(read as u32)).thread
}
