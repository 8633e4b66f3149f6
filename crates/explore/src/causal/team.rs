//! Several workers on one exploration by what is read.
//!
//! They share the registers of states, and hand each other open tasks as the workers of [`graph`](crate::graph) do.
//! What one learns of the program the others learn at the end of a phase: see `part`.

use super::explorer::{Equivalence, Explorer};
use super::part::Saved;
use super::task::Task;
use crate::graph::cells::Cells;
use crate::graph::{ExploreError, Flow, Halt, Options, Restart, Visitor};
use fencepost_engine::{Threads, WaitSets};
use fencepost_trace::Answers;
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// Workers on one program under one model. The first of them alone is an [`Explorer`] like any other.
pub struct Team<T> {
    workers: Vec<Explorer<T>>,
}

/// A register that all of them use.
type Shared = Arc<Mutex<FxHashSet<u128>>>;

/// What they share during a phase.
struct Pool {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// How many workers wait for work: those who have some look here after every run.
    idle: AtomicUsize,
    stop: AtomicBool,
}

struct Queue {
    /// Tasks, with what values of condition variables in them stand for.
    tasks: Vec<(Task, WaitSets)>,
    busy: usize,
    restart: Option<Restart<Cells>>,
}

const HELD: &str = "no worker panics while it holds the queue";

impl Pool {
    /// A task for a worker that has none; `None` when nobody has any, or all are to stop.
    fn take(&self) -> Option<(Task, WaitSets)> {
        let mut queue = self.queue.lock().expect(HELD);
        queue.busy -= 1;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                self.changed.notify_all();
                return None;
            }
            if let Some(task) = queue.tasks.pop() {
                queue.busy += 1;
                return Some(task);
            }
            if queue.busy == 0 {
                self.changed.notify_all();
                return None;
            }
            self.idle.fetch_add(1, Ordering::Relaxed);
            queue = self.changed.wait(queue).expect(HELD);
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn give(&self, task: Task, sets: WaitSets) {
        self.queue.lock().expect(HELD).tasks.push((task, sets));
        self.changed.notify_one();
    }

    fn stop(&self, restart: Option<Restart<Cells>>) {
        let mut queue = self.queue.lock().expect(HELD);
        queue.restart = queue.restart.take().or(restart);
        self.stop.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }
}

impl<T: Threads + Clone + Send> Team<T> {
    /// So many workers, and everything to explore.
    pub fn new(program: &T, options: Options, equivalence: Equivalence, jobs: usize) -> Result<Self, ExploreError> {
        let (visited, ended) = (Shared::default(), Shared::default());
        let worker = |_| {
            let mut explorer = Explorer::new(program.clone(), options, equivalence)?;
            let alone = jobs <= 1;
            if !alone {
                explorer.register_in(Box::new(visited.clone()), Box::new(ended.clone()));
            }
            Ok(explorer)
        };
        let mut workers = (0..jobs.max(1)).map(worker).collect::<Result<Vec<_>, ExploreError>>()?;
        workers[0].open_all();
        Ok(Team { workers })
    }

    /// Remembers no more than so many states: see [`Explorer::remembering`].
    pub fn remembering(self, bound: Option<u64>) -> Self {
        Team { workers: self.workers.into_iter().map(|worker| worker.remembering(bound)).collect() }
    }

    /// What the exploration has cost so far, between two phases.
    pub fn effort(&self) -> Answers {
        self.workers[0].effort()
    }

    /// How many tasks are open, between two phases.
    pub fn alternatives(&self) -> usize {
        self.workers[0].alternatives()
    }

    /// All that it takes to go on later, between two phases.
    pub fn save(&self) -> Saved {
        self.workers[0].save()
    }

    /// Goes on from there.
    pub fn restore(&mut self, saved: Saved) {
        self.workers[0].restore(saved);
    }

