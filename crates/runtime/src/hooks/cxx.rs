//! What programs call of the C++ library, which comes without instrumentation.
//!
//! `operator new` and its kin take memory in the program's name, so that the program's line is where a block comes
//! from. Other functions of the library only have to be noticed: what they call in turn (`pthread_create`, …) is the
//! program's doing where it called *them*.

use super::{hook, memory, watch};
use crate::drive::ending::{self, Verdict};
use crate::platform::global::{self, active};
use crate::platform::modules;
use crate::platform::real::real;
use crate::threads::fibers::{self, LibraryCall};
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Has the program called the library in a way that is noted?
static NOTED: AtomicBool = AtomicBool::new(false);

/// A frame of the library that leads from the program to a hook is not larger.
const LARGEST: usize = 4096;

/// The running thread calls the library.
fn enters() {
    fibers::me().library = LibraryCall { pc: global::caller(), sp: global::caller_sp() };
    NOTED.store(true, Ordering::Relaxed);
}

/// The running thread is in a hook. If it was the C++ library that called it, and the program that called the library,
/// the program's call is where it happens.
#[inline(always)]
pub fn attribute() {
    if NOTED.load(Ordering::Relaxed) {
        attribute_noted();
    }
}

fn attribute_noted() {
    let LibraryCall { pc, sp } = fibers::me().library;
    let here = global::caller_sp();
    if pc == 0 || !(here + 1..here + LARGEST).contains(&sp) || !modules::is_cxx_library(global::caller()) {
        return;
    }
    // SAFETY: between the frame of the hook and the beginning of the thread's stack.
    let returns_to = unsafe { *(sp as *const usize) };
    if returns_to == pc {
        global::set_caller(pc, here);
    }
}

macro_rules! library_calls {
    ($($name:ident)*) => { $(watch! { fn $name() { enters() } })* };
}

library_calls! {
    // std::thread: to start, join and detach.
    _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE
    _ZNSt6thread4joinEv
    _ZNSt6thread6detachEv
    // std::condition_variable: wait, notify_one, notify_all, its end.
    _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE
    _ZNSt18condition_variable10notify_oneEv
    _ZNSt18condition_variable10notify_allEv
    _ZNSt18condition_variableD1Ev
    // std::this_thread::sleep_for, and the wake-up of futures.
    _ZNSt11this_thread11__sleep_forENSt6chrono8durationIlSt5ratioILl1ELl1EEEENS1_IlS2_ILl1ELl1000000000EEEE
    _ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj
}

/// What `operator new` is without an argument of its own.
const USUAL_ALIGNMENT: usize = 16;

/// Does the program have an `operator new` or `delete` of its own, from which the others follow? 0: nobody has looked.
static REPLACED: AtomicU8 = AtomicU8::new(0);
const NO: u8 = 1;
const YES: u8 = 2;

fn are_replaced() -> bool {
    match REPLACED.load(Ordering::Relaxed) {
        0 => look_for_replacements(),
        known => known == YES,
    }
}

#[cold]
fn look_for_replacements() -> bool {
    // What this library's own code takes for its function is the program's, if that has one.
    let is_ours = |name: &CStr| {
        // SAFETY: the name ends with 0.
        modules::is_own(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize)
    };
    let all_ours = [c"_Znwm", c"_ZdlPv", c"_ZdlPvm"].into_iter().all(is_ours);
    REPLACED.store(if all_ours { NO } else { YES }, Ordering::Relaxed);
    !all_ours
}

/// A block, or 0 where the library's own function has to do it: if there is no memory, it knows how to say so.
fn take(size: usize, alignment: usize) -> usize {
    if active() && !are_replaced() { memory::allocate(size.max(1), alignment, false) } else { 0 }
}

macro_rules! operators_new {
    ($($name:ident($($more:ident: $ty:ty),*), $alignment:expr;)*) => { $(
        hook! { fn $name(size: usize $(, $more: $ty)*) -> usize {
            match take(size, $alignment) {
                0 => real!($name(size $(, $more)*): fn(usize $(, $ty)*) -> usize),
                block => block,
            }
        } }
    )* };
}

