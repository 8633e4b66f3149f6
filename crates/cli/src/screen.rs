//! Standard output: its format, width and colours, and what happens when nobody reads it.

use crate::args::{Colour, Format, ScreenArgs};
use crate::error::Error;
use fencepost_report::text::Look;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use terminal_size::{Width, terminal_size_of};

/// Where results go.
pub struct Screen {
    out: BufWriter<Stdout>,
    pub format: Format,
    pub look: Look,
    pub quiet: bool,
}

impl Screen {
    pub fn new(args: ScreenArgs) -> Screen {
        let width = terminal_size_of(io::stdout()).map_or(Look::PLAIN.width, |(Width(width), _)| width.into());
        // A terminal of no width is none, and text needs some room.
        let width = if width == 0 { Look::PLAIN.width } else { width.max(40) };
        Screen {
            out: BufWriter::new(io::stdout()),
            format: args.format,
            look: Look { width, colour: colours(args.color) },
            quiet: args.quiet,
        }
    }

    /// Is the output for programs?
    pub fn json(&self) -> bool {
        self.format == Format::Json
    }

    /// Prints and flushes: results are worth most when they are there at once.
    pub fn print(&mut self, text: &str) -> Result<(), Error> {
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).map_err(Error::Stdout)
    }

    /// Says what went wrong with a part of the work.
    pub fn complain(&mut self, error: &Error) {
        complain(error);
    }
}

/// Says what went wrong, if it is worth saying and somebody listens.
pub fn complain(error: &Error) {
    if let Some(line) = error.line() {
        let _ = writeln!(io::stderr(), "fencepost: {line}");
    }
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
