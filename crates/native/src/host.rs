//! Runs a program under the runtime and collects what it finds.
//!
//! The host starts workers: processes of the program, with the runtime in the place of ThreadSanitizer's library. A
//! worker runs thousands of executions by itself; the two sides share a [mailbox](fencepost_mailbox). If a worker
//! dies, the host knows from there which execution it was in, records it, and starts another one behind it.

use crate::interrupt;
use crate::worker::{LIBRARY, Server, Worker};
use fencepost_mailbox::{
    Activation, End, FILE_SIZE, Frame, Header, Irreversible, LOG_OFFSET, MAGIC, Message, Observations, Pruning,
    REQUEST_OFFSET, Record, Report, Request, Restart, Stack, Volatile, death, limit, state,
};
use fencepost_trace::{
    Access, Answers, BLOCK, CampaignSpec, Coverage, FindingKind, Minimisation, Model, Pair, SEASON, Sampling,
    Scheduler, StrategySpec,
};
use memmap2::MmapMut;
use rustix::fs::MemfdFlags;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Many executions of one program.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The runtime: a file of the name `libtsan.so.2`, or one that is put under that name.
    pub runtime: PathBuf,
    /// What to do.
    pub request: Request,
    /// How long one execution may take.
    pub timeout: Duration,
    /// When all must be over, in the middle of whatever is done then.
    pub deadline: Option<Instant>,
    /// Does it end when that is [wished](crate::interrupt)?
    pub interruptible: bool,
    /// Where the program runs; where this process does, if nothing is said.
    pub directory: Option<PathBuf>,
    /// How many workers. The executions and what they find do not depend on it.
    pub jobs: usize,
    /// Compare executions that restarted in place with fresh processes?
    pub checked: bool,
    /// How far it is, for those who watch.
    pub progress: Arc<Progress>,
    /// Whom to ask for workers, if not each is to be started anew. A program has one argument then.
    pub server: Option<Arc<Server>>,
}

/// How far a campaign is.
#[derive(Debug, Default)]
pub struct Progress {
    /// Executions that have ended.
    pub executions: AtomicU64,
    /// Findings so far; the same one in two workers counts twice.
    pub findings: AtomicU64,
    /// Of an exploration: how much is open.
    pub open: AtomicU64,
    /// How many executions are left, about.
    pub left: AtomicU64,
    /// How many pairs of a store and a read from it one worker at least has seen.
    pub pairs: AtomicU64,
    /// Those that nobody has taken up yet.
    pub reports: Mutex<Vec<Report>>,
    /// One execution after the other was cut off: nobody goes on.
    hopeless: AtomicBool,
}

impl Progress {
    /// What was found since this was last asked.
    pub fn take_reports(&self) -> Vec<Report> {
        std::mem::take(&mut *self.reports.lock().expect("nobody panics while reports are added"))
    }
}

impl Campaign {
    /// Random executions of `program` under `model`, one worker, with the usual limits.
    pub fn new(program: impl Into<PathBuf>, runtime: impl Into<PathBuf>, model: Model, executions: u64) -> Campaign {
        Campaign {
            program: program.into(),
            arguments: Vec::new(),
            runtime: runtime.into(),
            request: Request {
                model,
                buffer: None,
                campaign: CampaignSpec::Sample { seed: 1, sampling: Sampling::default() },
                hunt: None,
                first: 0,
                count: executions,
                max_steps: 1_000_000,
                skip_private: None,
                prune: Pruning::default(),
                watch: Vec::new(),
                restart: Restart::Auto,
                status_is_finding: true,
                keep_outputs: false,
                keep_traces: false,
                shared_only: false,
                stop_at_first: false,
                fences: Vec::new(),
                weaker: Vec::new(),
                stronger: Vec::new(),
                hidden: Vec::new(),
                volatile: Volatile::default(),
                ignored: Vec::new(),
                details: None,
                debug: None,
                spec: None,
                digests: Vec::new(),
                only_digests: false,
                save: None,
                crowded: false,
            },
            timeout: Duration::from_secs(10),
            deadline: None,
            interruptible: true,
            directory: None,
            jobs: 1,
            progress: Arc::default(),
            checked: true,
            server: None,
        }
    }
}

impl Campaign {
    /// Is there no time left, or no wish to go on?
    pub fn is_over(&self) -> bool {
        self.is_interrupted()
            || self.progress.hopeless.load(Ordering::Relaxed)
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn is_interrupted(&self) -> bool {
        self.interruptible && interrupt::is_wished()
    }

    fn explores(&self) -> bool {
        matches!(self.request.campaign, CampaignSpec::Explore { .. })
    }

    /// When its workers are killed. An exploration looks at the clock itself, and says how far it is.
    fn last_moment(&self) -> Option<Instant> {
        self.deadline.map(|deadline| deadline + self.grace())
    }

    /// How long a worker has to come to an end when it is told so.
    fn grace(&self) -> Duration {
        if self.explores() { GRACE } else { Duration::ZERO }
    }
}

/// How long an exploration has to say how far it is.
const GRACE: Duration = Duration::from_millis(80);

/// How long it has to save what is left, once it has begun to.
const TO_SAVE: Duration = Duration::from_secs(10);

/// Something that was found, with how often.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// In how many executions.
    pub count: u64,
    /// The first of them.
    pub first_execution: u64,
    /// What it is.
    pub report: Report,
}

