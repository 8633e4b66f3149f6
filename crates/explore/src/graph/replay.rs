//! An execution graph again, from its steps.

use super::explorer::{ExploreError, Explorer, Options, set_source};
use super::trace::trace_of;
use fencepost_engine::Threads;
use fencepost_memory::axioms;
use fencepost_memory::graph::{Flags, Graph, Node};
use fencepost_trace::{EventId, GraphStep, Model, Outcome, ThreadId, Trace};

/// Runs `program` along `steps` and returns the trace, which has been checked against the model's axioms, and its races.
pub fn replay_steps<T: Threads>(
    program: T,
    model: Model,
    steps: &[GraphStep],
) -> Result<(Trace, Vec<(EventId, EventId)>), ExploreError> {
    let mut explorer = Explorer::new(program, Options::new(model))?;
    let (graph, outcome) = explorer.build(steps)?;
    let trace = trace_of(explorer.program(), &graph, model, outcome);
    axioms::check(&trace).map_err(|_| ExploreError::Diverged(steps.len() as u32))?;
    let races = if model == Model::C11 { axioms::races(&trace) } else { Vec::new() };
    Ok((trace, races))
}

impl<T: Threads> Explorer<T> {
    /// Builds the graph of `steps`, starting over with wider cells where accesses overlap.
    fn build(&mut self, steps: &[GraphStep]) -> Result<(Graph, Outcome), ExploreError> {
        loop {
            match self.try_build(steps) {
                Ok(built) => return Ok(built),
                Err(error) => match self.widen_cells() {
                    true => {}
                    false => return Err(error),
                },
            }
        }
    }

    fn try_build(&mut self, steps: &[GraphStep]) -> Result<(Graph, Outcome), ExploreError> {
        self.open(Graph::new());
        self.start_program();
        // The final positions of the writes of the graph, by event.
        let mut positions = vec![0];
        for (i, step) in steps.iter().enumerate() {
            let number = i as u32 + 1;
            let diverged = || ExploreError::Diverged(number);
            let node = self.add_bare(ThreadId(step.thread))?.ok_or_else(diverged)?;
            let graph = self.graph_mut();
            let data = *graph.node(node);
            positions.push(step.position.unwrap_or(0));
            if data.flags.has(Flags::READ) {
                let source = step.reads.filter(|s| *s < number).map(Node).ok_or_else(diverged)?;
                let fits = source == Node::INIT
                    || (graph.node(source).place == data.place && graph.node(source).flags.has(Flags::WRITE));
                if !fits {
                    return Err(diverged());
                }
                self.read_from(node, source, step.variant);
            } else if data.flags.has(Flags::WRITE) {
                let own = step.position.ok_or_else(diverged)?;
                let writes = &graph.writes(data.place)[1..];
                let before = writes.iter().filter(|w| positions[w.index()] < own).count() as u32;
                graph.place_write(node, before + 1);
            }
        }
        let outcome = self.outcome_here();
        Ok((self.close(), outcome))
    }

    fn read_from(&mut self, node: Node, source: Node, variant: u32) {
        let (graph, sets) = self.graph_and_sets();
        set_source(graph, node, source, variant, sets);
        self.apply_read(node);
    }
}
