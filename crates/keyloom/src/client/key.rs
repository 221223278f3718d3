//! Keys of the untyped client: attribute names, and the values that identify an item.

use keyloom_api::JsonWriter;
use keyloom_core::{AttributeValue, Item, Number};

use crate::error::{Error, Result};

/// A primary key: a partition value, or a pair of partition and sort value.
///
/// ```
/// use keyloom::ItemKey;
///
/// assert_eq!(ItemKey::from(("USER#1", "PROFILE")), ItemKey::pair("USER#1", "PROFILE"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemKey {
    partition: AttributeValue,
    sort: Option<AttributeValue>,
}

impl ItemKey {
    /// A key of partition and sort value.
    pub fn pair(partition: impl Into<AttributeValue>, sort: impl Into<AttributeValue>) -> Self {
        Self { partition: partition.into(), sort: Some(sort.into()) }
    }
}

impl<P: Into<AttributeValue>, S: Into<AttributeValue>> From<(P, S)> for ItemKey {
    fn from((partition, sort): (P, S)) -> Self {
        Self::pair(partition, sort)
    }
}

macro_rules! keys_of_one_value {
    ($($kind:ty),*) => {
        $(impl From<$kind> for ItemKey {
            fn from(partition: $kind) -> Self {
                Self { partition: partition.into(), sort: None }
            }
        })*
    };
}
keys_of_one_value!(&str, String, i32, i64, Number, AttributeValue);

/// The name of a key attribute and the letter of its type.
#[derive(Clone, Debug)]
pub(super) struct KeyName {
    pub(super) name: String,
    pub(super) kind: &'static str,
}

impl KeyName {
    fn new(text: &str) -> Self {
        let (name, kind) = match text.rsplit_once(':') {
            Some((name, "S")) => (name, "S"),
            Some((name, "N")) => (name, "N"),
            Some((name, "B")) => (name, "B"),
            _ => (text, "S"),
        };
        Self { name: name.to_owned(), kind }
    }
}

/// The names of the keys of a table or an index.
#[derive(Clone, Debug)]
pub(super) struct KeyNames {
    pub(super) partition: Vec<KeyName>,
    pub(super) sort: Vec<KeyName>,
}

impl KeyNames {
    pub(super) fn new<const P: usize, const S: usize>(
        partition: [&str; P],
        sort: [&str; S],
    ) -> Self {
        Self {
            partition: partition.into_iter().map(KeyName::new).collect(),
            sort: sort.into_iter().map(KeyName::new).collect(),
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &KeyName> {
        self.partition.iter().chain(&self.sort)
    }

    pub(super) fn write_schema(&self, body: &mut JsonWriter) {
        let partition = self.partition.iter().map(|key| (key, "HASH"));
        let sort = self.sort.iter().map(|key| (key, "RANGE"));
        body.objects("KeySchema", partition.chain(sort), |object, (key, kind)| {
            object.string("AttributeName", &key.name);
            object.string("KeyType", kind);
        });
    }

    /// The first partition attribute, which every item has.
    pub(super) fn leading(&self) -> &str {
        self.partition.first().map_or("", |key| key.name.as_str())
    }

    /// The key as an item.
    pub(super) fn item(&self, key: ItemKey, table: &str) -> Result<Item> {
        let mut item = Item::new();
        item.insert(self.leading(), key.partition);
        match (self.sort.first(), key.sort) {
            (Some(name), Some(value)) => drop(item.insert(name.name.as_str(), value)),
            (None, None) => {}
            (Some(KeyName { name, .. }), None) => {
                return Err(Error::Config(format!(
                    "the key of table `{table}` needs a value for `{name}`: give a pair"
                )));
            }
            (None, Some(_)) => {
                return Err(Error::Config(format!("table `{table}` has no sort key")));
            }
        }
        Ok(item)
    }

    /// The key of an item that has all of its attributes.
    pub(super) fn of_item(&self, item: &Item, table: &str) -> Result<Item> {
        let part = |key: &KeyName| {
            let value = item.get(&key.name).ok_or_else(|| {
                let name = &key.name;
                Error::Config(format!("an item for table `{table}` has no `{name}`, its key"))
            })?;
            Ok((key.name.as_str().into(), value.clone()))
        };
        self.all().map(part).collect()
    }
}
