//! Memory-model safety of one target.

use crate::error::Error;
use crate::event::{Log, Sink};
use crate::outcome::Outcome;
use crate::request::SafeRequest;
use crate::target::Target;
use crate::{litmus, native};
use fencepost_trace::Model;

/// Can the program leave sequential consistency under the model? Of the first target, under the first model.
pub fn safe(request: &SafeRequest, sink: &mut dyn Sink) -> Result<Outcome, Error> {
    let campaign = request.campaign();
    refuse(campaign.model)?;
    let mut log = Log::new(sink);
    match Target::load(&campaign.target, &campaign.arguments)? {
        Target::Litmus(test) => litmus::safe(&test, request, &campaign, &mut log),
        Target::Native(program) => native::safe(&program, request, &campaign, &mut log),
    }
}

/// Under SC everything is SC.
pub(crate) fn refuse(model: Model) -> Result<(), Error> {
    match model {
        Model::Sc => {
            let problem = "every program is sc-safe: ask about tso, pso, pslo or c11 with --model".to_owned();
            Err(Error::Usage(problem))
        }
        _ => Ok(()),
    }
}
