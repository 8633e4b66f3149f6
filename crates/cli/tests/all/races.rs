//! Races and misuse of the heap in native programs: what is reported, with what around it, and what is not.

use crate::common::{Output, command, fencepost, finish};
use fencepost_engine::{Random, Threads};
use fencepost_explore::graph::{Explorer, Flow, Options, Races, Stuck, Visitor, trace_of};
use fencepost_memory::axioms;
use fencepost_memory::graph::{Graph, Node};
use fencepost_trace::{
    Access, Failure, FenceOrder, Guard, Label, LoadOrder, Location, Model, Op, Outcome, Reply, RmwOrder, Size,
    StoreOrder, ThreadId, Update, Value,
};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A directory with a program of `tests/programs/races` in it.
fn with(program: &str) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs/races");
    fs::copy(from.join(program), directory.path().join(program)).expect("the programs are part of the repository");
    directory
}

fn findings(run: &Output) -> Vec<Json> {
    run.json()["findings"].as_array().expect("a list").clone()
}

fn kinds(run: &Output) -> Vec<String> {
    findings(run).iter().map(|finding| finding["kind"].as_str().expect("a kind").to_owned()).collect()
}

/// The functions of a finding's stack, the innermost first.
fn functions(finding: &Json, stack: usize) -> Vec<&str> {
    let frames = finding["stacks"][stack]["frames"].as_array().expect("frames");
    frames.iter().map(|frame| frame["function"].as_str().expect("a function")).collect()
}

fn titles(finding: &Json) -> Vec<&str> {
    let stacks = finding["stacks"].as_array().expect("stacks");
    stacks.iter().map(|stack| stack["title"].as_str().expect("a title")).collect()
}

/// The library reads and writes memory for the program: ThreadSanitizer sees that, and so must we. What pipes and
/// sockets order is ordered.
#[test]
fn what_the_library_does_for_the_program_is_the_programs_doing() {
    let directory = with("arguments.c");
    let built =
        fencepost(directory.path(), &["cc", "-w", "-g", "-O1", "-fno-builtin", "arguments.c", "-o", "arguments"]);
    assert_eq!(built.status, 0, "{}", built.stderr);
    let run = |what: &str| {
        let arguments = ["test", "./arguments", "--format", "json", "--executions", "50", "--keep-going", "--", what];
        fencepost(directory.path(), &arguments)
    };
    let reads = ["strlen", "strcmp", "strchr", "strcpy", "strcat", "memcmp", "memchr", "strtol", "puts", "fwrite"];
    let more = ["printf", "format", "write", "writev"];
    let writes = ["strncpy", "mempcpy", "snprintf", "clock"];
    for what in reads.into_iter().chain(more).chain(writes) {
        let run = run(what);
        assert_eq!(kinds(&run), ["data-race"], "{what}");
        let access = if writes.contains(&what) { "write" } else { "read" };
        let labels = findings(&run)[0]["labels"].as_array().expect("labels").clone();
        let main = labels.iter().find(|label| label["thread"] == 0).expect("the main thread takes part");
        assert_eq!((&main["function"], &main["access"]), (&"use".into(), &access.into()), "{what}");
    }
    for what in ["pipe", "close", "socket", "event", "readv", "epoll", "elsewhere"] {
        let run = run(what);
        assert_eq!((kinds(&run), run.status), (Vec::new(), 0), "{what}");
    }
}

#[test]
fn memory_that_is_used_again_keeps_no_order_of_its_old_use() {
    let directory = with("recycled.c");
    let run =
        fencepost(directory.path(), &["test", "recycled.c", "--format", "json", "--executions", "20", "--keep-going"]);
    let found = findings(&run);
    let text = found.iter().find(|finding| finding["labels"][1]["line"] == 23).expect("the text is read without order");
    assert_eq!((&text["kind"], &text["count"]), (&"data-race".into(), &20.into()), "{found:?}");
}

