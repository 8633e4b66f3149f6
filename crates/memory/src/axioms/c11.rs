//! C/C++20: RC11 (Lahav, Vafeiadis, Kang, Hur and Dreyer, *Repairing Sequential Consistency in C/C++11*, PLDI 2017),
//! in the paper's names and order.
//!
//! Where it deviates from the paper:
//!
//! 1. Release sequences are those of C++20: rs = \[W⊒rlx\];(rf;rmw)\*. The paper's also have later stores
//!    of the same thread to the location, as C++11 had.
//! 2. Plain reads and writes (the paper's na) take part in hb, coherence and sb ∪ rf; that a race on them is
//!    undefined behaviour is for [`races`] to find.
//! 3. eco is taken on each byte, and then united over the bytes. The paper has no accesses that overlap in part.
//!
//! Where it deviates from the wording of the C++20 standard: seq_cst operations on locations that are also written
//! without it. `x = 1 (release); r0 = x (seq_cst); r1 = y (seq_cst)` against the same with x and y exchanged may
//! end with r0 = 1, r1 = 0 in both threads, as it does on x86, which forwards the store.
//!
//! A failed compare-exchange is a load with the failure order.

use super::Violation;
use super::execution::{Execution, Node, NodeKind};
use super::hardware::atomicity;
use super::relation::{Relation, Set};
use fencepost_trace::{EventId, Trace};

/// The derived relations of an execution.
#[derive(Clone, Debug)]
pub struct Relations {
    /// Synchronises-with.
    pub sw: Relation,
    /// Happens-before. The initial write happens before everything.
    pub hb: Relation,
    /// Extended coherence order: (rf ∪ mo ∪ rb)⁺ on each byte.
    pub eco: Relation,
    /// Partial SC order: what must be acyclic among the seq_cst events.
    pub psc: Relation,
}

impl Relations {
    /// Derives them.
    pub fn of(execution: &Execution) -> Relations {
        let sw = synchronises_with(execution);
        let hb = happens_before(execution, &sw);
        let eco = extended_coherence(execution);
        let psc = partial_sc(execution, &hb, &eco);
        Relations { sw, hb, eco, psc }
    }
}

/// Is the execution consistent?
pub fn check(execution: &Execution) -> Result<(), Violation> {
    let Relations { hb, eco, psc, .. } = Relations::of(execution);

    // COHERENCE: hb;eco? is irreflexive.
    let tangle = hb.pairs().find(|&(a, b)| a == b || eco.contains(b, a));
    if let Some((a, b)) = tangle {
        return Err(execution.violation(
            "coherence",
            &[a, b],
            "the first happens before the second, but memory has them the other way round",
        ));
    }
    // ATOMICITY: rmw ∩ (rb;mo) is empty.
    atomicity(execution)?;
    // NO-THIN-AIR: sb ∪ rf is acyclic.
    if let Some(cycle) = execution.po.union(&execution.rf).find_cycle() {
        return Err(execution.violation("no-thin-air", &cycle, "values out of thin air"));
    }
    // SC: psc is acyclic.
    if let Some(cycle) = psc.find_cycle() {
        return Err(execution.violation("sc", &cycle, "these seq_cst operations have no order"));
    }
    Ok(())
}

/// sw = \[E⊒rel\];(\[F\];sb)?;rs;rf;\[R⊒rlx\];(sb;\[F\])?;\[E⊒acq\], where rs = \[W⊒rlx\];(rf;rmw)\*.
fn synchronises_with(execution: &Execution) -> Relation {
    let sb = &execution.po;
    let fences = Relation::identity(&execution.set(|n| matches!(n.kind, NodeKind::Fence { .. })));
    let atomic_writes = execution.set(|n| n.is_write() && !n.is_plain());
    let atomic_reads = execution.set(|n| n.is_read() && !n.is_plain());

    let rs = Relation::identity(&atomic_writes).compose(&execution.rf.compose(&execution.rmw).closure().reflexive());
    let from = fences.compose(sb).reflexive().compose(&rs);
    let to = Relation::identity(&atomic_reads).compose(&sb.compose(&fences).reflexive());
    from.compose(&execution.rf).compose(&to).restrict(&releasing(execution), &acquiring(execution))
}

/// E⊒rel
fn releasing(execution: &Execution) -> Set {
    execution.set(|n| match n.kind {
        NodeKind::Write { order, .. } => order.releases(),
        NodeKind::Fence { order } => order.releases(),
        _ => false,
    })
}

/// E⊒acq
fn acquiring(execution: &Execution) -> Set {
    execution.set(|n| match n.kind {
        NodeKind::Read { order, .. } => order.acquires(),
        NodeKind::Fence { order } => order.acquires(),
        _ => false,
    })
}

