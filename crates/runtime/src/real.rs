//! The functions of libc that this library hides, for when the program is not under control.

/// Calls the next definition of a function after this library's own: `real!(pthread_join(thread, result): fn(pthread_t, *mut *mut
/// c_void) -> c_int)`. The address is looked up once.
macro_rules! real {
    ($name:ident($($arg:expr),* $(,)?): fn($($ty:ty),*) $(-> $ret:ty)?) => {{
        static ADDRESS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let address = match ADDRESS.load(std::sync::atomic::Ordering::Relaxed) {
            0 => $crate::real::find(concat!(stringify!($name), "\0"), &ADDRESS),
            address => address,
        };
        // SAFETY: the symbol of this name has this signature in every libc that is supported.
        let function = unsafe { std::mem::transmute::<usize, unsafe extern "C-unwind" fn($($ty),*) $(-> $ret)?>(address) };
        // SAFETY: the program's own call, passed on, or one of the runtime's with arguments that are right.
        unsafe { function($($arg),*) }
    }};
}
pub(crate) use real;

use std::sync::atomic::{AtomicUsize, Ordering};

/// Looks the next definition up.
#[cold]
pub fn find(name: &str, cache: &AtomicUsize) -> usize {
    // SAFETY: the name ends with 0.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast()) } as usize;
    if address == 0 {
        crate::ending::give_up(&format!("the C library has no function {}", name.trim_end_matches('\0')));
    }
    cache.store(address, Ordering::Relaxed);
    address
}
