//! Calls that may wait for another thread of the program through the kernel: pipes and sockets.
//!
//! All threads share one kernel thread, so that a call which blocks would block them all. Such a call first gives way
//! until the kernel says that it will not block. With nobody else left to run, it is made as it is, unless nobody else
//! can end the wait either: then it is a deadlock.

use super::files::{is_random, opens, used};
use super::{at_work, cancel, chance, descriptors, hook, kernel, text, waits, watch};
use crate::drive::explored;
use crate::platform::global::{self, active};
use crate::platform::real::real;
use crate::platform::sys;
use crate::threads::fibers;
use libc::{
    c_int, c_void, epoll_event, fd_set, iovec, msghdr, nfds_t, pollfd, size_t, sockaddr, socklen_t, ssize_t, timespec,
    timeval,
};

/// Lets others run until the file is ready.
fn await_file(file: c_int, events: i16) {
    if active() {
        at_work(|| {
            cancel::point();
            descriptors::uses(file);
            if events == libc::POLLIN && !explored::is_on() {
                descriptors::before_reading(file);
            }
        });
        await_files(&mut [pollfd { fd: file, events, revents: 0 }], None);
    }
}

/// Lets others run until one of the files is ready, or at most so often.
fn await_files(files: &mut [pollfd], mut times: Option<u64>) {
    if explored::is_on() {
        return at_work(|| explore_waiting(files, times));
    }
    at_work(|| {
        fibers::me().awaits_event = times.is_none();
        let mut looks = 0;
        while times != Some(0) && sys::poll(files) == 0 && !is_for_others(files, times) {
            looks += 1;
            waits::give_way(looks);
            times = times.map(|n| n - 1);
        }
        fibers::me().awaits_event = false;
    });
}

/// Is the running thread the only one, and the call one that others outside may bring to its end, or time?
fn is_for_others(files: &[pollfd], times: Option<u64>) -> bool {
    let own = || !files.is_empty() && files.iter().all(|file| descriptors::is_own_pipe(file.fd));
    fibers::all().is_alone() && (times.is_some() || !own())
}

/// The same under exploration, where it is one of the others' writes that ends the wait. A time-out may come at once.
fn explore_waiting(files: &mut [pollfd], times: Option<u64>) {
    if fibers::all().count() == 1 {
        return;
    }
    if !files.iter().any(|file| descriptors::is_followed(file.fd)) {
        return;
    }
    files.iter().for_each(|file| descriptors::uses(file.fd));
    loop {
        let known = descriptors::written();
        if sys::poll(files) != 0 || times.is_some() || is_for_others(files, times) || kernel::has_timers() {
            break;
        }
        explored::unsupported_here("a thread waits for a file or pipe: what it reads is not explored");
        descriptors::await_more(known);
    }
}

/// The program has read into a buffer: the file, and what the call returned.
fn has_read(file: c_int, buffer: usize, result: ssize_t) -> ssize_t {
    if active() && result >= 0 {
        keeping_error(|| {
            descriptors::acquire(file);
            text::write(buffer, result as usize);
        });
    }
    result
}

/// The program is about to write from a buffer.
fn writes(file: c_int, buffer: usize, size: usize) {
    await_file(file, libc::POLLOUT);
    if active() {
        text::read(buffer, size);
        descriptors::release(file);
    }
}

/// The program has written to a file, says what the call returned.
fn has_written(file: c_int, result: ssize_t) -> ssize_t {
    keeping_error(|| descriptors::has_written(file));
    result
}

/// Does something after a call of libc, whose error stays.
pub fn keeping_error(act: impl FnOnce()) {
    // SAFETY: the running thread's own.
    let error = unsafe { *libc::__errno_location() };
    act();
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = error };
}

hook! { fn read(file: c_int, buffer: *mut c_void, size: size_t) -> ssize_t {
    if active() && is_random(file) {
        chance::fill(buffer, size);
        return size as ssize_t;
    }
    used(file);
    await_file(file, libc::POLLIN);
    has_read(file, buffer as usize, real!(read(file, buffer, size): fn(c_int, *mut c_void, size_t) -> ssize_t))
} }

hook! { fn write(file: c_int, buffer: *const c_void, size: size_t) -> ssize_t {
    used(file);
    writes(file, buffer as usize, size);
    has_written(file, real!(write(file, buffer, size): fn(c_int, *const c_void, size_t) -> ssize_t))
} }

