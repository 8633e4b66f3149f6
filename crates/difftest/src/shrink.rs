//! The smallest program on which the sources still disagree in the same way.

use crate::compare::{Class, Disagreement, compare};
use crate::program::{
    Expected, Language, MutexType, Operand, Order, Part, Program, Stmt, Storage, Thread, Variable, WordBegins,
};
use crate::truths::{Effort, Subject};
use crate::units::Unit;
use std::io;
use std::path::Path;

/// So many candidates are compiled at once.
const BATCH: usize = 24;

/// Shrinks a program. What is left, and how the sources disagree about it.
pub fn shrink(
    language: Language,
    program: &Program,
    disagreement: &Disagreement,
    effort: &Effort,
    directory: &Path,
) -> io::Result<(Program, Disagreement)> {
    let mut best = (program.clone(), disagreement.clone());
    let mut rounds = 0;
    'again: loop {
        let candidates = simpler(&best.0);
        for batch in candidates.chunks(BATCH) {
            rounds += 1;
            let unit = Unit::build(
                language,
                batch,
                directory,
                &format!("shrink{rounds}"),
                disagreement.class == Class::Native,
            )?;
            for (number, candidate) in batch.iter().enumerate() {
                let subject = Subject { unit: &unit, number, model: disagreement.model };
                let comparison = compare(candidate, subject, effort, 1);
                if let Some(found) = comparison.disagreement.filter(|found| found.class == disagreement.class) {
                    best = (candidate.clone(), found);
                    continue 'again;
                }
            }
        }
        return Ok(best);
    }
}

/// Programs that are a little simpler, the much simpler ones first.
fn simpler(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for t in (1..program.threads.len()).rev() {
        if program.threads.len() > 2 {
            all.push(without_thread(program, t));
        }
    }
    for (t, thread) in program.threads.iter().enumerate() {
        for i in (0..thread.body.len()).rev() {
            all.push(with_body(program, t, removed(&thread.body, i)));
        }
    }
    for (t, thread) in program.threads.iter().enumerate() {
        for (i, stmt) in thread.body.iter().enumerate() {
            for replacement in plainer(stmt) {
                let mut body = thread.body.clone();
                body.splice(i..=i, replacement);
                all.push(with_body(program, t, body));
            }
        }
        if thread.detached || thread.creator != 0 {
            let mut simple = program.clone();
            simple.threads[t] = Thread { body: thread.body.clone(), ..Thread::default() };
            all.push(simple);
        }
    }
    let usual = Variable { size: 4, place: Storage::Global };
    for (i, variable) in program.variables.iter().enumerate() {
        if *variable != usual {
            let mut simple = program.clone();
            simple.variables[i] = usual;
            all.push(simple);
        }
    }
    if program.word != WordBegins::Untouched {
        all.push(Program { word: WordBegins::Untouched, ..program.clone() });
    }
    if program.mutexes != [MutexType::Normal; 2] {
        all.push(Program { mutexes: [MutexType::Normal; 2], ..program.clone() });
    }
    all
}

fn with_body(program: &Program, t: usize, body: Vec<Stmt>) -> Program {
    let mut simple = program.clone();
    simple.threads[t].body = body;
    simple
}

fn without_thread(program: &Program, t: usize) -> Program {
    let mut simple = program.clone();
    simple.threads.remove(t);
    let gone = t as u8;
    for thread in &mut simple.threads {
        thread.creator = if thread.creator == gone { 0 } else { thread.creator - u8::from(thread.creator > gone) };
        thread.body.retain(|stmt| !matches!(stmt, Stmt::Cancel { thread } if *thread == gone));
        for stmt in &mut thread.body {
            if let Stmt::Cancel { thread } = stmt {
                *thread -= u8::from(*thread > gone);
            }
        }
    }
    simple
}

/// The body without statement `i`; a lock goes with its release.
fn removed(body: &[Stmt], i: usize) -> Vec<Stmt> {
    let mut left = body.to_vec();
    let gone = left.remove(i);
    match gone {
        Stmt::Acquire { lock } => {
            let is_release = |stmt: &Stmt| matches!(stmt, Stmt::Release { lock: other } if *other == lock);
            if let Some(at) = left[i..].iter().position(is_release) {
                left.remove(i + at);
            }
        }
        Stmt::Release { lock } => {
            let is_acquire = |stmt: &Stmt| matches!(stmt, Stmt::Acquire { lock: other } if *other == lock);
            if let Some(at) = left[..i].iter().rposition(is_acquire) {
                left.remove(at);
            }
        }
        _ => {}
    }
    left
}

