//! `fencepost cargo`: cargo, with the flags that instrument the crates of the target and link the runtime.

use super::{prepare_runtime_directory, runtime_by_path, rustc};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

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
/// `host` is the machine's triple, `configured` the flags that cargo's configuration has: a variable with flags takes
/// their place.
///
/// With a target named, flags go to its crates alone: build scripts and procedural macros run as always.
pub fn plan(
    arguments: &[OsString],
    directory: &Path,
    variable: impl Fn(&str) -> Option<OsString>,
    host: Option<&str>,
    configured: &[String],
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
        (None, None) => configured.iter().for_each(|flag| add(OsStr::new(flag))),
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

/// Cargo, as it builds for Fencepost, with these arguments. It calls this program in rustc's place, which therefore
/// begins with [`stand_in_for_rustc`](super::stand_in_for_rustc).
///
/// # Errors
/// The runtime's directory cannot be made ready.
pub fn cargo(arguments: &[OsString], directory: &Path) -> io::Result<Command> {
    prepare_runtime_directory(directory)?;
    let variable = |name: &str| std::env::var_os(name);
    let host = host_triple();
    let program = variable("CARGO").unwrap_or_else(|| "cargo".into());
    let config = configuration(&program);
    let configured = configured_flags(&config, host.as_deref().unwrap_or_default());
    let mut command = plan(arguments, directory, variable, host.as_deref(), &configured);
    let wrapper = config["build"]["rustc-wrapper"].as_str();
    rustc::wrap(&mut command, &std::env::current_exe()?, wrapper, variable);
    Ok(command)
}

/// Becomes cargo. Comes back only if that fails.
pub fn become_cargo(arguments: &[OsString], directory: &Path) -> io::Error {
    let mut command = match cargo(arguments, directory) {
        Ok(command) => command,
        Err(error) => return error,
    };
    let error = command.exec();
    let name = command.get_program().to_string_lossy();
    io::Error::new(error.kind(), format!("cannot run {name}: {error}; CARGO names another one"))
}

/// What cargo's configuration files say here.
fn configuration(cargo: &OsStr) -> serde_json::Value {
    let mut command = Command::new(cargo);
    command.args(["-Zunstable-options", "config", "get", "--format", "json-value"]).env("RUSTC_BOOTSTRAP", "1");
    let output = command.stderr(Stdio::null()).output();
    output.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok()).unwrap_or_default()
}

/// The flags for rustc among that, as cargo itself would take them: those of the target, or else those of every build.
fn configured_flags(config: &serde_json::Value, host: &str) -> Vec<String> {
    let of_target = &config["target"][host]["rustflags"];
    let flags = if of_target.is_null() { &config["build"]["rustflags"] } else { of_target };
    match flags {
        // A text is a list with spaces in between.
        serde_json::Value::String(text) => text.split_ascii_whitespace().map(str::to_owned).collect(),
        list => list.as_array().into_iter().flatten().filter_map(|flag| flag.as_str().map(str::to_owned)).collect(),
    }
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
        let command =
            plan(&["build".into()], Path::new("/a dir"), user, Some("x86_64-unknown-linux-gnu"), &["--cfg=x".into()]);
        let flags = environment(&command, ENCODED).expect("flags");
        let flags: Vec<&str> = flags.split(SEPARATOR).collect();
        assert_eq!(flags[..3], ["-Copt-level=2", "--cfg", "loom"]);
        assert!(flags.contains(&"-Zsanitizer=thread"));
        // As cargo does it, a variable takes the place of configured flags.
        assert!(!flags.contains(&"--cfg=x"));
        assert!(flags.contains(&"-Zpre-link-arg=/a dir/libtsan.so.2"), "{flags:?}");
        assert_eq!(environment(&command, "CARGO_BUILD_TARGET").as_deref(), Some("x86_64-unknown-linux-gnu"));
    }

    #[test]
    fn configured_flags_are_kept() {
        let command = plan(&["build".into()], Path::new("/d"), |_| None, None, &["--cfg=x".into()]);
        let flags = environment(&command, ENCODED).expect("flags");
        assert!(flags.starts_with("--cfg=x\x1f-Zsanitizer=thread"), "{flags:?}");
    }

    #[test]
    fn a_target_that_the_user_names_is_kept() {
        for arguments in [&["build", "--target", "x"][..], &["build", "--target=x"]] {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            let command = plan(&arguments, Path::new("/d"), |_| None, Some("host"), &[]);
            assert_eq!(environment(&command, "CARGO_BUILD_TARGET"), None);
        }
    }
}
