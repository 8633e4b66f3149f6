//! The text that people see, compared with files in `snapshots/`. `UPDATE_SNAPSHOTS=1 cargo test -p fencepost-report`
//! writes them anew; the difference is then for review.

use crate::common::schema::Schema;
use fencepost_report::text::{self, Call, Execution, Mark, TextStyle};
use fencepost_report::{
    Command, ConditionText, Describe, Document, Evidence, Format, LitmusReport, ModelResult, Order, Quantifier,
    Reached, Report, RunReport, Seen, ShownExecution, StateCount, Verdict, litmus_error_json, litmus_json,
    statement_at,
};
use fencepost_trace::{
    Coherence, Event, EventId, EventKind, Failure, Finding, FindingKind, FindingLabel, FindingMemory, FindingStack,
    FirstMet, Fix, Label, LoadOrder, Location, MemoryKind, Model, Needs, Outcome, Severity, Size, StoreOrder, ThreadId,
    Trace, Value,
};
use std::path::PathBuf;
use std::rc::Rc;

fn check(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, text).expect("the snapshot can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} differs; now it is:\n{text}");
}

fn style(width: usize) -> TextStyle {
    TextStyle { width, ..TextStyle::PLAIN }
}

// ---- litmus tests

fn states(list: &[(&[i64], u64, bool)]) -> Reached {
    let state = |(values, executions, satisfies): &(&[i64], u64, bool)| StateCount {
        values: values.to_vec(),
        executions: *executions,
        satisfies: *satisfies,
    };
    Reached::States(list.iter().map(state).collect())
}

fn result(model: Model, executions: u64, reached: Reached) -> ModelResult {
    ModelResult { model, executions, blocked: 0, failed: 0, complete: true, reached }
}

fn report(quantifier: Quantifier, vars: &[&str], results: Vec<ModelResult>) -> LitmusReport {
    LitmusReport {
        test: "SB".into(),
        file: "tests/litmus/SB.litmus".into(),
        vars: vars.iter().map(|var| (*var).to_owned()).collect(),
        condition: Some(ConditionText { quantifier, proposition: "0:r0=0 /\\ 1:r0=0".into() }),
        results,
    }
}

fn store_buffering(quantifier: Quantifier) -> LitmusReport {
    let strong = states(&[(&[0, 1], 1, false), (&[1, 0], 1, false), (&[1, 1], 1, false)]);
    let weak = |n: u64| states(&[(&[0, 0], n, true), (&[0, 1], 1, false), (&[1, 0], 1, false), (&[1, 1], 1, false)]);
    let mut pslo = result(Model::Pslo, 12_348, weak(12_345));
    (pslo.blocked, pslo.complete) = (7, false);
    let all = vec![
        result(Model::Sc, 3, strong),
        result(Model::Tso, 4, weak(1)),
        result(Model::Pso, 4, weak(1)),
        pslo,
        result(Model::C11, 2, Reached::Race(race_labels())),
    ];
    report(quantifier, &["0:r0", "1:r0"], all)
}

fn race_labels() -> Vec<FindingLabel> {
    let label = |function: &str, line, thread, access: &str| FindingLabel {
        label: Label { function: function.into(), file: "SB.litmus".into(), line, column: 3 },
        thread: ThreadId(thread),
        access: access.into(),
    };
    vec![label("P0", 5, 0, "write"), label("P1", 10, 1, "read")]
}

#[test]
fn states_of_a_test_under_five_models() {
    check("states.txt", &text::litmus(&store_buffering(Quantifier::Exists), style(100)));
    check("states-brief.txt", &text::litmus_brief(&store_buffering(Quantifier::Forall), style(100)));
}

#[test]
fn promises_are_kept_or_broken() {
    let text = [Quantifier::NotExists, Quantifier::Forall].map(|q| text::litmus(&store_buffering(q), style(100)));
    check("states-promises.txt", &text.join("\n"));
}

#[test]
fn a_narrow_terminal_gets_a_list() {
    let text = text::litmus(&store_buffering(Quantifier::Exists), style(40));
    assert!(text.lines().filter(|line| line.contains("r0=")).all(|line| line.chars().count() <= 40));
    check("states-narrow.txt", &text);
}

#[test]
fn colours_mark_what_matters() {
    let text = text::litmus(&store_buffering(Quantifier::Exists), TextStyle { colour: true, ..TextStyle::PLAIN });
    check("states-colour.txt", &text.replace('\x1b', "ESC"));
}

