//! Programs in C++20, with what the standard library has.

use super::{indent, packed, registers, variables};
use crate::program::{Arithmetic, How, Lock, MutexType, Operand, Order, Plain, Program, Stmt};
use std::fmt::Write as _;

const START: &str = r##"#ifndef __clang__
#pragma GCC diagnostic ignored "-Wtsan"
#pragma GCC diagnostic ignored "-Winvalid-memory-model"
#endif
#include <atomic>
#include <barrier>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <unistd.h>

using namespace std;

/* The outcome in one write, by code that makes no accesses of its own. */
__attribute__((noinline, no_sanitize("thread"))) static void
emit(char tag, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f) {
    uint64_t words[6] = {a, b, c, d, e, f};
    char text[160];
    int n = 0;
    text[n++] = tag;
    for (int i = 0; i < 6; i++) {
        text[n++] = ' ';
        int started = 0;
        for (int s = 60; s >= 0; s -= 4) {
            int digit = words[i] >> s & 15;
            if (digit || started || s == 0) text[n++] = "0123456789abcdef"[digit], started = 1;
        }
    }
    text[n++] = '\n';
    if (write(1, text, n) != n) abort();
}
"##;

/// A translation unit that holds these programs.
pub fn unit(programs: &[Program]) -> String {
    let mut text = START.to_owned() + super::MARK;
    for (number, program) in programs.iter().enumerate() {
        text += &one(program, &format!("p{number}_")).expect("a String takes everything");
    }
    let all: Vec<String> = (0..programs.len()).map(|number| format!("p{number}_main")).collect();
    let all = all.join(", ");
    format!(
        "{text}\nstatic void (*const programs[])() = {{{all}}};\n\
         int main(int argc, char **argv) {{\n    programs[argc > 1 ? atoi(argv[1]) : 0]();\n    return 0;\n}}\n"
    )
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Relaxed => "memory_order_relaxed",
        Order::Acquire => "memory_order_acquire",
        Order::Release => "memory_order_release",
        Order::AcqRel => "memory_order_acq_rel",
        Order::SeqCst => "memory_order_seq_cst",
    }
}

fn plain(at: Plain) -> String {
    match at {
        Plain::Racing(i) | Plain::Volatile(i) => format!("x{i}"),
        Plain::Guarded(lock) => format!("g{}", lock.object()),
    }
}

fn operand(value: Operand) -> String {
    match value {
        Operand::Const(value) => value.to_string(),
        Operand::Reg(reg) => format!("r{reg}"),
    }
}

/// The type of a lock. A condition variable goes with `mutex` only.
fn lock_type(program: &Program, name: &str) -> &'static str {
    let timed =
        program.any(|stmt| matches!(stmt, Stmt::Attempt { lock, how: How::Timed, .. } if lock.object() == name));
    let waited = name == "m0" && program.any(|stmt| matches!(stmt, Stmt::CondWait { .. } | Stmt::CondSignal { .. }));
    match (name.as_bytes(), timed) {
        ([b'w', ..], true) => "shared_timed_mutex",
        ([b'w', ..], false) => "shared_mutex",
        _ if waited => "mutex",
        (_, true) => "timed_mutex",
        ([_, number], false) if program.mutexes[usize::from(number - b'0')] == MutexType::Recursive => {
            "recursive_mutex"
        }
        _ => "mutex",
    }
}

/// Is the barrier a latch? It serves once.
fn is_latch(program: &Program) -> bool {
    let mut arrivals = 0;
    program.each(&mut |_, stmt| arrivals += u8::from(matches!(stmt, Stmt::Barrier { .. })));
    arrivals == program.parties && program.semaphore == 1
}

