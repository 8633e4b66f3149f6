//! A compiled test as a program for the engine.

use crate::code::{Code, Home, Insn, Rmw, ThreadCode, Var};
use crate::compile::{FIRST_ADDRESS, SPACING};
use fencepost_engine::Threads;
use fencepost_trace::{Access, Failure, Guard, Label, Location, Op, Reply, ThreadId, Update, Value};
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::sync::Arc;

/// After so many rounds of loops without an operation a thread gives way, so that the engine's limit of steps
/// ends a loop that never does anything.
const MOST_LOCAL_ROUNDS: u32 = 1_000;

/// Where a thread is.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    /// The instruction that waits for the next reply.
    pc: u32,
    /// The program point of its last operation.
    site: u32,
}

/// A litmus test that can be run: the threads' code, which clones share, and their state.
///
/// All threads exist from the start and none creates others. Shared locations are 16 bytes apart from address
/// 0x1000 on, in the order in which the file first mentions them.
#[derive(Clone, Debug)]
pub struct LitmusProgram {
    code: Arc<Code>,
    cursors: Vec<Cursor>,
    /// The slots of all threads.
    slots: Vec<i64>,
    local_limit_hit: bool,
    /// The shared locations among the components of a final state.
    observed: Vec<Location>,
}

impl LitmusProgram {
    pub(crate) fn new(code: Arc<Code>) -> LitmusProgram {
        let cursors = vec![Cursor { pc: 0, site: 0 }; code.threads.len()];
        let slots = code.initial.clone();
        let shared = |home: &Home| match *home {
            Home::Memory(index) => Some(code.cells[index].at),
            Home::Slot(_) | Home::Constant(_) => None,
        };
        let observed = code.homes.iter().filter_map(shared).collect();
        let mut program = LitmusProgram { code, cursors, slots, local_limit_hit: false, observed };
        program.start();
        program
    }

    /// The components of a final state, in order: registers by thread and name, then locations by name.
    pub fn vars(&self) -> &[Var] {
        &self.code.vars
    }

    /// The final state in the order of [`vars`](Self::vars), once all threads have ended. `final_value` has the
    /// contents of memory.
    pub fn state(&self, final_value: impl Fn(Location) -> Value) -> Vec<i64> {
        let value = |home: &Home| match *home {
            Home::Slot(slot) => self.slots[slot],
            Home::Constant(value) => value,
            Home::Memory(index) => {
                let cell = &self.code.cells[index];
                cell.int.wrap(final_value(cell.at).0 as i64)
            }
        };
        self.code.homes.iter().map(value).collect()
    }

    /// Does some thread access a shared location plainly? Without that there can be no data race.
    pub fn uses_plain_shared(&self) -> bool {
        self.code.threads.iter().flat_map(|thread| &thread.insns).any(Insn::is_plain_access)
    }

    /// Did a thread, since the start, go around loops so long without an operation that it gave way? If the
    /// execution then ends by the limit of steps, this may be why.
    pub fn local_limit_hit(&self) -> bool {
        self.local_limit_hit
    }
}

