//! `--resume`: an exploration that was ended by force, by a signal or by a limit goes on, and comes to what one run
//! comes to. `--jobs`: so does one on several workers.

use crate::common::{Output, command, fencepost, have};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Threads that each write one location and read the next: many graphs, few of them alike to those who read.
const RING: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#ifndef N
#define N 3
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
atomic_int x[N];
static int seen[N];
static void *turn(void *p) {
    int i = (int)(long)p;
    for (int r = 1; r <= ROUNDS; r++) {
        atomic_store_explicit(&x[i], r, memory_order_relaxed);
        seen[i] += atomic_load_explicit(&x[(i + 1) % N], memory_order_relaxed);
    }
    return 0;
}
int main(void) {
    pthread_t t[N];
    for (long i = 0; i < N; i++) pthread_create(&t[i], 0, turn, (void *)i);
    for (int i = 0; i < N; i++) pthread_join(t[i], 0);
    return 0;
}
"#;

/// The same as a litmus test, with so many rounds for each thread.
fn ring(rounds: &[usize]) -> String {
    let threads = rounds.len();
    let parameters: Vec<String> = (0..threads).map(|i| format!("atomic_int* x{i}")).collect();
    let parameters = parameters.join(", ");
    let mut text = "C Ring\n{}\n".to_owned();
    for (i, rounds) in rounds.iter().enumerate() {
        text += &format!("P{i} ({parameters}) {{\n");
        for r in 1..=*rounds {
            let next = (i + 1) % threads;
            text += &format!("  atomic_store_explicit(x{i}, {r}, memory_order_relaxed);\n");
            text += &format!("  int r{r} = atomic_load_explicit(x{next}, memory_order_relaxed);\n");
        }
        text += "}\n";
    }
    text + "exists (0:r1=7)\n"
}

/// A directory with a program, or a litmus test, to explore.
struct Setup {
    directory: TempDir,
    target: String,
}

impl Setup {
    fn litmus(rounds: &[usize]) -> Setup {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("ring.litmus"), ring(rounds)).expect("it can be written");
        Setup { directory, target: "./ring.litmus".to_owned() }
    }

    fn native(source: &str, defines: &[&str]) -> Setup {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("ring.c"), source).expect("it can be written");
        let build = [&["cc", "-O1", "-g", "ring.c", "-o", "ring", "-pthread"], defines].concat();
        let built = fencepost(directory.path(), &build);
        assert_eq!(built.status, 0, "{}", built.stderr);
        Setup { directory, target: "./ring".to_owned() }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn arguments<'a>(&'a self, options: &[&'a str]) -> Vec<&'a str> {
        let (command, options) = options.split_first().expect("a command");
        [&[command, &self.target[..], "--format", "json"], options].concat()
    }

    fn run(&self, options: &[&str]) -> Output {
        fencepost(self.path(), &self.arguments(options))
    }

    fn saved(&self) -> std::path::PathBuf {
        self.path().join("fencepost-out/resume.json")
    }

    /// Starts it, and kills it so long after it has begun; or it ends before that.
    fn kill(&self, options: &[&str], signal: &str, after: Duration) {
        let mut child = command(self.path())
            .args(self.arguments(options))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts");
        let mut begun = None;
        loop {
            if child.try_wait().expect("it can be waited for").is_some() {
                return;
            }
            if begun.is_none() && self.saved().exists() {
                begun = Some(Instant::now());
            }
            if begun.is_some_and(|begun| begun.elapsed() >= after) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let id = child.id().to_string();
        std::process::Command::new("kill").args([signal, &id]).status().expect("there is a kill");
        child.wait().expect("it ends");
    }
}

/// What must be the same.
fn result(output: &Output) -> Json {
    let json = output.json();
    let findings = json["findings"].as_array().expect("a list").iter();
    let findings: Vec<Json> = findings.map(|f| json!([f["kind"], f["message"], f["first_execution"]])).collect();
    let same = ["verdict", "complete", "executions", "blocked", "states", "method", "safety"];
    let same: Vec<&Json> = same.iter().map(|key| &json[*key]).collect();
    json!([output.status, same, findings])
}

/// Numbers that look random, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most.max(1)
    }
}

/// Kills the command at so many moments between its beginning and its end. Each time another one goes on, which is
/// killed as well, and a third one goes on to the end.
fn killed(place: &Setup, options: &[&str], moments: u64, chance: &mut Chance) {
    let begun = Instant::now();
    let whole = place.run(options);
    let long = begun.elapsed().as_millis() as u64;
    let expected = result(&whole);
    assert_eq!(expected[1][1], true, "the exploration is complete: {}", whole.stderr);
    let resume = [options, &["--resume"]].concat();
    for _ in 0..moments {
        std::fs::remove_file(place.saved()).expect("it was saved");
        place.kill(options, "-KILL", Duration::from_millis(chance.below(long)));
        place.kill(&resume, "-KILL", Duration::from_millis(chance.below(long)));
        let last = place.run(&resume);
        assert_eq!(result(&last), expected, "{options:?}: {}", last.stderr);
    }
    // Once more: it is over, and says so.
    let again = place.run(&resume);
    assert_eq!(result(&again), expected, "{options:?}: {}", again.stderr);
    assert!(again.stderr.contains("had come to its end"), "{}", again.stderr);
}

