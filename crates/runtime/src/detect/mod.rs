//! Race detectors, and what surrounds a finding.

pub mod details;
pub mod exact;
pub mod instrumented;
pub mod listener;
pub mod shadow;