/// What a campaign has given.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// How many executions there were.
    pub executions: u64,
    /// In how many of them something was found.
    pub failing: u64,
    /// How many steps they took.
    pub steps: u64,
    /// How they ended.
    pub ended: BTreeMap<End, u64>,
    /// The exit statuses of those that ended by themselves.
    pub statuses: BTreeMap<u8, u64>,
    /// What was found, in the order of the first execution in which it was met.
    pub found: Vec<Found>,
    /// The texts that executions printed, with how often, if they were asked for.
    pub outputs: BTreeMap<String, u64>,
    /// For each of these texts the answers that led to an execution that printed it.
    pub output_choices: BTreeMap<String, Vec<u32>>,
    /// Traces, if they were asked for.
    pub traces: Vec<Record>,
    /// Where the threads of the last of them had variables on their stacks that they shared, if details were asked for.
    pub locals: Vec<(u64, Activation)>,
    /// Trials of a hunt that brought their cycle about.
    pub exposed: Vec<Record>,
    /// What the user should know.
    pub notes: Vec<Message>,
    /// Which reads read from which stores, each with the first execution in which it was seen.
    pub pairs: BTreeMap<Pair, u64>,
    /// Executions that a limit cut off, one for each set of places: which one, whether it was late, where its threads
    /// were.
    pub cut_off: Vec<(u64, bool, Vec<Stack>)>,
    /// Why what was found may not be true.
    pub warnings: Vec<String>,
    /// Were executions run in child processes?
    pub forked: bool,
    /// Is this work for one worker?
    pub alone: bool,
    /// Did several processes share the work of an exploration?
    pub shared_out: bool,
    /// What the program did that a restart in place cannot undo: the reason for children, if nobody asked for them.
    pub irreversible: Option<Irreversible>,
    /// Digests of the traces of executions that ran in place and were compared with those of fresh processes, by
    /// execution.
    pub digests: BTreeMap<u64, Digest>,
    /// Of an exploration: whether it is complete, and how many executions it met and cut off.
    pub explored: Option<Explored>,
    /// Of an exploration under a hardware model: accesses that race, in pairs.
    pub races: Vec<(Stack, Stack)>,
    /// Of an exploration that is watched: accesses and fences of the program, one for each program point.
    pub accesses: Vec<(Frame, Access)>,
    /// Of a collection of outcomes: those of atomic operations. Where every choice was tried: how many executions
    /// that took, and why there may be others.
    pub collected: Option<Collected>,
    /// Of a search for a smaller execution: how many were tried, and whether there was time for all. The finding is
    /// that of the smallest.
    pub minimised: Option<(u64, bool)>,
    /// The first executions were all cut off by a limit, and no others were tried.
    pub hopeless: bool,
    /// Why the rest of the work could not be done, if it could not.
    pub failure: Option<String>,
    /// How long it took.
    pub seconds: f64,
}

/// The outcomes of atomic operations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Collected {
    /// Each once.
    pub outcomes: Vec<Observations>,
    /// How many executions it took.
    pub executions: u64,
    /// Why there may be others, if there may.
    pub problem: Option<String>,
}

/// A digest of the trace of an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Digest {
    /// Equal for equal traces.
    pub digest: u64,
    /// The seed of the execution.
    pub seed: u64,
    /// How its answers were drawn.
    pub sampling: Sampling,
}

/// What came of an exploration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Explored {
    /// Was every execution graph visited?
    pub complete: bool,
    /// How many executions there are.
    pub executions: u64,
    /// How many were cut off.
    pub blocked: u64,
    /// How many questions of order were answered, and how (not for execution graphs).
    pub answers: Option<Answers>,
}

impl Results {
    /// Executions a second.
    pub fn rate(&self) -> f64 {
        self.executions as f64 / self.seconds.max(1e-9)
    }
}

/// Where the runtime is: named by `FENCEPOST_RUNTIME`, or beside the running command, as it lies after a build.
pub fn find_runtime() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("FENCEPOST_RUNTIME") {
        return Some(path.into());
    }
    let command = std::env::current_exe().ok()?;
    command.ancestors().skip(1).take(3).map(|dir| dir.join("libfencepost_runtime.so")).find(|path| path.exists())
}

/// If the first executions all take too long, and so many of them could not even be interrupted, more of them will not
/// be better.
const MOST_KILLED: u64 = 3;

/// Executions that may be longer than this are not compared.
const LONGEST_COMPARED: u64 = 2_000_000;