#[test]
fn lines_of_json() {
    let report = store_buffering(Quantifier::Exists);
    let mut text: String = report.results.iter().map(|result| litmus_json(&report, result, None) + "\n").collect();
    text += &(litmus_error_json("bad.litmus", None, 3, 7, "expected `;`") + "\n");
    check("litmus.json", &text);
}

#[test]
fn hostile_names_do_not_reach_the_terminal() {
    let mut report = store_buffering(Quantifier::Exists);
    report.test = "evil\x1b[2J\n".into();
    report.file = "\x07.litmus".into();
    assert!(!text::litmus(&report, style(100)).contains(|c: char| c.is_control() && c != '\n'));
}

// ---- executions

const SOURCE: &str = "C SB
{ [x]=0; [y]=0; }
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed); // announce
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
}
P1 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
}
";

struct SampleNames;

impl Describe for SampleNames {
    fn thread(&self, thread: ThreadId) -> String {
        format!("P{thread}")
    }
    fn statement(&self, label: &Label) -> Option<String> {
        statement_at(SOURCE, label.line, label.column)
    }
    fn source(&self, label: &Label) -> Option<String> {
        (label.file == "SB.litmus").then(|| SOURCE.to_owned())
    }
    fn location(&self, at: Location) -> String {
        if at.address == 0 { "x" } else { "y" }.to_owned()
    }
}

const X: Location = Location { address: 0, size: Size::B4 };
const Y: Location = Location { address: 16, size: Size::B4 };

fn store(at: Location) -> EventKind {
    EventKind::Store { at, order: StoreOrder::Relaxed, value: Value(1) }
}

fn load(at: Location, from: u32) -> EventKind {
    let value = Value(u128::from(from != 0));
    EventKind::Load { at, order: LoadOrder::Relaxed, value, from: EventId(from), parts: vec![], failed_rmw: false }
}

/// `steps`: thread, line (label), kind. `coherence`: the stores to x and to y.
fn trace(model: Model, steps: &[(u32, u32, EventKind)], x: &[u32], y: &[u32]) -> Trace {
    let lines = [4, 5, 8, 9];
    let event = |(i, (thread, line, kind)): (usize, &(u32, u32, EventKind))| Event {
        id: EventId(i as u32 + 1),
        thread: ThreadId(*thread),
        label: lines.iter().position(|l| l == line).expect("a line of the source") as u32,
        kind: kind.clone(),
        clock: vec![],
    };
    let list = |at: Location, stores: &[u32]| Coherence {
        address: at.address,
        bytes: 4,
        stores: stores.iter().map(|s| EventId(*s)).collect(),
    };
    Trace {
        model,
        outcome: Outcome::Finished,
        threads: 2,
        events: steps.iter().enumerate().map(event).collect(),
        coherence: vec![list(X, x), list(Y, y)],
        labels: lines.map(|line| Label { function: "P".into(), file: "SB.litmus".into(), line, column: 3 }).to_vec(),
        choices: vec![],
    }
}

fn shown(trace: &Trace, order: Order, races: &[(EventId, EventId)], style: TextStyle) -> String {
    let state = [("0:r0".to_owned(), "0".to_owned()), ("1:r0".to_owned(), "0".to_owned())];
    text::execution(
        &Execution { trace, order, describe: &SampleNames, races, state: &state, involved: &[], marks: &[] },
        style,
    )
}

fn buffers() -> Trace {
    let steps = [
        (0, 4, store(X)),
        (1, 8, store(Y)),
        (0, 5, load(Y, 0)),
        (1, 8, EventKind::Commit { store: EventId(2) }),
        (1, 9, load(X, 0)),
        (0, 4, EventKind::Commit { store: EventId(1) }),
    ];
    trace(Model::Tso, &steps, &[1], &[2])
}

#[test]
fn store_buffers_side_by_side() {
    check("execution-buffers.txt", &shown(&buffers(), Order::Executed, &[], style(100)));
    check("execution-wide.txt", &shown(&buffers(), Order::Executed, &[], style(160)));
}

/// Both loads read the initial value. Whatever the order, one of them is stale; the order of the trace would make
/// it the second one of P1.
#[test]
fn a_stale_read_and_a_race() {
    let steps = [(0, 4, store(X)), (0, 5, load(Y, 0)), (1, 8, store(Y)), (1, 9, load(X, 0))];
    let races = [(EventId(1), EventId(4))];
    check("execution-stale.txt", &shown(&trace(Model::C11, &steps, &[1], &[3]), Order::Graph, &races, style(100)));
}

