//! Why nothing orders two accesses that race, from the trace of an execution in which they do.

use super::again::is_sequential;
use super::symbolizer::Symbolizer;
use fencepost_mailbox::{AccessSite, Report};
use fencepost_report::{Describe, Missed, Order};
use fencepost_trace::{
    Event, EventId, EventKind, FenceOrder, Hidden, Label, LoadOrder, RmwOrder, StoreOrder, ThreadId, Trace, Value,
};
use std::collections::{HashMap, HashSet};

/// An access that takes part in a race: whose, and how many events of its thread come before it. If it is atomic, it
/// is the next of them.
#[derive(Clone, Copy, Debug)]
struct End {
    thread: u32,
    before: usize,
    atomic: bool,
}

impl End {
    /// How many events of its thread there are up to it.
    fn up_to(self) -> usize {
        self.before + usize::from(self.atomic)
    }
}

/// Why the first of the sites does not happen before the second. `halves`: times count an RMW twice, as execution
/// graphs do.
pub fn reason(
    trace: &Trace,
    symbolizer: &Symbolizer,
    first: (AccessSite, bool),
    second: (AccessSite, bool),
    halves: bool,
) -> Vec<String> {
    let threads = by_thread(trace);
    let end = |(site, atomic): (AccessSite, bool)| {
        let events = threads.get(site.thread as usize)?;
        let mut time = 0;
        let earlier = |event: &&&Event| {
            time += if halves && matches!(event.kind, EventKind::Rmw { .. }) { 2 } else { 1 };
            time < site.time
        };
        Some(End { thread: site.thread, before: events.iter().take_while(earlier).count(), atomic })
    };
    let (Some(first), Some(second)) = (end(first), end(second)) else { return Vec::new() };
    let search = Search { trace, symbolizer, threads: &threads };
    let mut reason = vec![search.last_known(first, second)];
    reason.push(search.way(first, second));
    reason.extend(search.locks(first, second));
    reason
}

/// So many reads that did not see the newest store are told of.
const MISSED: usize = 2;

/// An execution that is longer is not asked whether it is sequentially consistent.
const LONG: usize = 1_000;

/// What threads did not see before something else than a race was found: the last of these reads that the threads of
/// the finding made, or that led to something that they read. Nothing if an interleaving explains it. `halves`: as
/// above.
pub fn missed(trace: &Trace, symbolizer: &Symbolizer, report: &Report, halves: bool) -> Vec<String> {
    if trace.events.len() <= LONG && is_sequential(trace) {
        return Vec::new();
    }
    let order = if halves { Order::Graph } else { Order::Executed };
    let until = report.after.filter(|_| !halves).map_or(usize::MAX, |after| after as usize);
    let involved: Vec<ThreadId> = report.stacks.iter().map(|stack| ThreadId(stack.thread)).collect();
    let search = Search { trace, symbolizer, threads: &[] };
    let mut sentences: Vec<String> = Vec::new();
    for missed in fencepost_report::missed(trace, order).iter().rev().filter(|missed| missed.read.index() <= until) {
        if !involved.is_empty() && !leads_to(trace, missed.read, &involved) {
            continue;
        }
        let sentence = search.missed(missed);
        sentences.extend(sentence.filter(|sentence| !sentences.contains(sentence)));
        if sentences.len() == MISSED {
            break;
        }
    }
    sentences.reverse();
    sentences
}

/// Does an event belong to one of these threads, or does one of them read something that came of it?
fn leads_to(trace: &Trace, event: EventId, threads: &[ThreadId]) -> bool {
    let mut reached: Vec<ThreadId> = trace.event(event).map(|event| event.thread).into_iter().collect();
    let mut written: HashSet<EventId> = HashSet::new();
    for later in trace.events.iter().skip(event.index()) {
        if let EventKind::Load { from, .. } | EventKind::Rmw { from, .. } = later.kind
            && written.contains(&from)
            && !reached.contains(&later.thread)
        {
            reached.push(later.thread);
        }
        if reached.contains(&later.thread) && later.kind.written().is_some() {
            written.insert(later.id);
        }
    }
    threads.iter().any(|thread| reached.contains(thread))
}