/// Runs the executions and collects what they give.
///
/// Executions that restart in place are checked: a few of them are run again in fresh processes and must give the
/// same traces. If they do not, none is trusted, and all are run again in child processes, unless the user insists.
///
/// # Errors
/// The work could not be done, and nothing had been found by then. What had been found comes with a warning.
pub fn run_campaign(campaign: &Campaign) -> io::Result<Results> {
    let mut results = run_checked(campaign)?;
    match results.failure.take() {
        Some(failure) if results.found.is_empty() => return Err(io::Error::other(failure)),
        Some(failure) => {
            let after = results.executions;
            results.warnings.push(format!("the work ended after {after} executions: {failure}"));
        }
        None => {}
    }
    Ok(results)
}

fn run_checked(campaign: &Campaign) -> io::Result<Results> {
    let start = Instant::now();
    let library = Library::new(&campaign.runtime)?;
    let Request { first, count, restart, .. } = campaign.request;
    let random = matches!(campaign.request.campaign, CampaignSpec::Sample { .. });
    // A trace of a very long execution would not fit.
    let long = campaign.request.max_steps > LONGEST_COMPARED;
    if !campaign.checked || !random || long || count < 2 {
        return run_once(campaign, &library, start);
    }
    let mut campaign = campaign.clone();
    // One of the first, because few may be run; the one with the most before it; one in between.
    campaign.request.digests = vec![first + 1, first + count / 2, first + count - 1];
    let mut results = run_once(&campaign, &library, start)?;
    if restart == Restart::Fork || campaign.is_over() || results.failure.is_some() {
        // Nothing to compare, or no time for it; but whatever is kept of those executions is kept in any case.
        return Ok(results);
    }
    if let (true, Some(found)) = (campaign.request.stop_at_first, results.found.first()) {
        // What other workers have done since is a matter of chance.
        let last = found.first_execution;
        results.digests.retain(|execution, _| *execution <= last);
    }
    let Some(execution) = first_difference(&campaign, &library, &results.digests)? else { return Ok(results) };
    // The same again in two fresh processes: does the program itself not do the same twice?
    let alone = &results.digests[&execution];
    let fresh = || fresh_digest(&campaign, &library, execution, alone);
    let again = [fresh()?, fresh()?];
    let number = execution + 1;
    if again[0] != again[1] {
        results.warnings.push(format!(
            "execution {number} is not the same twice with the same schedule: the program depends on something outside \
             of Fencepost's \
             control, so that findings may not replay"
        ));
    } else if restart == Restart::Auto {
        campaign.request.restart = Restart::Fork;
        results = run_once(&campaign, &library, start)?;
        let action = "did otherwise when it was restarted in place".to_owned();
        results.irreversible = Some(Irreversible { execution, action, stack: None });
    } else {
        results.warnings.push(format!(
            "execution {number} is another one in a fresh process: what was found by restarting in place is not to be \
             trusted"
        ));
    }
    results.seconds = start.elapsed().as_secs_f64();
    Ok(results)
}

/// The first execution whose trace is another one in a fresh process.
fn first_difference(
    campaign: &Campaign,
    library: &Library,
    digests: &BTreeMap<u64, Digest>,
) -> io::Result<Option<u64>> {
    for (execution, digest) in digests {
        // One that ends in another way than before may leave none: a limit of time.
        if fresh_digest(campaign, library, *execution, digest)?.is_some_and(|fresh| fresh != digest.digest) {
            return Ok(Some(*execution));
        }
    }
    Ok(None)
}

/// The digest of the trace of that execution in a fresh process.
fn fresh_digest(campaign: &Campaign, library: &Library, execution: u64, digest: &Digest) -> io::Result<Option<u64>> {
    let mut campaign = campaign.clone();
    campaign.request.restart = Restart::Fork;
    campaign.request.stop_at_first = false;
    campaign.progress = Arc::default();
    campaign.request.digests = vec![execution];
    campaign.request.campaign =
        CampaignSpec::Repeat(StrategySpec::Random { seed: digest.seed, sampling: digest.sampling });
    Ok(run_piece(&campaign, library, execution, 1)?.digests.get(&execution).map(|fresh| fresh.digest))
}

fn run_once(campaign: &Campaign, library: &Library, start: Instant) -> io::Result<Results> {
    // An exploration shares its work out by itself.
    let jobs = if let CampaignSpec::Explore { .. } | CampaignSpec::Enumerate { .. } = campaign.request.campaign {
        1
    } else {
        campaign.jobs
    };
    let jobs = jobs.clamp(1, campaign.request.count.max(1) as usize);
    let pieces = pieces(&campaign.request, jobs as u64);
    let jobs = pieces.len();
    let mut campaign = campaign.clone();
    campaign.request.crowded = jobs > 1;
    let campaign = &campaign;
    let parts: Vec<io::Result<Results>> = std::thread::scope(|scope| {
        let run = |(first, count)| scope.spawn(move || run_piece(campaign, library, first, count));
        let workers: Vec<_> = pieces.into_iter().map(run).collect();
        workers.into_iter().map(|w| w.join().expect("a worker's thread does not panic")).collect()
    });
    let mut parts: Vec<Results> = parts.into_iter().collect::<io::Result<_>>()?;
    if parts[0].hopeless {
        // How far the others came by then is a matter of chance. What they found is worth keeping in any case.
        let others = parts.drain(1..).collect::<Vec<_>>();
        let found = others.into_iter().flat_map(|other| other.found).collect();
        parts.push(Results { found, ..Results::default() });
    }
    let mut results = Results::default();
    for part in parts {
        merge(&mut results, part);
    }
    if results.alone && jobs > 1 {
        // The executions do not depend on how many workers there are.
        results = run_once(&Campaign { jobs: 1, ..campaign.clone() }, library, start)?;
        let why = "the program writes to a file of its own choice: one worker runs all executions, lest they write to \
             it at the same time";
        results.notes.push(why.into());
        return Ok(results);
    }
    results.found.sort_by_key(|f| f.first_execution);
    results.seconds = start.elapsed().as_secs_f64();
    Ok(results)
}

