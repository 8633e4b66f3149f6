//! Does a function without instrumentation touch memory that other threads may see?
//!
//! A function compiled without `-fsanitize=thread` (an attribute, another compiler, an assembler file) accesses
//! memory and announces nothing. A function that was compiled with it may call nothing of the interface either: one
//! whose accesses all concern its own stack, constants, or what it returns. To tell them apart, the addresses that the
//! function computes are followed from its entry through registers and the slots of its stack: what comes from the
//! stack pointer points to the stack, what comes from the address of a constant points to constants, and anything else
//! may point anywhere. The values of all paths that meet are merged, until nothing changes.
//!
//! Thread-local variables (`fs`) count as the thread's own.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};
use std::collections::BTreeMap;

/// The addresses of a module that nobody writes: constants, and the addresses that the loader has filled in.
#[derive(Clone, Default, Debug)]
pub(crate) struct Constants {
    /// From where to where.
    pub(crate) ranges: Vec<(u64, u64)>,
    /// Is the module always at the same place? Then a number in its code may be an address.
    pub(crate) fixed: bool,
}

impl Constants {
    fn contains(&self, address: u64) -> bool {
        self.ranges.iter().any(|&(start, end)| (start..end).contains(&address))
    }

    /// Is a number that stands in the code the address of a constant?
    fn names(&self, number: u64) -> bool {
        self.fixed && self.contains(number)
    }
}

/// What a register or a slot of the stack holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    /// An address in the function's stack, with its distance from the return address if that is known.
    Stack(Option<i64>),
    /// An address among the module's constants.
    Constant,
    /// Where the caller wants the result: the first argument of a function that returns a structure.
    Result,
    /// Anything else.
    Unknown,
}

impl Held {
    fn merged(self, other: Held) -> Held {
        match (self, other) {
            _ if self == other => self,
            (Held::Stack(_), Held::Stack(_)) => Held::Stack(None),
            _ => Held::Unknown,
        }
    }

    fn moved(self, by: Option<i64>) -> Held {
        match self {
            Held::Stack(at) => Held::Stack(at.zip(by).map(|(at, by)| at.wrapping_add(by))),
            other => other,
        }
    }
}

const RSP: usize = 4;
const RBP: usize = 5;
const RDI: usize = 7;
/// The registers that a called function may change, by number.
const SCRATCH: [usize; 9] = [0, 1, 2, 6, 7, 8, 9, 10, 11];

#[derive(Clone, PartialEq, Eq, Debug)]
struct State {
    registers: [Held; 16],
    slots: BTreeMap<i64, Held>,
}

impl State {
    fn at_entry() -> State {
        let mut registers = [Held::Unknown; 16];
        registers[RSP] = Held::Stack(Some(0));
        registers[RDI] = Held::Result;
        State { registers, slots: BTreeMap::new() }
    }

    fn merge(&mut self, other: &State) -> bool {
        let before = self.clone();
        for (held, other) in self.registers.iter_mut().zip(&other.registers) {
            *held = held.merged(*other);
        }
        self.slots.retain(|at, _| other.slots.contains_key(at));
        for (at, held) in &mut self.slots {
            *held = held.merged(other.slots[at]);
        }
        *self != before
    }

    fn get(&self, register: Register) -> Held {
        match number(register) {
            Some(number) if register.size() == 8 => self.registers[number],
            _ => Held::Unknown,
        }
    }

    fn set(&mut self, register: Register, held: Held) {
        if let Some(number) = number(register) {
            self.registers[number] = held;
        }
    }

    /// What an address is that is computed from a base, an index and a distance.
    fn address(&self, instruction: &Instruction, constants: &Constants) -> Held {
        if instruction.is_ip_rel_memory_operand() {
            let known = constants.contains(instruction.ip_rel_memory_address());
            return if known { Held::Constant } else { Held::Unknown };
        }
        let (base, index) = (instruction.memory_base(), instruction.memory_index());
        let distance = instruction.memory_displacement64();
        if base == Register::None {
            let single = index != Register::None && instruction.memory_index_scale() == 1;
            return match self.get(index) {
                held @ (Held::Stack(_) | Held::Constant | Held::Result) if single => held.moved(None),
                _ if constants.names(distance) => Held::Constant,
                _ => Held::Unknown,
            };
        }
        let by = (index == Register::None).then_some(distance as i64);
        match (self.get(base), self.get(index)) {
            // Of a sum one part is the address, and it may be the second.
            (Held::Unknown, held) if held != Held::Unknown && instruction.memory_index_scale() == 1 => held.moved(None),
            // In a program at a fixed address a table may be the distance.
            (Held::Unknown, _) if constants.names(distance) => Held::Constant,
            (held, _) => held.moved(by),
        }
    }

