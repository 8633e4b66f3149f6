//! `cargo run --release -p fencepost-bench-library --features peers`: ten tests, written once, on Fencepost, loom and
//! shuttle.
//!
//! `… -- corpus [N]`: the corpus of litmus tests (or each N-th of it) on the atomics of Fencepost and loom, beside what
//! herd7 says; `--details` names each.
//!
//! Complete exploration, beside loom's: executions to completion, their rate, and the whole time; a test is checked
//! again and again until that took long enough to be measured. Random executions under SC, beside shuttle's: their
//! rate. Times are CPU times of a process for each, so that others on the machine count little. The tools take turns,
//! and of several rounds the best one counts for each.

mod corpus;

use corpus::Unsupported;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A test and its name.
type Test = (&'static str, fn());

/// The tests on Fencepost.
mod ours {
    use super::{Test, Unsupported};
    use fencepost as library;

    mod programs {
        use super::library;
        include!("programs.rs");
    }
    mod interpreter {
        use super::library;
        include!("interpreter.rs");
    }
    pub(crate) use interpreter::execute;
    pub(crate) use programs::TESTS;
}

/// The tests on loom.
#[cfg(feature = "peers")]
mod looms {
    use super::{Test, Unsupported};
    use loom as library;

    mod programs {
        use super::library;
        include!("programs.rs");
    }
    mod interpreter {
        use super::library;
        include!("interpreter.rs");
    }
    pub(crate) use interpreter::execute;
    pub(crate) use programs::TESTS;
}

/// The tests on shuttle.
#[cfg(feature = "peers")]
mod shuttles {
    use super::Test;

    mod library {
        pub(super) use shuttle::{hint, sync, thread};
        /// shuttle has no cells: these are not watched.
        pub(super) mod cell {
            pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

            impl<T> UnsafeCell<T> {
                pub(crate) fn new(value: T) -> Self {
                    UnsafeCell(std::cell::UnsafeCell::new(value))
                }

                pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
                    f(self.0.get())
                }

                pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
                    f(self.0.get())
                }
            }
        }
    }

    mod programs {
        use super::library;
        include!("programs.rs");
    }
    pub(crate) use programs::TESTS;
}

/// What a tool has done.
#[derive(Clone, Copy)]
struct Done {
    /// Executions to completion, or until it was stopped.
    executions: u64,
    complete: bool,
    /// CPU time for all of it.
    seconds: f64,
}

impl Done {
    fn rate(&self) -> f64 {
        self.executions as f64 / self.seconds
    }

    /// The quicker one.
    fn better(self, other: Done) -> Done {
        if other.seconds < self.seconds { other } else { self }
    }
}

/// Random executions of each test.
const RANDOM: u64 = 20_000;

/// loom is stopped after this time.
const PATIENCE: Duration = Duration::from_secs(10);

fn cpu_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The time of one call of `check`, from as many as it takes to measure it. The clock is looked at after 1, 3, 7, …
/// calls: a look takes as long as a tenth of the shortest check.
fn timed(mut check: impl FnMut() -> (u64, bool)) -> Done {
    let started = cpu_time();
    let mut calls = 0;
    let mut more = 1;
    loop {
        let (executions, complete) = (0..more).fold((0, true), |_, _| check());
        calls += more;
        let spent = cpu_time() - started;
        if spent > 0.05 {
            return Done { executions, complete, seconds: spent / f64::from(calls) };
        }
        more *= 2;
    }
}

fn ours_exhaustive(test: fn()) -> Done {
    timed(|| {
        let summary = fencepost::check_with(fencepost::Config::new().max_time(PATIENCE), test);
        (summary.executions, summary.complete)
    })
}

fn ours_random(test: fn()) -> Done {
    timed(|| {
        let config = fencepost::Config::new().model(fencepost::Model::Sc).random(RANDOM);
        (fencepost::check_with(config, test).executions, true)
    })
}

/// A test that counts how often it is run.
fn counted(test: fn()) -> (Arc<AtomicU64>, impl Fn() + Send + Sync + 'static) {
    let count = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&count);
    (count, move || {
        counter.fetch_add(1, Relaxed);
        test();
    })
}

#[cfg(feature = "peers")]
fn looms_exhaustive(test: fn()) -> Done {
    timed(|| {
        let (count, test) = counted(test);
        let mut builder = loom::model::Builder::new();
        builder.max_duration = Some(PATIENCE);
        builder.max_branches = 100_000;
        let started = std::time::Instant::now();
        builder.check(test);
        (count.load(Relaxed), started.elapsed() < PATIENCE)
    })
}

#[cfg(feature = "peers")]
fn shuttles_random(test: fn()) -> Done {
    timed(|| {
        let (count, test) = counted(test);
        shuttle::check_random(test, RANDOM as usize);
        (count.load(Relaxed), true)
    })
}

#[cfg(not(feature = "peers"))]
fn looms_exhaustive(test: fn()) -> Done {
    let (count, _) = counted(test);
    Done { executions: count.load(Relaxed), complete: false, seconds: f64::NAN }
}