/// A read of another thread's write that brought no order with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WeakLink {
    pub write: EventId,
    pub read: EventId,
    /// Is the one strong enough, and the other?
    pub releases: bool,
    pub acquires: bool,
}

/// Where values went from after the first of the sites to before the second without an order; `None` if none did.
pub fn weak_links(trace: &Trace, first: (AccessSite, bool), second: (AccessSite, bool)) -> Option<Vec<WeakLink>> {
    let end = |(site, atomic): (AccessSite, bool)| {
        let before = site.time.saturating_sub(1) as usize;
        End { thread: site.thread, before, atomic }
    };
    links_between(trace, end(first), end(second))
}

/// The same from a store to a read.
pub fn weak_links_between(trace: &Trace, store: EventId, read: EventId) -> Option<Vec<WeakLink>> {
    let end = |id: EventId| {
        let event = trace.event(id)?;
        let before = trace.events.iter().take(id.index() - 1).filter(|other| other.thread == event.thread).count();
        Some(End { thread: event.thread.0, before, atomic: false })
    };
    links_between(trace, end(store)?, end(read)?)
}

fn links_between(trace: &Trace, first: End, second: End) -> Option<Vec<WeakLink>> {
    let threads = by_thread(trace);
    if first.thread as usize >= threads.len() || second.thread as usize >= threads.len() {
        return None;
    }
    let symbolizer = Symbolizer::default();
    Search { trace, symbolizer: &symbolizer, threads: &threads }.weak(first, second)
}

/// Each thread's events.
fn by_thread(trace: &Trace) -> Vec<Vec<&Event>> {
    let mut threads: Vec<Vec<&Event>> = vec![Vec::new(); trace.threads as usize];
    for event in &trace.events {
        if let Some(list) = threads.get_mut(event.thread.index()) {
            list.push(event);
        }
    }
    threads
}

struct Search<'a> {
    trace: &'a Trace,
    symbolizer: &'a Symbolizer,
    threads: &'a [Vec<&'a Event>],
}

impl<'a> Search<'a> {
    fn place(&self, event: &Event) -> String {
        self.trace.label(event).map_or_else(String::new, |label| format!(" at {}", place(label)))
    }

    /// What an event is: `store to x at f.c:12`.
    fn what(&self, event: &Event) -> String {
        let at = self.place(event);
        let name = |l| self.symbolizer.location(l);
        let hidden = event.kind.location().and_then(|l| l.as_hidden());
        let lock = matches!(hidden, Some((Hidden::Mutex | Hidden::RwLock, _)));
        match (&event.kind, hidden) {
            (EventKind::Store { .. }, Some((Hidden::ThreadStart, thread))) => {
                format!("creation of thread {thread}{at}")
            }
            (EventKind::Load { .. } | EventKind::Rmw { .. }, Some((Hidden::ThreadStart, _))) => "start".to_owned(),
            (EventKind::Store { .. }, Some((Hidden::ThreadEnd, _))) => "end".to_owned(),
            (_, Some((Hidden::ThreadEnd, thread))) => format!("join with thread {thread}{at}"),
            (EventKind::Rmw { at: l, written, .. }, _) if lock => {
                let act = if *written == Value::ZERO { "unlock" } else { "lock" };
                format!("{act} of {}{at}", name(*l))
            }
            (EventKind::Store { at: l, .. }, _) if lock => format!("unlock of {}{at}", name(*l)),
            (EventKind::Load { at: l, order, .. }, None) => format!("{} load of {}{at}", load_word(*order), name(*l)),
            (EventKind::Store { at: l, order, .. }, None) => {
                format!("{} store to {}{at}", store_word(*order), name(*l))
            }
            (EventKind::Rmw { at: l, order, .. }, None) => {
                format!("{} read-modify-write of {}{at}", rmw_word(*order), name(*l))
            }
            (EventKind::Fence { .. }, _) => format!("fence{at}"),
            (_, Some(_)) => format!("operation on {}{at}", event.kind.location().map(name).unwrap_or_default()),
            (EventKind::Commit { .. }, _) => format!("operation{at}"),
        }
    }

