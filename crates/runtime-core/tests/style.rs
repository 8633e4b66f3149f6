//! How the sources and documents of the whole repository are written, as far as a program can tell.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines of code, comments and documents are no longer than this.
const WIDTH: usize = 120;

/// Data that is not written here or not by hand: what herd7 printed and the tests that it read, what reports are held
/// against, what Cargo writes.
const DATA: [&str; 3] = ["tests/oracle", "crates/report/tests/snapshots", "Cargo.lock"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is above this crate")
}

fn collect(directory: &Path, root: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(directory).expect("the repository can be read") {
        let path = entry.expect("a directory can be read").path();
        let name = path.strip_prefix(root).expect("it was found there").to_str().expect("a name").to_owned();
        let own = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let hidden = own.starts_with('.') && own != ".ci" && own != ".github";
        if hidden || own == "target" || own == "fencepost-out" || DATA.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            collect(&path, root, found);
        } else if let Ok(text) = fs::read_to_string(&path) {
            // What is not text is no concern of ours.
            found.push((name, text));
        }
    }
}

/// Every text of the repository, by name.
fn texts() -> Vec<(String, String)> {
    let (root, mut found) = (root(), Vec::new());
    collect(&root, &root, &mut found);
    assert!(found.len() > 500, "the repository has more files than {}", found.len());
    found
}

/// Is this the file with the lists of what is not written?
fn is_this(name: &str) -> bool {
    name.ends_with("runtime-core/tests/style.rs")
}

fn fail_with(found: &[String]) {
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn lines_are_short() {
    let mut long = Vec::new();
    for (name, text) in texts().iter().filter(|(name, _)| !name.ends_with(".litmus")) {
        for (number, line) in text.lines().enumerate() {
            let width = line.chars().count();
            if width > WIDTH {
                long.push(format!("{name}:{}: {width} columns", number + 1));
            }
        }
    }
    fail_with(&long);
}

/// Words that only we used, with those of the field that took their place. As names and in sentences alike.
const PRIVATE: [(&str, &str); 18] = [
    ("course", "schedule"),
    ("mood", "read bias"),
    ("stretch", "phase"),
    ("stretches", "phases"),
    ("stubborn", "no-yield"),
    ("lender", "donor thread"),
    ("lenders", "donor threads"),
    ("spot", "access site"),
    ("spots", "access sites"),
    ("quarry", "subject"),
    ("prey", "trial"),
    ("stray", "sample"),
    ("beyond", "irreversible, or past"),
    ("deed", "action"),
    ("deeds", "actions"),
    ("spoilt", "tainted"),
    ("guilty", "root cause"),
    ("blame", "root cause"),
];

/// Sayings, as they stand in a line.
const SAYINGS: [(&str, &str); 3] = [
    ("for ever ", "forever"),
    ("happen before each other", "form a happens-before cycle"),
    ("chase ", "search (the deque of Chase and Lev has their names)"),
];

/// Names of modules and types; the words themselves are English.
const NAMES: [(&str, &str); 7] = [
    ("mod words", "symbolizer, or what the words are about"),
    ("mod look", "text style"),
    ("struct Look ", "text style"),
    ("struct Words ", "what the words are about"),
    ("enum Mood ", "read bias"),
    ("Strategy::Exact", "Orion"),
    ("Strategy::Biased", "Relaxer"),
];

/// The words of a line, also those of which names are made: `is_stubborn`, `StubbornThread`.
fn words_of(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in line.chars() {
        let begins = !c.is_alphabetic() || c.is_uppercase() && before.is_lowercase();
        if begins && !words.last().is_some_and(String::is_empty) {
            words.push(String::new());
        }
        if c.is_alphabetic() {
            words.last_mut().expect("there is one").extend(c.to_lowercase());
        }
        before = c;
    }
    words
}

#[test]
fn words_are_found_in_names() {
    assert_eq!(words_of("fn is_stubborn(x: StubbornThread)"), ["fn", "is", "stubborn", "x", "stubborn", "thread", ""]);
}

#[test]
fn words_are_those_of_the_field() {
    let mut found = Vec::new();
    for (name, text) in texts().iter().filter(|(name, _)| !is_this(name)) {
        for (number, line) in text.lines().enumerate() {
            let words = words_of(line);
            let private = PRIVATE.iter().filter(|(word, _)| words.iter().any(|other| other == word));
            // A word ends at whatever is no letter.
            let lower = line.to_lowercase();
            let lower = lower.replace(|c: char| !c.is_alphabetic(), " ") + " ";
            let lower = lower.replace("chase lev", "").replace("chase and lev", "");
            let sayings = SAYINGS.iter().filter(|(saying, _)| lower.contains(saying));
            let names = NAMES.iter().filter(|(name, _)| line.contains(name));
            for (word, better) in private.chain(sayings).chain(names) {
                found.push(format!("{name}:{}: {word}: say {better}", number + 1));
            }
        }
    }
    fail_with(&found);
}

/// One word, one meaning: a place is a location of an execution graph.
#[test]
fn one_type_is_called_place() {
    let defines = |line: &&str| {
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        words.windows(2).any(|pair| ["struct", "enum", "type", "trait"].contains(&pair[0]) && pair[1] == "Place")
    };
    let sources = texts().into_iter().filter(|(name, _)| name.ends_with(".rs") && !is_this(name));
    let found: Vec<String> =
        sources.filter(|(_, text)| text.lines().any(|line| defines(&line))).map(|(name, _)| name).collect();
    assert_eq!(found, ["crates/memory/src/graph.rs"]);
}
