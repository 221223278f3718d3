//! The bytes of an object, with a look ahead, counted row by row.

use std::io::{self, Read};

use super::{Fault, MAX_ROW_BYTES, MAX_SKIPPED_BYTES};

/// How much is asked for at once.
const CHUNK: usize = 64 * 1024;

/// The bytes of an object.
pub(super) struct Input<R> {
    reader: R,
    buffer: Box<[u8]>,
    /// The part of the buffer that is still to be read.
    start: usize,
    end: usize,
    /// Bytes that were taken since the row began.
    row_bytes: usize,
    /// Ends of lines that were taken, and how many of them before the row.
    lines: u64,
    row_line: u64,
}

impl<R: Read> Input<R> {
    pub(super) fn new(reader: R) -> Self {
        let buffer = vec![0; CHUNK].into();
        Self { reader, buffer, start: 0, end: 0, row_bytes: 0, lines: 0, row_line: 0 }
    }

    /// Begins a row at the next byte.
    pub(super) fn begin_row(&mut self) {
        self.row_bytes = 0;
        self.row_line = self.lines;
    }

    /// The number of the line where the row begins, from 1.
    pub(super) fn row_line(&self) -> u64 {
        self.row_line + 1
    }

    /// How many bytes of the row have been taken.
    pub(super) fn row_bytes(&self) -> u64 {
        self.row_bytes as u64
    }

    /// The next byte, which stays; none at the end.
    pub(super) fn peek(&mut self) -> io::Result<Option<u8>> {
        self.peek_at(0)
    }

    /// The byte so many behind the next one, which stays. A few are always in reach.
    pub(super) fn peek_at(&mut self, ahead: usize) -> io::Result<Option<u8>> {
        while self.end - self.start <= ahead {
            if !self.fill()? {
                return Ok(None);
            }
        }
        Ok(self.buffer.get(self.start + ahead).copied())
    }

    /// Takes the next byte; none at the end. A row that grows without limit is not of the format.
    pub(super) fn take(&mut self) -> Result<Option<u8>, Fault> {
        let byte = self.peek()?;
        if byte.is_some() {
            self.advance(1)?;
        }
        Ok(byte)
    }

    /// Takes bytes that have been looked at.
    pub(super) fn advance(&mut self, count: usize) -> Result<(), Fault> {
        let next = (self.start + count).min(self.end);
        let taken = self.buffer.get(self.start..next).unwrap_or_default();
        self.lines += taken.split(|byte| *byte == b'\n').count() as u64 - 1;
        self.start = next;
        self.row_bytes += count;
        if self.row_bytes > MAX_SKIPPED_BYTES {
            return Err(Fault::malformed("a row has no end within 64 MB"));
        }
        Ok(())
    }

    /// Whether the row is longer than any item: nothing more of it is to be kept.
    pub(super) fn is_too_long(&self) -> bool {
        self.row_bytes > MAX_ROW_BYTES
    }

    /// Takes the next byte if it is this one.
    pub(super) fn eat(&mut self, wanted: u8) -> Result<bool, Fault> {
        let found = self.peek()? == Some(wanted);
        if found {
            self.advance(1)?;
        }
        Ok(found)
    }

    /// Takes these bytes if they come next.
    pub(super) fn eat_all(&mut self, wanted: &[u8]) -> Result<bool, Fault> {
        for (ahead, byte) in wanted.iter().enumerate() {
            if self.peek_at(ahead)? != Some(*byte) {
                return Ok(false);
            }
        }
        self.advance(wanted.len())?;
        Ok(true)
    }

    /// Appends everything up to the end of the line, without it, unless it is too long; whether there was anything to
    /// read.
    pub(super) fn take_line(&mut self, line: &mut Vec<u8>) -> Result<bool, Fault> {
        let mut any = false;
        while self.peek()?.is_some() {
            any = true;
            let ready = self.buffer.get(self.start..self.end).unwrap_or_default();
            let newline = ready.iter().position(|byte| *byte == b'\n');
            let taken = newline.unwrap_or(ready.len());
            if !self.is_too_long() {
                line.extend_from_slice(ready.get(..taken).unwrap_or_default());
            }
            self.advance(taken + usize::from(newline.is_some()))?;
            if newline.is_some() {
                break;
            }
        }
        Ok(any)
    }

    /// Reads more; whether there was more.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        loop {
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.reader.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(count) => {
                    self.end += count;
                    return Ok(count > 0);
                }
            }
        }
    }
}
