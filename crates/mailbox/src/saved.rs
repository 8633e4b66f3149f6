//! An exploration on disk, from which a later one goes on.
//!
//! Four lines: what it is an exploration of, how far it is, what it takes to go on, and a checksum of the lines before.
//! The first three are JSON. Whoever writes it writes another file and gives that its name, so that the file is always
//! whole, however the writer ends; the checksum tells what became of it later.

use serde::{Deserialize, Serialize};

/// The name of the file.
pub const SAVED: &str = "resume.json";

/// How far an exploration is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Status {
    /// Has it come to its end?
    pub over: bool,
    /// Executions that were completed.
    pub executions: u64,
    /// Executions that were cut off.
    pub blocked: u64,
}

/// The file's bytes. `head` is one line.
pub fn seal(head: &str, status: Status, body: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut bytes = format!("{head}\n").into_bytes();
    serde_json::to_writer(&mut bytes, &status)?;
    bytes.push(b'\n');
    serde_json::to_writer(&mut bytes, body)?;
    bytes.push(b'\n');
    let sum = checksum(&bytes);
    bytes.extend_from_slice(format!("{sum:016x}\n").as_bytes());
    Ok(bytes)
}

/// The three parts; `None` if the bytes are not what was written.
pub fn unseal(bytes: &[u8]) -> Option<(&str, Status, &[u8])> {
    let (bytes, sum) = bytes.strip_suffix(b"\n")?.split_at_checked(bytes.len().checked_sub(17)?)?;
    let sum = u64::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    if checksum(bytes) != sum {
        return None;
    }
    let mut lines = bytes.splitn(3, |byte| *byte == b'\n');
    let head = std::str::from_utf8(lines.next()?).ok()?;
    let status = serde_json::from_slice(lines.next()?).ok()?;
    Some((head, status, lines.next()?.strip_suffix(b"\n")?))
}

/// Another one for other bytes, but for chance; eight bytes at a time.
fn checksum(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(8);
    let mut sum = 0xcbf2_9ce4_8422_2325_u64 ^ bytes.len() as u64;
    let mut add = |word: u64| sum = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    for word in &mut words {
        add(u64::from_le_bytes(word.try_into().expect("eight bytes")));
    }
    words.remainder().iter().for_each(|byte| add(u64::from(*byte)));
    sum
}

/// When to save: soon after the beginning, later about once a second, and never so often that it takes more than a
/// twentieth of the time. Times are nanoseconds of any clock that only goes forward.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rhythm {
    begun: u64,
    /// At the latest, and at the earliest, if there is something new.
    next: u64,
    soon: u64,
}

impl Rhythm {
    const SHORTEST: u64 = 50_000_000;
    const LONGEST: u64 = 1_000_000_000;

    /// The work begins.
    pub fn new(now: u64) -> Rhythm {
        let next = now + Rhythm::SHORTEST;
        Rhythm { begun: now, next, soon: next }
    }

    /// Is it time? Earlier if there is something that others have been told of.
    pub fn is_due(&self, now: u64, news: bool) -> bool {
        now >= if news { self.soon } else { self.next }
    }

    /// It was saved from then to then.
    pub fn saved(&mut self, start: u64, end: u64) {
        let usual = ((end - self.begun) / 8).clamp(Rhythm::SHORTEST, Rhythm::LONGEST);
        let least = Rhythm::SHORTEST.max(20 * (end - start));
        (self.next, self.soon) = (end + usual.max(least), end + least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever byte is changed, added or missing, the file is not taken for what was written.
    #[test]
    fn damage_is_noticed() {
        let status = Status { over: false, executions: 3, blocked: 1 };
        let whole = seal("{\"a\":1}", status, &[1, 2, 3]).expect("it is JSON");
        assert_eq!(unseal(&whole), Some(("{\"a\":1}", status, &b"[1,2,3]"[..])));
        for i in 0..whole.len() {
            let mut other = whole.clone();
            other[i] ^= 1;
            assert_eq!(unseal(&other), None, "byte {i}");
            assert_eq!(unseal(&whole[..i]), None, "the first {i} bytes");
        }
        assert_eq!(unseal(&[&whole[..], b"x"].concat()), None);
    }
}
