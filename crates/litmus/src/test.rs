//! A litmus test: from the bytes of a file to something that can be run.

use crate::ast::Test;
use crate::code::{Code, Insn, Var};
use crate::compile::compile;
use crate::condition::{Condition, Quantifier};
use crate::error::{ParseError, Pos};
use crate::parser::{MAX_BYTES, parse};
use crate::program::LitmusProgram;
use std::sync::Arc;

/// A litmus test that has been read, checked and compiled.
#[derive(Clone, Debug)]
pub struct LitmusTest {
    source: String,
    ast: Test,
    code: Arc<Code>,
    condition: Option<Condition>,
}

impl LitmusTest {
    /// Reads a test. `file_name` is what labels will say; nothing is opened.
    pub fn parse(file_name: &str, text: &[u8]) -> Result<LitmusTest, ParseError> {
        if text.len() > MAX_BYTES {
            return Err(Pos::START.error(format!("file too large: more than {MAX_BYTES} bytes")));
        }
        let source = str::from_utf8(text).map_err(|error| invalid_utf8(text, error.valid_up_to()))?;
        let ast = parse(source)?;
        let (code, condition) = compile(file_name, &ast)?;
        Ok(LitmusTest { source: source.to_owned(), ast, code: Arc::new(code), condition })
    }

    /// What stands behind `C` in the header.
    pub fn name(&self) -> &str {
        &self.ast.name
    }

    /// The file name it was parsed with.
    pub fn file_name(&self) -> &str {
        &self.code.file
    }

    /// The text of the file.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The syntax of the file.
    pub fn ast(&self) -> &Test {
        &self.ast
    }

    /// The condition; none if the file only lists `locations`.
    pub fn condition(&self) -> Option<&Condition> {
        self.condition.as_ref()
    }

    /// The quantifier of the condition.
    pub fn quantifier(&self) -> Option<Quantifier> {
        self.condition.as_ref().map(|condition| condition.quantifier)
    }

    /// The components of a final state, in order: what the `locations` clause and the condition name, each once;
    /// registers by thread and name, then locations by name.
    pub fn vars(&self) -> &[Var] {
        &self.code.vars
    }

    /// The program, at its beginning. Cheap: the code is shared.
    pub fn program(&self) -> LitmusProgram {
        LitmusProgram::new(Arc::clone(&self.code))
    }

    /// How many loads, stores and read-modify-writes of shared locations the text has. What a loop repeats
    /// counts once, and fences not at all.
    pub fn memory_operations(&self) -> usize {
        self.code.threads.iter().flat_map(|thread| &thread.insns).filter(|insn| Insn::is_access(insn)).count()
    }
}

/// The error at the first byte that is not UTF-8.
fn invalid_utf8(text: &[u8], valid: usize) -> ParseError {
    let before = &text[..valid];
    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let column = 1 + before[start..].iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
    Pos { line: line as u32, column: column as u32 }.error(format!("byte {:#04x} is not UTF-8", text[valid]))
}
