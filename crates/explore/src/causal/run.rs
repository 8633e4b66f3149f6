//! One run of the program: along the steps of a task, and on to the end, noting what else could have happened.

use super::explorer::{Dormant, Equivalence, Explorer};
use super::knowledge::{History, Label, Written};
use super::question::{Witness, ask};
use super::task::{Choice, PutOff, Task, node_of, steps_of};
use crate::graph::cells::extract;
use crate::graph::event::{is_forced, read_flags, set_source, store_flags, write_flags};
use crate::graph::walk::{Settled, State};
use crate::graph::{ExploreError, Stuck};
use fencepost_engine::Threads;
use fencepost_memory::graph::{Flags, Graph, Node, Place};
use fencepost_trace::{Access, Guard, Location, Op, ThreadId, Update, Value};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// How a run ended.
pub(super) enum Ended {
    /// Complete: one graph for each set of final values that somebody asks for.
    Complete(Vec<Graph>),
    Stuck(Stuck),
    /// No execution is left that is not explored elsewhere, as far as is known.
    InVain,
}

/// A read that a thread is at.
#[derive(Clone, Copy, Debug)]
struct Pending {
    access: Access,
    place: Place,
    /// It has one source, and waits for it.
    forced: bool,
}

/// How a read can get a result.
enum Way {
    /// From this write, everything else staying as it is.
    Source(Node),
    /// From this write, if others read the same from writes that are still to come.
    Later(Node),
    /// In another graph, which contains the read.
    Other(Box<Graph>),
}

/// Why a task is put aside: this thread waits in vain, or reads have no source.
type Aside = Option<(ThreadId, Pending)>;

/// A task to be, once it is known what the graph looks like.
struct Noted {
    length: usize,
    choice: Option<Choice>,
    put_off: Vec<PutOff>,
    open: bool,
    dormant: Option<Aside>,
    histories: Vec<Option<History>>,
    reads: Option<(FxHashSet<(Location, u128)>, usize)>,
}

pub(super) struct Run<'a, T> {
    explorer: &'a mut Explorer<T>,
    task: &'a Task,
    put_off: Vec<PutOff>,
    /// Not all reads have a source yet.
    open: bool,
    histories: Vec<Option<History>>,
    pending: Vec<Option<Pending>>,
    noted: Vec<Noted>,
}

impl<'a, T: Threads> Run<'a, T> {
    pub fn new(explorer: &'a mut Explorer<T>, task: &'a Task) -> Self {
        let put_off = task.put_off.clone();
        let open = task.open;
        Run { explorer, task, put_off, open, histories: Vec::new(), pending: Vec::new(), noted: Vec::new() }
    }

    pub fn run(mut self) -> Result<Ended, ExploreError> {
        let result = self.run_to_end();
        self.flush();
        result
    }

    fn run_to_end(&mut self) -> Result<Ended, ExploreError> {
        self.replay()?;
        loop {
            if self.explorer.walk.program.is_abandoned() {
                return Ok(Ended::InVain);
            }
            if let Some(limit) = self.settle()? {
                return Ok(limit);
            }
            if self.explorer.walk.program.is_abandoned() {
                return Ok(Ended::InVain);
            }
            if self.explorer.graph.len() > self.explorer.options.max_events {
                return Ok(Ended::Stuck(Stuck::Limit));
            }
            if self.open && !self.can_close() {
                return Ok(Ended::InVain);
            }
            if self.read_put_off() {
                continue;
            }
            if self.is_hopeless() {
                return Ok(Ended::InVain);
            }
            if !self.advance() {
                return Ok(self.end());
            }
        }
    }

    // ---- along the steps ----

    fn replay(&mut self) -> Result<(), ExploreError> {
        let Explorer { walk, graph, .. } = &mut *self.explorer;
        walk.start();
        *graph = Graph::new();
        for t in 0..walk.threads.len() as u32 {
            let root = self.explorer.knowledge.root(ThreadId(t));
            self.histories.push(Some(root));
        }
        let steps = self.task.steps();
        for step in steps {
            self.replay_step(step)?;
        }
        let graph = &mut self.explorer.graph;
        for (i, step) in steps.iter().enumerate() {
            if graph.node(node_of(i)).flags.has(Flags::READ) {
                graph.swap_source(node_of(i), Node(step.source));
            }
        }
        for place in (0..graph.places() as u32).map(Place) {
            let mut order = graph.writes(place).to_vec();
            order.sort_by_key(|w| w.0.checked_sub(1).map_or(0, |i| steps[i as usize].position));
            graph.reorder(place, &order);
        }
        if let Some(Choice { thread, source, variant }) = self.task.choice {
            let thread = ThreadId(thread);
            let (access, place) = self.next_access(thread)?;
            self.add_read(thread, access, place, Node(source), variant);
        }
        Ok(())
    }