operators_new! {
    _Znwm(), USUAL_ALIGNMENT;
    _Znam(), USUAL_ALIGNMENT;
    _ZnwmRKSt9nothrow_t(nothrow: usize), USUAL_ALIGNMENT;
    _ZnamRKSt9nothrow_t(nothrow: usize), USUAL_ALIGNMENT;
    _ZnwmSt11align_val_t(alignment: usize), alignment;
    _ZnamSt11align_val_t(alignment: usize), alignment;
    _ZnwmSt11align_val_tRKSt9nothrow_t(alignment: usize, nothrow: usize), alignment;
    _ZnamSt11align_val_tRKSt9nothrow_t(alignment: usize, nothrow: usize), alignment;
}

macro_rules! operators_delete {
    ($($name:ident($($more:ident: $ty:ty),*);)*) => { $(
        hook! { fn $name(block: usize $(, $more: $ty)*) {
            match active() && !are_replaced() {
                true => memory::release(block),
                false => real!($name(block $(, $more)*): fn(usize $(, $ty)*)),
            }
        } }
    )* };
}

operators_delete! {
    _ZdlPv();
    _ZdaPv();
    _ZdlPvm(size: usize);
    _ZdaPvm(size: usize);
    _ZdlPvRKSt9nothrow_t(nothrow: usize);
    _ZdaPvRKSt9nothrow_t(nothrow: usize);
    _ZdlPvSt11align_val_t(alignment: usize);
    _ZdaPvSt11align_val_t(alignment: usize);
    _ZdlPvmSt11align_val_t(size: usize, alignment: usize);
    _ZdaPvmSt11align_val_t(size: usize, alignment: usize);
    _ZdlPvSt11align_val_tRKSt9nothrow_t(alignment: usize, nothrow: usize);
    _ZdaPvSt11align_val_tRKSt9nothrow_t(alignment: usize, nothrow: usize);
}

watch! { fn __cxa_throw(_object: usize, kind: usize) {
    fibers::me().thrown = (kind, global::caller());
} }

/// The program calls `abort`. Is it the library, because nobody has caught an exception? Then the place is where it was
/// thrown.
fn uncaught() -> Option<Verdict> {
    if !modules::is_cxx_library(global::caller()) {
        return None;
    }
    // SAFETY: the name ends with 0.
    let current = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_current_exception_type".as_ptr()) };
    if current.is_null() {
        return None;
    }
    // SAFETY: this is its signature.
    let current = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> usize>(current) };
    let kind = current();
    let (thrown, pc) = fibers::me().thrown;
    if kind == 0 {
        return None;
    }
    if thrown == kind {
        fibers::me().pc = pc;
    }
    Some(Verdict::Abort(format!("an exception of type {} was not caught", name(kind))))
}

/// The name of a type, as the program's source has it.
fn name(kind: usize) -> String {
    // SAFETY: a `std::type_info`, whose second word is its mangled name.
    let mangled = unsafe { *(kind as *const *const c_char).add(1) };
    if mangled.is_null() {
        return "unknown".to_owned();
    }
    let mut status: c_int = 0;
    // SAFETY: the name ends with 0, and the function finds room by itself.
    let text = real!(__cxa_demangle(mangled, std::ptr::null_mut(), std::ptr::null_mut(), &mut status):
        fn(*const c_char, *mut c_char, *mut usize, *mut c_int) -> *mut c_char);
    let best = if status == 0 && !text.is_null() { text } else { mangled.cast_mut() };
    // SAFETY: both end with 0.
    unsafe { CStr::from_ptr(best) }.to_string_lossy().into_owned()
}

/// The running thread calls `abort`, which ends the execution.
pub fn abort() -> ! {
    fibers::me().pc = global::caller();
    global::set_inside(true);
    ending::fail(uncaught().unwrap_or_else(|| Verdict::Abort("abort() was called".to_owned())))
}
