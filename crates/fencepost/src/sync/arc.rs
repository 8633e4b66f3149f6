//! As [`std::sync::Arc`]: shared ownership. One that is not gone in the end is a leak, and reported.
//!
//! Who drops the last handle matters only if somebody can see it: the destructor asks for operations, or the count is
//! looked at. So a check first leaves the counts out of the model: nobody is ordered by them, which permits more than
//! there is. If nothing fails and nobody looked, that is a proof. Otherwise the check starts over with counts that are
//! locations like any other.

use crate::rt::{self, Context, Kind, Stamp, ask};
use fencepost_trace::{Access, FenceOrder, Guard, LoadOrder, Op, RmwOrder, Size, Update, Value};
use std::borrow::Borrow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Deref;
use std::panic::Location as Caller;
use std::pin::Pin;
use std::sync::Arc as StdArc;
use std::sync::Weak as StdWeak;

/// What the handles to one value share in a check.
struct Control<T: ?Sized> {
    stamp: Stamp,
    /// Its number among what must be gone in the end; 0 if it was made outside of a check.
    tracked: Cell<u64>,
    /// One of the handles that were dropped: it keeps the value until the last one is gone in the model, too.
    graveyard: RefCell<Option<StdArc<T>>>,
    /// How many handles there were when the count became a location.
    strong: Cell<usize>,
}

// SAFETY: the control block is only touched in a check, by the fibers of one kernel thread.
unsafe impl<T: ?Sized + Send + Sync> Send for Control<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for Control<T> {}

/// A handle to a shared value.
pub struct Arc<T: ?Sized> {
    value: Option<StdArc<T>>,
    control: StdArc<Control<T>>,
}

/// A handle that does not keep the value.
pub struct Weak<T: ?Sized> {
    value: StdWeak<T>,
    control: Option<StdArc<Control<T>>>,
}

impl<T> Arc<T> {
    /// A handle to `value`.
    #[track_caller]
    pub fn new(value: T) -> Arc<T> {
        Arc::from_std(StdArc::new(value))
    }

    /// A handle to a value that refers to itself.
    #[track_caller]
    pub fn new_cyclic(make: impl FnOnce(&Weak<T>) -> T) -> Arc<T> {
        let control = StdArc::new(Control::new(Caller::caller()));
        observed();
        let weak = StdArc::clone(&control);
        let value = StdArc::new_cyclic(|value| make(&Weak { value: value.clone(), control: Some(weak) }));
        Arc { value: Some(value), control }
    }

    /// A pinned handle.
    #[track_caller]
    pub fn pin(value: T) -> Pin<Arc<T>> {
        // SAFETY: the value is behind an `Arc`, which never moves it, and no mutable reference is handed out while
        // pinned.
        unsafe { Pin::new_unchecked(Arc::new(value)) }
    }

    /// The value, if this is the only handle.
    #[track_caller]
    pub fn try_unwrap(this: Arc<T>) -> Result<T, Arc<T>> {
        if !this.is_unique() {
            return Err(this);
        }
        let mut this = this;
        let value = this.value.take().expect("a handle has a value");
        this.control.gone();
        let _ = this.control.graveyard.take();
        Ok(StdArc::try_unwrap(value).unwrap_or_else(|_| panic!("fencepost: an Arc that is the only one is not")))
    }

    /// The value, if this is the last handle.
    #[track_caller]
    pub fn into_inner(this: Arc<T>) -> Option<T> {
        Arc::try_unwrap(this).ok()
    }

    /// The value, or a copy of it.
    #[track_caller]
    pub fn unwrap_or_clone(this: Arc<T>) -> T
    where
        T: Clone,
    {
        Arc::try_unwrap(this).unwrap_or_else(|this| (*this).clone())
    }
}

fn observed() {
    if let Some(context) = rt::current() {
        context.arcs_observed.set(true);
    }
}

impl<T: ?Sized> Control<T> {
    fn new(caller: &'static Caller<'static>) -> Control<T> {
        let control =
            Control { stamp: Stamp::new(), tracked: Cell::new(0), graveyard: RefCell::default(), strong: Cell::new(1) };
        if let Some(context) = rt::current() {
            control.tracked.set(context.track("Arc", caller));
            context.created(&control.stamp, Kind::Memory(Size::B8), caller, 1);
        }
        control
    }

