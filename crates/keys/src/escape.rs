//! What happens to a value that contains the separator.
//!
//! | policy | `a#b` becomes | cost |
//! |---|---|---|
//! | [`Reject`](SeparatorPolicy::Reject) | an error | none |
//! | [`PercentEscape`](SeparatorPolicy::PercentEscape) | `a%23b` | escaped values sort differently |
//! | [`OrderPreserving`](SeparatorPolicy::OrderPreserving) | `a$23b` | every byte up to the one after the separator is escaped |
//!
//! The order-preserving escape works because of one rule: let `s` be the separator's first byte and `e = s + 1`. Each
//! byte `b <= e` is encoded as `e` and two upper-case hex digits, each byte above `e` stands for itself. Escapes begin
//! with `e`, so they sort below all plain bytes and among each other by number, and everything sorts above the separator.
//! Hence values keep their order, and a value sorts before all longer values that begin with it.

use std::borrow::Cow;

use crate::byteset::ByteSet;
use crate::error::{ValueError, excerpt};

/// The greatest character, reserved: values may not contain it, so it can be the upper bound of a range.
pub(crate) const SENTINEL: char = '\u{10FFFF}';

/// What to do with a text value that contains the separator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SeparatorPolicy {
    /// Reject the value with an error.
    #[default]
    Reject,
    /// Write the separator's characters and `%` as `%XX`. Readable, but escaped values sort differently.
    PercentEscape,
    /// Escape so that the sort order of values and of tuples of values stays the same.
    OrderPreserving,
}

/// Encodes and decodes text values between separators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextCodec {
    separator: String,
    policy: SeparatorPolicy,
}

impl TextCodec {
    /// Encodes text unchanged: there is no separator to escape.
    pub(crate) const fn verbatim() -> Self {
        TextCodec { separator: String::new(), policy: SeparatorPolicy::Reject }
    }

    /// Fails with a reason when the policy cannot work with the separator.
    pub(crate) fn new(separator: &str, policy: SeparatorPolicy) -> Result<Self, String> {
        let hex = separator.bytes().any(|b| b.is_ascii_digit() || (b'A'..=b'F').contains(&b));
        match policy {
            _ if separator.is_empty() => return Err("the separator is empty".to_owned()),
            _ if separator.contains(['{', '}']) => {
                return Err("the separator contains a brace".to_owned());
            }
            _ if separator.contains(SENTINEL) => {
                return Err("the separator contains U+10FFFF, the upper bound of ranges".to_owned());
            }
            SeparatorPolicy::Reject => {}
            _ if hex => {
                return Err(
                    "escapes are written with hex digits, which the separator contains".to_owned()
                );
            }
            SeparatorPolicy::PercentEscape if separator.contains('%') => {
                return Err("percent escapes cannot be used with `%` in the separator".to_owned());
            }
            SeparatorPolicy::OrderPreserving if separator.bytes().next() > Some(b'~') => {
                return Err(
                    "the order-preserving escape needs an ASCII separator up to `~`".to_owned()
                );
            }
            _ => {}
        }
        Ok(TextCodec { separator: separator.to_owned(), policy })
    }

    pub(crate) fn separator(&self) -> &str {
        &self.separator
    }

    pub(crate) fn policy(&self) -> SeparatorPolicy {
        self.policy
    }

    /// The byte that begins each order-preserving escape.
    fn escape_byte(&self) -> u8 {
        self.separator.bytes().next().unwrap_or_default().saturating_add(1)
    }

    fn needs_escape(&self, c: char) -> bool {
        match self.policy {
            SeparatorPolicy::Reject => false,
            SeparatorPolicy::PercentEscape => c == '%' || self.separator.contains(c),
            SeparatorPolicy::OrderPreserving => c <= char::from(self.escape_byte()),
        }
    }

    /// Whether a value contains the separator, or ends with a part of it so that parsing would find the separator too early.
    #[inline]
    pub(crate) fn collides(&self, text: &str) -> bool {
        match self.separator.as_bytes() {
            [] => false,
            [byte] => text.as_bytes().contains(byte),
            bytes => text.contains(&self.separator) || runs_into(text.as_bytes(), bytes),
        }
    }

    /// Appends the encoded value.
    #[inline]
    pub(crate) fn encode(&self, text: &str, out: &mut String) -> Result<(), ValueError> {
        if self.policy == SeparatorPolicy::Reject {
            if self.collides(text) {
                return Err(ValueError::ContainsSeparator {
                    value: excerpt(text),
                    separator: self.separator.clone(),
                });
            }
            out.push_str(text);
            return Ok(());
        }
        self.escape(text, out);
        Ok(())
    }

