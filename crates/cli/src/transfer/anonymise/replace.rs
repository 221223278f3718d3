//! One value for another, by a rule.

use keyloom_core::{AttributeValue, Number};
use keyloom_design::model::{Field, FieldKind};
use keyloom_keys::{Case, Decimal, FieldFormat, FieldType, Ulid, Uuid, Value};

use super::Rule;
use super::shuffle::Secret;

/// Letters of hashes: those of every token, in one case.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// How long hashes are, and at least must be, so that no two of billions are the same.
const LONGEST: usize = 26;
const SHORTEST: usize = 16;

/// Replaces the values of one attribute.
pub(super) struct Replacer {
    secret: Secret,
}

/// Whether a field has room for hashes.
pub(super) fn hash_room(field: &Field) -> Result<(), String> {
    let FieldKind::Scalar(format) = &field.kind else { return Ok(()) };
    let too_short = |room: usize| format!("its {room} bytes are too few for a hash: use fake");
    match format.kind() {
        FieldType::Fixed => Err("it has a fixed length: use fake".to_owned()),
        FieldType::Hex if format.width().is_some_and(|width| width < 10) => {
            Err(too_short(format.width().unwrap_or(0)))
        }
        _ => match format.max_bytes().filter(|_| format.is_text()) {
            Some(room) if room < SHORTEST => Err(too_short(room)),
            _ => Ok(()),
        },
    }
}

impl Replacer {
    pub(super) fn new(secret: Vec<u8>) -> Self {
        Self { secret: Secret::new(&secret) }
    }