    fn push(&mut self, held: Held) {
        self.registers[RSP] = self.registers[RSP].moved(Some(-8));
        if let Held::Stack(Some(at)) = self.registers[RSP] {
            self.slots.insert(at, held);
        }
    }

    fn pop(&mut self) -> Held {
        let held = self.load(self.registers[RSP]);
        self.registers[RSP] = self.registers[RSP].moved(Some(8));
        held
    }

    fn load(&self, address: Held) -> Held {
        match address {
            Held::Stack(Some(at)) => self.slots.get(&at).copied().unwrap_or(Held::Unknown),
            _ => Held::Unknown,
        }
    }

    fn store(&mut self, address: Held, size: usize, held: Held) {
        if let Held::Stack(Some(at)) = address {
            let size = size as i64;
            self.slots.retain(|slot, _| *slot + 8 <= at || at + size <= *slot);
            if size == 8 {
                self.slots.insert(at, held);
            }
        }
    }

    /// Goes on behind an instruction.
    fn step(&mut self, instruction: &Instruction, constants: &Constants, factory: &mut InstructionInfoFactory) {
        let (op0, op1) = (instruction.op0_kind(), instruction.op1_kind());
        let register = instruction.op0_register();
        match instruction.mnemonic() {
            Mnemonic::Mov if op0 == OpKind::Register => {
                let held = match op1 {
                    OpKind::Register => self.get(instruction.op1_register()),
                    OpKind::Memory => self.load(self.address(instruction, constants)),
                    _ => match instruction.try_immediate(1) {
                        Ok(value) if constants.names(value) => Held::Constant,
                        _ => Held::Unknown,
                    },
                };
                self.set(register, held);
            }
            Mnemonic::Mov if op0 == OpKind::Memory => {
                let held = if op1 == OpKind::Register { self.get(instruction.op1_register()) } else { Held::Unknown };
                self.store(self.address(instruction, constants), instruction.memory_size().size(), held);
            }
            Mnemonic::Lea => self.set(register, self.address(instruction, constants)),
            Mnemonic::Push => {
                let held = if op0 == OpKind::Register { self.get(register) } else { Held::Unknown };
                self.push(held);
            }
            Mnemonic::Pop if op0 == OpKind::Register => {
                let held = self.pop();
                self.set(register, held);
            }
            Mnemonic::Leave => {
                self.registers[RSP] = self.registers[RBP];
                self.registers[RBP] = self.pop();
            }
            Mnemonic::Add | Mnemonic::Sub if op0 == OpKind::Register && register.size() == 8 => {
                let held = self.get(register);
                let other = if op1 == OpKind::Register { self.get(instruction.op1_register()) } else { Held::Unknown };
                let by = instruction.try_immediate(1).ok().map(|value| value as i64);
                let by = if instruction.mnemonic() == Mnemonic::Sub { by.map(i64::wrapping_neg) } else { by };
                // A difference of two addresses is a number.
                let sum = match (held, other) {
                    (Held::Unknown, other) if instruction.mnemonic() == Mnemonic::Add => other.moved(None),
                    (held, Held::Unknown) => held.moved(by),
                    _ => Held::Unknown,
                };
                self.set(register, sum);
            }
            // The stack is aligned; the slots stay where they are to each other.
            Mnemonic::And if register == Register::RSP => {}
            Mnemonic::Inc | Mnemonic::Dec if op0 == OpKind::Register => {
                self.set(register, self.get(register).moved(None));
            }
            _ if matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall) => {
                SCRATCH.iter().for_each(|scratch| self.registers[*scratch] = Held::Unknown);
            }
            _ if instruction.mnemonic() == Mnemonic::Cmp || instruction.mnemonic() == Mnemonic::Test => {}
            _ => {
                let strings = instruction.is_string_instruction();
                for used in factory.info(instruction).used_registers() {
                    let writes = matches!(
                        used.access(),
                        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
                    );
                    let Some(number) = number(used.register()).filter(|_| writes) else { continue };
                    // Instructions on strings advance their addresses.
                    let held = if strings { self.registers[number].moved(None) } else { Held::Unknown };
                    if number != RSP {
                        self.registers[number] = held;
                    }
                }
                if op0 == OpKind::Memory {
                    let address = self.address(instruction, constants);
                    self.store(address, instruction.memory_size().size(), Held::Unknown);
                }
            }
        }
    }

    /// Does an instruction access memory that may be anyone's?
    fn touches(&self, instruction: &Instruction, constants: &Constants, result: bool) -> bool {
        use Mnemonic::{Endbr64, Lea, Nop, Prefetchnta, Prefetcht0, Prefetcht1, Prefetcht2, Prefetchw};
        let silent = [Lea, Nop, Endbr64, Prefetchnta, Prefetcht0, Prefetcht1, Prefetcht2, Prefetchw];
        let no_access = silent.contains(&instruction.mnemonic())
            || instruction.flow_control() != FlowControl::Next
            || [Register::FS, Register::GS].contains(&instruction.segment_prefix());
        let shared = |held| match held {
            Held::Stack(_) | Held::Constant => false,
            Held::Result => !result,
            Held::Unknown => true,
        };
        !no_access
            && (0..instruction.op_count()).any(|operand| match instruction.op_kind(operand) {
                OpKind::Memory => shared(self.address(instruction, constants)),
                OpKind::MemorySegRSI => shared(self.get(Register::RSI)),
                OpKind::MemoryESRDI => shared(self.get(Register::RDI)),
                _ => false,
            })
    }
}

