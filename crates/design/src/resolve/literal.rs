//! Values that conditions state, and whether items can have them.

use keyloom_keys::{FieldType, Timestamp, Value};

use super::Resolver;
use crate::condition::{self, Comparison};
use crate::diagnostic::{Code, Diagnostic};
use crate::key::as_fine_as;
use crate::model::{Field, FieldKind, InputRole};
use crate::source::Span;
use crate::suggest::did_you_mean;

impl Resolver<'_> {
    /// Reads a value that a condition states; reports what no item can have.
    pub(super) fn literal(
        &mut self,
        field: &Field,
        text: &str,
        role: InputRole,
        span: Span,
        subject: &str,
    ) -> Option<Value<'static>> {
        match literal(field, text, role) {
            Ok(value) => Some(value),
            Err(reason) => {
                let listed = field.values().filter(|_| !matches!(field.kind, FieldKind::Shard(_)));
                let fix =
                    listed.and_then(|values| did_you_mean(text, values.iter().map(String::as_str)));
                let message = format!("`{text}` is not a value of `{}`: {reason}", field.name);
                let problem = Diagnostic::error(Code::BadCondition, span, message).fix(fix);
                self.report(problem.about(subject));
                None
            }
        }
    }
}

/// A literal that a text contains need not be a value of the field itself.
pub(super) fn part_role(field: &Field, part: &condition::Operand) -> InputRole {
    let is_input = matches!(part, condition::Operand::Input(_));
    if field.is_text() && !is_input { InputRole::Prefix } else { InputRole::Value }
}

/// `begins_with` and `contains` look at texts; DynamoDB refuses them on numbers.
pub(super) fn untestable(test: &condition::Test, field: &Field, span: Span) -> Option<Diagnostic> {
    let (word, fits) = match test {
        condition::Test::BeginsWith(_) => ("begins_with", field.has_beginnings()),
        condition::Test::Contains(_) | condition::Test::Lacks(_) => ("contains", field.has_parts()),
        condition::Test::Compare(sign @ (Comparison::Equal | Comparison::NotEqual), _) => {
            (sign.symbol(), field.is_scalar())
        }
        condition::Test::In(_) => ("in", field.is_scalar()),
        condition::Test::Compare(sign, _) => (sign.symbol(), field.is_ordered()),
        condition::Test::Between(..) => ("between", field.is_ordered()),
        condition::Test::Exists | condition::Test::Missing => return None,
    };
    if fits {
        return None;
    }
    let (why, fix) = match (word, field.has_parts(), field.is_scalar()) {
        ("begins_with" | "contains", ..) if field.is_scalar() => (
            "it compares texts, and this field is stored as a number, reversed or as a document",
            if field.is_ordered() { "use =, <, >, between" } else { "use =" },
        ),
        (_, true, _) => {
            ("it is a list or set, and conditions look at its elements", "use contains")
        }
        (_, _, true) => {
            ("DynamoDB compares texts, numbers and binaries by size, nothing else", "use =")
        }
        _ => (
            "it is a document, and conditions look at single values",
            "keep what is asked for in a field of its own, or use exists",
        ),
    };
    let message =
        format!("`{word}` does not work on `{}`, which is a {}", field.name, field.type_name());
    let problem =
        Diagnostic::error(Code::BadCondition, span, message).because(why).fix(Some(fix.to_owned()));
    Some(problem)
}

/// Reads a value that a condition states.
pub(crate) fn literal(
    field: &Field,
    text: &str,
    role: InputRole,
) -> Result<Value<'static>, String> {
    let plain = || Value::from(text.to_owned());
    match (&field.kind, role) {
        (_, InputRole::Prefix) => Ok(plain()),
        (FieldKind::Scalar(format), _) => {
            let value = Value::parse_for(format, text).map_err(|error| error.to_string())?;
            let value = as_fine_as(format, value.into_owned())?;
            // Periods such as a day are fine in conditions, and so are shorter texts as ends of a range; anything
            // else must be writable.
            let is_end = matches!(role, InputRole::Low | InputRole::High) && format.is_text();
            if !matches!(value, Value::Time(_))
                && (!is_end || matches!(format.kind(), FieldType::Enum(_)))
            {
                format.encode(&value).map_err(|error| error.to_string())?;
            }
            Ok(value)
        }
        (FieldKind::Shard(shards), _) => match text.parse::<u32>() {
            Ok(number) if number < shards.count => Ok(Value::from(number)),
            Ok(_) => Err(format!("shards are numbered from 0 to {}", shards.count - 1)),
            Err(_) => Err("a shard is a whole number".to_owned()),
        },
        (FieldKind::Number | FieldKind::NumberSet, _) => {
            crate::key::number(text).ok_or_else(|| "it is not a number".to_owned())
        }
        (FieldKind::LooseTime, _) if text.parse::<Timestamp>().is_err() => {
            Err("it is not a time".to_owned())
        }
        (FieldKind::Binary, _) => Err("bytes cannot be written here; use ?".to_owned()),
        _ => Ok(plain()),
    }
}
