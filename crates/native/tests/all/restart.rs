//! Executions that restart in place give what executions in processes of their own give, and where they cannot, the
//! host changes over by itself.

use crate::programs::{FEATURES, campaign, compile_from, run, runtime};
use fencepost_mailbox::{Record, Restart};
use fencepost_native::host::{Campaign, Results};
use fencepost_trace::{CampaignSpec, FindingKind, Model, Sampling, StrategySpec};

/// What `actions.c` can do to its process, and what it is said to have done where a restart in place does not undo it.
const ACTIONS: [(&str, Option<&str>); 35] = [
    ("files", None),
    ("standard_files", None),
    ("file_from_before_main", Some("read() or write() for a file that was opened before main()")),
    ("closes_a_file_from_before_main", Some("close() for a file that was opened before main()")),
    ("mappings", None),
    ("mappings_between_threads", None),
    ("protects_its_data", Some("mprotect()")),
    ("maps_over_its_data", Some("mmap() at a fixed address")),
    ("moves_the_break", Some("sbrk()")),
    ("forks", Some("fork()")),
    ("forks_a_child_that_exits", Some("fork()")),
    ("vforks", Some("vfork()")),
    ("spawns", Some("posix_spawnp()")),
    ("runs_a_command", Some("system()")),
    ("becomes_another", Some("execlp()")),
    ("becomes_one_that_fails", Some("execlp()")),
    ("becomes_nothing", Some("execl()")),
    ("handlers", None),
    ("blocks_signals", None),
    ("ends_in_a_handler", None),
    ("signal_stack", None),
    ("timers", None),
    ("a_posix_timer", Some("timer_create()")),
    ("directory", None),
    ("file_mask", None),
    ("environment", None),
    ("limits", Some("setrlimit()")),
    ("sockets", None),
    ("events", None),
    ("loads_a_library", Some("dlopen()")),
    ("names_itself", None),
    ("process_settings", Some("prctl()")),
    ("a_bare_system_call", Some("syscall(141)")),
    ("an_unseen_mapping", Some("left memory mapped or changed")),
    ("an_unseen_mask", Some("changed the mask of new files")),
];

/// Executions of `actions.c`.
fn actions(action: &str, restart: Restart) -> Campaign {
    let mut campaign = campaign("actions.c", &[action], Model::C11, 60);
    campaign.request.restart = restart;
    campaign.request.keep_outputs = true;
    campaign
}

/// Everything that must not depend on the way of restarting.
fn assert_same(one: &Results, other: &Results, what: &str) {
    assert_eq!(one.executions, other.executions, "{what}");
    assert_eq!(one.statuses, other.statuses, "{what}");
    assert_eq!(one.ended, other.ended, "{what}");
    assert_eq!(one.outputs, other.outputs, "{what}");
    assert_eq!(one.found, other.found, "{what}");
    assert_eq!(one.steps, other.steps, "{what}");
}

#[test]
fn every_action_gives_the_same_in_place_and_by_fork() {
    for (action, irreversible) in ACTIONS {
        let (auto, forked) = (run(&actions(action, Restart::Auto)), run(&actions(action, Restart::Fork)));
        assert_same(&auto, &forked, action);
        assert_eq!(auto.irreversible.as_ref().map(|b| b.action.as_str()), irreversible, "{action}");
        assert_eq!(auto.forked, irreversible.is_some(), "{action}");
        assert_eq!(auto.warnings, [""; 0], "{action}");
        let expected: &[FindingKind] =
            if action == "becomes_one_that_fails" { &[FindingKind::ExitStatus] } else { &[] };
        assert_eq!(
            auto.found.iter().map(|f| f.report.kind).collect::<Vec<_>>(),
            expected,
            "{action}: {:?}",
            auto.found
        );
        // What another program printed in its place is not kept.
        assert!(
            action.starts_with("becomes") || auto.outputs.len() >= 2,
            "{action}: schedules differ: {:?}",
            auto.outputs
        );
    }
}

#[test]
fn the_change_to_forking_does_not_depend_on_the_workers() {
    for action in ["forks", "an_unseen_mask", "an_unseen_setting"] {
        let one = actions(action, Restart::Auto);
        let (one, three) = (run(&one), run(&Campaign { jobs: 3, ..one.clone() }));
        assert_same(&one, &three, action);
        assert!(one.forked && three.forked, "{action}");
        let said = |results: &Results| results.irreversible.clone().map(|b| (b.action, b.stack));
        assert_eq!(said(&one), said(&three), "{action}");
    }
}

