//! Litmus tests of any size, after the C programs that the model checkers were measured on.

use std::fmt::Write;

fn header(name: &str, locations: usize) -> String {
    let init: String = (0..locations).map(|i| format!("[x{i}]=0; ")).collect();
    format!("C {name}\n{{ {init}}}\n")
}

fn thread(text: &mut String, number: usize, locations: &[usize], body: &str) {
    let parameters: Vec<String> = locations.iter().map(|l| format!("atomic_int* x{l}")).collect();
    writeln!(text, "P{number} ({}) {{\n{body}}}", parameters.join(", ")).expect("writing to a string");
}

fn store(at: usize, value: usize, order: &str) -> String {
    format!("  atomic_store_explicit(x{at}, {value}, memory_order_{order});\n")
}

fn load(register: usize, at: usize, order: &str) -> String {
    format!("  int r{register} = atomic_load_explicit(x{at}, memory_order_{order});\n")
}

/// Store buffering in a ring of `n` threads (`sb.c`).
pub fn sb(n: usize) -> String {
    let mut text = header("SB", n);
    for i in 0..n {
        let next = (i + 1) % n;
        thread(&mut text, i, &[i, next], &(store(i, 1, "relaxed") + &load(0, next, "relaxed")));
    }
    text + "exists (0:r0=0)\n"
}

/// One writer that passes a message to `n` readers (`mp.c`).
pub fn mp(n: usize) -> String {
    let mut text = header("MP", 2);
    thread(&mut text, 0, &[0, 1], &(store(0, 1, "relaxed") + &store(1, 1, "release")));
    for i in 1..=n {
        thread(&mut text, i, &[0, 1], &(load(0, 1, "acquire") + &load(1, 0, "relaxed")));
    }
    text + "exists (1:r0=1 /\\ 1:r1=0)\n"
}

/// `n` threads that each increment one counter (`ninc.c`).
pub fn ninc(n: usize) -> String {
    let mut text = header("NINC", 1);
    for i in 0..n {
        thread(&mut text, i, &[0], "  int r0 = atomic_fetch_add_explicit(x0, 1, memory_order_relaxed);\n");
    }
    text + "exists (0:r0=0)\n"
}

/// One writer of `n` locations and `n` readers (`readers.c`).
pub fn readers(n: usize) -> String {
    let mut text = header("READERS", 1);
    thread(&mut text, 0, &[0], &store(0, 1, "relaxed"));
    for i in 1..=n {
        thread(&mut text, i, &[0], &load(0, 0, "relaxed"));
    }
    text + "exists (1:r0=0)\n"
}

/// The same ring as [`sb`] with seq_cst accesses: every candidate has to be checked for cycles.
pub fn sb_sc(n: usize) -> String {
    sb(n).replace("memory_order_relaxed", "memory_order_seq_cst")
}

/// Store buffering with a seq_cst fence in each thread.
pub fn sb_fences(n: usize) -> String {
    let mut text = header("SBF", n);
    for i in 0..n {
        let next = (i + 1) % n;
        let fence = "  atomic_thread_fence(memory_order_seq_cst);\n";
        let body = store(i, 1, "relaxed") + fence + &load(0, next, "relaxed");
        thread(&mut text, i, &[i, next], &body);
    }
    text + "exists (0:r0=0)\n"
}

/// `n` threads that each store a value of their own to one location, and one that reads it once (`writers.c`).
pub fn writers(n: usize) -> String {
    let mut text = header("WRITERS", 1);
    for i in 0..n {
        thread(&mut text, i, &[0], &store(0, i + 1, "relaxed"));
    }
    thread(&mut text, n, &[0], &load(0, 0, "relaxed"));
    text + &format!("exists ({n}:r0=0)\n")
}

/// `n` threads that each write a location and read the next one, so many times.
#[cfg(feature = "z3")]
pub fn ring(n: usize, rounds: usize) -> String {
    let mut text = header("RING", n);
    for i in 0..n {
        let next = (i + 1) % n;
        let body: String = (0..rounds).map(|r| store(i, r + 1, "relaxed") + &load(r, next, "relaxed")).collect();
        thread(&mut text, i, &[i, next], &body);
    }
    text + "exists (0:r0=9)\n"
}

/// Figure 6 of the paper on maximal causality reduction, as its constraints give it (`mcr_example.c`).
#[cfg(feature = "z3")]
pub fn example(rounds: usize) -> String {
    let store = |at: usize, value: usize| store(at, value, "relaxed");
    let load = |to: &str, at: usize| format!("  {to} = atomic_load_explicit(x{at}, memory_order_relaxed);\n");
    let round = [(2, 0), (0, 0), (1, 0), (0, 2), (1, 3), (2, 1)].map(|(at, value)| store(at, value)).concat();
    let look = load("a", 0) + &load("b", 1);
    let reads = format!("{}  if (a == 1) {{ {look} if (a + 1 != b) {{ {look} }} }}\n", load("a", 2));
    let mut text = header("EXAMPLE", 3);
    thread(&mut text, 0, &[0, 1, 2], &round.repeat(rounds));
    thread(&mut text, 1, &[0, 1, 2], &format!("  int a = 0;\n  int b = 0;\n{}", reads.repeat(rounds)));
    text + "exists (1:a=9)\n"
}
