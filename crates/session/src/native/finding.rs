//! A finding in the words of the source: stacks, memory, and why it could happen.

use super::reason::{missed, place, reason};
use super::symbolizer::Symbolizer;
use fencepost_mailbox::{AddressKind, Memory, Report, Stack};
use fencepost_native::host::Found;
use fencepost_report::Describe as _;
use fencepost_trace::{
    Action, Finding, FindingKind, FindingLabel, FindingMemory, FindingStack, Label, MemoryKind, Severity, ThreadId,
    Trace,
};

/// What the report says, without a look at the execution that it comes from.
pub fn finding(id: u32, found: &Found, symbolizer: &Symbolizer) -> Finding {
    let report = &found.report;
    Finding {
        id,
        kind: report.kind,
        message: symbolizer.named(&report.message),
        count: found.count,
        first_execution: found.first_execution + 1,
        severity: Severity::Harmful,
        labels: labels(report, symbolizer),
        stacks: stacks(report, symbolizer),
        memory: None,
        reason: Vec::new(),
        fix: None,
        needs: None,
        first_met: None,
        replay: None,
    }
}

/// The program points that take part.
pub fn labels(report: &Report, symbolizer: &Symbolizer) -> Vec<FindingLabel> {
    report.stacks.iter().map(|stack| symbolizer.finding_label(stack)).collect()
}

/// Adds what was learned when the execution was run again: `report` is what that gave, `trace` its events.
pub fn add_details(finding: &mut Finding, report: &Report, trace: &Trace, halves: bool, symbolizer: &Symbolizer) {
    finding.labels = labels(report, symbolizer);
    finding.stacks = stacks(report, symbolizer);
    if let Some(Memory { address, place: AddressKind::Stack { activation: Some(function), .. } }) =
        report.details.as_ref().and_then(|details| details.memory.as_ref())
    {
        symbolizer.learn(*address, function);
        finding.message = symbolizer.named(&report.message);
    }
    let Some(details) = &report.details else { return };
    if let Some(memory) = &details.memory {
        let (told, allocation) = self::memory(memory, symbolizer);
        finding.memory = Some(told);
        finding.stacks.extend(allocation);
    }
    for created in &details.created {
        let title = format!("thread {} was created by thread {}", created.thread, created.by.thread);
        let stack = symbolizer.stack(title, &created.by);
        if !finding.stacks.contains(&stack) {
            finding.stacks.push(stack);
        }
    }
    if let (FindingKind::DataRace, [later, earlier]) = (report.kind, &report.sites[..]) {
        let atomic = |i: usize| report.stacks.get(i).is_some_and(|stack| stack.access.is_atomic());
        finding.reason = reason(trace, symbolizer, (*earlier, atomic(1)), (*later, atomic(0)), halves);
    } else if report.kind != FindingKind::ScViolation {
        finding.reason = missed(trace, symbolizer, report, halves);
    }
}

fn stacks(report: &Report, symbolizer: &Symbolizer) -> Vec<FindingStack> {
    let title = |stack: &Stack| match &stack.access {
        Action::Unnamed => format!("thread {}", stack.thread),
        action => format!("{action} by thread {}", stack.thread),
    };
    let mut stacks: Vec<FindingStack> =
        report.stacks.iter().map(|stack| symbolizer.stack(title(stack), stack)).collect();
    if let (FindingKind::ScViolation, [early, passed, before]) = (report.kind, &mut stacks[..]) {
        early.title += ", which can come too early";
        passed.title += ", which it can come before";
        before.title += ", the last step before it in its thread";
    }
    stacks
}

fn memory(memory: &Memory, symbolizer: &Symbolizer) -> (FindingMemory, Vec<FindingStack>) {
    let told = |text: String, kind| FindingMemory { text, kind, name: String::new(), offset: 0, size: 0, thread: None };
    match &memory.place {
        AddressKind::Block { offset, size, allocated, .. } => {
            let bytes = |n: u64| if n == 1 { "1 byte".to_owned() } else { format!("{n} bytes") };
            let block = format!("a block of {}", bytes(*size));
            let far = match *offset {
                0 => format!("the beginning of {block}"),
                far if far < 0 => format!("{} before {block}", bytes(far.unsigned_abs())),
                far if far as u64 >= *size => format!("{} behind {block}", bytes(far as u64 - size)),
                far => format!("{} into {block}", bytes(far as u64)),
            };
            let stack = symbolizer.stack(format!("{block} was allocated by thread {}", allocated.thread), allocated);
            let mut known = stack.frames.iter().filter(|frame| frame.line > 0);
            let own = known.clone().find(|frame| !symbolizer.is_library(frame));
            let text = match own.or_else(|| known.next()) {
                Some(frame) => format!("{far} that thread {} allocated at {}", allocated.thread, place(frame)),
                None => format!("{far} that thread {} allocated", allocated.thread),
            };
            let thread = Some(ThreadId(allocated.thread));
            let told = FindingMemory { offset: *offset, size: *size, thread, ..told(text, MemoryKind::Heap) };
            (told, vec![stack])
        }
        AddressKind::Stack { thread, .. } => {
            let on = format!("the stack of thread {thread}");
            let told = match symbolizer.variable(memory.address) {
                Some(variable) => {
                    let (offset, size) = (variable.offset as i64, variable.size);
                    let name = variable.to_string();
                    FindingMemory {
                        name,
                        offset,
                        size,
                        ..told(format!("variable {variable}, on {on}"), MemoryKind::Stack)
                    }
                }
                None => told(on, MemoryKind::Stack),
            };
            (FindingMemory { thread: Some(ThreadId(*thread)), ..told }, Vec::new())
        }
        AddressKind::Other => match symbolizer.variable(memory.address) {
            Some(global) => {
                let name = global.to_string();
                let (offset, size) = (global.offset as i64, global.size);
                let text = format!("variable {name}");
                (FindingMemory { name, offset, size, ..told(text, MemoryKind::Global) }, Vec::new())
            }
            None => (told(format!("address {:#x}", memory.address), MemoryKind::Other), Vec::new()),
        },
    }
}

/// What makes a race the same as another to the user: where its accesses are.
pub fn race_key(finding: &Finding) -> Option<Vec<Label>> {
    let mut labels: Vec<Label> = finding.labels.iter().map(|label| label.label.clone()).collect();
    labels.sort();
    (finding.kind == FindingKind::DataRace && labels.iter().all(|label| label.line > 0)).then_some(labels)
}
