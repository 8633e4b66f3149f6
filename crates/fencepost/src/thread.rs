//! Threads, as in [`std::thread`].
//!
//! In a check a thread is a fiber, and its panic fails the check, unless
//! [`Config::thread_panics`](crate::Config::thread_panics) says that it goes to who joins it.

use crate::rt::{self, Context, Newborn, ask};
use fencepost_trace::op::Sync as Synchronisation;
use fencepost_trace::{Op, ThreadId};
use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location as Caller, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
pub use std::thread::{AccessError, Result, available_parallelism, panicking};
use std::time::Duration;

/// A thread. A handle for [`unpark`](Self::unpark).
#[derive(Clone, Debug)]
pub struct Thread(Handle);

#[derive(Clone, Debug)]
enum Handle {
    Real(std::thread::Thread),
    Model { thread: ThreadIdentity, name: Option<Arc<str>> },
}

/// The identity of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadIdentity(Identity);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Identity {
    Real(std::thread::ThreadId),
    Model(u32),
}

impl Thread {
    /// Its identity.
    pub fn id(&self) -> ThreadIdentity {
        match &self.0 {
            Handle::Real(thread) => ThreadIdentity(Identity::Real(thread.id())),
            Handle::Model { thread, .. } => *thread,
        }
    }

    /// Its name.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Handle::Real(thread) => thread.name(),
            Handle::Model { name, .. } => name.as_deref(),
        }
    }

    /// Gives the thread its token.
    #[track_caller]
    pub fn unpark(&self) {
        match (&self.0, rt::current()) {
            (Handle::Real(thread), _) => thread.unpark(),
            (Handle::Model { thread: ThreadIdentity(Identity::Model(number)), .. }, Some(context)) => {
                let sync = Synchronisation::Unpark { thread: ThreadId(*number) };
                ask(context, Op::Sync(sync), Caller::caller());
            }
            _ => {}
        }
    }
}

/// The calling thread.
pub fn current() -> Thread {
    match rt::current() {
        None => Thread(Handle::Real(std::thread::current())),
        Some(context) => {
            let name = context.state(|state| state.name.as_deref().map(Arc::from));
            Thread(Handle::Model { thread: ThreadIdentity(Identity::Model(context.thread().0)), name })
        }
    }
}

/// Lets others go first.
#[track_caller]
pub fn yield_now() {
    match rt::current() {
        None => std::thread::yield_now(),
        Some(context) => {
            ask(context, Op::Yield, Caller::caller());
        }
    }
}

/// Sleeps. In a check there is no time: others may go first, that is all.
#[track_caller]
pub fn sleep(duration: Duration) {
    match rt::current() {
        None => std::thread::sleep(duration),
        Some(_) => yield_now(),
    }
}

/// Waits for the calling thread's token, and takes it.
#[track_caller]
pub fn park() {
    match rt::current() {
        None => std::thread::park(),
        Some(context) => {
            if context.settings.get().spurious_wakeups && crate::choice::either(context, Caller::caller()) {
                return;
            }
            ask(context, Op::Sync(Synchronisation::Park), Caller::caller());
        }
    }
}

/// Waits for the calling thread's token until a time. In a check that time may come at any moment, and both are
/// explored.
#[track_caller]
pub fn park_timeout(duration: Duration) {
    match rt::current() {
        None => std::thread::park_timeout(duration),
        Some(context) => {
            if crate::choice::either(context, Caller::caller()) {
                return;
            }
            context.state(|state| state.timed = true);
            ask(context, Op::Sync(Synchronisation::Park), Caller::caller());
            context.state(|state| state.timed = false);
        }
    }
}

/// What a thread leaves behind.
type Packet<T> = Rc<RefCell<Option<Result<T>>>>;

enum Joining<T> {
    Real(std::thread::JoinHandle<T>),
    Model { thread: ThreadId, name: Option<Arc<str>>, packet: SendPacket<T> },
}

/// A packet that goes where its thread's handle goes.
struct SendPacket<T>(Packet<T>);

