//! Which steps of a long execution are worth showing.
//!
//! What the threads of the finding did last, what these steps read and what they should have read, who wrote that,
//! what others did not see, and how those threads came to be. The rest is counted.

use crate::Timeline;
use crate::order::Staleness;
use fencepost_trace::{Event, EventId, EventKind, Hidden, Location, ThreadId, Trace};

/// An execution of so many steps is shown whole.
const WHOLE: usize = 60;
/// So many of the last steps of each thread that takes part are shown,
const LAST: usize = 8;
/// or, if none is known to, the last of anybody's,
const END: usize = 12;
/// and so many of its stale reads,
const STALE: usize = 3;
/// looked for among so many of its last steps,
const LOOKED_AT: usize = 400;
/// and among so many of anybody's.
const LOOKED_AT_OF_OTHERS: usize = 4_000;
/// A reader does not read more than this.
const MOST: usize = 100;

/// For each event whether it is shown; `after` is how many events there had been when the finding was met.
pub(super) fn relevant(trace: &Trace, timeline: &Timeline, involved: &[ThreadId], after: Option<u32>) -> Vec<bool> {
    let count = trace.events.len();
    if count <= WHOLE {
        return vec![true; count];
    }
    let mut chosen = Chosen { trace, timeline, kept: vec![false; count], number: 0, open: Vec::new() };
    let until = after.map_or(count, |after| (after as usize).min(count));
    if involved.is_empty() {
        (until.saturating_sub(END)..until).for_each(|i| chosen.keep(i));
    }
    for thread in involved {
        let own: Vec<usize> = (0..until).rev().filter(|i| trace.events[*i].thread == *thread).take(LOOKED_AT).collect();
        // A loop that goes around without effect is shown once.
        let repeats = |pair: &[usize]| {
            let (later, event) = (&trace.events[pair[0]], &trace.events[pair[1]]);
            (later.label, &later.kind) == (event.label, &event.kind)
        };
        let last = own.first().copied().into_iter();
        let last = last.chain(own.windows(2).filter(|pair| !repeats(pair)).map(|pair| pair[1]));
        last.take(LAST).for_each(|i| chosen.keep(i));
        let stale = own.iter().filter(|i| timeline.staleness(trace, &trace.events[**i]).is_some());
        let stale: Vec<usize> = stale.take(STALE).copied().collect();
        stale.into_iter().for_each(|i| chosen.keep(i));
    }
    // What somebody else did not see matters as well, since without it there would be nothing to show.
    let is_missed = |event: &Event| {
        let is_hidden = event.kind.location().and_then(Location::as_hidden).is_some();
        !is_hidden && timeline.staleness(trace, event).is_some()
    };
    let others = (0..until).rev().take(LOOKED_AT_OF_OTHERS).filter(|i| is_missed(&trace.events[*i]));
    let others: Vec<usize> = others.take(STALE).collect();
    others.into_iter().for_each(|i| chosen.keep(i));
    chosen.close();
    chosen.beginnings(involved);
    chosen.kept
}

struct Chosen<'a> {
    trace: &'a Trace,
    timeline: &'a Timeline,
    kept: Vec<bool>,
    number: usize,
    /// Kept, and not looked at for what they lead to.
    open: Vec<usize>,
}

impl Chosen<'_> {
    fn keep(&mut self, index: usize) {
        if !self.kept[index] && self.number < MOST {
            self.kept[index] = true;
            self.number += 1;
            self.open.push(index);
        }
    }

    fn keep_event(&mut self, id: EventId) {
        if !id.is_init() && id.index() <= self.kept.len() {
            self.keep(id.index() - 1);
        }
    }

    /// Adds what the steps refer to: where a read reads from, what it missed, when a store left its buffer.
    fn close(&mut self) {
        while let Some(index) = self.open.pop() {
            let event = &self.trace.events[index];
            match event.kind {
                EventKind::Load { from, .. } | EventKind::Rmw { from, .. } => self.keep_event(from),
                EventKind::Commit { store } => self.keep_event(store),
                _ => {}
            }
            if let Some(Staleness::Stale(newer) | Staleness::Buffered(newer)) =
                self.timeline.staleness(self.trace, event)
            {
                self.keep_event(newer);
            }
        }
    }

    /// Adds the creation of these threads.
    fn beginnings(&mut self, threads: &[ThreadId]) {
        for (i, event) in self.trace.events.iter().enumerate() {
            if let Some((Hidden::ThreadStart, key)) = event.kind.location().and_then(Location::as_hidden)
                && threads.iter().any(|thread| u64::from(thread.0) == key)
            {
                self.kept[i] = true;
            }
        }
    }
}
