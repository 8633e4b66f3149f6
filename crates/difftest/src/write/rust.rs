//! Programs in Rust, with what `std` has.

use super::{indent, packed, registers, variables};
use crate::program::{Arithmetic, Lock, Operand, Order, Plain, Program, Stmt};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const START: &str = "#![allow(unused, static_mut_refs, clippy::all)]
use std::cell::Cell;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, fence};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Barrier, Condvar, Mutex, Once, OnceLock, RwLock};
use std::thread;
use std::time::Duration;
";

/// A file that holds these programs.
pub fn unit(programs: &[Program]) -> String {
    let mut text = START.to_owned() + super::MARK;
    for (number, program) in programs.iter().enumerate() {
        text += &one(program, &format!("p{number}")).expect("a String takes everything");
    }
    let all: Vec<String> = (0..programs.len()).map(|number| format!("p{number}::main")).collect();
    let all = all.join(", ");
    format!(
        "{text}\nstatic PROGRAMS: &[fn()] = &[{all}];\nfn main() {{\n    \
         let number: usize = std::env::args().nth(1).map_or(0, |word| word.parse().unwrap());\n    \
         PROGRAMS[number]();\n\
         }}\n"
    )
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Relaxed => "Relaxed",
        Order::Acquire => "Acquire",
        Order::Release => "Release",
        Order::AcqRel => "AcqRel",
        Order::SeqCst => "SeqCst",
    }
}

fn operand(value: Operand) -> String {
    match value {
        Operand::Const(value) => value.to_string(),
        Operand::Reg(reg) => format!("r{reg}"),
    }
}

/// A guarded variable, through its lock's guard.
fn guarded(at: Plain) -> String {
    match at {
        Plain::Guarded(lock) => format!("*g_{}", lock.object()),
        // Not generated for Rust.
        Plain::Racing(_) | Plain::Volatile(_) => "*&mut 0".to_owned(),
    }
}

fn static_of(lock: Lock) -> String {
    lock.object().to_uppercase()
}

fn one(program: &Program, module: &str) -> Result<String, std::fmt::Error> {
    let mut names = BTreeSet::new();
    program.each(&mut |_, stmt| {
        let mut add = |name: String| {
            names.insert(name);
        };
        match stmt {
            Stmt::Acquire { lock } | Stmt::Release { lock } | Stmt::Attempt { lock, .. } => add(lock.object()),
            Stmt::CondWait { .. } | Stmt::CondSignal { .. } => {
                ["m0", "c0"].into_iter().for_each(|name| add(name.to_owned()));
            }
            Stmt::AwaitLocked { .. } => add("m0".to_owned()),
            Stmt::FutexWait { var, .. } | Stmt::FutexWake { var, .. } => add(format!("f{var}")),
            Stmt::Barrier { .. } => add("bar".to_owned()),
            Stmt::Once => add("once".to_owned()),
            Stmt::Tls { .. } => add("tl".to_owned()),
            Stmt::Send { .. } | Stmt::Receive { .. } => add("channel".to_owned()),
            _ => {}
        }
    });
    let mut text = format!("\nmod {module} {{\nuse super::*;\n");
    for i in variables(program) {
        let bits = 8 * u32::from(program.variables[usize::from(i)].size);
        writeln!(text, "static A{i}: AtomicU{bits} = AtomicU{bits}::new(0);")?;
    }
    for name in &names {
        match name.as_str() {
            "c0" => writeln!(text, "static C0: Condvar = Condvar::new();")?,
            "bar" => writeln!(text, "static BAR: OnceLock<Barrier> = OnceLock::new();")?,
            "once" => writeln!(text, "static ONCE: Once = Once::new();")?,
            "tl" => writeln!(text, "thread_local! {{ static TL: Cell<u64> = const {{ Cell::new(0) }}; }}")?,
            "channel" => {}
            name if name.starts_with('w') => {
                writeln!(text, "static {}: RwLock<u32> = RwLock::new(0);", name.to_uppercase())?;
            }
            name if name.starts_with('f') => {
                writeln!(text, "static {}: AtomicU32 = AtomicU32::new(0);", name.to_uppercase())?;
            }
            name => writeln!(text, "static {}: Mutex<u32> = Mutex::new(0);", name.to_uppercase())?,
        }
    }
    let parks = names.iter().any(|name| name.starts_with('f'));
    if parks {
        writeln!(text, "static MAIN: OnceLock<thread::Thread> = OnceLock::new();")?;
    }
    let has_channel = names.contains("channel");
    let sends = |t: usize| {
        let mut sends = false;
        program.each(&mut |of, stmt| sends |= of == t && matches!(stmt, Stmt::Send { .. }));
        sends
    };
    for (t, thread) in program.threads.iter().enumerate().skip(1) {
        let count = registers(program, t);
        let parameter = if sends(t) { "tx: Sender<u64>" } else { "" };
        writeln!(text, "fn t{t}({parameter}) -> u64 {{")?;
        declare(count, &mut text)?;
        thread.body.iter().for_each(|stmt| text += &indent(&statement(t, stmt), 4));
        writeln!(text, "    {}\n}}", packed(count))?;
    }
    let count = registers(program, 0);
    writeln!(text, "pub fn main() {{")?;
    declare(count, &mut text)?;
    if parks {
        writeln!(text, "    MAIN.set(thread::current()).unwrap();")?;
    }
    if names.contains("bar") {
        writeln!(text, "    let _ = BAR.set(Barrier::new({}));", program.parties)?;
    }
    if has_channel {
        writeln!(text, "    let (tx, rx) = channel::<u64>();")?;
    }
    let scoped = program.semaphore == 1;
    if scoped {
        writeln!(text, "    let mut all = [0u64; 4];\n    thread::scope(|s| {{")?;
    }
    let spawn = if scoped { "s.spawn" } else { "thread::spawn" };
    for t in 1..program.threads.len() {
        match sends(t) {
            true => writeln!(text, "    let sender = tx.clone();\n    let h{t} = {spawn}(move || t{t}(sender));")?,
            false => writeln!(text, "    let h{t} = {spawn}(t{t});")?,
        }
    }
    if has_channel {
        writeln!(text, "    drop(tx);")?;
    }
    program.threads[0].body.iter().for_each(|stmt| text += &indent(&statement(0, stmt), 4));
    for t in 1..program.threads.len() {
        match scoped {
            true => writeln!(text, "    all[{t}] = h{t}.join().unwrap();")?,
            false => writeln!(text, "    let v{t} = h{t}.join().unwrap();")?,
        }
    }
    if scoped {
        writeln!(text, "    }});")?;
    }
    let mut words = vec![packed(count)];
    words.extend((1..program.threads.len()).map(|t| if scoped { format!("all[{t}]") } else { format!("v{t}") }));
    for i in variables(program) {
        words.push(format!("A{i}.load(Relaxed) as u64"));
    }
    for name in &names {
        match name.as_bytes() {
            [b'm', _] => words.push(format!("u64::from(*{}.lock().unwrap())", name.to_uppercase())),
            [b'w', _] => words.push(format!("u64::from(*{}.read().unwrap())", name.to_uppercase())),
            [b'f', _] => words.push(format!("{}.load(Relaxed) as u64", name.to_uppercase())),
            _ => {}
        }
    }
    for (i, word) in words.iter().enumerate() {
        writeln!(text, "    let o{i} = {word};")?;
    }
    let holes = vec!["{:x}"; words.len()].join(" ");
    let values: Vec<String> = (0..words.len()).map(|i| format!("o{i}")).collect();
    writeln!(text, "    println!(\"= {holes}\", {});\n}}\n}}", values.join(", "))?;
    Ok(text)
}

