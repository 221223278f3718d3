//! `order = "created_at desc, task_id"`.

use super::ConditionError;
use crate::source::Span;

/// One field of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderTerm {
    /// The field to sort by.
    pub field: String,
    /// Whether the greatest comes first.
    pub descending: bool,
    /// Where it stands, relative to the text.
    pub span: Span,
}

/// Reads a comma-separated list of fields, each with `asc` or `desc`.
pub fn parse_order(text: &str) -> Result<Vec<OrderTerm>, ConditionError> {
    let mut terms = Vec::new();
    let mut at = 0;
    for part in text.split(',') {
        let lead = part.len() - part.trim_start().len();
        let span = Span::new(at + lead, at + lead + part.trim().len());
        at += part.len() + 1;
        let mut words = part.split_whitespace();
        let Some(field) = words.next() else {
            return Err(ConditionError::new("a field is missing in the order", span));
        };
        let descending = match words.next().map(str::to_ascii_lowercase).as_deref() {
            None | Some("asc") => false,
            Some("desc") => true,
            Some(other) => {
                let message = format!("`{other}` is neither `asc` nor `desc`");
                return Err(ConditionError::new(message, span)
                    .fix("separate fields by commas: \"created_at desc, id\""));
            }
        };
        if words.next().is_some() {
            return Err(ConditionError::new("separate the fields of an order by commas", span));
        }
        terms.push(OrderTerm { field: field.to_owned(), descending, span });
    }
    Ok(terms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_per_field() {
        let terms = parse_order("created_at desc, id").unwrap();
        let shown: Vec<_> = terms.iter().map(|t| (t.field.as_str(), t.descending)).collect();
        assert_eq!(shown, [("created_at", true), ("id", false)]);
        assert_eq!(terms[1].span, Span::new(17, 19));
        assert!(parse_order("a down").is_err());
        assert!(parse_order("a,").is_err());
    }
}
