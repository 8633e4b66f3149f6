//! What an instruction does to registers and flags, given what it found in memory.

use fencepost_mailbox::{Action, HiddenInstruction, MemoryOperand, Source};

/// Numbers of registers, as the processor numbers them.
pub mod register {
    /// What a compare-exchange compares with.
    pub const RAX: usize = 0;
    /// The upper half of what a compare-exchange of 16 bytes stores.
    pub const RCX: usize = 1;
    /// The upper half of what a compare-exchange of 16 bytes compares with.
    pub const RDX: usize = 2;
    /// The lower half of what a compare-exchange of 16 bytes stores.
    pub const RBX: usize = 3;
    /// The stack pointer.
    pub const RSP: usize = 4;
}
use register::{RAX, RBX, RCX, RDX};

/// The sixteen registers, and the flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Registers {
    /// By number.
    pub general: [u64; 16],
    /// The flags.
    pub flags: u64,
}

const CARRY: u64 = 1;
const PARITY: u64 = 1 << 2;
const ADJUST: u64 = 1 << 4;
const ZERO: u64 = 1 << 6;
const SIGN: u64 = 1 << 7;
const OVERFLOW: u64 = 1 << 11;

/// Where the memory of an instruction is; `start` is where its file begins.
pub fn address(instruction: &HiddenInstruction, registers: &Registers, start: u64) -> u64 {
    let MemoryOperand { base, index, scale, displacement, in_file } = instruction.memory;
    let register = |number: Option<u8>| number.map_or(0, |number| registers.general[usize::from(number & 15)]);
    let place = register(base)
        .wrapping_add(register(index).wrapping_mul(scale.into()))
        .wrapping_add_signed(displacement)
        .wrapping_add(if in_file { start } else { 0 });
    match (instruction.action, instruction.source) {
        // A bit of a register's number may lie in another word.
        (Action::SetBit | Action::ClearBit | Action::FlipBit, Source::Register(_)) => {
            let size = i64::from(instruction.size);
            let bit = extended(operand(instruction, registers), instruction.size);
            place.wrapping_add_signed(bit.div_euclid(8 * size) * size)
        }
        _ => place,
    }
}

/// The other operand, cut to the size of the memory.
pub fn operand(instruction: &HiddenInstruction, registers: &Registers) -> u64 {
    let value = match instruction.source {
        Source::None => 0,
        Source::Register(number) => registers.general[usize::from(number & 15)],
        Source::Immediate(value) => value as u64,
    };
    cut(value, instruction.size)
}

/// The bit that an instruction is about, as a mask.
pub fn bit(instruction: &HiddenInstruction, registers: &Registers) -> u64 {
    1 << (operand(instruction, registers) % (8 * u64::from(instruction.size)))
}

/// What a compare-exchange compares with, and what it stores.
pub fn compared(instruction: &HiddenInstruction, registers: &Registers) -> (u128, u128) {
    let of = |high: usize, low: usize| u128::from(registers.general[high]) << 64 | u128::from(registers.general[low]);
    match instruction.action {
        Action::CompareExchangePair => (of(RDX, RAX), of(RCX, RBX)),
        _ => (cut(registers.general[RAX], instruction.size).into(), operand(instruction, registers).into()),
    }
}

