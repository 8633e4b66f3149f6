//! What is wrong with a file, and where.

use std::fmt;

/// A place in a file, counted from 1. Columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[allow(missing_docs)]
pub struct Pos {
    pub line: u32,
    pub column: u32,
}

impl Pos {
    /// The first character of a file.
    pub const START: Pos = Pos { line: 1, column: 1 };

    /// An error here.
    pub(crate) fn error(self, message: impl Into<String>) -> ParseError {
        ParseError { line: self.line, column: self.column, message: message.into() }
    }
}

/// Why a file is not a litmus test of the dialect.
///
/// ```
/// let error = fencepost_litmus::LitmusTest::parse("x", b"C t\n{ x=; }").unwrap_err();
/// assert_eq!(error.to_string(), "2:5: expected a constant, found `;`");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The line, counted from 1.
    pub line: u32,
    /// The column in characters, counted from 1.
    pub column: u32,
    /// What is wrong: the construct, and what was expected.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

/// The result of everything that can meet a mistake in the file.
pub(crate) type Result<T> = std::result::Result<T, ParseError>;