    fn next_access(&mut self, thread: ThreadId) -> Result<(Access, Place), ExploreError> {
        let Explorer { walk, graph, cells, .. } = &mut *self.explorer;
        if walk.threads.get(thread.index()).is_none_or(|run| run.state != State::Ready) {
            return Err(ExploreError::Nondeterministic(thread));
        }
        let Settled::Access(access) = walk.settle(graph, thread) else {
            return Err(ExploreError::Nondeterministic(thread));
        };
        let place = match access.location() {
            None => Place::NONE,
            Some(at) => cells.place(at, graph, |at| walk.program.initial(at))?,
        };
        Ok((access, place))
    }

    fn replay_step(&mut self, step: &super::task::Step) -> Result<(), ExploreError> {
        let thread = ThreadId(step.thread);
        if self.explorer.walk.threads.get(thread.index()).is_some_and(|run| run.half.is_some()) {
            self.add_half(thread);
            return Ok(());
        }
        let (access, place) = self.next_access(thread)?;
        let equivalence = self.explorer.equivalence;
        let Explorer { walk, graph, .. } = &mut *self.explorer;
        let whole = place == Place::NONE || access.location() == Some(graph.location(place));
        if matches!(access, Access::Store { .. } | Access::Fence { .. }) && whole {
            self.add_write(thread, access, place);
            return Ok(());
        }
        let read = graph.add(walk.new_node(thread, Flags::READ, place, access));
        let flags = read_flags(graph.location(place), &access, step.value, step.variant, &mut walk.sets);
        if flags.has(Flags::BLOCKED) {
            return Err(ExploreError::Nondeterministic(thread));
        }
        graph.set_source(read, Node::INIT, step.value, step.variant, flags);
        walk.apply_read(graph, read);
        // What it reads is said when all events are there; only its label is needed now.
        if !is_forced(graph.location(place)) {
            let key = match equivalence {
                Equivalence::Values => label_key(graph.location(place), &access, step.value),
                Equivalence::Sources => match step.source.checked_sub(1) {
                    None => 0,
                    Some(i) => source_key(self.task.steps(), i as usize),
                },
            };
            self.note_read(thread, Label { key, variant: step.variant });
        }
        Ok(())
    }

    // ---- events ----

    fn history(&self, thread: ThreadId) -> History {
        self.histories[thread.index()].expect("a thread that runs has a history")
    }

    fn note_read(&mut self, thread: ThreadId, label: Label) {
        let at = self.history(thread);
        self.histories[thread.index()] = Some(self.explorer.knowledge.read(at, label));
    }

    /// Adds a store, which comes last in coherence order, or a fence.
    fn add_write(&mut self, thread: ThreadId, access: Access, place: Place) {
        let Explorer { walk, graph, .. } = &mut *self.explorer;
        let flags = match access {
            Access::Store { order, .. } => store_flags(order),
            _ => write_flags(&access),
        };
        let node = graph.add(walk.new_node(thread, flags, place, access));
        if let Access::Store { value, .. } = access {
            graph.set_value(node, value);
            graph.place_write(node, graph.writes(place).len() as u32);
        }
        let lowering = walk.threads[thread.index()].lowering();
        let child = (*lowering.op() == Op::Spawn).then(|| lowering.child());
        walk.finish_write(graph, thread);
        if let Some(child) = child {
            let at = self.history(thread);
            if self.histories.len() <= child.index() {
                self.histories.resize(child.index() + 1, None);
            }
            self.histories[child.index()] = Some(self.explorer.knowledge.create(at, child));
        }
        if flags.has(Flags::WRITE) {
            self.note_write(thread, node);
        }
    }

    fn note_write(&mut self, thread: ThreadId, write: Node) {
        let at = self.history(thread);
        let explorer = &mut *self.explorer;
        if !explorer.knowledge.is_known(at) {
            let cell = explorer.graph.location(explorer.graph.node(write).place);
            let key = write_key(explorer.equivalence, &explorer.graph, explorer.graph.node(write).place, write);
            explorer.knowledge.writes(at, cell, Written::Key(key));
        }
    }

    /// Adds a read of `source`, and the write of its read-modify-write.
    fn add_read(&mut self, thread: ThreadId, access: Access, place: Place, source: Node, variant: u32) {
        let Explorer { walk, graph, .. } = &mut *self.explorer;
        let read = graph.add(walk.new_node(thread, Flags::READ, place, access));
        set_source(graph, read, source, variant, &mut walk.sets);
        self.finish_read(thread, read);
    }

    fn finish_read(&mut self, thread: ThreadId, read: Node) {
        let equivalence = self.explorer.equivalence;
        let Explorer { walk, graph, .. } = &mut *self.explorer;
        walk.apply_read(graph, read);
        let (place, variant, source) = (graph.node(read).place, graph.node(read).variant, graph.node(read).source);
        if !is_forced(graph.location(place)) {
            let key = read_key(equivalence, graph, &graph.node(read).access, place, source);
            self.note_read(thread, Label { key, variant });
        }
        if self.explorer.walk.threads[thread.index()].half.is_some() {
            self.add_half(thread);
        }
    }

