//! Open files, the directory and the mask of new files. What an execution changes is put back after it.

use super::semaphore::fail;
use super::{at_work, descriptors, hook, watch};
use crate::drive::restart::{self, irreversible};
use crate::platform::global::{Global, active};
use crate::platform::real::real;
use crate::platform::{imports, sys};
use crate::results;
use libc::{EBADF, c_char, c_int, c_uint, mode_t};
use std::ffi::CStr;

struct State {
    /// The number that the first file which the program opens will get.
    first: c_int,
    /// Another name of the standard input.
    input: c_int,
    /// How the standard files are read and written: a property of the files, which child processes share.
    flags: [c_int; 3],
    /// Files may have been opened.
    opened: bool,
    /// A device that gives random numbers may be among them.
    random: bool,
    /// The standard files may be others than before.
    standard: bool,
    /// The directory before the execution, and whether it was left.
    directory: c_int,
    moved: bool,
    mask: Option<mode_t>,
}

static STATE: Global<State> = Global::new(State {
    first: 3,
    input: -1,
    flags: [0; 3],
    opened: false,
    random: false,
    standard: false,
    directory: -1,
    moved: false,
    mask: None,
});

/// So many files are looked for after an execution that has, as far as is known, opened none.
const LOOK: usize = 4;

/// Once, before the program's memory is copied.
pub fn prepare() {
    let mut state = STATE.enter();
    state.first = (3..).find(|file| !sys::is_open(*file)).unwrap_or(3);
    state.input = sys::duplicate_above(0, results::FIRST_FILE);
    state.flags = [0, 1, 2].map(sys::file_flags);
    if let Ok(here) = sys::open(b".\0", libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC) {
        state.directory = sys::duplicate_above(here, results::FIRST_FILE);
        sys::close(here);
    }
}

/// After each execution.
pub fn end() {
    let (opened, first) = {
        let mut state = STATE.enter();
        (std::mem::take(&mut state.opened), state.first)
    };
    // New files get the lowest numbers, so that a look at the first few tells of those that libc opened by itself.
    // The runtime's own files have high numbers, and are kept.
    if opened || !imports::is_self_contained() && sys::any_open(first, LOOK) {
        close_from(first);
    }
    end_in_child();
    let mut state = STATE.enter();
    if std::mem::take(&mut state.moved) {
        sys::enter_directory(state.directory);
    }
    if let Some(mask) = state.mask.take() {
        sys::set_file_mask(mask);
    }
}

/// Closes all files from this number on but the runtime's own.
fn close_from(first: c_int) {
    let own = results::FIRST_FILE;
    sys::close_range(first, own - 1);
    sys::close_range(first.max(own + results::OWN_FILES), c_int::MAX);
}

/// After an execution, also one that has a process of its own.
pub fn end_in_child() {
    let mut state = STATE.enter();
    if std::mem::take(&mut state.standard) {
        if state.input >= 0 {
            sys::duplicate(state.input, 0);
        }
        results::capture_again();
        (0..3).for_each(|file| sys::set_file_flags(file, state.flags[file as usize]));
    }
}

macro_rules! opens {
    ($($name:ident)*) => { $(watch! { fn $name() { STATE.enter().opened = true } })* };
}

opens! {
    fdopen tmpfile tmpfile64 mkstemp mkostemp opendir
    dup socket eventfd epoll_create epoll_create1 timerfd_create signalfd
    inotify_init inotify_init1 memfd_create shm_open
}

/// The program opens a file of this name.
fn opens_named(path: *const c_char, writes: bool) {
    STATE.enter().opened = true;
    // Devices and the like are there for everybody.
    const COMMON: [&[u8]; 3] = [b"/dev/", b"/proc/", b"/sys/"];
    if !path.is_null() {
        // SAFETY: a string that ends, by the contract of the function.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        STATE.enter().random |= path.starts_with(b"/dev/") && path.ends_with(b"random");
        if writes && !COMMON.iter().any(|common| path.starts_with(common)) {
            restart::writes_to_file();
        }
    }
}

/// Is the file a device that gives random numbers?
#[inline]
pub fn is_random(file: c_int) -> bool {
    const DEVICES: [u64; 2] = [libc::makedev(1, 8), libc::makedev(1, 9)];
    STATE.enter().random && sys::device(file).is_some_and(|device| DEVICES.contains(&device))
}

/// Does somebody who opens a file like this write to it?
fn may_write(flags: c_int) -> bool {
    flags & libc::O_ACCMODE != libc::O_RDONLY && flags & libc::O_TMPFILE != libc::O_TMPFILE
}

/// The same for streams: "w", "a", "r+".
fn mode_writes(mode: *const c_char) -> bool {
    // SAFETY: null, or a string that ends, by the contract of the function.
    !mode.is_null() && unsafe { CStr::from_ptr(mode) }.to_bytes().iter().any(|letter| b"wa+".contains(letter))
}