/// What each worker runs, as the first execution and how many: whole blocks, or whole seasons of a mix that learns, so
/// that each has one worker, however many there are.
fn pieces(request: &Request, jobs: u64) -> Vec<(u64, u64)> {
    let whole = match &request.campaign {
        CampaignSpec::Sample { sampling, .. } if sampling.scheduler == Scheduler::Mix => SEASON,
        _ => BLOCK,
    };
    let end = request.first.saturating_add(request.count);
    let begun = request.first % whole;
    let share = request.count.saturating_add(begun).div_ceil(jobs);
    let share = share.checked_next_multiple_of(whole).unwrap_or(share).max(1);
    let mut pieces = vec![(request.first, share.saturating_sub(begun).min(request.count))];
    let mut next = request.first.saturating_add(pieces[0].1);
    while next < end {
        pieces.push((next, share.min(end - next)));
        next = next.saturating_add(share);
    }
    pieces
}

/// Runs one execution again, with its trace: the one that these choices or this graph describe.
pub fn replay(campaign: &Campaign, strategy: StrategySpec) -> io::Result<Results> {
    let mut again = campaign.clone();
    again.request.campaign = CampaignSpec::Repeat(strategy);
    again.request.first = 0;
    again.request.count = 1;
    again.request.keep_traces = true;
    again.jobs = 1;
    again.progress = Arc::default();
    run_campaign(&again)
}

/// Runs the execution of this number of a campaign again, without a trace.
pub fn repeat(campaign: &Campaign, execution: u64) -> io::Result<Results> {
    let mut again = campaign.clone();
    again.request.first = execution;
    again.request.count = 1;
    again.jobs = 1;
    run_campaign(&again)
}

/// Looks for a smaller execution that shows the same finding. What was found is then that of the smallest, if there is
/// one that shows it; `minimised` says what it took.
pub fn minimise(campaign: &Campaign, asked: Minimisation) -> io::Result<Results> {
    let mut smaller = campaign.clone();
    smaller.request.campaign = CampaignSpec::Minimise(asked);
    smaller.request.first = 0;
    smaller.request.count = 1;
    smaller.request.stop_at_first = true;
    smaller.request.digests.clear();
    smaller.jobs = 1;
    smaller.progress = Arc::default();
    run_campaign(&smaller)
}

/// How many schedules of atomic operations are tried.
pub const SCHEDULES: u64 = 100_000;
/// Where an execution of atomic operations is cut off.
const ATOMIC_STEPS: u64 = 100_000;
/// More outcomes than this tell nobody anything, and do not fit a request.
const MOST_OUTCOMES: usize = 5_000;

/// Collects what the program can observe if each of its operations takes effect at once and memory is sequentially
/// consistent.
pub fn collect_outcomes(campaign: &Campaign) -> io::Result<Collected> {
    let mut atomic = campaign.clone();
    atomic.request.campaign = CampaignSpec::Atomic;
    if atomic.request.model.is_hardware() {
        (atomic.request.model, atomic.request.buffer) = (Model::Sc, None);
    }
    (atomic.request.first, atomic.request.count) = (0, SCHEDULES);
    atomic.request.max_steps = ATOMIC_STEPS;
    atomic.request.stop_at_first = false;
    atomic.jobs = 1;
    let mut collected = run_campaign(&atomic)?.collected.unwrap_or_default();
    collected.outcomes.sort();
    collected.outcomes.dedup();
    if collected.executions == 0 {
        collected.problem = Some("the program ended the process".to_owned());
    } else if collected.outcomes.len() > MOST_OUTCOMES {
        collected.problem = Some(format!("there are more than {MOST_OUTCOMES} outcomes"));
    }
    Ok(collected)
}

/// The system's monotonic clock so long from now, in nanoseconds, as the runtime reads it too.
pub fn monotonic_after(time: Duration) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to a variable that lives long enough.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
    now.saturating_add(time).as_nanos().try_into().unwrap_or(u64::MAX)
}

/// A directory in which the runtime has the name under which programs look for it.
pub(crate) enum Library {
    /// It has that name where it is.
    There(PathBuf),
    /// A link, which is removed afterwards.
    Linked(tempfile::TempDir),
}

