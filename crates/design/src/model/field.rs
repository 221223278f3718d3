//! Fields of entities.

use keyloom_keys::{Case, FieldFormat, FieldType, Precision, Timestamp};

use crate::source::Span;

/// A field of an entity.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name, also the attribute it is stored in.
    pub name: String,
    /// Its name in the design before, if that was another one.
    pub was: Option<String>,
    /// Where it is declared.
    pub span: Span,
    /// What it holds.
    pub kind: FieldKind,
    /// May be absent.
    pub optional: bool,
    /// Kept only inside keys, not as an attribute of its own.
    pub key_only: bool,
    /// Never changes after the item was written.
    pub immutable: bool,
    /// Grows with every new item.
    pub sequential: bool,
    /// How many different values there are.
    pub distinct: Option<f64>,
    /// The share of items that the most frequent value has.
    pub top_share: Option<f64>,
    /// The share of items that have the field at all.
    pub present: Option<f64>,
    /// The greatest length of a text in bytes.
    pub max_bytes: Option<u64>,
    /// The average size in bytes.
    pub size: Option<f64>,
    /// No item has an earlier time.
    pub since: Option<Timestamp>,
    /// No item has a later time.
    pub until: Option<Timestamp>,
    /// The greatest number of elements of a list or set.
    pub max_items: Option<u64>,
    /// The average size of one element in bytes.
    pub item_size: Option<f64>,
}

/// What an element of a list takes, where nothing is declared.
const ELEMENT_BYTES: f64 = 100.0;

/// What a field holds.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldKind {
    /// A scalar that keys know how to write.
    Scalar(FieldFormat),
    /// A time as the application happens to write it: fractions and offsets vary.
    LooseTime,
    /// A shard number.
    Shard(Shards),
    /// A number of any size, stored as N.
    Number,
    /// Bytes, stored as B.
    Binary,
    /// A list.
    List,
    /// A map.
    Map,
    /// A set of texts.
    TextSet,
    /// A set of numbers.
    NumberSet,
}

/// How a collection is spread over partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shards {
    /// How many shards there are.
    pub count: u32,
    /// The fields the shard is calculated from; random if empty.
    pub by: Vec<String>,
}

impl Field {
    /// How the field is written in a key, unless it cannot be.
    pub fn format(&self) -> Option<FieldFormat> {
        match &self.kind {
            FieldKind::Scalar(format) => Some(format.clone()),
            FieldKind::LooseTime => Some(FieldFormat::string()),
            FieldKind::Shard(_) => FieldFormat::parse("u32:plain").ok(),
            _ => None,
        }
    }

    /// Whether a key that writes it in this format tells its value: a day does not tell the moment, nor a folded text its
    /// case.
    pub fn is_told_by(&self, written: &FieldFormat) -> bool {
        let Some(own) = self.format() else { return true };
        let precise = match (self.is_loose_time(), written.precision()) {
            (true, here) => here.is_none(),
            (false, here) => here >= own.precision(),
        };
        precise && own.case() == written.case()
    }

    /// Whether items have an attribute of its name: not what is kept in keys only, and no shard.
    pub fn is_stored(&self) -> bool {
        !self.key_only && !matches!(self.kind, FieldKind::Shard(_))
    }

    /// The only values it may have, if they are listed.
    pub fn values(&self) -> Option<Vec<String>> {
        match &self.kind {
            FieldKind::Scalar(format) => match format.kind() {
                FieldType::Enum(values) => Some(values.to_vec()),
                FieldType::Bool => Some(vec!["false".to_owned(), "true".to_owned()]),
                _ => None,
            },
            FieldKind::Shard(shards) => Some((0..shards.count).map(|n| n.to_string()).collect()),
            _ => None,
        }
    }

    /// How many different values there are: as declared, or as many as are listed.
    pub fn cardinality(&self) -> Option<f64> {
        self.distinct.or_else(|| self.values().map(|values| values.len() as f64))
    }

    /// Whether it is a point in time or a period.
    pub fn is_time(&self) -> bool {
        match &self.kind {
            FieldKind::Scalar(format) => format.precision().is_some(),
            FieldKind::LooseTime => true,
            _ => false,
        }
    }

    /// The first and the last millisecond that its values may have, as far as they are bounded.
    pub(crate) fn period(&self) -> (Option<i64>, Option<i64>) {
        (
            self.since.map(Timestamp::millis),
            self.until.map(|until| until.last_millisecond().millis()),
        )
    }

    /// Whether it is a time whose text does not sort by time.
    pub fn is_loose_time(&self) -> bool {
        self.kind == FieldKind::LooseTime
    }

