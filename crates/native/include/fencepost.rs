//! What a test harness tells Fencepost: where the operations of a data structure begin and end, and what came of them.
//! The twin of `fencepost.h`.
//!
//! Copy this file beside your test (`fencepost include` says where it is) and use it as a module:
//!
//! ```ignore
//! mod fencepost;
//!
//! let value = fencepost::op("pop", || stack.pop());
//! fencepost::observe("first thread", value.map_or(-1, i64::from));
//! ```
//!
//! `fencepost test --spec atomic` then reports every execution whose observations no execution has in which each
//! operation takes effect at once. Outside of Fencepost all of this does nothing, and nothing has to be linked.
//!
//! An outcome is the last value of each key at the end of the program. Observe results, never addresses, and give each
//! thread keys of its own.

#![allow(dead_code)]

/// The address of a function of the runtime, 0 if the program does not run under Fencepost: a weak symbol, which stable
/// Rust has no other way to name.
macro_rules! runtime {
    ($name:literal) => {{
        let address: usize;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: loads an address from the global offset table.
        unsafe {
            core::arch::asm!(
                concat!(".weak ", $name),
                concat!("mov {}, qword ptr [rip + ", $name, "@GOTPCREL]"),
                out(reg) address,
                options(nostack, pure, readonly),
            );
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            address = 0;
        }
        address
    }};
}

/// The calling thread begins an operation.
#[inline]
pub fn op_begin(name: &str) {
    let address = runtime!("__fencepost_op_begin");
    if address != 0 {
        // SAFETY: the runtime's function of this name has this type.
        let call: extern "C" fn(*const u8, usize) = unsafe { core::mem::transmute(address) };
        call(name.as_ptr(), name.len());
    }
}

/// The calling thread has completed its operation.
#[inline]
pub fn op_end() {
    let address = runtime!("__fencepost_op_end");
    if address != 0 {
        // SAFETY: the runtime's function of this name has this type.
        let call: extern "C" fn() = unsafe { core::mem::transmute(address) };
        call();
    }
}

/// An operation, from its beginning to its end.
#[inline]
pub fn op<T>(name: &str, operation: impl FnOnce() -> T) -> T {
    op_begin(name);
    let result = operation();
    op_end();
    result
}

/// The execution has this result.
#[inline]
pub fn observe(key: &str, value: i64) {
    let address = runtime!("__fencepost_observe");
    if address != 0 {
        // SAFETY: the runtime's function of this name has this type.
        let call: extern "C" fn(*const u8, usize, i64) = unsafe { core::mem::transmute(address) };
        call(key.as_ptr(), key.len(), value);
    }
}
