//! A target is looked at before it is run: what it is, whether Fencepost can control it, and if not, what to do.
//!
//! ```no_run
//! use fencepost_native::elf;
//! use std::path::Path;
//!
//! match elf::inspect(Path::new("./queue")) {
//!     Ok(target) => {
//!         for library in target.uninstrumented_libraries() {
//!             eprintln!("{} is not instrumented", library.name);
//!         }
//!     }
//!     Err(error) => eprintln!("{error}"), // one line: what is wrong and what to do
//! }
//! ```

use crate::image::{Header, Image, Kind, hex};
use crate::libraries::{self, Library, Role, SearchPath};
use object::{Object as _, ObjectSection as _};
use sha2::{Digest as _, Sha256};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

pub use crate::image::Architecture;

/// A program that Fencepost can run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The executable, as an absolute path. Symbolic links are kept: programs look at their own name.
    pub path: PathBuf,
    /// SHA-256 of what is loaded of the file, in hexadecimal: a replay compares it to notice a changed program.
    pub digest: String,
    /// The linker's build id, in hexadecimal, if it wrote one.
    pub build_id: Option<String>,
    /// Does it run at any address? If not, offsets in it are addresses.
    pub position_independent: bool,
    /// The name under which it asks for the ThreadSanitizer runtime (`libtsan.so.2`). `None`: it calls the runtime but
    /// does not name it, and the runtime must be preloaded.
    pub runtime: Option<String>,
    /// The libraries that it loads, in the loader's order.
    pub libraries: Vec<Library>,
}

impl Target {
    /// The libraries whose accesses Fencepost does not see, other than those of the language itself.
    pub fn uninstrumented_libraries(&self) -> impl Iterator<Item = &Library> {
        self.libraries.iter().filter(|library| library.role == Role::Program && !library.instrumented)
    }

    /// The files whose code is the program's own: the executable and its instrumented libraries.
    pub fn own_modules(&self) -> impl Iterator<Item = &Path> {
        let libraries = self.libraries.iter().filter(|library| library.role == Role::Program && library.instrumented);
        std::iter::once(self.path.as_path()).chain(libraries.filter_map(|library| library.path.as_deref()))
    }
}

