//! Evidence for templates that cannot be parsed: two items with one key, made of the template's own fields.

use keyloom_keys::{FieldFormat, FieldType};

use crate::model::{Field, FieldKind};

/// What can be said of the values of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    /// Texts and numbers of any length: `1` and `12` are among them.
    Digits,
    /// Times as programs happen to write them.
    Times,
    /// Values that no other case describes.
    Others,
}

/// Two items with one key, written with the fields of the template itself.
pub(super) fn same_key(template: &str, fields: &[Field]) -> String {
    let replaced = "give the same key, and the second item replaces the first";
    let Some((a, b)) = touching(template) else {
        let mut named = field_texts(template).map(bare);
        return match named.find(|name| values_of(name, None, fields) == Values::Times) {
            Some(name) => format!(
                "`{name}` is written in varying forms, such as `2024-01-05T10:00:00Z` and `2024-01-05T12:00:00.5+02:00`, so that nothing tells where it ends"
            ),
            None => format!("different values {replaced}"),
        };
    };
    let kinds =
        (values_of(bare(a), format_of(a), fields), values_of(bare(b), format_of(b), fields));
    let (a, b) = (bare(a), bare(b));
    let between = format!("nothing stands between `{a}` and `{b}`");
    let pairs = match kinds {
        (Values::Digits, Values::Digits) => [("1", "23"), ("12", "3")],
        (Values::Times, Values::Digits) => {
            [("2024-01-05T10:00:00.1", "23"), ("2024-01-05T10:00:00.12", "3")]
        }
        (_, Values::Times) | (Values::Times, _) => {
            let loose = if kinds.1 == Values::Times { b } else { a };
            return format!(
                "{between}, and `{loose}` is written in varying forms, so that nothing tells where `{a}` ends"
            );
        }
        _ => return format!("{between}: different values of them {replaced}"),
    };
    let shown = pairs.map(|(x, y)| format!("{a} = \"{x}\", {b} = \"{y}\""));
    format!("{between}: {} {replaced}", shown.join(" and "))
}

/// The texts between braces.
fn field_texts(template: &str) -> impl Iterator<Item = &str> {
    template.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(field, _)| field))
}

/// The first two fields with nothing between them.
fn touching(template: &str) -> Option<(&str, &str)> {
    let (before, after) = template.split_once("}{")?;
    let (_, first) = before.rsplit_once('{')?;
    let (second, _) = after.split_once('}')?;
    Some((first, second))
}

fn bare(field: &str) -> &str {
    field.split(':').next().unwrap_or(field)
}

/// The format that stands in the template itself.
fn format_of(field: &str) -> Option<FieldFormat> {
    let (_, format) = field.split_once(':')?;
    FieldFormat::parse(format).ok()
}

fn values_of(name: &str, written: Option<FieldFormat>, fields: &[Field]) -> Values {
    let field = fields.iter().find(|field| field.name == name);
    if field.is_some_and(|field| field.kind == FieldKind::LooseTime) && written.is_none() {
        return Values::Times;
    }
    let format = written.or_else(|| field.and_then(Field::format));
    let digits = format.is_some_and(|format| {
        let text = matches!(format.kind(), FieldType::String | FieldType::Token);
        (text || format.is_plain()) && !format.is_desc()
    });
    if digits { Values::Digits } else { Values::Others }
}
