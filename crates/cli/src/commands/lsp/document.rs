//! The text of an open file, and positions in it: the protocol counts lines and UTF-16 code units, we count bytes.

use std::ops::Range;

use lsp_types::{Position, Range as Place, TextDocumentContentChangeEvent};

/// A text with its lines.
#[derive(Clone, Debug)]
pub(super) struct Document {
    text: String,
    line_starts: Vec<usize>,
    /// The editor's number of this state of the text.
    pub(super) version: i32,
}

impl Document {
    pub(super) fn new(text: String, version: i32) -> Self {
        let line_starts = line_starts(&text);
        Self { text, line_starts, version }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Applies changes of the editor, one after the other.
    pub(super) fn change(&mut self, changes: Vec<TextDocumentContentChangeEvent>, version: i32) {
        for change in changes {
            match change.range {
                None => self.text = change.text,
                Some(range) => self.text.replace_range(self.bytes(range), &change.text),
            }
            self.line_starts = line_starts(&self.text);
        }
        self.version = version;
    }

    /// The byte at a position; the end of the line, or of the text, for positions beyond it.
    pub(super) fn offset(&self, position: Position) -> usize {
        let Some(&start) = self.line_starts.get(position.line as usize) else {
            return self.text.len();
        };
        let next = self.line_starts.get(position.line as usize + 1).copied();
        let line = self.text.get(start..next.unwrap_or(self.text.len())).unwrap_or_default();
        let line = line.trim_end_matches(['\r', '\n']);
        let mut units = 0;
        for (at, c) in line.char_indices() {
            if units >= position.character as usize {
                return start + at;
            }
            units += c.len_utf16();
        }
        start + line.len()
    }

    fn bytes(&self, range: Place) -> Range<usize> {
        let (start, end) = (self.offset(range.start), self.offset(range.end));
        start..end.max(start)
    }

    /// The position of a byte.
    pub(super) fn position(&self, offset: usize) -> Position {
        let line = self.line_starts.partition_point(|&start| start <= offset).saturating_sub(1);
        let start = self.line_starts.get(line).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        let units: usize = before.chars().map(char::len_utf16).sum();
        Position::new(line as u32, units as u32)
    }

    /// The place of a range of bytes.
    pub(super) fn place(&self, range: Range<usize>) -> Place {
        Place::new(self.position(range.start), self.position(range.end))
    }
}

/// A line ends with `\n`, `\r\n` or `\r`.
fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends = bytes.iter().enumerate().filter(|&(at, &byte)| {
        byte == b'\n' || (byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'))
    });
    std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(from: (u32, u32), to: (u32, u32), text: &str) -> TextDocumentContentChangeEvent {
        let range = Place::new(Position::new(from.0, from.1), Position::new(to.0, to.1));
        TextDocumentContentChangeEvent {
            range: Some(range),
            range_length: None,
            text: text.to_owned(),
        }
    }

    #[test]
    fn columns_are_utf16_code_units() {
        // 😀 is four bytes and two code units, é two bytes and one.
        let document = Document::new("a😀é = 1\r\nb\rc\n".to_owned(), 1);
        for (line, column, offset) in [
            (0, 0, 0),
            (0, 1, 1),
            (0, 3, 5),
            (0, 4, 7),
            (0, 8, 11),
            (1, 0, 13),
            (2, 1, 16),
            (3, 0, 17),
        ] {
            let position = Position::new(line, column);
            assert_eq!(document.offset(position), offset, "{line}:{column}");
            assert_eq!(document.position(offset), position, "{offset}");
        }
        assert_eq!(document.offset(Position::new(0, 99)), 11, "the end of the line");
        assert_eq!(document.offset(Position::new(99, 0)), 17, "the end of the text");
    }

    #[test]
    fn changes_apply_one_after_the_other() {
        let mut document = Document::new("x = 😀\ny = 2\n".to_owned(), 1);
        document.change(vec![change((0, 4), (0, 6), "é"), change((1, 0), (2, 0), "")], 2);
        assert_eq!(document.text(), "x = é\n");
        document.change(vec![change((0, 5), (0, 5), "!"), change((0, 0), (0, 1), "long")], 3);
        assert_eq!(document.text(), "long = é!\n");
        assert_eq!(document.version, 3);
        document.change(vec![change((5, 0), (9, 9), "end")], 4);
        assert_eq!(document.text(), "long = é!\nend", "a place beyond the end is the end");
    }
}