/// P1 reads x from the initial value and y is read from P1: sequentially consistent, if P1 goes first.
#[test]
fn a_consistent_graph_is_shown_without_stale_reads() {
    let steps = [(0, 4, store(X)), (1, 8, store(Y)), (0, 5, load(Y, 2)), (1, 9, load(X, 0))];
    let text = shown(&trace(Model::Sc, &steps, &[1], &[2]), Order::Graph, &[], style(100));
    assert!(!text.contains("stale"), "{text}");
    check("execution-consistent.txt", &text);
}

#[test]
fn threads_share_a_column_where_there_is_no_room() {
    let mut trace = buffers();
    trace.outcome = Outcome::Failed { thread: ThreadId(1), failure: Failure::Crash };
    let text = shown(&trace, Order::Executed, &[], style(44));
    assert!(text.lines().all(|line| line.chars().count() <= 44), "{text}");
    check("execution-narrow.txt", &text);
}

// ---- findings

fn run(verdict: Verdict, findings: Vec<Finding>) -> RunReport {
    RunReport {
        fencepost: "0.1.0".into(),
        command: Command::Test,
        target: "SB.litmus".into(),
        model: Model::C11,
        seed: 1,
        verdict,
        complete: false,
        executions: 10_000,
        blocked: 3,
        failing_executions: findings.iter().map(|f| f.count).sum(),
        states: Some(4),
        coverage: None,
        seconds: 0.41,
        safety: None,
        restart: None,
        method: None,
        answers: None,
        findings,
        races: Vec::new(),
        suppressed: 0,
    }
}

fn data_race() -> Finding {
    Finding {
        id: 1,
        kind: FindingKind::DataRace,
        message: "the write in P0 at 5:3 and the read in P1 at 10:3 are not ordered: undefined behaviour".into(),
        count: 2_120,
        first_execution: 3,
        severity: Severity::Harmful,
        labels: race_labels(),
        stacks: Vec::new(),
        memory: None,
        reason: Vec::new(),
        fix: None,
        needs: None,
        first_met: None,
        replay: Some("fencepost-out/finding-1.json".into()),
    }
}

#[test]
fn a_run_that_found_something() {
    let report = run(Verdict::Fail, vec![data_race()]);
    let state = vec![("0:r0".to_owned(), "0".to_owned()), ("1:r0".to_owned(), "0".to_owned())];
    let execution = ShownExecution {
        trace: buffers(),
        order: Order::Executed,
        describe: Rc::new(SampleNames),
        races: Vec::new(),
        state,
        involved: Vec::new(),
        marks: Vec::new(),
    };
    check("run-fail.txt", &text::run(&report, &[execution.into()], &SampleNames, style(100)));
    check("run-fail.json", &report.to_json());
    assert_eq!(serde_json::from_str::<RunReport>(&report.to_json()).unwrap(), report);
}

#[test]
fn runs_that_found_nothing() {
    let mut complete = run(Verdict::Pass, vec![]);
    (complete.complete, complete.blocked) = (true, 0);
    let nothing_new = RunReport { coverage: Some(Seen::new([0, 7], 10_000)), ..run(Verdict::Pass, vec![]) };
    let some_new = RunReport { coverage: Some(Seen::new([0, 9_000, 9_500], 10_000)), ..run(Verdict::Pass, vec![]) };
    let reports = [complete, run(Verdict::Incomplete, vec![]), nothing_new, some_new];
    let text = reports.map(|report| text::run(&report, &[], &SampleNames, style(100)));
    check("run-pass.txt", &text.join("\n"));
}

