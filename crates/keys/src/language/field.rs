//! The texts that a field can be written as, as part of a [`Language`].

use super::interval::{self, Width};
use super::{Guard, Language, State, calendar};
use crate::byteset::ByteSet;
use crate::escape::{SeparatorPolicy, TextCodec};
use crate::format::{FieldFormat, FieldType};
use crate::id::{Ulid, Uuid, hex_digit, is_hyphen};
use crate::template::Template;

const ULID_DIGITS: &[u8] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

impl Language {
    /// Appends every text that a field of this format is written as in a template.
    pub fn field_of(&mut self, template: &Template, format: &FieldFormat) {
        self.field(format, template.codec());
    }

    /// Appends every text that a field of this format is written as by [`FieldFormat::encode`]: nothing keeps a
    /// separator out of it.
    pub fn unguarded_field(&mut self, format: &FieldFormat) {
        self.field(format, &TextCodec::verbatim());
    }

    pub(crate) fn field(&mut self, format: &FieldFormat, codec: &TextCodec) {
        let (width, desc) = (format.width(), format.is_desc());
        match format.kind() {
            FieldType::Enum(_) => {
                let written: Vec<String> =
                    format.choices(codec).into_iter().map(|(_, written)| written).collect();
                self.choice(&written);
            }
            FieldType::String | FieldType::Token if desc => {
                self.complemented_text(format.text_alphabet());
            }
            FieldType::String | FieldType::Token => self.plain_text(format.text_alphabet(), codec),
            FieldType::Fixed if desc => self.hex(complement(format.text_alphabet()), width),
            FieldType::Fixed => {
                self.classes(&vec![format.text_alphabet(); width.unwrap_or_default()]);
            }
            FieldType::Hex if desc && width.is_none() => {
                self.hex(ByteSet::ALL, None);
                self.literal(b"~");
            }
            FieldType::Hex => self.hex(ByteSet::ALL, width),
            FieldType::Bool => self.classes(&[ByteSet::of(b"01")]),
            FieldType::Uuid => {
                let hex = ByteSet::of(b"0123456789abcdef");
                let place = |at| if is_hyphen(at) { ByteSet::of(b"-") } else { hex };
                self.classes(&(0..Uuid::TEXT_LEN).map(place).collect::<Vec<_>>());
            }
            FieldType::Ulid => {
                self.classes(&[ByteSet::range(b'0', b'7')]);
                self.classes(&[ByteSet::of(ULID_DIGITS); Ulid::TEXT_LEN - 1]);
            }
            FieldType::U8
            | FieldType::U16
            | FieldType::U32
            | FieldType::U64
            | FieldType::I64
            | FieldType::EpochMs
                if format.is_plain() =>
            {
                self.unpadded(format);
            }
            FieldType::U8
            | FieldType::U16
            | FieldType::U32
            | FieldType::U64
            | FieldType::I64
            | FieldType::EpochMs
            | FieldType::Decimal { .. } => self.padded(format),
            FieldType::Year
            | FieldType::Month
            | FieldType::Date
            | FieldType::Hour
            | FieldType::DateTime
            | FieldType::DateTimeMs => {
                if let Some(precision) = format.precision() {
                    calendar::append(self, precision, desc, format.is_compact());
                }
            }
        }
    }

    /// Text as the separator policy writes it.
    fn plain_text(&mut self, alphabet: ByteSet, codec: &TextCodec) {
        let plain = codec.plain(alphabet);
        let separator = codec.separator();
        if codec.policy() == SeparatorPolicy::Reject {
            let guard = Guard { avoid: separator.as_bytes(), clear_end: true };
            return self.run(plain, &[], guard);
        }
        // Escapes keep the separator's ASCII characters out; its other characters are avoided as a whole.
        let mut wide = separator.char_indices().filter(|(_, c)| !c.is_ascii());
        let avoid = wide.next().and_then(|(at, c)| separator.get(at..at + c.len_utf8()));
        let guard = Guard { avoid: avoid.unwrap_or_default().as_bytes(), clear_end: false };
        self.run(plain, &codec.escape_sequences(alphabet), guard);
    }