    fn add_half(&mut self, thread: ThreadId) {
        let Explorer { walk, graph, .. } = &mut *self.explorer;
        let half = walk.threads[thread.index()].half.take().expect("the thread has a half-done RMW");
        let read = *graph.thread(thread).last().expect("its reading half");
        let place = graph.node(read).place;
        let write = graph.add(walk.new_node(thread, half.flags(), place, half.access));
        graph.set_value(write, half.written);
        graph.place_write(write, graph.position_of(read) + 1);
        walk.finish_half(thread, &half);
        self.note_write(thread, write);
    }

    // ---- on to the next reads ----

    /// Runs all threads to their next reads.
    fn settle(&mut self) -> Result<Option<Ended>, ExploreError> {
        loop {
            let mut moved = false;
            let mut t = 0;
            while t < self.explorer.walk.threads.len() {
                moved |= match self.settle_thread(ThreadId(t as u32))? {
                    Some(moved) => moved,
                    None => return Ok(Some(Ended::Stuck(Stuck::Limit))),
                };
                t += 1;
            }
            if !moved {
                return Ok(None);
            }
        }
    }

    /// Whether it has moved; `None` if it has no end.
    fn settle_thread(&mut self, thread: ThreadId) -> Result<Option<bool>, ExploreError> {
        let t = thread.index();
        if self.pending.len() <= t {
            self.pending.resize(t + 1, None);
        }
        let mut moved = false;
        loop {
            let Explorer { walk, graph, cells, options, .. } = &mut *self.explorer;
            match walk.threads[t].state {
                State::Ready => {}
                State::Spinning { writes: true, .. } if !walk.still_spins(graph, thread) => {
                    walk.threads[t].state = State::Ready;
                }
                _ => {
                    self.pending[t] = None;
                    return Ok(Some(moved));
                }
            }
            if graph.len() > options.max_events {
                return Ok(None);
            }
            let access = match walk.settle(graph, thread) {
                Settled::Access(access) => access,
                Settled::Exit => {
                    walk.threads[t].state = State::Done;
                    self.learn(thread, None);
                    continue;
                }
                Settled::End(failure) => {
                    walk.end_by(thread, failure);
                    self.learn(thread, None);
                    continue;
                }
                Settled::Endless => return Ok(None),
            };
            let Some(at) = access.location() else {
                self.add_write(thread, access, Place::NONE);
                moved = true;
                continue;
            };
            let place = cells.place(at, graph, |at| walk.program.initial(at))?;
            if matches!(access, Access::Store { .. }) && graph.location(place) == at {
                self.add_write(thread, access, place);
                moved = true;
                continue;
            }
            let forced = is_forced(at);
            if forced && graph.writes(place).len() > 1 {
                let source = graph.writes(place)[1];
                self.add_read(thread, access, place, source, 0);
                moved = true;
                continue;
            }
            let refused = {
                let last = extract(graph.location(place), &access, graph.final_value(place));
                !walk.sets.passes(access.guard(), last)
            };
            if !forced
                && !refused
                && let Some(spinning) = walk.round_without_effect(graph, thread)
            {
                walk.threads[t].state = spinning;
                self.pending[t] = None;
                return Ok(Some(moved));
            }
            let pending = Pending { access, place, forced };
            self.pending[t] = Some(pending);
            self.learn(thread, Some(pending));
            return Ok(Some(moved));
        }
    }

    /// The thread has come to its next read, or to its end: takes note of what can come of that.
    fn learn(&mut self, thread: ThreadId, pending: Option<Pending>) {
        let at = self.history(thread);
        let Explorer { knowledge, graph, equivalence, .. } = &mut *self.explorer;
        if knowledge.is_known(at) {
            return;
        }
        if pending.is_some_and(|pending| pending.forced) {
            // It goes on without reading anything that is a choice.
            return;
        }
        knowledge.set_known(at);
        if let Some(Pending { access, place, .. }) = pending {
            let cell = graph.location(place);
            let written = match access {
                Access::Load { .. } => None,
                _ if *equivalence == Equivalence::Sources => {
                    Some(Written::Key(key_of_event(thread, graph.thread(thread).len() as u32 + 1)))
                }
                Access::Rmw { update: Update::Exchange(value), at, .. } if at == cell => Some(Written::Key(value.0)),
                Access::CompareExchange { desired, at, .. } if at == cell => Some(Written::Key(desired.0)),
                _ => Some(Written::Any),
            };
            if let Some(written) = written {
                knowledge.will_write(at, cell, written);
            }
        }
        if pending.is_none_or(|pending| pending.access.guard() != Guard::Any) {
            let mut seen: Vec<Place> = Vec::new();
            for node in graph.thread(thread).iter().rev() {
                let data = graph.node(*node);
                if data.flags.has(Flags::WRITE)
                    && !seen.contains(&data.place)
                    && graph.location(data.place).as_hidden().is_some()
                {
                    seen.push(data.place);
                    knowledge.stops(at, graph.location(data.place), data.value.0);
                }
            }
        }
    }

    // ---- choices ----

