//! Which file an address belongs to.
//!
//! Program points travel as labels, numbers of 32 bits: the files that are mapped for execution are laid out one
//! after the other in that space.

use crate::platform::global::{self, Global};
use crate::platform::sys;
use fencepost_mailbox::{Frame, Stack};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

struct Module {
    start: usize,
    end: usize,
    /// The label of its first byte.
    label: u32,
    /// The address that the file itself has for its first byte: where it is mapped, if it cannot be mapped elsewhere.
    first: usize,
    path: String,
}

static MODULES: Global<Vec<Module>> = Global::new(Vec::new());
/// The module that was asked for last.
static LAST: Global<(usize, usize, u32)> = Global::new((0, 0, 0));
/// Where the runtime itself begins and ends.
static OWN: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Has the program opened a library since the last look?
static GROWS: AtomicBool = AtomicBool::new(false);

/// Where the C++ library lies.
static CXX_LIBRARY: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// A line of `/proc/self/maps`.
pub struct Mapping {
    pub start: usize,
    pub end: usize,
    pub permissions: [u8; 4],
    pub name: String,
}

/// What is mapped.
pub fn mappings() -> Vec<Mapping> {
    let text = sys::read_whole(b"/proc/self/maps\0");
    let mut list = Vec::new();
    for line in text.split(|b| *b == b'\n') {
        let mut words = line.split(|b| *b == b' ').filter(|w| !w.is_empty());
        let (Some(range), Some(permissions)) = (words.next(), words.next()) else { continue };
        let Some(dash) = range.iter().position(|b| *b == b'-') else { continue };
        // Offset, device, inode, then the name, which may contain spaces.
        let name: Vec<&[u8]> = words.skip(3).collect();
        list.push(Mapping {
            start: hexadecimal(&range[..dash]),
            end: hexadecimal(&range[dash + 1..]),
            permissions: permissions.try_into().unwrap_or(*b"----"),
            name: String::from_utf8_lossy(&name.join(&b' ')).into_owned(),
        });
    }
    list
}

fn hexadecimal(digits: &[u8]) -> usize {
    digits.iter().fold(0, |n, d| n << 4 | (*d as char).to_digit(16).unwrap_or(0) as usize)
}

/// Looks at what is mapped now. Files that were known keep their labels.
pub fn refresh() {
    let mut found: Vec<(String, usize, usize, bool)> = Vec::new();
    for mapping in mappings().into_iter().filter(|m| m.name.starts_with('/')) {
        let readable = mapping.permissions[0] == b'r';
        match found.last_mut() {
            Some((name, _, end, _)) if *name == mapping.name => *end = mapping.end,
            _ => found.push((mapping.name, mapping.start, mapping.end, readable)),
        }
    }
    let mut modules = MODULES.enter();
    for (path, start, end, readable) in found {
        if modules.iter().all(|m| m.start != start) {
            let label = modules.last().map_or(1, |m| m.label + (m.end - m.start) as u32);
            let first = if readable && is_fixed(start) { start } else { 0 };
            if is_one_of(&path, &["libstdc++.so"]) {
                CXX_LIBRARY[0].store(start, Ordering::Relaxed);
                CXX_LIBRARY[1].store(end, Ordering::Relaxed);
            }
            modules.push(Module { start, end, label, first, path });
        }
        if (start..end).contains(&(refresh as *const () as usize)) {
            OWN[0].store(start, Ordering::Relaxed);
            OWN[1].store(end, Ordering::Relaxed);
        }
    }
}

/// The program is about to open a library: where code is found that nobody knows, it is time to look again.
pub fn will_grow() {
    GROWS.store(true, Ordering::Relaxed);
}

/// Is what is mapped there an executable that must be there?
fn is_fixed(start: usize) -> bool {
    const FIXED: [u8; 2] = [2, 0];
    // SAFETY: mapped for reading, a page at least.
    let header = unsafe { std::slice::from_raw_parts(start as *const u8, 18) };
    header.starts_with(b"\x7fELF") && header[16..18] == FIXED
}

/// Is this in the C++ library, which comes without instrumentation?
#[inline]
pub fn is_cxx_library(pc: usize) -> bool {
    let [start, end] = CXX_LIBRARY.each_ref().map(|bound| bound.load(Ordering::Relaxed));
    (start..end).contains(&pc)
}

