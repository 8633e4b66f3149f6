//! Integer types, plain and atomic.

use super::Parser;
use crate::ast::Type;
use crate::error::Result;
use crate::int::Int;
use crate::lexer::TokenKind;

/// What the specifiers of a type have said so far.
#[derive(Default)]
struct Specifiers {
    /// A type with a name of its own, or `char`.
    named: Option<Int>,
    int: bool,
    short: bool,
    long: u8,
    signed: bool,
    unsigned: bool,
    atomic: bool,
    any: bool,
}

impl Parser<'_> {
    /// Does a type start here?
    pub(super) fn at_type(&self) -> bool {
        let TokenKind::Name(word) = self.token.kind else { return false };
        is_qualifier(word) || is_keyword(word) || named(word).is_some()
    }

    /// A type with its qualifiers, up to what is not part of it.
    pub(super) fn type_name(&mut self) -> Result<Type> {
        let pos = self.token.pos;
        let mut specifiers = Specifiers::default();
        while let TokenKind::Name(word) = self.token.kind {
            if let Some((int, atomic)) = named(word) {
                if specifiers.any {
                    return self.fail(format!("`{word}` cannot be combined with the type before it"));
                }
                specifiers.named = Some(int);
                specifiers.atomic |= atomic;
                specifiers.any = true;
            } else if is_keyword(word) {
                self.keyword(word, &mut specifiers)?;
            } else if !is_qualifier(word) {
                break;
            }
            specifiers.atomic |= word == "_Atomic";
            self.advance()?;
            if word == "_Atomic" && self.is("(") && !specifiers.any {
                self.advance()?;
                let inner = self.nested(Self::type_name)?;
                self.expect(")", "after the type in `_Atomic(`")?;
                specifiers.named = Some(inner.int);
                specifiers.any = true;
            }
        }
        if !specifiers.any {
            return Err(pos.error(format!("expected a type, found {}", self.token.kind.describe())));
        }
        Ok(Type { int: specifiers.int_type(), atomic: specifiers.atomic })
    }

    /// One of the specifiers that C combines to types.
    fn keyword(&self, word: &str, specifiers: &mut Specifiers) -> Result<()> {
        let char_like = matches!(specifiers.named, Some(Int::I8));
        let sized = specifiers.int || specifiers.short || specifiers.long > 0;
        let possible = match word {
            "char" => specifiers.named.is_none() && !sized,
            "int" => specifiers.named.is_none() && !specifiers.int,
            "short" => specifiers.named.is_none() && !specifiers.short && specifiers.long == 0,
            "long" => specifiers.named.is_none() && !specifiers.short && specifiers.long < 2,
            _ => (specifiers.named.is_none() || char_like) && !specifiers.signed && !specifiers.unsigned,
        };
        if !possible {
            return self.fail(format!("`{word}` cannot be combined with the type before it"));
        }
        match word {
            "char" => specifiers.named = Some(Int::I8),
            "int" => specifiers.int = true,
            "short" => specifiers.short = true,
            "long" => specifiers.long += 1,
            "signed" => specifiers.signed = true,
            _ => specifiers.unsigned = true,
        }
        specifiers.any = true;
        Ok(())
    }
}

impl Specifiers {
    fn int_type(&self) -> Int {
        match (self.named, self.unsigned) {
            (Some(Int::I8), true) => Int::U8,
            (Some(int), _) => int,
            (None, false) if self.short => Int::I16,
            (None, true) if self.short => Int::U16,
            (None, false) if self.long > 0 => Int::I64,
            (None, true) if self.long > 0 => Int::U64,
            (None, false) => Int::I32,
            (None, true) => Int::U32,
        }
    }
}

fn is_qualifier(word: &str) -> bool {
    matches!(word, "const" | "volatile" | "restrict" | "__restrict" | "register" | "_Atomic")
}

fn is_keyword(word: &str) -> bool {
    matches!(word, "char" | "int" | "short" | "long" | "signed" | "unsigned")
}

/// The types of `<stdint.h>`, `<stddef.h>`, `<stdbool.h>` and `<stdatomic.h>`, and whether they are atomic.
fn named(word: &str) -> Option<(Int, bool)> {
    let (name, atomic) = match word.strip_prefix("atomic_") {
        Some(name) => (name, true),
        None => (word, false),
    };
    let int = match name {
        "_Bool" if !atomic => Int::Bool,
        "bool" | "flag" if atomic || name == "bool" => Int::Bool,
        "char" | "schar" if atomic => Int::I8,
        "uchar" if atomic => Int::U8,
        "short" if atomic => Int::I16,
        "ushort" if atomic => Int::U16,
        "int" if atomic => Int::I32,
        "uint" if atomic => Int::U32,
        "long" | "llong" if atomic => Int::I64,
        "ulong" | "ullong" if atomic => Int::U64,
        "int8_t" | "int_least8_t" | "int_fast8_t" => Int::I8,
        "uint8_t" | "uint_least8_t" | "uint_fast8_t" => Int::U8,
        "int16_t" | "int_least16_t" => Int::I16,
        "uint16_t" | "uint_least16_t" => Int::U16,
        "int32_t" | "int_least32_t" => Int::I32,
        "uint32_t" | "uint_least32_t" => Int::U32,
        // glibc's "fast" types are as wide as a pointer
        "int64_t" | "int_least64_t" | "int_fast16_t" | "int_fast32_t" | "int_fast64_t" => Int::I64,
        "uint64_t" | "uint_least64_t" | "uint_fast16_t" | "uint_fast32_t" | "uint_fast64_t" => Int::U64,
        "intptr_t" | "intmax_t" | "ptrdiff_t" | "ssize_t" => Int::I64,
        "uintptr_t" | "uintmax_t" | "size_t" => Int::U64,
        _ => return None,
    };
    Some((int, atomic))
}
