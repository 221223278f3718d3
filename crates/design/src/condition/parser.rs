//! Tokens to [`Condition`].

use super::lexer::{Placed, Token, tokens};
use super::{Comparison, Condition, ConditionError, Operand, Term, Test};
use crate::source::Span;

/// Reads conditions joined by `and`.
pub fn parse(text: &str) -> Result<Condition, ConditionError> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, end: text.len() };
    let mut terms = vec![parser.term()?];
    while !parser.at_end() {
        parser.conjunction()?;
        terms.push(parser.term()?);
    }
    Ok(Condition { terms })
}

struct Parser {
    tokens: Vec<Placed>,
    next: usize,
    end: usize,
}

const FUNCTIONS: [&str; 7] = [
    "begins_with",
    "contains",
    "exists",
    "missing",
    "attribute_exists",
    "attribute_not_exists",
    "beginswith",
];

impl Parser {
    fn at_end(&self) -> bool {
        self.next >= self.tokens.len()
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(token, _)| token)
    }

    fn here(&self) -> Span {
        self.tokens.get(self.next).map_or(Span::new(self.end, self.end), |&(_, span)| span)
    }

    fn last_end(&self) -> usize {
        self.tokens.get(self.next.wrapping_sub(1)).map_or(0, |(_, span)| span.end())
    }

    fn peek_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek_word(word);
        self.next += usize::from(found);
        found
    }

    fn sign(&mut self, sign: &'static str) -> Result<(), ConditionError> {
        if self.peek() == Some(&Token::Sign(sign)) {
            self.next += 1;
            return Ok(());
        }
        Err(self.expected(&format!("`{sign}`")))
    }

    fn expected(&self, what: &str) -> ConditionError {
        let found = match self.peek() {
            None => "the end".to_owned(),
            Some(Token::Word(word)) => format!("`{word}`"),
            Some(Token::Input(_)) => "an input".to_owned(),
            Some(Token::Text(text)) => format!("the text {text:?}"),
            Some(Token::Number(number)) => format!("`{number}`"),
            Some(Token::Sign(sign)) => format!("`{sign}`"),
        };
        ConditionError::new(format!("{what} is expected here, not {found}"), self.here())
    }

    fn conjunction(&mut self) -> Result<(), ConditionError> {
        if self.eat_word("and") {
            return Ok(());
        }
        if self.peek_word("or") {
            return Err(ConditionError::new("conditions are joined by `and` only", self.here())
                .fix("one read covers one key range: use `in (…)`, or write two access patterns"));
        }
        Err(self.expected("`and`"))
    }

    fn term(&mut self) -> Result<Term, ConditionError> {
        let start = self.here().start();
        let negated = self.eat_word("not");
        let negation = Span::new(start, self.last_end());
        let (name, name_span, test) = match self.function_name() {
            Some(function) => self.call(&function)?,
            None => self.infix()?,
        };
        let test = if negated { negate(test, negation)? } else { test };
        Ok(Term { name, name_span, test, span: Span::new(start, self.last_end()) })
    }

    /// The function name if a call starts here.
    fn function_name(&mut self) -> Option<String> {
        let Some(Token::Word(word)) = self.peek() else { return None };
        let function = word.to_ascii_lowercase();
        let open = self.tokens.get(self.next + 1).map(|(token, _)| token);
        if open != Some(&Token::Sign("(")) || !FUNCTIONS.contains(&function.as_str()) {
            return None;
        }
        self.next += 2;
        Some(function)
    }

    fn call(&mut self, function: &str) -> Result<(String, Span, Test), ConditionError> {
        let (name, span) = self.name()?;
        let test = match function {
            "exists" | "attribute_exists" => Test::Exists,
            "missing" | "attribute_not_exists" => Test::Missing,
            _ => {
                self.sign(",")?;
                let operand = self.operand()?;
                if function == "contains" {
                    Test::Contains(operand)
                } else {
                    Test::BeginsWith(operand)
                }
            }
        };
        self.sign(")")?;
        Ok((name, span, test))
    }

    fn infix(&mut self) -> Result<(String, Span, Test), ConditionError> {
        let (name, span) = self.name()?;
        let comparison = match self.peek() {
            Some(Token::Sign("=")) => Some(Comparison::Equal),
            Some(Token::Sign("<>")) => Some(Comparison::NotEqual),
            Some(Token::Sign("<")) => Some(Comparison::Less),
            Some(Token::Sign("<=")) => Some(Comparison::LessOrEqual),
            Some(Token::Sign(">")) => Some(Comparison::Greater),
            Some(Token::Sign(">=")) => Some(Comparison::GreaterOrEqual),
            _ => None,
        };
        if let Some(comparison) = comparison {
            self.next += 1;
            return Ok((name, span, Test::Compare(comparison, self.operand()?)));
        }
        let test = if self.eat_word("between") {
            let low = self.operand()?;
            if !self.eat_word("and") {
                return Err(self.expected("`and` with the upper end"));
            }
            Test::Between(low, self.operand()?)
        } else if self.eat_word("begins_with") || self.eat_word("beginsWith") {
            Test::BeginsWith(self.operand()?)
        } else if self.eat_word("contains") {
            Test::Contains(self.operand()?)
        } else if self.eat_word("in") {
            Test::In(self.list()?)
        } else {
            let operators = "an operator (=, <, <=, >, >=, between, begins_with, in)";
            return Err(self.expected(operators));
        };
        Ok((name, span, test))
    }

    fn name(&mut self) -> Result<(String, Span), ConditionError> {
        let span = self.here();
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.next += 1;
                Ok((word, span))
            }
            _ => Err(self.expected("a name")),
        }
    }

    fn operand(&mut self) -> Result<Operand, ConditionError> {
        let operand = match self.peek() {
            Some(Token::Input(name)) => Operand::Input(name.clone()),
            Some(Token::Text(text)) => Operand::Text(text.clone()),
            Some(Token::Number(number)) => Operand::Number(number.clone()),
            Some(Token::Word(word)) if word == "true" => Operand::Boolean(true),
            Some(Token::Word(word)) if word == "false" => Operand::Boolean(false),
            Some(Token::Word(_)) => {
                return Err(self
                    .expected("an input `?` or a value")
                    .fix("put texts in quotes, and write `?` for an input"));
            }
            _ => return Err(self.expected("an input `?` or a value")),
        };
        self.next += 1;
        Ok(operand)
    }

    fn list(&mut self) -> Result<Vec<Operand>, ConditionError> {
        self.sign("(")?;
        let mut list = vec![self.operand()?];
        while self.peek() == Some(&Token::Sign(",")) {
            self.next += 1;
            list.push(self.operand()?);
        }
        self.sign(")")?;
        Ok(list)
    }
}