// SAFETY: all fibers of an execution run on one kernel thread, and handles of a check are of no use outside of it. One
// that leaves it all the same, through memory that a check does not start anew, must not be dropped elsewhere while its
// thread runs.
unsafe impl<T> Send for SendPacket<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for SendPacket<T> {}

/// Waits for a thread to end.
pub struct JoinHandle<T>(Joining<T>);

impl<T> JoinHandle<T> {
    /// Waits until it has ended; what it returned, or what it panicked with.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.0 {
            Joining::Real(handle) => handle.join(),
            Joining::Model { thread, packet, .. } => {
                let context = rt::current().expect("fencepost: a thread of a check is joined outside of it");
                ask(context, Op::Join(thread), Caller::caller());
                packet.0.take().expect("internal error: a thread has ended and left nothing")
            }
        }
    }

    /// The thread.
    pub fn thread(&self) -> Thread {
        match &self.0 {
            Joining::Real(handle) => Thread(Handle::Real(handle.thread().clone())),
            Joining::Model { thread, name, .. } => {
                Thread(Handle::Model { thread: ThreadIdentity(Identity::Model(thread.0)), name: name.clone() })
            }
        }
    }

    /// Has it ended? In a check this is never known before it is joined.
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Joining::Real(handle) => handle.is_finished(),
            Joining::Model { .. } => false,
        }
    }
}

impl<T> std::fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// A new thread that runs `f`.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// As [`std::thread::Builder`].
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// A thread without a name.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Gives it a name.
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// Gives it a stack of this size; in a check all have 512 KiB.
    pub fn stack_size(mut self, size: usize) -> Builder {
        self.stack_size = Some(size);
        self
    }

    /// Starts it.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> std::io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let Some(context) = rt::current() else {
            let mut builder = std::thread::Builder::new();
            builder = self.name.into_iter().fold(builder, std::thread::Builder::name);
            builder = self.stack_size.into_iter().fold(builder, std::thread::Builder::stack_size);
            return builder.spawn(f).map(|handle| JoinHandle(Joining::Real(handle)));
        };
        Ok(spawn_in(context, f, self.name, Caller::caller()))
    }
}

/// A new thread of the check. The caller sees to it that what `f` borrows outlives the thread.
fn spawn_in<T, F: FnOnce() -> T>(
    context: &Context,
    f: F,
    name: Option<String>,
    caller: &'static Caller<'static>,
) -> JoinHandle<T> {
    let packet: Packet<T> = Rc::default();
    let result = Rc::clone(&packet);
    let quiet = context.settings.get().thread_panics;
    let body: Box<dyn FnOnce() + '_> = Box::new(move || {
        if quiet {
            *result.borrow_mut() = Some(catch_unwind(AssertUnwindSafe(f)));
        } else {
            *result.borrow_mut() = Some(Ok(f()));
        }
    });
    // SAFETY: only the lifetime changes. `spawn` demands 'static; `scope` joins its threads before what they borrow
    // goes
    // away, and an execution that is left in between forgets all of its stacks at once.
    let body: Box<dyn FnOnce()> = unsafe { std::mem::transmute::<Box<dyn FnOnce() + '_>, Box<dyn FnOnce()>>(body) };
    let shown = name.as_deref().map(Arc::from);
    context.expect(Newborn { body, name });
    let thread = ThreadId(ask(context, Op::Spawn, caller).value.0 as u32);
    JoinHandle(Joining::Model { thread, name: shown, packet: SendPacket(packet) })
}

/// A scope for threads that borrow, as [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    real: Option<&'scope std::thread::Scope<'scope, 'env>>,
    /// The threads of a check that nobody has joined yet.
    threads: RefCell<Vec<ThreadId>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

// SAFETY: as for packets: in a check one kernel thread uses it; outside the list is empty and nobody touches it.
unsafe impl Sync for Scope<'_, '_> {}

/// Waits for a scoped thread to end.
pub struct ScopedJoinHandle<'scope, T>(ScopedJoining<'scope, T>);

