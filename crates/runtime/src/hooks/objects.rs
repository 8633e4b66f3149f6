//! Locks and other objects through which threads synchronise, as objects: they are initialised, used, and destroyed,
//! in this order.
//!
//! To the race detectors a use reads the object, and its beginning and end write it: a thread that may use one while
//! another destroys it is wrong, however the execution at hand went. (Under the hardware models every access orders
//! what reads behind what was read: a lock may be handed on by a plain store. `test` has no such detector there: the
//! order of the execution decides.) What has been destroyed is marked in the object itself, where
//! libc would do so: an initialiser of any kind takes the mark away, and the mark goes when the memory becomes
//! something else.

use crate::detect::exact;
use crate::detect::shadow::{self, Kind, Object, What};
use crate::drive::{explored, findings, view};
use crate::platform::global::{self, Global, mode};
use crate::threads::fibers;
use fencepost_trace::ThreadId;

/// Objects that were destroyed in this execution: where they were, by whom, and from where.
static DESTROYED: Global<Vec<(usize, ThreadId, usize)>> = Global::new(Vec::new());

/// Before each execution.
pub fn begin() {
    DESTROYED.enter().clear();
}

/// The running thread is about to use it.
pub fn used(object: Object, at: usize) {
    access(at, false, What::Use(object));
}

/// The running thread is about to initialise it.
pub fn initialised(object: Object, at: usize) {
    access(at, true, What::Initialisation(object));
}

/// The running thread destroys it.
pub fn destroyed(object: Object, at: usize) {
    access(at, true, What::Destruction(object));
    DESTROYED.enter().push((at, fibers::current(), global::caller()));
}

fn access(at: usize, write: bool, what: What) {
    let kind = Kind { write, atomic: false, what };
    let pc = global::caller();
    match global::kind() {
        mode::HARDWARE => view::look_for_misuse(at, 1, kind),
        mode::EXPLORED => {
            exact::object(at, kind, pc, &explored::performed(fibers::current()));
            if let Some(earlier) = shadow::freed(at, 1) {
                findings::wild_access(at, earlier, kind, pc);
            }
        }
        _ => {
            exact::access(at, 1, kind, pc);
            shadow::range(at, 1, kind, pc);
        }
    }
}

/// The running thread does to an object, in these words, what must not be done to one that was destroyed.
#[cold]
pub fn is_gone(object: Object, at: usize, action: &'static str) {
    let last = DESTROYED.enter().iter().rev().find(|(place, ..)| *place == at).copied();
    if last.is_none_or(|(_, thread, _)| thread != fibers::current())
        && explored::leaves_open("whether a lock or the like is used before another thread destroys it")
    {
        return;
    }
    let other = last.map(|(_, thread, pc)| (thread.0, "destroy", pc));
    if findings::is_first(at) {
        wrong(object, at, action, "that was destroyed", other);
    }
}

/// The same of an object that has no mark of its own for that: one that was never initialised looks the same.
#[cold]
pub fn is_not_there(object: Object, at: usize, action: &'static str) {
    if DESTROYED.enter().iter().any(|(place, ..)| *place == at) {
        is_gone(object, at, action);
    } else if findings::is_first(at) {
        wrong(object, at, action, "that was not initialised", None);
    }
}

/// The running thread does this to an object in a state in which it must not.
#[cold]
pub fn wrong(object: Object, at: usize, action: &'static str, state: &str, other: Option<(u32, &'static str, usize)>) {
    findings::misuse(format!("{action} of a {} {state}", object.name()), action, at, other);
}

/// The running thread does this to an object that `holder` holds.
#[cold]
pub fn is_held(object: Object, at: usize, action: &'static str, holder: (ThreadId, usize)) {
    let (thread, pc) = holder;
    // Who unlocks must hold it, whoever else does.
    if thread != fibers::current()
        && action != "unlock"
        && explored::leaves_open("whether a lock is held by another thread when its life begins or ends")
    {
        return;
    }
    let state = match thread == fibers::current() {
        true => "that the thread itself holds".to_owned(),
        false => format!("that thread {thread} holds", thread = thread.0),
    };
    wrong(object, at, action, &state, Some((thread.0, "lock", pc)));
}

// What threads hold is kept with each thread: the places of the locks, in the order in which they were taken.

/// The running thread holds it from here on.
pub fn hold(at: usize) {
    fibers::me().held.push((at, global::caller()));
}

/// The thread no longer holds it, or not once more. Says whether it did.
pub fn let_go(thread: ThreadId, at: usize) -> bool {
    let mut fiber = fibers::get(thread);
    let held = &mut fiber.held;
    let found = held.iter().rposition(|(place, _)| *place == at);
    if let Some(i) = found {
        held.remove(i);
    }
    found.is_some()
}

/// How often the running thread holds it.
pub fn times_held(at: usize) -> u32 {
    fibers::me().held.iter().filter(|(place, _)| *place == at).count() as u32
}

/// Who holds it, and where it was taken.
pub fn holder(at: usize) -> Option<(ThreadId, usize)> {
    let all = fibers::all();
    let threads = all.list().iter().enumerate();
    threads
        .flat_map(|(thread, fiber)| fiber.held.iter().map(move |held| (ThreadId(thread as u32), held)))
        .find(|(_, (place, _))| *place == at)
        .map(|(thread, (_, pc))| (thread, *pc))
}
