//! The plan as a table: what is typed, and what is run.

use super::*;

const GCC: &str = "gcc";
const CLANG: &str = "clang";

/// What every table entry may write instead of the long options.
fn abbreviate(arguments: &[OsString]) -> String {
    let text = arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
    let calls: Vec<String> = calls_are_calls().map(|option| option.to_string_lossy().into_owned() + " ").collect();
    text.replace(&calls.concat(), "")
        .replace(
            "-Wl,--push-state,--no-as-needed /r t/libtsan.so.2 -Wl,--pop-state -Xlinker -rpath -Xlinker /r t",
            "RUNTIME",
        )
        .replace("-L/r t -Xlinker -rpath -Xlinker /r t", "RUNTIME")
        .replace("-mllvm -tsan-distinguish-volatile=1 -mllvm -tsan-instrument-read-before-write=1", "VOLATILE")
        .replace("-mllvm -tsan-instrument-read-before-write=1", "READS")
        .replace("--param=tsan-distinguish-volatile=1 -Wno-tsan", "VOLATILE")
        .replace("-Xclang -fsanitize=thread", "XTHREAD")
        .replace("-fsanitize=thread", "THREAD")
        .replace("-idirafter /r t/include ", "")
}

#[test]
fn the_header_is_on_the_include_path_of_what_is_compiled() {
    for compiler in [GCC, CLANG] {
        let has_it = |line| planned(compiler, line).unwrap().arguments.contains(&"/r t/include".into());
        assert!(["-c a.c", "a.c -o a", "-E a.c"].into_iter().all(has_it), "{compiler}");
        // clang warns of options that it has no use for.
        assert!(!["a.o -o a", "--version"].into_iter().any(has_it), "{compiler}");
    }
}

#[test]
fn gcc_expands_no_function_that_accesses_memory() {
    let calls = |compiler, line| {
        let arguments = planned(compiler, line).unwrap().arguments;
        arguments.iter().any(|argument| argument == "-fno-builtin-memset")
    };
    assert!(["-c a.c", "a.c -o a"].into_iter().all(|line| calls(GCC, line)));
    assert!(!calls(GCC, "a.o -o a") && !calls(CLANG, "-c a.c"));
}

fn response_files(path: &Path) -> Option<Vec<u8>> {
    match path.to_str()? {
        "objects.rsp" => Some(b"a.o 'b c.o' -lm\n".to_vec()),
        "compile.rsp" => Some(b"-c a.c".to_vec()),
        "static.rsp" => Some(b"-static a.o".to_vec()),
        "thread.rsp" => Some(b"-fsanitize=thread a.o".to_vec()),
        _ => None,
    }
}

fn planned(compiler: &str, line: &str) -> Result<Invocation, PlanError> {
    let language = if compiler.contains("++") { Language::Cxx } else { Language::C };
    let compiler = Compiler::named(language, Some(OsStr::new(compiler)), |_| None);
    let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    plan(&compiler, &arguments, Path::new("/r t"), &response_files)
}