impl Library {
    pub(crate) fn new(runtime: &Path) -> io::Result<Library> {
        let runtime = std::path::absolute(runtime)?;
        if let (Some(name), Some(directory)) = (runtime.file_name(), runtime.parent())
            && name == LIBRARY
        {
            return Ok(Library::There(directory.to_owned()));
        }
        let dir = tempfile::tempdir()?;
        std::os::unix::fs::symlink(runtime, dir.path().join(LIBRARY))?;
        Ok(Library::Linked(dir))
    }

    pub(crate) fn directory(&self) -> &Path {
        match self {
            Library::There(directory) => directory,
            Library::Linked(directory) => directory.path(),
        }
    }
}

/// One piece of the work, with as many workers after each other as it takes.
fn run_piece(campaign: &Campaign, library: &Library, first: u64, count: u64) -> io::Result<Results> {
    let mut results = Results::default();
    let (mut next, end) = (first, first + count);
    let mut restart = campaign.request.restart;
    let mut before: Option<Mailbox> = None;
    while next < end && !campaign.is_over() {
        let made = Mailbox::new(&Request { first: next, count: end - next, restart, ..campaign.request.clone() });
        let started = made.and_then(|mut mailbox| {
            if let Some(before) = &before {
                mailbox.go_on_from(before);
            }
            let worker = Worker::start(campaign, library, &mailbox)?;
            Ok((mailbox, worker))
        });
        let (mut mailbox, mut worker) = match started {
            Ok(started) => started,
            Err(error) => {
                results.failure = Some(error.to_string());
                break;
            }
        };
        let (status, killed) = match watch(&mut worker, &mailbox, campaign)? {
            Watched::Ended(status) => (status, false),
            Watched::Killed(status) => (status, true),
            Watched::TimeIsOver => {
                // What it has left in the mailbox counts.
                mailbox.collect(&mut results);
                results.cut_short(campaign, &mailbox);
                break;
            }
        };
        let state = mailbox.header().state.load(Ordering::Acquire);
        if state == state::ALONE {
            results.alone = true;
            break;
        }
        let lost = restart == Restart::Auto
            && !killed
            && state == state::RUNNING
            && matches!(campaign.request.campaign, CampaignSpec::Sample { .. });
        if lost || matches!(state, state::MOVED | state::TAINTED) {
            // Executions depend on those before them in their block, and nobody knows which of those in place were
            // right: all of them again.
            let execution = mailbox.header().current.load(Ordering::Acquire);
            let died =
                || Irreversible { execution, action: "ended outside of Fencepost's control".to_owned(), stack: None };
            results.irreversible = results.irreversible.or(mailbox.irreversible()).or_else(|| lost.then(died));
            restart = Restart::Fork;
            continue;
        }
        mailbox.collect(&mut results);
        match state {
            state::DONE => break,
            state::HOPELESS => {
                results.hopeless = true;
                campaign.progress.hopeless.store(true, Ordering::Relaxed);
                break;
            }
            state::RUNNING => {
                let current = mailbox.header().current.load(Ordering::Acquire);
                if killed || status.signal() == Some(libc::SIGKILL) {
                    results.record_kill(current, killed.then_some(campaign.timeout));
                    let none_ended = results.ended.get(&End::Timeout) == Some(&results.executions);
                    if first == 0 && none_ended && results.executions >= MOST_KILLED {
                        results.hopeless = true;
                        campaign.progress.hopeless.store(true, Ordering::Relaxed);
                        break;
                    }
                } else {
                    results.record_death(current, status);
                }
                if campaign.request.stop_at_first {
                    break;
                }
                if let CampaignSpec::Explore { .. }
                | CampaignSpec::Repeat(StrategySpec::Graph { .. })
                | CampaignSpec::Atomic
                | CampaignSpec::Minimise(_)
                | CampaignSpec::Enumerate { .. } = campaign.request.campaign
                {
                    // What it had explored is lost with it; what it had found is not.
                    break;
                }
                next = current + 1;
                before = Some(mailbox);
            }
            state::BROKEN => {
                let why = results.notes.pop().unwrap_or_default();
                results.failure = Some(format!("the runtime gave up: {why}"));
                break;
            }
            _ if killed => {
                results.failure = Some(format!(
                    "{} has not reached the runtime after {} seconds: is it built with -fsanitize=thread?",
                    campaign.program.display(),
                    BEGINNING.max(campaign.timeout * 2).as_secs()
                ));
                break;
            }
            _ => {
                results.failure = Some(format!(
                    "{} ended before the runtime was reached ({status}): is it built with -fsanitize=thread?",
                    campaign.program.display()
                ));
                break;
            }
        }
    }
    Ok(results)
}

/// How a worker came to its end.
enum Watched {
    /// By itself.
    Ended(ExitStatus),
    /// An execution took too long and could not be interrupted.
    Killed(ExitStatus),
    /// All took too long.
    TimeIsOver,
}

/// So often the host looks how far a worker is.
const GLANCE: Duration = Duration::from_millis(10);

/// So long a program may take to begin: the system may be busy, and what comes before `main` is not an execution.
const BEGINNING: Duration = Duration::from_secs(60);

