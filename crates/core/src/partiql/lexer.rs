//! Splits statements into tokens.
//!
//! Words are case-insensitive, `"quoted"` names are not. Comments (`-- …` and `/* … */`) are white
//! space. An invalid token makes the whole statement invalid; AWS then gives no detail.

use std::fmt;

use super::keywords;
use crate::error::message::partiql as message;
use crate::error::{Error, Result};
use crate::number::has_readable_scale;
use crate::value::Str;

/// The position of a token: line and column from 1, and its length, all in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The line, counted from 1.
    pub line: u32,
    /// The column of the first character.
    pub column: u32,
    /// The length as written, quotes included.
    pub length: u32,
}

/// AWS's form in messages: `1:8:5`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.line, self.column, self.length)
    }
}

/// A token with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What kind it is.
    pub kind: TokenKind,
    /// Where it stands in the statement.
    pub span: Span,
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An unquoted name.
    Word(Str),
    /// A name in double quotes.
    Quoted(Str),
    /// A reserved word, in lower case; pairs of words are joined by `_`.
    Keyword(&'static str),
    /// An operator: a symbol or, in lower case, a word.
    Operator(&'static str),
    /// A string in single quotes.
    String(Str),
    /// A number as written, without a sign.
    Number(Str),
    /// A literal in backticks, which DynamoDB does not support.
    Ion(Str),
    /// `true` or `false`
    Bool(bool),
    /// `null`
    Null,
    /// `missing`
    Missing,
    /// The `?` with this number, from 0.
    Parameter(usize),
    /// One of `( ) [ ] { } : , * ; .`, or `<<` and `>>` as `«` and `»`.
    Sign(char),
    /// The end of the statement.
    End,
}

/// The tokens of a statement; the last one is [`TokenKind::End`].
pub fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut lexer = Lexer { rest: text, line: 1, column: 1, parameters: 0 };
    let mut tokens: Vec<Token> = Vec::new();
    loop {
        lexer.skip_spaces()?;
        let (line, column, before) = (lexer.line, lexer.column, lexer.rest);
        let kind = lexer.token()?;
        let taken = before.get(..before.len() - lexer.rest.len()).unwrap_or_default();
        let length = taken.chars().count();
        let span = Span { line, column, length: length as u32 };
        let is_end = kind == TokenKind::End;
        push(&mut tokens, Token { kind, span });
        if is_end {
            return Ok(tokens);
        }
    }
}

