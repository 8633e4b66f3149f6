//! Generates small concurrent programs and holds exploration against every choice of the machine and against random
//! executions.

use clap::Parser;
use fencepost_difftest::generate::Recipe;
use fencepost_difftest::known;
use fencepost_difftest::program::{Feature, Language};
use fencepost_difftest::run::{Cases, Plan, run};
use fencepost_difftest::run_scripts;
use fencepost_difftest::scripts::Part;
use fencepost_difftest::truths::{Effort, SPENT};
use fencepost_trace::Model;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Generates small concurrent programs and holds exploration (`check`) against every choice of the machine and against
/// random executions (`test`).
#[derive(Parser)]
struct Args {
    /// The seed of the first program; those after it have the seeds after it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many programs in each language.
    #[arg(long)]
    programs: Option<u64>,
    /// For how long.
    #[arg(long)]
    minutes: Option<f64>,
    /// The languages: c, cpp, rs.
    #[arg(long, value_delimiter = ',', default_value = "c", value_parser = language)]
    language: Vec<Language>,
    /// The memory models.
    #[arg(long, value_delimiter = ',', default_value = "sc,tso,pso,c11")]
    models: Vec<Model>,
    /// Programs use nothing but these.
    #[arg(long, value_delimiter = ',')]
    features: Vec<Feature>,
    /// Programs do not use these.
    #[arg(long, value_delimiter = ',')]
    without: Vec<Feature>,
    /// The greatest number of threads.
    #[arg(long, default_value_t = 4)]
    threads: usize,
    /// The greatest number of statements.
    #[arg(long, default_value_t = 7)]
    statements: usize,
    /// How many programs at once; the usual is two for each core, because much of the time is waiting for processes.
    #[arg(long)]
    jobs: Option<usize>,
    /// Random executions of each program, where the reference does not end.
    #[arg(long, default_value_t = 20_000)]
    executions: u64,
    /// All of these for every program, whatever has been seen.
    #[arg(long)]
    thorough: bool,
    /// Executions of the reference, at most.
    #[arg(long, default_value_t = 5_000)]
    enumerations: u64,
    /// The reference leaves nothing out.
    #[arg(long)]
    no_sleep_sets: bool,
    /// Compare nothing but what `safe` says with the numbers of execution graphs under the models and under sc.
    #[arg(long)]
    safe: bool,
    /// Show disagreements as they are.
    #[arg(long)]
    no_shrink: bool,
    /// Where disagreements are kept.
    #[arg(long)]
    save: Option<PathBuf>,
    /// After how many disagreements to stop.
    #[arg(long, default_value_t = 20)]
    enough: u64,
    /// No native programs, but so many scripts: programs over the engine's operations, without a compiler.
    #[arg(long)]
    scripts: Option<u64>,
    /// Scripts use nothing but these parts of what the engine can do.
    #[arg(long, value_delimiter = ',')]
    parts: Vec<Part>,
    /// Leave out what is known to be wrong.
    #[arg(long)]
    without_known: bool,
    /// Print the programs, and do nothing.
    #[arg(long)]
    print: bool,
}

fn language(text: &str) -> Result<Language, String> {
    let found = Language::ALL.into_iter().find(|language| language.ending() == text);
    found.ok_or_else(|| "one of c, cpp, rs".to_owned())
}