    fn threads(&self) -> impl Iterator<Item = (ThreadId, Pending)> {
        let pending = self.pending.iter().enumerate();
        pending.filter_map(|(t, pending)| Some((ThreadId(t as u32), (*pending)?))).filter(|(_, p)| !p.forced)
    }

    fn is_put_off(&self, thread: ThreadId) -> bool {
        self.put_off.iter().any(|put_off| put_off.thread == thread.0)
    }

    /// Looks for a source for each read. If there is none for some, others may still write one; otherwise false.
    fn can_close(&mut self) -> bool {
        if let Some(witness) = self.solve(Node::INIT, &[], &[], |_| false) {
            self.flush();
            witness.apply(&mut self.explorer.graph);
            self.open = false;
            return true;
        }
        let again = self.written_again();
        if self.solve(Node::INIT, &[], &[], |node| again.contains(&node)).is_some() {
            return true;
        }
        if self.is_full() {
            return true;
        }
        self.note(self.explorer.graph.len() - 1, None, self.put_off.clone(), Some(None));
        false
    }

    /// Lets a thread read that was put off; false if none can.
    fn read_put_off(&mut self) -> bool {
        let waiting: Vec<_> = self.threads().filter(|(thread, _)| self.is_put_off(*thread)).collect();
        for (thread, pending) in waiting {
            let ways = self.ways(thread, pending);
            if !ways.is_empty() {
                self.branch(thread, pending, ways);
                return true;
            }
        }
        false
    }

    /// Lets one of the other threads read; false if none can.
    fn advance(&mut self) -> bool {
        let free: Vec<_> = self.threads().filter(|(thread, _)| !self.is_put_off(*thread)).collect();
        let mut chosen = None;
        for (thread, pending) in free {
            let labels = self.available(thread, pending);
            if labels.is_empty() {
                continue;
            }
            let single = labels.len() == 1 && !self.has_future(thread, pending, &labels);
            if single {
                chosen = Some((thread, pending));
                break;
            }
            chosen.get_or_insert((thread, pending));
        }
        let Some((thread, pending)) = chosen else { return false };
        let ways = self.ways(thread, pending);
        if ways.is_empty() {
            // Nothing that is there can be read: a guard lets nothing through that the thread could still see.
            self.put_off.push(PutOff { thread: thread.0, labels: Vec::new(), impossible: Vec::new() });
            return true;
        }
        self.branch(thread, pending, ways);
        true
    }

    /// The labels of the writes that are there, as the thread's read would see them, but for those it does not read.
    fn available(&self, thread: ThreadId, pending: Pending) -> Vec<Label> {
        let explorer = &*self.explorer;
        let graph = &explorer.graph;
        let put_off = self.put_off.iter().find(|put_off| put_off.thread == thread.0);
        let mut labels = Vec::new();
        for write in graph.writes(pending.place) {
            let value = extract(graph.location(pending.place), &pending.access, graph.written(pending.place, *write));
            if !explorer.walk.sets.passes(pending.access.guard(), value) {
                continue;
            }
            let key = read_key(explorer.equivalence, graph, &pending.access, pending.place, *write);
            for variant in 0..explorer.options.ways(&pending.access, value, &explorer.walk.sets) {
                let label = Label { key, variant };
                let excluded = put_off.is_some_and(|p| p.labels.contains(&label) || p.impossible.contains(&label));
                if !excluded && !labels.contains(&label) {
                    labels.push(label);
                }
            }
        }
        labels
    }

    /// Could others still write something for this read, besides `labels`?
    fn has_future(&self, thread: ThreadId, pending: Pending, labels: &[Label]) -> bool {
        let explorer = &*self.explorer;
        let cell = explorer.graph.location(pending.place);
        let others = self.histories.iter().enumerate().filter(|(t, _)| *t != thread.index());
        others
            .filter_map(|(_, history)| *history)
            .any(|history| explorer.offers(explorer.knowledge.future(history, cell), &pending.access, cell, labels))
    }

    /// What the thread's read can get now, and how. The last write's label comes last.
    fn ways(&mut self, thread: ThreadId, pending: Pending) -> Vec<(Label, Way)> {
        let labels = self.available(thread, pending);
        let mut ways = Vec::new();
        for label in labels {
            if let Some(way) = self.way(thread, pending, label) {
                ways.push((label, way));
            }
        }
        ways
    }

