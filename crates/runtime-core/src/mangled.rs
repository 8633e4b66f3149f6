//! Mangled names of Rust.

/// Is this the mangled name of the function with this path? Both of Rust's manglings write every part with its
/// length before it.
pub fn is_called(name: &[u8], path: &[&str]) -> bool {
    // The older mangling has a hash behind it.
    const HASH: usize = "17h0123456789abcdefE".len();
    let name = match name {
        [b'_', b'R', b'N', b'v', ..] => name,
        [b'_', b'Z', b'N', ..] => &name[..name.len().saturating_sub(HASH)],
        _ => return false,
    };
    // Nearly all names are told by their end. There may be a crate, for which a function was compiled: its hash ends
    // with a line, and then its name follows, which may be anything.
    let Some(before) = path.last().and_then(|last| name.strip_suffix(last.as_bytes())) else { return false };
    if before.iter().rfind(|byte| !byte.is_ascii_digit()) == Some(&b'_') {
        return false;
    }
    let mut rest = name;
    path.iter().all(|part| {
        after_part(rest, part).is_some_and(|after| {
            rest = after;
            true
        })
    }) && rest.is_empty()
}

/// Is this the mangled name of a method of Rust's channels (`std::sync::mpmc::{array,list,zero}`), or of a closure in
/// one, whatever they carry?
pub fn is_of_channels(name: &[u8]) -> bool {
    const MODULES: [&[u8]; 3] = [b"5array", b"4list", b"4zero"];
    let path = match name {
        [b'_', b'Z', b'N', rest @ ..] => Some(rest),
        [b'_', b'R', rest @ ..] => crate_of_method(rest),
        _ => None,
    };
    let inside = path.and_then(|path| path.strip_prefix(b"3std4sync4mpmc"));
    inside.is_some_and(|inside| MODULES.iter().any(|module| inside.starts_with(module)))
}

/// From the name of the crate on: the newer mangling's name of an inherent method, or of a closure in one.
fn crate_of_method(mut name: &[u8]) -> Option<&[u8]> {
    while let Some(rest) = name.strip_prefix(b"NC") {
        name = rest;
    }
    name = without_number(name.strip_prefix(b"NvM")?);
    while let Some(rest) = name.strip_prefix(b"Nt") {
        name = rest;
    }
    Some(without_number(name.strip_prefix(b"C")?))
}

/// Behind the number that tells impls and crates apart, if there is one.
fn without_number(name: &[u8]) -> &[u8] {
    match (name.strip_prefix(b"s"), name.iter().position(|byte| *byte == b'_')) {
        (Some(_), Some(end)) => &name[end + 1..],
        _ => name,
    }
}

/// What follows the first place where a mangled name has this part.
fn after_part<'a>(name: &'a [u8], part: &str) -> Option<&'a [u8]> {
    let is_here = |at: &usize| {
        let count = name[..*at].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let digits = &name[at - count..*at];
        let length = digits.iter().fold(0usize, |n, digit| n.wrapping_mul(10).wrapping_add((digit - b'0').into()));
        name[*at..].starts_with(part.as_bytes()) && count > 0 && length == part.len()
    };
    let at = (0..=name.len().checked_sub(part.len())?).find(is_here)?;
    Some(&name[at + part.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK_PATH: &[&str] = &["std", "sys", "sync", "mutex", "futex", "Mutex", "lock_contended"];

    #[test]
    fn names_of_both_manglings_are_recognised() {
        assert!(is_called(b"_RNvMNtNtNtNtCsbB_3std3sys4sync5mutex5futexNtB2_5Mutex14lock_contended", LOCK_PATH));
        assert!(is_called(b"_ZN3std3sys4sync5mutex5futex5Mutex14lock_contended17h0123456789abcdefE", LOCK_PATH));
    }

    #[test]
    fn methods_of_channels_are_recognised() {
        let yes = [
            b"_RNvMs_NtNtNtCs2p_3std4sync4mpmc4listINtB4_7ChannellE4recvCs1_1x".as_slice(),
            b"_RNCNvMNtNtNtCs2p_3std4sync4mpmc4zeroINtB5_7ChannellE4recvs_0Cs1_1x",
            b"_ZN3std4sync4mpmc5array16Channel$LT$T$GT$4send17h0123456789abcdefE",
        ];
        assert!(yes.iter().all(|name| is_of_channels(name)));
        let no = [
            // A function of the program's that is made for a channel, a method of something else, a drop.
            b"_RINvCs1_1x4waitINtNtNtNtCs2p_3std4sync4mpmc4list7ChannellEE".as_slice(),
            b"_RNvMNtNtNtCs2p_3std4sync4mpmc5wakerNtB2_5Waker6notify",
            b"_ZN4core3ptr64drop_in_place$LT$std..sync..mpmc..list..Channel$LT$i32$GT$$GT$17h0123456789abcdefE",
            b"_RNvMs_NtCs1_1x4mpmc4listINtB4_7ChannellE4recv",
        ];
        assert!(!no.iter().any(|name| is_of_channels(name)));
    }

    #[test]
    fn functions_inside_others_and_other_locks_are_not() {
        // A closure in it, and a function of the same name elsewhere.
        assert!(!is_called(b"_RNCNvMNtCsbB_3std3sys4sync5mutex5futexNtB2_5Mutex14lock_contended0B4_", LOCK_PATH));
        assert!(!is_called(b"_RNvMNtCsbB_7parking5mutex5futexNtB2_5Mutex14lock_contended", LOCK_PATH));
        // A method, compiled for a crate that has the name of another one.
        let thread = b"_RNvMs_NtNtCsjrH_3std6thread6threadNtB4_6Thread6unparkCshpz_4park";
        assert!(!is_called(thread, &["std", "thread", "park"]));
        assert!(is_called(b"_RNvNtNtCsjrH_3std6thread9functions4park", &["std", "thread", "park"]));
        // "13std" is not "3std".
        assert!(!is_called(
            b"_ZN13std3sys4sync5mutex5futex5Mutex14lock_contended17h0123456789abcdefE",
            &["std", "lock_contended"]
        ));
    }
}