fn declare(count: u8, text: &mut String) -> std::fmt::Result {
    (0..count).try_for_each(|i| writeln!(text, "    let mut r{i} = 0u64;"))
}

fn statement(t: usize, stmt: &Stmt) -> String {
    let block =
        |body: &[Stmt]| -> String { indent(&body.iter().map(|stmt| statement(t, stmt)).collect::<String>(), 4) };
    match stmt {
        Stmt::Load { var, order: o, reg } => format!("r{reg} = A{var}.load({}) as u64 & 31;\n", order(*o)),
        Stmt::Store { var, order: o, value } => {
            format!("A{var}.store(({}) as _, {});\n", operand(*value), order(*o))
        }
        Stmt::Rmw { var, order: o, how, value, reg } => {
            let name = match how {
                Arithmetic::Exchange => "swap",
                Arithmetic::Add => "fetch_add",
                Arithmetic::Sub => "fetch_sub",
                Arithmetic::And => "fetch_and",
                Arithmetic::Or => "fetch_or",
                Arithmetic::Xor => "fetch_xor",
            };
            format!("r{reg} = A{var}.{name}({value}, {}) as u64 & 31;\n", order(*o))
        }
        Stmt::Cas { var, expected, desired, success, failure, weak, reg, .. } => format!(
            "r{reg} = match A{var}.compare_exchange{}({expected}, {desired}, {}, {}) {{\n    \
             Ok(e) => 16 | e as u64 & 15,\n    Err(e) => e as u64 & 15,\n}};\n",
            if *weak { "_weak" } else { "" },
            order(*success),
            order(*failure)
        ),
        Stmt::Fence { order: o } => format!("fence({});\n", order(*o)),
        Stmt::PlainLoad { at, reg } => format!("r{reg} = ({}) as u64 & 31;\n", guarded(*at)),
        Stmt::PlainStore { at, value } => format!("{} = ({}) as u32;\n", guarded(*at), operand(*value)),
        Stmt::Acquire { lock } => {
            let call = match lock {
                Lock::Read(_) => "read",
                Lock::Write(_) => "write",
                Lock::Mutex(_) | Lock::Spin(_) => "lock",
            };
            format!("let mut g_{} = {}.{call}().unwrap();\n", lock.object(), static_of(*lock))
        }
        Stmt::Release { lock } => format!("drop(g_{});\n", lock.object()),
        Stmt::Attempt { lock, reg, body, .. } => {
            let call = match lock {
                Lock::Read(_) => "try_read",
                Lock::Write(_) => "try_write",
                Lock::Mutex(_) | Lock::Spin(_) => "try_lock",
            };
            format!(
                "if let Ok(mut g_{}) = {}.{call}() {{\n    r{reg} = 1;\n{}}}\n",
                lock.object(),
                static_of(*lock),
                block(body)
            )
        }
        Stmt::CondWait { timed, reg } => {
            let wait = match timed {
                false => "g = C0.wait(g).unwrap();".to_owned(),
                true => "let (back, late) = C0.wait_timeout(g, Duration::from_secs(1)).unwrap();\n        g = \
                     back;\n        \
                         if late.timed_out() { break; }"
                    .to_owned(),
            };
            format!(
                "{{\n    let mut g = M0.lock().unwrap();\n    while *g == 0 {{\n        {wait}\n    }}\n    r{reg} = \
                 *g as u64 & 31;\n}}\n"
            )
        }
        Stmt::CondSignal { value, all, inside } => {
            let call = format!("C0.notify_{}();", if *all { "all" } else { "one" });
            let (first, second) = if *inside { (call.as_str(), "") } else { ("", call.as_str()) };
            format!("{{\n    let mut g = M0.lock().unwrap();\n    *g = {value};\n    {first}\n}}\n{second}\n")
        }
        Stmt::Barrier { reg } => format!("r{reg} = BAR.get().unwrap().wait().is_leader() as u64;\n"),
        Stmt::Once => "ONCE.call_once(|| { A0.fetch_add(1, Relaxed); });\n".to_owned(),
        Stmt::FutexWait { var, reg } => {
            let wait = if t == 0 { "thread::park()" } else { "thread::yield_now()" };
            format!(
                "loop {{\n    r{reg} = F{var}.load(Acquire) as u64 & 31;\n    if r{reg} != 0 {{ break; }}\n    \
                 {wait};\n\
                 }}\n"
            )
        }
        Stmt::FutexWake { var, value, .. } => {
            format!("F{var}.store({value}, Release);\nMAIN.get().unwrap().unpark();\n")
        }
        Stmt::Await { var, order: o, yields, reg } => format!(
            "loop {{\n    r{reg} = A{var}.load({}) as u64 & 31;\n    if r{reg} != 0 {{ break; }}\n    {}\n}}\n",
            order(*o),
            if *yields { "thread::yield_now();" } else { "std::hint::spin_loop();" }
        ),
        Stmt::AwaitLocked { reg } => format!(
            "loop {{\n    r{reg} = *M0.lock().unwrap() as u64 & 31;\n    if r{reg} != 0 {{ break; }}\n    \
             thread::yield_now();\n}}\n"
        ),
        Stmt::Poll { var, order: o, times, reg } => format!(
            "for _ in 0..{times} {{\n    r{reg} = A{var}.load({}) as u64 & 31;\n    if r{reg} != 0 {{ break; }}\n}}\n",
            order(*o)
        ),
        Stmt::If { reg, equals, body } => format!("if r{reg} == {equals} {{\n{}}}\n", block(body)),
        Stmt::Tls { value, reg } => format!("r{reg} = TL.with(|tl| tl.replace({value}));\n"),
        Stmt::Sleep => "thread::sleep(Duration::from_micros(10));\n".to_owned(),
        Stmt::Yield => "thread::yield_now();\n".to_owned(),
        Stmt::Assert { one, other } => {
            format!("assert!(!(r{} == {} && r{} == {}));\n", one.0, one.1, other.0, other.1)
        }
        Stmt::Send { value } => format!("let _ = tx.send({value});\n"),
        Stmt::Receive { reg } => format!("r{reg} = rx.recv().unwrap_or(0) & 31;\n"),
        // Not generated for Rust.
        Stmt::SemWait { .. }
        | Stmt::SemPost
        | Stmt::Block { .. }
        | Stmt::PartLoad { .. }
        | Stmt::PartStore { .. }
        | Stmt::PartAdd { .. }
        | Stmt::Fill { .. }
        | Stmt::Copy { .. }
        | Stmt::TestAndSet { .. }
        | Stmt::Clear { .. }
        | Stmt::Publish { .. }
        | Stmt::Consume { .. }
        | Stmt::Peek { .. }
        | Stmt::Key { .. }
        | Stmt::End { .. }
        | Stmt::Cancel { .. }
        | Stmt::PipeWrite { .. }
        | Stmt::PipeRead { .. }
        | Stmt::LockBoth { .. } => String::new(),
    }
}
