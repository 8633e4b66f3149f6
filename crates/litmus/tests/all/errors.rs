//! Malformed files: where the error is, and what it says.

use fencepost_litmus::LitmusTest;

fn error(text: &[u8]) -> String {
    match LitmusTest::parse("t", text) {
        Ok(_) => panic!("no error in {}", String::from_utf8_lossy(text)),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_frame_of_a_file() {
    let table: &[(&str, &str)] = &[
        ("", "1:1: expected the header `C name`"),
        ("\n  X86 SB\n{}", "2:3: expected the header `C name`, found `X86`: only C is supported"),
        ("C\n{}", "1:1: expected the test's name after `C`"),
        ("C t\nP0 () {}", "2:1: expected the initial state `{ … }` after the header"),
        ("C t\n\"open", "2:1: a quoted description without its closing `\"`"),
        ("C t\n(* open", "2:1: a comment `(*` without its `*)`"),
        ("C t\n/* open", "2:1: a comment `/*` without its `*/`"),
        ("C t\n{ x=1 y=2 }", "2:7: expected `;` after an initial value, found `y`"),
        ("C t\n{ x=y }", "2:5: expected a constant (addresses and names as values are unsupported), found `y`"),
        ("C t\n{ x=1", "2:6: expected `;` after an initial value, found the end of the file"),
        ("C t\n{ 0:r0=1; }", "2:3: unsupported: initial values of registers"),
        ("C t\n{ int *p=1; }", "2:7: unsupported: pointers in the initial state"),
        ("C t\n{ int a[2]; }", "2:8: unsupported: arrays in the initial state"),
        ("C t\n{ x=1; x=2; } P0 () {} exists true", "2:8: `x` is initialised twice"),
        ("C t\n{ x=99999999999999999999; }", "2:5: the number `99999999999999999999` does not fit 64 bits"),
        ("C t\n{ x=12ab; }", "2:5: malformed number `12ab`"),
        ("C t\n{ x=09; }", "2:5: malformed number `09`"),
        ("C t\n{ x=1; @ }", "2:8: unexpected character `@`"),
        ("C t\n{}\nexists (x=1)", "3:1: expected the thread `P0`, found `exists`"),
        ("C t\n{}\nP1 () {}", "3:1: expected the thread `P0`, found `P1`"),
        ("C t\n{}\nP0 () {}\nP2 () {}", "4:1: expected the thread `P1`, found `P2`"),
        (
            "C t\n{}\nP0 () {}",
            "3:9: expected a thread, `locations`, `exists`, `~exists` or `forall`, found the end of the file",
        ),
        ("C t\n{}\nP0 (int x) {}", "3:9: expected `*` (a parameter is a pointer to a location), found `x`"),
        ("C t\n{}\nP0 (int** x) {}", "3:9: unsupported: pointers to pointers"),
        ("C t\n{}\nP0 (foo* x) {}", "3:5: expected a parameter's integer type, found `foo`"),
        ("C t\n{}\nP0 (int* x, int* x) {} exists true", "3:18: `x` is a parameter already"),
        (
            "C t\n{}\nP0 (int* x) {}\nP1 (long* x) {} exists true",
            "4:11: the type of `x` is `int64_t` here and `int` before: all must agree",
        ),
        (
            "C t\n{}\nP0 (int* x) {}\nP1 (atomic_int* x) {} exists true",
            "4:17: the type of `x` is `_Atomic int` here and `int` before: all must agree",
        ),
        (
            "C t\n{ long x=1; }\nP0 (int* x) {} exists true",
            "3:10: the type of `x` is `int` here and `int64_t` before: all must agree",
        ),
        (
            "C t\n{}\nP0 (unsigned float* x) {}",
            "3:14: expected `*` (a parameter is a pointer to a location), found `float`",
        ),
        ("C t\n{}\nP0 (long short* x) {}", "3:10: `short` cannot be combined with the type before it"),
    ];
    for (text, expected) in table {
        assert_eq!(error(text.as_bytes()), *expected, "{text}");
    }
}

#[test]
fn bodies() {
    // The body starts at 4:1.
    let table: &[(&str, &str)] = &[
        ("int r0 = 1", "5:1: expected `;` after a declaration, found `}`"),
        ("int r0 = ;", "4:10: expected an expression, found `;`"),
        ("int *p = x;", "4:5: unsupported: pointer variables"),
        ("int a[2];", "4:6: unsupported: arrays"),
        ("atomic_int a;", "4:1: unsupported: atomic local variables (a register is seen by its thread only)"),
        ("int r = 1; int r = 2;", "4:16: `r` is declared already"),
        ("int r = 1; { int r = 2; }", "4:18: `r` is declared already"),
        ("{ int r; } { long r; }", "4:19: `r` is `int64_t` here and `int` in another block: a register has one type"),
        ("int x = 1;", "4:5: `x` is a parameter already"),
        ("r = 1;", "4:1: `r` is not declared here"),
        ("{ int r; } r = 1;", "4:12: `r` is not declared here"),
        ("int r = x;", "4:9: `x` is a pointer: expected `*x` or an atomic function"),
        ("x = 1;", "4:1: `x` is a pointer: expected `*x` or an atomic function"),
        ("int r = *z;", "4:9: `z` is not a parameter of `P0`: expected a pointer"),
        ("1 = 2;", "4:1: only a register or `*` of a parameter can be assigned"),
        ("*x++;", "4:2: unsupported: `*` on anything but the name of a parameter"),
        ("int r; &r;", "4:8: unsupported: an address outside of a compare-exchange's second argument"),
        ("x[0] = 1;", "4:2: unsupported: indexing"),
        ("x->next = 1;", "4:2: unsupported: members"),
        ("int r = sizeof(int);", "4:9: unsupported: `sizeof`"),
        ("int r = (int*) 1;", "4:13: unsupported: casts to pointers"),
        ("goto end;", "4:1: unsupported: `goto`"),
        ("end: ;", "4:4: unsupported: labels"),
        ("switch (1) {}", "4:1: unsupported: `switch`"),
        ("struct s a;", "4:1: unsupported: `struct`"),
        ("return 1;", "4:8: unsupported: `return` with a value (a thread returns nothing)"),
        ("break;", "4:1: `break` outside of a loop"),
        ("if (1) continue;", "4:8: `continue` outside of a loop"),
        ("else ;", "4:1: an `else` without its `if`"),
        ("if 1 ;", "4:4: expected `(` after `if`, found the number 1"),
        ("do ; until (1);", "4:6: expected `while` after the body of `do`, found `until`"),
        ("smp_mb();", "4:1: unknown function `smp_mb`"),
        ("atomic_thread_fence_explicit(memory_order_seq_cst);", "4:1: unknown function `atomic_thread_fence_explicit`"),
        ("atomic_load(x, 1);", "4:1: `atomic_load` takes 1 arguments, not 2"),
        (
            "atomic_load_explicit(x, memory_order_release);",
            "4:25: invalid memory order for a load: expected relaxed, consume, acquire or seq_cst",
        ),
        (
            "atomic_store_explicit(x, 1, memory_order_acq_rel);",
            "4:29: invalid memory order for a store: expected relaxed, release or seq_cst",
        ),
        (
            "atomic_store_explicit(x, 1, memory_order_acquire);",
            "4:29: invalid memory order for a store: expected relaxed, release or seq_cst",
        ),
        (
            "atomic_compare_exchange_strong_explicit(x, y, 1, memory_order_seq_cst, memory_order_release);",
            "4:72: invalid memory order for the failure of a compare-exchange: expected relaxed, consume, acquire or \
             seq_cst",
        ),
        ("atomic_compare_exchange_strong(x, x, 1);", "4:35: the expected value of a compare-exchange cannot be atomic"),
        (
            "long e; atomic_compare_exchange_strong(x, &e, 1);",
            "4:43: the expected value is `int64_t`, but the location is `int`",
        ),
        ("atomic_load_explicit(x, relaxed);", "4:25: expected a memory order such as `memory_order_relaxed`"),
        ("atomic_load_explicit(x, foo::relaxed);", "4:28: unsupported: the scope `foo::`"),
        ("atomic_load(*x);", "4:13: expected a pointer: the name of a parameter"),
        ("int r = atomic_store(x, 1);", "4:9: expected a value, but this has none"),
        ("int r = 1 + (void) 2;", "4:13: expected a value, but this has none"),
        ("*x *= 2;", "4:1: unsupported: this compound assignment to an atomic location"),
        ("int r = '\\n';", "4:9: unsupported character constant: expected one printable character in quotes"),
        ("int r = 1 ? 2;", "4:14: expected `:` after the second operand of `?`, found `;`"),
        ("int r = (1;", "4:11: expected `)` to close a parenthesis, found `;`"),
        ("{", "6:14: expected `;` after an expression, found the end of the file"),
    ];
    for (body, expected) in table {
        let text = format!("C t\n{{}}\nP0 (atomic_int* x, int* y) {{\n{body}\n}}\nexists (true)");
        assert_eq!(error(text.as_bytes()), *expected, "{body}");
    }
}

#[test]
fn the_end_of_a_file() {
    let table: &[(&str, &str)] = &[
        ("exists (0:r1=1)", "5:9: no register `r1` in `P0`"),
        ("exists (0:x=1)", "5:9: no register `x` in `P0`"),
        ("exists (3:r0=1)", "5:9: no thread `P3`: there are 1"),
        ("exists (z=1)", "5:9: no location `z`: neither the initial state nor a thread names it"),
        ("locations [z;]", "5:12: no location `z`: neither the initial state nor a thread names it"),
        ("locations [x y]", "5:14: expected `;` or `]` after a location, found `y`"),
        ("exists (x=1", "5:12: expected `)` to close a parenthesis of the condition, found the end of the file"),
        ("exists (x=1) foo", "5:14: expected the end of the file, found `foo`"),
        ("exists (x<1)", "5:10: expected `=` or `!=` after a variable of the condition, found `<`"),
        ("exists (x=y)", "5:11: expected a constant (addresses and names as values are unsupported), found `y`"),
        ("exists", "5:7: expected a register (`0:r0`) or a location (`x`), found the end of the file"),
        ("~forall (x=1)", "5:2: expected `exists` after the negation, found `forall`"),
        ("filter (x=1) exists (x=1)", "5:1: unsupported: the `filter` clause"),
        ("final", "5:1: expected a thread, `locations`, `exists`, `~exists` or `forall`, found `final`"),
        ("exists (0.r0=1)", "5:10: expected `:` after the number of a thread, found `.`"),
    ];
    for (end, expected) in table {
        let text = format!("C t\n{{}}\nP0 (atomic_int* x) {{\nint r0; }}\n{end}");
        assert_eq!(error(text.as_bytes()), *expected, "{end}");
    }
}

#[test]
fn bytes_that_are_no_text() {
    assert_eq!(error(b"C t\n\xc3\xa9\xff"), "2:2: byte 0xff is not UTF-8");
    assert_eq!(error(b"\x00"), "1:1: expected the header `C name`");
    assert_eq!(error("C t\n{ é }".as_bytes()), "2:3: unexpected character `\\u{e9}`");
}

#[test]
fn what_generators_write_around_a_test_is_read() {
    let text = "\u{feff}(* made (* by *) hand *)\nC MP+rel \n\"PodWW Rfe\"\nGenerator=diy\nCom=Rf Fr\n{\n}\n\
        // threads\nvoid P0 (volatile int* const y, _Atomic int *x, _Atomic(long) * z, unsigned long long int* w) { /*
        // (* */ }\n\
        P1 (void) { return; }\nlocations [y;x]\n";
    let test = LitmusTest::parse("t", text.as_bytes()).unwrap();
    assert_eq!(test.name(), "MP+rel");
    assert!(test.condition().is_none() && test.quantifier().is_none());
    assert_eq!(test.vars().len(), 2);
}
