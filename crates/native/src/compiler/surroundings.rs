//! What a compilation depends on besides the file: the directory, and the variables that add options or name compilers.
//!
//! A recorded execution has these in it, so that the same program can be made again elsewhere. A recording may come
//! from a stranger: what it says about compilers is taken only where it cannot make them run anything.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The variables that matter.
const VARIABLES: [&str; 8] =
    ["CFLAGS", "CXXFLAGS", "LDFLAGS", "LDLIBS", "RUSTFLAGS", "FENCEPOST_CC", "FENCEPOST_CXX", "RUSTC"];

/// Where and how a file is compiled.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Surroundings {
    /// The directory, if it is not that of this process.
    pub directory: Option<PathBuf>,
    /// The variables that are set.
    pub variables: BTreeMap<String, String>,
}

impl Surroundings {
    /// Those of this process.
    pub fn from_environment() -> Surroundings {
        let value = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let variables = VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?)));
        Surroundings { directory: None, variables: variables.collect() }
    }

    /// Those that a recording names.
    ///
    /// # Errors
    /// It names something that is not taken from a file: an option that may run code, or a compiler by its path. The
    /// message says what to set by hand.
    pub fn recorded(directory: Option<PathBuf>, variables: &BTreeMap<String, String>) -> Result<Surroundings, String> {
        let here = Surroundings::from_environment();
        for (name, value) in variables {
            // Whoever has set the same trusts it.
            if here.variables.get(name) == Some(value) {
                continue;
            }
            let harmless = match name.as_str() {
                "FENCEPOST_CC" | "FENCEPOST_CXX" | "RUSTC" => is_compiler(value),
                "RUSTFLAGS" => value.split_ascii_whitespace().all(is_harmless_to_rustc),
                _ if VARIABLES.contains(&name.as_str()) => value.split_ascii_whitespace().all(is_harmless),
                _ => false,
            };
            if !harmless {
                return Err(format!("it was compiled with {name}={value}: set that yourself if you trust it"));
            }
        }
        Ok(Surroundings { directory, variables: variables.clone() })
    }

    /// The words of a variable.
    pub(super) fn words(&self, variable: &str) -> Vec<std::ffi::OsString> {
        let value = self.variables.get(variable).map_or("", String::as_str);
        value.split_ascii_whitespace().map(Into::into).collect()
    }
}

/// A usual compiler, to be found on the path.
fn is_compiler(command: &str) -> bool {
    let usual = ["gcc", "g++", "clang", "clang++", "cc", "c++", "rustc"];
    let (name, version) = command.split_once('-').unwrap_or((command, ""));
    usual.contains(&name) && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// An option of C compilers that selects what code is made, and neither runs nor writes anything.
fn is_harmless(option: &str) -> bool {
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_+.".contains(&byte));
    let rest = |list: &[&str]| list.iter().find_map(|start| option.strip_prefix(start));
    if rest(&["-D", "-U", "-I"]).is_some() || ["-w", "-pthread"].contains(&option) {
        return true;
    }
    // Before those that begin like them. With a value, others name files, plugins or commands.
    if let Some(value) = rest(&["-std=", "-march=", "-mtune="]) {
        return plain(value);
    }
    let others = ["plugin", "llvm", "profile", "dump", "save", "trace", "opt-info"];
    let known = rest(&["-O", "-g", "-l", "-f", "-m", "-W"]);
    known.is_some_and(plain) && !others.iter().any(|other| option.contains(other))
}

/// The same for rustc.
fn is_harmless_to_rustc(option: &str) -> bool {
    let starts = |list: &[&str]| list.iter().any(|start| option.starts_with(start));
    starts(&["--cfg=", "--edition=", "-Copt-level=", "-Cdebug-assertions=", "-Coverflow-checks=", "-O", "-g"])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of those that are refused makes the compiler, or the linker, load or run something.
    #[test]
    fn a_recording_cannot_make_a_compiler_run_anything() {
        for option in ["-DN=3", "-DF(a,b)=a", "-O2", "-std=c++20", "-fno-inline", "-march=native", "-Iinclude", "-lm"] {
            assert!(is_harmless(option), "{option}");
        }
        for option in
            ["-fplugin=./x.so", "-wrapper", "./x", "@options", "-Wl,-plugin,x", "-B.", "-specs=x", "-Xlinker", "-L."]
        {
            assert!(!is_harmless(option), "{option}");
        }
        for option in
            ["-fpass-plugin=x.so", "-mllvm", "-load=x.so", "-fmodule-mapper=|x", "-fuse-ld=./x", "-fdump-tree-all"]
        {
            assert!(!is_harmless(option), "{option}");
        }
        assert!(is_compiler("gcc-12") && is_compiler("clang") && is_compiler("rustc"));
        assert!(!is_compiler("./gcc") && !is_compiler("sh -c gcc") && !is_compiler("gcc-x"));
        assert!(is_harmless_to_rustc("-Copt-level=3") && !is_harmless_to_rustc("-Clinker=./x"));
    }

    #[test]
    fn what_a_recording_may_not_say_is_named() {
        let variables = |value: &str| BTreeMap::from([("CFLAGS".to_owned(), value.to_owned())]);
        assert!(Surroundings::recorded(None, &variables("-DN=2 -O2")).is_ok());
        let refused = Surroundings::recorded(None, &variables("-fplugin=./x.so")).expect_err("it runs code");
        assert_eq!(refused, "it was compiled with CFLAGS=-fplugin=./x.so: set that yourself if you trust it");
    }
}
