//! Findings that the user does not want to hear of: a file as ThreadSanitizer reads it.
//!
//! One rule a line, `kind:pattern`. A pattern is looked for in the functions, files and modules of every frame of a
//! finding's stacks, and in the name of its variable; `*` stands for anything, `^` and `$` for the beginning and the
//! end.
//!
//! Where nothing else is said, the file is the one that `TSAN_OPTIONS` names: those who use ThreadSanitizer have it
//! there. The other options of that variable are about ThreadSanitizer's own reports and its process, and mean
//! nothing here.

use crate::error::Error;
use fencepost_trace::{Finding, FindingKind, Label};
use std::path::{Path, PathBuf};

/// What a rule is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Data races and uses of freed memory, any frame.
    Race,
    /// The same, the innermost frame of a stack only.
    RaceTop,
    /// Deadlocks.
    Deadlock,
    /// Findings in or below a library.
    CalledFromLib,
    /// What ThreadSanitizer reports and Fencepost does not.
    Other,
}

/// A line of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Rule {
    kind: Kind,
    pattern: String,
}

/// All rules.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Suppressions {
    rules: Vec<Rule>,
}

/// A frame of a finding: its function and file, and the module that they are in.
pub type Frame = (Label, String);

/// The variable in which ThreadSanitizer has its options.
const VARIABLE: &str = "TSAN_OPTIONS";

impl Suppressions {
    /// The rules of the file that the user names, or of the one that ThreadSanitizer would read for this program;
    /// none if there is no such file.
    pub fn find(named: Option<&Path>, program: &Path) -> Result<Suppressions, Error> {
        if let Some(path) = named {
            return Suppressions::read(path);
        }
        let options = std::env::var(VARIABLE).unwrap_or_default();
        let Some(path) = option(&options, "suppressions").filter(|path| !path.is_empty()).map(PathBuf::from) else {
            return Ok(Suppressions::default());
        };
        // As ThreadSanitizer looks for it: here, then beside the program.
        let beside = program.parent().map(|directory| directory.join(&path)).filter(|beside| beside.is_file());
        Suppressions::read(if path.is_file() { &path } else { beside.as_ref().unwrap_or(&path) })
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Suppressions, Error> {
        let text = std::fs::read_to_string(path).map_err(|cause| Error::Read { path: path.to_owned(), cause })?;
        Suppressions::parse(&text)
            .map_err(|(line, problem)| Error::Refused(format!("{}:{line}: {problem}", path.display())))
    }

    /// The rules of a text, or the line that is wrong.
    fn parse(text: &str) -> Result<Suppressions, (usize, String)> {
        let mut rules = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((kind, pattern)) = line.split_once(':') else {
                return Err((i + 1, format!("expected kind:pattern, such as race:function, not '{line}'")));
            };
            let kind = match kind.trim() {
                "race" => Kind::Race,
                "race_top" => Kind::RaceTop,
                "deadlock" => Kind::Deadlock,
                "called_from_lib" => Kind::CalledFromLib,
                "thread" | "mutex" | "signal" => Kind::Other,
                kind => {
                    let kinds = "race, race_top, deadlock, called_from_lib, thread, mutex or signal";
                    return Err((i + 1, format!("unknown kind '{kind}': expected {kinds}")));
                }
            };
            let pattern = pattern.trim();
            if pattern.trim_matches(['*', '^', '$']).is_empty() && !pattern.contains('*') {
                return Err((i + 1, "the pattern is empty: use * to suppress all".to_owned()));
            }
            rules.push(Rule { kind, pattern: pattern.to_owned() });
        }
        Ok(Suppressions { rules })
    }

    /// Is the user tired of it? `stacks` are those of the accesses or waits themselves.
    pub fn cover(&self, finding: &Finding, stacks: &[Vec<Frame>]) -> bool {
        self.rules.iter().any(|rule| rule.covers(finding, stacks))
    }
}

impl Rule {
    fn covers(&self, finding: &Finding, stacks: &[Vec<Frame>]) -> bool {
        let racy = matches!(finding.kind, FindingKind::DataRace | FindingKind::UseAfterFree);
        let mut frames = stacks.iter().flatten();
        match self.kind {
            Kind::Race => {
                let variable = finding.memory.as_ref().is_some_and(|memory| {
                    // `x` covers `x.member` and `x[3]` by being a part of the name.
                    !memory.name.is_empty() && matches(&self.pattern, &memory.name)
                });
                racy && (variable || frames.any(|frame| self.covers_frame(frame)))
            }
            Kind::RaceTop => racy && stacks.iter().filter_map(|s| s.first()).any(|frame| self.covers_frame(frame)),
            Kind::Deadlock => finding.kind == FindingKind::Deadlock && frames.any(|frame| self.covers_frame(frame)),
            Kind::CalledFromLib => racy && frames.any(|frame| matches(&self.pattern, &frame.1)),
            Kind::Other => false,
        }
    }

