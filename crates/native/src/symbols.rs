//! From addresses to names: functions with file, line and column for code, variables for data.
//!
//! An address is given as a module (the path of an executable or library) and an offset in it: the address minus what
//! the loader added (`dlpi_addr`). In an executable that is not position independent the offset is the address.
//!
//! Code is looked up in the debug information, with inlined functions; where there is none, in the symbol table, as
//! `function+offset`; where there is not even that, as `module+offset`. There is always an answer, so that program
//! points stay apart. Files are read when first asked for and kept.
//!
//! ```no_run
//! use fencepost_native::symbols::{Pc, Symbols};
//! use std::path::Path;
//!
//! let mut symbols = Symbols::new();
//! for frame in symbols.frames(Path::new("./queue"), Pc::Return(0x11d4)).iter() {
//!     println!("{frame}"); // push at queue.c:12:5
//! }
//! ```

use crate::debuginfo;
use crate::layout::Part;
use crate::libraries::file_name;
use crate::table::{Symbol, Table};
use crate::units::Units;
pub use crate::variables::Active;
use crate::variables::Variables;
use addr2line::Loader;
use fencepost_trace::Label;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An offset of code, and what it points at.
///
/// A return address points behind the call: the next instruction may belong to another line, another inlined function
/// or, after a call that never returns, another function altogether. One byte before it is always inside the call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pc {
    /// The instruction itself: where a signal stopped the program, where a disassembler is.
    At(u64),
    /// A return address: what `__builtin_return_address` gives, what a hook that was called has for its caller, and
    /// every frame of a stack but the innermost.
    Return(u64),
}

impl Pc {
    /// An offset within the instruction that is meant.
    pub fn instruction(self) -> u64 {
        match self {
            Pc::At(offset) => offset,
            Pc::Return(offset) => offset.saturating_sub(1),
        }
    }
}

/// One function at a program point: the function itself, or one that was inlined into it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The function, demangled, without its parameters (the line tells overloads apart).
    pub function: String,
    /// The source file, relative to `directory` where it lies inside; empty if unknown.
    pub file: String,
    /// The directory in which the compiler ran; empty if unknown.
    pub directory: String,
    /// The line, counted from 1; 0 if unknown.
    pub line: u32,
    /// The column, counted from 1; 0 if unknown.
    pub column: u32,
    /// Was this function inlined into the next frame?
    pub inlined: bool,
}

impl Frame {
    /// Where the source file was when it was compiled.
    pub fn path(&self) -> Option<PathBuf> {
        (!self.file.is_empty()).then(|| Path::new(&self.directory).join(&self.file))
    }
}

impl From<Frame> for Label {
    fn from(frame: Frame) -> Label {
        Label { function: frame.function, file: frame.file, line: frame.line, column: frame.column }
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        match (self.file.as_str(), self.line, self.column) {
            ("", _, _) => Ok(()),
            (file, 0, _) => write!(f, " at {file}"),
            (file, line, 0) => write!(f, " at {file}:{line}"),
            (file, line, column) => write!(f, " at {file}:{line}:{column}"),
        }
    }
}

/// A variable, and a place in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// The variable, demangled.
    pub name: String,
    /// How far into the variable the place is.
    pub offset: u64,
    /// The size of the variable.
    pub size: u64,
    /// The member or element at the place, as in the source (`.slots[3].value`); empty if that is the variable
    /// itself, or not known.
    pub part: String,
    /// How far into that part the place is.
    pub part_offset: u64,
    /// The function that has it on its stack, if one has.
    pub function: Option<String>,
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, self.part)?;
        match self.part_offset {
            0 => {}
            offset => write!(f, "+{offset}")?,
        }
        self.function.as_ref().map_or(Ok(()), |function| write!(f, " in {function}"))
    }
}

/// The names of all modules that were asked for.
#[derive(Default)]
pub struct Symbols {
    modules: HashMap<PathBuf, Module>,
    /// Stacks repeat: the frames of every offset that was looked up.
    frames: HashMap<(PathBuf, u64), Arc<[Frame]>>,
    /// The same for data.
    globals: HashMap<(PathBuf, u64), Option<Variable>>,
}

impl Symbols {
    /// Nothing is read yet.
    pub fn new() -> Symbols {
        Symbols::default()
    }

    /// The functions at a program point, innermost first. Never empty.
    pub fn frames(&mut self, module: &Path, pc: Pc) -> Arc<[Frame]> {
        let key = (module.to_owned(), pc.instruction());
        if let Some(known) = self.frames.get(&key) {
            return known.clone();
        }
        let frames: Arc<[Frame]> = self.module(module).frames(pc.instruction()).into();
        self.frames.insert(key, frames.clone());
        frames
    }

