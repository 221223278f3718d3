//! Parses expressions by operator precedence.

use super::super::ast::{Expr, ExprKind, PathStep, Span};
use super::super::keywords;
use super::super::lexer::TokenKind;
use super::{MAX_DEPTH, Parser, unexpected_keyword};
use crate::error::Result;
use crate::error::message::partiql as message;
use crate::value::Str;

/// Operator precedences; higher binds tighter.
mod binding {
    pub(super) const SET: u8 = 1;
    pub(super) const OR: u8 = 2;
    pub(super) const AND: u8 = 3;
    pub(super) const NOT: u8 = 4;
    pub(super) const EQUALITY: u8 = 5;
    pub(super) const COMPARISON: u8 = 6;
    pub(super) const SUM: u8 = 7;
    pub(super) const PRODUCT: u8 = 8;
}

/// The infix operator of a token, and its precedence.
fn infix(kind: &TokenKind) -> Option<(&'static str, u8)> {
    let operator = match kind {
        TokenKind::Operator(operator) => *operator,
        TokenKind::Sign('*') => "*",
        _ => return None,
    };
    let binding = match operator {
        "union" | "union_all" | "except" | "intersect" => binding::SET,
        "or" => binding::OR,
        "and" => binding::AND,
        "=" | "<>" | "is" | "is_not" | "in" | "not_in" => binding::EQUALITY,
        "<" | "<=" | ">" | ">=" | "between" | "not_between" | "like" | "not_like" => {
            binding::COMPARISON
        }
        "+" | "-" | "||" => binding::SUM,
        "*" | "/" | "%" => binding::PRODUCT,
        _ => return None,
    };
    Some((operator, binding))
}

/// The operator without a `not_` prefix, and whether it had one.
fn without_not(operator: &'static str) -> (&'static str, bool) {
    match operator {
        "is_not" => ("is", true),
        other => match other.strip_prefix("not_") {
            Some(operator) => (operator, true),
            None => (other, false),
        },
    }
}

fn boxed(kind: ExprKind, span: Span) -> Box<Expr> {
    Box::new(Expr { kind, span })
}

impl Parser {
    /// An expression of operators with a precedence above `least`.
    pub(super) fn expression(&mut self, least: u8) -> Result<Expr> {
        self.nested(|parser| {
            let mut expr = parser.prefixed()?;
            let mut links = 0;
            while let Some((operator, binding)) = infix(parser.kind(0)) {
                if binding <= least {
                    break;
                }
                expr = parser.operation(expr, operator, binding)?;
                // Chains of `AND` and `OR` stay flat; others nest to the left.
                links += usize::from(!matches!(expr.kind, ExprKind::And(_) | ExprKind::Or(_)));
                if links > MAX_DEPTH {
                    return Err(message::malformed(message::TOO_DEEP));
                }
            }
            Ok(expr)
        })
    }

    /// Parses an operator and its right side.
    fn operation(&mut self, left: Expr, operator: &'static str, binding: u8) -> Result<Expr> {
        let (plain, negated) = without_not(operator);
        let (kind, span) = match plain {
            "is" => {
                let span = self.advance();
                (ExprKind::Is(Box::new(left), self.type_name()?), span)
            }
            "in" if *self.kind(1) == TokenKind::Sign('(') && !self.is_query(2) => {
                let span = self.advance();
                let list = self.advance();
                let members = self.expressions()?;
                self.expect_sign(')')?;
                let right = boxed(ExprKind::List(members), list);
                (ExprKind::Binary("in", Box::new(left), right), span)
            }
            "between" => {
                let (low, span) = self.right_side(binding)?;
                self.expect_word("and")?;
                if self.only_end() {
                    return Err(message::malformed("Expected expression after AND"));
                }
                let high = self.expression(binding)?;
                (ExprKind::Between(Box::new([left, low, high])), span)
            }
            "and" | "or" => {
                let (right, span) = self.right_side(binding)?;
                return Ok(joined(plain, left, right, span));
            }
            _ => {
                let (right, span) = self.right_side(binding)?;
                (ExprKind::Binary(plain, Box::new(left), Box::new(right)), span)
            }
        };
        let kind = if negated { ExprKind::Not(boxed(kind, span)) } else { kind };
        Ok(Expr { kind, span })
    }