    /// Counts, where counts are locations; what it was before.
    fn count(&self, context: &Context, order: RmwOrder, update: Update, caller: &'static Caller<'static>) -> u64 {
        let at = context.locate(&self.stamp, Kind::Memory(Size::B8), caller, || self.strong.get() as u128);
        ask(context, Op::Access(Access::Rmw { at, order, update, guard: Guard::Any }), caller).value.0 as u64
    }

    /// The count as it is seen.
    fn look(&self, context: &Context, order: LoadOrder, caller: &'static Caller<'static>) -> u64 {
        let at = context.locate(&self.stamp, Kind::Memory(Size::B8), caller, || self.strong.get() as u128);
        ask(context, Op::Access(Access::Load { at, order, guard: Guard::Any }), caller).value.0 as u64
    }

    fn gone(&self) {
        if let Some(context) = rt::current() {
            context.untrack(self.tracked.get());
        }
    }
}

impl<T: ?Sized> Arc<T> {
    /// A handle to what std's handle has. Nobody else should have one.
    #[track_caller]
    pub fn from_std(value: StdArc<T>) -> Arc<T> {
        Arc { value: Some(value), control: StdArc::new(Control::new(Caller::caller())) }
    }

    fn std(&self) -> &StdArc<T> {
        self.value.as_ref().expect("a handle has a value")
    }

    /// The context, if counts are locations. What looks at counts calls this.
    fn exact(&self) -> Option<&'static Context> {
        observed();
        rt::current().filter(|context| context.settings.get().exact_arcs)
    }

    #[track_caller]
    fn is_unique(&self) -> bool {
        match self.exact() {
            None => StdArc::strong_count(self.std()) == 1,
            Some(context) => self.control.look(context, LoadOrder::Acquire, Caller::caller()) == 1,
        }
    }

    /// How many handles there are.
    #[track_caller]
    pub fn strong_count(this: &Arc<T>) -> usize {
        match this.exact() {
            None => StdArc::strong_count(this.std()),
            Some(context) => this.control.look(context, LoadOrder::Relaxed, Caller::caller()) as usize,
        }
    }

    /// How many weak handles there are.
    pub fn weak_count(this: &Arc<T>) -> usize {
        observed();
        StdArc::weak_count(this.std())
    }

    /// A mutable reference, if this is the only handle.
    #[track_caller]
    pub fn get_mut(this: &mut Arc<T>) -> Option<&mut T> {
        if !this.is_unique() {
            return None;
        }
        this.control.graveyard.take();
        this.value.as_mut().and_then(StdArc::get_mut)
    }

    /// A handle that does not keep the value.
    #[track_caller]
    pub fn downgrade(this: &Arc<T>) -> Weak<T> {
        observed();
        Weak { value: StdArc::downgrade(this.std()), control: Some(StdArc::clone(&this.control)) }
    }

    /// Do both lead to the same value?
    pub fn ptr_eq(this: &Arc<T>, other: &Arc<T>) -> bool {
        StdArc::ptr_eq(this.std(), other.std())
    }

    /// A pointer to the value.
    pub fn as_ptr(this: &Arc<T>) -> *const T {
        StdArc::as_ptr(this.std())
    }

    /// A pointer to the value, which stands for this handle.
    pub fn into_raw(mut this: Arc<T>) -> *const T {
        let value = this.value.take().expect("a handle has a value");
        let pointer = StdArc::into_raw(value);
        raw::keep(pointer.cast::<()>().addr(), StdArc::into_raw(StdArc::clone(&this.control)).cast::<()>());
        pointer
    }

    /// The handle that a pointer stands for.
    ///
    /// # Safety
    ///
    /// The pointer must have come from [`into_raw`](Self::into_raw), once for every handle that is dropped.
    pub unsafe fn from_raw(pointer: *const T) -> Arc<T>
    where
        T: Sized,
    {
        let control = raw::find(pointer.cast::<()>().addr()).cast::<Control<T>>();
        // SAFETY: both were made by `into_raw` for this handle, and are given back once. Who makes a handle more often
        // forgets it again, as std demands: then the counts of both are as before.
        unsafe { Arc { value: Some(StdArc::from_raw(pointer)), control: StdArc::from_raw(control) } }
    }

    /// One handle more.
    ///
    /// # Safety
    ///
    /// As for [`from_raw`](Self::from_raw), but the pointer still stands for its handle.
    #[track_caller]
    pub unsafe fn increment_strong_count(pointer: *const T)
    where
        T: Sized,
    {
        // SAFETY: the caller's promise.
        let this = unsafe { Arc::from_raw(pointer) };
        Arc::into_raw(Arc::clone(&this));
        Arc::into_raw(this);
    }

    /// One handle less.
    ///
    /// # Safety
    ///
    /// As for [`from_raw`](Self::from_raw).
    #[track_caller]
    pub unsafe fn decrement_strong_count(pointer: *const T)
    where
        T: Sized,
    {
        // SAFETY: the caller's promise.
        drop(unsafe { Arc::from_raw(pointer) });
    }
}

