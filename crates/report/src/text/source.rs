//! The source lines of a finding, with what happened there, as compilers show them.
//!
//! `annotate-snippets` draws them: the library behind rustc's own diagnostics' look, kept by the Rust project.

use super::TextStyle;
use super::layout::{clean, place, width};
use crate::Describe;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use fencepost_trace::{Action, Finding, FindingKind, FindingLabel, Label};
use std::ops::Range;

/// Lines before and after those that matter.
const AROUND: u32 = 2;

/// A place with what happened there.
struct Site<'a> {
    label: &'a Label,
    caption: String,
}

/// Where a finding happened: source lines where they are known, otherwise names and numbers.
pub(super) fn places(finding: &Finding, describe: &dyn Describe, style: TextStyle) -> String {
    let mut sites: Vec<Site<'_>> = Vec::new();
    for (i, label) in finding.labels.iter().enumerate() {
        let caption = caption(finding, i, label, describe);
        match sites.iter_mut().find(|site| *site.label == label.label) {
            Some(site) => site.caption += &format!("; {caption}"),
            None => sites.push(Site { label: &label.label, caption }),
        }
    }
    let mut files: Vec<&str> = Vec::new();
    for site in &sites {
        if !files.contains(&&site.label.file[..]) {
            files.push(&site.label.file);
        }
    }
    let (mut text, mut unknown) = (String::new(), Vec::new());
    for file in files {
        let here: Vec<&Site<'_>> = sites.iter().filter(|site| site.label.file == file).collect();
        match describe.source(here[0].label).and_then(|source| excerpt(&source, &here, &sites[0], style)) {
            Some(excerpt) => text += &excerpt,
            None => unknown.extend(here),
        }
    }
    text + &bare(&unknown)
}

/// Places without a source.
fn bare(sites: &[&Site<'_>]) -> String {
    let functions = sites.iter().map(|site| width(&site.label.function)).max().unwrap_or(0);
    let line = |site: &&Site<'_>| {
        let text = format!("{:functions$}  {}", clean(&site.label.function), place(site.label));
        let text = text.trim();
        format!("    {text}{}{}\n", if text.is_empty() { "" } else { ": " }, clean(&site.caption))
    };
    sites.iter().map(line).collect()
}

fn excerpt(source: &str, here: &[&Site<'_>], first: &Site<'_>, style: TextStyle) -> Option<String> {
    let lines: Vec<&str> = source.lines().collect();
    let (least, most) =
        here.iter().fold((u32::MAX, 0), |(a, b), site| (a.min(site.label.line), b.max(site.label.line)));
    if least == 0 || most as usize > lines.len() {
        return None;
    }
    let start = least.saturating_sub(AROUND).max(1);
    let end = (most + AROUND).min(lines.len() as u32);
    // Nothing in a file may move the cursor, and offsets are counted in what is shown.
    let shown: Vec<String> =
        lines[start as usize - 1..end as usize].iter().map(|line| clean(line).into_owned()).collect();
    let offset = |line: u32| -> usize { shown[..(line - start) as usize].iter().map(|line| line.len() + 1).sum() };
    let mut snippet =
        Snippet::source(shown.join("\n")).line_start(start as usize).path(clean(&here[0].label.file).into_owned());
    for site in here {
        let line = &shown[(site.label.line - start) as usize];
        let within = token(line, site.label.column);
        let from = offset(site.label.line);
        let kind = if std::ptr::eq(*site, first) { AnnotationKind::Primary } else { AnnotationKind::Context };
        // A litmus thread is its function, and its caption has its name.
        let named = site.caption.split_whitespace().any(|word| word == site.label.function);
        let function = if named { String::new() } else { format!(", in {}", site.label.function) };
        let caption = format!("{}{function}", site.caption);
        let annotation = kind.span(from + within.start..from + within.end).label(clean(&caption).into_owned());
        snippet = snippet.annotation(annotation);
    }
    let renderer = if style.colour { Renderer::styled() } else { Renderer::plain() };
    let group = Group::with_level(Level::ERROR).element(snippet);
    let mut text = renderer.term_width(style.width).render(&[group]);
    text.push('\n');
    Some(text)
}

/// The word or sign at a column, in bytes; without a column, the line.
fn token(line: &str, column: u32) -> Range<usize> {
    let whole = || line.len() - line.trim_start().len()..line.trim_end().len().max(1).min(line.len());
    let Some(start) = (column as usize).checked_sub(1).filter(|start| *start < line.len()) else { return whole() };
    // Compilers count bytes.
    let start = (0..=start).rev().find(|i| line.is_char_boundary(*i)).unwrap_or(0);
    let rest = &line[start..];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_sign = |c: char| "+-*/%&|^<>=!".contains(c);
    let first = rest.chars().next().unwrap_or(' ');
    let end = match first {
        c if is_word(c) => rest.find(|c| !is_word(c)),
        c if is_sign(c) => rest.find(|c| !is_sign(c)),
        c => Some(c.len_utf8()),
    };
    start..start + end.unwrap_or(rest.len())
}

/// What the thread of a label did there.
fn caption(finding: &Finding, index: usize, label: &FindingLabel, describe: &dyn Describe) -> String {
    let thread = describe.thread(label.thread);
    let race = matches!(finding.kind, FindingKind::DataRace | FindingKind::MutexMisuse) && describe.later_first();
    let past = race && index > 0;
    let act = match (&label.access, past) {
        (Action::Read, false) => "reads here",
        (Action::Read, true) => "read here",
        (Action::Write, false) => "writes here",
        (Action::Write, true) => "wrote here",
        (Action::Rmw, false) => "reads and writes here",
        (Action::Rmw, true) => "read and wrote here",
        (Action::AtomicRead, false) => "reads here, atomically",
        (Action::AtomicRead, true) => "read here, atomically",
        (Action::AtomicWrite, false) => "writes here, atomically",
        (Action::AtomicWrite, true) => "wrote here, atomically",
        (Action::Free, _) => "freed it here",
        (Action::Allocate, _) => "allocated it here",
        (Action::Use, false) => "uses it here",
        (Action::Use, true) => "used it here",
        (Action::Lock, _) => "locked it here",
        (Action::Unlock, _) => "unlocks it here",
        (Action::Destroy, false) => "destroys it here",
        (Action::Destroy, true) => "destroyed it here",
        (Action::Initialise, false) => "initialises it here",
        (Action::Initialise, true) => "initialised it here",
        (Action::Wait, _) => "waits here",
        (Action::Spin, _) => "goes around here",
        _ => match finding.kind {
            FindingKind::Assertion => "fails here",
            FindingKind::Abort => "aborts here",
            FindingKind::Crash => "crashes here",
            FindingKind::Panic => "panics here",
            FindingKind::DoubleFree => "frees it again here",
            _ => "is here",
        },
    };
    match (race, index) {
        (true, 0) => format!("later: {thread} {act}"),
        (true, _) => format!("earlier: {thread} {act}"),
        (false, _) => format!("{thread} {act}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_names_a_word_or_a_sign() {
        let part = |column| &"  p->tail = größe;"[token("  p->tail = größe;", column)];
        assert_eq!(part(3), "p");
        assert_eq!(part(4), "->");
        assert_eq!(part(11), "=");
        assert_eq!(part(13), "größe");
        assert_eq!(part(0), "p->tail = größe;");
        assert_eq!(part(99), "p->tail = größe;");
        assert_eq!(token("", 0), 0..0);
    }
}
