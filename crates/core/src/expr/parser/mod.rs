//! Parses expressions into syntax trees.
//!
//! One token stream serves all four languages: conditions (also filters and key conditions),
//! updates and projections. The parser knows syntax only: whether a function exists, a name is
//! reserved or a `:value` is defined is checked by [`Bindings`](super::Bindings).
//!
//! No input can exhaust the stack: parentheses are counted, not recursed into; logical operators
//! are limited to [`MAX_EXPRESSION_OPERATORS`]; function calls nest at most [`MAX_CALL_DEPTH`]
//! deep.

mod condition;
mod update;

use super::ast::{Call, Condition, Name, Operand, Path, PathPart, Projection, Update};
use super::lexer::{self, Token, TokenKind};
use crate::error::message::expression::{self as problem, Problem};
use crate::limits::{MAX_EXPRESSION_BYTES, MAX_EXPRESSION_OPERATORS};

/// Maximum nesting of function calls. No valid expression of [`MAX_EXPRESSION_BYTES`] is that deep.
pub const MAX_CALL_DEPTH: usize = 256;

/// A syntax tree, and a property that the tree does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed<T> {
    /// The syntax tree of the expression.
    pub tree: T,
    /// Whether a pair of parentheses directly encloses another one. DynamoDB refuses that, but only
    /// if the syntax is correct.
    pub redundant_parentheses: bool,
}

/// Parses a condition, filter or key condition.
pub fn parse_condition(text: &str) -> Result<Parsed<Condition>, Problem> {
    let mut parser = Parser::new(text, &["AND", "OR", "NOT", "BETWEEN", "IN"])?;
    let tree = parser.condition()?;
    Ok(Parsed { tree, redundant_parentheses: parser.redundant_parentheses })
}

/// Parses an update.
pub fn parse_update(text: &str) -> Result<Parsed<Update>, Problem> {
    let mut parser = Parser::new(text, &["SET", "REMOVE", "ADD", "DELETE"])?;
    let tree = parser.update()?;
    Ok(Parsed { tree, redundant_parentheses: parser.redundant_parentheses })
}

