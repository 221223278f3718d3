//! Source text with positions: where in the design file something was written.

/// A range of bytes in the source text. Things built by code have [`Span::NONE`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The span of something that no file contains.
    pub const NONE: Self = Self { start: u32::MAX, end: u32::MAX };

    /// The bytes `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        let clip = |n: usize| u32::try_from(n).unwrap_or(u32::MAX - 1).min(u32::MAX - 1);
        Self { start: clip(start), end: clip(end.max(start)) }
    }

    /// Whether this span points into a file.
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }

    /// The first byte.
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// The byte after the last.
    pub fn end(self) -> usize {
        self.end as usize
    }

    /// The bytes `from..to` counted from the start of this span.
    #[must_use]
    pub fn within(self, from: usize, to: usize) -> Self {
        if self.is_some() { Self::new(self.start() + from, self.start() + to) } else { self }
    }
}

/// A value with the place it was written at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value that was read.
    pub value: T,
    /// Where it stands.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// A value at a place.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// A value that no file contains.
    pub fn free(value: impl Into<T>) -> Self {
        Self { value: value.into(), span: Span::NONE }
    }
}

impl Spanned<String> {
    /// The text without its position.
    pub fn as_str(&self) -> &str {
        &self.value
    }
}

/// A line and a column, both counted from one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from one.
    pub line: usize,
    /// The column in characters, from one.
    pub column: usize,
}

/// A design file's name and text.
#[derive(Clone, Debug, Default)]
pub struct Source {
    name: String,
    text: String,
    line_starts: Vec<usize>,
}

impl Source {
    /// The text of the file `name`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let (name, text) = (name.into(), text.into());
        let line_starts =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { name, text, line_starts }
    }

    /// The file's name, empty for a design built by code.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text under a span.
    pub fn excerpt(&self, span: Span) -> &str {
        self.text.get(span.start()..span.end()).unwrap_or("")
    }

    /// The line and column at which a span begins, unless it points nowhere.
    pub fn position(&self, span: Span) -> Option<Position> {
        if !span.is_some() {
            return None;
        }
        let line = self.line_index(span.start());
        let start = self.line_starts.get(line).copied()?;
        let column = self.text.get(start..span.start())?.chars().count() + 1;
        Some(Position { line: line + 1, column })
    }

    /// The text of a line counted from one, without its end.
    pub fn line(&self, line: usize) -> &str {
        let Some(&start) = self.line_starts.get(line.wrapping_sub(1)) else { return "" };
        let end = self.line_starts.get(line).map_or(self.text.len(), |next| next - 1);
        self.text.get(start..end).unwrap_or("").trim_end_matches('\r')
    }

    fn line_index(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= offset).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = Source::new("a.toml", "α = 1\nb = 2\r\nc");
        let at = |start| source.position(Span::new(start, start + 1)).map(|p| (p.line, p.column));
        assert_eq!(at(0), Some((1, 1)));
        assert_eq!(at(5), Some((1, 5)), "α is two bytes and one column");
        assert_eq!(at(7), Some((2, 1)));
        assert_eq!(source.line(2), "b = 2");
        assert_eq!(source.line(3), "c");
        assert_eq!(source.position(Span::NONE), None);
    }
}
