//! The vocabulary of Fencepost.
//!
//! Every other crate speaks in these words and this crate uses none of theirs:
//!
//! - [`ThreadId`], [`EventId`], [`Label`]: names of things in an execution;
//! - [`Location`], [`Size`], [`Value`]: memory;
//! - [`LoadOrder`], [`StoreOrder`], [`RmwOrder`], [`FenceOrder`]: memory orders, one type for each kind
//!   of operation, so that a release load cannot be written;
//! - [`Op`], [`Access`], [`Sync`](op::Sync): what a program thread asks for next;
//! - [`Event`], [`Trace`]: what happened;
//! - [`Plan`]: one execution, to be: a [`Model`], a [`StrategySpec`]; [`CampaignSpec`]: many of them; [`Coverage`]:
//!   what has been seen;
//! - [`Finding`]: what was found;
//! - [`Cycle`], [`Schedule`]: violations of sequential consistency that are hunted.
//!
//! The one idea behind them: an execution is a deterministic function of a program and a plan, and it
//! returns a trace.

#![forbid(unsafe_code)]

mod action;
mod campaign;
mod clock;
mod coverage;
mod event;
mod finding;
mod hunt;
mod ids;
mod label;
mod learning;
mod location;
pub mod op;
mod order;
mod plan;
mod sampling;
mod strategy;
mod value;

pub use action::Action;
pub use campaign::{Answers, CampaignSpec, Method, Minimisation, Task, Trials};
pub use clock::VectorClock;
pub use coverage::{BLOCK, Coverage};
pub use event::{Coherence, Event, EventKind, Outcome, Part, Trace};
pub use finding::{
    Failure, Finding, FindingKind, FindingLabel, FindingMemory, FindingStack, FirstMet, Fix, MemoryKind, Needs,
    Severity,
};
pub use hunt::{Cycle, CyclePoint, OrionOptions, Pace, Points, RelaxerOptions, Schedule, ScheduleStep, Segment, Stop};
pub use ids::{EventId, ThreadId};
pub use label::Label;
pub use learning::SEASON;
pub use location::{Hidden, Location, Size};
pub use op::{Access, Guard, Op, Reply, Update};
pub use order::{FenceOrder, LoadOrder, RmwOrder, StoreOrder};
pub use plan::{Limits, Model, ParseModelError, Plan};
pub use sampling::{Beginning, Pair, Reads, Sampling, Scheduler, execution_seed, scramble};
pub use strategy::{GraphStep, StrategySpec};
pub use value::Value;