enum ScopedJoining<'scope, T> {
    Real(std::thread::ScopedJoinHandle<'scope, T>),
    Model(JoinHandle<T>),
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits until it has ended; what it returned, or what it panicked with.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.0 {
            ScopedJoining::Real(handle) => handle.join(),
            ScopedJoining::Model(handle) => handle.join(),
        }
    }

    /// The thread.
    pub fn thread(&self) -> Thread {
        match &self.0 {
            ScopedJoining::Real(handle) => Thread(Handle::Real(handle.thread().clone())),
            ScopedJoining::Model(handle) => handle.thread(),
        }
    }
}

impl<'scope> Scope<'scope, '_> {
    /// A new thread of this scope.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        ScopedJoinHandle(match (self.real, rt::current()) {
            (None, Some(context)) => {
                let handle = spawn_in(context, f, None, Caller::caller());
                if let Joining::Model { thread, .. } = handle.0 {
                    self.threads.borrow_mut().push(thread);
                }
                ScopedJoining::Model(handle)
            }
            (Some(scope), _) => ScopedJoining::Real(scope.spawn(f)),
            (None, None) => panic!("fencepost: a scope of a check is used outside of it"),
        })
    }
}

/// Runs `f`, and waits for all threads that it has started in the scope.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let Some(context) = rt::current() else {
        return std::thread::scope(|real| {
            // Threads of the scope may start others when `f` is over: so it is never taken back.
            let scope: &Scope<'_, 'env> = Box::leak(Box::new(Scope {
                real: Some(real),
                threads: RefCell::default(),
                scope: PhantomData,
                env: PhantomData,
            }));
            f(scope)
        });
    };
    let scope = Scope { real: None, threads: RefCell::default(), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    loop {
        // Those who are joined may have started others.
        let threads = scope.threads.take();
        if threads.is_empty() {
            break;
        }
        threads.iter().for_each(|thread| {
            ask(context, Op::Join(*thread), Caller::caller());
        });
    }
    result.unwrap_or_else(|payload: Box<dyn Any + Send>| resume_unwind(payload))
}

/// A value that each thread has for itself: see [`thread_local!`](crate::thread_local).
pub struct LocalKey<T: 'static> {
    init: fn() -> T,
    real: &'static std::thread::LocalKey<T>,
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(init: fn() -> T, real: &'static std::thread::LocalKey<T>) -> LocalKey<T> {
        LocalKey { init, real }
    }

    /// Runs `f` on the calling thread's value, which is made if need be.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.try_with(f).expect("cannot access a thread-local value during or after its destruction")
    }

    /// The same; an error if it is gone already.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> std::result::Result<R, AccessError> {
        let Some(context) = rt::current() else { return self.real.try_with(f) };
        let key = std::ptr::from_ref(self).addr();
        let known = context.state(|state| state.locals.iter().find(|(k, _)| *k == key).map(|(_, v)| Rc::clone(v)));
        let value = known.unwrap_or_else(|| {
            let value: Rc<dyn Any> = Rc::new((self.init)());
            context.state(|state| state.locals.push((key, Rc::clone(&value))));
            value
        });
        Ok(f(value.downcast_ref::<T>().expect("a key has one type")))
    }
}

impl<T: Copy> LocalKey<std::cell::Cell<T>> {
    /// A copy of the calling thread's value.
    pub fn get(&'static self) -> T {
        self.with(std::cell::Cell::get)
    }

    /// Sets the calling thread's value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }
}

/// Values that each thread has for itself, as [`std::thread_local!`]. In a check every execution starts with none.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = const $init:block $(; $($rest:tt)*)?) => {
        $crate::thread_local!($(#[$attribute])* $visibility static $name: $type = $init);
        $($crate::thread_local!($($rest)*);)?
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $init:expr $(; $($rest:tt)*)?) => {
        $(#[$attribute])*
        $visibility static $name: $crate::thread::LocalKey<$type> = {
            fn init() -> $type {
                $init
            }
            ::std::thread_local!(static REAL: $type = init());
            $crate::thread::LocalKey::new(init, &REAL)
        };
        $($crate::thread_local!($($rest)*);)?
    };
}