    fn way(&mut self, thread: ThreadId, pending: Pending, label: Label) -> Option<Way> {
        let Pending { access, place, .. } = pending;
        let equivalence = self.explorer.equivalence;
        let Explorer { walk, graph, checker, effort, .. } = &mut *self.explorer;
        let length = graph.len();
        let alike = |graph: &Graph, write: Node| read_key(equivalence, graph, &access, place, write) == label.key;
        let sources: Vec<Node> = graph.writes(place).iter().rev().copied().filter(|w| alike(graph, *w)).collect();
        let first = *sources.first()?;
        let read = graph.add(walk.new_node(thread, Flags::READ, place, access));
        for source in sources.iter().copied().filter(|_| !self.open) {
            set_source(graph, read, source, label.variant, &mut walk.sets);
            let after = graph.position_of(read) as usize + 1;
            let exclusive = graph.node(read).flags.has(Flags::EXCLUSIVE);
            let taken = exclusive
                && graph.writes(place).get(after).is_some_and(|next| graph.node(*next).flags.has(Flags::EXCLUSIVE));
            let mut fits = !taken && checker.admits(graph, read);
            if fits && exclusive {
                add_tentative_write(graph, read, &mut walk.sets);
                fits = checker.admits(graph, graph.last());
                graph.truncate(length + 1);
            }
            if fits {
                graph.truncate(length);
                effort.answers.saturation += 1;
                return Some(Way::Source(source));
            }
        }
        set_source(graph, read, first, label.variant, &mut walk.sets);
        if graph.node(read).flags.has(Flags::EXCLUSIVE) {
            add_tentative_write(graph, read, &mut walk.sets);
        }
        let mut later = false;
        let witness = self.solve(read, &sources, &[], |_| false);
        if witness.is_none() && equivalence == Equivalence::Values {
            let again = self.written_again();
            later = !again.is_empty() && self.solve(read, &sources, &[], |node| again.contains(&node)).is_some();
        }
        let graph = &mut self.explorer.graph;
        let way = witness.map(|witness| {
            let mut other = graph.clone();
            witness.apply(&mut other);
            Way::Other(Box::new(other))
        });
        graph.truncate(length);
        way.or(later.then_some(Way::Later(first)))
    }

    /// Asks for a graph in which `read` reads one of `sources`, and reads for which `free` holds anything.
    fn solve(
        &mut self,
        read: Node,
        sources: &[Node],
        finals: &[(Place, Vec<u32>)],
        free: impl Fn(Node) -> bool,
    ) -> Option<Witness> {
        let Explorer { graph, checker, effort, equivalence, .. } = &mut *self.explorer;
        let (graph, equivalence) = (&*graph, *equivalence);
        let domain = |node: Node| -> Option<Vec<u32>> {
            if node == read {
                return Some(sources.iter().map(|s| s.0).collect());
            }
            if free(node) {
                return None;
            }
            let data = graph.node(node);
            if is_forced(graph.location(data.place)) {
                return Some(vec![data.source.0]);
            }
            let key = |write: Node| read_key(equivalence, graph, &data.access, data.place, write);
            let own = key(data.source);
            Some(graph.writes(data.place).iter().copied().filter(|w| key(*w) == own).map(|w| w.0).collect())
        };
        ask(graph, checker, domain, finals, &mut effort.answers)
    }

    /// The thread reads each of these: one now, the others later; and then none of them, if there is hope.
    fn branch(&mut self, thread: ThreadId, pending: Pending, mut ways: Vec<(Label, Way)>) {
        let old = self.put_off.iter().find(|put_off| put_off.thread == thread.0).cloned();
        let mut labels: Vec<Label> = old.as_ref().map_or_else(Vec::new, |put_off| put_off.labels.clone());
        labels.extend(ways.iter().map(|(label, _)| *label));
        let impossible = old.map_or_else(Vec::new, |put_off| put_off.impossible);
        let mut rest: Vec<PutOff> = self.put_off.clone();
        rest.retain(|put_off| put_off.thread != thread.0);
        self.note_rest(thread, pending, PutOff { thread: thread.0, labels, impossible }, &rest);
        // The write that is last now needs no reordering of what is there.
        let now = ways.iter().rposition(|(_, way)| matches!(way, Way::Source(_)));
        let now = now.or_else(|| ways.iter().rposition(|(_, way)| matches!(way, Way::Other(_))));
        let now = now.unwrap_or(ways.len() - 1);
        let (_, first) = (ways[now].0, ways.swap_remove(now));
        self.put_off = rest;
        let length = self.explorer.graph.len() - 1;
        for (label, way) in ways {
            match way {
                Way::Source(source) | Way::Later(source) => {
                    let choice = Choice { thread: thread.0, source: source.0, variant: label.variant };
                    let open = std::mem::replace(&mut self.open, matches!(way, Way::Later(_)));
                    self.note(length, Some(choice), self.put_off.clone(), None);
                    self.open = open;
                }
                Way::Other(graph) => {
                    let steps = steps_of(&graph);
                    let put_off = self.put_off.clone();
                    let task = Task { length: steps.len(), steps, choice: None, put_off, open: false };
                    self.explorer.tasks.push(task);
                }
            }
        }
        let (label, way) = first;
        match way {
            Way::Source(source) => self.add_read(thread, pending.access, pending.place, source, label.variant),
            Way::Later(source) => {
                self.open = true;
                self.add_read(thread, pending.access, pending.place, source, label.variant);
            }
            Way::Other(graph) => {
                self.open = false;
                self.flush();
                let exclusive = graph.node(graph.last()).flags.has(Flags::WRITE);
                let length = graph.len() - usize::from(exclusive);
                self.explorer.graph = *graph;
                let order = exclusive.then(|| {
                    let graph = &self.explorer.graph;
                    graph.writes(pending.place).to_vec()
                });
                self.explorer.graph.truncate(length);
                let read = self.explorer.graph.last();
                self.finish_read(thread, read);
                if let Some(order) = order {
                    self.explorer.graph.reorder(pending.place, &order);
                }
            }
        }
    }