/// hb = (sb ∪ sw)⁺, with the initial write before everything.
fn happens_before(execution: &Execution, sw: &Relation) -> Relation {
    let program = execution.set(|n| n.thread.is_some());
    execution.po.union(sw).union(&Relation::product(&execution.init(), &program)).closure()
}

/// eco = (rf ∪ mo ∪ rb)⁺ on each byte.
fn extended_coherence(execution: &Execution) -> Relation {
    let mut eco = Relation::empty(execution.size());
    for region in &execution.regions {
        // mo is total, so that all is told by places: the write at place i is at 2i, what reads it at 2i + 1.
        let writes = region.writes.iter().enumerate().map(|(i, &w)| (2 * i, w));
        let reads = region.reads.iter().map(|&(r, i)| (2 * i + 1, r));
        let placed: Vec<(usize, usize)> = writes.chain(reads).collect();
        for &(early, a) in &placed {
            for &(late, b) in &placed {
                if early < late {
                    eco.insert(a, b);
                }
            }
        }
    }
    eco
}

/// scb = sb ∪ sb≠loc;hb;sb≠loc ∪ hb|loc ∪ mo ∪ rb,
/// psc = (\[SC\] ∪ \[Fsc\];hb?);scb;(\[SC\] ∪ hb?;\[Fsc\]) ∪ \[Fsc\];(hb ∪ hb;eco;hb);\[Fsc\].
///
/// A fence has no location: a pair with one is in sb≠loc.
fn partial_sc(execution: &Execution, hb: &Relation, eco: &Relation) -> Relation {
    let sb = &execution.po;
    let seq_cst = execution.set(Node::is_seq_cst);
    let fences = execution.set(|n| n.is_seq_cst() && matches!(n.kind, NodeKind::Fence { .. }));
    let (sc, fsc) = (Relation::identity(&seq_cst), Relation::identity(&fences));

    let sb_elsewhere = sb.difference(&execution.same_location);
    let scb = sb
        .union(&sb_elsewhere.compose(hb).compose(&sb_elsewhere))
        .union(&hb.intersection(&execution.same_location))
        .union(&execution.mo)
        .union(&execution.rb);
    let from = sc.union(&fsc.compose(&hb.reflexive()));
    let to = sc.union(&hb.reflexive().compose(&fsc));
    let psc_base = from.compose(&scb).compose(&to);
    let psc_fence = hb.union(&hb.compose(eco).compose(hb)).restrict(&fences, &fences);
    psc_base.union(&psc_fence)
}

/// The data races: pairs of accesses of different threads to a common byte, at least one of them a
/// write and at least one plain, of which neither happens before the other.
pub fn races(execution: &Execution) -> Vec<(EventId, EventId)> {
    let hb = happens_before(execution, &synchronises_with(execution));
    let races = |&(a, b): &(usize, usize)| {
        let (first, second) = (&execution.nodes[a], &execution.nodes[b]);
        a < b
            && first.thread != second.thread
            && (first.is_write() || second.is_write())
            && (first.is_plain() || second.is_plain())
            && !hb.contains(a, b)
            && !hb.contains(b, a)
    };
    let mut pairs: Vec<(EventId, EventId)> = execution
        .same_location
        .pairs()
        .filter(races)
        .map(|(a, b)| (execution.nodes[a].id, execution.nodes[b].id))
        .collect();
    // Both halves of an RMW may race with the same access.
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Where events carry a clock, it says exactly what happens before them: the k-th event of a thread (from 1; an
/// RMW counts once, a commit not at all) happens before b, or is b, if and only if b's clock has that
/// thread at k or more.
pub fn check_clocks(trace: &Trace, execution: &Execution) -> Result<(), Violation> {
    if trace.events.iter().all(|e| e.clock.is_empty()) {
        return Ok(());
    }
    let hb = happens_before(execution, &synchronises_with(execution)).reflexive();
    let last_half = |i: usize| execution.rmw.successors(i).next().unwrap_or(i);
    let first_halves = || (1..execution.size()).filter(|&i| execution.nodes[i - 1].id != execution.nodes[i].id);

    let mut counts = vec![0; trace.threads as usize];
    for a in first_halves() {
        let Some(thread) = execution.nodes[a].thread else { continue };
        if counts.len() <= thread.index() {
            counts.resize(thread.index() + 1, 0);
        }
        counts[thread.index()] += 1;
        for b in first_halves() {
            let clock = trace.event(execution.nodes[b].id).map_or(&[][..], |e| &e.clock);
            if clock.is_empty() {
                continue;
            }
            let seen = clock.get(thread.index()).copied().unwrap_or(0) >= counts[thread.index()];
            let before = hb.contains(a, last_half(b));
            if seen != before {
                let message = if before {
                    "the first happens before the second, but not in its clock"
                } else {
                    "the first is in the clock of the second, but does not happen before it"
                };
                return Err(execution.violation("clock", &[a, b], message));
            }
        }
    }
    Ok(())
}
