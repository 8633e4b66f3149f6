//! The program's memory, put back to what it was before `main`.
//!
//! Every private writable mapping is copied once: data of the program and its libraries, the main thread's storage,
//! the beginning of its heap. After an execution, pages that differ are copied back. Left alone are stacks (a frame
//! is written before it is read), the runtime's own memory, what donors donate, which they renew themselves, and the
//! data of libraries that the program does not use.

use crate::memory::heap;
use crate::platform::modules::is_common_library;
use crate::platform::{global::Global, imports, layout, modules};
use crate::threads::fibers;

const PAGE: usize = 4096;

#[derive(Default)]
struct Region {
    start: usize,
    copy: Vec<u8>,
}

static REGIONS: Global<Vec<Region>> = Global::new(Vec::new());

/// Copies the program's memory. `arguments` is where the main stack's arguments and environment begin; `own` are
/// further ranges that are the runtime's.
pub fn take(arguments: usize, own: &[(usize, usize)]) {
    let mappings = modules::mappings();
    let library =
        mappings.iter().find(|m| m.start <= take as *const () as usize && (take as *const () as usize) < m.end);
    let library = library.map_or(String::new(), |m| m.name.clone());
    let mut excluded: Vec<(usize, usize)> = own.to_vec();
    excluded.extend(fibers::all().ranges());
    excluded.extend(layout::OWN.map(|range| (range.start, range.end())));
    // The library's zeroed data has no name, but follows what has.
    let mut library_end = 0;
    let mut regions = REGIONS.enter();
    regions.clear();
    for mapping in &mappings {
        let mine = mapping.name == library || mapping.name.is_empty() && mapping.start == library_end;
        if mine {
            library_end = mapping.end;
            excluded.push((mapping.start, mapping.end));
        }
    }
    // So has that of other libraries.
    let common: Vec<usize> = mappings
        .windows(2)
        .filter(|pair| is_common_library(&pair[0].name) && pair[1].name.is_empty() && pair[0].end == pair[1].start)
        .map(|pair| pair[1].start)
        .collect();
    for mapping in mappings.iter().filter(|m| m.permissions == *b"rw-p") {
        let (mut start, end) = (mapping.start, mapping.end);
        if excluded.iter().any(|(a, b)| *a < end && start < *b) {
            continue;
        }
        if imports::is_self_contained() && (is_common_library(&mapping.name) || common.contains(&start)) {
            continue;
        }
        if mapping.name == "[stack]" {
            // Arguments and environment lie above all frames: the program may change them.
            start = arguments;
        }
        regions.push(copy(start, end));
    }
    heap::keep();
    for (start, end) in heap::kept() {
        regions.push(copy(start, end));
    }
}

fn copy(start: usize, end: usize) -> Region {
    // SAFETY: the kernel lists this range as readable, and nobody writes it now.
    let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, end - start) };
    Region { start, copy: bytes.to_vec() }
}

/// Puts the program's memory back.
pub fn restore() {
    heap::restore();
    for region in REGIONS.enter().iter() {
        for (i, page) in region.copy.chunks(PAGE).enumerate() {
            let at = (region.start + i * PAGE) as *mut u8;
            // SAFETY: the range was readable and writable when it was copied; a program that unmaps its own data has
            // crashed before it gets here.
            unsafe {
                if std::slice::from_raw_parts(at, page.len()) != page {
                    std::ptr::copy_nonoverlapping(page.as_ptr(), at, page.len());
                }
            }
        }
    }
}