/// The processor's number of a general register.
fn number(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register().number())
}

/// Longer functions are not followed: that they consist of nothing but their own stack is out of the question.
const LONGEST: usize = 1 << 15;

/// Does this function, which calls nothing of the interface, touch memory that others may see? `except`: the
/// instructions that are accounted for otherwise. `result`: may it write what it returns where its caller wants it, as
/// an instrumented function does without a word?
pub(crate) fn touches_shared_memory(
    start: u64,
    code: &[u8],
    constants: &Constants,
    except: impl Fn(u64) -> bool,
    result: bool,
) -> bool {
    if code.len() > LONGEST {
        return true;
    }
    let instructions: Vec<Instruction> = Decoder::with_ip(64, code, start, DecoderOptions::NONE).into_iter().collect();
    let index: BTreeMap<u64, usize> = instructions.iter().enumerate().map(|(i, it)| (it.ip(), i)).collect();
    let mut factory = InstructionInfoFactory::new();
    let mut states: Vec<Option<State>> = vec![None; instructions.len()];
    let returns = result && returns_an_address(&instructions);
    let mut open = Vec::new();
    if let Some(first) = states.first_mut() {
        *first = Some(State::at_entry());
        open.push(0);
    }
    while let Some(at) = open.pop() {
        let (instruction, mut state) = (&instructions[at], states[at].clone().expect("an open one has a state"));
        if instruction.code() == Code::INVALID {
            continue;
        }
        if !except(instruction.ip()) && state.touches(instruction, constants, returns) {
            return true;
        }
        state.step(instruction, constants, &mut factory);
        let target = || index.get(&instruction.near_branch_target()).copied();
        let next = (at + 1 < instructions.len()).then_some(at + 1);
        let after: Vec<usize> = match instruction.flow_control() {
            FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => next.into_iter().collect(),
            FlowControl::UnconditionalBranch => target().into_iter().collect(),
            FlowControl::ConditionalBranch => next.into_iter().chain(target()).collect(),
            // To the cases of a switch, which stand behind other jumps.
            FlowControl::IndirectBranch => (1..instructions.len()).filter(|i| ends(&instructions[i - 1])).collect(),
            _ => Vec::new(),
        };
        for next in after {
            let changed = match &mut states[next] {
                Some(known) => known.merge(&state),
                unknown => {
                    *unknown = Some(state.clone());
                    true
                }
            };
            if changed {
                open.push(next);
            }
        }
    }
    false
}

/// Does nothing follow an instruction but what is jumped to?
fn ends(instruction: &Instruction) -> bool {
    use FlowControl::{IndirectBranch, Return, UnconditionalBranch};
    matches!(instruction.flow_control(), IndirectBranch | Return | UnconditionalBranch)
}