/// The three kinds of exploration that there are, on one worker and on two.
fn all_kinds(place: &Setup, moments: u64) {
    let mut chance = Chance(7);
    for jobs in ["1", "2"] {
        let jobs = &["--jobs", jobs][..];
        killed(place, &[&["check", "--model", "tso", "--method", "graph"], jobs].concat(), moments, &mut chance);
        killed(place, &[&["check", "--model", "sc", "--method", "causal"], jobs].concat(), moments, &mut chance);
        killed(place, &[&["safe", "--model", "tso", "--no-orderings"], jobs].concat(), moments, &mut chance);
    }
}

/// Whatever the moment at which the command is killed, the rest of its lives come to the same counts.
#[test]
fn killing_it_changes_nothing_litmus() {
    all_kinds(&Setup::litmus(&[3, 3, 3]), 1);
}

#[test]
fn killing_it_changes_nothing_native() {
    if have("gcc") {
        all_kinds(&Setup::native(RING, &["-DROUNDS=3"]), 1);
    }
}

/// The same at twenty moments, of explorations that take longer.
#[test]
#[ignore = "takes minutes"]
fn twenty_moments_litmus() {
    all_kinds(&Setup::litmus(&[4, 3, 3]), 20);
}

#[test]
#[ignore = "takes minutes"]
fn twenty_moments_native() {
    if have("gcc") {
        let place = Setup::native(RING, &["-DROUNDS=3"]);
        all_kinds(&place, 20);
        killed(&place, &["check", "--model", "c11"], 20, &mut Chance(8));
    }
}

/// A signal and the limits end a run with what there is by then, and it goes on from exactly there.
#[test]
fn limits_and_signals_end_a_run_that_goes_on() {
    let litmus = Setup::litmus(&[2, 2, 2]);
    let native = have("gcc").then(|| Setup::native(RING, &["-DROUNDS=2"]));
    for place in [Some(&litmus), native.as_ref()].into_iter().flatten() {
        for method in ["graph", "rf", "causal"] {
            let options = ["check", "--model", "tso", "--method", method];
            let whole = place.run(&options);
            let expected = result(&whole);
            let limited = place.run(&[&options[..], &["--executions", "11"]].concat());
            assert_eq!((limited.status, &limited.json()["executions"]), (3, &11.into()), "{}", limited.stderr);
            // One worker and a limit: so many of them in each life.
            let more = place.run(&[&options[..], &["--executions", "25", "--resume"]].concat());
            assert_eq!((more.status, &more.json()["executions"]), (3, &25.into()), "{}", more.stderr);
            let rest = place.run(&[&options[..], &["--resume"]].concat());
            assert_eq!(result(&rest), expected, "{method}: {}", rest.stderr);
            place.kill(&options, "-INT", Duration::from_millis(30));
            place.kill(&[&options[..], &["--time", "50ms", "--resume"]].concat(), "-TERM", Duration::from_secs(60));
            let rest = place.run(&[&options[..], &["--resume"]].concat());
            assert_eq!(result(&rest), expected, "{method}: {}", rest.stderr);
        }
    }
}

/// What is announced stays: findings of the first life are in the report of the last.
#[test]
fn findings_are_kept() {
    if !have("gcc") {
        return;
    }
    let source = RING.replace("return 0;\n}\n\"", "").replacen(
        "    return 0;\n}\nint main",
        "    if (i == 0 && seen[0] == 0) __builtin_trap();\n    return 0;\n}\nint main",
        1,
    );
    let place = Setup::native(&source, &["-DROUNDS=2"]);
    let options = ["check", "--model", "tso", "--keep-going"];
    let expected = result(&place.run(&options));
    assert_eq!(expected[0], 1, "{expected}");
    let limited = place.run(&[&options[..], &["--executions", "500"]].concat());
    let early = limited.json()["findings"].clone();
    let rest = place.run(&[&options[..], &["--resume"]].concat());
    assert_eq!(result(&rest), expected, "{}", rest.stderr);
    for finding in early.as_array().expect("a list") {
        let kept = rest.json()["findings"].as_array().expect("a list").iter().any(|f| f["kind"] == finding["kind"]);
        assert!(kept, "{finding}");
    }
    // Where the first finding ends it, it is over.
    let first = place.run(&["check", "--model", "tso"]);
    let again = place.run(&["check", "--model", "tso", "--resume"]);
    assert_eq!(result(&first), result(&again), "{}", again.stderr);
}

