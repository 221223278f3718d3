//! Lines of a text, each within the limit of a row.

use std::io::Read;

use keyloom_core::Error;
use keyloom_core::error::transfer as message;

use super::Fault;
use super::input::Input;

/// Reads lines that are not empty.
pub struct Lines<R> {
    input: Input<R>,
    text: Vec<u8>,
}

/// A line of the input with its number.
#[derive(Debug)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// How many bytes it took.
    pub bytes: u64,
    /// What it holds, without white space around it; an error if it is longer than any item.
    pub text: Result<&'a [u8], Error>,
}

impl<R: Read> Lines<R> {
    /// The lines of a text.
    pub fn new(content: R) -> Self {
        Self::of(Input::new(content))
    }

    pub(super) fn of(input: Input<R>) -> Self {
        Self { input, text: Vec::new() }
    }

    /// The number of the last line that was begun.
    pub fn number(&self) -> u64 {
        self.input.row_line()
    }

    /// The next line that is not empty; none at the end.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, Fault> {
        loop {
            self.text.clear();
            self.input.begin_row();
            if !self.input.take_line(&mut self.text)? {
                return Ok(None);
            }
            if self.input.is_too_long() || !self.text.trim_ascii().is_empty() {
                break;
            }
        }
        let text = if self.input.is_too_long() {
            Err(message::row_too_long())
        } else {
            Ok(self.text.trim_ascii())
        };
        Ok(Some(Line { number: self.input.row_line(), bytes: self.input.row_bytes(), text }))
    }
}
