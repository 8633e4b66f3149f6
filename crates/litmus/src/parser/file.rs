//! The frame of a file: header, initial state, threads.

use super::{MAX_THREADS, Parser};
use crate::ast::{Init, Param, Stmt, Test, Thread};
use crate::error::Result;
use crate::lexer::{TokenKind, clip};

impl Parser<'_> {
    /// A whole file.
    pub(super) fn file(&mut self) -> Result<Test> {
        let name = self.header()?;
        self.advance()?;
        let init = self.init()?;
        let threads = self.threads()?;
        let locations = self.locations()?;
        let condition = self.condition()?;
        if locations.is_none() && condition.is_none() {
            return self.expected("a thread, `locations`, `exists`, `~exists` or `forall`");
        }
        if self.token.kind != TokenKind::End {
            return self.expected("the end of the file");
        }
        let names = std::mem::take(&mut self.names);
        Ok(Test { name, init, threads, locations: locations.unwrap_or_default(), condition, names })
    }

    /// `C name`, then what generators put before the initial state: quoted descriptions and `Key=value` lines.
    fn header(&mut self) -> Result<String> {
        let pos = self.lexer.skip_blanks()?;
        match self.lexer.word() {
            "C" => {}
            "" => return Err(pos.error("expected the header `C name`")),
            other => {
                let other = clip(other);
                return Err(pos.error(format!("expected the header `C name`, found `{other}`: only C is supported")));
            }
        }
        let name = self.lexer.rest_of_line().to_owned();
        if name.is_empty() {
            return Err(pos.error("expected the test's name after `C`"));
        }
        loop {
            let pos = self.lexer.skip_blanks()?;
            match self.lexer.peek_byte() {
                Some(b'{') => return Ok(name),
                Some(b'"') => self.lexer.skip_quoted()?,
                _ => {
                    let key = self.lexer.word();
                    if key.is_empty() || self.lexer.peek_byte() != Some(b'=') {
                        return Err(pos.error("expected the initial state `{ … }` after the header"));
                    }
                    self.lexer.rest_of_line();
                }
            }
        }
    }

    /// `{ [x]=0; y=1; int z=2; }`
    fn init(&mut self) -> Result<Vec<Init>> {
        self.expect("{", "before the initial state")?;
        let mut list = Vec::new();
        while !self.is("}") {
            if self.eat(";")? {
                continue;
            }
            list.push(self.init_item()?);
            if !self.is("}") {
                self.expect(";", "after an initial value")?;
            }
        }
        self.advance()?;
        Ok(list)
    }

    fn init_item(&mut self) -> Result<Init> {
        if matches!(self.token.kind, TokenKind::Number { .. }) {
            return self.unsupported("initial values of registers");
        }
        let ty = if self.at_type() { Some(self.type_name()?) } else { None };
        if self.is("*") {
            return self.unsupported("pointers in the initial state");
        }
        let bracket = self.eat("[")?;
        let (name, pos) = self.expect_name("a location")?;
        if bracket {
            self.expect("]", "after the location")?;
        }
        if self.is("[") {
            return self.unsupported("arrays in the initial state");
        }
        // `int x;` alone is a declaration of an x that holds 0.
        let declared_only = ty.is_some() && !self.is("=");
        if !declared_only {
            self.expect("=", "after the location")?;
        }
        let value = if declared_only { 0 } else { self.constant()? };
        Ok(Init { name, pos, ty, value })
    }

    /// `P0 (…) { … } P1 (…) { … } …`
    fn threads(&mut self) -> Result<Vec<Thread>> {
        let mut threads = Vec::new();
        loop {
            let returns_void = self.eat_name("void")?;
            let number = match self.token.kind {
                TokenKind::Name(name) => thread_number(name),
                _ => None,
            };
            let next = threads.len();
            match number {
                Some(number) if number == next as u64 && next < MAX_THREADS => threads.push(self.thread()?),
                Some(_) if next >= MAX_THREADS => return self.fail(format!("more than {MAX_THREADS} threads")),
                None if next > 0 && !returns_void => return Ok(threads),
                _ => return self.expected(&format!("the thread `P{next}`")),
            }
        }
    }

    fn thread(&mut self) -> Result<Thread> {
        let pos = self.advance()?.pos;
        let params = self.params()?;
        self.lexer.in_body = true;
        self.expect("{", "before the body of a thread")?;
        let mut body = Vec::new();
        while !self.is("}") {
            body.push(self.body_statement()?);
        }
        self.lexer.in_body = false;
        let end = self.advance()?.pos;
        Ok(Thread { pos, end, params, body, uses: std::mem::take(&mut self.uses) })
    }

    fn body_statement(&mut self) -> Result<Stmt> {
        if self.token.kind == TokenKind::End {
            return self.expected("a statement or `}`");
        }
        self.statement()
    }

    /// `(atomic_int* x, int* y)`
    fn params(&mut self) -> Result<Vec<Param>> {
        self.expect("(", "before the parameters of a thread")?;
        let mut list = Vec::new();
        if self.is_name("void") {
            self.advance()?;
            self.expect(")", "after `void` (pointers to void are unsupported)")?;
            return Ok(list);
        }
        if self.eat(")")? {
            return Ok(list);
        }
        loop {
            list.push(self.param()?);
            if !self.eat(",")? {
                self.expect(")", "or `,` after a parameter")?;
                return Ok(list);
            }
        }
    }

    fn param(&mut self) -> Result<Param> {
        if !self.at_type() {
            return self.expected("a parameter's integer type");
        }
        let ty = self.type_name()?;
        if !self.is("*") {
            return self.expected("`*` (a parameter is a pointer to a location)");
        }
        self.advance()?;
        while self.is_name("const") || self.is_name("volatile") || self.is_name("restrict") {
            self.advance()?;
        }
        if self.is("*") {
            return self.unsupported("pointers to pointers");
        }
        let (name, pos) = self.expect_name("a parameter's name")?;
        if self.is("[") {
            return self.unsupported("arrays");
        }
        Ok(Param { name, pos, ty })
    }
}

/// The number in `P12`.
fn thread_number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('P')?;
    // `P+1` parses as a number, and `P01` is another name than `P1`
    let canonical = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if canonical && (digits == "0" || !digits.starts_with('0')) { digits.parse().ok() } else { None }
}
