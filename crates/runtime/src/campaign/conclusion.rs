//! How an execution has ended, and what that says.

use crate::campaign::{hunt, minimise};
use crate::detect::details;
use crate::drive::ending::Verdict;
use crate::drive::findings::{self, Found, found_between};
use crate::drive::{atomically, control, explored, spec};
use crate::hooks;
use crate::platform::global;
use crate::platform::modules::{self, stack};
use crate::results::{self, complained, drop_output, hash, header, log, note, read_output};
use crate::threads::fibers;
use fencepost_mailbox::{AccessSite, End, Frame, Header, Message, Record, Report, Request, Stack, death};
use fencepost_predict::private::without_private;
use fencepost_runtime_core::ending::{Renumbering, keep_end};
use fencepost_safety::Leaving;
use fencepost_trace::{Action, FindingKind, GraphStep, Outcome, ThreadId, Trace};
use std::sync::atomic::Ordering;

/// What the execution has printed to stdout.
fn printed() -> String {
    let mut text = read_output(0);
    text.extend(hooks::process::unflushed());
    String::from_utf8_lossy(&text).into_owned()
}

/// What an exploration knows of an execution; nothing, if it was none of one.
#[derive(Default)]
pub struct Explored {
    /// The steps of its graph, if somebody may want them.
    pub steps: Vec<GraphStep>,
    /// The trace of a graph that was run again.
    pub trace: Option<Trace>,
    /// Threads have ended the process in it of which nothing was told yet.
    pub other_ends: bool,
}

/// The execution has ended. Was anything found?
pub fn end(verdict: &Verdict, request: &Request, explored: Explored) -> bool {
    let Some(header) = header() else { return false };
    header.steps.fetch_add(control::steps(), Ordering::Relaxed);
    header.coverage.end(control::steps());
    header.threads.fetch_max(fibers::all().count() as u64, Ordering::Relaxed);
    header.ended[verdict.end() as usize].fetch_add(1, Ordering::Relaxed);
    if let Verdict::Exit(status) = verdict {
        header.statuses[(*status & 0xff) as usize].fetch_add(1, Ordering::Relaxed);
    }
    if let Some(found) = verdict.finding(request) {
        findings::add(found);
    }
    if !request.watch.is_empty() && !global::explores() {
        control::leavings().iter().for_each(leaves_sc);
    }
    if atomically::is_on() {
        spec::collect(verdict);
    } else {
        spec::judge(verdict, request);
    }
    if let Verdict::StepLimit | Verdict::Timeout = verdict {
        cut_off(header, *verdict == Verdict::Timeout);
    }
    let mut found = findings::take();
    found.retain(|f| !request.ignored.contains(&f.fingerprint));
    if minimise::judge(request, &found) {
        drop_output();
        header.done.fetch_add(1, Ordering::Relaxed);
        return false;
    }
    let any = !found.is_empty();
    header.coverage.shown(any);
    let execution = results::execution();
    let mut outputs = None;
    if let Some(asked) = &request.hunt {
        let failure = found.iter().find(|f| !asked.failures.contains(&f.fingerprint));
        let harm = failure.map(|f| Message { text: format!("{}: {}", f.kind, f.message.text), ..f.message.clone() });
        let failures = found.iter().map(|f| (f.kind, f.stacks.first().map(|stack| stack.thread))).collect();
        hunt::end(execution, harm, failures, printed);
    }
    // Findings speak of events by their numbers in the trace.
    let mut trace = request.keep_traces.then(|| explored.trace.unwrap_or_else(control::trace));
    let length = trace.as_ref().map_or(0, |trace| trace.events.len() as u64);
    if request.shared_only && length > LONG_TRACE {
        trace = trace.map(|trace| without_private(&trace));
    }
    let sites: Vec<AccessSite> = found.iter().flat_map(|f| f.sites.iter().copied()).collect();
    let numbers = trace.as_mut().and_then(|trace| shorten(trace, &sites));
    if let Some(numbers) = &numbers {
        note(format!(
            "the execution is long: its first {} steps are not shown, but for what later ones have read",
            numbers.cut()
        ));
        found.iter_mut().for_each(|f| renumber(f, numbers));
    }
    for f in found {
        if header.table.met(f.fingerprint, execution) == Some(true) {
            let (stdout, stderr) = outputs.get_or_insert_with(|| (printed(), complained())).clone();
            log(&Record::Finding(Box::new(Report {
                fingerprint: f.fingerprint,
                kind: f.kind,
                message: f.message,
                execution,
                stacks: f.stacks,
                after: f.after,
                choices: if global::explores() || control::drawn().is_some() { Vec::new() } else { control::choices() },
                drawn: if global::explores() { None } else { control::drawn() },
                steps: explored.steps.clone(),
                shared: explored::shared_memory(),
                stdout,
                stderr,
                sites: f.sites,
                details: f.details,
            })));
        }
    }
    // What was abandoned has not printed all that it would have.
    if request.keep_outputs && *verdict != Verdict::Redundant {
        let mut text = match outputs {
            Some((stdout, _)) => stdout,
            None => printed(),
        };
        if let Verdict::Exit(status @ 1..) = verdict {
            text.push_str(&format!("exit status {status}\n"));
        }
        let fingerprint = hash(("output", &text));
        if header.table.met(fingerprint, execution) == Some(true) {
            log(&Record::Output { fingerprint, execution, text, choices: control::choices() });
        }
    }
    if let Some(mut trace) = trace {
        match verdict {
            // The engine does not hear of these.
            Verdict::Exit(_) => trace.outcome = Outcome::Finished,
            Verdict::Livelock(spinning) => trace.outcome = Outcome::Livelock { spinning: spinning.clone() },
            _ => {}
        }
        let places = trace.labels.iter().map(|label| modules::place(label.line)).collect();
        trace.labels.iter_mut().for_each(|label| label.line = 0);
        log(&Record::Trace { execution, trace, places, length });
        log(&Record::Locals { list: details::locals() });
    }
    if request.digests.contains(&execution)
        && !matches!(verdict, Verdict::Timeout)
        && !global::explores()
        && let Some((seed, sampling)) = control::plan()
    {
        let mut trace = control::trace();
        shorten(&mut trace, &[]);
        let places: Vec<Frame> = trace.labels.iter().map(|label| modules::place(label.line)).collect();
        let text = serde_json::to_vec(&(&trace, places)).unwrap_or_default();
        log(&Record::Digest { execution, digest: hash((text, verdict.end() as usize)), seed, sampling });
    }
    // Where several threads end the process in one graph, each of them is told with what was printed.
    if !explored.other_ends {
        drop_output();
    }
    header.failing.fetch_add(any.into(), Ordering::Relaxed);
    header.done.fetch_add(1, Ordering::Relaxed);
    any
}

