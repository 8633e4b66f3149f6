//! What can be asked for.

use crate::litmus::Wanted;
use fencepost_mailbox::{Pruning, Restart, Volatile};
use fencepost_trace::{Method, Model, OrionOptions, RelaxerOptions, Sampling};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

/// How much work to do, and on how many cores.
#[derive(Clone, Debug)]
pub struct Work {
    /// Stop after so many executions.
    pub executions: Option<u64>,
    /// Stop after so long.
    pub time: Option<Duration>,
    /// How many workers. What is found does not depend on it.
    pub jobs: usize,
    /// Cut an execution off after so many steps.
    pub max_steps: Option<u64>,
}

impl Default for Work {
    /// No limits of the user's, on all cores.
    fn default() -> Work {
        Work { executions: None, time: None, jobs: cores(), max_steps: None }
    }
}

/// As many workers as there are cores.
fn cores() -> usize {
    available_parallelism().map_or(1, NonZeroUsize::get)
}

/// What observations of a program are held against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spec {
    /// The outcomes that it has when each operation takes effect at once.
    Atomic,
}

/// What [`test`](crate::test()) and [`check`](crate::check()) have in common.
#[derive(Clone, Debug)]
pub struct CampaignRequest {
    /// An executable, a source file or a litmus test.
    pub target: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The memory model.
    pub model: Model,
    /// How much work to do.
    pub work: Work,
    /// The same seed gives the same executions and findings.
    pub seed: u64,
    /// Go on after the first finding?
    pub keep_going: bool,
    /// What observations are held against (native programs).
    pub spec: Option<Spec>,
    /// Where the report and the executions of findings are written, if they are to be.
    pub out: Option<PathBuf>,
    /// How long one execution may take (native programs).
    pub timeout: Option<Duration>,
    /// What volatile accesses are (native programs, c11).
    pub volatile: Option<Volatile>,
    /// A file of findings that are not to be reported (native programs).
    pub suppressions: Option<PathBuf>,
}

impl CampaignRequest {
    /// The usual request for a target: under c11, until the first finding, nothing written.
    pub fn new(target: impl Into<PathBuf>) -> CampaignRequest {
        CampaignRequest {
            target: target.into(),
            arguments: Vec::new(),
            model: Model::C11,
            work: Work::default(),
            seed: 1,
            keep_going: false,
            spec: None,
            out: None,
            timeout: None,
            volatile: None,
            suppressions: None,
        }
    }
}

/// Many executions, at random.
#[derive(Clone, Debug)]
pub struct TestRequest {
    /// What, and how much.
    pub campaign: CampaignRequest,
    /// How choices are drawn.
    pub sampling: Sampling,
    /// How many stores fit a store buffer (tso, pso).
    pub buffer: Option<u32>,
    /// How a native program is put back to its beginning.
    pub restart: Restart,
    /// What is forgotten of long executions of native programs (c11).
    pub prune: Pruning,
    /// Under sc: models under which an execution is watched for ways out of sc (native programs).
    pub watch: Vec<Model>,
    /// Look for a smaller execution of each finding before it is shown?
    pub minimise: bool,
    /// Under sc, tso and pso: are all plain accesses of a native program operations, however long executions are?
    pub all_accesses: bool,
}

impl TestRequest {
    /// The usual request for a target.
    pub fn new(target: impl Into<PathBuf>) -> TestRequest {
        TestRequest {
            campaign: CampaignRequest::new(target),
            sampling: Sampling::default(),
            buffer: None,
            restart: Restart::Auto,
            prune: Pruning::default(),
            watch: Vec::new(),
            minimise: true,
            all_accesses: false,
        }
    }
}

/// Every execution.
#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// What, and how much.
    pub campaign: CampaignRequest,
    /// How executions are told apart; `None`: as a short trial says.
    pub method: Option<Method>,
    /// How many states rf and causal may remember, if that is bounded.
    pub remember: Option<u64>,
    /// Go on from what an earlier run has saved where this one writes to?
    pub resume: bool,
}

impl CheckRequest {
    /// The usual request for a target.
    pub fn new(target: impl Into<PathBuf>) -> CheckRequest {
        CheckRequest { campaign: CampaignRequest::new(target), method: None, remember: None, resume: false }
    }
}

