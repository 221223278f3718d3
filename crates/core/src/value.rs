//! Attribute values and items: DynamoDB's data model.

use std::cmp::Ordering;

use compact_str::CompactString;

use crate::error::{Error, Result, message::value as message};
use crate::limits::MAX_ATTRIBUTE_NAME_BYTES;
use crate::number::Number;

/// An attribute name or a string value. Up to 24 bytes are stored inline.
pub type Str = CompactString;

/// One DynamoDB attribute value.
///
/// Sets keep the order in which they were written; equality ignores it (see [`AttributeValue::eq`]).
#[derive(Clone, Debug)]
pub enum AttributeValue {
    /// A UTF-8 string.
    S(Str),
    /// An exact decimal number of up to 38 digits.
    N(Number),
    /// Binary data.
    B(Vec<u8>),
    /// A boolean.
    Bool(bool),
    /// Null.
    Null,
    /// A set of distinct strings, never empty.
    Ss(Vec<Str>),
    /// A set of distinct numbers, never empty.
    Ns(Vec<Number>),
    /// A set of distinct binary values, never empty.
    Bs(Vec<Vec<u8>>),
    /// A list.
    L(Vec<AttributeValue>),
    /// A map.
    M(Item),
}

/// The type of an attribute value, named as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AttributeType {
    /// String.
    S,
    /// Number.
    N,
    /// Binary.
    B,
    /// Boolean.
    Bool,
    /// Null.
    Null,
    /// String set.
    Ss,
    /// Number set.
    Ns,
    /// Binary set.
    Bs,
    /// List.
    L,
    /// Map.
    M,
}

impl AttributeType {
    /// The wire name: `S`, `BOOL`, `SS`…
    pub fn as_str(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::N => "N",
            Self::B => "B",
            Self::Bool => "BOOL",
            Self::Null => "NULL",
            Self::Ss => "SS",
            Self::Ns => "NS",
            Self::Bs => "BS",
            Self::L => "L",
            Self::M => "M",
        }
    }

    /// The type with this wire name.
    pub fn from_wire(name: &str) -> Option<Self> {
        Some(match name {
            "S" => Self::S,
            "N" => Self::N,
            "B" => Self::B,
            "BOOL" => Self::Bool,
            "NULL" => Self::Null,
            "SS" => Self::Ss,
            "NS" => Self::Ns,
            "BS" => Self::Bs,
            "L" => Self::L,
            "M" => Self::M,
            _ => return None,
        })
    }
}

impl AttributeValue {
    /// A set of strings. DynamoDB's contract leaves the order of a set open; implementations that were compared
    /// with it return strings and binaries by bytes and numbers by value, and clients have come to rely on that.
    pub fn string_set(mut members: Vec<Str>) -> Self {
        members.sort_unstable();
        Self::Ss(members)
    }

    /// A set of numbers, in the order of their values.
    pub fn number_set(mut members: Vec<Number>) -> Self {
        members.sort_unstable();
        Self::Ns(members)
    }

    /// A set of binaries, in the order of their bytes.
    pub fn binary_set(mut members: Vec<Vec<u8>>) -> Self {
        members.sort_unstable();
        Self::Bs(members)
    }

    /// The type of this value.
    pub fn attribute_type(&self) -> AttributeType {
        match self {
            Self::S(_) => AttributeType::S,
            Self::N(_) => AttributeType::N,
            Self::B(_) => AttributeType::B,
            Self::Bool(_) => AttributeType::Bool,
            Self::Null => AttributeType::Null,
            Self::Ss(_) => AttributeType::Ss,
            Self::Ns(_) => AttributeType::Ns,
            Self::Bs(_) => AttributeType::Bs,
            Self::L(_) => AttributeType::L,
            Self::M(_) => AttributeType::M,
        }
    }

    /// The string, if this is one.
    pub fn as_s(&self) -> Option<&str> {
        if let Self::S(text) = self { Some(text) } else { None }
    }

    /// The number, if this is one.
    pub fn as_n(&self) -> Option<&Number> {
        if let Self::N(number) = self { Some(number) } else { None }
    }

    /// The bytes, if this is a binary.
    pub fn as_b(&self) -> Option<&[u8]> {
        if let Self::B(bytes) = self { Some(bytes) } else { None }
    }

    /// The list, if this is one.
    pub fn as_l(&self) -> Option<&[AttributeValue]> {
        if let Self::L(list) = self { Some(list) } else { None }
    }

    /// The map, if this is one.
    pub fn as_m(&self) -> Option<&Item> {
        if let Self::M(map) = self { Some(map) } else { None }
    }
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::S(text.into())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::S(text.into())
    }
}

impl From<Number> for AttributeValue {
    fn from(number: Number) -> Self {
        Self::N(number)
    }
}

impl From<i64> for AttributeValue {
    fn from(number: i64) -> Self {
        Self::N(Number::from(number))
    }
}

impl From<i32> for AttributeValue {
    fn from(number: i32) -> Self {
        Self::N(Number::from(number))
    }
}

impl From<bool> for AttributeValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

