//! The classic shapes, by hand: for each, what sequential consistency allows and what each weaker model adds.

use super::enumerate::outcomes;
use super::program::{Instr, Program};
use fencepost_trace::{FenceOrder, LoadOrder, Model, RmwOrder, StoreOrder, Update, Value};
use std::collections::BTreeSet;

fn w(at: &str, value: u64) -> Instr {
    store(at, value, StoreOrder::Relaxed)
}

fn store(at: &str, value: u64, order: StoreOrder) -> Instr {
    Instr::Store { at: at.into(), order, value }
}

fn r(register: &str, at: &str) -> Instr {
    load(register, at, LoadOrder::Relaxed)
}

fn load(register: &str, at: &str, order: LoadOrder) -> Instr {
    Instr::Load { register: register.into(), at: at.into(), order }
}

fn exchange(at: &str, value: u64, order: RmwOrder) -> Instr {
    Instr::Rmw { register: "old".into(), at: at.into(), order, update: Update::Exchange(Value::from(value)) }
}

fn fence(order: FenceOrder) -> Instr {
    Instr::Fence { order }
}

/// A compare-exchange that always fails: nothing ever stores 9.
fn failing(register: &str, at: &str, success: RmwOrder, failure: LoadOrder) -> Instr {
    let (at, expected) = (at.into(), "e0".into());
    Instr::CompareExchange { register: register.into(), at, expected, desired: 7, success, failure }
}

/// The states under SC are `sc`; under each model of `more`, these are added, and under the others nothing.
fn check(name: &str, threads: Vec<Vec<Instr>>, variables: &str, sc: &[&[u64]], more: &[(Model, &[&[u64]])]) {
    let initial = [("e0".to_owned(), 9)].into();
    let program = Program { initial, threads };
    let variables: Vec<String> = variables.split(' ').map(str::to_owned).collect();
    let set = |states: &[&[u64]]| states.iter().map(|s| s.to_vec()).collect::<BTreeSet<_>>();
    for (model, got) in outcomes(&program, &variables, &Model::ALL) {
        let mut expected = set(sc);
        for (_, extra) in more.iter().filter(|(m, _)| *m == model) {
            expected.extend(set(extra));
        }
        assert_eq!(got.states, expected, "{name} under {model}");
    }
}

use Model::{C11, Pslo, Pso, Tso};

#[test]
fn store_buffering() {
    let sc: &[&[u64]] = &[&[0, 1], &[1, 0], &[1, 1]];
    let both: &[&[u64]] = &[&[0, 0]];
    let sb = |between: Option<Instr>| {
        let thread = |x, y| [w(x, 1)].into_iter().chain(between.clone()).chain([r("r", y)]).collect();
        vec![thread("x", "y"), thread("y", "x")]
    };
    let check = |name, threads, more: &[(Model, &[&[u64]])]| check(name, threads, "0:r 1:r", sc, more);

    // Both stores wait in their buffers while the loads read.
    check("SB", sb(None), &[(Tso, both), (Pso, both), (Pslo, both), (C11, both)]);
    // Full barriers forbid it everywhere.
    check("SB+fences", sb(Some(fence(FenceOrder::SeqCst))), &[]);
    // Later loads pass a release fence on PSO too: it keeps earlier accesses before later stores only.
    let release = sb(Some(fence(FenceOrder::Release)));
    check("SB+release fences", release, &[(Tso, both), (Pso, both), (Pslo, both), (C11, both)]);
    // A seq_cst store is followed by a full barrier; in C++, all four accesses are in one order.
    let seq_cst = |x, y| vec![store(x, 1, StoreOrder::SeqCst), load("r", y, LoadOrder::SeqCst)];
    check("SB+sc", vec![seq_cst("x", "y"), seq_cst("y", "x")], &[]);
    // On PSO a load does not pass an RMW, which reads, and which is in memory when it has read.
    // On PSLO it does.
    let rmw = |x, y| vec![exchange(x, 1, RmwOrder::Relaxed), r("r", y)];
    check("SB+rmws", vec![rmw("x", "y"), rmw("y", "x")], &[(Pslo, both), (C11, both)]);
    // A failed compare-exchange is a full barrier on TSO always, on the others if its failure order is
    // seq_cst. In C++ it is a load.
    let failed = |x, y, success, failure| vec![w(x, 1), failing("old", "z", success, failure), r("r", y)];
    let relaxed = |x, y| failed(x, y, RmwOrder::SeqCst, LoadOrder::Relaxed);
    check("SB+cas", vec![relaxed("x", "y"), relaxed("y", "x")], &[(Pso, both), (Pslo, both), (C11, both)]);
    let seq_cst = |x, y| failed(x, y, RmwOrder::SeqCst, LoadOrder::SeqCst);
    check("SB+cas sc", vec![seq_cst("x", "y"), seq_cst("y", "x")], &[(C11, both)]);
}

