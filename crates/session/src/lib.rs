//! What the commands of Fencepost do, without a command line: a request goes in, [events](Event) come out while the
//! work goes on, and one result comes back.
//!
//! | request | function | result |
//! |---|---|---|
//! | [`TestRequest`] | [`test()`]: many executions, at random | [`Outcome`] |
//! | [`CheckRequest`] | [`check()`]: every execution | [`Outcome`] |
//! | [`HuntRequest`] | [`hunt()`]: predicted violations of sequential consistency, forced to happen | [`Outcome`] |
//! | [`SafeRequest`] | [`safe()`]: can the memory model matter? [`safe_batch()`]: of many | [`Outcome`] |
//! | [`ReplayRequest`] | [`replay()`]: a recorded execution again | [`Replayed`] |
//! | none | [`doctor()`]: what is installed, and whether it works | [`Diagnosis`] |
//! | [`LitmusRequest`] | [`litmus()`]: the final states of litmus tests | [`LitmusTotals`] |
//!
//! Nothing here prints, looks at a terminal or ends the process. Files are written only where a request names a
//! directory for them.
//!
//! ```
//! use fencepost_session::{CheckRequest, Event, check};
//! use fencepost_report::Verdict;
//! use fencepost_trace::Model;
//!
//! # let directory = tempfile::tempdir()?;
//! # let file = directory.path().join("SB.litmus");
//! std::fs::write(&file, "C SB
//! {}
//! P0 (atomic_int* x, atomic_int* y) {
//!   atomic_store_explicit(x, 1, memory_order_relaxed);
//!   int r0 = atomic_load_explicit(y, memory_order_relaxed);
//! }
//! P1 (atomic_int* x, atomic_int* y) {
//!   atomic_store_explicit(y, 1, memory_order_relaxed);
//!   int r0 = atomic_load_explicit(x, memory_order_relaxed);
//! }
//! exists (0:r0=0 /\\ 1:r0=0)
//! ")?;
//! let mut found = Vec::new();
//! let mut sink = |event: Event<'_>| {
//!     if let Event::Finding(finding) = event {
//!         found.push(finding.message.clone());
//!     }
//! };
//! let mut request = CheckRequest::new(&file);
//! request.campaign.model = Model::Tso;
//! // Store buffering: both threads can read 0 where stores wait in buffers, and cannot under sc.
//! assert_eq!(check(&request, &mut sink)?.verdict(), Verdict::Fail);
//! request.campaign.model = Model::Sc;
//! assert_eq!(check(&request, &mut sink)?.verdict(), Verdict::Pass);
//! assert_eq!(found, ["exists (0:r0=0 /\\ 1:r0=0) is reached: 0:r0=0 1:r0=0"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod check;
mod digest;
mod doctor;
mod error;
mod event;
mod finish;
mod hunt;
mod limits;
mod litmus;
mod native;
mod orderings;
mod outcome;
mod progress;
mod raw_path;
mod recording;
mod replay;
mod request;
mod safe;
mod saving;
mod target;
mod test;

pub use check::check;
pub use doctor::{Checkup, Diagnosis, Health, doctor};
pub use error::{Error, plain};
pub use event::{Event, Remark, Sink};
pub use finish::PAGE;
pub use hunt::hunt;
pub use limits::{Budget, LITMUS_LIMITS};
pub use litmus::{LitmusExplored, LitmusTotals, SafeJudged, SafeTotals, Wanted, litmus};
pub use outcome::Outcome;
pub use recording::{try_file, write_whole};
pub use replay::{Replayed, Rerun, replay};
pub use request::{
    CampaignRequest, CheckRequest, HuntMethods, HuntRequest, LitmusRequest, ReplayRequest, SafeRequest, Spec,
    TestRequest, Work,
};
pub use safe::{safe, safe_batch};
pub use test::test;
