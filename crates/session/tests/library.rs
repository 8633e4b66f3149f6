//! The library without the command line.

use fencepost_report::{Format, Report, Verdict, text::TextStyle};
use fencepost_session::{
    CheckRequest, Error, Event, HuntRequest, LitmusRequest, ReplayRequest, Rerun, TestRequest, Work,
};
use fencepost_trace::{FindingKind, Model, Severity};
use std::path::{Path, PathBuf};

#[allow(dead_code)]
#[path = "../examples/verdict.rs"]
mod verdict;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Message passing by relaxed accesses fails in every execution in which the reader sees the flag and not the data: as
/// a litmus test in its final state, as a program by its assertion. The seed is fixed, so that 500 executions always
/// contain one.
#[test]
fn the_example_says_what_the_command_says() {
    let lines = verdict::verdict(&example("message_passing.litmus")).unwrap();
    assert_eq!(lines[0], "at most 500 executions");
    assert_eq!(lines[1], "assertion: exists (1:r0=1 /\\ 1:r1=0) is reached: 1:r0=1 1:r1=0");
    assert_eq!(lines[2..], ["verdict: fail"]);
    let lines = verdict::verdict(&example("message_passing.c")).unwrap();
    assert_eq!(lines[1..], ["assertion: assertion 'seen == 42' failed in reader", "verdict: fail"]);
    let lines = verdict::verdict(&example("message_passing_fixed.c")).unwrap();
    assert_eq!(lines, ["at most 500 executions", "verdict: pass"]);
}

/// The name of an event, for their order.
fn name(event: &Event<'_>) -> Option<&'static str> {
    Some(match event {
        Event::Started(_) => "started",
        Event::Minimising { .. } => "minimising",
        Event::Finding(_) => "finding",
        Event::Cycle(_) => "cycle",
        Event::Litmus(_) => "litmus",
        Event::Safe(_) => "safe",
        Event::LitmusFailed { .. } => "failed",
        Event::Done(_) => "done",
        // How many of these there are is a matter of time and of the machine.
        Event::Progress(_) | Event::Remark(_) | Event::Collecting { .. } | Event::Collected { .. } => return None,
    })
}

#[test]
fn events_come_in_order_and_a_finding_can_be_replayed() {
    let directory = tempfile::tempdir().unwrap();
    let mut request = TestRequest::new(example("message_passing.litmus"));
    request.campaign.out = Some(directory.path().to_owned());
    let mut events = Vec::new();
    let outcome = fencepost_session::test(&request, &mut |event: Event<'_>| events.extend(name(&event))).unwrap();
    assert_eq!(events, ["started", "minimising", "finding", "done"]);
    let Report::Run(report) = &outcome.report else { panic!("test gives the report of a run") };
    assert_eq!((report.verdict, report.findings.len(), outcome.evidence.len()), (Verdict::Fail, 1, 1));
    assert!(outcome.unwritten.is_none());
    // What is on disk is what every format renders.
    let written = std::fs::read_to_string(directory.path().join("run.json")).unwrap();
    assert_eq!(written, Format::Json.render(&outcome.document(), TextStyle::PLAIN));
    let recording = PathBuf::from(report.findings[0].replay.as_ref().unwrap());
    let again = fencepost_session::replay(&ReplayRequest { recording, target: None, gdb: None }).unwrap();
    assert_eq!(again.finding.as_ref(), Some(&report.findings[0]));
    let Rerun::Traced(execution) = again.run else { panic!("a litmus test is short enough for a trace") };
    assert_eq!(execution.trace, outcome.evidence[0].execution.as_ref().unwrap().trace);
}

#[test]
fn nothing_is_written_unless_a_directory_is_named() {
    let outcome =
        fencepost_session::check(&CheckRequest::new(example("message_passing.litmus")), &mut |_: Event<'_>| {})
            .unwrap();
    assert_eq!(outcome.verdict(), Verdict::Fail);
    assert!(outcome.report.findings().iter().all(|finding| finding.replay.is_none()));
}

/// Without buffers that keep stores in order (pso) the flag can be seen before the data: one cycle, and it is harmful.
#[test]
fn a_hunt_tells_of_every_cycle() {
    let request = HuntRequest { model: Model::Pso, ..HuntRequest::new(example("message_passing.litmus")) };
    let mut events = Vec::new();
    let outcome = fencepost_session::hunt(&request, &mut |event: Event<'_>| events.extend(name(&event))).unwrap();
    let Report::Hunt(report) = &outcome.report else { panic!("hunt gives the report of a hunt") };
    assert_eq!((report.verdict, report.count(Severity::Harmful)), (Verdict::Fail, 1));
    assert_eq!(report.findings[0].finding.kind, FindingKind::ScViolation);
    assert_eq!(events.iter().filter(|event| **event == "cycle").count(), report.cycles.len());
    assert_eq!(events.last(), Some(&"done"));
}

#[test]
fn litmus_tests_are_told_of_in_the_order_in_which_they_were_named() {
    let request = LitmusRequest {
        files: vec!["no-such.litmus".into(), example("message_passing.litmus")],
        models: vec![Model::Sc],
        show: None,
        graphs: false,
        out: None,
        machine: false,
        buffer: None,
        work: Work::default(),
    };
    let mut events = Vec::new();
    let totals = fencepost_session::litmus(&request, &mut |event: Event<'_>| events.extend(name(&event))).unwrap();
    assert_eq!(events, ["failed", "litmus"]);
    assert_eq!((totals.files, totals.tests, totals.failed), (2, 1, 1));
}

#[test]
fn a_request_that_makes_no_sense_is_refused() {
    let mut request = TestRequest::new(example("message_passing.litmus"));
    request.buffer = Some(1);
    let refused = fencepost_session::test(&request, &mut |_: Event<'_>| {}).err();
    // c11 has no store buffers.
    assert!(matches!(refused, Some(Error::Usage(_))));
}