/// Both accesses with all their calls, where their threads and the memory come from, and why nothing orders them;
/// from `test` and from `check`, by fork and in place.
#[test]
fn a_race_comes_with_everything_around_it() {
    let directory = with("message.c");
    let commands: [&[&str]; 3] =
        [&["test", "--executions", "200"], &["test", "--executions", "200", "--restart", "fork"], &["check"]];
    for command in commands {
        let run = fencepost(directory.path(), &[command, &["message.c", "--format", "json"]].concat());
        let all = findings(&run);
        assert_eq!((run.status, all.len()), (1, 1), "{command:?} {}", run.stderr);
        let race = &all[0];
        assert_eq!(race["kind"], "data-race");
        assert_eq!(functions(race, 0), ["read_body", "receiver"]);
        assert_eq!(functions(race, 1), ["write_body", "fill", "sender"]);
        assert_eq!(functions(race, 2), ["make", "main"]);
        assert_eq!(functions(race, 3), ["main"]);
        let expected = [
            "read by thread 2",
            "write by thread 1",
            "a block of 20 bytes was allocated by thread 0",
            "thread 2 was created by thread 0",
            "thread 1 was created by thread 0",
        ];
        assert_eq!(titles(race), expected);
        let memory = &race["memory"];
        assert_eq!(memory["text"], "12 bytes into a block of 20 bytes that thread 0 allocated at message.c:33");
        assert_eq!((&memory["kind"], &memory["offset"], &memory["size"]), (&"heap".into(), &12.into(), &20.into()));
        let reason = race["reason"].as_array().expect("a reason");
        assert_eq!(reason[0], "thread 2 had synchronised with nothing that thread 1 did");
        let expected = "thread 2's acquire load of flag at message.c:28 has read from thread 1's relaxed store to flag \
                        at message.c:21, but the store does not release";
        assert_eq!(reason[1], expected);
        // The recording has it too.
        let replay = fencepost(directory.path(), &["replay", "fencepost-out/finding-1.json"]);
        assert_eq!(replay.status, 1, "{}{}", replay.stdout, replay.stderr);
        assert!(replay.stdout.contains("write by thread 1\n    write_body  message.c:15\n    fill  message.c:17"));
        assert!(replay.stdout.contains("  why: "), "{}", replay.stdout);
    }
}

/// Two instructions at one place are one race, and what the race does to the program shows as well.
#[test]
fn an_execution_goes_on_after_a_race() {
    let directory = with("consequence.c");
    let run = fencepost(
        directory.path(),
        &["test", "consequence.c", "--executions", "300", "--keep-going", "--format", "json"],
    );
    let kinds: BTreeSet<String> = kinds(&run).into_iter().collect();
    assert_eq!(kinds, ["data-race", "assertion"].map(String::from).into(), "{}", run.stdout);
    let places: Vec<String> = findings(&run)
        .iter()
        .filter(|finding| finding["kind"] == "data-race")
        .map(|finding| {
            let mut labels: Vec<String> = (0..2)
                .map(|i| finding["labels"][i]["line"].to_string() + &finding["labels"][i]["column"].to_string())
                .collect();
            labels.sort();
            labels.join(" ")
        })
        .collect();
    let different: BTreeSet<&String> = places.iter().collect();
    assert_eq!(different.len(), places.len(), "{places:?}");
}

#[test]
fn misuse_of_the_heap_names_all_who_had_a_hand_in_it() {
    let directory = with("freed.c");
    let run = |flags: &str| {
        let args = ["test", "freed.c", "--executions", "50", "--keep-going", "--format", "json"];
        finish(command(directory.path()).args(args).env("CFLAGS", flags))
    };
    let used = run("");
    assert_eq!(kinds(&used), ["use-after-free"]);
    let finding = &findings(&used)[0];
    assert_eq!([0, 1, 2].map(|i| functions(finding, i)), [vec!["user"], vec!["drop", "main"], vec!["make", "main"]]);
    assert_eq!(titles(finding)[..2], ["write by thread 1", "free by thread 0"]);
    assert_eq!(finding["memory"]["text"], "8 bytes into a block of 32 bytes that thread 0 allocated at freed.c:14");
    let twice = run("-DTWICE");
    let all = findings(&twice);
    let double = all.iter().find(|finding| finding["kind"] == "double-free").expect("it is freed twice");
    assert_eq!([0, 1, 2].map(|i| functions(double, i)), [["drop", "main"], ["drop", "main"], ["make", "main"]]);
    let lines = |i: usize| double["stacks"][i]["frames"][1]["line"].as_u64();
    assert_eq!((lines(0), lines(1)), (Some(22), Some(20)));
}