/// Of 500 steps those matter that the failing thread took last, the store that it missed, and how it began.
#[test]
fn a_long_execution_is_cut_to_what_matters() {
    let mut steps = vec![(0, 4, store(X)), (0, 4, store(X))];
    steps.extend((0..400).map(|_| (1, 9, load(Y, 0))));
    steps.push((1, 9, load(X, 1)));
    steps.extend((0..100).map(|_| (2, 5, load(Y, 0))));
    let mut trace = trace(Model::C11, &steps, &[1, 2], &[]);
    trace.threads = 3;
    trace.outcome = Outcome::Failed { thread: ThreadId(1), failure: Failure::Assertion };
    let mark = Mark {
        after: 450,
        thread: ThreadId(1),
        label: Label { function: "P1".into(), file: "SB.litmus".into(), line: 9, column: 3 },
        remark: "fails".into(),
    };
    let shown = Execution {
        trace: &trace,
        order: Order::Executed,
        describe: &SampleNames,
        races: &[],
        state: &[],
        involved: &[ThreadId(1)],
        marks: &[mark],
    };
    let text = text::execution(&shown, style(100));
    assert!(!text.contains("P2"), "a thread that has no part in it has no column: {text}");
    check("execution-long.txt", &text);
}

// ---- findings in their source

/// The later access of a native race comes first; a file that is not there is named.
#[test]
fn source_lines_are_marked() {
    struct Native;
    impl Describe for Native {
        fn statement(&self, _: &Label) -> Option<String> {
            None
        }
        fn source(&self, label: &Label) -> Option<String> {
            (label.file == "SB.litmus").then(|| SOURCE.to_owned())
        }
        fn later_first(&self) -> bool {
            true
        }
    }
    let mut race = data_race();
    let mut text = text::finding(&race, 10_000, &Native, style(100));
    text +=
        &text::finding(&race, 10_000, &Native, TextStyle { colour: true, ..TextStyle::PLAIN }).replace('\x1b', "ESC");
    race.labels[1].label.file = "moved.c".into();
    text += &text::finding(&race, 10_000, &Native, style(100));
    race.labels[1].label = race.labels[0].label.clone();
    race.labels[0].label.column = 0;
    race.labels[1].label.column = 0;
    text += &text::finding(&race, 10_000, &Native, style(100));
    // Lines that the file no longer has.
    race.labels.iter_mut().for_each(|label| label.label.line = 900);
    text += &text::finding(&race, 10_000, &Native, style(100));
    check("finding-source.txt", &text);
}

#[test]
fn stacks_and_output_are_cut() {
    let call = |i: u32| Call {
        label: Label { function: format!("f{i}"), file: "queue.c".into(), line: i, column: 0 },
        inlined: i == 1,
    };
    let calls: Vec<Call> = (1..20).map(call).collect();
    let lines: String = (1..30).map(|i| format!("line {i}\x1b[2J\n")).collect();
    check(
        "stack.txt",
        &(text::stack("thread 1 (write):", &calls, style(100)) + &text::printed("stdout", &lines, style(100))),
    );
    assert_eq!(text::stack("thread 1", &[], style(100)) + &text::printed("stdout", "", style(100)), "");
}

/// Of a stack the program's own functions are shown, and what a library does inside itself on demand.
#[test]
fn calls_in_libraries_are_left_out() {
    struct Names;
    impl Describe for Names {
        fn statement(&self, _: &Label) -> Option<String> {
            None
        }
        fn is_library(&self, label: &Label) -> bool {
            label.file.is_empty() || label.file.starts_with("/usr/")
        }
    }
    let frame = |function: &str, file: &str| Label { function: function.into(), file: file.into(), line: 7, column: 0 };
    let stack = |title: &str, frames: Vec<Label>| FindingStack { title: title.into(), thread: ThreadId(0), frames };
    let mut race = data_race();
    race.stacks = vec![
        stack(
            "write by thread 0",
            vec![frame("new", "/usr/new.h"), frame("push", "q.cpp"), frame("run", "/usr/run.h")],
        ),
        stack("wait by thread 1", vec![frame("join", ""), frame("start", "")]),
    ];
    let short = text::finding(&race, 10_000, &Names, style(100));
    let lines = "  write by thread 0\n    push  q.cpp:7\n  wait by thread 1\n    join  :7\n  (calls in the standard \
                 libraries are left out: -v shows them)\n";
    assert!(short.contains(lines), "{short}");
    let whole = text::finding(&race, 10_000, &Names, TextStyle { whole: true, ..style(100) });
    assert!(whole.contains("    new  /usr/new.h:7\n    push  q.cpp:7\n    run  /usr/run.h:7\n"), "{whole}");
    assert!(!whole.contains("left out"), "{whole}");
}

#[test]
fn a_campaign_that_came_to_no_end_says_so() {
    let mut report = run(Verdict::Incomplete, vec![]);
    (report.blocked, report.states) = (report.executions, None);
    check("run-cut-off.txt", &text::run(&report, &[], &SampleNames, style(100)));
}

