//! Attributes as fields: their types, the values of enumerations, and how many items have them.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_core::{AttributeType, AttributeValue};
use keyloom_keys::{Case, FieldFormat, FieldType};

use super::Kept;
use super::key::KeyField;
use super::part::{format_of, is_narrow};
use crate::draft::FieldDraft;
use crate::source::Spanned;

/// The most values of an enumeration, and how often each must occur on average.
const MAX_VALUES: usize = 12;
const MIN_EACH: usize = 10;

/// A field with what is not certain about it.
pub(super) struct FoundField {
    pub(super) draft: FieldDraft,
    /// How keys write it without being told.
    pub(super) format: Option<FieldFormat>,
    pub(super) doubts: Vec<String>,
}

/// An attribute as a field; or why it cannot be one.
pub(super) fn stored(
    name: &str,
    items: &[&Kept],
    key: Option<&KeyField>,
    is_key: bool,
) -> Result<FoundField, String> {
    let values: Vec<&AttributeValue> =
        items.iter().filter_map(|kept| kept.item.get(name)).collect();
    let mut kinds: BTreeMap<AttributeType, usize> = BTreeMap::new();
    for value in &values {
        *kinds.entry(value.attribute_type()).or_default() += 1;
    }
    let all: Vec<AttributeType> = kinds.keys().copied().collect();
    let &[kind] = all.as_slice() else {
        let texts: Vec<String> =
            kinds.iter().map(|(kind, count)| format!("{count} times {}", kind.as_str())).collect();
        return Err(format!("`{name}` has values of several types: {}", texts.join(", ")));
    };
    let mut doubts = key.map(|key| key.doubts.clone()).unwrap_or_default();
    let mut found = match kind {
        AttributeType::S => of_texts(name, &values, key, is_key, &mut doubts),
        AttributeType::N => of_numbers(name, key),
        AttributeType::B => plain(name, "binary"),
        AttributeType::Bool => plain(name, "bool"),
        AttributeType::L => plain(name, "list"),
        AttributeType::M => plain(name, "map"),
        AttributeType::Ss => plain(name, "string_set"),
        AttributeType::Ns => plain(name, "number_set"),
        AttributeType::Bs => {
            return Err(format!("`{name}` is a set of binaries, for which there is no type"));
        }
        AttributeType::Null => {
            return Err(format!("`{name}` is null in all {} items", values.len()));
        }
    };
    if let Some(shard) = key.and_then(|key| key.shard.as_ref()) {
        found.draft.kind = Spanned::free("shard");
        found.draft.shards = Some(u64::from(shard.count));
        found.draft.shard_by = shard.by.iter().map(|name| Spanned::free(name.as_str())).collect();
    }
    let weight = |all: &mut dyn Iterator<Item = &&Kept>| all.map(|kept| kept.weight).sum::<f64>();
    let all = weight(&mut items.iter());
    let having = weight(&mut items.iter().filter(|kept| kept.item.contains_key(name)));
    if values.len() < items.len() {
        found.draft.optional = true;
        found.draft.present = Some((having / all.max(1.0)).clamp(0.0001, 0.9999));
    }
    found.doubts.extend(doubts);
    Ok(found)
}

/// A field that only keys have.
pub(super) fn key_only(key: &KeyField) -> FoundField {
    let name = key.name.as_str();
    if let Some(shard) = &key.shard {
        let mut found = plain(name, "shard");
        found.draft.shards = Some(u64::from(shard.count));
        found.draft.shard_by = shard.by.iter().map(|name| Spanned::free(name.as_str())).collect();
        found.doubts.clone_from(&key.doubts);
        return found;
    }
    let finest = key.formats.iter().max_by_key(|format| format.precision());
    let format = finest.cloned().unwrap_or_else(FieldFormat::string);
    let mut found = FoundField {
        draft: FieldDraft::new(name, &format.to_string()),
        format: Some(format.clone()),
        doubts: key.doubts.clone(),
    };
    found.draft.key_only = true;
    if !is_narrow(&format) {
        let column: Vec<&str> = key.column();
        if let Some(values) = enumeration(&column) {
            set_values(&mut found, &values, column.len());
        }
    }
    if format.is_plain() {
        found.doubts.push(format!("`{name}` is not padded: such numbers do not sort by value"));
    }
    found
}

