//! What a compiler's command line asks for: the questions that the wrapper has about it, answered once.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// How far the compiler goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// It answers a question and does nothing.
    Query,
    /// It stops after preprocessing or checking (`-E`, `-M`, `-fsyntax-only`).
    Preprocess,
    /// It makes assembler, object or precompiled header files (`-S`, `-c`).
    Compile,
    /// It links.
    Link,
}

/// Did the user say whether there is to be debug information?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Debug {
    Unsaid,
    Said,
}

/// A command line, understood.
#[derive(Debug)]
pub(super) struct Arguments {
    /// The arguments, with response files replaced by what is in them.
    expanded: Vec<OsString>,
    pub(super) stage: Stage,
    /// There is C, C++ or the like to compile.
    pub(super) compiles: bool,
    /// There is assembler to assemble.
    pub(super) assembles: bool,
    pub(super) debug: Debug,
    /// `-fsanitize=thread` is there and not taken back.
    pub(super) asks_for_thread_sanitizer: bool,
    /// `-fno-sanitize=thread` has the last word.
    pub(super) forbids_thread_sanitizer: bool,
    /// A sanitizer that cannot be combined with ThreadSanitizer.
    pub(super) conflicting_sanitizer: Option<String>,
    /// The option that asks for a static program.
    pub(super) static_link: Option<String>,
    /// The option that asks for a static sanitizer runtime.
    pub(super) static_runtime: Option<String>,
    /// The compiler's own libraries are linked (not `-r`, `-nostdlib`, `-nodefaultlibs`).
    pub(super) links_default_libraries: bool,
    /// The user sets clang's option on volatile accesses, which may be given only once.
    pub(super) distinguishes_volatile: bool,
    /// The user sets clang's option on loads before stores to the same place, which may be given only once, too.
    pub(super) announces_reads: bool,
}

impl Arguments {
    pub(super) fn parse(arguments: &[OsString], read: &dyn Fn(&Path) -> Option<Vec<u8>>) -> Arguments {
        let mut expanded = Vec::new();
        expand(arguments, read, 0, &mut expanded);
        let mut scan = Scan::default();
        let mut rest = expanded.iter();
        while let Some(argument) = rest.next() {
            let text = argument.to_string_lossy();
            let value = takes_value(&text).then(|| rest.next()).flatten();
            scan.argument(&text, value.map(|value| value.to_string_lossy()).as_deref());
        }
        Arguments {
            stage: scan.stage(),
            compiles: scan.compiles || scan.headers,
            assembles: scan.assembles,
            debug: scan.debug,
            asks_for_thread_sanitizer: scan.sanitizers.iter().any(|name| name == "thread"),
            forbids_thread_sanitizer: scan.forbids_thread,
            conflicting_sanitizer: scan.sanitizers.iter().find(|name| conflicts(name)).cloned(),
            static_link: scan.static_link,
            static_runtime: scan.static_runtime,
            links_default_libraries: !scan.no_default_libraries,
            distinguishes_volatile: scan.distinguishes_volatile,
            announces_reads: scan.announces_reads,
            expanded,
        }
    }

    /// The arguments without those that are unwanted.
    pub(super) fn without(&self, unwanted: impl Fn(&OsStr) -> bool) -> Vec<OsString> {
        self.expanded.iter().filter(|argument| !unwanted(argument)).cloned().collect()
    }

    /// The arguments without `thread` in `-fsanitize=`, and without one more option.
    pub(super) fn without_thread_sanitizer(&self, also: Option<&str>) -> Vec<OsString> {
        let mut kept = Vec::new();
        for argument in self.expanded.iter().filter(|argument| also.is_none_or(|also| *argument != also)) {
            let text = argument.to_string_lossy();
            match text.strip_prefix("-fsanitize=") {
                Some(list) => {
                    let others: Vec<&str> = list.split(',').filter(|name| *name != "thread").collect();
                    if !others.is_empty() {
                        kept.push(format!("-fsanitize={}", others.join(",")).into());
                    }
                }
                None => kept.push(argument.clone()),
            }
        }
        kept
    }
}

/// What has been seen so far, from left to right.
struct Scan {
    question: bool,
    /// The earliest of the stages that options stop at.
    stop: Stage,
    inputs: bool,
    /// There is something for the linker, if only an option.
    for_linker: bool,
    compiles: bool,
    assembles: bool,
    headers: bool,
    others: bool,
    /// `-x`, if it is in force.
    language: Option<String>,
    debug: Debug,
    sanitizers: Vec<String>,
    forbids_thread: bool,
    static_link: Option<String>,
    static_runtime: Option<String>,
    no_default_libraries: bool,
    distinguishes_volatile: bool,
    announces_reads: bool,
}

