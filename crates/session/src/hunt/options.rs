//! What a hunt was asked for.

use crate::request::{HuntMethods, HuntRequest, Spec};
use fencepost_trace::Model;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// One of so many parts of the time is left for a second look at what was found.
const LAST_SHARE: u32 = 10;

/// The request, with its time limit as a moment.
#[derive(Clone)]
pub struct Options {
    pub model: Model,
    /// How many executions without reordering.
    pub executions: u64,
    /// How many trials of each cycle.
    pub trials: u64,
    /// The greatest length of cycles.
    pub length: Option<usize>,
    pub methods: HuntMethods,
    pub buffer: Option<u32>,
    /// What results are held against.
    pub spec: Option<Spec>,
    /// When nothing new is tried any more: what was found is looked at again after that.
    pub deadline: Option<Instant>,
    /// When all must be over.
    pub end: Option<Instant>,
    pub jobs: usize,
    pub max_steps: Option<u64>,
    pub timeout: Duration,
    pub seed: u64,
    pub out: Option<PathBuf>,
    pub suppressions: Option<PathBuf>,
    /// Is it only asked which cycles are real that others are in?
    pub longer: bool,
}

impl Options {
    /// From now on.
    pub fn new(request: &HuntRequest) -> Options {
        let now = Instant::now();
        let after = |time: Duration| now.checked_add(time);
        Options {
            model: request.model,
            executions: request.executions,
            trials: request.trials,
            length: request.length,
            methods: request.methods,
            buffer: request.buffer,
            spec: request.spec,
            deadline: request.time.and_then(|time| after(time - time / LAST_SHARE)),
            end: request.time.and_then(after),
            jobs: request.jobs,
            max_steps: request.max_steps,
            timeout: request.timeout,
            seed: request.seed,
            out: request.out.clone(),
            suppressions: request.suppressions.clone(),
            longer: false,
        }
    }
}

/// Is there no time left?
pub fn is_late(deadline: Option<Instant>) -> bool {
    fencepost_native::interrupt::is_wished() || deadline.is_some_and(|deadline| Instant::now() >= deadline)
}
