//! Atomic types and fences, as in [`std::sync::atomic`].
//!
//! In a check every operation is one of the model; outside of one they are std's. Constructors are `const`, and a
//! static
//! starts anew, with its first value, in every execution.

use crate::rt::{self, Context, Kind, Stamp, ask};
use fencepost_trace::{
    Access, FenceOrder, Guard, LoadOrder, Location, Op, Reply, RmwOrder, Size, StoreOrder, Update, Value,
};
use std::fmt;
use std::panic::Location as Caller;
pub use std::sync::atomic::{Ordering, compiler_fence};

fn load_order(order: Ordering) -> LoadOrder {
    match order {
        Ordering::Relaxed => LoadOrder::Relaxed,
        Ordering::Acquire => LoadOrder::Acquire,
        Ordering::SeqCst => LoadOrder::SeqCst,
        Ordering::Release => panic!("there is no such thing as a release load"),
        _ => panic!("there is no such thing as an acquire-release load"),
    }
}

fn store_order(order: Ordering) -> StoreOrder {
    match order {
        Ordering::Relaxed => StoreOrder::Relaxed,
        Ordering::Release => StoreOrder::Release,
        Ordering::SeqCst => StoreOrder::SeqCst,
        Ordering::Acquire => panic!("there is no such thing as an acquire store"),
        _ => panic!("there is no such thing as an acquire-release store"),
    }
}

fn rmw_order(order: Ordering) -> RmwOrder {
    match order {
        Ordering::Relaxed => RmwOrder::Relaxed,
        Ordering::Acquire => RmwOrder::Acquire,
        Ordering::Release => RmwOrder::Release,
        Ordering::AcqRel => RmwOrder::AcqRel,
        _ => RmwOrder::SeqCst,
    }
}

/// An atomic fence.
#[track_caller]
pub fn fence(order: Ordering) {
    let Some(context) = rt::current() else { return std::sync::atomic::fence(order) };
    let order = match order {
        Ordering::Acquire => FenceOrder::Acquire,
        Ordering::Release => FenceOrder::Release,
        Ordering::AcqRel => FenceOrder::AcqRel,
        Ordering::SeqCst => FenceOrder::SeqCst,
        _ => panic!("there is no such thing as a relaxed fence"),
    };
    ask(context, Op::Access(Access::Fence { order }), Caller::caller());
}

/// A location of the execution at hand, and how it is accessed.
struct At<'a> {
    context: &'a Context,
    at: Location,
    caller: &'static Caller<'static>,
}

impl At<'_> {
    fn ask(&self, access: Access) -> Reply {
        ask(self.context, Op::Access(access), self.caller)
    }

    fn load(&self, order: LoadOrder) -> u128 {
        self.ask(Access::Load { at: self.at, order, guard: Guard::Any }).value.0
    }

    fn store(&self, order: Ordering, value: u128) {
        self.ask(Access::Store { at: self.at, order: store_order(order), value: Value(value) });
    }

    fn rmw(&self, order: Ordering, update: Update) -> u128 {
        self.ask(Access::Rmw { at: self.at, order: rmw_order(order), update, guard: Guard::Any }).value.0
    }

    fn compare_exchange(&self, operands: [u128; 2], orders: [Ordering; 2], weak: bool) -> Result<u128, u128> {
        let reply = self.ask(Access::CompareExchange {
            at: self.at,
            expected: Value(operands[0]),
            desired: Value(operands[1]),
            success: rmw_order(orders[0]),
            failure: load_order(orders[1]),
            weak,
            guard: Guard::Any,
        });
        if reply.success { Ok(reply.value.0) } else { Err(reply.value.0) }
    }
}

/// Does something at the location of an atomic, if in a check.
macro_rules! at {
    ($self:ident, $at:ident => $model:expr, $real:expr) => {
        match rt::current() {
            None => $real,
            Some(context) => {
                let caller = Caller::caller();
                let initial = || $self.first();
                let location = context.locate(&$self.stamp, Kind::Memory(Self::SIZE), caller, initial);
                let $at = At { context, at: location, caller };
                $model
            }
        }
    };
}

const fn size(bytes: usize) -> Size {
    match bytes {
        1 => Size::B1,
        2 => Size::B2,
        4 => Size::B4,
        8 => Size::B8,
        _ => Size::B16,
    }
}

