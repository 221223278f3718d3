//! Set types that are stored as DynamoDB sets; other collections are stored as lists.

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;

use keyloom_core::AttributeValue;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::ItemError;

/// Texts, numbers or [`Binary`](crate::Binary) values, stored as one set, so that members can be added and taken out
/// without reading. An empty set is an absent attribute, as DynamoDB knows no empty ones.
///
/// ```
/// let tags = keyloom::Set::from(["red", "blue", "red"]);
/// assert_eq!(tags.len(), 2);
/// assert!(keyloom::to_value(&tags)?.is_some_and(|value| matches!(value, keyloom::AttributeValue::Ss(_))));
/// # Ok::<(), keyloom::ItemError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Set<T>(pub BTreeSet<T>);

/// Marks a list as a set for our serializer; other serializers see the list.
pub(super) const SET_MARK: &str = "$keyloom::Set";

impl<T> Default for Set<T> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<T> std::ops::Deref for Set<T> {
    type Target = BTreeSet<T>;

    fn deref(&self) -> &BTreeSet<T> {
        &self.0
    }
}

impl<T> std::ops::DerefMut for Set<T> {
    fn deref_mut(&mut self) -> &mut BTreeSet<T> {
        &mut self.0
    }
}

impl<T: Ord> FromIterator<T> for Set<T> {
    fn from_iter<I: IntoIterator<Item = T>>(members: I) -> Self {
        Self(members.into_iter().collect())
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for Set<T> {
    fn from(members: [T; N]) -> Self {
        members.into_iter().collect()
    }
}

impl<T: Serialize> Serialize for Set<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(SET_MARK, &self.0)
    }
}

impl<'de, T: Deserialize<'de> + Ord> Deserialize<'de> for Set<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As an option, so that an absent attribute is the empty set.
        deserializer.deserialize_option(Members(PhantomData))
    }
}

struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Ord> Visitor<'de> for Members<T> {
    type Value = Set<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a set")
    }

    fn visit_none<E: Error>(self) -> Result<Set<T>, E> {
        Ok(Set::default())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Set<T>, D::Error> {
        BTreeSet::deserialize(deserializer).map(Set)
    }
}

/// The set of what a list holds; none if it is empty.
pub(super) fn of_list(list: Option<AttributeValue>) -> Result<Option<AttributeValue>, ItemError> {
    let Some(AttributeValue::L(list)) = list else { return Ok(list) };
    let set = match list.first() {
        None => return Ok(None),
        Some(AttributeValue::S(_)) => AttributeValue::Ss(members(list, |member| match member {
            AttributeValue::S(text) => Some(text),
            _ => None,
        })?),
        Some(AttributeValue::N(_)) => AttributeValue::Ns(members(list, |member| match member {
            AttributeValue::N(number) => Some(number),
            _ => None,
        })?),
        _ => AttributeValue::Bs(members(list, |member| match member {
            AttributeValue::B(bytes) => Some(bytes),
            _ => None,
        })?),
    };
    Ok(Some(set))
}

fn members<T>(
    list: Vec<AttributeValue>,
    member: impl Fn(AttributeValue) -> Option<T>,
) -> Result<Vec<T>, ItemError> {
    let members: Option<Vec<T>> = list.into_iter().map(member).collect();
    members.ok_or_else(|| {
        ItemError::new("the members of a set are all texts, all numbers or all binary")
    })
}
