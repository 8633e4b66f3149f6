//! Runs a program under the runtime and collects what it finds.
//!
//! The host starts workers: processes of the program, with the runtime in the place of ThreadSanitizer's library. A worker runs thousands of executions by
//! itself; the two sides share a [mailbox](fencepost_mailbox). If a worker dies, the host knows from there which execution it was in, records it, and starts
//! another one behind it.

use fencepost_mailbox::{
    Answers, End, FILE_SIZE, Header, LOG_OFFSET, MAGIC, REQUEST_OFFSET, Record, Report, Request, Restart, VARIABLE,
    state,
};
use fencepost_trace::{FindingKind, Model};
use memmap2::MmapMut;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
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
    /// How many workers. The executions and what they find do not depend on it.
    pub jobs: usize,
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
                answers: Answers::Random { seed: 1 },
                first: 0,
                count: executions,
                max_steps: 1_000_000,
                restart: Restart::InPlace,
                status_is_finding: true,
                keep_outputs: false,
                keep_traces: false,
                stop_at_first: false,
                fences: Vec::new(),
            },
            timeout: Duration::from_secs(10),
            jobs: 1,
        }
    }
}

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
    /// How many steps they took.
    pub steps: u64,
    /// How they ended.
    pub ended: BTreeMap<&'static str, u64>,
    /// The exit statuses of those that ended by themselves.
    pub statuses: BTreeMap<u8, u64>,
    /// What was found, in the order of the first execution in which it was met.
    pub found: Vec<Found>,
    /// The texts that executions printed, with how often, if they were asked for.
    pub outputs: BTreeMap<String, u64>,
    /// Traces, if they were asked for.
    pub traces: Vec<Record>,
    /// Trials of a hunt that brought their cycle about.
    pub exposed: Vec<Record>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// Of an exploration: whether it is complete, and how many executions it met and cut off.
    pub explored: Option<Explored>,
    /// How long it took.
    pub seconds: f64,
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

/// Runs the executions and collects what they give.
pub fn run_campaign(campaign: &Campaign) -> io::Result<Results> {
    let start = Instant::now();
    let library = Library::new(&campaign.runtime)?;
    let jobs = campaign.jobs.clamp(1, campaign.request.count.max(1) as usize) as u64;
    let share = campaign.request.count.div_ceil(jobs);
    let pieces = (0..jobs).map(|i| {
        let first = (i * share).min(campaign.request.count);
        (campaign.request.first + first, share.min(campaign.request.count - first))
    });
    let parts: Vec<io::Result<Results>> = std::thread::scope(|scope| {
        let library = &library;
        let workers: Vec<_> =
            pieces.map(|(first, count)| scope.spawn(move || run_piece(campaign, library, first, count))).collect();
        workers.into_iter().map(|w| w.join().expect("a worker's thread does not panic")).collect()
    });
    let mut results = Results::default();
    for part in parts {
        merge(&mut results, part?);
    }
    results.found.sort_by_key(|f| f.first_execution);
    results.seconds = start.elapsed().as_secs_f64();
    Ok(results)
}

/// Runs one execution again, with its trace: the one that these choices or this graph describe.
pub fn replay(campaign: &Campaign, answers: Answers) -> io::Result<Results> {
    let mut again = campaign.clone();
    again.request.answers = answers;
    again.request.first = 0;
    again.request.count = 1;
    again.request.keep_traces = true;
    again.jobs = 1;
    run_campaign(&again)
}

/// A directory in which the runtime has the name under which programs look for it.
struct Library(tempfile::TempDir);

impl Library {
    fn new(runtime: &Path) -> io::Result<Library> {
        let dir = tempfile::tempdir()?;
        std::os::unix::fs::symlink(std::path::absolute(runtime)?, dir.path().join("libtsan.so.2"))?;
        Ok(Library(dir))
    }
}