/// Is that the file of a C library that is in every process, and does nothing unless it is called?
pub fn is_common_library(path: &str) -> bool {
    is_one_of(path, &["libc.so", "libm.so", "libgcc_s.so", "ld-linux"])
}

/// Does the name of a file begin like one of these?
fn is_one_of(path: &str, beginnings: &[&str]) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    beginnings.iter().any(|beginning| file.starts_with(beginning))
}

/// Is there Rust's standard library in the program? It comes without instrumentation, and its locks are atomics that
/// the program's own code uses too.
pub fn has_rust() -> bool {
    // A name that every copy of it looks for in the environment.
    const NAME: &[u8] = b"RUST_BACKTRACE";
    let here = is_own as *const () as usize;
    // Large, in every process, and not written in Rust: to read them would take half of a worker's start.
    let is_other = |path: &str| is_common_library(path) || is_one_of(path, &["libstdc++.so"]);
    mappings()
        .iter()
        .filter(|m| m.name.starts_with('/') && m.permissions[0] == b'r' && m.permissions[1] == b'-')
        .filter(|m| !is_other(&m.name))
        .filter(|m| {
            MODULES.enter().iter().any(|module| module.path == m.name && !(module.start..module.end).contains(&here))
        })
        .any(|m| {
            // SAFETY: mapped for reading, and not for writing.
            let bytes = unsafe { std::slice::from_raw_parts(m.start as *const u8, m.end - m.start) };
            bytes.windows(NAME.len()).any(|window| window == NAME)
        })
}

/// Where the program's own file lies: it is mapped first.
pub fn executable() -> Option<(usize, usize)> {
    MODULES.enter().first().map(|module| (module.start, module.end))
}

/// What has to be added to addresses of a file; `None` if it is not mapped.
pub fn start_of(path: &str) -> Option<usize> {
    MODULES.enter().iter().find(|module| module.path == path).map(|module| module.start.wrapping_sub(module.first))
}

/// Do these bytes lie within the program's own file?
pub fn is_executable(address: usize, length: usize) -> bool {
    executable().is_some_and(|(start, end)| start <= address && address.saturating_add(length) <= end)
}

/// The label of the call that returns to `pc`. 0 if that is nowhere.
#[inline]
pub fn label(pc: usize) -> u32 {
    let pc = pc.wrapping_sub(1);
    let (start, end, label) = *LAST.enter();
    if start <= pc && pc < end {
        return label + (pc - start) as u32;
    }
    look_up(pc)
}

#[cold]
fn look_up(pc: usize) -> u32 {
    let find = || {
        let modules = MODULES.enter();
        let module = modules.iter().find(|m| m.start <= pc && pc < m.end)?;
        Some((module.start, module.end, module.label))
    };
    let found = find().or_else(|| {
        GROWS.swap(false, Ordering::Relaxed).then(|| global::quietly(refresh))?;
        find()
    });
    let Some((start, end, label)) = found else { return 0 };
    *LAST.enter() = (start, end, label);
    label + (pc - start) as u32
}

/// Is this an address of the runtime itself? Asked from signals, too: nothing is entered.
pub fn is_own(pc: usize) -> bool {
    (OWN[0].load(Ordering::Relaxed)..OWN[1].load(Ordering::Relaxed)).contains(&pc)
}

/// Where a label points.
pub fn place(label: u32) -> Frame {
    let modules = MODULES.enter();
    match modules.iter().rfind(|m| label != 0 && m.label <= label) {
        Some(m) => Frame { module: m.path.clone(), offset: (label - m.label) as u64 + m.first as u64 },
        None => Frame { module: String::new(), offset: 0 },
    }
}

/// The label of a place; 0 if its file is not mapped.
pub fn label_at(place: &Frame) -> u32 {
    let label = |m: &Module| m.label + place.offset.wrapping_sub(m.first as u64) as u32;
    MODULES.enter().iter().find(|m| m.path == place.module).map_or(0, label)
}

/// Where the call that returns to `pc` is.
pub fn frame(pc: usize) -> Frame {
    match label(pc) {
        0 => Frame { module: String::new(), offset: pc as u64 },
        label => place(label),
    }
}

/// A stack of return addresses, for the host.
pub fn stack(thread: u32, access: &str, pcs: &[usize]) -> Stack {
    let frames = pcs.iter().filter(|pc| **pc != 0 && !is_own(**pc)).map(|pc| frame(*pc)).collect();
    Stack { thread, access: access.into(), frames }
}
