//! What a test is compiled to: flat code for each thread, and where its variables are in the end.
//!
//! A thread has a file of *slots*, each an `i64` that holds a value as [`Int`] says: its private locations and
//! registers, then temporaries, then constants, which are there from the start and never written.

use crate::ast::{BinaryOp, UnaryOp};
use crate::error::Pos;
use crate::int::Int;
use fencepost_trace::{FenceOrder, LoadOrder, Location, RmwOrder, StoreOrder};
use std::fmt;
use std::ops::Range;

/// A cell of a thread's own.
pub(crate) type Slot = u32;

/// An instruction. Those with a `site` may hand control to the engine; the thread then waits *at* them, and the
/// reply completes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Insn {
    /// The first of every thread: the wait for the very first reply.
    Start {
        site: u32,
    },
    /// `dst = src`
    Copy {
        dst: Slot,
        src: Slot,
    },
    /// `dst = (ty) src`
    Convert {
        ty: Int,
        dst: Slot,
        src: Slot,
    },
    /// `dst = op a`
    Unary {
        op: UnaryOp,
        ty: Int,
        dst: Slot,
        a: Slot,
    },
    /// `dst = a op b`, neither division nor remainder
    Binary {
        op: BinaryOp,
        ty: Int,
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    /// `dst = a / b`, `dst = a % b`: a failure if `b` is 0
    Divide {
        op: BinaryOp,
        ty: Int,
        dst: Slot,
        a: Slot,
        b: Slot,
        site: u32,
    },
    /// Onwards: never to an earlier instruction.
    Jump {
        to: u32,
    },
    /// Onwards if `condition` is 0, or if it is not.
    Branch {
        condition: Slot,
        if_zero: bool,
        to: u32,
    },
    /// Back to the start of a loop. The only way back, so that endless loops are noticed here.
    Loop {
        to: u32,
        site: u32,
    },
    /// `dst` is what was read.
    Load {
        at: u32,
        order: LoadOrder,
        dst: Slot,
        site: u32,
    },
    Store {
        at: u32,
        order: StoreOrder,
        src: Slot,
        site: u32,
    },
    /// `dst` is what was there before.
    Rmw {
        at: u32,
        update: Rmw,
        order: RmwOrder,
        operand: Slot,
        dst: Slot,
        site: u32,
    },
    /// `dst` is whether it succeeded, and `dst + 1` what was read.
    CompareExchange {
        at: u32,
        expected: Slot,
        desired: Slot,
        success: RmwOrder,
        failure: LoadOrder,
        weak: bool,
        dst: Slot,
        site: u32,
    },
    Fence {
        order: FenceOrder,
        site: u32,
    },
    Exit {
        site: u32,
    },
}

/// How a read-modify-write makes the new value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rmw {
    Exchange,
    Add,
    Sub,
    And,
    Or,
    Xor,
}

/// What an instruction does with a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Read,
    Write,
}

impl Insn {
    /// Every slot it names. The second result of a compare-exchange, which comes with the first, is left out.
    pub fn for_each_slot(&mut self, mut visit: impl FnMut(&mut Slot, Role)) {
        match self {
            Insn::Start { .. } | Insn::Jump { .. } | Insn::Loop { .. } | Insn::Fence { .. } | Insn::Exit { .. } => {}
            Insn::Copy { dst, src } | Insn::Convert { dst, src, .. } => {
                visit(src, Role::Read);
                visit(dst, Role::Write);
            }
            Insn::Unary { dst, a, .. } => {
                visit(a, Role::Read);
                visit(dst, Role::Write);
            }
            Insn::Binary { dst, a, b, .. } | Insn::Divide { dst, a, b, .. } => {
                visit(a, Role::Read);
                visit(b, Role::Read);
                visit(dst, Role::Write);
            }
            Insn::Branch { condition, .. } => visit(condition, Role::Read),
            Insn::Load { dst, .. } => visit(dst, Role::Write),
            Insn::Store { src, .. } => visit(src, Role::Read),
            Insn::Rmw { operand, dst, .. } => {
                visit(operand, Role::Read);
                visit(dst, Role::Write);
            }
            Insn::CompareExchange { expected, desired, dst, .. } => {
                visit(expected, Role::Read);
                visit(desired, Role::Read);
                visit(dst, Role::Write);
            }
        }
    }

    /// Where it goes other than to the next instruction.
    pub fn target_mut(&mut self) -> Option<&mut u32> {
        match self {
            Insn::Jump { to } | Insn::Branch { to, .. } | Insn::Loop { to, .. } => Some(to),
            _ => None,
        }
    }

    /// Its program point, if a thread may wait at it.
    pub fn site(&self) -> Option<u32> {
        match *self {
            Insn::Start { site }
            | Insn::Divide { site, .. }
            | Insn::Loop { site, .. }
            | Insn::Load { site, .. }
            | Insn::Store { site, .. }
            | Insn::Rmw { site, .. }
            | Insn::CompareExchange { site, .. }
            | Insn::Fence { site, .. }
            | Insn::Exit { site } => Some(site),
            Insn::Copy { .. }
            | Insn::Convert { .. }
            | Insn::Unary { .. }
            | Insn::Binary { .. }
            | Insn::Jump { .. }
            | Insn::Branch { .. } => None,
        }
    }

    /// Does it access a shared location?
    pub fn is_access(&self) -> bool {
        matches!(self, Insn::Load { .. } | Insn::Store { .. } | Insn::Rmw { .. } | Insn::CompareExchange { .. })
    }

    /// Is it a plain access to a shared location?
    pub fn is_plain_access(&self) -> bool {
        matches!(self, Insn::Load { order: LoadOrder::Plain, .. } | Insn::Store { order: StoreOrder::Plain, .. })
    }
}

/// A program point at which a thread can stand between two operations.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub thread: u32,
    pub pos: Pos,
    /// Which of [`Code::live`] decide what the thread does from here on.
    pub live: Range<u32>,
}

/// A location of the program.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub at: Location,
    pub int: Int,
    pub initial: i64,
}

/// The code of one thread.
#[derive(Clone, Debug)]
pub(crate) struct ThreadCode {
    pub insns: Vec<Insn>,
    /// Its slots in the slots of all threads.
    pub slots: Range<usize>,
    /// How many of them, the first, are not constants.
    pub variables: u32,
}

/// A compiled test.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub file: String,
    pub threads: Vec<ThreadCode>,
    /// In the order of their addresses.
    pub cells: Vec<Cell>,
    pub sites: Vec<Site>,
    /// Slots, for the ranges in `sites`.
    pub live: Vec<Slot>,
    /// What the slots of all threads hold at the beginning.
    pub initial: Vec<i64>,
    pub vars: Vec<Var>,
    /// Where each of `vars` is in the end.
    pub homes: Vec<Home>,
}

/// Where a variable of the final state is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Home {
    /// In the slots of all threads.
    Slot(usize),
    /// In memory: an index into [`Code::cells`].
    Memory(usize),
    /// Nobody writes it.
    Constant(i64),
}

/// A component of the final state. Registers come before locations, by thread and name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Var {
    /// `0:r0`
    Register {
        /// The thread's number.
        thread: u32,
        /// The register's name.
        name: String,
    },
    /// `x`
    Location {
        /// The location's name.
        name: String,
    },
}

impl fmt::Display for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Var::Register { thread, name } => write!(f, "{thread}:{name}"),
            Var::Location { name } => f.write_str(name),
        }
    }
}
