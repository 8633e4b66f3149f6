//! `fencepost cc` and `fencepost c++` as the compilers of make, CMake, Meson and a configure script.
//!
//! This test has no harness, because it is also the compiler under test: a link named `fencepost` to it makes it one.

mod support;

use fencepost_native::compiler::{Language, become_compiler};
use fencepost_native::elf::{self, TargetError};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use support::{Bench, have, needed};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let name = arguments.next().map(PathBuf::from).unwrap_or_default();
    if name.file_name() == Some("fencepost".as_ref()) {
        return wrapper(arguments.collect());
    }
    let filter: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let tests: [(&str, fn()); 8] = [
        ("questions", questions),
        ("status", status),
        ("volatile", volatile),
        ("make", make),
        ("cmake", cmake),
        ("meson", meson),
        ("configure", configure),
        ("clang", clang),
    ];
    for (name, test) in tests {
        if filter.is_empty() || filter.iter().any(|wanted| name.contains(wanted.as_str())) {
            println!("test {name}");
            test();
        }
    }
    ExitCode::SUCCESS
}

/// What the command line tool does with `cc` and `c++`.
fn wrapper(arguments: Vec<OsString>) -> ExitCode {
    let language = if arguments[0] == "c++" { Language::Cxx } else { Language::C };
    let runtime = std::env::var_os("FENCEPOST_TEST_RUNTIME").unwrap_or_default();
    eprintln!("{}", become_compiler(language, &arguments[1..], Path::new(&runtime)));
    ExitCode::from(2)
}

/// A directory with sources and the compiler.
struct Project {
    bench: Bench,
    runtime: PathBuf,
    compiler: &'static str,
}

impl Project {
    fn new() -> Project {
        let bench = Bench::new();
        std::os::unix::fs::symlink(std::env::current_exe().expect("this file"), bench.path().join("fencepost"))
            .expect("a link");
        let runtime = bench.runtime();
        bench.file("main.c", "#include \"sum.h\"\nint main(void) { return sum(20, 22) == 42 ? 0 : 1; }\n");
        bench.file("sum.h", "extern int total;\nint sum(int, int);\n");
        bench.file(
            "sum.c",
            "#include \"sum.h\"\nint total;\nint sum(int a, int b) { total = a; total += b; return total; }\n",
        );
        bench.file(
            "cxx.cc",
            "#include <atomic>\n#include <thread>\nstd::atomic<int> x;\n\
             int main() { std::thread t([] { x++; }); t.join(); return x - 1; }\n",
        );
        Project { bench, runtime, compiler: "gcc" }
    }

    /// A command with CC and CXX set. `FENCEPOST` in its arguments stands for the path of the command.
    fn command(&self, line: &str) -> Command {
        let fencepost = self.bench.path().join("fencepost").display().to_string();
        let line = line.replace("FENCEPOST", &fencepost);
        let mut words = line.split_whitespace();
        let mut command = Command::new(words.next().expect("a command"));
        command
            .args(words)
            .current_dir(self.bench.path())
            .env("CC", format!("{fencepost} cc"))
            .env("CXX", format!("{fencepost} c++"))
            .env("FENCEPOST_CC", self.compiler)
            .env("FENCEPOST_CXX", self.compiler.replace("gcc", "g++").replace("clang", "clang++"))
            .env("FENCEPOST_TEST_RUNTIME", &self.runtime)
            .env_remove("MAKEFLAGS")
            .env_remove("CFLAGS");
        command
    }