macro_rules! common {
    ([$($generic:tt)*] $type:ty, $value:ty, $std:ty, $to:expr, $from:expr) => {
        impl $($generic)* $type {
            const SIZE: Size = size(size_of::<$value>());

            /// What it holds before the execution.
            fn first(&self) -> u128 {
                $to(self.value.load(Ordering::Relaxed))
            }

            /// A new atomic that holds `value`.
            pub const fn new(value: $value) -> Self {
                Self { value: <$std>::new(value), stamp: Stamp::new() }
            }

            /// Takes what it holds now back into `self.value`; later uses are uses of a new object.
            #[track_caller]
            fn take_back(&mut self) {
                if let Some(context) = rt::current()
                    && context.knows(&self.stamp)
                {
                    let caller = Caller::caller();
                    let at = context.locate(&self.stamp, Kind::Memory(Self::SIZE), caller, || 0);
                    let value = At { context, at, caller }.load(LoadOrder::Plain);
                    *self.value.get_mut() = $from(value);
                    self.stamp.reset();
                }
            }

            /// A mutable reference to what it holds.
            #[track_caller]
            pub fn get_mut(&mut self) -> &mut $value {
                self.take_back();
                self.value.get_mut()
            }

            /// What it holds in the end.
            #[track_caller]
            pub fn into_inner(mut self) -> $value {
                self.take_back();
                self.value.into_inner()
            }

            /// Runs `f` on what it holds. For suites that are written for loom.
            #[track_caller]
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                f(self.get_mut())
            }

            /// What it holds.
            ///
            /// # Safety
            ///
            /// No other thread may write it meanwhile: in a check that is a race, and reported.
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $value {
                at!(self, at => $from(at.load(LoadOrder::Plain)), self.value.load(Ordering::Relaxed))
            }

            /// Loads the value.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                at!(self, at => $from(at.load(load_order(order))), self.value.load(order))
            }

            /// Stores a value.
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                at!(self, at => at.store(order, $to(value)), self.value.store(value, order))
            }

            /// Stores a value and returns the old one.
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                at!(
                    self, at => $from(at.rmw(order, Update::Exchange(Value($to(value))))),
                    self.value.swap(value, order)
                )
            }

            /// Stores `new` if it holds `current`.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                at!(self, at => {
                    let result = at.compare_exchange([$to(current), $to(new)], [success, failure], false);
                    result.map($from).map_err($from)
                }, self.value.compare_exchange(current, new, success, failure))
            }

            /// The same, but it may fail for no reason: in a check both are explored.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                at!(self, at => {
                    let result = at.compare_exchange([$to(current), $to(new)], [success, failure], true);
                    result.map($from).map_err($from)
                }, self.value.compare_exchange_weak(current, new, success, failure))
            }

            /// Stores `new` if it holds `current`, and returns what it held.
            #[track_caller]
            #[deprecated = "use `compare_exchange` or `compare_exchange_weak`"]
            pub fn compare_and_swap(&self, current: $value, new: $value, order: Ordering) -> $value {
                let failure = match order {
                    Ordering::Relaxed | Ordering::Release => Ordering::Relaxed,
                    Ordering::Acquire | Ordering::AcqRel => Ordering::Acquire,
                    _ => Ordering::SeqCst,
                };
                self.compare_exchange(current, new, order, failure).unwrap_or_else(|seen| seen)
            }

            /// Replaces the value by what `f` makes of it, until nobody comes between or `f` makes nothing of it.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut seen = self.load(fetch_order);
                while let Some(new) = f(seen) {
                    match self.compare_exchange_weak(seen, new, set_order, fetch_order) {
                        Ok(old) => return Ok(old),
                        Err(now) => seen = now,
                    }
                }
                Err(seen)
            }
        }

        impl $($generic)* fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.load(Ordering::Relaxed), f)
            }
        }

        impl $($generic)* From<$value> for $type {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }
    };
}

