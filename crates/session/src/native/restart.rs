//! How executions began anew, in words.

use super::symbolizer::Symbolizer;
use fencepost_mailbox::Irreversible;
use fencepost_native::host::Results;
use fencepost_report::{RestartKind, Restarted};

/// What is said of it in the report.
pub fn restarted(results: &Results, symbolizer: &Symbolizer) -> Restarted {
    let how = if results.forked { RestartKind::Fork } else { RestartKind::InPlace };
    let reason = results.irreversible.as_ref().filter(|_| results.forked);
    Restarted { how, reason: reason.map(|irreversible| because(irreversible, symbolizer)) }
}

/// What is wrong with restarting in place, where the user insists.
pub fn warning(results: &Results, symbolizer: &Symbolizer) -> Option<String> {
    let irreversible = results.irreversible.as_ref().filter(|_| !results.forked)?;
    let because = because(irreversible, symbolizer);
    Some(format!("{because}, which --restart in-place does not undo: executions may differ from what the program does"))
}

/// What the program did, and where.
fn because(irreversible: &Irreversible, symbolizer: &Symbolizer) -> String {
    let Some(stack) = &irreversible.stack else { return format!("the program {}", irreversible.action) };
    let label = symbolizer.finding_label(stack).label;
    let name = std::path::Path::new(&label.file).file_name().map(|name| name.to_string_lossy().into_owned());
    match name {
        Some(file) if label.line > 0 => format!("the program called {} ({file}:{})", irreversible.action, label.line),
        _ => format!("the program called {}", irreversible.action),
    }
}