    /// The label of a program point: its innermost frame.
    pub fn label(&mut self, module: &Path, pc: Pc) -> Label {
        self.frames(module, pc)[0].clone().into()
    }

    /// The variable with static storage at an offset of a module's data.
    pub fn global_name(&mut self, module: &Path, offset: u64) -> Option<Variable> {
        let key = (module.to_owned(), offset);
        if let Some(known) = self.globals.get(&key) {
            return known.clone();
        }
        let global = self.module_mut(module).global(offset);
        self.globals.insert(key, global.clone());
        global
    }

    /// The variable at an address of the stack that an active function has there, with the function's name behind it.
    pub fn local_name(&mut self, module: &Path, function: Active, address: u64) -> Option<Variable> {
        let name = self.frames(module, Pc::At(function.pc)).last()?.function.clone();
        let module = self.module_mut(module);
        let local = module.variables().local(function, address)?;
        Some(Variable {
            name: local.name,
            offset: local.offset,
            size: local.size,
            part: local.part.path,
            part_offset: local.part.offset,
            function: Some(name),
        })
    }

    pub(crate) fn module(&mut self, path: &Path) -> &Module {
        self.module_mut(path)
    }

    fn module_mut(&mut self, path: &Path) -> &mut Module {
        self.modules.entry(path.to_owned()).or_insert_with(|| Module::open(path))
    }
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbols").field("modules", &self.modules.keys()).finish_non_exhaustive()
    }
}

/// What is known of one module.
pub(crate) struct Module {
    name: String,
    loader: Option<Loader>,
    /// The compilation units, by address.
    pub(crate) units: Units,
    /// The symbol tables of the module and of its separate debug file.
    pub(crate) table: Table,
    /// Where the debug information is, and what it says of variables once that was asked for.
    path: PathBuf,
    debug_file: PathBuf,
    variables: Option<Variables>,
}

impl Module {
    fn open(path: &Path) -> Module {
        let files = debuginfo::locate(path);
        let mut sources = vec![path];
        if files.main != path {
            sources.push(&files.main);
        }
        Module {
            name: file_name(path),
            loader: Loader::new_with_sup(&files.main, files.supplementary.as_ref()).ok(),
            units: Units::read(&files.main),
            table: Table::read(&sources),
            path: path.to_owned(),
            debug_file: files.main,
            variables: None,
        }
    }

    pub(crate) fn frames(&self, address: u64) -> Vec<Frame> {
        let frames = self.debug_frames(address).unwrap_or_default();
        if frames.is_empty() { vec![self.symbol_frame(address)] } else { frames }
    }

    fn debug_frames(&self, address: u64) -> Option<Vec<Frame>> {
        let directory = self.units.at(address).map_or("", |(_, unit)| unit.directory.as_str());
        let mut found = self.loader.as_ref()?.find_frames(address).ok()?;
        let mut frames: Vec<Frame> = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let name = frame.function.as_ref().and_then(|function| Some(function.raw_name().ok()?.into_owned()));
            let location = frame.location;
            let file = location.as_ref().and_then(|location| location.file).unwrap_or_default();
            frames.push(Frame {
                function: name.unwrap_or_default(),
                file: relative(file, directory).to_owned(),
                directory: directory.to_owned(),
                line: location.as_ref().and_then(|location| location.line).unwrap_or(0),
                column: location.as_ref().and_then(|location| location.column).unwrap_or(0),
                inlined: true,
            });
        }
        let outermost = frames.last_mut()?;
        outermost.inlined = false;
        // The debug information may know only the short name, or, for assembly, none at all.
        if !is_mangled(&outermost.function) {
            match self.table.function_at(address) {
                Some(symbol) if outermost.function.is_empty() || is_mangled(&symbol.name) => {
                    outermost.function.clone_from(&symbol.name);
                }
                None if outermost.function.is_empty() => outermost.function = self.symbol_frame(address).function,
                _ => {}
            }
        }
        for frame in &mut frames {
            frame.function = demangle(&frame.function);
        }
        Some(frames)
    }

    fn symbol_frame(&self, address: u64) -> Frame {
        let function = match self.table.function_at(address) {
            Some(symbol) if symbol.address == address => demangle(&symbol.name),
            Some(symbol) => format!("{}+{:#x}", demangle(&symbol.name), address - symbol.address),
            None => format!("{}+{address:#x}", self.name),
        };
        Frame { function, file: String::new(), directory: String::new(), line: 0, column: 0, inlined: false }
    }

    fn global(&mut self, offset: u64) -> Option<Variable> {
        let Symbol { name, address, size } = self.table.object_at(offset)?;
        let far = offset - address;
        let (name, address, size) = (variable_name(name), *address, *size);
        let part = self.variables().part(address, far).unwrap_or(Part { path: String::new(), offset: far });
        Some(Variable { name, offset: far, size, part: part.path, part_offset: part.offset, function: None })
    }

    fn variables(&mut self) -> &Variables {
        self.variables.get_or_insert_with(|| Variables::read(&self.path, &self.debug_file))
    }
}

