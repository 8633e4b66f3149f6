//! Vyukov's bounded queue for many producers and consumers: a ring of slots, each with a number that says whose turn it
//! is.
//!
//! Published: Dmitry Vyukov, bounded MPMC queue, 2010 (1024cores).
//! Bug: a producer passes its slot on with relaxed order, and the consumer that finds the number may not find the
//! value.
//! Fix (`--cfg fixed`): the number is stored with release order.
//! Fencepost says: data race on a slot's value.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const PASS_ON: Ordering = if cfg!(fixed) { Ordering::Release } else { Ordering::Relaxed };

const SIZE: usize = 2;

struct Slot {
    turn: AtomicUsize,
    value: UnsafeCell<u64>,
}

struct Ring {
    slots: [Slot; SIZE],
    writes: AtomicUsize,
    reads: AtomicUsize,
}

// SAFETY: a slot's value is touched only by the thread whose turn it is.
unsafe impl Sync for Ring {}

impl Ring {
    fn new() -> Ring {
        let slot = |i| Slot { turn: AtomicUsize::new(i), value: UnsafeCell::new(0) };
        Ring { slots: std::array::from_fn(slot), writes: AtomicUsize::new(0), reads: AtomicUsize::new(0) }
    }

    /// The slot whose turn is `ahead` of the counter, once it is taken; `None` if the ring is full or empty.
    fn take_turn(&self, counter: &AtomicUsize, ahead: usize) -> Option<(&Slot, usize)> {
        let mut number = counter.load(Ordering::Relaxed);
        loop {
            let slot = &self.slots[number % SIZE];
            let turn = slot.turn.load(Ordering::Acquire);
            if turn < number + ahead {
                return None;
            }
            if turn > number + ahead {
                number = counter.load(Ordering::Relaxed);
                continue;
            }
            match counter.compare_exchange_weak(number, number + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some((slot, number)),
                Err(newer) => number = newer,
            }
        }
    }

    fn push(&self, value: u64) -> bool {
        let Some((slot, number)) = self.take_turn(&self.writes, 0) else { return false };
        // SAFETY: it is our turn.
        unsafe { *slot.value.get() = value };
        slot.turn.store(number + 1, PASS_ON);
        true
    }

    fn pop(&self) -> Option<u64> {
        let (slot, number) = self.take_turn(&self.reads, 1)?;
        // SAFETY: it is our turn.
        let value = unsafe { *slot.value.get() };
        slot.turn.store(number + SIZE, Ordering::Release);
        Some(value)
    }
}

fn main() {
    let ring = Arc::new(Ring::new());
    let producers: Vec<_> = (1..=2)
        .map(|value| {
            let ring = ring.clone();
            thread::spawn(move || assert!(ring.push(value)))
        })
        .collect();
    let mut values: Vec<u64> = Vec::new();
    while values.len() < 2 {
        match ring.pop() {
            Some(value) => values.push(value),
            None => thread::yield_now(),
        }
    }
    producers.into_iter().for_each(|producer| producer.join().unwrap());
    values.sort();
    assert_eq!(values, [1, 2]);
}
