//! One execution from a plan: the front door of a program whose threads the engine resumes.

use crate::graph::{ExploreError, replay_steps};
use fencepost_engine::{Execution, Planned, Strategy, Threads, run};
use fencepost_memory::{Machine, MachineOptions, with_machine};
use fencepost_trace::{
    Coverage, EventId, Label, Limits, Location, Op, Outcome, Plan, Reply, StrategySpec, ThreadId, Trace, Value,
};

/// What an execution left behind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Executed {
    /// Everything that happened.
    pub trace: Trace,
    /// The pairs of accesses that race (C/C++20 only), the earlier one first.
    pub races: Vec<(EventId, EventId)>,
    /// How many steps it took; 0 for a graph.
    pub steps: u64,
}

/// Carries out `plan`. The same program and plan give the same result, byte for byte.
pub fn execute<T: Threads>(program: &mut T, plan: &Plan) -> Result<Executed, ExploreError> {
    execute_noting(program, plan, None)
}

/// The same; which reads read from which stores is noted, if the answers are random.
pub fn execute_noting<T: Threads>(
    program: &mut T,
    plan: &Plan,
    coverage: Option<&Coverage>,
) -> Result<Executed, ExploreError> {
    if let StrategySpec::Graph { steps, .. } = &plan.strategy {
        let (trace, races) = replay_steps(Borrowed(program), plan.model, steps)?;
        return Ok(Executed { trace, races, steps: 0 });
    }
    let strategy = Planned::new(plan.model, plan.strategy.clone(), coverage);
    Ok(match strategy.expect("internal error: only a graph has no choices") {
        // What most executions have is compiled as one with the engine.
        Planned::Sampler(mut sampler) => execute_by(program, plan, &mut sampler),
        mut other => execute_by(program, plan, &mut other),
    })
}

/// The same where somebody else than the plan answers.
pub(crate) fn execute_by<T: Threads>(program: &mut T, plan: &Plan, strategy: &mut impl Strategy) -> Executed {
    let options = MachineOptions::with_buffer(plan.buffer);
    with_machine!(plan.model, &options, machine => execute_on(machine, program, plan.limits, strategy))
}

fn execute_on<M: Machine, T: Threads>(
    machine: M,
    program: &mut T,
    limits: Limits,
    strategy: &mut impl Strategy,
) -> Executed {
    let mut execution = Execution::new(machine);
    run(&mut execution, program, strategy, limits);
    executed(&execution, program)
}

/// The result of an execution that has ended.
pub(crate) fn executed<M: Machine, T: Threads>(execution: &Execution<M>, program: &T) -> Executed {
    let trace: Trace = execution.trace(|label| program.describe(label));
    debug_assert!(trace.outcome != Outcome::Redundant);
    let races = execution.races().iter().map(|r| (r.first, r.second)).collect();
    Executed { trace, races, steps: execution.steps() }
}

/// A program on loan.
struct Borrowed<'a, T>(&'a mut T);

impl<T: Threads> Threads for Borrowed<'_, T> {
    fn start(&mut self) -> u32 {
        self.0.start()
    }
    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        self.0.resume(thread, reply)
    }
    fn initial(&self, at: Location) -> Value {
        self.0.initial(at)
    }
    fn observed(&self) -> &[Location] {
        self.0.observed()
    }
    fn label(&self, thread: ThreadId) -> u32 {
        self.0.label(thread)
    }
    fn describe(&self, label: u32) -> Label {
        self.0.describe(label)
    }
    fn wants_clocks(&self) -> bool {
        self.0.wants_clocks()
    }
    fn set_clock(&mut self, thread: ThreadId, clock: &[u32]) {
        self.0.set_clock(thread, clock);
    }
    fn set_performed(&mut self, thread: ThreadId, clock: &[u32]) {
        self.0.set_performed(thread, clock);
    }
    fn is_relocated(&self) -> bool {
        self.0.is_relocated()
    }
    fn identify(&mut self, thread: ThreadId, at: Location) -> Option<Op> {
        self.0.identify(thread, at)
    }
    fn digest(&self, thread: ThreadId) -> Option<u64> {
        self.0.digest(thread)
    }
}