/// DynamoDB's `=`: deep equality, with sets compared regardless of order.
impl PartialEq for AttributeValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::S(a), Self::S(b)) => a == b,
            (Self::N(a), Self::N(b)) => a == b,
            (Self::B(a), Self::B(b)) => a == b,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Null, Self::Null) => true,
            (Self::Ss(a), Self::Ss(b)) => same_set(a, b),
            (Self::Ns(a), Self::Ns(b)) => same_set(a, b),
            (Self::Bs(a), Self::Bs(b)) => same_set(a, b),
            (Self::L(a), Self::L(b)) => a == b,
            (Self::M(a), Self::M(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for AttributeValue {}

/// Whether two sets without duplicates have the same members.
fn same_set<T: Ord>(a: &[T], b: &[T]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let sorted = |members: &[T]| -> Vec<usize> {
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by(|&x, &y| members.get(x).cmp(&members.get(y)));
        order
    };
    sorted(a).iter().zip(sorted(b)).all(|(&x, y)| a.get(x) == b.get(y))
}

/// An item, or a map value: attribute names with their values, sorted by name.
///
/// A sorted vector, because items are read far more often than changed and mostly have few attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    attributes: Vec<(Str, AttributeValue)>,
}

impl Item {
    /// An item without attributes.
    pub const fn new() -> Self {
        Self { attributes: Vec::new() }
    }

    /// An empty item with room for `capacity` attributes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { attributes: Vec::with_capacity(capacity) }
    }

    /// Builds an item from attributes that are already sorted by name and distinct.
    pub fn from_sorted(attributes: Vec<(Str, AttributeValue)>) -> Self {
        debug_assert!(attributes.is_sorted_by(|a, b| a.0 < b.0), "sorted and distinct");
        Self { attributes }
    }

    /// The value of the attribute `name`.
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        let index = self.position(name).ok()?;
        self.attributes.get(index).map(|(_, value)| value)
    }

    /// The value of the attribute `name`, to change.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut AttributeValue> {
        let index = self.position(name).ok()?;
        self.attributes.get_mut(index).map(|(_, value)| value)
    }

    /// Whether there is an attribute `name`.
    pub fn contains_key(&self, name: &str) -> bool {
        self.position(name).is_ok()
    }

    /// Sets an attribute and returns the value it had.
    pub fn insert(
        &mut self,
        name: impl Into<Str>,
        value: impl Into<AttributeValue>,
    ) -> Option<AttributeValue> {
        let (name, value) = (name.into(), value.into());
        match self.position(&name) {
            Ok(index) => {
                self.attributes.get_mut(index).map(|slot| std::mem::replace(&mut slot.1, value))
            }
            Err(index) => {
                self.attributes.insert(index, (name, value));
                None
            }
        }
    }

    /// Removes an attribute and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<AttributeValue> {
        let index = self.position(name).ok()?;
        Some(self.attributes.remove(index).1)
    }

    /// The attributes in name order.
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = (&Str, &AttributeValue)> + DoubleEndedIterator {
        self.attributes.iter().map(|(name, value)| (name, value))
    }

    /// The attribute names in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Str> {
        self.attributes.iter().map(|(name, _)| name)
    }

    /// The values in name order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &AttributeValue> {
        self.attributes.iter().map(|(_, value)| value)
    }

    /// The number of attributes.
    pub fn len(&self) -> usize {
        self.attributes.len()
    }

    /// Whether there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.attributes.binary_search_by(|(candidate, _)| compare_names(candidate, name))
    }
}

/// Compares two names byte by byte: they are short and differ early, and `memcmp` loads more than a
/// word at once, which stalls on words that were just written (store forwarding).
fn compare_names(a: &str, b: &str) -> Ordering {
    a.bytes().cmp(b.bytes())
}

/// Checks the name of an attribute, at any level: neither empty nor too long.
pub fn check_attribute_name(name: &str) -> Result<()> {
    match name.len() {
        0 => Err(Error::validation(message::NAME_EMPTY)),
        1..=MAX_ATTRIBUTE_NAME_BYTES => Ok(()),
        _ => Err(Error::validation(message::NAME_TOO_LONG)),
    }
}

impl FromIterator<(Str, AttributeValue)> for Item {
    /// Collects attributes in any order; of duplicates the last wins.
    fn from_iter<I: IntoIterator<Item = (Str, AttributeValue)>>(attributes: I) -> Self {
        let mut attributes: Vec<_> = attributes.into_iter().collect();
        if !attributes.is_sorted_by(|a, b| compare_names(&a.0, &b.0).is_lt()) {
            attributes.sort_by(|a, b| compare_names(&a.0, &b.0));
            // `dedup_by` keeps the first of equals and passes the later one first.
            attributes.dedup_by(|later, earlier| {
                let same = later.0 == earlier.0;
                if same {
                    std::mem::swap(later, earlier);
                }
                same
            });
        }
        Self { attributes }
    }
}

impl IntoIterator for Item {
    type Item = (Str, AttributeValue);
    type IntoIter = std::vec::IntoIter<(Str, AttributeValue)>;

    fn into_iter(self) -> Self::IntoIter {
        self.attributes.into_iter()
    }
}

impl<'a> IntoIterator for &'a Item {
    type Item = &'a (Str, AttributeValue);
    type IntoIter = std::slice::Iter<'a, (Str, AttributeValue)>;

    fn into_iter(self) -> Self::IntoIter {
        self.attributes.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_duplicate_attributes_wins() {
        let item: Item = [("b", "1"), ("a", "2"), ("b", "3")]
            .map(|(n, v)| (n.into(), v.into()))
            .into_iter()
            .collect();
        assert_eq!(
            item.iter().map(|(n, v)| (n.as_str(), v.as_s().unwrap())).collect::<Vec<_>>(),
            [("a", "2"), ("b", "3")]
        );
    }

    #[test]
    fn set_equality_ignores_order() {
        let set =
            |members: &[&str]| AttributeValue::Ss(members.iter().map(|&m| m.into()).collect());
        assert_eq!(set(&["a", "b"]), set(&["b", "a"]));
        assert_ne!(set(&["a", "b"]), set(&["a", "c"]));
    }
}
