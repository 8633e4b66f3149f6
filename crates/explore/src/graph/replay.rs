//! An execution graph again, from its steps.

use super::cells::Cells;
use super::error::ExploreError;
use super::event::{set_source, write_flags};
use super::explorer::Options;
use super::trace::trace_of;
use super::walk::{Ending, Settled, State, Walk};
use fencepost_engine::Threads;
use fencepost_memory::axioms;
use fencepost_memory::graph::{Flags, Graph, Node, Place};
use fencepost_trace::{Access, EventId, GraphStep, Model, Outcome, ThreadId, Trace};

/// Runs `program` along `steps` and returns the trace, which has been checked against the model's axioms, and its
/// races.
pub fn replay_steps<T: Threads>(
    program: T,
    model: Model,
    steps: &[GraphStep],
) -> Result<(Trace, Vec<(EventId, EventId)>), ExploreError> {
    let patience = Options::new(model).max_events;
    let mut builder = Builder {
        walk: Walk::new(program, model.is_hardware(), patience),
        cells: Cells::default(),
        graph: Graph::new(),
    };
    let outcome = builder.build(steps)?;
    let trace = trace_of(&builder.walk.program, &builder.graph, model, outcome);
    axioms::check(&trace).map_err(|_| ExploreError::Diverged(steps.len() as u32))?;
    let races = if model == Model::C11 { axioms::races(&trace) } else { Vec::new() };
    Ok((trace, races))
}

struct Builder<T> {
    walk: Walk<T>,
    cells: Cells,
    graph: Graph,
}

impl<T: Threads> Builder<T> {
    /// Builds the graph of `steps`, starting over with wider cells where accesses overlap.
    fn build(&mut self, steps: &[GraphStep]) -> Result<Outcome, ExploreError> {
        loop {
            match self.try_build(steps) {
                Ok(outcome) => return Ok(outcome),
                Err(error) => self.cells = self.cells.take_merged().ok_or(error)?,
            }
        }
    }

    fn try_build(&mut self, steps: &[GraphStep]) -> Result<Outcome, ExploreError> {
        self.graph = Graph::new();
        self.walk.start();
        // The steps say how often a thread goes around a loop that waits.
        self.walk.rounds = u32::MAX;
        // The final positions of the writes, by event.
        let mut positions = vec![0];
        for (i, step) in steps.iter().enumerate().filter(|(_, step)| step.end.is_none()) {
            let number = i as u32 + 1;
            let diverged = || ExploreError::Diverged(number);
            let thread = ThreadId(step.thread);
            let node = self.add(thread)?.ok_or_else(diverged)?;
            let data = *self.graph.node(node);
            positions.push(step.position.unwrap_or(0));
            if data.flags.has(Flags::READ) {
                let source = step.reads.filter(|s| *s < number).map(Node).ok_or_else(diverged)?;
                let writes = self.graph.node(source);
                if source != Node::INIT && !(writes.place == data.place && writes.flags.has(Flags::WRITE)) {
                    return Err(diverged());
                }
                set_source(&mut self.graph, node, source, step.variant, &self.walk.sets);
                if self.graph.node(node).flags.has(Flags::BLOCKED) {
                    // Recorded by a version that had such reads.
                    self.graph.wait(node, Node::INIT);
                    self.walk.threads[thread.index()].performed += 1;
                    continue;
                }
                self.walk.apply_read(&self.graph, node);
            } else if data.flags.has(Flags::WRITE) {
                let own = step.position.ok_or_else(diverged)?;
                let writes = &self.graph.writes(data.place)[1..];
                let before = writes.iter().filter(|w| positions[w.index()] < own).count() as u32;
                self.graph.place_write(node, before + 1);
            }
        }
        self.walk.rounds = 0;
        self.end(steps)
    }

    /// Adds the next event of `thread`, leaving open what a read reads and where a write stands. `None` if it has no
    /// next event.
    fn add(&mut self, thread: ThreadId) -> Result<Option<Node>, ExploreError> {
        let Some(run) = self.walk.threads.get_mut(thread.index()).filter(|run| run.state == State::Ready) else {
            return Ok(None);
        };
        if let Some(half) = run.half.take() {
            self.walk.finish_half(thread, &half);
            let read = *self.graph.node(*self.graph.thread(thread).last().expect("its reading half"));
            let write = self.graph.add(self.walk.new_half(&read, &half));
            self.graph.set_value(write, half.written);
            return Ok(Some(write));
        }
        let Settled::Access = self.walk.settle(&self.graph, thread) else { return Ok(None) };
        let access = *self.walk.threads[thread.index()].access();
        let place = match access.location() {
            None => Place::NONE,
            Some(at) => self.cells.place(at, &mut self.graph, |at| self.walk.program.initial(at))?,
        };
        let whole = place == Place::NONE || access.location() == Some(self.graph.location(place));
        let reads = !matches!(access, Access::Store { .. } | Access::Fence { .. }) || !whole;
        let flags = if reads { Flags::READ } else { write_flags(&access) };
        let node = self.graph.add(self.walk.new_node(thread, flags, place));
        if !reads {
            if let Access::Store { value, .. } = access {
                self.graph.set_value(node, value);
            }
            self.walk.finish_write(&self.graph, thread);
        }
        Ok(Some(node))
    }

    /// The end of the execution, as the last steps say.
    fn end(&mut self, steps: &[GraphStep]) -> Result<Outcome, ExploreError> {
        let left = |step: &&GraphStep| step.end == Some(false);
        for step in steps.iter().filter(left) {
            let run = self.walk.threads.get_mut(step.thread as usize);
            run.ok_or(ExploreError::Diverged(steps.len() as u32))?.state = State::Ended;
        }
        let Some(last) = steps.last().filter(|step| step.end == Some(true)) else { return Ok(self.outcome()) };
        let by = ThreadId(last.thread);
        let mut others: Vec<_> = (0..self.walk.threads.len() as u32).map(ThreadId).filter(|t| *t != by).collect();
        others.retain(|thread| self.walk.threads[thread.index()].state == State::Ready);
        for thread in others {
            self.walk.settle(&self.graph, thread);
        }
        match self.walk.settle(&self.graph, by) {
            Settled::End(Some(failure)) => Ok(Outcome::Failed { thread: by, failure }),
            Settled::End(None) => Ok(Outcome::Finished),
            _ => Err(ExploreError::Diverged(steps.len() as u32)),
        }
    }

    /// How the execution stands after the last step.
    fn outcome(&mut self) -> Outcome {
        for t in 0..self.walk.threads.len() {
            let thread = ThreadId(t as u32);
            if self.walk.threads[t].state != State::Ready || self.walk.threads[t].half.is_some() {
                continue;
            }
            match self.walk.settle(&self.graph, thread) {
                Settled::Exit => self.walk.threads[t].state = State::Done,
                Settled::End(Some(failure)) => return Outcome::Failed { thread, failure },
                Settled::End(None) => return Outcome::Finished,
                Settled::Access => {
                    if let Some(spinning) = self.walk.round_without_effect(&self.graph, thread) {
                        self.walk.threads[t].state = spinning;
                    }
                }
                Settled::Waits(state) => self.walk.threads[t].state = state,
                Settled::Endless => {}
            }
        }
        match self.walk.end(&self.graph) {
            Ending::Complete => Outcome::Finished,
            Ending::Stuck(stuck) => stuck.outcome(),
        }
    }
}
