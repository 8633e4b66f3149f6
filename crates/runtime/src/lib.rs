//! The library that takes the place of ThreadSanitizer's (`libtsan.so.2`) in a program under test.
//!
//! gcc, clang and rustc instrument every access for ThreadSanitizer; this library is another runtime behind the same
//! calls. It runs all threads of the program on one kernel thread, decides at each operation who goes on, and runs
//! the program again and again from the beginning of `main`, inside one process. Without a mailbox in the environment
//! it stays out of the way: the program then runs as it would without it.
//!
//! From the bottom up:
//!
//! - [`sys`] (system calls), [`arena`] (the runtime's own memory), [`global`] (its state), [`real`] (the functions
//!   that it hides), [`context`] (switching stacks): what must not depend on anything of the program's;
//! - [`lenders`] and [`fibers`]: threads of the program, on stacks and thread-local storage that parked kernel
//!   threads lend;
//! - [`heap`]: the program's `malloc`; [`clock`]: its time; [`modules`] and [`calls`]: where in the program a thread
//!   is;
//! - [`control`]: the engine; [`shadow`]: the race detector, [`exact`]: a slower one that misses nothing;
//!   [`details`]: what surrounds a finding; [`view`]: what memory holds under the hardware models;
//! - [`explore`]: every execution graph of the program; [`shared`]: which plain accesses are
//!   events of it; [`unseen`]: what it cannot know; [`stall`]: which executions would never end, [`progress`]: who goes
//!   around in a loop; [`hunt`]: predicted violations of sequential
//!   consistency, tried out;
//! - [`spec`]: the operations that the program marks, and what it observes; [`atomically`]: all outcomes of atomic
//!   operations;
//! - [`snapshot`], [`restart`], [`campaign`], [`ending`], [`results`]: one execution after the other; [`debugger`]:
//!   where it stops for a debugger;
//! - [`hooks`]: everything that the program calls; [`rust_std`]: what Rust's precompiled standard library does by
//!   itself ([`symbols`], [`patches`], [`opaque`]); [`waiter_pool`]: what C++'s relies on.
//!
//! Rules that hold everywhere:
//!
//! 1. *Nothing in thread-local storage.* The FS base is switched under this code, and the storage that it then names
//!    belongs to a thread of the program: no `thread_local!`, no `HashMap` with random keys, no printing, no
//!    `std::thread`.
//! 2. *No libc function that sets `errno`*, but those in [`real`]: system calls are made in [`sys`].
//! 3. *No allocation from the program's heap*: see [`arena`].
//! 4. *No borrow of the runtime's state across a switch* or a call into the program.

// Nothing here is for others to use: the documentation is for those who read the source.
#![allow(rustdoc::private_intra_doc_links)]

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("the runtime is written for Linux on x86-64; a port adds a file like context.rs and sys.rs");

mod arena;
mod atomically;
mod calls;
mod campaign;
mod clock;
mod context;
mod control;
mod debugger;
mod details;
mod ending;
mod enumerate;
mod exact;
mod explore;
mod fibers;
mod global;
mod heap;
mod hooks;
mod hunt;
mod instrumented;
mod lenders;
mod modules;
mod opaque;
mod patches;
mod progress;
mod real;
mod restart;
mod results;
mod rust_std;
mod shadow;
mod shared;
mod snapshot;
mod spec;
mod stall;
mod symbols;
mod sys;
mod unseen;
mod view;
mod waiter_pool;

#[global_allocator]
static ALLOCATOR: arena::Arena = arena::Arena;
