//! Native multi-attribute index keys: up to four hash and four range attributes, each with its own type.
//!
//! Since November 2025 a global secondary index can have several attributes as its key, so that nobody has to join them
//! into one string. They bring rules of their own, kept here:
//!
//! - every hash attribute needs an equality;
//! - range attributes are used from left to right without a gap, equalities first; only the last one used may have
//!   another comparison, and nothing follows it;
//! - an item that lacks any of the attributes is not in the index.

use std::error::Error;
use std::fmt;

use crate::format::{FieldFormat, FieldType};
use crate::template::{Field, Template};

/// The most attributes of each kind.
pub const MAX_NATIVE_ATTRIBUTES: usize = 4;

/// The type of a key attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttributeType {
    /// `S`, ordered by UTF-8 bytes.
    String,
    /// `N`, ordered as numbers: no padding needed.
    Number,
    /// `B`, ordered by bytes.
    Binary,
}

impl AttributeType {
    /// DynamoDB's letter.
    pub const fn letter(self) -> &'static str {
        match self {
            AttributeType::String => "S",
            AttributeType::Number => "N",
            AttributeType::Binary => "B",
        }
    }

    /// The type that a template's field has when it stands alone.
    pub fn of(format: &FieldFormat) -> Self {
        match format.kind() {
            FieldType::U8
            | FieldType::U16
            | FieldType::U32
            | FieldType::U64
            | FieldType::I64
            | FieldType::Decimal { .. }
            | FieldType::EpochMs => AttributeType::Number,
            FieldType::Hex => AttributeType::Binary,
            _ => AttributeType::String,
        }
    }
}

/// One attribute of a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attribute {
    /// The attribute's name in the item.
    pub name: String,
    /// Its type.
    pub attribute_type: AttributeType,
}

impl Attribute {
    /// An attribute.
    pub fn new(name: impl Into<String>, attribute_type: AttributeType) -> Self {
        Attribute { name: name.into(), attribute_type }
    }

    fn of(field: &Field) -> Self {
        Attribute::new(field.name(), AttributeType::of(field.format()))
    }
}

/// How a query compares one attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `BETWEEN`, both ends included.
    Between,
    /// `begins_with`, not for numbers.
    BeginsWith,
}

/// Why a native key, or a query on one, is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NativeKeyError {
    /// No hash attribute, or more than four of a kind.
    Count {
        /// `hash` or `range`.
        kind: &'static str,
        /// How many there are.
        count: usize,
    },
    /// An attribute occurs twice.
    Twice(String),
    /// An attribute without a name.
    NoName,
    /// A hash attribute has no equality.
    HashWithoutEquality(String),
    /// A condition on an attribute outside the key.
    Unknown {
        /// The attribute.
        name: String,
        /// The key's attributes.
        known: Vec<String>,
    },
    /// Two conditions on one attribute.
    TwoConditions(String),
    /// A range attribute is used although one to its left is not.
    Gap {
        /// The attribute that is missing.
        missing: String,
        /// The attribute used.
        used: String,
    },
    /// A range attribute follows one with a comparison other than equality.
    AfterRange {
        /// The attribute with the comparison.
        ranged: String,
        /// The attribute after it.
        after: String,
    },
    /// `begins_with` on a number.
    NumberPrefix(String),
}

impl fmt::Display for NativeKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NativeKeyError::Count { kind, count } => {
                let least = usize::from(*kind == "hash");
                write!(
                    f,
                    "{count} {kind} attributes; there have to be {least} to {MAX_NATIVE_ATTRIBUTES}"
                )
            }
            NativeKeyError::Twice(name) => write!(f, "attribute `{name}` is in the key twice"),
            NativeKeyError::NoName => f.write_str("a key attribute has no name"),
            NativeKeyError::HashWithoutEquality(name) => {
                write!(f, "hash attribute `{name}` needs `=`; every hash attribute does")
            }
            NativeKeyError::Unknown { name, known } => {
                write!(f, "`{name}` is not in the key, which has {}", known.join(", "))
            }
            NativeKeyError::TwoConditions(name) => {
                write!(f, "attribute `{name}` has two conditions; one is allowed")
            }
            NativeKeyError::Gap { missing, used } => write!(
                f,
                "range attribute `{used}` is used but `{missing}` to its left is not; use them from left to right"
            ),
            NativeKeyError::AfterRange { ranged, after } => write!(
                f,
                "`{after}` follows `{ranged}`, which has no `=`; only the last range attribute used may have another comparison"
            ),
            NativeKeyError::NumberPrefix(name) => {
                write!(
                    f,
                    "attribute `{name}` is a number, and begins_with is for strings and binaries"
                )
            }
        }
    }
}

impl Error for NativeKeyError {}

