//! The line that says how far the work is, while it goes on.
//!
//! It stands on the last line of the terminal that stderr is, and is gone when the work is done. Files and pipes
//! never get it.

use fencepost_report::text::{counted, grouped};
use fencepost_session::{Budget, Standing};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// Work that is done by then needs no line.
const QUIET: Duration = Duration::from_millis(400);

/// A line that is there until this is dropped.
pub struct Line {
    bar: ProgressBar,
    budget: Budget,
    started: Instant,
}

impl Line {
    /// For work that may go as far as the budget permits.
    pub fn new(budget: Budget) -> Line {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::with_template("{spinner} {wide_msg}").expect("a fixed template"));
        Line { bar, budget, started: Instant::now() }
    }

    /// So much has been done.
    pub fn draw(&mut self, standing: Standing) {
        let elapsed = self.started.elapsed();
        if elapsed < QUIET {
            return;
        }
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_message(message(standing, elapsed, self.budget));
        self.bar.tick();
    }

    /// A smaller execution of this finding is being looked for.
    pub fn minimise(&mut self, finding: u64, of: u64) {
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        self.bar.set_message(format!("minimising finding {finding} of {of}"));
        self.bar.tick();
    }

    /// Does something else with the terminal.
    pub fn suspend(&self, other: impl FnOnce()) {
        self.bar.suspend(other);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// `12,000 executions, 30,000 a second, 2 findings, 20 open, about 40,000 more, 10 s left`.
fn message(standing: Standing, elapsed: Duration, budget: Budget) -> String {
    let Standing { executions, findings, open, left } = standing;
    let rate = executions as f64 / elapsed.as_secs_f64().max(1e-3);
    let mut parts = vec![counted(executions, "execution"), format!("{} a second", grouped(rate as u64))];
    if findings > 0 {
        parts.push(counted(findings, "finding"));
    }
    if open > 0 {
        parts.push(format!("{} open", grouped(open)));
        parts.push(format!("about {} more", grouped(roughly(left))));
    }
    let by_count = (budget.executions() != u64::MAX && rate > 0.0)
        .then(|| budget.executions().saturating_sub(executions) as f64 / rate);
    let by_time = budget.time_left().map(|left| left.as_secs_f64());
    if let Some(left) = by_count.into_iter().chain(by_time).reduce(f64::min) {
        parts.push(format!("{} left", span(left)));
    }
    parts.join(", ")
}

/// Two digits of it: there is no more to an estimate.
fn roughly(number: u64) -> u64 {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(1));
    number / unit * unit
}

/// `42 s`, `3 min`, `2 h`.
fn span(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{} s", s.ceil() as u64),
        s if s < 6000.0 => format!("{} min", (s / 60.0).round() as u64),
        s => format!("{} h", (s / 3600.0).round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_there_is_to_say() {
        let second = Duration::from_secs(1);
        let line = |executions, findings, budget| {
            message(Standing { executions, findings, ..Standing::default() }, 2 * second, budget)
        };
        let explored = Standing { executions: 60_000, findings: 0, open: 7, left: 123_456 };
        let line_of_check = message(explored, 2 * second, Budget::new(None, None));
        assert_eq!(line_of_check, "60,000 executions, 30,000 a second, 7 open, about 120,000 more");
        let open = Budget::new(None, None);
        assert_eq!(line(60_000, 0, open), "60,000 executions, 30,000 a second");
        assert_eq!(line(60_000, 1, open), "60,000 executions, 30,000 a second, 1 finding");
        let counted = Budget::new(Some(90_000), None);
        assert_eq!(line(60_000, 2, counted), "60,000 executions, 30,000 a second, 2 findings, 1 s left");
        let timed = Budget::new(Some(u64::MAX - 1), Some(1000 * second));
        assert_eq!(line(60_000, 0, timed), "60,000 executions, 30,000 a second, 17 min left");
        assert_eq!(span(100_000.0), "28 h");
    }
}