/// One piece of the work, with as many workers after each other as it takes.
fn run_piece(campaign: &Campaign, library: &Library, first: u64, count: u64) -> io::Result<Results> {
    let mut results = Results::default();
    let (mut next, end) = (first, first + count);
    while next < end {
        let mut mailbox = Mailbox::new(&Request { first: next, count: end - next, ..campaign.request.clone() })?;
        let mut worker = start(campaign, library, &mailbox)?;
        let status = watch(&mut worker, &mailbox, campaign.timeout)?;
        mailbox.collect(&mut results);
        match mailbox.header().state.load(Ordering::Acquire) {
            state::DONE => break,
            state::RUNNING => {
                let current = mailbox.header().current.load(Ordering::Acquire);
                results.record_death(current, status);
                if let Answers::Explore | Answers::Graph { .. } = campaign.request.answers {
                    // What it had explored is lost with it; what it had found is not.
                    break;
                }
                next = current + 1;
            }
            state::BROKEN => {
                let why = results.notes.last().cloned().unwrap_or_default();
                return Err(io::Error::other(format!("the runtime gave up: {why}")));
            }
            _ => {
                return Err(io::Error::other(format!(
                    "{} ended before the runtime was reached ({status}): is it built with -fsanitize=thread?",
                    campaign.program.display()
                )));
            }
        }
    }
    Ok(results)
}

fn start(campaign: &Campaign, library: &Library, mailbox: &Mailbox) -> io::Result<Child> {
    let mut path = library.0.path().as_os_str().to_owned();
    if let Some(old) = std::env::var_os("LD_LIBRARY_PATH").filter(|p| !p.is_empty()) {
        path.push(":");
        path.push(old);
    }
    // First of all libraries, whatever the order in which the program was linked: what is looked up must be found here before libc.
    let mut preload = library.0.path().join("libtsan.so.2").into_os_string();
    if let Some(old) = std::env::var_os("LD_PRELOAD").filter(|p| !p.is_empty()) {
        preload.push(":");
        preload.push(old);
    }
    let mut command = Command::new(&campaign.program);
    command
        .args(&campaign.arguments)
        .env("LD_LIBRARY_PATH", path)
        .env("LD_PRELOAD", preload)
        // What the dynamic linker looks up late, it would have to look up again in every execution.
        .env("LD_BIND_NOW", "1")
        // A panic's backtrace takes longer than a thousand executions, and the report has stacks of its own.
        .env("RUST_BACKTRACE", "0")
        .env(VARIABLE, mailbox.file.path())
        .stdin(Stdio::null());
    // SAFETY: between fork and exec, two system calls that change this process's own flags: the same addresses every time, and no life after
    // the host's.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            match libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            }
        });
    }
    command.spawn()
}

/// Waits for the worker, and interrupts executions that take too long.
fn watch(worker: &mut Child, mailbox: &Mailbox, timeout: Duration) -> io::Result<ExitStatus> {
    let mut pulse = 0;
    let mut since = Instant::now();
    let mut interrupted = false;
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = worker.try_wait()? {
            return Ok(status);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
        let now = mailbox.header().pulse.load(Ordering::Relaxed);
        if now != pulse {
            (pulse, since, interrupted) = (now, Instant::now(), false);
        } else if since.elapsed() > timeout * 2 {
            worker.kill()?;
        } else if since.elapsed() > timeout && !interrupted {
            interrupted = true;
            // SAFETY: sends a signal to a child that has not been waited for.
            unsafe { libc::kill(worker.id() as libc::pid_t, libc::SIGXCPU) };
        }
    }
}

impl Results {
    fn record_death(&mut self, execution: u64, status: ExitStatus) {
        self.executions += 1;
        *self.ended.entry(name(End::Died)).or_default() += 1;
        let how = match status.signal() {
            Some(signal) => format!("signal {signal}"),
            None => format!("status {}", status.code().unwrap_or(-1)),
        };
        let report = Report {
            fingerprint: 0,
            kind: FindingKind::Crash,
            message: format!("the process ended outside of Fencepost's control: {how}"),
            execution,
            stacks: Vec::new(),
            choices: Vec::new(),
            steps: Vec::new(),
            stdout: String::new(),
            stderr: String::new(),
        };
        self.found.push(Found { count: 1, first_execution: execution, report });
    }
}

