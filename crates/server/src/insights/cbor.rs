//! The CBOR protocol: as much of RFC 8949 as Smithy's RPC v2 uses.

use std::convert::Infallible;

use minicbor::data::{Int, Tag, Type};
use minicbor::encode::Error;
use minicbor::{Decoder, Encoder};

use super::value::Value;

/// How deep a request may be nested; real ones have three levels.
const MAX_DEPTH: usize = 16;
/// The tag of seconds since 1970.
const EPOCH: Tag = Tag::new(1);

/// Encodes an answer.
pub(super) fn encode(value: &Value) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new());
    // Writing to a vector does not fail.
    let Ok(()) = write(value, &mut encoder) else { return Vec::new() };
    encoder.into_writer()
}

fn write(value: &Value, out: &mut Encoder<Vec<u8>>) -> Result<(), Error<Infallible>> {
    match value {
        Value::Null => out.null()?,
        Value::Truth(truth) => out.bool(*truth)?,
        Value::Whole(whole) => out.i64(*whole)?,
        Value::Number(number) => out.f64(*number)?,
        Value::Text(text) => out.str(text)?,
        Value::Time(ms) => out.tag(EPOCH)?.f64(*ms as f64 / 1000.0)?,
        Value::List(values) => {
            out.array(values.len() as u64)?;
            return values.iter().try_for_each(|value| write(value, out));
        }
        Value::Record(fields) => {
            out.map(fields.len() as u64)?;
            return fields.iter().try_for_each(|(name, value)| write(value, out.str(name)?));
        }
    };
    Ok(())
}

/// Decodes a body; an empty one is an empty structure.
pub(super) fn decode(body: &[u8]) -> Result<Value, String> {
    if body.is_empty() {
        return Ok(Value::Null);
    }
    let mut decoder = Decoder::new(body);
    match read(&mut decoder, MAX_DEPTH) {
        Some(value) if decoder.position() == body.len() => Ok(value),
        _ => Err("The body is not CBOR as the protocol has it.".to_owned()),
    }
}

/// The next value. Lengths that a body states are never trusted: no memory is reserved for them.
fn read(decoder: &mut Decoder<'_>, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    Some(match decoder.datatype().ok()? {
        Type::Null => decoder.null().map(|()| Value::Null).ok()?,
        Type::Undefined => decoder.undefined().map(|()| Value::Null).ok()?,
        Type::Bool => Value::Truth(decoder.bool().ok()?),
        Type::U8
        | Type::U16
        | Type::U32
        | Type::U64
        | Type::I8
        | Type::I16
        | Type::I32
        | Type::I64
        | Type::Int => whole(decoder.int().ok()?)?,
        Type::F16 => Value::Number(half(decoder)?),
        Type::F32 => Value::Number(f64::from(decoder.f32().ok()?)),
        Type::F64 => Value::Number(decoder.f64().ok()?),
        Type::String | Type::StringIndef => {
            Value::Text(decoder.str_iter().ok()?.collect::<Result<String, _>>().ok()?)
        }
        Type::Array | Type::ArrayIndef => {
            let length = decoder.array().ok()?;
            Value::List(each(decoder, length, |decoder| read(decoder, depth))?)
        }
        Type::Map | Type::MapIndef => {
            let length = decoder.map().ok()?;
            Value::Record(each(decoder, length, |decoder| {
                let Value::Text(name) = read(decoder, 1)? else { return None };
                Some((name.into(), read(decoder, depth)?))
            })?)
        }
        Type::Tag => {
            let tag = decoder.tag().ok()?;
            let value = read(decoder, depth)?;
            // Other tags do not change the value.
            if tag == EPOCH { time(&value)? } else { value }
        }
        // No operation here takes bytes.
        _ => return None,
    })
}

fn whole(number: Int) -> Option<Value> {
    match i64::try_from(number) {
        Ok(whole) => Some(Value::Whole(whole)),
        Err(_) => u64::try_from(number).ok().map(|large| Value::Number(large as f64)),
    }
}

