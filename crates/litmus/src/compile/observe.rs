//! The variables of the final state, and the condition over them.

use super::layout::{Layout, Sharing};
use super::thread::Registers;
use crate::ast::{Prop, Reference, Symbol, Test};
use crate::code::{Code, Home, Var};
use crate::condition::Condition;
use crate::error::Result;
use crate::int::Int;
use crate::lexer::clip;
use rustc_hash::FxHashMap;

/// What a name at the end of a file stands for.
struct Observed {
    var: Var,
    home: Home,
    ty: Int,
}

/// Enters what the `locations` clause and the condition name into `code`, each once and sorted, and resolves the
/// condition.
pub(super) fn observe(
    test: &Test,
    layout: &Layout,
    registers: &[Registers],
    code: &mut Code,
) -> Result<Option<Condition>> {
    let mut references = test.locations.clone();
    if let Some((_, prop)) = &test.condition {
        collect(prop, &mut references);
    }
    let mut seen = FxHashMap::default();
    let mut observed = Vec::new();
    for reference in references {
        if seen.insert(key(&reference), observed.len()).is_none() {
            observed.push((key(&reference), resolve(&reference, test, layout, registers, code)?));
        }
    }
    observed.sort_by(|(_, a), (_, b)| a.var.cmp(&b.var));
    let index: FxHashMap<_, _> = observed.iter().enumerate().map(|(i, (key, found))| (*key, (i, found.ty))).collect();
    let condition = test.condition.as_ref().map(|(quantifier, prop)| Condition {
        quantifier: *quantifier,
        prop: resolve_prop(prop, &|reference| index[&key(reference)]),
    });
    for (_, found) in observed {
        code.vars.push(found.var);
        code.homes.push(found.home);
    }
    Ok(condition)
}

/// What makes two references the same.
fn key(reference: &Reference) -> (Option<u32>, Symbol) {
    (reference.thread, reference.name)
}

fn collect(prop: &Prop<Reference>, into: &mut Vec<Reference>) {
    match prop {
        Prop::Constant(_) => {}
        Prop::Equals { var, .. } => into.push(*var),
        Prop::Not(inner) => collect(inner, into),
        Prop::And(parts) | Prop::Or(parts) => parts.iter().for_each(|part| collect(part, into)),
    }
}

fn resolve(
    reference: &Reference,
    test: &Test,
    layout: &Layout,
    registers: &[Registers],
    code: &Code,
) -> Result<Observed> {
    let name = test.names.text(reference.name);
    let Some(thread) = reference.thread else {
        let Some(index) = layout.find(reference.name) else {
            let message = format!("no location `{}`: neither the initial state nor a thread names it", clip(name));
            return Err(reference.pos.error(message));
        };
        let place = &layout.places[index];
        let home = match place.sharing {
            Sharing::Unused => Home::Constant(place.initial),
            Sharing::Shared => Home::Memory(index),
            Sharing::Private(owner) => {
                Home::Slot(code.threads[owner].slots.start + registers[owner].private[&index] as usize)
            }
        };
        return Ok(Observed { var: Var::Location { name: name.to_owned() }, home, ty: place.ty.int });
    };
    let Some(of_thread) = registers.get(thread as usize) else {
        return Err(reference.pos.error(format!("no thread `P{thread}`: there are {}", registers.len())));
    };
    let Some(&(slot, ty)) = of_thread.by_name.get(&reference.name) else {
        return Err(reference.pos.error(format!("no register `{}` in `P{thread}`", clip(name))));
    };
    let home = Home::Slot(code.threads[thread as usize].slots.start + slot as usize);
    Ok(Observed { var: Var::Register { thread, name: name.to_owned() }, home, ty })
}

fn resolve_prop(prop: &Prop<Reference>, find: &impl Fn(&Reference) -> (usize, Int)) -> Prop<usize> {
    let list = |parts: &[Prop<Reference>]| parts.iter().map(|part| resolve_prop(part, find)).collect();
    match prop {
        Prop::Constant(truth) => Prop::Constant(*truth),
        Prop::Equals { var, value } => {
            let (var, ty) = find(var);
            Prop::Equals { var, value: as_held(*value, ty) }
        }
        Prop::Not(inner) => Prop::Not(Box::new(resolve_prop(inner, find))),
        Prop::And(parts) => Prop::And(list(parts)),
        Prop::Or(parts) => Prop::Or(list(parts)),
    }
}

/// A constant of the condition as a variable of that type holds it: `0xffffffff` in an `int` is -1. One that
/// does not fit the width stays, and equals nothing.
fn as_held(value: i64, ty: Int) -> i64 {
    if ty == Int::Bool {
        return value;
    }
    let unused = 64 - 8 * ty.size().bytes() as u32;
    let fits = value << unused >> unused == value || ((value as u64) << unused >> unused) as i64 == value;
    if fits { ty.wrap(value) } else { value }
}