/// A multi-attribute index key.
///
/// ```
/// use keyloom_keys::{Attribute, AttributeType::*, Comparison::*, NativeKey, NativeKeyError};
///
/// let key = NativeKey::new(
///     vec![Attribute::new("tournament_id", String), Attribute::new("region", String)],
///     vec![Attribute::new("round", String), Attribute::new("bracket", String), Attribute::new("match_id", Number)],
/// )?;
/// let query = key.query(&[("round", Equal), ("bracket", BeginsWith), ("region", Equal), ("tournament_id", Equal)])?;
/// assert_eq!(
///     query.key_condition(),
///     "#h0 = :h0 AND #h1 = :h1 AND #r0 = :r0 AND begins_with(#r1, :r1)",
/// );
/// let gap = key.query(&[("tournament_id", Equal), ("region", Equal), ("bracket", Equal)]);
/// assert!(matches!(gap, Err(NativeKeyError::Gap { .. })));
/// # Ok::<(), NativeKeyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeKey {
    hash: Vec<Attribute>,
    range: Vec<Attribute>,
}

impl NativeKey {
    /// A key of hash and range attributes in order.
    pub fn new(hash: Vec<Attribute>, range: Vec<Attribute>) -> Result<Self, NativeKeyError> {
        if !(1..=MAX_NATIVE_ATTRIBUTES).contains(&hash.len()) {
            return Err(NativeKeyError::Count { kind: "hash", count: hash.len() });
        }
        if range.len() > MAX_NATIVE_ATTRIBUTES {
            return Err(NativeKeyError::Count { kind: "range", count: range.len() });
        }
        let mut seen: Vec<&str> = Vec::new();
        for attribute in hash.iter().chain(&range) {
            if attribute.name.is_empty() {
                return Err(NativeKeyError::NoName);
            }
            if seen.contains(&attribute.name.as_str()) {
                return Err(NativeKeyError::Twice(attribute.name.clone()));
            }
            seen.push(&attribute.name);
        }
        Ok(NativeKey { hash, range })
    }

    /// The native key that holds the same fields as two joined-string templates, each under its own name and type. The
    /// literal text of the templates is left out, so an index shared by several entities cannot be replaced this way.
    pub fn from_templates(
        partition: &Template,
        sort: Option<&Template>,
    ) -> Result<Self, NativeKeyError> {
        let attributes = |template: &Template| template.fields().map(Attribute::of).collect();
        Self::new(attributes(partition), sort.map(attributes).unwrap_or_default())
    }

    /// The hash attributes in order.
    pub fn hash(&self) -> &[Attribute] {
        &self.hash
    }

    /// The range attributes in order.
    pub fn range(&self) -> &[Attribute] {
        &self.range
    }

    /// Whether an item with these attributes is in the index: it has all of them.
    pub fn holds<'n>(&self, attributes: impl IntoIterator<Item = &'n str> + Clone) -> bool {
        self.hash
            .iter()
            .chain(&self.range)
            .all(|attribute| attributes.clone().into_iter().any(|name| name == attribute.name))
    }

    /// Checks the conditions of a query, given in any order.
    pub fn query(
        &self,
        conditions: &[(&str, Comparison)],
    ) -> Result<NativeQuery<'_>, NativeKeyError> {
        self.check_names(conditions)?;
        let comparison_of = |attribute: &Attribute| {
            conditions.iter().find(|(name, _)| *name == attribute.name).map(|(_, c)| *c)
        };
        for attribute in &self.hash {
            if comparison_of(attribute) != Some(Comparison::Equal) {
                return Err(NativeKeyError::HashWithoutEquality(attribute.name.clone()));
            }
        }
        let mut range: Vec<(&Attribute, Comparison)> = Vec::new();
        let mut missing: Option<&Attribute> = None;
        for attribute in &self.range {
            let Some(comparison) = comparison_of(attribute) else {
                missing = missing.or(Some(attribute));
                continue;
            };
            let used = || attribute.name.clone();
            if let Some(missing) = missing {
                return Err(NativeKeyError::Gap { missing: missing.name.clone(), used: used() });
            }
            if let Some((ranged, _)) =
                range.last().filter(|(_, earlier)| *earlier != Comparison::Equal)
            {
                return Err(NativeKeyError::AfterRange {
                    ranged: ranged.name.clone(),
                    after: used(),
                });
            }
            if comparison == Comparison::BeginsWith
                && attribute.attribute_type == AttributeType::Number
            {
                return Err(NativeKeyError::NumberPrefix(used()));
            }
            range.push((attribute, comparison));
        }
        Ok(NativeQuery { hash: &self.hash, range })
    }

    fn check_names(&self, conditions: &[(&str, Comparison)]) -> Result<(), NativeKeyError> {
        let known = || self.hash.iter().chain(&self.range).map(|attribute| attribute.name.as_str());
        for (at, (name, _)) in conditions.iter().enumerate() {
            if !known().any(|known| known == *name) {
                let known = known().map(str::to_owned).collect();
                return Err(NativeKeyError::Unknown { name: (*name).to_owned(), known });
            }
            if conditions.iter().take(at).any(|(earlier, _)| earlier == name) {
                return Err(NativeKeyError::TwoConditions((*name).to_owned()));
            }
        }
        Ok(())
    }
}

