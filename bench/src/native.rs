//! Native programs: executions per second of small tests, and the slowdown of programs that compute, beside gcc's
//! ThreadSanitizer.
//!
//! Both run the same executables, compiled here by `gcc -O1 -fsanitize=thread`, each with its own library behind the
//! calls, in turns and on one core. An execution of ThreadSanitizer is a run of the process: it has no other. Times
//! are processor time, so that what else runs on the machine matters less.

use fencepost_mailbox::Restart;
use fencepost_native::embedded::{NAME, runtime_directory};
use fencepost_native::host::{Campaign, run_campaign};
use fencepost_trace::{Model, Plan};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The small tests, and what they must reach in place and under c11.
const SMALL: [(&str, f64); 5] = [
    ("message.c", 30_000.0),
    ("stack.c", 30_000.0),
    ("counter.c", 30_000.0),
    ("words.cpp", 10_000.0),
    ("channel.cpp", 10_000.0),
];
/// What they must reach by fork.
const BY_FORK: f64 = 2_000.0;
/// The programs that compute.
const LARGE: [&str; 3] = ["matrix.c", "sieve.c", "lists.cpp"];
/// How often each measurement is taken; the best one counts, because what disturbs only ever makes it slower.
const ROUNDS: usize = 3;
/// How much processor time one measurement takes, about.
const SPAN: Duration = Duration::from_millis(300);

/// Prints the tables.
pub fn measure() {
    let directory = tempfile::tempdir().expect("a directory");
    let runtime = runtime_directory().expect("the runtime can be unpacked").join(NAME);
    if !stay_on_one_core() {
        println!("(The system does not let this process choose its core.)\n");
    }
    let bench = Bench { directory: directory.path().to_owned(), runtime };
    bench.small();
    bench.large();
}

struct Bench {
    directory: PathBuf,
    runtime: PathBuf,
}

impl Bench {
    fn small(&self) {
        println!("Executions per second of processor time; best of {ROUNDS}. c11 with race detection.\n");
        println!(
            "| test | c11 in place | at least | | c11 by fork | at least | | tso in place | tso by fork | \
             ThreadSanitizer | ours over it |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|");
        for (source, wanted) in SMALL {
            let program = self.compile(source, &["-g", "-fsanitize=thread"]);
            let [mut in_place, mut by_fork, mut tso, mut tso_fork, mut tsan] = [0.0_f64; 5];
            for _ in 0..ROUNDS {
                in_place = in_place.max(self.rate(&program, Model::C11, Restart::InPlace));
                by_fork = by_fork.max(self.rate(&program, Model::C11, Restart::Fork));
                tso = tso.max(self.rate(&program, Model::Tso, Restart::InPlace));
                tso_fork = tso_fork.max(self.rate(&program, Model::Tso, Restart::Fork));
                tsan = tsan.max(1.0 / seconds_per_run(&program));
            }
            println!(
                "| {source} | {in_place:.0} | {wanted:.0} | {} | {by_fork:.0} | {BY_FORK:.0} | {} | {tso:.0} | \
                 {tso_fork:.0} | {tsan:.0} | {:.0} |",
                verdict(in_place >= wanted),
                verdict(by_fork >= BY_FORK),
                in_place / tsan,
            );
        }
        println!();
    }