    /// Notes the executions in which the thread reads something else, if it can; otherwise puts them aside.
    fn note_rest(&mut self, thread: ThreadId, pending: Pending, mut own: PutOff, rest: &[PutOff]) {
        // Alone, it gets what is there or nothing: but what it writes later may be what others have read.
        if !self.anybody_else(thread) && pending.access.guard() == Guard::Any {
            let put_off = std::mem::replace(&mut self.put_off, vec![own.clone()]);
            let others = self.available(thread, pending);
            self.put_off = put_off;
            if others.is_empty() || self.explorer.equivalence == Equivalence::Sources {
                return;
            }
        }
        let hope = self.hope(thread, pending, &mut own);
        let mut put_off = rest.to_vec();
        put_off.push(own);
        let length = self.explorer.graph.len() - 1;
        let dormant = (!hope && !self.is_full()).then_some(Some((thread, pending)));
        self.note(length, None, put_off, dormant);
    }

    fn is_full(&self) -> bool {
        self.explorer.knowledge.len() + self.explorer.dormant.len() >= self.explorer.bound
    }

    /// Is there another thread that may go on?
    fn anybody_else(&self, thread: ThreadId) -> bool {
        let others = self.explorer.walk.threads.iter().enumerate().filter(|(t, _)| *t != thread.index());
        let mut others = others;
        others.any(|(_, run)| matches!(run.state, State::Ready | State::Spinning { .. }))
    }

    /// Could the thread, put off like this, still read something else, or stay where it is?
    fn hope(&mut self, thread: ThreadId, pending: Pending, own: &mut PutOff) -> bool {
        if self.has_future(thread, pending, &own.labels) {
            return true;
        }
        let explorer = &*self.explorer;
        let cell = explorer.graph.location(pending.place);
        if explorer.can_stay(self.histories.iter().flatten(), &pending.access, cell) {
            return true;
        }
        if explorer.equivalence == Equivalence::Values {
            // What is there and cannot be read: if others read the same from elsewhere, it might.
            let put_off = std::mem::replace(&mut self.put_off, vec![own.clone()]);
            own.impossible.extend(self.available(thread, pending));
            self.put_off = put_off;
        }
        false
    }

    /// The reads whose value may be written again, by what is known.
    fn written_again(&self) -> FxHashSet<Node> {
        let Explorer { graph, knowledge, equivalence, .. } = &*self.explorer;
        let mut again = FxHashSet::default();
        if *equivalence == Equivalence::Sources {
            return again;
        }
        for (node, data) in graph.nodes().filter(|(_, data)| data.flags.has(Flags::READ)) {
            let cell = graph.location(data.place);
            if is_forced(cell) {
                continue;
            }
            let own = label_key(cell, &data.access, data.value);
            let same = |written: Written| match written {
                Written::Any => true,
                Written::Key(key) => label_key(cell, &data.access, Value(key)) == own,
            };
            if self.histories.iter().flatten().any(|history| knowledge.future(*history, cell).any(same)) {
                again.insert(node);
            }
        }
        again
    }

    /// If a thread that is put off has nothing to wait for, this run comes to nothing: what it would have led to is
    /// put aside.
    fn is_hopeless(&mut self) -> bool {
        let waiting: Vec<_> = self.threads().filter(|(thread, _)| self.is_put_off(*thread)).collect();
        for (thread, pending) in waiting {
            let at = self.put_off.iter().position(|put_off| put_off.thread == thread.0).expect("it is put off");
            let mut own = self.put_off[at].clone();
            let hope = self.hope(thread, pending, &mut own);
            self.put_off[at] = own;
            if !hope {
                if !self.is_full() {
                    self.note(self.explorer.graph.len() - 1, None, self.put_off.clone(), Some(Some((thread, pending))));
                }
                return !self.is_full();
            }
        }
        false
    }

    fn note(&mut self, length: usize, choice: Option<Choice>, put_off: Vec<PutOff>, dormant: Option<Aside>) {
        let histories = if dormant.is_some() { self.histories.clone() } else { Vec::new() };
        let impossible = |thread: ThreadId| put_off.iter().any(|p| p.thread == thread.0 && !p.impossible.is_empty());
        let by_reads = |aside: &Aside| aside.is_none_or(|(thread, _)| self.open || impossible(thread));
        let reads = dormant.filter(by_reads).map(|_| self.reads());
        let open = self.open;
        self.noted.push(Noted { length, choice, put_off, open, dormant, histories, reads });
    }

