//! What an access does, once it is known what it reads.

use crate::waitset::WaitSets;
use fencepost_trace::{Access, Guard, LoadOrder, Reply, RmwOrder, Update, Value};

/// The effect of a reading access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It only reads.
    Load {
        /// with this order
        order: LoadOrder,
        /// a compare-exchange that failed
        failed_rmw: bool,
        /// what the thread is told
        reply: Reply,
    },
    /// It writes too.
    Rmw {
        /// with this order
        order: RmwOrder,
        /// this value
        written: Value,
        /// what the thread is told
        reply: Reply,
    },
    /// Its guard does not let this value through.
    Blocked,
}

/// In how many ways can `access` go on after reading `value`? Nearly always in one.
#[inline]
pub fn variants(access: &Access, value: Value, sets: &WaitSets) -> u32 {
    match *access {
        Access::CompareExchange { weak: true, expected, .. } if value == expected => 2,
        Access::Rmw { update: Update::Wake(most), .. } => sets.ways_to_wake(value, most),
        _ => 1,
    }
}

/// What `access` does after reading `value`, in the given one of its [`variants`]; not for stores and fences.
#[inline]
pub fn effect(access: &Access, value: Value, variant: u32, sets: &mut WaitSets) -> Effect {
    if !sets.passes(access.guard(), value) {
        return Effect::Blocked;
    }
    match *access {
        Access::Load { order, .. } => Effect::Load { order, failed_rmw: false, reply: Reply { value, success: true } },
        Access::Rmw { at, order, update, .. } => {
            let written = update.apply(value, at.size).unwrap_or_else(|| sets.apply(update, value, variant));
            Effect::Rmw { order, written, reply: reply_of(update, value, sets) }
        }
        Access::CompareExchange { expected, desired, success, failure, .. } => {
            if value == expected && variant == 0 {
                Effect::Rmw { order: success, written: desired, reply: Reply { value, success: true } }
            } else {
                Effect::Load { order: failure, failed_rmw: true, reply: Reply { value, success: false } }
            }
        }
        Access::Store { .. } | Access::Fence { .. } => unreachable!("stores and fences read nothing"),
    }
}

/// What the thread is told of an RMW: the old value. Of a set of waiting threads that is nothing it could use: who
/// wakes others learns how many they were, and who leaves whether it had been woken.
fn reply_of(update: Update, value: Value, sets: &WaitSets) -> Reply {
    match update {
        Update::Wake(most) => Reply { value: Value(sets.waiting(value).min(most as usize) as u128), success: true },
        Update::Dequeue(thread) => Reply { value: Value::ZERO, success: sets.passes(Guard::Woken(thread), value) },
        Update::Enqueue(_) => Reply::NONE,
        _ => Reply { value, success: true },
    }
}