hook! { fn recv(file: c_int, buffer: *mut c_void, size: size_t, flags: c_int) -> ssize_t {
    if flags & libc::MSG_DONTWAIT == 0 {
        await_file(file, libc::POLLIN);
    }
    has_read(file, buffer as usize, real!(recv(file, buffer, size, flags):
        fn(c_int, *mut c_void, size_t, c_int) -> ssize_t))
} }

hook! { fn send(file: c_int, buffer: *const c_void, size: size_t, flags: c_int) -> ssize_t {
    if flags & libc::MSG_DONTWAIT == 0 {
        await_file(file, libc::POLLOUT);
    }
    text::read(buffer as usize, size);
    descriptors::release(file);
    has_written(file, real!(send(file, buffer, size, flags): fn(c_int, *const c_void, size_t, c_int) -> ssize_t))
} }

hook! { fn recvfrom(file: c_int, buffer: *mut c_void, size: size_t, flags: c_int, from: *mut sockaddr,
    length: *mut socklen_t) -> ssize_t {
    if flags & libc::MSG_DONTWAIT == 0 {
        await_file(file, libc::POLLIN);
    }
    if !from.is_null() {
        text::write(length as usize, size_of::<socklen_t>());
    }
    let result = real!(recvfrom(file, buffer, size, flags, from, length):
        fn(c_int, *mut c_void, size_t, c_int, *mut sockaddr, *mut socklen_t) -> ssize_t);
    has_read(file, buffer as usize, result)
} }

hook! { fn sendto(file: c_int, buffer: *const c_void, size: size_t, flags: c_int, to: *const sockaddr,
    length: socklen_t) -> ssize_t {
    if flags & libc::MSG_DONTWAIT == 0 {
        await_file(file, libc::POLLOUT);
    }
    text::read(buffer as usize, size);
    descriptors::release(file);
    has_written(file, real!(sendto(file, buffer, size, flags, to, length):
        fn(c_int, *const c_void, size_t, c_int, *const sockaddr, socklen_t) -> ssize_t))
} }

/// The pieces of memory in a list of the program's.
fn pieces(list: *const iovec, count: usize) -> &'static [iovec] {
    // SAFETY: the program's list, of this length; it is used up before the call is made or returns.
    if list.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(list, count) } }
}

/// The program has read so many bytes into the pieces.
fn has_read_pieces(file: c_int, list: &[iovec], result: ssize_t) -> ssize_t {
    let mut left = result.max(0) as usize;
    for piece in list {
        let length = piece.iov_len.min(left);
        keeping_error(|| text::write(piece.iov_base as usize, length));
        left -= length;
    }
    has_read(file, 0, result.min(0));
    if result > 0 {
        keeping_error(|| descriptors::acquire(file));
    }
    result
}

fn writes_pieces(file: c_int, list: &[iovec]) {
    await_file(file, libc::POLLOUT);
    list.iter().for_each(|piece| text::read(piece.iov_base as usize, piece.iov_len));
    descriptors::release(file);
}

hook! { fn readv(file: c_int, list: *const iovec, count: c_int) -> ssize_t {
    used(file);
    await_file(file, libc::POLLIN);
    let result = real!(readv(file, list, count): fn(c_int, *const iovec, c_int) -> ssize_t);
    has_read_pieces(file, pieces(list, count.max(0) as usize), result)
} }

hook! { fn writev(file: c_int, list: *const iovec, count: c_int) -> ssize_t {
    used(file);
    writes_pieces(file, pieces(list, count.max(0) as usize));
    has_written(file, real!(writev(file, list, count): fn(c_int, *const iovec, c_int) -> ssize_t))
} }

hook! { fn recvmsg(file: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    if flags & libc::MSG_DONTWAIT == 0 {
        await_file(file, libc::POLLIN);
    }
    let result = real!(recvmsg(file, message, flags): fn(c_int, *mut msghdr, c_int) -> ssize_t);
    // SAFETY: the program's message.
    let (list, count) = unsafe { ((*message).msg_iov, (*message).msg_iovlen) };
    has_read_pieces(file, pieces(list, count), result)
} }

