//! Where a thread stands and what its variables hold, as a number.
//!
//! A loop that waits is one that comes back to where it was with nothing changed. What a fiber is about to do follows
//! from its stack and from the registers that a call preserves, the operations' results aside. Both are read here, at
//! the
//! moment when the thread asks for an operation.
//!
//! What a thread changes on the heap is known from the allocator, once an exploration has met a loop that seems to wait
//! ([`heap`](super::heap)): a loop that counts its rounds in a `Box` does not.

/// The stack pointer, and the registers that a call preserves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Registers {
    stack: usize,
    preserved: [usize; 6],
}

impl Registers {
    /// The stack pointer.
    pub(super) fn stack(&self) -> usize {
        self.stack
    }
}

/// The registers of the caller.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
pub(super) fn here() -> Registers {
    let mut registers = Registers::default();
    let [rbx, rbp, r12, r13, r14, r15] = &mut registers.preserved;
    // SAFETY: registers are copied, nothing else happens.
    unsafe {
        std::arch::asm!(
            "mov {stack}, rsp", "mov {a}, rbx", "mov {b}, rbp",
            stack = out(reg) registers.stack, a = out(reg) *rbx, b = out(reg) *rbp,
            options(nomem, nostack, preserves_flags)
        );
        std::arch::asm!(
            "mov {a}, r12",
            "mov {b}, r13",
            "mov {c}, r14",
            "mov {d}, r15",
            a = out(reg) * r12,
            b = out(reg) * r13,
            c = out(reg) * r14,
            d = out(reg) * r15,
            options(nomem, nostack, preserves_flags)
        );
    }
    registers
}

/// Elsewhere nothing is known, and loops that wait go on to the limit of events.
#[inline(always)]
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn here() -> Registers {
    Registers::default()
}

/// A digest of the registers and of `most` bytes of the stack up to `base`, which must be that of the fiber that they
/// were taken on; the fiber must be suspended.
pub(super) fn digest(registers: &Registers, base: usize, most: usize) -> Option<u64> {
    if registers.stack == 0 || registers.stack > base {
        return None;
    }
    let mix = |sum: u64, word: usize| (sum.rotate_left(5) ^ word as u64).wrapping_mul(0x517c_c1b7_2722_0a95);
    // Four sums side by side: each has to wait for its own last multiplication only.
    let mut sums = [0xcbf2_9ce4_8422_2325_u64; 4];
    registers.preserved.iter().zip([0, 1, 2, 3, 0, 1]).for_each(|(word, i)| sums[i] = mix(sums[i], *word));
    let size = size_of::<usize>();
    let from = registers.stack.next_multiple_of(size);
    let words = base.saturating_sub(from).min(most) / size;
    // SAFETY: between the stack pointer and the base all of a fiber's stack is mapped, and nobody writes it while the
    // fiber is suspended. Padding may never have been written: a volatile read takes what is there.
    let word = |i: usize| unsafe { std::ptr::read_volatile((from + i * size) as *const usize) };
    let mut i = 0;
    while i + 4 <= words {
        sums = [mix(sums[0], word(i)), mix(sums[1], word(i + 1)), mix(sums[2], word(i + 2)), mix(sums[3], word(i + 3))];
        i += 4;
    }
    let rest = (i..words).fold(0, |sum, i| mix(sum, word(i)));
    // Zero is nothing.
    Some(sums.iter().fold(rest, |sum, other| mix(sum, *other as usize)) | 1)
}
