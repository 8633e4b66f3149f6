//! What `safe` says of a program.

use crate::FenceAdvice;
use fencepost_trace::Model;
use serde::{Deserialize, Serialize};

/// Can the program leave sequential consistency?
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Safety {
    /// Are its executions those that it has under SC? `None` if not everything was explored. What does not say so at
    /// all is no such answer.
    #[serde(deserialize_with = "Option::deserialize")]
    pub trace_safe: Option<bool>,
    /// Can nobody observe a difference: are its outcomes those that it has under SC?
    pub state_safe: Option<bool>,
    /// The fewest orderings that make it trace-safe.
    #[serde(default)]
    pub orderings: Vec<FenceAdvice>,
    /// Is it known that none of these can be left out?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimal: Option<bool>,
    /// Of a program that is safe: fences that could go and seq_cst operations that could be weaker, all together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superfluous: Vec<String>,
}

/// One test under one model, as a line of JSON.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SafeLine<'a> {
    /// The test.
    pub test: &'a str,
    /// Its file.
    pub file: &'a str,
    /// The model.
    pub model: Model,
    /// How many executions were explored, all of them under sc.
    pub executions: u64,
    /// Was everything explored?
    #[serde(skip_serializing_if = "is_true")]
    pub complete: bool,
    /// Is there a data race, so that the program is undefined (c11)?
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub race: bool,
    /// What it comes to.
    #[serde(flatten)]
    pub safety: &'a Safety,
}

fn is_true(truth: &bool) -> bool {
    *truth
}

/// The line, without the newline.
pub fn safe_json(line: &SafeLine<'_>) -> String {
    serde_json::to_string(line).expect("strings and numbers are always JSON")
}