/// Simpler statements in the place of one.
fn plainer(stmt: &Stmt) -> Vec<Vec<Stmt>> {
    let mut all = Vec::new();
    match stmt {
        Stmt::If { body, .. } => all.push(body.clone()),
        Stmt::Load { var, order, reg } if *order != Order::Relaxed => {
            all.push(vec![Stmt::Load { var: *var, order: Order::Relaxed, reg: *reg }]);
        }
        Stmt::Store { var, order, value } => {
            if *order != Order::Relaxed {
                all.push(vec![Stmt::Store { var: *var, order: Order::Relaxed, value: *value }]);
            }
            if *value != Operand::Const(1) {
                all.push(vec![Stmt::Store { var: *var, order: *order, value: Operand::Const(1) }]);
            }
        }
        Stmt::Rmw { var, order, how, value, reg } => {
            if *order != Order::Relaxed {
                let order = Order::Relaxed;
                all.push(vec![Stmt::Rmw { var: *var, order, how: *how, value: *value, reg: *reg }]);
            }
            all.push(vec![Stmt::Load { var: *var, order: Order::Relaxed, reg: *reg }]);
            all.push(vec![Stmt::Store { var: *var, order: Order::Relaxed, value: Operand::Const(*value) }]);
        }
        Stmt::Cas { var, place, expected, desired, success, failure, weak, reg } => {
            let simple = Stmt::Cas {
                var: *var,
                place: Expected::Local,
                expected: *expected,
                desired: *desired,
                success: Order::Relaxed,
                failure: Order::Relaxed,
                weak: *weak,
                reg: *reg,
            };
            if (*place, *success, *failure) != (Expected::Local, Order::Relaxed, Order::Relaxed) {
                all.push(vec![simple]);
            }
            all.push(vec![Stmt::Load { var: *var, order: Order::Relaxed, reg: *reg }]);
            all.push(vec![Stmt::Store { var: *var, order: Order::Relaxed, value: Operand::Const(*desired) }]);
        }
        Stmt::PlainStore { at, value } if *value != Operand::Const(1) => {
            all.push(vec![Stmt::PlainStore { at: *at, value: Operand::Const(1) }]);
        }
        Stmt::PartLoad { part, reg } if part.order.is_some_and(|order| order != Order::Relaxed) => {
            let part = Part { order: Some(Order::Relaxed), ..*part };
            all.push(vec![Stmt::PartLoad { part, reg: *reg }]);
        }
        Stmt::PartStore { part, value } if part.order.is_some_and(|order| order != Order::Relaxed) => {
            let part = Part { order: Some(Order::Relaxed), ..*part };
            all.push(vec![Stmt::PartStore { part, value: *value }]);
        }
        Stmt::PartAdd { part, value, reg } => {
            all.push(vec![Stmt::PartLoad { part: *part, reg: *reg }]);
            all.push(vec![Stmt::PartStore { part: Part { order: Some(Order::Relaxed), ..*part }, value: *value }]);
        }
        Stmt::Fill { part, value } => all.push(vec![Stmt::PartStore { part: *part, value: *value }]),
        Stmt::Publish { order, value } if *order != Order::Relaxed => {
            all.push(vec![Stmt::Publish { order: Order::Relaxed, value: *value }]);
        }
        Stmt::Consume { order, reg } => {
            all.push(vec![Stmt::Peek { order: Order::Relaxed, reg: *reg }]);
            if *order != Order::Relaxed {
                all.push(vec![Stmt::Consume { order: Order::Relaxed, reg: *reg }]);
            }
        }
        Stmt::Copy { reg } => {
            let part = Part { bytes: 8, offset: 0, order: None };
            all.push(vec![Stmt::PartLoad { part, reg: *reg }]);
        }
        Stmt::Attempt { lock, body, .. } => {
            let mut locked = vec![Stmt::Acquire { lock: *lock }];
            locked.extend(body.iter().cloned());
            locked.push(Stmt::Release { lock: *lock });
            all.push(locked);
        }
        Stmt::Fence { order } if *order != Order::SeqCst => all.push(vec![Stmt::Fence { order: Order::SeqCst }]),
        _ => {}
    }
    all
}
