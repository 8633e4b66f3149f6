//! Calls that may wait for another thread of the program through the kernel: pipes and sockets.
//!
//! All threads share one kernel thread, so that a call which blocks would block them all. Such a call first gives way until the kernel says that it will
//! not block. With nobody else left to run, it is made as it is.

use super::{at_work, hook};
use crate::global::active;
use crate::real::real;
use crate::{control, fibers, sys};
use fencepost_trace::Op;
use libc::{c_int, c_void, nfds_t, pollfd, size_t, sockaddr, socklen_t, ssize_t};

/// Lets others run until the file is ready.
fn await_file(file: c_int, events: i16) {
    if active() {
        await_files(&mut [pollfd { fd: file, events, revents: 0 }], None);
    }
}

/// Lets others run until one of the files is ready, or at most so often.
fn await_files(files: &mut [pollfd], mut times: Option<u64>) {
    at_work(|| {
        while !fibers::all().is_alone() && times != Some(0) && sys::poll(files) == 0 {
            control::perform(Op::Yield);
            times = times.map(|n| n - 1);
        }
    });
}

hook! { fn read(file: c_int, buffer: *mut c_void, size: size_t) -> ssize_t {
    await_file(file, libc::POLLIN);
    real!(read(file, buffer, size): fn(c_int, *mut c_void, size_t) -> ssize_t)
} }

hook! { fn write(file: c_int, buffer: *const c_void, size: size_t) -> ssize_t {
    await_file(file, libc::POLLOUT);
    real!(write(file, buffer, size): fn(c_int, *const c_void, size_t) -> ssize_t)
} }

hook! { fn recv(file: c_int, buffer: *mut c_void, size: size_t, flags: c_int) -> ssize_t {
    if flags & libc::MSG_DONTWAIT == 0 {
        await_file(file, libc::POLLIN);
    }
    real!(recv(file, buffer, size, flags): fn(c_int, *mut c_void, size_t, c_int) -> ssize_t)
} }

hook! { fn send(file: c_int, buffer: *const c_void, size: size_t, flags: c_int) -> ssize_t {
    if flags & libc::MSG_DONTWAIT == 0 {
        await_file(file, libc::POLLOUT);
    }
    real!(send(file, buffer, size, flags): fn(c_int, *const c_void, size_t, c_int) -> ssize_t)
} }

hook! { fn accept(file: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    await_file(file, libc::POLLIN);
    real!(accept(file, address, length): fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int)
} }

hook! { fn poll(files: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    if !active() || timeout == 0 {
        return real!(poll(files, count, timeout): fn(*mut pollfd, nfds_t, c_int) -> c_int);
    }
    // SAFETY: the program's list, of this length.
    let list = unsafe { std::slice::from_raw_parts_mut(files, count as usize) };
    // A time-out is so many chances for the others: real time does not pass.
    await_files(list, (timeout > 0).then_some(timeout as u64));
    let timeout = if timeout > 0 { 0 } else { timeout };
    real!(poll(files, count, timeout): fn(*mut pollfd, nfds_t, c_int) -> c_int)
} }