/// Waits for the worker, and interrupts executions that take too long.
fn watch(worker: &mut Worker<'_>, mailbox: &Mailbox, campaign: &Campaign) -> io::Result<Watched> {
    let mut seen = Seen::default();
    let mut pulse = 0;
    let mut since = Instant::now();
    let (mut begun, mut interrupted, mut killed) = (false, false, false);
    let mut last = campaign.last_moment();
    let mut stopping = false;
    loop {
        seen.update(mailbox, &campaign.progress);
        if let Some(status) = worker.try_wait()? {
            seen.update(mailbox, &campaign.progress);
            return Ok(if killed { Watched::Killed(status) } else { Watched::Ended(status) });
        }
        if !stopping && (campaign.is_interrupted() || campaign.progress.hopeless.load(Ordering::Relaxed)) {
            stopping = true;
            // An exploration says how far it is, if it has the time.
            mailbox.header().exploring.limit.fetch_max(limit::WISH, Ordering::Relaxed);
            mailbox.header().exploring.stop.store(1, Ordering::Relaxed);
            last = Some(Instant::now() + campaign.grace());
        }
        let left = last.map(|last| last.saturating_duration_since(Instant::now()));
        let is_late = last.is_some_and(|last| last.elapsed() > TO_SAVE);
        let saves = mailbox.header().exploring.saving.load(Ordering::Relaxed) != 0 && !is_late;
        if left.is_some_and(|left| left.is_zero()) && !saves {
            worker.kill()?;
            worker.wait()?;
            seen.update(mailbox, &campaign.progress);
            return Ok(Watched::TimeIsOver);
        }
        worker.pause(left.filter(|_| !saves).map_or(GLANCE, |left| GLANCE.min(left)));
        let now = mailbox.header().pulse.load(Ordering::Relaxed);
        let has_begun = mailbox.header().state.load(Ordering::Relaxed) == state::RUNNING;
        let timeout = campaign.timeout;
        let longest = if has_begun { timeout * 2 } else { BEGINNING.max(timeout * 2) };
        if has_begun != begun {
            (begun, since) = (has_begun, Instant::now());
        }
        if now != pulse {
            (pulse, since, interrupted) = (now, Instant::now(), false);
        } else if since.elapsed() > longest {
            killed = true;
            worker.kill()?;
        } else if has_begun && since.elapsed() > timeout && !interrupted {
            interrupted = true;
            worker.signal(libc::SIGXCPU);
        }
    }
}

/// What of a worker's work has been added to the progress.
#[derive(Default)]
struct Seen {
    executions: u64,
    log: usize,
}

impl Seen {
    fn update(&mut self, mailbox: &Mailbox, progress: &Progress) {
        let done = mailbox.header().done.load(Ordering::Relaxed);
        // An exploration that starts over counts anew.
        progress.executions.fetch_add(done.saturating_sub(self.executions), Ordering::Relaxed);
        self.executions = done;
        let exploring = &mailbox.header().exploring;
        progress.open.store(exploring.open.load(Ordering::Relaxed), Ordering::Relaxed);
        progress.left.store(exploring.left.load(Ordering::Relaxed), Ordering::Relaxed);
        progress.pairs.fetch_max(mailbox.header().coverage.pairs().count() as u64, Ordering::Relaxed);
        let used = mailbox.header().log_used.load(Ordering::Acquire) as usize;
        if used > self.log {
            const FINDING: &[u8] = b"{\"record\":\"finding\"";
            let new = mailbox.map[LOG_OFFSET + self.log..LOG_OFFSET + used].split(|byte| *byte == b'\n');
            let findings =
                new.filter(|line| line.starts_with(FINDING)).filter_map(|line| {
                    match serde_json::from_slice::<Record>(line) {
                        Ok(Record::Finding(report)) => Some(*report),
                        _ => None,
                    }
                });
            let mut reports = progress.reports.lock().expect("nobody panics while reports are added");
            let before = reports.len();
            reports.extend(findings);
            progress.findings.fetch_add((reports.len() - before) as u64, Ordering::Relaxed);
            drop(reports);
            self.log = used;
        }
    }
}

impl Results {
    /// The worker was killed, by this host because an execution took too long and did not answer, or by somebody
    /// else, as the system does when memory is short. That says nothing about the program.
    fn record_kill(&mut self, execution: u64, timeout: Option<Duration>) {
        self.executions += 1;
        *self.ended.entry(End::Timeout).or_default() += 1;
        let number = execution + 1;
        let note = match timeout {
            Some(timeout) => format!(
                "execution {number} was killed: it took more than {} seconds (--timeout) and could not be interrupted",
                timeout.as_secs_f64()
            ),
            None => format!("execution {number} was killed from outside (is there enough memory?)"),
        };
        self.notes.push(note.into());
    }

