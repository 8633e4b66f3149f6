//! Which execution somebody wants to see.

use super::case::LitmusCase;
use fencepost_report::Quantifier;
use std::str::FromStr;

/// An execution to look for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// A state that the condition asks for or forbids.
    Condition,
    /// A data race.
    Race,
    /// A state with these values.
    State(Vec<(String, i64)>),
}

impl FromStr for Wanted {
    type Err = String;
    fn from_str(text: &str) -> Result<Wanted, String> {
        match text.trim() {
            "exists" | "~exists" | "forall" => return Ok(Wanted::Condition),
            "race" => return Ok(Wanted::Race),
            _ => {}
        }
        let text = text.replace("/\\", ",");
        let parts: Vec<&str> = text.split([',', ';', ' ']).map(str::trim).filter(|part| !part.is_empty()).collect();
        if parts.is_empty() {
            return Err("expected a state such as '0:r0=0,x=1', or 'exists', or 'race'".to_owned());
        }
        let values = parts.into_iter().map(|part| {
            let (name, value) = part.split_once('=').ok_or_else(|| format!("expected NAME=VALUE, found '{part}'"))?;
            let value = value.trim().parse().map_err(|_| format!("'{value}' is not a number"))?;
            Ok((name.trim().to_owned(), value))
        });
        values.collect::<Result<_, String>>().map(Wanted::State)
    }
}

/// The same for one test.
pub(crate) enum Goal {
    Condition,
    Race,
    /// Positions in the state, and values.
    State(Vec<(usize, i64)>),
}

impl Wanted {
    /// What it means for this test; an error if the test has no such thing.
    pub(crate) fn in_test(&self, case: &LitmusCase) -> Result<Goal, String> {
        match self {
            Wanted::Condition if case.condition.is_none() => {
                Err("--show: the test has no condition; name a state instead".to_owned())
            }
            Wanted::Condition => Ok(Goal::Condition),
            Wanted::Race => Ok(Goal::Race),
            Wanted::State(values) => {
                let position = |(name, value): &(String, i64)| {
                    let found = case.vars.iter().position(|var| var == name);
                    let known =
                        || format!("--show: no '{name}' in the final state, which has {}", case.vars.join(", "));
                    found.map(|position| (position, *value)).ok_or_else(known)
                };
                values.iter().map(position).collect::<Result<_, String>>().map(Goal::State)
            }
        }
    }
}

impl Goal {
    pub fn accepts(&self, case: &LitmusCase, state: &[i64]) -> bool {
        match self {
            Goal::Condition => {
                let forall = case.condition.as_ref().is_some_and(|c| c.quantifier == Quantifier::Forall);
                case.satisfies(state) != forall
            }
            Goal::Race => false,
            Goal::State(values) => values.iter().all(|(position, value)| state[*position] == *value),
        }
    }

    pub fn accepts_race(&self) -> bool {
        matches!(self, Goal::Race)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_written_in_several_ways() {
        let state = |values: &[(&str, i64)]| {
            Ok(Wanted::State(values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()))
        };
        assert_eq!("0:r0=0,1:r0=-1".parse(), state(&[("0:r0", 0), ("1:r0", -1)]));
        assert_eq!("x=1 /\\ y=2".parse(), state(&[("x", 1), ("y", 2)]));
        assert_eq!("x=1; y=2;".parse(), state(&[("x", 1), ("y", 2)]));
        assert_eq!("exists".parse(), Ok(Wanted::Condition));
        assert_eq!("race".parse(), Ok(Wanted::Race));
        for bad in ["", ",", "x", "x=", "x=one"] {
            assert!(bad.parse::<Wanted>().is_err(), "{bad:?}");
        }
    }
}
