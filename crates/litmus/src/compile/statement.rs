//! Statements to code.

use super::thread::{LoopExits, ThreadCompiler};
use crate::ast::{Expr, Stmt};
use crate::code::Insn;
use crate::error::{Pos, Result};
use crate::int::Int;

impl ThreadCompiler<'_> {
    pub(super) fn statements(&mut self, list: &[Stmt]) -> Result<()> {
        list.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt) -> Result<()> {
        match statement {
            Stmt::Empty => Ok(()),
            Stmt::Declare { ty, items } => items.iter().try_for_each(|item| {
                let register = self.declare(item.name, *ty, item.pos)?;
                let Some(value) = &item.value else { return Ok(()) };
                let mark = self.mark();
                let value = self.value(value)?;
                self.assign(register.slot, register.ty, value);
                self.release(mark);
                Ok(())
            }),
            Stmt::Expr(expr) => self.effect(expr),
            Stmt::Block(list) => self.scoped(|c| c.statements(list)),
            Stmt::If { condition, then, otherwise } => self.if_statement(condition, then, otherwise.as_deref()),
            Stmt::While { pos, condition, body } => self.looped(*pos, Some(condition), body, None),
            Stmt::DoWhile { pos, body, condition } => self.do_while(*pos, body, condition),
            Stmt::For { pos, init, condition, step, body } => self.scoped(|c| {
                c.statement(init)?;
                c.looped(*pos, condition.as_ref(), body, step.as_ref())
            }),
            Stmt::Break(pos) => self.leave_loop(*pos, "break", |exits| &mut exits.breaks),
            Stmt::Continue(pos) => self.leave_loop(*pos, "continue", |exits| &mut exits.continues),
            Stmt::Return => {
                let jump = self.jump();
                self.returns.push(jump);
                Ok(())
            }
        }
    }

    fn scoped(&mut self, compile: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.open_scope();
        let result = compile(self);
        self.close_scope();
        result
    }

    /// A branch that is taken when `condition` is false.
    fn branch_unless(&mut self, condition: &Expr) -> Result<Option<usize>> {
        let mark = self.mark();
        let value = self.value(condition)?;
        self.release(mark);
        Ok(self.branch(value, true))
    }

    fn if_statement(&mut self, condition: &Expr, then: &Stmt, otherwise: Option<&Stmt>) -> Result<()> {
        let unless = self.branch_unless(condition)?;
        self.scoped(|c| c.statement(then))?;
        let end = otherwise.map(|_| self.jump());
        if let Some(unless) = unless {
            self.land(unless);
        }
        if let Some(otherwise) = otherwise {
            self.scoped(|c| c.statement(otherwise))?;
        }
        if let Some(end) = end {
            self.land(end);
        }
        Ok(())
    }

    /// `while` and `for`.
    fn looped(&mut self, pos: Pos, condition: Option<&Expr>, body: &Stmt, step: Option<&Expr>) -> Result<()> {
        let top = self.loop_top();
        let unless = match condition {
            Some(condition) => self.branch_unless(condition)?,
            None => None,
        };
        let exits = self.loop_body(body)?;
        exits.continues.into_iter().for_each(|jump| self.land(jump));
        if let Some(step) = step {
            self.effect(step)?;
        }
        self.loop_back(pos, top);
        unless.into_iter().chain(exits.breaks).for_each(|jump| self.land(jump));
        Ok(())
    }

    fn do_while(&mut self, pos: Pos, body: &Stmt, condition: &Expr) -> Result<()> {
        let top = self.loop_top();
        let exits = self.loop_body(body)?;
        exits.continues.into_iter().for_each(|jump| self.land(jump));
        let unless = self.branch_unless(condition)?;
        self.loop_back(pos, top);
        unless.into_iter().chain(exits.breaks).for_each(|jump| self.land(jump));
        Ok(())
    }

    fn loop_body(&mut self, body: &Stmt) -> Result<LoopExits> {
        self.loops.push(LoopExits::default());
        self.scoped(|c| c.statement(body))?;
        Ok(self.loops.pop().unwrap_or_default())
    }

    fn loop_back(&mut self, pos: Pos, to: u32) {
        let site = self.site(pos);
        self.insns.push(Insn::Loop { to, site });
    }

    fn leave_loop(&mut self, pos: Pos, word: &str, list: impl FnOnce(&mut LoopExits) -> &mut Vec<usize>) -> Result<()> {
        let jump = self.jump();
        let exits = self.loops.last_mut().ok_or_else(|| pos.error(format!("`{word}` outside of a loop")))?;
        list(exits).push(jump);
        Ok(())
    }

    /// An expression for its effects alone.
    fn effect(&mut self, expr: &Expr) -> Result<()> {
        let mark = self.mark();
        self.expression(expr)?;
        self.release(mark);
        Ok(())
    }

    /// An expression that must have a value.
    pub(super) fn value(&mut self, expr: &Expr) -> Result<super::thread::Operand> {
        self.expression(expr)?.ok_or_else(|| expr.pos.error("expected a value, but this has none"))
    }

    /// A literal zero to compare with.
    pub(super) fn zero(&mut self) -> super::thread::Operand {
        self.constant(0, Int::I32)
    }
}
