//! What an exploration is, whatever it explores: from the last execution come the next ones.

use crate::graph::{ExploreError, Flow};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Decides which executions come next. [`explore`] drives it:
///
/// 1. [`first`](Self::first) gives the plans to begin with;
/// 2. [`execute`](Self::execute) carries out one of them;
/// 3. [`next`](Self::next) is given what that left behind, its trace above all, and returns the plans that follow
///    from it.
///
/// When no plan is left, everything was explored. Plans are values without ties to the explorer that made them:
/// another explorer of the same program, in another process or tomorrow, goes on from them.
/// [`graph::Explorer`](crate::graph::Explorer) is one.
pub trait Explorer {
    /// An execution to be, or several that have their beginning in common.
    type Plan: Serialize + DeserializeOwned;
    /// What an execution left behind.
    type Last;

    /// Where to begin.
    fn first(&mut self) -> Vec<Self::Plan>;

    /// Carries out a plan.
    fn execute(&mut self, plan: Self::Plan) -> Result<Self::Last, ExploreError>;

    /// What is still to be done after that execution.
    fn next(&mut self, last: &Self::Last) -> Next<Self::Plan>;
}

/// What comes after an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next<P> {
    /// These, besides what was planned before.
    Also(Vec<P>),
    /// All has to begin again, with these: something was learnt that makes what was planned and met before worthless.
    Anew(Vec<P>),
}

/// Explores everything, the newest plan first, so that few are kept. What was met is collected in a `V`, which
/// `begin` makes: anew if all has to begin again. `visit` may stop it; the plans that are left are returned.
pub fn explore<E: Explorer, V>(
    explorer: &mut E,
    mut begin: impl FnMut() -> V,
    visit: impl FnMut(&mut V, &E::Last) -> Flow,
) -> Result<(V, Vec<E::Plan>), ExploreError> {
    let plans = explorer.first();
    explore_from(explorer, plans, &mut begin, visit)
}

/// The same, from these plans on.
pub fn explore_from<E: Explorer, V>(
    explorer: &mut E,
    mut plans: Vec<E::Plan>,
    mut begin: impl FnMut() -> V,
    mut visit: impl FnMut(&mut V, &E::Last) -> Flow,
) -> Result<(V, Vec<E::Plan>), ExploreError> {
    let mut met = begin();
    while let Some(plan) = plans.pop() {
        let last = explorer.execute(plan)?;
        let flow = visit(&mut met, &last);
        match explorer.next(&last) {
            Next::Also(more) => plans.extend(more),
            Next::Anew(from) => {
                plans = from;
                met = begin();
                continue;
            }
        }
        if flow.is_break() {
            break;
        }
    }
    Ok((met, plans))
}
