//! Work on several cores, results in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Does `work` on every item, on `jobs` threads, and hands the results to `each` in the order of the items, as soon as
/// all before them are there. An error of `each` ends it: items that nobody has begun are left alone.
pub fn in_order<I: Sync, O: Send, E>(
    items: &[I],
    jobs: usize,
    work: impl Fn(&I) -> O + Sync,
    mut each: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    let jobs = jobs.min(items.len());
    if jobs <= 1 {
        return items.iter().try_for_each(|item| each(work(item)));
    }
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    if sender.send((index, work(item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut expected = 0;
        for (index, result) in receiver {
            early.insert(index, result);
            while let Some(result) = early.remove(&expected) {
                expected += 1;
                if let Err(error) = each(result) {
                    next.store(items.len(), Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_an_error_ends_it() {
        let items: Vec<u32> = (0..1000).collect();
        for jobs in [1, 4] {
            let mut seen = Vec::new();
            let all = in_order(
                &items,
                jobs,
                |n| n * 2,
                |n| {
                    seen.push(n);
                    Ok::<(), ()>(())
                },
            );
            assert_eq!(all, Ok(()));
            assert!(seen.iter().enumerate().all(|(i, n)| *n == 2 * i as u32) && seen.len() == 1000);
            let mut count = 0;
            let stopped = in_order(
                &items,
                jobs,
                |n| *n,
                |n| {
                    count += 1;
                    if n == 10 { Err(n) } else { Ok(()) }
                },
            );
            assert_eq!((stopped, count), (Err(10), 11));
        }
    }
}