#[test]
fn store_buffering_with_a_read_of_the_own_store() {
    // Each load of the own store is answered by the buffer, so that it orders nothing.
    let thread = |x, y| vec![w(x, 1), r("own", x), r("r", y)];
    let both: &[&[u64]] = &[&[1, 0, 1, 0]];
    check(
        "SB+rfi",
        vec![thread("x", "y"), thread("y", "x")],
        "0:own 0:r 1:own 1:r",
        &[&[1, 0, 1, 1], &[1, 1, 1, 0], &[1, 1, 1, 1]],
        &[(Tso, both), (Pso, both), (Pslo, both), (C11, both)],
    );
    // n6: the own store is read before another thread's store to the same location, which it overwrites in the
    // end. Where the other thread's stores may be reordered too, its second can be seen without its first.
    let n6: &[&[u64]] = &[&[1, 0, 1]];
    let weaker: &[&[u64]] = &[&[1, 0, 1], &[2, 0, 2]];
    check(
        "n6",
        vec![vec![w("x", 1), r("own", "x"), r("r", "y")], vec![w("y", 1), w("x", 2)]],
        "0:own 0:r x",
        &[&[1, 1, 1], &[1, 1, 2], &[2, 1, 2], &[1, 0, 2]],
        &[(Tso, n6), (Pso, weaker), (Pslo, weaker), (C11, weaker)],
    );
}

#[test]
fn message_passing() {
    let sc: &[&[u64]] = &[&[0, 0], &[0, 1], &[1, 1]];
    let stale: &[&[u64]] = &[&[1, 0]];
    let check = |name, writer, reader, more: &[(Model, &[&[u64]])]| {
        check(name, vec![writer, reader], "1:flag 1:data", sc, more);
    };
    let relaxed = || vec![r("flag", "y"), r("data", "x")];
    let acquire = || vec![load("flag", "y", LoadOrder::Acquire), r("data", "x")];

    check("MP", vec![w("x", 1), w("y", 1)], relaxed(), &[(Pso, stale), (Pslo, stale), (C11, stale)]);
    let release = || vec![w("x", 1), store("y", 1, StoreOrder::Release)];
    // On PSO the loads are in order anyway.
    check("MP+rel", release(), relaxed(), &[(Pslo, stale), (C11, stale)]);
    check("MP+rel+acq", release(), acquire(), &[]);
    let fenced = |order| vec![r("flag", "y"), fence(order), r("data", "x")];
    check("MP+rel+fence", release(), fenced(FenceOrder::Acquire), &[]);
    // A release fence does not keep loads in order.
    check("MP+rel+wrong fence", release(), fenced(FenceOrder::Release), &[(Pslo, stale), (C11, stale)]);
    let fence_first = |order| vec![w("x", 1), fence(order), w("y", 1)];
    check("MP+fence+acq", fence_first(FenceOrder::Release), acquire(), &[]);
    check(
        "MP+wrong fence+acq",
        fence_first(FenceOrder::Acquire),
        acquire(),
        &[(Pso, stale), (Pslo, stale), (C11, stale)],
    );
    // A relaxed RMW is performed at once, and an earlier store to elsewhere may come behind it; a
    // release RMW waits for it.
    let rmw = |order| vec![w("x", 1), exchange("y", 1, order)];
    check("MP+rmw+acq", rmw(RmwOrder::Acquire), acquire(), &[(Pso, stale), (Pslo, stale), (C11, stale)]);
    check("MP+rmw rel+acq", rmw(RmwOrder::Release), acquire(), &[]);
    // A seq_cst store is followed by a barrier in hardware, and not in C++: compiled for ARM, the second
    // store may be seen first.
    let seq_cst = vec![store("x", 1, StoreOrder::SeqCst), w("y", 1)];
    let reader = vec![load("flag", "y", LoadOrder::Acquire), load("data", "x", LoadOrder::SeqCst)];
    check("MP+sc", seq_cst, reader, &[(C11, stale)]);
}

