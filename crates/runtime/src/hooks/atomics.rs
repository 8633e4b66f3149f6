//! Atomic operations and fences.

use super::{access, at_work, hook};
use crate::detect::details;
use crate::detect::shadow::{READ, WRITE};
use crate::drive::ending::{self, Verdict};
use crate::drive::{control, explored, has_tried, may_fail, private, view};
use crate::platform::global::{self, mode};
use crate::threads::{fibers, waiter_pool};
use fencepost_trace::{
    Access, FenceOrder, Guard, LoadOrder, Location, Op, Reply, RmwOrder, Size, StoreOrder, Update, Value,
};
use std::sync::atomic::{AtomicBool, Ordering, fence};

// The compiler's numbers for memory orders: relaxed 0, consume 1, acquire 2, release 3, acq_rel 4, seq_cst 5. Bits
// from 16 on are hints for hardware transactions.

fn load_order(number: i32) -> LoadOrder {
    match number & 0xff {
        0 | 3 => LoadOrder::Relaxed,
        1 | 2 | 4 => LoadOrder::Acquire,
        _ => LoadOrder::SeqCst,
    }
}

fn store_order(number: i32) -> StoreOrder {
    match number & 0xff {
        0..=2 => StoreOrder::Relaxed,
        3 | 4 => StoreOrder::Release,
        _ => StoreOrder::SeqCst,
    }
}

fn rmw_order(number: i32) -> RmwOrder {
    match number & 0xff {
        0 => RmwOrder::Relaxed,
        1 | 2 => RmwOrder::Acquire,
        3 => RmwOrder::Release,
        4 => RmwOrder::AcqRel,
        _ => RmwOrder::SeqCst,
    }
}

/// Operations of a program that is not under control: one after the other.
fn alone<T>(act: impl FnOnce() -> T) -> T {
    static LOCK: AtomicBool = AtomicBool::new(false);
    while LOCK.swap(true, Ordering::SeqCst) {
        std::hint::spin_loop();
    }
    let result = act();
    LOCK.store(false, Ordering::SeqCst);
    result
}

/// Has the engine perform an access of the program's; `write` says what it leaves in memory, given the reply.
pub fn perform(access: Access, at: Location, write: impl FnOnce(Reply) -> Option<Value>) -> Reply {
    let mut stale = false;
    let reply = at_work(|| {
        details::stands(global::caller());
        if global::kind() == mode::HARDWARE {
            return view::atomic(access, at);
        }
        let (reply, wrote) = control::watched(access, at, write);
        stale = !wrote && control::memory(at) != reply.value;
        reply
    });
    if stale {
        // Code without instrumentation that looks next sees the newest value, and may act on it.
        global::suspect();
    }
    reply
}

fn load(at: Location, order: i32) -> Value {
    if !global::active() {
        return alone(|| control::memory(at));
    }
    if load_order(order) == LoadOrder::SeqCst && waiter_pool::contains(at.address as usize) {
        at_work(|| control::perform(Op::Access(Access::Fence { order: FenceOrder::SeqCst })));
    }
    let access = Access::Load { at, order: load_order(order), guard: Guard::Any };
    perform(access, at, |_| None).value
}

fn store(at: Location, value: Value, order: i32) {
    if !global::active() {
        return alone(|| control::set_memory(at, value));
    }
    perform(Access::Store { at, order: store_order(order), value }, at, |_| Some(value));
}

pub fn update(at: Location, update: Update, order: i32) -> Value {
    let new = |old: Value| update.apply(old, at.size).expect("internal error: an update of a wait set");
    if !global::active() {
        return alone(|| {
            let old = control::memory(at);
            control::set_memory(at, new(old));
            old
        });
    }
    let access = Access::Rmw { at, order: rmw_order(order), update, guard: Guard::Any };
    perform(access, at, |reply| Some(new(reply.value))).value
}

pub fn compare_exchange(
    at: Location,
    expected: Value,
    desired: Value,
    orders: (i32, i32),
    weak: bool,
) -> (bool, Value) {
    if !global::active() {
        return alone(|| {
            let old = control::memory(at);
            if old == expected {
                control::set_memory(at, desired);
            }
            (old == expected, old)
        });
    }
    let (success, failure) = (rmw_order(orders.0), load_order(orders.1));
    let tries = weak;
    let weak = weak && may_fail();
    let access = Access::CompareExchange { at, expected, desired, success, failure, weak, guard: Guard::Any };
    let reply = perform(access, at, |reply| reply.success.then_some(desired));
    if tries {
        has_tried(!reply.success && reply.value == expected);
    }
    (reply.success, reply.value)
}

