//! What a memory model preserves of program order.

use crate::profile::{Item, Kind};
use fencepost_trace::Model;

/// For every step behind `start` in a thread, whether the model keeps it behind: directly, or by way of steps in
/// between.
///
/// The rules are those of `memory::axioms`; a test holds this function against them.
pub fn kept_behind(model: Model, thread: &[Item], start: usize, kept: &mut Vec<bool>) {
    kept.clear();
    kept.resize(thread.len(), false);
    let first = &thread[start];
    // What is known of the steps that are kept behind `start`, itself included.
    let mut reads = first.kind.reads;
    let mut everything = opens(model, first.kind);
    let mut stores = false;
    for (i, item) in thread.iter().enumerate().skip(start + 1) {
        let kind = item.kind;
        if kind.fence {
            match model {
                Model::Sc | Model::C11 => everything = true,
                _ if kind.seq_cst => everything = true,
                Model::Tso => {}
                Model::Pso | Model::Pslo => {
                    stores |= kind.releases;
                    everything |= model == Model::Pslo && kind.acquires && reads;
                }
            }
            continue;
        }
        let same = first.kind.writes && kind.writes && first.at.overlaps(item.at);
        kept[i] = everything
            || same
            || (stores && kind.writes)
            || match model {
                Model::Sc | Model::C11 => true,
                Model::Tso => full(model, kind) || kind.writes || reads,
                Model::Pso => full(model, kind) || kind.releases || reads,
                Model::Pslo => full(model, kind) || kind.releases || (reads && kind.writes),
            };
        if kept[i] {
            reads |= kind.reads;
            everything |= opens(model, kind);
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