    /// A value of a field that keys can hold.
    pub(super) fn value(
        &self,
        rule: Rule,
        format: &FieldFormat,
        value: &Value<'static>,
    ) -> Result<Value<'static>, String> {
        Ok(match value {
            Value::Text(text) => Value::Text(self.text(rule, text, Some(format)).into()),
            Value::Int(number) => Value::Int(self.whole(rule, *number, greatest(format))),
            Value::Decimal(number) => {
                let limit = 10_i128.pow(30);
                let unscaled = self.whole(rule, number.unscaled(), limit);
                Value::Decimal(Decimal::new(unscaled, number.scale()).unwrap_or(*number))
            }
            Value::Uuid(_) if rule == Rule::Mask => Value::Uuid(Uuid(0)),
            Value::Uuid(Uuid(bits)) => {
                // Version and variant stay.
                let kept = 0xf000_u128 << 64 | 0xc000_u128 << 48;
                let drawn = self.secret.number(&[b"uuid", &bits.to_be_bytes()]);
                Value::Uuid(Uuid(bits & kept | drawn & !kept))
            }
            Value::Ulid(_) if rule == Rule::Mask => Value::Ulid(Ulid(0)),
            Value::Ulid(Ulid(bits)) => {
                // A fake keeps the time, by which items are ordered.
                let drawn = self.secret.number(&[b"ulid", &bits.to_be_bytes()]);
                let random = (1_u128 << 80) - 1;
                let kept = if rule == Rule::Fake { !random } else { 0 };
                Value::Ulid(Ulid(bits & kept | drawn & !kept))
            }
            Value::Bytes(bytes) => Value::Bytes(self.bytes(rule, bytes).into()),
            _ => return Err("it cannot be replaced".to_owned()),
        })
    }

    /// Any attribute, with everything in it.
    pub(super) fn attribute(&self, rule: Rule, value: &AttributeValue) -> AttributeValue {
        let text = |text: &str| self.text(rule, text, None);
        match value {
            AttributeValue::S(s) => AttributeValue::from(text(s)),
            AttributeValue::N(number) => AttributeValue::N(self.number(rule, number)),
            AttributeValue::B(bytes) => AttributeValue::B(self.bytes(rule, bytes)),
            AttributeValue::Bool(_) | AttributeValue::Null => value.clone(),
            AttributeValue::Ss(set) => {
                AttributeValue::string_set(distinct(set.iter().map(|s| text(s).into()).collect()))
            }
            AttributeValue::Ns(set) => {
                let made = set.iter().map(|number| self.number(rule, number)).collect();
                AttributeValue::number_set(distinct(made))
            }
            AttributeValue::Bs(set) => {
                let made = set.iter().map(|bytes| self.bytes(rule, bytes)).collect();
                AttributeValue::binary_set(distinct(made))
            }
            AttributeValue::L(list) => {
                AttributeValue::L(list.iter().map(|one| self.attribute(rule, one)).collect())
            }
            AttributeValue::M(map) => {
                let made = map.iter().map(|(name, one)| (name.clone(), self.attribute(rule, one)));
                AttributeValue::M(made.collect())
            }
        }
    }

    fn text(&self, rule: Rule, text: &str, format: Option<&FieldFormat>) -> String {
        match rule {
            Rule::Fake => self.secret.reshape(text),
            Rule::Mask => text.chars().map(masked).collect(),
            _ => {
                let room = format.and_then(FieldFormat::max_bytes).unwrap_or(LONGEST).min(LONGEST);
                let bits = self.secret.number(&[b"text", text.as_bytes()]);
                let letter = |at: usize| {
                    let index = (bits >> (at * 5).min(123) & 31) as usize;
                    char::from(LETTERS.get(index).copied().unwrap_or(b'a'))
                };
                let made: String = (0..room).map(letter).collect();
                match format.map(FieldFormat::case) {
                    Some(Case::Upper) => made.to_ascii_uppercase(),
                    _ => made,
                }
            }
        }
    }

    /// A whole number with as many digits, of the same sign.
    fn whole(&self, rule: Rule, number: i128, limit: i128) -> i128 {
        if rule == Rule::Mask {
            return 0;
        }
        let size = number.unsigned_abs();
        let first = match size.checked_ilog10() {
            None | Some(0) => 0,
            Some(digits) => 10_u128.pow(digits),
        };
        let last =
            (if first == 0 { 9 } else { first.saturating_mul(10) - 1 }).min(limit.unsigned_abs());
        let bound = last.saturating_sub(first) + 1;
        let made = first + self.secret.shuffle(b"number", bound, size - first);
        let made = i128::try_from(made).unwrap_or(number);
        if number < 0 { -made } else { made }
    }

    fn number(&self, rule: Rule, number: &Number) -> Number {
        let text = number.to_string();
        let made = match text.parse::<i128>() {
            Ok(whole) => self.whole(rule, whole, i128::MAX).to_string(),
            Err(_) => match rule {
                Rule::Mask => "0".to_owned(),
                _ => self.secret.reshape(&text),
            },
        };
        // What has no digits to spare stays.
        made.parse().unwrap_or(*number)
    }

    fn bytes(&self, rule: Rule, bytes: &[u8]) -> Vec<u8> {
        if rule == Rule::Mask {
            return vec![0; bytes.len()];
        }
        let mut made = Vec::with_capacity(bytes.len());
        let mut part = 0_u64;
        while made.len() < bytes.len() {
            made.extend(self.secret.hash(&[b"bytes", &part.to_be_bytes(), bytes]));
            part += 1;
        }
        made.truncate(bytes.len());
        made
    }
}

fn distinct<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    let mut kept: Vec<T> = Vec::with_capacity(values.len());
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

fn masked(c: char) -> char {
    match c {
        '0'..='9' => '0',
        _ if c.is_uppercase() => 'X',
        _ if c.is_alphanumeric() => 'x',
        _ => c,
    }
}

fn greatest(format: &FieldFormat) -> i128 {
    match format.kind() {
        FieldType::U8 => u8::MAX.into(),
        FieldType::U16 => u16::MAX.into(),
        FieldType::U32 => u32::MAX.into(),
        FieldType::U64 => u64::MAX.into(),
        _ => i64::MAX.into(),
    }
}
