//! Litmus shapes, written with the library's types. The expected outcomes are those of C/C++20 as RC11 has it; where
//! loom 0.7.2 gives others, the comment says which.

use fencepost::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use fencepost::sync::atomic::{AtomicU32, fence};
use fencepost::{Config, thread};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

type Shared = Arc<[AtomicU32; 2]>;
type Body = fn(&[AtomicU32; 2]) -> Vec<u32>;

/// The outcomes of threads that each return what they read: words of digits, sorted.
fn outcomes(threads: &'static [Body]) -> String {
    let seen: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let all = Arc::clone(&seen);
    let summary = Config::new().run(move || {
        let shared: Shared = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let spawn = |body: &Body| {
            let (body, shared) = (*body, Arc::clone(&shared));
            thread::spawn(move || body(&shared))
        };
        let handles: Vec<_> = threads.iter().map(spawn).collect();
        let read = handles.into_iter().flat_map(|handle| handle.join().unwrap());
        let word: String = read.map(|value| value.to_string()).collect();
        all.lock().unwrap().insert(word);
    });
    assert!(summary.unwrap_or_else(|f| panic!("{f}")).complete);
    let seen: Vec<String> = seen.lock().unwrap().iter().cloned().collect();
    seen.join(" ")
}

fn store_load(s: &[AtomicU32; 2], mine: usize, store: Ordering, load: Ordering) -> Vec<u32> {
    s[mine].store(1, store);
    vec![s[1 - mine].load(load)]
}

#[test]
fn store_buffering() {
    assert_eq!(
        outcomes(&[|s| store_load(s, 0, Relaxed, Relaxed), |s| store_load(s, 1, Relaxed, Relaxed)]),
        "00 01 10 11"
    );
    assert_eq!(
        outcomes(&[|s| store_load(s, 0, Release, Acquire), |s| store_load(s, 1, Release, Acquire)]),
        "00 01 10 11"
    );
    // loom: 00, too.
    assert_eq!(outcomes(&[|s| store_load(s, 0, SeqCst, SeqCst), |s| store_load(s, 1, SeqCst, SeqCst)]), "01 10 11");
    fn swapped(s: &[AtomicU32; 2], mine: usize) -> Vec<u32> {
        s[mine].swap(1, SeqCst);
        vec![s[1 - mine].load(SeqCst)]
    }
    // loom: 00, too.
    assert_eq!(outcomes(&[|s| swapped(s, 0), |s| swapped(s, 1)]), "01 10 11");
    fn fenced(s: &[AtomicU32; 2], mine: usize) -> Vec<u32> {
        s[mine].store(1, Relaxed);
        fence(SeqCst);
        vec![s[1 - mine].load(Relaxed)]
    }
    assert_eq!(outcomes(&[|s| fenced(s, 0), |s| fenced(s, 1)]), "01 10 11");
    fn failing(s: &[AtomicU32; 2], mine: usize) -> Vec<u32> {
        s[mine].store(1, Release);
        vec![s[1 - mine].compare_exchange(7, 8, AcqRel, Acquire).unwrap_or_else(|seen| seen)]
    }
    // loom: never 00. A compare-exchange that fails is a load.
    assert_eq!(outcomes(&[|s| failing(s, 0), |s| failing(s, 1)]), "00 01 10 11");
}

#[test]
fn message_passing() {
    fn reads(s: &[AtomicU32; 2], order: Ordering) -> Vec<u32> {
        vec![s[1].load(order), s[0].load(Relaxed)]
    }
    fn writes(s: &[AtomicU32; 2], order: Ordering) -> Vec<u32> {
        s[0].store(1, Relaxed);
        s[1].store(1, order);
        vec![]
    }
    assert_eq!(outcomes(&[|s| writes(s, Relaxed), |s| reads(s, Relaxed)]), "00 01 10 11");
    assert_eq!(outcomes(&[|s| writes(s, Release), |s| reads(s, Acquire)]), "00 01 11");
    assert_eq!(outcomes(&[|s| writes(s, Release), |s| reads(s, Relaxed)]), "00 01 10 11");
    fn fenced(s: &[AtomicU32; 2]) -> Vec<u32> {
        let flag = s[1].load(Relaxed);
        fence(Acquire);
        vec![flag, s[0].load(Relaxed)]
    }
    assert_eq!(outcomes(&[|s| writes(s, Release), fenced]), "00 01 11");
}

#[test]
fn load_buffering_is_not_out_of_thin_air() {
    fn load_store(s: &[AtomicU32; 2], from: usize) -> Vec<u32> {
        let seen = s[from].load(Relaxed);
        s[1 - from].store(1, Relaxed);
        vec![seen]
    }
    // RC11 forbids 11.
    assert_eq!(outcomes(&[|s| load_store(s, 0), |s| load_store(s, 1)]), "00 01 10");
}

