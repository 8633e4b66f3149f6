//! Digests: what tells two files or two traces apart.

use fencepost_trace::Trace;
use sha2::{Digest, Sha256};

/// The digest of some bytes.
pub fn of_bytes(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// The digest of a trace's JSON form. Where the source files were does not matter.
pub fn of_trace(trace: &Trace) -> String {
    let mut trace = trace.clone();
    for label in &mut trace.labels {
        if let Some((_, name)) = label.file.rsplit_once('/') {
            label.file = name.to_owned();
        }
    }
    of_bytes(&serde_json::to_vec(&trace).expect("a trace is always JSON"))
}