    /// Explores until nothing is left, a visitor breaks off, or `pause` says so, which is asked after every run of the
    /// program and told how many tasks the worker has left. Each worker has a visitor of its own, made by `begin`; none
    /// is returned if all begins anew.
    pub fn explore_phase<V: Visitor<T> + Send>(
        &mut self,
        begin: impl Fn() -> V + Sync,
        pause: impl Fn(usize) -> bool + Sync,
    ) -> Result<(Vec<V>, Halt), ExploreError> {
        if let [alone] = &mut self.workers[..] {
            let mut visitor = begin();
            let flow = |stop: bool| if stop { Flow::Break(()) } else { Flow::Continue(()) };
            let halt = alone.explore_on(&mut visitor, |explorer| flow(pause(explorer.alternatives())))?;
            return Ok((if halt == Halt::Anew { Vec::new() } else { vec![visitor] }, halt));
        }
        let mut visitors: Vec<V> = Vec::new();
        loop {
            let (more, restart, stopped) = self.work(&begin, &pause);
            match restart {
                Some(Restart::Error(error)) => return Err(error),
                Some(Restart::Anew(cells)) => {
                    self.workers.iter_mut().for_each(|worker| {
                        worker.start_over(Cells::clone(&cells));
                        worker.tasks.clear();
                    });
                    self.workers[0].open_all();
                    return Ok((Vec::new(), Halt::Anew));
                }
                None => visitors.extend(more),
            }
            if stopped || self.workers[0].tasks.is_empty() {
                return Ok((visitors, if stopped { Halt::Stopped } else { Halt::Done }));
            }
        }
    }

    /// All work until nobody has a task, or they are stopped; then the first has whatever is left.
    fn work<V: Visitor<T> + Send>(
        &mut self,
        begin: &(impl Fn() -> V + Sync),
        pause: &(impl Fn(usize) -> bool + Sync),
    ) -> (Vec<V>, Option<Restart<Cells>>, bool) {
        let [first, others @ ..] = &mut self.workers[..] else { unreachable!("there is a worker") };
        others.iter_mut().for_each(|other| other.learn_from(first));
        let pool = Pool {
            queue: Mutex::new(Queue { tasks: Vec::new(), busy: self.workers.len(), restart: None }),
            changed: Condvar::new(),
            idle: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        };
        let visitors = std::thread::scope(|scope| {
            let pool = &pool;
            let spawn = |worker| scope.spawn(move || work(worker, pool, begin(), pause));
            let handles: Vec<_> = self.workers.iter_mut().map(spawn).collect();
            handles.into_iter().map(|h| h.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
        });
        let Queue { tasks, restart, .. } = pool.queue.into_inner().expect(HELD);
        let [first, others @ ..] = &mut self.workers[..] else { unreachable!("there is a worker") };
        if restart.is_none() {
            for (task, sets) in tasks {
                first.walk.sets.learn(&sets);
                first.tasks.push(task);
            }
            others.iter_mut().for_each(|other| first.absorb(other.take_part()));
        }
        (visitors, restart, pool.stop.into_inner())
    }
}

fn work<T: Threads, V: Visitor<T>>(
    explorer: &mut Explorer<T>,
    pool: &Pool,
    mut visitor: V,
    pause: &impl Fn(usize) -> bool,
) -> V {
    loop {
        let explored = explorer.explore_open(&mut visitor, |explorer| {
            if pool.stop.load(Ordering::Relaxed) || pause(explorer.alternatives()) {
                return Flow::Break(());
            }
            if pool.idle.load(Ordering::Relaxed) > 0 && explorer.tasks.len() > 1 {
                // The oldest has the most to come, as a rule.
                // Histories have other numbers there.
                let task = Task { last: None, ..explorer.tasks.remove(0) };
                pool.give(task, explorer.walk.sets.clone());
            }
            Flow::Continue(())
        });
        match explored {
            Ok(Flow::Continue(())) => {}
            Ok(Flow::Break(())) => {
                pool.stop(None);
                return visitor;
            }
            Err(restart) => {
                pool.stop(Some(restart));
                return visitor;
            }
        }
        let Some((task, sets)) = pool.take() else { return visitor };
        explorer.walk.sets.learn(&sets);
        explorer.tasks.push(task);
    }
}
