//! The formats of reports, one module each.
//!
//! A new one is a file with a function `render`, and a line below: the command line takes its name, and what `--help`
//! says of it, from that line.

use crate::text::TextStyle;
use crate::{Document, dot, html, json, junit, sarif, text};
use std::str::FromStr;

macro_rules! formats {
    ($($(#[$attribute:meta])* $variant:ident: $file:ident, $about:literal;)*) => {
        /// How a report is rendered.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Format {
            $($(#[$attribute])* $variant,)*
        }

        impl Format {
            /// All there are.
            pub const ALL: &[Format] = &[$(Format::$variant,)*];

            /// The name that users know it by.
            pub fn name(self) -> &'static str {
                match self {
                    $(Format::$variant => stringify!($file),)*
                }
            }

            /// What it is for.
            pub fn about(self) -> &'static str {
                match self {
                    $(Format::$variant => $about,)*
                }
            }

            /// The whole report; `style` is for formats that people read on a terminal.
            pub fn render(self, document: &Document<'_>, style: TextStyle) -> String {
                match self {
                    $(Format::$variant => $file::render(document, style),)*
                }
            }
        }
    };
}

formats! {
    /// Text with colours.
    Text: text, "for people";
    /// One JSON document.
    Json: json, "for programs";
    /// SARIF 2.1.0.
    Sarif: sarif, "SARIF 2.1.0, for code hosts and editors";
    /// JUnit XML.
    Junit: junit, "JUnit XML, for CI systems";
    /// A page for a browser.
    Html: html, "a page with the executions to step through";
    /// Graphviz.
    Dot: dot, "a Graphviz graph of each execution";
}

impl FromStr for Format {
    type Err = String;
    fn from_str(text: &str) -> Result<Format, String> {
        let known = |format: &&Format| format.name() == text;
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        Format::ALL.iter().find(known).copied().ok_or_else(|| format!("expected {}", names.join(" or ")))
    }
}
