//! Programs as text.

mod c;
mod cxx;
mod rust;

use crate::program::{Language, Plain, Program, Stmt};
use std::collections::BTreeSet;

/// A translation unit that holds these programs; its first argument says which one runs.
pub fn unit(language: Language, programs: &[Program]) -> String {
    match language {
        Language::C => c::unit(programs),
        Language::Cxx => cxx::unit(programs),
        Language::Rust => rust::unit(programs),
    }
}

/// The same for the machine itself, in languages that have it: the first argument says which program runs, the second
/// how often. Each run ends with a line of `#` and its exit status, or `!` and how else it ended.
pub fn native_unit(language: Language, programs: &[Program]) -> Option<String> {
    (language == Language::C).then(|| c::native_unit(programs))
}

/// The part of a unit that is not in all of them.
pub fn own_part(text: &str) -> &str {
    text.find(MARK).map_or(text, |at| &text[at + MARK.len()..])
}

/// The line between what all units have and what this one has.
const MARK: &str = "/* --- */\n";

/// The names of the objects that a program uses, as far as C and C++ have them alike; `plain` names plain variables.
fn objects(program: &Program, plain: fn(Plain) -> String) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    program.each(&mut |_, stmt| {
        let mut add = |name: String| {
            names.insert(name);
        };
        match stmt {
            Stmt::PlainLoad { at, .. } | Stmt::PlainStore { at, .. } => add(plain(*at)),
            Stmt::PartLoad { .. }
            | Stmt::PartStore { .. }
            | Stmt::PartAdd { .. }
            | Stmt::Fill { .. }
            | Stmt::Copy { .. } => add("u0".to_owned()),
            Stmt::TestAndSet { .. } | Stmt::Clear { .. } => add("flag".to_owned()),
            Stmt::Publish { .. } | Stmt::Consume { .. } | Stmt::Peek { .. } => add("block".to_owned()),
            Stmt::Acquire { lock } | Stmt::Release { lock } | Stmt::Attempt { lock, .. } => add(lock.object()),
            Stmt::CondWait { .. } | Stmt::CondSignal { .. } => {
                ["m0", "gm0", "c0"].into_iter().for_each(|name| add(name.to_owned()));
            }
            Stmt::AwaitLocked { .. } => ["m0", "gm0"].into_iter().for_each(|name| add(name.to_owned())),
            Stmt::LockBoth { .. } => {
                ["m0", "m1", "gm0", "gm1"].into_iter().for_each(|name| add(name.to_owned()));
            }
            Stmt::FutexWait { var, .. } | Stmt::FutexWake { var, .. } => add(format!("f{var}")),
            Stmt::SemWait { .. } | Stmt::SemPost => add("sem".to_owned()),
            Stmt::Barrier { .. } => add("bar".to_owned()),
            Stmt::Once => add("once".to_owned()),
            Stmt::Tls { .. } => add("tl".to_owned()),
            _ => {}
        }
    });
    names
}

/// How many registers a thread uses.
fn registers(program: &Program, thread: usize) -> u8 {
    let mut most = 0;
    program.each(&mut |t, stmt| {
        if t == thread
            && let Some(reg) = target(stmt)
        {
            most = most.max(reg + 1);
        }
        if t == thread {
            let read = match stmt {
                Stmt::If { reg, .. } => *reg + 1,
                Stmt::Assert { one, other } => one.0.max(other.0) + 1,
                Stmt::Store { value: crate::program::Operand::Reg(reg), .. }
                | Stmt::PlainStore { value: crate::program::Operand::Reg(reg), .. } => *reg + 1,
                _ => 0,
            };
            most = most.max(read);
        }
    });
    most
}

/// The atomic variables that a program uses.
fn variables(program: &Program) -> Vec<u8> {
    let used = |var: &u8| {
        program.any(|stmt| match stmt {
            Stmt::Load { var: at, .. }
            | Stmt::Store { var: at, .. }
            | Stmt::Rmw { var: at, .. }
            | Stmt::Cas { var: at, .. }
            | Stmt::Await { var: at, .. }
            | Stmt::Poll { var: at, .. } => at == var,
            Stmt::Once | Stmt::Key { .. } => *var == 0,
            _ => false,
        })
    };
    (0..program.variables.len() as u8).filter(used).collect()
}

/// The register that a statement writes.
fn target(stmt: &Stmt) -> Option<u8> {
    match stmt {
        Stmt::Load { reg, .. }
        | Stmt::Rmw { reg, .. }
        | Stmt::Cas { reg, .. }
        | Stmt::PlainLoad { reg, .. }
        | Stmt::PartLoad { reg, .. }
        | Stmt::PartAdd { reg, .. }
        | Stmt::Copy { reg }
        | Stmt::TestAndSet { reg, .. }
        | Stmt::Consume { reg, .. }
        | Stmt::Peek { reg, .. }
        | Stmt::Attempt { reg, .. }
        | Stmt::CondWait { reg, .. }
        | Stmt::SemWait { reg, .. }
        | Stmt::Barrier { reg }
        | Stmt::FutexWait { reg, .. }
        | Stmt::FutexWake { reg, .. }
        | Stmt::Await { reg, .. }
        | Stmt::AwaitLocked { reg }
        | Stmt::LockBoth { reg, .. }
        | Stmt::Poll { reg, .. }
        | Stmt::Block { reg, .. }
        | Stmt::Tls { reg, .. }
        | Stmt::PipeRead { reg }
        | Stmt::Receive { reg } => Some(*reg),
        _ => None,
    }
}

/// All registers of a thread in one word: five bits each.
fn packed(count: u8) -> String {
    match count {
        0 => "0".to_owned(),
        _ => (0..count).map(|i| format!("r{i} << {}", 5 * i)).collect::<Vec<_>>().join(" | "),
    }
}

/// Joins lines, each indented.
fn indent(lines: &str, by: usize) -> String {
    lines.lines().map(|line| format!("{:by$}{line}\n", "")).collect()
}
