//! Memory that the processes of an exploration share: the registers of states, and what a process that leaves hands
//! over.
//!
//! It is mapped before the first fork, where nothing else is, so that the program's own addresses stay as they are.

use crate::platform::layout::{COMMON, Range};
use crate::platform::sys;
use fencepost_explore::causal::Register;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The words at the beginning.
#[repr(C)]
struct Head {
    /// How much has been handed over, in bytes.
    handed: AtomicU64,
    /// For each register: 1 while somebody uses it, and how many names it has.
    locks: [AtomicU32; 2],
    names: [AtomicU64; 2],
}

const PAGE: usize = 4096;
/// Room for what is handed over.
const HANDED: Range = Range { start: COMMON.start + PAGE, length: 1 << 36 };
/// So many names fit a register; twice as many places of a hash table lead to them.
const MOST: usize = 1 << 24;
const PLACES: usize = 2 * MOST;
/// A register: names in the order in which they came, then the table, of numbers from 1.
const REGISTER: usize = MOST * size_of::<u128>() + PLACES * size_of::<u32>();
const REGISTERS: usize = HANDED.start + HANDED.length;
const _: () = assert!(REGISTERS + 2 * REGISTER <= COMMON.start + COMMON.length);

static MAPPED: AtomicBool = AtomicBool::new(false);

/// Is it there? Maps it if it is not.
pub(super) fn is_there() -> bool {
    if !MAPPED.load(Ordering::Relaxed) && sys::map_common_at(COMMON.start, COMMON.length) {
        MAPPED.store(true, Ordering::Relaxed);
    }
    MAPPED.load(Ordering::Relaxed)
}

fn head() -> &'static Head {
    assert!(MAPPED.load(Ordering::Relaxed), "internal error: memory that is not mapped");
    // SAFETY: mapped for as long as the process lives, aligned to a page, and any bytes are such words.
    unsafe { &*(COMMON.start as *const Head) }
}

/// Hands something over to the process that began the exploration; only one process may do so at a time. Says whether
/// there was room for it.
pub(super) fn hand_over(bytes: &[u8]) -> bool {
    let used = head().handed.load(Ordering::Relaxed) as usize;
    let after = used + size_of::<u64>() + bytes.len().next_multiple_of(8);
    if after > HANDED.length {
        return false;
    }
    let to = HANDED.start + used;
    // SAFETY: within the mapping, aligned to eight bytes, and nobody reads it before the length covers it.
    unsafe {
        (to as *mut u64).write(bytes.len() as u64);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), (to + size_of::<u64>()) as *mut u8, bytes.len());
    }
    head().handed.store(after as u64, Ordering::Release);
    true
}

/// What was handed over, for the one process that is left.
pub(super) fn take_handed(mut take: impl FnMut(&[u8])) {
    if !MAPPED.load(Ordering::Relaxed) {
        return;
    }
    let used = head().handed.swap(0, Ordering::Acquire) as usize;
    let mut at = 0;
    while at < used {
        // SAFETY: whole, as the length says, and nobody writes while there is one process.
        let bytes = unsafe {
            let length = *((HANDED.start + at) as *const u64) as usize;
            std::slice::from_raw_parts((HANDED.start + at + size_of::<u64>()) as *const u8, length)
        };
        at += size_of::<u64>() + bytes.len().next_multiple_of(8);
        take(bytes);
    }
    sys::forget_common(HANDED.start, used.next_multiple_of(PAGE));
}

/// A register that all processes share, by its number.
pub(super) struct Names(pub usize);

/// So many names still fit when a register is taken to be full: more than the runs that are under way then can have.
const RESERVE: usize = 1 << 20;

/// Is there room for so many names, and for those of a few runs?
pub(super) fn fit(names: usize) -> bool {
    names <= MOST - RESERVE
}

/// Is a register full?
pub(super) fn is_full() -> bool {
    MAPPED.load(Ordering::Relaxed) && head().names.iter().any(|count| !fit(count.load(Ordering::Relaxed) as usize))
}

impl Names {
    fn start(&self) -> usize {
        REGISTERS + self.0 * REGISTER
    }

    fn name(&self, number: u32) -> *mut u128 {
        (self.start() + (number as usize - 1) * size_of::<u128>()) as *mut u128
    }

    fn place(&self, i: usize) -> *mut u32 {
        (self.start() + MOST * size_of::<u128>() + i % PLACES * size_of::<u32>()) as *mut u32
    }

    fn locked<T>(&self, act: impl FnOnce(&AtomicU64) -> T) -> T {
        let lock = &head().locks[self.0];
        while lock.swap(1, Ordering::Acquire) != 0 {
            sys::give_way();
        }
        let result = act(&head().names[self.0]);
        lock.store(0, Ordering::Release);
        result
    }

    /// The place of a name, and whether it is there. The lock is held.
    fn find(&self, name: u128) -> (*mut u32, bool) {
        let mut i = (name ^ name >> 64) as usize;
        loop {
            let place = self.place(i);
            // SAFETY: within the mapping; numbers in the table are those of names that were written.
            unsafe {
                match *place {
                    0 => return (place, false),
                    number if *self.name(number) == name => return (place, true),
                    _ => i = i.wrapping_add(1),
                }
            }
        }
    }
}

impl Register for Names {
    fn insert(&mut self, name: u128) -> bool {
        self.locked(|count| {
            let (place, is_there) = self.find(name);
            let number = count.load(Ordering::Relaxed) + 1;
            if is_there {
                return false;
            }
            assert!(number <= MOST as u64, "internal error: a register is more than full");
            // SAFETY: within the mapping, and the lock is held.
            unsafe {
                *self.name(number as u32) = name;
                *place = number as u32;
            }
            count.store(number, Ordering::Relaxed);
            true
        })
    }

    fn contains(&self, name: u128) -> bool {
        self.locked(|_| self.find(name).1)
    }

    fn len(&self) -> usize {
        head().names[self.0].load(Ordering::Relaxed) as usize
    }

    fn clear(&mut self) {
        self.locked(|count| {
            sys::forget_common(self.start(), REGISTER);
            count.store(0, Ordering::Relaxed);
        });
    }

    fn names(&self) -> Vec<u128> {
        // SAFETY: so many were written.
        self.locked(|count| (1..=count.load(Ordering::Relaxed)).map(|n| unsafe { *self.name(n as u32) }).collect())
    }
}
