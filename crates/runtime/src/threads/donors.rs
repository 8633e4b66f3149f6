//! Kernel threads that donate their stacks and thread-local storage.
//!
//! A thread of the program needs a stack, thread-local storage, and a `pthread_t` that libc knows. The simplest way
//! to get all three right is to let libc make a thread. Its kernel thread then moves to a small stack of its own and
//! sleeps forever; its real stack and its storage belong to a fiber, which the program's one kernel thread runs.
//!
//! Their stacks lie at addresses of their own, so that making another donor in the middle of an execution moves
//! nothing that the program maps.
//!
//! Donors are kept. What a fresh thread consists of lies between the stack pointer where it was parked and the end
//! of its thread block: that is saved once and put back when the donor is used again.

use crate::platform::layout::THREADS;
use crate::platform::real::real;
use crate::platform::{context, global, sys};
use crate::threads::calls::Calls;
use libc::{c_void, pthread_attr_t, pthread_t};
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The room of each thread: nothing for a long way, then its stack.
const SLOT: usize = 128 << 20;
/// A stack, the thread block above it, and the side stack.
pub const STACK: usize = 64 << 20;

/// What a thread does on its stack, once it is a thread of the program.
pub type Life = fn() -> !;

/// Where the list of calls of a thread begins: right behind its stack, so that the two share page tables, which
/// forked children pay for.
pub fn calls_of(thread: usize) -> usize {
    THREADS + (thread + 1) * SLOT - (1536 << 10)
}

/// A parked thread.
#[derive(Debug)]
pub struct Donor {
    pub pthread: pthread_t,
    /// The context of the fresh thread.
    pub context: usize,
    /// The base of its thread-local storage.
    pub base: usize,
    /// Its stack and thread block, as mapped.
    pub range: (usize, usize),
    /// What lies from `context` to the end of `range`.
    image: Vec<u8>,
    /// It is not as it was made.
    used: Cell<bool>,
}

const SIDE_STACK: usize = 16 << 10;

// Written by the donor thread, read by its creator, one at a time.
static READY: AtomicU32 = AtomicU32::new(0);
static CONTEXT: AtomicUsize = AtomicUsize::new(0);
static BASE: AtomicUsize = AtomicUsize::new(0);
static SIDE: AtomicUsize = AtomicUsize::new(0);

/// The first function of a donor thread.
extern "C-unwind" fn donate(life: *mut c_void) -> *mut c_void {
    BASE.store(context::thread_base(), Ordering::Relaxed);
    let side = SIDE.load(Ordering::Relaxed);
    // SAFETY: the side stack is this thread's alone. `CONTEXT` keeps the fresh thread, for a fiber to continue.
    unsafe { context::switch(CONTEXT.as_ptr(), context::prepare(side + SIDE_STACK, park)) };
    // Here it is a fiber, on the program's kernel thread.
    // SAFETY: its creator has given it a function of this type.
    unsafe { std::mem::transmute::<*mut c_void, Life>(life)() }
}

/// The rest of the kernel thread's life. Its thread-local storage is donated, so it must not be touched here.
extern "C" fn park() -> ! {
    READY.store(1, Ordering::Release);
    sys::futex_wake(&READY);
    static FOREVER: AtomicU32 = AtomicU32::new(0);
    loop {
        sys::futex_wait(&FOREVER, 0);
    }
}

impl Donor {
    /// Makes the thread that donates to this one of the program's, which will live like this.
    fn new(thread: usize, life: Life) -> Option<Donor> {
        let end = calls_of(thread);
        let stack = sys::reserve(end - STACK, STACK + Calls::LENGTH)?;
        let side_stack = end - SIDE_STACK;
        SIDE.store(side_stack, Ordering::Relaxed);
        READY.store(0, Ordering::Relaxed);
        let mut pthread: pthread_t = 0;
        // It never handles a signal: on which stack should it?
        let mask = sys::signal_mask(u64::MAX);
        let before = global::set_for_libc(true);
        // SAFETY: any bits are attributes once libc has initialised them.
        let mut attributes: pthread_attr_t = unsafe { std::mem::zeroed() };
        real!(pthread_attr_init(&mut attributes): fn(*mut pthread_attr_t) -> i32);
        real!(pthread_attr_setstack(&mut attributes, stack, side_stack - stack):
            fn(*mut pthread_attr_t, usize, usize) -> i32);
        let error = real!(pthread_create(&mut pthread, &attributes, donate, life as *mut c_void):
            fn(*mut pthread_t, *const pthread_attr_t, extern "C-unwind" fn(*mut c_void) -> *mut c_void,
                *mut c_void) -> i32);
        global::set_for_libc(before);
        sys::signal_mask(mask);
        if error != 0 {
            sys::unmap(stack, STACK + Calls::LENGTH);
            return None;
        }
        while READY.load(Ordering::Acquire) == 0 {
            sys::futex_wait(&READY, 0);
        }
        let (context, base) = (CONTEXT.load(Ordering::Relaxed), BASE.load(Ordering::Relaxed));
        let range = (stack, side_stack);
        let length = range.1 - context;
        // SAFETY: from the parked stack pointer to the end of the mapping, which the kernel lists.
        let image = unsafe { std::slice::from_raw_parts(context as *const u8, length) }.to_vec();
        Some(Donor { pthread, context, base, range, image, used: Cell::new(false) })
    }

    /// Makes it a fresh thread again.
    pub fn renew(&self) {
        if !self.used.replace(true) {
            return;
        }
        // SAFETY: the image was taken from this range; no fiber is using it.
        unsafe { std::ptr::copy_nonoverlapping(self.image.as_ptr(), self.context as *mut u8, self.image.len()) };
    }

    /// The memory that must be left alone when the program's is put back.
    pub fn whole(&self) -> (usize, usize) {
        (self.range.0, self.range.1 + SIDE_STACK + Calls::LENGTH)
    }
}

/// Makes donors until there are `count`.
pub fn stock(donors: &mut Vec<Donor>, count: usize, life: Life) {
    let inside = global::inside();
    global::set_inside(true);
    // libc allocates for them; it was the program that called.
    let (pc, sp) = (global::caller(), global::caller_sp());
    while donors.len() < count {
        // The first thread needs none.
        match Donor::new(donors.len() + 1, life) {
            Some(donor) => donors.push(donor),
            None => break,
        }
    }
    global::set_caller(pc, sp);
    global::set_inside(inside);
}
