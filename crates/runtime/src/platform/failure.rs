//! The runtime cannot go on.

use crate::platform::global::{self, Global};
use crate::platform::sys;

/// Who is told, beside the user.
static LISTENER: Global<Option<fn(&str)>> = Global::new(None);

/// From here on, this is called with the reason.
pub fn listen(listener: fn(&str)) {
    *LISTENER.enter() = Some(listener);
}

/// The runtime cannot go on. The user must hear why.
pub fn give_up(reason: &str) -> ! {
    global::set_inside(true);
    let listener = LISTENER.enter().take();
    if let Some(listener) = listener {
        listener(reason);
    }
    sys::write(2, b"fencepost: ");
    sys::write(2, reason.as_bytes());
    sys::write(2, b"\n");
    sys::exit(70)
}

/// The runtime itself is wrong.
pub fn internal(what: &str) -> ! {
    give_up(&format!("internal error: {what}"))
}
