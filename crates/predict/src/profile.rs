//! Executions as prediction sees them: what each thread did, in its own order.

use crate::private::Owners;
use fencepost_trace::{
    Event, EventId, EventKind, FenceOrder, Hidden, LoadOrder, Location, RmwOrder, Size, StoreOrder, Trace, Value,
};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// What a step of a thread is to a memory model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Kind {
    /// It reads memory.
    pub reads: bool,
    /// It writes memory.
    pub writes: bool,
    /// It is a fence.
    pub fence: bool,
    /// An RMW, or a compare-exchange that failed.
    pub exclusive: bool,
    /// Its order releases.
    pub releases: bool,
    /// Its order acquires.
    pub acquires: bool,
    /// Its order is seq_cst.
    pub seq_cst: bool,
}

/// A step of a thread: an access or a fence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Item {
    /// Its program point, as cycles name it.
    pub class: u32,
    /// Its program point, as a [`Schedule`](fencepost_trace::Schedule) names it.
    pub site: u32,
    /// What it is.
    pub kind: Kind,
    /// Where; of no meaning for a fence.
    pub at: Location,
    /// What it read.
    pub read: Value,
    /// What it wrote.
    pub written: Value,
    /// The store that it read from, as thread and position; `None` for the initial value.
    pub from: Option<(u32, u32)>,
    /// Its place in the order of execution.
    pub time: u32,
    /// The same, or for a store that waited in a buffer when it left it.
    pub visible: u32,
}

impl Item {
    /// An access to the program's own memory, not to the state of a lock or thread.
    pub fn is_visible(&self) -> bool {
        !self.kind.fence && self.at.as_hidden().is_none()
    }

    /// Do the two access the same memory, one of them writing?
    pub fn conflicts(&self, other: &Item) -> bool {
        !self.kind.fence && !other.kind.fence && (self.kind.writes || other.kind.writes) && self.at.overlaps(other.at)
    }
}

/// One execution: for each thread its steps in program order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Profile {
    /// The threads.
    pub threads: Vec<Vec<Item>>,
}

impl Profile {
    /// The profile of a trace. `name` gives the class and the site of an event: the program points that cycles and
    /// schedules name.
    pub fn new(trace: &Trace, mut name: impl FnMut(&Event) -> (u32, u32)) -> Profile {
        let mut threads: Vec<Vec<Item>> = vec![Vec::new(); trace.threads as usize];
        let mut positions: FxHashMap<EventId, (u32, u32)> = FxHashMap::default();
        for event in &trace.events {
            if let EventKind::Commit { store } = event.kind
                && let Some((t, i)) = positions.get(&store)
            {
                threads[*t as usize][*i as usize].visible = event.id.0;
            }
            let Some(mut item) = item(event) else { continue };
            (item.class, item.site) = name(event);
            if let EventKind::Load { from, .. } | EventKind::Rmw { from, .. } = event.kind {
                item.from = positions.get(&from).copied();
            }
            let thread = &mut threads[event.thread.index()];
            positions.insert(event.id, (event.thread.0, thread.len() as u32));
            thread.push(item);
        }
        Profile { threads }
    }

    /// These executions without what cannot matter to their order: accesses to memory that one thread alone accesses,
    /// in all of them, as long as they are no barriers.
    pub fn shared_only(profiles: &[Profile]) -> Vec<Profile> {
        let mut owners = Owners::default();
        for profile in profiles {
            for (t, thread) in profile.threads.iter().enumerate() {
                thread.iter().filter(|item| item.is_visible()).for_each(|item| owners.add(t as u32, item.at));
            }
        }
        owners.close();
        let is_private = |item: &Item| {
            let kind = item.kind;
            let barrier = kind.exclusive || kind.releases || kind.acquires || kind.seq_cst;
            item.is_visible() && !barrier && owners.is_private(item.at)
        };
        profiles.iter().map(|profile| profile.without(is_private)).collect()
    }

    fn without(&self, left_out: impl Fn(&Item) -> bool) -> Profile {
        // For each step its new position.
        let positions: Vec<Vec<u32>> = self
            .threads
            .iter()
            .map(|thread| {
                let mut next = 0;
                let place = |item: &Item| {
                    let here = next;
                    next += u32::from(!left_out(item));
                    here
                };
                thread.iter().map(place).collect()
            })
            .collect();
        let kept = |thread: &Vec<Item>| {
            let kept = thread.iter().filter(|item| !left_out(item)).copied();
            kept.map(|mut item| {
                item.from = item.from.map(|(t, i)| (t, positions[t as usize][i as usize]));
                item
            })
            .collect()
        };
        Profile { threads: self.threads.iter().map(kept).collect() }
    }

    /// All steps in the order of execution, as thread and position.
    pub fn in_order(&self) -> Vec<(u32, u32)> {
        let mut all: Vec<(u32, u32)> = Vec::new();
        for (t, thread) in self.threads.iter().enumerate() {
            all.extend((0..thread.len() as u32).map(|i| (t as u32, i)));
        }
        all.sort_unstable_by_key(|(t, i)| self.threads[*t as usize][*i as usize].time);
        all
    }

