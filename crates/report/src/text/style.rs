//! Width and colour.

/// How text is to look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextStyle {
    /// The width of the terminal in characters.
    pub width: usize,
    /// Are there colours?
    pub colour: bool,
    /// Are steps of the languages' standard libraries shown, too?
    pub whole: bool,
}

impl TextStyle {
    /// What files and pipes get.
    pub const PLAIN: TextStyle = TextStyle { width: 100, colour: false, whole: false };

    pub(super) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Something was found.
    pub(super) fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    pub(super) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Worth a second look.
    pub(super) fn notable(self, text: &str) -> String {
        self.paint("33", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
