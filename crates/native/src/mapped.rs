//! Files that are looked at for a moment, without copying them: only the pages that are looked at are read.

use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

/// The bytes of a file.
pub(crate) struct Mapped(Option<Mmap>);

impl Mapped {
    /// Maps a file. It must not be kept: whoever shortens the file meanwhile ends this process.
    pub(crate) fn open(path: &Path) -> io::Result<Mapped> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Mapped(None));
        }
        // SAFETY: executables and libraries, which are replaced and not written to while somebody runs them; the loader
        // maps them in the same way. Their bytes are data here, whatever they are.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Mapped(Some(map)))
    }
}

impl Deref for Mapped {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
