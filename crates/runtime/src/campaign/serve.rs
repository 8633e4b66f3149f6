//! A process that carries out many requests, each in a copy of itself: see `fencepost_mailbox::SERVE`.
//!
//! The copy is made before anything depends on a request, and goes on as a process would that was started for it. What
//! it does is the same but for the argument, whose bytes are replaced where they lie.

use crate::platform::sys;
use fencepost_mailbox::SERVE;
use std::ffi::{CStr, c_char};

/// The connection on which requests come, if that is what the variable has.
pub fn connection(variable: &[u8]) -> Option<i32> {
    let number = variable.strip_suffix(b"\0")?.strip_prefix(SERVE.as_bytes())?;
    str::from_utf8(number).ok()?.parse().ok()
}

/// Serves until nobody asks any more. Returns in each copy, with the path of its mailbox.
pub fn next_request(connection: i32, arguments: *mut *mut c_char) -> Vec<u8> {
    loop {
        let lengths = [receive_number(connection), receive_number(connection)];
        let [mut path, argument] = lengths.map(|length| receive(connection, length as usize));
        match sys::fork() {
            0 => {
                sys::die_with_parent();
                sys::close(connection);
                set_argument(arguments, &argument);
                path.push(0);
                return path;
            }
            child => {
                sys::write(connection, &(child as i32).to_ne_bytes());
                if child > 0 {
                    sys::write(connection, &sys::wait_for(child as i32).to_ne_bytes());
                }
            }
        }
    }
}

fn receive_number(connection: i32) -> u32 {
    u32::from_ne_bytes(receive(connection, 4).try_into().expect("as many bytes as were asked for"))
}

/// So many bytes. Without them there is nobody left to serve.
fn receive(connection: i32, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let mut at = 0;
    while at < length {
        match sys::read(connection, &mut bytes[at..]) {
            n if n > 0 => at += n as usize,
            n if n == -(libc::EINTR as isize) => {}
            _ => sys::exit(0),
        }
    }
    bytes
}

/// Puts the argument in the place of the first one, which is at least as long.
fn set_argument(arguments: *mut *mut c_char, argument: &[u8]) {
    // SAFETY: the list of arguments ends with null, its strings end with 0, and they may be written to.
    unsafe {
        let first = *arguments.add(1);
        if !first.is_null() && CStr::from_ptr(first).to_bytes().len() >= argument.len() {
            std::ptr::copy_nonoverlapping(argument.as_ptr(), first.cast(), argument.len());
            *first.add(argument.len()) = 0;
        }
    }
}
