//! Findings and executions for people and machines.
//!
//! Pure functions from data to text: nothing here opens a file, looks at the terminal or knows where its values
//! came from. The same values become text and JSON:
//!
//! - [`LitmusReport`]: what a litmus test can do; [`litmus_json`] and [`text::litmus`];
//! - [`RunReport`]: what a campaign found, which is its own JSON document; [`text::run`];
//! - [`Safety`]: what `safe` adds to that;
//! - [`HuntReport`]: what a hunt for violations of sequential consistency found; [`text::hunt`];
//! - [`Document`]: either of these with all that belongs to it, rendered by a [`Format`];
//! - [`text::execution`]: one execution, threads side by side, in the words of a front end ([`Describe`]).
//!
//! ```
//! use fencepost_report::text::TextStyle;
//! use fencepost_report::{LitmusReport, ModelResult, Reached, StateCount, litmus_json, text};
//! use fencepost_trace::Model;
//!
//! let state = |x, executions| StateCount { values: vec![x], executions, satisfies: false };
//! let report = LitmusReport {
//!     test: "2W".into(),
//!     file: "2W.litmus".into(),
//!     vars: vec!["x".into()],
//!     condition: None,
//!     results: vec![ModelResult {
//!         model: Model::Sc,
//!         executions: 2,
//!         blocked: 0,
//!         failed: 0,
//!         complete: true,
//!         reached: Reached::States(vec![state(1, 1), state(2, 1)]),
//!     }],
//! };
//! assert_eq!(
//!     litmus_json(&report, &report.results[0], None),
//!     r#"{"test":"2W","file":"2W.litmus","model":"sc","executions":2,"states":[{"x":1},{"x":2}]}"#
//! );
//! assert!(text::litmus(&report, TextStyle::PLAIN).contains("2 executions"));
//! ```

#![forbid(unsafe_code)]

mod describe;
mod document;
mod dot;
mod evidence;
mod format;
pub mod html;
mod hunt;
mod json;
mod junit;
mod litmus;
mod names;
mod needs;
mod order;
mod relations;
mod run;
mod safety;
mod sarif;
mod step_text;
pub mod text;
pub mod xml;

pub use describe::{Describe, statement_at};
pub use document::{Document, Report};
pub use evidence::{CallStack, Evidence, ShownExecution};
pub use format::Format;
pub use hunt::{FenceAdvice, HuntCycle, HuntFinding, HuntReport, VerifiedBy};
pub use litmus::{
    ConditionText, LitmusReport, ModelResult, Quantifier, Reached, StateCount, litmus_error_json, litmus_json,
};
pub use names::{Command, FenceKind, HuntMethod, RestartKind};
pub use needs::{Missed, missed, needs, stale_reads};
pub use order::{Order, Timeline};
pub use run::{Race, RacingAccess, Restarted, RunReport, Seen, Verdict};
pub use safety::{SafeLine, Safety, safe_json};
