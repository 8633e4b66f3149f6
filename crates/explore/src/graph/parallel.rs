//! Exploration on several workers.
//!
//! A subtree is a value, so that work is simply handed over: a worker with nothing to do asks, and one that has
//! alternatives left gives away the oldest, which tends to be the largest. Every graph is still explored exactly
//! once, so that the counts do not depend on the number of workers.

use super::cells::Cells;
use super::error::ExploreError;
use super::explorer::{Explorer, Options, Restart};
use super::task::Task;
use super::visitor::{Flow, Visitor};
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
    restart: Option<Restart>,
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
                self.changed.notify_all();
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

    fn finished(&self, result: Result<Flow, Restart>) {
        let mut queue = self.queue.lock().expect("no worker panics while it holds the queue");
        queue.busy -= 1;
        match result {
            Ok(Flow::Continue(())) => {}
            Ok(Flow::Break(())) => self.stop.store(true, Ordering::Relaxed),
            Err(restart) => {
                self.stop.store(true, Ordering::Relaxed);
                queue.restart.get_or_insert(restart);
            }
        }
        self.changed.notify_all();
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
    if jobs <= 1 {
        return Explorer::new(program.clone(), options)?.explore(&begin).map(|v| vec![v]);
    }
    let mut cells = Cells::default();
    loop {
        let root = Task::with(cells);
        let pool = Pool {
            queue: Mutex::new(Queue { tasks: vec![root], busy: 0, restart: None }),
            changed: Condvar::new(),
            idle: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        };
        let workers: Result<Vec<_>, _> = (0..jobs).map(|_| Explorer::new(program.clone(), options)).collect();
        let visitors = std::thread::scope(|scope| {
            let (pool, begin) = (&pool, &begin);
            let spawn = |mut explorer: Explorer<T>| scope.spawn(move || work(&mut explorer, pool, begin()));
            let handles: Vec<_> = workers?.into_iter().map(spawn).collect();
            Ok(handles.into_iter().map(|h| h.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect())
        })?;
        let queue = pool.queue.into_inner().expect("no worker panics while it holds the queue");
        match queue.restart {
            None => return Ok(visitors),
            Some(Restart::Merged(wider)) => cells = wider,
            Some(Restart::Error(error)) => return Err(error),
        }
    }
}

fn work<T: Threads, V: Visitor<T>>(explorer: &mut Explorer<T>, pool: &Pool, mut visitor: V) -> V {
    while let Some(task) = pool.take() {
        let result = explorer.explore_task(task, &mut visitor, |explorer| {
            if pool.stop.load(Ordering::Relaxed) {
                return Flow::Break(());
            }
            if pool.idle.load(Ordering::Relaxed) > 0
                && let Some(task) = explorer.split()
            {
                pool.give(task);
            }
            Flow::Continue(())
        });
        pool.finished(result);
    }
    visitor
}
