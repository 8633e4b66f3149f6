//! Tests of the axioms.
//!
//! - [`program`]: litmus programs, and a reader for those of the corpus;
//! - [`enumerate`]: all their candidate executions, by brute force;
//! - [`oracle`]: the corpus, against herd7;
//! - [`shapes`]: the classic shapes by hand, with the reason for each outcome;
//! - [`traces`]: what a program does not show: accesses of different sizes, ill-formed traces, clocks, races.

mod enumerate;
mod oracle;
mod program;
mod shapes;
mod traces;
