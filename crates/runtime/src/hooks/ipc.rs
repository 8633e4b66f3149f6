//! Queues of messages, and sets of semaphores: those of POSIX that are files, and those of System V.
//!
//! Who sends or gives something comes before who receives or takes it. All of them are one, since what a queue carries
//! is not followed message by message.

use super::io::{chances, keeping_error};
use super::{at_work, cancel, descriptors, hook, text, waits};
use crate::drive::explored;
use crate::platform::global::{Global, active};
use crate::platform::real::real;
use crate::threads::clock::{self, SECOND};
use crate::threads::fibers;
use fencepost_trace::Location;
use libc::{
    EAGAIN, ENOMSG, ETIMEDOUT, IPC_NOWAIT, c_char, c_int, c_long, c_uint, c_void, key_t, mqd_t, sembuf, size_t,
    ssize_t, timespec,
};

const KEY: u64 = Location::SOCKETS;

/// A time that has come.
static PAST: timespec = timespec { tv_sec: 0, tv_nsec: 0 };

fn error() -> c_int {
    // SAFETY: the running thread's own.
    unsafe { *libc::__errno_location() }
}

/// Attempts something that does not wait until it is not refused for `again`, or so often; none if it is refused still,
/// or it is for the kernel to wait.
fn attempt(times: Option<u64>, again: c_int, act: impl Fn() -> ssize_t) -> Option<ssize_t> {
    let (result, error) = at_work(|| {
        if fibers::all().count() > 1 {
            explored::unsupported_here(
                "which thread comes first to a queue or semaphore of the kernel's is not explored",
            );
        }
        descriptors::sends(KEY);
        let done = waits::until(times, KEY, || {
            let result = act();
            (result != -1 || error() != again).then(|| (result, error()))
        });
        descriptors::has_sent();
        done
    })?;
    // SAFETY: the running thread's own.
    unsafe { *libc::__errno_location() = error };
    Some(result)
}

/// So many chances for the others as there is time until then; none if there is no such time.
fn chances_until(time: *const timespec) -> Option<u64> {
    // SAFETY: null, or the program's time.
    let time = unsafe { time.as_ref() }?;
    let left = clock::since_start(libc::CLOCK_REALTIME, time).saturating_sub(clock::now());
    Some(chances((left / SECOND) as i64, (left % SECOND / 1_000_000) as i64))
}

fn receive(queue: mqd_t, buffer: *mut c_char, size: size_t, priority: *mut c_uint, time: *const timespec) -> ssize_t {
    let real = |time: *const timespec| {
        real!(mq_timedreceive(queue, buffer, size, priority, time):
            fn(mqd_t, *mut c_char, size_t, *mut c_uint, *const timespec) -> ssize_t)
    };
    if !active() {
        return real(time);
    }
    at_work(cancel::point);
    let result = attempt(chances_until(time), ETIMEDOUT, || real(&raw const PAST)).unwrap_or_else(|| real(time));
    if result >= 0 {
        keeping_error(|| {
            text::write(buffer as usize, result as usize);
            if !priority.is_null() {
                text::write(priority as usize, size_of::<c_uint>());
            }
        });
    }
    result
}

fn send(queue: mqd_t, buffer: *const c_char, size: size_t, priority: c_uint, time: *const timespec) -> c_int {
    let real = |time: *const timespec| {
        real!(mq_timedsend(queue, buffer, size, priority, time):
            fn(mqd_t, *const c_char, size_t, c_uint, *const timespec) -> c_int)
    };
    if !active() {
        return real(time);
    }
    at_work(cancel::point);
    text::read(buffer as usize, size);
    let result = attempt(chances_until(time), ETIMEDOUT, || real(&raw const PAST) as ssize_t);
    result.map_or_else(|| real(time), |result| result as c_int)
}

hook! { fn mq_receive(queue: mqd_t, buffer: *mut c_char, size: size_t, priority: *mut c_uint) -> ssize_t {
    receive(queue, buffer, size, priority, std::ptr::null())
} }

hook! { fn mq_timedreceive(queue: mqd_t, buffer: *mut c_char, size: size_t, priority: *mut c_uint,
    time: *const timespec) -> ssize_t {
    receive(queue, buffer, size, priority, time)
} }

hook! { fn mq_send(queue: mqd_t, buffer: *const c_char, size: size_t, priority: c_uint) -> c_int {
    send(queue, buffer, size, priority, std::ptr::null())
} }

hook! { fn mq_timedsend(queue: mqd_t, buffer: *const c_char, size: size_t, priority: c_uint,
    time: *const timespec) -> c_int {
    send(queue, buffer, size, priority, time)
} }

