//! Progress of long work: a bar on a terminal, plain lines elsewhere, always on standard error.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often a bar is drawn anew.
const REDRAW: Duration = Duration::from_millis(80);
/// When the first plain line is written, and how often further ones are.
const FIRST_LINE: Duration = Duration::from_secs(1);
const LINE: Duration = Duration::from_secs(5);
const WIDTH: usize = 30;

/// Work of known length that is under way.
pub(crate) struct Progress {
    what: String,
    total: usize,
    terminal: bool,
    drawn: Instant,
    shown: bool,
}

impl Progress {
    /// Begins work; nothing is shown if it is done at once.
    pub(crate) fn new(what: impl Into<String>, total: usize) -> Self {
        let what = what.into();
        let terminal = io::stderr().is_terminal();
        Self { what, total, terminal, drawn: Instant::now(), shown: false }
    }

    /// So much is done.
    pub(crate) fn at(&mut self, done: usize) {
        let pause = match (self.terminal, self.shown) {
            (true, _) => REDRAW,
            (false, false) => FIRST_LINE,
            (false, true) => LINE,
        };
        if self.drawn.elapsed() < pause {
            return;
        }
        self.drawn = Instant::now();
        self.shown = true;
        let share = done.min(self.total) * WIDTH / self.total.max(1);
        let text = if self.terminal {
            let bar = "█".repeat(share) + &"░".repeat(WIDTH - share);
            format!("\r{} {bar} {done}/{} ", self.what, self.total)
        } else {
            format!("{}: {done} of {}\n", self.what, self.total)
        };
        // Progress that cannot be shown is no reason to stop.
        drop(io::stderr().write_all(text.as_bytes()));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.terminal && self.shown {
            let blank = " ".repeat(self.what.len() + WIDTH + 40);
            drop(io::stderr().write_all(format!("\r{blank}\r").as_bytes()));
        }
    }
}
