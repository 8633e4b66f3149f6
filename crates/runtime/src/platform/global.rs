//! State of the runtime that any hook may reach.
//!
//! Everything runs on one kernel thread once an execution is under way. So plain cells do; what must be careful is not
//! two threads but one: what has been entered must be left before the same is entered again, before another fiber
//! runs, and before the program is called, which may come back in. [`Global::enter`] gives a guard that says how long
//! that is. A build with the feature `checked` holds everybody to it, and names both places where it does not; in
//! others a guard is a reference and costs nothing.
//!
//! What kernel threads of the program use before it is under control, or because it never is, has a [`Lock`].

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering};

/// A cell that any hook may reach. See the module's documentation.
pub struct Global<T> {
    value: UnsafeCell<T>,
    entry: Entry,
}

// SAFETY: one kernel thread at a time uses the runtime's state; kernel threads that donate their stacks are parked.
unsafe impl<T> Sync for Global<T> {}

impl<T> Global<T> {
    pub const fn new(value: T) -> Self {
        Global { value: UnsafeCell::new(value), entry: Entry::new() }
    }

    /// The contents, until the guard goes.
    #[inline(always)]
    #[track_caller]
    pub fn enter(&self) -> Entered<'_, T> {
        let pass = self.entry.enter();
        // SAFETY: a cell has an address.
        Entered { value: unsafe { NonNull::new_unchecked(self.value.get()) }, life: PhantomData, pass }
    }
}

/// A [`Global`] that has been entered, or a part of it. To leave is to drop this.
pub struct Entered<'a, T: ?Sized> {
    value: NonNull<T>,
    life: PhantomData<&'a mut T>,
    pass: Pass<'a>,
}

impl<'a, T: ?Sized> Entered<'a, T> {
    /// Only this part of it.
    #[inline(always)]
    pub fn map<U: ?Sized>(mut self, part: impl FnOnce(&mut T) -> &mut U) -> Entered<'a, U> {
        let value = NonNull::from(part(&mut self));
        Entered { value, life: PhantomData, pass: self.pass }
    }

    /// The same, if there is such a part.
    #[inline(always)]
    pub fn try_map<U: ?Sized>(mut self, part: impl FnOnce(&mut T) -> Option<&mut U>) -> Option<Entered<'a, U>> {
        let value = NonNull::from(part(&mut self)?);
        Some(Entered { value, life: PhantomData, pass: self.pass })
    }
}

impl<T: ?Sized> Deref for Entered<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: by the rule of the module, nobody else has entered while this guard lives.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for Entered<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { self.value.as_mut() }
    }
}

#[cfg(feature = "checked")]
use checked::{Entry, Pass};
#[cfg(feature = "checked")]
pub use checked::{abandon, leave_all};
#[cfg(not(feature = "checked"))]
use unchecked::{Entry, Pass};
#[cfg(not(feature = "checked"))]
pub use unchecked::{abandon, leave_all};

/// Nobody looks who has entered what.
#[cfg(not(feature = "checked"))]
mod unchecked {
    use std::marker::PhantomData;

    pub struct Entry;
    pub struct Pass<'a>(PhantomData<&'a Entry>);

    impl Entry {
        pub const fn new() -> Entry {
            Entry
        }

        #[inline(always)]
        pub fn enter(&self) -> Pass<'_> {
            Pass(PhantomData)
        }

        #[inline(always)]
        pub fn pass_by(&self) -> Pass<'_> {
            Pass(PhantomData)
        }
    }

    /// Nothing is done, but here: so a guard lives as long as it does in checked builds.
    impl Drop for Pass<'_> {
        #[inline(always)]
        fn drop(&mut self) {}
    }

    #[inline(always)]
    pub fn leave_all() {}

    #[inline(always)]
    pub fn abandon() {}
}