// ---- for machines

/// A race with an execution that is none of its own: SARIF has both places, and a flow for each thread, whose steps are
/// numbered as they happened.
#[test]
fn findings_for_machines() {
    let execution = ShownExecution {
        trace: buffers(),
        order: Order::Executed,
        describe: Rc::new(SampleNames),
        races: Vec::new(),
        state: Vec::new(),
        involved: Vec::new(),
        marks: Vec::new(),
    };
    let evidence = [execution.into()];
    let report = Report::Run(run(Verdict::Fail, vec![data_race()]));
    let document = Document { report: &report, evidence: &evidence, describe: &SampleNames };
    let render = |format: Format| format.render(&document, style(100));
    let json = serde_json::from_str(&render(Format::Json)).expect("JSON");
    Schema::new("report").holds(&json, "json");
    let sarif: serde_json::Value = serde_json::from_str(&render(Format::Sarif)).expect("JSON");
    let published = crate::common::published::sarif();
    published.iter().for_each(|schema| schema.holds(&sarif, "sarif"));
    let result = &sarif["runs"][0]["results"][0];
    let line = |place: &serde_json::Value| place["physicalLocation"]["region"]["startLine"].as_u64();
    assert_eq!((line(&result["locations"][0]), line(&result["relatedLocations"][0])), (Some(5), Some(10)));
    let flows = result["codeFlows"][0]["threadFlows"].as_array().expect("a list");
    let steps = flows.iter().flat_map(|flow| flow["locations"].as_array().expect("a list"));
    let mut orders: Vec<u64> = steps.filter_map(|step| step["executionOrder"].as_u64()).collect();
    orders.sort_unstable();
    assert_eq!((flows.len(), orders), (2, (1..=6).collect()));
    // Both loads read the initial value, and so come before the store that they did not see.
    assert_eq!(render(Format::Dot).matches("label=\"fr\"").count(), 2);
    check("run-fail.xml", &render(Format::Junit));
    let nothing = Report::Run(run(Verdict::Pass, vec![]));
    let document = Document { report: &nothing, evidence: &[], ..document };
    let sarif = serde_json::from_str(&Format::Sarif.render(&document, style(100))).expect("JSON");
    published.iter().for_each(|schema| schema.holds(&sarif, "nothing"));
    let junit = Format::Junit.render(&document, style(100));
    crate::common::junit::holds(&junit, "nothing");
    assert!(junit.contains("failures=\"0\""), "{junit}");
}

/// Every kind of finding, so that none is forgotten when another is added: the compiler asks for it here.
fn kinds() -> Vec<FindingKind> {
    use FindingKind::*;
    let after = |kind: FindingKind| match kind {
        DataRace => Some(Assertion),
        Assertion => Some(Abort),
        Abort => Some(Crash),
        Crash => Some(Panic),
        Panic => Some(Deadlock),
        Deadlock => Some(Livelock),
        Livelock => Some(UseAfterFree),
        UseAfterFree => Some(DoubleFree),
        DoubleFree => Some(HeapOverflow),
        HeapOverflow => Some(MutexMisuse),
        MutexMisuse => Some(UninitialisedRead),
        UninitialisedRead => Some(Leak),
        Leak => Some(ScViolation),
        ScViolation => Some(SpecViolation),
        SpecViolation => Some(ExitStatus),
        ExitStatus => None,
    };
    std::iter::successors(Some(DataRace), |kind| after(*kind)).collect()
}

/// A finding of a kind with all that a finding can have, and text that each format has to quote.
fn with_everything(kind: FindingKind, severity: Severity) -> Finding {
    let needs = Needs { context_switches: 2, stale_reads: 1, delayed_stores: 0, operations: 12 };
    let frame = Label { function: "Queue<int>::push".into(), file: "src/a b&c.h".into(), line: 7, column: 0 };
    Finding {
        kind,
        severity,
        message: format!("a <{kind}> & \"more\" \u{1}"),
        labels: [race_labels(), vec![FindingLabel { label: Label::default(), ..race_labels()[0].clone() }]].concat(),
        stacks: vec![FindingStack {
            title: "thread 1".into(),
            thread: ThreadId(1),
            frames: vec![frame, Label::default()],
        }],
        memory: Some(FindingMemory {
            text: "8 bytes into a block of 32 bytes".into(),
            kind: MemoryKind::Heap,
            name: String::new(),
            offset: -8,
            size: 32,
            thread: Some(ThreadId(1)),
        }),
        reason: vec!["because".into()],
        fix: Some(Fix { text: "make the store at queue.h:7 release".into(), executions: 1_000 }),
        needs: Some(needs),
        first_met: Some(FirstMet { needs, tried: 40, replay: Some("out/finding-1-first.json".into()) }),
        ..data_race()
    }
}

