//! Panics of Rust programs.

/// What the main thread has printed about its panic.
pub fn message(printed: &str) -> String {
    let about = printed.rsplit_once("thread 'main'").map(|(_, rest)| rest.lines().skip(1));
    match about.and_then(|mut lines| lines.next()).filter(|line| !line.trim().is_empty()) {
        Some(line) => format!("main panicked: {}", line.trim()),
        None => "main panicked".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::message;

    #[test]
    fn the_message_is_the_line_after_the_place() {
        let printed =
            "hello\n\nthread 'main' (7) panicked at src/main.rs:10:9:\nassertion failed: done\nnote: run with\n";
        assert_eq!(message(printed), "main panicked: assertion failed: done");
        assert_eq!(message("a hook of the program's own said this"), "main panicked");
    }
}
