//! Templates, values and conditions, chosen so that boundaries and near misses are common.

use std::fmt::Write;

use keyloom_keys::{
    FieldFormat, FieldType, Operator, Precision, SeparatorPolicy, Template, TemplateOptions, Term,
    Timestamp, Ulid, Uuid, Value,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const FORMATS: &[&str] = &[
    "string",
    "string:desc",
    "string:lower",
    "string:8",
    "token",
    "token:desc",
    "fixed:2",
    "fixed:2:desc",
    "u8",
    "u8:2",
    "u8:desc",
    "u8:plain",
    "u16:4",
    "u32",
    "u64",
    "u64:desc",
    "i64",
    "i64:3",
    "i64:desc",
    "i64:plain",
    "decimal:4.2",
    "decimal:4.2:desc",
    "decimal:3.0",
    "year",
    "month",
    "month:desc",
    "date",
    "date:desc",
    "hour",
    "datetime",
    "datetime:desc",
    "datetime:ms",
    "datetime:ms:desc",
    "epoch_ms",
    "epoch_ms:desc",
    "epoch_ms:13",
    "uuid",
    "uuid:desc",
    "ulid",
    "ulid:desc",
    "bool",
    "bool:desc",
    "enum:a|ab|a b|b",
    "enum:x|y|xx:desc",
    "hex",
    "hex:desc",
    "hex:2",
    "hex:2:desc",
];

const SEPARATORS: &[&str] = &["#", "::", "|", "/", "-", "\0", "~", "#-", "→", "."];

pub(crate) fn format() -> impl Strategy<Value = FieldFormat> {
    select(FORMATS).prop_map(|text| FieldFormat::parse(text).unwrap())
}

/// Templates of one to four fields; those that are refused are drawn again.
pub(crate) fn template() -> impl Strategy<Value = Template> {
    let policy = select(
        &[
            SeparatorPolicy::Reject,
            SeparatorPolicy::Reject,
            SeparatorPolicy::PercentEscape,
            SeparatorPolicy::OrderPreserving,
        ][..],
    );
    let fields = vec((select(FORMATS), select(&["", "s", "s", "s", "sLs"][..])), 1..4);
    (select(SEPARATORS), policy, select(&["", "P", "PsQ"][..]), fields, any::<bool>())
        .prop_filter_map("ambiguous", |(separator, policy, head, fields, tail)| {
            let mut text = head.replace('s', separator);
            if !head.is_empty() {
                text.push_str(separator);
            }
            let last = fields.len() - 1;
            for (at, (format, between)) in fields.iter().enumerate() {
                let _ = write!(text, "{{f{at}:{format}}}");
                if at < last || tail {
                    text.push_str(&between.replace('s', separator));
                }
            }
            let options = TemplateOptions {
                separator: Some(separator.to_owned()),
                policy,
                ..TemplateOptions::default()
            };
            Template::parse_with(&text, &options, |_| None).ok()
        })
}

fn text() -> impl Strategy<Value = String> {
    let character = select(
        &[
            'a',
            'a',
            'a',
            'b',
            'A',
            'z',
            '0',
            '9',
            ' ',
            '!',
            '"',
            '#',
            '$',
            '%',
            '&',
            '-',
            '.',
            '/',
            ':',
            '|',
            '~',
            '\0',
            '\u{1}',
            '\u{7f}',
            'é',
            '→',
            '\u{fffd}',
            '\u{10fffe}',
        ][..],
    );
    vec(character, 1..4).prop_map(|characters| characters.into_iter().collect())
}

fn time() -> impl Strategy<Value = Timestamp> {
    // A few days around a leap day and around the ends of time.
    let near = (-3_i64..3, 0_i64..3, select(&[-1_i64, 0, 1, 500, 1000, 3_600_000][..])).prop_map(
        |(days, hours, ms)| 1_709_164_800_000 + days * 86_400_000 + hours * 3_600_000 + ms,
    );
    let edge = select(&[-62_167_219_200_000_i64, 253_402_300_799_999, 0, -1][..]);
    prop_oneof![8 => near, 1 => edge].prop_map(Timestamp::from_millis)
}

pub(crate) fn precision() -> impl Strategy<Value = Precision> {
    select(
        &[
            Precision::Year,
            Precision::Month,
            Precision::Day,
            Precision::Hour,
            Precision::Minute,
            Precision::Second,
            Precision::Millisecond,
        ][..],
    )
}

/// Values that fit a format most of the time.
pub(crate) fn value(format: &FieldFormat) -> BoxedStrategy<Value<'static>> {
    let small = |low: i128, high: i128| {
        prop_oneof![
            Just(low),
            Just(high),
            low.max(-12)..high.min(120),
            Just(9.min(high)),
            Just(10.min(high))
        ]
        .prop_map(Value::Int)
        .boxed()
    };
    let digits = format.width().map_or(i128::MAX, |width| 10_i128.pow(width.min(38) as u32) - 1);
    match format.kind() {
        FieldType::U8 => small(0, digits.min(255)),
        FieldType::U16 => small(0, digits.min(65_535)),
        FieldType::U32 => small(0, digits.min(i128::from(u32::MAX))),
        FieldType::U64 => small(0, digits.min(i128::from(u64::MAX))),
        FieldType::I64 => {
            small((-digits).max(i128::from(i64::MIN)), digits.min(i128::from(i64::MAX)))
        }
        FieldType::Decimal { scale } => {
            let scale = *scale;
            prop_oneof![Just(-digits), Just(digits), -20_i128..20, -digits..digits]
                .prop_map(move |unscaled| {
                    Value::Decimal(keyloom_keys::Decimal::new(unscaled, scale).unwrap())
                })
                .boxed()
        }
        FieldType::DateTime => {
            time().prop_map(|time| Value::Time(time.at(Precision::Second))).boxed()
        }
        FieldType::EpochMs => time()
            .prop_map(|time| Value::Time(Timestamp::from_millis(time.millis().max(0))))
            .boxed(),
        _ if format.precision().is_some() => {
            let precision = format.precision().unwrap();
            time().prop_map(move |time| Value::Time(time.at(precision))).boxed()
        }
        FieldType::Uuid => id().prop_map(|bits| Value::Uuid(Uuid(bits))).boxed(),
        FieldType::Ulid => id().prop_map(|bits| Value::Ulid(Ulid(bits))).boxed(),
        FieldType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        FieldType::Enum(values) => select(values.to_vec()).prop_map(Value::from).boxed(),
        FieldType::Hex => {
            let length = format.width().map_or(1..4, |width| width..width + 1);
            vec(select(&[0_u8, 1, 0x61, 0x7f, 0x80, 0xff][..]), length)
                .prop_map(Value::from)
                .boxed()
        }
        FieldType::Fixed => vec(select(&['a', 'b', '#', '\0', '~'][..]), 2)
            .prop_map(|characters| Value::from(characters.into_iter().collect::<String>()))
            .boxed(),
        FieldType::Token => vec(select(&['a', 'b', '-', '.', '_', '0', 'Z'][..]), 1..4)
            .prop_map(|characters| Value::from(characters.into_iter().collect::<String>()))
            .boxed(),
        _ => text().prop_map(Value::from).boxed(),
    }
}

