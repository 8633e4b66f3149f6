//! The page for a browser, in a browser: what it shows, at which step, and that nothing goes wrong in it.

use crate::common::browser::{can_be_clicked_through, clicked};
use crate::common::{fencepost, left_out};
use std::path::Path;
use std::process::Command;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

/// The page as a browser has it when its script has run, and nothing has gone wrong in that.
fn opened(page: &Path, link: &str) -> Option<String> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let is_there = |name: &&&str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    let Some(browser) = names.iter().find(is_there) else {
        left_out("chromium");
        return None;
    };
    let profile = tempfile::tempdir().expect("a directory");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1200"])
        .args(["--virtual-time-budget=5000", "--enable-logging=stderr", "--v=0", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}{link}", page.display()))
        .output()
        .expect("the browser starts");
    let (page, messages) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{messages}");
    let console: Vec<&str> = messages.lines().filter(|line| line.contains(":CONSOLE")).collect();
    assert!(console.is_empty(), "{console:?}");
    // What stands in the data is not yet shown.
    let script = page.find("<script type=\"application/json\"").expect("the data");
    Some(page[..script].to_owned())
}

/// A finding of each kind that the commands have, as a person would look at it: everything that is folded is opened,
/// steps are clicked on, keys are pressed, and the panel says what it should.
#[test]
fn every_kind_of_finding_can_be_clicked_through() {
    let directory = tempfile::tempdir().expect("a directory");
    let kinds = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/kinds.c");
    let snapshot = format!("{EXAMPLES}/snapshot.c");
    let panics = "fn main() {\n    std::thread::spawn(|| panic!(\"no\")).join().unwrap();\n}\n";
    std::fs::write(directory.path().join("panics.rs"), panics).expect("a file");
    let of_kinds = [
        "data-race",
        "assertion",
        "abort",
        "crash",
        "deadlock",
        "livelock",
        "use-after-free",
        "double-free",
        "heap-overflow",
        "mutex-misuse",
        "exit-status",
    ];
    let mut runs: Vec<(&str, Vec<&str>)> = of_kinds.map(|kind| (kind, vec!["test", kinds])).into();
    runs.push(("sc-violation", vec!["hunt", kinds, "--no-fences"]));
    runs.push(("spec-violation", vec!["test", &snapshot, "--spec", "atomic"]));
    runs.push(("panic", vec!["test", "panics.rs"]));
    let mut pages = Vec::new();
    for (number, (kind, arguments)) in runs.iter().enumerate() {
        let page = directory.path().join(format!("{kind}.html"));
        let mut command = crate::common::command(directory.path());
        command.args(arguments).arg("--html").arg(&page).env("CFLAGS", format!("-DKIND={number}"));
        if arguments[0] == "test" {
            command.args(["--keep-going", "--executions", "50"]);
        }
        let run = crate::common::finish(&mut command);
        assert_eq!(run.status, 1, "{kind}: {}{}", run.stdout, run.stderr);
        pages.push(page);
    }
    let Some(seen) = clicked(&pages) else { return };
    assert_eq!(seen.len(), runs.len());
    let mut with_chart = 0;
    for (seen, (kind, _)) in seen.iter().zip(&runs) {
        let title = seen["findings"][0]["title"].as_str().expect("a title");
        assert!(title.starts_with(&format!("finding 1: {kind} ")), "{title}");
        can_be_clicked_through(seen, kind);
        // What was seen of the program, and where the finding was met.
        let charts = seen["charts"].as_array().expect("a list");
        assert!(charts.iter().all(|chart| chart.as_str().is_some_and(|text| text.contains("finding 1"))), "{charts:?}");
        with_chart += charts.len();
    }
    // A hunt has its table of cycles instead.
    assert_eq!(with_chart, runs.len() - 1);
}