/// All operations of one width.
macro_rules! atomics {
    ($ty:ty, $size:ident: $load:ident $store:ident $exchange:ident $add:ident $sub:ident $and:ident $or:ident
        $xor:ident $nand:ident
     $strong:ident $weak:ident $val:ident) => {
        hook! { fn $load(at: usize, order: i32) -> $ty {
            load(Location::new(at as u64, Size::$size), order).0 as $ty
        } }
        hook! { fn $store(at: usize, value: $ty, order: i32) {
            store(Location::new(at as u64, Size::$size), Value(value as u128), order)
        } }
        atomics! { @update $ty, $size: $exchange Exchange, $add Add, $sub Sub, $and And, $or Or, $xor Xor, $nand Nand }
        hook! { fn $strong(at: usize, expected: *mut $ty, desired: $ty, success: i32, failure: i32) -> i32 {
            compare_exchange_at::<$ty>(at, Size::$size, expected, desired, (success, failure), false)
        } }
        hook! { fn $weak(at: usize, expected: *mut $ty, desired: $ty, success: i32, failure: i32) -> i32 {
            compare_exchange_at::<$ty>(at, Size::$size, expected, desired, (success, failure), true)
        } }
        hook! { fn $val(at: usize, expected: $ty, desired: $ty, success: i32, failure: i32) -> $ty {
            let at = Location::new(at as u64, Size::$size);
            compare_exchange(at, Value(expected as u128), Value(desired as u128), (success, failure), false).1.0 as $ty
        } }
    };
    (@update $ty:ty, $size:ident: $($name:ident $update:ident),*) => { $(
        hook! { fn $name(at: usize, operand: $ty, order: i32) -> $ty {
            update(Location::new(at as u64, Size::$size), Update::$update(Value(operand as u128)), order).0 as $ty
        } }
    )* };
}

/// A compare-exchange in C's form: what was found is written over what was expected.
fn compare_exchange_at<T: Copy + Into<u128> + Narrow>(
    at: usize,
    size: Size,
    expected: *mut T,
    desired: T,
    orders: (i32, i32),
    weak: bool,
) -> i32 {
    let (pc, bytes) = (global::caller(), size.bytes() as usize);
    // What is expected may lie where others get at it, and what a plain access of the program needs, this one needs,
    // too.
    access::announced_any(expected as usize, bytes, READ, pc);
    // SAFETY: C's contract: it points to a value of this type, the program's own.
    let old = unsafe { *expected };
    let at = Location::new(at as u64, size);
    // The thread stands where it stood when it read, but that is no round of a loop.
    let registers = global::caller_registers();
    global::set_caller_registers(std::array::from_fn(|i| if i == 0 { registers[i] ^ 1 << 48 } else { registers[i] }));
    let (success, found) = compare_exchange(at, Value(old.into()), Value(desired.into()), orders, weak);
    global::set_caller_registers(registers);
    if !success {
        if global::active() {
            global::unsuspecting(|| access::announced_any(expected as usize, bytes, WRITE, pc));
        }
        // SAFETY: as above.
        unsafe { *expected = T::narrow(found.0) };
    }
    success.into()
}

/// Cuts a value to a width.
trait Narrow {
    fn narrow(bits: u128) -> Self;
}

macro_rules! narrow { ($($ty:ty)*) => { $( impl Narrow for $ty { fn narrow(bits: u128) -> $ty { bits as $ty } } )* }; }
narrow! { u8 u16 u32 u64 u128 }

atomics! { u8, B1: __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange __tsan_atomic8_fetch_add
    __tsan_atomic8_fetch_sub
__tsan_atomic8_fetch_and __tsan_atomic8_fetch_or __tsan_atomic8_fetch_xor __tsan_atomic8_fetch_nand
__tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak __tsan_atomic8_compare_exchange_val }
atomics! { u16, B2: __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange __tsan_atomic16_fetch_add
    __tsan_atomic16_fetch_sub
__tsan_atomic16_fetch_and __tsan_atomic16_fetch_or __tsan_atomic16_fetch_xor __tsan_atomic16_fetch_nand
__tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_weak __tsan_atomic16_compare_exchange_val }
atomics! { u32, B4: __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange __tsan_atomic32_fetch_add
    __tsan_atomic32_fetch_sub
__tsan_atomic32_fetch_and __tsan_atomic32_fetch_or __tsan_atomic32_fetch_xor __tsan_atomic32_fetch_nand
__tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_weak __tsan_atomic32_compare_exchange_val }
atomics! { u64, B8: __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange __tsan_atomic64_fetch_add
    __tsan_atomic64_fetch_sub
__tsan_atomic64_fetch_and __tsan_atomic64_fetch_or __tsan_atomic64_fetch_xor __tsan_atomic64_fetch_nand
__tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_weak __tsan_atomic64_compare_exchange_val }
atomics! { u128, B16: __tsan_atomic128_load __tsan_atomic128_store __tsan_atomic128_exchange
    __tsan_atomic128_fetch_add __tsan_atomic128_fetch_sub
__tsan_atomic128_fetch_and __tsan_atomic128_fetch_or __tsan_atomic128_fetch_xor __tsan_atomic128_fetch_nand
__tsan_atomic128_compare_exchange_strong __tsan_atomic128_compare_exchange_weak __tsan_atomic128_compare_exchange_val }