impl Threads for LitmusProgram {
    fn start(&mut self) -> u32 {
        self.slots.copy_from_slice(&self.code.initial);
        for (cursor, thread) in self.cursors.iter_mut().zip(&self.code.threads) {
            *cursor = Cursor { pc: 0, site: thread.insns[0].site().unwrap_or(0) };
        }
        self.local_limit_hit = false;
        self.cursors.len() as u32
    }

    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        let code = &*self.code;
        let ThreadCode { insns, slots, .. } = &code.threads[thread.index()];
        let cursor = &mut self.cursors[thread.index()];
        let slots = &mut self.slots[slots.clone()];
        let mut pc = complete(code, insns, cursor.pc as usize, slots, reply);
        let mut rounds = 0;
        let (op, site) = loop {
            match insns[pc] {
                Insn::Copy { dst, src } => slots[dst as usize] = slots[src as usize],
                Insn::Convert { ty, dst, src } => slots[dst as usize] = ty.wrap(slots[src as usize]),
                Insn::Unary { op, ty, dst, a } => slots[dst as usize] = ty.unary(op, slots[a as usize]),
                Insn::Binary { op, ty, dst, a, b } => {
                    // `None` is for division, which is another instruction.
                    slots[dst as usize] = ty.binary(op, slots[a as usize], slots[b as usize]).unwrap_or(0);
                }
                Insn::Divide { op, ty, dst, a, b, site } => match ty.binary(op, slots[a as usize], slots[b as usize]) {
                    Some(quotient) => slots[dst as usize] = quotient,
                    None => break (Op::Fail(Failure::Crash), site),
                },
                Insn::Jump { to } => {
                    pc = to as usize;
                    continue;
                }
                Insn::Branch { condition, if_zero, to } => {
                    if (slots[condition as usize] == 0) == if_zero {
                        pc = to as usize;
                        continue;
                    }
                }
                Insn::Loop { to, site } => {
                    if rounds == MOST_LOCAL_ROUNDS {
                        self.local_limit_hit = true;
                        break (Op::Yield, site);
                    }
                    rounds += 1;
                    pc = to as usize;
                    continue;
                }
                // Only `complete` goes past the start.
                Insn::Start { .. } => {}
                insn @ (Insn::Load { site, .. }
                | Insn::Store { site, .. }
                | Insn::Rmw { site, .. }
                | Insn::CompareExchange { site, .. }
                | Insn::Fence { site, .. }
                | Insn::Exit { site }) => break (operation(code, insn, slots), site),
            }
            pc += 1;
        };
        *cursor = Cursor { pc: pc as u32, site };
        op
    }

    fn initial(&self, at: Location) -> Value {
        let Some(offset) = at.address.checked_sub(FIRST_ADDRESS) else { return Value::ZERO };
        match self.code.cells.get((offset / SPACING) as usize) {
            Some(cell) => {
                let bits = cell.at.size.truncate(cell.initial as u128).0 >> (8 * (offset % SPACING));
                at.size.truncate(bits)
            }
            None => Value::ZERO,
        }
    }

    fn observed(&self) -> &[Location] {
        &self.observed
    }

    fn label(&self, thread: ThreadId) -> u32 {
        self.cursors[thread.index()].site
    }

    fn describe(&self, label: u32) -> Label {
        let Some(site) = self.code.sites.get(label as usize) else { return Label::default() };
        Label {
            function: format!("P{}", site.thread),
            file: self.code.file.clone(),
            line: site.pos.line,
            column: site.pos.column,
        }
    }

    fn digest(&self, thread: ThreadId) -> Option<u64> {
        let Cursor { pc, site } = self.cursors[thread.index()];
        let live = &self.code.sites[site as usize].live;
        let slots = &self.slots[self.code.threads[thread.index()].slots.clone()];
        let mut hasher = FxHasher::default();
        hasher.write_u32(pc);
        for &slot in &self.code.live[live.start as usize..live.end as usize] {
            hasher.write_u64(slots[slot as usize] as u64);
        }
        Some(hasher.finish())
    }
}

/// Lets the instruction that waits have its reply; the next one to run.
fn complete(code: &Code, insns: &[Insn], pc: usize, slots: &mut [i64], reply: Reply) -> usize {
    let read = |at: u32| code.cells[at as usize].int.wrap(reply.value.0 as i64);
    match insns[pc] {
        Insn::Load { at, dst, .. } | Insn::Rmw { at, dst, .. } => slots[dst as usize] = read(at),
        Insn::CompareExchange { at, dst, .. } => {
            slots[dst as usize] = reply.success as i64;
            slots[dst as usize + 1] = read(at);
        }
        Insn::Loop { to, .. } => return to as usize,
        // A thread that has ended or failed stays where it is, should anyone resume it.
        Insn::Exit { .. } | Insn::Divide { .. } => return pc,
        _ => {}
    }
    pc + 1
}

/// What an instruction asks of the engine.
fn operation(code: &Code, insn: Insn, slots: &[i64]) -> Op {
    let location = |at: u32| code.cells[at as usize].at;
    // Sign extension and cut: the low bytes are the same either way.
    let value = |at: u32, slot: u32| location(at).size.truncate(slots[slot as usize] as u128);
    let guard = Guard::Any;
    Op::Access(match insn {
        Insn::Load { at, order, .. } => Access::Load { at: location(at), order, guard },
        Insn::Store { at, order, src, .. } => Access::Store { at: location(at), order, value: value(at, src) },
        Insn::Rmw { at, update, order, operand, .. } => {
            let operand = value(at, operand);
            let update = match update {
                Rmw::Exchange => Update::Exchange(operand),
                Rmw::Add => Update::Add(operand),
                Rmw::Sub => Update::Sub(operand),
                Rmw::And => Update::And(operand),
                Rmw::Or => Update::Or(operand),
                Rmw::Xor => Update::Xor(operand),
            };
            Access::Rmw { at: location(at), order, update, guard }
        }
        Insn::CompareExchange { at, expected, desired, success, failure, weak, .. } => Access::CompareExchange {
            at: location(at),
            expected: value(at, expected),
            desired: value(at, desired),
            success,
            failure,
            weak,
            guard,
        },
        Insn::Fence { order, .. } => Access::Fence { order },
        _ => return Op::Exit,
    })
}
