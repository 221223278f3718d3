//! Values that a field no longer takes, though its attribute is still of the same kind.

use keyloom_keys::{FieldFormat, FieldType, Timestamp};

use crate::model::{Field, FieldKind};

/// What a field could hold before and cannot hold now, in words that follow the field's name.
pub(super) fn beyond(before: &Field, after: &Field) -> Vec<String> {
    // Values of another kind must be converted, which is a hazard of its own.
    if before.comparison_class() != after.comparison_class() {
        return Vec::new();
    }
    let mut beyond = Vec::new();
    if let (Some(was), Some(is)) = (before.format(), after.format()) {
        beyond.extend(texts(&was, &is));
    }
    beyond.extend(numbers(before, after));
    let later =
        |was: Option<Timestamp>, is: Timestamp| was.is_none_or(|was| was.millis() < is.millis());
    if let Some(since) = after.since.filter(|since| later(before.since, *since)) {
        beyond.push(format!("before {since}"));
    }
    let last = |until: Timestamp| until.last_millisecond().millis();
    let sooner = |is: &Timestamp| before.until.is_none_or(|was| last(was) > last(*is));
    if let Some(until) = after.until.filter(sooner) {
        beyond.push(format!("after {until}"));
    }
    if let Some(most) = fewer(before.max_items, after.max_items) {
        beyond.push(format!("of more than {most} elements"));
    }
    beyond
}

/// The new greatest number, if there was a greater one or none.
fn fewer<N: PartialOrd + Copy>(before: Option<N>, after: Option<N>) -> Option<N> {
    after.filter(|after| before.is_none_or(|before| before > *after))
}

fn texts(before: &FieldFormat, after: &FieldFormat) -> Vec<String> {
    let mut beyond = Vec::new();
    match (before.kind(), after.kind()) {
        // Lists of values are compared value by value.
        (FieldType::Enum(_), FieldType::Enum(_)) => return beyond,
        (_, FieldType::Enum(values)) => {
            return vec![format!("other than {}", values.join(", "))];
        }
        (FieldType::String, FieldType::Token) => {
            beyond.push("with other characters than letters, digits, `-`, `.` and `_`".to_owned());
        }
        (FieldType::Hex, FieldType::Hex) => {}
        _ if before.is_text() && after.is_text() => {}
        _ => return beyond,
    }
    let ((least, most), (is_least, is_most)) = (lengths(before), lengths(after));
    if let Some(most) = fewer(most, is_most) {
        beyond.push(format!("longer than {most} bytes"));
    }
    if is_least > least {
        beyond.push(format!("shorter than {is_least} bytes"));
    }
    beyond
}

/// The least and the greatest length of values in bytes, however keys write them.
fn lengths(format: &FieldFormat) -> (usize, Option<usize>) {
    match (format.kind(), format.width()) {
        (FieldType::Enum(values), _) => {
            let lengths = values.iter().map(String::len);
            (lengths.clone().min().unwrap_or_default(), lengths.max())
        }
        (_, Some(width)) => (width, Some(width)),
        _ => (0, format.max_bytes()),
    }
}

/// The least and the greatest number, and the digits after the point; nothing for what has no bounds.
struct Bounds {
    least: i128,
    greatest: i128,
    scale: u8,
}

fn bounds(field: &Field) -> Option<Bounds> {
    let FieldKind::Scalar(format) = &field.kind else { return None };
    let (least, greatest) = match format.kind() {
        FieldType::U8 => (0, i128::from(u8::MAX)),
        FieldType::U16 => (0, i128::from(u16::MAX)),
        FieldType::U32 => (0, i128::from(u32::MAX)),
        FieldType::U64 => (0, i128::from(u64::MAX)),
        FieldType::I64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        FieldType::Decimal { .. } => (-i128::MAX, i128::MAX),
        _ => return None,
    };
    let scale = match format.kind() {
        FieldType::Decimal { scale } => *scale,
        _ => 0,
    };
    // An unpadded number has as many digits as it needs.
    let digits = format.width().filter(|_| !format.is_plain());
    let whole = digits.map(|digits| digits.saturating_sub(usize::from(scale)) as u32);
    let most = whole.and_then(|digits| 10_i128.checked_pow(digits)).map_or(i128::MAX, |n| n - 1);
    Some(Bounds { least: least.max(-most), greatest: greatest.min(most), scale })
}

fn numbers(before: &Field, after: &Field) -> Vec<String> {
    let Some(is) = bounds(after) else { return Vec::new() };
    // Any number at all, or numbers within bounds.
    let was =
        bounds(before).unwrap_or(Bounds { least: i128::MIN, greatest: i128::MAX, scale: u8::MAX });
    let mut beyond = Vec::new();
    if was.least < is.least {
        beyond.push(format!("below {}", is.least));
    }
    if was.greatest > is.greatest {
        beyond.push(format!("above {}", is.greatest));
    }
    match is.scale {
        scale if was.scale <= scale => {}
        0 => beyond.push("that is not a whole number".to_owned()),
        scale => beyond.push(format!("with more than {scale} digits after the point")),
    }
    beyond
}
