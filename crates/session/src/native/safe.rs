//! Memory-model safety of a native program: every execution under sc, each judged inside the program's process.

use super::Program;
use super::campaign::{requested, started, watched};
use super::check::{EXPLORED_EVENTS, begin, explore};
use super::conclude::{Concluded, conclude};
use super::examine::Examiner;
use super::keeper::Keeper;
use super::suppressions::Suppressions;
use super::symbolizer::Symbolizer;
use crate::error::Error;
use crate::event::Log;
use crate::orderings::{WEAKER_FENCES, advice, fewest, name_of, spare, spared, weaker_than, weakest};
use crate::outcome::Outcome;
use crate::request::{CampaignRequest, SafeRequest};
use crate::saving::Subject;
use fencepost_mailbox::{Fence, Frame, Restart, Stack, Weaker};
use fencepost_native::host::{Campaign, Explored, Found, Results};
use fencepost_report::{Command, Describe, Report, Safety, Verdict};
use fencepost_trace::{
    Access, Action, FenceOrder, FindingKind, Label, Limits, Method, Model, Plan, RmwOrder, StrategySpec,
};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::{Duration, Instant};

/// So long it is tried which orderings are needed, if the user sets no limit.
const PATIENCE: Duration = Duration::from_secs(60);

/// So often orderings are added.
const ROUNDS: usize = 16;

/// So many sets of orderings are tried besides the first that none can be left out of.
const MOST_SETS: usize = 200;

/// Explores under sc; what is found is an execution of the model that was asked about.
pub fn safe(
    program: &Program,
    asked: &SafeRequest,
    request: &CampaignRequest,
    log: &mut Log<'_>,
) -> Result<Outcome, Error> {
    let begun = Instant::now();
    program.remarks.iter().for_each(|remark| log.remark(remark.clone()));
    let (plan, mut campaign) = prepared(program, request);
    let suppressions = Suppressions::find(None, &program.executable)?;
    let subject = Subject::new(Command::Safe, &program.digest, request);
    let save = begin(request, asked.resume, &subject, log)?;
    started(request, None, log);
    let examiner = Examiner::new(program, &suppressions);
    let mut keeper = Keeper::new(Command::Safe, &examiner, &plan, request.out.as_deref());
    let searched = examiner.search(&mut campaign, true, log, |campaign, log| {
        let mut under_sc = under_sc(campaign, request.model);
        under_sc.request.save = save.clone();
        watched(campaign, &mut keeper, log, || explore(&mut under_sc, request, (Method::Graph, None)))
    })?;
    let explored =
        searched.results.explored.unwrap_or(Explored { complete: false, executions: 0, blocked: 0, answers: None });
    let concluded = Concluded {
        command: Command::Safe,
        complete: Some(explored.complete),
        executions: explored.executions,
        blocked: explored.blocked,
        done: None,
        begun,
    };
    let leaves = |found: &Found| matches!(found.report.kind, FindingKind::ScViolation | FindingKind::DataRace);
    let trace_safe = match searched.results.found.iter().any(leaves) {
        true => Some(false),
        false => explored.complete.then_some(true),
    };
    let mut safety = Safety { trace_safe, state_safe: trace_safe.filter(|safe| *safe), ..Safety::default() };
    if asked.orderings && explored.complete {
        let search = Search::new(request, &campaign, &searched.results, &examiner.symbolizer);
        search.complete(&mut safety, &searched.results);
    }
    let mut outcome = conclude(&examiner, request, &campaign, &plan, searched, concluded, log);
    if let Report::Run(run) = &mut outcome.report {
        run.safety = Some(safety);
        run.verdict = if run.findings.is_empty() { Verdict::of(false, explored.complete) } else { Verdict::Fail };
    }
    Ok(outcome)
}

/// The campaign under the model that is asked about.
fn prepared(program: &Program, request: &CampaignRequest) -> (Plan, Campaign) {
    let limits = Limits { max_steps: request.work.max_steps.unwrap_or(EXPLORED_EVENTS) };
    let strategy = StrategySpec::Follow { choices: Vec::new() };
    let plan = Plan::new(request.model, strategy, limits);
    let mut campaign = requested(program, request, &plan, Restart::InPlace);
    campaign.request.count = request.work.executions.unwrap_or(u64::MAX);
    (plan, campaign)
}

/// The exploration: under sc, watched for the model that was asked about.
fn under_sc(campaign: &Campaign, model: Model) -> Campaign {
    let mut campaign = campaign.clone();
    campaign.request.model = Model::Sc;
    campaign.request.watch = vec![model];
    campaign
}

/// Looks for what makes a program safe, or for what it could do without.
struct Search<'a> {
    request: &'a CampaignRequest,
    campaign: Campaign,
    /// The accesses and fences of the program.
    sites: Vec<Site>,
    /// Until then.
    deadline: Instant,
    /// Was a question left open because there was no time?
    late: Cell<bool>,
}

