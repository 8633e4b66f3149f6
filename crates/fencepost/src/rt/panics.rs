//! Panics of the program are kept, not printed: an execution is run again and again.

use super::context::{Fault, FaultKind, current, fail};
use std::panic::PanicHookInfo;
use std::sync::Once;

/// Puts a hook before the one that is there. It lets everything through that is no panic of a program under test.
pub(super) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !keep(info) {
                others(info)
            }
        }));
    });
}

fn keep(info: &PanicHookInfo<'_>) -> bool {
    let Some(context) = current() else { return false };
    context.has_panicked.set(true);
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a value that is no text");
    let place = info.location().map(|at| format!(" at {at}")).unwrap_or_default();
    // What Rust says when it is about to abort. It does not come to that: the thread stops here.
    if text.starts_with("panic in a ") {
        context.past_panics.set(true);
        let first = context.state(|state| state.panic.take()).unwrap_or_default();
        let message = format!("{first}: {text}, and the process would be aborted");
        let fault = Fault { kind: FaultKind::Abort, message, places: Vec::new() };
        fail(context, fault, std::panic::Location::caller());
    }
    context.state(|state| {
        let message = format!("{text}{place}");
        state.panic = Some(match state.panic.take().filter(|_| state.unwinding) {
            Some(first) => format!("{first}; while that unwinds: {message}"),
            None => message,
        });
        state.unwinding = true;
    });
    true
}
