//! What happens when something goes wrong around a run: signals, closed pipes, full disks, limits. Nothing that was
//! found is lost, nothing is left behind, and no limit is ignored.

use crate::common::{Output, command, copies, fencepost, finish, left_out};
use serde_json::Value as Json;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A race in every execution, and a second thread to have it with; executions are short, so that there are many.
const RACY: &str = "#include <pthread.h>
static int x;
static void *f(void *p) { x++; return p; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x++; pthread_join(t, 0); return 0; }
";

/// Nothing wrong here, and nothing to find.
const CLEAN: &str = "#include <pthread.h>
static int x;
static void *f(void *p) { x++; return p; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); return x - 1; }
";

/// One thread computes forever, without any operation that the runtime sees.
const HANGS: &str = "#include <pthread.h>
__attribute__((no_sanitize_thread)) static void *compute_forever(void *p) { for (;;) __asm__ volatile(\"\"); return \
p; }
int main(void) { pthread_t t; pthread_create(&t, 0, compute_forever, 0); pthread_join(t, 0); return 0; }
";

/// A directory for the program, and one for everything temporary, so that what is left there can be seen.
struct Workspace {
    directory: TempDir,
    temporary: TempDir,
}

impl Workspace {
    fn with(name: &str, text: &str) -> Workspace {
        let place = Workspace { directory: tempfile::tempdir().unwrap(), temporary: tempfile::tempdir().unwrap() };
        fs::write(place.path().join(name), text).unwrap();
        place
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = command(self.path());
        command.args(args).env("TMPDIR", self.temporary.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn left_behind(&self) -> usize {
        fs::read_dir(self.temporary.path()).unwrap().count()
    }

    /// Waits until a finding is on disk.
    fn await_finding(&self) -> Json {
        let file = self.path().join("fencepost-out/finding-1.json");
        let patience = Instant::now();
        loop {
            if let Ok(text) = fs::read(&file) {
                return serde_json::from_slice(&text).expect("whole or not there");
            }
            assert!(patience.elapsed() < Duration::from_secs(120), "no finding is written");
            sleep(Duration::from_millis(20));
        }
    }
}

fn send(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("there is a kill");
    assert!(status.success());
}

fn end(child: Child) -> Output {
    let output = child.wait_with_output().expect("it ends");
    Output {
        status: output.status.code().unwrap_or_else(|| -output.status.signal().expect("a signal")),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The processes of a program, by what they run.
fn running(name: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter(|entry| fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe.ends_with(name))).count()
}

/// Waits until nobody runs a program of that name.
fn gone(name: &str) {
    let patience = Instant::now();
    while running(name) > 0 {
        assert!(patience.elapsed() < Duration::from_secs(20), "{name} outlives its host");
        sleep(Duration::from_millis(20));
    }
}

const ENDLESS: [&str; 4] = ["--time", "1h", "--format", "json"];

/// The finding is written while the campaign goes on; then a signal ends it, and all is as if a limit had.
#[test]
fn a_signal_ends_a_run_with_what_was_found() {
    for signal in ["-INT", "-TERM"] {
        let place = Workspace::with("racy_signal.c", RACY);
        let args = [&["test", "racy_signal.c", "--keep-going"][..], &ENDLESS].concat();
        let child = place.command(&args).spawn().unwrap();
        assert_eq!(place.await_finding()["finding"]["kind"], "data-race");
        send(&child, signal);
        let run = end(child);
        assert_eq!(run.status, 1, "{}", run.stderr);
        assert!(run.stderr.contains("interrupted"), "{}", run.stderr);
        let document = run.json();
        assert_eq!(document["findings"][0]["kind"], "data-race");
        assert_eq!(document["findings"][0]["replay"], "fencepost-out/finding-1.json");
        assert!(place.path().join("fencepost-out/run.json").exists());
        assert_eq!(place.left_behind(), 0, "temporary files are removed");
        gone("racy_signal");
        let again = fencepost(place.path(), &["replay", "fencepost-out/finding-1.json", "-q"]);
        assert_eq!(again.status, 1, "{}", again.stderr);
    }
}

/// Nothing was found, and the work was not done: that is no pass.
#[test]
fn what_was_interrupted_before_it_found_anything_is_incomplete() {
    for (command, model) in [("test", "c11"), ("test", "tso"), ("hunt", "tso")] {
        let place = Workspace::with("clean_signal.c", CLEAN);
        let time: &[&str] = if command == "hunt" { &["--executions", "100000000"] } else { &ENDLESS[..2] };
        let args = [&[command, "clean_signal.c", "--format", "json", "--model", model][..], time].concat();
        let child = place.command(&args).spawn().unwrap();
        while running("clean_signal") == 0 {
            sleep(Duration::from_millis(20));
        }
        send(&child, "-INT");
        let run = end(child);
        assert_eq!((run.status, run.json()["verdict"].as_str()), (3, Some("incomplete")), "{command} {}", run.stderr);
        assert_eq!(place.left_behind(), 0);
        gone("clean_signal");
    }
}

/// Litmus tests, too: SB has no end here, since nothing stops it.
#[test]
fn a_litmus_campaign_ends_with_a_signal_as_well() {
    let directory = copies(&["SB"]);
    let args = ["test", "SB.litmus", "--model", "sc", "--time", "1h", "--format", "json"];
    let child = command(directory.path()).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The handlers are there long before that.
    sleep(Duration::from_millis(500));
    send(&child, "-TERM");
    let run = end(child);
    assert_eq!((run.status, run.json()["verdict"].as_str()), (3, Some("incomplete")), "{}", run.stderr);
}

/// The worker cannot be interrupted, and the host waits for nothing: a second signal ends it as it would any program.
#[test]
fn a_second_signal_ends_at_once() {
    let place = Workspace::with("racy_twice.c", RACY);
    let args = [&["test", "racy_twice.c", "--keep-going"][..], &ENDLESS].concat();
    let child = place.command(&args).spawn().unwrap();
    place.await_finding();
    // Stopped, it gets both together.
    send(&child, "-STOP");
    send(&child, "-INT");
    send(&child, "-TERM");
    send(&child, "-CONT");
    let run = end(child);
    // Whichever of the two comes second.
    assert!([-2, -15].contains(&run.status), "{} {}", run.status, run.stderr);
    gone("racy_twice");
}

/// Nobody can catch this signal. What was told of is on disk, replays, and no worker is left.
#[test]
fn killing_the_host_loses_nothing_that_was_announced() {
    let place = Workspace::with("racy_killed.c", RACY);
    let args = [&["test", "racy_killed.c", "--keep-going", "--jobs", "2"][..], &ENDLESS].concat();
    let child = place.command(&args).spawn().unwrap();
    place.await_finding();
    send(&child, "-KILL");
    assert_eq!(end(child).status, -9);
    gone("racy_killed");
    let again = fencepost(place.path(), &["replay", "fencepost-out/finding-1.json"]);
    assert_eq!(again.status, 1, "{}", again.stderr);
    assert!(again.stdout.contains("data-race"), "{}", again.stdout);
    let large = fs::read_dir(place.temporary.path()).unwrap().flatten();
    assert!(large.into_iter().all(|entry| entry.metadata().unwrap().len() < 1 << 20), "no large file stays behind");
}

/// The executions that hang are cut off three times, and then it is clear that all of them do.
#[test]
fn a_program_that_always_hangs_ends_the_campaign_and_says_where() {
    let place = Workspace::with("hangs.c", HANGS);
    let args = ["test", "hangs.c", "--timeout", "200ms", "--format", "json"];
    let run = finish(&mut place.command(&args));
    assert_eq!((run.status, run.json()["verdict"].as_str()), (3, Some("incomplete")), "{}", run.stderr);
    assert!(run.json()["executions"].as_u64().unwrap() <= 3, "{}", run.stdout);
    assert!(run.stderr.contains("no more were tried"), "{}", run.stderr);
    assert!(run.stderr.contains("thread 0 in main (hangs.c:3)"), "{}", run.stderr);
}

/// A pipe that nobody reads takes the text, not the verdict.
#[test]
fn the_verdict_survives_a_closed_pipe() {
    for (text, status) in [(RACY, 1), (CLEAN, 0)] {
        let place = Workspace::with("piped.c", text);
        let mut command = place.command(&["test", "piped.c", "--executions", "100"]);
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(end(child).status, status);
    }
}

/// Noticed before the campaign, which would have no end.
#[test]
fn results_that_cannot_be_written_are_noticed_before_the_work() {
    let place = Workspace::with("racy_out.c", RACY);
    fs::write(place.path().join("file"), "in the way").unwrap();
    for command in ["test", "check", "hunt"] {
        let run = finish(&mut place.command(&[command, "racy_out.c", "--out", "file/out", "--time", "1h"]));
        assert!(run.refused().starts_with("fencepost: cannot write file/out: "));
    }
    let litmus = copies(&["SB"]);
    fs::write(litmus.path().join("file"), "in the way").unwrap();
    let run = fencepost(litmus.path(), &["test", "SB.litmus", "--out", "file/out", "--time", "1h"]);
    assert!(run.refused().starts_with("fencepost: cannot write file/out: "));
}

/// A shell with a limit, and then the command.
fn limited(place: &Workspace, limit: &str, args: &str) -> Output {
    let script = format!("{limit} && exec \"$FENCEPOST\" {args}");
    let mut shell = Command::new("sh");
    shell.current_dir(place.path()).env("TMPDIR", place.temporary.path()).env_remove("TSAN_OPTIONS");
    shell.args(["-c", &script]).env("FENCEPOST", env!("CARGO_BIN_EXE_fencepost")).stdin(Stdio::null());
    end(shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// The shared memory of host and worker needs 256 MiB of address, and a limit on files counts for it: one line says so.
#[test]
fn limits_of_the_system_are_said_in_one_line() {
    let place = Workspace::with("limited.c", RACY);
    let built = fencepost(place.path(), &["cc", "-g", "-O1", "limited.c", "-o", "limited"]);
    assert_eq!(built.status, 0, "{}", built.stderr);
    let run = limited(&place, "ulimit -f 2000", "test ./limited");
    assert!(run.refused().contains("ulimit -f"), "{}", run.stderr);
    // Little stack is enough.
    let run = limited(&place, "ulimit -s 64", "test ./limited -q");
    assert_eq!(run.status, 1, "{}", run.stderr);
}

/// A file system of a few kilobytes, in a name space of its own.
#[test]
fn a_full_disk_is_said_in_one_line() {
    let place = Workspace::with("racy_full.c", RACY);
    let built = fencepost(place.path(), &["cc", "-g", "-O1", "racy_full.c", "-o", "racy_full"]);
    assert_eq!(built.status, 0, "{}", built.stderr);
    fs::create_dir(place.path().join("full")).unwrap();
    let in_full = |what: &str| {
        let mount = "mount -t tmpfs -o size=16k none full && dd if=/dev/zero of=full/fill bs=4k count=100 2>/dev/null";
        let script = format!("{mount}; {what}");
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", &script]).current_dir(place.path()).env_remove("TSAN_OPTIONS");
        command.env("FENCEPOST", env!("CARGO_BIN_EXE_fencepost")).stdin(Stdio::null());
        end(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    };
    if in_full("true").status != 0 {
        return left_out("unshare with the right to mount");
    }
    // What was found is printed even so, and the status says that something is missing.
    let out = in_full("exec \"$FENCEPOST\" test ./racy_full --out full --format json");
    assert!(out.refused().contains("no space left on the device"), "{}", out.stderr);
    assert_eq!(out.json()["findings"][0]["kind"], "data-race");
    // No temporary file is needed for a program that is compiled already.
    let temporary = in_full("TMPDIR=$PWD/full exec \"$FENCEPOST\" test ./racy_full -q");
    assert_eq!(temporary.status, 1, "{}", temporary.stderr);
}

/// The worker dies in an execution, and the next one does not even begin: what was found before is kept.
#[test]
fn findings_are_kept_when_the_work_cannot_go_on() {
    let text = "#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static int x; static _Atomic int turn;
__attribute__((constructor)) static void refuse(void) { if (access(\"marker\", F_OK) == 0) _exit(9); }
static void *f(void *p) { x++; turn = 1; return p; }
int main(void) {
    pthread_t t; pthread_create(&t, 0, f, 0);
    int late = turn; x++; pthread_join(t, 0);
    if (late) { close(open(\"marker\", O_CREAT | O_WRONLY, 0600)); __asm__ volatile(\"syscall\" \
    :: \"a\"(231), \"D\"(7)); }
    return 0;
}
";
    let place = Workspace::with("gives_up.c", text);
    let args = ["test", "gives_up.c", "--keep-going", "--jobs", "1", "--restart", "in-place", "--format", "json"];
    let run = finish(&mut place.command(&args));
    let document = run.json();
    let kinds: Vec<_> = document["findings"].as_array().unwrap().iter().map(|f| f["kind"].as_str().unwrap()).collect();
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(kinds.contains(&"data-race") && kinds.contains(&"crash"), "{kinds:?} {}", run.stderr);
    assert!(run.stderr.contains("the work ended after"), "{}", run.stderr);
}

/// Files that the umask keeps from others are kept from them; those that it does not are not.
#[test]
fn result_files_follow_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    for (mask, mode) in [("022", 0o644), ("077", 0o600)] {
        let place =
            Workspace::with("SB.litmus", &fs::read_to_string(crate::common::classics().join("SB.litmus")).unwrap());
        assert_eq!(limited(&place, &format!("umask {mask}"), "test SB.litmus -q").status, 1);
        for name in ["run.json", "finding-1.json", "finding-1.trace.json"] {
            let file = place.path().join("fencepost-out").join(name);
            assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, mode, "{name}");
        }
    }
}

/// Asserts a value that the flags give it: without the flags it is another program.
const FLAGGED: &str = "#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *f(void *p) { x = VALUE; return p; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); assert(x == 0); pthread_join(t, 0); return 0; }
";

/// Found in one directory with flags of its own, replayed in another without: the recording knows both.
#[test]
fn a_finding_replays_elsewhere_and_with_the_flags_that_it_was_compiled_with() {
    let place = Workspace::with("flagged.c", FLAGGED);
    let found = finish(place.command(&["test", "flagged.c", "-q"]).env("CFLAGS", "-DVALUE=2 -O2"));
    assert_eq!(found.status, 1, "{}", found.stderr);
    let elsewhere = tempfile::tempdir().unwrap();
    let recording = place.path().join("fencepost-out/finding-1.json");
    let replay = |arguments: &[&str]| {
        let mut again = command(elsewhere.path());
        finish(again.arg("replay").arg(&recording).args(arguments).env_remove("CFLAGS"))
    };
    let again = replay(&["-q"]);
    assert_eq!(again.status, 1, "{}", again.stderr);
    // The same sources, moved: what is loaded is the same program.
    fs::copy(place.path().join("flagged.c"), elsewhere.path().join("flagged.c")).unwrap();
    let moved = replay(&["-q", "--target", "flagged.c"]);
    assert_eq!(moved.status, 1, "{}", moved.stderr);
    // A recording does not say what runs on this machine.
    let text = fs::read_to_string(&recording).unwrap();
    let text = text.replace("-DVALUE=2 -O2", "-DVALUE=2 -fplugin=./evil.so");
    fs::write(&recording, text).unwrap();
    assert!(replay(&[]).refused().contains("set that yourself"));
}

/// A name that is no text.
#[test]
fn a_program_of_any_name_replays() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let place = Workspace::with("plain.c", RACY);
    let name = OsStr::from_bytes(b"caf\xe9.c");
    fs::rename(place.path().join("plain.c"), place.path().join(name)).unwrap();
    let found = finish(place.command(&["test", "-q"]).arg(name));
    assert_eq!(found.status, 1, "{}", found.stderr);
    let again = fencepost(place.path(), &["replay", "fencepost-out/finding-1.json", "-q"]);
    assert_eq!(again.status, 1, "{}", again.stderr);
}

/// A race 120,000 steps after the beginning is explained like one right there, and what was printed last is shown.
#[test]
fn the_end_of_a_long_execution_is_what_is_kept() {
    let text = "#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
static atomic_int warmup, flag; static int data;
static void *f(void *p) { data = 1; atomic_store_explicit(&flag, 1, memory_order_release); return p; }
int main(void) {
    for (int i = 0; i < 120000; i++) atomic_fetch_add_explicit(&warmup, 1, memory_order_relaxed);
    for (int i = 0; i < 5000; i++) printf(\"worker: did %d items\\n\", i);
    printf(\"THE LAST LINE\\n\");
    pthread_t t; pthread_create(&t, 0, f, 0);
    while (!atomic_load_explicit(&flag, memory_order_relaxed)) ;
    int copy = data; pthread_join(t, 0);
    return copy - 1;
}
";
    let place = Workspace::with("long.c", text);
    let run = finish(&mut place.command(&["test", "long.c", "--jobs", "1"]));
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stdout.contains("relaxed load of flag"), "{}", run.stdout);
    assert!(run.stdout.contains("but the load does not acquire"), "{}", run.stdout);
    assert!(run.stdout.contains("THE LAST LINE"), "{}", run.stdout);
}