hook! { fn sendmsg(file: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the program's message.
    let (list, count) = unsafe { ((*message).msg_iov, (*message).msg_iovlen) };
    if flags & libc::MSG_DONTWAIT == 0 {
        await_file(file, libc::POLLOUT);
    }
    pieces(list, count).iter().for_each(|piece| text::read(piece.iov_base as usize, piece.iov_len));
    descriptors::release(file);
    has_written(file, real!(sendmsg(file, message, flags): fn(c_int, *const msghdr, c_int) -> ssize_t))
} }

hook! { fn eventfd_read(file: c_int, value: *mut u64) -> c_int {
    await_file(file, libc::POLLIN);
    let error = real!(eventfd_read(file, value): fn(c_int, *mut u64) -> c_int);
    has_read(file, value as usize, if error == 0 { 8 } else { -1 });
    error
} }

hook! { fn eventfd_write(file: c_int, value: u64) -> c_int {
    writes(file, 0, 0);
    has_written(file, real!(eventfd_write(file, value): fn(c_int, u64) -> c_int) as ssize_t) as c_int
} }

hook! { fn accept(file: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    await_file(file, libc::POLLIN);
    if !address.is_null() {
        text::write(length as usize, size_of::<socklen_t>());
    }
    let result = real!(accept(file, address, length): fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int);
    has_read(file, 0, result.min(0) as ssize_t);
    result
} }

hook! { fn accept4(file: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int {
    opens();
    await_file(file, libc::POLLIN);
    if !address.is_null() {
        text::write(length as usize, size_of::<socklen_t>());
    }
    let result = real!(accept4(file, address, length, flags): fn(c_int, *mut sockaddr, *mut socklen_t, c_int) -> c_int);
    has_read(file, 0, result.min(0) as ssize_t);
    result
} }

watch! { fn pwrite(file: c_int) { descriptors::uses(file) } }
watch! { fn pwrite64(file: c_int) { descriptors::uses(file) } }
watch! { fn connect(file: c_int) { descriptors::release_now(file) } }
watch! { fn shutdown(file: c_int) { descriptors::release_now(file) } }

hook! { fn pread(file: c_int, buffer: *mut c_void, size: size_t, offset: i64) -> ssize_t {
    used(file);
    if active() {
        at_work(|| descriptors::uses(file));
    }
    has_read(file, buffer as usize, real!(pread(file, buffer, size, offset):
        fn(c_int, *mut c_void, size_t, i64) -> ssize_t))
} }

hook! { fn pread64(file: c_int, buffer: *mut c_void, size: size_t, offset: i64) -> ssize_t {
    used(file);
    if active() {
        at_work(|| descriptors::uses(file));
    }
    has_read(file, buffer as usize, real!(pread64(file, buffer, size, offset):
        fn(c_int, *mut c_void, size_t, i64) -> ssize_t))
} }

/// The kernel is about to say of each of these files what has happened.
fn answers(files: *const pollfd, count: nfds_t) {
    let place = files as usize + std::mem::offset_of!(pollfd, revents);
    (0..count as usize).for_each(|i| text::write(place + i * size_of::<pollfd>(), size_of::<i16>()));
}

/// The kernel has written so many events.
fn has_events(events: *const epoll_event, count: c_int) {
    keeping_error(|| text::write(events as usize, count.max(0) as usize * size_of::<epoll_event>()));
}

/// Some file is ready, says what a call returned: it is not known which one, and that is how its writer wants it.
fn has_waited(result: c_int) -> c_int {
    if active() && result > 0 {
        keeping_error(descriptors::acquire_all);
    }
    result
}

hook! { fn poll(files: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    if !active() || timeout == 0 {
        return real!(poll(files, count, timeout): fn(*mut pollfd, nfds_t, c_int) -> c_int);
    }
    // SAFETY: the program's list, of this length.
    let list = unsafe { std::slice::from_raw_parts_mut(files, count as usize) };
    // A time-out is so many chances for the others: real time does not pass.
    await_files(list, (timeout > 0).then_some(timeout as u64));
    let timeout = if timeout > 0 { 0 } else { timeout };
    answers(files, count);
    has_waited(real!(poll(files, count, timeout): fn(*mut pollfd, nfds_t, c_int) -> c_int))
} }

/// So many chances for the others as a time has milliseconds.
pub fn chances(seconds: i64, rest_in_milliseconds: i64) -> u64 {
    (seconds.max(0) as u64).saturating_mul(1000).saturating_add(rest_in_milliseconds.max(0) as u64)
}

hook! { fn ppoll(files: *mut pollfd, count: nfds_t, time: *const timespec, mask: usize) -> c_int {
    if active() {
        // SAFETY: the program's list, of this length, and null or its time.
        let (list, time) = unsafe { (std::slice::from_raw_parts_mut(files, count as usize), time.as_ref()) };
        await_files(list, time.map(|t| chances(t.tv_sec, t.tv_nsec / 1_000_000)));
    }
    let now = timespec { tv_sec: 0, tv_nsec: 0 };
    let time = if active() && !time.is_null() { &raw const now } else { time };
    answers(files, count);
    has_waited(real!(ppoll(files, count, time, mask): fn(*mut pollfd, nfds_t, *const timespec, usize) -> c_int))
} }

/// The files of three sets, any of which may be null.
fn files_of(count: c_int, sets: [*const fd_set; 3]) -> Vec<pollfd> {
    let kinds = sets.into_iter().zip([libc::POLLIN, libc::POLLOUT, libc::POLLPRI]);
    let within = |set: *const fd_set, file: c_int| {
        // SAFETY: null, or a set of the program's, in which `file` has its bit.
        !set.is_null() && unsafe { libc::FD_ISSET(file, set) }
    };
    let events = |file| kinds.clone().filter(|(set, _)| within(*set, file)).fold(0, |all, (_, event)| all | event);
    let files = (0..count.clamp(0, libc::FD_SETSIZE as c_int)).map(|fd| pollfd { fd, events: events(fd), revents: 0 });
    files.filter(|file| file.events != 0).collect()
}

hook! { fn select(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set,
    time: *mut timeval) -> c_int {
    let mut now = timeval { tv_sec: 0, tv_usec: 0 };
    let mut time = time;
    if active() {
        // SAFETY: null, or the program's time.
        let limit = unsafe { time.as_ref() }.map(|t| chances(t.tv_sec, t.tv_usec / 1000));
        let mut files = global::quietly(|| files_of(count, [read, write, except]));
        await_files(&mut files, limit);
        if limit.is_some() {
            time = &raw mut now;
        }
    }
    has_waited(real!(select(count, read, write, except, time):
        fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *mut timeval) -> c_int))
} }

