//! What the host is told.

mod output;

use crate::platform::global::{self, Entered, Global};
use crate::platform::{failure, modules, sys};
use fencepost_mailbox::{FILE_SIZE, Frame, Header, LOG_OFFSET, MAGIC, Message, REQUEST_OFFSET, Record, Request, state};
use fencepost_trace::{Access, Method};
pub use output::{
    FIRST_FILE, OWN_FILES, becomes_another, capture_again, capture_output, complain, complained, drop_output,
    read_output, separate_output,
};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

struct Results {
    execution: u64,
    /// Where stdout and stderr go.
    output: [i32; 2],
}

static RESULTS: Global<Option<Results>> = Global::new(None);

/// Where the mailbox is mapped; 0 without one.
static MAILBOX: AtomicUsize = AtomicUsize::new(0);

/// Maps the mailbox and reads the request.
pub fn open(path: &[u8]) -> Result<&'static Request, String> {
    let file =
        sys::open(path, libc::O_RDWR | libc::O_CLOEXEC).map_err(|e| format!("cannot open the mailbox: error {e}"))?;
    let mailbox = sys::map_shared(file, FILE_SIZE).ok_or("cannot map the mailbox")?;
    sys::close(file);
    MAILBOX.store(mailbox, Ordering::Relaxed);
    *RESULTS.enter() = Some(Results { execution: 0, output: [-1, -1] });
    failure::listen(|reason| {
        note(reason);
        set_state(state::BROKEN);
    });
    let header = header().ok_or("no mailbox")?;
    if header.magic != MAGIC {
        return Err("the mailbox was made by another version of Fencepost".to_owned());
    }
    // SAFETY: the host has written so many bytes there before it started this process.
    let text =
        unsafe { std::slice::from_raw_parts((mailbox + REQUEST_OFFSET) as *const u8, header.request_length as usize) };
    let request = serde_json::from_slice(text).map_err(|e| format!("cannot read the request: {e}"))?;
    let request: &'static Request = Box::leak(Box::new(request));
    *REQUEST.enter() = Some(request);
    BEGUN.store(true, Ordering::Relaxed);
    Ok(request)
}

/// Read once, and there as long as the process is.
static REQUEST: Global<Option<&'static Request>> = Global::new(None);

/// What the host asks for.
pub fn request() -> Option<&'static Request> {
    *REQUEST.enter()
}

/// Has the request been read? Threads of the kernel that come earlier ask.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Has `main` been reached, in a program that the host has started?
pub fn has_begun() -> bool {
    BEGUN.load(Ordering::Relaxed)
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

/// The program makes an access or has a fence there: said once.
pub fn access(place: Frame, access: Access) {
    let Some(header) = header() else { return };
    if header.table.met(hash(("access", &place)), results().execution) != Some(false) {
        log(&Record::Access { place, access });
    }
}

pub fn set_state(state: u32) {
    if let Some(header) = header() {
        header.state.store(state, Ordering::Release);
    }
}

/// A new execution.
pub fn begin(execution: u64) {
    number(execution);
    if let Some(header) = header() {
        header.current.store(execution, Ordering::Relaxed);
        header.pulse.fetch_add(1, Ordering::Relaxed);
    }
}

/// The execution at hand is to have this number.
pub fn number(execution: u64) {
    results().execution = execution;
}

/// The number of the execution at hand.
pub fn execution() -> u64 {
    results().execution
}

/// A name for whatever is told once.
pub fn hash(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    // The hasher's low bits are weak.
    hasher.finish().wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

/// Why the exploration under way is not complete, if it is not.
static INCOMPLETE: Global<Option<Message>> = Global::new(None);

/// The exploration is not complete.
pub fn unsupported(why: impl Into<Message>) {
    let why = why.into();
    INCOMPLETE.enter().get_or_insert(why);
}

/// If an exploration is under way it is not complete, because of what the running thread does where it is. The host
/// names the place.
pub fn unsupported_here(why: &str) {
    unsupported_at(why, global::caller());
}

/// The same for another place.
pub fn unsupported_at(why: impl Into<Message>, pc: usize) {
    if global::explores() && INCOMPLETE.enter().is_none() {
        unsupported(why.into().at(modules::frame(pc)));
    }
}

/// By which method the program is explored.
static METHOD: AtomicU8 = AtomicU8::new(Method::Graph as u8);

/// An exploration begins, by this method.
pub fn set_method(method: Method) {
    METHOD.store(method as u8, Ordering::Relaxed);
}

fn is_explored_by(method: Method) -> bool {
    global::explores() && METHOD.load(Ordering::Relaxed) == method as u8
}

/// Does an exploration tell executions apart by the values that are read? Then the order in which threads run may be
/// one that no execution has: who reads a value may run before who writes it. What threads do must not depend on it.
pub fn is_by_values() -> bool {
    is_explored_by(Method::Causal)
}

/// Does an exploration not tell executions apart by their graphs, but by less?
pub fn is_by_less_than_graphs() -> bool {
    is_by_values() || is_explored_by(Method::Rf)
}

/// Does the exploration tell the program of no order but that of creating and joining threads, so that this `what` is
/// not told from its opposite? If so, the exploration is not complete.
pub fn leaves_open(what: &str) -> bool {
    let open = is_by_less_than_graphs();
    if open {
        unsupported_here(&format!("{what}: this method does not tell (--method graph does)"));
    }
    open
}

/// Why the exploration was not complete, if it was not; forgotten here.
pub fn take_incomplete() -> Option<Message> {
    INCOMPLETE.enter().take()
}

/// The same, not forgotten.
pub fn incomplete() -> Option<Message> {
    INCOMPLETE.enter().clone()
}

/// The log as it is.
pub fn logged() -> String {
    let Some(header) = header() else { return String::new() };
    let (start, used) = (MAILBOX.load(Ordering::Relaxed) + LOG_OFFSET, header.log_used.load(Ordering::Acquire));
    // SAFETY: so much of the log has been written, and nobody changes what is there.
    let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, used as usize) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// The log of another process, instead of what there is.
pub fn log_again(text: &str) {
    let Some(header) = header() else { return };
    if LOG_OFFSET + text.len() > FILE_SIZE {
        return;
    }
    let to = MAILBOX.load(Ordering::Relaxed) + LOG_OFFSET;
    // SAFETY: within the mapping; only this process writes to the log.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), to as *mut u8, text.len()) };
    header.log_used.store(text.len() as u64, Ordering::Release);
}

/// All starts over: what was found until now, and the log, are forgotten.
pub fn forget() {
    let Some(header) = header() else { return };
    for counter in header.ended.iter().chain(&header.statuses).chain([&header.done, &header.steps, &header.log_used]) {
        counter.store(0, Ordering::Relaxed);
    }
    header.table.clear();
}
