//! Conditions as people write them: `placed_at between 2024-01-01 and 2024-01-31`.
//!
//! ```text
//! conditions  = term { "and" term }
//! term        = field ( "=" | "<" | "<=" | ">" | ">=" ) value
//!             | field "between" value "and" value
//!             | field "begins_with" value
//!             | "begins_with" "(" field "," value ")"
//! value       = word | 'quoted' | "quoted"
//! ```

use std::error::Error;
use std::fmt;
use std::ops::Range;

use crate::error::RangeError;
use crate::range::{FieldCondition, KeyRange, Operator, Term};
use crate::template::Template;
use crate::value::Value;

const FORMS: &str = "write for example `at >= 2024-01-01`, `at between 2024-01-01 and 2024-01-31` or `name begins_with Sam`";

/// Why a condition cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClauseError {
    text: String,
    span: Range<usize>,
    reason: String,
}

impl ClauseError {
    /// The byte range of the text with the error.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Why the clause is refused.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for ClauseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "condition `{}`, at byte {}: {}; {FORMS}",
            self.text, self.span.start, self.reason
        )
    }
}

impl Error for ClauseError {}

/// Parsed conditions: terms with their fields, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause<'a> {
    terms: Vec<(&'a str, Term<'a>)>,
}

impl<'a> Clause<'a> {
    /// Parses conditions joined by `and`.
    ///
    /// ```
    /// use keyloom_keys::{Clause, Template};
    ///
    /// let line = Template::parse("ORDER#{order}#LINE#{number:u16}")?;
    /// let clause = Clause::parse("order = 'A 7' and number >= 3 and number < 10")?;
    /// let range = line.range_where(&clause, &[])?;
    /// assert_eq!((range.lower(), range.upper()), ("ORDER#A 7#LINE#00003", "ORDER#A 7#LINE#00009"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(text: &'a str) -> Result<Self, ClauseError> {
        let mut reader = Reader { text, at: 0 };
        let mut terms = Vec::new();
        loop {
            reader.term(&mut terms)?;
            reader.skip_space();
            if reader.rest().is_empty() {
                return Ok(Clause { terms });
            }
            if !reader.keyword("and") {
                return Err(reader.refuse("expected `and` or the end"));
            }
        }
    }

    /// The fields and the terms on them.
    pub fn terms(&self) -> &[(&'a str, Term<'a>)] {
        &self.terms
    }

    /// The field that the range is on: the one with a term other than equality, or else the last one of the template.
    fn conditioned(&self, template: &Template) -> &'a str {
        let place = |name: &str| template.fields().position(|field| field.name() == name);
        let ranged =
            self.terms.iter().find(|(_, term)| !matches!(term, Term::Compare(Operator::Eq, _)));
        let names = || self.terms.iter().map(|(name, _)| *name);
        ranged
            .map(|(name, _)| *name)
            .or_else(|| names().max_by_key(|name| place(name)))
            .unwrap_or_default()
    }
}

