//! Standard output and standard error: format, width and colours, what is said while the work goes on, and what happens
//! when nobody reads it.

use crate::args::{Colour, ScreenArgs};
use crate::error::{Error, Status};
use crate::progress::Line;
use fencepost_report::Format;
use fencepost_report::text::{TextStyle, clean};
use fencepost_session::{Event, Outcome, Sink, try_file, write_whole};
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::PathBuf;
use terminal_size::{Width, terminal_size_of};

/// Where results go.
pub struct Screen {
    out: BufWriter<Stdout>,
    pub format: Format,
    pub style: TextStyle,
    pub quiet: bool,
    /// Files that the report is written to, too.
    files: Vec<(Format, PathBuf)>,
    line: Option<Line>,
}

impl Screen {
    pub fn new(args: ScreenArgs) -> Result<Screen, Error> {
        let page = args.html.map(|file| (Format::Html, file));
        let files: Vec<_> = args.output.into_iter().chain(page).collect();
        // Better now than when the work is done.
        files.iter().try_for_each(|(_, file)| try_file(file))?;
        // What is no terminal has the width that somebody asks for, if somebody does.
        let asked = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let width = terminal_size_of(io::stdout()).map(|(Width(width), _)| width.into()).or_else(asked);
        // A terminal of no width is none, and text needs some room.
        let width = width.filter(|width| *width > 0).map_or(TextStyle::PLAIN.width, |width: usize| width.max(40));
        Ok(Screen {
            out: BufWriter::new(io::stdout()),
            format: args.format,
            style: TextStyle { width, colour: colours(args.color), whole: args.verbose },
            quiet: args.quiet,
            files,
            line: None,
        })
    }

    /// The files that the report is written to, too.
    pub fn files(&self) -> &[(Format, PathBuf)] {
        &self.files
    }

    /// Is the output for people?
    pub fn text(&self) -> bool {
        self.format == Format::Text
    }

    /// Prints and flushes: results are worth most when they are there at once.
    pub fn print(&mut self, text: &str) -> Result<(), Error> {
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).map_err(Error::Stdout)
    }

    /// Prints the result of a command, and says what its exit status is.
    pub fn conclude(&mut self, outcome: Outcome) -> Result<Status, Error> {
        let text = match self.text() && self.quiet {
            true => format!("{}\n", outcome.verdict()),
            false => self.format.render(&outcome.document(), self.style),
        };
        let verdict = outcome.verdict();
        let plain = TextStyle { colour: false, ..self.style };
        let files = self
            .files
            .iter()
            .try_for_each(|(format, file)| write_whole(file, format.render(&outcome.document(), plain).as_bytes()));
        match (self.print(&text), outcome.unwritten.or(files.err())) {
            (Err(error), _) if !error.is_closed_pipe() => Err(error),
            (_, Some(error)) => Err(error.into()),
            // Whoever closed the pipe may still look at the exit status.
            _ => Ok(verdict.into()),
        }
    }

    /// A line on stderr, above the one that says how far the work is.
    fn say(&mut self, text: &str) {
        let say = || {
            let _ = writeln!(io::stderr(), "{text}");
        };
        match &self.line {
            Some(line) => line.suspend(say),
            None => say(),
        }
    }
}

impl Sink for Screen {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Started(budget) => {
                let terminal = io::stderr().is_terminal();
                // No line among JSON that is about to appear on the same terminal.
                let mixed = terminal && !self.text() && io::stdout().is_terminal();
                let wanted = !self.quiet && !mixed;
                self.line = wanted.then(|| Line::new(budget, terminal));
            }
            Event::Progress(standing) => self.line.iter_mut().for_each(|line| line.draw(standing)),
            Event::Remark(remark) => self.say(&remark.to_string()),
            Event::Collecting { schedules } if !self.quiet && io::stderr().is_terminal() => {
                self.say(&format!(
                    "note: collecting the outcomes of atomic operations, from {schedules} schedules at most"
                ));
            }
            Event::Collected { outcomes, schedules } if !self.quiet => {
                self.say(&format!("note: atomic operations have {outcomes} outcomes, from {schedules} schedules"));
            }
            Event::Minimising { finding, of } => self.line.iter_mut().for_each(|line| line.minimise(finding, of)),
            Event::Done(_) => self.line = None,
            // These are in the result, too.
            Event::Collecting { .. } | Event::Collected { .. } | Event::Finding(_) | Event::Cycle(_) => {}
            // `litmus` and `safe` have their own.
            Event::Litmus(_) | Event::Safe(_) | Event::LitmusFailed { .. } => {}
        }
    }
}

/// Says what went wrong, if it is worth saying and somebody listens.
pub fn complain(error: &Error) {
    error.line().iter().for_each(|line| complain_of(line));
}

/// Says what went wrong.
pub fn complain_of(problem: &str) {
    let _ = writeln!(io::stderr(), "fencepost: {}", clean(problem));
}

/// Are there to be colours?
pub fn colours(when: Colour) -> bool {
    let unwanted = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match when {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            io::stdout().is_terminal() && !unwanted("NO_COLOR") && !dumb
        }
    }
}

/// Prints before the command line is understood.
pub fn print(text: &str) -> Result<(), Error> {
    let mut out = io::stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Error::Stdout)
}