#[test]
fn load_buffering() {
    // A store never comes before an earlier load; RC11 forbids it to have no values out of thin air.
    let thread = |x, y| vec![r("r", x), w(y, 1)];
    check("LB", vec![thread("x", "y"), thread("y", "x")], "0:r 1:r", &[&[0, 0], &[0, 1], &[1, 0]], &[]);
}

#[test]
fn independent_reads() {
    let all: Vec<Vec<u64>> = (0..16).map(|i| (0..4).map(|bit| i >> bit & 1).collect()).collect();
    let sc: Vec<&[u64]> = all.iter().map(Vec::as_slice).filter(|s| *s != [1, 0, 1, 0]).collect();
    let apart: &[&[u64]] = &[&[1, 0, 1, 0]];
    let iriw = |store: fn(&str) -> Instr, load: fn(&str, &str) -> Instr| {
        let reader = |x, y| vec![load("r0", x), load("r1", y)];
        vec![vec![store("x")], vec![store("y")], reader("x", "y"), reader("y", "x")]
    };
    let check = |name, threads, more: &[(Model, &[&[u64]])]| check(name, threads, "2:r0 2:r1 3:r0 3:r1", &sc, more);

    // All hardware here has one memory; PSLO reorders the loads themselves.
    check("IRIW", iriw(|x| w(x, 1), r), &[(Pslo, apart), (C11, apart)]);
    // Release and acquire do not give C++ one memory, seq_cst does.
    let acquire = iriw(|x| store(x, 1, StoreOrder::Release), |r, x| load(r, x, LoadOrder::Acquire));
    check("IRIW+rel+acq", acquire, &[(C11, apart)]);
    let seq_cst = iriw(|x| store(x, 1, StoreOrder::SeqCst), |r, x| load(r, x, LoadOrder::SeqCst));
    check("IRIW+sc", seq_cst, &[]);
}

#[test]
fn two_plus_two_writes() {
    let sc: &[&[u64]] = &[&[1, 2], &[2, 1], &[2, 2]];
    let crossed: &[&[u64]] = &[&[1, 1]];
    let plain = |x, y| vec![w(x, 1), w(y, 2)];
    let weak = &[(Pso, crossed), (Pslo, crossed), (C11, crossed)];
    check("2+2W", vec![plain("x", "y"), plain("y", "x")], "x y", sc, weak);
    // A release fence keeps stores in order in hardware; in C++ nobody reads, so that it means nothing.
    let fenced = |x, y| vec![w(x, 1), fence(FenceOrder::Release), w(y, 2)];
    check("2+2W+fences", vec![fenced("x", "y"), fenced("y", "x")], "x y", sc, &[(C11, crossed)]);
}

#[test]
fn one_location_is_coherent_everywhere() {
    let reader = || vec![r("r0", "x"), r("r1", "x")];
    check("CoRR", vec![vec![w("x", 1)], reader()], "1:r0 1:r1", &[&[0, 0], &[0, 1], &[1, 1]], &[]);
    // Two increments are never lost into one.
    let add = || Instr::Rmw {
        register: "r".into(),
        at: "x".into(),
        order: RmwOrder::Relaxed,
        update: Update::Add(Value::from(1)),
    };
    check("2A", vec![vec![add()], vec![add()]], "0:r 1:r x", &[&[0, 1, 2], &[1, 0, 2]], &[]);
}
