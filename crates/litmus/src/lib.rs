//! Litmus tests in the C dialect, as programs for the Fencepost engine.
//!
//! A litmus test is a handful of threads, an initial state, and a question about the final one:
//!
//! ```
//! use fencepost_litmus::LitmusTest;
//! let text = br#"
//! C SB
//! { [x]=0; [y]=0; }
//! P0 (atomic_int* x, atomic_int* y) {
//!   atomic_store_explicit(x, 1, memory_order_relaxed);
//!   int r0 = atomic_load_explicit(y, memory_order_relaxed);
//! }
//! P1 (atomic_int* x, atomic_int* y) {
//!   atomic_store_explicit(y, 1, memory_order_relaxed);
//!   int r0 = atomic_load_explicit(x, memory_order_relaxed);
//! }
//! exists (0:r0=0 /\ 1:r0=0)
//! "#;
//! let test = LitmusTest::parse("SB.litmus", text)?;
//! assert_eq!(test.name(), "SB");
//! assert_eq!(test.memory_operations(), 4);
//! assert_eq!(test.vars()[1].to_string(), "1:r0");
//! # Ok::<(), fencepost_litmus::ParseError>(())
//! ```
//!
//! From text to final states, one module a step:
//!
//! - `lexer` and `parser`: text to [`ast`]; every error has a position ([`ParseError`]);
//! - `compile`: the syntax to flat code for each thread; here names, types and memory orders are checked;
//! - `program`: [`LitmusProgram`], which runs that code one operation at a time for the engine;
//! - `condition`: the question at the end ([`Condition`]).
//!
//! # The dialect
//!
//! Integer C over the parameters of the threads (pointers to shared locations) and local integer variables
//! (*registers*), with the functions of `<stdatomic.h>`. Types have the sizes of LP64 and `char` is signed;
//! arithmetic follows C's promotions and conversions, and where C leaves overflow undefined it wraps.
//! Operands and arguments are evaluated from left to right. An access through `*x` is plain if `x` points
//! to an ordinary type, and `seq_cst` if it points to an atomic one. An atomic function on a pointer to an
//! ordinary type is an atomic access, as gcc has it.
//!
//! A register belongs to its thread by name: declaring the name again in another block gives the same
//! register, so that a condition can name it; hiding one that is still visible is an error. A register that
//! was never assigned is 0.
//!
//! What other tools accept and this one does not (pointers to pointers, arrays, `struct`, `switch`, `goto`,
//! the Linux kernel's macros, `filter`) is an error that names the construct.
//!
//! # Limits
//!
//! A test has at most [`MAX_THREADS`] threads, [`MAX_NESTING`] levels of nesting, operator chains of
//! [`MAX_HEIGHT`] operands and [`MAX_NODES`] statements, expressions and names. The text ends at
//! [`MAX_BYTES`] bytes. Past them there is an error, not a crash: a test that large is a mistake or an attack.

#![forbid(unsafe_code)]

pub mod ast;
mod code;
mod compile;
mod condition;
mod error;
mod int;
mod lexer;
mod parser;
mod program;
mod test;

pub use code::Var;
pub use condition::{Condition, Quantifier};
pub use error::{ParseError, Pos};
pub use int::Int;
pub use parser::{MAX_BYTES, MAX_HEIGHT, MAX_NESTING, MAX_NODES, MAX_THREADS};
pub use program::LitmusProgram;
pub use test::LitmusTest;
