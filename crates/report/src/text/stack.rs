//! Where a thread was, and what the program had printed.

use super::TextStyle;
use super::layout::{clean, counted, place, width};
use fencepost_trace::Label;

/// More calls or lines than this are cut.
const MOST: usize = 16;

/// A function that has been entered and not left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Where in it.
    pub label: Label,
    /// Was it inlined into the next one?
    pub inlined: bool,
}

/// The calls of a thread, the innermost first, under a line that says whose they are.
pub fn stack(title: &str, calls: &[Call], style: TextStyle) -> String {
    if calls.is_empty() {
        return String::new();
    }
    let shown = &calls[..calls.len().min(MOST)];
    let functions = shown.iter().map(|call| width(&call.label.function)).max().unwrap_or(0).min(style.width / 2);
    let mut text = format!("  {}\n", clean(title));
    for call in shown {
        let inlined = if call.inlined { " (inlined)" } else { "" };
        let line = format!("    {:functions$}  {}", clean(&call.label.function), place(&call.label));
        text += &format!("{}{}\n", line.trim_end(), style.dim(inlined));
    }
    if calls.len() > MOST {
        text += &style.dim(&format!("    … {} …\n", counted((calls.len() - MOST) as u64, "call")));
    }
    text
}

/// The end of what the program had printed to `stream`.
pub fn printed(stream: &str, output: &str, style: TextStyle) -> String {
    let lines: Vec<&str> = output.lines().collect();
    if lines.is_empty() {
        return String::new();
    }
    let cut = lines.len().saturating_sub(MOST);
    let mut text = format!("  {stream} of the program:\n");
    if cut > 0 {
        text += &style.dim(&format!("    … {} …\n", counted(cut as u64, "line")));
    }
    lines[cut..].iter().for_each(|line| text += &format!("    {}\n", clean(line)));
    text
}