/// Accesses of all sizes, ranges, mixtures of atomic and plain, and free.
#[test]
fn accesses_of_every_kind_race_where_they_share_a_byte() {
    let directory = with("mixture.c");
    // Otherwise gcc makes instructions of memset, which nobody sees.
    let built = fencepost(directory.path(), &["cc", "-O1", "-fno-builtin", "-pthread", "mixture.c", "-o", "mixture"]);
    assert_eq!(built.status, 0, "{}", built.stderr);
    for (kind, expected) in [(0, true), (1, true), (2, true), (3, false), (4, false), (5, false), (7, true)] {
        for how in [&["test", "--executions", "100"][..], &["check"]] {
            let number = kind.to_string();
            let args = [how, &["mixture", "--keep-going", "--format", "json", "--", &number]].concat();
            let run = fencepost(directory.path(), &args);
            let found = kinds(&run);
            assert_eq!(found.iter().any(|kind| kind == "data-race"), expected, "{args:?} {found:?} {}", run.stderr);
            assert_eq!(found.len(), usize::from(expected), "{args:?} {found:?}");
            if kind == 7 {
                let reason = findings(&run)[0]["reason"].to_string();
                assert!(reason.contains("held mutex one") && reason.contains("held mutex other"), "{reason}");
            }
        }
    }
    let run = fencepost(
        directory.path(),
        &["test", "mixture", "--executions", "200", "--keep-going", "--format", "json", "--", "6"],
    );
    let found: BTreeSet<String> = kinds(&run).into_iter().collect();
    assert_eq!(found, ["data-race", "use-after-free"].map(String::from).into(), "{}", run.stdout);
    let race = findings(&run).into_iter().find(|finding| finding["kind"] == "data-race").expect("checked above");
    assert_eq!(titles(&race)[0], "free by thread 2");
}

/// Relaxed atomics if nobody says otherwise: no race on them, every outcome, and no order between other accesses.
#[test]
fn volatile_is_what_the_user_says() {
    let directory = with("volatile.c");
    let run = |command: &str, flags: &str, what: Option<&str>| {
        let mut args = vec![command, "volatile.c", "--keep-going", "--format", "json"];
        if command == "test" {
            args.extend(["--executions", "2000"]);
        }
        args.extend(what.into_iter().flat_map(|what| ["--volatile", what]));
        finish(crate::common::command(directory.path()).args(args).env("CFLAGS", flags))
    };
    for command in ["test", "check"] {
        // Store buffering: all outcomes of atomics (0 is no finding).
        for what in [None, Some("relaxed"), Some("acqrel")] {
            let run = run(command, "", what);
            let statuses: BTreeSet<String> = findings(&run)
                .iter()
                .map(|finding| finding["message"].as_str().unwrap_or_default().to_owned())
                .collect();
            let expected = ["exit status 1", "exit status 2", "exit status 3"].map(String::from);
            assert_eq!(statuses, expected.into(), "{command} {what:?} {}", run.stderr);
            let [all, failing] = ["executions", "failing_executions"].map(|name| run.json()[name].as_u64());
            assert!(failing < all, "{command} {what:?}: status 0 is there too");
        }
        assert!(kinds(&run(command, "", Some("plain"))).contains(&"data-race".to_owned()));
        // A message behind a flag.
        let races = |what| kinds(&run(command, "-DMESSAGE", Some(what))).len();
        assert_eq!((races("relaxed"), races("acqrel")), (1, 0), "{command}");
        assert!(races("plain") >= 1);
    }
    // What was recorded with it is replayed with it.
    let plain = run("test", "-DMESSAGE", Some("plain"));
    assert_eq!(plain.status, 1);
    let replay = finish(
        crate::common::command(directory.path())
            .args(["replay", "fencepost-out/finding-1.json"])
            .env("CFLAGS", "-DMESSAGE"),
    );
    assert_eq!(replay.status, 1, "{}{}", replay.stdout, replay.stderr);
    let wrong = fencepost(directory.path(), &["test", "volatile.c", "--volatile", "strong"]);
    assert!(wrong.refused().contains("expected relaxed, acqrel or plain"));
}