impl<T: ?Sized> Weak<T> {
    /// A handle, if there is still another.
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        observed();
        let control = self.control.as_ref()?;
        let context = rt::current().filter(|context| context.settings.get().exact_arcs);
        if let Some(context) = context {
            let caller = Caller::caller();
            let mut seen = control.look(context, LoadOrder::Relaxed, caller);
            let at = context.locate(&control.stamp, Kind::Memory(Size::B8), caller, || 1);
            loop {
                if seen == 0 {
                    return None;
                }
                let access = Access::CompareExchange {
                    at,
                    expected: Value(seen.into()),
                    desired: Value(u128::from(seen) + 1),
                    success: RmwOrder::Acquire,
                    failure: LoadOrder::Relaxed,
                    weak: false,
                    guard: Guard::Any,
                };
                let reply = ask(context, Op::Access(access), caller);
                if reply.success {
                    break;
                }
                seen = reply.value.0 as u64;
            }
        }
        Some(Arc { value: Some(self.value.upgrade()?), control: StdArc::clone(control) })
    }

    /// How many handles there are.
    pub fn strong_count(&self) -> usize {
        observed();
        self.value.strong_count()
    }

    /// Do both lead to the same value?
    pub fn ptr_eq(&self, other: &Weak<T>) -> bool {
        self.value.ptr_eq(&other.value)
    }
}

impl<T> Weak<T> {
    /// A handle to nothing.
    pub const fn new() -> Weak<T> {
        Weak { value: StdWeak::new(), control: None }
    }

    /// A pointer to where the value is or was.
    pub fn as_ptr(&self) -> *const T {
        self.value.as_ptr()
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Self {
        Weak::new()
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    fn clone(&self) -> Self {
        Weak { value: self.value.clone(), control: self.control.clone() }
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        if let Some(context) = rt::current() {
            if context.settings.get().exact_arcs {
                self.control.count(context, RmwOrder::Relaxed, Update::Add(Value(1)), Caller::caller());
            }
        } else {
            self.control.strong.set(StdArc::strong_count(self.std()) + 1);
        }
        Arc { value: self.value.clone(), control: StdArc::clone(&self.control) }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[track_caller]
    fn drop(&mut self) {
        let Some(value) = self.value.take() else { return };
        let Some(context) = rt::current() else {
            self.control.strong.set(StdArc::strong_count(&value).saturating_sub(1));
            return drop(value);
        };
        if !context.settings.get().exact_arcs {
            let last = StdArc::strong_count(&value) == 1;
            if last {
                self.control.gone();
                context.dropping.set(context.dropping.get() + 1);
            }
            drop(value);
            if last {
                context.dropping.set(context.dropping.get().saturating_sub(1));
            }
            return;
        }
        let caller = Caller::caller();
        let before = self.control.graveyard.replace(Some(value));
        drop(before);
        if self.control.count(context, RmwOrder::Release, Update::Sub(Value(1)), caller) == 1 {
            ask(context, Op::Access(Access::Fence { order: FenceOrder::Acquire }), caller);
            self.control.gone();
            let last = self.control.graveyard.take();
            drop(last);
        }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.std()
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: Default> Default for Arc<T> {
    #[track_caller]
    fn default() -> Self {
        Arc::new(T::default())
    }
}

impl<T> From<T> for Arc<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Arc::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

/// Handles that are pointers for the time being.
mod raw {
    use crate::alloc::Internal;
    use std::collections::HashMap;
    use std::sync::{Mutex, PoisonError};

    /// By the address of the value: the control block of its handles. What is gone stays here until another value has
    /// its address: nobody asks for it.
    static KNOWN: Mutex<Option<HashMap<usize, usize>>> = Mutex::new(None);

    pub(super) fn keep(value: usize, control: *const ()) {
        let _own = Internal::enter();
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_with(HashMap::new).insert(value, control.expose_provenance());
    }

    pub(super) fn find(value: usize) -> *const () {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let control = known.as_ref().and_then(|map| map.get(&value).copied());
        std::ptr::with_exposed_provenance(control.expect("fencepost: a pointer that stands for no Arc"))
    }
}
