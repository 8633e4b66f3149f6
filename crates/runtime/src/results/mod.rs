//! What the host is told.

mod end;
mod findings;
mod output;

use crate::platform::global::{Entered, Global};
use crate::platform::sys;
pub use end::{all_cut_off, died, end, ending, fingerprint};
use fencepost_mailbox::{FILE_SIZE, Header, LOG_OFFSET, MAGIC, Message, REQUEST_OFFSET, Record, Request};
use findings::{Found, hash};
pub use findings::{any_found, found, found_between, found_there, is_first, misuse, race, stack, wild_access};
pub use output::{FIRST_FILE, OWN_FILES, becomes_another, capture_again, capture_output, drop_output, separate_output};
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Results {
    execution: u64,
    found: Vec<Found>,
    /// Pairs of program points whose race was seen in this execution.
    races: FxHashSet<(usize, usize)>,
    /// Locks and the like whose beginning or end another thread does not respect: once is enough.
    objects: FxHashSet<usize>,
    /// Where stdout and stderr go.
    output: [i32; 2],
}

static RESULTS: Global<Option<Results>> = Global::new(None);

/// Where the mailbox is mapped; 0 without one.
static MAILBOX: AtomicUsize = AtomicUsize::new(0);

/// Maps the mailbox and reads the request.
pub fn open(path: &[u8]) -> Result<Request, String> {
    let file =
        sys::open(path, libc::O_RDWR | libc::O_CLOEXEC).map_err(|e| format!("cannot open the mailbox: error {e}"))?;
    let mailbox = sys::map_shared(file, FILE_SIZE).ok_or("cannot map the mailbox")?;
    sys::close(file);
    MAILBOX.store(mailbox, Ordering::Relaxed);
    *RESULTS.enter() = Some(Results {
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
    MAILBOX.store(0, Ordering::Relaxed);
    *RESULTS.enter() = None;
}

/// The header of the mailbox, if there is one.
pub fn header() -> Option<&'static Header> {
    // SAFETY: the mapping is never taken away, is larger than the header, and what changes in it is atomic.
    unsafe { (MAILBOX.load(Ordering::Relaxed) as *const Header).as_ref() }
}

#[track_caller]
fn results() -> Entered<'static, Results> {
    RESULTS.enter().map(|results| results.as_mut().expect("internal error: results without a mailbox"))
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
    let to = MAILBOX.load(Ordering::Relaxed) + LOG_OFFSET + used;
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

/// A new execution.
pub fn begin(execution: u64) {
    let mut results = results();
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
