//! What a thread does at a program point that takes part in a finding.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! actions {
    ($($(#[$attribute:meta])* $variant:ident = $name:literal,)*) => {
        /// What a thread does, did or is about to do. In JSON its name.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum Action {
            $($(#[$attribute])* $variant,)*
            /// An operation that the program itself names, or a call of it.
            Operation(String),
        }

        impl Action {
            /// Its name.
            pub fn name(&self) -> &str {
                match self {
                    $(Action::$variant => $name,)*
                    Action::Operation(name) => name,
                }
            }
        }

        impl From<&str> for Action {
            fn from(name: &str) -> Action {
                match name {
                    $($name => Action::$variant,)*
                    other => Action::Operation(other.to_owned()),
                }
            }
        }
    };
}

actions! {
    /// Nothing that has a name.
    #[default]
    Unnamed = "",
    /// Reads memory.
    Read = "read",
    /// Writes memory.
    Write = "write",
    /// Reads memory and writes it in one step.
    Rmw = "rmw",
    /// Reads memory atomically, where plain accesses are the rule.
    AtomicRead = "atomic read",
    /// Writes memory atomically, where plain accesses are the rule.
    AtomicWrite = "atomic write",
    /// Gives a block of memory back.
    Free = "free",
    /// Gets a block of memory.
    Allocate = "allocation",
    /// Makes a lock or the like.
    Initialise = "init",
    /// Uses one.
    Use = "use",
    /// Takes it.
    Lock = "lock",
    /// Releases it.
    Unlock = "unlock",
    /// Ends its life.
    Destroy = "destroy",
    /// Waits.
    Wait = "wait",
    /// Goes around a loop.
    Spin = "spin",
    /// Fails.
    Fail = "fail",
    /// Calls a function.
    Call = "call",
}

impl Action {
    /// Is it an atomic access?
    pub fn is_atomic(&self) -> bool {
        matches!(self, Action::AtomicRead | Action::AtomicWrite)
    }

    /// The access that reads, writes, or both.
    pub fn access(reads: bool, writes: bool) -> Action {
        match (reads, writes) {
            (true, true) => Action::Rmw,
            (_, true) => Action::Write,
            _ => Action::Read,
        }
    }
}

impl From<String> for Action {
    fn from(name: String) -> Action {
        Action::from(&name[..])
    }
}

impl From<Action> for String {
    fn from(action: Action) -> String {
        action.name().to_owned()
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// JSON has had these names from the beginning: what was recorded must be read again as it was.
    #[test]
    fn names_are_kept() {
        for name in ["", "read", "atomic write", "rmw", "wait", "push", "destroy"] {
            let json = format!("{name:?}");
            let action: Action = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&action).unwrap(), json);
        }
        assert_eq!(Action::from("atomic read"), Action::AtomicRead);
        assert_eq!(Action::from("push"), Action::Operation("push".to_owned()));
        assert_eq!(format!("{:6}|", Action::Read), "read  |");
    }
}
