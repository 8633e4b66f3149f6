//! Tokens to syntax, by recursive descent.
//!
//! Each file has the methods for one part of the language: `file` (header, initial state, threads), `types`,
//! `statement`, `expression`, `condition`. This one has the means that they share: the current token, errors,
//! and the limits that keep hostile input from exhausting stack and memory.

mod condition;
mod expression;
mod file;
mod statement;
mod types;

use crate::ast::{Expr, Names, Symbol, Test};
use crate::error::{Pos, Result};
use crate::lexer::{Lexer, Token, TokenKind};
use rustc_hash::FxHashMap;

/// The greatest number of threads of a test.
pub const MAX_THREADS: usize = 255;
/// The greatest number of blocks, parentheses, operators and conditions inside one another.
pub const MAX_NESTING: u32 = 200;
/// The greatest height of an expression: more than the nesting, since `a + b + c` grows without nesting.
pub const MAX_HEIGHT: u32 = 400;
/// The greatest number of statements, expressions, parameters and names in conditions.
pub const MAX_NODES: u32 = 1_000_000;
/// The greatest size of a file.
pub const MAX_BYTES: usize = 256 << 20;

/// The syntax of a file.
pub(crate) fn parse(text: &str) -> Result<Test> {
    let mut parser = Parser {
        lexer: Lexer::new(text),
        token: Token { pos: Pos::START, kind: TokenKind::End },
        names: Names::default(),
        depth: 0,
        nodes: 0,
        uses: FxHashMap::default(),
    };
    parser.file()
}

struct Parser<'s> {
    lexer: Lexer<'s>,
    /// The token that is next to be read.
    token: Token<'s>,
    names: Names,
    /// How deep the construct at hand is nested.
    depth: u32,
    /// How much has been built.
    nodes: u32,
    /// Which names the thread at hand accesses, and whether atomically.
    uses: FxHashMap<Symbol, bool>,
}

impl<'s> Parser<'s> {
    /// Reads the current token and returns it.
    fn advance(&mut self) -> Result<Token<'s>> {
        let next = self.lexer.token()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn is(&self, punct: &str) -> bool {
        matches!(self.token.kind, TokenKind::Punct(text) if text == punct)
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.token.kind, TokenKind::Name(text) if text == name)
    }

    /// Reads `punct` if it is next.
    fn eat(&mut self, punct: &str) -> Result<bool> {
        let found = self.is(punct);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Reads `name` if it is next.
    fn eat_name(&mut self, name: &str) -> Result<bool> {
        let found = self.is_name(name);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Reads `punct`, which must be next; `place` says where.
    fn expect(&mut self, punct: &str, place: &str) -> Result<Pos> {
        if !self.is(punct) {
            return self.expected(&format!("`{punct}` {place}"));
        }
        Ok(self.advance()?.pos)
    }

    /// Reads a name, which must be next.
    fn expect_name(&mut self, what: &str) -> Result<(Symbol, Pos)> {
        let TokenKind::Name(text) = self.token.kind else { return self.expected(what) };
        self.count()?;
        let symbol = self.names.intern(text);
        Ok((symbol, self.advance()?.pos))
    }

    /// The error that `what` was expected here.
    fn expected<T>(&self, what: &str) -> Result<T> {
        self.fail(format!("expected {what}, found {}", self.token.kind.describe()))
    }

    /// An error at the current token.
    fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(self.token.pos.error(message))
    }

    /// The error that the dialect lacks `construct`.
    fn unsupported<T>(&self, construct: &str) -> Result<T> {
        self.fail(format!("unsupported: {construct}"))
    }

    /// Parses something one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_NESTING {
            return self.fail(format!("nested too deeply: more than {MAX_NESTING} levels"));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Counts something that takes memory.
    fn count(&mut self) -> Result<()> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return self.fail(format!("too large: more than {MAX_NODES} statements, expressions and names"));
        }
        Ok(())
    }

    /// Counts an expression and checks its height.
    fn checked(&mut self, expr: Expr) -> Result<Expr> {
        self.count()?;
        if expr.height > MAX_HEIGHT {
            return Err(expr.pos.error(format!("expression too long: more than {MAX_HEIGHT} operators in a row")));
        }
        Ok(expr)
    }

    /// An integer constant, perhaps with a sign.
    fn constant(&mut self) -> Result<i64> {
        let negative = self.is("-");
        if negative || self.is("+") {
            self.advance()?;
        }
        let TokenKind::Number { value, .. } = self.token.kind else {
            return match self.token.kind {
                TokenKind::Name(_) => self.expected("a constant (addresses and names as values are unsupported)"),
                _ => self.expected("a constant"),
            };
        };
        self.advance()?;
        Ok(if negative { value.wrapping_neg() } else { value })
    }
}
