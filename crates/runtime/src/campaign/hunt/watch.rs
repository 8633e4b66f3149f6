//! Violations in every execution: of an exploration, or of a campaign at random.

use super::{PointNames, names_of, point, wrong};
use crate::drive::{control, explored};
use crate::platform::global::Global;
use crate::platform::modules;
use crate::results;
use fencepost_explore::violations::Violations;
use fencepost_mailbox::{Hunt, Message, Record};
use fencepost_predict::Profile;
use fencepost_trace::{Event, FindingKind, GraphStep, Model, Trace};
use rustc_hash::FxHashSet;

struct Watching {
    hunt: Hunt,
    model: Model,
    points: PointNames,
    violations: Violations,
    /// What threads have been seen to do, and how many traces may still be written.
    met: FxHashSet<u64>,
    left: u32,
    /// How the execution at hand has ended.
    ended: Option<Ended>,
}

struct Ended {
    execution: u64,
    harm: Option<Message>,
    failures: Vec<(FindingKind, Option<u32>)>,
}

static WATCHING: Global<Option<Watching>> = Global::new(None);

/// Is an exploration watched?
pub fn is_watching() -> bool {
    WATCHING.enter().is_some()
}

/// Reads what is asked for.
pub fn prepare_watch(hunt: &Hunt, model: Model) {
    let labels: Vec<u32> = hunt.sites.iter().map(modules::label_at).collect();
    *WATCHING.enter() = Some(Watching {
        points: names_of(hunt, &labels),
        violations: Violations::new(model, hunt.cycles.clone()),
        met: FxHashSet::default(),
        left: hunt.histories,
        model,
        hunt: hunt.clone(),
        ended: None,
    });
}

/// The exploration begins again, and so does what is known.
pub fn start_over() {
    if let Some(watching) = &mut *WATCHING.enter() {
        watching.violations = Violations::new(watching.model, watching.hunt.cycles.clone());
        watching.met.clear();
        watching.left = watching.hunt.histories;
        watching.ended = None;
    }
}

/// The execution has ended, perhaps with a failure.
pub fn ended(
    execution: u64,
    failure: Option<Message>,
    failures: Vec<(FindingKind, Option<u32>)>,
    output: impl FnOnce() -> String,
) {
    if let Some(watching) = &mut *WATCHING.enter() {
        let harm = failure.or_else(|| wrong(&output(), &watching.hunt.outputs));
        watching.ended = Some(Ended { execution, harm, failures });
    }
}

/// Looks at the graph of the execution that has just ended.
pub fn look(trace: impl FnOnce() -> Trace, steps: impl Fn() -> Vec<GraphStep>) {
    let mut guard = WATCHING.enter();
    let Some(watching) = &mut *guard else { return };
    if let Some(ended) = watching.ended.take() {
        watching.look(trace, steps, ended);
    }
}

/// Looks at the graph of an execution that is not told of because another one stands for it.
pub fn partly(trace: impl FnOnce() -> Trace, steps: impl Fn() -> Vec<GraphStep>) {
    let mut guard = WATCHING.enter();
    let Some(watching) = &mut *guard else { return };
    let ended = Ended { execution: 0, harm: None, failures: Vec::new() };
    watching.look(trace, steps, ended);
}

impl Watching {
    fn look(&mut self, trace: impl FnOnce() -> Trace, steps: impl Fn() -> Vec<GraphStep>, ended: Ended) {
        let fails = ended.harm.is_some();
        if !fails && self.left == 0 && !self.violations.wants_more() {
            return;
        }
        let trace = trace();
        let points = &self.points;
        let shown = self.violations.look(&trace, |event: &Event| point(points, &trace, event), fails);
        if self.violations.is_cut() {
            results::unsupported("executions that fail are too long to tell which violation alone makes them fail");
        }
        if !shown.together.is_empty() {
            results::log(&Record::Exposed {
                task: shown.together[0] as u32,
                execution: ended.execution,
                harm: ended.harm.clone(),
                failures: ended.failures.clone(),
                choices: Vec::new(),
                steps: steps(),
                shared: explored::shared_memory(),
                with: shown.together.iter().map(|cycle| *cycle as u32).collect(),
            });
        }
        for new in &shown.news {
            results::log(&Record::Exposed {
                task: new.cycle as u32,
                execution: ended.execution,
                harm: ended.harm.clone().filter(|_| new.harmful),
                failures: if new.harmful { ended.failures.clone() } else { Vec::new() },
                choices: Vec::new(),
                steps: steps(),
                shared: explored::shared_memory(),
                with: Vec::new(),
            });
        }
        if self.left > 0 {
            let profile = Profile::new(&trace, |event| (event.label, trace.labels[event.label as usize].line));
            if profile.digests().filter(|digest| self.met.insert(*digest)).count() > 0 {
                self.left -= 1;
                if self.left == 0 {
                    results::unsupported("threads do too many different things for all of them to be looked at");
                }
                log_trace(ended.execution, trace);
            }
        }
    }
}

/// Looks at an execution of a campaign at random.
pub fn met(
    execution: u64,
    trace: impl FnOnce() -> Trace,
    harm: Option<&Message>,
    failures: &[(FindingKind, Option<u32>)],
) {
    let mut guard = WATCHING.enter();
    let Some(watching) = &mut *guard else { return };
    if harm.is_none() && !watching.violations.wants_more() {
        return;
    }
    let (trace, points) = (trace(), &watching.points);
    let shown = watching.violations.look(&trace, |event: &Event| point(points, &trace, event), harm.is_some());
    let sets = (!shown.together.is_empty()).then(|| (shown.together[0], true, shown.together.clone()));
    for (cycle, harmful, with) in shown.news.iter().map(|new| (new.cycle, new.harmful, Vec::new())).chain(sets) {
        results::log(&Record::Exposed {
            task: cycle as u32,
            execution,
            harm: harm.filter(|_| harmful).cloned(),
            failures: if harmful { failures.to_vec() } else { Vec::new() },
            choices: control::choices(),
            steps: Vec::new(),
            shared: Vec::new(),
            with: with.iter().map(|cycle| *cycle as u32).collect(),
        });
    }
}

fn log_trace(execution: u64, mut trace: Trace) {
    let places = trace.labels.iter().map(|label| modules::place(label.line)).collect();
    let length = trace.events.len() as u64;
    trace.labels.iter_mut().for_each(|label| label.line = 0);
    results::log(&Record::Trace { execution, trace, places, length });
}
