//! The CBOR protocol: as much of RFC 8949 as Smithy's RPC v2 has.

use super::value::Value;

/// How deep a request may be nested; real ones have three levels.
const MAX_DEPTH: usize = 16;

/// Major types, in the upper three bits of a first byte.
const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const LIST: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
const SIMPLE: u8 = 7;
/// The length of what ends with a break.
const INDEFINITE: u8 = 31;
const BREAK: u8 = 0xff;
/// The tag of seconds since 1970.
const EPOCH: u64 = 1;

/// Writes an answer.
pub(super) fn encode(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(first(SIMPLE, 22)),
        Value::Truth(truth) => out.push(first(SIMPLE, if *truth { 21 } else { 20 })),
        Value::Whole(whole) => match u64::try_from(*whole) {
            Ok(number) => write_head(UNSIGNED, number, out),
            Err(_) => write_head(NEGATIVE, (-1 - whole).unsigned_abs(), out),
        },
        Value::Number(number) => {
            out.push(first(SIMPLE, 27));
            out.extend(number.to_be_bytes());
        }
        Value::Text(text) => write_text(text, out),
        Value::Time(ms) => {
            write_head(TAG, EPOCH, out);
            write(&Value::Number(*ms as f64 / 1000.0), out);
        }
        Value::List(values) => {
            write_head(LIST, values.len() as u64, out);
            for value in values {
                write(value, out);
            }
        }
        Value::Record(fields) => {
            write_head(MAP, fields.len() as u64, out);
            for (name, value) in fields {
                write_text(name, out);
                write(value, out);
            }
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    write_head(TEXT, text.len() as u64, out);
    out.extend(text.as_bytes());
}

/// The byte that everything begins with.
const fn first(major: u8, bits: u8) -> u8 {
    major << 5 | bits
}

/// A major type with its argument, in as few bytes as it takes.
fn write_head(major: u8, argument: u64, out: &mut Vec<u8>) {
    if argument < 24 {
        out.push(first(major, argument as u8));
    } else if let Ok(byte) = u8::try_from(argument) {
        out.extend([first(major, 24), byte]);
    } else if let Ok(short) = u16::try_from(argument) {
        out.push(first(major, 25));
        out.extend(short.to_be_bytes());
    } else if let Ok(long) = u32::try_from(argument) {
        out.push(first(major, 26));
        out.extend(long.to_be_bytes());
    } else {
        out.push(first(major, 27));
        out.extend(argument.to_be_bytes());
    }
}

/// Reads a body; an empty one is an empty structure.
pub(super) fn decode(body: &[u8]) -> Result<Value, String> {
    if body.is_empty() {
        return Ok(Value::Null);
    }
    let mut reader = Reader { rest: body };
    match reader.value(MAX_DEPTH) {
        Some(value) if reader.rest.is_empty() => Ok(value),
        _ => Err("The body is not CBOR as the protocol has it.".to_owned()),
    }
}

/// What is left of a body. Lengths that it states are never trusted: nothing is set aside for them.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N as u64)?.try_into().ok()
    }

    /// A major type and the five bits beside it.
    fn first(&mut self) -> Option<(u8, u8)> {
        let [byte] = self.array()?;
        Some((byte >> 5, byte & 31))
    }

    fn argument(&mut self, bits: u8) -> Option<u64> {
        Some(match bits {
            0..24 => u64::from(bits),
            24 => u64::from(u8::from_be_bytes(self.array()?)),
            25 => u64::from(u16::from_be_bytes(self.array()?)),
            26 => u64::from(u32::from_be_bytes(self.array()?)),
            27 => u64::from_be_bytes(self.array()?),
            _ => return None,
        })
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        let (major, bits) = self.first()?;
        match major {
            UNSIGNED => {
                let number = self.argument(bits)?;
                let whole = i64::try_from(number).map(Value::Whole);
                Some(whole.unwrap_or(Value::Number(number as f64)))
            }
            NEGATIVE => {
                let whole = i64::try_from(self.argument(bits)?).ok()?;
                Some(Value::Whole(-1 - whole))
            }
            TEXT => self.text(bits).map(Value::Text),
            LIST => self.list(bits, depth),
            MAP => self.map(bits, depth),
            TAG => self.tagged(bits, depth),
            SIMPLE => self.simple(bits),
            // Nothing that is answered here takes bytes.
            BYTES.. => None,
        }
    }

    /// Text, in one piece or in several.
    fn text(&mut self, bits: u8) -> Option<String> {
        let mut bytes = Vec::new();
        if bits == INDEFINITE {
            while !self.ends() {
                let (major, bits) = self.first()?;
                let length = (major == TEXT).then(|| self.argument(bits)).flatten()?;
                bytes.extend(self.take(length)?);
            }
        } else {
            let length = self.argument(bits)?;
            bytes.extend(self.take(length)?);
        }
        String::from_utf8(bytes).ok()
    }

    /// Whether a break comes next; takes it.
    fn ends(&mut self) -> bool {
        match self.rest {
            [BREAK, rest @ ..] => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Calls `one` for each of the parts of a list or map.
    fn each(&mut self, bits: u8, mut one: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if bits == INDEFINITE {
            while !self.ends() {
                one(self)?;
            }
        } else {
            for _ in 0..self.argument(bits)? {
                one(self)?;
            }
        }
        Some(())
    }

    fn list(&mut self, bits: u8, depth: usize) -> Option<Value> {
        let mut values = Vec::new();
        self.each(bits, |reader| {
            values.push(reader.value(depth)?);
            Some(())
        })?;
        Some(Value::List(values))
    }

    fn map(&mut self, bits: u8, depth: usize) -> Option<Value> {
        let mut fields = Vec::new();
        self.each(bits, |reader| {
            let Value::Text(name) = reader.value(1)? else { return None };
            fields.push((name.into(), reader.value(depth)?));
            Some(())
        })?;
        Some(Value::Record(fields))
    }

    /// Seconds since 1970; any other tag says nothing about a value.
    fn tagged(&mut self, bits: u8, depth: usize) -> Option<Value> {
        let tag = self.argument(bits)?;
        let value = self.value(depth)?;
        let seconds = match value {
            value if tag != EPOCH => return Some(value),
            Value::Whole(seconds) => seconds as f64,
            Value::Number(seconds) if seconds.is_finite() => seconds,
            _ => return None,
        };
        Some(Value::Time((seconds * 1000.0) as u64))
    }

    fn simple(&mut self, bits: u8) -> Option<Value> {
        Some(match bits {
            20 => Value::Truth(false),
            21 => Value::Truth(true),
            22 | 23 => Value::Null,
            25 => Value::Number(of_half(u16::from_be_bytes(self.array()?))),
            26 => Value::Number(f64::from(f32::from_be_bytes(self.array()?))),
            27 => Value::Number(f64::from_be_bytes(self.array()?)),
            _ => return None,
        })
    }
}

/// A number of half precision.
fn of_half(half: u16) -> f64 {
    let (exponent, mantissa) = (i32::from(half >> 10 & 31), f64::from(half & 1023));
    let size = match exponent {
        0 => mantissa * (-24_f64).exp2(),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + mantissa) * f64::from(exponent - 25).exp2(),
    };
    if half >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
        let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16);
        digits.chunks(2).map(|pair| byte(pair).unwrap()).collect()
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
