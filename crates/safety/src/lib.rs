//! Memory-model safety: does a program leave sequential consistency under a weaker model?
//!
//! After Burckhardt and Musuvathi, *Memory Model Safety of Programs* ((EC)², 2008) and *Effective Program Verification
//! for Relaxed Memory Models* (CAV 2008, the tool Sober). Today the property is called robustness. `docs/safe.md` has
//! the definitions, the proofs and the limits.
//!
//! - [`definition`]: traces, prefixes, successors, borderline traces as the paper has them, decided by the axioms of
//!   `fencepost-memory`: slow and plain, for tests to compare with;
//! - [`Clocks`]: what happens before what under SC and under the weaker models, along one SC execution: the monitor's
//!   arithmetic. [`hardware`](mod@hardware) has the rules of TSO, PSO and PSLO, [`language`](mod@language) those of
//!   C/C++20;
//! - [`Window`]: the same with bounded memory, riding on an execution of any length.
//!
//! # The question that is asked of each event
//!
//! Let `e` be the next access of a thread, to `x`, let `p` be the event before it in its thread, and let `D` be what
//! happens before `p` under SC, `p` included. `D` is an SC execution of the program, and `e` can be its next event. A
//! successor of `D` in which `e` stands before a store `c` to `x` in coherence order (it reads what `c` overwrote, or
//! is overwritten by `c`) is not SC exactly if `c` is in `D`. It is possible under the model exactly if `c` is not what
//! the model keeps before `e`. So the program is unsafe if and only if some SC execution has an event `e` and a store
//! `c` with
//!
//! > `c` to the same location, in `D`, and neither known to the thread nor kept before `e` by the model.
//!
//! One execution of each class of equivalent ones is enough, since `D` and `e` are the same in all of them.

#![forbid(unsafe_code)]

mod clocks;
pub mod definition;
pub mod hardware;
pub mod language;
mod set;
mod window;

pub use clocks::{Clocks, Kind, Slot};
pub use set::Set;
pub use window::{Leaving, WINDOW, Window};
