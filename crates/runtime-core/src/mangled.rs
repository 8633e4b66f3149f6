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