/// Why a target cannot be run under Fencepost. `Display` is one line that says what is wrong and what to do.
#[derive(Debug)]
pub enum TargetError {
    /// There is nothing at this path.
    Missing(PathBuf),
    /// The file is there, but cannot be read.
    Unreadable(PathBuf, io::Error),
    /// A directory.
    Directory(PathBuf),
    /// A device, a pipe, a socket.
    SpecialFile(PathBuf),
    /// An empty file.
    Empty(PathBuf),
    /// A script, with the interpreter that it names.
    Script(PathBuf, String),
    /// Not an executable of any kind that is known here.
    NotAProgram(PathBuf),
    /// A `.o` file.
    ObjectFile(PathBuf),
    /// A `.a` file.
    Archive(PathBuf),
    /// A `.so` file.
    SharedLibrary(PathBuf),
    /// A core dump.
    CoreDump(PathBuf),
    /// Built for another machine.
    OtherArchitecture(PathBuf, Architecture),
    /// It claims to be ELF, but is cut off or damaged.
    Malformed(PathBuf, String),
    /// The permission to execute is missing.
    NotExecutable(PathBuf),
    /// Statically linked.
    Static(PathBuf),
    /// Instrumented, but linked with a ThreadSanitizer runtime inside, which Fencepost cannot replace.
    BundledRuntime(PathBuf),
    /// Not instrumented at all, or (second field) for another sanitizer.
    NotInstrumented(PathBuf, Option<&'static str>),
}

impl std::fmt::Display for TargetError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use TargetError::*;
        match self {
            Missing(path) => write!(f, "{}: no such file: build the program first, or check the path", path.display()),
            Unreadable(path, error) => {
                let reason = reason(error);
                write!(f, "{} cannot be read: {reason}: Fencepost must read the program that it runs", path.display())
            }
            Directory(path) => write!(f, "{} is a directory: give the program inside it", path.display()),
            SpecialFile(path) => write!(f, "{} is not a regular file: give a program", path.display()),
            Empty(path) => write!(f, "{} is empty: build the program again", path.display()),
            Script(path, interpreter) => write!(
                f,
                "{} is a script (for {interpreter}): give the compiled program that it starts",
                path.display()
            ),
            NotAProgram(path) => write!(
                f,
                "{} is not a program: give an executable built with -fsanitize=thread, or a .c, .cc, .cpp, .rs or \
                 .litmus file",
                path.display()
            ),
            ObjectFile(path) => write!(
                f,
                "{} is an object file: link it into a program with -fsanitize=thread or with `fencepost cc`",
                path.display()
            ),
            Archive(path) => {
                write!(f, "{} is a static library: give a program that is linked with it", path.display())
            }
            SharedLibrary(path) => write!(f, "{} is a shared library: give a program that uses it", path.display()),
            CoreDump(path) => write!(f, "{} is a core dump: give the program that left it", path.display()),
            OtherArchitecture(path, architecture) => {
                write!(f, "{} is built for {architecture}: build it for {}", path.display(), Architecture::SUPPORTED)
            }
            Malformed(path, reason) => {
                write!(f, "{} is damaged ({reason}): build the program again", path.display())
            }
            NotExecutable(path) => {
                write!(f, "{0} is not executable: make it so with `chmod +x {0}`", path.display())
            }
            Static(path) => write!(
                f,
                "{} is statically linked, and Fencepost's runtime is a shared library: link it without -static",
                path.display()
            ),
            BundledRuntime(path) => write!(
                f,
                "{} has a ThreadSanitizer runtime linked into it: link it with `fencepost cc` or `fencepost c++`, or \
                 with gcc and without -static-libtsan",
                path.display()
            ),
            NotInstrumented(path, None) => write!(
                f,
                "{} is not instrumented: build it with -fsanitize=thread or with `fencepost cc`",
                path.display()
            ),
            NotInstrumented(path, Some(sanitizer)) => write!(
                f,
                "{} is built with -fsanitize={sanitizer}: build it with -fsanitize=thread instead, or with \
                 `fencepost cc`",
                path.display()
            ),
        }
    }
}

/// An operating system's reason without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

impl std::error::Error for TargetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TargetError::Unreadable(_, error) => Some(error),
            _ => None,
        }
    }
}

/// Looks at a target and everything that it will load.
///
/// # Errors
/// Whatever keeps Fencepost from controlling it, the most telling reason first: an object file that is also not
/// executable is called an object file.
pub fn inspect(path: &Path) -> Result<Target, TargetError> {
    inspect_with(path, &SearchPath::of_system())
}

/// As [`inspect`], with a given search path for libraries.
///
/// # Errors
/// As [`inspect`].
pub fn inspect_with(path: &Path, search: &SearchPath) -> Result<Target, TargetError> {
    let owned = || path.to_owned();
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => TargetError::Missing(owned()),
        _ => TargetError::Unreadable(owned(), error),
    };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(TargetError::Directory(owned()));
    }
    if !metadata.is_file() {
        return Err(TargetError::SpecialFile(owned()));
    }
    let start = start_of(path).map_err(unreadable)?;
    check_format(path, &start)?;

    let image = Image::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => TargetError::Malformed(owned(), error.to_string()),
        _ => unreadable(error),
    })?;
    check_linkage(path, &image)?;
    if metadata.permissions().mode() & 0o111 == 0 {
        return Err(TargetError::NotExecutable(owned()));
    }
    if image.bundles_runtime {
        return Err(TargetError::BundledRuntime(owned()));
    }

    let libraries = libraries::closure(path, &image, search);
    let instrumented_library = |library: &Library| library.role == Role::Program && library.instrumented;
    if !image.calls_runtime && !libraries.iter().any(instrumented_library) {
        return Err(TargetError::NotInstrumented(owned(), image.other_sanitizer));
    }
    Ok(Target {
        path: std::path::absolute(path).map_err(unreadable)?,
        digest: digest(path).map_err(unreadable)?,
        build_id: image.build_id,
        position_independent: image.position_independent,
        runtime: libraries.iter().find(|library| library.role == Role::Runtime).map(|library| library.name.clone()),
        libraries,
    })
}