    fn escape(&self, text: &str, out: &mut String) {
        let mark = match self.policy {
            SeparatorPolicy::OrderPreserving => char::from(self.escape_byte()),
            _ => '%',
        };
        for c in text.chars() {
            if !self.needs_escape(c) {
                out.push(c);
                continue;
            }
            for &byte in c.encode_utf8(&mut [0; 4]).as_bytes() {
                out.push(mark);
                for digit in [byte >> 4, byte & 15] {
                    out.extend(
                        char::from_digit(u32::from(digit), 16).map(|c| c.to_ascii_uppercase()),
                    );
                }
            }
        }
    }

    /// Appends the encoding of a text that need not be a valid value, such as the bound of a range.
    pub(crate) fn write_unchecked(&self, text: &str, out: &mut String) {
        self.escape(text, out);
    }

    /// Appends the encoding of a prefix of a value.
    pub(crate) fn write_beginning(&self, text: &str, out: &mut String) -> Result<(), ValueError> {
        let refused = self.policy == SeparatorPolicy::Reject
            && !self.separator.is_empty()
            && text.contains(&self.separator);
        if refused {
            return Err(ValueError::ContainsSeparator {
                value: excerpt(text),
                separator: self.separator.clone(),
            });
        }
        self.escape(text, out);
        Ok(())
    }

    /// Decodes an encoded value; rejects what [`TextCodec::encode`] would not have produced.
    pub(crate) fn decode<'k>(&self, text: &'k str) -> Result<Cow<'k, str>, ValueError> {
        let mark = match self.policy {
            SeparatorPolicy::Reject if self.collides(text) => {
                return Err(ValueError::ContainsSeparator {
                    value: excerpt(text),
                    separator: self.separator.clone(),
                });
            }
            SeparatorPolicy::Reject => return Ok(Cow::Borrowed(text)),
            SeparatorPolicy::PercentEscape => b'%',
            SeparatorPolicy::OrderPreserving => self.escape_byte(),
        };
        if !text.chars().any(|c| self.needs_escape(c)) {
            return Ok(Cow::Borrowed(text));
        }
        let malformed = || ValueError::malformed(text, "text with its escapes complete");
        let raw = unescape(text.as_bytes(), mark).ok_or_else(malformed)?;
        let raw = String::from_utf8(raw).map_err(|_| malformed())?;
        let mut canonical = String::with_capacity(text.len());
        self.escape(&raw, &mut canonical);
        if canonical != text {
            return Err(ValueError::NotCanonical {
                text: excerpt(text),
                canonical: excerpt(&canonical),
            });
        }
        Ok(Cow::Owned(raw))
    }

    /// The bytes that can occur in encoded values over an alphabet.
    pub(crate) fn written(&self, alphabet: ByteSet) -> ByteSet {
        let escapes = self.escape_sequences(alphabet);
        let escaped = escapes.iter().map(|escape| ByteSet::of(escape.as_bytes()));
        escaped.fold(self.plain(alphabet), ByteSet::union)
    }

    /// The bytes of an alphabet that are not escaped.
    pub(crate) fn plain(&self, alphabet: ByteSet) -> ByteSet {
        let kept_out = match self.policy {
            SeparatorPolicy::Reject => match self.separator.as_bytes() {
                [byte] => ByteSet::EMPTY.with(*byte),
                _ => ByteSet::EMPTY,
            },
            // Bytes of a non-ASCII separator also occur in other characters, which are not escaped.
            SeparatorPolicy::PercentEscape => ByteSet::of(self.separator.as_bytes())
                .with(b'%')
                .intersection(ByteSet::range(0, 127)),
            SeparatorPolicy::OrderPreserving => ByteSet::range(0, self.escape_byte()),
        };
        alphabet.without(kept_out)
    }

    /// The escape sequences of the characters of an alphabet that are escaped.
    pub(crate) fn escape_sequences(&self, alphabet: ByteSet) -> Vec<String> {
        let characters: Vec<char> = match self.policy {
            SeparatorPolicy::Reject => Vec::new(),
            SeparatorPolicy::PercentEscape => self.separator.chars().chain(['%']).collect(),
            SeparatorPolicy::OrderPreserving => (0..=self.escape_byte()).map(char::from).collect(),
        };
        let written = |c: char| {
            let mut bytes = [0; 4];
            let text: &str = c.encode_utf8(&mut bytes);
            let mut out = String::new();
            self.escape(text, &mut out);
            text.bytes().all(|byte| alphabet.contains(byte)).then_some(out)
        };
        characters.into_iter().filter_map(written).collect()
    }

    /// The smallest byte that can follow in a longer encoded value where a shorter one has ended, over an alphabet.
    pub(crate) fn least_continuation(&self, alphabet: ByteSet) -> u8 {
        let least = match self.policy {
            // Hex digits occur only inside an escape, so no continuation begins with one.
            SeparatorPolicy::OrderPreserving => {
                let low = ByteSet::range(0, self.escape_byte());
                if alphabet.intersection(low).is_empty() {
                    alphabet.min()
                } else {
                    Some(self.escape_byte())
                }
            }
            _ => self.written(alphabet).min(),
        };
        least.unwrap_or_default()
    }

    /// Whether encoded values over an alphabet sort as the values do. Percent escapes begin with `%`, so they keep the
    /// order only if no plain byte lies between `%` and an escaped one.
    pub(crate) fn keeps_order(&self, alphabet: ByteSet) -> bool {
        if self.policy != SeparatorPolicy::PercentEscape {
            return true;
        }
        let marks = ByteSet::of(self.separator.as_bytes()).with(b'%');
        let escaped = alphabet.intersection(marks);
        let plain = alphabet.without(marks.intersection(ByteSet::range(0, 127)));
        escaped.iter().all(|byte| plain.iter().all(|other| (byte < other) == (b'%' < other)))
    }

    /// How many times longer the encoding of a value can be than the value, over an alphabet.
    pub(crate) fn growth(&self, alphabet: ByteSet) -> usize {
        let grows = match self.policy {
            SeparatorPolicy::Reject => false,
            SeparatorPolicy::PercentEscape => {
                !alphabet.intersection(ByteSet::of(self.separator.as_bytes()).with(b'%')).is_empty()
            }
            SeparatorPolicy::OrderPreserving => {
                !alphabet.intersection(ByteSet::range(0, self.escape_byte())).is_empty()
            }
        };
        if grows { 3 } else { 1 }
    }
}

