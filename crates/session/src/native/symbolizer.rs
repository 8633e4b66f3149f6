//! From addresses to the names of the source.

use super::Program;
use fencepost_mailbox::{Activation, Frame, Message, Stack};
use fencepost_native::symbols::{Active, Pc, Symbols, Variable};
use fencepost_report::Describe;
use fencepost_report::text::Call;
use fencepost_trace::{FindingLabel, FindingStack, Hidden, Label, Location, Size, ThreadId, Trace, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use tempfile::TempDir;

/// What is known of a program's addresses.
#[derive(Default)]
pub struct Symbolizer {
    symbols: RefCell<Symbols>,
    /// Source files read so far; `None` if there is none.
    sources: RefCell<HashMap<String, Option<String>>>,
    /// Where source files were when they were compiled.
    paths: RefCell<HashMap<String, PathBuf>>,
    /// Debug information is read when it is needed, which may be after the program itself is no longer.
    _compiled: Option<Rc<TempDir>>,
    /// Where the program's own module was mapped, to name its variables.
    module: Option<(String, u64)>,
    /// Variables on stacks in the execution that is spoken of, by address.
    locals: RefCell<HashMap<u64, Variable>>,
}

impl Symbolizer {
    /// For what a program does.
    pub fn of(program: &Program) -> Symbolizer {
        let module = Some((program.executable.display().to_string(), program.base));
        Symbolizer { module, _compiled: program.compiled.clone(), ..Symbolizer::default() }
    }

    /// The program point of a frame.
    pub fn label(&self, frame: &Frame) -> Label {
        if frame.module.is_empty() {
            let function =
                if frame.offset == 0 { "the thread starts".to_owned() } else { format!("{:#x}", frame.offset) };
            return Label { function, ..Label::default() };
        }
        let frames = self.symbols(frame);
        // What the standard libraries inline into the program is the program's doing.
        let own = frames.iter().find(|frame| frame.line > 0 && !is_library(&frame.file));
        own.unwrap_or(&frames[0]).clone().into()
    }

    fn symbols(&self, frame: &Frame) -> Arc<[fencepost_native::symbols::Frame]> {
        let frames = self.symbols.borrow_mut().frames(Path::new(&frame.module), Pc::At(frame.offset));
        for frame in frames.iter() {
            if let Some(path) = frame.path() {
                self.paths.borrow_mut().entry(frame.file.clone()).or_insert(path);
            }
        }
        frames
    }

    /// The calls of a stack, inlined functions too, the innermost first.
    pub fn calls(&self, stack: &Stack) -> Vec<Call> {
        let known = stack.frames.iter().filter(|frame| !frame.module.is_empty());
        let call =
            |frame: &fencepost_native::symbols::Frame| Call { label: frame.clone().into(), inlined: frame.inlined };
        known.flat_map(|frame| self.symbols(frame).iter().map(call).collect::<Vec<_>>()).collect()
    }

    /// The text of a file, where it was compiled or where it is named from here.
    fn text(&self, file: &str) -> Option<String> {
        let read = || {
            let compiled = self.paths.borrow().get(file).cloned();
            compiled.and_then(|path| std::fs::read_to_string(path).ok()).or_else(|| std::fs::read_to_string(file).ok())
        };
        self.sources.borrow_mut().entry(file.to_owned()).or_insert_with(read).clone()
    }

    /// The program point of a stack: its innermost frame that has a source line, the program's own if there is one.
    pub fn finding_label(&self, stack: &Stack) -> FindingLabel {
        let labels: Vec<Label> = stack.frames.iter().map(|frame| self.label(frame)).collect();
        let own = labels.iter().find(|label| label.line > 0 && !is_library(&label.file));
        let known = own.or_else(|| labels.iter().find(|label| label.line > 0)).or(labels.first()).cloned();
        FindingLabel { label: known.unwrap_or_default(), thread: ThreadId(stack.thread), access: stack.access.clone() }
    }

    /// Puts functions, files and lines into a trace whose labels are places.
    pub fn fill(&self, trace: &mut Trace, places: &[Frame]) {
        for (label, place) in trace.labels.iter_mut().zip(places) {
            *label = self.label(place);
        }
    }
}

impl Describe for Symbolizer {
    fn statement(&self, label: &Label) -> Option<String> {
        let text = self.text(&label.file)?;
        let line = text.lines().nth((label.line as usize).checked_sub(1)?)?;
        Some(line.trim().to_owned())
    }

    fn source(&self, label: &Label) -> Option<String> {
        self.text(&label.file)
    }

    fn later_first(&self) -> bool {
        true
    }

    fn is_library(&self, label: &Label) -> bool {
        // A place without a file is in a library that has no debug information.
        label.file.is_empty() || is_library(&label.file)
    }

    fn location(&self, at: Location) -> String {
        if let Some((kind, key)) = at.as_hidden() {
            return match kind {
                Hidden::ThreadStart => format!("start of thread {key}"),
                Hidden::ThreadEnd => format!("end of thread {key}"),
                Hidden::Cancellation => format!("cancellation of thread {key}"),
                Hidden::Ending => format!("last moment of thread {key}"),
                Hidden::Park => format!("token of thread {key}"),
                Hidden::File => match key {
                    Location::SOCKETS => "what sockets and queues carry".to_owned(),
                    Location::SIGNALS => "the signals of the process".to_owned(),
                    Location::ANY_FILE => "what files and signals carry".to_owned(),
                    pipe => format!("pipe {pipe}"),
                },
                Hidden::Condvar if key & Location::OTHER_KEY != 0 => {
                    format!("futex {}", self.address(key & !Location::OTHER_KEY))
                }
                Hidden::Once if key & Location::OTHER_KEY != 0 => {
                    format!("guard {}", self.address(key & !Location::OTHER_KEY))
                }
                _ => format!("{} {}", format!("{kind:?}").to_lowercase(), self.address(key)),
            };
        }
        self.address(at.address)
    }

    fn value(&self, at: Location, value: Value) -> String {
        // Where programs, their heap and their stacks are: a number of that size is an address.
        const ADDRESSES: std::ops::Range<u128> = 0x5000_0000_0000..0x8000_0000_0000;
        // Greater numbers are no counts, but for those that count down from zero: memory that nobody wrote, or bits.
        const PATTERNS: std::ops::Range<u128> = 0x8000_0000_0000..0xffff_ffff_0000_0000;
        match at.size {
            Size::B8 if ADDRESSES.contains(&value.0) || PATTERNS.contains(&value.0) => format!("{:#x}", value.0),
            _ => value.to_string(),
        }
    }
}

impl Symbolizer {
    /// A message, with the name of the variable that it is about.
    pub fn named(&self, message: &Message) -> String {
        message.named(|address| self.address(address))
    }

    /// A note of the runtime's, with the names of the variable and the program point that it is about.
    pub fn note(&self, note: &Message) -> String {
        let text = self.named(note);
        match note.place.as_ref().map(|place| self.label(place)) {
            None => text,
            Some(label) if label.file.is_empty() => format!("{text} (in {})", label.function),
            Some(label) => format!("{text} (in {}, {}:{})", label.function, label.file, label.line),
        }
    }

    fn address(&self, address: u64) -> String {
        self.variable(address).map_or_else(|| format!("{address:#x}"), |variable| variable.to_string())
    }

    /// In the execution that is spoken of, this function had something on its stack at an address.
    pub fn learn(&self, address: u64, function: &Activation) {
        let call = function.call.as_ref().filter(|call| call.module == function.at.module).map(|call| call.offset);
        let active = Active { pc: function.at.offset, call, sp: function.sp, bp: function.bp };
        let found = self.symbols.borrow_mut().local_name(Path::new(&function.at.module), active, address);
        self.locals.borrow_mut().extend(found.map(|variable| (address, variable)));
    }

    /// The program's variable at an address.
    pub fn variable(&self, address: u64) -> Option<Variable> {
        if let Some(local) = self.locals.borrow().get(&address) {
            return Some(local.clone());
        }
        let (module, base) = self.module.as_ref()?;
        self.symbols.borrow_mut().global_name(Path::new(module), address.checked_sub(*base)?)
    }

    /// A stack with the calls that were inlined into it.
    pub fn stack(&self, title: String, stack: &Stack) -> FindingStack {
        let frames = stack.frames.iter().flat_map(|frame| self.frames(frame)).map(|(label, _)| label).collect();
        FindingStack { title, thread: ThreadId(stack.thread), frames }
    }

    /// The functions at a program point, the innermost first, each with the name of its module.
    pub fn frames(&self, frame: &Frame) -> Vec<(Label, String)> {
        if frame.module.is_empty() {
            return vec![(self.label(frame), String::new())];
        }
        self.symbols(frame).iter().map(|f| (f.clone().into(), frame.module.clone())).collect()
    }
}

/// Is this a file of the languages' standard libraries?
fn is_library(file: &str) -> bool {
    const PLACES: [&str; 6] = [
        "/rustc/",
        "/rust/deps/",
        "/usr/lib/gcc/",
        // Rust's own, as it was compiled where it comes from.
        "library/core/src/",
        "library/alloc/src/",
        "library/std/src/",
    ];
    // Each system has C++'s at places of its own: `/usr/include/c++/12`, `/usr/include/x86_64-linux-gnu/c++/12`,
    // `/usr/lib/llvm-14/include/c++/v1`.
    let is_cxx = file.starts_with("/usr/") && file.contains("/c++/");
    is_cxx || PLACES.iter().any(|place| file.starts_with(place)) || file.contains("/lib/rustlib/src/")
}

#[cfg(test)]
mod tests {
    use super::is_library;

    #[test]
    fn headers_of_standard_libraries_are_not_the_program() {
        for library in [
            "/usr/include/c++/12/bits/std_mutex.h",
            "/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h",
            "/usr/lib/llvm-14/include/c++/v1/mutex",
            "/rustc/0000/library/std/src/sync/mutex.rs",
        ] {
            assert!(is_library(library), "{library}");
        }
        for own in ["src/main.cpp", "/usr/src/c/queue.c", "/home/someone/c++/queue.cpp", "library/queue.rs"] {
            assert!(!is_library(own), "{own}");
        }
    }
}