/// Store buffering: which states there are under which models, and an execution of each beside those of the others. The
/// one that sequential consistency does not have is a cycle.
#[test]
fn executions_of_a_litmus_test_stand_side_by_side() {
    let directory = crate::common::copies(&["SB", "MP"]);
    let run = fencepost(directory.path(), &["litmus", "SB.litmus", "MP.litmus", "--html", "page.html"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let refused = fencepost(directory.path(), &["litmus", "SB.litmus", "--output", "sarif=x.sarif"]);
    assert!(refused.refused().contains("not sarif"), "{}", refused.stderr);
    let Some(seen) = clicked(&[directory.path().join("page.html")]) else { return };
    assert_eq!(seen[0]["console"], serde_json::json!([]));
    let tests = seen[0]["tests"].as_array().expect("a list");
    assert_eq!(tests.iter().map(|test| test["title"].as_str().unwrap()).collect::<Vec<_>>(), ["SB", "MP"]);
    let states = tests[0]["states"].as_array().expect("a list");
    assert_eq!(states.len(), 4, "two bits: {states:?}");
    for state in states {
        assert_eq!(state["chosen"], "chosen", "it was just clicked on");
        let row: Vec<&str> = state["row"].as_array().unwrap().iter().map(|cell| cell.as_str().unwrap()).collect();
        let both_old = row[..2] == ["0", "0"];
        for (model, column) in ["sc", "tso", "pso", "pslo", "c11"].iter().zip(3..) {
            let shown = &state["models"][model];
            let (words, steps, cycle) = (&shown[0], shown[1].as_array().unwrap(), shown[2].as_u64().unwrap());
            if both_old && *model == "sc" {
                assert_eq!((row[column], words, steps.len()), ("–", &serde_json::json!(["no execution ends so"]), 0));
            } else {
                assert!(row[column] != "–" && steps.len() >= 4, "{model}: {state}");
                assert_eq!(cycle >= 4, both_old, "{model}: {state}");
            }
        }
    }
}

/// How often a part of a class is there.
fn parts(page: &str, class: &str) -> usize {
    page.matches(&format!("<div class=\"{class}")).count()
}

/// What the panel says of the step at hand.
fn panel(page: &str) -> &str {
    let start = page.find("<div class=\"panel\"").expect("a panel");
    &page[start..]
}

#[test]
fn a_race_with_both_places_and_the_execution() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = format!("{EXAMPLES}/gallery/ms_queue.c");
    let run = fencepost(directory.path(), &["test", &program, "--html", "page.html", "--output", "sarif=x.sarif"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stdout.contains("data-race"), "text is still printed: {}", run.stdout);
    let sarif = std::fs::read_to_string(directory.path().join("x.sarif")).expect("the other report");
    assert!(sarif.contains("\"version\": \"2.1.0\""));
    let Some(page) = opened(&directory.path().join("page.html"), "") else { return };
    assert!(page.contains("finding 1: data-race"), "{page}");
    assert_eq!(page.matches("<pre class=\"source\">").count(), 3, "both places, and the step at hand: {page}");
    assert!(parts(&page, "step") > 3, "{page}");
    assert!(page.contains("fencepost replay fencepost-out/finding-1.json"));
    assert!(panel(&page).contains("what threads could read"), "{page}");
    // Below it is the execution that was met first, laid out when somebody looks at it.
    assert!(page.contains("as it was met first: ") && page.contains("<p class=\"needs\">needs "), "{page}");
    let first = opened(&directory.path().join("page.html"), "#finding-1/first").expect("it was just there");
    assert_eq!((page.matches("class=\"board\"").count(), first.matches("class=\"board\"").count()), (1, 2));
    // The same page from what the run has left.
    let made = fencepost(directory.path(), &["report", "fencepost-out", "-o", "again.html"]);
    assert_eq!((made.status, made.stdout.trim()), (0, "again.html"), "{}", made.stderr);
    let read = |name: &str| std::fs::read(directory.path().join(name)).expect("a page");
    assert!(read("page.html") == read("again.html"));
}

/// Store buffering under tso: where the second thread reads the old value of x, its own store is still in its buffer.
#[test]
fn a_link_leads_to_a_step_with_its_buffers() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/verdicts/assembly_fence.c");
    let mut command = crate::common::command(directory.path());
    command.args(["test", program, "--model", "tso", "--html", "page.html"]).env("CFLAGS", "-DWEAK");
    assert_eq!(crate::common::finish(&mut command).status, 1);
    let text = std::fs::read_to_string(directory.path().join("fencepost-out/page.json")).expect("the data");
    let data: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let steps = data["findings"][0]["execution"]["steps"].as_array().expect("steps").clone();
    let load = steps.iter().rfind(|step| step["k"] == "load" && step["at"] == "x").expect("a load of x");
    let number = &load["n"];
    let Some(page) = opened(&directory.path().join("page.html"), &format!("#finding-1/step-{number}")) else { return };
    let panel = panel(&page);
    assert!(panel.contains(&format!("<h3>#{number} · thread 2</h3>")), "{panel}");
    assert!(panel.contains("store buffers") && panel.contains("y = 1"), "{panel}");
    let other = opened(&directory.path().join("page.html"), "#finding-1/step-1").expect("it was just there");
    assert!(page != other && other.contains("<h3>#1 · thread 0</h3>"), "{other}");
}

/// Of a long execution only what can be seen is in the page.
#[test]
fn a_long_execution_is_not_a_long_page() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\nstatic atomic_int x;\n\
        static void *run(void *p) {\n    for (int i = 0; i < 5000; i++) atomic_fetch_add(&x, 1);\n    return p;\n}\n\
        int main(void) {\n    pthread_t t;\n    pthread_create(&t, 0, run, 0);\n    run(0);\n    \
        pthread_join(t, 0);\n    assert(x != 10000);\n}\n";
    std::fs::write(directory.path().join("long.c"), program).expect("a file");
    let run = fencepost(directory.path(), &["test", "long.c", "--model", "sc", "--html", "page.html"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let Some(page) = opened(&directory.path().join("page.html"), "#finding-1/step-5000") else { return };
    assert!(page.contains("#5000 · "), "{}", panel(&page));
    assert!((5..200).contains(&parts(&page, "step")), "{}", parts(&page, "step"));
}

#[test]
fn what_cannot_be_written_or_read_is_said_at_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = format!("{EXAMPLES}/message_passing.c");
    std::fs::write(directory.path().join("file"), "").expect("a file");
    let refused = fencepost(directory.path(), &["test", &program, "--html", "file/page.html"]);
    assert!(refused.refused().contains("cannot write file"), "{}", refused.stderr);
    let unknown = fencepost(directory.path(), &["test", &program, "--output", "pdf=x.pdf"]);
    assert_eq!(unknown.status, 2);
    let nothing = fencepost(directory.path(), &["report", "nowhere"]);
    assert!(nothing.refused().contains("nowhere/run.json: cannot be read"), "{}", nothing.stderr);
}

/// Nothing was found: the page says so.
#[test]
fn a_run_without_findings_has_a_page_too() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = format!("{EXAMPLES}/message_passing_fixed.c");
    let run = fencepost(directory.path(), &["test", &program, "--executions", "100"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let made = fencepost(directory.path(), &["report"]);
    assert_eq!((made.status, made.stdout.trim()), (0, "fencepost-out/report.html"), "{}", made.stderr);
    let Some(page) = opened(&directory.path().join("fencepost-out/report.html"), "") else { return };
    assert!(page.contains("100 executions, 0 findings"), "{page}");
}
