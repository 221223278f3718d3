//! Splits an expression into tokens with their positions.
//!
//! Keywords are ordinary identifiers here: `set` is a keyword in an update and a (reserved) name in
//! a projection, so the parsers decide. Invalid characters become tokens of their own; the parser
//! refuses them where they occur, as DynamoDB does.

/// A token: its kind and position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What kind it is.
    pub kind: TokenKind,
    /// The start, in bytes.
    pub start: usize,
    /// The end, in bytes.
    pub end: usize,
}

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A name or keyword: a letter, then letters, digits and `_`.
    Identifier,
    /// `#name`.
    NamePlaceholder,
    /// `:value`.
    ValuePlaceholder,
    /// Decimal digits.
    Digits,
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `(`
    Open,
    /// `)`
    Close,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// A character that is not valid in expressions.
    Unknown,
    /// The end of the expression.
    End,
}

/// The tokens of `text`, the last one being [`TokenKind::End`].
pub fn tokens(text: &str) -> Vec<Token> {
    // Most tokens have two characters or more, or a space beside them; the last one has none.
    let mut tokens = Vec::with_capacity(text.len() / 2 + 2);
    let mut start = 0;
    while let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) {
        let Some((kind, length)) = first_token(rest) else {
            start += 1;
            continue;
        };
        tokens.push(Token { kind, start, end: start + length });
        start += length;
    }
    tokens.push(Token { kind: TokenKind::End, start: text.len(), end: text.len() });
    tokens
}

/// The kind and length of the token at the start of `rest`; `None` for white space.
fn first_token(rest: &str) -> Option<(TokenKind, usize)> {
    use TokenKind::*;
    let bytes = rest.as_bytes();
    let second = bytes.get(1).copied();
    let one = |kind| (kind, 1);
    Some(match bytes.first().copied()? {
        b' ' | b'\t' | b'\r' | b'\n' => return None,
        b'a'..=b'z' | b'A'..=b'Z' => (Identifier, word_length(bytes)),
        b'0'..=b'9' => (Digits, bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()),
        marker @ (b'#' | b':') => match 1 + word_length(bytes.get(1..)?) {
            1 => one(Unknown),
            length if marker == b'#' => (NamePlaceholder, length),
            length => (ValuePlaceholder, length),
        },
        b'<' if second == Some(b'>') => (NotEqual, 2),
        b'<' if second == Some(b'=') => (LessOrEqual, 2),
        b'>' if second == Some(b'=') => (GreaterOrEqual, 2),
        b'<' => one(Less),
        b'>' => one(Greater),
        b'=' => one(Equal),
        b'+' => one(Plus),
        b'-' => one(Minus),
        b',' => one(Comma),
        b'.' => one(Dot),
        b'(' => one(Open),
        b')' => one(Close),
        b'[' => one(OpenBracket),
        b']' => one(CloseBracket),
        _ => (Unknown, rest.chars().next().map_or(1, char::len_utf8)),
    })
}

fn word_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| byte.is_ascii_alphanumeric() || byte == b'_').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_covers_its_text() {
        let text = "SET #a.b[12] = :v_1 + ü, _x<>c";
        let pieces: Vec<&str> = tokens(text).iter().map(|t| &text[t.start..t.end]).collect();
        assert_eq!(
            pieces,
            [
                "SET", "#a", ".", "b", "[", "12", "]", "=", ":v_1", "+", "ü", ",", "_", "x", "<>",
                "c", ""
            ]
        );
    }
}