hook! { fn pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, time: *const timespec,
    mask: usize) -> c_int {
    let now = timespec { tv_sec: 0, tv_nsec: 0 };
    let mut time = time;
    if active() {
        // SAFETY: null, or the program's time.
        let limit = unsafe { time.as_ref() }.map(|t| chances(t.tv_sec, t.tv_nsec / 1_000_000));
        let mut files = global::quietly(|| files_of(count, [read, write, except]));
        await_files(&mut files, limit);
        if limit.is_some() {
            time = &raw const now;
        }
    }
    has_waited(real!(pselect(count, read, write, except, time, mask):
        fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *const timespec, usize) -> c_int))
} }

/// Lets others run until something has happened that an epoll set waits for. What is left of the time afterwards.
fn await_events(set: c_int, timeout: c_int) -> c_int {
    if !active() || timeout == 0 {
        return timeout;
    }
    // Such a set is a file that can be read from when there are events.
    await_files(&mut [pollfd { fd: set, events: libc::POLLIN, revents: 0 }], (timeout > 0).then_some(timeout as u64));
    if timeout > 0 { 0 } else { timeout }
}

hook! { fn epoll_wait(set: c_int, events: *mut epoll_event, most: c_int, timeout: c_int) -> c_int {
    let timeout = await_events(set, timeout);
    let result = has_waited(real!(epoll_wait(set, events, most, timeout):
        fn(c_int, *mut epoll_event, c_int, c_int) -> c_int));
    has_events(events, result);
    result
} }

hook! { fn epoll_pwait(set: c_int, events: *mut epoll_event, most: c_int, timeout: c_int, mask: usize) -> c_int {
    let timeout = await_events(set, timeout);
    let result = has_waited(real!(epoll_pwait(set, events, most, timeout, mask):
        fn(c_int, *mut epoll_event, c_int, c_int, usize) -> c_int));
    has_events(events, result);
    result
} }
