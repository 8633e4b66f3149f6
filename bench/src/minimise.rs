//! How much smaller the executions are that are shown than those that were met first.
//!
//! For each program of the gallery and of the examples of `hunt`: the command itself, with its default flags, up to
//! the first finding. Programs of the gallery run under c11, the others under tso or, if nothing is found there, pso.

use crate::gallery::{command, name, programs};
use serde_json::Value as Json;
use std::path::Path;
use std::process::Command;

/// Prints the table.
pub fn measure() {
    let command = command();
    println!(
        "switches / stale reads / delayed stores / operations, of the execution that was met first and the one shown.\n"
    );
    println!("| program | model | finding | met first | shown | executions tried |");
    println!("|---|---|---|---|---|---|");
    let gallery = programs("gallery").into_iter().map(|program| (program, &["c11"][..]));
    let hunt = programs("hunt").into_iter().map(|program| (program, &["tso", "pso"][..]));
    let mut totals = [0.0; 2];
    for (program, models) in gallery.chain(hunt) {
        let found = models.iter().find_map(|model| Some((model, run(&command, &program, model)?)));
        let Some((model, finding)) = found else {
            println!("| {} | {} | nothing found | | | |", name(&program), models.join(", "));
            continue;
        };
        let shown = &finding["needs"];
        let first = if finding["first_met"].is_null() { shown } else { &finding["first_met"]["needs"] };
        let tried = finding["first_met"]["tried"].as_u64().map_or_else(String::new, |tried| tried.to_string());
        println!(
            "| {} | {model} | {} | {} | {} | {tried} |",
            name(&program),
            finding["kind"].as_str().unwrap_or("?"),
            needs(first),
            needs(shown)
        );
        totals[0] += first["operations"].as_f64().unwrap_or(0.0);
        totals[1] += shown["operations"].as_f64().unwrap_or(0.0);
    }
    println!("\nOperations in all: {} when met first, {} when shown.", totals[0], totals[1]);
}

fn needs(needs: &Json) -> String {
    let count = |name: &str| needs[name].as_u64().map_or_else(|| "?".to_owned(), |number| number.to_string());
    ["context_switches", "stale_reads", "delayed_stores", "operations"].map(count).join(" / ")
}

/// The first finding of a program, if there is one.
fn run(command: &Path, program: &Path, model: &str) -> Option<Json> {
    let place = tempfile::tempdir().expect("a directory");
    let mut run = Command::new(command);
    run.current_dir(place.path()).arg("test").arg(program.canonicalize().expect("it is there"));
    run.args(["--model", model, "--format", "json"]);
    let output = run.output().expect("the command starts");
    let mut report: Json = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{}: {error}: {}", program.display(), String::from_utf8_lossy(&output.stderr)));
    report["findings"].as_array_mut().filter(|list| !list.is_empty()).map(|list| list.remove(0))
}