/// Were all executions so far cut off, and so many that others will be, too? Those that take too long count for more.
pub fn all_cut_off() -> bool {
    const MOST_LATE: u64 = 3;
    const MOST_LONG: u64 = 8;
    let Some(header) = header() else { return false };
    let count = |end: End| header.ended[end as usize].load(Ordering::Relaxed);
    let (late, long) = (count(End::Timeout), count(End::StepLimit));
    let all = header.done.load(Ordering::Relaxed) == late + long && header.failing.load(Ordering::Relaxed) == 0;
    all && (late >= MOST_LATE || late + long >= MOST_LONG)
}

/// The execution, under sc, could have left it under another model.
fn leaves_sc(leaving: &Leaving) {
    let Leaving { model, thread, early, overtaken, after, address, .. } = *leaving;
    let point = |access, label| Stack { thread: thread.0, access, frames: vec![modules::place(label)] };
    let (access, what) = if early { (Action::Read, "a read") } else { (Action::Write, "a store") };
    let other = |access, label| Stack { access, ..point(Action::Unnamed, label) };
    let mut passed = other(Action::Write, overtaken);
    passed.thread = leaving.by.0;
    let stacks = vec![point(access, leaving.label), passed, other(Action::Unnamed, after)];
    let text = format!("under {model} {what} can come before a store that sc has before it");
    found_between(FindingKind::ScViolation, Message::about(text, address as usize), stacks);
}

/// Remembers where threads were when a limit cut an execution off, once for each place.
fn cut_off(header: &Header, late: bool) {
    let count = fibers::all().count() as u32;
    let stacks: Vec<Stack> = (0..count)
        .map(ThreadId)
        .filter(|thread| !fibers::get(*thread).ended)
        .map(|thread| stack(thread.0, "", &fibers::stack_of(thread)))
        .collect();
    let places: Vec<_> = stacks.iter().map(|s| s.frames.first()).collect();
    let execution = results::execution();
    if header.table.met(hash(("cut off", late, places)), execution) == Some(true) {
        log(&Record::CutOff { execution, late, stacks });
    }
}

/// Of traces with more events than this only what several threads are concerned with is kept, where that was asked for.
const LONG_TRACE: u64 = 5_000;
/// More events than this of an execution are not kept, unless a finding is about earlier ones: nobody reads them.
const MOST_EVENTS: usize = 100_000;
/// More than this are not kept in any case: the log has an end.
const MOST_OF_ALL: usize = 400_000;

/// Keeps the end of a long trace, from the first of the accesses on that findings are about.
fn shorten(trace: &mut Trace, sites: &[AccessSite]) -> Option<Renumbering> {
    let length = trace.events.len();
    let mut counts: Vec<u32> = Vec::new();
    let mut first = length.saturating_sub(MOST_EVENTS);
    for (i, event) in trace.events.iter().enumerate().take(first) {
        let thread = event.thread.index();
        if counts.len() <= thread {
            counts.resize(thread + 1, 0);
        }
        counts[thread] += 1;
        if sites.iter().any(|site| site.thread as usize == thread && site.time <= counts[thread]) {
            first = i;
            break;
        }
    }
    keep_end(trace, first.max(length.saturating_sub(MOST_OF_ALL)))
}

/// Calls the events that a finding is about by their new names. An access that lies before all that is kept has none.
fn renumber(found: &mut Found, numbers: &Renumbering) {
    found.after = found.after.map(|after| numbers.of_all(after));
    let known = |site: &AccessSite| numbers.has(ThreadId(site.thread), site.time);
    if !found.sites.iter().all(known) {
        return found.sites.clear();
    }
    for site in &mut found.sites {
        site.time = numbers.of_thread(ThreadId(site.thread), site.time.saturating_sub(1)) + 1;
    }
}

/// An execution in a child process ended without saying how. Is that a finding?
pub fn died(status: i32, request: &Request) -> bool {
    let Some(header) = header() else { return true };
    let execution = results::execution();
    if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL {
        // Somebody else has done that, as the system does when memory is short: it says nothing about the program.
        note(format!("execution {} was killed from outside (is there enough memory?)", execution + 1));
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
        log(&Record::Finding(Box::new(Report::of_death(fingerprint, kind, message, execution))));
    }
    header.failing.fetch_add(1, Ordering::Relaxed);
    header.done.fetch_add(1, Ordering::Relaxed);
    drop_output();
    true
}
