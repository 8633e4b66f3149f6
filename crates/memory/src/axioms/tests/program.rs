//! Litmus programs, and a reader for exactly the C that the corpus is written in.

use fencepost_trace::{FenceOrder, LoadOrder, RmwOrder, StoreOrder, Update, Value};
use std::collections::BTreeMap;

/// Shared locations are named by letters, registers and private locations by strings.
pub type Name = String;

/// One instruction. Jumps lead forward only, so that each runs at most once.
#[derive(Clone, Debug)]
pub enum Instr {
    Set {
        register: Name,
        value: u64,
    },
    Load {
        register: Name,
        at: Name,
        order: LoadOrder,
    },
    Store {
        at: Name,
        order: StoreOrder,
        value: u64,
    },
    Rmw {
        register: Name,
        at: Name,
        order: RmwOrder,
        update: Update,
    },
    /// `expected` is private to the thread: it is a register here.
    CompareExchange {
        register: Name,
        at: Name,
        expected: Name,
        desired: u64,
        success: RmwOrder,
        failure: LoadOrder,
    },
    Fence {
        order: FenceOrder,
    },
    SkipUnless {
        register: Name,
        equals: u64,
        to: usize,
    },
}

impl Instr {
    /// The location, if it can write one.
    pub fn writes(&self) -> Option<&Name> {
        match self {
            Instr::Store { at, .. } | Instr::Rmw { at, .. } | Instr::CompareExchange { at, .. } => Some(at),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Initial values, if not 0.
    pub initial: BTreeMap<Name, u64>,
    pub threads: Vec<Vec<Instr>>,
}

impl Program {
    /// Reads a litmus test of the corpus.
    ///
    /// # Panics
    /// On a line that it does not know.
    pub fn parse(source: &str) -> Program {
        let mut program = Program::default();
        let mut open_ifs = Vec::new();
        for line in source.lines().map(str::trim) {
            if line.is_empty() || ["C ", "locations", "exists", "forall", "~exists"].iter().any(|s| line.starts_with(s))
            {
                continue;
            }
            if let Some(values) = line.strip_prefix('{') {
                for one in values.trim_end_matches('}').split(';').map(str::trim).filter(|s| !s.is_empty()) {
                    let (name, value) = one.split_once('=').expect("an initial value");
                    program.initial.insert(name.trim_matches(['[', ']']).to_owned(), number(value));
                }
            } else if line.starts_with('P') && line.ends_with('{') {
                program.threads.push(Vec::new());
            } else if line == "}" {
                let thread = program.threads.last_mut().expect("inside a thread");
                let end = thread.len();
                // Without an open if, the thread ends.
                if let Some(start) = open_ifs.pop()
                    && let Instr::SkipUnless { to, .. } = &mut thread[start]
                {
                    *to = end;
                }
            } else {
                let thread = program.threads.last_mut().expect("inside a thread");
                let instr = statement(line);
                if matches!(instr, Instr::SkipUnless { .. }) {
                    open_ifs.push(thread.len());
                }
                thread.push(instr);
            }
        }
        program
    }
}

fn number(text: &str) -> u64 {
    text.trim().parse().unwrap_or_else(|_| panic!("not a number: {text}"))
}

fn statement(line: &str) -> Instr {
    if let Some(condition) = line.strip_prefix("if (") {
        let (register, value) = condition.trim_end_matches(['{', ')', ' ']).split_once("==").expect("r == n");
        return Instr::SkipUnless { register: register.trim().to_owned(), equals: number(value), to: 0 };
    }
    let line = line.trim_end_matches(';');
    let (left, right) = match line.split_once(" = ") {
        Some((left, right)) => (left.trim_start_matches("int ").to_owned(), right),
        None => (String::new(), line),
    };
    if let Some(at) = left.strip_prefix('*') {
        return Instr::Store { at: at.to_owned(), order: StoreOrder::Plain, value: number(right) };
    }
    if let Some(at) = right.strip_prefix('*') {
        return Instr::Load { register: left, at: at.to_owned(), order: LoadOrder::Plain };
    }
    let Some((function, arguments)) = right.trim_end_matches(')').split_once('(') else {
        return Instr::Set { register: left, value: number(right) };
    };
    let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
    let at = arguments[0].to_owned();
    match (function, &arguments[1..]) {
        ("atomic_load_explicit", [order]) => Instr::Load { register: left, at, order: load_order(order) },
        ("atomic_store_explicit", [value, order]) => {
            let order = match *order {
                "memory_order_relaxed" => StoreOrder::Relaxed,
                "memory_order_release" => StoreOrder::Release,
                "memory_order_seq_cst" => StoreOrder::SeqCst,
                other => panic!("a store cannot be {other}"),
            };
            Instr::Store { at, order, value: number(value) }
        }
        ("atomic_exchange_explicit", [value, order]) => {
            let update = Update::Exchange(Value::from(number(value)));
            Instr::Rmw { register: left, at, order: rmw_order(order), update }
        }
        ("atomic_fetch_add_explicit", [value, order]) => {
            let update = Update::Add(Value::from(number(value)));
            Instr::Rmw { register: left, at, order: rmw_order(order), update }
        }
        ("atomic_compare_exchange_strong_explicit", [expected, desired, success, failure]) => Instr::CompareExchange {
            register: left,
            at,
            expected: (*expected).to_owned(),
            desired: number(desired),
            success: rmw_order(success),
            failure: load_order(failure),
        },
        ("atomic_thread_fence", []) => Instr::Fence { order: fence_order(&at) },
        _ => panic!("unknown statement: {line}"),
    }
}

fn load_order(name: &str) -> LoadOrder {
    match name {
        "memory_order_relaxed" => LoadOrder::Relaxed,
        "memory_order_acquire" => LoadOrder::Acquire,
        "memory_order_seq_cst" => LoadOrder::SeqCst,
        other => panic!("a load cannot be {other}"),
    }
}

fn rmw_order(name: &str) -> RmwOrder {
    match name {
        "memory_order_relaxed" => RmwOrder::Relaxed,
        "memory_order_acquire" => RmwOrder::Acquire,
        "memory_order_release" => RmwOrder::Release,
        "memory_order_acq_rel" => RmwOrder::AcqRel,
        "memory_order_seq_cst" => RmwOrder::SeqCst,
        other => panic!("an RMW cannot be {other}"),
    }
}

fn fence_order(name: &str) -> FenceOrder {
    match name {
        "memory_order_acquire" => FenceOrder::Acquire,
        "memory_order_release" => FenceOrder::Release,
        "memory_order_acq_rel" => FenceOrder::AcqRel,
        "memory_order_seq_cst" => FenceOrder::SeqCst,
        other => panic!("a fence cannot be {other}"),
    }
}
