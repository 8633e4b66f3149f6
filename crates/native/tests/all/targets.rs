//! Each kind of file that can be given as a target, and what is said about it.

use crate::support::Bench;
use fencepost_native::elf::{self, TargetError};
use fencepost_native::libraries::{Role, SearchPath};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const THREADS: &str = "#include <pthread.h>\nint x;\nvoid *f(void *a) { x++; return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); return 0; }\n";

/// The message, with the directory cut off, so that it can be compared.
fn refusal(bench: &Bench, name: &str) -> String {
    let error = elf::inspect(&bench.path().join(name)).expect_err(name);
    let text = error.to_string();
    assert!(!text.contains('\n'), "one line: {text}");
    text.replace(&format!("{}/", bench.path().display()), "")
}

#[test]
fn an_instrumented_program_is_taken() {
    let bench = Bench::new();
    bench.file("p.c", THREADS);
    bench.run("gcc -fsanitize=thread -g -O1 p.c -o p");
    let target = elf::inspect(&bench.path().join("p")).expect("instrumented");
    assert_eq!(target.path, bench.path().join("p"));
    assert_eq!(target.runtime.as_deref(), Some("libtsan.so.2"));
    assert!(target.position_independent);
    assert_eq!(target.libraries[0].role, Role::Runtime);
    assert!(target.libraries.iter().any(|library| library.name == "libc.so.6" && library.path.is_some()));
    assert_eq!(target.uninstrumented_libraries().count(), 0);
    assert_eq!(target.own_modules().collect::<Vec<_>>(), [target.path.as_path()]);

    bench.run("gcc -fsanitize=thread -no-pie p.c -o fixed");
    assert!(!elf::inspect(&bench.path().join("fixed")).expect("instrumented").position_independent);
    bench.run("strip p");
    elf::inspect(&bench.path().join("p")).expect("stripped, but still instrumented");
}

