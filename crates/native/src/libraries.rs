//! Which shared libraries a program will load, found as the dynamic loader finds them, and which of them the
//! instrumentation does not cover.
//!
//! Libraries that the program opens itself (`dlopen`) are not named in any file and are not found here.

use crate::image::{Architecture, Header, Image, Kind};
use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What a library is to Fencepost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The ThreadSanitizer runtime, whose place Fencepost's own takes.
    Runtime,
    /// The C, C++ and compiler support libraries: never instrumented, and known: their functions are intercepted or
    /// do not touch the program's shared memory on their own.
    Base,
    /// Any other library.
    Program,
}

/// A shared library that a program needs, directly or through another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Library {
    /// The name under which it is asked for (`libevent-2.1.so.7`).
    pub name: String,
    /// Where the loader will find it; `None` if it will not.
    pub path: Option<PathBuf>,
    /// The name of the program or library that asks for it first.
    pub needed_by: String,
    /// Does it call the ThreadSanitizer interface?
    pub instrumented: bool,
    /// What it is to Fencepost.
    pub role: Role,
}

/// Where the dynamic loader looks.
#[derive(Clone, Default, Debug)]
pub struct SearchPath {
    /// `LD_LIBRARY_PATH`, split.
    pub library_path: Vec<PathBuf>,
    /// What `ldconfig` has collected: name to files, in its order.
    pub cache: HashMap<String, Vec<PathBuf>>,
    /// The directories searched last.
    pub defaults: Vec<PathBuf>,
}

impl SearchPath {
    /// The search path of this machine and this environment.
    pub fn of_system() -> SearchPath {
        SearchPath {
            library_path: std::env::var_os("LD_LIBRARY_PATH")
                .map(|value| std::env::split_paths(&value).collect())
                .unwrap_or_default(),
            cache: fs::read("/etc/ld.so.cache").ok().and_then(|bytes| parse_cache(&bytes)).unwrap_or_default(),
            defaults: [
                "/lib64",
                "/usr/lib64",
                "/lib/x86_64-linux-gnu",
                "/usr/lib/x86_64-linux-gnu",
                "/lib",
                "/usr/lib",
            ]
            .map(PathBuf::from)
            .to_vec(),
        }
    }

    /// The file that the loader takes for `name`, asked for by an object with these run paths.
    fn find(&self, name: &str, rpath: &[PathBuf], runpath: &[PathBuf]) -> Option<PathBuf> {
        if name.contains('/') {
            return Some(PathBuf::from(name)).filter(|path| is_library(path));
        }
        let in_directories =
            |directories: &[PathBuf]| directories.iter().map(|d| d.join(name)).find(|path| is_library(path));
        // ld.so(8): RPATH only where there is no RUNPATH, then LD_LIBRARY_PATH, then RUNPATH.
        let rpath = if runpath.is_empty() { rpath } else { &[] };
        in_directories(rpath)
            .or_else(|| in_directories(&self.library_path))
            .or_else(|| in_directories(runpath))
            .or_else(|| self.cache.get(name)?.iter().find(|path| is_library(path)).cloned())
            .or_else(|| in_directories(&self.defaults))
    }
}

/// The libraries that `program` will load, in the loader's order (breadth first), each once.
pub(crate) fn closure(program: &Path, image: &Image, search: &SearchPath) -> Vec<Library> {
    struct Asker {
        name: String,
        needed: Vec<String>,
        rpath: Vec<PathBuf>,
        runpath: Vec<PathBuf>,
    }
    let asker = |name: String, path: &Path, image: Image, inherited: &[PathBuf]| {
        let origin = fs::canonicalize(path).ok().and_then(|p| p.parent().map(Path::to_owned)).unwrap_or_default();
        let mut rpath = expand(&image.rpath, &origin);
        rpath.extend_from_slice(inherited);
        Asker { name, needed: image.needed, rpath, runpath: expand(&image.runpath, &origin) }
    };

    let mut libraries = Vec::new();
    let mut seen = HashSet::new();
    let mut queue = VecDeque::from([asker(file_name(program), program, image.clone(), &[])]);
    while let Some(current) = queue.pop_front() {
        for name in &current.needed {
            if !seen.insert(name.clone()) {
                continue;
            }
            let path = search.find(name, &current.rpath, &current.runpath);
            let image = path.as_deref().and_then(|path| Image::read(path).ok());
            libraries.push(Library {
                name: name.clone(),
                path: path.clone(),
                needed_by: current.name.clone(),
                instrumented: image.as_ref().is_some_and(|image| image.calls_runtime),
                role: role(name),
            });
            if let (Some(path), Some(image)) = (path, image) {
                queue.push_back(asker(name.clone(), &path, image, &current.rpath));
            }
        }
    }
    libraries
}