/// Who has entered what.
///
/// Nothing here leaves on a stack what is another value the next time: an exploration recognises threads by their
/// stacks, and below the program's frames there is what hooks have left.
#[cfg(feature = "checked")]
mod checked {
    use std::panic::Location;
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

    /// So many can be entered at the same time.
    const MOST: usize = 64;
    /// What is entered, in that order.
    static ENTERED: [AtomicPtr<Entry>; MOST] = [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST];
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    /// A mistake was found, and is being reported: nothing is checked meanwhile.
    static FOUND: AtomicBool = AtomicBool::new(false);

    /// The door of a global.
    pub struct Entry {
        /// Where whoever is inside has come in; null if nobody is.
        place: AtomicPtr<Location<'static>>,
    }

    /// Somebody is inside, or has no need to show that.
    pub struct Pass<'a>(Option<&'a Entry>);

    impl Entry {
        pub const fn new() -> Entry {
            Entry { place: AtomicPtr::new(std::ptr::null_mut()) }
        }

        fn name(&self) -> String {
            // SAFETY: null, or the address of a constant.
            let place = unsafe { self.place.load(Ordering::Relaxed).as_ref() };
            place.map_or("nowhere".to_owned(), ToString::to_string)
        }

        #[inline]
        #[track_caller]
        pub fn enter(&self) -> Pass<'_> {
            let here = Location::caller();
            if !self.place.load(Ordering::Relaxed).is_null() && !FOUND.swap(true, Ordering::Relaxed) {
                panic!("what was entered at {} is entered again at {here}", self.name());
            }
            self.place.store(std::ptr::from_ref(here).cast_mut(), Ordering::Relaxed);
            // One kernel thread at a time is here: no need for an operation that others could not come between.
            let count = COUNT.load(Ordering::Relaxed);
            COUNT.store(count + 1, Ordering::Relaxed);
            ENTERED[count.min(MOST - 1)].store(std::ptr::from_ref(self).cast_mut(), Ordering::Relaxed);
            Pass(Some(self))
        }

        /// Somebody goes in who need not show a pass.
        pub fn pass_by(&self) -> Pass<'_> {
            Pass(None)
        }
    }

    impl Drop for Pass<'_> {
        #[inline]
        fn drop(&mut self) {
            let Some(entry) = self.0 else { return };
            entry.place.store(std::ptr::null_mut(), Ordering::Relaxed);
            let count = COUNT.load(Ordering::Relaxed).min(MOST);
            // Nearly always it is the last.
            if count > 0 && std::ptr::eq(ENTERED[count - 1].load(Ordering::Relaxed), entry) {
                return COUNT.store(count - 1, Ordering::Relaxed);
            }
            let is_it = |i: &usize| std::ptr::eq(ENTERED[*i].load(Ordering::Relaxed), entry);
            if let Some(at) = (0..count).rev().find(is_it) {
                (at + 1..count)
                    .for_each(|i| ENTERED[i - 1].store(ENTERED[i].load(Ordering::Relaxed), Ordering::Relaxed));
                COUNT.store(count - 1, Ordering::Relaxed);
            }
        }
    }

    /// The running fiber is about to stand, or the program to run: nothing may be entered.
    #[track_caller]
    pub fn leave_all() {
        if let Some(last) = COUNT.load(Ordering::Relaxed).checked_sub(1)
            && !FOUND.swap(true, Ordering::Relaxed)
        {
            let here = Location::caller();
            // SAFETY: entries are parts of statics.
            let entry = unsafe { &*ENTERED[last.min(MOST - 1)].load(Ordering::Relaxed) };
            panic!("what was entered at {} has not been left when {here} is reached", entry.name());
        }
    }

    /// Whatever is entered was entered by a fiber that will not run again.
    pub fn abandon() {
        for entered in &ENTERED[..COUNT.swap(0, Ordering::Relaxed).min(MOST)] {
            // SAFETY: as above.
            unsafe { &*entered.load(Ordering::Relaxed) }.place.store(std::ptr::null_mut(), Ordering::Relaxed);
        }
    }
}

