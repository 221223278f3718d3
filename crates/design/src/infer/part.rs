//! The format of a key part or of a text: the narrowest one that writes every value as it was found.

use keyloom_keys::{FieldFormat, FieldType, Value};

/// Times, in the order in which they are tried.
const TIMES: [&str; 11] = [
    "datetime:ms",
    "datetime",
    "date",
    "month",
    "hour",
    "datetime:compact",
    "datetime:ms:compact",
    "datetime:ms:desc",
    "datetime:desc",
    "date:desc",
    "hour:desc",
];

/// Whether a format writes a text as it was found.
pub(super) fn fits(format: &FieldFormat, text: &str) -> bool {
    let value = format.decode(text).ok();
    value.and_then(|value| format.encode(&value).ok()).is_some_and(|written| written == text)
}

/// The narrowest format of all values. What remains is a `token` or a `string`.
pub(super) fn format_of(values: &[&str]) -> FieldFormat {
    let all = |format: &FieldFormat| values.iter().all(|value| fits(format, value));
    let named = |name: &str| FieldFormat::parse(name).ok().filter(|format| all(format));
    let narrow = || {
        let ids = ["uuid", "ulid", "uuid:desc"];
        ids.into_iter().chain(TIMES).find_map(named)
    };
    narrow()
        .or_else(|| digits(values).and_then(|name| named(&name)))
        .or_else(|| decimal(values).and_then(|name| named(&name)))
        .or_else(|| opaque_id(values).and_then(|name| named(&name)))
        .or_else(|| named("token"))
        .unwrap_or_else(FieldFormat::string)
}

/// Whether a format says more than that something is a text.
pub(super) fn is_narrow(format: &FieldFormat) -> bool {
    !matches!(format.kind(), FieldType::String | FieldType::Token)
}

/// Numbers: padded ones, compact dates and milliseconds by their width; others are unpadded.
fn digits(values: &[&str]) -> Option<String> {
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if values.is_empty() || !values.iter().all(is_number) {
        return None;
    }
    let width = values.first()?.len();
    let numbers: Option<Vec<u128>> = values.iter().map(|text| text.parse().ok()).collect();
    let numbers = numbers?;
    let (most, least) = (numbers.iter().max().copied()?, numbers.iter().min().copied()?);
    let is_even = values.iter().all(|text| text.len() == width);
    let padded = values.iter().any(|text| text.len() > 1 && text.starts_with('0'));
    if !is_even && padded {
        // Neither padded nor plain: a text of digits.
        return None;
    }
    if !is_even || width == 1 || (!padded && values.len() < 3 && width < 8) {
        return Some(
            if most <= u128::from(u32::MAX) { "u32:plain" } else { "u64:plain" }.to_owned(),
        );
    }
    let in_years = |ms: u128| (946_684_800_000..4_102_444_800_000).contains(&ms);
    if (width == 15 || width == 13) && in_years(least) && in_years(most) {
        return Some(if width == 15 { "epoch_ms".to_owned() } else { "epoch_ms:13".to_owned() });
    }
    if width == 8 && !padded && values.iter().all(|text| is_compact_date(text)) {
        return Some("date:compact".to_owned());
    }
    if width == 4 && !padded && (1970..=2100).contains(&least) && (1970..=2100).contains(&most) {
        return Some("year".to_owned());
    }
    whole_number(width, most)
}

/// The smallest type of a padded number.
fn whole_number(width: usize, most: u128) -> Option<String> {
    let name = match width {
        0..=2 => "u8",
        3 if most <= 255 => "u8",
        3 | 4 => "u16",
        5 if most <= 65_535 => "u16",
        5..=9 => "u32",
        10 if most <= u128::from(u32::MAX) => "u32",
        10..=20 if most <= u128::from(u64::MAX) => "u64",
        _ => return None,
    };
    Some(format!("{name}:{width}"))
}

fn is_compact_date(text: &str) -> bool {
    let format = FieldFormat::parse("date:compact");
    let in_time = text.starts_with("19") || text.starts_with("20");
    in_time && format.is_ok_and(|format| fits(&format, text))
}

/// Numbers with a sign or a point, all of one width.
fn decimal(values: &[&str]) -> Option<String> {
    let first = values.first()?;
    let width = first.len();
    let form = |text: &&str| {
        text.len() == width && text.bytes().all(|b| b.is_ascii_digit() || b == b'-' || b == b'.')
    };
    if width < 3 || !values.iter().all(form) {
        return None;
    }
    match first.find('.') {
        Some(point) => Some(format!("decimal:{}.{}", width - 2, width - point - 1)),
        None if values.iter().any(|text| text.starts_with('-')) => {
            Some(format!("i64:{}", width - 1))
        }
        None => None,
    }
}

/// Hashes in hex and identifiers of one length, such as KSUIDs.
fn opaque_id(values: &[&str]) -> Option<String> {
    let first = values.first()?;
    let width = first.len();
    if width < 8 || !values.iter().all(|text| text.len() == width) {
        return None;
    }
    let every = |of: fn(u8) -> bool| values.iter().all(|text| text.bytes().all(of));
    let some = |of: fn(&u8) -> bool| values.iter().any(|text| text.bytes().any(|b| of(&b)));
    let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if width.is_multiple_of(2) && every(is_hex) && some(u8::is_ascii_digit) {
        return Some(format!("hex:{}", width / 2));
    }
    let is_id = every(|b| b.is_ascii_alphanumeric())
        && some(u8::is_ascii_digit)
        && some(u8::is_ascii_uppercase)
        && values.len() >= 3
        && width >= 10;
    is_id.then(|| format!("fixed:{width}"))
}

/// A constant text before the value: `SHARD_` of `SHARD_3`, `V` of `V000007`, if what follows is of a narrow format.
pub(super) fn affix<'v>(values: &[&'v str]) -> Option<(&'v str, FieldFormat)> {
    let first = values.first()?;
    let same = |length: &usize| {
        let head = first.get(..*length);
        head.is_some_and(|head| values.iter().all(|text| text.starts_with(head)))
    };
    let letters = |b: u8| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-' | b':' | b'=' | b'.');
    let length = first.bytes().take_while(|b| letters(*b)).count();
    let length = (1..=length).rev().find(same)?;
    let head = first.get(..length)?;
    let rest: Option<Vec<&str>> = values.iter().map(|text| text.get(length..)).collect();
    let rest = rest?;
    if rest.iter().any(|text| text.is_empty()) {
        return None;
    }
    let format = format_of(&rest);
    is_narrow(&format).then_some((head, format))
}

/// A stored text as a value of a format.
pub(super) fn written(format: &FieldFormat, text: &str) -> Option<String> {
    let value = Value::parse_for(format, text).ok()?;
    format.encode(&value).ok()
}
