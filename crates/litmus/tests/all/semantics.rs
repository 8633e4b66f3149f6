//! What programs compute: threads run one after the other against a plain memory, in which every test has
//! exactly one outcome, the one that C gives.

use fencepost_engine::Threads;
use fencepost_litmus::{LitmusProgram, LitmusTest};
use fencepost_trace::{
    Access, Failure, FenceOrder, LoadOrder, Location, Op, Reply, RmwOrder, StoreOrder, ThreadId, Value,
};
use std::collections::HashMap;

/// How a sequential run ended.
struct Run {
    program: LitmusProgram,
    memory: HashMap<Location, Value>,
    /// All operations but exits.
    ops: Vec<Op>,
    failure: Option<Failure>,
}

fn run(text: &str) -> Run {
    let test = LitmusTest::parse("test.litmus", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    run_program(test.program())
}

fn run_program(mut program: LitmusProgram) -> Run {
    let mut memory = HashMap::new();
    let (mut ops, mut failure) = (Vec::new(), None);
    for thread in 0..program.start() {
        let mut reply = Reply::NONE;
        // a thousand operations: enough for every test here that ends
        for _ in 0..1_000 {
            let op = program.resume(ThreadId(thread), reply);
            if op == Op::Exit {
                break;
            }
            ops.push(op);
            reply = match op {
                Op::Access(access) => perform(&program, &mut memory, access),
                Op::Fail(kind) => {
                    failure = Some(kind);
                    break;
                }
                _ => Reply::NONE,
            };
        }
    }
    Run { program, memory, ops, failure }
}

fn perform(program: &LitmusProgram, memory: &mut HashMap<Location, Value>, access: Access) -> Reply {
    let Some(at) = access.location() else { return Reply::NONE };
    let old = *memory.entry(at).or_insert_with(|| program.initial(at));
    let (new, success) = match access {
        Access::Store { value, .. } => (value, true),
        Access::Rmw { update, .. } => (update.apply(old, at.size).unwrap(), true),
        Access::CompareExchange { expected, desired, .. } if expected == old => (desired, true),
        Access::CompareExchange { .. } => (old, false),
        Access::Load { .. } | Access::Fence { .. } => (old, true),
    };
    memory.insert(at, new);
    Reply { value: old, success }
}

impl Run {
    fn get(&self, name: &str) -> i64 {
        let index = self.program.vars().iter().position(|var| var.to_string() == name).expect("a variable");
        let memory = |at| self.memory.get(&at).copied().unwrap_or_else(|| self.program.initial(at));
        self.program.state(memory)[index]
    }
}

/// The value of `r`, an `int64_t`, after the statements.
fn result(body: &str) -> i64 {
    let text =
        format!("C t\n{{}}\nP0 (atomic_int* x, int* p, atomic_uchar* c) {{ long r = 0;\n{body}\n}}\nlocations [0:r;]");
    run(&text).get("0:r")
}

#[test]
fn expressions_have_the_values_of_c() {
    let table: &[(&str, i64)] = &[
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("7 / 2 * 2 + 7 % 2", 7),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("1 << 2 + 1", 8),
        ("256 >> 4 >> 2", 4),
        ("-8 >> 1", -4),
        ("1 < 2 == 2 > 1", 1),
        ("1 | 6 & 3 ^ 8", 11),
        ("5 & 3 == 3", 1),
        ("1 || 0 && 0", 1),
        ("!0 + !5", 1),
        ("~0", -1),
        ("- - 3", 3),
        ("+3", 3),
        ("0 ? 1 : 0 ? 2 : 3", 3),
        ("1 ? 2 : 1 / 0", 2),
        ("0 && 1 / 0", 0),
        ("1 || 1 / 0", 1),
        ("0x10 + 010 + 'A'", 16 + 8 + 65),
        ("(char) 255", -1),
        ("(unsigned char) -1", 255),
        ("(_Bool) 256", 1),
        ("(short) 0x18000", -32768),
        ("(unsigned) -1", 0xffff_ffff),
        ("2147483647 + 1", -2147483648),
        ("2147483647L + 1", 2147483648),
        ("4294967295u + 1", 0),
        ("-1 < 0u", 0),
        ("-1L < 0u", 1),
        ("-1 < 0ul", 0),
        ("1 ? -1 : 0u", 0xffff_ffff),
        ("18446744073709551615u / 2 > 0", 1),
        ("9223372036854775807 + 1 < 0", 1),
        ("(1, 2)", 2),
        ("true + false", 1),
        ("r = 4", 4),
        ("(r = 4) + (r = 5)", 9),
        ("r++ + r++", 1),
        ("++r + ++r", 3),
        ("r-- - --r", 2),
        ("(int) (r = 1L << 33)", 0),
    ];
    for &(expression, expected) in table {
        assert_eq!(result(&format!("r = {expression};")), expected, "{expression}");
    }
}

#[test]
fn arithmetic_on_registers_is_that_on_constants() {
    // Constants are folded by the compiler; registers are computed by the program.
    for op in ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "&&", "||"] {
        for (ty, suffix) in [("int", ""), ("unsigned", "u"), ("long", "l"), ("unsigned long", "ul")] {
            for (a, b) in [("7", "3"), ("0", "1"), ("2147483647", "2"), ("12", "12")] {
                let folded = result(&format!("r = -{a}{suffix} {op} {b}{suffix};"));
                let computed = result(&format!("{ty} a = -{a}{suffix}, b = {b}; r = a {op} b;"));
                assert_eq!(folded, computed, "{ty}: -{a} {op} {b}");
            }
        }
    }
}