fn one(program: &Program, q: &str) -> Result<String, std::fmt::Error> {
    let mut names = super::objects(program, plain);
    program.each(&mut |_, stmt| {
        if let Stmt::Send { .. } | Stmt::Receive { .. } = stmt {
            names.insert("pr".to_owned());
        }
    });
    let mut text = String::from("\n");
    for i in variables(program) {
        let bits = 8 * u32::from(program.variables[usize::from(i)].size);
        writeln!(text, "static atomic<uint{bits}_t> {q}a{i};")?;
    }
    for name in &names {
        match name.as_str() {
            "c0" => writeln!(text, "static condition_variable {q}c0;")?,
            "sem" => writeln!(text, "static counting_semaphore<8> {q}sem({});", program.semaphore)?,
            "bar" if is_latch(program) => writeln!(text, "static latch {q}bar({});", program.parties)?,
            "bar" => writeln!(text, "static barrier<> {q}bar({});", program.parties)?,
            "once" => writeln!(text, "static once_flag {q}once;")?,
            "tl" => writeln!(text, "static thread_local uint32_t {q}tl;")?,
            "pr" => writeln!(
                text,
                "static promise<int> {q}pr;\nstatic shared_future<int> {q}fu = {q}pr.get_future().share();"
            )?,
            name if name.starts_with(['x', 'g']) => writeln!(text, "static uint32_t {q}{name};")?,
            name if name.starts_with('f') => writeln!(text, "static atomic<uint32_t> {q}{name};")?,
            name => writeln!(text, "static {} {q}{name};", lock_type(program, name))?,
        }
    }
    for (t, thread) in program.threads.iter().enumerate().skip(1) {
        let count = registers(program, t);
        writeln!(text, "static uint64_t {q}v{t};\nstatic void {q}t{t}() {{")?;
        declare(count, &mut text)?;
        thread.body.iter().for_each(|stmt| text += &indent(&statement(program, q, stmt), 4));
        writeln!(text, "    {q}v{t} = {};\n}}", packed(count))?;
    }
    let count = registers(program, 0);
    writeln!(text, "static void {q}main() {{")?;
    declare(count, &mut text)?;
    (1..program.threads.len()).try_for_each(|t| writeln!(text, "    thread h{t}({q}t{t});"))?;
    program.threads[0].body.iter().for_each(|stmt| text += &indent(&statement(program, q, stmt), 4));
    (1..program.threads.len()).try_for_each(|t| writeln!(text, "    h{t}.join();"))?;
    let mut words = vec![packed(count)];
    words.extend((1..program.threads.len()).map(|t| format!("{q}v{t}")));
    words.resize(4, "0".to_owned());
    let mut atomics: Vec<String> = variables(program).into_iter().map(|i| format!("a{i}")).collect();
    atomics.extend(names.iter().filter(|name| name.starts_with('f')).cloned());
    let part = |list: &[String]| match list {
        [] => "0".to_owned(),
        list => list
            .iter()
            .enumerate()
            .map(|(i, v)| format!("(uint64_t)({v} & 255) << {}", 8 * i))
            .collect::<Vec<_>>()
            .join(" | "),
    };
    let loads: Vec<String> = atomics.iter().map(|name| format!("{q}{name}.load(memory_order_relaxed)")).collect();
    words.push(part(&loads));
    let plains: Vec<String> =
        names.iter().filter(|name| name.starts_with(['x', 'g'])).map(|name| format!("{q}{name}")).collect();
    words.push(part(&plains));
    for (i, word) in words.iter().enumerate() {
        writeln!(text, "    uint64_t o{i} = {word};")?;
    }
    writeln!(text, "    emit('=', o0, o1, o2, o3, o4, o5);\n}}")?;
    Ok(text)
}

fn declare(count: u8, text: &mut String) -> std::fmt::Result {
    match count {
        0 => Ok(()),
        count => {
            let names: Vec<String> = (0..count).map(|i| format!("r{i} = 0")).collect();
            writeln!(text, "    uint64_t {};", names.join(", "))
        }
    }
}

