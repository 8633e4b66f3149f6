//! What a thread's future depends on, at each program point.
//!
//! A thread in a waiting loop comes back to the same point with the same variables *that matter*: a temporary
//! of the last round, or a register that is overwritten before it is read, must not make it look like progress.
//! So the digest of a thread covers only live slots: the classic backward analysis, in which the variables of
//! the final state are live at the end.

use crate::code::{Code, Home, Insn, Role, Slot};

/// The analysis is quadratic in a thread's length. With more bits than this every slot counts as live, which is
/// safe: loops are recognised a round later.
const MOST_BITS: usize = 1 << 23;

/// Gives every site the slots that are live there.
pub(super) fn annotate(code: &mut Code) {
    for thread in 0..code.threads.len() {
        let slots = code.threads[thread].slots.clone();
        let variables = code.threads[thread].variables as usize;
        let observed: Vec<usize> = (code.homes.iter())
            .filter_map(|home| match home {
                Home::Slot(slot) if slots.contains(slot) => Some(slot - slots.start),
                _ => None,
            })
            .collect();
        let mut insns = std::mem::take(&mut code.threads[thread].insns);
        if insns.len().saturating_mul(variables) <= MOST_BITS {
            let sets = analyse(&mut insns, variables, &observed);
            for (insn, set) in insns.iter().zip(sets.chunks(words(variables))) {
                let Some(site) = insn.site() else { continue };
                let start = code.live.len() as u32;
                let live = (0..variables).filter(|slot| set[slot / 64] & 1 << (slot % 64) != 0);
                code.live.extend(live.map(|slot| slot as Slot));
                code.sites[site as usize].live = start..code.live.len() as u32;
            }
        } else {
            let start = code.live.len() as u32;
            code.live.extend(0..variables as Slot);
            for site in insns.iter().filter_map(Insn::site) {
                code.sites[site as usize].live = start..code.live.len() as u32;
            }
        }
        code.threads[thread].insns = insns;
    }
}

fn words(variables: usize) -> usize {
    variables.div_ceil(64).max(1)
}

/// The set of live slots before each instruction, one after the other.
fn analyse(insns: &mut [Insn], variables: usize, observed: &[usize]) -> Vec<u64> {
    let words = words(variables);
    let mut sets = vec![0u64; insns.len() * words];
    let mut set = vec![0u64; words];
    let mut changed = true;
    while changed {
        changed = false;
        for (i, insn) in insns.iter_mut().enumerate().rev() {
            set.fill(0);
            if matches!(insn, Insn::Exit { .. }) {
                observed.iter().for_each(|slot| set[slot / 64] |= 1 << (slot % 64));
            }
            let falls_through = !matches!(insn, Insn::Exit { .. } | Insn::Jump { .. } | Insn::Loop { .. });
            let next = falls_through.then_some(i + 1);
            let target = insn.target_mut().map(|to| *to as usize);
            for successor in next.into_iter().chain(target) {
                let after = &sets[successor * words..][..words];
                set.iter_mut().zip(after).for_each(|(mine, theirs)| *mine |= theirs);
            }
            transfer(insn, variables, &mut set);
            let before = &mut sets[i * words..][..words];
            if before != set {
                before.copy_from_slice(&set);
                changed = true;
            }
        }
    }
    sets
}

/// From what is live after an instruction to what is live before it.
fn transfer(insn: &mut Insn, variables: usize, set: &mut [u64]) {
    let second_result = match insn {
        Insn::CompareExchange { dst, .. } => Some(*dst as usize + 1),
        _ => None,
    };
    let mut written = |slot: usize| set[slot / 64] &= !(1 << (slot % 64));
    second_result.into_iter().for_each(&mut written);
    insn.for_each_slot(|slot, role| {
        if role == Role::Write {
            written(*slot as usize);
        }
    });
    insn.for_each_slot(|slot, role| {
        let slot = *slot as usize;
        if role == Role::Read && slot < variables {
            set[slot / 64] |= 1 << (slot % 64);
        }
    });
}
