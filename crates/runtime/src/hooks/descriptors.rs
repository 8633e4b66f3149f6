//! What pipes, sockets and their like order: a thread that has read what another one wrote knows what that one knew.
//!
//! Each such file is a location of the engine's, which counts what was written. Who writes releases to it, who has
//! read acquires from it, both as read-modify-writes. Both ends of a pipe are one file; sockets, whose ends do not know
//! of each other, are all one. Ordinary files and the standard ones order nothing: a program that waits for what is in
//! them would be wrong.

use super::{at_work, kernel};
use crate::drive::{control, explored, one_of_several, restart};
use crate::platform::global::{Global, active};
use crate::platform::real::real;
use crate::platform::sys;
use crate::threads::fibers;
use fencepost_trace::{Access, Guard, Hidden, LoadOrder, Location, Op, RmwOrder, ThreadId, Update, Value};
use libc::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

/// The pipes that were used in this execution, by what the kernel calls them. That differs between executions; the
/// place in this list does not.
static PIPES: Global<Vec<u64>> = Global::new(Vec::new());
/// Pipes and sockets that were open before the program began: others hold their ends, and what is closed does not
/// come back with the next execution.
static INHERITED: Global<Vec<u64>> = Global::new(Vec::new());
/// So many files are looked at.
const MOST_INHERITED: c_int = 512;

/// Before each execution.
pub fn begin() {
    PIPES.enter().clear();
    USES.enter().clear();
    TOLD.store(0, Ordering::Relaxed);
}

/// Once, before the first execution.
pub fn prepare() {
    let lasting = |about: &libc::stat| matches!(about.st_mode & libc::S_IFMT, libc::S_IFIFO | libc::S_IFSOCK);
    let open = sys::open_below(MOST_INHERITED).into_iter().filter_map(about).filter(lasting);
    *INHERITED.enter() = open.map(|about| about.st_ino).collect();
}

/// What the kernel says of a file.
fn about(file: c_int) -> Option<libc::stat> {
    // SAFETY: any bits are a stat; libc fills it in.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    let error = real!(fstat(file, &mut about): fn(c_int, *mut libc::stat) -> c_int);
    (error == 0).then_some(about)
}

/// The number of the location that stands for a file.
fn key(file: c_int) -> Option<u64> {
    let about = if file <= 2 { None } else { about(file) }?;
    match about.st_mode & libc::S_IFMT {
        _ if INHERITED.enter().contains(&about.st_ino) => None,
        libc::S_IFREG | libc::S_IFDIR | libc::S_IFCHR | libc::S_IFBLK => None,
        libc::S_IFIFO => {
            let mut pipes = PIPES.enter();
            let place = pipes.iter().position(|pipe| *pipe == about.st_ino).unwrap_or_else(|| {
                pipes.push(about.st_ino);
                pipes.len() - 1
            });
            Some(place as u64 + 1)
        }
        _ => Some(Location::SOCKETS),
    }
}

/// Is this a pipe that the program has made, and that no other process knows of? Only the program's threads can end a
/// wait for it, unless a signal runs some code of its own.
pub fn is_own_pipe(file: c_int) -> bool {
    key(file).is_some_and(|key| key != Location::SOCKETS)
        && sys::is_anonymous_pipe(file)
        && !restart::went_outside()
        && !kernel::expects_signals()
}

/// The steps of one call are told apart: it does not go around in a loop.
const LOOK: usize = 1;
const RELEASE: usize = 2;
const ACQUIRE: usize = 3;

fn order(key: u64, order: RmwOrder) {
    let at = Location::hidden(Hidden::File, key);
    // Something is written: who waits for it does not wait in vain.
    let (step, more) = if order == RmwOrder::Release { (RELEASE, Value(1)) } else { (ACQUIRE, Value::ZERO) };
    let access = Access::Rmw { at, order, update: Update::Add(more), guard: Guard::Any };
    one_of_several(step, || control::perform(Op::Access(access)));
}

/// The running thread is about to read from a file: others may do so first.
pub fn before_reading(file: c_int) {
    if let Some(key) = key(file) {
        let at = Location::hidden(Hidden::File, key);
        let access = Access::Load { at, order: LoadOrder::Relaxed, guard: Guard::Any };
        one_of_several(LOOK, || control::perform(Op::Access(access)));
    }
}

