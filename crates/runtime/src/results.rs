//! What the host is told.

use crate::ending::Verdict;
use crate::global::{self, Global};
use crate::shadow::{self, Earlier, Kind, What};
use crate::{atomically, campaign, control, debugger, details, explore, fibers, hooks, hunt, modules, spec, sys};
use fencepost_mailbox::{
    Details, End, FILE_SIZE, Frame, Header, LOG_OFFSET, MAGIC, Message, Place, REQUEST_OFFSET, Record, Report, Request,
    Spot, Stack, death,
};
use fencepost_trace::{FindingKind, Outcome, ThreadId, Trace};
use rustc_hash::{FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::atomic::Ordering;

/// A finding of the execution under way, without what is known only at its end.
struct Found {
    fingerprint: u64,
    kind: FindingKind,
    message: Message,
    stacks: Vec<Stack>,
    spots: Vec<Spot>,
    details: Option<Details>,
    after: Option<u32>,
}

struct Results {
    /// Where the mailbox is mapped; 0 without one.
    mailbox: usize,
    execution: u64,
    found: Vec<Found>,
    /// Pairs of program points whose race was seen in this execution.
    races: FxHashSet<(usize, usize)>,
    /// Locks and the like whose beginning or end another thread does not respect: once is enough.
    objects: FxHashSet<usize>,
    /// Where stdout and stderr go.
    output: [i32; 2],
}

/// The runtime's own files have numbers from here on, so many of them. Not much higher: children copy the table of
/// files.
pub const FIRST_FILE: i32 = 200;
pub const OWN_FILES: i32 = 4;

static RESULTS: Global<Option<Results>> = Global::new(None);

/// Maps the mailbox and reads the request.
pub fn open(path: &[u8]) -> Result<Request, String> {
    let file =
        sys::open(path, libc::O_RDWR | libc::O_CLOEXEC).map_err(|e| format!("cannot open the mailbox: error {e}"))?;
    let mailbox = sys::map_shared(file, FILE_SIZE).ok_or("cannot map the mailbox")?;
    sys::close(file);
    *RESULTS.get() = Some(Results {
        mailbox,
        execution: 0,
        found: Vec::new(),
        races: FxHashSet::default(),
        objects: FxHashSet::default(),
        output: [-1, -1],
    });
    let header = header().ok_or("no mailbox")?;
    if header.magic != MAGIC {
        return Err("the mailbox was made by another version of Fencepost".to_owned());
    }
    // SAFETY: the host has written so many bytes there before it started this process.
    let text =
        unsafe { std::slice::from_raw_parts((mailbox + REQUEST_OFFSET) as *const u8, header.request_length as usize) };
    serde_json::from_slice(text).map_err(|e| format!("cannot read the request: {e}"))
}

/// This process has nothing to report any more.
pub fn leave() {
    *RESULTS.get() = None;
}

/// The header of the mailbox, if there is one.
pub fn header() -> Option<&'static Header> {
    let results = RESULTS.get().as_ref()?;
    // SAFETY: the mapping is never taken away, is larger than the header, and what changes in it is atomic.
    Some(unsafe { &*(results.mailbox as *const Header) })
}

fn results() -> &'static mut Results {
    RESULTS.get().as_mut().expect("internal error: results without a mailbox")
}

/// Appends to the log. What does not fit is left out.
pub fn log(record: &Record) {
    let Some(header) = header() else { return };
    let Ok(mut line) = serde_json::to_vec(record) else { return };
    line.push(b'\n');
    let used = header.log_used.load(Ordering::Relaxed) as usize;
    if LOG_OFFSET + used + line.len() > FILE_SIZE {
        return;
    }
    let to = results().mailbox + LOG_OFFSET + used;
    // SAFETY: within the mapping; only this process writes to the log.
    unsafe { std::ptr::copy_nonoverlapping(line.as_ptr(), to as *mut u8, line.len()) };
    // Last: the record is whole when it counts.
    header.log_used.store((used + line.len()) as u64, Ordering::Release);
}

/// Something that the user should know. However often it happens, and in however many child processes, it is said once.
pub fn note(text: impl Into<Message>) {
    let Some(header) = header() else { return };
    let message = text.into();
    if header.table.met(hash(("note", &message)), results().execution) != Some(false) {
        log(&Record::Note(message));
    }
}