/// The queues and sets of semaphores that this execution has made and nobody else knows of: the kernel keeps them
/// until somebody removes them.
static MADE: Global<Vec<Made>> = Global::new(Vec::new());

#[derive(Clone, Copy)]
enum Made {
    Queue(c_int),
    Semaphores(c_int),
}

/// After each execution.
pub fn end() {
    for made in std::mem::take(&mut *MADE.enter()) {
        match made {
            Made::Queue(number) => {
                real!(msgctl(number, libc::IPC_RMID, 0): fn(c_int, c_int, usize) -> c_int);
            }
            Made::Semaphores(number) => {
                real!(semctl(number, 0, libc::IPC_RMID): fn(c_int, c_int, c_int) -> c_int);
            }
        }
    }
}

fn made(key: key_t, made: impl Fn(c_int) -> Made, number: c_int) -> c_int {
    if active() && key == libc::IPC_PRIVATE && number >= 0 {
        keeping_error(|| at_work(|| MADE.enter().push(made(number))));
    }
    number
}

hook! { fn msgget(key: key_t, flags: c_int) -> c_int {
    made(key, Made::Queue, real!(msgget(key, flags): fn(key_t, c_int) -> c_int))
} }

hook! { fn semget(key: key_t, count: c_int, flags: c_int) -> c_int {
    made(key, Made::Semaphores, real!(semget(key, count, flags): fn(key_t, c_int, c_int) -> c_int))
} }

hook! { fn semop(set: c_int, operations: *mut sembuf, count: size_t) -> c_int {
    operate(set, operations, count, std::ptr::null())
} }

hook! { fn semtimedop(set: c_int, operations: *mut sembuf, count: size_t, time: *const timespec) -> c_int {
    operate(set, operations, count, time)
} }

fn real_semtimedop(set: c_int, operations: *mut sembuf, count: size_t, time: *const timespec) -> c_int {
    real!(semtimedop(set, operations, count, time):
        fn(c_int, *mut sembuf, size_t, *const timespec) -> c_int)
}

fn operate(set: c_int, operations: *mut sembuf, count: size_t, time: *const timespec) -> c_int {
    let real = |operations, time| real_semtimedop(set, operations, count, time);
    if !active() {
        return real(operations, time);
    }
    text::read(operations as usize, count * size_of::<sembuf>());
    // SAFETY: the program's list, of this length.
    let given = unsafe { std::slice::from_raw_parts(operations, count) };
    let waits = given.iter().all(|operation| i32::from(operation.sem_flg) & IPC_NOWAIT == 0);
    // A copy is a call of a hook of libc's: the runtime is at work.
    let mut at_once = at_work(|| given.to_vec());
    at_once.iter_mut().for_each(|operation| operation.sem_flg |= IPC_NOWAIT as i16);
    // SAFETY: null, or the program's time.
    let limit = unsafe { time.as_ref() }.map(|time| chances(time.tv_sec, time.tv_nsec / 1_000_000));
    let times = if waits { limit } else { Some(0) };
    let at = at_once.as_mut_ptr();
    match attempt(times, EAGAIN, || real(at, std::ptr::null()) as ssize_t) {
        Some(result) => result as c_int,
        None if times.is_some() => real(at, std::ptr::null()),
        None => real(operations, time),
    }
}

hook! { fn msgsnd(queue: c_int, message: *const c_void, size: size_t, flags: c_int) -> c_int {
    let real = |flags: c_int| {
        real!(msgsnd(queue, message, size, flags): fn(c_int, *const c_void, size_t, c_int) -> c_int)
    };
    if !active() {
        return real(flags);
    }
    at_work(cancel::point);
    text::read(message as usize, size_of::<c_long>() + size);
    let times = (flags & IPC_NOWAIT != 0).then_some(0);
    attempt(times, EAGAIN, || real(flags | IPC_NOWAIT) as ssize_t).map_or_else(|| real(flags), |result| result as c_int)
} }

hook! { fn msgrcv(queue: c_int, message: *mut c_void, size: size_t, kind: c_long, flags: c_int) -> ssize_t {
    let real = |flags: c_int| {
        real!(msgrcv(queue, message, size, kind, flags): fn(c_int, *mut c_void, size_t, c_long, c_int) -> ssize_t)
    };
    if !active() {
        return real(flags);
    }
    at_work(cancel::point);
    let times = (flags & IPC_NOWAIT != 0).then_some(0);
    let result = attempt(times, ENOMSG, || real(flags | IPC_NOWAIT)).unwrap_or_else(|| real(flags));
    if result >= 0 {
        keeping_error(|| text::write(message as usize, size_of::<c_long>() + result as usize));
    }
    result
} }