/// An access or a fence in the source. The compiler may have made several of it, which are all changed alike.
struct Site {
    label: Label,
    access: Access,
    frames: Vec<Frame>,
    /// Is it in a standard library, whose source is not the user's to change?
    library: bool,
}

/// A fence before or behind a site, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ordering {
    site: usize,
    before: bool,
    order: FenceOrder,
}

impl<'a> Search<'a> {
    fn new(
        request: &'a CampaignRequest,
        campaign: &Campaign,
        results: &Results,
        symbolizer: &Symbolizer,
    ) -> Search<'a> {
        let mut campaign = campaign.clone();
        // How the program fails under sc has been told, and is not asked about.
        let others = results.found.iter().filter(|found| found.report.kind != FindingKind::ScViolation);
        campaign.request.ignored.extend(others.map(|found| found.report.fingerprint));
        let deadline = Instant::now() + PATIENCE;
        let deadline = campaign.deadline.map_or(deadline, |limit| limit.min(deadline));
        campaign.deadline = Some(deadline);
        let sites = sites(results, symbolizer);
        Search { request, campaign, sites, deadline, late: Cell::new(false) }
    }

    /// Where a site is, in words; with its column where others are in the same line.
    fn place(&self, site: usize) -> String {
        let Label { file, line, column, .. } = &self.sites[site].label;
        let place = format!("{}:{line}", file.rsplit('/').next().unwrap_or(file));
        let is_there = |other: &&Site| other.label.file == *file && other.label.line == *line;
        match self.sites.iter().filter(is_there).count() > 1 && *column > 0 {
            true => format!("{place}:{column}"),
            false => place,
        }
    }

    /// Fills in what takes explorations of its own.
    fn complete(&self, safety: &mut Safety, results: &Results) {
        let race = results.found.iter().any(|found| found.report.kind == FindingKind::DataRace);
        match safety.trace_safe {
            Some(false) if race => safety.state_safe = Some(false),
            Some(false) => {
                let describe = |ordering: Ordering| {
                    let site = &self.sites[ordering.site];
                    let what = format!("the {} of this line", name_of(&site.access));
                    advice(&site.label, &self.place(ordering.site), &what, ordering.before, ordering.order)
                };
                safety.orderings = self.orderings(results).into_iter().map(describe).collect();
                safety.minimal = (!safety.orderings.is_empty()).then_some(!self.late.get());
                safety.state_safe = self.state_safe();
            }
            Some(true) => {
                let describe = |(i, to): (usize, RmwOrder)| spared(&self.place(i), &self.sites[i].access, to);
                safety.superfluous = self.superfluous().into_iter().map(describe).collect();
            }
            None => {}
        }
    }

    /// The fewest fences that make the program safe, each as weak as can be; none if there was no time to find any.
    ///
    /// Candidates are those before the access of each way out and behind the store that it passes, until there is no
    /// way out with all of them. Where that does not come to an end (under c11 others have to order things, too), they
    /// are those before every access.
    fn orderings(&self, results: &Results) -> Vec<Ordering> {
        let enough = |list: &[Ordering]| Ok::<_, Infallible>(self.is_safe(&self.fences(list), &[]));
        let candidates = self.around_ways_out(results).unwrap_or_else(|| {
            let is_access = |site: &usize| !matches!(self.sites[*site].access, Access::Fence { .. });
            let before = |site| Ordering { site, before: true, order: FenceOrder::SeqCst };
            (0..self.sites.len()).filter(is_access).map(before).collect()
        });
        let Ok(Some(mut list)) = fewest(&candidates, MOST_SETS, enough) else { return Vec::new() };
        let weaker = |one: &Ordering| WEAKER_FENCES.map(|order| Ordering { order, ..*one }).to_vec();
        let Ok(()) = weakest(&mut list, weaker, enough);
        list
    }

    /// Fences around every way out, until there is none; `None` if there always is one.
    fn around_ways_out(&self, results: &Results) -> Option<Vec<Ordering>> {
        let mut list: Vec<Ordering> = Vec::new();
        let mut ways = ways_out(results);
        for _ in 0..ROUNDS {
            if ways.is_empty() {
                return Some(list);
            }
            let count = list.len();
            for (frame, before) in ways.iter().flat_map(|(early, passed)| [(early, true), (passed, false)]) {
                let Some(site) = self.sites.iter().position(|site| site.frames.contains(frame)) else { continue };
                let ordering = Ordering { site, before, order: FenceOrder::SeqCst };
                if !list.contains(&ordering) {
                    list.push(ordering);
                }
            }
            if list.len() == count {
                return None;
            }
            ways = ways_out(&self.changed(&self.fences(&list), &[], false)?);
        }
        None
    }

    /// For the runtime.
    fn fences(&self, list: &[Ordering]) -> Vec<Fence> {
        let fences = |one: &Ordering| {
            let Ordering { site, before, order } = *one;
            self.sites[site].frames.iter().map(move |place| Fence { place: place.clone(), before, order })
        };
        list.iter().flat_map(fences).collect()
    }

    /// What could be weaker, all together: sites by their numbers.
    fn superfluous(&self) -> Vec<(usize, RmwOrder)> {
        let own = self.sites.iter().enumerate().filter(|(_, site)| !site.library);
        let strong: Vec<(usize, Access)> = own.map(|(i, site)| (i, site.access)).collect();
        let safe = |list: &[(usize, RmwOrder)]| {
            let weaker = |(site, to): &(usize, RmwOrder)| {
                let to = *to;
                self.sites[*site].frames.iter().map(move |place| Weaker { place: place.clone(), to })
            };
            Ok::<_, Infallible>(self.is_safe(&[], &list.iter().flat_map(weaker).collect::<Vec<_>>()))
        };
        let Ok(list) = spare(&strong, safe);
        list
    }

    /// Does it print the same, with the same exit status, and fail in the same ways, as under sc?
    fn state_safe(&self) -> Option<bool> {
        let outcomes = |model| {
            let mut campaign = self.campaign.clone();
            campaign.request.model = model;
            campaign.request.ignored.clear();
            campaign.request.keep_outputs = true;
            campaign.request.stop_at_first = false;
            let results = self.explore(campaign)?;
            let complete = results.explored.is_some_and(|explored| explored.complete);
            let failures: BTreeSet<u64> = results.found.iter().map(|found| found.report.fingerprint).collect();
            let printed: BTreeSet<String> = results.outputs.into_keys().collect();
            complete.then_some((printed, failures))
        };
        Some(outcomes(Model::Sc)? == outcomes(self.request.model)?)
    }

    /// Is the program safe with these changes? What cannot be found out in time is not.
    fn is_safe(&self, fences: &[Fence], weaker: &[Weaker]) -> bool {
        let answer = self.changed(fences, weaker, true).and_then(|results| {
            let complete = results.explored.is_some_and(|explored| explored.complete);
            if ways_out(&results).is_empty() { complete.then_some(true) } else { Some(false) }
        });
        self.late.set(self.late.get() || answer.is_none());
        answer.unwrap_or(false)
    }

    /// Rides on the executions of the program with changes.
    fn changed(&self, fences: &[Fence], weaker: &[Weaker], stop: bool) -> Option<Results> {
        let mut campaign = under_sc(&self.campaign, self.request.model);
        campaign.request.fences = fences.to_vec();
        campaign.request.weaker = weaker.to_vec();
        campaign.request.stop_at_first = stop;
        self.explore(campaign)
    }

    /// Explores, if there is time.
    fn explore(&self, mut campaign: Campaign) -> Option<Results> {
        if Instant::now() >= self.deadline {
            return None;
        }
        explore(&mut campaign, self.request, (Method::Graph, None)).ok()
    }
}

