//! Plain accesses and calls: what ThreadSanitizer's instrumentation announces before it happens.

use crate::detect::shadow::{self, Kind, READ, WRITE};
use crate::detect::{details, exact, instrumented};
use crate::drive::explored::{self, shared, unseen};
use crate::drive::{control, patience, private, progress, stall, view};
use crate::platform::global::{self, mode};
use crate::threads::calls;
use fencepost_trace::Op;
use std::arch::naked_asm;
use std::sync::atomic::Ordering;

/// Do the bytes lie within eight aligned ones?
#[inline(always)]
fn fits<const SIZE: usize>(address: usize) -> bool {
    SIZE <= 8 && (address & 7) + SIZE <= 8
}

/// An access that the program makes when this returns.
#[inline(always)]
fn access<const SIZE: usize>(address: usize, kind: Kind, pc: usize) {
    let mode = global::mode();
    if mode == mode::IDLE {
        return;
    }
    if mode == mode::HARDWARE && private::is_free::<SIZE>(address, kind.write) {
        return;
    }
    // Nearly all accesses end here.
    if mode == mode::LANGUAGE && fits::<SIZE>(address) && shadow::is_known(address, SIZE, kind) && !patience::ends() {
        return;
    }
    new_access::<SIZE>(address, kind, pc)
}

/// The same, for a hook that is not made here.
pub fn announced<const SIZE: usize>(address: usize, kind: Kind, pc: usize) {
    access::<SIZE>(address, kind, pc);
}

/// The same for a size that is known only when it is made.
pub fn announced_any(address: usize, size: usize, kind: Kind, pc: usize) {
    match size {
        1 => access::<1>(address, kind, pc),
        2 => access::<2>(address, kind, pc),
        4 => access::<4>(address, kind, pc),
        8 => access::<8>(address, kind, pc),
        16 => access::<16>(address, kind, pc),
        _ => range(address, size, kind, pc),
    }
}

/// An access that is not known yet, or that wants more than the race detector.
#[inline(never)]
fn new_access<const SIZE: usize>(address: usize, kind: Kind, pc: usize) {
    match global::mode() {
        mode::HARDWARE => return from(pc, || view::plain(address, SIZE, kind.write, pc)),
        mode::SUSPICIOUS => {
            look_around();
            details::stands(pc);
            exact::access(address, SIZE, kind, pc);
        }
        mode::EXACT => {
            details::stands(pc);
            exact::access(address, SIZE, kind, pc);
            // An execution that is run again must not notice that it is watched.
            if fits::<SIZE>(address) && shadow::is_known(address, SIZE, kind) && !patience::ends() {
                return;
            }
        }
        mode::EXPLORED => return explored(address, SIZE, kind, pc),
        _ => {}
    }
    if patience::has_ended() {
        give_way(pc);
    }
    if kind.write {
        progress::writes(address, SIZE);
    }
    let touched = if fits::<SIZE>(address) {
        shadow::check(address, SIZE, kind, pc)
    } else {
        shadow::range(address, SIZE, kind, pc)
    };
    if touched {
        among_atomics(address, SIZE, kind, pc);
    }
}

/// An access in an execution that is explored.
fn explored(address: usize, size: usize, kind: Kind, pc: usize) {
    super::volatile::finish_first();
    details::stands(pc);
    if kind.write {
        unseen::announced(address, size);
    }
    exact::access(address, size, kind, pc);
    let event = shared::is_event(address, size, kind.write);
    if !event && shared::is_left_behind(address, size) {
        from(pc, || shared::start_over_with(address, size));
    }
    let is_known =
        !event && (address & 7) + size <= 8 && !shared::is_watching() && shadow::is_known(address, size, kind);
    if is_known && !patience::ends() {
        return;
    }
    if patience::has_ended() || shared::is_watching() {
        super::at_work(|| explored::impatient(address, size, kind.write, pc));
    }
    if kind.write {
        progress::writes(address, size);
    }
    let touched = shadow::range(address, size, kind, pc);
    if event {
        from(pc, || shared::plain(address, size, kind.write));
    } else if touched {
        shared::touched(address, size);
    }
}

/// Does the runtime's part of an access that the program makes at `pc`.
#[inline(always)]
fn from(pc: usize, act: impl FnOnce()) {
    global::set_caller(pc, global::caller_sp());
    super::at_work(act);
}

/// Of a range that is accessed by a function of libc, some may be shared.
fn shared_range(address: usize, length: usize, write: bool, pc: usize) {
    let parts = shared::parts(address, length, write);
    if shared::is_left_behind(address, length) {
        from(pc, || shared::start_over_with(address, length));
    }
    if !parts.is_empty() {
        from(pc, || shared::range(&parts, write));
    }
}

#[cold]
fn give_way(pc: usize) {
    global::CALLER_PC.store(pc, Ordering::Relaxed);
    stall::uncertain();
    super::at_work(|| control::perform(Op::Yield));
}