#[test]
fn registers_have_the_width_of_their_type() {
    assert_eq!(result("char a = 200; r = a;"), -56);
    assert_eq!(result("uint8_t a = 255; a++; r = a;"), 0);
    assert_eq!(result("bool a = 4; r = a;"), 1);
    assert_eq!(result("unsigned a = 0; a--; r = a;"), 0xffff_ffff);
    assert_eq!(result("int a = 0x7fffffff; a += 1; r = a;"), -2147483648);
    assert_eq!(result("unsigned short a = 1; a <<= 15; a <<= 1; r = a;"), 0);
    assert_eq!(result("int a = 7; a *= 3; a -= 1; a /= 4; a %= 3; a |= 8; a ^= 1; a &= 0xf; r = a;"), 11);
}

#[test]
fn statements_run_as_in_c() {
    assert_eq!(result("for (int i = 0; i < 5; i++) r += i;"), 10);
    assert_eq!(result("int i; for (i = 0, r = 1; ; i++) { if (i == 3) break; r *= 2; }"), 8);
    assert_eq!(result("for (int i = 0; i < 6; i++) { if (i & 1) continue; r += i; }"), 6);
    assert_eq!(result("while (r < 7) { r++; if (r == 3) continue; if (r == 5) break; }"), 5);
    assert_eq!(result("do r++; while (r < 3);"), 3);
    assert_eq!(result("do { r++; if (r < 3) continue; break; } while (r);"), 3);
    assert_eq!(result("do { r++; continue; } while (r < 4);"), 4);
    assert_eq!(result("if (r) r = 1; else if (!r) r = 2; else r = 3;"), 2);
    assert_eq!(result("if (0) ; else { r = 1; return; } r = 2;"), 1);
    assert_eq!(result("for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) { if (j == 2) break; r++; }"), 6);
    assert_eq!(result("while (1) { while (1) { r++; break; } if (r > 2) return; }"), 3);
    assert_eq!(result("{ int a = 1; r += a; } { int a = 2; r += a; } ;;"), 3);
    assert_eq!(result("for (int i = 0; i < 3000; i++) r++;"), 3000);
}

