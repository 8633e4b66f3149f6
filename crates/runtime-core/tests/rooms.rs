//! The rooms of the runtime depend on each other in one direction.
//!
//! The runtime cannot be linked with a test, so that its source is looked at from here: a file may name its own room
//! and those below it. What is not so yet is listed, and the list can only get shorter.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// From the bottom up.
const ROOMS: [&str; 8] = ["platform", "threads", "memory", "detect", "results", "drive", "explore", "hooks"];

/// Files that name a room above their own.
const KNOWN: &[(&str, &str)] = &[
    ("drive/campaign.rs", "explore"),
    ("drive/campaign.rs", "hooks"),
    ("drive/conclusion.rs", "explore"),
    ("drive/conclusion.rs", "hooks"),
    ("drive/control/mod.rs", "explore"),
    ("drive/control/mod.rs", "hooks"),
    ("drive/control/outside.rs", "hooks"),
    ("drive/control/queries.rs", "hooks"),
    ("drive/ending.rs", "hooks"),
    ("drive/hunt.rs", "explore"),
    ("drive/hunt/watch.rs", "explore"),
    ("drive/view.rs", "hooks"),
    ("explore/mod.rs", "hooks"),
    ("explore/opaque.rs", "hooks"),
    ("explore/passes.rs", "hooks"),
    ("explore/shared.rs", "hooks"),
];

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

/// The rooms that a source names, as `crate::room` or in a list `crate::{room, …}`, but for comments.
fn named(source: &str) -> BTreeSet<&'static str> {
    let code: Vec<&str> = source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let mut rooms = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        let names = match after.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default(),
            None => after.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default(),
        };
        let first_of_path = |name: &str| name.trim().split("::").next().unwrap_or_default().to_owned();
        let names: Vec<String> = names.split(',').map(first_of_path).collect();
        rooms.extend(ROOMS.into_iter().filter(|room| names.iter().any(|name| name == room)));
    }
    rooms
}

#[test]
fn names_are_found_wherever_they_stand() {
    let source =
        "use crate::{drive, hooks};\nuse crate::threads::fibers;\nfn f() { crate::explore::g() } // crate::memory";
    assert_eq!(named(source), BTreeSet::from(["drive", "explore", "hooks", "threads"]));
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
        let Some(own) = name.split('/').next().and_then(place) else { continue };
        let source = fs::read_to_string(file).expect("it can be read");
        let above = named(&source).into_iter().filter(|room| place(room) > Some(own));
        upward.extend(above.map(|room| (name.clone(), room)));
    }
    assert!(files.len() > 50, "the runtime has more files than {}", files.len());
    let known: BTreeSet<(String, &str)> = KNOWN.iter().map(|(file, room)| ((*file).to_owned(), *room)).collect();
    let new: Vec<_> = upward.difference(&known).collect();
    assert!(new.is_empty(), "these files name rooms above their own: {new:?}");
    let gone: Vec<_> = known.difference(&upward).collect();
    assert!(gone.is_empty(), "these no longer do, and can be taken off the list: {gone:?}");
}
