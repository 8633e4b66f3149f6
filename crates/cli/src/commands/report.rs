//! `fencepost report`: a page for a browser.

use crate::error::{Error, Status};
use crate::screen::Screen;
use fencepost_report::html;
use fencepost_session::{Error as SessionError, PAGE, plain, write_whole};
use serde_json::Value;
use std::path::PathBuf;

/// Make a page for a browser of the results of an earlier run.
///
/// The page is one file that needs nothing else: every finding, and its execution to step through forwards and
/// backwards, with memory, store buffers and what each thread could read beside it.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example: fencepost test queue.c; fencepost report fencepost-out -o queue.html")]
pub struct Args {
    /// The directory that `test`, `check` or `hunt` wrote its results to (--out)
    #[arg(value_name = "DIR", default_value = "fencepost-out")]
    directory: PathBuf,
    /// Where the page is written [default: report.html in the directory]
    #[arg(short = 'o', value_name = "FILE")]
    page: Option<PathBuf>,
}

pub fn run(args: Args, screen: &mut Screen) -> Result<Status, Error> {
    let whole = args.directory.join(PAGE);
    // Of a run that found nothing there is the report alone, which has the same names for what the page says of it.
    let path = if whole.exists() { whole } else { args.directory.join("run.json") };
    let refused = |problem: String| SessionError::target(path.display().to_string(), problem);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| refused(format!("cannot be read: {} (did a run end there?)", plain(&error))))?;
    let mut data: Value = serde_json::from_str(&text).map_err(|error| refused(format!("is not a report: {error}")))?;
    if data["findings"].is_null() || data["executions"].is_null() {
        return Err(refused("is not a report of test, check or hunt".to_owned()).into());
    }
    if let Some(version) = data.get("fencepost").cloned() {
        data["version"] = version;
    }
    let output = args.page.unwrap_or_else(|| args.directory.join("report.html"));
    write_whole(&output, html::page(&data).as_bytes())?;
    screen.print(&format!("{}\n", output.display()))?;
    Ok(Status::Clean)
}
