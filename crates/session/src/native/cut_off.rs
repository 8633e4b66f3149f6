//! What is said of executions that a limit cut off.

use super::symbolizer::Symbolizer;
use fencepost_mailbox::Stack;
use fencepost_native::host::{Campaign, Results};
use fencepost_report::Describe;
use fencepost_trace::ThreadId;

/// Executions that a limit cut off are of no use without a word about where they were.
pub fn cut_off(results: &Results, campaign: &Campaign, symbolizer: &Symbolizer) -> Vec<String> {
    const MOST: usize = 3;
    let note = |(execution, late, stacks): &(u64, bool, Vec<Stack>)| {
        let limit = match late {
            true => format!("{} seconds (--timeout)", campaign.timeout.as_secs_f64()),
            false => format!("{} steps (--max-steps)", campaign.request.max_steps),
        };
        let place = |stack: &Stack| {
            let label = symbolizer.finding_label(stack).label;
            let file = if label.file.is_empty() { String::new() } else { format!(" ({}:{})", label.file, label.line) };
            let function = match &label.function[..] {
                "" => "before its first step".to_owned(),
                name => format!("in {name}"),
            };
            format!("{} {function}{file}", symbolizer.thread(ThreadId(stack.thread)))
        };
        let places: Vec<String> = stacks.iter().map(place).collect();
        let places = places.join(", ");
        (places.clone(), format!("execution {} was cut off after {limit}: {places}", execution + 1))
    };
    let mut list = results.cut_off.clone();
    list.sort_by_key(|(execution, ..)| *execution);
    let mut notes: Vec<(String, String)> = Vec::new();
    for (places, text) in list.iter().map(note) {
        // Several workers may have met the same.
        if notes.len() < MOST && notes.iter().all(|(known, _)| *known != places) {
            notes.push((places, text));
        }
    }
    notes.into_iter().map(|(_, text)| text).collect()
}
