//! Trials of predicted violations of sequential consistency.

use crate::control::{self, Answers};
use crate::global::Global;
use crate::{ending, modules, results};
use fencepost_engine::{Biased, InOrder, OnCourse, Points, Stop};
use fencepost_mailbox::{Hunt, Record, output_fingerprint};
use fencepost_predict::confirm::confirm;
use fencepost_trace::{
    Bias, Course, Cycle, Event, EventKind, Exact, FindingKind, Method, Model, Sampling, Trace, execution_seed,
};
use rustc_hash::FxHashMap;

/// A task in the words of this process.
struct Task {
    id: u32,
    cycle: Cycle,
    way: Way,
}

enum Way {
    Course(Course),
    Biased(Points, Bias),
    Exact(Vec<Stop>, Exact),
    Follow(Vec<u32>),
}

struct Hunting {
    model: Model,
    seed: u64,
    trials: u64,
    tasks: Vec<Task>,
    /// The program point of a cycle by label, and by whether memory is read and written there.
    points: FxHashMap<(u32, bool, bool), u32>,
    outputs: Vec<u64>,
    /// The task under way, and whether it has been exposed without and with harm.
    known: (usize, [bool; 2]),
}

static HUNTING: Global<Option<Hunting>> = Global::new(None);

fn hunting() -> &'static mut Hunting {
    HUNTING.get().as_mut().unwrap_or_else(|| ending::internal("no hunt"))
}

/// Reads what is asked for. It stays as it is from then on.
pub fn prepare(hunt: &Hunt, model: Model) {
    let labels: Vec<u32> = hunt.spots.iter().map(modules::label_at).collect();
    let at =
        |point: u32| -> Vec<u32> { hunt.points[point as usize].spots.iter().map(|s| labels[*s as usize]).collect() };
    let mut points = FxHashMap::default();
    for (number, point) in hunt.points.iter().enumerate() {
        for spot in &point.spots {
            points.insert((labels[*spot as usize], point.reads, point.writes), number as u32);
        }
    }
    let tasks = hunt.tasks.iter().map(|task| {
        let way = match &task.method {
            Method::Course(course) => {
                let expected = course.expected.iter().map(|list| list.iter().map(|s| labels[*s as usize]).collect());
                Way::Course(Course { expected: expected.collect(), steps: course.steps.clone() })
            }
            Method::Biased(bias) => {
                let pairs = || task.cycle.segments.iter().filter(|segment| segment.second.is_some());
                let late = pairs().flat_map(|segment| at(segment.first)).collect();
                let early = pairs().flat_map(|segment| at(segment.last())).collect();
                Way::Biased(Points { late, early }, *bias)
            }
            Method::Exact(exact) => Way::Exact(stops(hunt, &task.cycle, model, &at), *exact),
            Method::Follow { choices } => Way::Follow(choices.clone()),
        };
        Task { id: task.id, cycle: task.cycle.clone(), way }
    });
    let tasks = tasks.collect();
    let outputs = hunt.outputs.clone();
    let known = (usize::MAX, [false; 2]);
    *HUNTING.get() =
        Some(Hunting { model, seed: hunt.seed, trials: hunt.trials.max(1), tasks, points, outputs, known });
}

fn stops(hunt: &Hunt, cycle: &Cycle, model: Model, at: &dyn Fn(u32) -> Vec<u32>) -> Vec<Stop> {
    let mut stops = Vec::new();
    for segment in &cycle.segments {
        let (first, last) = (&hunt.points[segment.first as usize], &hunt.points[segment.last() as usize]);
        let passable = segment.second.is_some()
            && first.writes
            && !first.reads
            && (model != Model::Tso || (last.reads && !last.writes));
        stops.push(Stop { labels: at(segment.first), passable, last: segment.second.is_none() });
        if let Some(second) = segment.second {
            stops.push(Stop { labels: at(second), passable: false, last: true });
        }
    }
    stops
}

/// Who answers in this execution.
pub fn answers(execution: u64) -> Answers {
    // Never changed or dropped after `prepare`.
    let hunting: &'static Hunting = hunting();
    let seed = execution_seed(hunting.seed, execution);
    let Some(task) = hunting.tasks.get((execution / hunting.trials) as usize) else {
        return Answers::Random { seed, sampling: Sampling::default() };
    };
    match &task.way {
        Way::Course(course) => Answers::Course(OnCourse::new(course, seed)),
        Way::Biased(points, bias) => Answers::Biased(Biased::new(points, *bias, hunting.model, seed)),
        Way::Exact(stops, exact) => Answers::Exact(InOrder::new(stops, *exact, seed)),
        Way::Follow(choices) => Answers::Follow(choices),
    }
}

/// The execution has ended, perhaps with a failure. Was it a violation?
pub fn end(
    execution: u64,
    failure: Option<String>,
    failures: Vec<(FindingKind, Option<u32>)>,
    output: impl FnOnce() -> String,
) {
    let hunting = hunting();
    let index = (execution / hunting.trials) as usize;
    let Some(task) = hunting.tasks.get(index) else { return };
    let trace = control::trace();
    if confirm(&trace, &task.cycle, |event| point(hunting, &trace, event)).is_none() {
        return;
    }
    let wrong = || {
        let text = output();
        let shown = text.trim_end();
        (!hunting.outputs.contains(&output_fingerprint(&text)))
            .then(|| format!("wrong output: it printed {shown:?}, which it never does without reordering"))
    };
    let harm = failure.or_else(wrong);
    if hunting.known.0 != index {
        hunting.known = (index, [false; 2]);
    }
    let known = &mut hunting.known.1[usize::from(harm.is_some())];
    let choices = if *known { Vec::new() } else { control::choices() };
    *known = true;
    results::log(&Record::Exposed { task: task.id, execution, harm, failures, choices });
}

/// The program point of an event, as cycles name it.
fn point(hunting: &Hunting, trace: &Trace, event: &Event) -> u32 {
    let (reads, writes) = match event.kind {
        EventKind::Load { .. } => (true, false),
        EventKind::Store { .. } => (false, true),
        EventKind::Rmw { .. } => (true, true),
        EventKind::Fence { .. } | EventKind::Commit { .. } => return u32::MAX,
    };
    let label = trace.labels[event.label as usize].line;
    hunting.points.get(&(label, reads, writes)).copied().unwrap_or(u32::MAX)
}