    fn covers_frame(&self, frame: &Frame) -> bool {
        let (label, module) = frame;
        [&label.function, &label.file, module].iter().any(|text| !text.is_empty() && matches(&self.pattern, text))
    }
}

/// The last value of an option in ThreadSanitizer's list: `name=value`, with spaces, commas or colons between them,
/// and quotes around values that have some.
fn option(list: &str, name: &str) -> Option<String> {
    const BETWEEN: [char; 6] = [' ', ',', ':', '\n', '\t', '\r'];
    let mut found = None;
    let mut rest = list.trim_start_matches(BETWEEN);
    while let Some((key, value)) = rest.split_once('=') {
        let quoted = value.strip_prefix(['\'', '"']);
        let end = match quoted {
            Some(inside) => inside.find(&value[..1]).unwrap_or(inside.len()),
            None => value.find(BETWEEN).unwrap_or(value.len()),
        };
        let text = &quoted.unwrap_or(value)[..end];
        // What has no value is not an option, and not a part of the next one's name.
        if key.rsplit(BETWEEN).next() == Some(name) {
            found = Some(text.to_owned());
        }
        let behind = &quoted.unwrap_or(value)[end..];
        rest = behind.strip_prefix(['\'', '"']).filter(|_| quoted.is_some()).unwrap_or(behind);
        rest = rest.trim_start_matches(BETWEEN);
    }
    found
}

/// Does the pattern occur in the text?
fn matches(pattern: &str, text: &str) -> bool {
    let (start, pattern) = pattern.strip_prefix('^').map_or((false, pattern), |rest| (true, rest));
    let (end, pattern) = pattern.strip_suffix('$').map_or((false, pattern), |rest| (true, rest));
    let parts: Vec<&str> = pattern.split('*').collect();
    let (first, rest) = parts.split_first().expect("a split has a part");
    // With a star at its beginning a pattern starts anywhere, whatever comes before.
    let mut starts: Vec<usize> = match (start, first.is_empty()) {
        (true, _) => vec![0],
        (false, true) => vec![0],
        (false, false) => text.char_indices().map(|(at, _)| at).collect(),
    };
    starts.retain(|at| text[*at..].starts_with(first));
    starts.into_iter().any(|at| {
        let mut at = at + first.len();
        let Some((last, middle)) = rest.split_last() else { return !end || at == text.len() };
        for part in middle {
            match text[at..].find(part) {
                Some(found) => at += found + part.len(),
                None => return false,
            }
        }
        if end { text[at..].ends_with(last) } else { text[at..].contains(last) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_thread_sanitizer() {
        for (pattern, text, expected) in [
            ("push", "queue_push", true),
            ("push", "pop", false),
            ("^push", "queue_push", false),
            ("^queue", "queue_push", true),
            ("push$", "queue_push", true),
            ("queue$", "queue_push", false),
            ("^queue_push$", "queue_push", true),
            ("q*h", "my_queue_push_all", true),
            ("^q*h$", "queue_push_all", false),
            ("q*u*h$", "queue_push", true),
            ("*", "anything", true),
            ("*push$", "queue_push", true),
            ("a*b", "b", false),
            ("^a$", "aa", false),
            ("aa$", "aaa", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} in {text}");
        }
    }

    #[test]
    fn options_are_separated_as_thread_sanitizer_does() {
        for (list, expected) in [
            ("", None),
            ("halt_on_error=1", None),
            ("suppressions=a.txt", Some("a.txt")),
            ("halt_on_error=1:suppressions=a.txt:exitcode=3", Some("a.txt")),
            ("halt_on_error=1 suppressions=a.txt,exitcode=3", Some("a.txt")),
            ("suppressions='C: a,b.txt' verbosity=1", Some("C: a,b.txt")),
            ("log_path=\"x suppressions=y\" verbosity=1", None),
            ("suppressions=a suppressions=b", Some("b")),
            ("nonsense suppressions=a", Some("a")),
            ("no_suppressions=a", None),
            ("suppressions=", Some("")),
        ] {
            assert_eq!(option(list, "suppressions").as_deref(), expected, "{list}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let wrong = |text| Suppressions::parse(text).unwrap_err();
        assert_eq!(wrong("# fine\n\nrace:ok\nnonsense").0, 4);
        assert_eq!(wrong("races:x").0, 1);
        assert_eq!(wrong("race:").0, 1);
        let fine = "race:^f$\n  race_top: g \nthread:x\nmutex:y\nsignal:z\ndeadlock:*\ncalled_from_lib:lib.so\n";
        assert_eq!(Suppressions::parse(fine).map(|s| s.rules.len()), Ok(7));
    }
}
