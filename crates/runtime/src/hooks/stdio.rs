//! Streams that a thread keeps for itself for more than one call: `flockfile`.
//!
//! libc's own lock would stop the one kernel thread. So the stream is a mutex of the engine's, and who prints to a
//! stream that another thread keeps waits for it.

use super::{at_work, hook, io, text, watch};
use crate::drive::{control, explored};
use crate::platform::global::{self, Entered, Global, active};
use crate::platform::real::real;
use crate::threads::fibers;
use fencepost_trace::op::Sync;
use fencepost_trace::{Op, ThreadId};
use libc::c_int;

/// A stream, who keeps it, and how often.
struct Kept {
    stream: usize,
    owner: ThreadId,
    depth: u32,
}

static KEPT: Global<Vec<Kept>> = Global::new(Vec::new());

/// Before each execution.
pub fn begin() {
    KEPT.enter().clear();
}

fn mine(stream: usize) -> Option<Entered<'static, Kept>> {
    let me = fibers::current();
    KEPT.enter().try_map(|kept| kept.iter_mut().find(|kept| kept.stream == stream && kept.owner == me))
}

/// The running thread keeps the stream once more, if it keeps it already.
fn again(stream: usize) -> bool {
    mine(stream).map(|mut kept| kept.depth += 1).is_some()
}

fn keep(stream: usize) {
    explored::leaves_open("whether a stream is locked by another thread when one prints");
    KEPT.enter().push(Kept { stream, owner: fibers::current(), depth: 1 });
}

hook! { fn flockfile(stream: usize) {
    if !active() {
        return real!(flockfile(stream): fn(usize));
    }
    at_work(|| {
        if !again(stream) {
            control::perform(Op::Sync(Sync::Lock { mutex: stream as u64 }));
            keep(stream);
        }
    })
} }

hook! { fn ftrylockfile(stream: usize) -> c_int {
    if !active() {
        return real!(ftrylockfile(stream): fn(usize) -> c_int);
    }
    at_work(|| {
        if again(stream) {
            return 0;
        }
        if !control::perform(Op::Sync(Sync::TryLock { mutex: stream as u64 })).success {
            return -1;
        }
        keep(stream);
        0
    })
} }

hook! { fn funlockfile(stream: usize) {
    if !active() {
        return real!(funlockfile(stream): fn(usize));
    }
    at_work(|| {
        let Some(depth) = mine(stream).map(|mut kept| {
            kept.depth -= 1;
            kept.depth
        }) else {
            return;
        };
        if depth == 0 {
            KEPT.enter().retain(|kept| kept.depth != 0);
            control::perform(Op::Sync(Sync::Unlock { mutex: stream as u64 }));
        }
    })
} }

/// Waits until no other thread keeps the stream, or any, if it is not known which one is meant.
fn pass(stream: Option<usize>) {
    let me = fibers::current();
    let other = |kept: &&Kept| kept.owner != me && stream.is_none_or(|s| s == kept.stream);
    let others = || KEPT.enter().iter().find(other).map(|kept| kept.stream as u64);
    while let Some(mutex) = others() {
        control::perform(Op::Sync(Sync::Lock { mutex }));
        control::perform(Op::Sync(Sync::Unlock { mutex }));
    }
}

/// The same for a function that prints to a stream, or to the standard ones.
pub fn prints(stream: Option<usize>) {
    if !KEPT.enter().is_empty() {
        at_work(|| pass(stream));
    }
}

watch! { fn putchar() { pass(None) } }
watch! { fn fputc(_byte: c_int, stream: usize) { pass(Some(stream)) } }
watch! { fn putc(_byte: c_int, stream: usize) { pass(Some(stream)) } }

// What functions read from streams is in memory when they return.

/// Makes a call of libc's that may call hooks of its own: afterwards it is again the program that has called.
fn from_here<T>(call: impl FnOnce() -> T) -> T {
    let (pc, sp) = (global::caller(), global::caller_sp());
    let result = call();
    global::set_caller(pc, sp);
    result
}

hook! { fn fgets(to: usize, size: c_int, stream: usize) -> usize {
    let result = from_here(|| real!(fgets(to, size, stream): fn(usize, c_int, usize) -> usize));
    if result != 0 {
        // With the 0 behind the line.
        io::keeping_error(|| text::wrote_text(to, size.max(0) as usize));
    }
    result
} }

hook! { fn fread(to: usize, size: usize, count: usize, stream: usize) -> usize {
    let done = from_here(|| real!(fread(to, size, count, stream): fn(usize, usize, usize, usize) -> usize));
    io::keeping_error(|| text::write(to, size.saturating_mul(done)));
    done
} }

macro_rules! lines {
    ($($name:ident)*) => { $(hook! { fn $name(line: *mut usize, size: *mut usize, byte: c_int, stream: usize) -> isize {
        let read = || real!($name(line, size, byte, stream): fn(*mut usize, *mut usize, c_int, usize) -> isize);
        let length = from_here(read);
        io::keeping_error(|| has_line(line, size, length));
        length
    } })* };
}

// (`getline` has no byte, and its stream comes one earlier.)
lines! { getline getdelim __getdelim }

fn has_line(line: *mut usize, size: *mut usize, length: isize) {
    text::write(line as usize, size_of::<usize>());
    text::write(size as usize, size_of::<usize>());
    if let (false, Ok(length)) = (line.is_null(), usize::try_from(length)) {
        // SAFETY: libc has just written it.
        text::write(unsafe { *line }, length + 1);
    }
}