    /// `thread 1's relaxed load of x at f.c:12 read 0, although thread 2 had written 1 at f.c:8`.
    fn missed(&self, missed: &Missed) -> Option<String> {
        let (read, newer) = (self.trace.event(missed.read)?, self.trace.event(missed.newer)?);
        let value = |event: &Event, value: Value| {
            event.kind.location().map(|at| self.symbolizer.value(at, value)).unwrap_or_default()
        };
        let seen = match read.kind {
            EventKind::Load { value: seen, .. } | EventKind::Rmw { read: seen, .. } => value(read, seen),
            _ => return None,
        };
        let (written, at, by) = (value(newer, newer.kind.written()?), self.place(newer), newer.thread);
        if written == seen {
            return None;
        }
        let unseen = match missed.buffered {
            true => format!("while thread {by}'s store of {written}{at} was still in its buffer"),
            false => format!("although thread {by} had written {written}{at}"),
        };
        Some(format!("thread {}'s {} read {seen}, {unseen}", read.thread, self.what(read)))
    }

    /// The last thing of the first access's thread that happens before the second.
    fn last_known(&self, first: End, second: End) -> String {
        let events = &self.threads[second.thread as usize];
        let seen = |event: &Event| event.clock.get(first.thread as usize).copied().unwrap_or(0);
        let known = second.up_to().checked_sub(1).and_then(|i| events.get(i)).map_or(0, |event| seen(event));
        let source = (known as usize).checked_sub(1).and_then(|i| self.threads[first.thread as usize].get(i));
        let Some(source) = source else {
            return format!("thread {} had synchronised with nothing that thread {} did", second.thread, first.thread);
        };
        let by = events.iter().find(|event| seen(event) >= known);
        let by = by.map(|event| self.what(event)).filter(|what| what != "start");
        let by = by.map_or_else(String::new, |what| format!(", by the {what}"));
        format!(
            "the last of thread {} that thread {} had synchronised with is the {}{by}",
            first.thread,
            second.thread,
            self.what(source)
        )
    }

    /// A way by which values went from after the first access to before the second, if there is one, and where it
    /// does not synchronise.
    fn way(&self, first: End, second: End) -> String {
        match self.weak(first, second) {
            None => format!(
                "before its access, thread {} has read nothing that thread {} wrote after its own",
                second.thread, first.thread
            ),
            Some(links) => links.iter().map(|link| self.weakness(link)).collect::<Vec<_>>().join("; "),
        }
    }

    /// The links of that way that do not synchronise; `None` if there is no way.
    fn weak(&self, first: End, second: End) -> Option<Vec<WeakLink>> {
        let mut readers: HashMap<u32, Vec<&Event>> = HashMap::new();
        for event in &self.trace.events {
            if let EventKind::Load { from, .. } | EventKind::Rmw { from, .. } = event.kind {
                readers.entry(from.0).or_default().push(event);
            }
        }
        let positions = self.threads.iter().flat_map(|list| list.iter().enumerate());
        let index: HashMap<u32, usize> = positions.map(|(i, event)| (event.id.0, i)).collect();
        let mut reached: HashMap<u32, Option<&Event>> = HashMap::new();
        let mut queue: Vec<&Event> = Vec::new();
        let start = self.threads[first.thread as usize].get(first.before);
        if let Some(event) = start {
            reached.insert(event.id.0, None);
            queue.push(event);
        }
        let mut next = 0;
        let mut target = None;
        while let Some(event) = queue.get(next).copied() {
            next += 1;
            let own = &self.threads[event.thread.index()];
            if event.thread.0 == second.thread && index[&event.id.0] < second.up_to() {
                target = Some(event);
                break;
            }
            let after = own.get(index[&event.id.0] + 1).copied();
            let reads = readers.get(&event.id.0).into_iter().flatten().copied();
            for to in reads.chain(after) {
                if let std::collections::hash_map::Entry::Vacant(entry) = reached.entry(to.id.0) {
                    entry.insert(Some(event));
                    queue.push(to);
                }
            }
        }
        let mut event = target?;
        let mut weak = Vec::new();
        while let Some(Some(from)) = reached.get(&event.id.0) {
            let ordered = event.clock.get(from.thread.index()).copied().unwrap_or(0) as usize > index[&from.id.0];
            if from.thread != event.thread && !ordered {
                weak.push(self.link(from, event, &index));
            }
            event = from;
        }
        weak.reverse();
        Some(weak)
    }

