//! Choices that are nobody's: time, and whims of the system.

use crate::rt::{Context, Kind, Stamp, ask};
use fencepost_trace::{Access, Guard, LoadOrder, Op, RmwOrder, Size, Value};
use std::panic::Location as Caller;

/// Yes or no: both are explored. To the engine it is a compare-exchange of a location of its own, which may fail for no
/// reason.
pub(crate) fn either(context: &Context, caller: &'static Caller<'static>) -> bool {
    let stamp = Stamp::new();
    let at = context.locate(&stamp, Kind::Memory(Size::B1), caller, || 0);
    let access = Access::CompareExchange {
        at,
        expected: Value::ZERO,
        desired: Value::ZERO,
        success: RmwOrder::Relaxed,
        failure: LoadOrder::Relaxed,
        weak: true,
        guard: Guard::Any,
    };
    !ask(context, Op::Access(access), caller).success
}
