//! The tests of exploration, in one binary: what they share is compiled and linked once.

#[path = "../common/mod.rs"]
mod common;

mod blocking;
mod causal;
mod loops;
mod machines;
mod minimise;
mod oracle;
mod phases;
mod preemptions;
mod pruning;
mod races;
mod random_programs;
mod safety;
mod seeds;
mod strategies;
mod synchronisation;
mod tasks;
mod violations;
