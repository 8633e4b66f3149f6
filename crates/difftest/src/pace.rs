//! How far a long run is, once a minute.

use std::sync::Mutex;
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// When it was last said.
pub struct Pace(Mutex<Instant>);

impl Pace {
    /// A run begins.
    pub fn new() -> Pace {
        Pace(Mutex::new(Instant::now()))
    }

    /// Is it time to say how far it is?
    pub fn is_due(&self) -> bool {
        let mut last = self.0.lock().expect("nobody panics here");
        let due = last.elapsed() >= MINUTE;
        if due {
            *last = Instant::now();
        }
        due
    }
}

impl Default for Pace {
    fn default() -> Pace {
        Pace::new()
    }
}