/// Whether a text ends with a prefix of the separator such that, followed by the separator, parsing finds the separator
/// too early: `a:` before `::`.
pub(crate) fn runs_into(text: &[u8], separator: &[u8]) -> bool {
    (1..separator.len()).any(|overlap| {
        let (head, tail) = separator.split_at_checked(overlap).unwrap_or_default();
        separator.starts_with(tail) && text.ends_with(head)
    })
}

/// Replaces each escape (a mark and two upper-case hex digits) by the byte it encodes.
fn unescape(text: &[u8], mark: u8) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    };
    let mut raw = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == mark {
            raw.push(digit(bytes.next()?)? << 4 | digit(bytes.next()?)?);
        } else {
            raw.push(byte);
        }
    }
    Some(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codec(separator: &str, policy: SeparatorPolicy) -> TextCodec {
        TextCodec::new(separator, policy).unwrap()
    }

    #[test]
    fn escapes_read_back() {
        for (separator, policy, raw, written) in [
            ("#", SeparatorPolicy::PercentEscape, "a#b%c", "a%23b%25c"),
            ("::", SeparatorPolicy::PercentEscape, "a:b", "a%3Ab"),
            ("→", SeparatorPolicy::PercentEscape, "a→b", "a%E2%86%92b"),
            ("#", SeparatorPolicy::OrderPreserving, "a b#c$d%", "a$20b$23c$24d%"),
            ("#", SeparatorPolicy::OrderPreserving, "plain-é", "plain-é"),
        ] {
            let codec = codec(separator, policy);
            let mut out = String::new();
            codec.encode(raw, &mut out).unwrap();
            assert_eq!(out, written);
            assert_eq!(codec.decode(&out).unwrap(), raw);
        }
    }

    #[test]
    fn only_canonical_escapes_are_read() {
        let percent = codec("#", SeparatorPolicy::PercentEscape);
        for text in ["%41", "%2", "%zz", "%2f", "a#b", "%FF"] {
            assert!(percent.decode(text).is_err(), "{text}");
        }
        let ordered = codec("#", SeparatorPolicy::OrderPreserving);
        for text in ["a b", "$41", "$2", "#"] {
            assert!(ordered.decode(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_value_that_runs_into_a_long_separator_collides() {
        let double = codec("::", SeparatorPolicy::Reject);
        assert!(double.collides("a::b") && double.collides("a:") && !double.collides(":a"));
        let mixed = codec("#-", SeparatorPolicy::Reject);
        assert!(!mixed.collides("a#") && mixed.collides("#-"));
        let periodic = codec("aba", SeparatorPolicy::Reject);
        assert!(periodic.collides("xab") && !periodic.collides("xa"));
    }

    #[test]
    fn separators_that_cannot_work_are_refused() {
        use SeparatorPolicy::*;
        for (separator, policy) in [
            ("", Reject),
            ("{", Reject),
            ("%", PercentEscape),
            ("A", PercentEscape),
            ("é", OrderPreserving),
            ("\u{7f}", OrderPreserving),
            ("7", OrderPreserving),
        ] {
            assert!(TextCodec::new(separator, policy).is_err(), "{separator}");
        }
        assert!(TextCodec::new("AND", Reject).is_ok());
    }
}
