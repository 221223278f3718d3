//! Proofs that keys sort as their fields do.
//!
//! Keys sort by bytes; people want them sorted by the first field, then the second, and so on. The two agree when each
//! field's encoding preserves its order, and when, wherever one value is a prefix of a longer one, the next byte of the
//! longer one is above the byte that follows the shorter one. `a b#1` sorts before `a#1` because a space is below `#`.

use std::cmp::Ordering;

use crate::byteset::ByteSet;
use crate::error::BuildError;
use crate::format::{FieldFormat, FieldType};
use crate::range::End;
use crate::template::{Field, Segment, Template};
use crate::value::Value;

/// Whether a template's keys sort by their fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Keys sort as the tuple of their fields, descending fields in reverse.
    Proven,
    /// Keys do not sort as their fields; there is a counter-example.
    Broken(OrderBreak),
}

/// Two keys that do not sort as their fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderBreak {
    /// The field that breaks the order.
    pub field: String,
    /// Why the order breaks.
    pub reason: String,
    /// How to fix it.
    pub fix: String,
    /// The key whose fields sort first, although its bytes sort second.
    pub lesser: String,
    /// The key whose fields sort second, although its bytes sort first.
    pub greater: String,
}

/// Why one field breaks the order.
pub(crate) struct Disorder {
    pub(crate) reason: String,
    pub(crate) fix: String,
}

impl Template {
    /// Whether keys sort by their fields; if not, two keys as a counter-example.
    ///
    /// ```
    /// use keyloom_keys::{Order, Template};
    ///
    /// assert_eq!(Template::parse("V#{version:u32:4}#{at:datetime}")?.order(), Order::Proven);
    /// let Order::Broken(found) = Template::parse("V#{version:u32:plain}#{at:datetime}")?.order() else {
    ///     panic!("10 sorts before 9");
    /// };
    /// assert!(found.lesser.starts_with("V#9#") && found.greater.starts_with("V#10#"));
    /// # Ok::<(), keyloom_keys::TemplateError>(())
    /// ```
    pub fn order(&self) -> Order {
        for (segment, field) in self.numbered_fields() {
            let Some(Disorder { reason, fix }) = self.field_disorder(segment) else { continue };
            let (lesser, greater) = self.out_of_order(segment).unwrap_or_default();
            return Order::Broken(OrderBreak {
                field: field.name().to_owned(),
                reason,
                fix,
                lesser,
                greater,
            });
        }
        Order::Proven
    }

    /// Why the field at this segment breaks the order, if it does.
    pub(crate) fn field_disorder(&self, segment: usize) -> Option<Disorder> {
        let field = self.segments().get(segment)?.as_field()?;
        let format = field.format();
        if format.is_plain() {
            return Some(Disorder {
                reason: "unpadded numbers do not sort as numbers: 10 comes before 9".to_owned(),
                fix: "drop `plain`, so that the number is zero-padded".to_owned(),
            });
        }
        if let FieldType::Enum(_) = format.kind() {
            return self.choice_disorder(segment, format);
        }
        // Fixed width and the closing `~` leave nothing that could be longer.
        if format.is_fixed_width() || format.is_desc() {
            return None;
        }
        if format.is_guarded() && !self.codec().keeps_order(format.text_alphabet()) {
            return Some(Disorder {
                reason: "percent escapes move values: `#` becomes `%23`, which sorts after `$`"
                    .to_owned(),
                fix: "use the order-preserving policy, or a type without the escaped characters"
                    .to_owned(),
            });
        }
        let after = self.bytes_after(segment)?;
        let least = match format.kind() {
            FieldType::Hex => b'0',
            _ => self.codec().least_continuation(format.text_alphabet()),
        };
        let highest = after.max().unwrap_or_default();
        if highest < least {
            return None;
        }
        Some(Disorder {
            reason: format!(
                "values may contain bytes below {:?}, which follows them, so that a longer value can sort before a \
                 shorter one that it begins with",
                char::from(highest)
            ),
            fix: "use the order-preserving policy, the type `token`, a fixed width, or put the field last".to_owned(),
        })
    }

    /// The bytes that can follow a field; `None` at the end.
    fn bytes_after(&self, segment: usize) -> Option<ByteSet> {
        match self.segments().get(segment + 1)? {
            Segment::Literal(literal) => {
                Some(ByteSet::of(literal.as_bytes().get(..1).unwrap_or_default()))
            }
            Segment::Field(next) => Some(next.format().first_bytes(self.codec())),
        }
    }