fn relative<'a>(file: &'a str, directory: &str) -> &'a str {
    let inside = || file.strip_prefix(directory)?.strip_prefix('/');
    if directory.is_empty() { file } else { inside().unwrap_or(file) }
}

fn is_mangled(name: &str) -> bool {
    name.starts_with("_Z") || name.starts_with("_R")
}

/// A name for people: Rust without hashes, C++ without parameters and return type.
///
/// ```
/// use fencepost_native::symbols::demangle;
/// assert_eq!(demangle("_ZN5StackIiE4pushERKi"), "Stack<int>::push");
/// assert_eq!(demangle("_RNvCs1234_5queue4push"), "queue::push");
/// assert_eq!(demangle("push"), "push");
/// ```
pub fn demangle(name: &str) -> String {
    if !is_mangled(name) {
        return name.to_owned();
    }
    if is_rust(name)
        && let Ok(rust) = rustc_demangle::try_demangle(name)
    {
        return format!("{rust:#}");
    }
    // What compilers append to copies (`.part.0`, `.cold`) is not part of the name.
    let plain = name.split('.').next().unwrap_or(name);
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let demangled =
        cpp_demangle::Symbol::new(plain).ok().and_then(|symbol| symbol.demangle_with_options(&options).ok());
    match demangled {
        Some(name) => name.strip_suffix(" const").map_or(name.clone(), str::to_owned),
        None => name.to_owned(),
    }
}

/// Is a mangled name Rust's? Its older scheme is that of C++ with a hash at the end: without this look the last part of
/// C++ names such as `queue::head`, an h and hexadecimal digits, would be taken for one and dropped.
fn is_rust(name: &str) -> bool {
    let is_hash = |text: &str| {
        let (hash, end) = text.split_at_checked(16).unwrap_or_default();
        !hash.is_empty() && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) && (end == "E" || end.starts_with("E."))
    };
    name.starts_with("_R") || name.rsplit_once("17h").is_some_and(|(_, text)| is_hash(text))
}

/// The name of a variable: without the symbol's version, and without the number that gcc gives to the static
/// variables of functions in C (`count.3`).
fn variable_name(symbol: &str) -> String {
    let name = symbol.split('@').next().unwrap_or(symbol);
    if is_mangled(name) {
        return demangle(name);
    }
    match name.rsplit_once('.') {
        Some((stem, number)) if !stem.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => stem.to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_for_people() {
        for (mangled, expected) in [
            ("main", "main"),
            ("_ZN5queue4pushEi", "queue::push"),
            ("_ZN5queue4pushEi.part.0", "queue::push"),
            ("_ZSt4moveIRiEONSt16remove_referenceIT_E4typeEOS2_", "std::move<int&>"),
            ("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()"),
            ("_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place"),
            (
                "_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into17he619c32c95801fb0E.llvm.42",
                "<T as core::convert::Into<U>>::into",
            ),
            ("_Znonsense", "_Znonsense"),
        ] {
            assert_eq!(demangle(mangled), expected, "{mangled}");
        }
    }

    #[test]
    fn variables_lose_their_decoration() {
        for (symbol, expected) in
            [("count.3", "count"), ("stdout@GLIBC_2.2.5", "stdout"), ("_ZN1q4headE", "q::head"), ("plain", "plain")]
        {
            assert_eq!(variable_name(symbol), expected, "{symbol}");
        }
    }

    #[test]
    fn names_can_be_looked_up_on_another_thread() {
        fn is_send<T: Send>() {}
        is_send::<Symbols>();
    }

    #[test]
    fn a_return_address_means_the_call_before_it() {
        assert_eq!(Pc::Return(0x10).instruction(), 0xf);
        assert_eq!(Pc::At(0x10).instruction(), 0x10);
        assert_eq!(Pc::Return(0).instruction(), 0);
    }
}