    /// The right operand of an operator, and the operator's position.
    fn right_side(&mut self, binding: u8) -> Result<(Expr, Span)> {
        if self.remaining() < 3 {
            let missing = "Missing right-hand side expression of infix operator";
            return Err(message::malformed(missing));
        }
        let span = self.advance();
        Ok((self.expression(binding)?, span))
    }

    fn is_query(&self, ahead: usize) -> bool {
        matches!(self.word(ahead), Some("select" | "values"))
    }

    fn type_name(&mut self) -> Result<&'static str> {
        let name = self.word(0).and_then(keywords::type_name);
        let name = name.ok_or_else(|| message::malformed("Expected type name"))?;
        self.advance();
        Ok(name)
    }

    /// A term, or a prefix operator with its operand.
    fn prefixed(&mut self) -> Result<Expr> {
        let operator = match self.kind(0) {
            TokenKind::Operator(operator @ ("+" | "-" | "not")) => *operator,
            _ => return self.path_term(),
        };
        let span = self.advance();
        if operator == "not" {
            let operand = self.expression(binding::NOT)?;
            return Ok(Expr { kind: ExprKind::Not(Box::new(operand)), span });
        }
        let term = self.nested(Self::prefixed)?;
        Ok(match term.kind {
            ExprKind::Number(_) if operator == "+" => term,
            ExprKind::Number(text) => {
                let text = match text.strip_prefix('-') {
                    Some(positive) => positive.into(),
                    None => Str::from(format!("-{text}")),
                };
                Expr { kind: ExprKind::Number(text), span: term.span }
            }
            _ => Expr { kind: ExprKind::Signed(operator, Box::new(term)), span },
        })
    }

    fn path_term(&mut self) -> Result<Expr> {
        let root = self.term()?;
        self.path_from(root, false)
    }

    /// A name with path steps, as in table names and targets of assignments.
    pub(super) fn simple_path(&mut self) -> Result<Expr> {
        let (name, quoted) =
            self.name().ok_or_else(|| message::malformed("Expected identifier for simple path"))?;
        let span = self.advance();
        self.path_from(Expr { kind: ExprKind::Name(name, quoted), span }, true)
    }

    fn path_from(&mut self, root: Expr, simple: bool) -> Result<Expr> {
        let mut steps = Vec::new();
        loop {
            if self.eat_sign('.') {
                steps.push(self.dot_step(simple)?);
            } else if self.eat_sign('[') {
                let step = if self.eat_sign('*') {
                    PathStep::Wildcard
                } else {
                    PathStep::Index(self.expression(0)?)
                };
                self.expect_sign(']')?;
                steps.push(step);
            } else {
                break;
            }
        }
        if steps.is_empty() {
            return Ok(root);
        }
        let span = root.span;
        Ok(Expr { kind: ExprKind::Path(Box::new(root), steps), span })
    }

    fn dot_step(&mut self, simple: bool) -> Result<PathStep> {
        if let Some((name, quoted)) = self.name() {
            self.advance();
            return Ok(PathStep::Name(name, quoted));
        }
        if self.at_sign('*') {
            if simple {
                return Err(message::malformed("Invalid path dot component for simple path"));
            }
            self.advance();
            return Ok(PathStep::Unpivot);
        }
        Err(message::malformed("Invalid path dot component"))
    }

    fn term(&mut self) -> Result<Expr> {
        let span = self.span();
        let kind = match self.kind(0).clone() {
            TokenKind::Keyword(keyword) => return self.keyword_term(keyword),
            TokenKind::Operator("@") => return Err(message::malformed("Unexpected term")),
            TokenKind::Operator(_) => return Err(message::malformed("Unexpected operator")),
            TokenKind::Sign('(') => return self.group(),
            TokenKind::Sign('[') => {
                self.advance();
                ExprKind::List(self.members(']')?)
            }
            TokenKind::Sign('«') => {
                self.advance();
                ExprKind::Bag(self.members('»')?)
            }
            TokenKind::Sign('{') => {
                self.advance();
                ExprKind::Struct(self.fields()?)
            }
            TokenKind::Sign(_) | TokenKind::End => {
                return Err(message::malformed("Unexpected term"));
            }
            TokenKind::Word(name) | TokenKind::Quoted(name)
                if *self.kind(1) == TokenKind::Sign('(') =>
            {
                self.advance();
                return self.call(&name, span);
            }
            leaf => {
                self.advance();
                leaf_kind(leaf)
            }
        };
        Ok(Expr { kind, span })
    }

    fn keyword_term(&mut self, keyword: &'static str) -> Result<Expr> {
        if let Some(statement) = self.statement(keyword)? {
            return Ok(statement);
        }
        if !keywords::FUNCTIONS.contains(&keyword) || *self.kind(1) != TokenKind::Sign('(') {
            return Err(unexpected_keyword());
        }
        let span = self.advance();
        self.call(keyword, span)
    }

    /// The arguments of a call.
    fn call(&mut self, name: &str, span: Span) -> Result<Expr> {
        let lower = name.to_ascii_lowercase();
        self.advance();
        if self.at_sign('*') {
            if lower != "count" {
                return Err(message::malformed(format_args!("{name}(*) is not allowed")));
            }
            self.advance();
            self.expect_sign(')')?;
            return Ok(Expr { kind: ExprKind::CountAll, span });
        }
        let arguments = self.members(')')?;
        let is_aggregate = matches!(lower.as_str(), "count" | "avg" | "max" | "min" | "sum");
        if is_aggregate && arguments.len() != 1 {
            return Err(message::malformed("Aggregate functions are always unary"));
        }
        Ok(Expr { kind: ExprKind::Call(lower.into(), arguments), span })
    }

    /// `(a)`, which is just `a`, or the list `(a, b)`.
    fn group(&mut self) -> Result<Expr> {
        let span = self.advance();
        let mut members = self.expressions()?;
        self.expect_sign(')')?;
        match members.pop() {
            Some(only) if members.is_empty() => Ok(only),
            last => {
                members.extend(last);
                Ok(Expr { kind: ExprKind::List(members), span })
            }
        }
    }

    /// Expressions up to a closing sign.
    fn members(&mut self, close: char) -> Result<Vec<Expr>> {
        if self.eat_sign(close) {
            return Ok(Vec::new());
        }
        let members = self.expressions()?;
        self.expect_sign(close)?;
        Ok(members)
    }

    fn fields(&mut self) -> Result<Vec<(Expr, Expr)>> {
        if self.eat_sign('}') {
            return Ok(Vec::new());
        }
        let fields = self.comma_list(|parser| {
            let name = parser.expression(0)?;
            parser.expect_sign(':')?;
            Ok((name, parser.expression(0)?))
        })?;
        self.expect_sign('}')?;
        Ok(fields)
    }
}