/// What the first bytes say: is it an ELF file for this machine, and one that can be run?
fn check_format(path: &Path, start: &[u8]) -> Result<(), TargetError> {
    let path = || path.to_owned();
    if start.is_empty() {
        return Err(TargetError::Empty(path()));
    }
    if let Some(rest) = start.strip_prefix(b"#!") {
        let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
        return Err(TargetError::Script(path(), String::from_utf8_lossy(line).trim().to_owned()));
    }
    if start.starts_with(b"!<arch>\n") || start.starts_with(b"!<thin>\n") {
        return Err(TargetError::Archive(path()));
    }
    if !start.starts_with(b"\x7fELF") {
        return Err(TargetError::NotAProgram(path()));
    }
    let Some(header) = Header::parse(start) else {
        return Err(TargetError::Malformed(path(), "the header is cut off".into()));
    };
    match header.kind {
        _ if header.architecture != Architecture::SUPPORTED => {
            Err(TargetError::OtherArchitecture(path(), header.architecture))
        }
        Kind::Relocatable => Err(TargetError::ObjectFile(path())),
        Kind::Core => Err(TargetError::CoreDump(path())),
        Kind::Linked => Ok(()),
    }
}

/// Is it a program at all, and one into which the loader puts a runtime?
fn check_linkage(path: &Path, image: &Image) -> Result<(), TargetError> {
    match (&image.interpreter, image.position_independent, image.pie) {
        (Some(_), _, _) => Ok(()),
        (None, true, false) => Err(TargetError::SharedLibrary(path.to_owned())),
        (None, _, _) => Err(TargetError::Static(path.to_owned())),
    }
}

/// The first bytes of a file, fewer if it is shorter.
fn start_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(256).read_to_end(&mut start)?;
    Ok(start)
}

/// The SHA-256 of what is loaded of a program, or of any other file, in hexadecimal.
///
/// # Errors
/// The file cannot be read.
pub fn digest(path: &Path) -> io::Result<String> {
    let bytes = fs::read(path)?;
    let mut hash = Sha256::new();
    match object::File::parse(&*bytes) {
        Ok(file) => loaded(&file, &mut hash),
        Err(_) => hash.update(&bytes),
    }
    Ok(hex(&hash.finalize()))
}

/// What of a program is loaded: its debug information, which has names of directories in it, does not change what it
/// does, and neither do its notes, one of which is a digest of the debug information.
fn loaded(file: &object::File<'_>, hash: &mut Sha256) {
    for section in file.sections() {
        // Only what is loaded has an address.
        let is_loaded = section.address() != 0;
        if !is_loaded || section.kind() == object::SectionKind::Note {
            continue;
        }
        hash.update(section.name_bytes().unwrap_or_default());
        hash.update(section.address().to_le_bytes());
        hash.update(section.size().to_le_bytes());
        hash.update(section.data().unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_other_machines_are_named() {
        // ELF class, byte order, type 2 (executable), machine: only x86-64 with 64-bit pointers is ours.
        let header = |class: u8, order: u8, machine: [u8; 2]| {
            let mut bytes = b"\x7fELF".to_vec();
            bytes.extend([class, order, 1]);
            bytes.resize(16, 0);
            bytes.extend(if order == 2 { [0, 2] } else { [2, 0] });
            bytes.extend(machine);
            bytes
        };
        for (bytes, expected) in [
            (header(2, 1, [183, 0]), "p is built for ARM64: build it for x86-64"),
            (header(1, 1, [3, 0]), "p is built for 32-bit x86: build it for x86-64"),
            (header(1, 1, [62, 0]), "p is built for x32: build it for x86-64"),
            (header(2, 2, [0, 21]), "p is built for 64-bit POWER: build it for x86-64"),
            (header(2, 1, [9, 9]), "p is built for another architecture (ELF machine 2313): build it for x86-64"),
            (b"\x7fELF\x02".to_vec(), "p is damaged (the header is cut off): build the program again"),
        ] {
            assert_eq!(check_format(Path::new("p"), &bytes).unwrap_err().to_string(), expected);
        }
        assert!(check_format(Path::new("p"), &header(2, 1, [62, 0])).is_ok());
    }
}
