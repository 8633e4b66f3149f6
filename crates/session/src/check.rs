//! Every execution.

use crate::error::Error;
use crate::event::{Log, Sink};
use crate::outcome::Outcome;
use crate::request::CheckRequest;
use crate::target::Target;
use crate::{litmus, native};

/// Explores every execution of a program, no two alike.
pub fn check(request: &CheckRequest, sink: &mut dyn Sink) -> Result<Outcome, Error> {
    let request = &request.campaign;
    let mut log = Log::new(sink);
    match Target::load(&request.target, &request.arguments)? {
        Target::Litmus(test) => litmus::check(&test, request, &mut log),
        Target::Native(program) => native::check(&program, request, &mut log),
    }
}