    /// For each thread a digest of what it did: the same wherever it did the same.
    pub fn digests(&self) -> impl Iterator<Item = u64> + '_ {
        self.threads.iter().enumerate().map(|(t, steps)| {
            let mut hasher = FxHasher::default();
            t.hash(&mut hasher);
            steps.iter().for_each(|s| (s.site, s.kind, s.at, s.read, s.written).hash(&mut hasher));
            hasher.finish()
        })
    }

    /// The step at a position.
    pub fn item(&self, (thread, index): (u32, u32)) -> &Item {
        &self.threads[thread as usize][index as usize]
    }
}

/// What an event is to a model; `None` for a commit.
fn item(event: &Event) -> Option<Item> {
    let nowhere = Location::new(0, Size::B1);
    let mut kind = Kind::default();
    let (mut at, mut read, mut written) = (nowhere, Value::ZERO, Value::ZERO);
    match event.kind {
        EventKind::Load { at: place, order, value, failed_rmw, .. } => {
            (at, read) = (place, value);
            kind.reads = true;
            kind.exclusive = failed_rmw;
            kind.acquires = order.acquires();
            kind.seq_cst = order == LoadOrder::SeqCst;
        }
        EventKind::Store { at: place, order, value } => {
            (at, written) = (place, value);
            kind.writes = true;
            kind.releases = order.releases();
            kind.seq_cst = order == StoreOrder::SeqCst;
        }
        EventKind::Rmw { at: place, order, read: old, written: new, .. } => {
            (at, read, written) = (place, old, new);
            kind = Kind { reads: true, writes: true, exclusive: true, ..kind };
            kind.acquires = order.load().acquires();
            kind.releases = order.store().releases();
            kind.seq_cst = order == RmwOrder::SeqCst;
        }
        EventKind::Fence { order } => {
            kind.fence = true;
            kind.acquires = order.acquires();
            kind.releases = order.releases();
            kind.seq_cst = order == FenceOrder::SeqCst;
        }
        EventKind::Commit { .. } => return None,
    }
    Some(Item { class: 0, site: 0, kind, at, read, written, from: None, time: event.id.0, visible: event.id.0 })
}

/// What is ordered by the creation and the end of threads, whatever the schedule; or, for Orion, by all
/// synchronisation.
///
/// A thread's steps are cut into epochs where it creates or joins one. Of two epochs of different threads either one
/// comes before the other or they are parallel.
#[derive(Clone, Debug, Default)]
pub struct Epochs {
    /// For each thread the epoch of each of its steps.
    pub of: Vec<Vec<u32>>,
    /// For each thread and each of its epochs: of each thread, how many epochs come before it.
    before: Vec<Vec<Vec<u32>>>,
}

impl Epochs {
    /// Epochs of threads alone, or of all synchronisation.
    pub fn new(profile: &Profile, all: bool) -> Epochs {
        let n = profile.threads.len();
        let mut epochs = Epochs {
            of: profile.threads.iter().map(|thread| Vec::with_capacity(thread.len())).collect(),
            before: vec![vec![vec![0; n]]; n],
        };
        // What the last release of each hidden location knows.
        let mut released: FxHashMap<Location, Vec<u32>> = FxHashMap::default();
        for position in profile.in_order() {
            let (t, item) = (position.0 as usize, profile.item(position));
            let current = epochs.before[t].len() as u32 - 1;
            epochs.of[t].push(current);
            let Some((hidden, _)) = item.at.as_hidden().filter(|_| !item.kind.fence) else { continue };
            if !all && !matches!(hidden, Hidden::ThreadStart | Hidden::ThreadEnd) {
                continue;
            }
            let mut clock = epochs.before[t][current as usize].clone();
            if item.kind.reads
                && let Some(known) = released.get(&item.at)
            {
                clock.iter_mut().zip(known).for_each(|(c, k)| *c = (*c).max(*k));
            }
            if item.kind.writes {
                let mut known = clock.clone();
                known[t] = current + 1;
                released.insert(item.at, known);
            }
            epochs.before[t].push(clock);
        }
        epochs
    }

    /// Can the two happen in either order?
    pub fn parallel(&self, a: (u32, u32), b: (u32, u32)) -> bool {
        let epoch = |(t, i): (u32, u32)| self.of[t as usize][i as usize];
        self.parallel_epochs((a.0, epoch(a)), (b.0, epoch(b)))
    }

    /// The same for epochs, as thread and number.
    pub fn parallel_epochs(&self, (a, i): (u32, u32), (b, j): (u32, u32)) -> bool {
        let after = |(t, k): (u32, u32), (u, l): (u32, u32)| self.before[t as usize][k as usize][u as usize] > l;
        a != b && !after((a, i), (b, j)) && !after((b, j), (a, i))
    }
}
