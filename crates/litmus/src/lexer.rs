//! Text to tokens, one at a time.
//!
//! Tokens are made on demand, since the meaning of `(*` depends on where it stands: it starts a comment
//! everywhere but in the body of a thread, where `(*x)` is C.

use crate::error::{Pos, Result};
use crate::int::Int;

/// A piece of text and where it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'s> {
    pub pos: Pos,
    pub kind: TokenKind<'s>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenKind<'s> {
    Name(&'s str),
    Number { value: i64, ty: Int },
    Punct(&'static str),
    End,
}

impl TokenKind<'_> {
    /// How an error message names it.
    pub fn describe(&self) -> String {
        match self {
            TokenKind::Name(name) => format!("`{}`", clip(name)),
            TokenKind::Number { value, ty: Int::U64 } => format!("the number {}", *value as u64),
            TokenKind::Number { value, .. } => format!("the number {value}"),
            TokenKind::Punct(text) => format!("`{text}`"),
            TokenKind::End => "the end of the file".to_owned(),
        }
    }
}

/// A name short enough for a message.
pub(crate) fn clip(name: &str) -> String {
    const LONGEST: usize = 60;
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    let mut short: String = name.chars().take(LONGEST).collect();
    short.push('…');
    short
}

/// Longer ones before their prefixes.
const PUNCTUATION: [&str; 50] = [
    "<<=", ">>=", "/\\", "\\/", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "+=", "-=", "*=", "/=", "%=", "&=",
    "|=", "^=", "++", "--", "->", "::", "=>", "{", "}", "(", ")", "[", "]", ";", ",", ":", "?", "=", "<", ">", "+",
    "-", "*", "/", "%", "&", "|", "^", "!", "~", ".", "#",
];

pub(crate) struct Lexer<'s> {
    text: &'s str,
    /// How many bytes have been read.
    at: usize,
    /// The position of the next character.
    pos: Pos,
    /// In the body of a thread, `(*` is no comment.
    pub in_body: bool,
}

impl<'s> Lexer<'s> {
    pub fn new(text: &'s str) -> Self {
        let mut lexer = Lexer { text, at: 0, pos: Pos::START, in_body: false };
        if text.starts_with('\u{feff}') {
            lexer.at = '\u{feff}'.len_utf8();
        }
        lexer
    }

