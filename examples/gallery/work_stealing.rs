//! The work-stealing deque of Arora, Blumofe and Plaxton: its owner works at the bottom, thieves at the top, and the
//! top carries a tag that is changed whenever the deque starts again from its first place.
//!
//! Published: Arora, Blumofe, Plaxton, Thread scheduling for multiprogrammed multiprocessors, SPAA 1998, figure 5, for
//! a sequentially consistent memory.
//! Bug: release and acquire in place of sequential consistency. The owner lowers `bottom` and then reads `age`; a thief
//! moves `age` and has read `bottom`: a store and a load of different places, which release and acquire do not keep in
//! order. Both get the same item.
//! Fix (`--cfg fixed`): all of them are SeqCst.
//! Fencepost says: panic, an item was taken twice. With --spec atomic what was taken is judged, too.

#[path = "../../crates/native/include/fencepost.rs"]
mod fencepost;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

const LOAD: Ordering = if cfg!(fixed) { Ordering::SeqCst } else { Ordering::Acquire };
const STORE: Ordering = if cfg!(fixed) { Ordering::SeqCst } else { Ordering::Release };

const SIZE: usize = 4;

static ITEMS: [AtomicUsize; SIZE] = [const { AtomicUsize::new(0) }; SIZE];
static BOTTOM: AtomicUsize = AtomicUsize::new(0);
/// The top in the low half, its tag in the high one.
static AGE: AtomicUsize = AtomicUsize::new(0);

fn top(age: usize) -> usize {
    age & 0xffff_ffff
}

fn push(item: usize) {
    let bottom = BOTTOM.load(LOAD);
    ITEMS[bottom].store(item, Ordering::Relaxed);
    BOTTOM.store(bottom + 1, STORE);
}

fn pop() -> Option<usize> {
    let bottom = BOTTOM.load(LOAD).checked_sub(1)?;
    BOTTOM.store(bottom, STORE);
    let item = ITEMS[bottom].load(Ordering::Relaxed);
    let age = AGE.load(LOAD);
    if bottom > top(age) {
        return Some(item);
    }
    // The last item, or none: start again from the first place.
    BOTTOM.store(0, STORE);
    let fresh = ((age >> 32) + 1) << 32;
    if bottom == top(age) && AGE.compare_exchange(age, fresh, Ordering::SeqCst, LOAD).is_ok() {
        return Some(item);
    }
    AGE.store(fresh, STORE);
    None
}

fn steal() -> Option<usize> {
    let age = AGE.load(LOAD);
    let bottom = BOTTOM.load(LOAD);
    if bottom <= top(age) {
        return None;
    }
    let item = ITEMS[top(age)].load(Ordering::Relaxed);
    AGE.compare_exchange(age, age + 1, Ordering::SeqCst, LOAD).is_ok().then_some(item)
}

static TAKEN: [AtomicBool; SIZE] = [const { AtomicBool::new(false) }; SIZE];

fn take(operation: &str, from: fn() -> Option<usize>) -> i64 {
    let Some(item) = fencepost::op(operation, from) else { return -1 };
    assert!(!TAKEN[item].swap(true, Ordering::Relaxed), "item {item} was taken twice");
    item as i64
}

fn main() {
    push(0);
    push(1);
    let thief = thread::spawn(|| {
        fencepost::observe("stolen first", take("steal", steal));
        fencepost::observe("stolen second", take("steal", steal));
    });
    fencepost::observe("popped first", take("pop", pop));
    fencepost::observe("popped second", take("pop", pop));
    thief.join().unwrap();
}
