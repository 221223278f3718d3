//! Key parts that are copies of attributes: the part is then that field.

use std::collections::BTreeSet;

use keyloom_core::{AttributeValue, Item};
use keyloom_keys::{FieldFormat, Shards};

use super::part::{affix, format_of, is_narrow, written};

/// An attribute that a key part is made of.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) name: String,
    /// Constant text before and after the value.
    pub(super) before: String,
    pub(super) after: String,
    pub(super) format: FieldFormat,
    /// Other attributes with the same values.
    pub(super) also: Vec<String>,
}

/// A part of a key in one item.
pub(super) type Row<'s> = (&'s Item, &'s str);

/// The text of a scalar.
pub(super) fn text_of(value: &AttributeValue) -> Option<String> {
    match value {
        AttributeValue::S(text) => Some(text.to_string()),
        AttributeValue::N(number) => Some(number.to_string()),
        AttributeValue::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// The attribute that a part is a copy of, in every item; `hint` is the word before it.
pub(super) fn link(rows: &[Row<'_>], names: &[&str], hint: &str) -> Option<Link> {
    let distinct: BTreeSet<&str> = rows.iter().map(|(_, part)| *part).collect();
    let parts: Vec<&str> = distinct.into_iter().collect();
    let narrow = format_of(&parts);
    let affixed = affix(&parts).filter(|_| !is_narrow(&narrow));
    let is_weak = rows.len() < 5 && parts.iter().all(|part| part.len() < 2);
    let mut found: Vec<(u8, bool, Link)> = Vec::new();
    for name in names {
        let named = is_named(name, hint);
        let texts: Option<Vec<(&AttributeValue, String)>> = rows
            .iter()
            .map(|(item, _)| item.get(name).and_then(|value| Some((value, text_of(value)?))))
            .collect();
        let Some(texts) = texts.filter(|_| named || !is_weak) else { continue };
        let tried = of_attribute(rows, &texts, &parts, &narrow, affixed.as_ref());
        if let Some((rank, before, after, format)) = tried {
            let link = Link { name: (*name).to_owned(), before, after, format, also: Vec::new() };
            found.push((rank, !named, link));
        }
    }
    found.sort_by_key(|(rank, is_other, _)| (*rank, *is_other));
    let equals: Vec<String> = found
        .iter()
        .filter(|(rank, ..)| found.first().is_some_and(|first| *rank == first.0))
        .skip(1)
        .map(|(_, _, link)| link.name.clone())
        .collect();
    let (_, _, best) = found.into_iter().next()?;
    Some(Link { also: equals, ..best })
}

/// Whether an attribute is called like the word before a part: `user_id` after `USER`.
fn is_named(name: &str, hint: &str) -> bool {
    let flat = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
    };
    let (name, hint) = (flat(name), flat(hint));
    let hint = hint.strip_suffix('s').unwrap_or(&hint);
    !hint.is_empty() && (name.starts_with(hint) || name.ends_with(hint))
}

type Tried = (u8, String, String, FieldFormat);

/// How the parts are made of one attribute's values, if they are: the better, the smaller the number.
fn of_attribute(
    rows: &[Row<'_>],
    texts: &[(&AttributeValue, String)],
    parts: &[&str],
    narrow: &FieldFormat,
    affixed: Option<&(&str, FieldFormat)>,
) -> Option<Tried> {
    let pairs = || rows.iter().zip(texts).map(|((_, part), (_, text))| (*part, text.as_str()));
    let is_text = texts.iter().all(|(value, _)| matches!(value, AttributeValue::S(_)));
    let plain = |rank, format| Some((rank, String::new(), String::new(), format));
    if is_text && pairs().all(|(part, text)| part == text) {
        return plain(0, text_format(parts, narrow.clone()));
    }
    let makes = |format: &FieldFormat, head: &str| {
        pairs().all(|(part, text)| part.strip_prefix(head) == written(format, text).as_deref())
    };
    if is_narrow(narrow) && makes(narrow, "") {
        return plain(0, narrow.clone());
    }
    if let Some(format) = descending(parts).into_iter().find(|format| makes(format, "")) {
        return plain(0, format);
    }
    if let Some((head, format)) = affixed.filter(|(head, format)| makes(format, head)) {
        return Some((1, (*head).to_owned(), String::new(), format.clone()));
    }
    if is_text {
        for (case, fold) in [
            ("lower", str::to_ascii_lowercase as fn(&str) -> String),
            ("upper", str::to_ascii_uppercase),
        ] {
            let format = FieldFormat::parse(&format!("{}:{case}", base_text(parts))).ok();
            if let Some(format) = format.filter(|_| pairs().all(|(part, text)| fold(text) == part))
            {
                return plain(2, format);
            }
        }
        return within(&pairs().collect::<Vec<_>>());
    }
    None
}

/// A text that also looks like a number is stored as a text.
fn text_format(parts: &[&str], narrow: FieldFormat) -> FieldFormat {
    let is_number = narrow.width().is_some()
        && !narrow.is_text()
        && !matches!(narrow.kind(), keyloom_keys::FieldType::Hex);
    let is_year = matches!(narrow.kind(), keyloom_keys::FieldType::Year);
    if !is_number && !is_year && narrow.to_string() != "date:compact" {
        return narrow;
    }
    let width = parts.first().map_or(0, |part| part.len());
    let name = if parts.iter().all(|part| part.len() == width) && parts.len() > 2 {
        format!("fixed:{width}")
    } else {
        base_text(parts).to_owned()
    };
    FieldFormat::parse(&name).unwrap_or_else(|_| FieldFormat::string())
}

fn base_text(parts: &[&str]) -> &'static str {
    let token = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    if parts.iter().all(|part| part.bytes().all(token)) { "token" } else { "string" }
}

/// Formats of reversed numbers with the width of the parts.
fn descending(parts: &[&str]) -> Vec<FieldFormat> {
    let width = parts.first().map_or(0, |part| part.len());
    let is_even = parts.iter().all(|part| part.len() == width);
    let is_number = parts.iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()));
    let names: Vec<String> = if is_even && is_number {
        let sized = ["u8", "u16", "u32", "u64", "epoch_ms"];
        sized.iter().map(|name| format!("{name}:{width}:desc")).collect()
    } else {
        ["ulid:desc", "uuid:desc", "string:desc", "token:desc"].map(str::to_owned).to_vec()
    };
    names.iter().filter_map(|name| FieldFormat::parse(name).ok()).collect()
}

