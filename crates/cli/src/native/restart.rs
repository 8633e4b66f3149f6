//! How executions began anew, in words.

use super::words::Words;
use fencepost_mailbox::Beyond;
use fencepost_native::host::Results;
use fencepost_report::Restarted;
use fencepost_report::text::clean;

/// What is said of it in the report.
pub fn restarted(results: &Results, words: &Words) -> Restarted {
    let how = if results.forked { "fork" } else { "in-place" };
    let reason = results.beyond.as_ref().filter(|_| results.forked);
    Restarted { how: how.to_owned(), reason: reason.map(|beyond| because(beyond, words)) }
}

/// A line for people, where executions were not restarted as one would expect.
pub fn line(restarted: &Restarted) -> String {
    match &restarted.reason {
        Some(reason) => format!("  restart: by fork, because {}\n", clean(reason)),
        None => String::new(),
    }
}

/// What is wrong with restarting in place, where the user insists.
pub fn warning(results: &Results, words: &Words) -> Option<String> {
    let beyond = results.beyond.as_ref().filter(|_| !results.forked)?;
    let because = because(beyond, words);
    Some(format!("{because}, which --restart in-place does not undo: executions may differ from what the program does"))
}

/// What the program did, and where.
fn because(beyond: &Beyond, words: &Words) -> String {
    let Some(stack) = &beyond.stack else { return format!("the program {}", beyond.deed) };
    let label = words.finding_label(stack).label;
    let name = std::path::Path::new(&label.file).file_name().map(|name| name.to_string_lossy().into_owned());
    match name {
        Some(file) if label.line > 0 => format!("the program called {} ({file}:{})", beyond.deed, label.line),
        _ => format!("the program called {}", beyond.deed),
    }
}
