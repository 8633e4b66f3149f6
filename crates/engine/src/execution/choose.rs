//! What is possible, and which of it happens: the questions to a strategy.

use super::Execution;
use super::record::{MOST_CHOICES, MOST_ORIGINS};
use crate::lowering::Stage;
use crate::monitor::Monitor;
use crate::strategy::{Actor, Drains, Pending, Strategy, What};
use fencepost_memory::{Machine, Read, Source, Step};
use fencepost_trace::{Access, EventId, Guard, LoadOrder, Location, Model, ThreadId, Value};

impl<M: Machine, W: Monitor> Execution<M, W> {
    /// The number of an actor, or the one behind the last if time passes.
    pub(super) fn choose_actor(&mut self, strategy: &mut impl Strategy, may_pass: bool) -> Option<usize> {
        let (threads, machine, records, first) =
            (&self.threads, &self.machine, &self.records, self.forgotten as usize + 1);
        let looks = strategy.looks_at_drains();
        let pending = |actor: &Actor| match actor {
            Actor::Thread(thread) => {
                let run = &threads[thread.index()];
                let what = match (run.access(), &run.stage) {
                    (Some(access), _) => What::Access(*access),
                    (None, Stage::Quit | Stage::Fail(_)) => What::Quit,
                    (None, _) => What::Yield,
                };
                let local = local_step(&what).is_some_and(|step| machine.is_local(&step));
                let drains = if looks { drains(machine, *thread, &what) } else { Drains::Perhaps };
                Pending { what, label: run.label, local, drains }
            }
            Actor::Buffer(commit) => {
                let store = &records[commit.store.index() - first];
                let at = store.kind.location().expect("a store has a location");
                Pending { what: What::Commit(at), label: store.label, local: false, drains: Drains::Nothing }
            }
        };
        let ways = self.actors.len() + usize::from(may_pass);
        let choice = match may_pass {
            true => strategy.actor_or_time(&self.actors, &pending)?,
            false => strategy.actor(&self.actors, &pending)?,
        };
        let choice = choice % ways;
        if ways > 1 {
            self.note_choice(choice as u32);
        }
        Some(choice)
    }

    #[inline]
    pub(super) fn note_choice(&mut self, choice: u32) {
        self.choice_count += 1;
        if self.recording || self.choices.len() < MOST_CHOICES {
            self.choices.push(choice);
        }
    }

    pub(super) fn choose_source(&mut self, thread: ThreadId, strategy: &mut impl Strategy) -> usize {
        if self.sources.len() == 1 {
            return 0;
        }
        let choice = strategy.source(thread, &self.sources) % self.sources.len();
        self.note_choice(choice as u32);
        choice
    }

    /// What a thread's next access reads.
    pub(super) fn choose_read(&mut self, thread: ThreadId, strategy: &mut impl Strategy) -> usize {
        let run = &self.threads[thread.index()];
        let (label, access) = (run.label, run.access().expect("it reads"));
        let (origins, events) = (&self.origins, self.events as usize);
        let origin = |store: EventId| match store.index().checked_sub(1) {
            Some(i) if i + MOST_ORIGINS >= events && i < events => {
                let (thread, label) = origins[i % MOST_ORIGINS];
                (thread, label.wrapping_add(1))
            }
            // The initial value, or one as old as that.
            _ => (ThreadId(u32::MAX), 0),
        };
        let mut choice = 0;
        if self.sources.len() > 1 && strategy.wants_newest() {
            choice = newest(&mut self.machine, access, &self.sources);
        } else if self.sources.len() > 1 {
            choice = strategy.source_of(thread, access, label, &self.sources, &origin) % self.sources.len();
        }
        let store = self.sources[choice].event;
        strategy.has_read(thread, label, &|| origin(store));
        if self.sources.len() > 1 {
            self.note_choice(choice as u32);
        }
        choice
    }

    pub(super) fn choose_variant(&mut self, thread: ThreadId, ways: u32, strategy: &mut impl Strategy) -> u32 {
        if ways == 1 {
            return 0;
        }
        let choice = strategy.variant(thread, ways) % ways;
        self.note_choice(choice);
        choice
    }

