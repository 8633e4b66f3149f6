//! The line that says how far the work is, while it goes on.
//!
//! On a terminal it stands on the last line, with a bar where it is known how much there is, and is gone when the work
//! is done. Files and pipes, as in CI, get a line of their own every ten seconds.

use fencepost_report::text::{counted, grouped};
use fencepost_session::{Budget, Standing};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Work that is done by then needs no line.
const QUIET: Duration = Duration::from_millis(400);

/// How often a line is written where nothing can be taken back.
const PAUSE: Duration = Duration::from_secs(10);

/// The parts of a bar.
const PARTS: u64 = 1_000;

/// A line that is there until this is dropped.
pub struct Line {
    output: Output,
    budget: Budget,
    started: Instant,
}

enum Output {
    Terminal(ProgressBar),
    /// When the last line was written.
    Lines(Instant),
}

impl Line {
    /// For work that may go as far as the budget permits. Is stderr a terminal?
    pub fn new(budget: Budget, terminal: bool) -> Line {
        let output = match terminal {
            true => Output::Terminal(ProgressBar::with_draw_target(Some(PARTS), ProgressDrawTarget::hidden())),
            false => Output::Lines(Instant::now()),
        };
        Line { output, budget, started: Instant::now() }
    }

    /// So much has been done.
    pub fn draw(&mut self, standing: Standing) {
        let elapsed = self.started.elapsed();
        let message = || message(standing, elapsed, self.budget);
        match &mut self.output {
            Output::Terminal(_) if elapsed < QUIET => {}
            Output::Terminal(bar) => {
                let done = share(standing, elapsed, self.budget);
                let template = if done.is_some() { "{bar:20} {wide_msg}" } else { "{spinner} {wide_msg}" };
                bar.set_style(ProgressStyle::with_template(template).expect("a fixed template"));
                bar.set_position(done.map_or(0, |done| (done * PARTS as f64) as u64));
                show(bar, message());
            }
            Output::Lines(last) if last.elapsed() >= PAUSE => {
                *last = Instant::now();
                // Nobody may be there to read it.
                let _ = writeln!(io::stderr(), "{}", message());
            }
            Output::Lines(_) => {}
        }
    }

    /// A smaller execution of this finding is being looked for.
    pub fn minimise(&mut self, finding: u64, of: u64) {
        if let Output::Terminal(bar) = &self.output {
            show(bar, format!("minimising finding {finding} of {of}"));
        }
    }

    /// Does something else with the terminal.
    pub fn suspend(&self, other: impl FnOnce()) {
        match &self.output {
            Output::Terminal(bar) => bar.suspend(other),
            Output::Lines(_) => other(),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Output::Terminal(bar) = &self.output {
            bar.finish_and_clear();
        }
    }
}

fn show(bar: &ProgressBar, message: String) {
    if bar.is_hidden() {
        bar.set_draw_target(ProgressDrawTarget::stderr());
    }
    bar.set_message(message);
    bar.tick();
}

/// How much of the work is done, if that is known: by whatever ends it first.
fn share(standing: Standing, elapsed: Duration, budget: Budget) -> Option<f64> {
    let Standing { executions, open, left, .. } = standing;
    let by_count = (budget.executions() != u64::MAX).then(|| executions as f64 / budget.executions().max(1) as f64);
    let by_time = budget.time_left().map(|left| elapsed.as_secs_f64() / (elapsed + left).as_secs_f64().max(1e-3));
    let by_estimate = (open > 0).then(|| executions as f64 / (executions + left).max(1) as f64);
    by_count.into_iter().chain(by_time).chain(by_estimate).reduce(f64::max).map(|share| share.min(1.0))
}

/// `12,000 executions, 30,000 a second, 40 reads-from pairs, 2 findings, 20 open, about 40,000 more, 10 s left`.
fn message(standing: Standing, elapsed: Duration, budget: Budget) -> String {
    let Standing { executions, findings, open, left, pairs } = standing;
    let rate = executions as f64 / elapsed.as_secs_f64().max(1e-3);
    let mut parts = vec![counted(executions, "execution"), format!("{} a second", grouped(rate as u64))];
    if pairs > 0 {
        parts.push(counted(pairs, "reads-from pair"));
    }
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
        let explored = Standing { executions: 60_000, findings: 0, open: 7, left: 123_456, pairs: 0 };
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
        let sampled = Standing { executions: 60_000, pairs: 12, ..Standing::default() };
        let covered = "60,000 executions, 30,000 a second, 12 reads-from pairs";
        assert_eq!(message(sampled, 2 * second, Budget::new(None, None)), covered);
    }

    #[test]
    fn the_bar_goes_by_what_ends_the_work_first() {
        let of = |standing, budget| share(standing, Duration::from_secs(10), budget);
        let done = Standing { executions: 25, ..Standing::default() };
        assert_eq!(of(done, Budget::new(None, None)), None);
        assert_eq!(of(done, Budget::new(Some(100), None)), Some(0.25));
        // Ten of about thirty seconds.
        let timed = of(done, Budget::new(Some(100), Some(Duration::from_secs(20)))).expect("there are limits");
        assert!((0.33..0.35).contains(&timed), "{timed}");
        let explored = Standing { open: 3, left: 25, ..done };
        assert_eq!(of(explored, Budget::new(None, None)), Some(0.5));
        assert_eq!(of(Standing { executions: 200, ..done }, Budget::new(Some(100), None)), Some(1.0));
    }
}
