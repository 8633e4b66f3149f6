//! What a hunt says, compared with files in `snapshots/`. `UPDATE_SNAPSHOTS=1 cargo test -p fencepost-report` writes
//! them anew; the difference is then for review.

use fencepost_report::text::{self, TextStyle};
use fencepost_report::{
    Command, Describe, Document, FenceAdvice, FenceKind, Format, HuntCycle, HuntFinding, HuntMethod, HuntReport,
    Report, Verdict, VerifiedBy,
};
use fencepost_trace::{Action, Finding, FindingKind, FindingLabel, Label, Model, Severity, ThreadId};
use std::path::PathBuf;

fn check(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, text).expect("the snapshot can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{name} differs");
}

/// Dekker's entry, whose source is known line by line.
struct Dekker;

impl Describe for Dekker {
    fn statement(&self, label: &Label) -> Option<String> {
        Some(if label.line.is_multiple_of(10) { "mine = 1;" } else { "while (theirs)" }.to_owned())
    }
}

fn label(line: u32, thread: u32, access: Action) -> FindingLabel {
    let label = Label { function: "enter".into(), file: "src/dekker.c".into(), line, column: 5 };
    FindingLabel { label, thread: ThreadId(thread), access }
}

/// Store buffering between two threads at these lines.
fn cycle(lines: [u32; 2], outcome: Severity) -> HuntCycle {
    let pair = |line: u32, thread| [label(line, thread, Action::Write), label(line + 1, thread, Action::Read)];
    let (exposed, harmful) = match outcome {
        Severity::Harmful => (24, 21),
        Severity::Benign => (30, 0),
        Severity::Infeasible | Severity::Unknown => (0, 0),
    };
    HuntCycle {
        labels: pair(lines[0], 1).into_iter().chain(pair(lines[1], 2)).collect(),
        length: 4,
        longer: false,
        models: vec![Model::Tso, Model::Pso, Model::Pslo],
        trials: 30,
        exposed,
        harmful,
        probability: exposed as f64 / 30.0,
        outcome,
        method: (exposed > 0).then_some(HuntMethod::Solved),
        harm: (harmful > 0).then(|| "assertion: assertion 'inside == 1' failed in enter".to_owned()),
    }
}

/// The finding of a cycle that was brought about.
fn violation(id: u32, cycle: &HuntCycle) -> HuntFinding {
    let finding = Finding {
        id,
        kind: FindingKind::ScViolation,
        message: "accesses at lines 10, 11, 20, 21 form a happens-before cycle".into(),
        count: cycle.exposed,
        first_execution: 1,
        severity: cycle.outcome,
        labels: cycle.labels.clone(),
        stacks: Vec::new(),
        memory: None,
        reason: Vec::new(),
        fix: None,
        needs: None,
        first_met: None,
        replay: Some(format!("fencepost-out/finding-{id}.json")),
    };
    HuntFinding { finding, cycle: (0..cycle.labels.len() as u32).collect() }
}

fn report(verdict: Verdict, cycles: Vec<HuntCycle>, fences: Vec<FenceAdvice>) -> HuntReport {
    let real = cycles.iter().filter(|cycle| cycle.exposed > 0);
    HuntReport {
        fencepost: "0.1.0".into(),
        command: Command::Hunt,
        target: "dekker.c".into(),
        model: Model::Tso,
        seed: 1,
        verdict,
        complete: verdict != Verdict::Incomplete,
        settled: verdict != Verdict::Incomplete,
        campaign: if verdict == Verdict::Incomplete { 400 } else { 0 },
        executions: 1_234,
        blocked: 2,
        seconds: 0.5,
        prediction_seconds: 0.01,
        findings: real.enumerate().map(|(i, cycle)| violation(i as u32 + 1, cycle)).collect(),
        cycles,
        fences,
    }
}

fn fence(verified: bool) -> FenceAdvice {
    FenceAdvice {
        advice: "dekker.c:11: full fence right before the load of this line, each time".into(),
        file: "src/dekker.c".into(),
        line: 11,
        before: true,
        order: FenceKind::Full,
        pairs: vec![(10, 11)],
        verified,
        by: verified.then_some(VerifiedBy::Explored),
        reads: None,
    }
}

