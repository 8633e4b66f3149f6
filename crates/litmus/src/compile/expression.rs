//! Expressions to code.
//!
//! An expression leaves its value in a slot: a register's own, a constant's, or a temporary's. Temporaries are
//! a stack, so an operator frees those of its operands before it takes one for the result; instructions read
//! their operands before they write.

use super::thread::{Operand, Target, ThreadCompiler};
use crate::ast::{BinaryOp, Expr, ExprKind, Symbol, UnaryOp};
use crate::code::{Insn, Rmw, Slot};
use crate::error::{Pos, Result};
use crate::int::Int;
use fencepost_trace::{LoadOrder, RmwOrder, StoreOrder};

impl ThreadCompiler<'_> {
    /// Any expression; no operand if it has no value.
    pub(super) fn expression(&mut self, expr: &Expr) -> Result<Option<Operand>> {
        Ok(Some(match &expr.kind {
            ExprKind::Literal { value, ty } => self.constant(*value, *ty),
            ExprKind::Name(name) => {
                let register = self.register(*name, expr.pos)?;
                Operand { slot: register.slot, ty: register.ty, constant: None }
            }
            ExprKind::Deref(name) => {
                let target = self.target(*name, expr.pos)?;
                self.read(target, expr.pos)
            }
            ExprKind::AddressOf(_) => {
                return Err(expr.pos.error("unsupported: an address outside of a compare-exchange's second argument"));
            }
            ExprKind::Unary(op, operand) => self.unary(*op, operand)?,
            ExprKind::Binary(op, a, b) => {
                let mark = self.mark();
                let a = self.left_operand(a, b)?;
                let b = self.value(b)?;
                self.binary(*op, a, b, mark, expr.pos)
            }
            ExprKind::Logical { and, sides } => self.logical(*and, sides)?,
            ExprKind::Choice(three) => return self.choice(three),
            ExprKind::Assign { target, op, value } => self.assignment(target, *op, value)?,
            ExprKind::Step { target, up, prefix } => self.step(target, *up, *prefix)?,
            ExprKind::Cast(to, operand) => {
                let mark = self.mark();
                let Some(to) = to else {
                    self.expression(operand)?;
                    self.release(mark);
                    return Ok(None);
                };
                let value = self.value(operand)?;
                self.convert(value, *to, mark)
            }
            ExprKind::Call { function, args } => return self.call(expr.pos, *function, args),
            ExprKind::Comma(sides) => {
                let mark = self.mark();
                self.expression(&sides[0])?;
                self.release(mark);
                return self.expression(&sides[1]);
            }
        }))
    }

    /// The value of `left`, safe from what `right` does to registers.
    pub(super) fn left_operand(&mut self, left: &Expr, right: &Expr) -> Result<Operand> {
        let value = self.value(left)?;
        Ok(self.kept(value, right.writes))
    }

    /// A copy of a register's value if something else `writes` before it is used.
    fn kept(&mut self, value: Operand, writes: bool) -> Operand {
        if !writes || value.constant.is_some() || Self::is_temporary(value.slot) {
            return value;
        }
        let slot = self.temporary();
        self.insns.push(Insn::Copy { dst: slot, src: value.slot });
        Operand { slot, ..value }
    }

    /// `value` as a `to`. The temporaries since `mark` are its own.
    pub(super) fn convert(&mut self, value: Operand, to: Int, mark: u32) -> Operand {
        if let Some(constant) = value.constant {
            return self.constant(to.wrap(constant), to);
        }
        if value.ty.fits(to) {
            return Operand { ty: to, ..value };
        }
        self.release(mark);
        let slot = self.temporary();
        self.insns.push(Insn::Convert { ty: to, dst: slot, src: value.slot });
        Operand { slot, ty: to, constant: None }
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) -> Result<Operand> {
        let mark = self.mark();
        let value = self.value(operand)?;
        let ty = value.ty.promoted();
        let result = if op == UnaryOp::Not { Int::I32 } else { ty };
        if let Some(constant) = value.constant {
            return Ok(self.constant(ty.unary(op, constant), result));
        }
        self.release(mark);
        let slot = self.temporary();
        self.insns.push(Insn::Unary { op, ty, dst: slot, a: value.slot });
        Ok(Operand { slot, ty: result, constant: None })
    }

    /// `a op b`. The temporaries since `mark` are those of the operands.
    fn binary(&mut self, op: BinaryOp, a: Operand, b: Operand, mark: u32, pos: Pos) -> Operand {
        let shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
        let ty = if shift { a.ty.promoted() } else { a.ty.common(b.ty) };
        let compares =
            matches!(op, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
        let result = if compares { Int::I32 } else { ty };
        // Conversions go above the operands' temporaries: one of them must not overwrite the other operand.
        let above = self.mark();
        let a = self.convert(a, ty, above);
        let above = self.mark();
        let b = if shift { b } else { self.convert(b, ty, above) };
        if let (Some(x), Some(y)) = (a.constant, b.constant)
            && let Some(folded) = ty.binary(op, x, y)
        {
            return self.constant(folded, result);
        }
        self.release(mark);
        let dst = self.temporary();
        let (a, b) = (a.slot, b.slot);
        let insn = if matches!(op, BinaryOp::Div | BinaryOp::Rem) {
            let site = self.site(pos);
            Insn::Divide { op, ty, dst, a, b, site }
        } else {
            Insn::Binary { op, ty, dst, a, b }
        };
        self.insns.push(insn);
        Operand { slot: dst, ty: result, constant: None }
    }

    fn logical(&mut self, and: bool, sides: &[Expr; 2]) -> Result<Operand> {
        let slot = self.temporary();
        let mark = self.mark();
        self.truth(&sides[0], slot, mark)?;
        let decided = self.branch(Operand { slot, ty: Int::I32, constant: None }, and);
        self.truth(&sides[1], slot, mark)?;
        if let Some(decided) = decided {
            self.land(decided);
        }
        Ok(Operand { slot, ty: Int::I32, constant: None })
    }

    /// `slot = (side != 0)`
    fn truth(&mut self, side: &Expr, slot: Slot, mark: u32) -> Result<()> {
        let value = self.value(side)?;
        let zero = self.zero();
        self.insns.push(Insn::Binary { op: BinaryOp::Ne, ty: value.ty, dst: slot, a: value.slot, b: zero.slot });
        self.release(mark);
        Ok(())
    }

    fn choice(&mut self, [condition, then, otherwise]: &[Expr; 3]) -> Result<Option<Operand>> {
        let slot = self.temporary();
        let mark = self.mark();
        let condition = self.value(condition)?;
        self.release(mark);
        let unless = self.branch(condition, true);
        let a = self.expression(then)?;
        if let Some(a) = a {
            self.insns.push(Insn::Copy { dst: slot, src: a.slot });
        }
        self.release(mark);
        let end = self.jump();
        if let Some(unless) = unless {
            self.land(unless);
        }
        let b = self.expression(otherwise)?;
        if let Some(b) = b {
            self.insns.push(Insn::Copy { dst: slot, src: b.slot });
        }
        self.release(mark);
        self.land(end);
        let (Some(a), Some(b)) = (a, b) else { return Ok(None) };
        // Conversion depends only on the value as it is held, so one after the join serves both sides.
        let ty = a.ty.common(b.ty);
        if !(a.ty.fits(ty) && b.ty.fits(ty)) {
            self.insns.push(Insn::Convert { ty, dst: slot, src: slot });
        }
        Ok(Some(Operand { slot, ty, constant: None }))
    }

    /// `*x` as a value.
    fn read(&mut self, target: Target, pos: Pos) -> Operand {
        match target {
            Target::Private { slot, ty } => Operand { slot, ty, constant: None },
            Target::Shared { at, ty, atomic } => {
                self.load(at, ty, if atomic { LoadOrder::SeqCst } else { LoadOrder::Plain }, pos)
            }
        }
    }

    pub(super) fn load(&mut self, at: u32, ty: Int, order: LoadOrder, pos: Pos) -> Operand {
        let (dst, site) = (self.temporary(), self.site(pos));
        self.insns.push(Insn::Load { at, order, dst, site });
        Operand { slot: dst, ty, constant: None }
    }

    pub(super) fn store(&mut self, at: u32, order: StoreOrder, value: Operand, pos: Pos) {
        let site = self.site(pos);
        self.insns.push(Insn::Store { at, order, src: value.slot, site });
    }

    /// A read-modify-write whose operand has the temporaries since `mark`.
    pub(super) fn rmw(
        &mut self,
        (at, ty): (u32, Int),
        update: Rmw,
        order: RmwOrder,
        operand: Operand,
        mark: u32,
        pos: Pos,
    ) -> Operand {
        self.release(mark);
        let (dst, site) = (self.temporary(), self.site(pos));
        self.insns.push(Insn::Rmw { at, update, order, operand: operand.slot, dst, site });
        Operand { slot: dst, ty, constant: None }
    }

    fn assignment(&mut self, target: &Expr, op: Option<BinaryOp>, value: &Expr) -> Result<Operand> {
        let mark = self.mark();
        match self.place(target)? {
            Target::Private { slot, ty } => {
                let value = match op {
                    None => self.value(value)?,
                    Some(op) => {
                        let old = self.kept(Operand { slot, ty, constant: None }, value.writes);
                        let operand = self.value(value)?;
                        self.binary(op, old, operand, mark, target.pos)
                    }
                };
                self.assign(slot, ty, value);
                self.release(mark);
                Ok(Operand { slot, ty, constant: None })
            }
            Target::Shared { at, ty, atomic: true } if op.is_some() => {
                let op = op.unwrap_or(BinaryOp::Add);
                let operand = self.value(value)?;
                self.atomic_update((at, ty), op, operand, mark, target.pos, true)
            }
            Target::Shared { at, ty, atomic } => {
                let value = match op {
                    None => self.value(value)?,
                    Some(op) => {
                        let old = self.load(at, ty, LoadOrder::Plain, target.pos);
                        let operand = self.value(value)?;
                        self.binary(op, old, operand, mark, target.pos)
                    }
                };
                let value = self.convert(value, ty, mark);
                self.store(at, if atomic { StoreOrder::SeqCst } else { StoreOrder::Plain }, value, target.pos);
                Ok(value)
            }
        }
    }

    /// `++`, `--`: an assignment whose value may be the old one.
    fn step(&mut self, target: &Expr, up: bool, prefix: bool) -> Result<Operand> {
        let op = if up { BinaryOp::Add } else { BinaryOp::Sub };
        let one = self.constant(1, Int::I32);
        let outer = self.mark();
        match self.place(target)? {
            Target::Private { slot, ty } => {
                let register = Operand { slot, ty, constant: None };
                let old = self.kept(register, !prefix);
                let mark = self.mark();
                let new = self.binary(op, register, one, mark, target.pos);
                self.assign(slot, ty, new);
                self.release(mark);
                Ok(old)
            }
            Target::Shared { at, ty, atomic: true } => self.atomic_update((at, ty), op, one, outer, target.pos, prefix),
            Target::Shared { at, ty, atomic: false } => {
                let old = self.load(at, ty, LoadOrder::Plain, target.pos);
                let mark = self.mark();
                let new = self.binary(op, old, one, mark, target.pos);
                let new = self.convert(new, ty, mark);
                self.store(at, StoreOrder::Plain, new, target.pos);
                if prefix {
                    return Ok(new);
                }
                self.release(mark);
                Ok(old)
            }
        }
    }

    /// `*x op= operand` on an atomic location: one `seq_cst` read-modify-write. The temporaries since `mark` are
    /// the operand's.
    fn atomic_update(
        &mut self,
        (at, ty): (u32, Int),
        op: BinaryOp,
        operand: Operand,
        mark: u32,
        pos: Pos,
        new_value: bool,
    ) -> Result<Operand> {
        let update = match op {
            BinaryOp::Add => Rmw::Add,
            BinaryOp::Sub => Rmw::Sub,
            BinaryOp::And => Rmw::And,
            BinaryOp::Or => Rmw::Or,
            BinaryOp::Xor => Rmw::Xor,
            _ => return Err(pos.error("unsupported: this compound assignment to an atomic location")),
        };
        if ty == Int::Bool {
            return Err(pos.error("unsupported: arithmetic on an atomic `bool`"));
        }
        let above = self.mark();
        let operand = self.convert(operand, ty, above);
        // Above the operand, which the new value needs again.
        let mark = if new_value { self.mark() } else { mark };
        let old = self.rmw((at, ty), update, RmwOrder::SeqCst, operand, mark, pos);
        if !new_value {
            return Ok(old);
        }
        let new = self.binary(op, old, operand, mark, pos);
        Ok(self.convert(new, ty, mark))
    }

    /// What an assignment writes to. A register is as good as a private location.
    fn place(&self, target: &Expr) -> Result<Target> {
        match target.kind {
            ExprKind::Deref(name) => self.target(name, target.pos),
            ExprKind::Name(name) => self.register_place(name, target.pos),
            _ => Err(target.pos.error("only a register or `*` of a parameter can be assigned")),
        }
    }

    pub(super) fn register_place(&self, name: Symbol, pos: Pos) -> Result<Target> {
        let register = self.register(name, pos)?;
        Ok(Target::Private { slot: register.slot, ty: register.ty })
    }
}
