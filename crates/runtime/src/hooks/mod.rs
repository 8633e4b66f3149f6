//! Everything that the program calls: ThreadSanitizer's interface, and the functions of libc that matter to threads.
//!
//! A hook of libc does three things: if the program is not under control it calls the real function; otherwise it marks that the runtime is at
//! work, asks the engine for the operation, and returns its result as libc would.

pub mod access;
pub mod atomics;
pub mod barrier;
pub mod cond;
pub mod futex;
pub mod io;
pub mod kernel;
pub mod memory;
pub mod mutex;
pub mod once;
pub mod process;
pub mod rwlock;
pub mod semaphore;
pub mod spec;
pub mod strings;
pub mod threads;
pub mod time;
pub mod volatile;

use crate::global;

/// Defines a function that the program calls, and notes where it was called from.
///
/// The symbol is a thunk of a few instructions, which stores the return address, the stack pointer and the registers that calls preserve, and jumps to the function that is written here: Rust has
/// no way to ask for its caller. Arguments stay in their registers, so that it works for every signature.
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
                "mov [rip + {registers}], rbx",
                "mov [rip + {registers} + 8], rbp",
                "mov [rip + {registers} + 16], r12",
                "mov [rip + {registers} + 24], r13",
                "mov [rip + {registers} + 32], r14",
                "mov [rip + {registers} + 40], r15",
                "jmp {body}",
                registers = sym $crate::global::CALLER_REGISTERS,
                pc = sym $crate::global::CALLER_PC,
                sp = sym $crate::global::CALLER_SP,
                body = sym $name::body,
            )
        }
    };
}
pub(crate) use hook;

/// Does the runtime's part of a hook.
#[inline(always)]
pub fn at_work<T>(act: impl FnOnce() -> T) -> T {
    let suspicious = global::mode() == global::mode::SUSPICIOUS;
    global::set_inside(true);
    if suspicious {
        volatile::settle();
        crate::control::notice_all();
    }
    let result = act();
    global::set_inside(false);
    result
}

/// Once, before the program's memory is copied.
pub fn prepare() {
    process::prepare();
    strings::prepare();
}

/// Before each execution.
pub fn begin() {
    process::begin();
    volatile::reset();
    crate::spec::begin();
}

/// After each execution, before the program's memory is put back.
pub fn end() {
    process::end();
    kernel::end();
}