    /// What was read so far, and how many ways are known in which it may be written again.
    fn reads(&self) -> (FxHashSet<(Location, u128)>, usize) {
        let Explorer { graph, knowledge, .. } = &*self.explorer;
        let reads = graph.nodes().filter(|(_, data)| data.flags.has(Flags::READ));
        let reads =
            reads.map(|(_, data)| (graph.location(data.place), graph.written(data.place, data.source).0)).collect();
        let known = self.histories.iter().flatten().map(|history| knowledge.offers_again(*history, &reads)).sum();
        (reads, known)
    }

    /// Makes tasks of what was noted.
    fn flush(&mut self) {
        if self.noted.is_empty() {
            return;
        }
        let steps = steps_of(&self.explorer.graph);
        for Noted { length, choice, put_off, open, dormant, histories, reads } in std::mem::take(&mut self.noted) {
            let task = Task { steps: Arc::clone(&steps), length, choice, put_off, open };
            match dormant {
                None => self.explorer.tasks.push(task),
                Some(aside) => self.put_aside(task, aside, histories, reads),
            }
        }
    }

    fn put_aside(
        &mut self,
        task: Task,
        aside: Aside,
        histories: Vec<Option<History>>,
        reads: Option<(FxHashSet<(Location, u128)>, usize)>,
    ) {
        let explorer = &mut *self.explorer;
        let id = explorer.dormant.len() as u32;
        for history in histories.iter().flatten() {
            explorer.knowledge.watch(*history, id);
        }
        let cell = |pending: Pending| explorer.graph.location(pending.place);
        let waits = aside.map(|(thread, pending)| (thread, pending.access, cell(pending)));
        explorer.dormant.push(Dormant { task: Some(task), waits, histories, reads });
        // What was learned since it was noted counts, too.
        explorer.knowledge.grown.push(id);
    }

    // ---- the end ----

    /// Nobody can read any more.
    fn end(&mut self) -> Ended {
        if self.open {
            return Ended::InVain;
        }
        // What was noted begins like the graph as it is, before anything in it changes.
        self.flush();
        let mut stuck = Vec::new();
        let mut spins = false;
        // Where the last write must be one of these for the threads to stay where they are.
        let mut finals: Vec<(Place, Vec<u32>)> = Vec::new();
        let explorer = &*self.explorer;
        let graph = &explorer.graph;
        let require = |finals: &mut Vec<(Place, Vec<u32>)>, place: Place, allowed: &dyn Fn(Node) -> bool| {
            let index = match finals.iter().position(|(other, _)| *other == place) {
                Some(index) => index,
                None => {
                    finals.push((place, graph.writes(place).iter().map(|w| w.0).collect()));
                    finals.len() - 1
                }
            };
            finals[index].1.retain(|write| allowed(Node(*write)));
        };
        for (t, run) in explorer.walk.threads.iter().enumerate() {
            let thread = ThreadId(t as u32);
            match run.state {
                State::Done | State::Absent | State::Ended => continue,
                State::Spinning { round, .. } => {
                    spins = true;
                    for read in &graph.thread(thread)[round as usize..] {
                        let data = graph.node(*read);
                        if !data.flags.has(Flags::READ) {
                            continue;
                        }
                        if data.variant != 0 {
                            return Ended::InVain;
                        }
                        let seen = extract(graph.location(data.place), &data.access, data.value);
                        require(&mut finals, data.place, &|write| {
                            let last = graph.written(data.place, write);
                            extract(graph.location(data.place), &data.access, last) == seen
                        });
                    }
                }
                _ => {
                    let Some(pending) = self.pending[t] else { return Ended::InVain };
                    let guard = pending.access.guard();
                    if guard == Guard::Any {
                        return Ended::InVain;
                    }
                    let cell = graph.location(pending.place);
                    require(&mut finals, pending.place, &|write| {
                        let last = extract(cell, &pending.access, graph.written(pending.place, write));
                        !explorer.walk.sets.passes(guard, last)
                    });
                }
            }
            stuck.push(thread);
        }
        if stuck.is_empty() {
            return Ended::Complete(self.observe());
        }
        let holds = |(place, last): &(Place, Vec<u32>)| {
            graph.writes(*place).last().is_some_and(|write| last.contains(&write.0))
        };
        if !finals.iter().all(holds) {
            if finals.iter().any(|(_, last)| last.is_empty()) {
                return Ended::InVain;
            }
            let Some(witness) = self.solve(Node::INIT, &[], &finals, |_| false) else { return Ended::InVain };
            witness.apply(&mut self.explorer.graph);
        }
        // Who waits when the process ends does not wait forever.
        if !self.explorer.walk.ends.is_empty() {
            return Ended::Complete(vec![self.explorer.graph.clone()]);
        }
        Ended::Stuck(if spins { Stuck::Livelock(stuck) } else { Stuck::Deadlock(stuck) })
    }

    /// The graph, once for each set of final values of what is observed.
    fn observe(&mut self) -> Vec<Graph> {
        let observed: Vec<Place> = {
            let Explorer { walk, graph, .. } = &*self.explorer;
            let locations = walk.program.observed();
            let places = (0..graph.places() as u32).map(Place);
            places.filter(|p| locations.iter().any(|at| graph.location(*p).overlaps(*at))).collect()
        };
        let observed: Vec<Place> =
            observed.into_iter().filter(|place| self.explorer.graph.writes(*place).len() > 2).collect();
        let mut graphs = Vec::new();
        let mut finals = Vec::new();
        self.observe_rest(&observed, &mut finals, &mut graphs);
        graphs
    }

