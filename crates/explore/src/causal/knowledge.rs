//! What threads have been seen to do after what they have read.
//!
//! A thread is a deterministic function of what it reads, so that what was seen of it once holds always: in the tree
//! of a thread's histories every node remembers what the thread (and those that it creates) wrote *after* that
//! history, in any execution so far, and where it came to stop. From that follows what a read that is put off could
//! still be waiting for. Knowledge only grows, and whoever gave up for lack of it watches the nodes concerned.

use fencepost_trace::{Location, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

/// What tells two results of a read apart: the value or the source, and which of several results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Label {
    /// The value, or the source.
    pub key: u128,
    /// Which of several results.
    pub variant: u32,
}

/// A history of a thread: a node of its tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct History(u32);

/// What a thread may write to a location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Written {
    /// This value (or source).
    Key(u128),
    /// Any value: a read-modify-write that has been seen there.
    Any,
}

#[derive(Debug)]
struct Node {
    parent: Option<History>,
    /// The first history of a created thread: its parent is where its creator was.
    created: bool,
    /// Has what the thread does here been taken note of?
    known: bool,
    writes: Vec<(Location, Written)>,
    /// The last writes to hidden locations where the thread has stopped.
    stops: Vec<(Location, u128)>,
    watchers: Vec<u32>,
}

/// How a history goes on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    Root(ThreadId),
    Read(History, Label),
    Create(History, ThreadId),
}

/// All histories that were seen.
#[derive(Debug, Default)]
pub(super) struct Knowledge {
    nodes: Vec<Node>,
    steps: FxHashMap<Step, History>,
    /// Watchers of nodes that have grown.
    pub grown: Vec<u32>,
}

impl Knowledge {
    fn step(&mut self, step: Step, parent: Option<History>, created: bool) -> History {
        let fresh = History(self.nodes.len() as u32);
        let at = *self.steps.entry(step).or_insert(fresh);
        if at == fresh {
            let (writes, stops, watchers) = Default::default();
            self.nodes.push(Node { parent, created, known: false, writes, stops, watchers });
        }
        at
    }

    /// A thread that exists from the start.
    pub fn root(&mut self, thread: ThreadId) -> History {
        self.step(Step::Root(thread), None, false)
    }

    /// The thread reads this.
    pub fn read(&mut self, at: History, label: Label) -> History {
        self.step(Step::Read(at, label), Some(at), false)
    }

    /// The thread creates another.
    pub fn create(&mut self, at: History, child: ThreadId) -> History {
        self.step(Step::Create(at, child), Some(at), true)
    }

    fn parent(&self, at: History) -> Option<History> {
        let mut node = &self.nodes[at.0 as usize];
        // Where its creator is, a created thread exists; before that it does not.
        while node.created {
            node = &self.nodes[node.parent?.0 as usize];
        }
        node.parent
    }

    /// Is all known that the thread does before its next read?
    pub fn is_known(&self, at: History) -> bool {
        self.nodes[at.0 as usize].known
    }

    /// All is known now.
    pub fn set_known(&mut self, at: History) {
        self.nodes[at.0 as usize].known = true;
    }

    /// The thread writes this before its next read.
    pub fn writes(&mut self, at: History, location: Location, written: Written) {
        if let Some(before) = self.parent(at) {
            self.will_write(before, location, written);
        }
    }

    /// The thread may write this with, or after, its next read.
    pub fn will_write(&mut self, at: History, location: Location, written: Written) {
        let mut next = Some(at);
        while let Some(at) = next {
            let node = &mut self.nodes[at.0 as usize];
            if node.writes.contains(&(location, written)) {
                return;
            }
            node.writes.push((location, written));
            self.grown.extend_from_slice(&node.watchers);
            next = self.parent(at);
        }
    }

    /// The thread may stay here, having written this last.
    pub fn stops(&mut self, at: History, location: Location, key: u128) {
        let mut next = Some(at);
        while let Some(at) = next {
            let node = &mut self.nodes[at.0 as usize];
            if node.stops.contains(&(location, key)) {
                return;
            }
            node.stops.push((location, key));
            self.grown.extend_from_slice(&node.watchers);
            next = self.parent(at);
        }
    }

    /// What may be written to `location` after this history.
    pub fn future(&self, at: History, location: Location) -> impl Iterator<Item = Written> {
        let writes = self.nodes[at.0 as usize].writes.iter();
        writes.filter(move |(other, _)| *other == location).map(|(_, written)| *written)
    }

    /// The last writes to `location` with which a thread has been seen to stop after this history.
    pub fn last_writes(&self, at: History, location: Location) -> impl Iterator<Item = u128> {
        let stops = self.nodes[at.0 as usize].stops.iter();
        stops.filter(move |(other, _)| *other == location).map(|(_, key)| *key)
    }

    /// How many ways are known in which one of these may be written after this history.
    pub fn offers_again(&self, at: History, reads: &FxHashSet<(Location, u128)>) -> usize {
        let again = |(location, written): &&(Location, Written)| match written {
            Written::Key(key) => reads.contains(&(*location, *key)),
            Written::Any => reads.iter().any(|(other, _)| other == location),
        };
        self.nodes[at.0 as usize].writes.iter().filter(again).count()
    }

    /// Tells `watcher` when more is known of what comes after this history.
    pub fn watch(&mut self, at: History, watcher: u32) {
        self.nodes[at.0 as usize].watchers.push(watcher);
    }

    /// How many histories are remembered.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
}