/// JSON, SARIF and JUnit XML are as their published schemas say.
fn valid_for_machines(document: &Document<'_>) {
    let read = |format: Format| serde_json::from_str(&format.render(document, TextStyle::PLAIN)).expect("JSON");
    crate::common::schema::Schema::new("report").holds(&read(Format::Json), "json");
    crate::common::published::sarif().iter().for_each(|schema| schema.holds(&read(Format::Sarif), "sarif"));
    crate::common::junit::holds(&Format::Junit.render(document, TextStyle::PLAIN), "junit");
}

/// One violation of each kind: the harmful one is shown with its accesses and its remedy, the benign one in a line, the
/// infeasible one only counted.
#[test]
fn violations_that_break_the_program_come_first() {
    let cycles = vec![
        cycle([10, 20], Severity::Harmful),
        cycle([30, 40], Severity::Benign),
        cycle([50, 60], Severity::Infeasible),
    ];
    let report = report(Verdict::Fail, cycles, vec![fence(true)]);
    check("hunt-fail.txt", &text::hunt(&report, &Dekker, TextStyle::PLAIN));
    check("hunt-fail.json", &report.to_json());
    assert_eq!(serde_json::from_str::<HuntReport>(&report.to_json()).unwrap(), report);
    // Both formats render the same values, by the same way as the command.
    let both = Report::Hunt(report.clone());
    let document = Document { report: &both, evidence: &[], describe: &Dekker };
    assert_eq!(Format::Text.render(&document, TextStyle::PLAIN), text::hunt(&report, &Dekker, TextStyle::PLAIN));
    assert_eq!(Format::Json.render(&document, TextStyle::PLAIN), report.to_json());
    valid_for_machines(&document);
}

/// The sentence at the end, for none, one that does no harm, several, and a hunt that a limit stopped.
#[test]
fn the_conclusion_counts_what_is_real() {
    let benign = || cycle([30, 40], Severity::Benign);
    let infeasible = || cycle([50, 60], Severity::Infeasible);
    let reports = [
        report(Verdict::Pass, vec![], vec![]),
        report(Verdict::Pass, vec![infeasible()], vec![]),
        report(Verdict::Pass, vec![benign(), infeasible()], vec![]),
        report(
            Verdict::Incomplete,
            vec![benign(), cycle([32, 42], Severity::Benign), cycle([52, 62], Severity::Unknown)],
            vec![],
        ),
    ];
    for report in &reports {
        let report = Report::Hunt(report.clone());
        valid_for_machines(&Document { report: &report, evidence: &[], describe: &Dekker });
    }
    let text = reports.map(|report| text::hunt(&report, &Dekker, TextStyle::PLAIN));
    check("hunt-pass.txt", &text.join("\n"));
}

/// Five harmful violations are shown in full and the rest in lines; advice that was not verified says so.
#[test]
fn many_violations_are_listed() {
    let cycles = (0..8).map(|i| cycle([10 + 20 * i, 20 + 20 * i], Severity::Harmful)).collect();
    let text = text::hunt(&report(Verdict::Fail, cycles, vec![fence(false)]), &Dekker, TextStyle::PLAIN);
    assert_eq!(text.matches("violation that breaks the program:").count(), 5);
    check("hunt-many.txt", &text);
}

/// On a terminal of 80 columns no line is longer, and nothing is lost.
#[test]
fn a_narrow_terminal_shows_whole_lines() {
    let narrow = TextStyle { width: 80, ..TextStyle::PLAIN };
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let cycles = (0..8).map(|i| cycle([10 + 20 * i, 20 + 20 * i], Severity::Harmful)).collect();
    let reports = [
        report(Verdict::Fail, cycles, vec![fence(true)]),
        report(Verdict::Incomplete, vec![cycle([30, 40], Severity::Benign)], vec![fence(false)]),
    ];
    for report in reports {
        let text = text::hunt(&report, &Dekker, narrow);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(words(&text), words(&text::hunt(&report, &Dekker, TextStyle::PLAIN)));
    }
}
