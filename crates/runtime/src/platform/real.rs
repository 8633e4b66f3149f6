//! The functions of libc that this library hides, for when the program is not under control.
//!
//! Each is looked up once: all of them before the first execution, so that no execution does it and no forked child
//! does it again.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A function that is hidden, and where the next definition of it is.
#[repr(C)]
pub struct Entry {
    name: *const c_char,
    /// Read by thunks, too: the second word.
    address: AtomicUsize,
}

// SAFETY: the name is a constant.
unsafe impl Sync for Entry {}

impl Entry {
    /// `name` ends with 0.
    pub const fn new(name: &'static str) -> Entry {
        Entry { name: name.as_ptr().cast(), address: AtomicUsize::new(0) }
    }

    /// Where it is. A libc without it cannot be served.
    #[inline]
    pub fn get(&self) -> usize {
        match self.address.load(Ordering::Relaxed) {
            0 => self.find(),
            address => address,
        }
    }

    #[cold]
    fn find(&self) -> usize {
        let address = self.look_up();
        if address == 0 {
            // SAFETY: the name ends with 0.
            let name = unsafe { CStr::from_ptr(self.name) };
            crate::platform::failure::give_up(&format!("the C library has no function {}", name.to_string_lossy()));
        }
        address
    }

    fn look_up(&self) -> usize {
        // SAFETY: the name ends with 0.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name) } as usize;
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// Where the next definition of a function after this library's own is.
macro_rules! address {
    ($name:ident) => {{
        // The linker puts all of them side by side.
        #[unsafe(link_section = "fencepost_real")]
        static ENTRY: $crate::platform::real::Entry =
            $crate::platform::real::Entry::new(concat!(stringify!($name), "\0"));
        ENTRY.get()
    }};
}
pub(crate) use address;

/// Calls the next definition of a function after this library's own: `real!(pthread_join(thread, result):
/// fn(pthread_t, *mut *mut c_void) -> c_int)`.
macro_rules! real {
    ($name:ident($($arg:expr),* $(,)?): fn($($ty:ty),*) $(-> $ret:ty)?) => {{
        let address = $crate::platform::real::address!($name);
        type Function = unsafe extern "C-unwind" fn($($ty),*) $(-> $ret)?;
        // SAFETY: the symbol of this name has this signature in every libc that is supported.
        let function = unsafe { std::mem::transmute::<usize, Function>(address) };
        // SAFETY: the program's own call, passed on, or one of the runtime's with arguments that are right.
        unsafe { function($($arg),*) }
    }};
}
pub(crate) use real;

unsafe extern "C" {
    /// Made by the linker: the first entry, and what follows the last.
    #[link_name = "__start_fencepost_real"]
    static FIRST: Entry;
    #[link_name = "__stop_fencepost_real"]
    static END: Entry;
}

/// Looks all of them up. What is not there is missed only when it is called.
pub fn prepare() {
    let (first, end) = (&raw const FIRST, &raw const END);
    // SAFETY: the section has nothing else in it.
    let entries = unsafe { std::slice::from_raw_parts(first, end.offset_from(first) as usize) };
    for entry in entries.iter().filter(|entry| entry.address.load(Ordering::Relaxed) == 0) {
        entry.look_up();
    }
}

/// libc's own `sigaction`.
pub fn sigaction(signal: c_int, action: &libc::sigaction) {
    real!(sigaction(signal, action, std::ptr::null_mut()):
        fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
}
