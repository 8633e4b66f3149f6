//! What instructions leave in registers and flags, against the processor itself.
#![cfg(target_arch = "x86_64")]

use fencepost_mailbox::{Action, HiddenInstruction, MemoryOperand, Source};
use fencepost_runtime_core::instruction::{Registers, address, after};
use std::arch::asm;

/// Carry, parity, adjust, zero, sign, overflow.
const ARITHMETIC: u64 = 0x8d5;
/// The same without adjust, which is undefined after logical instructions.
const LOGICAL: u64 = 0x8c5;

/// Has the processor do it: what memory, rcx, rax and the flags are afterwards.
macro_rules! run {
    ($template:literal, $memory:expr, $rcx:expr, $rax:expr, $carry:expr) => {{
        let mut memory: u64 = $memory;
        let (mut rcx, mut rax, mut flags): (u64, u64, u64) = ($rcx, $rax, u64::from($carry));
        // SAFETY: it writes `memory` and the registers that are named.
        unsafe {
            asm!("bt {flags}, 0", $template, "pushfq", "pop {flags}",
                flags = inout(reg) flags, in("rdi") &raw mut memory, inout("rcx") rcx, inout("rax") rax);
        }
        (memory, rcx, rax, flags)
    }};
}

fn instruction(action: Action, size: u8, source: Source) -> HiddenInstruction {
    let memory = MemoryOperand { base: Some(7), ..MemoryOperand::default() };
    HiddenInstruction { offset: 0, code: [0; 2], length: 4, action, size, memory, source, barrier: false }
}

fn numbers() -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut all = vec![0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0x7fff_ffff, 0x8000_0000, u64::MAX, 1 << 63];
    all.extend((0..20).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }));
    all
}

macro_rules! compare {
    ($action:ident, $size:literal, $template:literal, $source:expr, $flags:expr) => {
        for memory in numbers() {
            for rcx in numbers() {
                // Every other one is equal to what memory holds, for compare-exchanges.
                let rax = if rcx & 2 == 0 { memory } else { rcx.rotate_left(7) };
                for carry in [false, true] {
                    let (_, new_rcx, new_rax, flags) = run!($template, memory, rcx, rax, carry);
                    let mut registers = Registers { flags: carry.into(), ..Registers::default() };
                    (registers.general[0], registers.general[1]) = (rax, rcx);
                    let instruction = instruction(Action::$action, $size, $source);
                    let found = memory & (u64::MAX >> (64 - 8 * $size));
                    let after = after(&instruction, &registers, found.into());
                    let what = format!("{} memory {memory:#x} rcx {rcx:#x} rax {rax:#x} carry {carry}", $template);
                    assert_eq!((after.general[1], after.general[0]), (new_rcx, new_rax), "{what}");
                    assert_eq!(after.flags & $flags, flags & $flags, "{what}");
                }
            }
        }
    };
}

macro_rules! of_all_sizes {
    ($action:ident, $flags:expr, $b:literal $w:literal $d:literal $q:literal) => {
        compare!($action, 1, $b, Source::Register(1), $flags);
        compare!($action, 2, $w, Source::Register(1), $flags);
        compare!($action, 4, $d, Source::Register(1), $flags);
        compare!($action, 8, $q, Source::Register(1), $flags);
    };
}

#[test]
fn registers_and_flags_are_the_processors() {
    of_all_sizes!(Add, ARITHMETIC, "lock add [rdi], cl" "lock add [rdi], cx" "lock add [rdi], ecx" "lock add [rdi], \
         rcx");
    of_all_sizes!(Sub, ARITHMETIC, "lock sub [rdi], cl" "lock sub [rdi], cx" "lock sub [rdi], ecx" "lock sub [rdi], \
         rcx");
    of_all_sizes!(And, LOGICAL, "lock and [rdi], cl" "lock and [rdi], cx" "lock and [rdi], ecx" "lock and [rdi], rcx");
    of_all_sizes!(Or, LOGICAL, "lock or [rdi], cl" "lock or [rdi], cx" "lock or [rdi], ecx" "lock or [rdi], rcx");
    of_all_sizes!(Xor, LOGICAL, "lock xor [rdi], cl" "lock xor [rdi], cx" "lock xor [rdi], ecx" "lock xor [rdi], rcx");
    of_all_sizes!(ExchangeAdd, ARITHMETIC,
        "lock xadd [rdi], cl" "lock xadd [rdi], cx" "lock xadd [rdi], ecx" "lock xadd [rdi], rcx");
    of_all_sizes!(Exchange, 0, "xchg [rdi], cl" "xchg [rdi], cx" "xchg [rdi], ecx" "xchg [rdi], rcx");
    of_all_sizes!(CompareExchange, ARITHMETIC,
        "lock cmpxchg [rdi], cl" "lock cmpxchg [rdi], cx" "lock cmpxchg [rdi], ecx" "lock cmpxchg [rdi], rcx");
    compare!(Increment, 1, "lock inc byte ptr [rdi]", Source::None, ARITHMETIC);
    compare!(Increment, 4, "lock inc dword ptr [rdi]", Source::None, ARITHMETIC);
    compare!(Increment, 8, "lock inc qword ptr [rdi]", Source::None, ARITHMETIC);
    compare!(Decrement, 2, "lock dec word ptr [rdi]", Source::None, ARITHMETIC);
    compare!(Decrement, 8, "lock dec qword ptr [rdi]", Source::None, ARITHMETIC);
    compare!(SetBit, 4, "lock bts dword ptr [rdi], 17", Source::Immediate(17), 1);
    compare!(ClearBit, 8, "lock btr qword ptr [rdi], 63", Source::Immediate(63), 1);
    compare!(FlipBit, 2, "lock btc word ptr [rdi], 5", Source::Immediate(5), 1);
}

#[test]
fn a_compare_exchange_of_sixteen_bytes() {
    let pair = instruction(Action::CompareExchangePair, 16, Source::None);
    let mut registers = Registers::default();
    (registers.general[0], registers.general[2]) = (5, 6);
    let equal = after(&pair, &registers, 6 << 64 | 5);
    assert_eq!(equal.flags & 0x40, 0x40);
    let other = after(&pair, &registers, 8 << 64 | 7);
    assert_eq!((other.flags & 0x40, other.general[0], other.general[2]), (0, 7, 8));
}

#[test]
fn memory_is_where_the_processor_looks() {
    let mut registers = Registers::default();
    (registers.general[7], registers.general[1]) = (0x1000, 3);
    let mut one = instruction(Action::Add, 4, Source::Immediate(1));
    one.memory = MemoryOperand { base: Some(7), index: Some(1), scale: 4, displacement: -8, in_file: false };
    assert_eq!(address(&one, &registers, 0x5000), 0x1000 + 12 - 8);
    one.memory = MemoryOperand { displacement: 0x20, in_file: true, ..MemoryOperand::default() };
    assert_eq!(address(&one, &registers, 0x5000), 0x5020);
    // Bit -1 of a word lies in the word before; bit 70 in the one two behind.
    for (bit, place) in [(-1i64, 0xffc), (70, 0x1008)] {
        registers.general[1] = bit as u64;
        let bits = instruction(Action::SetBit, 4, Source::Register(1));
        assert_eq!(address(&bits, &registers, 0), place, "bit {bit}");
    }
}
