//! What pipes, sockets and their like order: a thread that has read what another one wrote knows what that one knew.
//!
//! Each such file is a location of the engine's. Who writes releases to it, who has read acquires from it, both as read-modify-writes that
//! leave its value as it is. Both ends of a pipe are one file; sockets, whose ends do not know of each other, are all one. Ordinary files and the
//! standard ones order nothing: a program that waits for what is in them would be wrong.

use super::at_work;
use crate::control;
use crate::global::{Global, active};
use crate::real::real;
use fencepost_trace::{Access, Guard, Hidden, Location, Op, RmwOrder, Update, Value};
use libc::c_int;

/// The pipes that were used in this execution, by what the kernel calls them. That differs between executions; the place in this list does not.
static PIPES: Global<Vec<u64>> = Global::new(Vec::new());
/// Pipes and sockets that were open before the program began: others hold their ends, and what is closed does not come back with the next execution.
static INHERITED: Global<Vec<u64>> = Global::new(Vec::new());
/// So many files are looked at.
const MOST_INHERITED: c_int = 512;
/// All that is not a pipe.
const OTHERS: u64 = 0;

/// Before each execution.
pub fn begin() {
    PIPES.get().clear();
}

/// Once, before the first execution.
pub fn prepare() {
    let lasting = |about: &libc::stat| matches!(about.st_mode & libc::S_IFMT, libc::S_IFIFO | libc::S_IFSOCK);
    let open = (0..MOST_INHERITED).filter_map(about).filter(lasting);
    *INHERITED.get() = open.map(|about| about.st_ino).collect();
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
        _ if INHERITED.get().contains(&about.st_ino) => None,
        libc::S_IFREG | libc::S_IFDIR | libc::S_IFCHR | libc::S_IFBLK => None,
        libc::S_IFIFO => {
            let pipes = PIPES.get();
            let place = pipes.iter().position(|pipe| *pipe == about.st_ino).unwrap_or_else(|| {
                pipes.push(about.st_ino);
                pipes.len() - 1
            });
            Some(place as u64 + 1)
        }
        _ => Some(OTHERS),
    }
}

fn order(key: u64, order: RmwOrder) {
    let at = Location::hidden(Hidden::File, key);
    control::perform(Op::Access(Access::Rmw { at, order, update: Update::Add(Value::ZERO), guard: Guard::Any }));
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
        at_work(|| (OTHERS..=PIPES.get().len() as u64).for_each(|key| order(key, RmwOrder::Acquire)));
    }
}
