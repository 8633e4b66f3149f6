//! Programs whose threads the engine resumes, run from beginning to end.

use crate::execution::{Execution, Next};
use crate::monitor::Monitor;
use crate::strategy::Strategy;
use crate::threads::Threads;
use fencepost_memory::Machine;
use fencepost_trace::{Limits, Location, Outcome};

/// Runs one execution of `program`, whose choices `strategy` answers. Its trace, its choices and what the monitor
/// has found are in `execution` afterwards.
pub fn run<M: Machine, W: Monitor, T: Threads>(
    execution: &mut Execution<M, W>,
    program: &mut T,
    strategy: &mut impl Strategy,
    limits: Limits,
) -> Outcome {
    execution.begin(program.start(), limits);
    loop {
        let next = execution.advance(strategy, &mut |at: Location| program.initial(at));
        match next {
            // The thread that ends the process has been let: nothing follows.
            Next::Resume(thread, _) if execution.quits(thread) => {
                execution.finish();
            }
            Next::Resume(thread, reply) => {
                let op = program.resume(thread, reply);
                execution.submit(thread, op, program.label(thread));
            }
            Next::TimePasses => unreachable!("internal error: these programs wait for no time"),
            Next::End(outcome) => {
                if outcome == Outcome::Finished {
                    for at in program.observed() {
                        execution.settle_memory(*at, strategy, &mut |at: Location| program.initial(at));
                    }
                }
                return outcome;
            }
        }
    }
}
