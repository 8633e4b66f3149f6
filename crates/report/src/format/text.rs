//! Text for people.

use crate::text::{self, TextStyle};
use crate::{Document, Report};

pub fn render(document: &Document<'_>, style: TextStyle) -> String {
    match document.report {
        Report::Run(report) => text::run(report, document.evidence, document.describe, style),
        Report::Hunt(report) => text::hunt(report, document.describe, style),
    }
}
