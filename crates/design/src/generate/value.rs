//! Random values of fields: mostly plausible, some of them nasty.

use keyloom_core::hash::SplitMix64;
use keyloom_keys::{Decimal, FieldFormat, FieldType, Precision, Timestamp, Ulid, Uuid, Value};

use crate::model::{Escape, Field, FieldKind};

/// Words for names and titles.
const WORDS: [&str; 24] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "indigo", "juniper",
    "karst", "lagoon", "meadow", "nectar", "onyx", "prairie", "quartz", "river", "summit",
    "tundra", "umber", "valley", "willow", "zephyr",
];

/// Texts that break careless keys: prefixes of one another, bytes below the separator, numbers as text.
const NASTY: [&str; 14] = [
    "a",
    "ab",
    "a0",
    "a!",
    "a b",
    "1",
    "10",
    "9",
    "~",
    "é",
    "日本",
    "A",
    "-",
    "zzzzzzzzzzzzzzzzzzzzzzzz",
];

/// The start of 2024 in milliseconds since 1970.
const EPOCH_MS: i64 = 1_704_067_200_000;
const SPAN_MS: i64 = 120 * 86_400_000;

/// What a random value must respect.
#[derive(Clone, Copy)]
pub(crate) struct Taste<'a> {
    /// The separator, and whether values may contain it.
    pub(crate) separator: &'a str,
    pub(crate) escape: Escape,
    /// Whether the field stands in a key.
    pub(crate) in_key: bool,
    pub(crate) adversarial: bool,
}

pub(crate) fn random_value(random: &mut SplitMix64, field: &Field, taste: Taste) -> Value<'static> {
    match &field.kind {
        FieldKind::Scalar(format) if format.precision().is_some() => {
            Value::Time(random_time(random, field, format))
        }
        FieldKind::Scalar(format) => random_scalar(random, format, taste),
        FieldKind::LooseTime => {
            let time = Timestamp::from_millis(moment(random)).at(Precision::Second);
            Value::Text(Value::Time(time).to_string().into())
        }
        FieldKind::Shard(shards) => Value::from(random.below(shards.count as usize) as u32),
        FieldKind::Number => Value::from(random.below(100_000) as u32),
        FieldKind::Binary => Value::Bytes(random.draw().to_be_bytes().to_vec().into()),
        FieldKind::List | FieldKind::Map | FieldKind::TextSet => word(random),
        FieldKind::NumberSet => Value::Text(random.below(1000).to_string().into()),
    }
}

fn random_scalar(random: &mut SplitMix64, format: &FieldFormat, taste: Taste) -> Value<'static> {
    let nasty = taste.adversarial && random.percent(20);
    match format.kind() {
        FieldType::String | FieldType::Token => random_text(random, format, taste, nasty),
        FieldType::Fixed => {
            let width = format.width().unwrap_or(1);
            Value::Text(
                format!("{:0width$}", random.below(10_usize.pow(width.min(9) as u32))).into(),
            )
        }
        FieldType::Enum(values) => {
            Value::Text(random.pick(values).cloned().unwrap_or_default().into())
        }
        FieldType::U8 => Value::from(edge(random, nasty, 255)),
        FieldType::U16 => Value::from(edge(random, nasty, 65_535)),
        FieldType::U32 | FieldType::U64 => {
            let digits = format.width().unwrap_or(10).min(9) as u32;
            Value::from(edge(random, nasty, 10_u64.pow(digits) - 1))
        }
        FieldType::I64 => {
            let digits = format.width().unwrap_or(10).min(9) as u32;
            let size = edge(random, nasty, 10_u64.pow(digits) - 1) as i64;
            Value::from(if random.percent(50) { -size } else { size })
        }
        FieldType::Decimal { scale } => {
            let digits = format.width().unwrap_or(9).min(9) as u32;
            let size = edge(random, nasty, 10_u64.pow(digits) - 1) as i64;
            let unscaled = i128::from(if random.percent(30) { -size } else { size });
            Decimal::new(unscaled, *scale).map_or(Value::from(0_u32), Value::Decimal)
        }
        FieldType::Uuid => {
            let bits = u128::from(random.draw()) << 64 | u128::from(random.draw());
            Value::Uuid(Uuid(bits))
        }
        FieldType::Ulid => {
            let time = u128::from(moment(random).unsigned_abs()) << 80;
            Value::Ulid(Ulid(
                time | u128::from(random.draw()) << 16 | u128::from(random.draw() as u16),
            ))
        }
        FieldType::Bool => Value::Bool(random.percent(50)),
        FieldType::Hex => {
            let bytes =
                (0..format.width().unwrap_or(8)).map(|_| random.draw() as u8).collect::<Vec<_>>();
            Value::Bytes(bytes.into())
        }
        _ => {
            let precision = format.precision().unwrap_or(Precision::Second);
            Value::Time(Timestamp::from_millis(moment(random)).at(precision))
        }
    }
}