fn plain(name: &str, kind: &str) -> FoundField {
    let format = FieldFormat::parse(kind).ok();
    FoundField { draft: FieldDraft::new(name, kind), format, doubts: Vec::new() }
}

fn of_numbers(name: &str, key: Option<&KeyField>) -> FoundField {
    let Some(format) = key.and_then(|key| key.formats.first()) else {
        return plain(name, "number");
    };
    let text = format.to_string();
    let kind = text.strip_suffix(":desc").unwrap_or(&text);
    let mut found = plain(name, kind);
    if format.is_plain() {
        found
            .doubts
            .push(format!("`{name}` is not padded in keys: such numbers do not sort by value"));
    }
    found
}

fn of_texts(
    name: &str,
    values: &[&AttributeValue],
    key: Option<&KeyField>,
    is_key: bool,
    doubts: &mut Vec<String>,
) -> FoundField {
    let texts: Vec<&str> = values.iter().filter_map(|value| value.as_s()).collect();
    let distinct: BTreeSet<&str> = texts.iter().copied().collect();
    let own: Vec<&str> = distinct.into_iter().collect();
    let narrow = format_of(&own);
    let sorts = |format: &&FieldFormat| !format.is_desc() && format.case() == Case::AsIs;
    let in_keys = key.and_then(|key| key.formats.iter().find(sorts));
    let is_told = narrow.precision().is_some()
        && !narrow.is_compact()
        && !narrow.is_desc()
        && !matches!(narrow.kind(), FieldType::Year | FieldType::EpochMs);
    let is_id = matches!(narrow.kind(), FieldType::Uuid | FieldType::Ulid) && !narrow.is_desc();
    let format = if is_told || is_id {
        if texts.len() < 3 && key.is_none() {
            doubts.push(format!("`{name}` is taken for a {narrow} by {} values", texts.len()));
        }
        narrow
    } else if let Some(format) =
        in_keys.filter(|format| format.is_text() || matches!(format.kind(), FieldType::Hex))
    {
        format.clone()
    } else if loose_times(&own) {
        doubts.push(format!(
            "`{name}` has times of several forms, such as `{}`",
            own.first().copied().unwrap_or_default()
        ));
        let mut found = plain(name, "datetime:loose");
        found.format = None;
        return found;
    } else if is_key && matches!(narrow.kind(), FieldType::Token) {
        narrow
    } else {
        FieldFormat::string()
    };
    let mut found = FoundField {
        draft: FieldDraft::new(name, &format.to_string()),
        format: Some(format.clone()),
        doubts: Vec::new(),
    };
    if matches!(format.kind(), FieldType::String | FieldType::Token)
        && let Some(values) = enumeration(&texts)
    {
        set_values(&mut found, &values, texts.len());
    }
    found
}

fn set_values(found: &mut FoundField, values: &[&str], seen: usize) {
    found.draft.kind = Spanned::free("string");
    found.draft.values = values.iter().map(|value| Spanned::free(*value)).collect();
    found.format = None;
    found.doubts.push(format!(
        "`{}` has only these {} values in {seen} items",
        found.draft.name.value,
        values.len()
    ));
}

/// The values of an enumeration: few, short, and each of them often there.
fn enumeration<'v>(texts: &[&'v str]) -> Option<Vec<&'v str>> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
        if counts.len() > MAX_VALUES {
            return None;
        }
    }
    let is_name = |text: &&str| {
        !text.is_empty()
            && text.len() <= 40
            && text.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.'))
            && text.chars().any(char::is_alphabetic)
    };
    let often = texts.len() >= counts.len() * MIN_EACH && counts.values().all(|count| *count > 1);
    (counts.len() > 1 && often && counts.keys().all(is_name)).then(|| counts.into_keys().collect())
}

/// Times as programs happen to write them.
fn loose_times(texts: &[&str]) -> bool {
    let is_time = |text: &&str| {
        let bytes = text.as_bytes();
        text.len() >= 19
            && bytes.get(..4).is_some_and(|year| year.iter().all(u8::is_ascii_digit))
            && bytes.get(4) == Some(&b'-')
            && bytes.get(7) == Some(&b'-')
            && bytes.get(10).is_some_and(|b| matches!(b, b'T' | b' '))
            && bytes.get(13) == Some(&b':')
    };
    !texts.is_empty() && texts.iter().all(is_time)
}
