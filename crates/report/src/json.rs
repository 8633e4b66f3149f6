//! JSON: the report is its own document.

use crate::Document;
use crate::text::TextStyle;

pub fn render(document: &Document<'_>, _: TextStyle) -> String {
    document.report.to_json()
}
