//! Many executions, at random.

use crate::error::Error;
use crate::event::{Log, Sink};
use crate::outcome::Outcome;
use crate::request::TestRequest;
use crate::target::Target;
use crate::{litmus, native};
use fencepost_trace::Model;

/// How many executions there are if nobody says.
pub(crate) const EXECUTIONS: u64 = 10_000;

/// Runs many executions of a program, each choice at random.
pub fn test(request: &TestRequest, sink: &mut dyn Sink) -> Result<Outcome, Error> {
    let model = request.campaign.model;
    if request.buffer.is_some() && !matches!(model, Model::Tso | Model::Pso) {
        return Err(Error::Usage(format!("--buffer is for tso and pso: {model} has no store buffers to bound")));
    }
    if request.prune.window().is_some() && model != Model::C11 {
        return Err(Error::Usage(format!("--prune aggressive is for c11, not for {model}")));
    }
    let mut log = Log::new(sink);
    match Target::load(&request.campaign.target, &request.campaign.arguments)? {
        Target::Litmus(test) => litmus::test(&test, request, &mut log),
        Target::Native(program) => native::test(&program, request, &mut log),
    }
}