/// A worker that dies takes with it what it had left: the run stops, and another goes on from what was saved before.
#[test]
fn a_worker_that_dies_loses_nothing() {
    if !have("gcc") {
        return;
    }
    let place = Setup::native(RING, &["-DN=4", "-DROUNDS=3"]);
    let options = ["check", "--model", "tso", "--method", "graph", "--jobs", "2"];
    let expected = result(&place.run(&options));
    // A worker that has just done its part is not there any more: then the run ends well, and another is started.
    let message = (0..20).find_map(|_| {
        let ended = without_a_worker(&place, &options);
        if ended.status == 0 {
            assert_eq!(result(&ended), expected);
        }
        (ended.status != 0).then_some((ended.status, ended.stderr))
    });
    let (status, message) = message.expect("some worker is killed while it works");
    assert_eq!(status, 3, "{message}");
    assert!(message.contains("a process of the exploration has died"), "{message}");
    let rest = place.run(&[&options[..], &["--resume"]].concat());
    assert_eq!(result(&rest), expected, "{}", rest.stderr);
}

/// Runs the command, and kills the process that its first process forks.
fn without_a_worker(place: &Setup, options: &[&str]) -> Output {
    let mut child = command(place.path())
        .args(place.arguments(options))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let worker = loop {
        if let Some(worker) = children(child.id()).into_iter().flat_map(children).next() {
            break worker;
        }
        assert!(child.try_wait().expect("it can be waited for").is_none(), "it never forked");
        std::thread::sleep(Duration::from_millis(1));
    };
    std::process::Command::new("kill").args(["-KILL", &worker.to_string()]).status().expect("there is a kill");
    let ended = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("it is text");
    let status = ended.status.code().expect("it was not killed");
    Output { status, stdout: text(ended.stdout), stderr: text(ended.stderr) }
}

/// The processes that a process has started.
fn children(process: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Another program, other options, a damaged file, none: one line, and nothing is touched.
#[test]
fn what_cannot_be_resumed_is_refused() {
    let place = Setup::litmus(&[1, 1, 1]);
    let options = ["check", "--model", "tso"];
    let resume = [&options[..], &["--resume"]].concat();
    assert!(place.run(&resume).refused().contains("no saved run"));
    assert_eq!(place.run(&options).status, 0);
    let saved = std::fs::read(place.saved()).expect("it was saved");
    let other = place.run(&["check", "--model", "pso", "--resume"]);
    assert!(other.refused().contains("--model"), "{}", other.stderr);
    let other = place.run(&["check", "--model", "tso", "--keep-going", "--resume"]);
    assert!(other.refused().contains("--keep-going"), "{}", other.stderr);
    let other = place.run(&["check", "--model", "tso", "--method", "rf", "--resume"]);
    assert!(other.refused().contains("--method"), "{}", other.stderr);
    assert!(place.run(&["safe", "--model", "tso", "--resume"]).refused().contains("the command"));
    assert_eq!(std::fs::read(place.saved()).expect("it is there"), saved);
    assert_eq!(place.run(&resume).status, 0);
    let text = std::fs::read_to_string(place.path().join("ring.litmus")).expect("it is there");
    std::fs::write(place.path().join("ring.litmus"), text.replace("0:r1=7", "0:r1=8")).expect("it can be written");
    assert!(place.run(&resume).refused().contains("another program"));
    std::fs::write(place.path().join("ring.litmus"), text).expect("it can be written");
    let mut damaged = saved.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 4;
    for bytes in [&damaged[..], &saved[..middle], b""] {
        std::fs::write(place.saved(), bytes).expect("it can be written");
        assert!(place.run(&resume).refused().contains("damaged"));
    }
}

/// Workers take from one queue what none has taken: the counts are those of one.
#[test]
fn workers_come_to_the_same_counts() {
    let litmus = Setup::litmus(&[2, 2, 2]);
    // A process forks after 2,000 runs.
    let native = have("gcc").then(|| Setup::native(RING, &["-DROUNDS=3"]));
    for place in [Some(&litmus), native.as_ref()].into_iter().flatten() {
        let kinds: [&[&str]; 4] = [
            &["check", "--model", "sc", "--method", "rf"],
            &["check", "--model", "tso", "--method", "rf"],
            &["check", "--model", "pso", "--method", "causal"],
            &["safe", "--model", "pso", "--no-orderings"],
        ];
        for options in kinds {
            let jobs = |jobs| place.run(&[options, &["--jobs", jobs]].concat());
            let alone = jobs("1");
            for several in ["2", "3"] {
                let together = jobs(several);
                assert_eq!(result(&together), result(&alone), "{options:?} --jobs {several}: {}", together.stderr);
            }
        }
    }
}
