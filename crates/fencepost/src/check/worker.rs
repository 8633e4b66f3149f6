//! The kernel thread that a check runs on.
//!
//! To hand a check over to another thread takes longer than most checks take. So it runs where it was asked for, until
//! a thread of the program panics. An execution that is left in the middle of a panic leaves the kernel thread in it:
//! std counts panics by kernel thread, and nothing can take one back. The check then begins again on a kernel thread of
//! its own, which is kept for the next such check unless something was left behind on it.

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
        Program::context().is_expendable.set(true);
        while let Ok(job) = jobs.recv() {
            if !job() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("fencepost".to_owned()).spawn(run).expect("fencepost: no thread to check on");
    sender
}

/// Where the rest of a check runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RunsOn {
    /// On the kernel thread that asked for it.
    Caller,
    /// On one of its own.
    Worker,
}

/// Whatever becomes of a job: nobody runs on this kernel thread after it.
struct Here;

impl Drop for Here {
    fn drop(&mut self) {
        Program::context().leave();
    }
}

/// Runs `job`, and waits for it. If it is to be here and a thread of the program panics, it is run again apart, and so
/// is all that comes after.
pub(super) fn run<R: Send + 'static>(runs_on: &mut RunsOn, job: impl Fn() -> R + Send + 'static) -> R {
    let context = Program::context();
    // Somebody may have asked for it while this kernel thread panics.
    if *runs_on == RunsOn::Caller && !std::thread::panicking() && !context.is_past_panics() {
        let _here = Here;
        context.renew();
        let result = job();
        if !context.must_move() {
            return result;
        }
    }
    *runs_on = RunsOn::Worker;
    run_apart(job)
}

/// Runs `job` on a kernel thread of its own, and waits for it.
pub(super) fn run_apart<R: Send + 'static>(job: impl FnOnce() -> R + Send + 'static) -> R {
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