    /// Text in descending order: complemented bytes in hex, closed by `~`.
    fn complemented_text(&mut self, alphabet: ByteSet) {
        let from = std::mem::take(&mut self.ends);
        let more = self.state();
        let before: Vec<State> = from.into_iter().chain([more]).collect();
        let byte = |language: &mut Self, from: &[State], bytes: ByteSet, to: State| {
            language.hex_byte(from, complement(bytes), to);
        };
        byte(self, &before, alphabet.intersection(ByteSet::ASCII), more);
        if !alphabet.without(ByteSet::ASCII).is_empty() {
            self.wide_characters(&before, more, byte);
        }
        self.ends = vec![more];
        self.literal(b"~");
    }

    /// Bytes of a set in hex: so many, or one and more.
    fn hex(&mut self, bytes: ByteSet, count: Option<usize>) {
        let mut from = std::mem::take(&mut self.ends);
        for _ in 0..count.unwrap_or(1) {
            let next = self.state();
            self.hex_byte(&from, bytes, next);
            from = vec![next];
        }
        if let (None, [last]) = (count, from.as_slice()) {
            self.hex_byte(&[*last], bytes, *last);
        }
        self.ends = from;
    }

    fn hex_byte(&mut self, from: &[State], bytes: ByteSet, to: State) {
        let low_digits = |high: u8| {
            let low = (0..16).filter(|low| bytes.contains(high << 4 | low));
            low.fold(ByteSet::EMPTY, |set, low| set.with(hex_digit(low)))
        };
        // High digits with the same low digits share a state.
        let mut groups: Vec<(ByteSet, ByteSet)> = Vec::new();
        for high in 0..16 {
            let lows = low_digits(high);
            match groups.iter_mut().find(|(_, known)| *known == lows) {
                Some((highs, _)) => *highs = highs.with(hex_digit(high)),
                None => groups.push((ByteSet::EMPTY.with(hex_digit(high)), lows)),
            }
        }
        for (highs, lows) in groups.into_iter().filter(|(_, lows)| !lows.is_empty()) {
            let middle = self.state();
            self.edge_from_each(from, highs, middle);
            self.edge(middle, lows, to);
        }
    }

    /// Numbers with a fixed number of digits. Numbers of one sign are written in one order, so that the texts between
    /// the least and the greatest are exactly theirs.
    fn padded(&mut self, format: &FieldFormat) {
        let (min, max) = format.ordinals().unwrap_or_default();
        let written = |ordinal: i128| format.encode(&format.value_at(ordinal)).unwrap_or_default();
        // A descending zero is written without a sign too, so it belongs to the numbers below it.
        let spans = match (min < 0, format.is_desc()) {
            (false, _) => vec![(min, max)],
            (true, false) => vec![(min, -1), (0, max)],
            (true, true) => vec![(min, 0), (1, max)],
        };
        let from = std::mem::take(&mut self.ends);
        let mut ends = Vec::new();
        for (first, last) in spans {
            let (mut low, mut high) = (written(first), written(last));
            if low > high {
                std::mem::swap(&mut low, &mut high);
            }
            self.ends.clone_from(&from);
            interval::append(self, low.as_bytes(), high.as_bytes(), Width::OfBounds);
            ends.append(&mut self.ends);
        }
        self.ends = ends;
    }

    /// Whole numbers without leading zeros.
    fn unpadded(&mut self, format: &FieldFormat) {
        let (min, max) = format.ordinals().unwrap_or_default();
        let from = self.ends.clone();
        self.literal(b"0");
        let mut ends = self.ends.clone();
        let sides = [(&b""[..], max.unsigned_abs()), (&b"-"[..], min.unsigned_abs())];
        for (sign, greatest) in sides.into_iter().filter(|(_, greatest)| *greatest > 0) {
            let greatest = greatest.to_string();
            self.ends.clone_from(&from);
            self.literal(sign);
            let start = self.ends.clone();
            // Numbers with fewer digits than the greatest.
            for digits in 1..greatest.len() {
                self.classes(&[ByteSet::range(if digits == 1 { b'1' } else { b'0' }, b'9')]);
                ends.extend_from_slice(&self.ends);
            }
            let least = format!("1{}", "0".repeat(greatest.len() - 1));
            self.ends = start;
            interval::append(self, least.as_bytes(), greatest.as_bytes(), Width::OfBounds);
            ends.append(&mut self.ends);
        }
        self.ends = ends;
    }
}

fn complement(bytes: ByteSet) -> ByteSet {
    bytes.iter().fold(ByteSet::EMPTY, |set, byte| set.with(!byte))
}
