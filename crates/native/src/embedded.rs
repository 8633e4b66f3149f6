//! The runtime, as it travels inside the command.

use crate::compiler::prepare_runtime_directory;
use crate::host::find_runtime;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The library itself.
static RUNTIME: &[u8] = include_bytes!(env!("FENCEPOST_EMBEDDED_RUNTIME"));

/// The name under which programs look for it.
pub const NAME: &str = crate::compiler::RUNTIME;

/// A directory that holds the runtime as `libtsan.so.2`: the one that `FENCEPOST_RUNTIME` names, or the user's cache, into
/// which it is unpacked on first use. Programs linked by `fencepost cc` refer to it, so that it stays.
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

/// Puts the library into `directory`, unless it is there. Another process may be doing the same: the file appears whole or
/// not at all.
fn install(directory: &Path, library: &[u8]) -> io::Result<()> {
    let path = directory.join(NAME);
    if fs::metadata(&path).is_ok_and(|file| file.len() == library.len() as u64)
        && fs::read(&path).is_ok_and(|there| there == library)
    {
        return prepare_runtime_directory(directory);
    }
    fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(library)?;
    // A temporary file is its owner's alone; a library is everybody's.
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o755))?;
    file.persist(&path).map_err(|error| error.error)?;
    prepare_runtime_directory(directory)
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
