//! What memory holds under the hardware models: the running thread's view.
//!
//! The instrumentation announces a plain access, and the program then makes it itself. So memory always holds what
//! the running thread sees: the values that all see, with the thread's own buffered stores on top. Loads need no work
//! at all, and code without instrumentation sees its own thread's values.
//!
//! - A plain store is made by the program after its hook. At the thread's next hook the new value is read back and
//!   handed to the engine as a store ([`settle`]). Until the engine has performed it, other threads must not see it:
//!   it is *tentative*.
//! - When the engine has taken steps and says who goes on, every place that may differ between the two threads'
//!   views, or that was changed meanwhile, is written with what the next thread sees ([`refresh`]). The engine's
//!   machine knows that for every place.
//! - Under pslo a load may read an old value. It is put there for the load, and taken away at the thread's next hook.
//! - Code without instrumentation writes too. Where memory is not what the engine believes of it, somebody else has
//!   written: that counts as a store that all see at once ([`control::notice`]).
//!
//! Two kinds of accesses are not worth an operation: those of a thread that is alone, and those of a thread to its
//! own stack as long as no other has touched the place. The second is a deviation: the first such store cannot be
//! delayed.

use crate::detect::shadow::{Kind, READ, WRITE, What};
use crate::detect::{details, shadow};
use crate::drive::{control, findings, private, progress, stall};
use crate::memory::{heap, read_only};
use crate::platform::global::{self, Global};
use crate::threads::fibers;
use fencepost_trace::{
    Access, EventId, EventKind, FenceOrder, Guard, LoadOrder, Location, Op, Reply, Size, StoreOrder, ThreadId, Value,
};

/// What one thread has done that not everybody sees.
#[derive(Default)]
struct Own {
    /// Stores that the program was about to make at its last hook, and where in the program.
    announced: Vec<(Location, usize)>,
    /// Stores that are in memory, and that the engine has not performed yet.
    tentative: Vec<Location>,
    /// A place that holds an old value, for the load that the program is about to make, and the value that belongs
    /// there.
    stale: Option<(Location, Value)>,
    /// Stores that wait in its buffer.
    buffered: Vec<Waiting>,
    /// Where its last atomic operations were, the last one last, and what memory held there when it was looked at.
    atomics: Vec<(Location, Value)>,
}

/// A store that waits in its thread's buffer.
#[derive(Clone, Copy)]
struct Waiting {
    store: EventId,
    at: Location,
    value: Value,
    /// Has its thread stored there again?
    is_hidden: bool,
}

/// How many of them are kept.
const MOST_ATOMICS: usize = 12;

impl Own {
    fn clear(&mut self) {
        self.announced.clear();
        self.tentative.clear();
        self.stale = None;
        self.buffered.clear();
        self.atomics.clear();
    }

    /// It has made an atomic operation here.
    fn operated(&mut self, at: Location) {
        self.atomics.retain(|(other, _)| *other != at);
        if self.atomics.len() == MOST_ATOMICS {
            self.atomics.remove(0);
        }
        self.atomics.push((at, control::memory(at)));
    }
}

#[derive(Default)]
struct View {
    own: Vec<Own>,
    /// The next event to look at.
    next: u32,
    /// Places to be written, while a view is refreshed.
    places: Vec<Location>,
}

static VIEW: Global<View> = Global::new(View { own: Vec::new(), next: 1, places: Vec::new() });

/// A copy of larger blocks is not cut into accesses: the buffer is drained, and all see it at once.
const LARGEST_COPY: usize = 64;

impl View {
    fn own(&mut self, thread: ThreadId) -> &mut Own {
        while self.own.len() <= thread.index() {
            self.own.push(Own::default());
        }
        &mut self.own[thread.index()]
    }
}

/// A new execution.
pub fn reset() {
    let mut view = VIEW.enter();
    view.own.iter_mut().for_each(Own::clear);
    view.next = 1;
}