    /// Enumerations are few enough to compare each value's keys with the next one's.
    fn choice_disorder(&self, segment: usize, format: &FieldFormat) -> Option<Disorder> {
        let mut choices = format.choices(self.codec());
        if format.is_desc() {
            choices.reverse();
        }
        let least = self.edge(segment + 1, End::Least);
        let greatest = self.edge(segment + 1, End::Greatest);
        choices.windows(2).find_map(|pair| match pair {
            [(value, written), (next, next_written)]
                if format!("{written}{greatest}") >= format!("{next_written}{least}") =>
            {
                Some(Disorder {
                    reason: format!(
                        "keys with `{value}` do not all sort before keys with `{next}`"
                    ),
                    fix: "rename one of the values, or use another separator".to_owned(),
                })
            }
            _ => None,
        })
    }

    /// Two keys that differ in this field and are out of order: the first candidate pair that really is.
    fn out_of_order(&self, segment: usize) -> Option<(String, String)> {
        let format = self.segments().get(segment)?.as_field()?.format();
        for (lesser, greater) in self.suspects(format) {
            for (end, other) in [(End::Greatest, End::Least), (End::Least, End::Greatest)] {
                let first = self.example_with(segment, &lesser, end);
                let second = self.example_with(segment, &greater, other);
                if let (Ok(first), Ok(second)) = (first, second)
                    && first > second
                {
                    return Some((first, second));
                }
            }
        }
        None
    }

    /// Pairs of values, the lesser first, that could be out of order.
    fn suspects(&self, format: &FieldFormat) -> Vec<(String, String)> {
        let mut values: Vec<String> = match format.kind() {
            _ if format.is_plain() => return vec![("9".to_owned(), "10".to_owned())],
            FieldType::Enum(values) => values.to_vec(),
            FieldType::Hex => ["61", "6100", "6130", "6161"].map(str::to_owned).to_vec(),
            _ => {
                let marks = "!$%&-.0Az".chars().chain(self.separator().chars());
                marks.map(|c| format.fold(&c.to_string()).into_owned()).collect()
            }
        };
        values.sort();
        values.dedup();
        if format.is_desc() {
            values.reverse();
        }
        // Disorder among many values shows between two neighbours.
        let reach = if matches!(format.kind(), FieldType::Enum(_)) { 1 } else { values.len() };
        let pairs = values.iter().enumerate().flat_map(|(at, lesser)| {
            values.iter().skip(at + 1).take(reach).map(|greater| (lesser.clone(), greater.clone()))
        });
        // A value and the same with one more character.
        let stem = format.example().to_string();
        let continued = (' '..='~').chain(['\0']).map(|c| (stem.clone(), format!("{stem}{c}")));
        pairs.chain(continued).collect()
    }

    /// A key with this value in the field at this segment and, where possible, with low or high bytes after it.
    fn example_with(&self, segment: usize, value: &str, end: End) -> Result<String, BuildError> {
        let values = self.numbered_fields().map(|(at, field)| match at.cmp(&segment) {
            Ordering::Less => self.example_of(field),
            Ordering::Equal => Value::from(value),
            Ordering::Greater => {
                let extreme = field.format().extreme(end);
                let writable = self.write(field, &extreme, &mut String::new()).is_ok();
                if writable { extreme } else { self.example_of(field) }
            }
        });
        self.build_values(&values.collect::<Vec<_>>())
    }

    /// An example value of a field that the separator policy accepts.
    fn example_of(&self, field: &Field) -> Value<'static> {
        let example = field.format().example();
        if self.write(field, &example, &mut String::new()).is_ok() {
            return example;
        }
        Value::from(if self.separator().contains('b') { "x" } else { "b" })
    }

    /// An example key of this template.
    ///
    /// ```
    /// use keyloom_keys::Template;
    ///
    /// let key = Template::parse("ORDER#{placed_at:datetime}#{order_id}")?.example();
    /// assert_eq!(key.as_deref(), Some("ORDER#2024-01-15T10:30:00Z#a"));
    /// # Ok::<(), keyloom_keys::TemplateError>(())
    /// ```
    pub fn example(&self) -> Option<String> {
        let values: Vec<Value<'_>> = self.fields().map(|field| self.example_of(field)).collect();
        self.build_values(&values).ok()
    }
}