/// The accesses and fences that a watched exploration has met, by where they are in the source, in an order that does
/// not depend on who met them first.
fn sites(results: &Results, symbolizer: &Symbolizer) -> Vec<Site> {
    let mut list = results.accesses.clone();
    list.sort_by(|(a, _), (b, _)| a.cmp(b));
    list.dedup_by(|(a, _), (b, _)| a == b);
    let mut sites: Vec<Site> = Vec::new();
    for (frame, access) in list {
        let stack = Stack { thread: 0, access: Action::Unnamed, frames: vec![frame.clone()] };
        let label = symbolizer.finding_label(&stack).label;
        let alike = |site: &&mut Site| {
            label.line > 0
                && site.label == label
                && weaker_than(&site.access) == weaker_than(&access)
                && name_of(&site.access) == name_of(&access)
        };
        match sites.iter_mut().find(alike) {
            Some(site) => site.frames.push(frame),
            None => {
                let library = !label.file.is_empty() && symbolizer.is_library(&label);
                sites.push(Site { label, access, frames: vec![frame], library });
            }
        }
    }
    sites
}

/// The ways out of sc: the access that comes too early, and the store that it passes.
fn ways_out(results: &Results) -> Vec<(Frame, Frame)> {
    let ways = results.found.iter().filter(|found| found.report.kind == FindingKind::ScViolation);
    let first = |stack: &Stack| stack.frames.first().cloned();
    ways.filter_map(|found| match &found.report.stacks[..] {
        [early, passed, ..] => first(early).zip(first(passed)),
        _ => None,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;
    use std::path::{Path, PathBuf};
    use std::process::Command as Process;

    /// Programs of the table of docs/safe.md, and what to define.
    const PROGRAMS: &[(&str, &str)] = &[
        ("examples/safe/idle.c", ""),
        ("tests/programs/sb.c", "-DN=2"),
        ("tests/programs/sb.c", "-DN=3"),
        ("tests/programs/mp.c", "-DN=2 -DWEAK"),
        ("tests/programs/dekker.c", "-DN=1 -DWEAK"),
        ("tests/programs/dekker.c", "-DN=2 -DWEAK"),
        ("tests/programs/peterson.c", "-DN=2 -DWEAK"),
        ("tests/programs/lamport.c", "-DN=2 -DWEAK"),
        ("tests/programs/bakery.c", "-DN=2 -DWEAK"),
        ("tests/programs/chaselev.c", "-DN=2 -DS=2 -DWEAK"),
        ("tests/programs/mcr_example.c", "-DN=1"),
        ("tests/programs/mcr_example.c", "-DN=2"),
        ("tests/programs/spsc.c", "-DN=4"),
        ("tests/programs/spsc.c", "-DN=4 -DWEAK"),
        ("tests/programs/stack_unsafe.c", "-DN=2"),
        ("examples/hunt/charset.c", ""),
        ("examples/hunt/crypt_util.c", ""),
        ("examples/hunt/observed.c", ""),
        ("examples/hunt/msn.c", "-DSMALL"),
        ("examples/hunt/ms2.c", "-DSMALL"),
        ("examples/hunt/harris.c", "-DSMALL"),
        ("examples/hunt/lazylist.c", "-DSMALL"),
    ];

    fn compiled(directory: &Path, file: &str, defines: &str) -> PathBuf {
        let executable = directory.join("program");
        let mut gcc = Process::new("gcc");
        gcc.args(["-O1", "-g", "-fno-tree-ch", "-fsanitize=thread", "-pthread", "-w"]).args(defines.split_whitespace());
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        gcc.arg("-I").arg(root.join("crates/native/include")).arg(root.join(file)).arg("-o").arg(&executable);
        assert!(gcc.status().expect("gcc starts").success(), "{file} {defines}");
        executable
    }

    /// The fences that are named make each unsafe program safe, and without any one of them it is not: it has as many
    /// execution graphs under the model as under sc, or more. Both are counted, with the fences in force.
    fn hold(programs: &[(&str, &str)], models: &[Model]) -> usize {
        let (mut mended, mut open) = (0, Vec::new());
        for (file, defines) in programs {
            let directory = tempfile::tempdir().expect("a directory");
            let executable = compiled(directory.path(), file, defines);
            for model in models {
                let asked = SafeRequest { models: vec![*model], ..SafeRequest::new(&executable) };
                let request = asked.campaign();
                let Ok(Target::Native(program)) = Target::load(&executable, &[]) else { panic!("a program") };
                let (_, campaign) = prepared(&program, &request);
                let graphs = |model: Model, fences: &[Fence]| {
                    let mut campaign = campaign.clone();
                    campaign.request.model = model;
                    campaign.request.fences = fences.to_vec();
                    let results = explore(&mut campaign, &request, (Method::Graph, None)).expect("it runs");
                    let explored = results.explored.expect("it says how many");
                    assert!(explored.complete, "{file} {defines} {model}: {:?}", results.notes);
                    explored.executions + explored.blocked
                };
                let is_safe = |fences: &[Fence]| graphs(Model::Sc, fences) == graphs(*model, fences);
                let results =
                    explore(&mut under_sc(&campaign, *model), &request, (Method::Graph, None)).expect("it runs");
                if ways_out(&results).is_empty() {
                    assert!(is_safe(&[]), "{file} {defines} {model}");
                    continue;
                }
                let search = Search::new(&request, &campaign, &results, &Symbolizer::of(&program));
                let list = search.orderings(&results);
                if list.is_empty() || search.late.get() {
                    open.push(format!("{file} {defines} {model}: {} fences", list.len()));
                    continue;
                }
                assert!(is_safe(&search.fences(&list)), "{file} {defines} {model}: {list:?}");
                for i in 0..list.len() {
                    let mut fewer = list.clone();
                    fewer.remove(i);
                    assert!(!is_safe(&search.fences(&fewer)), "{file} {defines} {model}: {:?}", list[i]);
                }
                println!("{file} {defines} {model}: {} fences", list.len());
                mended += 1;
            }
        }
        assert!(open.is_empty(), "{open:#?}");
        mended
    }

    #[test]
    fn orderings_of_programs_are_enough_and_none_too_many() {
        assert_eq!(hold(&PROGRAMS[..3], &[Model::Tso, Model::Pso]), 6);
    }

    #[test]
    #[ignore = "takes minutes"]
    fn orderings_of_all_unsafe_programs_are_enough_and_none_too_many() {
        let mended = hold(&PROGRAMS[3..], &[Model::Tso, Model::Pso]);
        assert!(mended >= 25, "{mended}");
    }
}