/// Is this a place on somebody's stack where the program has nothing any more, but the runtime's own frames may be?
pub fn is_dead(at: Location) -> bool {
    let address = at.address as usize;
    let me = fibers::current();
    fibers::all().list().iter().enumerate().any(|(t, fiber)| {
        let sp = if t == me.index() { global::caller_sp() } else { fiber.sp };
        fiber.stack.0 <= address && address < sp
    })
}

/// Does the running thread need the engine for an access here? Not if nobody else can tell.
fn matters(address: usize) -> bool {
    let me = fibers::current();
    if fibers::all().is_alone() && VIEW.enter().own.iter().all(|own| own.buffered.is_empty()) {
        return false;
    }
    if read_only::contains(address) {
        return false;
    }
    let owner = fibers::all().list().iter().position(|f| f.stack.0 <= address && address < f.stack.1);
    match owner {
        Some(owner) if owner == me.index() => shadow::is_shared(address),
        Some(_) => {
            shadow::share(address);
            true
        }
        None => true,
    }
}

/// Hands over what the program has stored since the running thread's last hook.
pub fn settle() {
    let me = fibers::current();
    let mut own = VIEW.enter().map(|view| view.own(me));
    if let Some((at, value)) = own.stale.take()
        && !is_dead(at)
    {
        control::set_memory(at, value);
    }
    let thread = &mut *own;
    // All values first: others may run before the last of them is handed over.
    let announced = thread.announced.drain(..).filter(|(at, _)| !is_dead(*at));
    let mut stores: Vec<_> = announced.map(|(at, pc)| (at, control::memory(at), pc)).collect();
    // Somebody without instrumentation may have written over a store that waits, or have taken or given away a lock.
    // Hardly ever is there one.
    let changed = |w: &&Waiting| !w.is_hidden && control::memory(w.at) != w.value && !is_dead(w.at);
    let mut places: Vec<Location> = thread.buffered.iter().filter(changed).map(|w| w.at).collect();
    let mut lock = false;
    // (Nothing is kept there of programs that are instrumented as a whole.)
    for (at, known) in &mut thread.atomics {
        let found = control::memory(*at);
        if *known != found && !stores.iter().any(|(store, ..)| store.overlaps(*at)) {
            lock = true;
            *known = found;
            places.push(*at);
        }
    }
    if lock {
        // What was stored before is in memory too, and comes first.
        stores.drain(..).for_each(|(at, value, _)| control::overwrite(at, value));
    }
    own.tentative.extend(stores.iter().map(|(at, ..)| *at));
    drop(own);
    for at in places {
        if !is_dead(at) && !is_tentative(at) {
            control::notice(at);
        }
    }
    if stores.is_empty() {
        return;
    }
    // The stores were made where they were announced, not where this thread is now.
    let (pc, sp) = (global::caller(), global::caller_sp());
    for (at, value, store) in stores {
        global::set_caller(store, sp);
        control::step(Op::Access(Access::Store { at, order: StoreOrder::Plain, value }));
        VIEW.enter().own(me).tentative.retain(|tentative| *tentative != at);
    }
    let waiting = VIEW.enter().own(me).buffered.len();
    if private::are_many(waiting) {
        control::relieve(waiting / 2);
    }
    global::set_caller(pc, sp);
}

/// Is there a store of the running thread in these bytes of memory that the engine has not performed?
pub fn is_tentative(at: Location) -> bool {
    VIEW.enter().own(fibers::current()).tentative.iter().any(|tentative| tentative.overlaps(at))
}

/// The running thread is about to access memory.
pub fn plain(address: usize, size: usize, write: bool, pc: usize) {
    match Size::try_from(size as u8) {
        // As the processor makes it, in one.
        Ok(size) => {
            details::stands(pc);
            one(Location::new(address as u64, size), write)
        }
        Err(_) => range(address, size, write, pc),
    }
}