/// The call that forced it is said with its place; in place the user is told too, and gets what he asked for.
#[test]
fn who_insists_on_restarting_in_place_is_warned() {
    let in_place = run(&actions("forks", Restart::InPlace));
    assert!(!in_place.forked);
    assert_eq!(in_place.executions, 60);
    let irreversible = in_place.irreversible.expect("it is said");
    assert_eq!(irreversible.action, "fork()");
    assert!(irreversible.stack.expect("it was called from somewhere").frames[0].module.ends_with("actions.c"));
}

#[test]
fn an_execution_in_place_that_would_be_another_alone_is_noticed() {
    let auto = run(&actions("an_unseen_setting", Restart::Auto));
    assert!(auto.forked);
    assert_eq!(
        auto.irreversible.as_ref().map(|b| b.action.as_str()),
        Some("did otherwise when it was restarted in place")
    );
    assert_same(&auto, &run(&actions("an_unseen_setting", Restart::Fork)), "as if it had been so from the beginning");
    let in_place = run(&actions("an_unseen_setting", Restart::InPlace));
    assert!(in_place.warnings.iter().any(|w| w.contains("not to be trusted")), "{:?}", in_place.warnings);
}

#[test]
fn a_program_that_depends_on_chance_is_noticed() {
    let results = run(&actions("by_chance", Restart::Auto));
    assert!(!results.forked, "that would not help");
    assert!(results.warnings.iter().any(|w| w.contains("not the same twice")), "{:?}", results.warnings);
}

/// The trace of one execution, from a process of its own or after others in the same.
fn trace(campaign: &Campaign, execution: u64, restart: Restart) -> Record {
    let mut campaign = campaign.clone();
    campaign.checked = false;
    campaign.request.keep_traces = true;
    campaign.request.restart = restart;
    // Those before it have their say in how its answers are drawn; by fork each has a process of its own.
    campaign.request.count = execution + 1;
    run(&campaign).traces.pop().expect("it leaves a trace")
}

#[test]
fn traces_in_place_are_those_of_fresh_processes() {
    let sources = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs")).expect("it is there");
    let mut names: Vec<String> = sources
        .map(|entry| entry.expect("it can be read").file_name().into_string().expect("a plain name"))
        .filter(|name| name.ends_with(".c"))
        .collect();
    names.sort();
    assert!(names.len() > 15);
    for name in names {
        for model in [Model::C11, Model::Tso] {
            let program = compile_from("../../tests/programs", &name);
            let campaign = Campaign::new(program, runtime(), model, 1);
            assert_eq!(
                trace(&campaign, 7, Restart::InPlace),
                trace(&campaign, 7, Restart::Fork),
                "{name} under {model}: the eighth of eight in place, and alone"
            );
        }
    }
}

#[test]
fn features_of_cxx_have_the_same_traces_in_place_and_alone() {
    for feature in FEATURES {
        for model in [Model::C11, Model::Tso] {
            let campaign = campaign("cxx.cpp", &[feature], model, 1);
            assert_eq!(
                trace(&campaign, 5, Restart::InPlace),
                trace(&campaign, 5, Restart::Fork),
                "{feature} under {model}"
            );
        }
    }
}

/// The same answers give the same execution, a hundred times out of a hundred.
#[test]
fn features_of_cxx_replay() {
    for feature in FEATURES {
        for model in [Model::C11, Model::Pso] {
            for seed in [3, 5] {
                let mut campaign = campaign("cxx.cpp", &[feature], model, 1);
                campaign.request.campaign = CampaignSpec::Sample { seed, sampling: Sampling::default() };
                campaign.request.keep_traces = true;
                let Some(Record::Trace { trace, places, .. }) = run(&campaign).traces.pop() else { panic!("a trace") };
                campaign.request.campaign =
                    CampaignSpec::Repeat(StrategySpec::Follow { choices: trace.choices.clone() });
                campaign.request.count = 100;
                let traces = run(&campaign).traces;
                assert_eq!(traces.len(), 100);
                for again in traces {
                    let Record::Trace { trace: t, places: p, execution, .. } = again else { panic!("a trace") };
                    assert_eq!((&t, &p), (&trace, &places), "{feature} under {model}, seed {seed}, replay {execution}");
                }
            }
        }
    }
}
