//! Parses statements into syntax trees.
//!
//! The parser knows syntax only: it accepts more of PartiQL than DynamoDB does, because AWS refuses
//! unsupported constructs with specific messages ([`mod@super::bind`]). Expressions are parsed by
//! operator precedence (`expression`); statements are expressions that begin with a keyword
//! (`statement`).
//!
//! No input can exhaust the stack: all nesting counts towards [`MAX_DEPTH`].

mod expression;
mod statement;

use super::ast::{Expr, ExprKind, Span, Statement};
use super::lexer::{self, Token, TokenKind};
use crate::error::message::partiql as message;
use crate::error::{Error, Result};
use crate::value::Str;

/// Maximum nesting of expressions: three times what the deepest literal needs.
pub const MAX_DEPTH: usize = 100;

/// Parses a statement.
pub fn parse(text: &str) -> Result<Statement> {
    let mut parser = Parser { tokens: lexer::tokens(text)?, position: 0, depth: 0 };
    let expr = parser.expression(0)?;
    parser.end_of_statement()?;
    Ok(match expr.kind {
        ExprKind::Select(select) => Statement::Select(*select),
        ExprKind::Write(statement) => *statement,
        _ => Statement::Expression(expr),
    })
}

struct Parser {
    tokens: Vec<Token>,
    position: usize,
    depth: usize,
}

impl Parser {
    /// The token `ahead` positions from here; after the end, always the end token.
    fn kind(&self, ahead: usize) -> &TokenKind {
        self.tokens.get(self.position + ahead).map_or(&TokenKind::End, |token| &token.kind)
    }

    fn span(&self) -> Span {
        let token = self.tokens.get(self.position).or(self.tokens.last());
        token.map(|token| token.span).unwrap_or_default()
    }

    fn advance(&mut self) -> Span {
        let span = self.span();
        self.position += 1;
        span
    }

    /// The number of remaining tokens, including the end.
    fn remaining(&self) -> usize {
        self.tokens.len().saturating_sub(self.position)
    }

    fn at_sign(&self, sign: char) -> bool {
        *self.kind(0) == TokenKind::Sign(sign)
    }

    fn eat_sign(&mut self, sign: char) -> bool {
        let found = self.at_sign(sign);
        if found {
            self.advance();
        }
        found
    }

    fn expect_sign(&mut self, sign: char) -> Result<()> {
        if self.eat_sign(sign) {
            return Ok(());
        }
        let name = match sign {
            ')' => "RIGHT_PAREN",
            ']' => "RIGHT_BRACKET",
            '}' => "RIGHT_CURLY",
            '»' => "RIGHT_DOUBLE_ANGLE_BRACKET",
            _ => "COLON",
        };
        Err(message::malformed(format_args!("Expected {name}")))
    }

    /// The keyword or word operator `ahead` positions from here.
    fn word(&self, ahead: usize) -> Option<&'static str> {
        match self.kind(ahead) {
            TokenKind::Keyword(word) | TokenKind::Operator(word) => Some(word),
            TokenKind::Null => Some("null"),
            TokenKind::Missing => Some("missing"),
            _ => None,
        }
    }

    fn at_word(&self, word: &str) -> bool {
        self.word(0) == Some(word)
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) {
            return Ok(());
        }
        Err(message::malformed(format_args!("Expected {} keyword", word.to_uppercase())))
    }

    /// The next name, and whether it is quoted.
    fn name(&self) -> Option<(Str, bool)> {
        match self.kind(0) {
            TokenKind::Word(name) => Some((name.clone(), false)),
            TokenKind::Quoted(name) => Some((name.clone(), true)),
            _ => None,
        }
    }

    /// Whether only a semicolon is left.
    fn only_end(&self) -> bool {
        let after = usize::from(self.at_sign(';'));
        *self.kind(after) == TokenKind::End
    }

    fn end_of_statement(&self) -> Result<()> {
        if self.only_end() {
            return Ok(());
        }
        Err(message::malformed(if self.at_sign(';') {
            "Unexpected token after semicolon. (Only one query is allowed.)"
        } else {
            "Unexpected token after expression"
        }))
    }

    /// Parses a recursive construct, counting its depth.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(message::malformed(message::TOO_DEEP));
        }
        self.depth += 1;
        let outcome = read(self);
        self.depth -= 1;
        outcome
    }

    /// One or more items, separated by commas.
    fn comma_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat_sign(',') {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn expressions(&mut self) -> Result<Vec<Expr>> {
        self.comma_list(|parser| parser.expression(0))
    }
}

fn unexpected_keyword() -> Error {
    message::malformed("Unexpected keyword")
}

#[cfg(test)]
mod tests;