#[test]
fn the_digest_changes_with_the_program_and_only_then() {
    let bench = Bench::new();
    bench.file("p.c", THREADS);
    bench.run("gcc -fsanitize=thread p.c -o p");
    bench.run("cp p same");
    bench.run("gcc -fsanitize=thread -DOTHER=1 -O2 p.c -o other");
    let digest = |name: &str| elf::inspect(&bench.path().join(name)).expect("instrumented").digest;
    assert_eq!(digest("p"), digest("same"));
    assert_ne!(digest("p"), digest("other"));
    // The SHA-256 of nothing, as every implementation has it.
    let empty = elf::digest(&bench.file("empty", "")).expect("readable");
    assert_eq!(empty, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

#[test]
fn what_is_not_instrumented_is_refused() {
    let bench = Bench::new();
    bench.file("p.c", THREADS);
    bench.run("gcc p.c -o plain");
    assert_eq!(
        refusal(&bench, "plain"),
        "plain is not instrumented: build it with -fsanitize=thread or with `fencepost cc`"
    );
    bench.run("gcc -fsanitize=address p.c -o address");
    assert_eq!(
        refusal(&bench, "address"),
        "address is built with -fsanitize=address: build it with -fsanitize=thread instead, or with `fencepost cc`"
    );
    bench.run("gcc -static p.c -o static");
    assert_eq!(
        refusal(&bench, "static"),
        "static is statically linked, and Fencepost's runtime is a shared library: link it without -static"
    );
    bench.run("gcc -static-pie p.c -o static-pie");
    assert!(matches!(elf::inspect(&bench.path().join("static-pie")), Err(TargetError::Static(_))));

    let bundled = "has a ThreadSanitizer runtime linked into it: link it with `fencepost cc` or `fencepost c++`, or \
         with \
                   gcc and without -static-libtsan";
    bench.run("gcc -fsanitize=thread -static-libtsan p.c -o bundled");
    assert_eq!(refusal(&bench, "bundled"), format!("bundled {bundled}"));
    bench.run("strip bundled");
    assert_eq!(refusal(&bench, "bundled"), format!("bundled {bundled}"));
}

#[test]
fn what_is_not_a_program_is_named() {
    let bench = Bench::new();
    bench.file("p.c", THREADS);
    bench.run("gcc -fsanitize=thread -c p.c -o p.o");
    bench.run("ar rc libp.a p.o");
    bench.run("gcc -fsanitize=thread -shared -fPIC p.c -o libp.so");
    bench.run("gcc -fsanitize=thread p.c -o p");
    bench.file("empty", "");
    bench.file("text", "hello\n");
    bench.file("run.sh", "#!/bin/sh -e\n./p\n");
    bench.file("cut", &fs::read(bench.path().join("p")).expect("built")[..100]);
    bench.file("short", b"\x7fELF\x02");
    fs::create_dir(bench.path().join("dir")).expect("a directory");
    fs::set_permissions(bench.path().join("p"), fs::Permissions::from_mode(0o644)).expect("permissions");

    for (name, expected) in [
        ("missing", "missing: no such file: build the program first, or check the path"),
        ("text/inside", "text/inside: no such file: build the program first, or check the path"),
        ("dir", "dir is a directory: give the program inside it"),
        ("empty", "empty is empty: build the program again"),
        (
            "text",
            "text is not a program: give an executable built with -fsanitize=thread, or a .c, .cc, .cpp, .rs or \
             .litmus \
             file",
        ),
        ("run.sh", "run.sh is a script (for /bin/sh -e): give the compiled program that it starts"),
        ("p.o", "p.o is an object file: link it into a program with -fsanitize=thread or with `fencepost cc`"),
        ("libp.a", "libp.a is a static library: give a program that is linked with it"),
        ("libp.so", "libp.so is a shared library: give a program that uses it"),
        ("short", "short is damaged (the header is cut off): build the program again"),
    ] {
        assert_eq!(refusal(&bench, name), expected);
    }
    assert!(refusal(&bench, "cut").starts_with("cut is damaged ("), "{}", refusal(&bench, "cut"));
    assert!(refusal(&bench, "p").starts_with("p is not executable: make it so with `chmod +x "));
    assert!(matches!(elf::inspect(Path::new("/dev/null")), Err(TargetError::SpecialFile(_))));
}

#[test]
fn another_architecture_is_named() {
    let bench = Bench::new();
    // An executable for ARM64, as far as its header goes: class 64, little endian, type 2, machine 183.
    let mut header = b"\x7fELF\x02\x01\x01".to_vec();
    header.resize(16, 0);
    header.extend([2, 0, 183, 0, 1, 0, 0, 0]);
    header.resize(64, 0);
    bench.file("arm", &header);
    assert_eq!(refusal(&bench, "arm"), "arm is built for ARM64: build it for x86-64");
}

#[test]
fn libraries_are_followed_and_those_without_instrumentation_listed() {
    let bench = Bench::new();
    bench.file("inner.c", "int inner(int *p) { return ++*p; }");
    bench.file("outer.c", "int inner(int *); int outer(int *p) { return inner(p); }");
    bench.file("seen.c", "int seen(int *p) { return ++*p; }");
    bench.file("p.c", "int outer(int *); int seen(int *); int x; int main(void) { return outer(&x) - seen(&x) + 1; }");
    bench.run("mkdir -p lib/deep");
    bench.run("gcc -shared -fPIC inner.c -o lib/deep/libinner.so");
    bench.run("gcc -shared -fPIC outer.c -Llib/deep -linner -Wl,-rpath,$ORIGIN/deep -o lib/libouter.so");
    bench.run("gcc -fsanitize=thread -shared -fPIC seen.c -o lib/libseen.so");
    bench.run("gcc -fsanitize=thread p.c -Llib -louter -lseen -Wl,-rpath,$ORIGIN/lib -Wl,-rpath-link,lib/deep -o p");

    let target = elf::inspect(&bench.path().join("p")).expect("instrumented");
    let listed: Vec<_> = target
        .uninstrumented_libraries()
        .map(|library| (library.name.as_str(), library.needed_by.as_str(), library.path.is_some()))
        .collect();
    assert_eq!(listed, [("libouter.so", "p", true), ("libinner.so", "libouter.so", true)]);
    let own: Vec<_> = target.own_modules().filter_map(|path| path.file_name()).collect();
    assert_eq!(own, ["p", "libseen.so"]);

    // Only a library is instrumented: the program can still be run.
    bench.run("gcc p.c -Llib -louter -lseen -Wl,-rpath,$ORIGIN/lib -Wl,-rpath-link,lib/deep -o mixed");
    let target = elf::inspect(&bench.path().join("mixed")).expect("a library is instrumented");
    assert_eq!(target.runtime.as_deref(), Some("libtsan.so.2"));

    // A library that is nowhere is listed without a path.
    bench.run("rm lib/deep/libinner.so");
    let target = elf::inspect_with(&bench.path().join("p"), &SearchPath::default()).expect("instrumented");
    let inner = target.libraries.iter().find(|library| library.name == "libinner.so").expect("still named");
    assert_eq!(inner.path, None);
}
