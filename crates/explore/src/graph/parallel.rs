//! Exploration on several workers.
//!
//! A subtree is a value, so that work is simply handed over: a worker with nothing to do asks, and one that has
//! alternatives left gives away the oldest, which tends to be the largest. Every graph is still explored exactly
//! once, so that the counts do not depend on the number of workers.
//!
//! Between two phases nobody works: what is left then is a list of tasks, and nothing of it is half done.

use super::error::ExploreError;
use super::explorer::{Explorer, Options, Restart};
use super::task::Task;
use super::visitor::{Flow, Halt, Visitor};
use fencepost_engine::Threads;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

/// What the workers share.
struct Pool {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// How many workers wait for work: those who have some look here after every execution.
    idle: AtomicUsize,
    stop: AtomicBool,
}

struct Queue {
    tasks: Vec<Task>,
    busy: usize,
    restart: Option<Restart<Task>>,
}

impl Pool {
    /// The next piece of work; `None` when all is done.
    fn take(&self) -> Option<Task> {
        let mut queue = self.queue.lock().expect("no worker panics while it holds the queue");
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(task) = queue.tasks.pop() {
                queue.busy += 1;
                return Some(task);
            }
            if queue.busy == 0 {
                self.wake_all();
                return None;
            }
            self.idle.fetch_add(1, Ordering::Relaxed);
            queue = self.changed.wait(queue).expect("no worker panics while it holds the queue");
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn give(&self, task: Task) {
        self.queue.lock().expect("no worker panics while it holds the queue").tasks.push(task);
        self.changed.notify_one();
    }

    /// A worker is done with its task, but for what is left of it.
    fn finished(&self, result: Result<Flow, Restart<Task>>, left: Vec<Task>) {
        let mut queue = self.queue.lock().expect("no worker panics while it holds the queue");
        queue.busy -= 1;
        queue.tasks.extend(left);
        match result {
            Ok(Flow::Continue(())) => {}
            Ok(Flow::Break(())) => self.stop.store(true, Ordering::Relaxed),
            Err(restart) => {
                self.stop.store(true, Ordering::Relaxed);
                queue.restart.get_or_insert(restart);
            }
        }
        self.wake_all();
    }

    /// Wakes those who wait, after the queue has changed. They have counted themselves while they held it, so that none
    /// is overlooked; where there is none, the system is not asked.
    fn wake_all(&self) {
        if self.idle.load(Ordering::Relaxed) > 0 {
            self.changed.notify_all();
        }
    }
}

/// Explores everything on `jobs` workers. Each has a visitor of its own, made by `begin`; they are returned in no
/// particular order. A visitor that breaks off stops all.
pub fn explore_parallel<T, V>(
    program: &T,
    options: Options,
    jobs: usize,
    begin: impl Fn() -> V + Sync,
) -> Result<Vec<V>, ExploreError>
where
    T: Threads + Clone + Send,
    V: Visitor<T> + Send,
{
    let mut tasks = vec![Task::root()];
    loop {
        let phase = explore_phase(program, options, jobs, tasks, &begin, |_| false)?;
        match phase.halt {
            Halt::Anew => tasks = phase.left,
            Halt::Done | Halt::Stopped => return Ok(phase.visitors),
        }
    }
}

/// What came of part of an exploration.
pub struct Phase<V> {
    /// What was met, by each worker; nothing if all begins anew.
    pub visitors: Vec<V>,
    /// What is to be explored after that.
    pub left: Vec<Task>,
    /// Why it halts.
    pub halt: Halt,
}

/// Explores these tasks on `jobs` workers until nothing is left, a visitor breaks off, or `pause` says so, which is
/// asked after every run of the program, and told how many alternatives the worker has left. With one worker, phases
/// meet executions in the order in which one alone would.
pub fn explore_phase<T, V>(
    program: &T,
    options: Options,
    jobs: usize,
    tasks: Vec<Task>,
    begin: impl Fn() -> V + Sync,
    pause: impl Fn(usize) -> bool + Sync,
) -> Result<Phase<V>, ExploreError>
where
    T: Threads + Clone + Send,
    V: Visitor<T> + Send,
{
    let pool = Pool {
        queue: Mutex::new(Queue { tasks, busy: 0, restart: None }),
        changed: Condvar::new(),
        idle: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
    };
    let jobs = jobs.max(1);
    let mut workers: Vec<_> =
        (0..jobs).map(|_| Explorer::new(program.clone(), options)).collect::<Result<_, ExploreError>>()?;
    let visitors = match &mut workers[..] {
        [alone] => vec![work(alone, &pool, begin(), &pause)],
        _ => std::thread::scope(|scope| {
            let (pool, begin, pause) = (&pool, &begin, &pause);
            let spawn = |mut explorer: Explorer<T>| scope.spawn(move || work(&mut explorer, pool, begin(), pause));
            let handles: Vec<_> = workers.into_iter().map(spawn).collect();
            handles.into_iter().map(|h| h.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
        }),
    };
    let Queue { tasks: left, restart, .. } = pool.queue.into_inner().expect("no worker panics while it holds it");
    match restart {
        None => {
            let halt = if pool.stop.into_inner() { Halt::Stopped } else { Halt::Done };
            Ok(Phase { visitors, left, halt })
        }
        Some(Restart::Anew(task)) => Ok(Phase { visitors: Vec::new(), left: vec![*task], halt: Halt::Anew }),
        Some(Restart::Error(error)) => Err(error),
    }
}

fn work<T: Threads, V: Visitor<T>>(
    explorer: &mut Explorer<T>,
    pool: &Pool,
    mut visitor: V,
    pause: &impl Fn(usize) -> bool,
) -> V {
    while let Some(task) = pool.take() {
        let result = explorer.explore_task(task, &mut visitor, |explorer| {
            if pool.stop.load(Ordering::Relaxed) || pause(explorer.alternatives()) {
                return Flow::Break(());
            }
            if pool.idle.load(Ordering::Relaxed) > 0
                && let Some(task) = explorer.split()
            {
                pool.give(task);
            }
            Flow::Continue(())
        });
        let left = if matches!(result, Ok(Flow::Break(()))) { explorer.left() } else { Vec::new() };
        pool.finished(result, left);
    }
    visitor
}
