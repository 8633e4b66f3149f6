//! What is said of a program, with what only the host has names for.

use crate::Frame;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Something said about the program. Addresses and program points are kept apart from the words: the host puts the
/// names of variables and lines there.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Message {
    /// In words.
    pub text: String,
    /// The memory that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// The program point that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Frame>,
}

impl Message {
    /// Words about an address.
    pub fn about(text: impl Into<String>, address: usize) -> Message {
        Message { text: text.into(), address: Some(address as u64), place: None }
    }

    /// The same, about a program point too.
    pub fn at(self, place: Frame) -> Message {
        Message { place: Some(place), ..self }
    }

    /// With the name that `name` has for the address.
    ///
    /// ```
    /// use fencepost_mailbox::Message;
    /// let message = Message::about("read of memory that was freed", 0x1000);
    /// assert_eq!(message.named(|_| "queue.head".to_owned()), "read of memory that was freed (queue.head)");
    /// assert_eq!(message.to_string(), "read of memory that was freed (0x1000)");
    /// assert_eq!(Message::from("every thread waits").to_string(), "every thread waits");
    /// ```
    pub fn named(&self, name: impl FnOnce(u64) -> String) -> String {
        match self.address {
            Some(address) => format!("{} ({})", self.text, name(address)),
            None => self.text.clone(),
        }
    }
}

impl From<String> for Message {
    fn from(text: String) -> Message {
        Message { text, ..Message::default() }
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Message {
        text.to_owned().into()
    }
}

impl From<&String> for Message {
    fn from(text: &String) -> Message {
        text.clone().into()
    }
}

impl From<&Message> for Message {
    fn from(message: &Message) -> Message {
        message.clone()
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.named(|address| format!("{address:#x}")))
    }
}
