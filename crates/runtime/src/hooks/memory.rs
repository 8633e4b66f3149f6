//! `malloc` and its family.

use super::semaphore::fail;
use super::{access, at_work, hook, text};
use crate::detect::shadow::{READ, WRITE};
use crate::detect::{details, exact, instrumented, shadow};
use crate::drive::explored::{self, opaque, shared};
use crate::drive::{control, findings, private, view};
use crate::memory::heap::{self, Freed, Taken};
use crate::platform::global::{self, active, mode};
use fencepost_trace::FindingKind;
use libc::{EINVAL, ENOMEM, c_int};

pub fn allocate(size: usize, align: usize, zeroed: bool) -> usize {
    let inside = global::inside();
    // Where a store is an operation, zeros are stores: what was there before them, others may see.
    let stores_zeros =
        zeroed && !inside && size < heap::BIG && matches!(global::kind(), mode::HARDWARE | mode::EXPLORED);
    let block = global::quietly(|| {
        // The heap fills the block: that is not a store of the program's.
        let Taken { block, again } = heap::allocate(size, align, zeroed && !stores_zeros);
        if again {
            shadow::forget(block, size);
        }
        if !inside && block != 0 {
            shadow::fence(block, size);
            exact::forget(block, size);
            details::allocated(block, size);
            watch_allocation(block, size, zeroed);
        }
        block
    });
    if block == 0 {
        fail(ENOMEM);
    } else if stores_zeros {
        access::range_stored(block, size, global::caller());
        // SAFETY: the block was just allocated and is this long.
        global::quietly(|| unsafe { std::ptr::write_bytes(block as *mut u8, 0, size) });
    }
    block
}

/// To the race detectors an allocation is a write: another thread that gets to the block without an order behind it
/// is wrong, whether it is zeroed or not. What code without instrumentation allocates is handed on in ways that are
/// not seen.
fn watch_allocation(block: usize, size: usize, zeroed: bool) {
    let pc = global::caller();
    // Hardware makes no stores for an allocation but zeros.
    let counts = global::kind() == mode::LANGUAGE || explored::is_language() || (zeroed && explored::is_on());
    if counts && instrumented::is_instrumented(pc) {
        shadow::allocated(block, size, pc);
        exact::allocated(block, size, pc);
    }
}

hook! { fn malloc(size: usize) -> usize {
    allocate(size, 16, false)
} }

hook! { fn calloc(count: usize, size: usize) -> usize {
    match count.checked_mul(size) {
        Some(size) => allocate(size, 16, true),
        None => {
            fail(ENOMEM);
            0
        }
    }
} }

pub fn release(block: usize) {
    if block == 0 {
        return;
    }
    if !active() {
        heap::free(block);
        return;
    }
    at_work(|| {
        let size = heap::size(block);
        if global::kind() == mode::HARDWARE {
            view::drain_from(block, size);
        } else if explored::is_on() {
            shared::settle();
        } else {
            control::notice_range(block, size);
        }
        match heap::free(block) {
            Freed::Done => {
                if global::kind() == mode::HARDWARE {
                    shadow::mark_freed(block, size, global::caller());
                    private::forget(block, size);
                } else {
                    exact::access(block, size, shadow::free_by(global::caller()), global::caller());
                    explored::freeing(true);
                    shadow::free(block, size, global::caller());
                    explored::freeing(false);
                    if explored::is_on() {
                        exact::freed(block, size, global::caller());
                        opaque::forget(block, size);
                    } else {
                        control::give_back(block, size);
                    }
                }
                details::freed(block);
            }
            Freed::Twice => {
                let message = "free of a block that was freed before".to_owned();
                misuse(FindingKind::DoubleFree, message, block)
            }
            Freed::Unknown => misuse(FindingKind::Crash, "free of what is not a block".to_owned(), block),
        }
    })
}

fn misuse(kind: FindingKind, message: String, address: usize) {
    crate::threads::fibers::me().pc = global::caller();
    findings::found(kind, message, address);
}

hook! { fn free(block: usize) {
    release(block)
} }

hook! { fn cfree(block: usize) {
    release(block)
} }

fn resize(block: usize, size: usize) -> usize {
    if block == 0 {
        return allocate(size, 16, false);
    }
    if size == 0 {
        release(block);
        return 0;
    }
    let new = allocate(size, 16, false);
    if new != 0 {
        let kept = heap::size(block).min(size);
        // For races, the old block is freed and the new one allocated. Where accesses are operations, the copy is some.
        if active() && matches!(global::kind(), mode::HARDWARE | mode::EXPLORED) {
            access::range(block, kept, READ, global::caller());
            access::range(new, kept, WRITE, global::caller());
        }
        // SAFETY: both blocks are at least this long, and are not the same.
        global::quietly(|| unsafe { std::ptr::copy_nonoverlapping(block as *const u8, new as *mut u8, kept) });
        release(block);
    }
    new
}

hook! { fn realloc(block: usize, size: usize) -> usize {
    resize(block, size)
} }

hook! { fn reallocarray(block: usize, count: usize, size: usize) -> usize {
    match count.checked_mul(size) {
        Some(size) => resize(block, size),
        None => {
            fail(ENOMEM);
            0
        }
    }
} }

hook! { fn memalign(align: usize, size: usize) -> usize {
    allocate(size, align.next_power_of_two().max(16), false)
} }

hook! { fn aligned_alloc(align: usize, size: usize) -> usize {
    allocate(size, align.next_power_of_two().max(16), false)
} }

hook! { fn posix_memalign(result: *mut usize, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || align < 8 {
        return EINVAL;
    }
    match allocate(size, align.max(16), false) {
        0 => ENOMEM,
        block => {
            text::write(result as usize, size_of::<usize>());
            // SAFETY: the program's variable for the result.
            unsafe { *result = block };
            0
        }
    }
} }

hook! { fn valloc(size: usize) -> usize {
    allocate(size, 4096, false)
} }

hook! { fn pvalloc(size: usize) -> usize {
    allocate(size.next_multiple_of(4096), 4096, false)
} }

hook! { fn malloc_usable_size(block: usize) -> usize {
    if block == 0 { 0 } else { heap::size(block) }
} }
