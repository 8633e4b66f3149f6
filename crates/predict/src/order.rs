//! What a memory model preserves of program order.

use crate::profile::{Item, Kind};
use fencepost_trace::Model;

/// A step of a thread, and what is known of those that a model keeps behind it: directly, or by way of steps in
/// between.
///
/// The rules are those of `memory::axioms`; a test holds [`kept_behind`] against them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Behind {
    model: Model,
    first: Item,
    /// Is one of the steps that are kept behind it, itself included, a read?
    reads: bool,
    /// Are all later stores kept behind it?
    stores: bool,
    /// Is everything that is later?
    everything: bool,
}

impl Behind {
    /// Nothing is known but the step itself.
    pub fn new(model: Model, first: &Item) -> Behind {
        let everything = opens(model, first.kind);
        Behind { model, first: *first, reads: first.kind.reads, stores: false, everything }
    }

    /// Is whatever comes now kept behind it?
    pub fn is_closed(&self) -> bool {
        self.everything
    }

    /// Is the next step of the thread kept behind it?
    pub fn keeps(&mut self, item: &Item) -> bool {
        let (model, kind) = (self.model, item.kind);
        if kind.fence {
            match model {
                Model::Sc | Model::C11 => self.everything = true,
                _ if kind.seq_cst => self.everything = true,
                Model::Tso => {}
                Model::Pso | Model::Pslo => {
                    self.stores |= kind.releases;
                    self.everything |= model == Model::Pslo && kind.acquires && self.reads;
                }
            }
            return false;
        }
        let same = self.first.kind.writes && kind.writes && self.first.at.overlaps(item.at);
        let kept = self.everything
            || same
            || (self.stores && kind.writes)
            || match model {
                Model::Sc | Model::C11 => true,
                Model::Tso => full(model, kind) || kind.writes || self.reads,
                Model::Pso => full(model, kind) || kind.releases || self.reads,
                Model::Pslo => full(model, kind) || kind.releases || (self.reads && kind.writes),
            };
        if kept {
            self.reads |= kind.reads;
            self.everything |= opens(model, kind);
        }
        kept
    }

    fn state(&self) -> (bool, bool) {
        (self.reads, self.stores)
    }

    /// Can later steps not tell the two apart? Then one of them need not be followed.
    fn is_like(&self, other: &Behind) -> bool {
        self.state() == other.state() && (self.first.kind, self.first.at) == (other.first.kind, other.first.at)
    }
}

/// For every step behind `start` in a thread, whether the model keeps it behind.
pub fn kept_behind(model: Model, thread: &[Item], start: usize, kept: &mut Vec<bool>) {
    kept.clear();
    kept.resize(thread.len(), false);
    let mut behind = Behind::new(model, &thread[start]);
    for (i, item) in thread.iter().enumerate().skip(start + 1) {
        kept[i] = behind.keeps(item);
    }
}

/// Calls `passes` with the names of an access and a later one that the model does not keep behind it, for all such
/// pairs of names, some of them several times.
///
/// In one pass: of accesses with one name only those are followed that later steps can tell apart.
pub fn passing(model: Model, thread: &[Item], names: &[Option<u32>], mut passes: impl FnMut(u32, u32)) {
    let mut open: Vec<(u32, Behind)> = Vec::new();
    for (item, name) in thread.iter().zip(names) {
        let mut changed = false;
        for (first, behind) in &mut open {
            let before = behind.state();
            let kept = behind.keeps(item);
            changed |= behind.state() != before || behind.is_closed();
            if let (false, Some(name)) = (kept, name) {
                passes(*first, *name);
            }
        }
        if changed {
            open.retain(|(_, behind)| !behind.is_closed());
            open.sort_by_key(|(first, behind)| (*first, behind.state()));
            open.dedup_by(|(first, behind), (other, like)| first == other && behind.is_like(like));
        }
        let Some(name) = name else { continue };
        let behind = Behind::new(model, item);
        let is_known = |(first, other): &(u32, Behind)| first == name && other.is_like(&behind);
        if !behind.is_closed() && !open.iter().any(is_known) {
            open.push((*name, behind));
        }
    }
}

/// Is it a full barrier by itself?
fn full(model: Model, kind: Kind) -> bool {
    kind.exclusive && (model == Model::Tso || kind.seq_cst)
}

/// Does everything later come behind it?
fn opens(model: Model, kind: Kind) -> bool {
    full(model, kind)
        || (kind.writes && kind.seq_cst)
        || (kind.fence && kind.seq_cst)
        || match model {
            Model::Sc | Model::C11 => true,
            Model::Tso | Model::Pso => kind.reads,
            Model::Pslo => kind.reads && kind.acquires,
        }
}
