//! The end of a file: which variables to show, and the condition.

use super::Parser;
use crate::ast::{Prop, Reference};
use crate::condition::Quantifier;
use crate::error::Result;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// `locations [0:r0; x;]`, if it is there.
    pub(super) fn locations(&mut self) -> Result<Option<Vec<Reference>>> {
        if !self.eat_name("locations")? {
            return Ok(None);
        }
        self.expect("[", "after `locations`")?;
        let mut list = Vec::new();
        while !self.is("]") {
            list.push(self.reference()?);
            if !self.is("]") {
                self.expect(";", "or `]` after a location")?;
            }
        }
        self.advance()?;
        Ok(Some(list))
    }

    /// `exists …`, `~exists …`, `forall …`, if it is there.
    pub(super) fn condition(&mut self) -> Result<Option<(Quantifier, Prop<Reference>)>> {
        if self.token.kind == TokenKind::End {
            return Ok(None);
        }
        if self.is_name("filter") {
            return self.unsupported("the `filter` clause");
        }
        let quantifier = if self.eat_name("exists")? {
            Quantifier::Exists
        } else if self.eat_name("forall")? {
            Quantifier::Forall
        } else if self.eat("~")? || self.eat_name("not")? || self.eat("!")? {
            if !self.eat_name("exists")? {
                return self.expected("`exists` after the negation");
            }
            Quantifier::NotExists
        } else {
            return self.expected("a thread, `locations`, `exists`, `~exists` or `forall`");
        };
        Ok(Some((quantifier, self.disjunction()?)))
    }

    fn disjunction(&mut self) -> Result<Prop<Reference>> {
        let mut parts = vec![self.conjunction()?];
        while self.eat("\\/")? || self.eat("||")? {
            parts.push(self.conjunction()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Prop::Or(parts) })
    }

    fn conjunction(&mut self) -> Result<Prop<Reference>> {
        let mut parts = vec![self.negation()?];
        while self.eat("/\\")? || self.eat("&&")? {
            parts.push(self.negation()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Prop::And(parts) })
    }

    fn negation(&mut self) -> Result<Prop<Reference>> {
        self.nested(|p| {
            p.count()?;
            if p.eat("~")? || p.eat("!")? || p.eat_name("not")? {
                return Ok(Prop::Not(Box::new(p.negation()?)));
            }
            if p.eat("(")? {
                let inner = p.disjunction()?;
                p.expect(")", "to close a parenthesis of the condition")?;
                return Ok(inner);
            }
            p.atom()
        })
    }

    /// `true`, `false`, `x=1`, `0:r0 != 2`
    fn atom(&mut self) -> Result<Prop<Reference>> {
        if self.eat_name("true")? {
            return Ok(Prop::Constant(true));
        }
        if self.eat_name("false")? {
            return Ok(Prop::Constant(false));
        }
        let var = self.reference()?;
        let differs = self.is("!=");
        if !(differs || self.is("=") || self.is("==")) {
            return self.expected("`=` or `!=` after a variable of the condition");
        }
        self.advance()?;
        let equals = Prop::Equals { var, value: self.constant()? };
        Ok(if differs { Prop::Not(Box::new(equals)) } else { equals })
    }

    /// `0:r0`, `x` or `[x]`
    fn reference(&mut self) -> Result<Reference> {
        let pos = self.token.pos;
        if let TokenKind::Number { value, .. } = self.token.kind {
            let Ok(thread) = u32::try_from(value) else { return self.expected("the number of a thread") };
            self.advance()?;
            self.expect(":", "after the number of a thread")?;
            let (name, _) = self.expect_name("a register")?;
            return Ok(Reference { thread: Some(thread), name, pos });
        }
        let bracket = self.eat("[")?;
        let (name, _) = self.expect_name("a register (`0:r0`) or a location (`x`)")?;
        if bracket {
            self.expect("]", "after the location")?;
        }
        Ok(Reference { thread: None, name, pos })
    }
}
