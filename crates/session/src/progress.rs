//! How far the work is, while it goes on.

use crate::event::Standing;
use fencepost_explore::Outlook;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How often it is told.
const PAUSE: Duration = Duration::from_millis(100);

/// The worker's stack: no less than what the first thread of a process usually has.
const STACK: usize = 16 << 20;

/// What has been done, added up by those who do it.
#[derive(Debug, Default)]
pub struct Progress {
    executions: AtomicU64,
    findings: AtomicU64,
    open: AtomicU64,
    left: AtomicU64,
}

impl Progress {
    pub fn add(&self, executions: u64) {
        self.executions.fetch_add(executions, Ordering::Relaxed);
    }

    pub fn found(&self) {
        self.findings.fetch_add(1, Ordering::Relaxed);
    }

    /// So much is still to come.
    pub fn ahead(&self, outlook: &Outlook) {
        self.open.store(outlook.open(), Ordering::Relaxed);
        self.left.store(outlook.left(), Ordering::Relaxed);
    }

    /// How far it is.
    pub fn get(&self) -> Standing {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let [executions, findings] = [&self.executions, &self.findings].map(of);
        Standing { executions, findings, open: of(&self.open), left: of(&self.left), pairs: 0 }
    }
}

/// Does the work on a thread of its own and calls `tell` once in a while on this one, so that whoever is told need not
/// be ready for other threads.
pub fn watched<T: Send>(mut tell: impl FnMut(), work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let (running, over) = mpsc::channel::<()>();
        let worker = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || {
            // Dropped when the work ends, however it ends.
            let _running = running;
            work()
        });
        let worker = worker.expect("the system has a thread to give");
        while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(PAUSE) {
            tell();
        }
        worker.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The work does not end before it has been told of, so that it must be told of while it goes on.
    #[test]
    fn progress_is_told_while_the_work_goes_on() {
        let (told, wait) = mpsc::channel();
        let mut times = 0;
        let result = watched(
            || {
                times += 1;
                let _ = told.send(());
            },
            move || wait.recv().map(|()| 7),
        );
        assert_eq!(result, Ok(7));
        assert!(times > 0);
    }
}
