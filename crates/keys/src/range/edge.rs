//! Bounds of the rest of a key: the smallest and largest text that the remaining segments can encode.

use crate::escape::SENTINEL;
use crate::format::FieldType;
use crate::template::{Field, Segment, Template};

/// Which bound of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Least,
    Greatest,
}

impl Template {
    /// The least and the greatest text of what keys have from this segment on. With a bound prefix in front they are the
    /// ends of a range, for programs that build ranges without this library.
    ///
    /// ```
    /// use keyloom_keys::Template;
    ///
    /// let order = Template::parse("ORDER#{day:date}#{id:token}")?;
    /// assert_eq!(order.edges(2), ("#".to_owned(), "#\u{10FFFF}".to_owned()));
    /// # Ok::<(), keyloom_keys::TemplateError>(())
    /// ```
    pub fn edges(&self, segment: usize) -> (String, String) {
        (self.edge(segment, End::Least), self.edge(segment, End::Greatest))
    }

    /// A lower or upper bound of what keys have from this segment on. It ends at the first field without a smallest or
    /// largest value.
    pub(crate) fn edge(&self, from: usize, end: End) -> String {
        let mut text = String::new();
        for (at, segment) in self.segments().iter().enumerate().skip(from) {
            match segment {
                Segment::Literal(literal) => text.push_str(literal),
                Segment::Field(field) if matches!(field.format().kind(), FieldType::Enum(_)) => {
                    let choices = field.format().choices(self.codec());
                    let rest = self.edge(at + 1, end);
                    let ends = choices.into_iter().map(|(_, written)| written + &rest);
                    let chosen = if end == End::Least { ends.min() } else { ends.max() };
                    text.push_str(&chosen.unwrap_or_default());
                    return text;
                }
                Segment::Field(field) => {
                    if !self.push_edge(field, end, &mut text) {
                        return text;
                    }
                }
            }
        }
        text
    }

    /// Appends the bound of a field; returns false if nothing can be said about what follows it.
    fn push_edge(&self, field: &Field, end: End, text: &mut String) -> bool {
        let format = field.format();
        let (least, greatest) = (end == End::Least, end == End::Greatest);
        match (format.kind(), format.ordinals()) {
            (FieldType::I64, _) if format.is_plain() => {
                text.push(if least { '-' } else { ':' });
                false
            }
            (_, Some(_)) if format.is_plain() => {
                // `:` follows `9`.
                text.push(if least { '0' } else { ':' });
                false
            }
            (_, Some((min, max))) => {
                let ordinal = if greatest == format.is_desc() { min } else { max };
                self.write(field, &format.value_at(ordinal), text).is_ok()
            }
            (FieldType::Hex, None) => match format.width() {
                Some(bytes) => {
                    text.push_str(&if least { "00" } else { "ff" }.repeat(bytes));
                    true
                }
                None if format.is_desc() => closed_hex(end, text),
                None => {
                    // `g` follows `f`.
                    text.push(if least { '0' } else { 'g' });
                    false
                }
            },
            (FieldType::Fixed, None) if format.is_desc() => {
                text.push(if least { '0' } else { 'g' });
                false
            }
            (_, None) if format.is_desc() => closed_hex(end, text),
            (_, None) => {
                if greatest {
                    text.push(SENTINEL);
                }
                false
            }
        }
    }
}

/// The bounds of complemented hex terminated by `~`: the shortest value made of zero bytes is the largest.
fn closed_hex(end: End, text: &mut String) -> bool {
    text.push_str(if end == End::Least { "0" } else { "ff~" });
    end == End::Greatest
}
