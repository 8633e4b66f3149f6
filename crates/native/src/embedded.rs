//! The runtime, as it travels inside the command.

use crate::compiler::prepare_runtime_directory;
use crate::host::find_runtime;
use crate::mapped::Mapped;
use flate2::read::DeflateDecoder;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The library itself, compressed.
static PACKED: &[u8] = include_bytes!(env!("FENCEPOST_PACKED_RUNTIME"));

/// The SHA-256 of the library, in hexadecimal.
const DIGEST: &str = env!("FENCEPOST_RUNTIME_DIGEST");

/// What programs under test may include.
static HEADERS: [(&str, &str); 2] = [
    ("fencepost.h", include_str!("../include/fencepost.h")),
    ("fencepost.rs", include_str!("../include/fencepost.rs")),
];

/// The name under which programs look for it.
pub const NAME: &str = crate::compiler::RUNTIME;

/// A directory that holds the runtime as `libtsan.so.2`: the one that `FENCEPOST_RUNTIME` names, or the user's cache,
/// into which it is unpacked on first use. Programs linked by `fencepost cc` refer to it, so that it stays.
///
/// What lies there is loaded into programs: the directory must be the user's own, and the file what this command
/// would write there itself.
pub fn runtime_directory() -> io::Result<PathBuf> {
    let cache = own_directory(cache_directory())?;
    if std::env::var_os("FENCEPOST_RUNTIME").is_some()
        && let Some(path) = find_runtime()
    {
        let library = fs::read(path)?;
        // Somebody else may name another one at the same time.
        let directory = cache.join(&digest(&library)[..16]);
        install(&directory, |there| there == library, || Ok(library.clone()))?;
        return Ok(directory);
    }
    let directory = cache.join(&DIGEST[..16]);
    install(&directory, |there| digest(there) == DIGEST, unpack)?;
    Ok(directory)
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unpack() -> io::Result<Vec<u8>> {
    let mut library = Vec::new();
    DeflateDecoder::new(PACKED).read_to_end(&mut library)?;
    Ok(library)
}

/// Puts the library into `directory`, unless it is there. Another process may be doing the same: the file appears
/// whole or not at all.
fn install(
    directory: &Path,
    is_right: impl Fn(&[u8]) -> bool,
    library: impl FnOnce() -> io::Result<Vec<u8>>,
) -> io::Result<()> {
    let path = directory.join(NAME);
    if !Mapped::open(&path).is_ok_and(|there| is_right(&there)) {
        fs::create_dir_all(directory)?;
        place(&path, &library()?, 0o755)?;
    }
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
    let user = rustix::process::geteuid().as_raw();
    base.map_or_else(|| std::env::temp_dir().join(format!("fencepost-{user}")), |base| base.join("fencepost"))
}

/// Makes the directory for this user alone, or sees to it that nobody else can write there.
fn own_directory(directory: PathBuf) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
    let is = fs::symlink_metadata(&directory)?;
    let why = if !is.is_dir() {
        "is not a directory"
    } else if is.uid() != rustix::process::geteuid().as_raw() {
        "belongs to somebody else"
    } else if is.mode() & 0o022 != 0 {
        "can be written by others"
    } else {
        return Ok(directory);
    };
    let text =
        format!("{} {why}: programs load what lies there (XDG_CACHE_HOME names another place)", directory.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}