#[cold]
fn look_around() {
    super::at_work(|| {});
}

/// A plain access to memory that was accessed atomically before.
#[cold]
fn among_atomics(address: usize, length: usize, kind: Kind, pc: usize) {
    super::at_work(|| match kind.write {
        true => control::wrote(address, length, pc),
        false => control::reads(address, length, pc),
    });
}

/// An access of any size.
pub fn range(address: usize, length: usize, kind: Kind, pc: usize) {
    match global::mode() {
        _ if length == 0 => {}
        mode::IDLE => {}
        mode::EXPLORED => {
            super::volatile::finish_first();
            exact::access(address, length, kind, pc);
            if kind.write {
                unseen::announced(address, length);
                progress::writes(address, length);
            }
            if shadow::range(address, length, kind, pc) {
                shared::touched(address, length);
            }
            shared_range(address, length, kind.write, pc);
        }
        mode @ (mode::LANGUAGE | mode::SUSPICIOUS | mode::EXACT) => {
            if mode == mode::SUSPICIOUS {
                look_around();
            }
            if kind.write {
                progress::writes(address, length);
            }
            exact::access(address, length, kind, pc);
            if shadow::range(address, length, kind, pc) {
                among_atomics(address, length, kind, pc);
            }
        }
        _ => {
            stall::uncertain();
            from(pc, || view::range(address, length, kind.write, pc));
        }
    }
}

/// An access that only the race detectors hear of.
pub fn seen_by_detectors(address: usize, length: usize, kind: Kind, pc: usize) {
    if global::kind() != mode::HARDWARE && instrumented::is_instrumented(pc) {
        exact::access(address, length, kind, pc);
        shadow::range(address, length, kind, pc);
    }
}

/// A write to memory that the race detectors know of already.
pub fn range_stored(address: usize, length: usize, pc: usize) {
    match global::mode() {
        mode::HARDWARE => from(pc, || view::range(address, length, true, pc)),
        mode::EXPLORED => {
            super::volatile::finish_first();
            unseen::announced(address, length);
            shared_range(address, length, true, pc);
        }
        _ => {}
    }
}

/// The program has called a function of libc at `pc`, which accesses this memory for it. What code without
/// instrumentation lets libc do is no more the program's than what it does itself; but under the hardware models
/// memory must be as it sees it.
pub fn by_library(address: usize, length: usize, kind: Kind, pc: usize) {
    if global::mode() == mode::HARDWARE || instrumented::is_instrumented(pc) {
        range(address, length, kind, pc);
    }
}

/// A thunk that hands the return address on as the second argument, and the function behind it. Where an access may
/// be an operation, the registers that calls preserve are of interest, too.
macro_rules! accesses {
    ($($name:ident: $size:literal $($kind:ident)*;)*) => { $(
        mod $name {
            use super::*;
            pub extern "C" fn body(address: usize, pc: usize) {
                $( access::<$size>(address, $kind, pc); )*
            }
        }
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                "mov rsi, [rsp]",
                "mov [rip + {sp}], rsp",
                "mov dword ptr [rip + {asks}], 0",
                "cmp byte ptr [rip + {mode}], {language}",
                "je {body}",
                "mov [rip + {registers}], rbx",
                "mov [rip + {registers} + 8], rbp",
                "mov [rip + {registers} + 16], r12",
                "mov [rip + {registers} + 24], r13",
                "mov [rip + {registers} + 32], r14",
                "mov [rip + {registers} + 40], r15",
                "jmp {body}",
                sp = sym global::CALLER_SP,
                asks = sym global::CALLER_ASKS,
                mode = sym global::MODE,
                language = const mode::LANGUAGE,
                registers = sym global::CALLER_REGISTERS,
                body = sym $name::body
            )
        }
    )* };
}

accesses! {
    __tsan_read1: 1 READ;
    __tsan_read2: 2 READ;
    __tsan_read4: 4 READ;
    __tsan_read8: 8 READ;
    __tsan_read16: 16 READ;
    __tsan_write1: 1 WRITE;
    __tsan_write2: 2 WRITE;
    __tsan_write4: 4 WRITE;
    __tsan_write8: 8 WRITE;
    __tsan_write16: 16 WRITE;
    __tsan_unaligned_read2: 2 READ;
    __tsan_unaligned_read4: 4 READ;
    __tsan_unaligned_read8: 8 READ;
    __tsan_unaligned_read16: 16 READ;
    __tsan_unaligned_write2: 2 WRITE;
    __tsan_unaligned_write4: 4 WRITE;
    __tsan_unaligned_write8: 8 WRITE;
    __tsan_unaligned_write16: 16 WRITE;
    __tsan_read_write1: 1 READ WRITE;
    __tsan_read_write2: 2 READ WRITE;
    __tsan_read_write4: 4 READ WRITE;
    __tsan_read_write8: 8 READ WRITE;
    __tsan_read_write16: 16 READ WRITE;
    __tsan_unaligned_read_write2: 2 READ WRITE;
    __tsan_unaligned_read_write4: 4 READ WRITE;
    __tsan_unaligned_read_write8: 8 READ WRITE;
    __tsan_unaligned_read_write16: 16 READ WRITE;
    __tsan_vptr_read: 8 READ;
}

