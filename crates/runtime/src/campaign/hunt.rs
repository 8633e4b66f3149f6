//! Trials of predicted violations of sequential consistency.

use crate::drive::{control, ending};
use crate::platform::global::{self, Entered, Global};
use crate::platform::modules;
use crate::results;
use fencepost_explore::violations::is_alone;
use fencepost_mailbox::{Hunt, Message, Record, output_fingerprint};
use fencepost_predict::confirm::confirm;
use fencepost_trace::{Event, EventKind, FindingKind, StrategySpec, Task, Trace, Trials};
use rustc_hash::FxHashMap;

mod watch;
pub use watch::{is_watching, look, partly, prepare_watch, start_over};

struct Hunting {
    /// With the labels of this process.
    trials: Trials,
    points: PointNames,
    /// The task under way, and whether it has been exposed without and with harm.
    known: (usize, [bool; 2]),
}

static HUNTING: Global<Option<Hunting>> = Global::new(None);

#[track_caller]
fn hunting() -> Entered<'static, Hunting> {
    HUNTING.enter().map(|hunting| hunting.as_mut().unwrap_or_else(|| ending::internal("no hunt")))
}

/// The program point of a cycle by label, and by whether memory is read and written there.
type PointNames = FxHashMap<(u32, bool, bool), u32>;

fn names_of(hunt: &Hunt, labels: &[u32]) -> PointNames {
    let mut points = FxHashMap::default();
    for (number, point) in hunt.points.iter().enumerate() {
        for site in &point.sites {
            points.insert((labels[*site as usize], point.reads, point.writes), number as u32);
        }
    }
    points
}

/// Reads what is asked for.
pub fn prepare(trials: &Trials, hunt: &Hunt) {
    let labels: Vec<u32> = hunt.sites.iter().map(modules::label_at).collect();
    let points = names_of(hunt, &labels);
    let relabelled =
        |task: &Task| Task { strategy: task.strategy.clone().relabelled(|site| labels[site as usize]), ..task.clone() };
    let trials = Trials { tasks: trials.tasks.iter().map(relabelled).collect(), ..*trials };
    let known = (usize::MAX, [false; 2]);
    *HUNTING.enter() = Some(Hunting { trials, points, known });
}

/// The strategy of this execution.
pub fn strategy(execution: u64) -> StrategySpec {
    hunting().trials.strategy(execution)
}

/// The execution has ended, perhaps with a failure. Was it a violation?
pub fn end(
    execution: u64,
    failure: Option<Message>,
    failures: Vec<(FindingKind, Option<u32>)>,
    output: impl FnOnce() -> String,
) {
    if global::explores() {
        return watch::ended(execution, failure, failures, output);
    }
    let asked = results::request().and_then(|request| request.hunt.as_ref());
    let outputs = asked.map_or(&[][..], |hunt| &hunt.outputs);
    let harm = failure.or_else(|| wrong(&output(), outputs));
    if HUNTING.enter().is_none() {
        return watch::met(execution, control::trace, harm.as_ref(), &failures);
    }
    let trace = control::trace();
    let hunting = &mut *hunting();
    let index = hunting.trials.task(execution);
    let Some(task) = hunting.trials.tasks.get(index) else { return };
    if confirm(&trace, &task.cycle, |event| point(&hunting.points, &trace, event)).is_none() {
        return;
    }
    // What fails because of something else besides is not its doing.
    let class = |event: &Event| point(&hunting.points, &trace, event);
    let harm = harm.filter(|_| is_alone(trace.model, &trace, class, &task.cycle) != Some(false));
    if hunting.known.0 != index {
        hunting.known = (index, [false; 2]);
    }
    let known = &mut hunting.known.1[usize::from(harm.is_some())];
    let choices = if *known { Vec::new() } else { control::choices() };
    *known = true;
    results::log(&Record::Exposed {
        task: task.id,
        execution,
        harm,
        failures,
        choices,
        steps: Vec::new(),
        shared: Vec::new(),
        with: Vec::new(),
    });
}

/// Does the program never print this without reordering?
fn wrong(text: &str, outputs: &[u64]) -> Option<Message> {
    let shown = text.trim_end();
    (!outputs.contains(&output_fingerprint(text)))
        .then(|| format!("wrong output: it printed {shown:?}, which it never does without reordering").into())
}

/// The program point of an event, as cycles name it.
fn point(points: &PointNames, trace: &Trace, event: &Event) -> u32 {
    let (reads, writes) = match event.kind {
        EventKind::Load { .. } => (true, false),
        EventKind::Store { .. } => (false, true),
        EventKind::Rmw { .. } => (true, true),
        EventKind::Fence { .. } | EventKind::Commit { .. } => return u32::MAX,
    };
    let label = trace.labels[event.label as usize].line;
    points.get(&(label, reads, writes)).copied().unwrap_or(u32::MAX)
}
