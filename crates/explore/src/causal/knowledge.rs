//! What threads have been seen to do after what they have read.
//!
//! A thread is a deterministic function of what it reads, so that what was seen of it once holds always: in the tree
//! of a thread's histories every node remembers where the thread (and those that it creates) wrote *after* that
//! history, in any execution so far. Knowledge only grows, and whoever relied on what was known watches the nodes
//! concerned.
//!
//! Threads hand things to each other without any read that is a choice when one creates the other, or waits for its
//! end: so the history of a created thread begins with that of its creator, and waiting for the end of a thread is a
//! step that has its history.

use fencepost_trace::{Location, ThreadId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// What tells two results of a read apart: the value or the source, and which of several results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Label {
    /// The value, or the source.
    pub key: u128,
    /// Which of several results.
    pub variant: u32,
}

/// A history of a thread: a node of its tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct History(u32);

#[derive(Debug)]
struct Node {
    /// The way to it.
    step: Step,
    parent: Option<History>,
    /// The first history of a created thread: its parent is where its creator was.
    created: bool,
    /// Has what the thread does here been taken note of?
    known: bool,
    /// Its name, the same in every run: a hash of the way to it.
    name: u128,
    /// What it adds to the name of a state.
    part: u128,
    /// Has the thread read anything?
    has_read: bool,
    /// Does it create threads before its next read?
    creates: bool,
    /// Is it known to come to another read that is a choice?
    reads_on: bool,
    /// Where the thread writes before its next read, once that is known.
    here: Vec<Location>,
    /// Where the thread may write with, or after, its next read.
    writes: Vec<Location>,
    watchers: Vec<u32>,
}

/// How a history goes on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Step {
    Root(ThreadId),
    Read(History, Label),
    Create(History, ThreadId),
    /// It has waited for the end of another thread, which has read this: what that has left in memory it may use.
    Join(History, History),
}

/// All histories that were seen.
#[derive(Debug, Default)]
pub(super) struct Knowledge {
    nodes: Vec<Node>,
    steps: FxHashMap<Step, History>,
    /// Watchers of nodes that have grown.
    pub grown: Vec<u32>,
    /// So many nodes another has, too, by the same numbers; and those among them that have changed since.
    common: u32,
    changed: Vec<History>,
}

/// Histories and what is known of them, as plain values for others.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Told {
    /// So many the other has by the same numbers.
    common: u32,
    list: Vec<One>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct One {
    at: History,
    step: Step,
    known: bool,
    reads_on: bool,
    here: Vec<Location>,
    writes: Vec<Location>,
}

impl Knowledge {
    fn step(&mut self, step: Step, parent: Option<History>, name: u128) -> History {
        let fresh = History(self.nodes.len() as u32);
        let at = *self.steps.entry(step).or_insert(fresh);
        if at == fresh {
            let created = matches!(step, Step::Create(..));
            let has_read = match step {
                Step::Read(..) => true,
                Step::Join(before, _) => self.node(before).has_read,
                Step::Root(_) | Step::Create(..) => false,
            };
            let (known, creates, reads_on, here, writes, watchers) = Default::default();
            let part = if has_read { mix(name) } else { 0 };
            self.nodes.push(Node {
                step,
                parent,
                created,
                known,
                name,
                part,
                has_read,
                creates,
                reads_on,
                here,
                writes,
                watchers,
            });
        }
        at
    }

    /// A thread that exists from the start.
    pub fn root(&mut self, thread: ThreadId) -> History {
        self.step(Step::Root(thread), None, first_name(thread))
    }

    /// The thread reads this.
    pub fn read(&mut self, at: History, label: Label) -> History {
        self.step(Step::Read(at, label), Some(at), self.name_after(at, label))
    }

    /// The thread creates another.
    pub fn create(&mut self, at: History, child: ThreadId) -> History {
        self.nodes[at.0 as usize].creates = true;
        self.step(Step::Create(at, child), Some(at), first_name(child))
    }

    /// The history after one more read, if it was seen and all is known that the thread does before the next.
    pub fn known_after(&self, at: History, label: Label) -> Option<History> {
        self.steps.get(&Step::Read(at, label)).copied().filter(|after| self.is_known(*after))
    }

    /// The thread has waited for the end of another, of which this is the history. That is no choice, and so its name
    /// stays the same.
    pub fn join(&mut self, at: History, ended: History) -> History {
        self.step(Step::Join(at, ended), Some(at), self.node(at).name)
    }

    fn node(&self, at: History) -> &Node {
        &self.nodes[at.0 as usize]
    }

    /// What the history adds to the name of a state: nothing, if the thread has read nothing.
    pub fn part_of_name(&self, at: History) -> u128 {
        self.node(at).part
    }

    /// The name of a state after one more read of a thread which has this history in it.
    pub fn name_of_state(&self, state: u128, at: History, label: Label) -> u128 {
        state.wrapping_sub(self.part_of_name(at)).wrapping_add(mix(self.name_after(at, label)))
    }

    /// The name of the history after one more read.
    fn name_after(&self, at: History, label: Label) -> u128 {
        mix(mix(self.node(at).name ^ label.key).wrapping_add(u128::from(label.variant)))
    }