/// The attribute's text inside the part, with constant text around it.
fn within(pairs: &[(&str, &str)]) -> Option<Tried> {
    let (part, text) = pairs.iter().max_by_key(|(_, text)| text.len())?;
    if text.len() < 2 {
        return None;
    }
    let at = part.find(text)?;
    let (before, after) = (part.get(..at)?, part.get(at + text.len()..)?);
    let all = pairs.iter().all(|(part, text)| {
        part.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)) == Some(text)
    });
    let distinct: BTreeSet<&str> = pairs.iter().map(|(_, text)| *text).collect();
    let values: Vec<&str> = distinct.into_iter().collect();
    let format = text_format(&values, format_of(&values));
    all.then(|| (3, before.to_owned(), after.to_owned(), format))
}

/// A shard among small numbers from zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    pub(super) count: u32,
    /// The fields that it is calculated from; none for one that is drawn.
    pub(super) by: Vec<String>,
}

/// Whether numbers are shards: calculated from attributes by the key library's hash; or evenly spread, if `may_be_drawn`.
pub(super) fn shard(rows: &[Row<'_>], names: &[&str], may_be_drawn: bool) -> Option<Shard> {
    let numbers: Option<Vec<u32>> = rows
        .iter()
        .map(|(_, part)| part.parse().ok().filter(|number: &u32| number.to_string() == **part))
        .collect();
    let numbers = numbers?;
    let distinct: BTreeSet<u32> = numbers.iter().copied().collect();
    let most = *distinct.last()?;
    if distinct.len() < 2 || most > 2_000 || rows.len() < 6 {
        return None;
    }
    let least = most + 1;
    let usual =
        [2, 3, 4, 5, 8, 10, 12, 16, 20, 25, 32, 50, 64, 100, 128, 200, 256, 500, 512, 1000, 1024];
    let counts = std::iter::once(least)
        .chain(usual.into_iter().filter(|count| *count > least && *count <= least * 4));
    let column = |name: &str| -> Option<Vec<String>> {
        rows.iter().map(|(item, _)| item.get(name).and_then(text_of)).collect()
    };
    let columns: Vec<(&str, Vec<String>)> =
        names.iter().filter_map(|name| Some((*name, column(name)?))).collect();
    let agrees = |count: u32, by: &[&(&str, Vec<String>)]| {
        let Ok(shards) = Shards::new(count) else { return false };
        numbers.iter().enumerate().all(|(at, number)| {
            let parts: Option<Vec<&str>> =
                by.iter().map(|(_, column)| column.get(at).map(String::as_str)).collect();
            parts.is_some_and(|parts| shards.of(&parts) == *number)
        })
    };
    for count in counts {
        for first in &columns {
            if agrees(count, &[first]) {
                return Some(Shard { count, by: vec![first.0.to_owned()] });
            }
        }
        for first in columns.iter().take(8) {
            for second in columns.iter().take(8).filter(|second| second.0 != first.0) {
                if agrees(count, &[first, second]) {
                    return Some(Shard {
                        count,
                        by: vec![first.0.to_owned(), second.0.to_owned()],
                    });
                }
            }
        }
    }
    let spread = distinct.first() == Some(&0)
        && distinct.len() * 10 >= least as usize * 7
        && rows.len() >= distinct.len() * 3;
    (may_be_drawn && spread).then(|| Shard { count: least, by: Vec::new() })
}
