//! `compile_single`: one C, C++ or Rust file to one program that can be run under Fencepost.

use crate::support::{Bench, needed};
use fencepost_native::compiler::{CompileError, compile_single};
use fencepost_native::elf;
use std::path::Path;
use std::process::Command;

/// Runs a program with the stand-in in the runtime's place.
fn output(program: &Path, runtime: &Path) -> String {
    let output = Command::new(program).env("LD_LIBRARY_PATH", runtime).output().expect("the program can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn each_language() {
    let bench = Bench::new();
    let runtime = bench.runtime();
    let out = bench.path().join("made/on demand");
    for (name, source) in [
        (
            "c_threads.c",
            "#include <pthread.h>\n#include <stdio.h>\nstatic void *f(void *p) { *(int *)p = 42; return p; }\n\
             int main(void) { int x; pthread_t t; pthread_create(&t, 0, f, &x); pthread_join(t, 0); printf(\"%d\\n\", \
             x); }\n",
        ),
        (
            "cxx_threads.cpp",
            "#include <iostream>\n#include <thread>\nint main() { int x = 0; std::thread([&] { x = 42; }).join(); \
             std::cout << x << '\\n'; }\n",
        ),
        (
            "rust-threads.v1.rs",
            "fn main() { let x = \
             std::thread::spawn(|| vec![40, 2].into_iter().sum::<i32>()).join().unwrap(); println!(\"{x}\"); }\n",
        ),
    ] {
        let program = compile_single(&bench.file(name, source), &out, &runtime).expect(name);
        assert_eq!(program.parent(), Some(out.as_path()));
        let target = elf::inspect(&program).expect(name);
        assert_eq!(target.runtime.as_deref(), Some("libtsan.so.2"), "{name}");
        // First of all, so that its functions are found before those of libc.
        assert_eq!(needed(&program)[0], "libtsan.so.2", "{name}");
        assert_eq!(output(&program, &runtime), "42\n", "{name}");
    }
}

#[test]
fn errors_are_one_line_and_typed() {
    let bench = Bench::new();
    let runtime = bench.runtime();
    let compile = |name: &str| compile_single(&bench.path().join(name), bench.path(), &runtime).expect_err(name);
    assert!(matches!(compile("missing.c"), CompileError::Missing(_)));
    assert!(matches!(compile("program.f90"), CompileError::UnknownLanguage(_)));
    assert!(matches!(compile("program"), CompileError::UnknownLanguage(_)));
    for name in ["wrong.c", "wrong.cc", "wrong.rs"] {
        bench.file(name, "this is not a program");
        let error = compile(name);
        assert!(matches!(error, CompileError::Refused(..)), "{error:?}");
        assert!(error.to_string().ends_with("does not compile: see the compiler's messages above"), "{error}");
    }
}
