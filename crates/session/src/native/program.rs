//! A native program: an executable, or a source file that is compiled first.

use crate::error::Error;
use crate::event::Remark;
use fencepost_mailbox::HiddenCode;
use fencepost_native::asm;
use fencepost_native::compiler::{CompileError, Surroundings, compile_single_in};
use fencepost_native::elf;
use fencepost_native::embedded::runtime_directory;
use fencepost_native::interrupt;
use fencepost_native::symbols::Symbols;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tempfile::TempDir;

/// Where Linux maps a position-independent executable on x86-64 when addresses are not randomised.
const PIE_BASE: u64 = 0x5555_5555_4000;

/// A program that can be run.
pub struct Program {
    /// As it was named.
    pub name: String,
    /// What is run.
    pub executable: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The digest of the executable: another compiler or other options make another program of the same source.
    pub digest: String,
    /// The library that goes into it.
    pub runtime: PathBuf,
    /// Where it is mapped: without address randomisation always the same place.
    pub base: u64,
    /// What the user should know before it runs.
    pub remarks: Vec<Remark>,
    /// Atomic instructions that the instrumentation does not see, and that the runtime performs.
    pub hidden: Vec<HiddenCode>,
    /// Where it was compiled to, if it was; removed when nobody reads it any more.
    pub compiled: Option<Rc<TempDir>>,
    /// How it was named, to the byte.
    pub path: PathBuf,
    /// What it was compiled with, if it was, and from which directory the name is.
    pub surroundings: Surroundings,
}

impl Program {
    /// An executable, or a source file that is compiled now.
    pub fn load(path: &Path, arguments: &[String]) -> Result<Program, Error> {
        Program::load_in(Surroundings::from_environment(), path, arguments)
    }

    /// The same, named from another directory, and compiled as was said there.
    pub fn load_in(surroundings: Surroundings, path: &Path, arguments: &[String]) -> Result<Program, Error> {
        let directory = runtime_directory()
            .map_err(|error| Error::target("the runtime", format!("cannot be unpacked: {error}")))?;
        let source = matches!(path.extension().and_then(|e| e.to_str()), Some("c" | "cc" | "cpp" | "cxx" | "rs"));
        let mut compiled = None;
        let executable = if source {
            let place = tempfile::tempdir().map_err(|cause| Error::Write { path: std::env::temp_dir(), cause })?;
            let executable = compile_single_in(&surroundings, path, place.path(), &directory).map_err(refused)?;
            compiled = Some(Rc::new(place));
            executable
        } else {
            surroundings.directory.as_ref().map_or_else(|| path.to_owned(), |directory| directory.join(path))
        };
        let target = elf::inspect(&executable).map_err(|error| Error::Refused(error.to_string()))?;
        let digest = &target.digest;
        let (remarks, hidden) = examine(&target);
        Ok(Program {
            name: path.display().to_string(),
            // A name without a slash would be looked up on the path.
            executable: std::path::absolute(&executable).unwrap_or(executable),
            arguments: arguments.to_vec(),
            digest: format!("sha256:{digest}"),
            runtime: directory.join(fencepost_native::embedded::NAME),
            base: if target.position_independent { PIE_BASE } else { 0 },
            remarks,
            hidden,
            compiled,
            path: path.to_owned(),
            surroundings,
        })
    }
}

fn refused(error: CompileError) -> Error {
    // The compiler gets Ctrl-C as well, and its refusal says nothing about the file.
    Error::Refused(if interrupt::is_wished() { "interrupted".to_owned() } else { error.to_string() })
}

/// The name that the kernel has for a file that is mapped.
fn mapped_name(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// The beginnings of the names of libraries that run what OpenMP makes parallel.
const OPENMP: [&str; 3] = ["libgomp.so", "libomp.so", "libiomp5.so"];

/// Atomics that the instrumentation cannot see, and libraries without instrumentation: what the user should know of
/// them, and what the runtime performs.
fn examine(target: &elf::Target) -> (Vec<Remark>, Vec<HiddenCode>) {
    let mut symbols = Symbols::new();
    let (mut remarks, mut notes, mut hidden) = (Vec::new(), Vec::new(), Vec::new());
    for module in target.own_modules() {
        // What cannot be read cannot be warned about; the run itself will tell.
        let Ok(examined) = asm::examine(module, &mut symbols) else { continue };
        let (instructions, functions) = (examined.performed, examined.unannounced);
        hidden.push(HiddenCode { module: mapped_name(module), instructions, functions });
        let uncontrolled = examined.hidden.iter().filter(|hidden| !hidden.is_performed);
        remarks.extend(uncontrolled.map(|hidden| Remark::Warning(hidden.to_string())));
        let note = match examined.rust_std {
            None => continue,
            Some(true) => "Rust's standard library is instrumented",
            Some(false) => {
                "Rust's standard library is not instrumented: what is not generic in it is not seen (docs/native.md)"
            }
        };
        notes.push(Remark::Note(note.to_owned()));
    }
    // Most programs have no such libraries.
    let mut wanted: Option<HashSet<String>> = None;
    for library in target.uninstrumented_libraries() {
        let name = &library.name;
        remarks.push(Remark::Warning(match OPENMP.iter().any(|openmp| name.starts_with(openmp)) {
            false => format!("{name} is not instrumented: what it does to shared memory is not seen"),
            true => format!(
                "{name} runs OpenMP's parallel regions, and its threads wait where nobody sees it: a region of more \
                 than one thread comes to no end here, and OMP_NUM_THREADS=1 leaves nothing to find in it"
            ),
        }));
        if let Some(path) = &library.path {
            let names = || target.own_modules().flat_map(|own| asm::wanted(own).unwrap_or_default()).collect();
            let wanted = wanted.get_or_insert_with(names);
            let functions = asm::called_without_instrumentation(path, wanted).unwrap_or_default();
            hidden.push(HiddenCode { module: mapped_name(path), instructions: Vec::new(), functions });
        }
    }
    hidden.retain(|code| !code.instructions.is_empty() || !code.functions.is_empty());
    remarks.extend(notes);
    (remarks, hidden)
}
