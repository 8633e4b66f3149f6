//! When to stop.

use fencepost_native::interrupt;
use fencepost_trace::Limits;
use std::time::{Duration, Instant};

/// Where one execution of a litmus test ends if nobody says: far more than anything such a test does, but soon enough
/// that one that never ends is no wait.
pub const LITMUS_LIMITS: Limits = Limits { max_steps: 2_000 };

/// How much work may be done before it is cut off.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    executions: u64,
    deadline: Option<Instant>,
}

impl Budget {
    /// From now on; `None` is no limit.
    pub fn new(executions: Option<u64>, time: Option<Duration>) -> Budget {
        // A time so long that the clock cannot express it is no limit either.
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        Budget { executions: executions.unwrap_or(u64::MAX), deadline }
    }

    /// The greatest number of executions.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// At most so many executions.
    pub fn at_most(self, executions: u64) -> Budget {
        Budget { executions: self.executions.min(executions), ..self }
    }

    /// No limit on executions.
    pub fn of_time_only(self) -> Budget {
        Budget { executions: u64::MAX, ..self }
    }

    /// At most so long from now on.
    pub fn no_longer_than(self, time: Duration) -> Budget {
        let end = Instant::now().checked_add(time);
        Budget { deadline: self.deadline.into_iter().chain(end).min(), ..self }
    }

    /// Is there nothing left after so many executions?
    pub fn is_spent(&self, executions: u64) -> bool {
        executions >= self.executions || self.is_late(executions)
    }

    /// Has the time run out? The clock is looked at once in a while only.
    fn is_late(&self, executions: u64) -> bool {
        executions.is_multiple_of(64) && self.time_is_up()
    }

    /// How much time is left, if it is limited.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Has the time run out, or does somebody wish that it had?
    pub fn time_is_up(&self) -> bool {
        interrupt::is_wished() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// The limits of an execution of a litmus test: what the user says, or the usual ones.
pub(crate) fn litmus_limits(max_steps: Option<u64>) -> Limits {
    max_steps.map_or(LITMUS_LIMITS, |max_steps| Limits { max_steps })
}