pub fn set_state(state: u32) {
    if let Some(header) = header() {
        header.state.store(state, Ordering::Release);
    }
}

/// Sends stdout and stderr of the program to files in memory.
pub fn capture_output() {
    for (i, name) in [b"stdout\0", b"stderr\0"].into_iter().enumerate() {
        if let Some(file) = sys::memory_file(name) {
            sys::duplicate(file, i as i32 + 1);
            // Out of the way of the numbers that the program gets.
            results().output[i] = sys::duplicate_above(file, FIRST_FILE);
            sys::close(file);
        }
    }
}

/// The program may have put other files in the place of those: not for the next execution.
pub fn capture_again() {
    for (i, file) in results().output.into_iter().enumerate() {
        sys::duplicate(file, i as i32 + 1);
    }
}

/// In a child: another program takes the place of this one, and ends the execution.
pub fn becomes_another() {
    if let Some(header) = header() {
        header.replaced.store(results().execution + 1, Ordering::Relaxed);
    }
}

fn read_output(i: usize) -> String {
    let file = results().output[i];
    let length = sys::position(file).min(64 << 10);
    let mut text = vec![0; length];
    let read = sys::read_at(file, &mut text, 0);
    text.truncate(read.max(0) as usize);
    if i == 0 {
        text.extend(crate::hooks::process::unflushed());
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// A new execution.
pub fn begin(execution: u64) {
    let results = results();
    results.execution = execution;
    results.found.clear();
    results.races.clear();
    results.objects.clear();
    if let Some(header) = header() {
        header.current.store(execution, Ordering::Relaxed);
        header.pulse.fetch_add(1, Ordering::Relaxed);
    }
}

/// The execution at hand is to have this number.
pub fn number(execution: u64) {
    results().execution = execution;
}

/// All starts over: what was found until now, and the log, are forgotten.
pub fn forget() {
    let Some(header) = header() else { return };
    for counter in header.ended.iter().chain(&header.statuses).chain([&header.done, &header.steps, &header.log_used]) {
        counter.store(0, Ordering::Relaxed);
    }
    header.table.clear();
    results().found.clear();
}

/// This process is a copy of another one and goes its own way from here: so does what it prints.
pub fn separate_output() {
    let old = results().output;
    capture_output();
    old.into_iter().for_each(sys::close);
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    // The hasher's low bits are weak.
    hasher.finish().wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

/// A stack of return addresses, for the host.
pub fn stack(thread: u32, access: &str, pcs: &[usize]) -> Stack {
    let frames: Vec<Frame> =
        pcs.iter().filter(|pc| **pc != 0 && !modules::is_own(**pc)).map(|pc| modules::frame(*pc)).collect();
    Stack { thread, access: access.into(), frames }
}

fn word(kind: Kind) -> &'static str {
    match (kind.atomic, kind.write) {
        _ if kind.what != What::Access => deed(kind.what),
        (false, false) => "read",
        (false, true) => "write",
        (true, false) => "atomic read",
        (true, true) => "atomic write",
    }
}

fn deed(what: What) -> &'static str {
    match what {
        What::Access => "access",
        What::Free => "free",
        What::Allocation => "allocation",
        What::Use(_) => "use",
        What::Initialisation(_) => "init",
        What::Destruction(_) => "destroy",
    }
}

/// What is wrong with two accesses that nothing orders.
fn conflict(earlier: Kind, later: Kind, address: usize) -> (FindingKind, Message) {
    let life = later.what.begins_or_ends().map(|object| (object, later, earlier));
    let life = life.or(earlier.what.begins_or_ends().map(|object| (object, earlier, later)));
    let Some((object, life, other)) = life else {
        let message = format!("{} and {} of the same memory without order between them", word(earlier), word(later));
        return (FindingKind::DataRace, Message::about(message, address));
    };
    let done = if matches!(life.what, What::Destruction(_)) { "destroyed" } else { "initialised" };
    let meanwhile = match other.what {
        What::Use(_) => "uses it".to_owned(),
        What::Initialisation(_) => "initialises it".to_owned(),
        What::Destruction(_) => "destroys it".to_owned(),
        What::Allocation => "allocates its memory".to_owned(),
        What::Free => "frees its memory".to_owned(),
        What::Access => format!("accesses its memory ({})", word(other)),
    };
    let message = format!("a {} is {done} while another thread {meanwhile}: nothing orders the two", object.name());
    (FindingKind::MutexMisuse, Message::about(message, address))
}

/// Two accesses race: the earlier one, and the one that the running thread is about to make from `pc`.
pub fn race(address: usize, earlier: Earlier, kind: Kind, pc: usize) {
    if !results().races.insert((earlier.pc.min(pc), earlier.pc.max(pc))) {
        return;
    }
    let me = fibers::current();
    fibers::me().pc = pc;
    let before = details::calls_of(earlier).unwrap_or_else(|| vec![earlier.pc]);
    let stacks =
        vec![stack(me.0, word(kind), &fibers::stack_of(me)), stack(earlier.thread, word(earlier.kind), &before)];
    let mut places = [modules::frame(pc), modules::frame(earlier.pc)];
    places.sort();
    let (finding, message) = conflict(earlier.kind, kind, address);
    if finding == FindingKind::MutexMisuse && !results().objects.insert(address) {
        return;
    }
    let fingerprint = hash((finding, &places));
    let spot = |thread, time, pc: usize| Spot { address: address as u64, thread, time, pc: pc as u64 };
    let spots = vec![spot(me.0, shadow::time(kind), pc), spot(earlier.thread, earlier.time, earlier.pc)];
    let details = details::about(address, &[me.0, earlier.thread]);
    let after = control::event_count();
    record(Found { fingerprint, kind: finding, message, stacks, spots, details, after });
}

/// The running thread does something with an object that has been destroyed: is this the first time that it shows?
pub fn is_first(object: usize) -> bool {
    results().objects.insert(object)
}

/// The running thread does something wrong with a lock or the like, in the words of `message` and as `deed`. Where
/// the other half of it is, if anywhere: whose, what, and from where.
pub fn misuse(message: String, deed: &str, address: usize, other: Option<(u32, &str, usize)>) {
    let pc = global::caller();
    let there = other.map_or(0, |(_, _, pc)| pc);
    if !results().races.insert((pc.min(there), pc.max(there))) {
        return;
    }
    let me = fibers::current();
    fibers::me().pc = pc;
    let mut stacks = vec![stack(me.0, deed, &fibers::stack_of(me))];
    let mut threads = vec![me.0];
    if let Some((thread, deed, pc)) = other.filter(|(_, _, pc)| *pc != 0) {
        stacks.push(stack(thread, deed, &[pc]));
        threads.push(thread);
    }
    // As for two accesses that nothing orders: one bug, whichever of the two comes later.
    let mut places = [modules::frame(pc), modules::frame(there)];
    places.sort();
    let fingerprint = hash((FindingKind::MutexMisuse, &places));
    let (details, after) = (details::about(address, &threads), control::event_count());
    let (kind, message) = (FindingKind::MutexMisuse, Message::about(message, address));
    record(Found { fingerprint, kind, message, stacks, spots: Vec::new(), details, after });
}

/// The running thread is about to access a block that `earlier` has freed, or, if that is nowhere, what lies around
/// one.
pub fn wild_access(address: usize, earlier: Earlier, kind: Kind, pc: usize) {
    if !results().races.insert((earlier.pc, pc)) {
        return;
    }
    let me = fibers::current();
    fibers::me().pc = pc;
    let mut stacks = vec![stack(me.0, word(kind), &fibers::stack_of(me))];
    let mut details = details::about(address, &[me.0]);
    let (finding, message) = if earlier.pc == 0 {
        (FindingKind::HeapOverflow, format!("{} outside of a block of memory", word(kind)))
    } else {
        details = details::about(address, &[me.0, earlier.thread]);
        stacks.push(freeing(&details).unwrap_or_else(|| stack(earlier.thread, "free", &[earlier.pc])));
        (FindingKind::UseAfterFree, format!("{} of memory that was freed", word(kind)))
    };
    let fingerprint = hash((finding, modules::frame(pc), modules::frame(earlier.pc)));
    let after = control::event_count();
    let message = Message::about(message, address);
    record(Found { fingerprint, kind: finding, message, stacks, spots: Vec::new(), details, after });
}

/// Where the block that a finding is about was freed.
fn freeing(details: &Option<Details>) -> Option<Stack> {
    match &details.as_ref()?.memory.as_ref()?.place {
        Place::Block { freed, .. } => freed.clone(),
        _ => None,
    }
}

/// Something is wrong with what the running thread does with this address.
pub fn found(kind: FindingKind, message: String, address: usize) {
    let me = fibers::current();
    let details = details::about(address, &[me.0]);
    let access = if kind == FindingKind::DoubleFree { "free" } else { "" };
    let mut stacks = vec![stack(me.0, access, &fibers::stack_of(me))];
    stacks.extend(freeing(&details));
    let fingerprint = hash((kind, &stacks[0].frames.first()));
    let after = control::event_count();
    let message = Message::about(message, address);
    record(Found { fingerprint, kind, message, stacks, spots: Vec::new(), details, after });
}

fn record(found: Found) {
    let fingerprint = found.fingerprint;
    results().found.push(found);
    debugger::announce(fingerprint);
}

/// The running thread is about to end the execution.
pub fn ending(verdict: &Verdict) {
    if debugger::is_there()
        && let Some(fingerprint) = campaign::request().and_then(|request| fingerprint(verdict, request))
    {
        debugger::announce(fingerprint);
    }
}

/// The name of the finding that an end is, if it is one.
pub fn fingerprint(verdict: &Verdict, request: &Request) -> Option<u64> {
    finding_of(verdict, request).map(|found| found.fingerprint)
}

/// Something is wrong with the execution as a whole; `name` tells it from others of its kind.
pub fn found_there(kind: FindingKind, name: u64, message: String, stacks: Vec<Stack>) {
    let (fingerprint, after) = (hash((kind, name)), control::event_count());
    let message = message.into();
    record(Found { fingerprint, kind, message, stacks, spots: Vec::new(), details: None, after });
}

/// Has anything been found in this execution so far?
pub fn any_found() -> bool {
    !results().found.is_empty() || spec::is_violated()
}

/// The execution has ended. Was anything found?
pub fn end(verdict: &Verdict, request: &Request) -> bool {
    let Some(header) = header() else { return false };
    header.steps.fetch_add(control::steps(), Ordering::Relaxed);
    header.coverage.end(control::steps());
    header.threads.fetch_max(fibers::all().count() as u64, Ordering::Relaxed);
    header.ended[verdict.end() as usize].fetch_add(1, Ordering::Relaxed);
    if let Verdict::Exit(status) = verdict {
        header.statuses[(*status & 0xff) as usize].fetch_add(1, Ordering::Relaxed);
    }
    if let Some(found) = finding_of(verdict, request) {
        results().found.push(found);
    }
    if atomically::is_on() {
        spec::collect(verdict);
    } else {
        spec::judge(verdict, request);
    }
    if let Verdict::StepLimit | Verdict::Timeout = verdict {
        cut_off(header, *verdict == Verdict::Timeout);
    }
    let mut found = std::mem::take(&mut results().found);
    found.retain(|f| !request.ignored.contains(&f.fingerprint));
    let any = !found.is_empty();
    let execution = results().execution;
    let mut outputs = None;
    if let Some(asked) = &request.hunt {
        let failure = found.iter().find(|f| !asked.failures.contains(&f.fingerprint));
        let harm = failure.map(|f| Message { text: format!("{}: {}", f.kind, f.message.text), ..f.message.clone() });
        let failures = found.iter().map(|f| (f.kind, f.stacks.first().map(|stack| stack.thread))).collect();
        hunt::end(execution, harm, failures, || read_output(0));
    }
    for f in found {
        if header.table.met(f.fingerprint, execution) == Some(true) {
            let (stdout, stderr) = outputs.get_or_insert_with(|| (read_output(0), read_output(1))).clone();
            log(&Record::Finding(Box::new(Report {
                fingerprint: f.fingerprint,
                kind: f.kind,
                message: f.message,
                execution,
                stacks: f.stacks,
                after: f.after,
                choices: if explore::is_on() || control::drawn().is_some() { Vec::new() } else { control::choices() },
                drawn: if explore::is_on() { None } else { control::drawn() },
                steps: explore::steps(),
                shared: explore::shared_memory(),
                stdout,
                stderr,
                spots: f.spots,
                details: f.details,
            })));
        }
    }
    // What was abandoned has not printed all that it would have.
    if request.keep_outputs && *verdict != Verdict::Redundant {
        let mut text = match outputs {
            Some((stdout, _)) => stdout,
            None => read_output(0),
        };
        if let Verdict::Exit(status @ 1..) = verdict {
            text.push_str(&format!("exit status {status}\n"));
        }
        let fingerprint = hash(("output", &text));
        if header.table.met(fingerprint, execution) == Some(true) {
            log(&Record::Output { fingerprint, execution, text, choices: control::choices() });
        }
    }
    if request.keep_traces {
        let mut trace = explore::take_trace().unwrap_or_else(control::trace);
        shorten(&mut trace);
        match verdict {
            // The engine does not hear of these.
            Verdict::Exit(_) => trace.outcome = Outcome::Finished,
            Verdict::Livelock(spinning) => trace.outcome = Outcome::Livelock { spinning: spinning.clone() },
            _ => {}
        }
        let places = trace.labels.iter().map(|label| modules::place(label.line)).collect();
        trace.labels.iter_mut().for_each(|label| label.line = 0);
        log(&Record::Trace { execution, trace, places });
        log(&Record::Locals { list: details::locals() });
    }
    if request.digests.contains(&execution)
        && !matches!(verdict, Verdict::Timeout)
        && !explore::is_on()
        && let Some((seed, sampling)) = control::plan()
    {
        let mut trace = control::trace();
        shorten(&mut trace);
        let places: Vec<Frame> = trace.labels.iter().map(|label| modules::place(label.line)).collect();
        let text = serde_json::to_vec(&(&trace, places)).unwrap_or_default();
        log(&Record::Digest { execution, digest: hash((text, verdict.end() as usize)), seed, sampling });
    }
    // Where several threads end the process in one graph, each of them is told with what was printed.
    if !explore::has_other_ends() {
        drop_output();
    }
    header.failing.fetch_add(any.into(), Ordering::Relaxed);
    header.done.fetch_add(1, Ordering::Relaxed);
    any
}

/// What the execution has printed is of no interest any more.
pub fn drop_output() {
    for file in results().output {
        if sys::position(file) != 0 {
            sys::truncate(file);
        }
    }
}

/// Remembers where threads were when a limit cut an execution off, once for each place.
fn cut_off(header: &Header, late: bool) {
    let stacks: Vec<Stack> = (0..fibers::all().count() as u32)
        .map(ThreadId)
        .filter(|thread| !fibers::all().get(*thread).ended)
        .map(|thread| stack(thread.0, "", &fibers::stack_of(thread)))
        .collect();
    let places: Vec<_> = stacks.iter().map(|s| s.frames.first()).collect();
    let execution = results().execution;
    if header.table.met(hash(("cut off", late, places)), execution) == Some(true) {
        log(&Record::CutOff { execution, late, stacks });
    }
}

/// More events than this of an execution are not kept: nobody reads them, and the log has an end.
const MOST_EVENTS: usize = 100_000;

fn shorten(trace: &mut Trace) {
    if trace.events.len() > MOST_EVENTS {
        trace.events.truncate(MOST_EVENTS);
        trace.coherence.iter_mut().for_each(|list| list.stores.retain(|store| store.index() <= MOST_EVENTS));
    }
}

fn finding_of(verdict: &Verdict, request: &Request) -> Option<Found> {
    let me = fibers::current();
    let here = |access: &str| vec![stack(me.0, access, &fibers::stack_of(me))];
    let (kind, message, stacks) = match verdict {
        Verdict::Exit(0) | Verdict::Redundant | Verdict::StepLimit | Verdict::Timeout => return None,
        Verdict::Exit(status) if request.status_is_finding => {
            (FindingKind::ExitStatus, format!("exit status {status}"), Vec::new())
        }
        Verdict::Exit(_) => return None,
        Verdict::Assertion(message) => (FindingKind::Assertion, message.clone(), here("")),
        Verdict::Panic(calls) => {
            (FindingKind::Panic, hooks::panics::message(&read_output(1)), vec![stack(me.0, "", calls)])
        }
        Verdict::Abort(message) => (FindingKind::Abort, message.clone(), here("")),
        Verdict::Crash { signal, address, .. } => {
            (FindingKind::Crash, format!("{} at address {address:#x}", signal_name(*signal)), here(""))
        }
        Verdict::Deadlock(blocked) => {
            let wait = |t: &ThreadId| stack(t.0, "wait", &fibers::stack_of(*t));
            (FindingKind::Deadlock, "every thread waits".to_owned(), blocked.iter().map(wait).collect())
        }
        Verdict::Livelock(spinning) => {
            let spin = |t: &ThreadId| stack(t.0, "spin", &fibers::stack_of(*t));
            let message = match spinning.len() {
                1 => "a thread goes around a loop for ever: nobody is left to end it",
                _ => "threads go around loops for ever: nobody is left to end them",
            };
            (FindingKind::Livelock, message.to_owned(), spinning.iter().map(spin).collect())
        }
    };
    let innermost: Vec<_> = stacks.iter().map(|s| s.frames.first().cloned()).collect();
    let fingerprint = match verdict {
        Verdict::Exit(status) => hash((kind, status)),
        // Innermost is what all panics have in common.
        Verdict::Panic(_) => hash((kind, &stacks[0].frames)),
        _ => hash((kind, innermost)),
    };
    let threads: Vec<u32> = stacks.iter().map(|s| s.thread).collect();
    let details = details::about(0, &threads);
    Some(Found { fingerprint, kind, message: message.into(), stacks, spots: Vec::new(), details, after: None })
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => "segmentation fault",
        libc::SIGBUS => "bus error",
        libc::SIGILL => "illegal instruction",
        libc::SIGFPE => "arithmetic error",
        libc::SIGTRAP => "trap",
        _ => "signal",
    }
}