/// Adds a token, merging it with the previous one if the two form one operator or keyword.
fn push(tokens: &mut Vec<Token>, token: Token) {
    let word = |kind: &TokenKind| match kind {
        TokenKind::Keyword(word) | TokenKind::Operator(word) => Some(*word),
        _ => None,
    };
    let last = tokens.last_mut();
    let joined = last.as_ref().and_then(|last| {
        let (first, second) = (word(&last.kind)?, word(&token.kind)?);
        keywords::PAIRS.iter().find(|(a, b, _)| (*a, *b) == (first, second)).map(|pair| pair.2)
    });
    match (last, joined) {
        (Some(last), Some(joined)) => {
            last.kind = match last.kind {
                TokenKind::Operator(_) => TokenKind::Operator(joined),
                _ => TokenKind::Keyword(joined),
            };
        }
        _ => tokens.push(token),
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
    column: u32,
    parameters: usize,
}

impl<'a> Lexer<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next()?;
        self.rest = chars.as_str();
        let ends_line = next == '\n' || (next == '\r' && !self.rest.starts_with('\n'));
        if ends_line {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(next)
    }

    /// Consumes `sign` if it is next.
    fn eat(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(sign);
        if found {
            self.next();
        }
        found
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let whole = self.rest;
        while self.peek().is_some_and(&wanted) {
            self.next();
        }
        whole.get(..whole.len() - self.rest.len()).unwrap_or_default()
    }

    fn skip_spaces(&mut self) -> Result<()> {
        loop {
            if self.peek().is_some_and(is_space) {
                self.next();
            } else if self.rest.starts_with("--") {
                self.take_while(|c| c != '\n' && c != '\r');
            } else if self.rest.starts_with("/*") {
                self.next();
                self.next();
                while !self.rest.starts_with("*/") {
                    self.next().ok_or_else(unreadable)?;
                }
                self.next();
                self.next();
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<TokenKind> {
        let Some(first) = self.peek() else { return Ok(TokenKind::End) };
        if first.is_ascii_alphabetic() || matches!(first, '_' | '$') {
            let word = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'));
            return Ok(word_kind(word));
        }
        let second = self.rest.chars().nth(1);
        if first.is_ascii_digit() || (first == '.' && second.is_some_and(|c| c.is_ascii_digit())) {
            return self.number();
        }
        self.next();
        Ok(match first {
            '\'' => TokenKind::String(self.quoted('\'')?),
            '"' => TokenKind::Quoted(self.quoted('"')?),
            '`' => TokenKind::Ion(self.quoted('`')?),
            '?' => {
                self.parameters += 1;
                TokenKind::Parameter(self.parameters - 1)
            }
            '(' | ')' | '[' | ']' | '{' | '}' | ':' | ',' | '*' | ';' | '.' => {
                TokenKind::Sign(first)
            }
            '<' if self.eat('<') => TokenKind::Sign('«'),
            '>' if self.eat('>') => TokenKind::Sign('»'),
            _ => TokenKind::Operator(self.operator(first)?),
        })
    }

    fn operator(&mut self, first: char) -> Result<&'static str> {
        Ok(match first {
            '+' => "+",
            '-' => "-",
            '/' => "/",
            '%' => "%",
            '@' => "@",
            '=' => "=",
            '<' if self.eat('=') => "<=",
            '<' if self.eat('>') => "<>",
            '<' => "<",
            '>' if self.eat('=') => ">=",
            '>' => ">",
            '!' if self.eat('=') => "<>",
            '|' if self.eat('|') => "||",
            _ => return Err(unreadable()),
        })
    }

    /// The rest of a quoted text; a doubled quote is an escaped one.
    fn quoted(&mut self, quote: char) -> Result<Str> {
        let mut text = Str::default();
        loop {
            let next = self.next().ok_or_else(unreadable)?;
            if next != quote {
                text.push(next);
            } else if quote != '`' && self.eat(quote) {
                text.push(quote);
            } else {
                return Ok(text);
            }
        }
    }

    fn number(&mut self) -> Result<TokenKind> {
        let whole = self.rest;
        self.take_while(|c| c.is_ascii_digit());
        if self.eat('.') {
            self.take_while(|c| c.is_ascii_digit());
        }
        if matches!(self.peek(), Some('e' | 'E')) {
            self.next();
            if matches!(self.peek(), Some('+' | '-')) {
                self.next();
            }
            if self.take_while(|c| c.is_ascii_digit()).is_empty() {
                return Err(unreadable());
            }
        }
        let text = whole.get(..whole.len() - self.rest.len()).unwrap_or_default();
        if !has_readable_scale(text) {
            return Err(unreadable());
        }
        Ok(TokenKind::Number(text.into()))
    }
}

fn word_kind(word: &str) -> TokenKind {
    let lower = word.to_ascii_lowercase();
    match lower.as_str() {
        "true" => TokenKind::Bool(true),
        "false" => TokenKind::Bool(false),
        "null" => TokenKind::Null,
        "missing" => TokenKind::Missing,
        _ => {
            let operator = keywords::OPERATORS.iter().find(|operator| **operator == lower);
            match (operator, keywords::keyword(&lower)) {
                (Some(operator), _) => TokenKind::Operator(operator),
                (None, Some("union")) => TokenKind::Operator("union"),
                (None, Some(keyword)) => TokenKind::Keyword(keyword),
                (None, None) => TokenKind::Word(word.into()),
            }
        }
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

fn unreadable() -> Error {
    message::malformed("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use TokenKind::{Bool, End, Keyword, Number, Operator, Parameter, Quoted, Sign, String, Word};

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn every_kind_of_token_is_recognised() {
        let table: [(&str, Vec<TokenKind>); 12] = [
            ("", vec![End]),
            ("SELECT _a$1", vec![Keyword("select"), Word("_a$1".into()), End]),
            (r#""a ""b""#, vec![Quoted("a \"b".into()), End]),
            ("'it''s'", vec![String("it's".into()), End]),
            ("TRUE", vec![Bool(true), End]),
            (
                "1.5e-3 .5 2.",
                vec![Number("1.5e-3".into()), Number(".5".into()), Number("2.".into()), End],
            ),
            ("a.b", vec![Word("a".into()), Sign('.'), Word("b".into()), End]),
            ("<<?,?>>", vec![Sign('«'), Parameter(0), Sign(','), Parameter(1), Sign('»'), End]),
            (
                "a!=b<>c",
                vec![
                    Word("a".into()),
                    Operator("<>"),
                    Word("b".into()),
                    Operator("<>"),
                    Word("c".into()),
                    End,
                ],
            ),
            ("NOT IN is not", vec![Operator("not_in"), Operator("is_not"), End]),
            ("insert INTO all old", vec![Keyword("insert_into"), Keyword("all_old"), End]),
            ("a -- b\n/* c\n*/ - d", vec![Word("a".into()), Operator("-"), Word("d".into()), End]),
        ];
        for (text, expected) in table {
            assert_eq!(kinds(text), expected, "{text}");
        }
    }

    #[test]
    fn positions_count_characters_from_one() {
        let tokens = tokens("a\r\n 'é''' \"x\"").unwrap();
        let spans: Vec<_> = tokens.iter().map(|token| token.span.to_string()).collect();
        assert_eq!(spans, ["1:1:1", "2:2:5", "2:8:3", "2:11:0"]);
    }

    #[test]
    fn invalid_tokens_are_refused() {
        for text in [
            "'a",
            "\"a",
            "`a",
            "/* a",
            "# a",
            "a ! b",
            "a | b",
            "^",
            "é",
            "1e",
            "1e+",
            "1e2147483648",
        ] {
            assert_eq!(tokens(text), Err(unreadable()), "{text}");
        }
    }
}
