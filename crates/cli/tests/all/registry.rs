//! Published crates as they are: small programs that use them as documented (`registry/src/bin`), built with `fencepost
//! cargo build` and tested under c11 and tso.
//!
//! What is found is written down with the reason for it (docs/field.md). The crates come from the registry, so that
//! these tests are not run by default:
//!
//!     cargo test --release -p fencepost-cli --test all registry:: -- --ignored --nocapture

use crate::common::{command, finish};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const EXECUTIONS: &str = "2000";

/// What is found under c11, by program: the kinds, and the files in which the accesses of races are.
const FOUND: [(&str, &[&str], &[&str]); 1] = [
    // It looks at a number that is protected by a lock before it takes the lock.
    ("scc", &["data-race"], &["bucket.rs", "hash_map.rs", "hash_table.rs"]),
];

#[test]
#[ignore = "needs the registry"]
fn published_crates_run_and_what_is_found_is_known() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/registry");
    fs::create_dir_all(path.join("src/bin")).expect("a directory");
    let mut names = Vec::new();
    for entry in fs::read_dir(sources.join("src/bin")).expect("the programs") {
        let file = entry.expect("a file").path();
        let name = file.file_name().expect("a name").to_owned();
        fs::copy(&file, path.join("src/bin").join(&name)).expect("a copy");
        names.push(Path::new(&name).file_stem().expect("a name").to_string_lossy().into_owned());
    }
    names.sort();
    for file in ["Cargo.toml", "Cargo.lock"] {
        fs::copy(sources.join(file), path.join(file)).expect("a copy");
    }
    let built = finish(command(path).args(["cargo", "build", "-q", "--locked", "--target-dir", "target"]));
    assert_eq!(built.status, 0, "{}", built.stderr);
    println!("| program | c11: executions/s | found | tso: executions/s | found |\n|---|---|---|---|---|");
    for name in &names {
        let (rate, found, files) = test(path, name, "c11");
        let (rate_of_tso, found_by_tso, _) = test(path, name, "tso");
        let list = |kinds: &BTreeSet<String>| kinds.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        println!("| {name} | {rate:.0} | {} | {rate_of_tso:.0} | {} |", list(&found), list(&found_by_tso));
        let (_, kinds, places) = FOUND.iter().find(|(known, ..)| known == name).unwrap_or(&("", &[], &[]));
        assert!(found.iter().all(|kind| kinds.contains(&kind.as_str())), "{name}: {found:?}");
        let known = |file: &String| places.is_empty() || places.contains(&file.as_str());
        assert!(files.iter().all(known), "{name}: {files:?}");
        assert!(found_by_tso.is_empty(), "{name} under tso: {found_by_tso:?}");
    }
}

/// Executions per second, the kinds of what is found, and in which files it is.
fn test(directory: &Path, name: &str, model: &str) -> (f64, BTreeSet<String>, BTreeSet<String>) {
    let program = format!("target/x86_64-unknown-linux-gnu/debug/{name}");
    let options = ["--executions", EXECUTIONS, "--keep-going", "--no-minimize", "--format", "json", "--model", model];
    let run = finish(command(directory).args(["test", &program]).args(options));
    assert!(run.status <= 1, "{name} {model}: {}", run.stderr);
    let report = run.json();
    let number = |key: &str| report[key].as_f64().expect("a number");
    let (mut kinds, mut files) = (BTreeSet::new(), BTreeSet::new());
    for finding in report["findings"].as_array().expect("a list") {
        kinds.insert(finding["kind"].as_str().expect("a kind").to_owned());
        for label in finding["labels"].as_array().into_iter().flatten() {
            let file = label["file"].as_str().unwrap_or_default();
            files.insert(file.rsplit('/').next().unwrap_or_default().to_owned());
        }
    }
    (number("executions") / number("seconds"), kinds, files)
}