#[test]
fn suppressed_findings_are_counted_and_not_reported() {
    let directory = with("message.c");
    let run = |command: &str, rules: &str| {
        fs::write(directory.path().join("rules"), rules).expect("a file");
        let args = [command, "message.c", "--suppressions", "rules", "--format", "json"];
        fencepost(directory.path(), &args)
    };
    for (rules, suppressed) in [
        ("race:^read_body$", true),
        ("# deep in the other stack\nrace:sen*er\n", true),
        ("race:message.c$", true),
        ("race_top:write_body", true),
        ("race_top:sender", false),
        ("deadlock:read_body", false),
        ("thread:read_body\nmutex:*", false),
        ("race:^body$", false),
    ] {
        for command in ["test", "check"] {
            let run = run(command, rules);
            let report = run.json();
            let expected = if suppressed { (0, 0, 1) } else { (1, 1, 0) };
            let count = report["suppressed"].as_u64().unwrap_or(0);
            assert_eq!((run.status, findings(&run).len(), count), expected, "{command} {rules}: {}", run.stderr);
            if suppressed {
                // It did not stop there.
                assert_eq!(report["executions"], if command == "test" { 10_000 } else { 2 }, "{command} {rules}");
            }
        }
    }
    let text = fencepost(directory.path(), &["check", "message.c", "--suppressions", "rules"]);
    assert_eq!(text.status, 1);
    fs::write(directory.path().join("rules"), "race:sender").expect("a file");
    let text = fencepost(directory.path(), &["check", "message.c", "--suppressions", "rules"]);
    assert!(text.stdout.contains("1 finding suppressed"), "{}", text.stdout);
    fs::write(directory.path().join("rules"), "race:x\n\nrace\n").expect("a file");
    let wrong = fencepost(directory.path(), &["test", "message.c", "--suppressions", "rules"]);
    assert!(wrong.refused().contains("rules:3: "), "{}", wrong.stderr);
    let none = fencepost(directory.path(), &["test", "message.c", "--suppressions", "nowhere"]);
    assert!(none.refused().contains("nowhere"));
}

#[test]
fn the_suppressions_of_thread_sanitizer_are_found() {
    let directory = with("message.c");
    fs::write(directory.path().join("rules"), "race:sender").expect("a file");
    fs::write(directory.path().join("others"), "race:nobody").expect("a file");
    let run = |options: &str, more: &[&str]| {
        let args = [&["check", "message.c", "--format", "json"], more].concat();
        finish(command(directory.path()).args(args).env("TSAN_OPTIONS", options))
    };
    for (options, more, status) in [
        ("halt_on_error=1:suppressions=rules:exitcode=66", &[][..], 0),
        ("halt_on_error=1:exitcode=66", &[], 1),
        ("suppressions=", &[], 1),
        // What the user says now comes before what stands there for every day.
        ("suppressions=rules", &["--suppressions", "others"], 1),
        ("suppressions=nowhere", &["--suppressions", "rules"], 0),
    ] {
        let run = run(options, more);
        let count = run.json()["suppressed"].as_u64().unwrap_or(0);
        assert_eq!((run.status, count), (status, (status == 0).into()), "{options}: {}", run.stderr);
    }
    assert!(run("suppressions=nowhere", &[]).refused().contains("nowhere"));
}

