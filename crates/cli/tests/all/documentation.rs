//! The commands that the documentation shows work: each is run as it stands, in a directory that has what they name.

use crate::common::{command, fencepost, finish};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `queue.c` and `./queue`, a package, and what of the repository is named.
fn place() -> TempDir {
    let place = tempfile::tempdir().expect("a directory");
    let at = |name: &str| place.path().join(name);
    let whole = repository().canonicalize().expect("the repository is there");
    for name in ["examples", "tests"] {
        std::os::unix::fs::symlink(whole.join(name), at(name)).expect("a link");
    }
    // It has operations for --spec, and a bug to be replayed.
    fs::copy(repository().join("examples/gallery/ms_queue.c"), at("queue.c")).expect("the example is there");
    fs::create_dir(at("src")).expect("a directory");
    fs::write(at("src/main.rs"), "fn main() {}\n").expect("a file");
    let manifest = "[package]\nname = \"package\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    fs::write(at("Cargo.toml"), manifest).expect("a file");
    let include = String::from_utf8(finish(command(place.path()).arg("include")).stdout.into_bytes()).expect("UTF-8");
    let build = fencepost(place.path(), &["cc", "-g", "-O1", "-I", include.trim(), "queue.c", "-o", "queue"]);
    assert_eq!(build.status, 0, "{}", build.stderr);
    place
}

/// The commands of a document, in order, without what is said about them.
fn commands(document: &Path) -> Vec<String> {
    let text = fs::read_to_string(document).expect("a document");
    let lines = text.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| line.starts_with("fencepost "));
    lines.map(|line| line.split("  #").next().unwrap_or(line).trim_end().to_owned()).collect()
}

/// The documents: README and what is in `docs`.
fn documents() -> Vec<PathBuf> {
    let mut documents = vec![repository().join("README.md")];
    let docs = fs::read_dir(repository().join("docs")).expect("a directory");
    documents
        .extend(docs.map(|entry| entry.expect("a file").path()).filter(|path| path.extension() == Some("md".as_ref())));
    documents[1..].sort();
    documents
}

/// What a document shows of a terminal: a command, with variables of the environment before it, and lines of what it
/// prints.
fn shown(document: &Path) -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(document).expect("a document");
    let mut shown: Vec<(String, Vec<String>)> = Vec::new();
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        for line in block.lines() {
            match (line.strip_prefix("$ "), shown.last_mut()) {
                (Some(command), _) => shown.push((command.to_owned(), Vec::new())),
                (None, Some((_, lines))) => lines.push(line.trim().to_owned()),
                (None, None) => panic!("{}: output without a command: {line}", document.display()),
            }
        }
    }
    shown
}

/// Every line that a document shows is printed by the command above it, in this order. Lines that say how long
/// something took, and dots for what is left out, are not compared.
#[test]
fn what_the_documentation_shows_is_what_is_printed() {
    let place = place();
    let mut count = 0;
    for document in documents() {
        for (line, expected) in shown(&document) {
            let mut words: Vec<&str> = line.split_whitespace().collect();
            let name = words.iter().position(|word| *word == "fencepost").expect("a command of fencepost");
            let mut command = command(place.path());
            let variables: Vec<&str> = words.drain(..=name).collect();
            for variable in &variables[..name] {
                let (name, value) = variable.split_once('=').expect("NAME=VALUE");
                command.env(name, value);
            }
            let output = finish(command.args(&words));
            let mut printed = output.stdout.lines().map(str::trim);
            for line in expected.iter().filter(|line| !line.is_empty() && *line != "…") {
                let found = printed.any(|printed| printed == line);
                assert!(found, "{}: {line}\n{}{}", document.display(), output.stdout, output.stderr);
                count += 1;
            }
        }
    }
    assert!(count >= 30, "{count}");
}

/// None of them is refused: exit status 2 says that a command, an option or a file is not what it should be.
#[test]
fn the_commands_of_the_documentation_work() {
    let place = place();
    let mut seen = Vec::new();
    for document in documents() {
        for line in commands(&document) {
            if seen.contains(&line) || (line.contains("--gdb") && !crate::common::have("gdb")) {
                continue;
            }
            if line.contains("finding-1") {
                // Every run has its own findings: this is one with a finding.
                assert_eq!(fencepost(place.path(), &["test", "queue.c"]).status, 1);
            }
            // A limit of time is used up.
            let short = line.replace("--time 5m", "--time 2s");
            let arguments: Vec<&str> = short.split_whitespace().skip(1).collect();
            let output = fencepost(place.path(), &arguments);
            assert_ne!(output.status, 2, "{}: {line}\n{}{}", document.display(), output.stdout, output.stderr);
            seen.push(line);
        }
    }
    // Were they not recognised any more, there would be none.
    assert!(seen.len() >= 15, "{seen:?}");
}
