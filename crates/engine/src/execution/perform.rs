//! What is decided happens.

use super::{Execution, State};
use crate::effect::{Effect, effect, variants};
use crate::lowering::Stage;
use crate::monitor::{Monitor, Performed};
use crate::strategy::Strategy;
use fencepost_memory::{Commit, Machine, Source, Step};
use fencepost_trace::{Access, EventId, EventKind, Location, Op, Outcome, Part, Reply, ThreadId, Value};

impl<M: Machine, W: Monitor> Execution<M, W> {
    pub(super) fn take_step(
        &mut self,
        thread: ThreadId,
        strategy: &mut impl Strategy,
        initial: &mut dyn FnMut(Location) -> Value,
    ) {
        let run = &mut self.threads[thread.index()];
        let Some(access) = run.access() else {
            match run.stage {
                Stage::Fail(failure) => self.outcome = Some(Outcome::Failed { thread, failure }),
                Stage::Yield | Stage::Quit => {
                    run.fresh = true;
                    run.lowering.performed(Reply::NONE);
                }
                stage => unreachable!("internal error: a thread that is not waiting was chosen: {stage:?}"),
            }
            return;
        };
        let (step, source, reply) = match *access {
            Access::Fence { order } => (Step::Fence { order }, None, Reply::NONE),
            Access::Store { at, order, value } => {
                self.machine.introduce(at, initial);
                (Step::Store { at, order, value }, None, Reply::NONE)
            }
            _ => {
                let is_compare_exchange = matches!(access, Access::CompareExchange { .. });
                self.find_sources(thread, initial);
                let choice = self.choose_read(thread, strategy);
                let source = self.sources[choice];
                let variant = if is_compare_exchange {
                    u32::from(choice < self.failing)
                } else {
                    let access = self.threads[thread.index()].access().expect("it reads");
                    self.choose_variant(thread, variants(access, source.value, &self.sets), strategy)
                };
                let (step, reply) = self.decide(thread, source, variant);
                (step, Some(source), reply)
            }
        };
        self.perform(thread, &step, source);
        let run = &mut self.threads[thread.index()];
        run.lowering.performed(reply);
        run.fresh = true;
        if matches!(run.lowering.op(), Op::Spawn) && matches!(step, Step::Store { .. }) {
            // It first takes its creator's go-ahead.
            let child = run.lowering.child();
            self.threads[child.index()].state = State::Waiting;
        }
    }

    /// What a thread's next access does if it reads this.
    fn decide(&mut self, thread: ThreadId, source: Source, variant: u32) -> (Step, Reply) {
        let access = self.threads[thread.index()].access().expect("it reads");
        let at = access.location().expect("a read has a location");
        match effect(access, source.value, variant, &mut self.sets) {
            Effect::Load { order, failed_rmw, reply } => (Step::Load { at, order, failed_rmw }, reply),
            Effect::Rmw { order, written, reply } => (Step::Rmw { at, order, written }, reply),
            Effect::Blocked => unreachable!("internal error: a blocked access was chosen"),
        }
    }

    pub(super) fn perform(&mut self, thread: ThreadId, step: &Step, source: Option<Source>) {
        self.commits.clear();
        self.machine.required(thread, step, &mut self.commits);
        let required = std::mem::take(&mut self.commits);
        for commit in &required {
            self.commit(*commit);
        }
        self.commits = required;
        let event = EventId(self.events + 1);
        self.machine.perform(event, thread, step, source);
        self.changes += u64::from(match *step {
            Step::Store { .. } => true,
            Step::Rmw { written, .. } => source.is_none_or(|source| source.value != written),
            Step::Load { .. } | Step::Fence { .. } => false,
        });
        self.touch(step.location());
        let label = self.threads[thread.index()].label;
        if self.keeps_events() {
            let parts = if self.recording { self.machine.parts().to_vec() } else { Vec::new() };
            self.record(thread, label, kind_of(step, source, parts));
        } else {
            self.count_event(thread, label);
        }
        let clock = self.machine.clock(thread);
        self.monitor.performed(&Performed { event, thread, label, step, source, clock });
    }

    pub(super) fn commit(&mut self, commit: Commit) {
        self.machine.commit(commit);
        self.changes += 1;
        let store = self.record_of(commit.store);
        let (label, at) = (store.label, store.kind.location());
        self.touch(at);
        self.monitor.committed(commit);
        self.record(commit.thread, label, EventKind::Commit { store: commit.store });
    }

    /// Somebody was at `at`: those who wait there look again.
    #[inline]
    pub(super) fn touch(&mut self, at: Option<Location>) {
        let Some(at) = at else { return };
        for run in &mut self.threads {
            if run.stuck.is_some_and(|stuck| stuck.overlaps(at)) {
                run.stuck = None;
            }
        }
    }
}

fn kind_of(step: &Step, source: Option<Source>, parts: Vec<Part>) -> EventKind {
    let read = source.unwrap_or(Source { event: EventId::INIT, value: Value::ZERO });
    match *step {
        Step::Load { at, order, failed_rmw } => {
            EventKind::Load { at, order, value: read.value, from: read.event, parts, failed_rmw }
        }
        Step::Store { at, order, value } => EventKind::Store { at, order, value },
        Step::Rmw { at, order, written } => {
            EventKind::Rmw { at, order, read: read.value, written, from: read.event, parts }
        }
        Step::Fence { order } => EventKind::Fence { order },
    }
}