#[test]
fn command_lines() {
    let table = [
        // Questions pass unchanged.
        (GCC, "", ""),
        (GCC, "--version", "--version"),
        (GCC, "-v", "-v"),
        (GCC, "-dumpversion", "-dumpversion"),
        (GCC, "-dumpmachine", "-dumpmachine"),
        (GCC, "-print-search-dirs", "-print-search-dirs"),
        (GCC, "--print-file-name=libc.so", "--print-file-name=libc.so"),
        (GCC, "-print-prog-name=ld -O2", "-print-prog-name=ld -O2"),
        (GCC, "--help=common", "--help=common"),
        (GCC, "-O2 -Wall", "-O2 -Wall"),
        (CLANG, "--version", "--version"),
        (CLANG, "-cc1 -emit-obj a.c", "-cc1 -emit-obj a.c"),
        // Compiling.
        (GCC, "-c a.c", "THREAD VOLATILE -g -c a.c"),
        (GCC, "-c a.c -o dir/a.o -MD -MF a.d -MT a.o", "THREAD VOLATILE -g -c a.c -o dir/a.o -MD -MF a.d -MT a.o"),
        (GCC, "-S a.c", "THREAD VOLATILE -g -S a.c"),
        (GCC, "-g -c a.c", "THREAD VOLATILE -g -c a.c"),
        (GCC, "-g0 -c a.c", "THREAD VOLATILE -g0 -c a.c"),
        (GCC, "-ggdb3 -c a.c", "THREAD VOLATILE -ggdb3 -c a.c"),
        (GCC, "-gdwarf-4 -c a.c", "THREAD VOLATILE -gdwarf-4 -c a.c"),
        (GCC, "-gdwarf -c a.c", "THREAD VOLATILE -gdwarf -c a.c"),
        // These only say how, and alone they give no debug information.
        (GCC, "-gz -c a.c", "THREAD VOLATILE -g -gz -c a.c"),
        (GCC, "-gsplit-dwarf -c a.c", "THREAD VOLATILE -g -gsplit-dwarf -c a.c"),
        (GCC, "-gdwarf64 -c a.c", "THREAD VOLATILE -g -gdwarf64 -c a.c"),
        (GCC, "-gno-column-info -c a.c", "THREAD VOLATILE -g -gno-column-info -c a.c"),
        (GCC, "-c boot.S", "THREAD VOLATILE -g -c boot.S"),
        (GCC, "header.h", "THREAD VOLATILE -g header.h"),
        (GCC, "-x c++-header header -o h.gch", "THREAD VOLATILE -g -x c++-header header -o h.gch"),
        (GCC, "-xc -c -", "THREAD VOLATILE -g -xc -c -"),
        (GCC, "-c a.c -fno-sanitize=thread", "THREAD VOLATILE -g -c a.c -fno-sanitize=thread"),
        (GCC, "-fsanitize=undefined -c a.c", "THREAD VOLATILE -g -fsanitize=undefined -c a.c"),
        (GCC, "-static -c a.c", "THREAD VOLATILE -g -static -c a.c"),
        (CLANG, "-c a.c", "THREAD VOLATILE -g -c a.c"),
        (
            CLANG,
            "-c a.c -mllvm -tsan-distinguish-volatile=0",
            "THREAD READS -g -c a.c -mllvm -tsan-distinguish-volatile=0",
        ),
        (CLANG, "-gline-tables-only -c a.c", "THREAD VOLATILE -gline-tables-only -c a.c"),
        // clang warns of options that assembler has no use for.
        (CLANG, "-c boot.s", "-g -c boot.s"),
        (CLANG, "-E boot.S", "-E boot.S"),
        // Preprocessing sees the macros.
        (GCC, "-E a.c", "THREAD -E a.c"),
        (GCC, "-dM -E -x c /dev/null", "THREAD -dM -E -x c /dev/null"),
        (GCC, "-M a.c", "THREAD -M a.c"),
        (GCC, "-MM -MF deps a.c", "THREAD -MM -MF deps a.c"),
        (GCC, "-fsyntax-only a.c", "THREAD -fsyntax-only a.c"),
        (GCC, "-c -E a.c", "THREAD -c -E a.c"),
        (CLANG, "-dM -E -x c /dev/null", "THREAD -dM -E -x c /dev/null"),
        // Linking.
        (GCC, "a.o -o a", "THREAD VOLATILE RUNTIME a.o -o a"),
        (GCC, "a.c -o a", "THREAD VOLATILE -g RUNTIME a.c -o a"),
        (GCC, "a.c b.o -lm -o a", "THREAD VOLATILE -g RUNTIME a.c b.o -lm -o a"),
        (GCC, "-shared -fPIC a.o -o liba.so", "THREAD VOLATILE RUNTIME -shared -fPIC a.o -o liba.so"),
        (GCC, "-r a.o b.o -o c.o", "THREAD VOLATILE -r a.o b.o -o c.o"),
        (GCC, "-nostdlib a.o", "THREAD VOLATILE -nostdlib a.o"),
        (GCC, "-Wl,--version", "THREAD VOLATILE RUNTIME -Wl,--version"),
        (GCC, "-fsanitize=thread a.o", "THREAD VOLATILE RUNTIME THREAD a.o"),
        (GCC, "-flto -O2 a.o", "THREAD VOLATILE RUNTIME -flto -O2 a.o"),
        (GCC, "-o -c a.o", "THREAD VOLATILE RUNTIME -o -c a.o"),
        (CLANG, "a.o -o a", "RUNTIME a.o -o a"),
        (CLANG, "a.c -o a", "XTHREAD VOLATILE -g RUNTIME a.c -o a"),
        (CLANG, "-x c++ a -x none b.o", "XTHREAD VOLATILE -g RUNTIME -x c++ a -x none b.o"),
        (CLANG, "-shared a.o -o liba.so", "RUNTIME -shared a.o -o liba.so"),
        (CLANG, "-r a.o -o b.o", "-r a.o -o b.o"),
        (CLANG, "-nostdlib a.o", "-nostdlib a.o"),
        (CLANG, "-nodefaultlibs a.c", "XTHREAD VOLATILE -g -nodefaultlibs a.c"),
        (CLANG, "-fsanitize=thread a.o", "RUNTIME a.o"),
        (CLANG, "-fsanitize=undefined,thread a.o", "RUNTIME -fsanitize=undefined a.o"),
        (CLANG, "-fsanitize=thread a.c", "XTHREAD VOLATILE -g RUNTIME a.c"),
        (CLANG, "a.c -fno-sanitize=thread", "-g RUNTIME a.c -fno-sanitize=thread"),
        (CLANG, "boot.s a.o", "-g RUNTIME boot.s a.o"),
        (CLANG, "-Wl,--version", "RUNTIME -Wl,--version"),
        // Response files are looked into and passed on.
        (GCC, "@objects.rsp -o a", "THREAD VOLATILE RUNTIME @objects.rsp -o a"),
        (GCC, "@compile.rsp", "THREAD VOLATILE -g @compile.rsp"),
        (CLANG, "@objects.rsp -o a", "RUNTIME @objects.rsp -o a"),
        (CLANG, "@thread.rsp -o a", "RUNTIME a.o -o a"),
        (GCC, "@missing.rsp", "THREAD VOLATILE RUNTIME @missing.rsp"),
        // A compiler may come with arguments of its own.
        ("ccache gcc -m64", "-c a.c", "gcc -m64 THREAD VOLATILE -g -c a.c"),
        ("/usr/bin/clang++-14", "a.cc", "XTHREAD VOLATILE -g RUNTIME a.cc"),
    ];
    for (compiler, line, expected) in table {
        let invocation = planned(compiler, line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(abbreviate(&invocation.arguments), expected, "{compiler} {line}");
        assert!(invocation.warnings.is_empty(), "{line}: {:?}", invocation.warnings);
    }
}

#[test]
fn what_cannot_work_is_said_in_one_line() {
    let link = "cannot be used: Fencepost's runtime is a shared library; link without";
    let combine = "cannot be combined with -fsanitize=thread, which Fencepost needs; build without it";
    let table = [
        (GCC, "-static a.c", format!("fencepost cc: -static {link} -static")),
        ("g++", "-static-pie a.o", format!("fencepost c++: -static-pie {link} -static-pie")),
        (CLANG, "@static.rsp", format!("fencepost cc: -static {link} -static")),
        (GCC, "-fsanitize=address -c a.c", format!("fencepost cc: -fsanitize=address {combine}")),
        (GCC, "-fsanitize=undefined,leak a.o", format!("fencepost cc: -fsanitize=leak {combine}")),
        (CLANG, "-fsanitize=memory -E a.c", format!("fencepost cc: -fsanitize=memory {combine}")),
        (
            "/opt/bin/fencepost cc",
            "a.c",
            "fencepost cc: FENCEPOST_CC names Fencepost itself: set FENCEPOST_CC to a compiler such as gcc".into(),
        ),
    ];
    for (compiler, line, expected) in table {
        assert_eq!(planned(compiler, line).unwrap_err().to_string(), expected, "{compiler} {line}");
    }
    // What is taken back does not conflict, and questions are never refused.
    assert!(planned(GCC, "-fsanitize=address -fno-sanitize=address -c a.c").is_ok());
    assert!(planned(GCC, "-fsanitize=address -fno-sanitize=all -c a.c").is_ok());
    assert!(planned(GCC, "-static --version").is_ok());
}

#[test]
fn a_static_runtime_is_refused_with_a_warning() {
    let invocation = planned(GCC, "-static-libtsan a.o -o a").unwrap();
    assert_eq!(abbreviate(&invocation.arguments), "THREAD VOLATILE RUNTIME a.o -o a");
    assert_eq!(
        invocation.warnings,
        ["fencepost cc: ignoring -static-libtsan: Fencepost replaces the runtime, which must be dynamic"]
    );
    let invocation = planned(CLANG, "-static-libsan -fsanitize=thread a.o").unwrap();
    assert_eq!(abbreviate(&invocation.arguments), "RUNTIME a.o");
}

#[test]
fn families_are_known_by_name_or_by_what_a_link_leads_to() {
    let family = |command: &str, resolved: &'static str| {
        let resolve = |_: &OsStr| (!resolved.is_empty()).then(|| PathBuf::from(resolved));
        Compiler::named(Language::C, Some(OsStr::new(command)), resolve).family
    };
    for (command, resolved, expected) in [
        ("gcc", "", Family::Gcc),
        ("x86_64-linux-gnu-gcc-12", "", Family::Gcc),
        ("clang-17", "", Family::Clang),
        ("/opt/llvm/bin/clang++", "", Family::Clang),
        ("ccache clang", "", Family::Clang),
        ("cc", "", Family::Gcc),
        ("cc", "/usr/lib/llvm-14/bin/clang", Family::Clang),
        ("cc", "/usr/bin/x86_64-linux-gnu-gcc-12", Family::Gcc),
        (" ", "", Family::Gcc),
    ] {
        assert_eq!(family(command, resolved), expected, "{command} -> {resolved}");
    }
    assert_eq!(Compiler::named(Language::Cxx, None, |_| None).words, ["g++"]);
}

#[test]
fn a_missing_compiler_is_one_line() {
    let invocation = planned("no-such-gcc", "-c a.c").unwrap();
    let error = run(&invocation);
    assert_eq!(error.to_string(), "no-such-gcc: no such compiler: install it, or name another one in FENCEPOST_CC");
}