watch! { fn open(path: *const c_char, flags: c_int) { opens_named(path, may_write(flags)) } }
watch! { fn open64(path: *const c_char, flags: c_int) { opens_named(path, may_write(flags)) } }
watch! { fn openat(_at: c_int, path: *const c_char, flags: c_int) { opens_named(path, may_write(flags)) } }
watch! { fn openat64(_at: c_int, path: *const c_char, flags: c_int) { opens_named(path, may_write(flags)) } }
watch! { fn creat(path: *const c_char) { opens_named(path, true) } }
watch! { fn creat64(path: *const c_char) { opens_named(path, true) } }
watch! { fn fopen(path: *const c_char, mode: *const c_char) { opens_named(path, mode_writes(mode)) } }
watch! { fn fopen64(path: *const c_char, mode: *const c_char) { opens_named(path, mode_writes(mode)) } }

/// The program opens a file.
pub fn opens() {
    STATE.enter().opened = true;
}

/// Is this file the runtime's own?
fn is_own(file: c_int) -> bool {
    (results::FIRST_FILE..results::FIRST_FILE + results::OWN_FILES).contains(&file)
}

/// The program is about to change what this number stands for, or how the file behind it is read and written.
fn touches(file: c_int, call: &str) {
    let first = STATE.enter().first;
    match file {
        0..3 => STATE.enter().standard = true,
        _ if (3..first).contains(&file) => irreversible(&format!("{call} for a file that was opened before main()")),
        _ => {}
    }
}

watch! { fn fcntl(file: c_int, command: c_int) {
    fcntl_changes(file, command);
} }

watch! { fn fcntl64(file: c_int, command: c_int) {
    fcntl_changes(file, command);
} }

fn fcntl_changes(file: c_int, command: c_int) {
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => STATE.enter().opened = true,
        libc::F_SETFL => touches(file, "fcntl()"),
        _ => {}
    }
}

watch! { fn freopen(_path: usize, _mode: usize, _stream: usize) {
    STATE.enter().opened = true;
    STATE.enter().standard = true;
} }

watch! { fn freopen64(_path: usize, _mode: usize, _stream: usize) {
    STATE.enter().opened = true;
    STATE.enter().standard = true;
} }

watch! { fn fclose(_stream: usize) {
    STATE.enter().standard = true;
} }

watch! { fn lseek(file: c_int) {
    if file > 2 {
        touches(file, "lseek()");
    }
} }

watch! { fn lseek64(file: c_int) {
    if file > 2 {
        touches(file, "lseek64()");
    }
} }

/// The program reads or writes: what was opened before `main` stands elsewhere afterwards.
#[inline]
pub fn used(file: c_int) {
    if file > 2 && file < STATE.enter().first {
        at_work(|| touches(file, "read() or write()"));
    }
}

hook! { fn dup2(from: c_int, to: c_int) -> c_int {
    if active() {
        if is_own(to) {
            return fail(EBADF);
        }
        at_work(|| {
            STATE.enter().opened = true;
            touches(to, "dup2()");
        });
    }
    real!(dup2(from, to): fn(c_int, c_int) -> c_int)
} }

hook! { fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    if active() {
        if is_own(to) {
            return fail(EBADF);
        }
        at_work(|| {
            STATE.enter().opened = true;
            touches(to, "dup3()");
        });
    }
    real!(dup3(from, to, flags): fn(c_int, c_int, c_int) -> c_int)
} }

hook! { fn close(file: c_int) -> c_int {
    if active() {
        // Programs that close whatever there may be do not mean the runtime's.
        if is_own(file) {
            return fail(EBADF);
        }
        at_work(|| touches(file, "close()"));
        descriptors::release(file);
    }
    real!(close(file): fn(c_int) -> c_int)
} }

hook! { fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    if !active() {
        return real!(close_range(first, last, flags): fn(c_uint, c_uint, c_int) -> c_int);
    }
    at_work(|| {
        let before = 0..STATE.enter().first;
        let closed = before.filter(|file| (first..=last).contains(&(*file as c_uint)));
        closed.for_each(|file| touches(file, "close_range()"));
    });
    // Around the runtime's own.
    let own = results::FIRST_FILE as c_uint;
    let pieces = [(first, last.min(own - 1)), (first.max(own + results::OWN_FILES as c_uint), last)];
    let close = |(first, last)| real!(close_range(first, last, flags): fn(c_uint, c_uint, c_int) -> c_int);
    pieces.into_iter().filter(|(first, last)| first <= last).map(close).min().unwrap_or(0)
} }

hook! { fn closefrom(first: c_int) {
    if !active() {
        return real!(closefrom(first): fn(c_int));
    }
    at_work(|| {
        let before = first.max(0)..STATE.enter().first;
        before.for_each(|file| touches(file, "closefrom()"));
    });
    close_from(first.max(0));
} }

watch! { fn chdir() { STATE.enter().moved = true } }
watch! { fn fchdir() { STATE.enter().moved = true } }

hook! { fn umask(mask: mode_t) -> mode_t {
    let old = real!(umask(mask): fn(mode_t) -> mode_t);
    if active() {
        STATE.enter().mask.get_or_insert(old);
    }
    old
} }
