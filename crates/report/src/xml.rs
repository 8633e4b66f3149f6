//! Text in XML.

use crate::text;

/// An attribute, with a space before it.
pub fn attribute(name: &str, value: &str) -> String {
    format!(" {name}=\"{}\"", escaped(&text::clean(value)))
}

/// Text as XML has it; what XML cannot hold is shown as a question mark.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('?'),
            c => out.push(c),
        }
    }
    out
}
