//! The counts of waiting threads that the C++ library keeps for `std::atomic::wait`, `std::latch` and the like.
//!
//! A notifying function of C++20 wakes every thread that waits for what was stored before the call. libstdc++ first
//! looks whether anybody waits, with a seq_cst load that follows the program's own store of any order; the
//! processors it is compiled for keep the two in order if that store is strong enough for them, and the language's
//! rules for such a mixture do not. What the standard promises to the program is what is explored: the load has a
//! fence before it, as the waiting side has in the kernel. (A library that breaks the promise is not found like this.)

use crate::platform::global::Global;
use crate::platform::symbols::{self, Kind};

/// `std::__detail::__waiter_pool_base::_S_for(void const*)::__w`.
const NAME: &[u8] = b"_ZZNSt8__detail18__waiter_pool_base6_S_forEPKvE3__w";

/// Where it begins and ends, if the program has it.
static POOL: Global<(usize, usize)> = Global::new((0, 0));

/// Looks for it.
pub fn prepare() {
    symbols::each(|symbol| {
        if symbol.kind == Kind::Object && symbol.name == NAME {
            *POOL.enter() = (symbol.start, symbol.start + symbol.size);
        }
    });
}

/// Is this one of its words?
#[inline]
pub fn contains(address: usize) -> bool {
    let (start, end) = *POOL.enter();
    (start..end).contains(&address)
}