/// State that several kernel threads may use: before the program is under control, or when it never is.
pub struct Lock<T> {
    value: UnsafeCell<T>,
    taken: AtomicBool,
    entry: Entry,
}

// SAFETY: whoever has taken the lock has the value alone.
unsafe impl<T> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub const fn new(value: T) -> Self {
        Lock { value: UnsafeCell::new(value), taken: AtomicBool::new(false), entry: Entry::new() }
    }

    /// The contents, until the guard goes. Whoever holds it does nothing that takes it again.
    #[inline(always)]
    #[track_caller]
    pub fn lock(&self) -> Locked<'_, T> {
        // In an execution there is one kernel thread, which would only wait for itself.
        if running() {
            return Locked { lock: self, _pass: self.entry.enter() };
        }
        while self.taken.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        Locked { lock: self, _pass: self.entry.pass_by() }
    }
}

/// A [`Lock`] that has been taken. To drop this is to give it back.
pub struct Locked<'a, T> {
    lock: &'a Lock<T>,
    _pass: Pass<'a>,
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held as long as this guard lives.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Locked<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Locked<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.lock.taken.store(false, Ordering::Release);
    }
}

/// What a hook has to do.
pub mod mode {
    /// Nothing: the program is not under control, or the runtime itself is at work and reaches a function that it
    /// hides.
    pub const IDLE: u8 = 0;
    /// Atomics are operations, plain accesses are watched: c11.
    pub const LANGUAGE: u8 = 1;
    /// Every access is an operation: sc, tso, pso, pslo.
    pub const HARDWARE: u8 = 2;
    /// As [`LANGUAGE`], but code without instrumentation may just have used atomics, or a volatile access has to be
    /// finished: look first.
    pub const SUSPICIOUS: u8 = 3;
    /// As [`LANGUAGE`], but no access is skipped because its like was made before: see [`exact`](crate::detect::exact).
    pub const EXACT: u8 = 4;
    /// As [`LANGUAGE`], but some plain accesses are operations, too: exploration.
    pub const EXPLORED: u8 = 5;
}

/// What the next hook has to do.
pub static MODE: AtomicU8 = AtomicU8::new(mode::IDLE);
/// What hooks have to do in this execution; idle between executions.
static RUNNING: AtomicU8 = AtomicU8::new(mode::IDLE);
/// Its kind: the same, but for [`mode::EXACT`], which is of the kind [`mode::LANGUAGE`].
static KIND: AtomicU8 = AtomicU8::new(mode::IDLE);

/// One of [`mode`]: the first thing that a hook asks.
#[inline(always)]
pub fn mode() -> u8 {
    MODE.load(Ordering::Relaxed)
}

/// Is this a call by the program in an execution under control?
#[inline(always)]
pub fn active() -> bool {
    mode() != mode::IDLE
}

/// Is an execution under way?
#[inline(always)]
pub fn running() -> bool {
    RUNNING.load(Ordering::Relaxed) != mode::IDLE
}

/// The mode of this execution: idle, language or hardware.
pub fn kind() -> u8 {
    KIND.load(Ordering::Relaxed)
}

/// An execution begins or ends. The runtime is at work in both cases.
pub fn set_running(mode: u8) {
    RUNNING.store(mode, Ordering::Relaxed);
    KIND.store(if mode == mode::EXACT { mode::LANGUAGE } else { mode }, Ordering::Relaxed);
    set_inside(true);
}

/// The runtime starts or stops being at work.
#[inline(always)]
pub fn set_inside(on: bool) {
    MODE.store(if on { mode::IDLE } else { RUNNING.load(Ordering::Relaxed) }, Ordering::Relaxed);
}