/// Whatever the compiler makes of a call: gcc expands those with constants after it has instrumented the code, if it
/// is let.
#[test]
fn what_functions_of_libc_do_to_memory_is_seen() {
    let directory = with("library.c");
    for compiler in ["gcc", "clang"] {
        if !crate::common::have(compiler) {
            continue;
        }
        for (level, function) in (1..=18).flat_map(|function| [(0, function), (2, function)]) {
            let args = ["test", "library.c", "--executions", "20", "--format", "json"];
            let flags = format!("-O{level} -DDO={function}");
            let run = finish(command(directory.path()).args(args).env("CFLAGS", &flags).env("FENCEPOST_CC", compiler));
            // Nothing orders the two threads, so that every execution has the race.
            assert_eq!(kinds(&run), ["data-race"], "{compiler} {flags}: {}", run.stderr);
        }
    }
}

/// Stores of a function of libc wait in buffers like others: as many as a processor would make of them.
#[test]
fn what_functions_of_libc_store_is_relaxed() {
    let directory = with("text.c");
    for (model, status) in [("tso", 0), ("pso", 1)] {
        let run = fencepost(directory.path(), &["check", "text.c", "--model", model, "--format", "json"]);
        assert_eq!(run.status, status, "{model}: {}{}", run.stdout, run.stderr);
        let random = ["test", "text.c", "--model", model, "--executions", "2000", "--format", "json"];
        let run = fencepost(directory.path(), &random);
        assert_eq!(run.status, status, "{model}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn members_and_elements_are_named_everywhere() {
    let directory = with("members.c");
    for command in [&["test", "--executions", "500"][..], &["check"]] {
        let run = fencepost(directory.path(), &[command, &["members.c", "--format", "json"]].concat());
        let all = findings(&run);
        assert_eq!((run.status, all.len()), (1, 1), "{command:?} {}", run.stderr);
        let memory = &all[0]["memory"];
        assert_eq!((&memory["name"], &memory["kind"]), (&"table.slots[3].value".into(), &"global".into()));
        // The flag, padding, three slots and the key come before it; the table is a word and four slots long.
        assert_eq!((&memory["offset"], &memory["size"]), (&64.into(), &72.into()));
        assert!(all[0]["message"].as_str().expect("a message").contains("(table.slots[3].value)"));
        let why = all[0]["reason"][1].as_str().expect("a reason");
        assert!(why.contains("relaxed load of table.ready"), "{why}");
        let replay = fencepost(directory.path(), &["replay", "fencepost-out/finding-1.json"]);
        assert!(replay.stdout.contains("table.ready = 1"), "{}", replay.stdout);
    }
}

/// Where a variable on a stack is, the debug information says relative to its function's frame: gcc by the beginning
/// of the frame, clang and rustc by a register.
#[test]
fn variables_on_stacks_are_named() {
    let directory = with("locals.c");
    let test = ["test", "locals.c", "--executions", "500", "--format", "json"];
    let builds = [
        ("gcc", "-O0"),
        ("gcc", "-O2 -fomit-frame-pointer"),
        // An executable that is always at the same address.
        ("gcc", "-O1 -fno-pie -no-pie"),
        ("clang", "-O0"),
        ("clang", "-O2"),
    ];
    for (compiler, flags) in builds {
        if !crate::common::have(compiler) {
            continue;
        }
        for args in [&test[..], &["check", "locals.c", "--format", "json"]] {
            let run = finish(command(directory.path()).args(args).env("CFLAGS", flags).env("FENCEPOST_CC", compiler));
            let all = findings(&run);
            assert_eq!((run.status, all.len()), (1, 1), "{compiler} {flags} {args:?}: {}", run.stderr);
            let memory = &all[0]["memory"];
            let text = "variable job.values[2] in main, on the stack of thread 0";
            assert_eq!((&memory["text"], &memory["kind"]), (&text.into(), &"stack".into()), "{compiler} {flags}");
            // The flag, padding and two values come before it.
            assert_eq!((&memory["offset"], &memory["thread"]), (&24.into(), &0.into()));
            assert!(all[0]["message"].as_str().expect("a message").contains("(job.values[2] in main)"));
            let reason = all[0]["reason"].to_string();
            assert!(reason.contains("relaxed load of job.ready in main"), "{reason}");
            assert!(reason.contains("thread 2 held mutex job.mutex in main"), "{reason}");
        }
    }
    // The execution has the same names.
    assert_eq!(fencepost(directory.path(), &test).status, 1);
    let replay = fencepost(directory.path(), &["replay", "fencepost-out/finding-1.json"]);
    assert_eq!(replay.status, 1, "{}", replay.stderr);
    assert!(replay.stdout.contains("writes job.ready in main = 1"), "{}", replay.stdout);
}

/// What is not in scope does not count, nor does a function that has returned: its name would be wrong.
#[test]
fn names_on_stacks_are_those_of_the_moment() {
    let directory = with("scopes.c");
    for flags in ["-O0", "-O1", "-O2"] {
        let args = ["test", "scopes.c", "--executions", "50", "--format", "json"];
        let run = finish(command(directory.path()).args(args).env("CFLAGS", flags));
        let all = findings(&run);
        // Of the read and of the write.
        assert_eq!((run.status, all.len()), (1, 2), "{flags}: {}", run.stderr);
        assert!(all.iter().all(|race| race["memory"]["name"] == "second[1] in main"), "{flags}: {all:?}");
    }
}

#[test]
fn variables_on_stacks_of_rust_are_named() {
    let directory = with("locals.rs");
    for flags in ["-Copt-level=0", "-Copt-level=2"] {
        let args = ["test", "locals.rs", "--executions", "500", "--format", "json"];
        let run = finish(command(directory.path()).args(args).env("RUSTFLAGS", flags));
        let all = findings(&run);
        assert_eq!((run.status, all.len()), (1, 1), "{flags}: {}", run.stderr);
        assert_eq!(all[0]["memory"]["name"], "job.values[2] in locals::main", "{flags}");
    }
}

// Random programs, as C and as operations for the exploration of litmus tests.

#[derive(Clone, Debug)]
enum Statement {
    Access(Access),
    /// The access if the load reads something other than 0.
    If(Access, Access),
}

/// A program whose statements have a line each.
#[derive(Clone, Debug)]
struct Small {
    threads: Vec<Vec<(u32, Statement)>>,
    next: Vec<usize>,
    /// Threads that have loaded and not decided yet.
    deciding: Vec<bool>,
    lines: Vec<u32>,
}

impl Threads for Small {
    fn start(&mut self) -> u32 {
        let count = self.threads.len();
        self.next = vec![0; count];
        self.deciding = vec![false; count];
        self.lines = vec![0; count];
        count as u32
    }

    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        let t = thread.index();
        if self.deciding[t] {
            self.deciding[t] = false;
            let (_, Statement::If(_, then)) = &self.threads[t][self.next[t] - 1] else { unreachable!() };
            if reply.value != Value::ZERO {
                return Op::Access(*then);
            }
        }
        let Some((line, statement)) = self.threads[t].get(self.next[t]) else { return Op::Exit };
        self.next[t] += 1;
        self.lines[t] = *line;
        match statement {
            Statement::Access(access) => Op::Access(*access),
            Statement::If(load, _) => {
                self.deciding[t] = true;
                Op::Access(*load)
            }
        }
    }

    fn initial(&self, _: Location) -> Value {
        Value::ZERO
    }

    fn label(&self, thread: ThreadId) -> u32 {
        self.lines[thread.index()]
    }

    fn describe(&self, line: u32) -> Label {
        Label { line, ..Label::default() }
    }

    fn digest(&self, _: ThreadId) -> Option<u64> {
        None
    }
}

type Lines = BTreeSet<(u64, u64)>;

fn pair(a: u64, b: u64) -> (u64, u64) {
    (a.min(b), a.max(b))
}

/// The races of every execution graph, by definition.
#[derive(Default)]
struct Defined(Lines);

impl Defined {
    fn add(&mut self, program: &Small, graph: &Graph) -> Flow {
        let trace = trace_of(program, graph, Model::C11, Outcome::Finished);
        let line = |id| trace.event(id).and_then(|event| trace.label(event)).map_or(0, |label| u64::from(label.line));
        self.0.extend(axioms::races(&trace).into_iter().map(|(a, b)| pair(line(a), line(b))));
        Flow::Continue(())
    }
}

impl Visitor<Small> for Defined {
    fn execution(&mut self, program: &Small, graph: &Graph) -> Flow {
        self.add(program, graph)
    }
    fn stuck(&mut self, _: &Small, _: &Graph, _: Stuck) -> Flow {
        unreachable!("nothing waits")
    }
    fn failed(&mut self, _: &Small, _: &Graph, _: ThreadId, _: Failure) -> Flow {
        unreachable!("nothing fails")
    }
    fn race(&mut self, _: &Small, _: &Graph, _: Node, _: Node) -> Flow {
        unreachable!("all races of an execution come together")
    }
    fn races(&mut self, program: &Small, graph: &Graph, _: &[(Node, Node)]) -> Flow {
        self.add(program, graph)
    }
}

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len())]
}