fn one(at: Location, write: bool) {
    settle();
    let ends_turn = private::ends_turn();
    // A read can be the operation itself: what the thread waits for may come with it.
    let is_turn = ends_turn && !write && matters(at.address as usize) && !private::is_hidden(at);
    if ends_turn && !is_turn {
        control::step(control::turn());
    }
    let needed = match matters(at.address as usize) {
        true => private::needs_operation(at, write, is_waiting) || is_turn,
        false => {
            private::claim(at);
            false
        }
    };
    if write || !needed {
        look_for_misuse(at.address as usize, at.size.bytes() as usize, if write { WRITE } else { READ });
    }
    if !needed {
        if write {
            progress::writes(at.address as usize, at.size.bytes() as usize);
        }
        return;
    }
    control::notice(at);
    if write {
        VIEW.enter().own(fibers::current()).announced.push((at, global::caller()));
    } else {
        load(at);
    }
}

/// Does a store of the running thread wait in its buffer that has some of these bytes?
fn is_waiting(at: Location) -> bool {
    VIEW.enter().own(fibers::current()).buffered.iter().any(|waiting| waiting.at.overlaps(at))
}

/// The running thread accesses memory of the heap, with nobody in between: is it allocated? Asked when the access
/// takes place, so that what others did while it waited counts. A store is then already on its way to its buffer, and
/// a thread drains its own before it frees what it has stored to: what leaves a buffer later is no access.
pub fn look_for_misuse(address: usize, size: usize, kind: Kind) {
    if heap::has(address)
        && let Some(earlier) = shadow::freed(address, size)
    {
        findings::wild_access(address, earlier, kind, global::caller());
    }
}

/// A load, which under pslo may have to find an old value.
fn load(at: Location) {
    let reply = control::step(Op::Access(Access::Load { at, order: LoadOrder::Plain, guard: Guard::Any }));
    look_for_misuse(at.address as usize, at.size.bytes() as usize, READ);
    let newest = control::memory(at);
    if newest != reply.value {
        VIEW.enter().own(fibers::current()).stale = Some((at, newest));
        control::set_memory(at, reply.value);
    }
}

/// Cuts a range into accesses that a processor makes.
fn each_piece(address: usize, length: usize, act: &mut dyn FnMut(Location)) {
    let mut at = address;
    let end = address + length;
    while at < end {
        let size = [Size::B16, Size::B8, Size::B4, Size::B2, Size::B1]
            .into_iter()
            .find(|size| at + size.bytes() as usize <= end && at.is_multiple_of(size.bytes() as usize))
            .unwrap_or(Size::B1);
        act(Location::new(at as u64, size));
        at += size.bytes() as usize;
    }
}

/// The running thread is about to access a range through a function of libc.
pub fn range(address: usize, length: usize, write: bool, pc: usize) {
    settle();
    look_for_misuse(address, length, if write { WRITE } else { READ });
    if length > LARGEST_COPY {
        private::touch_range(address, length, write);
        if write && matters(address) {
            drain();
        }
        return;
    }
    let mut pieces = Vec::new();
    each_piece(address, length, &mut |at| pieces.push(at));
    pieces.retain(|at| matters(at.address as usize) && private::needs_operation(*at, write, is_waiting));
    for at in &pieces {
        control::notice(*at);
        if !write {
            // The same registers at every piece do not make a loop.
            stall::uncertain();
            let load = Access::Load { at: *at, order: LoadOrder::Plain, guard: Guard::Any };
            control::step(Op::Access(load));
        }
    }
    if write {
        VIEW.enter().own(fibers::current()).announced.extend(pieces.into_iter().map(|at| (at, pc)));
    }
}

/// This memory goes away.
pub fn forget(range: std::ops::Range<u64>) {
    drain();
    private::forget(range.start as usize, (range.end - range.start) as usize);
    for own in &mut VIEW.enter().own {
        own.atomics.retain(|(at, _)| !range.contains(&at.address));
    }
}

