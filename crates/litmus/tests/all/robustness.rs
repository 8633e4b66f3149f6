//! Hostile input: an error or a test, soon, and never a panic.

use fencepost_engine::Threads;
use fencepost_litmus::{LitmusTest, MAX_NODES, MAX_THREADS};
use fencepost_trace::{Op, Reply, ThreadId, Value};

/// xorshift64*: a sequence that is the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n.max(1)
    }
}

/// One test that uses most of the language, for mutations to break.
const RICH: &str = r#"C rich
"a description"
{ [x]=0; y=-1; int z=0x2; atomic_int w=3; }
P0 (atomic_int* x, int* y, atomic_char* c, volatile int* e) {
  int r0 = atomic_load_explicit(x, memory_order_acquire), r1;
  for (int i = 0; i < 3; i++) { r0 += i << 1; if (i == 2) break; else continue; }
  while ((r1 = *x) != 1 && r0) { *y = r1 ? r0 : ~r1; r0--; }
  do { *x += 1; } while (!atomic_compare_exchange_weak(x, e, (int) r0 % 7 / (r1 | 1)));
  atomic_thread_fence(memory_order_seq_cst); // fence
  return;
}
P1 (int* y, atomic_int* x, atomic_char* c) {
  long f = 1;
  atomic_store(x, f);
  int r0 = atomic_fetch_xor_explicit(c, 'a', memory_order::relaxed) + *y; /* end */
}
locations [0:r0; 0:r1; x; [c]; e;]
~exists (0:r0=1 /\ (x=2 \/ ~ y=3) /\ 1:r0 != -1)
"#;

/// Reads a text and, if it is a test, runs a little of it.
fn feed(text: &[u8]) -> bool {
    let Ok(test) = LitmusTest::parse("t", text) else { return false };
    let mut program = test.program();
    for thread in 0..program.start() {
        let mut reply = Reply::NONE;
        for step in 0..50 {
            match program.resume(ThreadId(thread), reply) {
                Op::Exit | Op::Fail(_) => break,
                _ => reply = Reply { value: Value(step % 3), success: step % 2 == 0 },
            }
            program.describe(program.label(ThreadId(thread)));
            program.digest(ThreadId(thread));
        }
    }
    let state = program.state(|_| Value(u128::MAX));
    if let Some(condition) = test.condition() {
        condition.eval(|var| state[var]);
    }
    true
}

#[test]
fn arbitrary_bytes_never_panic() {
    let mut random = Random(1);
    for round in 0..20_000 {
        let mut text = if round % 2 == 0 { Vec::new() } else { b"C t\n{}\nP0 (int* x) {".to_vec() };
        let length = random.below(200);
        let ascii = round % 3 != 0;
        text.extend((0..length).map(|_| if ascii { 32 + random.below(96) as u8 } else { random.next() as u8 }));
        feed(&text);
    }
}

#[test]
fn arbitrary_tokens_never_panic() {
    let words: Vec<&str> = RICH.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let mut random = Random(2);
    for _ in 0..20_000 {
        let mut text = "C t\n{}\nP0 (atomic_int* x, int* y) { int r0; int r1;".to_owned();
        for _ in 0..random.below(40) {
            text.push_str(words[random.below(words.len())]);
        }
        text.push_str("}\nexists (x=1)");
        feed(text.as_bytes());
    }
}

/// Changes a text a little: bytes or pieces deleted, doubled, swapped, overwritten.
fn mutate(text: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(2) {
        if text.is_empty() {
            return;
        }
        let at = random.below(text.len());
        let end = (at + 1 + random.below(20)).min(text.len());
        match random.below(6) {
            0 => drop(text.remove(at)),
            1 => drop(text.drain(at..end)),
            2 => {
                let piece = text[at..end].to_vec();
                let to = random.below(text.len());
                text.splice(to..to, piece);
            }
            3 => {
                let other = random.below(text.len());
                text.swap(at, other);
            }
            4 => text[at] = random.next() as u8,
            _ => {
                let signs = b"(){}[];,:*&|=<>+-/\\~!?'\"0x_";
                text[at] = signs[random.below(signs.len())];
            }
        }
    }
}

