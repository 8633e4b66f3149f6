//! One execution, to be: a model, a strategy, limits. Plain values that can be written down and sent elsewhere.

use crate::{Sampling, StrategySpec, execution_seed};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A memory model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Sequential consistency.
    Sc,
    /// Total store order: x86, SPARC TSO.
    Tso,
    /// Partial store order: SPARC PSO.
    Pso,
    /// Partial store load order: PSO in which loads may be early too.
    Pslo,
    /// C/C++20.
    C11,
}

impl Model {
    /// All of them, from the strongest to the weakest hardware, then the language.
    pub const ALL: [Model; 5] = [Model::Sc, Model::Tso, Model::Pso, Model::Pslo, Model::C11];

    /// The name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Model::Sc => "sc",
            Model::Tso => "tso",
            Model::Pso => "pso",
            Model::Pslo => "pslo",
            Model::C11 => "c11",
        }
    }

    /// Does the model speak of hardware accesses, to which plain and atomic are the same?
    pub fn is_hardware(self) -> bool {
        self != Model::C11
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A model's name that is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseModelError(String);

impl fmt::Display for ParseModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown memory model '{}': expected sc, tso, pso, pslo or c11", self.0)
    }
}

impl std::error::Error for ParseModelError {}

impl FromStr for Model {
    type Err = ParseModelError;
    fn from_str(name: &str) -> Result<Model, ParseModelError> {
        Model::ALL.into_iter().find(|m| m.name() == name).ok_or_else(|| ParseModelError(name.to_owned()))
    }
}

/// Where an execution is cut off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// The greatest number of steps.
    pub max_steps: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_steps: 1_000_000 }
    }
}

/// One execution, as a value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The memory model.
    pub model: Model,
    /// The greatest number of stores in a thread's buffer (tso, pso); no bound if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<u32>,
    /// Who answers the choices.
    #[serde(flatten)]
    pub strategy: StrategySpec,
    /// Where it is cut off.
    pub limits: Limits,
    /// Of a native program under sc, tso and pso: from so many plain accesses on, those to memory that one thread
    /// alone uses are no operations; they always are if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_private: Option<u64>,
}

impl Plan {
    /// From so many plain accesses on an execution is long, unless somebody wants all of them to be operations.
    pub const LONG: u64 = 1_000;

    /// An execution without a bound on buffers, in which every access is an operation that the model makes one.
    pub fn new(model: Model, strategy: StrategySpec, limits: Limits) -> Plan {
        Plan { model, buffer: None, strategy, limits, skip_private: None }
    }

    /// A random execution under `model`: the one of this number in a campaign with this seed and the usual sampling.
    pub fn random(model: Model, seed: u64, execution: u64) -> Plan {
        let sampling = Sampling::default().of_execution(execution);
        let strategy = StrategySpec::Random { seed: execution_seed(seed, execution), sampling };
        Plan { model, buffer: None, strategy, limits: Limits::default(), skip_private: None }
    }

    /// The execution that gave these choices, again.
    pub fn follow(model: Model, choices: Vec<u32>) -> Plan {
        Plan {
            model,
            buffer: None,
            strategy: StrategySpec::Follow { choices },
            limits: Limits::default(),
            skip_private: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for model in Model::ALL {
            assert_eq!(model.name().parse(), Ok(model));
        }
        assert!("x86".parse::<Model>().is_err());
    }
}