/// The same for calls that say themselves where they come from.
macro_rules! accesses_with_pc {
    ($($name:ident: $size:literal $kind:ident;)*) => { $(
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(address: usize, pc: usize) {
            global::spoil_registers();
            access::<$size>(address, $kind, pc);
        }
    )* };
}

accesses_with_pc! {
    __tsan_read1_pc: 1 READ;
    __tsan_read2_pc: 2 READ;
    __tsan_read4_pc: 4 READ;
    __tsan_read8_pc: 8 READ;
    __tsan_read16_pc: 16 READ;
    __tsan_write1_pc: 1 WRITE;
    __tsan_write2_pc: 2 WRITE;
    __tsan_write4_pc: 4 WRITE;
    __tsan_write8_pc: 8 WRITE;
    __tsan_write16_pc: 16 WRITE;
}

super::hook! { fn __tsan_vptr_update(slot: *mut usize, value: usize) {
    // SAFETY: the program is about to write there.
    if unsafe { *slot } != value {
        access::<8>(slot as usize, WRITE, global::caller());
    }
} }

super::hook! { fn __tsan_read_range(address: usize, length: usize) {
    details::stands(global::caller());
    range(address, length, READ, global::caller());
} }

super::hook! { fn __tsan_write_range(address: usize, length: usize) {
    details::stands(global::caller());
    range(address, length, WRITE, global::caller());
} }

/// A function is entered; the argument is where it was called. Where details are wanted, it says where its variables
/// are.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __tsan_func_entry() {
    naked_asm!(
        "cmp byte ptr [rip + {watching}], 0",
        "jne 3f",
        // As `calls::push`.
        "mov rax, [rip + {top}]",
        "cmp rax, [rip + {limit}]",
        "jae 2f",
        "mov [rax], rdi",
        "2:",
        "add rax, 8",
        "mov [rip + {top}], rax",
        "ret",
        "3:",
        "mov rsi, [rsp]",
        "mov rdx, rsp",
        "mov rcx, rbp",
        "jmp {entered}",
        watching = sym details::WATCHING,
        top = sym calls::TOP,
        limit = sym calls::LIMIT,
        entered = sym details::entered,
    )
}

/// A function is left.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_func_exit() {
    calls::pop();
}

/// Called by every instrumented module before anything else, perhaps before libc is ready: nothing is done here.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_init() {}

/// Annotations that change nothing under control.
macro_rules! nothing {
    ($($name:ident)*) => { $(
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {}
    )* };
}

nothing! {
    __tsan_ignore_thread_begin __tsan_ignore_thread_end __tsan_flush_memory __tsan_mutex_create __tsan_mutex_destroy
    __tsan_mutex_pre_lock __tsan_mutex_post_lock __tsan_mutex_pre_signal __tsan_mutex_post_signal
    __tsan_mutex_pre_divert __tsan_mutex_post_divert
    AnnotateHappensBefore AnnotateHappensAfter AnnotateIgnoreReadsBegin AnnotateIgnoreReadsEnd AnnotateIgnoreWritesBegin
    AnnotateIgnoreWritesEnd AnnotateIgnoreSyncBegin AnnotateIgnoreSyncEnd AnnotateBenignRace AnnotateBenignRaceSized
    AnnotateNewMemory AnnotateRWLockCreate AnnotateRWLockCreateStatic AnnotateRWLockDestroy AnnotateRWLockAcquired
    AnnotateRWLockReleased AnnotateThreadName AnnotateEnableRaceDetection AnnotateMutexIsUsedAsCondVar
    AnnotateCondVarSignal
    AnnotateCondVarSignalAll AnnotateCondVarWait AnnotateFlushState AnnotatePublishMemoryRange
    AnnotateUnpublishMemoryRange
    AnnotateMutexIsNotPHB AnnotatePCQCreate AnnotatePCQDestroy AnnotatePCQPut AnnotatePCQGet AnnotateTraceMemory
    AnnotateNoOp WTFAnnotateHappensBefore WTFAnnotateHappensAfter WTFAnnotateBenignRaceSized
    __sanitizer_print_memory_profile __sanitizer_set_report_path
}

/// Two more, which answer with a number.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_mutex_pre_unlock(_: usize, _: u32) -> i32 {
    0
}

/// See above.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_mutex_post_unlock(_: usize, _: u32) {}
