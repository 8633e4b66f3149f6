//! Switching from one stack to another, and from one thread's storage to another's: all that depends on the processor.
//!
//! A context is a stack pointer. What the calling convention wants preserved lies on the stack that it points to: six
//! registers, and the control words of the two floating-point units.

use std::arch::{asm, naked_asm};
use std::sync::atomic::{AtomicBool, Ordering};

/// Saves the running context to `save` and continues `to`. Returns when somebody continues what was saved.
///
/// # Safety
/// `to` was saved by this function or made by [`prepare`], and its stack is as it was.
#[unsafe(naked)]
pub unsafe extern "C" fn switch(save: *mut usize, to: usize) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Calls a function of the program. Nothing unwinds through this frame, for it has no unwind information: an
/// exception that nobody catches finds the end of the stack here, and so the program is terminated as it would be by
/// itself.
///
/// # Safety
/// `function` takes up to three words and returns at most one.
#[unsafe(naked)]
pub unsafe extern "C" fn call(function: usize, first: usize, second: usize, third: usize) -> usize {
    naked_asm!(
        "sub rsp, 8",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "call rax",
        "add rsp, 8",
        "ret",
    )
}

/// Makes a context that runs `entry` on the stack that ends at `top`.
///
/// # Safety
/// At least 256 bytes below `top` belong to the new stack, and `entry` never returns.
pub unsafe fn prepare(top: usize, entry: extern "C" fn() -> !) -> usize {
    // A function finds its stack pointer 8 below a multiple of 16: the call has pushed the return address.
    let top = (top & !15) - 8;
    let words = (top - 8 * 8) as *mut usize;
    let (mut mxcsr, mut fcw) = (0u32, 0u16);
    // SAFETY: the words lie on the new stack; the two instructions store the control words of this thread.
    unsafe {
        asm!("stmxcsr [{}]", "fnstcw [{}]", in(reg) &raw mut mxcsr, in(reg) &raw mut fcw);
        // A debugger that walks the stack stops at a return address of 0.
        *(top as *mut usize) = 0;
        *words = mxcsr as usize | (fcw as usize) << 32;
        (1..7).for_each(|i| *words.add(i) = 0);
        *words.add(7) = entry as usize;
    }
    words as usize
}

/// Can user code set the FS base? Otherwise the kernel does it.
static FSGSBASE: AtomicBool = AtomicBool::new(false);

/// Finds out how the FS base is set.
pub fn initialise() {
    const HWCAP2_FSGSBASE: u64 = 1 << 1;
    // SAFETY: reads a word of the auxiliary vector.
    let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    FSGSBASE.store(capabilities & HWCAP2_FSGSBASE != 0, Ordering::Relaxed);
}

/// The base of the running thread's thread-local storage.
pub fn thread_base() -> usize {
    let base: usize;
    // SAFETY: on this platform the first word of the thread block holds its own address.
    unsafe { asm!("mov {}, fs:[0]", out(reg) base, options(nostack, preserves_flags, readonly)) };
    base
}

/// From here on, thread-local storage is that of the thread with this base.
///
/// # Safety
/// `base` is the thread block of a live thread which no other kernel thread uses meanwhile.
#[inline(always)]
pub unsafe fn set_thread_base(base: usize) {
    if FSGSBASE.load(Ordering::Relaxed) {
        // SAFETY: the kernel has said that the instruction may be used.
        unsafe { asm!("wrfsbase {}", in(reg) base, options(nostack, preserves_flags)) };
    } else {
        const ARCH_SET_FS: usize = 0x1002;
        // SAFETY: no memory is touched.
        unsafe { crate::platform::sys::call(libc::SYS_arch_prctl, [ARCH_SET_FS, base, 0, 0, 0, 0]) };
    }
}

/// The stack pointer, roughly.
#[inline(always)]
pub fn stack_pointer() -> usize {
    let sp: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) sp, options(nostack, nomem, preserves_flags)) };
    sp
}