fn random_access(random: &mut Random) -> Access {
    let plain = Location::new(0x100 + 8 * (random.below(4) / 3) as u64, Size::B4);
    let atomic = Location::new(0x200 + 8 * random.below(2) as u64, Size::B4);
    match random.below(12) {
        0..=1 => Access::Load { at: plain, order: LoadOrder::Plain, guard: Guard::Any },
        2..=4 => Access::Store { at: plain, order: StoreOrder::Plain, value: Value(1) },
        // A plain look at an atomic variable.
        5 => Access::Load { at: atomic, order: LoadOrder::Plain, guard: Guard::Any },
        6..=7 => random_load(random, atomic),
        8..=9 => {
            let order = pick(random, &[StoreOrder::Relaxed, StoreOrder::Release, StoreOrder::SeqCst]);
            Access::Store { at: atomic, order, value: Value(1) }
        }
        10 => {
            let orders = [RmwOrder::Relaxed, RmwOrder::Acquire, RmwOrder::Release, RmwOrder::AcqRel, RmwOrder::SeqCst];
            let order = pick(random, &orders);
            Access::Rmw { at: atomic, order, update: Update::Add(Value(1)), guard: Guard::Any }
        }
        _ => Access::Fence { order: pick(random, &[FenceOrder::Acquire, FenceOrder::Release, FenceOrder::SeqCst]) },
    }
}