#[cfg(not(feature = "peers"))]
fn shuttles_random(test: fn()) -> Done {
    looms_exhaustive(test)
}

#[cfg(feature = "peers")]
fn peers() -> (&'static [Test], &'static [Test]) {
    (looms::TESTS, shuttles::TESTS)
}

#[cfg(not(feature = "peers"))]
fn peers() -> (&'static [Test], &'static [Test]) {
    (ours::TESTS, ours::TESTS)
}

fn thousands(rate: f64) -> String {
    if rate.is_finite() { format!("{:.0}", rate / 1e3) } else { "-".to_owned() }
}

fn milliseconds(done: &Done) -> String {
    match (done.seconds.is_finite(), done.complete) {
        (false, _) => "-".to_owned(),
        (true, false) => format!("> {:.0}", done.seconds * 1e3),
        (true, true) => format!("{:.3}", done.seconds * 1e3),
    }
}

/// What measures one tool on one test.
type Tool = (&'static str, fn(usize) -> Done);

const TOOLS: [Tool; 4] = [
    ("ours", |i| ours_exhaustive(ours::TESTS[i].1)),
    ("loom", |i| looms_exhaustive(peers().0[i].1)),
    ("ours-random", |i| ours_random(ours::TESTS[i].1)),
    ("shuttle", |i| shuttles_random(peers().1[i].1)),
];

/// Each measurement has a process of its own: the libraries' panic hooks do not get on with each other.
const ALONE: &str = "--alone";

/// So many checks of a test, or random executions, for a profiler: `--repeat NUMBER CHECKS`, `--repeat NUMBER
/// random:EXECUTIONS`.
const REPEAT: &str = "--repeat";

fn repeat(test: &str, calls: &str) {
    let (name, test) = ours::TESTS[test.parse::<usize>().expect("a number")];
    if let Some(executions) = calls.strip_prefix("random:") {
        let config = fencepost::Config::new().model(fencepost::Model::Sc);
        fencepost::check_with(config.random(executions.parse().expect("a number")), test);
    } else {
        (0..calls.parse::<u32>().expect("a number")).for_each(|_| _ = fencepost::check(test));
    }
    println!("{name}");
}

fn alone(tool: &str, test: &str) {
    let (_, measure) = TOOLS.iter().find(|(name, _)| *name == tool).expect("a tool");
    let Done { executions, complete, seconds } = measure(test.parse().expect("a number"));
    println!("{executions} {complete} {seconds}");
}

fn measured(tool: &str, test: usize) -> Done {
    let program = std::env::current_exe().expect("this program");
    let output = std::process::Command::new(program).args([ALONE, tool, &test.to_string()]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let words: Vec<&str> = text.lines().last().unwrap_or_default().split(' ').collect();
    let [executions, complete, seconds] = words[..] else {
        panic!("{tool} on test {test}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let number = |word: &str| -> f64 { word.parse().expect("a number") };
    Done { executions: number(executions) as u64, complete: complete == "true", seconds: number(seconds) }
}

fn main() {
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    if let [first, tool, test] = wanted.as_slice()
        && first == ALONE
    {
        return alone(tool, test);
    }
    if let [first, test, calls] = wanted.as_slice()
        && first == REPEAT
    {
        return repeat(test, calls);
    }
    let details = wanted.iter().position(|word| word == "--details").map(|i| wanted.remove(i)).is_some();
    if let [first, rest @ ..] = wanted.as_slice()
        && first == "corpus"
    {
        let every = rest.first().and_then(|number| number.parse().ok()).unwrap_or(1);
        return corpus::measure(every, details);
    }
    println!(
        "| test | executions: ours | loom | ms: ours | loom | × | thousand/s: ours | loom | × | sc, random, \
         thousand/s: ours | shuttle | × |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (i, (name, _)) in ours::TESTS.iter().enumerate() {
        if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part)) {
            continue;
        }
        let mut best: Option<[Done; 4]> = None;
        for _ in 0..3 {
            let round = std::array::from_fn(|k| match &best {
                // loom is not asked again what it does not finish.
                Some(best) if !best[k].complete => best[k],
                _ => measured(TOOLS[k].0, i),
            });
            best = Some(match best {
                None => round,
                Some(before) => std::array::from_fn(|k| before[k].better(round[k])),
            });
        }
        let [own, loom, random, shuttle] = best.expect("there were rounds");
        let sign = if loom.complete || loom.executions == 0 { "" } else { "> " };
        println!(
            "| {name} | {} | {sign}{} | {} | {} | {sign}{:.0} | {} | {} | {:.1} | {} | {} | {:.1} |",
            own.executions,
            loom.executions,
            milliseconds(&own),
            milliseconds(&loom),
            loom.seconds / own.seconds,
            thousands(own.rate()),
            thousands(loom.rate()),
            own.rate() / loom.rate(),
            thousands(random.rate()),
            thousands(shuttle.rate()),
            random.rate() / shuttle.rate(),
        );
    }
}
