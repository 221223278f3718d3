//! Literals of texts, which the languages write alike.

/// A text as a literal, in the quotes that need fewer escapes. `escaped` gives what a language wants escaped in its own way,
/// beyond backslashes, quotes and ends of lines.
pub(super) fn quoted(text: &str, escaped: impl Fn(char) -> Option<String>) -> String {
    let count = |quote: char| text.matches(quote).count();
    let quote = if count('"') > count('\'') { '\'' } else { '"' };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c => match escaped(c) {
                Some(escaped) => out.push_str(&escaped),
                None => out.push(c),
            },
        }
    }
    out.push(quote);
    out
}

/// Whether a character is invisible in a source, or needs two units of UTF-16.
pub(super) fn is_unusual(c: char) -> bool {
    c.is_control() || u32::from(c) > 0xFFFF
}
