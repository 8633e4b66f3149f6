//! The state of compiling one thread: scopes, slots, jumps.

use super::layout::{Layout, Sharing};
use crate::ast::{Symbol, Test, Thread};
use crate::code::{Insn, Role, Site, Slot};
use crate::error::{Pos, Result};
use crate::int::Int;
use crate::lexer::clip;
use rustc_hash::FxHashMap;

/// Temporaries and constants are numbered from here until it is known how many registers come before them.
const TEMPORARY: Slot = 1 << 31;
const CONSTANT: Slot = 1 << 30;

/// A value in a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub slot: Slot,
    pub ty: Int,
    /// What it is, if it is a constant.
    pub constant: Option<i64>,
}

/// A register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Register {
    pub slot: Slot,
    pub ty: Int,
    visible: bool,
}

/// Where `*x` goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// A location that is the thread's own.
    Private { slot: Slot, ty: Int },
    /// An index into the cells.
    Shared { at: u32, ty: Int, atomic: bool },
}

/// The instructions that leave a loop, or its round, to be told where that is.
#[derive(Default)]
pub(super) struct LoopExits {
    pub breaks: Vec<usize>,
    pub continues: Vec<usize>,
}

/// What is left of the thread when it is compiled.
pub(super) struct Compiled {
    pub insns: Vec<Insn>,
    /// What its slots hold at the beginning.
    pub initial: Vec<i64>,
    /// How many of the slots are not constants.
    pub variables: u32,
    /// Registers by name, and private locations by theirs: slot and type.
    pub registers: Registers,
}

pub(super) struct Registers {
    pub by_name: FxHashMap<Symbol, (Slot, Int)>,
    pub private: FxHashMap<usize, Slot>,
}

pub(super) struct ThreadCompiler<'t> {
    pub test: &'t Test,
    pub thread: &'t Thread,
    number: u32,
    pub insns: Vec<Insn>,
    sites: &'t mut Vec<Site>,
    targets: FxHashMap<Symbol, Target>,
    private: FxHashMap<usize, Slot>,
    registers: FxHashMap<Symbol, Register>,
    /// The registers that each open block declares.
    scopes: Vec<Vec<Symbol>>,
    /// What registers and private locations hold at the beginning.
    initial: Vec<i64>,
    /// How many temporaries are in use.
    temporaries: u32,
    most_temporaries: u32,
    constants: Vec<i64>,
    constant_slots: FxHashMap<i64, Slot>,
    pub loops: Vec<LoopExits>,
    pub returns: Vec<usize>,
    /// The last instruction that a jump goes to: what comes before it has not always run.
    last_target: usize,
}

impl<'t> ThreadCompiler<'t> {
    pub fn new(test: &'t Test, layout: &Layout, number: usize, sites: &'t mut Vec<Site>) -> Result<Self> {
        let thread = &test.threads[number];
        let mut compiler = ThreadCompiler {
            test,
            thread,
            number: number as u32,
            insns: Vec::new(),
            sites,
            targets: FxHashMap::default(),
            private: FxHashMap::default(),
            registers: FxHashMap::default(),
            scopes: vec![Vec::new()],
            initial: Vec::new(),
            temporaries: 0,
            most_temporaries: 0,
            constants: Vec::new(),
            constant_slots: FxHashMap::default(),
            loops: Vec::new(),
            returns: Vec::new(),
            last_target: 0,
        };
        for param in &thread.params {
            let Some(index) = layout.find(param.name) else { continue };
            let place = &layout.places[index];
            let target = match place.sharing {
                Sharing::Private(owner) if owner == number => {
                    let slot = compiler.initial.len() as Slot;
                    compiler.initial.push(place.initial);
                    compiler.private.insert(index, slot);
                    Target::Private { slot, ty: place.ty.int }
                }
                _ => Target::Shared { at: index as u32, ty: place.ty.int, atomic: place.ty.atomic },
            };
            if compiler.targets.insert(param.name, target).is_some() {
                let name = clip(test.names.text(param.name));
                return Err(param.pos.error(format!("`{name}` is a parameter already")));
            }
        }
        Ok(compiler)
    }

    /// Compiles the whole thread.
    pub fn thread(mut self) -> Result<Compiled> {
        let site = self.site(self.thread.pos);
        self.insns.push(Insn::Start { site });
        self.statements(&self.thread.body)?;
        for jump in std::mem::take(&mut self.returns) {
            self.land(jump);
        }
        let site = self.site(self.thread.end);
        self.insns.push(Insn::Exit { site });
        Ok(self.link())
    }

    /// Gives temporaries and constants their final slots, behind the registers.
    fn link(mut self) -> Compiled {
        let temporaries = self.initial.len() as Slot;
        let constants = temporaries + self.most_temporaries;
        for insn in &mut self.insns {
            insn.for_each_slot(|slot, _| {
                if *slot & TEMPORARY != 0 {
                    *slot = temporaries + (*slot & !TEMPORARY);
                } else if *slot & CONSTANT != 0 {
                    *slot = constants + (*slot & !CONSTANT);
                }
            });
        }
        self.initial.resize(constants as usize, 0);
        self.initial.extend(&self.constants);
        let by_name = self.registers.iter().map(|(name, register)| (*name, (register.slot, register.ty))).collect();
        Compiled {
            insns: self.insns,
            initial: self.initial,
            variables: constants,
            registers: Registers { by_name, private: self.private },
        }
    }

