//! What was found in the execution under way.

use crate::detect::details;
use crate::detect::shadow::{self, Earlier, Kind, What};
use crate::drive::{control, debugger, spec};
use crate::platform::global::{self, Entered, Global};
use crate::platform::modules::{self, stack};
use crate::results::{self, hash};
use crate::threads::fibers;
use fencepost_mailbox::{AccessSite, AddressKind, Details, Message, Stack};
use fencepost_trace::FindingKind;
use rustc_hash::FxHashSet;

/// A finding of the execution under way, without what is known only at its end.
pub struct Found {
    pub fingerprint: u64,
    pub kind: FindingKind,
    pub message: Message,
    pub stacks: Vec<Stack>,
    pub sites: Vec<AccessSite>,
    pub details: Option<Details>,
    pub after: Option<u32>,
}

/// What was found in the execution under way.
struct Findings {
    found: Vec<Found>,
    /// Pairs of program points whose race was seen in this execution.
    races: FxHashSet<(usize, usize)>,
    /// Locks and the like whose beginning or end another thread does not respect: once is enough.
    objects: FxHashSet<usize>,
}

static FINDINGS: Global<Option<Findings>> = Global::new(None);

#[track_caller]
fn findings() -> Entered<'static, Findings> {
    let empty = || Findings { found: Vec::new(), races: FxHashSet::default(), objects: FxHashSet::default() };
    FINDINGS.enter().map(|findings| findings.get_or_insert_with(empty))
}

/// A new execution.
pub fn begin() {
    let mut findings = findings();
    findings.found.clear();
    findings.races.clear();
    findings.objects.clear();
}

/// All that was found, which is forgotten here.
pub fn take() -> Vec<Found> {
    std::mem::take(&mut findings().found)
}

fn word(kind: Kind) -> &'static str {
    match (kind.atomic, kind.write) {
        _ if kind.what != What::Access => action(kind.what),
        (false, false) => "read",
        (false, true) => "write",
        (true, false) => "atomic read",
        (true, true) => "atomic write",
    }
}

fn action(what: What) -> &'static str {
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
    if !findings().races.insert((earlier.pc.min(pc), earlier.pc.max(pc))) {
        return;
    }
    if results::leaves_open("whether a lock or the like is used before another thread destroys it") {
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
    if finding == FindingKind::MutexMisuse && !findings().objects.insert(address) {
        return;
    }
    let fingerprint = hash((finding, &places));
    let site = |thread, time, pc: usize| AccessSite { address: address as u64, thread, time, pc: pc as u64 };
    let sites = vec![site(me.0, shadow::time(kind), pc), site(earlier.thread, earlier.time, earlier.pc)];
    let details = details::about(address, &[me.0, earlier.thread]);
    let after = control::event_count();
    record(Found { fingerprint, kind: finding, message, stacks, sites, details, after });
}

/// The running thread does something with an object that has been destroyed: is this the first time that it shows?
pub fn is_first(object: usize) -> bool {
    findings().objects.insert(object)
}

/// The running thread does something wrong with a lock or the like, in the words of `message` and as `action`. Where
/// the other half of it is, if anywhere: whose, what, and from where.
pub fn misuse(message: String, action: &str, address: usize, other: Option<(u32, &str, usize)>) {
    let pc = global::caller();
    let there = other.map_or(0, |(_, _, pc)| pc);
    if !findings().races.insert((pc.min(there), pc.max(there))) {
        return;
    }
    let me = fibers::current();
    fibers::me().pc = pc;
    let mut stacks = vec![stack(me.0, action, &fibers::stack_of(me))];
    let mut threads = vec![me.0];
    if let Some((thread, action, pc)) = other.filter(|(_, _, pc)| *pc != 0) {
        stacks.push(stack(thread, action, &[pc]));
        threads.push(thread);
    }
    // As for two accesses that nothing orders: one bug, whichever of the two comes later.
    let mut places = [modules::frame(pc), modules::frame(there)];
    places.sort();
    let fingerprint = hash((FindingKind::MutexMisuse, &places));
    let (details, after) = (details::about(address, &threads), control::event_count());
    let (kind, message) = (FindingKind::MutexMisuse, Message::about(message, address));
    record(Found { fingerprint, kind, message, stacks, sites: Vec::new(), details, after });
}

/// The running thread is about to access a block that `earlier` has freed, or, if that is nowhere, what lies around
/// one.
pub fn wild_access(address: usize, earlier: Earlier, kind: Kind, pc: usize) {
    if !findings().races.insert((earlier.pc, pc)) {
        return;
    }
    let me = fibers::current();
    let ordered = earlier.pc == 0 || earlier.thread == me.0 || shadow::is_past(earlier);
    if !ordered && results::leaves_open("whether memory is accessed before another thread frees it") {
        return;
    }
    fibers::me().pc = pc;
    let mut stacks = vec![stack(me.0, word(kind), &fibers::stack_of(me))];
    let mut details = details::about(address, &[me.0]);
    let (finding, message) = if earlier.pc == 0 {
        (FindingKind::HeapOverflow, format!("{} outside of a block of memory", word(kind)))
    } else {
        details = details::about(address, &[me.0, earlier.thread]);
        stacks.push(freeing(&details).unwrap_or_else(|| stack(earlier.thread, "free", &[earlier.pc])));
        if global::explores() && !global::explores_language() {
            // Nobody asks what else such an access could read.
            results::unsupported("a block is used after it was freed: what can be read there is not explored");
        }
        (FindingKind::UseAfterFree, format!("{} of memory that was freed", word(kind)))
    };
    let fingerprint = hash((finding, modules::frame(pc), modules::frame(earlier.pc)));
    let after = control::event_count();
    let message = Message::about(message, address);
    record(Found { fingerprint, kind: finding, message, stacks, sites: Vec::new(), details, after });
}

/// Where the block that a finding is about was freed.
fn freeing(details: &Option<Details>) -> Option<Stack> {
    match &details.as_ref()?.memory.as_ref()?.place {
        AddressKind::Block { freed, .. } => freed.clone(),
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
    record(Found { fingerprint, kind, message, stacks, sites: Vec::new(), details, after });
}

/// The same without a word to a debugger.
pub fn add(found: Found) {
    findings().found.push(found);
}

pub fn record(found: Found) {
    let fingerprint = found.fingerprint;
    add(found);
    control::seen(fingerprint);
    debugger::announce(fingerprint);
}

/// Something is wrong with the execution as a whole; `name` tells it from others of its kind.
pub fn found_there(kind: FindingKind, name: u64, message: String, stacks: Vec<Stack>) {
    let (fingerprint, after) = (hash((kind, name)), control::event_count());
    let message = message.into();
    record(Found { fingerprint, kind, message, stacks, sites: Vec::new(), details: None, after });
}

/// Something is wrong with how these accesses follow each other.
pub fn found_between(kind: FindingKind, message: Message, stacks: Vec<Stack>) {
    let places: Vec<_> = stacks.iter().take(2).map(|stack| stack.frames.first()).collect();
    let (fingerprint, after) = (hash((kind, &message.text, places)), None);
    record(Found { fingerprint, kind, message, stacks, sites: Vec::new(), details: None, after });
}

/// Has anything been found in this execution so far?
pub fn any_found() -> bool {
    !findings().found.is_empty() || spec::is_violated()
}