fn random_load(random: &mut Random, at: Location) -> Access {
    let order = pick(random, &[LoadOrder::Relaxed, LoadOrder::Acquire, LoadOrder::SeqCst]);
    Access::Load { at, order, guard: Guard::Any }
}

fn in_c(access: &Access) -> String {
    let name = |at: Location| format!("{}{}", if at.address < 0x200 { 'p' } else { 'a' }, at.address % 0x100 / 8);
    let load = |order| ["", "relaxed", "acquire", "seq_cst"][order as usize];
    let store = |order| ["", "relaxed", "release", "seq_cst"][order as usize];
    match *access {
        Access::Load { at, order: LoadOrder::Plain, .. } => format!("r = *(int *)&{}", name(at)),
        Access::Load { at, order, .. } => {
            format!("r = atomic_load_explicit(&{}, memory_order_{})", name(at), load(order))
        }
        Access::Store { at, order: StoreOrder::Plain, .. } => format!("{} = 1", name(at)),
        Access::Store { at, order, .. } => {
            format!("atomic_store_explicit(&{}, 1, memory_order_{})", name(at), store(order))
        }
        Access::Rmw { at, order, .. } => {
            let order = ["relaxed", "acquire", "release", "acq_rel", "seq_cst"][order as usize];
            format!("atomic_fetch_add_explicit(&{}, 1, memory_order_{order})", name(at))
        }
        Access::Fence { order } => {
            let order = ["acquire", "release", "acq_rel", "seq_cst"][order as usize];
            format!("atomic_thread_fence(memory_order_{order})")
        }
        Access::CompareExchange { .. } => unreachable!("not among them"),
    }
}

