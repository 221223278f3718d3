//! Writing numbers: plain decimal without exponent, as DynamoDB returns them.

use std::fmt;

use super::Number;

/// Room for every coefficient: 38 digits.
const BUFFER: usize = 40;
/// The largest power of ten in a `u64`.
const CHUNK: u128 = 10_000_000_000_000_000_000;

impl Number {
    /// Appends the number in DynamoDB's form: plain decimal, `1E125` as 126 digits.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        let mut buffer = [0; BUFFER];
        let digits = self.write_digits(&mut buffer);
        if self.negative {
            out.push(b'-');
        }
        let exponent = self.exponent();
        if exponent >= 0 {
            out.extend_from_slice(digits);
            out.resize(out.len() + exponent as usize, b'0');
            return;
        }
        let fraction = exponent.unsigned_abs() as usize;
        if let Some((integer, rest)) =
            digits.len().checked_sub(fraction).and_then(|point| digits.split_at_checked(point))
            && !integer.is_empty()
        {
            out.extend_from_slice(integer);
            out.push(b'.');
            out.extend_from_slice(rest);
        } else {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + fraction.saturating_sub(digits.len()), b'0');
            out.extend_from_slice(digits);
        }
    }

    /// Writes the coefficient's digits to the end of the buffer.
    fn write_digits<'b>(&self, buffer: &'b mut [u8; BUFFER]) -> &'b [u8] {
        let coefficient = self.coefficient();
        let mut start = BUFFER;
        let mut put = |mut part: u64, least: usize| {
            let end = start;
            while part > 0 || end - start < least {
                start -= 1;
                if let Some(slot) = buffer.get_mut(start) {
                    *slot = b'0' + (part % 10) as u8;
                }
                part /= 10;
            }
        };
        if let Ok(small) = u64::try_from(coefficient) {
            put(small, 1);
        } else {
            put((coefficient % CHUNK) as u64, 19);
            put((coefficient / CHUNK) as u64, 1);
        }
        buffer.get(start..).unwrap_or_default()
    }

    /// The number in DynamoDB's form.
    fn plain(&self) -> String {
        let mut text = Vec::with_capacity(BUFFER);
        self.write_to(&mut text);
        // Only ASCII was written.
        String::from_utf8(text).unwrap_or_default()
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.plain())
    }
}
