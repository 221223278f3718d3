//! Ordinals: scalar values as integers in sort order, so that the same arithmetic computes the range of every type.

use super::{FieldFormat, FieldType};
use crate::decimal::Decimal;
use crate::error::ValueError;
use crate::id::{Ulid, Uuid};
use crate::time::{MAX_MS, MIN_MS, Precision, Timestamp};
use crate::value::Value;

/// Maps an unsigned 128-bit number to a signed one with the same order.
const SIGN: u128 = 1 << 127;

impl FieldFormat {
    /// The smallest and largest ordinal, for the types that have ordinals: all but text and hex.
    pub(crate) fn ordinals(&self) -> Option<(i128, i128)> {
        let digits = self.width.unwrap_or_default();
        let by_width = 10_i128.pow(digits.min(38) as u32) - 1;
        let unsigned = |max: u64| Some((0, by_width.min(i128::from(max))));
        match &self.kind {
            FieldType::U8 => unsigned(u64::from(u8::MAX)),
            FieldType::U16 => unsigned(u64::from(u16::MAX)),
            FieldType::U32 => unsigned(u64::from(u32::MAX)),
            FieldType::U64 => unsigned(u64::MAX),
            FieldType::EpochMs => unsigned(MAX_MS as u64),
            FieldType::I64 => {
                Some(((-by_width).max(i128::from(i64::MIN)), by_width.min(i128::from(i64::MAX))))
            }
            FieldType::Decimal { .. } => Some((-by_width, by_width)),
            FieldType::Bool => Some((0, 1)),
            FieldType::Uuid | FieldType::Ulid => Some((i128::MIN, i128::MAX)),
            _ => self.precision().map(|precision| {
                (i128::from(precision.index_of(MIN_MS)), i128::from(precision.index_of(MAX_MS)))
            }),
        }
    }

    /// The first and last ordinal that a value covers: one for an instant, many for a period such as a day, and none, as
    /// `(n + 1, n)`, for a value between two values of the field.
    pub(crate) fn span(&self, value: &Value<'_>) -> Result<(i128, i128), ValueError> {
        let point = |ordinal: i128| Ok((ordinal, ordinal));
        match (&self.kind, value) {
            (_, Value::Text(text)) if !self.is_text() => self.span(&Value::parse_for(self, text)?),
            (FieldType::Decimal { scale }, Value::Decimal(number)) => {
                let (floor, exact) = number.floor_at(*scale);
                Ok((if exact { floor } else { floor.saturating_add(1) }, floor))
            }
            (FieldType::Decimal { scale }, Value::Int(number)) => {
                point(number.saturating_mul(10_i128.pow(u32::from(*scale))))
            }
            (
                FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 | FieldType::I64,
                Value::Int(number),
            ) => point(*number),
            (FieldType::EpochMs, Value::Int(number)) => point(*number),
            (FieldType::Bool, Value::Bool(flag)) => point(i128::from(*flag)),
            (FieldType::Uuid, Value::Uuid(Uuid(bits)))
            | (FieldType::Ulid, Value::Ulid(Ulid(bits))) => point((bits ^ SIGN) as i128),
            (_, Value::Time(time)) => match self.precision() {
                Some(precision) => Ok(time_span(precision, *time)),
                None => Err(self.wrong_type(value)),
            },
            _ => Err(self.wrong_type(value)),
        }
    }

    /// The value with this ordinal.
    pub(crate) fn value_at(&self, ordinal: i128) -> Value<'static> {
        match &self.kind {
            FieldType::Decimal { scale } => {
                Decimal::new(ordinal, *scale).map_or(Value::Int(ordinal), Value::Decimal)
            }
            FieldType::Bool => Value::Bool(ordinal != 0),
            FieldType::Uuid => Value::Uuid(Uuid(ordinal as u128 ^ SIGN)),
            FieldType::Ulid => Value::Ulid(Ulid(ordinal as u128 ^ SIGN)),
            _ => match self.precision() {
                Some(precision) => {
                    let index = i64::try_from(ordinal).unwrap_or_default();
                    Value::Time(Timestamp::from_millis(precision.start_of(index)).at(precision))
                }
                None => Value::Int(ordinal),
            },
        }
    }
}

fn time_span(precision: Precision, time: Timestamp) -> (i128, i128) {
    let start = time.millis();
    let floor = precision.index_of(start);
    let first = if precision.start_of(floor) == start { floor } else { floor.saturating_add(1) };
    let last = precision.index_of(time.last_millisecond().millis());
    (i128::from(first), i128::from(last))
}