/// Violations of sequential consistency: predicted, forced to happen, classified.
#[derive(Clone, Debug)]
pub struct HuntRequest {
    /// An executable, a source file or a litmus test.
    pub target: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The memory model: tso, pso or pslo.
    pub model: Model,
    /// How many executions without reordering the prediction is made from.
    pub executions: u64,
    /// How many trials each cycle has.
    pub trials: u64,
    /// The greatest number of accesses in a cycle.
    pub length: Option<usize>,
    /// What brings cycles about.
    pub methods: HuntMethods,
    /// How many stores fit a store buffer (tso, pso).
    pub buffer: Option<u32>,
    /// What observations are held against (native programs).
    pub spec: Option<Spec>,
    /// Look for the orderings that prevent what is harmful?
    pub fences: bool,
    /// Stop after so long.
    pub time: Option<Duration>,
    /// How many workers.
    pub jobs: usize,
    /// Cut an execution off after so many steps.
    pub max_steps: Option<u64>,
    /// How long one execution may take (native programs).
    pub timeout: Duration,
    /// The same seed gives the same cycles, executions and findings.
    pub seed: u64,
    /// Failures that do not count (native programs): a file of rules as ThreadSanitizer's.
    pub suppressions: Option<PathBuf>,
    /// Where the report and the executions of findings are written, if they are to be.
    pub out: Option<PathBuf>,
}

impl HuntRequest {
    /// The usual request for a target: under tso, by all methods, nothing written.
    pub fn new(target: impl Into<PathBuf>) -> HuntRequest {
        HuntRequest {
            target: target.into(),
            arguments: Vec::new(),
            model: Model::Tso,
            executions: 100,
            trials: 30,
            length: Some(8),
            methods: HuntMethods::default(),
            buffer: None,
            spec: None,
            fences: true,
            time: None,
            jobs: cores(),
            max_steps: None,
            timeout: Duration::from_secs(10),
            seed: 1,
            suppressions: None,
            out: None,
        }
    }
}

/// Which methods bring cycles about, in the order in which they are tried.
#[derive(Clone, Copy, Debug)]
pub struct HuntMethods {
    /// A schedule that is solved for.
    pub solve: bool,
    /// Relaxer's biased scheduler.
    pub relaxer: Option<RelaxerOptions>,
    /// Orion's exact one.
    pub orion: Option<OrionOptions>,
}

impl HuntMethods {
    /// How many stores fit a buffer where Orion's method is not told otherwise.
    pub const ORION_BUFFER: u32 = 64;
}

impl Default for HuntMethods {
    fn default() -> HuntMethods {
        let orion = OrionOptions { buffer: Some(HuntMethods::ORION_BUFFER), ..OrionOptions::default() };
        HuntMethods { solve: true, relaxer: Some(RelaxerOptions::default()), orion: Some(orion) }
    }
}

/// A recorded execution again.
#[derive(Clone, Debug)]
pub struct ReplayRequest {
    /// The file that was written for it.
    pub recording: PathBuf,
    /// The program, if it is no longer where it was.
    pub target: Option<PathBuf>,
    /// Run it under gdb, with these arguments (native programs).
    pub gdb: Option<Vec<OsString>>,
}

/// The final states of litmus tests.
#[derive(Clone, Debug)]
pub struct LitmusRequest {
    /// Tests; directories are searched; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// The memory models.
    pub models: Vec<Model>,
    /// An execution to look for.
    pub show: Option<Wanted>,
    /// Look for an execution of each state under each model?
    pub graphs: bool,
    /// Where the executions that were found are written, if they are to be.
    pub out: Option<PathBuf>,
    /// Try every choice of the machine, whatever the model?
    pub machine: bool,
    /// How many stores fit a store buffer of the machine (tso, pso).
    pub buffer: Option<u32>,
    /// How much work to do for each test and model.
    pub work: Work,
}

/// Memory-model safety.
#[derive(Clone, Debug)]
pub struct SafeRequest {
    /// An executable, a source file or litmus tests.
    pub targets: Vec<PathBuf>,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The memory models.
    pub models: Vec<Model>,
    /// How much work to do for each test and model.
    pub work: Work,
    /// The same seed gives the same report. Nothing is drawn at random.
    pub seed: u64,
    /// Look for the orderings that make an unsafe program safe, and for those that a safe one could do without?
    pub orderings: bool,
    /// Where the report and the executions of findings are written, if they are to be.
    pub out: Option<PathBuf>,
    /// How long one execution may take (native programs).
    pub timeout: Option<Duration>,
    /// Go on from what an earlier run has saved there?
    pub resume: bool,
}

impl SafeRequest {
    /// The usual request for a target: under tso, nothing written.
    pub fn new(target: impl Into<PathBuf>) -> SafeRequest {
        SafeRequest {
            targets: vec![target.into()],
            arguments: Vec::new(),
            models: vec![Model::Tso],
            work: Work::default(),
            seed: 1,
            orderings: true,
            out: None,
            timeout: None,
            resume: false,
        }
    }

    /// As a campaign on its first target, under its first model.
    pub(crate) fn campaign(&self) -> CampaignRequest {
        CampaignRequest {
            arguments: self.arguments.clone(),
            model: self.models.first().copied().unwrap_or(Model::Tso),
            work: self.work.clone(),
            seed: self.seed,
            keep_going: true,
            out: self.out.clone(),
            timeout: self.timeout,
            ..CampaignRequest::new(self.targets.first().cloned().unwrap_or_default())
        }
    }
}
