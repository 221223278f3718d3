//! Tokens to [`Condition`].

use super::lexer::{Placed, Token, tokens};
use super::{Comparison, Condition, ConditionError, Operand, Term, Test};
use crate::source::Span;

/// Reads conditions joined by `and`.
pub fn parse(text: &str) -> Result<Condition, ConditionError> {
    let (mut alternatives, or) = alternatives(text)?;
    match (alternatives.pop(), or) {
        (Some(only), _) if alternatives.is_empty() => Ok(only),
        (_, or) => Err(ConditionError::new(
            "conditions are joined by `and` only",
            or.unwrap_or(Span::new(0, text.len())),
        )
        .fix("one request has one key condition and one filter: use `in (…)`")),
    }
}

/// Reads conditions joined by `and`, `or` and parentheses, as alternatives: one of them must hold.
pub fn parse_any(text: &str) -> Result<Vec<Condition>, ConditionError> {
    alternatives(text).map(|(alternatives, _)| alternatives)
}

/// The alternatives, and where the first `or` stands.
fn alternatives(text: &str) -> Result<(Vec<Condition>, Option<Span>), ConditionError> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, end: text.len(), or: None, depth: 0 };
    let alternatives = parser.any()?;
    if !parser.at_end() {
        return Err(parser.expected("`and`"));
    }
    let conditions = alternatives.into_iter().map(|terms| Condition { terms }).collect();
    Ok((conditions, parser.or))
}

/// The most alternatives that `or` may make, once everything is multiplied out.
const MOST_ALTERNATIVES: usize = 16;

/// How deep parentheses may nest.
const DEEPEST: usize = 16;

struct Parser {
    tokens: Vec<Placed>,
    next: usize,
    end: usize,
    /// Where the first `or` stands.
    or: Option<Span>,
    depth: usize,
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

    /// Alternatives, each the terms that hold together.
    fn any(&mut self) -> Result<Vec<Vec<Term>>, ConditionError> {
        let mut found = self.all()?;
        while self.peek_word("or") {
            self.or = self.or.or(Some(self.here()));
            self.next += 1;
            found.extend(self.all()?);
        }
        Ok(listed(&found).map_or(found, |term| vec![vec![term]]))
    }

    fn all(&mut self) -> Result<Vec<Vec<Term>>, ConditionError> {
        let start = self.here().start();
        let mut found = self.unit()?;
        while self.eat_word("and") {
            let more = self.unit()?;
            let both = |a: &Vec<Term>| {
                let a = a.clone();
                more.iter().map(move |b| a.iter().chain(b).cloned().collect()).collect::<Vec<_>>()
            };
            found = found.iter().flat_map(both).collect();
            if found.len() > MOST_ALTERNATIVES {
                let message =
                    format!("`or` makes more than {MOST_ALTERNATIVES} alternatives of this");
                return Err(ConditionError::new(message, Span::new(start, self.last_end()))
                    .fix("write several access patterns"));
            }
        }
        Ok(found)
    }

    fn unit(&mut self) -> Result<Vec<Vec<Term>>, ConditionError> {
        if self.peek() != Some(&Token::Sign("(")) {
            return Ok(vec![vec![self.term()?]]);
        }
        if self.depth == DEEPEST {
            let message = format!("parentheses nest more than {DEEPEST} deep");
            return Err(ConditionError::new(message, self.here()));
        }
        self.next += 1;
        self.depth += 1;
        let found = self.any()?;
        self.depth -= 1;
        self.sign(")")?;
        Ok(found)
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

/// Values of one field, one of which it must have: `a = 1 or a = 2` is `a in (1, 2)`.
fn listed(alternatives: &[Vec<Term>]) -> Option<Term> {
    let [first, _, ..] = alternatives else { return None };
    let mut values = Vec::new();
    let mut last = first.first()?;
    for alternative in alternatives {
        let [term] = alternative.as_slice() else { return None };
        match &term.test {
            Test::Compare(Comparison::Equal, value) => values.push(value.clone()),
            Test::In(list) => values.extend(list.iter().cloned()),
            _ => return None,
        }
        if term.name != first.first()?.name {
            return None;
        }
        last = term;
    }
    let first = first.first()?;
    let span = Span::new(first.span.start(), last.span.end());
    Some(Term { test: Test::In(values), span, ..first.clone() })
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
    fn alternatives_are_multiplied_out_and_values_listed() {
        for (written, expected) in [
            ("a = ?", "a = ?"),
            ("(a = ?)", "a = ?"),
            ("a = 1 or a = 2 or a in (3)", "a in (1, 2, 3)"),
            ("a = 1 or b = 2", "a = 1 | b = 2"),
            ("c = ? and (a = ? or b = ?)", "c = ? and a = ? | c = ? and b = ?"),
            (
                "(a = 1 or b = 2) and (a > 1 or c = 2)",
                "a = 1 and a > 1 | a = 1 and c = 2 | b = 2 and a > 1 | b = 2 and c = 2",
            ),
            ("x between ? and ? and (a = 1 or a = 2)", "x between ? and ? and a in (1, 2)"),
        ] {
            let found = parse_any(written).unwrap_or_else(|error| panic!("{written}: {error:?}"));
            let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(shown.join(" | "), expected, "{written}");
        }
        let many = ["(a = 1 or b = 1)"; 5].join(" and ");
        assert!(parse_any(&many).unwrap_err().message.contains("16 alternatives"));
        let deep = format!("{}a = 1{}", "(".repeat(99), ")".repeat(99));
        assert!(parse_any(&deep).unwrap_err().message.contains("deep"));
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
