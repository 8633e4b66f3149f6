//! Words that reports have a fixed list of.

use fencepost_trace::FenceOrder;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The subcommand that found something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Command {
    Test,
    Check,
    Hunt,
    Safe,
    Litmus,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Command::Test => "test",
            Command::Check => "check",
            Command::Hunt => "hunt",
            Command::Safe => "safe",
            Command::Litmus => "litmus",
        })
    }
}

/// What brings a cycle about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HuntMethod {
    /// A schedule that was solved for.
    #[serde(rename = "solve")]
    Solved,
    /// Orion's scheduler.
    Orion,
    /// Relaxer's scheduler.
    Relaxer,
    /// Chance: an execution of the model, as `test` has them, that failed.
    Random,
    /// The exploration of every execution.
    #[serde(rename = "explore")]
    Explored,
}

/// How executions of a native program begin anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RestartKind {
    /// Memory is put back.
    InPlace,
    /// Each has a process of its own.
    Fork,
}

/// What an ordering has to keep apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FenceKind {
    /// Everything before it from everything behind it.
    Full,
    /// Stores from stores.
    StoreStore,
    /// Loads from loads.
    LoadLoad,
    /// Both of these.
    #[serde(rename = "store-store, load-load")]
    Both,
}

impl FenceKind {
    /// What a fence of this order keeps apart.
    pub fn of(order: FenceOrder) -> FenceKind {
        match order {
            FenceOrder::SeqCst => FenceKind::Full,
            FenceOrder::Release => FenceKind::StoreStore,
            FenceOrder::Acquire => FenceKind::LoadLoad,
            FenceOrder::AcqRel => FenceKind::Both,
        }
    }

    /// Such a fence, in words.
    pub fn words(self) -> &'static str {
        match self {
            FenceKind::Full => "full fence",
            FenceKind::StoreStore => "store-store (release) fence",
            FenceKind::LoadLoad => "load-load (acquire) fence",
            FenceKind::Both => "acquire and release fence",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scripts read these.
    #[test]
    fn names_in_json_stay_as_they_are() {
        let json = |value: &dyn Fn() -> serde_json::Result<String>| value().unwrap();
        assert_eq!(json(&|| serde_json::to_string(&Command::Test)), "\"test\"");
        assert_eq!(json(&|| serde_json::to_string(&HuntMethod::Solved)), "\"solve\"");
        assert_eq!(json(&|| serde_json::to_string(&HuntMethod::Relaxer)), "\"relaxer\"");
        assert_eq!(json(&|| serde_json::to_string(&RestartKind::InPlace)), "\"in-place\"");
        assert_eq!(json(&|| serde_json::to_string(&FenceKind::StoreStore)), "\"store-store\"");
        assert_eq!(json(&|| serde_json::to_string(&FenceKind::Both)), "\"store-store, load-load\"");
    }
}