/// Makes all see what the running thread has stored, if some of it is in memory that goes away. Otherwise its stores
/// may wait on: giving memory back is no fence.
pub fn drain_from(address: usize, length: usize) {
    settle();
    let range = address as u64..(address + length) as u64;
    let goes = |waiting: &Waiting| waiting.at.address < range.end && range.start < waiting.at.end();
    let any = VIEW.enter().own(fibers::current()).buffered.iter().any(goes);
    if any {
        drain();
    }
}

/// Makes all see what the running thread has stored.
pub fn drain() {
    settle();
    if !VIEW.enter().own(fibers::current()).buffered.is_empty() {
        control::step(Op::Access(Access::Fence { order: FenceOrder::SeqCst }));
    }
}

/// An atomic operation of the running thread.
pub fn atomic(access: Access, at: Location) -> Reply {
    settle();
    private::share(at);
    control::notice(at);
    let reply = control::step(Op::Access(access));
    let write =
        !matches!(access, Access::Load { .. }) && (reply.success || !matches!(access, Access::CompareExchange { .. }));
    look_for_misuse(at.address as usize, at.size.bytes() as usize, Kind { write, atomic: true, what: What::Access });
    if control::is_opaque() {
        VIEW.enter().own(fibers::current()).operated(at);
    }
    reply
}

/// Takes note of what the engine has done since somebody last looked: which stores wait, and which places have changed.
fn take_events(view: &mut View, places: &mut Vec<Location>) {
    let buffers = control::has_buffers();
    let next = view.next;
    view.next = control::events(next, &mut |id, thread, kind, location| match *kind {
        // The state of locks and threads is in no memory of the program's.
        EventKind::Store { at, .. } | EventKind::Rmw { at, .. } if at.as_hidden().is_some() => {}
        EventKind::Store { at, order, value } => {
            places.push(at);
            // One of order seq_cst does not wait.
            if buffers && order != StoreOrder::SeqCst {
                let buffered = &mut view.own(thread).buffered;
                // One whose bytes are all stored again leaves before this one does, and nobody looks at it until then.
                buffered.retain(|older| !at.covers(older.at));
                buffered.iter_mut().filter(|older| older.at.overlaps(at)).for_each(|older| older.is_hidden = true);
                buffered.push(Waiting { store: id, at, value: at.size.truncate(value.0), is_hidden: false });
            }
        }
        EventKind::Rmw { at, .. } => places.push(at),
        EventKind::Commit { store } => {
            view.own(thread).buffered.retain(|waiting| waiting.store != store);
            places.extend(location(store).filter(|at| at.as_hidden().is_none()));
        }
        EventKind::Load { .. } | EventKind::Fence { .. } => {}
    });
}

/// The engine has taken steps, and `to` goes on after `from`: memory must hold what it sees.
pub fn refresh(from: ThreadId, to: ThreadId) {
    let view = &mut *VIEW.enter();
    let mut places = std::mem::take(&mut view.places);
    places.clear();
    if from != to {
        let own = view.own(from);
        places.extend(&own.tentative);
        places.extend(own.buffered.iter().map(|waiting| waiting.at));
    }
    take_events(view, &mut places);
    if places.len() > 1 {
        places.sort_unstable();
        places.dedup();
    }
    // What all see, with the next thread's own stores on top. Of one that goes on itself only what has changed is
    // looked at.
    let whose = if from == to { to } else { control::NOBODY };
    for at in places.iter().filter(|at| !is_dead(**at)) {
        let value = control::peek(whose, *at);
        // Memory that cannot be written holds it already.
        if control::memory(*at) != value {
            control::set_memory(*at, value);
        }
    }
    if from != to {
        for waiting in view.own(to).buffered.iter().filter(|waiting| !is_dead(waiting.at)) {
            control::set_memory(waiting.at, waiting.value);
        }
    }
    view.places = places;
}
