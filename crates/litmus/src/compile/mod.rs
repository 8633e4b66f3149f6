//! Syntax to code.
//!
//! [`layout`] decides where each location lives, [`thread`] has the state of compiling one thread, with
//! `statement`, `expression` and `call` for the parts of the language, [`observe`] finds the variables of the
//! final state, and [`liveness`] what a thread's future depends on at each program point.

mod call;
mod expression;
mod layout;
mod liveness;
mod observe;
mod statement;
mod thread;

use crate::ast::Test;
use crate::code::{Code, ThreadCode};
use crate::condition::Condition;
use crate::error::Result;
pub(crate) use layout::{FIRST_ADDRESS, SPACING};

use layout::Layout;
use thread::ThreadCompiler;

/// The code of a test and its condition, with names, types and memory orders checked.
pub(crate) fn compile(file: &str, test: &Test) -> Result<(Code, Option<Condition>)> {
    let layout = Layout::new(test)?;
    let mut code = Code {
        file: file.to_owned(),
        threads: Vec::new(),
        cells: layout.cells(),
        sites: Vec::new(),
        live: Vec::new(),
        initial: Vec::new(),
        vars: Vec::new(),
        homes: Vec::new(),
    };
    let mut registers = Vec::new();
    for number in 0..test.threads.len() {
        let compiled = ThreadCompiler::new(test, &layout, number, &mut code.sites)?.thread()?;
        let base = code.initial.len();
        code.initial.extend(compiled.initial);
        let slots = base..code.initial.len();
        code.threads.push(ThreadCode { insns: compiled.insns, slots, variables: compiled.variables });
        registers.push(compiled.registers);
    }
    let condition = observe::observe(test, &layout, &registers, &mut code)?;
    liveness::annotate(&mut code);
    Ok((code, condition))
}
