//! Pages in a browser, gone through by `tests/browser/click.py`.

use super::left_out;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/click.py");
/// Debian's own: other ones do not see its packages.
const PYTHON: &str = "/usr/bin/python3";

/// Has a browser go through these pages, and says for each of them what was seen; `None` if there is no browser, or
/// nothing to drive it with.
pub fn clicked(pages: &[PathBuf]) -> Option<Vec<Json>> {
    seen(&[], pages)
}

/// The same, but nothing is done with executions.
pub fn opened(pages: &[PathBuf]) -> Option<Vec<Json>> {
    seen(&["--open"], pages)
}

fn seen(options: &[&str], pages: &[PathBuf]) -> Option<Vec<Json>> {
    let has_selenium =
        || Command::new(PYTHON).args(["-c", "import selenium"]).output().is_ok_and(|o| o.status.success());
    let tools =
        [("chromium-driver", Path::new("/usr/bin/chromedriver").exists()), ("python3-selenium", has_selenium())];
    for (tool, is_there) in tools {
        if !is_there {
            left_out(tool);
            return None;
        }
    }
    let output =
        Command::new(PYTHON).args([SCRIPT, "/usr/bin/chromium"]).args(options).args(pages).output().expect("it starts");
    let (lines, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{lines}{errors}");
    Some(lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
}

/// Nothing was wrong in the browser, what is folded can be opened, and each finding has an execution.
pub fn is_in_order(page: &Json, name: &str) {
    assert_eq!(page["console"], Json::Array(Vec::new()), "{name}");
    let findings = page["findings"].as_array().expect("a list");
    assert!(!findings.is_empty(), "{name}");
    for finding in findings {
        assert_ne!(finding["message"], "", "{name}");
        let folded = finding["folded"].as_array().expect("a list");
        assert!(folded.iter().all(|folded| *folded == false), "{name}: {folded:?}");
        assert!(finding["executions"].as_array().is_some_and(|executions| !executions.is_empty()), "{name}");
    }
}

/// And each execution can be gone through.
pub fn can_be_clicked_through(page: &Json, name: &str) {
    is_in_order(page, name);
    let executions =
        page["findings"].as_array().into_iter().flatten().flat_map(|finding| finding["executions"].as_array());
    executions.flatten().for_each(|execution| can_be_gone_through(execution, name));
}

fn can_be_gone_through(seen: &Json, name: &str) {
    // `step 3 of 18`: which, and of how many.
    let place = |what: &str| -> (u64, u64) {
        let text = seen[what][0].as_str().unwrap_or_else(|| panic!("{name}: {what}: {seen}"));
        let mut numbers = text.split(' ').filter_map(|word| word.replace(',', "").parse().ok());
        (numbers.next().expect("a step"), numbers.next().expect("a number of steps"))
    };
    let panel = |what: &str| seen[what][1].as_str().expect("a panel").to_owned();
    let (at, of) = place("opened");
    assert!(of > 1, "{name}: {seen}");
    let beside = if at > 1 { at - 1 } else { of };
    assert_eq!(place("clicked"), (beside, of), "{name}");
    let clicked = seen["clicked"][2].as_str().expect("the text of the step");
    assert!(panel("clicked").contains(clicked), "{name}: {clicked}: {}", panel("clicked"));
    assert_eq!(["home", "right", "left", "end", "back"].map(place), [1, 2, 1, of, of - 1].map(|at| (at, of)), "{name}");
    assert_eq!(panel("home"), panel("left"), "{name}");
    assert_ne!(panel("home"), panel("right"), "{name}");
    // With all steps there are no fewer of them, and the one at hand stays the same.
    assert!(place("everything").1 >= of, "{name}");
    assert!(seen["arrows"].as_u64().is_some_and(|arrows| arrows > 0), "{name}");
}