/// Parses a projection.
pub fn parse_projection(text: &str) -> Result<Projection, Problem> {
    Parser::new(text, &[])?.projection()
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    position: usize,
    /// Keywords of this language, which cannot be names.
    keywords: &'static [&'static str],
    operators: usize,
    call_depth: usize,
    redundant_parentheses: bool,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, keywords: &'static [&'static str]) -> Result<Self, Problem> {
        if text.len() > MAX_EXPRESSION_BYTES {
            return Err(problem::too_long(text.len()));
        }
        let tokens = lexer::tokens(text);
        if tokens.len() == 1 {
            return Err(problem::empty());
        }
        Ok(Self {
            text,
            tokens,
            position: 0,
            keywords,
            operators: 0,
            call_depth: 0,
            redundant_parentheses: false,
        })
    }

    /// The next token; at the end always [`TokenKind::End`].
    fn peek(&self) -> Token {
        let end = Token { kind: TokenKind::End, start: self.text.len(), end: self.text.len() };
        self.tokens.get(self.position).copied().unwrap_or(end)
    }

    fn peek_kind(&self) -> TokenKind {
        self.peek().kind
    }

    fn text_of(&self, token: Token) -> &'a str {
        self.text.get(token.start..token.end).unwrap_or_default()
    }

    /// Consumes the next token if it is of this kind.
    fn take(&mut self, kind: TokenKind) -> bool {
        let found = self.peek_kind() == kind;
        if found {
            self.position += 1;
        }
        found
    }

    fn expect(&mut self, kind: TokenKind) -> Result<Token, Problem> {
        let token = self.peek();
        if self.take(kind) { Ok(token) } else { Err(self.unexpected()) }
    }

    /// Whether the next token is this keyword, in any mix of cases.
    fn at_keyword(&self, keyword: &str) -> bool {
        let token = self.peek();
        token.kind == TokenKind::Identifier && self.text_of(token).eq_ignore_ascii_case(keyword)
    }

    fn take_keyword(&mut self, keyword: &str) -> bool {
        let found = self.at_keyword(keyword);
        if found {
            self.position += 1;
        }
        found
    }

    /// Counts a comparator, `BETWEEN`, `IN`, `AND`, `OR`, `NOT`, `+` or `-`.
    fn count_operator(&mut self) -> Result<(), Problem> {
        self.operators += 1;
        if self.operators > MAX_EXPRESSION_OPERATORS {
            return Err(problem::too_many_operators(self.operators));
        }
        Ok(())
    }

    /// A syntax error at the next token, quoting its neighbours.
    fn unexpected(&self) -> Problem {
        let token = self.peek();
        let before = self.position.checked_sub(1).and_then(|index| self.tokens.get(index));
        let after = self.tokens.get(self.position + 1);
        let start = before.map_or(token.start, |before| before.start);
        if token.kind == TokenKind::End {
            let end = before.map_or(token.end, |before| before.end);
            return problem::syntax("<EOF>", self.text.get(start..end).unwrap_or_default());
        }
        let end = after.map_or(token.end, |after| after.end);
        // The end token starts after trailing white space: do not quote that.
        let end = match after {
            Some(after) if after.kind == TokenKind::End => token.end,
            _ => end,
        };
        problem::syntax(self.text_of(token), self.text.get(start..end).unwrap_or_default())
    }

    /// An operand in any number of parentheses.
    ///
    /// In a condition a path may continue after parentheses, `(a.b).c`; in an update it may not.
    fn operand(&mut self, path_goes_on: bool) -> Result<Operand, Problem> {
        let mut open = 0_usize;
        while self.take(TokenKind::Open) {
            open += 1;
        }
        let mut operand = self.bare_operand()?;
        let mut grouped = false;
        for _ in 0..open {
            self.expect(TokenKind::Close)?;
            self.redundant_parentheses |= grouped;
            grouped = !(path_goes_on && self.continue_path(&mut operand)?);
        }
        Ok(operand)
    }

    /// Parses more parts of an operand that is a path; returns whether there were any.
    fn continue_path(&mut self, operand: &mut Operand) -> Result<bool, Problem> {
        let Operand::Path(path) = operand else { return Ok(false) };
        let before = path.0.len();
        self.path_tail(path)?;
        Ok(path.0.len() > before)
    }

    fn bare_operand(&mut self) -> Result<Operand, Problem> {
        let token = self.peek();
        if token.kind == TokenKind::ValuePlaceholder {
            self.position += 1;
            return Ok(Operand::Value(self.text_of(token).into()));
        }
        let behind = self.tokens.get(self.position + 1).map(|token| token.kind);
        if token.kind == TokenKind::Identifier
            && behind == Some(TokenKind::Open)
            && !self.is_keyword(token)
        {
            return self.call().map(Operand::Call);
        }
        self.path().map(Operand::Path)
    }

    fn call(&mut self) -> Result<Call, Problem> {
        if self.call_depth >= MAX_CALL_DEPTH {
            return Err(self.unexpected());
        }
        self.call_depth += 1;
        let name = self.expect(TokenKind::Identifier)?;
        self.expect(TokenKind::Open)?;
        let arguments = self.operand_list(self.keywords.contains(&"AND"))?;
        self.call_depth -= 1;
        Ok(Call { function: self.text_of(name).into(), arguments })
    }

    /// Comma-separated operands, up to and including the closing parenthesis.
    fn operand_list(&mut self, path_goes_on: bool) -> Result<Vec<Operand>, Problem> {
        let mut operands = vec![self.operand(path_goes_on)?];
        while self.take(TokenKind::Comma) {
            operands.push(self.operand(path_goes_on)?);
        }
        self.expect(TokenKind::Close)?;
        Ok(operands)
    }

    fn path(&mut self) -> Result<Path, Problem> {
        let mut path = Path(vec![PathPart::Name(self.name()?)]);
        self.path_tail(&mut path)?;
        Ok(path)
    }

    fn path_tail(&mut self, path: &mut Path) -> Result<(), Problem> {
        loop {
            if self.take(TokenKind::Dot) {
                path.0.push(PathPart::Name(self.name()?));
            } else if self.take(TokenKind::OpenBracket) {
                let digits = self.expect(TokenKind::Digits)?;
                // An index that does not fit is refused later, with all others that are too high.
                let index = self.text_of(digits).parse().unwrap_or(u64::MAX);
                self.expect(TokenKind::CloseBracket)?;
                path.0.push(PathPart::Index(index));
            } else {
                return Ok(());
            }
        }
    }

    fn name(&mut self) -> Result<Name, Problem> {
        let token = self.peek();
        let text = self.text_of(token);
        let name = match token.kind {
            TokenKind::Identifier if !self.is_keyword(token) => Name::Literal(text.into()),
            TokenKind::NamePlaceholder => Name::Placeholder(text.into()),
            _ => return Err(self.unexpected()),
        };
        self.position += 1;
        Ok(name)
    }

    fn is_keyword(&self, token: Token) -> bool {
        let text = self.text_of(token);
        self.keywords.iter().any(|keyword| keyword.eq_ignore_ascii_case(text))
    }
}