#[test]
fn mutations_of_tests_never_panic_or_hang() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracle");
    let corpus = std::fs::read_to_string(format!("{folder}/classic.jsonl")).unwrap();
    let corpus: Vec<serde_json::Value> = corpus.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(feed(RICH.as_bytes()));
    let mut random = Random(3);
    let mut read = 0;
    for round in 0..40_000 {
        let source = match round % 2 {
            0 => RICH,
            _ => corpus[random.below(corpus.len())]["source"].as_str().unwrap(),
        };
        let mut text = source.as_bytes().to_vec();
        mutate(&mut text, &mut random);
        read += feed(&text) as u32;
    }
    // Both sides of the parser were exercised.
    assert!((1_000..39_000).contains(&read), "{read}");
}

#[test]
fn deep_nesting_is_an_error() {
    const N: usize = 100_000;
    let body = |body: String| format!("C t\n{{}}\nP0 (int* x) {{ int r; {body} }}\nexists (true)");
    let condition = |condition: String| format!("C t\n{{}}\nP0 (int* x) {{ }}\nexists {condition}");
    let pairs = |open: &str, close: &str| open.repeat(N) + "1" + &close.repeat(N);
    let texts = [
        body(format!("r = {};", pairs("(", ")"))),
        body(format!("r = {};", pairs("!", ""))),
        body(format!("r = {};", pairs("- ", ""))),
        body(format!("r = {};", pairs("(int)", ""))),
        body(format!("r = {};", pairs("*", ""))),
        body(format!("r = {};", pairs("& ", ""))),
        body(format!("r = {};", pairs("++", ""))),
        body(format!("r = {};", pairs("1 ? ", " : 1"))),
        body(format!("r = {};", pairs("1 ? 1 : ", ""))),
        body(format!("r = {};", pairs("f(", ")"))),
        body(format!("r = {};", pairs("", "+ 1"))),
        body(format!("r = {};", pairs("", ", 1"))),
        body(format!("r = {};", pairs("", "&& 1"))),
        body(format!("r = {};", pairs("1 || 1 && 1 | 1 ^ 1 & 1 == 1 < 1 << 1 + 1 * (", ")"))),
        body(pairs("r = ", ";")),
        body("{".repeat(N) + &"}".repeat(N)),
        body("{".repeat(N)),
        body("if (1) ".repeat(N) + ";"),
        body("if (1) ; else ".repeat(N) + ";"),
        body("while (0) ".repeat(N) + ";"),
        body("for (;;) ".repeat(N) + ";"),
        body("do ".repeat(N) + ";" + &"while (0);".repeat(N)),
        body(format!("r = ({}int{}) 1;", "_Atomic(".repeat(N), ")".repeat(N))),
        condition("(".repeat(N) + "x=1" + &")".repeat(N)),
        condition("~".repeat(N) + "x=1"),
        condition("~(x=1 /\\ ".repeat(N) + "x=1" + &")".repeat(N)),
    ];
    for text in texts {
        let error = LitmusTest::parse("t", text.as_bytes()).unwrap_err();
        let known = ["too deeply", "too long", "unsupported", "only a register", "expected `}`"];
        assert!(known.iter().any(|part| error.message.contains(part)), "{error}");
    }
}

#[test]
fn nesting_up_to_the_limit_is_read() {
    let parentheses = format!("int r = {}1{};", "(".repeat(190), ")".repeat(190));
    let chain = format!("int r = 1{};", " + 1".repeat(390));
    let blocks = format!("int r; {}r = 1;{}", "{".repeat(190), "}".repeat(190));
    let ifs = format!("int r; {};", "if (1) ".repeat(190));
    for body in [parentheses, chain, blocks, ifs] {
        assert!(feed(format!("C t\n{{}}\nP0 () {{ {body} }}\nexists (0:r=1)").as_bytes()), "{body}");
    }
}