    fn try_run(&self, line: &str) -> Output {
        self.command(line).output().unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    fn run(&self, line: &str) -> String {
        let output = self.try_run(line);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{line}: {}\n{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    /// The program is instrumented, has its runtime first, and runs.
    fn check(&self, program: &str) {
        let path = self.bench.path().join(program);
        let target = elf::inspect(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(target.uninstrumented_libraries().count(), 0, "{program}");
        assert_eq!(needed(&path).iter().filter(|name| *name == "libtsan.so.2").count(), 1, "{program}");
        // The runtime is found without any help: its directory is in the program.
        let status = Command::new(&path).env_remove("LD_LIBRARY_PATH").status().expect("it can be started");
        assert!(status.success(), "{program}: {status}");
    }
}

/// The answers by which build systems recognise compilers are the compiler's own.
fn questions() {
    let project = Project::new();
    for question in ["--version", "-dumpmachine", "-print-search-dirs"] {
        assert_eq!(project.run(&format!("FENCEPOST cc {question}")), project.run(&format!("gcc {question}")));
    }
    let macros = project.run("FENCEPOST cc -dM -E -x c /dev/null");
    assert!(macros.contains("#define __SANITIZE_THREAD__ 1"), "the macro by which code knows its sanitizer");
    assert!(macros.contains("#define __GNUC__ "));
}

/// The compiler's status is passed on; what Fencepost refuses or cannot start is one line and status 2.
fn status() {
    let mut project = Project::new();
    project.bench.file("wrong.c", "wrong");
    let output = project.try_run("FENCEPOST cc -c wrong.c");
    assert_eq!(output.status.code(), Some(1));
    let output = project.try_run("FENCEPOST cc -static main.c sum.c");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "fencepost cc: -static cannot be used: Fencepost's runtime is a shared library; link without -static\n"
    );
    project.compiler = "no-such-gcc";
    let output = project.try_run("FENCEPOST cc -c main.c");
    assert_eq!(output.status.code(), Some(2));
    let message = "no-such-gcc: no such compiler: install it, or name another one in FENCEPOST_CC\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), message);
}

/// Volatile accesses are told apart, whichever compiler, and with code made at link time too.
fn volatile() {
    let mut project = Project::new();
    project.bench.file("v.c", "volatile int v;\nint main(void) { v = 1; return v - 1; }\n");
    for (compiler, options) in [("gcc", "-O1"), ("gcc", "-O1 -flto"), ("clang", "-O1")] {
        if have(compiler) {
            project.compiler = compiler;
            project.run(&format!("FENCEPOST cc {options} -c v.c"));
            project.run(&format!("FENCEPOST cc {options} v.o -o v"));
            let symbols = project.run("nm -u v");
            assert!(symbols.contains("__tsan_volatile_write4"), "{compiler} {options}: {symbols}");
            project.check("v");
        }
    }
}

fn make() {
    if !have("make") {
        return;
    }
    let project = Project::new();
    project.bench.file(
        "Makefile",
        "CFLAGS = -O2 -Wall -Werror -MMD -MP\n\
         all: prog shared cxx onestep\n\
         prog: main.o sum.o\n\t$(CC) $(CFLAGS) $^ -o $@\n\
         libsum.so: sum.c\n\t$(CC) $(CFLAGS) -fPIC -shared -Wl,-z,defs $< -o $@\n\
         shared: main.o libsum.so\n\t$(CC) main.o -L. -lsum '-Wl,-rpath,$$ORIGIN' -o $@\n\
         onestep: main.c sum.c\n\t$(CC) $(CFLAGS) main.c sum.c -o $@\n\
         lib.a: sum.o\n\tar rc $@ $^\n\
         cxx: cxx.cc\n\t$(CXX) -O1 -pthread $< -o $@\n\
         -include *.d\n",
    );
    project.run("make -j2");
    ["prog", "shared", "onestep", "cxx"].into_iter().for_each(|program| project.check(program));
    assert!(project.bench.path().join("main.d").exists(), "dependency files are written");
    assert!(project.run("make").contains("Nothing to be done"));
}

const CMAKE: &str = "\
cmake_minimum_required(VERSION 3.10)
project(sums C CXX)
find_package(Threads REQUIRED)
include(CheckCSourceCompiles)
check_c_source_compiles(\"#include <stdatomic.h>\\nint main(void) { atomic_int x = 0; return x; }\" HAVE_ATOMICS)
if(NOT HAVE_ATOMICS)
  message(FATAL_ERROR \"no atomics\")
endif()
message(STATUS \"compiler ${CMAKE_C_COMPILER_ID} ${CMAKE_CXX_COMPILER_ID}\")
add_library(sum SHARED sum.c)
add_executable(prog main.c)
target_link_libraries(prog sum)
add_executable(cxx cxx.cc)
target_link_libraries(cxx Threads::Threads)
";

fn cmake() {
    if !have("cmake") {
        return;
    }
    let mut project = Project::new();
    project.bench.file("CMakeLists.txt", CMAKE);
    let generators = [("make", "Unix Makefiles"), ("ninja", "Ninja")];
    for (compiler, identity) in [("gcc", "GNU GNU"), ("clang", "Clang Clang")] {
        project.compiler = compiler;
        for (tool, generator) in generators {
            if !have(tool) || !have(compiler) {
                continue;
            }
            let directory = format!("build-{compiler}-{tool}");
            let configured = project
                .command(&format!("cmake -S . -B {directory}"))
                .args(["-G", generator, "-DCMAKE_NINJA_FORCE_RESPONSE_FILE=1"])
                .output()
                .expect("cmake");
            let text = String::from_utf8_lossy(&configured.stdout);
            assert!(configured.status.success(), "{text}\n{}", String::from_utf8_lossy(&configured.stderr));
            assert!(text.contains(&format!("compiler {identity}")), "{text}");
            project.run(&format!("cmake --build {directory}"));
            project.check(&format!("{directory}/prog"));
            project.check(&format!("{directory}/cxx"));
        }
    }
}

fn meson() {
    if !have("meson") || !have("ninja") {
        return;
    }
    let mut project = Project::new();
    project.bench.file(
        "meson.build",
        "project('sums', 'c', 'cpp', default_options: ['warning_level=2'])\n\
         sum = shared_library('sum', 'sum.c')\n\
         executable('prog', 'main.c', link_with: sum)\n\
         executable('cxx', 'cxx.cc', dependencies: dependency('threads'))\n",
    );
    for compiler in ["gcc", "clang"] {
        if have(compiler) {
            project.compiler = compiler;
            project.run(&format!("meson setup build-{compiler}"));
            project.run(&format!("ninja -C build-{compiler}"));
            project.check(&format!("build-{compiler}/prog"));
            project.check(&format!("build-{compiler}/cxx"));
        }
    }
}

/// What the scripts of autoconf do, without needing autoconf: does the compiler work, what does it make, what is there?
fn configure() {
    let project = Project::new();
    project.bench.file(
        "configure",
        "set -e\n\
         echo 'int main(void) { return 0; }' > conftest.c\n\
         $CC --version >/dev/null; $CC -v >/dev/null 2>&1\n\
         $CC conftest.c; test -f a.out; ./a.out\n\
         $CC -c conftest.c; test -f conftest.o\n\
         $CC -E conftest.c >/dev/null\n\
         $CC -E - </dev/null >/dev/null\n\
         echo 'int f(void);' > conftest.h; $CC -c conftest.h -o conftest.gch\n\
         echo 'char pthread_create(); int main(void) { return pthread_create(); }' > conftest.c\n\
         $CC -o conftest conftest.c -lpthread\n\
         echo '#include <no/such/header.h>' > conftest.c\n\
         if $CC -E conftest.c >/dev/null 2>&1; then exit 9; fi\n\
         ld=$($CC -print-prog-name=ld); $ld --version >/dev/null\n\
         $CC -Wl,--version >/dev/null 2>&1\n",
    );
    project.run("sh configure");
}

/// clang takes the runtime by its path, in one step or two, and never its own.
fn clang() {
    if !have("clang") {
        return;
    }
    let mut project = Project::new();
    project.compiler = "clang";
    project.run("FENCEPOST cc -Werror -O1 main.c sum.c -o onestep");
    project.run("FENCEPOST cc -Werror -c main.c");
    project.run("FENCEPOST cc -Werror -fsanitize=thread -c sum.c");
    project.run("FENCEPOST cc -Werror -fsanitize=thread main.o sum.o -o twosteps");
    project.run("FENCEPOST c++ -Werror -pthread cxx.cc -o cxx");
    ["onestep", "twosteps", "cxx"].into_iter().for_each(|program| project.check(program));
    project.bench.file("boot.s", "    .globl boot\nboot:\n    ret\n");
    project.run("FENCEPOST cc -Werror -c boot.s");
    // Relinked by plain clang it is what Fencepost refuses, if that clang has its runtime.
    if project.try_run("clang -fsanitize=thread main.o sum.o -o bundled").status.success() {
        let refused = elf::inspect(&project.bench.path().join("bundled"));
        assert!(matches!(refused, Err(TargetError::BundledRuntime(_))), "{refused:?}");
    }
}