fn id() -> impl Strategy<Value = u128> {
    prop_oneof![Just(0), Just(u128::MAX), 0_u128..3, any::<u128>()]
}

/// One value for each field.
pub(crate) fn values(template: &Template) -> BoxedStrategy<Vec<Value<'static>>> {
    template.fields().map(|field| value(field.format())).collect::<Vec<_>>().boxed()
}

/// A template and some tuples of values for it.
pub(crate) fn template_and_values(
    count: usize,
) -> impl Strategy<Value = (Template, Vec<Vec<Value<'static>>>)> {
    template().prop_flat_map(move |template| {
        let tuples = vec(values(&template), count);
        (Just(template), tuples)
    })
}

fn operator() -> impl Strategy<Value = Operator> {
    select(&[Operator::Eq, Operator::Lt, Operator::Le, Operator::Gt, Operator::Ge][..])
}

/// Something to ask of a field, by values that are near the field's.
pub(crate) fn term(format: &FieldFormat) -> BoxedStrategy<Term<'static>> {
    let asked = if format.precision().is_some() {
        (time(), precision()).prop_map(|(time, precision)| Value::Time(time.at(precision))).boxed()
    } else {
        value(format)
    };
    let comparison =
        (operator(), asked).prop_map(|(operator, value)| Term::Compare(operator, value));
    let own = format.clone();
    let beginning =
        (value(format), 1_usize..5).prop_filter_map("no beginning", move |(value, length)| {
            let written = value.as_str().map(str::to_owned).or_else(|| own.encode(&value).ok())?;
            let text: String = written.chars().take(length).collect();
            Some(Term::BeginsWith(text.into()))
        });
    prop_oneof![4 => comparison, 1 => beginning].boxed()
}