/// So many random programs, and one C program that runs the one of a given number.
fn generate(seed: u64, count: usize) -> (Vec<Small>, String) {
    let mut random = Random::new(seed);
    let mut text = String::from("#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n");
    text += "int p0, p1;\natomic_int a0, a1;\ntypedef void *body(void *);\n";
    let mut line = text.lines().count() as u32;
    let mut programs = Vec::new();
    let mut table = String::new();
    for number in 0..count {
        let mut threads = Vec::new();
        let width = 2 + random.below(2);
        table += "    {";
        for t in 0..width {
            let _ = writeln!(text, "static void *f{number}_{t}(void *u) {{ int r = 0;");
            line += 1;
            let mut statements = Vec::new();
            for _ in 0..2 + random.below(if width == 2 { 3 } else { 2 }) {
                line += 1;
                let access = random_access(&mut random);
                if random.below(3) == 0 {
                    let at = Location::new(0x200 + 8 * random.below(2) as u64, Size::B4);
                    let load = random_load(&mut random, at);
                    let _ = writeln!(text, "    {}; if (r) {{ {}; }}", in_c(&load), in_c(&access));
                    statements.push((line, Statement::If(load, access)));
                } else {
                    let _ = writeln!(text, "    {};", in_c(&access));
                    statements.push((line, Statement::Access(access)));
                }
            }
            text += "    return (void *)(long)r; }\n";
            line += 1;
            threads.push(statements);
            let _ = write!(table, "f{number}_{t}, ");
        }
        table += "},\n";
        programs.push(Small { threads, next: Vec::new(), deciding: Vec::new(), lines: Vec::new() });
    }
    let _ = write!(text, "static body *all[][3] = {{\n{table}}};\n");
    text += "int main(int c, char **v) {\n    body **f = all[c > 1 ? atoi(v[1]) : 0];\n    pthread_t t[3];\n";
    text += "    for (int i = 0; i < 3 && f[i]; i++) pthread_create(&t[i], 0, f[i], 0);\n";
    text += "    for (int i = 0; i < 3 && f[i]; i++) pthread_join(t[i], 0);\n    return 0;\n}\n";
    (programs, text)
}

/// The pairs of lines that a run reports.
fn reported(run: &Output) -> Lines {
    let line = |finding: &Json, i: usize| finding["labels"][i]["line"].as_u64().expect("a line");
    let pairs = findings(run).into_iter().map(|finding| {
        assert_eq!(finding["kind"], "data-race", "{finding}");
        pair(line(&finding, 0), line(&finding, 1))
    });
    pairs.collect()
}

/// `check` reports exactly the pairs of statements that race in some execution that the model permits, and `test`
/// nothing else.
#[test]
fn races_of_random_programs_are_those_of_the_model() {
    const PROGRAMS: usize = 60;
    let (programs, text) = generate(7, PROGRAMS);
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("random.c"), text).expect("a file");
    let built = fencepost(directory.path(), &["cc", "-O0", "-pthread", "random.c", "-o", "random"]);
    assert_eq!(built.status, 0, "{}", built.stderr);
    let (mut pairs, mut clean, mut met) = (0, 0, 0);
    for (i, program) in programs.into_iter().enumerate() {
        let options = Options { races: Races::All, ..Options::new(Model::C11) };
        let mut explorer = Explorer::new(program.clone(), options).expect("c11 has axioms");
        let Defined(defined) = explorer.explore(Defined::default).expect("it is explored");
        let number = i.to_string();
        let arguments = ["random", "--keep-going", "--format", "json", "--", &number];
        let check = fencepost(directory.path(), &[&["check"], &arguments[..]].concat());
        assert_eq!(check.json()["complete"], true, "{i}: {}", check.stderr);
        assert_eq!(reported(&check), defined, "{i}: {program:#?}");
        let test = fencepost(directory.path(), &[&["test", "--executions", "300"], &arguments[..]].concat());
        let seen = reported(&test);
        assert!(seen.is_subset(&defined), "{i}: {seen:?} {defined:?}");
        assert_eq!(seen.is_empty(), defined.is_empty(), "{i}: {defined:?}");
        pairs += defined.len();
        met += seen.len();
        clean += usize::from(defined.is_empty());
    }
    assert!(pairs > 60 && clean > 5, "{pairs} pairs, {clean} programs without a race");
    // Of several accesses of one thread that race with another, `test` names the nearest.
    assert!(met * 10 > pairs * 7, "{met} of {pairs} pairs met by test");
}