/// The name of a kind of end.
fn name(end: End) -> &'static str {
    match end {
        End::Exit => "exit",
        End::Assertion => "assertion",
        End::Abort => "abort",
        End::Crash => "crash",
        End::Deadlock => "deadlock",
        End::StepLimit => "step-limit",
        End::Timeout => "timeout",
        End::Redundant => "redundant",
        End::Died => "died",
    }
}

/// Puts what two workers, or two campaigns, found together.
pub fn merge(into: &mut Results, other: Results) {
    into.executions += other.executions;
    into.seconds += other.seconds;
    into.steps += other.steps;
    other.ended.into_iter().for_each(|(k, n)| *into.ended.entry(k).or_default() += n);
    other.statuses.into_iter().for_each(|(k, n)| *into.statuses.entry(k).or_default() += n);
    other.outputs.into_iter().for_each(|(k, n)| *into.outputs.entry(k).or_default() += n);
    into.traces.extend(other.traces);
    into.exposed.extend(other.exposed);
    into.notes.extend(other.notes);
    into.explored = other.explored.or(into.explored);
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
struct Mailbox {
    file: tempfile::NamedTempFile,
    map: MmapMut,
}

impl Mailbox {
    fn new(request: &Request) -> io::Result<Mailbox> {
        let file = tempfile::NamedTempFile::new()?;
        file.as_file().set_len(FILE_SIZE as u64)?;
        // SAFETY: only a worker maps this file too, and what both touch is atomic or written before the other side looks.
        let mut map = unsafe { MmapMut::map_mut(file.as_file())? };
        let text = serde_json::to_vec(request)?;
        map[REQUEST_OFFSET..REQUEST_OFFSET + text.len()].copy_from_slice(&text);
        map[..8].copy_from_slice(&MAGIC.to_ne_bytes());
        map[8..16].copy_from_slice(&(text.len() as u64).to_ne_bytes());
        Ok(Mailbox { file, map })
    }

    fn header(&self) -> &Header {
        // SAFETY: the map is longer than the header, aligned to a page, and any bytes are a header.
        unsafe { &*self.map.as_ptr().cast::<Header>() }
    }

    /// Adds what the worker has left.
    fn collect(&mut self, results: &mut Results) {
        let mut part = Results::default();
        let header = self.header();
        part.executions = header.done.load(Ordering::Acquire);
        part.steps = header.steps.load(Ordering::Acquire);
        for end in End::ALL {
            let n = header.ended[end as usize].load(Ordering::Acquire);
            if n != 0 {
                part.ended.insert(name(end), n);
            }
        }
        for (status, n) in header.statuses.iter().enumerate() {
            let n = n.load(Ordering::Acquire);
            if n != 0 {
                part.statuses.insert(status as u8, n);
            }
        }
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
                    part.found.push(Found { count, first_execution, report });
                }
                Ok(Record::Output { fingerprint, text, .. }) => {
                    let count = counts.get(&fingerprint).map_or(1, |c| c.0);
                    part.outputs.insert(text, count);
                }
                Ok(Record::Note { text }) => part.notes.push(text),
                Ok(trace @ Record::Trace { .. }) => part.traces.push(trace),
                Ok(exposed @ Record::Exposed { .. }) => part.exposed.push(exposed),
                Ok(Record::Explored { complete, executions, blocked }) => {
                    part.explored = Some(Explored { complete, executions, blocked });
                }
                Err(error) => part.notes.push(format!("a record that cannot be read: {error}")),
            }
        }
        merge(results, part);
    }
}
