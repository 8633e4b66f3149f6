//! Random campaigns.

use fencepost_engine::Random;

/// The seed of the `execution`-th execution of a campaign with this seed. Executions are independent of each other, so
/// that they can be divided among workers in any way.
pub fn seed_of(seed: u64, execution: u64) -> u64 {
    // Two rounds of the generator: neighbouring campaigns share no executions.
    let mut outer = Random::new(seed);
    let mut inner = Random::new(outer.bits() ^ execution);
    inner.bits()
}