/// Does a function hand an address back wherever it returns, as one does that returns a structure? What it does last to
/// rax is to load it for that, and it accesses nothing through it afterwards.
fn returns_an_address(instructions: &[Instruction]) -> bool {
    let loads = |it: &Instruction| {
        matches!(it.mnemonic(), Mnemonic::Mov | Mnemonic::Lea | Mnemonic::Pop)
            && it.op0_kind() == OpKind::Register
            && it.op0_register() == Register::RAX
    };
    let ends = instructions.iter().enumerate().filter(|(_, it)| it.flow_control() == FlowControl::Return);
    let mut any = false;
    for (end, _) in ends {
        let before = instructions[..end].iter().rposition(loads);
        let uses = |it: &Instruction| it.memory_base() == Register::RAX || it.memory_index() == Register::RAX;
        match before {
            Some(load) if !instructions[load + 1..end].iter().any(uses) => any = true,
            _ => return false,
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Constants from 0x2000 to 0x3000; the function begins at 0x1000.
    fn touches(code: &[u8], fixed: bool, result: bool) -> bool {
        let constants = Constants { ranges: vec![(0x2000, 0x3000)], fixed };
        touches_shared_memory(0x1000, code, &constants, |_| false, result)
    }

    #[test]
    fn own_stack_constants_and_result_are_nobody_elses() {
        // push %rbp; mov %rsp,%rbp; movl $1,-4(%rbp); lea -4(%rbp),%rax; mov (%rax),%eax; pop %rbp; ret
        let stack =
            [0x55, 0x48, 0x89, 0xe5, 0xc7, 0x45, 0xfc, 1, 0, 0, 0, 0x48, 0x8d, 0x45, 0xfc, 0x8b, 0x00, 0x5d, 0xc3];
        assert!(!touches(&stack, false, false));
        // mov 0xffa(%rip),%eax (0x2000); ret
        assert!(!touches(&[0x8b, 0x05, 0xfa, 0x0f, 0, 0, 0xc3], false, false));
        // lea 0xff9(%rip),%rax (0x2000); mov (%rax,%rdi,4),%eax; ret
        assert!(!touches(&[0x48, 0x8d, 0x05, 0xf9, 0x0f, 0, 0, 0x8b, 0x04, 0xb8, 0xc3], false, false));
        // mov %rdi,%rax; movl $1,(%rdi); ret: a structure that is returned, or a store through the first argument
        let result = [0x48, 0x89, 0xf8, 0xc7, 0x07, 1, 0, 0, 0, 0xc3];
        assert!(!touches(&result, false, true));
        assert!(touches(&result, false, false));
        // The same through a slot of the stack, without optimisation: mov %rdi,-8(%rsp); mov -8(%rsp),%rax;
        // movl $1,(%rax); mov -8(%rsp),%rax; ret
        let slot = [0x48, 0x89, 0x7c, 0x24, 0xf8, 0x48, 0x8b, 0x44, 0x24, 0xf8, 0xc7, 0x00, 1, 0, 0, 0];
        let load = [0x48, 0x8b, 0x44, 0x24, 0xf8];
        assert!(!touches(&[&slot[..], &load, &[0xc3]].concat(), false, true));
        // A function that returns nothing and stores through its first argument.
        assert!(touches(&[&slot[..], &[0xc3]].concat(), false, true));
    }

    #[test]
    fn anything_else_may_be() {
        // mov (%rsi),%eax; ret
        assert!(touches(&[0x8b, 0x06, 0xc3], false, true));
        // movl $1,0x2ff6(%rip) (0x4000); ret
        assert!(touches(&[0xc7, 0x05, 0xf6, 0x2f, 0, 0, 1, 0, 0, 0, 0xc3], false, true));
        // mov %fs:0x28,%rax; ret
        assert!(!touches(&[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0, 0xc3], false, false));
        // mov 0x2010(%rdi),%eax; ret: a table of a program at a fixed address, a member of a structure elsewhere
        let member = [0x8b, 0x87, 0x10, 0x20, 0, 0, 0xc3];
        assert!(touches(&member, false, false));
        assert!(!touches(&[0x8b, 0x86, 0x10, 0x20, 0, 0, 0xc3], true, false));
        // test %edi,%edi; je +4; lea -8(%rsp),%rsi (5 bytes): what two paths leave is what both have
        let merged = [0x85, 0xff, 0x74, 0x05, 0x48, 0x8d, 0x74, 0x24, 0xf8, 0x8b, 0x06, 0xc3];
        assert!(touches(&merged, false, false));
    }
}