/// A query on a native key that DynamoDB accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeQuery<'k> {
    hash: &'k [Attribute],
    range: Vec<(&'k Attribute, Comparison)>,
}

impl<'k> NativeQuery<'k> {
    /// The range attributes used, in order, and how.
    pub fn range(&self) -> &[(&'k Attribute, Comparison)] {
        &self.range
    }

    /// The key condition, with placeholders `#h0`, `:h0` for hash and `#r0`, `:r0` for range attributes; a `BETWEEN` has
    /// a second value, `:r0_to`.
    pub fn key_condition(&self) -> String {
        let hash = (0..self.hash.len()).map(|at| format!("#h{at} = :h{at}"));
        let range = self.range.iter().enumerate().map(|(at, (_, comparison))| match comparison {
            Comparison::Equal => format!("#r{at} = :r{at}"),
            Comparison::Less => format!("#r{at} < :r{at}"),
            Comparison::LessOrEqual => format!("#r{at} <= :r{at}"),
            Comparison::Greater => format!("#r{at} > :r{at}"),
            Comparison::GreaterOrEqual => format!("#r{at} >= :r{at}"),
            Comparison::Between => format!("#r{at} BETWEEN :r{at} AND :r{at}_to"),
            Comparison::BeginsWith => format!("begins_with(#r{at}, :r{at})"),
        });
        hash.chain(range).collect::<Vec<_>>().join(" AND ")
    }

    /// The placeholders for attribute names.
    pub fn names(&self) -> Vec<(String, &'k str)> {
        let hash = self
            .hash
            .iter()
            .enumerate()
            .map(|(at, attribute)| (format!("#h{at}"), attribute.name.as_str()));
        let range = self
            .range
            .iter()
            .enumerate()
            .map(|(at, (attribute, _))| (format!("#r{at}"), attribute.name.as_str()));
        hash.chain(range).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Comparison::*;

    fn orders() -> NativeKey {
        let text = |name| Attribute::new(name, AttributeType::String);
        NativeKey::new(
            vec![text("customer")],
            vec![text("status"), text("day"), Attribute::new("amount", AttributeType::Number)],
        )
        .unwrap()
    }

    #[test]
    fn the_left_to_right_rule() {
        let key = orders();
        let c = ("customer", Equal);
        assert!(key.query(&[c]).is_ok());
        assert!(key.query(&[c, ("status", Greater)]).is_ok());
        assert!(key.query(&[("amount", Between), ("day", Equal), c, ("status", Equal)]).is_ok());
        for (conditions, expected) in [
            (vec![("status", Equal)], "every hash attribute"),
            (vec![("customer", Greater)], "every hash attribute"),
            (vec![c, ("day", Equal)], "from left to right"),
            (vec![c, ("status", Less), ("day", Equal)], "only the last range attribute"),
            (vec![c, ("status", Equal), ("day", Equal), ("amount", BeginsWith)], "is a number"),
            (vec![c, ("status", Greater), ("status", Less)], "two conditions"),
            (vec![c, ("colour", Equal)], "not in the key"),
        ] {
            let error = key.query(&conditions).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn keys_have_one_to_four_hash_and_up_to_four_range_attributes() {
        let some = |count: usize, letter: char| {
            (0..count)
                .map(|at| Attribute::new(format!("{letter}{at}"), AttributeType::String))
                .collect::<Vec<_>>()
        };
        assert!(NativeKey::new(some(4, 'h'), some(4, 'r')).is_ok());
        assert!(NativeKey::new(some(0, 'h'), some(1, 'r')).is_err());
        assert!(NativeKey::new(some(5, 'h'), vec![]).is_err());
        assert!(NativeKey::new(some(1, 'h'), some(5, 'r')).is_err());
        assert!(NativeKey::new(some(1, 'x'), some(1, 'x')).is_err());
    }

    #[test]
    fn an_item_without_one_attribute_is_not_in_the_index() {
        assert!(orders().holds(["customer", "status", "day", "amount", "other"]));
        assert!(!orders().holds(["customer", "status", "amount"]));
    }

    #[test]
    fn joined_templates_become_attributes() {
        let pk = Template::parse("TENANT#{tenant}").unwrap();
        let sk = Template::parse("SCORE#{score:u32}#{at:datetime}").unwrap();
        let key = NativeKey::from_templates(&pk, Some(&sk)).unwrap();
        let letters: Vec<_> =
            key.range().iter().map(|a| (a.name.as_str(), a.attribute_type.letter())).collect();
        assert_eq!(letters, [("score", "N"), ("at", "S")]);
    }
}
