//! Paths in JSON: text, or the bytes of names that are no text.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A path of any name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RawPath {
    /// The usual case.
    Text(String),
    /// Not UTF-8.
    Bytes(Vec<u8>),
}

impl From<&Path> for RawPath {
    fn from(path: &Path) -> RawPath {
        match path.to_str() {
            Some(text) => RawPath::Text(text.to_owned()),
            None => RawPath::Bytes(path.as_os_str().as_bytes().to_vec()),
        }
    }
}

impl RawPath {
    /// The path itself.
    pub fn to_path(&self) -> PathBuf {
        match self {
            RawPath::Text(text) => text.into(),
            RawPath::Bytes(bytes) => OsString::from_vec(bytes.clone()).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_survives() {
        for (bytes, json) in [(&b"a/b.c"[..], "\"a/b.c\""), (b"\xff.c", "[255,46,99]")] {
            let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
            let raw = RawPath::from(&*path);
            assert_eq!(serde_json::to_string(&raw).unwrap(), json);
            assert_eq!(serde_json::from_str::<RawPath>(json).unwrap().to_path(), path);
        }
    }
}
