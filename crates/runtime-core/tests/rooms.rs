//! The rooms of the runtime depend on each other in one direction.
//!
//! The runtime cannot be linked with a test, so that its source is looked at from here: a file may name its own room
//! and those below it, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// From the bottom up.
const ROOMS: [&str; 8] = ["platform", "threads", "memory", "detect", "results", "drive", "hooks", "campaign"];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("the runtime is beside this crate") {
        let path = entry.expect("a directory can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The first names of the paths in a list, which begins behind its brace.
fn first_names(list: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut depth = 0;
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(String::new()),
            _ if depth == 0 => names.last_mut().expect("there is one").push(c),
            _ => {}
        }
    }
    names.iter().map(|name| name.trim().split("::").next().unwrap_or_default().to_owned()).collect()
}

/// The rooms that a source names, as `crate::room` or in a list `crate::{room, …}`, but for comments.
fn named(source: &str) -> BTreeSet<&'static str> {
    let code: Vec<&str> = source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let mut rooms = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        let names = match after.strip_prefix('{') {
            Some(list) => first_names(list),
            None => vec![after.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned()],
        };
        rooms.extend(ROOMS.into_iter().filter(|room| names.iter().any(|name| name == room)));
    }
    rooms
}

#[test]
fn names_are_found_wherever_they_stand() {
    let source = "use crate::{drive, results::{header, log}, hooks};\nuse crate::threads::fibers;\n\
                  fn f() { crate::campaign::g() } // crate::memory";
    assert_eq!(named(source), BTreeSet::from(["campaign", "drive", "hooks", "results", "threads"]));
}

#[test]
fn rooms_depend_in_one_direction() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let place = |room: &str| ROOMS.iter().position(|other| *other == room);
    let mut upward = BTreeSet::new();
    for file in &files {
        let name = file.strip_prefix(&root).expect("it was found there").to_str().expect("a name").to_owned();
        let Some(own) = name.split('/').next().and_then(place) else {
            assert_eq!(name, "lib.rs", "a file that is in no room");
            continue;
        };
        let source = fs::read_to_string(file).expect("it can be read");
        let above = named(&source).into_iter().filter(|room| place(room) > Some(own));
        upward.extend(above.map(|room| (name.clone(), room)));
    }
    assert!(files.len() > 50, "the runtime has more files than {}", files.len());
    assert!(upward.is_empty(), "these files name rooms above their own: {upward:?}");
}