    fn rest(&self) -> &'s [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// Reads that many bytes. The only place that moves the position, so that the whole is linear.
    fn take(&mut self, bytes: usize) -> &'s str {
        let from = self.at;
        for &byte in &self.text.as_bytes()[from..from + bytes] {
            if byte == b'\n' {
                self.pos.line = self.pos.line.saturating_add(1);
                self.pos.column = 1;
            } else if byte & 0xc0 != 0x80 {
                // not a continuation byte: the start of a character
                self.pos.column = self.pos.column.saturating_add(1);
            }
        }
        self.at += bytes;
        &self.text[from..self.at]
    }

    fn take_while(&mut self, accept: impl Fn(u8) -> bool) -> &'s str {
        let rest = self.rest();
        self.take(rest.iter().position(|&byte| !accept(byte)).unwrap_or(rest.len()))
    }

    /// The position of what comes after blanks and comments.
    pub fn skip_blanks(&mut self) -> Result<Pos> {
        loop {
            let rest = self.rest();
            if rest.first().is_some_and(u8::is_ascii_whitespace) {
                self.take_while(|byte| byte.is_ascii_whitespace());
            } else if rest.starts_with(b"//") {
                self.take_while(|byte| byte != b'\n');
            } else if rest.starts_with(b"/*") {
                let end = rest[2..].windows(2).position(|two| two == b"*/");
                let end = end.ok_or_else(|| self.pos.error("a comment `/*` without its `*/`"))?;
                self.take(end + 4);
            } else if rest.starts_with(b"(*") && !self.in_body {
                self.skip_nested_comment()?;
            } else {
                return Ok(self.pos);
            }
        }
    }

    /// `(* … *)`, which may hold others.
    fn skip_nested_comment(&mut self) -> Result<()> {
        let rest = self.rest();
        let (mut open, mut at) = (0usize, 0);
        while at < rest.len() {
            if rest[at..].starts_with(b"(*") {
                open += 1;
                at += 2;
            } else if rest[at..].starts_with(b"*)") {
                open -= 1;
                at += 2;
                if open == 0 {
                    self.take(at);
                    return Ok(());
                }
            } else {
                at += 1;
            }
        }
        Err(self.pos.error("a comment `(*` without its `*)`"))
    }

    /// The next byte, of which nothing is read.
    pub fn peek_byte(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    /// A word, for the header; empty if there is none.
    pub fn word(&mut self) -> &'s str {
        self.take_while(is_name_byte)
    }

    /// What is left of this line, without the blanks around it.
    pub fn rest_of_line(&mut self) -> &'s str {
        self.take_while(|byte| byte != b'\n').trim()
    }

    /// A `"…"`, for the header.
    pub fn skip_quoted(&mut self) -> Result<()> {
        let pos = self.pos;
        let end = self.rest()[1..].iter().position(|&byte| byte == b'"');
        let end = end.ok_or_else(|| pos.error("a quoted description without its closing `\"`"))?;
        self.take(end + 2);
        Ok(())
    }

    /// The next token.
    pub fn token(&mut self) -> Result<Token<'s>> {
        let pos = self.skip_blanks()?;
        let rest = self.rest();
        let kind = match rest.first() {
            None => TokenKind::End,
            Some(byte) if byte.is_ascii_digit() => self.number(pos)?,
            Some(byte) if is_name_byte(*byte) => TokenKind::Name(self.word()),
            Some(b'\'') => self.character(pos)?,
            Some(first) => {
                // The first byte rules nearly all of them out.
                let fits = |text: &&str| text.as_bytes()[0] == *first && rest.starts_with(text.as_bytes());
                let punct = PUNCTUATION.into_iter().find(fits);
                let Some(punct) = punct else {
                    let char = self.text[self.at..].chars().next().unwrap_or(' ');
                    return Err(pos.error(format!("unexpected character `{}`", char.escape_default())));
                };
                self.take(punct.len());
                TokenKind::Punct(punct)
            }
        };
        Ok(Token { pos, kind })
    }

    /// Decimal, hexadecimal or octal, with C's suffixes.
    fn number(&mut self, pos: Pos) -> Result<TokenKind<'s>> {
        let text = self.word();
        let bad = || pos.error(format!("malformed number `{}`", clip(text)));
        let lower = text.to_ascii_lowercase();
        let (radix, digits) = match lower.strip_prefix("0x") {
            Some(digits) => (16, digits),
            None if lower.starts_with('0') => (8, &lower[..]),
            None => (10, &lower[..]),
        };
        let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        let (digits, suffix) = digits.split_at(end);
        if digits.is_empty() || !matches!(suffix, "" | "u" | "l" | "ll" | "ul" | "ull" | "lu" | "llu") {
            return Err(bad());
        }
        let value = u64::from_str_radix(digits, radix)
            .map_err(|_| pos.error(format!("the number `{}` does not fit 64 bits", clip(text))))?;
        // C's rule: the first of the permitted types that can hold it.
        let (unsigned, long) = (suffix.contains('u'), suffix.contains('l'));
        let ty = match value {
            0..=0x7fff_ffff if !long && !unsigned => Int::I32,
            0..=0xffff_ffff if !long && (unsigned || radix != 10) => Int::U32,
            0..=0x7fff_ffff_ffff_ffff if !unsigned => Int::I64,
            _ => Int::U64,
        };
        Ok(TokenKind::Number { value: value as i64, ty })
    }

    /// `'a'`, an `int`.
    fn character(&mut self, pos: Pos) -> Result<TokenKind<'s>> {
        match self.rest() {
            [_, char @ b' '..=b'~', b'\'', ..] if !b"'\\".contains(char) => {
                self.take(3);
                Ok(TokenKind::Number { value: *char as i64, ty: Int::I32 })
            }
            _ => Err(pos.error("unsupported character constant: expected one printable character in quotes")),
        }
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<TokenKind<'_>> {
        let mut lexer = Lexer::new(text);
        std::iter::from_fn(|| Some(lexer.token().unwrap().kind).filter(|kind| *kind != TokenKind::End)).collect()
    }

    #[test]
    fn literals_have_the_type_c_gives_them() {
        let table = [
            ("2147483647", Int::I32),
            ("2147483648", Int::I64),
            ("0x80000000", Int::U32),
            ("017", Int::I32),
            ("1u", Int::U32),
            ("1L", Int::I64),
            ("1ULL", Int::U64),
            ("4294967296u", Int::U64),
            ("0xffffffffffffffff", Int::U64),
            ("'a'", Int::I32),
        ];
        for (text, expected) in table {
            let [TokenKind::Number { ty, .. }] = tokens(text)[..] else { panic!("{text}") };
            assert_eq!(ty, expected, "{text}");
        }
    }

    #[test]
    fn comments_are_blank_and_a_body_has_no_ml_comments() {
        assert_eq!(tokens("a (* b (* c *) d *) // e\n /* f */ g"), tokens("a g"));
        let mut lexer = Lexer::new("(*x)");
        lexer.in_body = true;
        assert_eq!(lexer.token().unwrap().kind, TokenKind::Punct("("));
    }

    #[test]
    fn columns_count_characters() {
        let mut lexer = Lexer::new("/* é */ x\n  y");
        assert_eq!(lexer.token().unwrap().pos, Pos { line: 1, column: 9 });
        assert_eq!(lexer.token().unwrap().pos, Pos { line: 2, column: 3 });
    }
}
