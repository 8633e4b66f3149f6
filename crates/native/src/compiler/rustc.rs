//! rustc, as cargo is to see it: build scripts do not learn that code is instrumented.
//!
//! Crates ask in their build scripts whether ThreadSanitizer watches (`CARGO_CFG_SANITIZE`), because it does not
//! understand fences, and then are compiled to something else than what is shipped. Here fences are understood, and
//! what is shipped is to be tested. Cargo takes what it tells build scripts from `rustc --print=cfg`: so it is given a
//! wrapper for rustc, which is this program itself, and which leaves that line out.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// How cargo finds a wrapper, in the order in which it looks.
const WRAPPER: [&str; 2] = ["RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER"];
/// Says to this program that it may be the wrapper, and holds the user's own, which is empty if there is none.
const INNER: &str = "FENCEPOST_RUSTC_WRAPPER";

/// Has cargo, when `command` runs it, call `this` program in rustc's place. `configured` is the wrapper that cargo's
/// configuration names.
pub fn wrap(command: &mut Command, this: &Path, configured: Option<&str>, variable: impl Fn(&str) -> Option<OsString>) {
    // Where this runs inside of another one, the user's is known already.
    let named = variable(INNER).or_else(|| WRAPPER.into_iter().find_map(&variable));
    let users = named.or_else(|| configured.map(OsString::from));
    command.env(INNER, users.unwrap_or_default()).env(WRAPPER[0], this);
}

/// Called by cargo in rustc's place? Then does what rustc does, and says how that ended. To be asked first of all.
pub fn stand_in_for_rustc() -> Option<ExitCode> {
    let inner = std::env::var_os(INNER)?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Programs that cargo starts inherit the variable, too; but no command of theirs is called like this.
    let rustc = arguments.first().filter(|first| is_compiler(first))?;
    let mut command = if inner.is_empty() { Command::new(rustc) } else { Command::new(&inner) };
    command.args(&arguments[usize::from(inner.is_empty())..]);
    Some(match run(&mut command, arguments.iter().any(|argument| argument == "--print=cfg")) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("fencepost: cannot run {}: {error}", command.get_program().to_string_lossy());
            ExitCode::from(2)
        }
    })
}

/// The path of a compiler, or its name.
fn is_compiler(argument: &OsStr) -> bool {
    let path = Path::new(argument);
    path.components().count() > 1 || path.file_stem() == Some(OsStr::new("rustc"))
}

fn run(command: &mut Command, prints_cfg: bool) -> io::Result<ExitCode> {
    if !prints_cfg {
        return Err(command.exec());
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    io::stdout().write_all(&without_sanitizer(&output.stdout))?;
    // A compiler that is killed has failed.
    let status = output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(status).unwrap_or(1)))
}

/// What `rustc --print=cfg` prints, but for the sanitizer that is Fencepost's.
fn without_sanitizer(printed: &[u8]) -> Vec<u8> {
    printed
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.trim_ascii() != b"sanitize=\"thread\"")
        .flatten()
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_is_left_out() {
        let printed = b"panic=\"unwind\"\nsanitize=\"thread\"\ntarget_arch=\"x86_64\"\n";
        assert_eq!(without_sanitizer(printed), b"panic=\"unwind\"\ntarget_arch=\"x86_64\"\n");
    }

    #[test]
    fn subcommands_are_no_compilers() {
        assert!(
            ["rustc", "/bin/rustc", "toolchain/bin/clippy-driver"].iter().all(|name| is_compiler(OsStr::new(name)))
        );
        assert!(["test", "check", "fencepost", "--help"].iter().all(|name| !is_compiler(OsStr::new(name))));
    }

    #[test]
    fn the_wrapper_of_the_user_is_kept() {
        let mut command = Command::new("cargo");
        let of = |command: &Command, name: &str| {
            command.get_envs().find(|(key, _)| *key == name).and_then(|(_, value)| value.map(OsStr::to_owned))
        };
        let this = Path::new("/bin/fencepost");
        wrap(&mut command, this, Some("other"), |name| (name == WRAPPER[0]).then(|| "sccache".into()));
        assert_eq!(of(&command, WRAPPER[0]).as_deref(), Some(this.as_os_str()));
        assert_eq!(of(&command, INNER).as_deref(), Some(OsStr::new("sccache")));
        wrap(&mut command, this, Some("other"), |_| None);
        assert_eq!(of(&command, INNER).as_deref(), Some(OsStr::new("other")));
    }
}
