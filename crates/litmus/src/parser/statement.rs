//! Statements.

use super::Parser;
use crate::ast::{Declarator, ExprKind, Stmt};
use crate::error::Result;
use crate::lexer::TokenKind;

/// Words that start what the dialect lacks.
const UNSUPPORTED: [&str; 14] = [
    "goto", "switch", "case", "default", "typedef", "struct", "union", "enum", "static", "extern", "asm", "__asm__",
    "float", "double",
];

impl Parser<'_> {
    /// One statement.
    pub(super) fn statement(&mut self) -> Result<Stmt> {
        self.nested(Self::statement_here)
    }

    fn statement_here(&mut self) -> Result<Stmt> {
        self.count()?;
        if self.at_type() {
            return self.declaration();
        }
        if self.is("{") {
            return self.block();
        }
        if self.eat(";")? {
            return Ok(Stmt::Empty);
        }
        if let TokenKind::Name(word) = self.token.kind {
            match word {
                "if" => return self.if_statement(),
                "while" => return self.while_statement(),
                "do" => return self.do_statement(),
                "for" => return self.for_statement(),
                "break" | "continue" | "return" => return self.jump(word),
                "else" => return self.fail("an `else` without its `if`"),
                _ if UNSUPPORTED.contains(&word) => return self.unsupported(&format!("`{word}`")),
                _ => {}
            }
        }
        let expr = self.expression()?;
        if self.is(":") && matches!(expr.kind, ExprKind::Name(_)) {
            return self.unsupported("labels");
        }
        self.expect(";", "after an expression")?;
        Ok(Stmt::Expr(expr))
    }

    fn block(&mut self) -> Result<Stmt> {
        self.advance()?;
        let mut list = Vec::new();
        while !self.is("}") {
            if self.token.kind == TokenKind::End {
                return self.expected("a statement or `}`");
            }
            list.push(self.statement()?);
        }
        self.advance()?;
        Ok(Stmt::Block(list))
    }

    /// `int r0 = 1, r1;`
    fn declaration(&mut self) -> Result<Stmt> {
        let pos = self.token.pos;
        let ty = self.type_name()?;
        if ty.atomic {
            return Err(pos.error("unsupported: atomic local variables (a register is seen by its thread only)"));
        }
        let mut items = Vec::new();
        loop {
            if self.is("*") {
                return self.unsupported("pointer variables");
            }
            let (name, pos) = self.expect_name("a register's name")?;
            if self.is("[") {
                return self.unsupported("arrays");
            }
            let value = if self.eat("=")? { Some(self.assignment()?) } else { None };
            items.push(Declarator { name, pos, value });
            if !self.eat(",")? {
                self.expect(";", "after a declaration")?;
                return Ok(Stmt::Declare { ty: ty.int, items });
            }
        }
    }

    fn condition_in_parentheses(&mut self, keyword: &str) -> Result<crate::ast::Expr> {
        self.expect("(", &format!("after `{keyword}`"))?;
        let condition = self.expression()?;
        self.expect(")", &format!("after the condition of `{keyword}`"))?;
        Ok(condition)
    }

    fn if_statement(&mut self) -> Result<Stmt> {
        self.advance()?;
        let condition = self.condition_in_parentheses("if")?;
        let then = Box::new(self.statement()?);
        let otherwise = if self.eat_name("else")? { Some(Box::new(self.statement()?)) } else { None };
        Ok(Stmt::If { condition, then, otherwise })
    }

    fn while_statement(&mut self) -> Result<Stmt> {
        let pos = self.advance()?.pos;
        let condition = self.condition_in_parentheses("while")?;
        let body = Box::new(self.statement()?);
        Ok(Stmt::While { pos, condition, body })
    }

    fn do_statement(&mut self) -> Result<Stmt> {
        let pos = self.advance()?.pos;
        let body = Box::new(self.statement()?);
        if !self.eat_name("while")? {
            return self.expected("`while` after the body of `do`");
        }
        let condition = self.condition_in_parentheses("while")?;
        self.expect(";", "after `do … while (…)`")?;
        Ok(Stmt::DoWhile { pos, body, condition })
    }

    fn for_statement(&mut self) -> Result<Stmt> {
        let pos = self.advance()?.pos;
        self.expect("(", "after `for`")?;
        let init = if self.eat(";")? {
            Stmt::Empty
        } else if self.at_type() {
            self.declaration()?
        } else {
            let expr = self.expression()?;
            self.expect(";", "after the first part of `for`")?;
            Stmt::Expr(expr)
        };
        let condition = if self.is(";") { None } else { Some(self.expression()?) };
        self.expect(";", "after the condition of `for`")?;
        let step = if self.is(")") { None } else { Some(self.expression()?) };
        self.expect(")", "after the last part of `for`")?;
        let body = Box::new(self.statement()?);
        Ok(Stmt::For { pos, init: Box::new(init), condition, step, body })
    }

    fn jump(&mut self, word: &str) -> Result<Stmt> {
        let pos = self.advance()?.pos;
        if word == "return" && !self.is(";") {
            return self.unsupported("`return` with a value (a thread returns nothing)");
        }
        self.expect(";", &format!("after `{word}`"))?;
        Ok(match word {
            "break" => Stmt::Break(pos),
            "continue" => Stmt::Continue(pos),
            _ => Stmt::Return,
        })
    }
}
