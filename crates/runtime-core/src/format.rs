//! What the formats of `printf` and `scanf` ask for.

/// An argument that a format of `printf` asks for. The caller fetches it and says what it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    /// A width or a precision, as an `int`.
    Star,
    /// A number that is no floating-point one, a character or an address.
    Number,
    /// The address of a string, of which so many bytes are read at most.
    Text {
        /// At most so many bytes.
        most: usize,
    },
    /// The address of a string of wide characters.
    WideText,
    /// Where the count of what was printed is written.
    Count,
    /// A `double`.
    Double,
    /// A `long double`.
    LongDouble,
}

/// Goes through a format of `printf`; `fetch` is called for each argument in order, and gives its value. What follows
/// something unknown, such as arguments by number, is left alone.
pub fn printf(format: &[u8], mut fetch: impl FnMut(Argument) -> usize) {
    let mut rest = format.iter().copied();
    while rest.any(|byte| byte == b'%') {
        let (mut precision, mut after_point, mut long, mut long_double) = (None, false, false, false);
        for byte in rest.by_ref() {
            let argument = match byte {
                b'.' => {
                    (precision, after_point) = (Some(0), true);
                    continue;
                }
                b'*' => {
                    let given = fetch(Argument::Star) as i32;
                    if after_point {
                        precision = usize::try_from(given).ok();
                    }
                    continue;
                }
                b'0'..=b'9' if after_point => {
                    precision = precision.map(|p: usize| p.saturating_mul(10).saturating_add((byte - b'0').into()));
                    continue;
                }
                b'0'..=b'9' | b'-' | b'+' | b' ' | b'#' | b'\'' | b'I' | b'h' | b'j' | b'z' | b't' | b'q' => continue,
                b'l' => {
                    long = true;
                    continue;
                }
                b'L' => {
                    (long, long_double) = (true, true);
                    continue;
                }
                b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'c' | b'C' | b'p' => Argument::Number,
                b'S' => Argument::WideText,
                b's' if long => Argument::WideText,
                b's' => Argument::Text { most: precision.unwrap_or(usize::MAX) },
                b'n' => Argument::Count,
                // "%lf" is a double like "%f".
                b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' if long_double => Argument::LongDouble,
                b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => Argument::Double,
                b'%' | b'm' => break,
                _ => return,
            };
            fetch(argument);
            break;
        }
    }
}

/// How many bytes a format of `scanf` writes at least through each address that it asks for, in order. How much a
/// string will have is not known before, but its first byte is written in any case.
pub fn scanf(format: &[u8]) -> impl Iterator<Item = usize> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + format.get(at..)?.iter().position(|byte| *byte == b'%')? + 1;
            let end = format[start..].iter().position(|byte| !b"0123456789hljztqLm*'".contains(byte))?;
            let (marks, conversion) = (&format[start..start + end], format[start + end]);
            at = start + end + 1;
            if conversion == b'[' {
                // A set of characters, of which the first may be the bracket that otherwise ends it.
                let first = at + usize::from(format.get(at) == Some(&b'^')) + 1;
                let close = format.get(first..).and_then(|rest| rest.iter().position(|byte| *byte == b']'));
                at = close.map_or(format.len(), |i| first + i + 1);
            }
            if conversion == b'$' {
                // Arguments by number.
                at = format.len();
                return None;
            }
            if conversion != b'%' && !marks.contains(&b'*') {
                return Some(scanned(marks, conversion));
            }
        }
    })
}

fn scanned(marks: &[u8], conversion: u8) -> usize {
    let long = marks.iter().any(|mark| b"ljztqL".contains(mark));
    let short = marks.iter().filter(|mark| **mark == b'h').count() as u32;
    match conversion {
        _ if marks.contains(&b'm') => 8,
        b'c' | b's' | b'[' => 1,
        b'p' => 8,
        b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' if marks.contains(&b'L') => 16,
        b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'n' if !long => 4 >> short,
        _ if !long => 4,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Argument::*;

    fn asked(format: &str, star: usize) -> Vec<Argument> {
        let mut all = Vec::new();
        printf(format.as_bytes(), |argument| {
            all.push(argument);
            star
        });
        all
    }

    #[test]
    fn conversions_ask_for_what_c_says() {
        assert_eq!(asked("%d and %5.2f, %s%%", 0), [Number, Double, Text { most: usize::MAX }]);
        assert_eq!(asked("%lf %Lf %ls %S", 0), [Double, LongDouble, WideText, WideText]);
        assert_eq!(asked("%n%p%c", 0), [Count, Number, Number]);
    }

    #[test]
    fn a_precision_bounds_a_string() {
        assert_eq!(asked("%.3s", 0), [Text { most: 3 }]);
        assert_eq!(asked("%-*.*s", 4), [Star, Star, Text { most: 4 }]);
        // A negative precision counts as none.
        assert_eq!(asked("%.*s", -1i32 as usize), [Star, Text { most: usize::MAX }]);
    }

    #[test]
    fn arguments_by_number_end_what_is_known() {
        assert_eq!(asked("%d %2$s %d", 0), [Number]);
    }

    #[test]
    fn formats_that_end_early_ask_for_nothing() {
        assert_eq!(asked("%", 0), []);
        assert_eq!(asked("100%", 0), []);
        assert_eq!(asked("%.", 0), []);
    }

    #[test]
    fn scanf_writes_by_size() {
        assert_eq!(scanf(b"%d %hd %hhd %ld %lf %Lf").collect::<Vec<_>>(), [4, 2, 1, 8, 8, 16]);
        assert_eq!(scanf(b"%*d %s %[^]] %[]a] %p %ms").collect::<Vec<_>>(), [1, 1, 1, 8, 8]);
        assert_eq!(scanf(b"%% %").count(), 0);
        assert_eq!(scanf(b"%1$d %d").count(), 0);
    }
}