/// Does something that may call functions which the runtime hides, and is as before afterwards.
pub fn quietly<T>(act: impl FnOnce() -> T) -> T {
    let before = MODE.swap(mode::IDLE, Ordering::Relaxed);
    let result = act();
    MODE.store(before, Ordering::Relaxed);
    result
}

/// The next hook of the running thread has to look at all atomics first.
pub fn suspect() {
    if kind() == mode::LANGUAGE {
        MODE.store(mode::SUSPICIOUS, Ordering::Relaxed);
    }
}

/// Does something in the program's name that is not the program's next step: what the next hook has to look at, it
/// will still look at.
pub fn unsuspecting(act: impl FnOnce()) {
    let suspicious = mode() == mode::SUSPICIOUS;
    if suspicious {
        set_inside(false);
    }
    act();
    if suspicious {
        suspect();
    }
}

/// Is the runtime at work, or no execution under way?
pub fn inside() -> bool {
    !active()
}

/// Is an exploration under way?
static EXPLORES: AtomicBool = AtomicBool::new(false);
/// Is it one of c11?
static EXPLORES_LANGUAGE: AtomicBool = AtomicBool::new(false);

/// Is an exploration under way?
#[inline(always)]
pub fn explores() -> bool {
    EXPLORES.load(Ordering::Relaxed)
}

/// Is one under way of c11, where plain accesses are no events but may race?
pub fn explores_language() -> bool {
    EXPLORES_LANGUAGE.load(Ordering::Relaxed)
}

/// An exploration begins, of c11 or not, or ends.
pub fn set_exploring(on: bool, language: bool) {
    EXPLORES.store(on, Ordering::Relaxed);
    EXPLORES_LANGUAGE.store(language, Ordering::Relaxed);
}

/// Does libc allocate for itself, to make a thread?
static FOR_LIBC: AtomicBool = AtomicBool::new(false);

/// From here on, allocations are libc's own, for a thread that it makes. Gives what was before.
pub fn set_for_libc(on: bool) -> bool {
    FOR_LIBC.swap(on, Ordering::Relaxed)
}

/// Does libc allocate for itself, to make a thread?
pub fn is_for_libc() -> bool {
    FOR_LIBC.load(Ordering::Relaxed)
}

/// Where the program called the hook that was entered last: the return address.
pub static CALLER_PC: AtomicUsize = AtomicUsize::new(0);
/// The stack pointer at that call. Everything below is dead to the program.
pub static CALLER_SP: AtomicUsize = AtomicUsize::new(0);
/// What the call at hand has asked for so far, as a number; 0 when it begins.
pub static CALLER_ASKS: AtomicU32 = AtomicU32::new(0);

/// The registers that calls preserve (rbx, rbp, r12 to r15), at the call of the hook that was entered last: together
/// with the stack, all that the calling function remembers.
pub static CALLER_REGISTERS: [AtomicUsize; 6] = [const { AtomicUsize::new(0) }; 6];

/// Those registers.
pub fn caller_registers() -> [usize; 6] {
    std::array::from_fn(|i| CALLER_REGISTERS[i].load(Ordering::Relaxed))
}

pub fn set_caller_registers(registers: [usize; 6]) {
    registers.iter().zip(&CALLER_REGISTERS).for_each(|(value, register)| register.store(*value, Ordering::Relaxed));
}

/// Nobody knows what they are at this call: then they are as they never were before.
pub fn spoil_registers() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    CALLER_REGISTERS[0].store(CALLS.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
}

#[inline(always)]
pub fn caller() -> usize {
    CALLER_PC.load(Ordering::Relaxed)
}

#[inline(always)]
pub fn caller_sp() -> usize {
    CALLER_SP.load(Ordering::Relaxed)
}

/// The program called from here.
#[inline(always)]
pub fn set_caller(pc: usize, sp: usize) {
    CALLER_PC.store(pc, Ordering::Relaxed);
    CALLER_SP.store(sp, Ordering::Relaxed);
}
