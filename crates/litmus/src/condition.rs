//! The question about the final states.

use crate::ast::Prop;
use std::fmt;

/// Over which final states a condition speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Quantifier {
    /// At least one state satisfies it.
    Exists,
    /// No state satisfies it.
    NotExists,
    /// All states satisfy it.
    Forall,
}

impl Quantifier {
    /// Does the quantified condition hold, when so many states satisfy it and so many do not?
    ///
    /// ```
    /// use fencepost_litmus::Quantifier;
    /// assert!(Quantifier::Exists.holds(1, 3));
    /// assert!(!Quantifier::Forall.holds(1, 3));
    /// ```
    pub fn holds(self, satisfying: u64, others: u64) -> bool {
        match self {
            Quantifier::Exists => satisfying > 0,
            Quantifier::NotExists => satisfying == 0,
            Quantifier::Forall => others == 0,
        }
    }
}

impl fmt::Display for Quantifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Quantifier::Exists => "exists",
            Quantifier::NotExists => "~exists",
            Quantifier::Forall => "forall",
        })
    }
}

/// A quantified condition over the final state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// Over which states.
    pub quantifier: Quantifier,
    /// What it says of one; variables are positions in the test's [`vars`](crate::LitmusTest::vars).
    pub prop: Prop<usize>,
}

impl Condition {
    /// Does this state satisfy it? `lookup` has the value of the variable at a position in the test's
    /// [`vars`](crate::LitmusTest::vars): for a `state`, `|var| state[var]`.
    pub fn eval(&self, lookup: impl Fn(usize) -> i64) -> bool {
        eval(&self.prop, &lookup)
    }
}

fn eval(prop: &Prop<usize>, lookup: &impl Fn(usize) -> i64) -> bool {
    match prop {
        Prop::Constant(truth) => *truth,
        Prop::Equals { var, value } => lookup(*var) == *value,
        Prop::Not(inner) => !eval(inner, lookup),
        Prop::And(parts) => parts.iter().all(|part| eval(part, lookup)),
        Prop::Or(parts) => parts.iter().any(|part| eval(part, lookup)),
    }
}
