//! An execution on one line: `test/c11/graph/…`, `test/c11/random/…`.

use fencepost_trace::{GraphStep, Limits, Model, Plan, StrategySpec};
use std::fmt::Write;

/// The line for `FENCEPOST_REPLAY`.
pub(super) fn recording(test: &str, plan: &Plan, exact: bool) -> String {
    let arcs = if exact { "" } else { "/-" };
    match &plan.strategy {
        StrategySpec::Graph { steps, .. } => format!("{test}/{}/graph/{}{arcs}", plan.model, write_steps(steps)),
        other => {
            let strategy = serde_json::to_string(other).unwrap_or_default();
            format!("{test}/{}/choices/{strategy}{arcs}", plan.model)
        }
    }
}

/// The plan of a recording, if it is one of this test; whether counts of `Arc`s are locations in it.
pub(super) fn for_test(recording: &str, test: &str) -> Option<Result<(Plan, bool), String>> {
    let rest = recording.strip_prefix(test)?.strip_prefix('/')?;
    Some(parse(rest))
}

/// The plan of a recording without its test.
pub(super) fn parse(recording: &str) -> Result<(Plan, bool), String> {
    let bad = || format!("'{recording}' is no recorded execution");
    let (exact, recording) = match recording.strip_suffix("/-") {
        Some(recording) => (false, recording),
        None => (true, recording),
    };
    let mut parts = recording.splitn(3, '/');
    let (Some(model), Some(kind), Some(rest)) = (parts.next(), parts.next(), parts.next()) else { return Err(bad()) };
    let model: Model = model.parse().map_err(|_| bad())?;
    let strategy = match kind {
        "graph" => StrategySpec::Graph { steps: read_steps(rest).ok_or_else(bad)?, shared: Vec::new() },
        "choices" => serde_json::from_str(rest).map_err(|_| bad())?,
        _ => return Err(bad()),
    };
    Ok((Plan::new(model, strategy, Limits::default()), exact))
}

fn write_steps(steps: &[GraphStep]) -> String {
    let mut text = String::new();
    for (i, step) in steps.iter().enumerate() {
        let separator = if i == 0 { "" } else { "," };
        let _ = write!(text, "{separator}{}", step.thread);
        let mut add = |name: char, value: Option<u32>| {
            if let Some(value) = value {
                let _ = write!(text, "{name}{value}");
            }
        };
        add('r', step.reads);
        add('v', (step.variant != 0).then_some(step.variant));
        add('p', step.position);
        add('e', step.end.map(u32::from));
    }
    text
}

fn read_steps(text: &str) -> Option<Vec<GraphStep>> {
    text.split(',').filter(|step| !step.is_empty()).map(read_step).collect()
}

fn read_step(text: &str) -> Option<GraphStep> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mut step = GraphStep { thread: text[..end].parse().ok()?, reads: None, variant: 0, position: None, end: None };
    let mut rest = &text[end..];
    while let Some(name) = rest.chars().next() {
        let digits = &rest[1..];
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let value = digits[..end].parse().ok()?;
        match name {
            'r' => step.reads = Some(value),
            'v' => step.variant = value,
            'p' => step.position = Some(value),
            'e' => step.end = Some(value == 1),
            _ => return None,
        }
        rest = &digits[end..];
    }
    Some(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_read_back() {
        let step = |thread, reads, variant, position, end| GraphStep { thread, reads, variant, position, end };
        let steps = vec![
            step(0, None, 0, Some(1), None),
            step(12, Some(1), 0, None, None),
            step(2, Some(0), 3, Some(7), None),
            step(1, None, 0, None, Some(false)),
            step(0, None, 0, None, Some(true)),
        ];
        for exact in [false, true] {
            let strategy = StrategySpec::Graph { steps: steps.clone(), shared: Vec::new() };
            let plan = Plan::new(Model::C11, strategy, Limits::default());
            let line = recording("a::test", &plan, exact);
            assert_eq!(for_test(&line, "a::test"), Some(Ok((plan, exact))));
            assert_eq!(for_test(&line, "another"), None);
        }
        assert!(parse("c11/graph/x").is_err());
    }
}