    /// A worker was killed because the time is over.
    fn cut_short(&mut self, campaign: &Campaign, mailbox: &Mailbox) {
        if let CampaignSpec::Explore { .. } = campaign.request.campaign {
            let exploring = &mailbox.header().exploring;
            let (executions, blocked) =
                (exploring.executions.load(Ordering::Acquire), exploring.blocked.load(Ordering::Acquire));
            self.explored = Some(Explored { complete: false, executions, blocked, answers: None });
            let why = if campaign.is_interrupted() { "interrupted" } else { "the limit of time was reached" };
            self.notes.push(format!("{why}, in the middle of an execution").into());
        }
    }

    fn record_death(&mut self, execution: u64, status: ExitStatus) {
        self.executions += 1;
        self.failing += 1;
        *self.ended.entry(End::Died).or_default() += 1;
        let (fingerprint, message) = death(status.into_raw());
        let report = Report::of_death(fingerprint, FindingKind::Crash, message, execution);
        merge(
            self,
            Results { found: vec![Found { count: 1, first_execution: execution, report }], ..Results::default() },
        );
    }
}

/// Puts what two workers, or two campaigns, found together.
pub fn merge(into: &mut Results, other: Results) {
    into.executions += other.executions;
    into.failing += other.failing;
    into.seconds += other.seconds;
    into.steps += other.steps;
    other.ended.into_iter().for_each(|(k, n)| *into.ended.entry(k).or_default() += n);
    other.statuses.into_iter().for_each(|(k, n)| *into.statuses.entry(k).or_default() += n);
    other.outputs.into_iter().for_each(|(k, n)| *into.outputs.entry(k).or_default() += n);
    for (text, choices) in other.output_choices {
        into.output_choices.entry(text).or_insert(choices);
    }
    into.traces.extend(other.traces);
    into.locals.extend(other.locals);
    into.exposed.extend(other.exposed);
    for (pair, first) in other.pairs {
        into.pairs.entry(pair).and_modify(|known| *known = first.min(*known)).or_insert(first);
    }
    into.cut_off.extend(other.cut_off);
    other.notes.into_iter().for_each(|note| {
        if !into.notes.contains(&note) {
            into.notes.push(note)
        }
    });
    other.warnings.into_iter().for_each(|warning| {
        if !into.warnings.contains(&warning) {
            into.warnings.push(warning)
        }
    });
    into.forked |= other.forked;
    into.alone |= other.alone;
    into.digests.extend(other.digests);
    // The first action counts: which workers met others is a matter of how the work was shared out.
    into.irreversible = [into.irreversible.take(), other.irreversible]
        .into_iter()
        .flatten()
        .min_by_key(|irreversible| irreversible.execution);
    into.hopeless |= other.hopeless;
    into.failure = into.failure.take().or(other.failure);
    into.shared_out |= other.shared_out;
    into.explored = other.explored.or(into.explored);
    into.races.extend(other.races);
    into.accesses.extend(other.accesses);
    into.minimised = other.minimised.or(into.minimised);
    into.collected = other.collected.or(into.collected.take());
    for found in other.found {
        let same =
            |f: &&mut Found| f.report.fingerprint == found.report.fingerprint && f.report.kind == found.report.kind;
        match into.found.iter_mut().find(same) {
            Some(known) => {
                known.count += found.count;
                if found.first_execution < known.first_execution {
                    known.first_execution = found.first_execution;
                    known.report = found.report;
                }
            }
            None => into.found.push(found),
        }
    }
}

/// The host's side of a mailbox.
pub(crate) struct Mailbox {
    /// In memory, without a name: no disk is filled, and nothing is left behind, however the host ends.
    file: File,
    map: MmapMut,
    /// Digests of executions in child processes are wanted.
    fresh: bool,
}