/// Under exploration: what the kernel says of a file whose uses are of interest. What is printed nobody reads, and
/// devices do not remember.
fn followed(file: c_int) -> Option<libc::stat> {
    let about = if explored::is_on() && file > 2 { about(file) } else { None };
    about.filter(|about| !matches!(about.st_mode & libc::S_IFMT, libc::S_IFCHR | libc::S_IFDIR))
}

/// Under exploration: does it matter who uses this file?
pub fn is_followed(file: c_int) -> bool {
    followed(file).is_some()
}

/// Under exploration: who has used a file, by what the kernel calls it, and at what time of its own.
static USES: Global<Vec<(u64, ThreadId, u32)>> = Global::new(Vec::new());

/// The running thread is about to use a file. What the kernel keeps for it is not put back when an exploration turns
/// to another order: so what depends on the order of uses by several threads is not explored.
pub fn uses(file: c_int) {
    let Some(about) = followed(file) else { return };
    let me = fibers::current();
    let clock = explored::clock(me);
    let before = |(file, thread, time): &(u64, ThreadId, u32)| *file != about.st_ino || clock.get(*thread) > *time;
    let unordered = |one: &&(u64, ThreadId, u32)| one.1 != me && !before(one);
    if USES.enter().iter().any(|one| unordered(&one)) {
        explored::unsupported_here("several threads use the same file or pipe, in an order that is not explored");
    }
    USES.enter().retain(|(file, thread, _)| (*file, *thread) != (about.st_ino, me));
    USES.enter().push((about.st_ino, me, clock.get(me)));
}

/// Under exploration: how often others were told in the run at hand.
static TOLD: AtomicU64 = AtomicU64::new(0);

/// Under exploration: all files as one location, which counts what was written.
fn anything() -> Location {
    Location::hidden(Hidden::File, Location::ANY_FILE)
}

/// Under exploration: how much has been written, as far as the running thread can tell.
pub fn written() -> Value {
    control::perform(Op::Access(Access::Load { at: anything(), order: LoadOrder::Acquire, guard: Guard::Any })).value
}

/// Under exploration: what the kernel says is as of now. Whoever has changed it since the running thread looked, which
/// saw this, comes before what follows.
pub fn catch_up(seen: Value) {
    if seen != Value(TOLD.load(Ordering::Relaxed).into()) {
        await_more(seen);
    }
}

/// Under exploration: waits until somebody has written more than that.
pub fn await_more(than: Value) {
    let guard = Guard::Differs(than);
    control::perform(Op::Access(Access::Load { at: anything(), order: LoadOrder::Acquire, guard }));
}

/// Under exploration: the running thread has written something, or closed it, and others may look again.
pub fn has_written(file: c_int) {
    if active() && is_followed(file) && fibers::all().count() > 1 {
        at_work(tell_others);
    }
}

/// Under exploration: who waits for something that the kernel keeps may look again.
fn tell_others() {
    TOLD.fetch_add(1, Ordering::Relaxed);
    let update = Update::Add(Value(1));
    let access = Access::Rmw { at: anything(), order: RmwOrder::AcqRel, update, guard: Guard::Any };
    control::perform(Op::Access(access));
}

/// The running thread is about to put something into the kernel for others, which has this key among hidden files.
pub fn sends(key: u64) {
    if !explored::is_on() {
        order(key, RmwOrder::Release);
    }
}

/// It has done so.
pub fn has_sent() {
    if explored::is_on() {
        tell_others();
    }
}

/// The running thread has found it there.
pub fn has_received(key: u64) {
    order(key, RmwOrder::Acquire);
}

/// The running thread is about to write to a file, or to close it. For hooks that are at work already.
pub fn release_now(file: c_int) {
    if let Some(key) = key(file) {
        order(key, RmwOrder::Release);
    }
}

/// The running thread is about to write to a file, or to close it.
pub fn release(file: c_int) {
    if active() {
        at_work(|| release_now(file));
    }
}

/// The running thread has read from a file.
pub fn acquire(file: c_int) {
    if active() {
        at_work(|| key(file).into_iter().for_each(|key| order(key, RmwOrder::Acquire)));
    }
}

/// The running thread was told that some file is ready.
pub fn acquire_all() {
    if active() {
        at_work(|| {
            let pipes = PIPES.enter().len() as u64;
            (Location::SOCKETS..=pipes).for_each(|key| order(key, RmwOrder::Acquire));
        });
    }
}