#[test]
fn atomic_operations_read_and_write() {
    assert_eq!(result("atomic_store(x, 3); r = atomic_load(x);"), 3);
    assert_eq!(result("atomic_init(x, 3); r = atomic_exchange(x, 4) * 10 + *x;"), 34);
    assert_eq!(result("*x = 5; *x += 2; *x -= 1; *x |= 8; *x &= 12; *x ^= 1; r = *x;"), 13);
    assert_eq!(result("*x = 5; r = (*x += 2);"), 7);
    assert_eq!(result("*x = 5; r = (*x)++ * 10 + *x;"), 56);
    assert_eq!(result("*x = 5; r = --*x * 10 + *x;"), 44);
    assert_eq!(result("*c = 255; r = atomic_fetch_add(c, 1) + *c;"), 255);
    assert_eq!(result("r = (*c = 257);"), 1);
    assert_eq!(result("*c = 255; r = (*c += 1);"), 0);
    assert_eq!(result("*x = 6; r = atomic_fetch_sub(x, 1) + atomic_fetch_and(x, 4) + atomic_fetch_or(x, 3);"), 15);
    assert_eq!(result("atomic_store(x, -1); r = atomic_load(x);"), -1);
    assert_eq!(result("while ((r = atomic_fetch_xor(x, 1)) == 0) ;"), 1);
    assert_eq!(result("r = atomic_fetch_add(x, 1) < atomic_fetch_add(x, 1) ? *x : 9;"), 2);
    assert_eq!(result("(void) atomic_load(x); r = (*x == 0 && (*x = 1)) + *x;"), 2);
}

#[test]
fn compare_exchange_writes_what_it_saw_on_failure_only() {
    assert_eq!(result("int e = 0; r = atomic_compare_exchange_strong(x, &e, 7) * 100 + *x * 10 + e;"), 170);
    assert_eq!(result("int e = 1; r = atomic_compare_exchange_strong(x, &e, 7) * 100 + *x * 10 + e;"), 0);
    assert_eq!(result("*x = 2; int e = 1; r = atomic_compare_exchange_weak(x, &e, 7) * 100 + *x * 10 + e;"), 22);
    assert_eq!(result("*x = 2; r = atomic_compare_exchange_strong(x, p, 7) * 100 + *x * 10 + *p;"), 22);
    assert_eq!(result("*x = -1; unsigned e = 0xffffffff; r = atomic_compare_exchange_strong(x, &e, 7);"), 1);
    assert_eq!(result("int e = 5; while (!atomic_compare_exchange_weak(x, &e, e + 1)) r++; r = r * 10 + *x;"), 11);
}

