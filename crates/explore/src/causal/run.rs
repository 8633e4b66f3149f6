//! One run of the program: along the steps of a task, and on to the end, noting what else could have happened.

use super::explorer::{Equivalence, Explorer, Reliance, Unasked};
use super::knowledge::{History, Label, mix};
use super::question::Witness;
use super::steps::{Step, Steps, node_of};
use super::task::{Before, Choice, Last, Reader, Task, Whole};
use crate::graph::cells::extract;
use crate::graph::event::{is_forced, is_join, read_flags, set_source, store_flags, write_flags};
use crate::graph::rounds::is_own;
use crate::graph::walk::{Settled, State};
use crate::graph::{ExploreError, Stuck};
use fencepost_engine::Threads;
use fencepost_memory::graph::{Flags, Graph, NewNode, Node, NodeData, Place};
use fencepost_trace::{Access, Guard, Location, Op, ThreadId, Value};
use std::sync::Arc;

/// States of open tasks are kept as long as they have so many events together: some hundred bytes for each. Where
/// there are more, the program is run again.
const MOST_EVENTS: usize = 1 << 18;

/// So many labels of a thread that was not asked are kept at most.
const MOST_LABELS: usize = 4;

/// How a run ended.
pub(super) enum Ended {
    /// Complete, with the graph at hand.
    Complete,
    /// Complete: one graph for each set of final values that somebody asks for.
    Observed(Vec<Graph>),
    Stuck(Stuck),
    /// Whatever comes of it has been met elsewhere.
    InVain,
}

/// A read that a thread is at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    access: Access,
    place: Place,
    /// It has one source, and waits for it.
    forced: bool,
    /// How many events the thread has had.
    events: usize,
    /// The program point, and the thread's local state there.
    point: u32,
    digest: u64,
}

/// How a read can get a result.
enum Way {
    /// From this write, everything else staying as it is.
    Source(Node),
    /// In another graph, which contains the read.
    Other(Box<Graph>),
}

/// What threads that were asked can read.
struct Found {
    /// The name of the state.
    name: u128,
    transitions: Vec<Transition>,
    /// Something was not asked, since it leads to a state which was met before.
    known: bool,
}

/// What there is for a thread's next read.
#[derive(Default)]
struct Open {
    labels: Vec<OpenLabel>,
    /// How many of them may lead to states that were not met.
    new: usize,
}

/// A label that a read may have, as far as the values that were written are concerned.
#[derive(Clone, Copy)]
struct OpenLabel {
    label: Label,
    /// The name of the state that it leads to.
    name: u128,
    /// Was that met before?
    met: bool,
}

/// One more read, and how it comes about.
struct Transition {
    /// The name of the state that it leads to.
    name: u128,
    thread: ThreadId,
    pending: Pending,
    label: Label,
    way: Way,
}

/// What came of the wish to go on.
enum Advanced {
    /// A thread has read.
    On,
    /// All that can be read leads to states that were met before.
    Known,
    /// Nobody can go on.
    Nobody,
}

/// Threads that wait.
struct Waiting {
    stuck: Vec<ThreadId>,
    /// Does one of them wait in a loop?
    spins: bool,
    /// Where the last write must be one of these for them to stay where they are.
    finals: Vec<(Place, Vec<u32>)>,
}

/// A task to be, once it is known what the graph looks like.
struct Noted {
    length: u32,
    choice: Option<Choice>,
    last: Option<Box<Last>>,
    /// If the state is only to be taken up when more is known: more of what.
    reliance: Option<Reliance>,
}

pub(super) struct Run<'a, T> {
    explorer: &'a mut Explorer<T>,
    task: &'a Task,
    histories: Vec<Option<History>>,
    pending: Vec<Option<Pending>>,
    noted: Vec<Noted>,
    /// What threads with these histories cannot read next, whatever the others read meanwhile.
    ///
    /// An execution in which they could would have one without the later events in it, so that this stays so until
    /// somebody writes what may be read instead of something that was there before.
    refuted: Vec<(History, Label)>,
    /// For names of states, for the memory.
    names: Vec<u128>,
    /// By thread, what there is for its next read; and for the labels of one.
    open: Vec<Open>,
    labels: Vec<Label>,
}

