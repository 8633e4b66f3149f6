//! Everything that the program calls: ThreadSanitizer's interface, and the functions of libc that matter to threads.
//!
//! A hook of libc does three things: if the program is not under control it calls the real function; otherwise it
//! marks that the runtime is at work, asks the engine for the operation, and returns its result as libc would.

pub mod access;
pub mod allocators;
pub mod atomics;
pub mod attributes;
pub mod barrier;
pub mod c11_threads;
pub mod cancel;
pub mod chance;
pub mod cond;
pub mod cxx;
pub mod descriptors;
pub mod early;
pub mod files;
pub mod futex;
pub mod future;
pub mod instructions;
pub mod io;
pub mod ipc;
pub mod irreversible;
pub mod kernel;
pub mod memory;
pub mod mutex;
pub mod objects;
pub mod once;
pub mod panics;
pub mod process;
pub mod rust_std;
pub mod rwlock;
pub mod semaphore;
pub mod signals;
pub mod spec;
pub mod stdio;
pub mod strings;
pub mod text;
pub mod threads;
pub mod time;
pub mod timers;
pub mod unannounced;
pub mod volatile;
pub mod waits;

use crate::drive::volatile as unfinished;
use crate::platform::global;

/// Defines a function that the program calls, and notes where it was called from.
///
/// The symbol is a thunk of a few instructions, which stores the return address, the stack pointer and the registers
/// that calls preserve, and jumps to the function that is written here: Rust has no way to ask for its caller.
/// Arguments stay in their registers, so that it works for every signature.
macro_rules! hook {
    ($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        #[allow(non_snake_case)]
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            pub extern "C-unwind" fn body($($arg: $ty),*) $(-> $ret)? $body
        }
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            std::arch::naked_asm!(
                "mov r11, [rsp]",
                "mov [rip + {pc}], r11",
                "mov [rip + {sp}], rsp",
                "mov dword ptr [rip + {asks}], 0",
                "mov [rip + {registers}], rbx",
                "mov [rip + {registers} + 8], rbp",
                "mov [rip + {registers} + 16], r12",
                "mov [rip + {registers} + 24], r13",
                "mov [rip + {registers} + 32], r14",
                "mov [rip + {registers} + 40], r15",
                "jmp {body}",
                registers = sym $crate::platform::global::CALLER_REGISTERS,
                pc = sym $crate::platform::global::CALLER_PC,
                sp = sym $crate::platform::global::CALLER_SP,
                asks = sym $crate::platform::global::CALLER_ASKS,
                body = sym $name::body,
            )
        }
    };
}
pub(crate) use hook;

/// Defines a function that the program calls and that only has to be noticed: what is written here is done first, in
/// an execution under control, and then libc's own function is called in the program's name. It finds registers and
/// stack as the program left them, so that it works for every signature, and for functions that want to know their
/// caller.
macro_rules! watch {
    (fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        #[allow(non_snake_case)]
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            pub extern "C-unwind" fn before($($arg: $ty),*) -> usize {
                if $crate::platform::global::active() {
                    $crate::hooks::at_work(|| $body);
                }
                $crate::platform::real::address!($name)
            }
        }
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            std::arch::naked_asm!(
                "mov r11, [rsp]",
                "mov [rip + {pc}], r11",
                "mov [rip + {sp}], rsp",
                "mov dword ptr [rip + {asks}], 0",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "push rax",
                // Numbers with a point, which go to `printf`.
                "sub rsp, 128",
                "movups [rsp], xmm0",
                "movups [rsp + 16], xmm1",
                "movups [rsp + 32], xmm2",
                "movups [rsp + 48], xmm3",
                "movups [rsp + 64], xmm4",
                "movups [rsp + 80], xmm5",
                "movups [rsp + 96], xmm6",
                "movups [rsp + 112], xmm7",
                "call {before}",
                "mov r11, rax",
                "movups xmm0, [rsp]",
                "movups xmm1, [rsp + 16]",
                "movups xmm2, [rsp + 32]",
                "movups xmm3, [rsp + 48]",
                "movups xmm4, [rsp + 64]",
                "movups xmm5, [rsp + 80]",
                "movups xmm6, [rsp + 96]",
                "movups xmm7, [rsp + 112]",
                "add rsp, 128",
                "pop rax",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp r11",
                pc = sym $crate::platform::global::CALLER_PC,
                sp = sym $crate::platform::global::CALLER_SP,
                asks = sym $crate::platform::global::CALLER_ASKS,
                before = sym $name::before,
            )
        }
    };
}
pub(crate) use watch;

/// Does the runtime's part of a hook.
#[inline(always)]
pub fn at_work<T>(act: impl FnOnce() -> T) -> T {
    let mode = global::mode();
    global::set_inside(true);
    cxx::attribute();
    if mode == global::mode::SUSPICIOUS {
        unfinished::settle();
        crate::drive::control::notice_all();
    } else if mode == global::mode::EXPLORED {
        // In an exploration nobody is suspicious.
        unfinished::settle();
    }
    let result = act();
    global::leave_all();
    global::set_inside(false);
    if crate::drive::ending::is_overdue() {
        crate::drive::ending::end_overdue();
    }
    if crate::threads::fibers::me().signals != 0 {
        signals::take_signals();
    }
    result
}

/// Once, before the program's memory is copied.
pub fn prepare() {
    process::prepare();
    panics::prepare();
    files::prepare();
    kernel::prepare();
    strings::prepare();
    descriptors::prepare();
    early::prepare();
}

/// Before each execution.
pub fn begin() {
    process::begin();
    unfinished::reset();
    panics::reset();
    crate::drive::spec::begin();
    stdio::begin();
    timers::begin();
    objects::begin();
    descriptors::begin();
    chance::begin();
}

/// After each execution, before the program's memory is put back.
pub fn end() {
    files::end();
    kernel::end();
    ipc::end();
}
