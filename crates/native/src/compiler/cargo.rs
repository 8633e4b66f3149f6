//! `fencepost cargo`: cargo, with the flags that instrument the crates of the target and link the runtime.

use super::{prepare_runtime_directory, runtime_by_path};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// What cargo reads first of all places where flags for rustc may be. The separator lets them contain spaces.
const ENCODED: &str = "CARGO_ENCODED_RUSTFLAGS";
const SEPARATOR: char = '\x1f';

/// The flags that instrument Rust code and link it with the runtime in `directory`.
pub fn rust_flags(directory: &Path) -> Vec<OsString> {
    let mut flags: Vec<OsString> = [
        "-Zsanitizer=thread",
        "-Zexternal-clangrt",
        "-Cunsafe-allow-abi-mismatch=sanitizer",
        "-Cllvm-args=-tsan-distinguish-volatile=1",
    ]
    .map(OsString::from)
    .to_vec();
    // Before everything else: an argument at the end would come after libc, whose functions would then be found first.
    for argument in runtime_by_path(directory) {
        let mut option = OsString::from("-Zpre-link-arg=");
        option.push(argument);
        flags.push(option);
    }
    flags
}

/// The command, with the environment in which cargo builds for Fencepost. `variable` reads the user's environment,
/// `host` is the machine's triple.
///
/// With a target named, flags go to its crates alone: build scripts and procedural macros run as always.
pub fn plan(
    arguments: &[OsString],
    directory: &Path,
    variable: impl Fn(&str) -> Option<OsString>,
    host: Option<&str>,
) -> Command {
    let mut command = Command::new(variable("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    let mut flags = OsString::new();
    let mut add = |flag: &OsStr| {
        if !flags.is_empty() {
            flags.push(SEPARATOR.to_string());
        }
        flags.push(flag);
    };
    match (variable(ENCODED), variable("RUSTFLAGS")) {
        (Some(encoded), _) if !encoded.is_empty() => add(&encoded),
        (None, Some(flags)) => flags.to_string_lossy().split_ascii_whitespace().for_each(|flag| add(OsStr::new(flag))),
        _ => {}
    }
    // What is not said otherwise: places in the source are worth their price.
    if variable("CARGO_PROFILE_RELEASE_DEBUG").is_none() {
        command.env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
    }
    rust_flags(directory).iter().for_each(|flag| add(flag));
    command.env(ENCODED, flags);
    // Sanitizers are unstable options; stable compilers take them when told that this is meant.
    command.env("RUSTC_BOOTSTRAP", "1");
    let says_target = arguments.iter().any(|a| a == "--target" || a.to_string_lossy().starts_with("--target="));
    if let Some(host) = host
        && !says_target
        && variable("CARGO_BUILD_TARGET").is_none()
    {
        command.env("CARGO_BUILD_TARGET", host);
    }
    command
}

/// Becomes cargo. Comes back only if that fails.
pub fn become_cargo(arguments: &[OsString], directory: &Path) -> io::Error {
    if let Err(error) = prepare_runtime_directory(directory) {
        return error;
    }
    let host = host_triple();
    let mut command = plan(arguments, directory, |name| std::env::var_os(name), host.as_deref());
    let error = command.exec();
    let name = command.get_program().to_string_lossy();
    io::Error::new(error.kind(), format!("cannot run {name}: {error}; CARGO names another one"))
}

/// What the compiler calls this machine.
fn host_triple() -> Option<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(command: &Command, name: &str) -> Option<String> {
        let found = command.get_envs().find(|(key, _)| *key == name)?;
        Some(found.1?.to_string_lossy().into_owned())
    }

    #[test]
    fn flags_of_the_user_come_first_and_stay_whole() {
        let user = |name: &str| (name == "RUSTFLAGS").then(|| OsString::from("-Copt-level=2  --cfg loom"));
        let command = plan(&["build".into()], Path::new("/a dir"), user, Some("x86_64-unknown-linux-gnu"));
        let flags = environment(&command, ENCODED).expect("flags");
        let flags: Vec<&str> = flags.split(SEPARATOR).collect();
        assert_eq!(flags[..3], ["-Copt-level=2", "--cfg", "loom"]);
        assert!(flags.contains(&"-Zsanitizer=thread"));
        assert!(flags.contains(&"-Zpre-link-arg=/a dir/libtsan.so.2"), "{flags:?}");
        assert_eq!(environment(&command, "CARGO_BUILD_TARGET").as_deref(), Some("x86_64-unknown-linux-gnu"));
    }

    #[test]
    fn a_target_that_the_user_names_is_kept() {
        for arguments in [&["build", "--target", "x"][..], &["build", "--target=x"]] {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            let command = plan(&arguments, Path::new("/d"), |_| None, Some("host"));
            assert_eq!(environment(&command, "CARGO_BUILD_TARGET"), None);
        }
    }
}
