//! Every execution.

use crate::error::Error;
use crate::event::{Log, Sink};
use crate::outcome::Outcome;
use crate::request::CheckRequest;
use crate::target::Target;
use crate::{litmus, native};
use fencepost_trace::{Answers, Method, Model};

/// Explores every execution of a program, no two alike.
pub fn check(request: &CheckRequest, sink: &mut dyn Sink) -> Result<Outcome, Error> {
    let CheckRequest { campaign, method, .. } = request;
    if let (Some(method @ (Method::Rf | Method::Causal)), Model::C11 | Model::Pslo) = (method, campaign.model) {
        let (method, model) = (method.name(), campaign.model);
        let why = if model == Model::C11 { "what is ordered depends on who was read" } else { "loads pass each other" };
        return Err(Error::Usage(format!("--method {method} is for sc, tso and pso: under {model} {why}")));
    }
    let mut log = Log::new(sink);
    match Target::load(&campaign.target, &campaign.arguments)? {
        Target::Litmus(test) => litmus::check(&test, request, &mut log),
        Target::Native(program) => native::check(&program, request, &mut log),
    }
}

/// So many execution graphs are explored before another method is tried.
pub const TRIAL: u64 = 5_000;

/// How an exploration was done, for the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// By this method.
    pub method: Method,
    /// With so many questions.
    pub answers: Option<Answers>,
}

/// Is a trial to decide between the methods?
pub fn is_open(model: Model, executions: Option<u64>) -> bool {
    matches!(model, Model::Sc | Model::Tso | Model::Pso) && executions.is_none()
}

/// Why a method was chosen, for people.
pub fn reason(method: Method) -> String {
    match method {
        Method::Graph => "method graph: a trial of causal was not complete (--method causal insists on it)".to_owned(),
        other => format!("method {}: complete, where more than {TRIAL} execution graphs were not", other.name()),
    }
}