    fn observe_rest(&mut self, places: &[Place], finals: &mut Vec<(Place, Vec<u32>)>, graphs: &mut Vec<Graph>) {
        let Some((place, rest)) = places.split_first() else {
            graphs.push(self.explorer.graph.clone());
            return;
        };
        let graph = &self.explorer.graph;
        let mut classes: Vec<(u128, Vec<u32>)> = Vec::new();
        for write in graph.writes(*place) {
            let key = match self.explorer.equivalence {
                Equivalence::Values => graph.written(*place, *write).0,
                Equivalence::Sources => u128::from(write.0),
            };
            match classes.iter_mut().find(|(other, _)| *other == key) {
                Some((_, writes)) => writes.push(write.0),
                None => classes.push((key, vec![write.0])),
            }
        }
        let before = self.explorer.graph.clone();
        for (_, writes) in classes {
            finals.push((*place, writes));
            let fits = |graph: &Graph, (place, last): &(Place, Vec<u32>)| {
                graph.writes(*place).last().is_some_and(|write| last.contains(&write.0))
            };
            if finals.iter().all(|last| fits(&before, last)) {
                self.explorer.effort.answers.saturation += 1;
                self.observe_rest(rest, finals, graphs);
            } else if let Some(witness) = self.solve(Node::INIT, &[], finals, |_| false) {
                witness.apply(&mut self.explorer.graph);
                self.observe_rest(rest, finals, graphs);
            }
            self.explorer.graph = before.clone();
            finals.pop();
        }
    }
}

/// The write of a read-modify-write, where its read says.
fn add_tentative_write(graph: &mut Graph, read: Node, sets: &mut fencepost_engine::WaitSets) {
    use crate::graph::event::{ReadEffect, read_effect};
    let data = *graph.node(read);
    let effect = read_effect(graph.location(data.place), &data.access, data.value, data.variant, sets);
    let ReadEffect::Rmw { order, written, weaves, .. } = effect else { return };
    let flags = store_flags(order).with(Flags::EXCLUSIVE).with(Flags::when(weaves, Flags::WEAVES));
    let new = fencepost_memory::graph::NewNode {
        thread: data.thread,
        flags,
        place: data.place,
        label: data.label,
        digest: 0,
        access: data.access,
    };
    let write = graph.add(new);
    graph.set_value(write, written);
    graph.place_write(write, graph.position_of(read) + 1);
}

fn key_of_event(thread: ThreadId, index: u32) -> u128 {
    (u128::from(thread.0) + 1) << 32 | u128::from(index)
}

fn source_key(steps: &[super::task::Step], at: usize) -> u128 {
    let thread = steps[at].thread;
    let index = steps[..at].iter().filter(|step| step.thread == thread).count() as u32;
    key_of_event(ThreadId(thread), index)
}

/// A load of part of a cell sees that part; what also writes depends on the whole.
fn label_key(cell: Location, access: &Access, whole: Value) -> u128 {
    match access {
        Access::Load { .. } => extract(cell, access, whole).0,
        _ => whole.0,
    }
}

/// What tells this write from others for a read.
fn read_key(equivalence: Equivalence, graph: &Graph, access: &Access, place: Place, write: Node) -> u128 {
    match equivalence {
        Equivalence::Values => label_key(graph.location(place), access, graph.written(place, write)),
        Equivalence::Sources => write_key(equivalence, graph, place, write),
    }
}

fn write_key(equivalence: Equivalence, graph: &Graph, place: Place, write: Node) -> u128 {
    match equivalence {
        Equivalence::Values => graph.written(place, write).0,
        Equivalence::Sources if write == Node::INIT => 0,
        Equivalence::Sources => key_of_event(graph.node(write).thread, graph.node(write).index),
    }
}

impl<T: Threads> Explorer<T> {
    /// The labels that a write with this key has for a read.
    pub(super) fn labels(&self, access: &Access, cell: Location, key: u128) -> impl Iterator<Item = Label> {
        let (key, ways) = match self.equivalence {
            Equivalence::Values => {
                let value = extract(cell, access, Value(key));
                let passes = self.walk.sets.passes(access.guard(), value);
                let ways = if passes { self.options.ways(access, value, &self.walk.sets) } else { 0 };
                (label_key(cell, access, Value(key)), ways)
            }
            // What it will write is not known from who writes it.
            Equivalence::Sources => (key, 1),
        };
        (0..ways).map(move |variant| Label { key, variant })
    }

    /// The same for a value that a guard waits for.
    pub(super) fn labels_of_value(&self, access: &Access, value: Value) -> impl Iterator<Item = Label> {
        let ways = self.options.ways(access, value, &self.walk.sets);
        (0..ways).map(move |variant| Label { key: value.0, variant })
    }
}