/// The registers and flags afterwards, where memory held `old`.
pub fn after(instruction: &HiddenInstruction, registers: &Registers, old: u128) -> Registers {
    let mut next = *registers;
    let (size, found, operand) = (instruction.size, old as u64, operand(instruction, registers));
    let keep = |flags: u64, kept: u64| registers.flags & kept | flags & !kept;
    match instruction.action {
        Action::Fence | Action::Not => {}
        Action::Add => next.flags = sum(registers.flags, found, operand, size),
        Action::Sub => next.flags = difference(registers.flags, found, operand, size),
        Action::Increment => next.flags = keep(sum(registers.flags, found, 1, size), CARRY),
        Action::Decrement => next.flags = keep(difference(registers.flags, found, 1, size), CARRY),
        Action::And => next.flags = logic(registers.flags, found & operand, size),
        Action::Or => next.flags = logic(registers.flags, found | operand, size),
        Action::Xor => next.flags = logic(registers.flags, found ^ operand, size),
        Action::ExchangeAdd => {
            next.flags = sum(registers.flags, found, operand, size);
            put_source(instruction, &mut next, found);
        }
        Action::Exchange => put_source(instruction, &mut next, found),
        Action::CompareExchange => {
            let expected = cut(registers.general[RAX], size);
            next.flags = difference(registers.flags, expected, found, size);
            if expected != found {
                put(&mut next.general[RAX], found, size);
            }
        }
        Action::CompareExchangePair => {
            let equal = compared(instruction, registers).0 == old;
            next.flags = if equal { registers.flags | ZERO } else { registers.flags & !ZERO };
            if !equal {
                next.general[RAX] = found;
                next.general[RDX] = (old >> 64) as u64;
            }
        }
        Action::SetBit | Action::ClearBit | Action::FlipBit => {
            let was = found & bit(instruction, registers) != 0;
            next.flags = registers.flags & !CARRY | u64::from(was);
        }
    }
    next
}

fn put_source(instruction: &HiddenInstruction, registers: &mut Registers, value: u64) {
    if let Source::Register(number) = instruction.source {
        put(&mut registers.general[usize::from(number & 15)], value, instruction.size);
    }
}

/// Writes a part of a register: four bytes clear the others, less keeps them.
fn put(register: &mut u64, value: u64, size: u8) {
    *register = match size {
        8 => value,
        4 => cut(value, 4),
        _ => *register & !mask(size) | cut(value, size),
    };
}

fn mask(size: u8) -> u64 {
    if size >= 8 { u64::MAX } else { (1 << (8 * size)) - 1 }
}

fn cut(value: u64, size: u8) -> u64 {
    value & mask(size)
}

fn extended(value: u64, size: u8) -> i64 {
    let unused = 64 - 8 * u32::from(size.min(8));
    (value << unused) as i64 >> unused
}

fn sign(size: u8) -> u64 {
    1 << (8 * u32::from(size.min(8)) - 1)
}

/// The flags that tell of a result: zero, sign and parity.
fn result(flags: u64, value: u64, size: u8) -> u64 {
    let value = cut(value, size);
    let mut flags = flags & !(CARRY | PARITY | ADJUST | ZERO | SIGN | OVERFLOW);
    if value == 0 {
        flags |= ZERO;
    }
    if value & sign(size) != 0 {
        flags |= SIGN;
    }
    if (value as u8).count_ones().is_multiple_of(2) {
        flags |= PARITY;
    }
    flags
}

fn logic(flags: u64, value: u64, size: u8) -> u64 {
    result(flags, value, size)
}

fn sum(flags: u64, a: u64, b: u64, size: u8) -> u64 {
    let (a, b) = (cut(a, size), cut(b, size));
    let all = cut(a.wrapping_add(b), size);
    let mut flags = result(flags, all, size);
    if all < a {
        flags |= CARRY;
    }
    if (a ^ all) & (b ^ all) & sign(size) != 0 {
        flags |= OVERFLOW;
    }
    if (a ^ b ^ all) & 0x10 != 0 {
        flags |= ADJUST;
    }
    flags
}

fn difference(flags: u64, a: u64, b: u64, size: u8) -> u64 {
    let (a, b) = (cut(a, size), cut(b, size));
    let rest = cut(a.wrapping_sub(b), size);
    let mut flags = result(flags, rest, size);
    if a < b {
        flags |= CARRY;
    }
    if (a ^ b) & (a ^ rest) & sign(size) != 0 {
        flags |= OVERFLOW;
    }
    if (a ^ b ^ rest) & 0x10 != 0 {
        flags |= ADJUST;
    }
    flags
}
