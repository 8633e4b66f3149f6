//! JUnit XML: what CI systems list tests from.
//!
//! One suite for the command. A finding is a test case that failed, with the text report as its content; a command that
//! found nothing is one test case that passed, or was skipped if a limit stopped it.

use crate::text::{self, TextStyle};
use crate::xml::{attribute, escaped};
use crate::{Document, Verdict};
use fencepost_trace::{Finding, Severity};

pub fn render(document: &Document<'_>, _: TextStyle) -> String {
    let report = document.report;
    let findings = report.findings();
    let harmful = findings.iter().filter(|finding| finding.severity == Severity::Harmful).count();
    let name = format!("fencepost {} {} under {}", report.command(), report.target(), report.model());
    let mut cases: Vec<String> = (findings.iter().enumerate())
        .map(|(i, finding)| case(document, finding, document.evidence.get(i), &name))
        .collect();
    let mut skipped = 0;
    if findings.is_empty() {
        let head = format!("    <testcase{}{}", attribute("name", &name), attribute("classname", "fencepost"));
        let time = attribute("time", &seconds(report.seconds()));
        cases.push(match report.verdict() {
            Verdict::Incomplete => {
                skipped = 1;
                let why = "nothing found, but not everything was covered";
                format!("{head}{time}>\n      <skipped{}/>\n    </testcase>\n", attribute("message", why))
            }
            _ => format!("{head}{time}/>\n"),
        });
    }
    let counts = format!(
        "{}{}{}{}",
        attribute("tests", &cases.len().to_string()),
        attribute("failures", &harmful.to_string()),
        attribute("errors", "0"),
        attribute("time", &seconds(report.seconds())),
    );
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites{}{counts}>\n  <testsuite{}{counts}{}>\n{}  \
         </testsuite>\n</testsuites>\n",
        attribute("name", "fencepost"),
        attribute("name", &name),
        attribute("skipped", &skipped.to_string()),
        cases.concat(),
    )
}

fn case(document: &Document<'_>, finding: &Finding, evidence: Option<&crate::Evidence>, class: &str) -> String {
    let place = finding.labels.first().map_or_else(String::new, |label| {
        let label = &label.label;
        if label.line > 0 { format!(" at {}:{}", label.file, label.line) } else { String::new() }
    });
    let name = format!("finding {}: {}{place}", finding.id, finding.kind);
    let executions = document.report.executions();
    let mut body = text::finding(finding, executions, document.describe, TextStyle::PLAIN);
    if let Some(evidence) = evidence {
        body.push('\n');
        body += &text::evidence(evidence, TextStyle::PLAIN);
    }
    let head =
        format!("    <testcase{}{}{}", attribute("name", &name), attribute("classname", class), attribute("time", "0"));
    match finding.severity {
        Severity::Harmful => format!(
            "{head}>\n      <failure{}{}>{}</failure>\n    </testcase>\n",
            attribute("message", &finding.message),
            attribute("type", &finding.kind.to_string()),
            escaped(&body),
        ),
        _ => format!("{head}>\n      <system-out>{}</system-out>\n    </testcase>\n", escaped(&body)),
    }
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.3}")
}