#[test]
fn release_sequences_are_those_of_2020() {
    fn head_then_store(s: &[AtomicU32; 2]) -> Vec<u32> {
        s[0].store(1, Relaxed);
        s[1].store(1, Release);
        s[1].store(2, Relaxed);
        vec![]
    }
    fn reads(s: &[AtomicU32; 2]) -> Vec<u32> {
        vec![s[1].load(Acquire), s[0].load(Relaxed)]
    }
    // A later plain store of the same thread is not in the sequence: 20.
    assert_eq!(outcomes(&[head_then_store, reads]), "00 01 11 20 21");
    fn head(s: &[AtomicU32; 2]) -> Vec<u32> {
        s[0].store(1, Relaxed);
        s[1].store(1, Release);
        vec![]
    }
    fn adds(s: &[AtomicU32; 2]) -> Vec<u32> {
        s[1].fetch_add(1, Relaxed);
        vec![]
    }
    // A read-modify-write is: 2 is only read with what was released. 10 is the one that came first.
    assert_eq!(outcomes(&[head, adds, reads]), "00 01 10 11 21");
}

#[test]
fn independent_reads_of_independent_writes() {
    fn write(s: &[AtomicU32; 2], at: usize, order: Ordering) -> Vec<u32> {
        s[at].store(1, order);
        vec![]
    }
    fn read(s: &[AtomicU32; 2], first: usize, order: Ordering) -> Vec<u32> {
        vec![s[first].load(order), s[1 - first].load(order)]
    }
    // loom finishes neither in a minute, and has 1010 in the second.
    let acquire = outcomes(&[
        |s| write(s, 0, Release),
        |s| write(s, 1, Release),
        |s| read(s, 0, Acquire),
        |s| read(s, 1, Acquire),
    ]);
    assert_eq!(acquire.split(' ').count(), 16);
    let seq_cst =
        outcomes(&[|s| write(s, 0, SeqCst), |s| write(s, 1, SeqCst), |s| read(s, 0, SeqCst), |s| read(s, 1, SeqCst)]);
    assert_eq!(seq_cst.split(' ').count(), 15);
    assert!(!seq_cst.contains("1010"));
}

#[test]
fn causality_passes_on() {
    let seen = outcomes(&[
        |s| {
            s[0].store(1, Relaxed);
            vec![]
        },
        |s| {
            let seen = s[0].load(Relaxed);
            s[1].store(1, Release);
            vec![seen]
        },
        |s| vec![s[1].load(Acquire), s[0].load(Relaxed)],
    ]);
    assert_eq!(seen, "000 001 010 011 100 101 111");
}

#[test]
fn coherence() {
    fn writes(s: &[AtomicU32; 2]) -> Vec<u32> {
        s[0].store(1, Relaxed);
        s[0].store(2, Relaxed);
        vec![]
    }
    fn reads(s: &[AtomicU32; 2]) -> Vec<u32> {
        vec![s[0].load(Relaxed), s[0].load(Relaxed)]
    }
    assert_eq!(outcomes(&[writes, reads]), "00 01 02 11 12 22");
}

#[test]
fn old_stores_are_not_forgotten() {
    // loom keeps seven: it misses 0 to 3.
    let seen = outcomes(&[
        |s| {
            (1..=9).for_each(|value| s[0].store(value, Relaxed));
            s[1].store(1, Relaxed);
            vec![]
        },
        |s| if s[1].load(Relaxed) == 1 { vec![s[0].load(Relaxed)] } else { vec![] },
    ]);
    assert_eq!(seen, " 0 1 2 3 4 5 6 7 8 9");
}

#[test]
fn a_load_may_come_last() {
    // loom: never 1.
    let seen = outcomes(&[
        |s| vec![s[0].load(Relaxed)],
        |s| {
            s[0].store(1, Relaxed);
            vec![]
        },
    ]);
    assert_eq!(seen, "0 1");
}

#[test]
fn a_weak_compare_exchange_fails_for_no_reason() {
    // loom: always 1.
    assert_eq!(outcomes(&[|s| vec![s[0].compare_exchange_weak(0, 1, Relaxed, Relaxed).is_ok().into()]]), "0 1");
}

#[test]
fn independent_threads_have_one_graph() {
    let summary = Config::new().run(|| {
        let threads: Vec<_> = (0..3)
            .map(|_| {
                thread::spawn(|| {
                    let own = AtomicU32::new(0);
                    own.store(1, SeqCst);
                    own.fetch_add(1, SeqCst)
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| drop(thread.join()));
    });
    assert_eq!(summary.unwrap_or_else(|f| panic!("{f}")).executions, 1);
}