    fn large(&self) {
        println!(
            "Milliseconds of processor time per execution, under c11 with race detection; best of {ROUNDS}. From \
             ThreadSanitizer's time that of \
             starting an empty program under it is taken off, because executions in place have no start. Slowdown: \
             over the same source \
             without instrumentation, with its start taken off too. sc, tso, pso: over ThreadSanitizer's time.\n"
        );
        println!(
            "| program | without | ThreadSanitizer | in place | one process | slowdown of ThreadSanitizer | ours | \
             ours over ThreadSanitizer's | not slower | sc | tso | pso |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
        let empty = self.directory.join("empty.c");
        std::fs::write(&empty, "int main(void) { return 0; }\n").expect("the directory can be written");
        let empty_bare = self.compile_file(&empty, "empty-bare", &[]);
        let empty_tsan = self.compile_file(&empty, "empty", &["-fsanitize=thread"]);
        for source in LARGE {
            let bare = self.compile(source, &[]);
            let program = self.compile(source, &["-g", "-fsanitize=thread"]);
            let [mut without, mut tsan, mut start, mut start_tsan, mut in_place, mut whole] = [f64::INFINITY; 6];
            let mut hardware = [Model::Sc, Model::Tso, Model::Pso].map(|model| (model, f64::INFINITY));
            for _ in 0..ROUNDS {
                without = without.min(seconds_per_run(&bare));
                start = start.min(seconds_per_run(&empty_bare));
                tsan = tsan.min(seconds_per_run(&program));
                start_tsan = start_tsan.min(seconds_per_run(&empty_tsan));
                in_place = in_place.min(1.0 / self.rate(&program, Model::C11, Restart::InPlace));
                whole = whole.min(self.campaign(&program, Model::C11, Restart::InPlace, 1));
                for (model, time) in &mut hardware {
                    *time = time.min(1.0 / self.rate(&program, *model, Restart::InPlace));
                }
            }
            let (without, tsan) = (without - start, tsan - start_tsan);
            println!(
                "| {source} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.2} | {} | {} |",
                without * 1e3,
                tsan * 1e3,
                in_place * 1e3,
                whole * 1e3,
                tsan / without,
                in_place / without,
                in_place / tsan,
                verdict(in_place <= tsan),
                hardware.map(|(_, time)| format!("{:.1}", time / tsan)).join(" | "),
            );
        }
    }

    fn compile(&self, source: &str, flags: &[&str]) -> PathBuf {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(source);
        let name = if flags.is_empty() { format!("{source}-bare") } else { source.to_owned() };
        self.compile_file(&path, &name, flags)
    }

    fn compile_file(&self, source: &Path, name: &str, flags: &[&str]) -> PathBuf {
        compile(&self.directory, source, name, flags)
    }

    /// Executions per second, starting the program included.
    fn rate(&self, program: &Path, model: Model, restart: Restart) -> f64 {
        let mut executions = 16;
        loop {
            let seconds = self.campaign(program, model, restart, executions);
            if seconds >= SPAN.as_secs_f64() * 0.7 {
                return executions as f64 / seconds;
            }
            let factor = (SPAN.as_secs_f64() / seconds.max(1e-6)).clamp(2.0, 50.0);
            executions = (executions as f64 * factor) as u64;
        }
    }

    /// How many seconds so many executions take, starting the program included.
    fn campaign(&self, program: &Path, model: Model, restart: Restart, executions: u64) -> f64 {
        let mut campaign = Campaign::new(program, &self.runtime, model, executions);
        campaign.request.restart = restart;
        // As in `fencepost test`.
        campaign.request.skip_private = Some(Plan::LONG);
        campaign.checked = false;
        let before = children_seconds();
        let results = run_campaign(&campaign).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        assert_eq!(results.executions, executions, "{}", program.display());
        assert!(results.found.is_empty(), "{}: {:?}", program.display(), results.found[0].report);
        children_seconds() - before
    }
}

/// Compiles a program.
pub fn compile(directory: &Path, source: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let program = directory.join(format!("{name}.out"));
    let compiler = if source.extension().is_some_and(|e| e == "cpp") { "g++" } else { "gcc" };
    let mut command = Command::new(compiler);
    command.args(["-O1", "-pthread"]).args(flags).arg(source).arg("-o").arg(&program);
    let status = command.status().unwrap_or_else(|error| panic!("{compiler} does not start: {error}"));
    assert!(status.success(), "{compiler} does not compile {}", source.display());
    program
}

/// The time of a process from start to end, on average over a measurement.
fn seconds_per_run(program: &Path) -> f64 {
    let begin = children_seconds();
    let mut runs = 0.0;
    while children_seconds() - begin < SPAN.as_secs_f64() {
        let status = Command::new(program).stdin(Stdio::null()).stdout(Stdio::null()).status();
        assert!(status.is_ok_and(|s| s.success()), "{} fails", program.display());
        runs += 1.0;
    }
    (children_seconds() - begin) / runs
}

/// The processor time of all processes that were started from here and have ended.
pub fn children_seconds() -> f64 {
    // SAFETY: the structure is plain data, which the call fills in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage), 0);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

pub fn verdict(holds: bool) -> &'static str {
    if holds { "yes" } else { "**no**" }
}

/// This process and all that it starts run on the core that it is on now.
pub fn stay_on_one_core() -> bool {
    // SAFETY: a set of cores is plain data, and all zeros is the empty one; the calls read and write nothing else.
    unsafe {
        let core = libc::sched_getcpu();
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if core < 0 {
            return false;
        }
        libc::CPU_SET(core as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) == 0
    }
}
