//! The words of the source for what stands in a trace.

use fencepost_report::Describe;
use fencepost_trace::{EventKind, Hidden, Label, Location, ThreadId, Trace, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

/// Names by what the source says where an object is used.
pub(super) struct Names {
    threads: Vec<Option<String>>,
    locations: HashMap<u64, String>,
    files: RefCell<HashMap<String, Option<String>>>,
}

impl Names {
    pub(super) fn new(trace: &Trace, threads: Vec<Option<String>>) -> Names {
        let mut names = Names { threads, locations: HashMap::new(), files: RefCell::default() };
        for event in &trace.events {
            let Some(at) = event.kind.location() else { continue };
            if names.locations.contains_key(&at.address) {
                continue;
            }
            let receiver = trace.label(event).and_then(|label| names.receiver(label, &event.kind));
            let kind = match at.as_hidden() {
                Some((Hidden::Mutex, _)) => "mutex",
                Some((Hidden::RwLock, _)) => "lock",
                Some((Hidden::Condvar, _)) => "condition variable",
                Some((Hidden::Barrier | Hidden::BarrierOpen, _)) => "barrier",
                Some((Hidden::Once, _)) => "once",
                Some((Hidden::Park, _)) => "token",
                Some(_) => continue,
                None => "atomic",
            };
            let name = receiver.unwrap_or_else(|| kind.to_owned());
            let same = names.locations.values().filter(|known| known.split('#').next() == Some(&name)).count();
            let name = if same == 0 { name } else { format!("{name}#{}", same + 1) };
            names.locations.insert(at.address, name);
        }
        names
    }

    fn text(&self, file: &str) -> Option<String> {
        let mut files = self.files.borrow_mut();
        files.entry(file.to_owned()).or_insert_with(|| find(file)).clone()
    }

    /// What a method is called on: the path before it.
    fn receiver(&self, label: &Label, _: &EventKind) -> Option<String> {
        let text = self.text(&label.file)?;
        let line = text.lines().nth((label.line as usize).checked_sub(1)?)?;
        let before: String = line.chars().take((label.column as usize).saturating_sub(1)).collect();
        let before = before.trim_end().strip_suffix('.')?;
        let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':');
        let start =
            before.rfind(|c: char| !is_path(c)).map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
        let name = before[start..].trim_start_matches("self.");
        (!name.is_empty()).then(|| name.to_owned())
    }
}

/// Paths of source locations are relative to the workspace; tests run in their package.
fn find(file: &str) -> Option<String> {
    let mut directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    loop {
        if let Ok(text) = std::fs::read_to_string(directory.join(file)) {
            return Some(text);
        }
        if !directory.pop() {
            return None;
        }
    }
}

impl Describe for Names {
    fn thread(&self, thread: ThreadId) -> String {
        match self.threads.get(thread.index()).and_then(Option::as_ref) {
            Some(name) => format!("thread {thread} ({name})"),
            None => format!("thread {thread}"),
        }
    }

    fn statement(&self, label: &Label) -> Option<String> {
        fencepost_report::statement_at(&self.text(&label.file)?, label.line, label.column)
    }

    fn source(&self, label: &Label) -> Option<String> {
        self.text(&label.file)
    }

    fn location(&self, at: Location) -> String {
        self.locations.get(&at.address).cloned().unwrap_or_else(|| format!("{at:?}"))
    }

    fn value(&self, at: Location, value: Value) -> String {
        let bits = at.size.truncate(value.0).0;
        // Addresses read better like this.
        if bits > u128::from(u32::MAX) { format!("{bits:#x}") } else { bits.to_string() }
    }
}