impl Template {
    /// The range of keys that satisfy conditions written as text, with further fields bound to values.
    pub fn range_where<'v>(
        &self,
        clause: &Clause<'v>,
        bound: &[(&'v str, Value<'v>)],
    ) -> Result<KeyRange, RangeError> {
        let field = clause.conditioned(self);
        let mut values = bound.to_vec();
        let mut condition: Option<FieldCondition<'v>> = None;
        for (name, term) in clause.terms() {
            match term {
                _ if *name == field => {
                    condition = Some(match condition {
                        Some(condition) => condition.and(term.clone()),
                        None => FieldCondition::new(*name, term.clone()),
                    });
                }
                Term::Compare(Operator::Eq, value) => values.push((*name, value.clone())),
                _ => {
                    return Err(RangeError::TwoFields {
                        first: field.to_owned(),
                        second: (*name).to_owned(),
                    });
                }
            }
        }
        self.range(&values, condition.as_ref())
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn refuse(&self, reason: impl Into<String>) -> ClauseError {
        let length = self.rest().split_whitespace().next().map_or(0, str::len);
        ClauseError {
            text: self.text.to_owned(),
            span: self.at..self.at + length,
            reason: reason.into(),
        }
    }

    /// Consumes a keyword in any case, if it is next.
    fn keyword(&mut self, word: &str) -> bool {
        self.skip_space();
        let rest = self.rest();
        let found = rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
            && !rest.get(word.len()..).unwrap_or_default().starts_with(is_name_part);
        if found {
            self.at += word.len();
        }
        found
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    fn term(&mut self, terms: &mut Vec<(&'a str, Term<'a>)>) -> Result<(), ClauseError> {
        let start = self.at;
        if self.keyword("begins_with") && self.symbol("(") {
            let name = self.name()?;
            if !self.symbol(",") {
                return Err(self.refuse("expected `,`"));
            }
            let text = self.value(true)?;
            if !self.symbol(")") {
                return Err(self.refuse("expected `)`"));
            }
            terms.push((name, Term::BeginsWith(text.into())));
            return Ok(());
        }
        self.at = start;
        let name = self.name()?;
        if self.keyword("between") {
            let from = self.value(false)?;
            if !self.keyword("and") {
                return Err(self.refuse("expected `and` and the upper value"));
            }
            let to = self.value(false)?;
            terms.push((name, Term::Compare(Operator::Ge, from.into())));
            terms.push((name, Term::Compare(Operator::Le, to.into())));
        } else if self.keyword("begins_with") {
            terms.push((name, Term::BeginsWith(self.value(false)?.into())));
        } else {
            let operator = self.operator()?;
            terms.push((name, Term::Compare(operator, self.value(false)?.into())));
        }
        Ok(())
    }

    fn operator(&mut self) -> Result<Operator, ClauseError> {
        // Longer symbols come first.
        [Operator::Le, Operator::Ge, Operator::Lt, Operator::Gt, Operator::Eq]
            .into_iter()
            .find(|operator| self.symbol(operator.symbol()))
            .ok_or_else(|| {
                self.refuse("expected `=`, `<`, `<=`, `>`, `>=`, `between` or `begins_with`")
            })
    }

    fn name(&mut self) -> Result<&'a str, ClauseError> {
        self.skip_space();
        let rest = self.rest();
        let length = rest.find(|c| !is_name_part(c)).unwrap_or(rest.len());
        let name = rest.get(..length).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| self.refuse("expected a field name"))?;
        self.at += length;
        Ok(name)
    }

    fn value(&mut self, in_call: bool) -> Result<&'a str, ClauseError> {
        self.skip_space();
        let rest = self.rest();
        for quote in ['\'', '"'] {
            if let Some(body) = rest.strip_prefix(quote) {
                let length =
                    body.find(quote).ok_or_else(|| self.refuse("the quote is not closed"))?;
                self.at += length + 2;
                return Ok(body.get(..length).unwrap_or_default());
            }
        }
        let ends = |c: char| c.is_whitespace() || (in_call && c == ')');
        let length = rest.find(ends).unwrap_or(rest.len());
        let word = rest.get(..length).filter(|word| !word.is_empty());
        let word = word.ok_or_else(|| self.refuse("expected a value"))?;
        self.at += length;
        Ok(word)
    }
}

fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        for (text, terms) in [
            ("a = 1", 1),
            ("a>=1 AND a<5", 2),
            ("a between 1 and 5 and b = 2", 3),
            ("a begins_with 'x y'", 1),
            ("begins_with(a, 2024-12)", 1),
            ("begins_with = 3", 1),
            ("a = \"it's\"", 1),
        ] {
            assert_eq!(Clause::parse(text).unwrap().terms().len(), terms, "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_pointed_at() {
        for (text, at) in [
            ("", 0),
            ("a", 1),
            ("a 5", 2),
            ("a = ", 4),
            ("a between 1", 11),
            ("a between 1 to 5", 12),
            ("a = 'x", 4),
            ("a = 1 or b = 2", 6),
            ("= 5", 0),
            ("begins_with(a 5)", 14),
            ("a = 1 and", 9),
        ] {
            assert_eq!(Clause::parse(text).unwrap_err().span().start, at, "{text}");
        }
    }

    #[test]
    fn only_one_field_may_have_a_range() {
        let template = Template::parse("{a:u8}#{b:u8}").unwrap();
        let clause = Clause::parse("a > 1 and b < 2").unwrap();
        assert!(matches!(template.range_where(&clause, &[]), Err(RangeError::TwoFields { .. })));
        let clause = Clause::parse("b = 2 and a = 1").unwrap();
        assert_eq!(template.range_where(&clause, &[]).unwrap().lower(), "001#002");
    }
}