fn time(seconds: &Value) -> Option<Value> {
    let seconds = match seconds {
        Value::Whole(seconds) => *seconds as f64,
        Value::Number(seconds) if seconds.is_finite() => *seconds,
        _ => return None,
    };
    Some(Value::Time((seconds * 1000.0) as u64))
}

/// The parts of a list or map, which ends after its length or with a break.
fn each<T>(
    decoder: &mut Decoder<'_>,
    length: Option<u64>,
    mut one: impl FnMut(&mut Decoder<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let mut parts = Vec::new();
    loop {
        match length {
            Some(length) if parts.len() as u64 == length => return Some(parts),
            None if decoder.datatype().ok()? == Type::Break => {
                return decoder.skip().ok().map(|()| parts);
            }
            _ => parts.push(one(decoder)?),
        }
    }
}

/// A number of half precision. `minicbor` reads it with the crate `half`, whose build takes longer than all else here.
fn half(decoder: &mut Decoder<'_>) -> Option<f64> {
    let at = decoder.position() + 1;
    let bytes = decoder.input().get(at..at + 2)?;
    let half = u16::from_be_bytes(bytes.try_into().ok()?);
    decoder.set_position(at + 2);
    let (exponent, mantissa) = (i32::from(half >> 10 & 31), f64::from(half & 1023));
    let size = match exponent {
        0 => mantissa * (-24_f64).exp2(),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + mantissa) * f64::from(exponent - 25).exp2(),
    };
    Some(if half >> 15 == 1 { -size } else { size })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        keyloom_core::hex::decode(&hex.replace(' ', "")).unwrap()
    }

    /// Mostly the examples of RFC 8949, appendix A.
    #[test]
    fn values_are_the_bytes_of_the_standard() {
        let text = |text: &str| Value::Text(text.into());
        for (value, hex) in [
            (Value::Whole(0), "00"),
            (Value::Whole(23), "17"),
            (Value::Whole(24), "1818"),
            (Value::Whole(1000), "1903e8"),
            (Value::Whole(1_000_000), "1a000f4240"),
            (Value::Whole(1_000_000_000_000), "1b000000e8d4a51000"),
            (Value::Whole(-1), "20"),
            (Value::Whole(-1000), "3903e7"),
            (Value::Whole(i64::MIN), "3b7fffffffffffffff"),
            (Value::Number(1.1), "fb3ff199999999999a"),
            (Value::Truth(true), "f5"),
            (Value::Null, "f6"),
            (text("ü"), "62c3bc"),
            (Value::Time(1_363_896_240_500), "c1fb41d452d9ec200000"),
            (Value::list([text("a"), text("b")]), "82 6161 6162"),
            (
                Value::record([("a", Value::Whole(1)), ("b", Value::list([text("c")]))]),
                "a2 6161 01 6162 81 6163",
            ),
        ] {
            assert_eq!(encode(&value), bytes(hex), "{value:?}");
            assert_eq!(decode(&bytes(hex)), Ok(value), "{hex}");
        }
    }

    #[test]
    fn other_forms_of_the_same_are_read_too() {
        let record = Value::record([("a", Value::list([Value::Whole(1)]))]);
        for (hex, value) in [
            ("bf 6161 9f 01 ff ff", record),
            ("7f 6161 6162 ff", Value::Text("ab".into())),
            ("c1 1a514b67b0", Value::Time(1_363_896_240_000)),
            ("f93c00", Value::Number(1.0)),
            ("f9c400", Value::Number(-4.0)),
            ("f90001", Value::Number(2_f64.powi(-24))),
            ("fa47c35000", Value::Number(100_000.0)),
            ("", Value::Null),
        ] {
            assert_eq!(decode(&bytes(hex)), Ok(value), "{hex}");
        }
    }

    #[test]
    fn what_is_not_cbor_is_refused() {
        let deep = "81".repeat(40) + "00";
        for hex in [
            "ff",
            "1b00",
            "9f01",
            "a1 01 01",
            "62 c328",
            "5b ffffffffffffffff",
            "0000",
            "c1 6161",
            deep.as_str(),
        ] {
            assert!(decode(&bytes(hex)).is_err(), "{hex}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode(&bytes);
        }
    }
}