impl Mailbox {
    pub(crate) fn new(request: &Request) -> io::Result<Mailbox> {
        let file = File::from(rustix::fs::memfd_create("fencepost", MemfdFlags::CLOEXEC)?);
        file.set_len(FILE_SIZE as u64).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => io::Error::other(format!(
                "the limit on the size of files (ulimit -f) is too low: {} MiB are needed, in memory",
                FILE_SIZE >> 20
            )),
            _ => error,
        })?;
        // SAFETY: only a worker maps this file too, and what both touch is atomic or written before the other side
        // looks.
        let mut map = unsafe { MmapMut::map_mut(&file)? };
        let text = serde_json::to_vec(request)?;
        map[REQUEST_OFFSET..REQUEST_OFFSET + text.len()].copy_from_slice(&text);
        map[..8].copy_from_slice(&MAGIC.to_ne_bytes());
        map[8..16].copy_from_slice(&(text.len() as u64).to_ne_bytes());
        Ok(Mailbox { file, map, fresh: matches!(request.campaign, CampaignSpec::Repeat(StrategySpec::Random { .. })) })
    }

    /// Where a worker finds it, as long as this process has it open.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    /// What has been seen so far steers the worker after one that died, too.
    fn go_on_from(&mut self, before: &Mailbox) {
        let start = std::mem::offset_of!(Header, coverage);
        let part = start..start + size_of::<Coverage>();
        self.map[part.clone()].copy_from_slice(&before.map[part]);
    }

    fn header(&self) -> &Header {
        // SAFETY: the map is longer than the header, aligned to a page, and any bytes are a header.
        unsafe { &*self.map.as_ptr().cast::<Header>() }
    }

    /// What the worker did that could not be undone.
    fn irreversible(&mut self) -> Option<Irreversible> {
        let mut left = Results::default();
        self.collect(&mut left);
        left.irreversible
    }

    /// Adds what the worker has left.
    fn collect(&mut self, results: &mut Results) {
        let mut part = Results::default();
        let header = self.header();
        part.executions = header.done.load(Ordering::Acquire);
        part.failing = header.failing.load(Ordering::Acquire);
        part.steps = header.steps.load(Ordering::Acquire);
        part.forked = header.forking.load(Ordering::Acquire) != 0;
        for end in End::ALL {
            let n = header.ended[end as usize].load(Ordering::Acquire);
            if n != 0 {
                part.ended.insert(end, n);
            }
        }
        for (status, n) in header.statuses.iter().enumerate() {
            let n = n.load(Ordering::Acquire);
            if n != 0 {
                part.statuses.insert(status as u8, n);
            }
        }
        part.pairs.extend(header.coverage.pairs());
        part.shared_out = header.exploring.forked.load(Ordering::Acquire) != 0;
        let counts: BTreeMap<u64, (u64, u64)> = header
            .table
            .slots()
            .map(|s| {
                let load = |word: &std::sync::atomic::AtomicU64| word.load(Ordering::Acquire);
                (load(&s.fingerprint), (load(&s.count), load(&s.first)))
            })
            .collect();
        let used = header.log_used.load(Ordering::Acquire) as usize;
        for line in self.map[LOG_OFFSET..LOG_OFFSET + used].split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            match serde_json::from_slice::<Record>(line) {
                Ok(Record::Finding(report)) => {
                    let (count, first_execution) =
                        counts.get(&report.fingerprint).copied().unwrap_or((1, report.execution));
                    part.found.push(Found { count, first_execution, report: *report });
                }
                Ok(Record::Output { fingerprint, text, choices, .. }) => {
                    let count = counts.get(&fingerprint).map_or(1, |c| c.0);
                    part.output_choices.insert(text.clone(), choices);
                    part.outputs.insert(text, count);
                }
                Ok(Record::Irreversible(irreversible)) => part.irreversible = Some(irreversible),
                Ok(Record::Digest { execution, digest, seed, sampling }) => {
                    if self.fresh || !part.forked {
                        part.digests.insert(execution, Digest { digest, seed, sampling });
                    }
                }
                Ok(Record::Note(message)) => part.notes.push(message),
                Ok(Record::CutOff { execution, late, stacks }) => part.cut_off.push((execution, late, stacks)),
                Ok(trace @ Record::Trace { .. }) => part.traces.push(trace),
                Ok(Record::Locals { list }) => part.locals = list,
                Ok(exposed @ Record::Exposed { .. }) => part.exposed.push(exposed),
                Ok(Record::Explored { complete, executions, blocked, answers }) => {
                    part.explored = Some(Explored { complete, executions, blocked, answers });
                }
                Ok(Record::Minimised { executions, in_time }) => part.minimised = Some((executions, in_time)),
                Ok(Record::Race { first, second }) => part.races.push((first, second)),
                Ok(Record::Access { place, access }) => part.accesses.push((place, access)),
                Ok(Record::Outcome { outcome }) => {
                    part.collected.get_or_insert_with(Collected::default).outcomes.push(outcome);
                }
                Ok(Record::Collected { executions, problem }) => {
                    let collected = part.collected.get_or_insert_with(Collected::default);
                    (collected.executions, collected.problem) = (executions, problem);
                }
                Err(error) => part.notes.push(format!("a record that cannot be read: {error}").into()),
            }
        }
        merge(results, part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(scheduler: Scheduler, first: u64, count: u64) -> Request {
        let mut campaign = Campaign::new("program", "runtime", Model::C11, count);
        campaign.request.campaign = CampaignSpec::Sample { seed: 1, sampling: Sampling::with(scheduler) };
        campaign.request.first = first;
        campaign.request
    }

    #[test]
    fn workers_share_whole_seasons_of_a_mix_and_whole_blocks_of_anything_else() {
        assert_eq!(pieces(&request(Scheduler::Mix, 0, 3_000), 2), [(0, 2_048), (2_048, 952)]);
        assert_eq!(pieces(&request(Scheduler::Mix, 0, 500), 4), [(0, 500)]);
        assert_eq!(pieces(&request(Scheduler::Pct, 0, 200), 2), [(0, 128), (128, 72)]);
        // From the middle of one on, too, wherever a worker begins.
        assert_eq!(pieces(&request(Scheduler::Mix, 1_000, 2_000), 3), [(1_000, 24), (1_024, 1_024), (2_048, 952)]);
        assert_eq!(pieces(&request(Scheduler::Mix, 0, u64::MAX), 1), [(0, u64::MAX)]);
        assert_eq!(pieces(&request(Scheduler::Mix, 0, 0), 1), [(0, 0)]);
    }
}
