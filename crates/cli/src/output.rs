//! How commands speak: results to standard output, complaints to standard error, and an exit code.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

pub(crate) use crate::paint::Paint;

/// Where a command writes its result.
pub(crate) struct Output {
    out: Box<dyn Write>,
    paint: Paint,
}

impl Output {
    /// Writes to standard output.
    pub(crate) fn stdout() -> Self {
        let out = io::stdout();
        let paint = Paint::on(&out);
        Self { out: Box::new(io::BufWriter::new(out)), paint }
    }

    /// The colours of this output; none in pipes and files.
    pub(crate) fn paint(&self) -> Paint {
        self.paint
    }

    /// Writes a text for people, in colours where there are any.
    pub(crate) fn prose(&mut self, text: impl fmt::Display) -> Result<(), Failure> {
        let text = self.paint.prose(&text.to_string());
        self.line(text)
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
        // If standard error is closed, there is no place to report to.
        let label = Paint::on(&io::stderr()).bad("error:");
        drop(writeln!(io::stderr(), "{label} {reason}"));
    }
}

/// Says on standard error what is going on.
pub(crate) fn remark(text: fmt::Arguments<'_>) {
    drop(writeln!(io::stderr(), "{text}"));
}

/// Says on standard error what is not wise.
pub(crate) fn warn(warning: &str) {
    let label = Paint::on(&io::stderr()).warn("warning:");
    drop(writeln!(io::stderr(), "{label} {warning}"));
}
