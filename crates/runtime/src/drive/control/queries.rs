//! What the engine knows of the execution, and what memory holds.

use super::{Engine, See, control, each};
use crate::drive::once;
use crate::platform::global;
use fencepost_trace::{EventId, Hidden, Location, Sampling, Size, ThreadId, Trace, Value};

/// What a location holds before the engine knows of it.
pub fn initial_value(at: Location) -> Value {
    match at.as_hidden() {
        None => memory(at),
        // These keep their state in the program's memory, where it may have been set before the execution began.
        Some((Hidden::Semaphore, key)) => memory(Location::new(key, Size::B4)),
        Some((Hidden::Once, key)) => once::initial(key),
        Some(_) => Value::ZERO,
    }
}

/// What the program's memory holds.
#[inline]
pub fn memory(at: Location) -> Value {
    let address = at.address as *const u8;
    // SAFETY: the program is about to access these bytes itself. If they are not there, it crashes, here instead of
    // there.
    Value(unsafe {
        match at.size {
            Size::B1 => address.read().into(),
            Size::B2 => address.cast::<u16>().read_unaligned().into(),
            Size::B4 => address.cast::<u32>().read_unaligned().into(),
            Size::B8 => address.cast::<u64>().read_unaligned().into(),
            Size::B16 => address.cast::<u128>().read_unaligned(),
        }
    })
}

/// Writes to the program's memory.
#[inline]
pub fn set_memory(at: Location, value: Value) {
    let bytes = value.0.to_le_bytes();
    // SAFETY: as above.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.address as *mut u8, at.size.bytes() as usize) };
}

/// Do stores wait before others see them?
pub fn has_buffers() -> bool {
    let control = control();
    !matches!(control.engine, Engine::C11(_) | Engine::Sc(_)) && control.buffer != Some(0)
}

/// A thread that does not exist: it sees what all see.
pub const NOBODY: ThreadId = ThreadId(u32::MAX);

/// What a thread would read now.
pub fn peek(thread: ThreadId, at: Location) -> Value {
    each!(&mut control().engine, e => e.peek(thread, at))
}

/// From now on only this thread goes on; with `None` all do again.
pub fn hold(thread: Option<ThreadId>) {
    each!(&mut control().engine, e => e.hold(thread));
}

/// Hands every event from number `from` on to `see`; gives the number of the next.
pub fn events(from: u32, see: &mut See<'_>) -> u32 {
    each!(&mut control().engine, e => {
        let end = e.event_count() as u32 + 1;
        for id in from..end {
            let (thread, kind) = e.event(EventId(id));
            see(EventId(id), thread, kind, &|id| e.event(id).1.location());
        }
        e.forget_before(EventId(end));
        end
    })
}

/// The answers of this execution; if there are too many, the first of them.
pub fn choices() -> Vec<u32> {
    each!(&control().engine, e => e.choices().to_vec())
}

/// The same, if none is missing.
pub fn all_choices() -> Option<Vec<u32>> {
    let cut = each!(&control().engine, e => e.choice_count() > e.choices().len() as u64);
    (!cut).then(choices)
}

/// How many events there have been; an exploration has them elsewhere.
pub fn event_count() -> Option<u32> {
    (!global::explores()).then(|| each!(&control().engine, e => e.event_count() as u32))
}

/// How many events have changed what can be read.
pub fn change_count() -> u64 {
    each!(&control().engine, e => e.change_count())
}

/// Are the events of the next execution kept for its trace?
pub fn record(on: bool) {
    each!(&mut control().engine, e => e.set_recording(on));
}

/// How the answers of this execution are drawn, if they are.
pub fn plan() -> Option<(u64, Sampling)> {
    control().drawn
}

/// Of an execution with more answers than are kept: how they were drawn.
pub fn drawn() -> Option<(u64, Sampling)> {
    let cut = each!(&control().engine, e => e.choice_count() > e.choices().len() as u64);
    control().drawn.filter(|_| cut)
}

/// How often something was decided.
pub fn choice_count() -> u64 {
    each!(&control().engine, e => e.choice_count())
}

/// How many steps this execution has taken.
pub fn steps() -> u64 {
    each!(&control().engine, e => e.steps())
}

/// The trace of this execution; its labels are numbers in the line field, for [`modules::place`].
pub fn trace() -> Trace {
    let describe = |label: u32| fencepost_trace::Label { line: label, ..fencepost_trace::Label::default() };
    each!(&control().engine, e => e.trace(describe))
}