fn negate(test: Test, span: Span) -> Result<Test, ConditionError> {
    match test {
        Test::Contains(operand) => Ok(Test::Lacks(operand)),
        Test::Exists => Ok(Test::Missing),
        Test::Missing => Ok(Test::Exists),
        Test::Compare(Comparison::Equal, operand) => {
            Ok(Test::Compare(Comparison::NotEqual, operand))
        }
        _ => Err(ConditionError::new("`not` stands only before `contains`, `exists` or `=`", span)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_prints_as_it_was_read() {
        for (written, printed) in [
            ("a = ?", "a = ?"),
            ("a=? AND b BETWEEN ? AND :to", "a = ? and b between ? and :to"),
            ("title begins_with 'x#y'", "begins_with(title, \"x#y\")"),
            ("begins_with( title , ? )", "begins_with(title, ?)"),
            ("s in (\"a\",\"b\") and n >= -1.5", "s in (\"a\", \"b\") and n >= -1.5"),
            ("exists(a) and not exists(b)", "exists(a) and missing(b)"),
            ("not contains(tags, 'x')", "not contains(tags, \"x\")"),
            ("done = true", "done = true"),
            ("a = 'it''s'", "a = \"it's\""),
        ] {
            let condition = parse(written).unwrap_or_else(|error| panic!("{written}: {error:?}"));
            assert_eq!(condition.to_string(), printed);
            let again = parse(&condition.to_string()).unwrap();
            assert_eq!(again.to_string(), printed, "printing is stable");
        }
    }

    #[test]
    fn mistakes_say_what_and_where() {
        for (written, message, start) in [
            ("", "a name is expected here, not the end", 0),
            (
                "a",
                "an operator (=, <, <=, >, >=, between, begins_with, in) is expected here, not the end",
                1,
            ),
            ("a = ? or b = ?", "conditions are joined by `and` only", 6),
            ("a = b", "an input `?` or a value is expected here, not `b`", 4),
            ("a between ? ?", "`and` with the upper end is expected here, not an input", 12),
            ("a = 'x", "the text has no closing quote", 4),
            ("a = 2024-01-01", "`and` is expected here, not `-01`", 8),
            ("a ! b", "`!` means nothing in a condition", 2),
            ("a = ? b = ?", "`and` is expected here, not `b`", 6),
        ] {
            let error = parse(written).expect_err(written);
            assert_eq!((error.message.as_str(), error.span.start()), (message, start), "{written}");
        }
    }
}
