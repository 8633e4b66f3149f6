//! The runtime, as it travels inside the command.

use crate::compiler::prepare_runtime_directory;
use crate::host::find_runtime;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The library itself.
static RUNTIME: &[u8] = include_bytes!(env!("FENCEPOST_EMBEDDED_RUNTIME"));

/// What programs under test may include.
static HEADERS: [(&str, &str); 2] = [
    ("fencepost.h", include_str!("../include/fencepost.h")),
    ("fencepost.rs", include_str!("../include/fencepost.rs")),
];

/// The name under which programs look for it.
pub const NAME: &str = crate::compiler::RUNTIME;

/// A directory that holds the runtime as `libtsan.so.2`: the one that `FENCEPOST_RUNTIME` names, or the user's cache,
/// into which it is unpacked on first use. Programs linked by `fencepost cc` refer to it, so that it stays.
pub fn runtime_directory() -> io::Result<PathBuf> {
    if std::env::var_os("FENCEPOST_RUNTIME").is_some()
        && let Some(path) = find_runtime()
    {
        let directory = cache_directory().join("named");
        install(&directory, &fs::read(path)?)?;
        return Ok(directory);
    }
    let directory = cache_directory().join(format!("{:016x}", fingerprint(RUNTIME)));
    install(&directory, RUNTIME)?;
    Ok(directory)
}

/// Puts the library into `directory`, unless it is there. Another process may be doing the same: the file appears
/// whole or not at all.
fn install(directory: &Path, library: &[u8]) -> io::Result<()> {
    let path = directory.join(NAME);
    if fs::metadata(&path).is_ok_and(|file| file.len() == library.len() as u64)
        && fs::read(&path).is_ok_and(|there| there == library)
    {
        install_headers(directory)?;
        return prepare_runtime_directory(directory);
    }
    fs::create_dir_all(directory)?;
    place(&path, library, 0o755)?;
    install_headers(directory)?;
    prepare_runtime_directory(directory)
}

fn install_headers(directory: &Path) -> io::Result<()> {
    let directory = include_directory(directory);
    fs::create_dir_all(&directory)?;
    for (name, text) in HEADERS {
        let path = directory.join(name);
        if !fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
            place(&path, text.as_bytes(), 0o644)?;
        }
    }
    Ok(())
}

/// Where the headers are, beside the runtime.
pub fn include_directory(runtime_directory: &Path) -> PathBuf {
    runtime_directory.join("include")
}

/// Writes a file that appears whole or not at all.
fn place(path: &Path, contents: &[u8], mode: u32) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(contents)?;
    // A temporary file is its owner's alone; these are everybody's.
    fs::set_permissions(file.path(), fs::Permissions::from_mode(mode))?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn cache_directory() -> PathBuf {
    let named = |variable: &str| std::env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("fencepost")
}

/// FNV-1a: tells versions apart; nothing depends on it being hard to forge.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
