//! Expressions, with C's precedence.

use super::Parser;
use crate::ast::{BinaryOp, Expr, ExprKind, Symbol, UnaryOp};
use crate::error::{Pos, Result};
use crate::int::Int;
use crate::lexer::TokenKind;

/// What an infix token means.
#[derive(Clone, Copy)]
enum Infix {
    Binary(BinaryOp),
    Logical { and: bool },
}

/// The infix operators below `?:`, and how strongly they bind.
fn infix(token: TokenKind<'_>) -> Option<(Infix, u8)> {
    use BinaryOp::*;
    let TokenKind::Punct(text) = token else { return None };
    let (op, strength) = match text {
        "||" => return Some((Infix::Logical { and: false }, 1)),
        "&&" => return Some((Infix::Logical { and: true }, 2)),
        "|" => (Or, 3),
        "^" => (Xor, 4),
        "&" => (And, 5),
        "==" => (Eq, 6),
        "!=" => (Ne, 6),
        "<" => (Lt, 7),
        "<=" => (Le, 7),
        ">" => (Gt, 7),
        ">=" => (Ge, 7),
        "<<" => (Shl, 8),
        ">>" => (Shr, 8),
        "+" => (Add, 9),
        "-" => (Sub, 9),
        "*" => (Mul, 10),
        "/" => (Div, 10),
        "%" => (Rem, 10),
        _ => return None,
    };
    Some((Infix::Binary(op), strength))
}

/// The operator of an assignment: `Some(None)` for `=` itself.
fn assignment_operator(token: TokenKind<'_>) -> Option<Option<BinaryOp>> {
    use BinaryOp::*;
    let TokenKind::Punct(text) = token else { return None };
    Some(match text {
        "=" => None,
        "+=" => Some(Add),
        "-=" => Some(Sub),
        "*=" => Some(Mul),
        "/=" => Some(Div),
        "%=" => Some(Rem),
        "&=" => Some(And),
        "|=" => Some(Or),
        "^=" => Some(Xor),
        "<<=" => Some(Shl),
        ">>=" => Some(Shr),
        _ => return None,
    })
}

