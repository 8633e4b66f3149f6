//! Where the debug information of a module is: in it, or in a file beside it.
//!
//! The search follows gdb: by build id under the global debug directory, then by `.gnu_debuglink` next to the module,
//! in `.debug/`, and under the global directory. What debuginfod has downloaded is used, nothing is downloaded.

use crate::image::hex;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ReadCache};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const GLOBAL: &str = "/usr/lib/debug";

/// The files that hold a module's debug information.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DebugFiles {
    /// The file with the DWARF sections: the module itself where nothing better was found.
    pub(crate) main: PathBuf,
    /// What `dwz` moved out of several files into a common one (`.gnu_debugaltlink`).
    pub(crate) supplementary: Option<PathBuf>,
}

/// Finds the debug information of a module.
pub(crate) fn locate(module: &Path) -> DebugFiles {
    let main = separate(module).unwrap_or_else(|| module.to_owned());
    let supplementary = supplementary(&main);
    DebugFiles { main, supplementary }
}

/// The file with the debug information, if that is not the module and can be found.
fn separate(module: &Path) -> Option<PathBuf> {
    let cache = ReadCache::new(File::open(module).ok()?);
    let file = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    if file.has_debug_symbols() {
        return None;
    }
    let id = file.build_id().ok()?.map(<[u8]>::to_vec);
    let link = file.gnu_debuglink().ok()?.map(|(name, crc)| (OsStr::from_bytes(name).to_owned(), crc));
    if let Some(found) = id.as_deref().and_then(by_build_id) {
        return Some(found);
    }
    let (name, crc) = link?;
    let directory = fs::canonicalize(module).ok()?.parent()?.to_owned();
    let candidates = [
        directory.join(&name),
        directory.join(".debug").join(&name),
        Path::new(GLOBAL).join(directory.strip_prefix("/").ok()?).join(&name),
    ];
    // A stale file would give wrong lines with full confidence: it must be of this very build.
    candidates.into_iter().find(|candidate| match (&id, build_id(candidate)) {
        (Some(wanted), Some(found)) => *wanted == found,
        _ => crc_of(candidate) == Some(crc),
    })
}

fn supplementary(main: &Path) -> Option<PathBuf> {
    let cache = ReadCache::new(File::open(main).ok()?);
    let file = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    let (name, id) = file.gnu_debugaltlink().ok()??;
    let beside = main.parent()?.join(OsStr::from_bytes(name));
    Some(beside).filter(|path| build_id(path).as_deref() == Some(id)).or_else(|| by_build_id(id))
}

fn by_build_id(id: &[u8]) -> Option<PathBuf> {
    let name = hex(id);
    let (first, rest) = name.split_at_checked(2)?;
    let installed = Path::new(GLOBAL).join(".build-id").join(first).join(format!("{rest}.debug"));
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    let downloaded = cache.map(|cache| cache.join("debuginfod_client").join(&name).join("debuginfo"));
    [Some(installed), downloaded].into_iter().flatten().find(|path| build_id(path).as_deref() == Some(id))
}

fn build_id(path: &Path) -> Option<Vec<u8>> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let file = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    file.build_id().ok()?.map(<[u8]>::to_vec)
}

/// The checksum that `.gnu_debuglink` uses: CRC-32 as in zip.
fn crc_of(path: &Path) -> Option<u32> {
    let mut file = File::open(path).ok()?;
    let mut buffer = vec![0; 1 << 16];
    let mut crc = Crc::new();
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(crc.finish()),
            length => crc.update(&buffer[..length]),
        }
    }
}

struct Crc {
    table: [u32; 256],
    state: u32,
}

impl Crc {
    fn new() -> Crc {
        let table = std::array::from_fn(|index| {
            (0..8).fold(index as u32, |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
        });
        Crc { table, state: !0 }
    }

    fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.state = self.table[usize::from(self.state as u8 ^ byte)] ^ self.state >> 8;
        }
    }

    fn finish(self) -> u32 {
        !self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_zip() {
        let mut crc = Crc::new();
        crc.update(b"12345");
        crc.update(b"6789");
        // The check value that the CRC catalogue gives for CRC-32/ISO-HDLC.
        assert_eq!(crc.finish(), 0xcbf4_3926);
    }
}