hook! { fn __tsan_atomic_thread_fence(order: i32) {
    if !global::active() {
        return fence(Ordering::SeqCst);
    }
    let order = match order & 0xff {
        // A relaxed fence is none.
        0 => return,
        1 | 2 => FenceOrder::Acquire,
        3 => FenceOrder::Release,
        4 => FenceOrder::AcqRel,
        _ => FenceOrder::SeqCst,
    };
    at_work(|| control::perform(Op::Access(Access::Fence { order })));
} }

/// Orders nothing between threads.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_signal_fence(_: i32) {}

// Annotations of synchronisation that the instrumentation cannot see: the address stands for an atomic variable.

hook! { fn __tsan_acquire(address: usize) {
    if global::active() {
        let at = Location::hidden(fencepost_trace::Hidden::Park, address as u64 | 1 << 50);
        at_work(|| control::perform(Op::Access(Access::Load { at, order: LoadOrder::Acquire, guard: Guard::Any })));
    }
} }

hook! { fn __tsan_release(address: usize) {
    if global::active() {
        let at = Location::hidden(fencepost_trace::Hidden::Park, address as u64 | 1 << 50);
        let update = Update::Add(Value(1));
        let access = Access::Rmw { at, order: RmwOrder::Release, update, guard: Guard::Any };
        at_work(|| control::perform(Op::Access(access)));
    }
} }

// `fencepost.h`: two words at once, which no processor has, and algorithms are published with. To all others it is one
// step: nobody goes on between its accesses, and no store leaves a buffer. By itself it orders no more than a relaxed
// compare-exchange does.
hook! { fn __fencepost_dcas(a: usize, b: usize, old_a: u64, old_b: u64, new_a: u64, new_b: u64) -> i32 {
    let words = [(a, old_a, new_a), (b, old_b, new_b)]
        .map(|(at, old, new)| (Location::new(at as u64, Size::B8), Value(old.into()), Value(new.into())));
    if !global::active() {
        return alone(|| {
            let same = words.iter().all(|(at, old, _)| control::memory(*at) == *old);
            words.iter().filter(|_| same).for_each(|(at, _, new)| control::set_memory(*at, *new));
            same.into()
        });
    }
    if global::explores() {
        // An execution graph has no two events that are one.
        explored::unsupported("a double compare-exchange is not explored");
        ending::finish(Verdict::Redundant);
    }
    at_work(control::begin_step);
    // Others may go first; then nobody.
    let me = fibers::current();
    at_work(|| control::perform(control::turn()));
    control::hold(Some(me));
    // What is told of one word must not change the other when it has been looked at.
    at_work(|| words.iter().for_each(|(at, ..)| private::share(*at)));
    let other = words.iter().find(|(at, old, _)| control::memory(*at) != *old);
    let same = other.is_none();
    // What each word is has been seen: where a model has older values, none of these is read instead, or one word would
    // be exchanged without the other.
    let exchange = |(at, old, new): &(Location, Value, Value)| {
        let guard = if same { Guard::Equals(*old) } else { Guard::Differs(*old) };
        let (success, failure) = (RmwOrder::Relaxed, LoadOrder::Relaxed);
        let (at, expected, desired) = (*at, *old, *new);
        let access = Access::CompareExchange { at, expected, desired, success, failure, weak: false, guard };
        perform(access, at, |reply| reply.success.then_some(desired));
    };
    match other {
        // Where one word is another, that it was read is all that happens.
        Some(other) => exchange(other),
        None => words.iter().for_each(exchange),
    }
    control::hold(None);
    at_work(control::end_step);
    same.into()
} }

/// A releasing store that the runtime makes for the program.
pub fn store_release(at: Location, value: Value) {
    store(at, value, 3);
}
