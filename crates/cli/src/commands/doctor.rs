//! `fencepost doctor`: what is installed, what is missing, how to get it.

use crate::error::{Error, Status};
use crate::screen::Screen;
use fencepost_session::{Checkup, Diagnosis, doctor};
use serde_json::json;
use std::fmt::Write;

/// Tell what is installed, what is missing and how to get it: compilers, debugger, system.
///
/// Each compiler that is there compiles a small program with a data race, and the race has to be found in it. Exit
/// status 0 means that programs of some language can be tested, 2 that they cannot.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example: fencepost doctor")]
pub struct Args {}

pub fn run(_: Args, screen: &mut Screen) -> Result<Status, Error> {
    let diagnosis = doctor();
    screen.print(&if screen.text() { text(&diagnosis) } else { json(&diagnosis) })?;
    Ok(if diagnosis.is_usable() { Status::Clean } else { Status::Failed })
}

fn text(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    for Checkup { name, health, detail, advice } in &diagnosis.checkups {
        let _ = writeln!(text, "{:8} {name:8} {detail}", health.word());
        if let Some(advice) = advice {
            let _ = writeln!(text, "{:17} {advice}", "");
        }
    }
    text
}

fn json(diagnosis: &Diagnosis) -> String {
    let checks = diagnosis.checkups.iter().map(|Checkup { name, health, detail, advice }| {
        json!({ "name": name, "state": health.word(), "detail": detail, "advice": advice })
    });
    let document = json!({
        "fencepost": env!("CARGO_PKG_VERSION"),
        "command": "doctor",
        "usable": diagnosis.is_usable(),
        "checks": checks.collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}
