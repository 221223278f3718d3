//! Tokens of a condition, each with its place in the text.

use super::ConditionError;
use crate::source::Span;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A field, attribute or keyword.
    Word(String),
    /// `?` or `:name`
    Input(Option<String>),
    Text(String),
    Number(String),
    /// `= <> < <= > >= ( ) ,`
    Sign(&'static str),
}

pub(super) type Placed = (Token, Span);

/// Longer signs first, so that `<=` is not read as `<`.
const SIGNS: [&str; 9] = ["<>", "<=", ">=", "=", "<", ">", "(", ")", ","];

pub(super) fn tokens(text: &str) -> Result<Vec<Placed>, ConditionError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let Some(first) = rest.chars().next() else { break };
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = next(rest, first, at)?;
        tokens.push((token, Span::new(at, at + length)));
        at += length;
    }
    Ok(tokens)
}

fn next(rest: &str, first: char, at: usize) -> Result<(Token, usize), ConditionError> {
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return Ok((Token::Sign(sign), sign.len()));
    }
    match first {
        '?' => Ok((Token::Input(None), 1)),
        ':' => {
            let name = word(rest.get(1..).unwrap_or(""));
            if name.is_empty() {
                let span = Span::new(at, at + 1);
                return Err(ConditionError::new("an input needs a name after the colon", span));
            }
            Ok((Token::Input(Some(name.to_owned())), name.len() + 1))
        }
        '"' | '\'' => quoted(rest, first, at),
        c if c.is_ascii_digit() || c == '-' => {
            let digits = rest
                .char_indices()
                .find(|&(i, c)| i > 0 && !(c.is_ascii_alphanumeric() || c == '.'))
                .map_or(rest.len(), |(i, _)| i);
            let number = rest.get(..digits).unwrap_or("");
            if number.parse::<f64>().is_err() {
                let message = format!("`{number}` is not a number");
                return Err(ConditionError::new(message, Span::new(at, at + digits))
                    .fix("put texts and dates in quotes"));
            }
            Ok((Token::Number(number.to_owned()), digits))
        }
        _ => {
            let word = word(rest);
            if word.is_empty() {
                let span = Span::new(at, at + first.len_utf8());
                let message = format!("`{first}` means nothing in a condition");
                return Err(ConditionError::new(message, span));
            }
            Ok((Token::Word(word.to_owned()), word.len()))
        }
    }
}

/// A name: letters, digits, `_`, `.`, and a leading `#` for DynamoDB's name placeholders.
fn word(text: &str) -> &str {
    let end = text
        .char_indices()
        .find(|&(i, c)| {
            let inside = c.is_alphanumeric() || matches!(c, '_' | '.') || (c == '-' && i > 0);
            !(inside || (i == 0 && c == '#'))
        })
        .map_or(text.len(), |(i, _)| i);
    text.get(..end).unwrap_or("")
}

/// A quoted text; the quote is written twice to stand for itself.
fn quoted(rest: &str, quote: char, at: usize) -> Result<(Token, usize), ConditionError> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((i, c)) = chars.next() {
        if c != quote {
            text.push(c);
        } else if chars.peek().is_some_and(|&(_, next)| next == quote) {
            text.push(quote);
            chars.next();
        } else {
            return Ok((Token::Text(text), i + 1));
        }
    }
    let span = Span::new(at, at + rest.len());
    Err(ConditionError::new("the text has no closing quote", span))
}