/// `left AND right` and the like, without nesting on the left.
fn joined(operator: &str, left: Expr, right: Expr, span: Span) -> Expr {
    let (left_kind, left_span) = (left.kind, left.span);
    match (operator, left_kind) {
        ("and", ExprKind::And(mut members)) => {
            members.push(right);
            Expr { kind: ExprKind::And(members), span: left_span }
        }
        ("or", ExprKind::Or(mut members)) => {
            members.push(right);
            Expr { kind: ExprKind::Or(members), span: left_span }
        }
        (operator, kind) => {
            let members = vec![Expr { kind, span: left_span }, right];
            let kind = match operator {
                "and" => ExprKind::And(members),
                _ => ExprKind::Or(members),
            };
            Expr { kind, span }
        }
    }
}

/// The expression of a token that is a term by itself.
fn leaf_kind(token: TokenKind) -> ExprKind {
    match token {
        TokenKind::Word(name) => ExprKind::Name(name, false),
        TokenKind::Quoted(name) => ExprKind::Name(name, true),
        TokenKind::String(text) => ExprKind::String(text),
        TokenKind::Number(text) => ExprKind::Number(text),
        TokenKind::Ion(text) => ExprKind::Ion(text),
        TokenKind::Bool(value) => ExprKind::Bool(value),
        TokenKind::Parameter(number) => ExprKind::Parameter(number),
        TokenKind::Null => ExprKind::Null,
        // The other tokens are not terms.
        _ => ExprKind::Missing,
    }
}