/// An execution in a child process ended without saying how. Is that a finding?
pub fn died(status: i32, request: &Request) -> bool {
    let Some(header) = header() else { return true };
    let execution = results().execution;
    if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL {
        // Somebody else has done that, as the system does when memory is short: it says nothing about the program.
        note(&format!("execution {} was killed from outside (is there enough memory?)", execution + 1));
        header.ended[End::Timeout as usize].fetch_add(1, Ordering::Relaxed);
        header.done.fetch_add(1, Ordering::Relaxed);
        drop_output();
        return false;
    }
    let replaced = header.replaced.load(Ordering::Relaxed) == execution + 1;
    let (kind, fingerprint, message) = if replaced && libc::WIFEXITED(status) {
        // Another program took its place, and ended as it did.
        let code = libc::WEXITSTATUS(status);
        header.ended[End::Exit as usize].fetch_add(1, Ordering::Relaxed);
        header.statuses[(code & 0xff) as usize].fetch_add(1, Ordering::Relaxed);
        if code == 0 || !request.status_is_finding {
            header.done.fetch_add(1, Ordering::Relaxed);
            drop_output();
            return false;
        }
        (FindingKind::ExitStatus, hash((FindingKind::ExitStatus, code)), format!("exit status {code}"))
    } else {
        header.ended[End::Died as usize].fetch_add(1, Ordering::Relaxed);
        let (fingerprint, message) = death(status);
        (FindingKind::Crash, fingerprint, message)
    };
    if header.table.met(fingerprint, execution) == Some(true) {
        log(&Record::Finding(Box::new(Report {
            fingerprint,
            kind,
            message: message.into(),
            execution,
            stacks: Vec::new(),
            after: None,
            choices: Vec::new(),
            drawn: None,
            steps: Vec::new(),
            shared: Vec::new(),
            stdout: String::new(),
            stderr: String::new(),
            spots: Vec::new(),
            details: None,
        })));
    }
    header.failing.fetch_add(1, Ordering::Relaxed);
    header.done.fetch_add(1, Ordering::Relaxed);
    drop_output();
    true
}