    /// The greatest size in bytes, as far as it is declared.
    pub fn greatest_bytes(&self) -> Option<f64> {
        let elements = || Some(self.max_items? as f64 * self.item_size.unwrap_or(ELEMENT_BYTES));
        self.max_bytes.map(|bytes| bytes as f64).or_else(elements)
    }

    /// Whether it is a text, whatever its case and length.
    pub fn is_text(&self) -> bool {
        matches!(&self.kind, FieldKind::Scalar(format) if format.is_text())
    }

    /// Whether two items never share a value by the way it is made.
    pub fn is_identifier(&self) -> bool {
        matches!(&self.kind, FieldKind::Scalar(format)
            if matches!(format.kind(), FieldType::Uuid | FieldType::Ulid))
    }

    /// Whether new items get ever greater values: times, ULIDs, counters.
    pub fn is_increasing(&self) -> bool {
        let ulid = matches!(&self.kind, FieldKind::Scalar(format)
            if matches!(format.kind(), FieldType::Ulid));
        self.sequential || ulid || self.is_time()
    }

    /// Whether `begins_with` means something: the field is stored and written in keys as the same text.
    pub fn has_beginnings(&self) -> bool {
        match &self.kind {
            FieldKind::LooseTime => true,
            FieldKind::Scalar(format) => {
                let text = format.is_text()
                    || matches!(
                        format.kind(),
                        FieldType::Year
                            | FieldType::Month
                            | FieldType::Date
                            | FieldType::DateTime
                            | FieldType::DateTimeMs
                            | FieldType::Uuid
                            | FieldType::Ulid
                            | FieldType::Hex
                    );
                text && !format.is_desc()
            }
            _ => false,
        }
    }

    /// Whether `contains` means something: texts, lists and sets.
    pub fn has_parts(&self) -> bool {
        match &self.kind {
            FieldKind::Scalar(format) => format.is_text(),
            FieldKind::List | FieldKind::TextSet | FieldKind::NumberSet | FieldKind::LooseTime => {
                true
            }
            _ => false,
        }
    }

    /// What kind of values it is compared by: two fields of one name can be compared with one value only if
    /// these agree.
    pub fn comparison_class(&self) -> (&'static str, Option<Precision>) {
        let class = match &self.kind {
            FieldKind::Scalar(format) => match format.kind() {
                FieldType::String | FieldType::Token | FieldType::Fixed | FieldType::Enum(_) => {
                    match format.case() {
                        Case::AsIs => "text",
                        Case::Lower => "lower-case text",
                        Case::Upper => "upper-case text",
                    }
                }
                FieldType::Uuid => "uuid",
                FieldType::Ulid => "ulid",
                FieldType::Hex => "hex",
                FieldType::Bool => "bool",
                FieldType::EpochMs => "epoch_ms",
                _ => match format.precision() {
                    Some(precision) => return ("time", Some(precision)),
                    None => "number",
                },
            },
            FieldKind::Number => "number",
            FieldKind::LooseTime => "datetime:loose",
            FieldKind::Shard(_) => "shard",
            FieldKind::Binary => "binary",
            FieldKind::List => "list",
            FieldKind::Map => "map",
            FieldKind::TextSet => "string_set",
            FieldKind::NumberSet => "number_set",
        };
        (class, None)
    }

    /// Whether values have an order that DynamoDB compares by: not booleans, documents and sets.
    pub fn is_ordered(&self) -> bool {
        let is_bool =
            matches!(&self.kind, FieldKind::Scalar(format) if *format.kind() == FieldType::Bool);
        !is_bool && self.is_scalar()
    }

    /// Whether it is one value, not a document or a set.
    pub fn is_scalar(&self) -> bool {
        !matches!(
            self.kind,
            FieldKind::List | FieldKind::Map | FieldKind::TextSet | FieldKind::NumberSet
        )
    }

    /// The type as design files write it.
    pub fn type_name(&self) -> String {
        match &self.kind {
            FieldKind::Scalar(format) => format.to_string(),
            FieldKind::LooseTime => "datetime:loose".to_owned(),
            FieldKind::Shard(shards) => format!("shard of {}", shards.count),
            FieldKind::Number => "number".to_owned(),
            FieldKind::Binary => "binary".to_owned(),
            FieldKind::List => "list".to_owned(),
            FieldKind::Map => "map".to_owned(),
            FieldKind::TextSet => "string_set".to_owned(),
            FieldKind::NumberSet => "number_set".to_owned(),
        }
    }
}
