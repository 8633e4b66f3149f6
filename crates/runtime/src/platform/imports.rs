//! What the program takes from libraries.
//!
//! A program that takes nothing but what the runtime does by itself runs no code of the C library while it is under
//! control. It prints nothing, opens no file, and leaves the library's data alone: after an execution none of that is
//! looked at, which is a tenth of the time of short ones.

use crate::platform::{modules, symbols};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the runtime does by itself, or what runs before `main` and after it. Objects are the program's own memory.
const OWN: &[&str] = &[
    "__assert_fail",
    "__cxa_finalize",
    "__gmon_start__",
    "__libc_start_main",
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
    "abort",
    "calloc",
    "free",
    "malloc",
    "memcpy",
    "memmove",
    "memset",
    "pthread_barrier_wait",
    "pthread_cond_broadcast",
    "pthread_cond_signal",
    "pthread_cond_wait",
    "pthread_create",
    "pthread_detach",
    "pthread_join",
    "pthread_mutex_destroy",
    "pthread_mutex_init",
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_tryrdlock",
    "pthread_rwlock_trywrlock",
    "pthread_rwlock_unlock",
    "pthread_rwlock_wrlock",
    "pthread_spin_init",
    "pthread_spin_lock",
    "pthread_spin_trylock",
    "pthread_spin_unlock",
    "realloc",
    "sched_yield",
    "sem_init",
    "sem_post",
    "sem_trywait",
    "sem_wait",
];

/// What the compiler inserts.
const INSERTED: &str = "__tsan_";

/// Instructions that call the kernel: `syscall`, `sysenter`, `int 0x80`.
const KERNEL_CALLS: [[u8; 2]; 3] = [[0x0f, 0x05], [0x0f, 0x34], [0xcd, 0x80]];

/// Does the program look so?
static LOOKS_SELF_CONTAINED: AtomicBool = AtomicBool::new(false);
static SELF_CONTAINED: AtomicBool = AtomicBool::new(false);
static CANCELS: AtomicBool = AtomicBool::new(false);

/// Looks at the program, once in each process.
pub fn look() {
    LOOKS_SELF_CONTAINED.store(looks_self_contained(), Ordering::Relaxed);
    let mut cancels = false;
    symbols::each_import(|name| cancels |= name == b"pthread_cancel");
    CANCELS.store(cancels, Ordering::Relaxed);
}

/// May the program cancel threads?
pub fn cancels() -> bool {
    CANCELS.load(Ordering::Relaxed)
}

/// A campaign begins. Where each execution has a process of its own, these share what they print.
pub fn begin(in_place: bool) {
    SELF_CONTAINED.store(in_place && LOOKS_SELF_CONTAINED.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Does the program run no code but its own and the runtime's?
#[inline(always)]
pub fn is_self_contained() -> bool {
    SELF_CONTAINED.load(Ordering::Relaxed)
}

fn looks_self_contained() -> bool {
    let is_known = |name: &[u8]| name.starts_with(INSERTED.as_bytes()) || OWN.iter().any(|own| own.as_bytes() == name);
    let Some((start, end)) = modules::executable() else { return false };
    let mut all_known = true;
    if !symbols::each_import(|name| all_known &= is_known(name)) || !all_known {
        return false;
    }
    let mut code = modules::mappings().into_iter().filter(|m| m.permissions[2] == b'x' && m.name.starts_with('/'));
    code.all(|m| {
        (start..end).contains(&m.start) && !calls_kernel(&m)
            || modules::is_own(m.start)
            || modules::is_common_library(&m.name)
    })
}

/// Is there an instruction in it that calls the kernel, or bytes that look like one?
fn calls_kernel(mapping: &modules::Mapping) -> bool {
    if mapping.permissions[0] != b'r' {
        return true;
    }
    // SAFETY: the kernel lists this range as readable.
    let code = unsafe { std::slice::from_raw_parts(mapping.start as *const u8, mapping.end - mapping.start) };
    code.windows(2).any(|at| KERNEL_CALLS.contains(&[at[0], at[1]]))
}