/// A time of the period in which the field has values.
fn random_time(random: &mut SplitMix64, field: &Field, format: &FieldFormat) -> Timestamp {
    let precision = format.precision().unwrap_or(Precision::Second);
    let at = match field.period() {
        (None, None) => moment(random),
        (since, until) => {
            // Four months of it, those that all other times lie in if possible.
            let first = since.unwrap_or(i64::MIN).max(EPOCH_MS);
            let last = until.unwrap_or(i64::MAX).min(first.saturating_add(SPAN_MS));
            let first = first.min(last.saturating_sub(SPAN_MS)).max(since.unwrap_or(i64::MIN));
            let shifted = moment(random) - EPOCH_MS;
            first + shifted.rem_euclid((last - first + 1).max(1))
        }
    };
    Timestamp::from_millis(at).at(precision)
}

/// Times with ties and with ends of periods among them.
fn moment(random: &mut SplitMix64) -> i64 {
    let at = EPOCH_MS + (random.draw() % SPAN_MS.unsigned_abs()) as i64;
    let day = 86_400_000;
    match random.below(10) {
        0 => at - at.rem_euclid(day),
        1 => at - at.rem_euclid(day) + day - 1,
        2 => EPOCH_MS + (random.below(12) as i64) * day,
        _ => at,
    }
}

fn edge(random: &mut SplitMix64, nasty: bool, max: u64) -> u64 {
    if !nasty {
        return random.draw() % (max.min(10_000) + 1);
    }
    let edges = [0, 1, 2, 9, 10, 11, 99, 100, 101, max / 2, max - 1, max];
    random.pick(&edges).copied().unwrap_or(0).min(max)
}

fn word(random: &mut SplitMix64) -> Value<'static> {
    Value::Text(random.pick(&WORDS).copied().unwrap_or("word").to_owned().into())
}

fn random_text(
    random: &mut SplitMix64,
    format: &FieldFormat,
    taste: Taste,
    nasty: bool,
) -> Value<'static> {
    let token = *format.kind() == FieldType::Token;
    let may_separate = !taste.in_key || matches!(taste.escape, Escape::Percent | Escape::Ordered);
    let text = if nasty && random.percent(25) && may_separate && !token {
        format!("a{}b", taste.separator)
    } else if nasty {
        random.pick(&NASTY).copied().unwrap_or("a").to_owned()
    } else {
        let word = random.pick(&WORDS).copied().unwrap_or("word");
        format!("{word}-{}", random.below(10_000))
    };
    let fits = |text: &str| format.max_bytes().is_none_or(|max| text.len() <= max);
    let plain = Value::from(text.clone());
    if fits(&text) && format.encode(&plain).is_ok() {
        return plain;
    }
    let mut short = format!("{}", random.below(100_000));
    short.truncate(format.max_bytes().unwrap_or(5).max(1));
    Value::Text(short.into())
}
