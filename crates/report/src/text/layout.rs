//! Fitting text into a width. Everything is measured in characters, before it is painted.

use super::TextStyle;
use fencepost_trace::Label;
use std::borrow::Cow;

/// `text` without control characters: what comes from a file must not move the cursor.
///
/// ```
/// assert_eq!(fencepost_report::text::clean("a\tb\x1b[2Jc"), "a b?[2Jc");
/// ```
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let visible = |c: char| match c {
        '\t' | '\n' | '\r' => ' ',
        c if c.is_control() => '?',
        c => c,
    };
    Cow::Owned(text.chars().map(visible).collect())
}

/// `FILE:LINE:COLUMN`, as far as it is known.
pub(super) fn place(label: &Label) -> String {
    match (&label.file[..], label.line, label.column) {
        ("", ..) => String::new(),
        (file, 0, _) => clean(file).into_owned(),
        (file, line, 0) => format!("{}:{line}", clean(file)),
        (file, line, column) => format!("{}:{line}:{column}", clean(file)),
    }
}

/// How wide text is.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

/// `text`, cut to `most` characters with a mark where something is missing.
pub(super) fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(most.saturating_sub(1)).collect();
    kept.push('…');
    kept
}

/// `text` in lines of at most `most` characters, broken between words where there are any.
pub(super) fn wrap(text: &str, most: usize) -> Vec<String> {
    let most = most.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && width(&line) + 1 + width(word) > most {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        while width(&line) > most {
            let rest = line.split_off(line.char_indices().nth(most).map_or(line.len(), |(at, _)| at));
            lines.push(std::mem::replace(&mut line, rest));
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Text that begins in column `start` and goes on in column `next`, in lines that fit a terminal. What files and pipes
/// get stays in one line, for those who search it.
pub(super) fn folded(text: &str, start: usize, next: usize, style: TextStyle) -> String {
    if style.width >= TextStyle::PLAIN.width || start + width(text) <= style.width {
        return text.to_owned();
    }
    // The first line has more room or less than the others.
    let blank = "_".repeat(start.saturating_sub(next));
    let lines = wrap(&format!("{blank}{text}"), style.width.saturating_sub(next));
    lines.join(&format!("\n{}", " ".repeat(next)))[blank.len()..].to_owned()
}

/// `number` with a comma between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `3 executions`, `1 execution`.
pub fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_wider_than_asked() {
        for most in 1..12 {
            assert!(wrap("a few words and onelongword", most).iter().all(|line| width(line) <= most));
            assert!(width(&cut("a few words", most)) <= most);
        }
        assert_eq!(wrap("a few words", 6), ["a few", "words"]);
        assert_eq!(wrap("überlang", 4), ["über", "lang"]);
        assert_eq!(cut("überlang", 5), "über…");
    }

    #[test]
    fn text_is_folded_on_narrow_terminals_only() {
        let narrow = TextStyle { width: 16, ..TextStyle::PLAIN };
        assert_eq!(folded("a few words and more", 4, 2, narrow), "a few words\n  and more");
        assert_eq!(folded("a few words", 4, 2, narrow), "a few words");
        let long = "word ".repeat(40);
        assert_eq!(folded(&long, 4, 2, TextStyle::PLAIN), long);
    }

    #[test]
    fn thousands_are_marked() {
        assert_eq!([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(counted(1, "test"), "1 test");
    }
}
