//! Atomic instructions that no instrumentation announces: inline assembly, and Rust's standard library.
//!
//! The host has found and decoded them ([`HiddenCode`]). Here each becomes an instruction that the processor refuses
//! (`ud2`), and the handler of that signal has the engine perform it as if the program had called a hook: memory gets
//! what the engine says, registers and flags what the processor would have left there. The thread may wait in the
//! handler while others run, since handlers run on its own stack; the stack pointer and the registers of the program
//! are in the handler's context, the 128 bytes below the stack pointer, which leaf functions use, are skipped by the
//! kernel.
//!
//! In inline assembly a locked instruction is a full barrier, since that is what the processor makes of it: under c11
//! there is a fence before and behind it. Instructions of Rust's standard library that count are performed in
//! explorations only, where their order matters; in a random execution they are noticed afterwards (see
//! [`outside`](crate::drive::control)).

use crate::drive::{control, ending, explored};
use crate::hooks::{at_work, atomics, unannounced};
use crate::platform::global::{self, Global, mode};
use crate::platform::{modules, patches, real};
use fencepost_mailbox::{Action, HiddenCode, HiddenInstruction, Request};
use fencepost_runtime_core::instruction::{Registers, address, after, bit, compared, operand, register};
use fencepost_trace::{Access, CampaignSpec, FenceOrder, Location, Op, Size, StrategySpec, Update, Value};
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// An instruction that was replaced.
struct Replaced {
    pc: usize,
    /// What has to be added to addresses of its file.
    start: usize,
    what: HiddenInstruction,
}

/// In the order of their addresses.
static REPLACED: Global<Vec<Replaced>> = Global::new(Vec::new());

/// Below the stack pointer a function that calls none may have this much.
const RED_ZONE: usize = 128;

/// Replaces the instructions that the engine is to perform.
pub fn prepare(request: &Request) {
    let explores =
        matches!(request.campaign, CampaignSpec::Explore { .. } | CampaignSpec::Repeat(StrategySpec::Graph { .. }));
    for HiddenCode { module, instructions, .. } in &request.hidden {
        let Some(start) = modules::start_of(module) else { continue };
        for what in instructions.iter().filter(|what| what.barrier || explores) {
            let pc = start.wrapping_add(what.offset as usize);
            // A function that is led elsewhere begins with other code.
            if patches::replace(pc, what.code, patches::REFUSED) {
                REPLACED.enter().push(Replaced { pc, start, what: *what });
            }
        }
    }
    REPLACED.enter().sort_unstable_by_key(|replaced| replaced.pc);
    if explores {
        unannounced::prepare(request);
    }
    // SAFETY: the handler has the signature that SA_SIGINFO asks for. Threads wait in it, each on its own stack, and
    // may leave it for another one: so no SA_ONSTACK, and SA_NODEFER.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = refused as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        real::sigaction(libc::SIGILL, &action);
    }
}

/// What the kernel calls at an instruction that the processor refuses.
extern "C" fn refused(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands it over, and nobody else looks at it.
    let registers: &mut libc::ucontext_t = unsafe { &mut *context.cast() };
    let pc = registers.uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
    if !perform(registers) && !unannounced::entered(pc) {
        ending::handle(signal, info, context);
    }
}

/// The program was refused an instruction. Performs it, if it is one of those that were replaced.
fn perform(context: &mut libc::ucontext_t) -> bool {
    let pc = context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
    let Ok(at) = REPLACED.enter().binary_search_by_key(&pc, |replaced| replaced.pc) else { return false };
    let Replaced { start, what, .. } = REPLACED.enter()[at];
    let registers = registers_of(context);
    let next = pc + usize::from(what.length);
    if global::active() {
        global::set_caller(next, (registers.general[register::RSP] as usize).wrapping_sub(RED_ZONE));
        global::set_caller_registers(local_state(&registers));
        global::CALLER_ASKS.store(0, Relaxed);
    }
    let old = act(&what, &registers, start);
    let after = after(&what, &registers, old);
    for (value, name) in after.general.iter().zip(NAMES) {
        context.uc_mcontext.gregs[name as usize] = *value as i64;
    }
    context.uc_mcontext.gregs[libc::REG_EFL as usize] = after.flags as i64;
    context.uc_mcontext.gregs[libc::REG_RIP as usize] = next as i64;
    true
}

