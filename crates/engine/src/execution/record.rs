//! What is kept of an execution.

use super::Execution;
use crate::monitor::Monitor;
use fencepost_memory::Machine;
use fencepost_trace::{Event, EventId, EventKind, Label, Model, Outcome, ThreadId, Trace};

/// What is kept of an event while the execution runs.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) thread: ThreadId,
    pub(super) label: u32,
    pub(super) kind: EventKind,
    /// Where its clock ends in the list of all clocks; it starts where the one before ends.
    pub(super) clock_end: usize,
}

/// Of how many events it is known where they were, whatever is kept of them.
pub(super) const MOST_ORIGINS: usize = 1 << 14;

/// Answers are kept up to this number if nothing else is: an execution with more of them is named by its strategy's
/// seed.
pub(super) const MOST_CHOICES: usize = 1 << 17;

impl<M: Machine, W: Monitor> Execution<M, W> {
    /// Says, before it begins, whether everything is kept for the trace, and races are looked for. If not, the
    /// execution can be as long as it likes: of its events only those are kept that its owner has not seen
    /// ([`forget_before`](Self::forget_before)), and of its answers the first hundred thousand or so.
    pub fn set_recording(&mut self, recording: bool) {
        self.recording = recording;
    }

    /// Nobody will ask for an event ([`event`](Self::event)): those that nothing else needs are not kept, if the
    /// execution is not recorded either.
    pub fn set_unseen(&mut self, unseen: bool) {
        self.unseen = unseen;
    }

    /// Stores that wait in a buffer are found among the events.
    #[inline]
    pub(super) fn keeps_events(&self) -> bool {
        self.recording || M::MODEL.is_hardware() && !(self.unseen && M::MODEL == Model::Sc)
    }

    #[inline]
    pub(super) fn record_of(&self, event: EventId) -> &Record {
        &self.records[event.index() - self.forgotten as usize - 1]
    }

    #[inline]
    pub(super) fn count_event(&mut self, thread: ThreadId, label: u32) {
        let place = self.events as usize % MOST_ORIGINS;
        match self.origins.get_mut(place) {
            Some(origin) => *origin = (thread, label),
            None => self.origins.push((thread, label)),
        }
        self.events += 1;
    }

    pub(super) fn record(&mut self, thread: ThreadId, label: u32, kind: EventKind) {
        self.count_event(thread, label);
        if self.recording
            && let Some(clock) = self.machine.clock(thread)
        {
            self.clocks.extend_from_slice(clock.slots());
        }
        self.records.push(Record { thread, label, kind, clock_end: self.clocks.len() });
    }

    /// How many events there are.
    #[inline]
    pub fn event_count(&self) -> usize {
        self.events as usize
    }

    /// How many events changed what can be read: stores, also when they leave a buffer, and read-modify-writes that
    /// wrote another value than they read.
    #[inline]
    pub fn change_count(&self) -> u64 {
        self.changes
    }

    /// Nobody will ask for events before this one again, but for stores that wait in a buffer.
    pub fn forget_before(&mut self, event: EventId) {
        const FEW: usize = 1024;
        if self.recording || self.records.len() < FEW {
            return;
        }
        self.commits.clear();
        self.machine.commits(&mut self.commits);
        let oldest = self.commits.iter().map(|commit| commit.store).min().unwrap_or(event).min(event);
        let gone = oldest.index() - self.forgotten as usize - 1;
        self.records.drain(..gone);
        self.forgotten += gone as u32;
    }

    /// Whose event this was, and what it did.
    #[inline]
    pub fn event(&self, id: EventId) -> (ThreadId, &EventKind) {
        let record = self.record_of(id);
        (record.thread, &record.kind)
    }

    /// The answers so far; if not everything is recorded, the first of them.
    pub fn choices(&self) -> &[u32] {
        &self.choices
    }

    /// How many answers there were.
    pub fn choice_count(&self) -> u64 {
        self.choice_count
    }

    /// The trace of an execution that was recorded; `describe` tells what a label stands for.
    pub fn trace(&self, describe: impl Fn(u32) -> Label) -> Trace {
        let mut labels: Vec<u32> = self.records.iter().map(|r| r.label).collect();
        labels.sort_unstable();
        labels.dedup();
        let mut clock_start = 0;
        let events = self.records.iter().enumerate().map(|(i, record)| {
            let clock = self.clocks[clock_start..record.clock_end].to_vec();
            clock_start = record.clock_end;
            Event {
                id: EventId(i as u32 + 1),
                thread: record.thread,
                label: labels.binary_search(&record.label).expect("every label is in the list") as u32,
                kind: record.kind.clone(),
                clock,
            }
        });
        Trace {
            model: M::MODEL,
            outcome: self.outcome.clone().unwrap_or(Outcome::StepLimit),
            threads: self.threads.len() as u32,
            events: events.collect(),
            coherence: self.machine.coherence(),
            labels: labels.iter().map(|l| describe(*l)).collect(),
            choices: self.choices.clone(),
        }
    }
}