macro_rules! update {
    ($($(#[$doc:meta])* $name:ident = $update:ident;)*) => {
        $($(#[$doc])*
        #[track_caller]
        pub fn $name(&self, value: Int, order: Ordering) -> Int {
            at!(self, at => at.rmw(order, Update::$update(Value(to(value)))) as Int, self.value.$name(value, order))
        })*
    };
}

macro_rules! integers {
    ($($name:ident $module:ident $int:ident $unsigned:ident $max:ident $min:ident;)*) => {
        $(
            #[doc = concat!("An atomic `", stringify!($int), "`.")]
            #[derive(Default)]
            pub struct $name {
                value: std::sync::atomic::$name,
                stamp: Stamp,
            }

            common!(
                [] $name, $int, std::sync::atomic::$name, |v: $int| u128::from(v as $unsigned), |v: u128| v as $int
            );

            mod $module {
                use super::*;
                type Int = $int;

                fn to(value: Int) -> u128 {
                    u128::from(value as $unsigned)
                }

                impl $name {
                    update! {
                        /// Adds, wrapping; returns the old value.
                        fetch_add = Add;
                        /// Subtracts, wrapping; returns the old value.
                        fetch_sub = Sub;
                        /// Bitwise and; returns the old value.
                        fetch_and = And;
                        /// Bitwise nand; returns the old value.
                        fetch_nand = Nand;
                        /// Bitwise or; returns the old value.
                        fetch_or = Or;
                        /// Bitwise xor; returns the old value.
                        fetch_xor = Xor;
                        /// The maximum; returns the old value.
                        fetch_max = $max;
                        /// The minimum; returns the old value.
                        fetch_min = $min;
                    }
                }
            }
        )*
    };
}

integers! {
    AtomicU8 of_u8 u8 u8 UMax UMin;
    AtomicU16 of_u16 u16 u16 UMax UMin;
    AtomicU32 of_u32 u32 u32 UMax UMin;
    AtomicU64 of_u64 u64 u64 UMax UMin;
    AtomicUsize of_usize usize Word UMax UMin;
    AtomicI8 of_i8 i8 u8 Max Min;
    AtomicI16 of_i16 i16 u16 Max Min;
    AtomicI32 of_i32 i32 u32 Max Min;
    AtomicI64 of_i64 i64 u64 Max Min;
    AtomicIsize of_isize isize Word Max Min;
}

/// What a `usize` is read as.
#[cfg(target_pointer_width = "64")]
type Word = u64;
/// What a `usize` is read as.
#[cfg(target_pointer_width = "32")]
type Word = u32;

/// An atomic `bool`.
#[derive(Default)]
pub struct AtomicBool {
    value: std::sync::atomic::AtomicBool,
    stamp: Stamp,
}

common!([] AtomicBool, bool, std::sync::atomic::AtomicBool, |v: bool| u128::from(v), |v: u128| v & 1 == 1);

macro_rules! bool_update {
    ($($(#[$doc:meta])* $name:ident = $update:ident;)*) => {
        $($(#[$doc])*
        #[track_caller]
        pub fn $name(&self, value: bool, order: Ordering) -> bool {
            at!(
                self, at => at.rmw(order, Update::$update(Value(value.into()))) & 1 == 1,
                self.value.$name(value, order)
            )
        })*
    };
}

impl AtomicBool {
    bool_update! {
        /// Logical and; returns the old value.
        fetch_and = And;
        /// Logical or; returns the old value.
        fetch_or = Or;
        /// Logical xor; returns the old value.
        fetch_xor = Xor;
    }

    /// Logical nand; returns the old value.
    #[track_caller]
    pub fn fetch_nand(&self, value: bool, order: Ordering) -> bool {
        // !(x & true) is !x; !(x & false) is true.
        if value { self.fetch_xor(true, order) } else { self.swap(true, order) }
    }

    /// Logical not; returns the old value.
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}

/// An atomic raw pointer.
pub struct AtomicPtr<T> {
    value: std::sync::atomic::AtomicPtr<T>,
    stamp: Stamp,
}

common!(
    [<T>] AtomicPtr<T>, *mut T, std::sync::atomic::AtomicPtr<T>,
    |v: *mut T| v.expose_provenance() as u128,
    |v: u128| std::ptr::with_exposed_provenance_mut::<T>(v as usize)
);

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        AtomicPtr::new(std::ptr::null_mut())
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.load(Ordering::Relaxed), f)
    }
}

/// Signals that the processor is in a loop that waits.
#[deprecated = "use `hint::spin_loop`"]
#[track_caller]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}