    fn link(&self, write: &Event, read: &Event, index: &HashMap<u32, usize>) -> WeakLink {
        let fence = |events: &[&Event], what: fn(FenceOrder) -> bool| {
            events.iter().any(|event| matches!(event.kind, EventKind::Fence { order } if what(order)))
        };
        let before = &self.threads[write.thread.index()][..index[&write.id.0]];
        let after = &self.threads[read.thread.index()][index[&read.id.0] + 1..];
        let releases = match write.kind {
            EventKind::Store { order, .. } => order.releases(),
            EventKind::Rmw { order, .. } => order.store().releases(),
            _ => true,
        } || fence(before, FenceOrder::releases);
        let acquires = match read.kind {
            EventKind::Load { order, .. } => order.acquires(),
            EventKind::Rmw { order, .. } => order.load().acquires(),
            _ => true,
        } || fence(after, FenceOrder::acquires);
        WeakLink { write: write.id, read: read.id, releases, acquires }
    }

    /// Why a read does not synchronise with what it has read.
    fn weakness(&self, link: &WeakLink) -> String {
        let (Some(write), Some(read)) = (self.trace.event(link.write), self.trace.event(link.read)) else {
            return String::new();
        };
        let why = match (link.releases, link.acquires) {
            (false, false) => "the one does not release and the other does not acquire",
            (false, true) => "the store does not release",
            (true, false) => "the load does not acquire",
            (true, true) => "the two do not synchronise",
        };
        format!(
            "thread {}'s {} has read from thread {}'s {}, but {why}",
            read.thread,
            self.what(read),
            write.thread,
            self.what(write)
        )
    }

    /// The mutexes that the threads held.
    fn locks(&self, first: End, second: End) -> Option<String> {
        let held = |end: End| {
            let mut held = Vec::new();
            for event in &self.threads[end.thread as usize][..end.before] {
                let Some(at) = event.kind.location().filter(|l| matches!(l.as_hidden(), Some((Hidden::Mutex, _))))
                else {
                    continue;
                };
                match event.kind.written() {
                    Some(Value::ZERO) => held.retain(|lock| *lock != at),
                    Some(_) if !held.contains(&at) => held.push(at),
                    _ => {}
                }
            }
            held
        };
        let (one, other) = (held(first), held(second));
        if one.is_empty() && other.is_empty() {
            return None;
        }
        let names = |locks: &[_]| {
            let names: Vec<String> = locks.iter().map(|lock| self.symbolizer.location(*lock)).collect();
            if names.is_empty() { "no mutex".to_owned() } else { names.join(" and ") }
        };
        Some(format!("thread {} held {}, thread {} held {}", first.thread, names(&one), second.thread, names(&other)))
    }
}

/// `f.c:12`, or the function where no line is known.
pub fn place(label: &Label) -> String {
    if label.line == 0 { label.function.clone() } else { format!("{}:{}", label.file, label.line) }
}

fn load_word(order: LoadOrder) -> &'static str {
    match order {
        LoadOrder::Plain => "plain",
        LoadOrder::Relaxed => "relaxed",
        LoadOrder::Acquire => "acquire",
        LoadOrder::SeqCst => "seq_cst",
    }
}

fn store_word(order: StoreOrder) -> &'static str {
    match order {
        StoreOrder::Plain => "plain",
        StoreOrder::Relaxed => "relaxed",
        StoreOrder::Release => "release",
        StoreOrder::SeqCst => "seq_cst",
    }
}

fn rmw_word(order: RmwOrder) -> &'static str {
    match order {
        RmwOrder::Relaxed => "relaxed",
        RmwOrder::Acquire => "acquire",
        RmwOrder::Release => "release",
        RmwOrder::AcqRel => "acq_rel",
        RmwOrder::SeqCst => "seq_cst",
    }
}
