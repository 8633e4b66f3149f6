//! One run: the program along the graph, and on to its end, noting what else could have happened.

use super::cells::extract;
use super::error::ExploreError;
use super::event::{is_forced, is_join, set_source, store_flags, write_flags};
use super::explorer::{Context, Explorer, Options, Races};
use super::maximal::{maximal_after, race_with};
use super::task::Alternative;
use super::visitor::Stuck;
use super::walk::{Around, Ending, Settled, State};
use fencepost_engine::{Threads, WaitSets};
use fencepost_memory::graph::{Flags, Graph, Node, Place};
use fencepost_trace::{Access, Guard, Model, StoreOrder, ThreadId, Value};

/// Whether a run of the program came to an end that is to be reported.
pub(super) enum Run {
    Complete,
    Stuck(Stuck),
    /// The graph is inconsistent, or cannot be completed: only its alternatives are of interest.
    Dead,
    Race(Node, Node),
    Error(ExploreError),
    /// What it has added is to be taken off again, and the run to be done again.
    Again,
}

impl<T: Threads> Explorer<T> {
    /// Runs the program from the beginning along the graph, and on to its end.
    pub(super) fn run(&mut self) -> Run {
        self.walk.start();
        let known = self.context().graph.len();
        for i in 1..known as u32 {
            if let Err(error) = self.walk.replay(&mut current(&mut self.contexts).graph, Node(i)) {
                return Run::Error(error);
            }
        }
        if let Err(error) = self.walk.replayed(&mut current(&mut self.contexts).graph) {
            return Run::Error(error);
        }
        if let Some(race) = self.race_of_last() {
            return race;
        }
        loop {
            if self.context().graph.len() > self.options.max_events {
                return Run::Stuck(Stuck::Limit);
            }
            match self.step() {
                _ if self.walk.program.is_abandoned() => return Run::Dead,
                _ if self.walk.is_to_be_done_again() => return Run::Again,
                Ok(None) => {}
                Ok(Some(end)) => return end,
                Err(error) => return Run::Error(error),
            }
        }
    }

    /// Adds the next event; says if the run is over.
    fn step(&mut self) -> Result<Option<Run>, ExploreError> {
        if let Some(t) = self.walk.threads.iter().position(|run| run.half.is_some()) {
            return Ok(self.add_exclusive_write(ThreadId(t as u32)));
        }
        // A guarded read that the last write does not let through comes after everything else: see the module's
        // documentation.
        let (mut waiting, mut again) = (None, None);
        for t in 0..self.walk.threads.len() {
            let thread = ThreadId(t as u32);
            let state = self.walk.threads[t].state;
            let graph = &current(&mut self.contexts).graph;
            match state {
                State::Ready => {}
                State::Spinning { writes: true, .. } if !self.walk.still_spins(graph, thread) => {
                    self.walk.threads[t].state = State::Ready;
                }
                _ => continue,
            }
            if self.walk.threads[t].awaits.is_some_and(|place| graph.writes(place).len() == 1) {
                continue;
            }
            match self.walk.settle(&current(&mut self.contexts).graph, thread) {
                Settled::Access => {}
                Settled::Exit => {
                    self.walk.threads[t].state = State::Done;
                    continue;
                }
                Settled::End(failure) => {
                    self.walk.end_by(thread, failure);
                    continue;
                }
                Settled::Waits(state) => {
                    self.walk.threads[t].state = state;
                    continue;
                }
                Settled::Endless => return Ok(Some(Run::Stuck(Stuck::Limit))),
            }
            let Some(at) = self.walk.threads[t].access().location() else { return Ok(self.add_fence(thread)) };
            let context = current(&mut self.contexts);
            let place = self.cells.place(at, &mut context.graph, |at| self.walk.program.initial(at))?;
            if self.walk.program.is_relocated() {
                self.walk.refresh_initial(&mut context.graph, place);
            }
            let access = self.walk.threads[t].access();
            match *access {
                // A store to part of a cell keeps the other bytes, as an RMW would.
                Access::Store { order, value, .. } if context.graph.location(place) == at => {
                    return Ok(self.add_store(thread, place, order, value));
                }
                Access::Store { .. } => return Ok(self.add_read(thread, place)),
                _ => {}
            }
            if is_join(at) && context.graph.writes(place).len() == 1 {
                // The thread that it joins has not ended yet.
                self.walk.threads[t].awaits = Some(place);
                continue;
            }
            if is_blocked(&context.graph, access, place, &self.walk.sets) {
                waiting.get_or_insert((thread, place));
                continue;
            }
            match self.walk.goes_around(&context.graph, thread, self.walk.may_go_unobserved(thread)) {
                Around::InVain(spinning) => self.walk.threads[t].state = spinning,
                // Who has observed it may be in the middle of a round, which is taken out with this one.
                Around::Again => {
                    again.get_or_insert((thread, place));
                }
                Around::No => return Ok(self.add_read(thread, place)),
            }
        }
        if let Some((thread, place)) = again {
            self.walk.count_observed(&current(&mut self.contexts).graph, thread);
            return Ok(self.add_read(thread, place));
        }
        if let Some((thread, place)) = waiting {
            // Who has gone around a loop for nothing, and would have to wait where it began, waits there in the
            // execution without that round as well.
            let graph = &current(&mut self.contexts).graph;
            if let Around::InVain(spinning) = self.walk.goes_around(graph, thread, 0) {
                self.walk.threads[thread.index()].state = spinning;
                return Ok(None);
            }
            self.add_wait(thread, place);
            return Ok(None);
        }
        let graph = &current(&mut self.contexts).graph;
        if !self.walk.unobserved.is_empty() && self.walk.has_gone_in_vain(graph) {
            return Ok(Some(Run::Stuck(Stuck::Redundant)));
        }
        Ok(Some(match self.walk.end(graph) {
            Ending::Complete => Run::Complete,
            Ending::Stuck(stuck) => Run::Stuck(stuck),
        }))
    }