/// Reads a text and says what came of it. A second or two is the promise; were it broken, the test would not end.
fn in_time(text: &[u8]) -> Result<LitmusTest, String> {
    LitmusTest::parse("t", text).map_err(|error| error.message)
}

#[test]
fn huge_files_end_soon() {
    const BYTES: usize = 20 << 20;
    let frame = |body: &str, end: &str| format!("C t\n{{}}\nP0 (atomic_int* x) {{ int r;\n{body}\n}}\n{end}");
    let filled = |piece: &str| piece.repeat(BYTES / piece.len());
    let too_large = format!("more than {MAX_NODES}");

    let mut random = Random(4);
    let garbage: Vec<u8> = (0..BYTES).map(|_| random.next() as u8).collect();
    assert!(in_time(&garbage).is_err());
    assert!(in_time(&[b"C t\n{}\nP0 () {".as_slice(), &garbage].concat()).is_err());
    assert!(in_time(&vec![b'('; BYTES]).is_err());
    for piece in ["r = 1;", "r = 1;\n", "*x = r;", ";", "int a;", "while (r) r = *x;", "{}"] {
        assert!(in_time(frame(&filled(piece), "exists true").as_bytes()).unwrap_err().contains(&too_large), "{piece}");
    }
    assert!(in_time(frame("", &format!("exists {}", filled("x=1 /\\ "))).as_bytes()).unwrap_err().contains(&too_large));
    assert!(in_time(frame("", &format!("locations [{}]", filled("x;"))).as_bytes()).unwrap_err().contains(&too_large));
    // Large, but nothing to keep: comments, blanks, one name.
    assert!(in_time(frame(&filled("/* a comment */ \n"), "exists true").as_bytes()).is_ok());
    assert!(in_time(frame(&filled("// a\n"), "exists true").as_bytes()).is_ok());
    assert!(in_time(frame(&format!("int {};", filled("a")), "exists true").as_bytes()).is_ok());
    assert!(in_time(frame(&format!("r = {};", filled("1")), "exists true").as_bytes()).is_err());
    assert!(in_time(filled("(* ").as_bytes()).is_err());
    assert!(in_time(format!("C t\n{}", filled("a=b\n")).as_bytes()).is_err());
}

#[test]
fn large_tests_are_read() {
    // Below the limit, and with everything that could be quadratic: many registers, constants, threads, locations.
    let registers: String = (0..20_000).map(|i| format!("int r{i} = {i} + *x; ")).collect();
    let text = format!("C t\n{{}}\nP0 (atomic_int* x) {{ {registers} }}\nexists (0:r19999=1)");
    assert_eq!(in_time(text.as_bytes()).unwrap().memory_operations(), 20_000);

    let threads: String = (0..MAX_THREADS).map(|i| format!("P{i} (atomic_int* x) {{ *x = {i}; }}\n")).collect();
    assert!(in_time(format!("C t\n{{}}\n{threads}exists (x=1)").as_bytes()).is_ok());
    let more = format!("C t\n{{}}\n{threads}P{MAX_THREADS} () {{}}\nexists (x=1)");
    assert!(in_time(more.as_bytes()).unwrap_err().contains("threads"));

    let params: Vec<String> = (0..100_000).map(|i| format!("int* x{i}")).collect();
    let conjunction: Vec<String> = (0..100_000).map(|i| format!("x{i}=0")).collect();
    let text = format!("C t\n{{}}\nP0 ({}) {{ }}\nexists ({})", params.join(","), conjunction.join("/\\"));
    assert_eq!(in_time(text.as_bytes()).unwrap().vars().len(), 100_000);
}
