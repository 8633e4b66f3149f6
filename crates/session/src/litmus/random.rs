//! Many random executions of a machine.
//!
//! Executions are numbered, and each has a seed of its own, so that it does not matter who runs which. Workers take
//! pieces of neighbouring executions; the pieces are added up in their order, and with a finding that ends the
//! campaign everything after it is dropped, as if it had never been run.

use super::case::LitmusCase;
use super::collector::{Collector, Stop, Watch};
use super::tally::Tally;
use crate::limits::Budget;
use fencepost_explore::execute_noting;
use fencepost_explore::graph::ExploreError;
use fencepost_trace::{BLOCK, Coverage, Plan, Sampling};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// How many executions a worker takes at a time.
const PIECE: u64 = BLOCK;

/// The pieces that are done.
#[derive(Default)]
struct Pieces {
    all: Tally,
    /// How many `all` has.
    count: u64,
    early: BTreeMap<u64, Result<Piece, ExploreError>>,
    over: bool,
    error: Option<ExploreError>,
}

struct Piece {
    tally: Tally,
    /// Does the campaign end here?
    last: bool,
}

impl Pieces {
    /// Adds a piece, and those that waited for it. Is the campaign over?
    fn add(&mut self, number: u64, piece: Result<Piece, ExploreError>) -> bool {
        self.early.insert(number, piece);
        while !self.over
            && let Some(piece) = self.early.remove(&self.count)
        {
            self.count += 1;
            match piece {
                Ok(piece) => {
                    self.all.absorb(piece.tally);
                    self.over = piece.last;
                }
                Err(error) => {
                    self.error = Some(error);
                    self.over = true;
                }
            }
        }
        self.over
    }
}

/// The seed of a campaign, and how its choices are drawn.
type Draw = (u64, Sampling);

/// Runs a campaign.
pub fn random(
    case: &LitmusCase,
    watch: Watch<'_>,
    draw: Draw,
    budget: Budget,
    jobs: usize,
) -> Result<Tally, ExploreError> {
    let next = AtomicU64::new(0);
    let over = AtomicBool::new(false);
    let pieces = Mutex::new(Pieces::default());
    let work = || {
        while !over.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number.saturating_mul(PIECE) >= budget.executions() {
                break;
            }
            let piece = run_piece(case, watch, draw, budget, number);
            let mut pieces = pieces.lock().expect("no worker panics while it holds the pieces");
            if pieces.add(number, piece) {
                over.store(true, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..jobs {
            scope.spawn(work);
        }
        work();
    });
    let pieces = pieces.into_inner().expect("no worker panics while it holds the pieces");
    match pieces.error {
        None => Ok(pieces.all),
        Some(error) => Err(error),
    }
}

fn run_piece(
    case: &LitmusCase,
    watch: Watch<'_>,
    draw: Draw,
    budget: Budget,
    number: u64,
) -> Result<Piece, ExploreError> {
    let from = number * PIECE;
    let to = from.saturating_add(PIECE).min(budget.executions());
    let mut collector = Collector::part(case, watch, budget.of_time_only(), from);
    let mut program = case.test.program();
    let coverage = Coverage::new();
    let mut last = to == budget.executions();
    for execution in from..to {
        if budget.time_is_up() {
            last = true;
            break;
        }
        let strategy = draw.1.strategy(draw.0, execution, &coverage);
        let plan = Plan { buffer: watch.buffer, ..Plan::new(watch.model, strategy, watch.limits) };
        let executed = execute_noting(&mut program, &plan, Some(&coverage))?;
        coverage.end(executed.steps);
        let flow = collector.machine(&program, &executed);
        if flow.is_break() && watch.stop != Stop::Never {
            last = true;
            break;
        }
    }
    collector.tally.pairs.extend(coverage.pairs());
    Ok(Piece { tally: collector.tally, last })
}
