//! How a program is spoken of: what a front end knows and a trace does not.

use fencepost_trace::{Label, Location, ThreadId, Value};

/// The words of a front end for what stands in a trace.
pub trait Describe {
    /// The name of a thread.
    fn thread(&self, thread: ThreadId) -> String {
        format!("thread {thread}")
    }

    /// The source text of the statement at a program point, if it is known.
    fn statement(&self, label: &Label) -> Option<String>;

    /// The whole text of the file that a program point is in, if it is there.
    fn source(&self, _label: &Label) -> Option<String> {
        None
    }

    /// Is the first label of a race the access that came later?
    fn later_first(&self) -> bool {
        false
    }

    /// Is this program point in the language's standard library or the system, and in no function of the program?
    fn is_library(&self, _label: &Label) -> bool {
        false
    }

    /// The name of a location.
    fn location(&self, at: Location) -> String {
        format!("{at:?}")
    }

    /// What the location holds, in its own type.
    fn value(&self, _at: Location, value: Value) -> String {
        value.to_string()
    }
}

/// The statement that contains a position, both counted from 1: the part of the line between the semicolons and braces
/// around it, those in parentheses aside, without comments.
///
/// ```
/// use fencepost_report::statement_at;
/// let text = "P0 {\n  x = 1; for (i = 0; i < 2; i++) { y = f(x); } // twice\n}";
/// assert_eq!(statement_at(text, 2, 4).as_deref(), Some("x = 1"));
/// assert_eq!(statement_at(text, 2, 38).as_deref(), Some("y = f(x)"));
/// assert_eq!(statement_at(text, 2, 20).as_deref(), Some("for (i = 0; i < 2; i++)"));
/// assert_eq!(statement_at(text, 9, 1), None);
/// ```
pub fn statement_at(text: &str, line: u32, column: u32) -> Option<String> {
    let line = text.lines().nth((line as usize).checked_sub(1)?)?;
    let line = line.split("//").next().unwrap_or(line);
    let target = (column as usize).saturating_sub(1);
    let (mut start, mut depth) = (0, 0_i32);
    let mut end = line.len();
    for (position, (offset, c)) in line.char_indices().enumerate() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ';' | '{' | '}' if depth <= 0 && position < target => start = offset + 1,
            ';' | '{' | '}' if depth <= 0 && position > target => {
                end = offset;
                break;
            }
            _ => {}
        }
    }
    let statement = line[start..end].trim();
    (!statement.is_empty()).then(|| statement.to_owned())
}
