//! Prints numbers: plain decimal without exponent, as DynamoDB returns them.

use std::fmt;

use super::Number;

/// Fits every coefficient.
const BUFFER: usize = 2 * CHUNK_DIGITS + 2;
/// As many zeros as can precede or follow any number's digits.
const ZEROS: [u8; 130] = [b'0'; 130];
/// The largest power of ten in a `u64`.
const CHUNK: u128 = 10_000_000_000_000_000_000;
/// Its number of zeros.
const CHUNK_DIGITS: usize = 19;

impl Number {
    /// Appends the number in DynamoDB's form: plain decimal, `1E125` as 126 digits.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        self.write_pieces(|piece| out.extend_from_slice(piece));
    }

    /// Writes the number in DynamoDB's form, piece by piece.
    pub(crate) fn write_pieces(&self, mut put: impl FnMut(&[u8])) {
        let zeros = |count: usize| ZEROS.get(..count).unwrap_or(&ZEROS);
        let mut buffer = [b'0'; BUFFER];
        let digits = self.write_digits(&mut buffer);
        if self.negative {
            put(b"-");
        }
        let exponent = self.exponent();
        let fraction = exponent.unsigned_abs() as usize;
        if exponent == 0 {
            put(digits);
        } else if exponent > 0 {
            put(digits);
            put(zeros(fraction));
        } else if let Some((integer, rest)) =
            digits.len().checked_sub(fraction).and_then(|point| digits.split_at_checked(point))
            && !integer.is_empty()
        {
            put(integer);
            put(b".");
            put(rest);
        } else {
            put(b"0.");
            put(zeros(fraction.saturating_sub(digits.len())));
            put(digits);
        }
    }

    /// Writes the coefficient's digits to the end of the buffer.
    fn write_digits<'b>(&self, buffer: &'b mut [u8; BUFFER]) -> &'b [u8] {
        let coefficient = self.coefficient();
        let count = if let Ok(small) = u64::try_from(coefficient) {
            write_decimal(small, buffer)
        } else {
            // Positions that the lower digits do not fill stay zero.
            let (head, tail) = buffer.split_at_mut(BUFFER - CHUNK_DIGITS);
            write_decimal((coefficient % CHUNK) as u64, tail);
            CHUNK_DIGITS + write_decimal((coefficient / CHUNK) as u64, head)
        };
        buffer.get(BUFFER - count..).unwrap_or_default()
    }

    /// The number in DynamoDB's form.
    fn plain(&self) -> String {
        let mut text = Vec::with_capacity(BUFFER);
        self.write_to(&mut text);
        // Only ASCII was written.
        String::from_utf8(text).unwrap_or_default()
    }
}

/// Writes a number to the end of the buffer, which must be long enough; returns its length.
pub(crate) fn write_decimal(mut number: u64, buffer: &mut [u8]) -> usize {
    let mut count = 0;
    for slot in buffer.iter_mut().rev() {
        *slot = b'0' + (number % 10) as u8;
        number /= 10;
        count += 1;
        if number == 0 {
            break;
        }
    }
    count
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.plain())
    }
}