fn main() -> ExitCode {
    let args = Args::parse();
    fencepost_difftest::units::prepare_environment();
    let start = Instant::now();
    let recipes: Vec<Recipe> = args.language.iter().map(|language| recipe(&args, *language)).collect();
    let programs = args.programs.unwrap_or(if args.minutes.is_some() { u64::MAX / 4 } else { 1_000 });
    if args.print {
        for recipe in &recipes {
            for seed in args.seed..args.seed + programs {
                let program = fencepost_difftest::generate::generate(recipe, seed);
                println!("{}", fencepost_difftest::write::unit(recipe.language, &[program]));
            }
        }
        return ExitCode::SUCCESS;
    }
    if let Some(scripts) = args.scripts {
        return compare_scripts(&args, scripts, start);
    }
    let plan = Plan {
        recipes,
        models: args.models.clone(),
        seed: args.seed,
        programs,
        until: args.minutes.map(|minutes| start + Duration::from_secs_f64(60.0 * minutes)),
        effort: Effort {
            executions: args.executions,
            thorough: args.thorough,
            enumerations: args.enumerations,
            sleep_sets: !args.no_sleep_sets,
            safe: args.safe,
            ..Effort::default()
        },
        jobs: args.jobs.unwrap_or(2 * cores()),
        save: args.save.clone(),
        shrinks: !args.no_shrink,
        enough: args.enough,
        words: words(&args),
    };
    let summary = match run(&plan, &|text| println!("{text}")) {
        Ok(summary) => summary,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} programs, {} comparisons, {:.1} s, {:.1} programs a second; {} disagreements",
        summary.programs,
        summary.comparisons,
        seconds,
        summary.programs as f64 / seconds,
        summary.found.len()
    );
    println!("  {SPENT}");
    for (of, cases) in
        [("explorations incomplete", &summary.incomplete), ("references unfinished", &summary.unfinished)]
    {
        for (why, Cases { count, seed, model }) in cases {
            println!("  {count} {of} (the first: {seed} {model}): {why}");
        }
    }
    let slowest =
        summary.slowest.iter().map(|(time, seed, model)| format!("{seed} {model} {:.1} s", time.as_secs_f64()));
    println!("  slowest: {}", slowest.collect::<Vec<_>>().join(", "));
    for found in &summary.found {
        let (seed, ending) = (found.seed, found.language.ending());
        println!("  {ending} {seed} {}: {}", found.disagreement.model, found.disagreement.class);
    }
    if summary.found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn compare_scripts(args: &Args, scripts: u64, start: Instant) -> ExitCode {
    let parts = match (args.parts.is_empty(), args.without_known) {
        (false, _) => args.parts.clone(),
        (true, true) => known::parts(),
        (true, false) => Part::ALL.to_vec(),
    };
    let plan = run_scripts::Plan {
        parts,
        models: args.models.clone(),
        seed: args.seed,
        scripts,
        until: args.minutes.map(|minutes| start + Duration::from_secs_f64(60.0 * minutes)),
        jobs: args.jobs.unwrap_or(cores()),
        enough: args.enough,
    };
    let summary = run_scripts::run(&plan, &|text| println!("{text}"));
    let rate = summary.scripts as f64 / start.elapsed().as_secs_f64();
    println!(
        "{} scripts, {rate:.0} a second; {} differ; {} comparisons did not end",
        summary.scripts,
        summary.found.len(),
        summary.unfinished
    );
    if summary.found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn recipe(args: &Args, language: Language) -> Recipe {
    let mut recipe = Recipe::new(language);
    if args.without_known {
        recipe.features = known::features(language);
    }
    if !args.features.is_empty() {
        recipe.features.clone_from(&args.features);
    }
    recipe.features.retain(|feature| !args.without.contains(feature));
    recipe.threads = args.threads.clamp(2, 4);
    recipe.statements = args.statements;
    recipe
}

/// What chooses the same programs again.
fn words(args: &Args) -> String {
    let list = |features: &[Feature]| features.iter().map(|feature| feature.name()).collect::<Vec<_>>().join(",");
    let mut words = Vec::new();
    if !args.features.is_empty() {
        words.push(format!("--features {}", list(&args.features)));
    }
    if !args.without.is_empty() {
        words.push(format!("--without {}", list(&args.without)));
    }
    if args.without_known {
        words.push("--without-known".to_owned());
    }
    if args.safe {
        words.push("--safe".to_owned());
    }
    words.push(format!("--threads {} --statements {}", args.threads, args.statements));
    words.join(" ")
}