/// JSON and SARIF of every kind of finding are as their published schemas say, and JUnit XML is as CI systems share it:
/// of a finding with all that it can have, and of one with nothing but what it must have.
#[test]
fn every_kind_of_finding_is_valid_for_machines() {
    let published = crate::common::published::sarif();
    let ours = Schema::new("report");
    let mark = Mark { after: 3, thread: ThreadId(1), label: Label::default(), remark: "fails".into() };
    let execution = ShownExecution {
        trace: buffers(),
        order: Order::Executed,
        describe: Rc::new(SampleNames),
        races: vec![(EventId(1), EventId(5))],
        state: Vec::new(),
        involved: Vec::new(),
        marks: vec![mark],
    };
    for kind in kinds() {
        let severities = [Severity::Harmful, Severity::Benign, Severity::Infeasible, Severity::Unknown];
        let full = severities.map(|severity| with_everything(kind, severity));
        let bare = Finding { kind, count: 0, labels: Vec::new(), replay: None, ..data_race() };
        let findings: Vec<Finding> = full.into_iter().chain([bare]).collect();
        let evidence: Vec<Evidence> = findings.iter().map(|_| execution.clone().into()).collect();
        let report = Report::Run(run(Verdict::Fail, findings));
        for evidence in [&evidence[..], &[]] {
            let document = Document { report: &report, evidence, describe: &SampleNames };
            let render = |format: Format| format.render(&document, style(100));
            let read = |format| serde_json::from_str(&render(format)).expect("JSON");
            ours.holds(&read(Format::Json), &format!("{kind} as JSON"));
            if let Some(published) = &published {
                published.holds(&read(Format::Sarif), &format!("{kind} as SARIF"));
            }
            crate::common::junit::holds(&render(Format::Junit), &format!("{kind} as JUnit XML"));
        }
    }
}

/// The schema that SARIF is held against is the whole one, and would not take what is wrong in any part of it.
#[test]
fn the_schema_of_sarif_refuses_what_is_wrong() {
    let Some(published) = crate::common::published::sarif() else { return };
    let report = Report::Run(run(Verdict::Fail, vec![with_everything(FindingKind::DataRace, Severity::Harmful)]));
    let document = Document { report: &report, evidence: &[], describe: &SampleNames };
    let right: serde_json::Value = serde_json::from_str(&Format::Sarif.render(&document, style(100))).expect("JSON");
    assert!(published.accepts(&right));
    let wrong = |place: &str, value: serde_json::Value| {
        let mut document = right.clone();
        let (outer, name) = place.rsplit_once('/').expect("a place");
        document.pointer_mut(outer).expect("a part").as_object_mut().expect("an object").insert(name.into(), value);
        assert!(!published.accepts(&document), "{place}");
    };
    wrong("/version", "2.0.0".into());
    wrong("/runs/0/tool", serde_json::json!({}));
    wrong("/runs/0/columnKind", "bytes".into());
    wrong("/runs/0/results/0/level", "fatal".into());
    wrong("/runs/0/results/0/message", serde_json::json!({}));
    wrong("/runs/0/results/0/comment", "no such field".into());
    wrong("/runs/0/results/0/locations/0/physicalLocation/region/startLine", 0.into());
    wrong("/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri", "a b.c".into());
}

/// What the check of JUnit XML refuses.
#[test]
fn junit_that_is_wrong_is_refused() {
    let report = Report::Run(run(Verdict::Fail, vec![data_race()]));
    let document = Document { report: &report, evidence: &[], describe: &SampleNames };
    let right = Format::Junit.render(&document, style(100));
    crate::common::junit::holds(&right, "as it is");
    let changes = [
        ("failures=\"1\"", "failures=\"2\""),
        ("<testcase name=", "<testcase title="),
        ("<failure ", "<problem "),
        ("--&gt;", "<"),
        ("</testcase>", ""),
        ("time=\"0.410\"", "time=\"soon\""),
    ];
    for (part, other) in changes {
        assert!(right.contains(part), "{part}");
        let wrong = right.replacen(part, other, 1);
        assert!(
            std::panic::catch_unwind(|| crate::common::junit::holds(&wrong, "changed")).is_err(),
            "{part}: {wrong}"
        );
    }
}