    /// The stores that a thread's next access may read and that its guard lets through. Of a compare-exchange, the
    /// first `failing` are those on which it fails; a weak one may have the same store in both parts.
    pub(super) fn find_sources(&mut self, thread: ThreadId, initial: &mut dyn FnMut(Location) -> Value) {
        self.sources.clear();
        self.failing = 0;
        let access = self.threads[thread.index()].access().expect("it is about to access memory");
        let (sets, guard) = (&self.sets, access.guard());
        match *access {
            Access::Store { .. } | Access::Fence { .. } => {}
            Access::Load { at, order, .. } => {
                self.machine.introduce(at, initial);
                self.machine.sources(thread, Read { at, order, exclusive: false }, &mut self.sources);
                if guard != Guard::Any {
                    self.sources.retain(|s| sets.passes(guard, s.value));
                }
            }
            Access::Rmw { at, order, .. } => {
                self.machine.introduce(at, initial);
                self.machine.sources(thread, Read { at, order: order.load(), exclusive: true }, &mut self.sources);
                if guard != Guard::Any {
                    self.sources.retain(|s| sets.passes(guard, s.value));
                }
            }
            Access::CompareExchange { at, expected, failure, weak, .. } if M::MODEL == Model::Sc => {
                // There is one store to read, whatever comes of it.
                self.machine.introduce(at, initial);
                self.machine.sources(thread, Read { at, order: failure, exclusive: false }, &mut self.sources);
                if guard != Guard::Any {
                    self.sources.retain(|s| sets.passes(guard, s.value));
                }
                if let Some(source) = self.sources.first().copied() {
                    let (fails, succeeds) = (weak || source.value != expected, source.value == expected);
                    self.failing = usize::from(fails);
                    if fails && succeeds {
                        self.sources.push(source);
                    }
                }
            }
            Access::CompareExchange { at, expected, success, failure, weak, .. } => {
                self.machine.introduce(at, initial);
                // In hardware a seq_cst compare-exchange looks at memory itself, even if it then fails.
                let exclusive = M::MODEL.is_hardware() && failure == LoadOrder::SeqCst;
                self.machine.sources(thread, Read { at, order: failure, exclusive }, &mut self.sources);
                self.sources.retain(|s| (weak || s.value != expected) && sets.passes(guard, s.value));
                self.failing = self.sources.len();
                self.machine.sources(thread, Read { at, order: success.load(), exclusive: true }, &mut self.sources);
                let mut kept = self.failing;
                for i in self.failing..self.sources.len() {
                    let source = self.sources[i];
                    if source.value == expected && sets.passes(guard, source.value) {
                        self.sources[kept] = source;
                        kept += 1;
                    }
                }
                self.sources.truncate(kept);
            }
        }
    }
}

/// The source that may be the last store of all; where the model leaves several, the one that was made last.
fn newest<M: Machine>(machine: &mut M, access: &Access, sources: &[Source]) -> usize {
    let mut last = Vec::new();
    access.location().into_iter().for_each(|at| machine.final_sources(at, &mut last));
    let lasting = |source: &Source| last.iter().any(|last| last.event == source.event);
    sources.iter().rposition(lasting).unwrap_or(sources.len() - 1)
}

/// Does the machine make stores of `thread` visible before this, in each of the ways in which it may come out?
fn drains<M: Machine>(machine: &M, thread: ThreadId, what: &What) -> Drains {
    let What::Access(access) = *what else { return Drains::Nothing };
    let mut commits = Vec::new();
    let mut requires = |step: Step| {
        commits.clear();
        machine.required(thread, &step, &mut commits);
        !commits.is_empty()
    };
    let written = Value::ZERO;
    let (one, other) = match access {
        Access::Fence { order } => (requires(Step::Fence { order }), None),
        Access::Store { at, order, value } => (requires(Step::Store { at, order, value }), None),
        Access::Load { at, order, .. } => (requires(Step::Load { at, order, failed_rmw: false }), None),
        Access::Rmw { at, order, .. } => (requires(Step::Rmw { at, order, written }), None),
        Access::CompareExchange { at, success, failure, .. } => {
            let fails = requires(Step::Load { at, order: failure, failed_rmw: true });
            (requires(Step::Rmw { at, order: success, written }), Some(fails))
        }
    };
    match (one, other.unwrap_or(one)) {
        (true, true) => Drains::Stores,
        (false, false) => Drains::Nothing,
        _ => Drains::Perhaps,
    }
}

/// Stores and fences as the machine will see them; reads are never local.
fn local_step(what: &What) -> Option<Step> {
    match *what {
        What::Access(Access::Store { at, order, value }) => Some(Step::Store { at, order, value }),
        What::Access(Access::Fence { order }) => Some(Step::Fence { order }),
        _ => None,
    }
}
