//! Static program points.

use serde::{Deserialize, Serialize};

/// A static program point, for people: what cycles and races are reported by.
///
/// In a litmus test the function is the thread (`P0`); in native code it comes from the debug information.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Label {
    /// The function, demangled.
    pub function: String,
    /// The source file as the compiler knew it.
    pub file: String,
    /// The line, counted from 1; 0 if unknown.
    pub line: u32,
    /// The column, counted from 1; 0 if unknown.
    pub column: u32,
}
