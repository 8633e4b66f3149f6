//! The machine itself: what a program does that was compiled without any instrumentation, on this processor, kernel and
//! C library. What it is seen to do must be among what exploration says it can do.

use crate::program::{Language, Program};
use crate::truths::{Outcomes, SPENT, line_of_end};
use crate::write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// How often each program runs.
const RUNS: &str = "40";

/// An executable that holds programs.
#[derive(Clone, Debug)]
pub struct Native {
    executable: PathBuf,
}

impl Native {
    /// Compiles these programs, if that can be had in the language.
    pub fn build(language: Language, programs: &[Program], directory: &Path, name: &str) -> io::Result<Option<Native>> {
        let Some(text) = write::native_unit(language, programs) else { return Ok(None) };
        let executable = directory.join(format!("{name}-native"));
        let source = executable.with_extension(language.ending());
        fs::write(&source, text)?;
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-g0", "-w", "-pthread", "-o"]).arg(&executable).arg(&source);
        let output = SPENT.on(0, || compiler.output())?;
        match output.status.success() {
            true => Ok(Some(Native { executable })),
            false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }

    /// The ways in which runs of one of them ended; nothing is said of those that hung.
    pub fn run(&self, number: usize) -> io::Result<Outcomes> {
        let mut command = Command::new(&self.executable);
        command.arg(number.to_string()).arg(RUNS);
        let output = SPENT.on(3, || command.output())?;
        if !output.status.success() {
            return Err(io::Error::other(format!("native runs: {}", output.status)));
        }
        Ok(outcomes(&String::from_utf8_lossy(&output.stdout)))
    }
}

fn outcomes(text: &str) -> Outcomes {
    let mut outcomes = Outcomes::new();
    let mut run = String::new();
    for line in text.lines() {
        if let Some(status) = line.strip_prefix("# ") {
            if status != "0" {
                run += &format!("exit status {status}\n");
            }
            outcomes.extend(line_of_end(&run));
            run.clear();
        } else if let Some(how) = line.strip_prefix("! ") {
            if how != "hung" {
                outcomes.insert(format!("!{how}"));
            }
            run.clear();
        } else {
            run += line;
            run.push('\n');
        }
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_as_their_last_lines_say() {
        let text = "= 1 0\n# 0\n1 5 0\n# 49\n= 3 0\n! hung\n! assertion\n! crash\n";
        let expected = ["!assertion", "!crash", "1 5 0", "= 1 0"];
        assert_eq!(outcomes(text).into_iter().collect::<Vec<_>>(), expected);
    }
}