    fn add_fence(&mut self, thread: ThreadId) -> Option<Run> {
        let flags = write_flags(self.walk.threads[thread.index()].access());
        let graph = &mut current(&mut self.contexts).graph;
        graph.add(self.walk.new_node(thread, flags, Place::NONE));
        self.walk.finish_write(graph, thread);
        None
    }

    /// Adds a read of the last write, and notes the other consistent ones.
    fn add_read(&mut self, thread: ThreadId, place: Place) -> Option<Run> {
        let read = self.note_sources(thread, place);
        let graph = &mut current(&mut self.contexts).graph;
        let source = *graph.writes(place).last().expect("the initial write is always there");
        set_source(graph, read, source, 0, &self.walk.sets);
        self.walk.apply_read(graph, read);
        self.race_of_last()
    }

    /// Nobody can go on but by a guarded read that the last write does not let through. It waits; the other writes
    /// that it could read are noted.
    fn add_wait(&mut self, thread: ThreadId, place: Place) {
        let (graph, sets) = (&current(&mut self.contexts).graph, &self.walk.sets);
        let newest = declined(graph, thread);
        let access = self.walk.threads[thread.index()].access();
        let passes = |source: &Node| {
            sets.passes(access.guard(), extract(graph.location(place), access, graph.written(place, *source)))
        };
        if graph.writes(place).iter().any(|source| newest.is_none_or(|newest| *source > newest) && passes(source)) {
            let read = self.note_sources(thread, place);
            let graph = &mut current(&mut self.contexts).graph;
            graph.wait(read, Node::INIT);
            self.walk.threads[thread.index()].performed += 1;
        }
        self.walk.threads[thread.index()].state = State::Blocked;
    }

    /// Adds a read, and notes the consistent writes that it could read other than the last.
    fn note_sources(&mut self, thread: ThreadId, place: Place) -> Node {
        let new = self.walk.new_node(thread, Flags::READ, place);
        let Context { graph, todo } = current(&mut self.contexts);
        let declined = declined(graph, thread);
        let read = graph.add(new);
        let (sets, access) = (&self.walk.sets, self.walk.threads[thread.index()].access());
        let last = graph.writes(place).len() - 1;
        if !is_forced(graph.location(place)) {
            for position in self.checker.floor(graph, read)..=last {
                let source = graph.writes(place)[position];
                if declined.is_some_and(|newest| source <= newest) {
                    continue;
                }
                let seen = extract(graph.location(place), access, graph.written(place, source));
                for variant in (0..self.options.ways(access, seen, sets)).rev() {
                    if position == last && variant == 0 {
                        break;
                    }
                    let refused = set_source(graph, read, source, variant, sets).has(Flags::BLOCKED);
                    if !refused && self.checker.admits(graph, read) {
                        todo.push(Alternative::Source { read, source, variant });
                    }
                }
            }
        }
        read
    }