/// What an execution needs is said in words, with what the first one had.
#[test]
fn what_is_essential_is_said() {
    let needs = |context_switches, stale_reads, delayed_stores, operations| Needs {
        context_switches,
        stale_reads,
        delayed_stores,
        operations,
    };
    let said = |finding: Finding| text::finding(&finding, 10_000, &SampleNames, style(100));
    let first = FirstMet { needs: needs(17, 4, 0, 143), tried: 90, replay: Some("out/finding-1-first.json".into()) };
    let short = said(Finding { needs: Some(needs(2, 1, 0, 12)), first_met: Some(first), ..data_race() });
    let line = "  needs 1 stale read and 2 context switches, in 12 operations (met first: 4 stale reads and 17\n  \
                context switches, 143 operations)\n";
    assert!(short.contains(line), "{short}");
    assert!(short.contains("  as it was met first: fencepost replay out/finding-1-first.json\n"), "{short}");
    let all = said(Finding { needs: Some(needs(1, 2, 1, 9)), ..data_race() });
    assert!(all.contains("needs 2 stale reads, 1 delayed store and 1 context switch, in 9 operations\n"), "{all}");
    let none = said(Finding { needs: Some(needs(0, 0, 0, 1)), ..data_race() });
    assert!(none.contains("needs no context switch, in 1 operation\n"), "{none}");
}

/// The same read again and again is one row, and a row in another file than the others says which.
#[test]
fn a_read_that_is_repeated_is_one_row() {
    let mut steps = vec![(0, 4, store(X))];
    steps.extend((0..16).map(|_| (1, 9, load(Y, 0))));
    steps.push((1, 9, load(X, 1)));
    let mut trace = trace(Model::C11, &steps, &[1], &[]);
    let other = trace.events[0].label as usize;
    trace.labels[other].file = "include/other.h".into();
    let shown = Execution {
        trace: &trace,
        order: Order::Executed,
        describe: &SampleNames,
        races: &[],
        state: &[],
        involved: &[],
        marks: &[],
    };
    let text = text::execution(&shown, style(100));
    assert!(text.contains(", ×16"), "{text}");
    assert_eq!(text.matches("from the initial value").count(), 1, "{text}");
    assert!(text.contains("#2 ") && !text.contains("#3 ") && text.contains("#18 "), "{text}");
    assert!(text.contains("other.h:"), "{text}");
}

/// On a terminal of 80 columns, and without colours, no line of a finding is longer than that, and nothing is lost.
#[test]
fn a_finding_fits_a_terminal() {
    let mut finding = with_everything(FindingKind::UseAfterFree, Severity::Harmful);
    finding.labels.clear();
    finding.memory.as_mut().expect("there is one").text =
        "8 bytes into a block of 32 bytes that thread 1 allocated at a/rather/long/path/to/queue.h:117".into();
    finding.reason = vec![
        "thread 1's relaxed load of head.next.version at a/rather/long/path/to/queue.h:118 read 0, \
                           although thread 2 had written 1 at a/rather/long/path/to/queue.h:97"
            .into(),
    ];
    let narrow = text::finding(&finding, 10_000, &SampleNames, style(80));
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&narrow), words(&text::finding(&finding, 10_000, &SampleNames, style(200))));
}

/// What another thread did not see is shown, however long the execution: here P0, which the finding is not about.
#[test]
fn a_stale_read_of_another_thread_is_shown() {
    let mut steps = vec![(1, 8, store(Y)), (0, 5, load(Y, 0))];
    steps.extend((0..100).map(|_| (1, 9, store(X))));
    let stores: Vec<u32> = (3..103).collect();
    let mut trace = trace(Model::C11, &steps, &stores, &[1]);
    trace.outcome = Outcome::Failed { thread: ThreadId(1), failure: Failure::Assertion };
    let shown = Execution {
        trace: &trace,
        order: Order::Executed,
        describe: &SampleNames,
        races: &[],
        state: &[],
        involved: &[ThreadId(1)],
        marks: &[],
    };
    let text = text::execution(&shown, style(100));
    assert!(text.contains("stale: #1 wrote y = 1 before"), "{text}");
}
