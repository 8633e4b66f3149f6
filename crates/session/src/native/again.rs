//! An execution that is run once more, to be shown or compared.

use super::Program;
use super::symbolizer::Symbolizer;
use fencepost_mailbox::{Frame, Record, Stack};
use fencepost_memory::axioms;
use fencepost_native::host::{self, Campaign, Found, Results};
use fencepost_predict::private::without_private;
use fencepost_report::text::Mark;
use fencepost_report::{Order, ShownExecution};
use fencepost_trace::{
    CampaignSpec, Event, Failure, FindingKind, Model, Needs, Outcome, StrategySpec, ThreadId, Trace,
};
use std::rc::Rc;

/// An execution that was run once more, to be shown.
pub struct Again {
    pub trace: Trace,
    pub symbolizer: Rc<Symbolizer>,
    /// For each label of the trace where it is.
    pub places: Vec<Frame>,
    order: Order,
}

impl Again {
    /// Runs the execution of this number of a campaign again, without a trace.
    pub fn repeat(campaign: &Campaign, strategy: &StrategySpec, execution: u64) -> std::io::Result<Results> {
        let mut campaign = campaign.clone();
        campaign.request.campaign = CampaignSpec::Repeat(strategy.clone());
        host::repeat(&campaign, execution)
    }

    /// Follows recorded answers, or a recorded graph.
    pub fn follow(
        program: &Program,
        campaign: &Campaign,
        strategy: &StrategySpec,
    ) -> std::io::Result<(Option<Again>, Results)> {
        let order = if let StrategySpec::Graph { .. } = strategy { Order::Graph } else { Order::Executed };
        let mut results = host::replay(campaign, strategy.clone())?;
        let again = results.traces.pop().and_then(|record| match record {
            Record::Trace { mut trace, places, .. } => {
                let symbolizer = Rc::new(Symbolizer::of(program));
                symbolizer.fill(&mut trace, &places);
                results.locals.iter().for_each(|(address, function)| symbolizer.learn(*address, function));
                Some(Again { trace, symbolizer, places, order })
            }
            _ => None,
        });
        let again = again.map(|mut again| {
            for found in &results.found {
                let thread = found.report.stacks.first().map(|stack| ThreadId(stack.thread));
                ended_by(&mut again.trace, found.report.kind, thread);
            }
            again
        });
        Ok((again, results))
    }

    pub fn digest(&self) -> String {
        crate::digest::of_trace(&self.trace)
    }

    /// What it needs to show this.
    pub fn needs(&self, found: &Found) -> Needs {
        fencepost_report::needs(&self.trace, self.order, &self.marks(found), &[])
    }

    /// As it is shown: of a long execution, what matters to the finding.
    pub fn shown(self, found: Option<&Found>) -> ShownExecution {
        let stacks = found.map_or(&[][..], |found| &found.report.stacks);
        let mut involved: Vec<ThreadId> = stacks.iter().map(|stack| ThreadId(stack.thread)).collect();
        if let Outcome::Deadlock { blocked: threads } | Outcome::Livelock { spinning: threads } = &self.trace.outcome {
            involved.extend(threads);
        }
        let marks = found.map_or_else(Vec::new, |found| self.marks(found));
        ShownExecution {
            trace: self.trace,
            order: self.order,
            describe: self.symbolizer,
            races: Vec::new(),
            state: Vec::new(),
            involved,
            marks,
        }
    }

    /// Rows for what is no event: a plain access, a misuse of the heap, an end.
    fn marks(&self, found: &Found) -> Vec<Mark> {
        let Found { report, .. } = found;
        let mark = |stack: &Stack, after: u32, remark: &str| Mark {
            after,
            thread: ThreadId(stack.thread),
            label: self.symbolizer.finding_label(stack).label,
            remark: remark.to_owned(),
        };
        let end = self.trace.events.len() as u32;
        match (report.after, report.kind) {
            (Some(after), _) => {
                let message = self.symbolizer.named(&report.message);
                let later = report.stacks.first().map(|stack| mark(stack, after, &message));
                self.earlier(found).into_iter().chain(later).collect()
            }
            (None, FindingKind::Deadlock) => report.stacks.iter().map(|s| mark(s, end, "blocked forever")).collect(),
            (None, FindingKind::Livelock) => report.stacks.iter().map(|s| mark(s, end, "spins forever")).collect(),
            (None, _) => {
                let message = self.symbolizer.named(&report.message);
                report.stacks.first().map(|stack| mark(stack, end, &message)).into_iter().collect()
            }
        }
    }
}

impl Again {
    /// Of a race: a row for the earlier access, if that is a plain one and so no event.
    fn earlier(&self, found: &Found) -> Option<Mark> {
        let Found { report, .. } = found;
        let ([later, stack], [_, site], FindingKind::DataRace) = (&report.stacks[..], &report.sites[..], report.kind)
        else {
            return None;
        };
        // Under the hardware models, and in execution graphs, plain accesses are events, too.
        if stack.access.is_atomic() || self.trace.model.is_hardware() || self.order == Order::Graph {
            return None;
        }
        let own = |event: &&Event| event.thread.0 == site.thread;
        let next = self.trace.events.iter().filter(own).nth(site.time.saturating_sub(1) as usize);
        let after = next.map_or(self.trace.events.len() as u32, |next| next.id.0 - 1).min(report.after?);
        let (access, other) = (&stack.access, &later.access);
        let remark = format!("{access}; nothing orders it before the {other} of thread {}", later.thread);
        let label = self.symbolizer.finding_label(stack).label;
        Some(Mark { after, thread: ThreadId(site.thread), label, remark })
    }
}

/// The end that a failure gave an execution, which the engine has not seen.
pub fn ended_by(trace: &mut Trace, kind: FindingKind, thread: Option<ThreadId>) {
    let failure = match kind {
        FindingKind::Assertion => Failure::Assertion,
        FindingKind::Abort => Failure::Abort,
        FindingKind::Panic => Failure::Panic,
        FindingKind::Crash => Failure::Crash,
        _ => return,
    };
    trace.outcome = Outcome::Failed { thread: thread.unwrap_or(ThreadId(0)), failure };
}

/// Is the finding there again?
pub fn reproduced(kind: FindingKind, results: &Results, trace: &Trace) -> bool {
    let violates = || !is_sequential(trace);
    // What a replay does not look for: the same execution has the same outcome.
    kind == FindingKind::SpecViolation
        || results.found.iter().any(|found| found.report.kind == kind)
        || (kind == FindingKind::ScViolation && violates())
        || matches!((&trace.outcome, kind), (Outcome::Deadlock { .. }, FindingKind::Deadlock))
}

/// Is the execution sequentially consistent? Of a long one only what several threads are concerned with is looked at.
pub fn is_sequential(trace: &Trace) -> bool {
    const LONG: usize = 1_000;
    let short = (trace.events.len() > LONG).then(|| without_private(trace));
    let execution = axioms::Execution::from_trace(short.as_ref().unwrap_or(trace));
    execution.is_ok_and(|execution| axioms::consistent(&execution, Model::Sc).is_ok())
}