#[test]
fn a_shared_expected_value_is_loaded_before_and_stored_after_a_failure() {
    let text = "C t
{ x=3; e=1; }
P0 (atomic_int* x, int* e) {
  int r = atomic_compare_exchange_strong_explicit(x, e, 2, memory_order_acq_rel, memory_order_relaxed);
}
P1 (int* e) { int r = *e; }
exists (1:r=3)";
    let run = run(text);
    let kinds: Vec<_> = (run.ops.iter())
        .map(|op| match op {
            Op::Access(Access::Load { order: LoadOrder::Plain, .. }) => "load",
            Op::Access(Access::Store { order: StoreOrder::Plain, .. }) => "store",
            Op::Access(Access::CompareExchange { success, failure, weak, .. }) => {
                assert_eq!((*success, *failure, *weak), (RmwOrder::AcqRel, LoadOrder::Relaxed, false));
                "compare-exchange"
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["load", "compare-exchange", "store", "load"]);
    assert_eq!(run.get("1:r"), 3);
    assert!(run.program.uses_plain_shared());
}

#[test]
fn operations_have_the_orders_of_the_text() {
    let text = "C t
{}
P0 (atomic_int* x, atomic_flag* f, volatile int* v, int* n, int* m) {
  int a = atomic_load_explicit(x, memory_order_consume);
  a = *x;
  *x = 1;
  atomic_store_explicit(x, 1, memory_order::release);
  a = atomic_fetch_add_explicit(x, 1, std::memory_order_acq_rel);
  ++*x;
  a = *v;
  atomic_thread_fence(memory_order_relaxed);
  atomic_signal_fence(memory_order_seq_cst);
  atomic_thread_fence(memory_order_acq_rel);
  a = atomic_flag_test_and_set(f);
  atomic_flag_clear_explicit(f, memory_order_relaxed);
  atomic_init(x, 3);
  *n = *m;
  atomic_store_explicit(m, 4, memory_order_relaxed);
}
P1 (volatile int* v) { *v = 1; }
locations [x; v; n;]";
    let run = run(text);
    let orders: Vec<String> = (run.ops.iter())
        .map(|op| match op {
            Op::Access(Access::Load { order, .. }) => format!("load {order:?}"),
            Op::Access(Access::Store { order, .. }) => format!("store {order:?}"),
            Op::Access(Access::Rmw { order, .. }) => format!("rmw {order:?}"),
            Op::Access(Access::Fence { order: FenceOrder::AcqRel }) => "fence".to_owned(),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        "load Acquire",
        "load SeqCst",
        "store SeqCst",
        "store Release",
        "rmw AcqRel",
        "rmw SeqCst",
        "load Plain",
        // neither a relaxed fence nor one for signals is an operation
        "fence",
        "rmw SeqCst",
        "store Relaxed",
        "store Plain",
        // n is private; m is not, since it is also accessed atomically
        "load Plain",
        "store Relaxed",
        "store Plain",
    ];
    assert_eq!(orders, expected);
}

#[test]
fn locations_have_width_address_and_initial_value() {
    let text = "C t
{ [x]=-1; y=0x1ff; long z=5; int u=-3; }
P0 (atomic_short* x, uint8_t* y) { int a = atomic_load(x); int b = *y; }
P1 (uint8_t* y, atomic_long* z) { *y = 7; *z = -2; }
locations [0:a; 0:b; x; y; z; u;]";
    let run = run(text);
    let location = |op: &Op| match op {
        Op::Access(access) => access.location().map(|at| (at.address, at.size.bytes())).unwrap(),
        other => panic!("{other:?}"),
    };
    let at: Vec<_> = run.ops.iter().map(location).collect();
    assert_eq!(at, [(0x1000, 2), (0x1010, 1), (0x1010, 1), (0x1020, 8)]);
    assert_eq!([run.get("0:a"), run.get("0:b")], [-1, 255], "sign- and zero-extended");
    assert_eq!([run.get("x"), run.get("y"), run.get("z"), run.get("u")], [-1, 7, -2, -3]);
}

#[test]
fn private_locations_are_part_of_the_final_state() {
    let run = run("C t\n{ p=4; }\nP0 (int* p, int* q) { *p += 1; *q = *p * 2; }\nlocations [p; q;]");
    assert_eq!(run.ops, []);
    assert_eq!([run.get("p"), run.get("q")], [5, 10]);
    assert!(!run.program.uses_plain_shared());
}

#[test]
fn division_by_zero_is_a_crash() {
    for body in ["int r = 1 / 0;", "int a = 0; int r = 1 % a;", "int a = 0, r = 1; r /= a;"] {
        let run = run(&format!("C t\n{{}}\nP0 () {{ {body} }}\nlocations [0:r;]"));
        assert_eq!(run.failure, Some(Failure::Crash), "{body}");
    }
}

#[test]
fn a_local_loop_without_end_gives_way() {
    for body in ["while (1) {}", "for (;;) ;", "do ; while (1);", "int i = 0; while (1) i++;", "while (1) continue;"] {
        let test = LitmusTest::parse("t", format!("C t\n{{}}\nP0 () {{ {body} }}\nlocations []").as_bytes()).unwrap();
        let mut program = test.program();
        program.start();
        for _ in 0..100 {
            assert_eq!(program.resume(ThreadId(0), Reply::NONE), Op::Yield, "{body}");
        }
        assert!(program.local_limit_hit());
        program.start();
        assert!(!program.local_limit_hit());
    }
}

#[test]
fn labels_point_at_the_operation() {
    let test = LitmusTest::parse(
        "dir/a.litmus",
        b"C t\n{}\nP0 (atomic_int* x) {\n  int r = 1 + atomic_load(x);\n  *x = r;\n}\nlocations [x;]",
    );
    let mut program = test.unwrap().program();
    program.start();
    let mut seen = Vec::new();
    for _ in 0..3 {
        program.resume(ThreadId(0), Reply::NONE);
        let label = program.describe(program.label(ThreadId(0)));
        assert_eq!((label.function.as_str(), label.file.as_str()), ("P0", "dir/a.litmus"));
        seen.push((label.line, label.column));
    }
    assert_eq!(seen, [(4, 15), (5, 3), (6, 1)]);
}

/// The digests at the first operations of P0, each answered with 1.
fn digests(body: &str, observed: &str) -> Vec<u64> {
    let text = format!("C t\n{{}}\nP0 (atomic_int* x, atomic_int* y, int* p) {{ {body} }}\nlocations [{observed}]");
    let mut program = LitmusTest::parse("t", text.as_bytes()).unwrap().program();
    program.start();
    let reply = Reply { value: Value(1), success: false };
    (0..4)
        .map(|_| {
            program.resume(ThreadId(0), reply);
            program.digest(ThreadId(0)).unwrap()
        })
        .collect()
}

#[test]
fn waiting_without_progress_is_seen_in_the_first_round() {
    let waiting = [
        "while (atomic_load(x) != 2) ;",
        "while (!(atomic_load(x) == 2 && r == 7)) ;",
        "do { r = *x; } while (r != 2);",
        "int a; do { a = *x; a = a * 3; } while (a != 2); r = a;",
    ];
    for body in waiting {
        let digests = digests(&format!("int r = 0; {body}"), "0:r;");
        assert!(digests.windows(2).all(|two| two[0] == two[1]), "{body}: {digests:?}");
    }
}

#[test]
fn a_round_that_counts_is_progress() {
    let counting =
        ["for (int i = 0; i < 9; i++) if (*x == 2) break;", "while (*x != 2) r++;", "while (*x != 2) *p += 1;"];
    for body in counting {
        let digests = digests(&format!("int r = 0; {body}"), "0:r; p;");
        assert!(digests.windows(2).all(|two| two[0] != two[1]), "{body}: {digests:?}");
    }
    // The expected value decides what a compare-exchange does, also if nothing reads it afterwards.
    let digests = digests("int e = 5; while (!atomic_compare_exchange_strong(x, &e, 3)) ;", "x;");
    assert_ne!(digests[0], digests[1]);
    assert_eq!(digests[1], digests[2]);
}

#[test]
fn start_begins_again_and_clones_are_independent() {
    let text = b"C t\n{ p=1; }\nP0 (int* p, atomic_int* x) { *p += 1; *x = *p; *p += 1; }\nlocations [p; x;]";
    let program = LitmusTest::parse("t", text).unwrap().program();
    for _ in 0..2 {
        let run = run_program(program.clone());
        assert_eq!([run.get("p"), run.get("x")], [3, 2]);
        let again = run_program(run.program);
        assert_eq!([again.get("p"), again.get("x")], [3, 2]);
    }
}

#[test]
fn conditions_are_evaluated_over_the_state() {
    let table = [
        ("exists (x=1 /\\ 0:r=-1)", true),
        ("exists (x=1 /\\ 0:r=0xffffffff)", true),
        ("exists (x=2 \\/ [y]=2 /\\ x=1)", true),
        ("exists ((x=2 \\/ y=2) /\\ x=2)", false),
        ("exists ~(x=1)", false),
        ("exists not (x=1) || x == 1", true),
        ("exists ! x=1 && true", false),
        ("forall x != 1 \\/ y=2", true),
        ("~exists (false)", false),
        ("not exists true", true),
        ("exists (c=300)", false),
    ];
    for (condition, expected) in table {
        let text = format!(
            "C t\n{{ c=44; }}\nP0 (atomic_int* x, int* y, char* c) {{ *x = 1; *y = 2; *c += 0; int r = -1; }}\n\
             {condition}"
        );
        let test = LitmusTest::parse("t", text.as_bytes()).unwrap_or_else(|error| panic!("{condition}: {error}"));
        let run = run_program(test.program());
        let state = run.program.state(|at| run.memory[&at]);
        assert_eq!(test.condition().unwrap().eval(|var| state[var]), expected, "{condition}");
    }
}
