//! The library that takes the place of ThreadSanitizer's (`libtsan.so.2`) in a program under test.
//!
//! gcc, clang and rustc instrument every access for ThreadSanitizer; this library is another runtime behind the same
//! calls. It runs all threads of the program on one kernel thread, decides at each operation who goes on, and runs
//! the program again and again from the beginning of `main`, inside one process. Without a mailbox in the environment
//! it stays out of the way: the program then runs as it would without it.
//!
//! The rooms, from the bottom up; each knows only those below it (`crates/runtime-core/tests/rooms.rs` holds it so):
//!
//! - [`platform`]: what must not depend on anything of the program's: system calls (`sys`), the runtime's own memory
//!   (`arena`), where all lies (`layout`), state (`global`), the functions that it hides (`real`), switching stacks
//!   (`context`), where the files of the program are mapped (`modules`, `symbols`, `patches`), the end if all else
//!   fails (`failure`);
//! - [`threads`]: threads of the program (`fibers`), on stacks and thread-local storage that parked kernel threads
//!   donate (`donors`); where in the program each is (`calls`); their time (`clock`);
//! - [`memory`]: the program's `malloc` (`heap`), what cannot be written (`read_only`), how memory is put back
//!   (`snapshot`);
//! - [`detect`]: the race detector (`shadow`), a slower one that misses nothing (`exact`), whom they tell (`listener`),
//!   what surrounds a finding (`details`), which functions are instrumented (`instrumented`);
//! - [`results`]: the mailbox, through which the host asks and is told, and what the program prints;
//! - [`drive`]: the engine (`control`), what memory holds under the hardware models (`view`), what a thread does in an
//!   exploration and which plain accesses are events there (`explored`), how executions end (`ending`, `verdict`), what
//!   was found (`findings`), what cannot be undone (`restart`), the operations that the program marks and all their
//!   outcomes (`spec`, `atomically`), which executions would never end (`stall`, `progress`, `patience`), where it
//!   stops for a debugger (`debugger`);
//! - [`hooks`]: everything that the program calls, and what Rust's precompiled standard library does by itself
//!   (`rust_std`);
//! - [`campaign`]: which executions there are: one after the other (`execution`), every choice (`enumerate`), every
//!   execution graph (`explore`), predicted violations of sequential consistency, tried out (`hunt`); what each has
//!   come to, and how that is told (`conclusion`).
//!
//! Rules that hold everywhere:
//!
//! 1. *Nothing in thread-local storage.* The FS base is switched under this code, and the storage that it then names
//!    belongs to a thread of the program: no `thread_local!`, no `HashMap` with random keys, no printing, no
//!    `std::thread`.
//! 2. *No libc function that sets `errno`*, but those in `platform::real`: system calls are made in `platform::sys`.
//! 3. *No allocation from the program's heap*: see `platform::arena`.
//! 4. *Nothing stays entered* across a switch or a call into the program, and nothing is entered twice: state is in
//!    `platform::global`, and builds with the feature `checked` end where this is not so. What temporary guards enter
//!    is left at the end of the statement, or of the `match`, `for`, `if let` or `while let` that they stand in the
//!    head of.
//! 5. *A signal enters nothing.* When an execution takes too long it ends when the runtime is left (`drive::ending`).

// Nothing here is for others to use: the documentation is for those who read the source.
#![allow(rustdoc::private_intra_doc_links)]

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("the runtime is written for Linux on x86-64; a port adds a file like context.rs and sys.rs");

mod campaign;
mod detect;
mod drive;
mod hooks;
mod memory;
mod platform;
mod results;
mod threads;

#[global_allocator]
static ALLOCATOR: platform::arena::Arena = platform::arena::Arena;