/// The role of a library, by its name without directory and version.
fn role(name: &str) -> Role {
    let stem = name.rsplit('/').next().unwrap_or(name);
    let stem = stem.split(".so").next().unwrap_or(stem);
    match stem {
        "libtsan" => Role::Runtime,
        "libc" | "libm" | "libpthread" | "libdl" | "librt" | "libutil" | "libresolv" | "libanl" | "libnsl"
        | "libgcc_s" | "libstdc++" | "libc++" | "libc++abi" | "libunwind" | "libatomic" | "libubsan" => Role::Base,
        _ if stem.starts_with("ld-linux") || stem.starts_with("linux-vdso") => Role::Base,
        _ => Role::Program,
    }
}

/// Replaces `$ORIGIN` and `$LIB` as ld.so(8) says. `$LIB` has two common values: both are tried.
fn expand(entries: &[String], origin: &Path) -> Vec<PathBuf> {
    let origin = origin.as_os_str().as_bytes();
    let with = |entry: &str, lib: &str| -> PathBuf {
        let mut bytes = Vec::new();
        let mut rest = entry;
        while let Some(at) = rest.find('$') {
            bytes.extend_from_slice(&rest.as_bytes()[..at]);
            rest = &rest[at..];
            let token = |rest: &str, name: &str| {
                [format!("${name}"), format!("${{{name}}}")].into_iter().find(|t| rest.starts_with(t)).map(|t| t.len())
            };
            let length = if let Some(length) = token(rest, "ORIGIN") {
                bytes.extend_from_slice(origin);
                length
            } else if let Some(length) = token(rest, "LIB") {
                bytes.extend_from_slice(lib.as_bytes());
                length
            } else {
                bytes.push(b'$');
                1
            };
            rest = &rest[length..];
        }
        bytes.extend_from_slice(rest.as_bytes());
        PathBuf::from(OsStr::from_bytes(&bytes))
    };
    let mut paths = Vec::new();
    for entry in entries.iter().filter(|entry| !entry.is_empty()) {
        for lib in ["lib/x86_64-linux-gnu", "lib64"] {
            let path = with(entry, lib);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}

/// Is the file something that the loader would take on this machine?
fn is_library(path: &Path) -> bool {
    let mut start = [0; 20];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    let fits = Header { kind: Kind::Linked, architecture: Architecture::SUPPORTED };
    read.is_ok() && Header::parse(&start) == Some(fits)
}

/// Reads `/etc/ld.so.cache` in the form that glibc has written since 2.2: a header of 48 bytes, entries of 24, strings
/// addressed from the header on. `None` if it is something else.
fn parse_cache(bytes: &[u8]) -> Option<HashMap<String, Vec<PathBuf>>> {
    const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
    // Caches of the old form have the new one behind them.
    let start = bytes.windows(MAGIC.len()).position(|window| window == MAGIC)?;
    let cache = &bytes[start..];
    let word = |at: usize| Some(u32::from_le_bytes(cache.get(at..at + 4)?.try_into().ok()?) as usize);
    let string = |at: usize| {
        let rest = cache.get(at..)?;
        Some(&rest[..rest.iter().position(|&byte| byte == 0)?])
    };
    let mut libraries: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for index in 0..word(20)? {
        let entry = 48 + 24 * index;
        let name = String::from_utf8_lossy(string(word(entry + 4)?)?).into_owned();
        let path = PathBuf::from(OsStr::from_bytes(string(word(entry + 8)?)?));
        libraries.entry(name).or_default().push(path);
    }
    Some(libraries)
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_ignore_directory_and_version() {
        for (name, expected) in [
            ("libtsan.so.2", Role::Runtime),
            ("/opt/x/libtsan.so.0", Role::Runtime),
            ("libc.so.6", Role::Base),
            ("libstdc++.so.6", Role::Base),
            ("ld-linux-x86-64.so.2", Role::Base),
            ("libcrypto.so.3", Role::Program),
            ("libc-client.so.2007e", Role::Program),
        ] {
            assert_eq!(role(name), expected, "{name}");
        }
    }

    #[test]
    fn origin_is_expanded_in_both_spellings() {
        let expanded = expand(&["$ORIGIN/../lib".into(), "${ORIGIN}".into(), String::new()], Path::new("/a/b"));
        assert_eq!(expanded, [PathBuf::from("/a/b/../lib"), PathBuf::from("/a/b")]);
        assert_eq!(expand(&["/x/$LIB".into()], Path::new("/a"))[1], PathBuf::from("/x/lib64"));
        assert_eq!(expand(&["/x/$OTHER".into()], Path::new("/a")), [PathBuf::from("/x/$OTHER")]);
    }

    #[test]
    fn a_cache_is_read_and_rubbish_is_refused() {
        // One entry, name at 72 and path at 80, counted from the header.
        let mut cache = b"glibc-ld.so.cache1.1".to_vec();
        cache.extend(1u32.to_le_bytes());
        cache.resize(48, 0);
        for word in [0x0303u32, 72, 80, 0, 0, 0] {
            cache.extend(word.to_le_bytes());
        }
        cache.extend(b"liba.so\0/x/liba.so\0");
        let parsed = parse_cache(&cache).expect("well formed");
        assert_eq!(parsed["liba.so"], [PathBuf::from("/x/liba.so")]);
        assert!(parse_cache(&cache[..90]).is_none());
        assert!(parse_cache(b"nonsense").is_none());
    }
}