impl Parser<'_> {
    /// An expression, commas included.
    pub(super) fn expression(&mut self) -> Result<Expr> {
        let mut left = self.assignment()?;
        while self.is(",") {
            let pos = self.advance()?.pos;
            let right = self.assignment()?;
            left = self.build(pos, ExprKind::Comma(Box::new([left, right])))?;
        }
        Ok(left)
    }

    /// An expression without commas.
    pub(super) fn assignment(&mut self) -> Result<Expr> {
        self.nested(|p| {
            let target = p.choice()?;
            let Some(op) = assignment_operator(p.token.kind) else { return Ok(target) };
            p.check_target(&target)?;
            p.advance()?;
            let value = p.assignment()?;
            p.build(target.pos, ExprKind::Assign { target: Box::new(target), op, value: Box::new(value) })
        })
    }

    /// `a ? b : c`, or less.
    fn choice(&mut self) -> Result<Expr> {
        let condition = self.binary(1)?;
        if !self.is("?") {
            return Ok(condition);
        }
        let pos = self.advance()?.pos;
        let then = self.nested(Self::expression)?;
        self.expect(":", "after the second operand of `?`")?;
        let otherwise = self.nested(Self::choice)?;
        self.build(pos, ExprKind::Choice(Box::new([condition, then, otherwise])))
    }

    /// Infix operators that bind at least so strongly; equal ones group to the left.
    fn binary(&mut self, weakest: u8) -> Result<Expr> {
        let mut left = self.unary()?;
        while let Some((op, strength)) = infix(self.token.kind) {
            if strength < weakest {
                break;
            }
            let pos = self.advance()?.pos;
            let right = self.nested(|p| p.binary(strength + 1))?;
            let kind = match op {
                Infix::Binary(op) => ExprKind::Binary(op, Box::new(left), Box::new(right)),
                Infix::Logical { and } => ExprKind::Logical { and, sides: Box::new([left, right]) },
            };
            left = self.build(pos, kind)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr> {
        let TokenKind::Punct(text) = self.token.kind else { return self.postfix() };
        let op = match text {
            "+" => UnaryOp::Plus,
            "-" => UnaryOp::Minus,
            "~" => UnaryOp::Complement,
            "!" => UnaryOp::Not,
            "*" => return self.deref(),
            "&" => return self.address_of(),
            "++" | "--" => return self.prefix_step(text == "++"),
            _ => return self.postfix(),
        };
        let pos = self.advance()?.pos;
        let operand = self.nested(Self::unary)?;
        self.build(pos, ExprKind::Unary(op, Box::new(operand)))
    }

    /// `*x`; `*x++` would move the pointer, which the dialect lacks.
    fn deref(&mut self) -> Result<Expr> {
        let pos = self.advance()?.pos;
        let inner = self.nested(Self::unary)?;
        let ExprKind::Name(name) = inner.kind else {
            return Err(inner.pos.error("unsupported: `*` on anything but the name of a parameter"));
        };
        self.uses.entry(name).or_insert(false);
        self.build(pos, ExprKind::Deref(name))
    }

    fn address_of(&mut self) -> Result<Expr> {
        let pos = self.advance()?.pos;
        let inner = self.nested(Self::unary)?;
        match inner.kind {
            ExprKind::Name(name) => self.build(pos, ExprKind::AddressOf(name)),
            // `&*x` is x
            ExprKind::Deref(name) => self.build(pos, ExprKind::Name(name)),
            _ => Err(inner.pos.error("unsupported: `&` on anything but the name of a register")),
        }
    }

    fn prefix_step(&mut self, up: bool) -> Result<Expr> {
        let pos = self.advance()?.pos;
        let target = self.nested(Self::unary)?;
        self.check_target(&target)?;
        self.build(pos, ExprKind::Step { target: Box::new(target), up, prefix: true })
    }

    fn postfix(&mut self) -> Result<Expr> {
        let mut expr = self.primary()?;
        while self.is("++") || self.is("--") {
            self.check_target(&expr)?;
            let up = self.is("++");
            self.advance()?;
            expr = self.build(expr.pos, ExprKind::Step { target: Box::new(expr), up, prefix: false })?;
        }
        match self.token.kind {
            TokenKind::Punct("[") => self.unsupported("indexing"),
            TokenKind::Punct("." | "->") => self.unsupported("members"),
            _ => Ok(expr),
        }
    }

    fn primary(&mut self) -> Result<Expr> {
        let pos = self.token.pos;
        match self.token.kind {
            TokenKind::Number { value, ty } => {
                self.advance()?;
                self.build(pos, ExprKind::Literal { value, ty })
            }
            TokenKind::Punct("(") => {
                self.advance()?;
                if self.at_type() || self.is_name("void") {
                    return self.cast(pos);
                }
                let inner = self.expression()?;
                self.expect(")", "to close a parenthesis")?;
                Ok(inner)
            }
            TokenKind::Name("sizeof") => self.unsupported("`sizeof`"),
            TokenKind::Name("true" | "false") => {
                let value = self.is_name("true") as i64;
                self.advance()?;
                self.build(pos, ExprKind::Literal { value, ty: Int::I32 })
            }
            TokenKind::Name(_) => {
                let name = self.qualified_name()?;
                if self.eat("(")? { self.call(pos, name) } else { self.build(pos, ExprKind::Name(name)) }
            }
            _ => self.expected("an expression"),
        }
    }

    /// A name; C++'s spellings `std::x` and `memory_order::x` mean `x` and `memory_order_x`.
    fn qualified_name(&mut self) -> Result<Symbol> {
        let (mut name, _) = self.expect_name("a name")?;
        while self.is("::") {
            let scope = self.names.text(name).to_owned();
            if scope != "std" && scope != "memory_order" {
                return self.unsupported(&format!("the scope `{}::`", crate::lexer::clip(&scope)));
            }
            self.advance()?;
            let (inner, _) = self.expect_name("a name after `::`")?;
            name = match scope.as_str() {
                "std" => inner,
                _ => {
                    let joined = format!("memory_order_{}", self.names.text(inner));
                    self.names.intern(&joined)
                }
            };
        }
        Ok(name)
    }

    /// `(int) a`, after the parenthesis.
    fn cast(&mut self, pos: Pos) -> Result<Expr> {
        let to = if self.eat_name("void")? { None } else { Some(self.type_name()?.int) };
        if self.is("*") {
            return self.unsupported("casts to pointers");
        }
        self.expect(")", "after the type of a cast")?;
        let operand = self.nested(Self::unary)?;
        self.build(pos, ExprKind::Cast(to, Box::new(operand)))
    }

    /// The arguments of a call, after the parenthesis.
    fn call(&mut self, pos: Pos, function: Symbol) -> Result<Expr> {
        let mut args = Vec::new();
        if !self.eat(")")? {
            loop {
                args.push(self.assignment()?);
                if !self.eat(",")? {
                    self.expect(")", "or `,` after an argument")?;
                    break;
                }
            }
        }
        let initialises = self.names.text(function) == "atomic_init";
        for (i, arg) in args.iter().enumerate() {
            if let ExprKind::Name(name) = arg.kind {
                *self.uses.entry(name).or_insert(false) |= i == 0 && !initialises;
            }
        }
        self.build(pos, ExprKind::Call { function, args })
    }

    fn check_target(&self, target: &Expr) -> Result<()> {
        match target.kind {
            ExprKind::Name(_) | ExprKind::Deref(_) => Ok(()),
            _ => Err(target.pos.error("only a register or `*` of a parameter can be assigned")),
        }
    }

    /// An expression of this kind, if it is not too large.
    fn build(&mut self, pos: Pos, kind: ExprKind) -> Result<Expr> {
        let writes_itself = match &kind {
            ExprKind::Assign { .. } | ExprKind::Step { .. } => true,
            // a compare-exchange may write to `&r`
            ExprKind::Call { args, .. } => args.len() >= 3,
            _ => false,
        };
        let (mut height, mut writes) = (0, writes_itself);
        let mut child = |e: &Expr| {
            height = height.max(e.height);
            writes |= e.writes;
        };
        match &kind {
            ExprKind::Literal { .. } | ExprKind::Name(_) | ExprKind::Deref(_) | ExprKind::AddressOf(_) => {}
            ExprKind::Unary(_, e) | ExprKind::Cast(_, e) => child(e),
            ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|e| child(e)),
            ExprKind::Logical { sides, .. } | ExprKind::Comma(sides) => sides.iter().for_each(child),
            ExprKind::Choice(three) => three.iter().for_each(child),
            ExprKind::Assign { target, value, .. } => [target, value].into_iter().for_each(|e| child(e)),
            ExprKind::Step { target, .. } => child(target),
            ExprKind::Call { args, .. } => args.iter().for_each(child),
        }
        self.checked(Expr { pos, height: height + 1, writes, kind })
    }
}