impl Default for Scan {
    fn default() -> Scan {
        Scan {
            question: false,
            stop: Stage::Link,
            inputs: false,
            for_linker: false,
            compiles: false,
            assembles: false,
            headers: false,
            others: false,
            language: None,
            debug: Debug::Unsaid,
            sanitizers: Vec::new(),
            forbids_thread: false,
            static_link: None,
            static_runtime: None,
            no_default_libraries: false,
            distinguishes_volatile: false,
            announces_reads: false,
        }
    }
}

impl Scan {
    fn argument(&mut self, text: &str, value: Option<&str>) {
        match text {
            "-E" | "-M" | "-MM" | "-fsyntax-only" => self.stop = Stage::Preprocess,
            "-c" | "-S" | "-emit-llvm" | "--precompile" if self.stop == Stage::Link => self.stop = Stage::Compile,
            "-x" | "--language" => self.set_language(value.unwrap_or("none")),
            "-static" | "--static" | "-static-pie" => self.static_link = Some(text.to_owned()),
            "-static-libtsan" | "-static-libsan" => self.static_runtime = Some(text.to_owned()),
            "-r" | "-nostdlib" | "-nodefaultlibs" => self.no_default_libraries = true,
            "-mllvm" => {
                self.distinguishes_volatile |= value.is_some_and(|v| v.contains("tsan-distinguish-volatile"));
                self.announces_reads |= value.is_some_and(|v| v.contains("tsan-instrument-read-before-write"));
            }
            "-Xlinker" | "-l" => self.for_linker = true,
            "-" => self.input("-"),
            _ if is_question(text) => self.question = true,
            _ if text.starts_with("-Wl,") || text.starts_with("-l") => self.for_linker = true,
            _ if sets_debug(text) => self.debug = Debug::Said,
            _ => {
                if let Some(language) = text.strip_prefix("-x") {
                    self.set_language(language);
                } else if let Some(list) = text.strip_prefix("-fsanitize=") {
                    self.sanitize(list);
                } else if let Some(list) = text.strip_prefix("-fno-sanitize=") {
                    self.do_not_sanitize(list);
                } else if !text.starts_with('-') {
                    self.input(text);
                }
            }
        }
    }

    fn set_language(&mut self, language: &str) {
        self.language = (language != "none").then(|| language.to_owned());
    }

    fn sanitize(&mut self, list: &str) {
        for name in list.split(',') {
            self.forbids_thread &= name != "thread";
            self.sanitizers.push(name.to_owned());
        }
    }

    fn do_not_sanitize(&mut self, list: &str) {
        for name in list.split(',') {
            self.forbids_thread |= name == "thread" || name == "all";
            self.sanitizers.retain(|known| name != "all" && known != name);
        }
    }

    fn input(&mut self, file: &str) {
        self.inputs = true;
        match kind(file, self.language.as_deref()) {
            Input::Source => self.compiles = true,
            Input::Header => self.headers = true,
            Input::Assembler => self.assembles = true,
            Input::Other => self.others = true,
        }
    }

    fn stage(&self) -> Stage {
        if self.question || !(self.inputs || self.for_linker) {
            return Stage::Query;
        }
        // Headers by themselves are precompiled, not linked.
        let only_headers = self.headers && !self.compiles && !self.assembles && !self.others;
        if self.stop == Stage::Link && only_headers { Stage::Compile } else { self.stop }
    }
}

/// What the compiler does with an input.
enum Input {
    Source,
    Header,
    Assembler,
    /// The linker gets it.
    Other,
}

fn kind(file: &str, language: Option<&str>) -> Input {
    match language {
        Some("assembler" | "assembler-with-cpp") => return Input::Assembler,
        Some(language) if language.ends_with("header") => return Input::Header,
        Some(_) => return Input::Source,
        None => {}
    }
    match Path::new(file).extension().and_then(OsStr::to_str) {
        Some("s" | "S" | "sx") => Input::Assembler,
        Some(
            "c" | "i" | "ii" | "cc" | "cp" | "cxx" | "cpp" | "CPP" | "c++" | "C" | "m" | "mi" | "mm" | "M" | "mii",
        )
        | Some("cppm" | "ixx" | "bc" | "ll") => Input::Source,
        Some("h" | "H" | "hh" | "hp" | "hxx" | "hpp" | "HPP" | "h++" | "tcc") => Input::Header,
        _ => Input::Other,
    }
}

