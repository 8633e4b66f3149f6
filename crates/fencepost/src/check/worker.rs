//! The kernel thread that checks run on.
//!
//! A check needs one of its own: an execution that is left in the middle of a panic leaves the kernel thread with it.
//! Making one, and stacks for fibers, takes longer than most checks. So each thread that checks keeps one for its next
//! check, unless something was left behind on it.

use crate::rt::Program;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Sender, channel};

/// Says whether the thread can go on.
type Job = Box<dyn FnOnce() -> bool + Send>;

thread_local! {
    static WORKER: RefCell<Option<Sender<Job>>> = const { RefCell::new(None) };
}

fn start() -> Sender<Job> {
    let (sender, jobs) = channel::<Job>();
    let run = move || {
        while let Ok(job) = jobs.recv() {
            if !job() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("fencepost".to_owned()).spawn(run).expect("fencepost: no thread to check on");
    sender
}

/// Runs `job` on such a thread, and waits for it.
pub(super) fn run<R: Send + 'static>(job: impl FnOnce() -> R + Send + 'static) -> R {
    let (answer, answered) = channel();
    let job = move || {
        Program::context().renew();
        let result = catch_unwind(AssertUnwindSafe(job));
        let clean = result.is_ok() && !std::thread::panicking() && !Program::context().is_past_panics();
        // Whoever waits is there until this comes.
        let _ = answer.send((result, clean));
        clean
    };
    let worker = WORKER.take().unwrap_or_else(start);
    worker.send(Box::new(job)).expect("internal error: a worker has ended");
    let (result, clean) = answered.recv().expect("internal error: a worker has ended");
    if clean {
        WORKER.set(Some(worker));
    }
    result.unwrap_or_else(|payload| resume_unwind(payload))
}