/// The names of the registers in a handler's context, in the processor's order.
const NAMES: [i32; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

fn registers_of(context: &libc::ucontext_t) -> Registers {
    let register = |name: i32| context.uc_mcontext.gregs[name as usize] as u64;
    Registers { general: NAMES.map(register), flags: register(libc::REG_EFL) }
}

/// All registers, in the place of those that a call preserves: an instruction is no call, so that any may matter.
fn local_state(registers: &Registers) -> [usize; 6] {
    let mut others = FxHasher::default();
    registers.general.iter().for_each(|register| others.write_u64(*register));
    others.write_u64(registers.flags);
    let [.., rbx, _, rbp, _, _] = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| registers.general[i] as usize);
    let [r12, r13, r14, r15] = [12, 13, 14, 15].map(|i| registers.general[i] as usize);
    [rbx ^ others.finish() as usize, rbp, r12, r13, r14, r15]
}

/// Has it done, and says what memory held before.
fn act(what: &HiddenInstruction, registers: &Registers, start: usize) -> u128 {
    if what.action == Action::Fence {
        fence();
        return 0;
    }
    let address = address(what, registers, start as u64);
    let Ok(size) = Size::try_from(what.size) else { return 0 };
    let at = Location::new(address, size);
    let order = if what.barrier { SEQ_CST } else { ACQ_REL };
    let surrounds = what.barrier && global::active() && is_language();
    if surrounds {
        fence();
    }
    let value = |value: u64| Value(value.into());
    let all = size.truncate(u128::MAX);
    let update = match what.action {
        Action::Add | Action::ExchangeAdd => Some(Update::Add(value(operand(what, registers)))),
        Action::Sub => Some(Update::Sub(value(operand(what, registers)))),
        Action::And => Some(Update::And(value(operand(what, registers)))),
        Action::Or => Some(Update::Or(value(operand(what, registers)))),
        Action::Xor => Some(Update::Xor(value(operand(what, registers)))),
        Action::Not => Some(Update::Xor(all)),
        Action::Increment => Some(Update::Add(value(1))),
        Action::Decrement => Some(Update::Sub(value(1))),
        Action::Exchange => Some(Update::Exchange(value(operand(what, registers)))),
        Action::SetBit => Some(Update::Or(value(bit(what, registers)))),
        Action::ClearBit => Some(Update::And(Value(all.0 & !u128::from(bit(what, registers))))),
        Action::FlipBit => Some(Update::Xor(value(bit(what, registers)))),
        Action::CompareExchange | Action::CompareExchangePair | Action::Fence => None,
    };
    let old = match update {
        Some(update) => atomics::update(at, update, order),
        None => {
            let (expected, desired) = compared(what, registers);
            atomics::compare_exchange(at, Value(expected), Value(desired), (order, order), false).1
        }
    };
    if surrounds {
        fence();
    }
    old.0
}

// The compiler's numbers for memory orders.
const ACQ_REL: i32 = 4;
const SEQ_CST: i32 = 5;

/// Is the model c11, where an atomic operation alone is no full barrier?
fn is_language() -> bool {
    if explored::is_on() { explored::is_language() } else { global::kind() == mode::LANGUAGE }
}

fn fence() {
    if global::active() {
        at_work(|| control::perform(Op::Access(Access::Fence { order: FenceOrder::SeqCst })));
    } else {
        std::sync::atomic::fence(SeqCst);
    }
}

/// Does the program have instructions that were replaced? Then their signal is not the program's to handle.
pub fn any() -> bool {
    !REPLACED.enter().is_empty() || unannounced::any()
}