    /// Adds a write that comes last in coherence order, and notes the other consistent positions and the reads that
    /// it may revisit.
    fn add_store(&mut self, thread: ThreadId, place: Place, order: StoreOrder, value: Value) -> Option<Run> {
        let new = self.walk.new_node(thread, store_flags(order), place);
        let context = current(&mut self.contexts);
        let write = context.graph.add(new);
        context.graph.set_value(write, value);
        note_revisits(context, write, &self.options, &self.walk.sets);
        let Context { graph, todo } = context;
        let last = graph.writes(place).len() as u32;
        if last > 1 {
            let floor = self.checker.floor(graph, write) as u32;
            for position in floor + 1..last {
                graph.place_write(write, position);
                if self.checker.admits(graph, write) {
                    todo.push(Alternative::Position { write, position });
                }
                graph.unplace_write(write);
            }
        }
        graph.place_write(write, last);
        self.walk.finish_write(graph, thread);
        self.race_of_last()
    }

    /// Adds the writing half of an RMW, whose position is given by what the reading half read.
    fn add_exclusive_write(&mut self, thread: ThreadId) -> Option<Run> {
        let half = self.walk.threads[thread.index()].half.take().expect("the thread has a half-done RMW");
        let context = current(&mut self.contexts);
        let read = *context.graph.thread(thread).last().expect("its reading half");
        let data = *context.graph.node(read);
        let write = context.graph.add(self.walk.new_half(&data, &half));
        context.graph.set_value(write, half.written);
        note_revisits(context, write, &self.options, &self.walk.sets);
        self.walk.finish_half(thread, &half);
        let graph = &mut context.graph;
        graph.place_write(write, graph.position_of(read) + 1);
        if !self.checker.admits(graph, write) {
            return Some(Run::Dead);
        }
        self.race_of_last()
    }

    /// A race between the event added last (or a read that was turned to it) and another.
    fn race_of_last(&mut self) -> Option<Run> {
        if self.options.model != Model::C11 || self.options.races != Races::End {
            return None;
        }
        let graph = &self.context().graph;
        let last = graph.last();
        let place = graph.node(last).place;
        if place == Place::NONE || graph.plain_accesses(place) == 0 {
            return None;
        }
        let turned = graph.reads(place).iter().copied().filter(|r| graph.node(*r).source == last);
        let race = std::iter::once(last).chain(turned).find_map(|node| race_with(graph, node));
        race.map(|(first, second)| Run::Race(first, second))
    }
}

/// The graph at hand and what is to be tried on it. (Not a method, so that the rest can be borrowed beside it.)
#[inline]
pub(super) fn current(contexts: &mut [Context]) -> &mut Context {
    contexts.last_mut().expect("a run has a context")
}

/// What `thread` has waited for at the access that it is at: it reads none of the events up to this one. `None` if it
/// has not waited.
fn declined(graph: &Graph, thread: ThreadId) -> Option<Node> {
    let waits = graph.thread(thread).iter().rev().take_while(|node| graph.is_wait(**node));
    waits.map(|wait| graph.node(*wait).source.max(*wait)).max()
}

/// Would `access` have to wait if it read the last write?
fn is_blocked(graph: &Graph, access: &Access, place: Place, sets: &WaitSets) -> bool {
    let guard = access.guard();
    guard != Guard::Any && !sets.passes(guard, extract(graph.location(place), access, graph.final_value(place)))
}

/// Notes the earlier reads that could read the new write, which stands nowhere in coherence order yet.
pub(super) fn note_revisits(context: &mut Context, write: Node, options: &Options, sets: &WaitSets) {
    let Context { graph, todo } = context;
    let place = graph.node(write).place;
    if is_forced(graph.location(place)) {
        return;
    }
    for read in graph.reads(place) {
        if graph.porf_le(*read, write) || !maximal_after(graph, *read, write) {
            continue;
        }
        let access = &graph.node(*read).access;
        let ways = options.ways(access, extract(graph.location(place), access, graph.node(write).value), sets);
        todo.extend((0..ways).rev().map(|variant| Alternative::Revisit { write, read: *read, variant }));
    }
}
