//! Decimal digits in fixed places, and their complements.

/// The longest encoding of a scalar field: a UUID has 36 bytes, a decimal 40.
pub(super) const MAX_SCALAR: usize = 48;

/// A small buffer on the stack in which a scalar is encoded.
pub(super) struct Scratch {
    bytes: [u8; MAX_SCALAR],
    len: usize,
}

impl Scratch {
    pub(super) const fn new() -> Self {
        Scratch { bytes: [0; MAX_SCALAR], len: 0 }
    }

    pub(super) fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.len) {
            *slot = byte;
            self.len += 1;
        }
    }

    /// Appends the last `width` digits of a number, zero-padded.
    pub(super) fn digits(&mut self, mut number: u64, width: usize) {
        let end = self.len + width;
        if let Some(slots) = self.bytes.get_mut(self.len..end) {
            for slot in slots.iter_mut().rev() {
                *slot = b'0' + (number % 10) as u8;
                number /= 10;
            }
            self.len = end;
        }
    }

    /// As [`Scratch::digits`], for numbers beyond 64 bits.
    pub(super) fn wide_digits(&mut self, mut number: u128, width: usize) {
        let end = self.len + width;
        if let Some(slots) = self.bytes.get_mut(self.len..end) {
            for slot in slots.iter_mut().rev() {
                *slot = b'0' + (number % 10) as u8;
                number /= 10;
            }
            self.len = end;
        }
    }

    /// Replaces each digit by its nine's complement, which reverses the sort order.
    pub(super) fn complement(&mut self) {
        for slot in self.bytes.iter_mut().take(self.len) {
            *slot = complement(*slot);
        }
    }

    pub(super) fn as_str(&self) -> &str {
        self.bytes
            .get(..self.len)
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }
}

/// The nine's complement of a digit; other bytes are unchanged.
pub(super) const fn complement(byte: u8) -> u8 {
    if byte.is_ascii_digit() { b'0' + b'9' - byte } else { byte }
}

/// Parses digits, or complements of digits; `None` for any other byte and beyond 39 digits.
pub(super) fn read(text: &[u8], complemented: bool) -> Option<u128> {
    if text.is_empty() || text.len() > 39 {
        return None;
    }
    // Up to 19 digits fit 64 bits, which is the common case and much faster.
    if text.len() <= 19 {
        let mut number: u64 = 0;
        for &byte in text {
            number = number * 10 + u64::from(value(byte, complemented)?);
        }
        return Some(u128::from(number));
    }
    let mut number: u128 = 0;
    for &byte in text {
        number = number.checked_mul(10)?.checked_add(u128::from(value(byte, complemented)?))?;
    }
    Some(number)
}

fn value(byte: u8, complemented: bool) -> Option<u8> {
    match byte {
        b'0'..=b'9' if complemented => Some(b'9' - byte),
        b'0'..=b'9' => Some(byte - b'0'),
        _ => None,
    }
}
