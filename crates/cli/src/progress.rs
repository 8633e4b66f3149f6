//! The line that says how far the work is, while it goes on.
//!
//! It stands on the last line of the terminal that stderr is, and is gone when the work is done. Files and pipes
//! never get it, nor does a terminal on which JSON is about to appear.

use crate::limits::Budget;
use crate::screen::Screen;
use fencepost_report::text::{counted, grouped};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often it is drawn.
const PAUSE: Duration = Duration::from_millis(100);
/// Work that is done by then needs no line.
const QUIET: Duration = Duration::from_millis(400);

/// What has been done, added up by those who do it.
#[derive(Debug, Default)]
pub struct Done {
    executions: AtomicU64,
    findings: AtomicU64,
}

impl Done {
    pub fn add(&self, executions: u64) {
        self.executions.fetch_add(executions, Ordering::Relaxed);
    }

    pub fn found(&self) {
        self.findings.fetch_add(1, Ordering::Relaxed);
    }

    /// Executions and findings.
    pub fn get(&self) -> (u64, u64) {
        (self.executions.load(Ordering::Relaxed), self.findings.load(Ordering::Relaxed))
    }
}

/// What litmus campaigns of this process have done.
pub static LITMUS: Done = Done { executions: AtomicU64::new(0), findings: AtomicU64::new(0) };

/// A line that is drawn until this is dropped.
pub struct Line(Option<(Arc<AtomicBool>, JoinHandle<()>)>);

impl Line {
    /// Draws what `done` tells (executions, findings) until all that the budget permits is done.
    pub fn start(screen: &Screen, budget: Budget, done: impl Fn() -> (u64, u64) + Send + 'static) -> Line {
        let mixed = screen.json() && io::stdout().is_terminal();
        if screen.quiet || mixed || !io::stderr().is_terminal() {
            return Line(None);
        }
        let over = Arc::new(AtomicBool::new(false));
        let flag = over.clone();
        Line(Some((over, thread::spawn(move || draw(&flag, budget, &done)))))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some((over, drawer)) = self.0.take() {
            over.store(true, Ordering::Relaxed);
            drawer.thread().unpark();
            let _ = drawer.join();
        }
    }
}

fn draw(over: &AtomicBool, budget: Budget, done: &dyn Fn() -> (u64, u64)) {
    let started = Instant::now();
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    bar.set_style(ProgressStyle::with_template("{spinner} {wide_msg}").expect("a fixed template"));
    while !over.load(Ordering::Relaxed) {
        if started.elapsed() >= QUIET {
            if bar.is_hidden() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            let (executions, findings) = done();
            bar.set_message(message(executions, findings, started.elapsed(), budget));
            bar.tick();
        }
        thread::park_timeout(PAUSE);
    }
    bar.finish_and_clear();
}

/// `12,000 executions, 30,000 a second, 2 findings, 10 s left`.
fn message(executions: u64, findings: u64, elapsed: Duration, budget: Budget) -> String {
    let rate = executions as f64 / elapsed.as_secs_f64().max(1e-3);
    let mut parts = vec![counted(executions, "execution"), format!("{} a second", grouped(rate as u64))];
    if findings > 0 {
        parts.push(counted(findings, "finding"));
    }
    let by_count = (budget.executions() != u64::MAX && rate > 0.0)
        .then(|| budget.executions().saturating_sub(executions) as f64 / rate);
    let by_time = budget.time_left().map(|left| left.as_secs_f64());
    if let Some(left) = by_count.into_iter().chain(by_time).reduce(f64::min) {
        parts.push(format!("{} left", span(left)));
    }
    parts.join(", ")
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
        let line = |executions, findings, budget| message(executions, findings, 2 * second, budget);
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
