//! What belongs to a finding, as text.

use super::{Execution, TextStyle, execution, printed, stack};
use crate::{Evidence, ShownExecution};

/// The calls that led to a finding, the execution that shows it, and what that had printed.
pub fn evidence(evidence: &Evidence, style: TextStyle) -> String {
    let mut text: String = evidence.stacks.iter().map(|one| stack(&one.title, &one.calls, style)).collect();
    if let Some(shown) = &evidence.execution {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &shown_execution(shown, style);
    }
    text + &printed("stdout", &evidence.stdout, style) + &printed("stderr", &evidence.stderr, style)
}

/// An execution, threads side by side.
pub fn shown_execution(shown: &ShownExecution, style: TextStyle) -> String {
    execution(&Execution::from(shown), style)
}