    pub fn name(&self, symbol: Symbol) -> String {
        clip(self.test.names.text(symbol))
    }

    // Scopes.

    pub fn open_scope(&mut self) {
        self.scopes.push(Vec::new());
    }

    pub fn close_scope(&mut self) {
        for name in self.scopes.pop().unwrap_or_default() {
            if let Some(register) = self.registers.get_mut(&name) {
                register.visible = false;
            }
        }
    }

    /// Declares a register: a new one, or one that another block declared before, since conditions name it by
    /// name alone.
    pub fn declare(&mut self, name: Symbol, ty: Int, pos: Pos) -> Result<Register> {
        if self.targets.contains_key(&name) {
            return Err(pos.error(format!("`{}` is a parameter already", self.name(name))));
        }
        let slot = match self.registers.get(&name) {
            None => {
                self.initial.push(0);
                self.initial.len() as Slot - 1
            }
            Some(old) if old.visible => {
                return Err(pos.error(format!("`{}` is declared already", self.name(name))));
            }
            Some(old) if old.ty != ty => {
                return Err(pos.error(format!(
                    "`{}` is `{ty}` here and `{}` in another block: a register has one type",
                    self.name(name),
                    old.ty
                )));
            }
            Some(old) => old.slot,
        };
        let register = Register { slot, ty, visible: true };
        self.registers.insert(name, register);
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(name);
        }
        Ok(register)
    }

    /// The register of that name.
    pub fn register(&self, name: Symbol, pos: Pos) -> Result<Register> {
        match self.registers.get(&name) {
            Some(register) if register.visible => Ok(*register),
            _ if self.targets.contains_key(&name) => {
                Err(pos.error(format!("`{0}` is a pointer: expected `*{0}` or an atomic function", self.name(name))))
            }
            _ => Err(pos.error(format!("`{}` is not declared here", self.name(name)))),
        }
    }

    /// The location that the parameter of that name points to.
    pub fn target(&self, name: Symbol, pos: Pos) -> Result<Target> {
        self.targets.get(&name).copied().ok_or_else(|| {
            pos.error(format!("`{}` is not a parameter of `P{}`: expected a pointer", self.name(name), self.number))
        })
    }

    // Slots.

    pub fn mark(&self) -> u32 {
        self.temporaries
    }

    /// Frees all temporaries made since the mark.
    pub fn release(&mut self, mark: u32) {
        self.temporaries = mark;
    }

    pub fn temporary(&mut self) -> Slot {
        let slot = TEMPORARY | self.temporaries;
        self.temporaries += 1;
        self.most_temporaries = self.most_temporaries.max(self.temporaries);
        slot
    }

    pub fn is_temporary(slot: Slot) -> bool {
        slot & TEMPORARY != 0
    }

    pub fn constant(&mut self, value: i64, ty: Int) -> Operand {
        let constants = &mut self.constants;
        let slot = *self.constant_slots.entry(value).or_insert_with(|| {
            constants.push(value);
            CONSTANT | (constants.len() as Slot - 1)
        });
        Operand { slot, ty, constant: Some(value) }
    }

    // Instructions.

    /// A new program point.
    pub fn site(&mut self, pos: Pos) -> u32 {
        self.sites.push(Site { thread: self.number, pos, live: 0..0 });
        self.sites.len() as u32 - 1
    }

    pub fn here(&self) -> u32 {
        self.insns.len() as u32
    }

    /// The start of a loop, to which its end will jump.
    pub fn loop_top(&mut self) -> u32 {
        self.last_target = self.insns.len();
        self.here()
    }

    /// A jump to be landed later.
    pub fn jump(&mut self) -> usize {
        self.insns.push(Insn::Jump { to: 0 });
        self.insns.len() - 1
    }

    /// A branch to be landed later; none if the condition is a constant that never takes it.
    pub fn branch(&mut self, condition: Operand, if_zero: bool) -> Option<usize> {
        match condition.constant {
            Some(value) if (value == 0) != if_zero => return None,
            Some(_) => self.insns.push(Insn::Jump { to: 0 }),
            None => self.insns.push(Insn::Branch { condition: condition.slot, if_zero, to: 0 }),
        }
        Some(self.insns.len() - 1)
    }

    /// Lets a jump go to the next instruction.
    pub fn land(&mut self, jump: usize) {
        let here = self.here();
        if let Some(to) = self.insns[jump].target_mut() {
            *to = here;
        }
        self.last_target = here as usize;
    }

    /// `slot = value`, converted.
    pub fn assign(&mut self, slot: Slot, ty: Int, value: Operand) {
        if !value.ty.fits(ty) {
            self.insns.push(Insn::Convert { ty, dst: slot, src: value.slot });
        } else if !self.redirect(value.slot, slot) {
            self.insns.push(Insn::Copy { dst: slot, src: value.slot });
        }
    }

    /// Lets the last instruction write to `to`, if it has just written the temporary `from`, which is not needed
    /// any more.
    fn redirect(&mut self, from: Slot, to: Slot) -> bool {
        // A jump to here brings a value that another instruction wrote.
        if !Self::is_temporary(from) || self.last_target == self.insns.len() {
            return false;
        }
        let mut redirected = false;
        if let Some(last) = self.insns.last_mut().filter(|last| !matches!(last, Insn::CompareExchange { .. })) {
            last.for_each_slot(|slot, role| {
                if role == Role::Write && *slot == from {
                    *slot = to;
                    redirected = true;
                }
            });
        }
        redirected
    }
}