/// Does the option take the next argument as its value? Those of gcc and clang that are written apart.
fn takes_value(option: &str) -> bool {
    matches!(
        option,
        "-o" | "-x"
            | "-I"
            | "-L"
            | "-l"
            | "-D"
            | "-U"
            | "-A"
            | "-B"
            | "-F"
            | "-G"
            | "-T"
            | "-u"
            | "-z"
            | "-e"
            | "-MF"
            | "-MT"
            | "-MQ"
            | "-MJ"
            | "-include"
            | "-imacros"
            | "-include-pch"
            | "-isystem"
            | "-iquote"
            | "-idirafter"
            | "-iprefix"
            | "-iwithprefix"
            | "-iwithprefixbefore"
            | "-isysroot"
            | "-imultilib"
            | "-imultiarch"
            | "-cxx-isystem"
            | "-Xlinker"
            | "-Xassembler"
            | "-Xpreprocessor"
            | "-Xclang"
            | "-Xopenmp-target"
            | "-Xanalyzer"
            | "-mllvm"
            | "-plugin"
            | "--param"
            | "--sysroot"
            | "--language"
            | "--output"
            | "-aux-info"
            | "-auxbase"
            | "-dumpbase"
            | "-dumpbase-ext"
            | "-dumpdir"
            | "-wrapper"
            | "-target"
            | "-arch"
            | "-gcc-toolchain"
            | "-framework"
            | "-rpath"
            | "-serialize-diagnostics"
            | "--serialize-diagnostics"
            | "-dependency-file"
    )
}

/// Options that make the compiler answer and stop.
fn is_question(option: &str) -> bool {
    matches!(option, "--version" | "--help" | "--target-help" | "-cc1" | "-cc1as" | "-cc1gen-reproducer")
        || option.starts_with("--help=")
        || ["-dumpversion", "-dumpfullversion", "-dumpmachine", "-dumpspecs"].contains(&option)
        || option.starts_with("-print-")
        || option.starts_with("--print-")
}

/// Options that decide whether there is debug information. Others that begin like them only say how (`-gz`,
/// `-gdwarf64`, `-gsplit-dwarf` since gcc 11 and clang 12).
fn sets_debug(option: &str) -> bool {
    let Some(rest) = option.strip_prefix("-g") else { return option == "--debug" };
    let dwarf =
        |version: &str| version.is_empty() || version.strip_prefix('-').is_some_and(|v| v.parse::<u8>().is_ok());
    matches!(rest, "" | "0" | "1" | "2" | "3" | "full" | "used" | "mlt" | "line-tables-only" | "line-directives-only")
        || rest.strip_prefix("dwarf").is_some_and(dwarf)
        || ["gdb", "stabs", "xcoff", "coff", "vms", "codeview"].iter().any(|kind| rest.starts_with(kind))
}

/// The sanitizers that gcc or clang refuse together with ThreadSanitizer.
fn conflicts(sanitizer: &str) -> bool {
    matches!(
        sanitizer,
        "address"
            | "kernel-address"
            | "pointer-compare"
            | "pointer-subtract"
            | "hwaddress"
            | "kernel-hwaddress"
            | "leak"
            | "memory"
            | "kernel-memory"
            | "dataflow"
            | "safe-stack"
            | "scudo"
            | "memtag"
            | "numerical"
            | "type"
            | "realtime"
    )
}

/// Replaces `@file` by the arguments in the file, which may name further ones. A file that cannot be read is an
/// argument like any other, as for gcc.
fn expand(arguments: &[OsString], read: &dyn Fn(&Path) -> Option<Vec<u8>>, depth: usize, expanded: &mut Vec<OsString>) {
    // Files that name each other have no end: gcc gives up too.
    const DEEPEST: usize = 64;
    for argument in arguments {
        let file = argument.as_bytes().strip_prefix(b"@").filter(|_| depth < DEEPEST);
        match file.and_then(|file| read(Path::new(OsStr::from_bytes(file)))) {
            Some(contents) => expand(&split(&contents), read, depth + 1, expanded),
            None => expanded.push(argument.clone()),
        }
    }
}

/// Splits the contents of a response file: at white space, with quotes of both kinds, a backslash before any character.
fn split(contents: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = contents.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                let escaped = bytes.next();
                word.get_or_insert_default().extend(escaped);
            }
            _ if quote == Some(byte) => quote = None,
            b'\'' | b'"' if quote.is_none() => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            _ if quote.is_none() && byte.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_files_are_split_as_gcc_does() {
        let words = split(b" a.o\t'b c.o'\n\"d \\\" e\" f\\ g '' -DX='\"s\"'\n");
        assert_eq!(words, ["a.o", "b c.o", "d \" e", "f g", "", "-DX=\"s\""]);
        assert!(split(b" \n").is_empty());
    }

    #[test]
    fn response_files_nest_and_missing_ones_stay() {
        let read = |path: &Path| match path.to_str() {
            Some("outer") => Some(b"-c @inner @missing".to_vec()),
            Some("inner") => Some(b"a.c".to_vec()),
            Some("endless") => Some(b"@endless".to_vec()),
            _ => None,
        };
        let mut expanded = Vec::new();
        expand(&["@outer".into(), "@endless".into()], &read, 0, &mut expanded);
        assert_eq!(expanded, ["-c", "a.c", "@missing", "@endless"]);
    }
}
