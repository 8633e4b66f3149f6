//! What the program prints.

use super::{header, results};
use crate::platform::{imports, sys};
use std::sync::atomic::{AtomicBool, Ordering};

/// The runtime's own files have numbers from here on, so many of them. Not much higher: children copy the table of
/// files.
pub const FIRST_FILE: i32 = 200;

pub const OWN_FILES: i32 = 4;

/// Sends stdout and stderr of the program to files in memory.
pub fn capture_output() {
    for (i, name) in [b"stdout\0", b"stderr\0"].into_iter().enumerate() {
        if let Some(file) = sys::memory_file(name) {
            sys::duplicate(file, i as i32 + 1);
            // Out of the way of the numbers that the program gets.
            results().output[i] = sys::duplicate_above(file, FIRST_FILE);
            sys::close(file);
        }
    }
}

/// The program may have put other files in the place of those: not for the next execution.
pub fn capture_again() {
    for (i, file) in results().output.into_iter().enumerate() {
        sys::duplicate(file, i as i32 + 1);
    }
}

/// In a child: another program takes the place of this one, and ends the execution.
pub fn becomes_another() {
    if let Some(header) = header() {
        header.replaced.store(results().execution + 1, Ordering::Relaxed);
    }
}

/// What the program has printed to stdout (0) or stderr (1), as far as it has left its buffers.
pub fn read_output(i: usize) -> Vec<u8> {
    // Of much output the end: that is where things went wrong.
    const MOST: usize = 64 << 10;
    let file = results().output[i];
    let end = sys::position(file);
    let start = end.saturating_sub(MOST);
    let mut text = vec![0; end - start];
    let read = sys::read_at(file, &mut text, start);
    text.truncate(read.max(0) as usize);
    if start > 0 {
        let line = text.iter().position(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let left_out = start + line;
        text.splice(..line, format!("[{left_out} bytes before this are left out]\n").into_bytes());
    }
    text
}

/// This process is a copy of another one and goes its own way from here: so does what it prints.
pub fn separate_output() {
    let old = results().output;
    capture_output();
    old.into_iter().for_each(sys::close);
}

/// Has the runtime printed something in the program's name?
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Prints to stderr in the program's name.
pub fn complain(text: &str) {
    PRINTED.store(true, Ordering::Relaxed);
    sys::write(2, text.as_bytes());
}

/// What the execution has printed is of no interest any more.
pub fn drop_output() {
    if imports::is_self_contained() && !PRINTED.swap(false, Ordering::Relaxed) {
        return;
    }
    // Of a file the part before its position counts. So much of it stays, since to give memory back and to ask for it
    // again takes longer than most executions.
    const KEPT: usize = 4096;
    for file in results().output {
        match sys::position(file) {
            0 => {}
            1..=KEPT => sys::rewind(file),
            _ => sys::truncate(file),
        }
    }
}

/// What the execution has printed to stderr.
pub fn complained() -> String {
    String::from_utf8_lossy(&read_output(1)).into_owned()
}