impl<'a, T: Threads> Run<'a, T> {
    pub fn new(explorer: &'a mut Explorer<T>, task: &'a Task) -> Self {
        let (histories, pending, noted, refuted, names, open, labels) = Default::default();
        Run { explorer, task, histories, pending, noted, refuted, names, open, labels }
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
            let limit = self.settle()?;
            let program = &self.explorer.walk.program;
            if let Some(thread) = program.diverged() {
                return Err(ExploreError::Nondeterministic(thread));
            }
            if program.is_abandoned() {
                return Ok(Ended::InVain);
            }
            if let Some(limit) = limit {
                return Ok(limit);
            }
            if self.explorer.graph.len() > self.explorer.options.max_events {
                return Ok(Ended::Stuck(Stuck::Limit));
            }
            match self.advance() {
                Advanced::On => {}
                Advanced::Known => return Ok(Ended::InVain),
                Advanced::Nobody => {
                    let ended = self.end();
                    let is_told = !matches!(ended, Ended::InVain) && !self.explorer.ended.insert(self.name());
                    return Ok(if is_told { Ended::InVain } else { ended });
                }
            }
        }
    }

    // ---- along the steps ----

    /// Goes on from the state before the task's last read, if all of it is there.
    fn return_to(&mut self, last: &Last) -> bool {
        let Last { before, thread, label, whole, other } = last;
        let Some(Whole { graph, stand, pending, base }) = whole.as_deref() else { return false };
        if !self.explorer.walk.return_to(stand) {
            return false;
        }
        self.explorer.desk.set_base(base);
        self.histories.clone_from(&before.histories);
        self.pending.clone_from(pending);
        self.refuted.clone_from(&before.refuted);
        let read = self.pending[thread.index()].expect("a thread that reads is at a read");
        match (self.task.choice, other) {
            (Some(choice), _) => {
                self.explorer.graph.clone_from(graph);
                self.add_read(*thread, read.place, Node(choice.source), label.variant);
            }
            (None, Some(other)) => {
                self.explorer.graph.clone_from(other);
                self.add_read_of(*thread, read.place);
            }
            (None, None) => return false,
        }
        true
    }

    fn replay(&mut self) -> Result<(), ExploreError> {
        if self.task.last.as_deref().is_some_and(|last| self.return_to(last)) {
            return Ok(());
        }
        let Explorer { walk, graph, desk, .. } = &mut *self.explorer;
        walk.start();
        *graph = Graph::new();
        desk.forget();
        for t in 0..walk.threads.len() as u32 {
            let root = self.explorer.knowledge.root(ThreadId(t));
            self.histories.push(Some(root));
        }
        let steps: Vec<Step> = self.task.steps.iter().take(self.task.length as usize).collect();
        for step in &steps {
            self.replay_step(step, &steps)?;
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
        // One that writes may have written what was there before.
        let ends_with_write = self.task.choice.is_none() && graph.node(graph.last()).flags.has(Flags::WRITE);
        if let Some(Last { before, .. }) = self.task.last.as_deref().filter(|_| !ends_with_write) {
            self.refuted.clone_from(&before.refuted);
        }
        if let Some(Choice { thread, source, variant }) = self.task.choice {
            let thread = ThreadId(thread);
            let (_, place) = self.next_access(thread)?;
            self.add_read(thread, place, Node(source), variant);
        }
        Ok(())
    }

    fn next_access(&mut self, thread: ThreadId) -> Result<(Access, Place), ExploreError> {
        let Explorer { walk, graph, cells, .. } = &mut *self.explorer;
        if walk.threads.get(thread.index()).is_none_or(|run| run.state != State::Ready) {
            return Err(ExploreError::Nondeterministic(thread));
        }
        let Settled::Access = walk.settle(graph, thread) else {
            return Err(ExploreError::Nondeterministic(thread));
        };
        let access = *walk.threads[thread.index()].access();
        let place = match access.location() {
            None => Place::NONE,
            Some(at) => cells.place(at, graph, |at| walk.program.initial_for(thread, at))?,
        };
        Ok((access, place))
    }

    fn replay_step(&mut self, step: &Step, steps: &[Step]) -> Result<(), ExploreError> {
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
        let read = graph.add(walk.new_node(thread, Flags::READ, place));
        let flags = read_flags(graph.location(place), &access, step.value, step.variant, &walk.sets);
        if flags.has(Flags::BLOCKED) {
            return Err(ExploreError::Nondeterministic(thread));
        }
        graph.set_source(read, Node::INIT, step.value, step.variant, flags);
        walk.apply_read(graph, read);
        // What it reads is said when all events are there; only its label is needed now.
        if is_forced(graph.location(place)) {
            self.note_join(thread, place);
        } else {
            let key = match equivalence {
                Equivalence::Values => label_key(graph.location(place), &access, step.value),
                Equivalence::Sources => {
                    let source = step.source.checked_sub(1);
                    sourced(source.map_or(0, |i| source_key(steps, i as usize)), step.value)
                }
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
        self.refuted.retain(|(history, _)| *history != at);
    }

    /// The thread has seen the start of itself, or the end of another.
    fn note_join(&mut self, thread: ThreadId, place: Place) {
        let Explorer { knowledge, graph, .. } = &mut *self.explorer;
        if is_join(graph.location(place)) {
            let ended = graph.node(graph.writes(place)[1]).thread;
            let [at, ended] = [thread, ended].map(|thread| self.histories[thread.index()]);
            let (at, ended) = (at.expect("it runs"), ended.expect("it has ended"));
            self.histories[thread.index()] = Some(knowledge.join(at, ended));
        }
    }

    /// Adds a store, which comes last in coherence order, or a fence.
    fn add_write(&mut self, thread: ThreadId, access: Access, place: Place) {
        let Explorer { walk, graph, .. } = &mut *self.explorer;
        let flags = match access {
            Access::Store { order, .. } => store_flags(order),
            _ => write_flags(&access),
        };
        let node = graph.add(walk.new_node(thread, flags, place));
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
        if !self.refuted.is_empty() && self.explorer.equivalence == Equivalence::Values {
            let graph = &self.explorer.graph;
            let (place, value) = (graph.node(write).place, graph.node(write).value);
            let is_same = |other: &Node| *other != write && graph.written(place, *other) == value;
            let is_part = |access: &Access| access.location() != Some(graph.location(place));
            if graph.writes(place).iter().any(is_same)
                || graph.reads(place).iter().any(|read| is_part(&graph.node(*read).access))
                || self.pending.iter().flatten().any(|pending| pending.place == place && is_part(&pending.access))
            {
                self.refuted.clear();
            }
        }
        let at = self.history(thread);
        let Explorer { knowledge, graph, .. } = &mut *self.explorer;
        if knowledge.is_known(at) {
            return;
        }
        knowledge.wrote(at, graph.location(graph.node(write).place));
    }

    /// Adds a read of `source`, and the write of its read-modify-write.
    fn add_read(&mut self, thread: ThreadId, place: Place, source: Node, variant: u32) {
        let Explorer { walk, graph, .. } = &mut *self.explorer;
        let read = graph.add(walk.new_node(thread, Flags::READ, place));
        set_source(graph, read, source, variant, &walk.sets);
        self.finish_read(thread, read);
    }

    fn finish_read(&mut self, thread: ThreadId, read: Node) {
        let equivalence = self.explorer.equivalence;
        let Explorer { walk, graph, .. } = &mut *self.explorer;
        walk.apply_read(graph, read);
        let (place, variant, source) = (graph.node(read).place, graph.node(read).variant, graph.node(read).source);
        if is_forced(graph.location(place)) {
            self.note_join(thread, place);
        } else {
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
        let data = *graph.node(read);
        let write = graph.add(walk.new_half(&data, &half));
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
            let state = walk.threads[t].state;
            match state {
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
                Settled::Access => *walk.threads[t].access(),
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
                Settled::Waits(state) => {
                    walk.threads[t].state = state;
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
            let place = cells.place(at, graph, |at| walk.program.initial_for(thread, at))?;
            if matches!(access, Access::Store { .. }) && graph.location(place) == at {
                self.add_write(thread, access, place);
                moved = true;
                continue;
            }
            let forced = is_forced(at);
            if forced && graph.writes(place).len() > 1 {
                let source = graph.writes(place)[1];
                self.add_read(thread, place, source, 0);
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
            let events = graph.thread(thread).len();
            let (point, digest) = match self.pending[t].filter(|before| before.events == events) {
                Some(before) => (before.point, before.digest),
                None => {
                    let node = walk.new_node(thread, Flags::READ, place);
                    (node.label, node.digest)
                }
            };
            let pending = Pending { access, place, forced, events, point, digest };
            self.pending[t] = Some(pending);
            self.learn(thread, Some(pending));
            return Ok(Some(moved));
        }
    }

    /// The thread has come to its next read, or to its end: takes note of what can come of that.
    fn learn(&mut self, thread: ThreadId, pending: Option<Pending>) {
        let at = self.history(thread);
        let Explorer { knowledge, graph, .. } = &mut *self.explorer;
        if knowledge.is_known(at) {
            return;
        }
        if pending.is_some_and(|pending| pending.forced && !is_join(graph.location(pending.place))) {
            // It has not begun.
            return;
        }
        knowledge.set_known(at, pending.is_some_and(|pending| !pending.forced));
        if let Some(Pending { access, place, forced: false, .. }) = pending
            && !matches!(access, Access::Load { .. })
        {
            knowledge.will_write(at, graph.location(place));
        }
    }

    // ---- choices ----

    fn threads(&self) -> impl Iterator<Item = (ThreadId, Pending)> {
        let pending = self.pending.iter().enumerate();
        pending.filter_map(|(t, pending)| Some((ThreadId(t as u32), (*pending)?))).filter(|(_, p)| !p.forced)
    }

    /// Lets a thread read.
    ///
    /// Not all threads are asked what they can read, if those who are asked do not depend on the others: see the
    /// module documentation.
    fn advance(&mut self) -> Advanced {
        let (asked, open, Found { mut transitions, known, .. }) = self.ask();
        if transitions.is_empty() && !known {
            return Advanced::Nobody;
        }
        self.note_expanded(&asked, &open);
        self.open = open;
        transitions.retain(|transition| self.explorer.is_new(transition.name));
        if self.may_all_stay() && self.may_be_stuck() {
            // With these histories some execution goes on, and another does not.
            self.note_all(transitions);
            return Advanced::Nobody;
        }
        if transitions.is_empty() {
            return Advanced::Known;
        }
        self.branch(transitions);
        Advanced::On
    }

    /// What can be read, but for what leads to states that were met before. Says who was asked, and what there is.
    fn ask(&mut self) -> (Vec<bool>, Vec<Open>, Found) {
        let mut asked = vec![false; self.explorer.walk.threads.len()];
        let mut found = Found { name: self.name(), transitions: Vec::new(), known: false };
        let mut settled = false;
        let open = self.open_labels(found.name);
        while !settled && let Some(more) = self.next_group(&asked, &open) {
            for thread in more {
                asked[thread.index()] = true;
                let Some(pending) = self.pending[thread.index()].filter(|pending| !pending.forced) else { continue };
                settled |= !self.may_stay(pending);
                self.ways(thread, pending, &open[thread.index()].labels, &mut found);
            }
        }
        (asked, open, found)
    }

    /// Has every access that a thread is at a guard?
    fn may_all_stay(&self) -> bool {
        self.threads().all(|(_, pending)| pending.access.guard() != Guard::Any)
    }

    /// By thread, what there is for its next read.
    fn open_labels(&mut self, name: u128) -> Vec<Open> {
        let (mut open, mut labels) = (std::mem::take(&mut self.open), std::mem::take(&mut self.labels));
        for of_thread in &mut open {
            of_thread.labels.clear();
            of_thread.new = 0;
        }
        open.resize_with(self.explorer.walk.threads.len(), Open::default);
        for (thread, pending) in self.threads() {
            let of_thread = &mut open[thread.index()];
            self.available(pending, &mut labels);
            for label in labels.iter().copied() {
                let name = self.name_after(name, thread, label);
                let met = self.explorer.visited.contains(name);
                of_thread.new += usize::from(!met && !self.is_refuted(thread, label));
                of_thread.labels.push(OpenLabel { label, name, met });
            }
        }
        self.labels = labels;
        open
    }

    /// A group of threads, not all of them asked before, that read only where nobody outside of it, and of those who
    /// were asked, may write. The best has the fewest new states to lead to: if there are none, nothing is left to do.
    fn next_group(&self, asked: &[bool], open: &[Open]) -> Option<Vec<ThreadId>> {
        let mut best: Option<((usize, usize), Vec<ThreadId>)> = None;
        for (thread, _) in self.threads() {
            if asked[thread.index()] || open[thread.index()].labels.is_empty() {
                continue;
            }
            let group = self.group(thread, asked);
            let rank = (group.iter().map(|member| open[member.index()].new).sum::<usize>(), group.len());
            if best.as_ref().is_none_or(|(before, _)| rank < *before) {
                best = Some((rank, group));
            }
            if best.as_ref().is_some_and(|((new, _), _)| *new == 0) {
                break;
            }
        }
        best.map(|(_, group)| group)
    }

    fn group(&self, first: ThreadId, asked: &[bool]) -> Vec<ThreadId> {
        let Explorer { knowledge, graph, .. } = &*self.explorer;
        let mut group = vec![first];
        let mut next = 0;
        let everybody = || (0..asked.len()).filter(|t| !asked[*t]).map(|t| ThreadId(t as u32));
        while next < group.len() {
            // Who waits in a loop goes on when somebody writes there.
            let Some(pending) = self.pending[group[next].index()] else { return everybody().collect() };
            let cell = graph.location(pending.place);
            for thread in everybody() {
                let may_write = |history: History| knowledge.may_write(history, cell);
                if !group.contains(&thread)
                    && self.histories.get(thread.index()).copied().flatten().is_some_and(may_write)
                {
                    group.push(thread);
                }
            }
            next += 1;
        }
        group
    }

    /// May the thread stay at its access forever, as far as those who have written there are concerned?
    fn may_stay(&self, pending: Pending) -> bool {
        let guard = pending.access.guard();
        if guard == Guard::Any {
            return false;
        }
        let Explorer { walk, graph, .. } = &*self.explorer;
        let cell = graph.location(pending.place);
        let refuses =
            |write: Node| !walk.sets.passes(guard, extract(cell, &pending.access, graph.written(pending.place, write)));
        last_writes(graph, pending.place).into_iter().any(refuses)
    }

    /// If somebody was not asked who may go on: more may be known of those one day.
    fn note_expanded(&mut self, asked: &[bool], open: &[Open]) {
        let threads = &self.explorer.walk.threads;
        let is_other = |t: &usize| !asked[*t] && matches!(threads[*t].state, State::Ready | State::Spinning { .. });
        let known = self.histories.len().min(asked.len());
        let others: Vec<usize> = (0..known).filter(is_other).filter(|t| self.histories[*t].is_some()).collect();
        if others.is_empty() {
            return;
        }
        self.names.clear();
        let mut unasked = Vec::with_capacity(others.len());
        unasked.extend(others.iter().filter_map(|t| self.unasked(ThreadId(*t as u32), &open[*t].labels)));
        let others = others.into_iter().map(|t| self.histories[t].expect("it was just there")).collect();
        let graph = &self.explorer.graph;
        let pending = || (0..asked.len()).filter(|t| asked[*t]).filter_map(|t| self.pending[t]);
        let mut cells = Vec::with_capacity(pending().count());
        cells.extend(pending().map(|pending| graph.location(pending.place)));
        let length = graph.len() as u32 - 1;
        let (cells, unasked, names) = (cells.into(), unasked.into(), self.names[..].into());
        let reliance = Some(Reliance { cells, others, unasked, names });
        self.noted.push(Noted { length, choice: None, last: None, reliance });
    }

    /// What a thread that was not asked could read, unless that is much.
    fn unasked(&mut self, thread: ThreadId, labels: &[OpenLabel]) -> Option<Unasked> {
        let pending = self.pending[thread.index()].filter(|pending| !pending.forced && labels.len() <= MOST_LABELS)?;
        let first = u16::try_from(self.names.len()).ok()?;
        for OpenLabel { label, name, met } in labels {
            if !met && !self.is_refuted(thread, *label) && !self.is_taken(pending, *label) {
                self.names.push(*name);
            }
        }
        let count = self.names.len() as u16 - first;
        Some(Unasked { history: self.history(thread), cell: self.explorer.graph.location(pending.place), first, count })
    }

    /// Is the read that of a read-modify-write, and has somebody else read each of the writes that would give it this
    /// label? So it is with a lock that somebody holds.
    fn is_taken(&mut self, pending: Pending, label: Label) -> bool {
        let Pending { access, place, .. } = pending;
        let Explorer { walk, graph, equivalence, .. } = &mut *self.explorer;
        let is_it = |write: &&Node| read_key(*equivalence, graph, &access, place, **write) == label.key;
        let Some(source) = graph.writes(place).iter().find(is_it) else { return false };
        let written = graph.written(place, *source);
        let flags = read_flags(graph.location(place), &access, written, label.variant, &walk.sets);
        flags.has(Flags::EXCLUSIVE) && all_are_taken(*equivalence, graph, place, &access, label.key)
    }

    /// The name of the state at hand.
    fn name(&self) -> u128 {
        let parts = self.histories.iter().flatten().map(|history| self.explorer.knowledge.part_of_name(*history));
        parts.fold(0, u128::wrapping_add)
    }

    /// The name of the state in which the thread has read this, too, beside what makes the state of this name.
    fn name_after(&self, name: u128, thread: ThreadId, label: Label) -> u128 {
        self.explorer.knowledge.name_of_state(name, self.history(thread), label)
    }

    /// The labels of the writes that are there, as the thread's read would see them.
    fn available(&self, pending: Pending, labels: &mut Vec<Label>) {
        let explorer = &*self.explorer;
        let graph = &explorer.graph;
        labels.clear();
        for write in graph.writes(pending.place) {
            let value = extract(graph.location(pending.place), &pending.access, graph.written(pending.place, *write));
            if !explorer.walk.sets.passes(pending.access.guard(), value) {
                continue;
            }
            let key = read_key(explorer.equivalence, graph, &pending.access, pending.place, *write);
            for variant in 0..explorer.options.ways(&pending.access, value, &explorer.walk.sets) {
                let label = Label { key, variant };
                if !labels.contains(&label) {
                    labels.push(label);
                }
            }
        }
    }

    /// Is it known that the thread cannot read this next?
    fn is_refuted(&self, thread: ThreadId, label: Label) -> bool {
        !self.refuted.is_empty() && self.refuted.contains(&(self.history(thread), label))
    }

    /// What the thread's read can get now, and how. The last write's label comes last.
    fn ways(&mut self, thread: ThreadId, pending: Pending, open: &[OpenLabel], found: &mut Found) {
        for OpenLabel { label, name, met } in open.iter().copied() {
            // What was met exists: there is nothing to ask.
            if met {
                found.known = true;
            } else if !self.is_refuted(thread, label) {
                match self.way(thread, pending, label) {
                    Some(way) => found.transitions.push(Transition { name, thread, pending, label, way }),
                    None => self.refuted.push((self.history(thread), label)),
                }
            }
        }
    }

    fn way(&mut self, thread: ThreadId, pending: Pending, label: Label) -> Option<Way> {
        let Pending { access, place, point, digest, .. } = pending;
        let equivalence = self.explorer.equivalence;
        let Explorer { walk, graph, checker, effort, desk, .. } = &mut *self.explorer;
        let length = graph.len();
        let alike = |graph: &Graph, write: Node| read_key(equivalence, graph, &access, place, write) == label.key;
        // What the thread itself has written over it cannot read any more.
        let mine = |w: Node| w != Node::INIT && graph.node(w).thread == thread;
        let own = graph.writes(place).iter().rev().copied().find(|w| mine(*w));
        let is_over = |w: Node| own.is_some_and(|own| w != own && (w == Node::INIT || mine(w)));
        let all = graph.writes(place).iter().rev().copied();
        let sources: Vec<Node> = all.filter(|w| !is_over(*w) && alike(graph, *w)).collect();
        let first = *sources.first()?;
        let written = graph.written(place, first);
        let flags = read_flags(graph.location(place), &access, written, label.variant, &walk.sets);
        if flags.has(Flags::EXCLUSIVE) && all_are_taken(equivalence, graph, place, &access, label.key) {
            effort.saturation += 1;
            return None;
        }
        let read = graph.add(NewNode { thread, flags: Flags::READ, place, label: point, digest, access: &access });
        set_source(graph, read, first, label.variant, &walk.sets);
        if desk.rules_out(graph, checker, read, &sources) {
            graph.truncate(length);
            effort.saturation += 1;
            return None;
        }
        let mut refused = 0;
        for source in sources.iter().copied() {
            set_source(graph, read, source, label.variant, &walk.sets);
            let after = graph.position_of(read) as usize + 1;
            let exclusive = graph.node(read).flags.has(Flags::EXCLUSIVE);
            let taken = exclusive
                && graph.writes(place).get(after).is_some_and(|next| graph.node(*next).flags.has(Flags::EXCLUSIVE));
            // Where the other can read nothing else, there is no question.
            refused += usize::from(
                taken && {
                    let other = graph.previous(graph.writes(place)[after]).expect("its reading half");
                    has_no_other(equivalence, graph, other)
                },
            );
            let mut fits = !taken && checker.admits(graph, read);
            if fits && exclusive {
                add_tentative_write(graph, read, &mut walk.sets);
                fits = checker.admits(graph, graph.last());
                graph.truncate(length + 1);
            }
            if fits {
                graph.truncate(length);
                effort.saturation += 1;
                return Some(Way::Source(source));
            }
        }
        if refused == sources.len() {
            graph.truncate(length);
            effort.saturation += 1;
            return None;
        }
        set_source(graph, read, first, label.variant, &walk.sets);
        while !desk.is_prepared(length) {
            graph.truncate(length);
            // What takes less time comes first, and mostly is enough.
            let firm = desk.wants_firm(length);
            let possible = |node: Node, list: &mut Vec<u32>| alike_sources(equivalence, graph, node, list);
            let is_alike = |read: Node, write: Node| may_read(equivalence, graph, read, write);
            match firm {
                true => desk.prepare_firm(graph, checker, possible, is_alike),
                false => desk.prepare(graph, checker, possible, is_alike),
            }
            graph.add(NewNode { thread, flags: Flags::READ, place, label: point, digest, access: &access });
            set_source(graph, read, first, label.variant, &walk.sets);
            if desk.rules_out(graph, checker, read, &sources) {
                graph.truncate(length);
                effort.saturation += 1;
                return None;
            }
        }
        if graph.node(read).flags.has(Flags::EXCLUSIVE) {
            add_tentative_write(graph, read, &mut walk.sets);
        }
        let witness = desk.ask_of_read(graph, checker, read, &sources, effort);
        let graph = &mut self.explorer.graph;
        let way = witness.map(|witness| {
            let mut other = graph.clone();
            witness.apply(&mut other);
            Way::Other(Box::new(other))
        });
        graph.truncate(length);
        way
    }

    /// Asks for a graph in which one of these writes is the last of its place.
    fn solve(&mut self, finals: &[(Place, Vec<u32>)]) -> Option<Witness> {
        let Explorer { graph, checker, effort, equivalence, desk, .. } = &mut *self.explorer;
        let (graph, equivalence) = (&*graph, *equivalence);
        let sources = |node: Node, list: &mut Vec<u32>| alike_sources(equivalence, graph, node, list);
        desk.ask(graph, checker, sources, finals, effort)
    }

    /// Each of these comes about: one now, the others later.
    fn branch(&mut self, mut transitions: Vec<Transition>) {
        // The write that is last now needs no reordering of what is there.
        let now = transitions.iter().rposition(|transition| matches!(transition.way, Way::Source(_)));
        let now = now.unwrap_or(transitions.len() - 1);
        let now = transitions.swap_remove(now);
        self.note_all(transitions);
        let Transition { thread, pending, label, way, .. } = now;
        match way {
            Way::Source(source) => self.add_read(thread, pending.place, source, label.variant),
            Way::Other(graph) => {
                self.flush();
                self.explorer.graph = *graph;
                self.add_read_of(thread, pending.place);
            }
        }
    }

    /// Adds the read that is the last of the graph, which has taken the place of that without it.
    fn add_read_of(&mut self, thread: ThreadId, place: Place) {
        let graph = &self.explorer.graph;
        let exclusive = graph.node(graph.last()).flags.has(Flags::WRITE);
        let length = graph.len() - usize::from(exclusive);
        let order = exclusive.then(|| graph.writes(place).to_vec());
        self.explorer.graph.truncate(length);
        let read = self.explorer.graph.last();
        self.finish_read(thread, read);
        if let Some(order) = order {
            self.explorer.graph.reorder(place, &order);
        }
    }

    /// Each of these comes about later.
    fn note_all(&mut self, transitions: Vec<Transition>) {
        if transitions.is_empty() {
            return;
        }
        let length = self.explorer.graph.len() as u32 - 1;
        let (before, whole) = (Arc::new(self.before()), self.whole());
        for Transition { thread, label, way, .. } in transitions {
            let mut last = Last { before: Arc::clone(&before), thread, label, whole: whole.clone(), other: None };
            match way {
                Way::Source(source) => {
                    let choice = Choice { thread: thread.0, source: source.0, variant: label.variant };
                    let last = Some(Box::new(last));
                    self.noted.push(Noted { length, choice: Some(choice), last, reliance: None });
                }
                Way::Other(graph) => {
                    let (steps, length) = (Steps::of(&graph), graph.len() as u32 - 1);
                    last.other = whole.is_some().then(|| Arc::from(graph));
                    let (choice, last) = (None, Some(Box::new(last)));
                    self.explorer.tasks.push(Task { length, steps, choice, last });
                }
            }
        }
    }

    /// The state at hand, for those that come after it.
    fn before(&self) -> Before {
        let readers = self.threads().filter(|(_, pending)| pending.access.guard() == Guard::Any);
        let readers = readers.map(|(thread, pending)| {
            let mut labels = Vec::new();
            self.available(pending, &mut labels);
            let count = labels.len();
            labels.retain(|label| !self.is_refuted(thread, *label));
            let all = labels.len() == count;
            Reader { thread, cell: self.explorer.graph.location(pending.place), labels, all }
        });
        let (readers, histories) = (readers.collect(), self.histories.clone());
        Before { name: self.name(), histories, readers, refuted: self.refuted.clone() }
    }

    fn whole(&mut self) -> Option<Arc<Whole>> {
        let Explorer { walk, graph, tasks, desk, spare, .. } = &mut *self.explorer;
        if (tasks.len() + self.noted.len()) * graph.len() > MOST_EVENTS {
            return None;
        }
        let mut whole = spare.pop().unwrap_or_default();
        let kept = Arc::get_mut(&mut whole).expect("nobody has what is spare");
        if !walk.stand(&mut kept.stand) {
            spare.push(whole);
            return None;
        }
        kept.graph.clone_from(graph);
        kept.pending.clone_from(&self.pending);
        desk.put_down(&mut kept.base);
        Some(whole)
    }

    /// Makes tasks of what was noted.
    fn flush(&mut self) {
        if self.noted.is_empty() {
            return;
        }
        let explorer = &mut *self.explorer;
        let steps = Steps::of(&explorer.graph);
        for Noted { length, choice, last, reliance } in std::mem::take(&mut self.noted) {
            let task = Task { steps: steps.clone(), length, choice, last };
            match reliance {
                None => explorer.tasks.push(task),
                Some(reliance) => explorer.watch(task, reliance),
            }
        }
    }

    // ---- the end ----

    /// Nobody can read any more.
    fn end(&mut self) -> Ended {
        // What was noted begins like the graph as it is, before anything in it changes.
        self.flush();
        let Waiting { stuck, spins, finals } = match self.waiting() {
            None => return Ended::InVain,
            Some(waiting) if waiting.stuck.is_empty() => return self.observe(),
            Some(waiting) => waiting,
        };
        if !self.holds(&finals) {
            let Some(witness) = self.solve(&finals) else { return Ended::InVain };
            witness.apply(&mut self.explorer.graph);
        }
        // Who waits when the process ends does not wait forever.
        if !self.explorer.walk.ends.is_empty() {
            return Ended::Complete;
        }
        Ended::Stuck(if spins { Stuck::Livelock(stuck) } else { Stuck::Deadlock(stuck) })
    }

    /// Is there an execution with the histories at hand in which all wait forever?
    fn may_be_stuck(&mut self) -> bool {
        match self.waiting() {
            Some(waiting) if !waiting.stuck.is_empty() => {
                self.holds(&waiting.finals) || self.solve(&waiting.finals).is_some()
            }
            _ => false,
        }
    }

    /// Is one of these the last write of its place, for each of them?
    fn holds(&self, finals: &[(Place, Vec<u32>)]) -> bool {
        let graph = &self.explorer.graph;
        finals.iter().all(|(place, last)| graph.writes(*place).last().is_some_and(|write| last.contains(&write.0)))
    }

    /// Who waits, and for what; `None` if somebody need not.
    fn waiting(&self) -> Option<Waiting> {
        let mut stuck = Vec::new();
        let mut spins = false;
        let mut finals: Vec<(Place, Vec<u32>)> = Vec::new();
        let explorer = &*self.explorer;
        let graph = &explorer.graph;
        let require = |finals: &mut Vec<(Place, Vec<u32>)>, place: Place, allowed: &dyn Fn(Node) -> bool| {
            let index = match finals.iter().position(|(other, _)| *other == place) {
                Some(index) => index,
                None => {
                    finals.push((place, last_writes(graph, place).into_iter().map(|write| write.0).collect()));
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
                        if !data.flags.has(Flags::READ) || is_own(graph, thread, round as usize, data.source) {
                            continue;
                        }
                        if data.variant != 0 {
                            return None;
                        }
                        let seen = extract(graph.location(data.place), &data.access, data.value);
                        require(&mut finals, data.place, &|write| {
                            let last = graph.written(data.place, write);
                            extract(graph.location(data.place), &data.access, last) == seen
                                && (explorer.equivalence == Equivalence::Values
                                    || self.is_read_last(data.place, data.source, write))
                        });
                    }
                }
                _ => {
                    let pending = self.pending[t]?;
                    let guard = pending.access.guard();
                    if guard == Guard::Any {
                        return None;
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
        let possible = finals.iter().all(|(_, last)| !last.is_empty());
        possible.then_some(Waiting { stuck, spins, finals })
    }

    /// If `last` is the last write of its place: does nothing come after `source` there but what rounds have written
    /// of threads that wait in loops? Such a round begins with a read-modify-write, and what it writes stands next to
    /// each other: so what is before them is known without the order at hand.
    fn is_read_last(&self, place: Place, source: Node, last: Node) -> bool {
        let Explorer { walk, graph, .. } = &*self.explorer;
        let mut at = last;
        while at != source {
            if at == Node::INIT {
                return false;
            }
            let NodeData { thread, index, flags, .. } = *graph.node(at);
            let round = match walk.threads[thread.index()].state {
                State::Spinning { round, .. } if round <= index => round as usize,
                _ => return false,
            };
            let is_here =
                |node: &&Node| graph.node(**node).place == place && graph.node(**node).flags.has(Flags::WRITE);
            at = if flags.has(Flags::EXCLUSIVE) {
                graph.node(graph.previous(at).expect("its reading half")).source
            } else if let Some(before) = graph.thread(thread)[round..index as usize].iter().rev().find(is_here) {
                *before
            } else {
                return false;
            };
        }
        true
    }

    /// The graph, once for each set of final values of what is observed.
    fn observe(&mut self) -> Ended {
        let observed: Vec<Place> = {
            let Explorer { walk, graph, .. } = &*self.explorer;
            let locations = walk.program.observed();
            let places = (0..graph.places() as u32).map(Place);
            places.filter(|p| locations.iter().any(|at| graph.location(*p).overlaps(*at))).collect()
        };
        let observed: Vec<Place> =
            observed.into_iter().filter(|place| self.explorer.graph.writes(*place).len() > 2).collect();
        if observed.is_empty() {
            return Ended::Complete;
        }
        let mut graphs = Vec::new();
        let mut finals = Vec::new();
        self.observe_rest(&observed, &mut finals, &mut graphs);
        Ended::Observed(graphs)
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
                self.explorer.effort.saturation += 1;
                self.observe_rest(rest, finals, graphs);
            } else if let Some(witness) = self.solve(finals) {
                witness.apply(&mut self.explorer.graph);
                self.observe_rest(rest, finals, graphs);
            }
            self.explorer.graph = before.clone();
            finals.pop();
        }
    }
}

/// The writes that may be the last of a place: of each thread its last one; what was there initially, if nobody has
/// written.
fn last_writes(graph: &Graph, place: Place) -> Vec<Node> {
    let mut last: Vec<Node> = Vec::new();
    for write in &graph.writes(place)[1..] {
        let data = graph.node(*write);
        match last.iter_mut().find(|other| graph.node(**other).thread == data.thread) {
            Some(other) if graph.node(*other).index < data.index => *other = *write,
            Some(_) => {}
            None => last.push(*write),
        }
    }
    if last.is_empty() {
        last.push(Node::INIT);
    }
    last
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
        access: &data.access,
    };
    let write = graph.add(new);
    graph.set_value(write, written);
    graph.place_write(write, graph.position_of(read) + 1);
}

fn key_of_event(thread: ThreadId, index: u32) -> u128 {
    (u128::from(thread.0) + 1) << 32 | u128::from(index)
}

fn source_key(steps: &[Step], at: usize) -> u128 {
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
        Equivalence::Sources => sourced(write_key(equivalence, graph, place, write), graph.written(place, write)),
    }
}

/// What tells a source from others. What it wrote belongs to it: the same read-modify-write may write different values,
/// and what a thread does after it has read one of them is known by the value alone.
///
/// Spread twice: the names of threads are small numbers spread once, and what is added to them must not take that back.
fn sourced(source: u128, value: Value) -> u128 {
    mix(mix(source).wrapping_add(value.0))
}

/// Are there as many read-modify-writes that have read this as there are writes of it? No two read one write.
fn all_are_taken(equivalence: Equivalence, graph: &Graph, place: Place, access: &Access, key: u128) -> bool {
    let is_it = |write: Node| read_key(equivalence, graph, access, place, write) == key;
    let takers = graph.reads(place).iter().map(|read| graph.node(*read));
    let takers = takers.filter(|read| read.flags.has(Flags::EXCLUSIVE) && is_it(read.source)).count();
    takers >= graph.writes(place).iter().filter(|write| is_it(**write)).count()
}

/// Is there nothing else that a read may read without anybody's noticing?
fn has_no_other(equivalence: Equivalence, graph: &Graph, read: Node) -> bool {
    let data = graph.node(read);
    if is_forced(graph.location(data.place)) || equivalence == Equivalence::Sources {
        return true;
    }
    let key = |write: Node| read_key(equivalence, graph, &data.access, data.place, write);
    let own = key(data.source);
    graph.writes(data.place).iter().filter(|write| key(**write) == own).count() == 1
}

/// May the read read this write without anybody's noticing?
fn may_read(equivalence: Equivalence, graph: &Graph, read: Node, write: Node) -> bool {
    let data = graph.node(read);
    let key = |write: Node| read_key(equivalence, graph, &data.access, data.place, write);
    equivalence == Equivalence::Values && !is_forced(graph.location(data.place)) && key(write) == key(data.source)
}

/// Adds to the list what a read may read without anybody's noticing.
fn alike_sources(equivalence: Equivalence, graph: &Graph, read: Node, list: &mut Vec<u32>) {
    let data = graph.node(read);
    if is_forced(graph.location(data.place)) || equivalence == Equivalence::Sources {
        list.push(data.source.0);
        return;
    }
    let key = |write: Node| read_key(equivalence, graph, &data.access, data.place, write);
    let own = key(data.source);
    list.extend(graph.writes(data.place).iter().filter(|w| key(**w) == own).map(|w| w.0));
}

fn write_key(equivalence: Equivalence, graph: &Graph, place: Place, write: Node) -> u128 {
    match equivalence {
        Equivalence::Values => graph.written(place, write).0,
        Equivalence::Sources if write == Node::INIT => 0,
        Equivalence::Sources => key_of_event(graph.node(write).thread, graph.node(write).index),
    }
}