    fn parent(&self, at: History) -> Option<History> {
        let mut node = self.node(at);
        // Where its creator is, a created thread exists; before that it does not.
        while node.created {
            node = self.node(node.parent?);
        }
        node.parent
    }

    /// Is all known that the thread does before its next read?
    pub fn is_known(&self, at: History) -> bool {
        self.node(at).known
    }

    /// All is known now; it comes to another read that is a choice, or not.
    pub fn set_known(&mut self, at: History, reads_on: bool) {
        let node = &mut self.nodes[at.0 as usize];
        (node.known, node.reads_on) = (true, reads_on);
        self.note_change(at);
    }

    fn note_change(&mut self, at: History) {
        if at.0 < self.common {
            self.changed.push(at);
        }
    }

    /// The thread writes there before its next read.
    pub fn wrote(&mut self, at: History, location: Location) {
        let here = &mut self.nodes[at.0 as usize].here;
        if !here.contains(&location) {
            here.push(location);
        }
        if let Some(before) = self.parent(at) {
            self.will_write(before, location);
        }
    }

    /// The thread may write there with, or after, its next read.
    pub fn will_write(&mut self, at: History, location: Location) {
        let mut next = Some(at);
        while let Some(at) = next {
            let node = &mut self.nodes[at.0 as usize];
            if node.writes.contains(&location) {
                return;
            }
            node.writes.push(location);
            self.grown.extend_from_slice(&node.watchers);
            self.note_change(at);
            next = self.parent(at);
        }
    }

    /// May the thread write there with, or after, its next read?
    pub fn may_write(&self, at: History, location: Location) -> bool {
        self.node(at).writes.contains(&location)
    }

    /// Does the thread, of which it is known what it does before its next read, write there before it, or create
    /// threads that might?
    pub fn writes_here(&self, at: History, location: Location) -> bool {
        self.node(at).creates || self.node(at).here.contains(&location)
    }

    /// Does the thread, of which it is known what it does before its next read, come to that without having written
    /// anything, so that nobody else can have gone on, either?
    pub fn is_quiet(&self, at: History) -> bool {
        let node = self.node(at);
        node.reads_on && node.here.is_empty() && !node.creates
    }

    /// Tells `watcher` when more is known of what comes after this history.
    pub fn watch(&mut self, at: History, watcher: u32) {
        self.nodes[at.0 as usize].watchers.push(watcher);
    }

    /// How many histories are remembered.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// This is a copy now: what it has, the other has too, and only what is new is to be told.
    pub fn become_copy(&mut self) {
        if self.common == 0 {
            self.common = self.nodes.len() as u32;
        }
    }

    /// What the other does not know.
    pub fn tell(&self) -> Told {
        let mut list = self.changed.clone();
        list.sort_unstable_by_key(|at| at.0);
        list.dedup();
        list.extend((self.common..self.nodes.len() as u32).map(History));
        let one = |at: History| {
            let Node { step, known, reads_on, here, writes, .. } = self.node(at);
            let (step, known, reads_on) = (*step, *known, *reads_on);
            One { at, step, known, reads_on, here: here.clone(), writes: writes.clone() }
        };
        Told { common: self.common, list: list.into_iter().map(one).collect() }
    }

    /// Learns what another knows. The function returned gives our names for its histories.
    pub fn learn(&mut self, told: Told) -> impl Fn(History) -> History + use<> {
        let Told { common, list } = told;
        let mut names: FxHashMap<History, History> = FxHashMap::default();
        for One { at, step, known, reads_on, here: wrote, writes } in list {
            let here = |names: &FxHashMap<History, History>, other: History| match other.0 < common {
                true => other,
                false => names[&other],
            };
            let ours = match step {
                _ if at.0 < common => at,
                Step::Root(thread) => self.root(thread),
                Step::Read(before, label) => self.read(here(&names, before), label),
                Step::Create(before, child) => self.create(here(&names, before), child),
                Step::Join(before, ended) => self.join(here(&names, before), here(&names, ended)),
            };
            names.insert(at, ours);
            if known && !self.is_known(ours) {
                self.nodes[ours.0 as usize].here = wrote;
                self.set_known(ours, reads_on);
            }
            // The histories before it have been told of as well, so that each is on its own.
            for location in writes {
                let node = &mut self.nodes[ours.0 as usize];
                if !node.writes.contains(&location) {
                    node.writes.push(location);
                    self.grown.extend_from_slice(&node.watchers);
                    self.note_change(ours);
                }
            }
        }
        move |other| if other.0 < common { other } else { names[&other] }
    }
}

fn first_name(thread: ThreadId) -> u128 {
    mix(u128::from(thread.0) + 1)
}

/// Spreads the bits of a number over all of them, without losing any: a product with an odd number and a shift can be
/// undone.
pub(super) fn mix(value: u128) -> u128 {
    const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    let mut value = value.wrapping_add(FACTOR);
    for _ in 0..3 {
        value = (value ^ value >> 67).wrapping_mul(FACTOR);
    }
    value ^ value >> 64
}
