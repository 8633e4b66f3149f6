// A litmus test on the atomics of a library. This file is compiled once for each: `library` is the one at hand.

use super::Unsupported;
use fencepost_engine::Threads;
use fencepost_litmus::LitmusProgram;
use fencepost_trace::{Access, FenceOrder, LoadOrder, Location, Op, Reply, RmwOrder, Size, StoreOrder, ThreadId};
use fencepost_trace::{Update, Value};
use library::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use library::sync::atomic::{AtomicU32, fence};
use library::thread;
use std::sync::{Arc, Mutex, PoisonError};

/// So many locations at most.
const LOCATIONS: usize = 6;

fn load_order(order: LoadOrder) -> Option<Ordering> {
    Some(match order {
        LoadOrder::Plain => return None,
        LoadOrder::Relaxed => Relaxed,
        LoadOrder::Acquire => Acquire,
        LoadOrder::SeqCst => SeqCst,
    })
}

fn store_order(order: StoreOrder) -> Option<Ordering> {
    Some(match order {
        StoreOrder::Plain => return None,
        StoreOrder::Relaxed => Relaxed,
        StoreOrder::Release => Release,
        StoreOrder::SeqCst => SeqCst,
    })
}

fn rmw_order(order: RmwOrder) -> Ordering {
    match order {
        RmwOrder::Relaxed => Relaxed,
        RmwOrder::Acquire => Acquire,
        RmwOrder::Release => Release,
        RmwOrder::AcqRel => AcqRel,
        RmwOrder::SeqCst => SeqCst,
    }
}

fn slot(at: Location) -> Option<usize> {
    let offset = at.address.checked_sub(0x1000).filter(|offset| offset.is_multiple_of(16))?;
    let index = (offset / 16) as usize;
    (at.size == Size::B4 && index < LOCATIONS).then_some(index)
}

/// Carries an access out; nothing if it cannot be said in Rust.
fn perform(access: Access, cells: &[AtomicU32; LOCATIONS]) -> Option<Reply> {
    let number = |value: Value| value.0 as u32;
    let answer = |value: u32, success| Some(Reply { value: Value(value.into()), success });
    match access {
        Access::Load { at, order, .. } => answer(cells[slot(at)?].load(load_order(order)?), true),
        Access::Store { at, order, value } => {
            cells[slot(at)?].store(number(value), store_order(order)?);
            Some(Reply::NONE)
        }
        Access::Rmw { at, order, update, .. } => {
            let (cell, order) = (&cells[slot(at)?], rmw_order(order));
            let old = match update {
                Update::Exchange(value) => cell.swap(number(value), order),
                Update::Add(value) => cell.fetch_add(number(value), order),
                Update::Sub(value) => cell.fetch_sub(number(value), order),
                Update::And(value) => cell.fetch_and(number(value), order),
                Update::Or(value) => cell.fetch_or(number(value), order),
                Update::Xor(value) => cell.fetch_xor(number(value), order),
                _ => return None,
            };
            answer(old, true)
        }
        Access::CompareExchange { at, expected, desired, success, failure, weak, .. } => {
            let (cell, orders) = (&cells[slot(at)?], (rmw_order(success), load_order(failure)?));
            let (expected, desired) = (number(expected), number(desired));
            let result = if weak {
                cell.compare_exchange_weak(expected, desired, orders.0, orders.1)
            } else {
                cell.compare_exchange(expected, desired, orders.0, orders.1)
            };
            match result {
                Ok(old) => answer(old, true),
                Err(seen) => answer(seen, false),
            }
        }
        Access::Fence { order } => {
            fence(match order {
                FenceOrder::Acquire => Acquire,
                FenceOrder::Release => Release,
                FenceOrder::AcqRel => AcqRel,
                FenceOrder::SeqCst => SeqCst,
            });
            Some(Reply::NONE)
        }
    }
}

/// One execution of a litmus test: its final state.
pub(crate) fn execute(program: &LitmusProgram) -> Result<Vec<i64>, Unsupported> {
    let mut program = program.clone();
    let threads = program.start();
    let initial = |i: usize| program.initial(Location::new(0x1000 + 16 * i as u64, Size::B4)).0 as u32;
    let cells: Arc<[AtomicU32; LOCATIONS]> = Arc::new(std::array::from_fn(|i| AtomicU32::new(initial(i))));
    // Only ever held between two operations: nobody waits for it.
    let program = Arc::new(Mutex::new(program));
    let body = |number: u32| {
        let (cells, program) = (Arc::clone(&cells), Arc::clone(&program));
        move || {
            let mut reply = Reply::NONE;
            loop {
                let op = program.lock().unwrap_or_else(PoisonError::into_inner).resume(ThreadId(number), reply);
                match op {
                    Op::Access(access) => match perform(access, &cells) {
                        Some(answer) => reply = answer,
                        None => return Err(Unsupported),
                    },
                    Op::Exit => return Ok(()),
                    _ => return Err(Unsupported),
                }
            }
        }
    };
    let handles: Vec<_> = (0..threads).map(|number| thread::spawn(body(number))).collect();
    let ended: Vec<_> =
        handles.into_iter().map(|handle| handle.join().expect("the interpreter does not panic")).collect();
    ended.into_iter().collect::<Result<(), _>>()?;
    let program = program.lock().unwrap_or_else(PoisonError::into_inner);
    if program.observed().iter().any(|at| slot(*at).is_none()) {
        return Err(Unsupported);
    }
    // Everything happens before this: it reads what is last.
    let last: Vec<_> =
        program.observed().iter().map(|at| cells[slot(*at).expect("looked at above")].load(Relaxed)).collect();
    let value = |at: Location| {
        let position = program.observed().iter().position(|other| *other == at).expect("it is observed");
        Value(last[position].into())
    };
    Ok(program.state(value))
}
