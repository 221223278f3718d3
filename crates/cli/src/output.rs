//! How commands speak: results to standard output, complaints to standard error, and an exit code.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// Where a command writes its result.
pub(crate) struct Output {
    out: Box<dyn Write>,
    terminal: bool,
}

impl Output {
    /// Standard output.
    pub(crate) fn stdout() -> Self {
        let out = io::stdout();
        let terminal = out.is_terminal();
        Self { out: Box::new(io::BufWriter::new(out)), terminal }
    }

    /// Colours for whoever looks at it, none for programs or where `NO_COLOR` is set.
    pub(crate) fn paint(&self) -> Paint {
        Paint { colours: self.terminal && std::env::var_os("NO_COLOR").is_none() }
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, text: impl fmt::Display) -> Result<(), Failure> {
        writeln!(self.out, "{text}")?;
        Ok(())
    }

    /// Has everything appear now.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush()?;
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // A reader that went away is nothing to complain about.
        drop(self.out.flush());
    }
}

/// Colours of words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    colours: bool,
}

impl Paint {
    /// As it should be.
    pub(crate) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// Worth a look.
    pub(crate) fn warn(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// Wrong.
    pub(crate) fn bad(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The forms in which most commands write their results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Text for a terminal.
    Human,
    /// JSON.
    Json,
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked cannot be done; the sentence says why and the way out.
    Refused(String),
    /// The reader of our output went away.
    ClosedPipe,
}

impl Failure {
    /// A refusal in words.
    pub(crate) fn refused(reason: impl fmt::Display) -> Self {
        Self::Refused(reason.to_string())
    }

    /// The exit code.
    pub(crate) fn code(&self) -> ExitCode {
        match self {
            Self::Refused(_) => ExitCode::from(1),
            Self::ClosedPipe => ExitCode::SUCCESS,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::refused(format_args!("the output could not be written: {error}")),
        }
    }
}

/// Says on standard error what went wrong.
pub(crate) fn complain(failure: &Failure) {
    if let Failure::Refused(reason) = failure {
        // When even this cannot be written there is nobody to tell.
        drop(writeln!(io::stderr(), "error: {reason}"));
    }
}

/// Says on standard error what is not wise.
pub(crate) fn warn(warning: &str) {
    drop(writeln!(io::stderr(), "warning: {warning}"));
}