fn statement(program: &Program, q: &str, stmt: &Stmt) -> String {
    let block = |body: &[Stmt]| -> String {
        indent(&body.iter().map(|stmt| statement(program, q, stmt)).collect::<String>(), 4)
    };
    match stmt {
        Stmt::Load { var, order: o, reg } => format!("r{reg} = {q}a{var}.load({}) & 31;\n", order(*o)),
        Stmt::Store { var, order: o, value } => format!("{q}a{var}.store({}, {});\n", operand(*value), order(*o)),
        Stmt::Rmw { var, order: o, how, value, reg } => {
            let name = match how {
                Arithmetic::Exchange => "exchange",
                Arithmetic::Add => "fetch_add",
                Arithmetic::Sub => "fetch_sub",
                Arithmetic::And => "fetch_and",
                Arithmetic::Or => "fetch_or",
                Arithmetic::Xor => "fetch_xor",
            };
            format!("r{reg} = {q}a{var}.{name}({value}, {}) & 31;\n", order(*o))
        }
        Stmt::Cas { var, expected, desired, success, failure, weak, reg, .. } => {
            let bits = 8 * u32::from(program.variables[usize::from(*var)].size);
            let kind = if *weak { "weak" } else { "strong" };
            format!(
                "{{\n    uint{bits}_t e = {expected};\n    uint64_t ok = {q}a{var}.compare_exchange_{kind}(e, \
                 {desired}, {}, {});\n    \
                 r{reg} = ok << 4 | (e & 15);\n}}\n",
                order(*success),
                order(*failure)
            )
        }
        Stmt::Fence { order: o } => format!("atomic_thread_fence({});\n", order(*o)),
        Stmt::PlainLoad { at, reg } => format!("r{reg} = {q}{} & 31;\n", plain(*at)),
        Stmt::PlainStore { at, value } => format!("{q}{} = {};\n", plain(*at), operand(*value)),
        Stmt::Acquire { lock } => match lock {
            Lock::Read(_) => format!("{q}{}.lock_shared();\n", lock.object()),
            _ => format!("{q}{}.lock();\n", lock.object()),
        },
        Stmt::Release { lock } => release(q, *lock),
        Stmt::Attempt { lock, how, reg, body } => {
            let name = lock.object();
            let timed = *how == How::Timed && lock_type(program, &name).contains("timed");
            let call = match (lock, timed) {
                (Lock::Read(_), true) => "try_lock_shared_for(chrono::seconds(1))",
                (Lock::Read(_), false) => "try_lock_shared()",
                (_, true) => "try_lock_for(chrono::seconds(1))",
                (_, false) => "try_lock()",
            };
            format!("if ({q}{name}.{call}) {{\n    r{reg} = 1;\n{}{}}}\n", block(body), indent(&release(q, *lock), 4))
        }
        Stmt::CondWait { timed, reg } => {
            let wait = match timed {
                false => format!("while ({q}gm0 == 0) {q}c0.wait(lock);"),
                true => format!("{q}c0.wait_for(lock, chrono::seconds(1), [] {{ return {q}gm0 != 0; }});"),
            };
            format!("{{\n    unique_lock<mutex> lock({q}m0);\n    {wait}\n    r{reg} = {q}gm0 & 31;\n}}\n")
        }
        Stmt::CondSignal { value, all, inside } => {
            let call = format!("{q}c0.notify_{}();", if *all { "all" } else { "one" });
            let (first, second) = if *inside { (call.as_str(), "") } else { ("", call.as_str()) };
            format!("{{\n    lock_guard<mutex> lock({q}m0);\n    {q}gm0 = {value};\n    {first}\n}}\n{second}\n")
        }
        Stmt::SemWait { how, reg } => match how {
            How::Wait => format!("{q}sem.acquire();\nr{reg} = 1;\n"),
            How::Try => format!("r{reg} = {q}sem.try_acquire();\n"),
            How::Timed => format!("r{reg} = {q}sem.try_acquire_for(chrono::seconds(1));\n"),
        },
        Stmt::SemPost => format!("{q}sem.release();\n"),
        Stmt::Barrier { reg } => format!("{q}bar.arrive_and_wait();\nr{reg} = 1;\n"),
        Stmt::Once => format!("call_once({q}once, [] {{ {q}a0.fetch_add(1, memory_order_relaxed); }});\n"),
        Stmt::FutexWait { var, reg } => {
            format!("{q}f{var}.wait(0, memory_order_acquire);\nr{reg} = {q}f{var}.load(memory_order_relaxed) & 31;\n")
        }
        Stmt::FutexWake { var, value, most, .. } => format!(
            "{q}f{var}.store({value}, memory_order_release);\n{q}f{var}.notify_{}();\n",
            if *most > 1 { "all" } else { "one" }
        ),
        Stmt::Await { var, order: o, yields, reg } => format!(
            "while ((r{reg} = {q}a{var}.load({}) & 31) == 0) {}\n",
            order(*o),
            if *yields { "this_thread::yield();" } else { "{}" }
        ),
        Stmt::AwaitLocked { reg } => format!(
            "for (;;) {{\n    {q}m0.lock();\n    r{reg} = {q}gm0 & 31;\n    {q}m0.unlock();\n    if (r{reg}) \
             break;\n    \
             this_thread::yield();\n}}\n"
        ),
        Stmt::LockBoth { first, value, reg } => {
            let second = 1 - first;
            format!(
                "{{\n    scoped_lock both({q}m{first}, {q}m{second});\n    r{reg} = {q}gm{first} & 31;\n    \
                 {q}gm{second} = {value};\n}}\n"
            )
        }
        Stmt::Poll { var, order: o, times, reg } => {
            format!("for (int i = 0; i < {times} && (r{reg} = {q}a{var}.load({}) & 31) == 0; i++) {{}}\n", order(*o))
        }
        Stmt::If { reg, equals, body } => format!("if (r{reg} == {equals}) {{\n{}}}\n", block(body)),
        Stmt::Tls { value, reg } => format!("r{reg} = {q}tl;\n{q}tl = {value};\n"),
        Stmt::Sleep => "this_thread::sleep_for(chrono::microseconds(10));\n".to_owned(),
        Stmt::Yield => "this_thread::yield();\n".to_owned(),
        Stmt::Assert { one, other } => {
            format!("assert(!(r{} == {} && r{} == {}));\n", one.0, one.1, other.0, other.1)
        }
        Stmt::Send { value } => format!("{q}pr.set_value({value});\n"),
        Stmt::Receive { reg } => format!("r{reg} = {q}fu.get() & 31;\n"),
        // Not generated for C++.
        Stmt::Block { .. }
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
        | Stmt::PipeRead { .. } => ";\n".to_owned(),
    }
}

fn release(q: &str, lock: Lock) -> String {
    match lock {
        Lock::Read(_) => format!("{q}{}.unlock_shared();\n", lock.object()),
        _ => format!("{q}{}.unlock();\n", lock.object()),
    }
}
