//! What the host is told to do with a program.

use super::Program;
use super::keeper::Keeper;
use crate::event::{Event, Log, Standing};
use crate::limits::Budget;
use crate::request::CampaignRequest;
use fencepost_mailbox::{End, Restart};
use fencepost_native::host::{Campaign, Results};
use fencepost_trace::Plan;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long an execution may take if nobody says.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What the host needs to run `program`.
pub fn campaign(program: &Program, plan: &Plan, restart: Restart, timeout: Option<Duration>) -> Campaign {
    let mut campaign = Campaign::new(&program.executable, &program.runtime, plan.model, 1);
    campaign.arguments.clone_from(&program.arguments);
    campaign.request.hidden.clone_from(&program.hidden);
    campaign.request.buffer = plan.buffer;
    campaign.request.max_steps = plan.limits.max_steps;
    campaign.request.skip_private = plan.skip_private;
    campaign.request.restart = restart;
    campaign.timeout = timeout.unwrap_or(TIMEOUT);
    campaign
}

/// The same for `test` and `check`, with what their requests have in common.
pub fn requested(program: &Program, request: &CampaignRequest, plan: &Plan, restart: Restart) -> Campaign {
    let deadline = request.work.time.and_then(|time| Instant::now().checked_add(time));
    let mut campaign = campaign(program, plan, restart, request.timeout);
    campaign.request.volatile = request.volatile.unwrap_or_default();
    campaign.request.stop_at_first = !request.keep_going;
    campaign.deadline = deadline;
    campaign
}

/// Does the work of a campaign, and tells how far it is. Findings are written before they are told of.
pub fn watched<T: Send>(
    campaign: &Campaign,
    keeper: &mut Keeper<'_>,
    log: &mut Log<'_>,
    work: impl FnOnce() -> T + Send,
) -> T {
    let progress = campaign.progress.clone();
    let done = || {
        progress.take_reports().into_iter().for_each(|report| keeper.keep(campaign, report));
        Standing {
            executions: progress.executions.load(Ordering::Relaxed),
            findings: keeper.count(),
            open: progress.open.load(Ordering::Relaxed),
            left: progress.left.load(Ordering::Relaxed),
            pairs: progress.pairs.load(Ordering::Relaxed),
        }
    };
    log.watch(done, work)
}

/// Says that executions are about to be run; `usual` is how many there are if nobody says.
pub fn started(request: &CampaignRequest, usual: Option<u64>, log: &mut Log<'_>) {
    log.emit(Event::Started(Budget::new(request.work.executions.or(usual), request.work.time)));
}

/// The executions that were cut off.
pub fn blocked(results: &Results) -> u64 {
    [End::StepLimit, End::Timeout].iter().filter_map(|end| results.ended.get(end)).sum()
}
