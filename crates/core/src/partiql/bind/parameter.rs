//! Parameters in requests.

use crate::error::message::value as message;
use crate::error::{Error, Result};
use crate::json::{self, Json};
use crate::limits::MAX_NESTING;
use crate::number::{Number, scale_error};
use crate::value::AttributeValue;

/// Decodes a parameter: an attribute value, except that numbers are parsed as by AWS's PartiQL
/// layer.
pub fn parameter_from(value: &Json<'_>) -> Result<AttributeValue> {
    check_numbers(value, 0)?;
    json::value_from(value)
}

/// Finds the first number that cannot be parsed, or the first value that is nested too deeply.
fn check_numbers(value: &Json<'_>, depth: usize) -> Result<()> {
    let Json::Object(members) = value else { return Ok(()) };
    if depth >= MAX_NESTING {
        return Err(Error::validation(message::NESTING));
    }
    for (kind, content) in members.iter() {
        match (kind, content) {
            ("N", Json::Str(text)) => check_number(text)?,
            ("NS", Json::Array(members)) => {
                for member in members {
                    if let Json::Str(text) = member {
                        check_number(text)?;
                    }
                }
            }
            ("L", Json::Array(members)) => {
                members.iter().try_for_each(|member| check_numbers(member, depth + 1))?;
            }
            ("M", Json::Object(fields)) => {
                fields.iter().try_for_each(|(_, field)| check_numbers(field, depth + 1))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_number(text: &str) -> Result<()> {
    match scale_error(text) {
        Some(error) => Err(error.into()),
        None => Number::parse(text).map(|_| ()).map_err(Error::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_nesting_are_reported_in_order() {
        let deep = format!("{}{}{}", r#"{"M":{"n":"#.repeat(40), r#"{"S":"x"}"#, "}}".repeat(40));
        let bad = r#"{"N":"abc"}"#;
        let unreadable = "The parameter cannot be converted to a numeric value: ";
        let table = [
            (r#"{"N":"1e99999999999"}"#.to_owned(), format!("{unreadable}1e99999999999")),
            (r#"{"NS":["1","1e-2147483648"]}"#.to_owned(), format!("{unreadable}1e-2147483648")),
            (
                r#"{"N":"1e2147483647"}"#.to_owned(),
                message::number(&crate::number::NumberError::Underflow),
            ),
            (format!(r#"{{"M":{{"d":{deep},"b":{bad}}}}}"#), message::NESTING.to_owned()),
            (format!(r#"{{"M":{{"b":{bad},"d":{deep}}}}}"#), format!("{unreadable}abc")),
            (format!(r#"{{"L":[{bad},{deep}]}}"#), format!("{unreadable}abc")),
        ];
        for (text, expected) in table {
            let json = json::parse(text.as_bytes()).unwrap();
            assert_eq!(parameter_from(&json).unwrap_err().message(), expected, "{text}");
        }
        let json = json::parse(br#"{"L":[{"N":"1e2"}]}"#).unwrap();
        assert_eq!(parameter_from(&json).unwrap(), AttributeValue::L(vec![100.into()]));
    }
}
