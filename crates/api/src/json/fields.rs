//! A request body and a cursor over its fields.

use std::cell::RefCell;

use keyloom_core::json::{self, Json, shape};
use keyloom_core::{AttributeValue, Item, Result, Str};

use crate::Operation;
use crate::model;

/// A request body, parsed and checked against the API model.
#[derive(Debug)]
pub struct Body<'a> {
    tree: Json<'a>,
    item: Option<ItemField>,
}

/// The member that is an item, decoded while the body was parsed.
#[derive(Debug)]
struct ItemField {
    name: &'static str,
    /// Moved out by the first caller that reads it.
    item: RefCell<Option<Item>>,
}

impl<'a> Body<'a> {
    /// Parses the body of a request and judges it as a whole by the API model: by the shape of the operation's input,
    /// which is where `SerializationException` arises, and then, for control operations, by its constraints.
    pub fn parse(operation: Operation, text: &'a [u8]) -> Result<Self> {
        let (tree, item) = match operation.item_member() {
            Some(name) => {
                let (tree, item) = json::parse_with_item(text, name)?;
                let item = item.map(|item| ItemField { name, item: RefCell::new(Some(item)) });
                (tree, item)
            }
            None => (json::parse(text)?, None),
        };
        model::check(model::input(operation), &tree)?;
        model::check_constraints(operation, &tree)?;
        Ok(Self { tree, item })
    }

    /// The fields of the body.
    pub fn fields(&self) -> Fields<'_> {
        Fields { object: &self.tree, item: self.item.as_ref() }
    }
}

/// The fields of one JSON object of a [`Body`], so each has its right type. An absent field and an explicit
/// `null` are the same, as on AWS.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    object: &'a Json<'a>,
    item: Option<&'a ItemField>,
}

impl<'a> Fields<'a> {
    /// The fields of an object inside a body.
    pub fn of(object: &'a Json<'a>) -> Self {
        Self { object, item: None }
    }

    fn item_field(&self, name: &str) -> Option<&'a ItemField> {
        self.item.filter(|item| item.name == name)
    }

    /// The field as JSON.
    pub fn raw(&self, name: &str) -> Option<&'a Json<'a>> {
        let Json::Object(object) = self.object else { return None };
        object.get(name).filter(|value| !matches!(value, Json::Null))
    }

    /// All fields as owned JSON.
    pub fn whole(&self) -> serde_json::Value {
        owned(self.object)
    }

    /// The field as owned JSON.
    pub fn kept(&self, name: &str) -> Option<serde_json::Value> {
        self.raw(name).map(owned)
    }

    /// Whether the field is present and not null.
    pub fn has(&self, name: &str) -> bool {
        self.item_field(name).is_some() || self.raw(name).is_some()
    }

    /// The string of this name; none if it is absent.
    pub fn string(&self, name: &str) -> Option<&'a str> {
        self.raw(name).and_then(text)
    }

    /// A string, copied.
    pub fn owned_string(&self, name: &str) -> Option<String> {
        self.string(name).map(str::to_owned)
    }

    /// A whole number. A fraction is cut off, as AWS's deserializer does.
    pub fn integer(&self, name: &str) -> Option<i64> {
        let Json::Number(number) = self.raw(name)? else { return None };
        number.as_whole()
    }

    /// How many of something are wanted, where the model has refused less than one.
    pub fn count(&self, name: &str) -> Option<usize> {
        usize::try_from(self.integer(name)?).ok()
    }

    /// The boolean of this name; none if it is absent.
    pub fn boolean(&self, name: &str) -> Option<bool> {
        shape::boolean(self.raw(name)?).ok()
    }

    /// Seconds since the epoch, possibly with a fraction; or another number that may have one.
    pub fn decimal(&self, name: &str) -> Option<f64> {
        let Json::Number(number) = self.raw(name)? else { return None };
        number.as_f64()
    }

    /// The structure of this name; none if it is absent.
    pub fn structure(&self, name: &str) -> Option<Fields<'a>> {
        self.raw(name).map(Fields::of)
    }

    /// The list of this name; none if it is absent.
    pub fn list(&self, name: &str) -> Option<&'a [Json<'a>]> {
        let Json::Array(elements) = self.raw(name)? else { return None };
        Some(elements)
    }

    /// A list of structures.
    pub fn structures(&self, name: &str) -> Option<Vec<Fields<'a>>> {
        Some(self.list(name)?.iter().map(Fields::of).collect())
    }

    /// A list of strings.
    pub fn strings(&self, name: &str) -> Option<Vec<Str>> {
        Some(self.list(name)?.iter().filter_map(text).map(Str::from).collect())
    }

    /// The entries of a map, in the order of the text.
    pub fn entries(
        &self,
        name: &str,
    ) -> Option<impl ExactSizeIterator<Item = (&'a str, &'a Json<'a>)> + use<'a>> {
        let Json::Object(object) = self.raw(name)? else { return None };
        Some(object.iter())
    }

    /// A map of strings, such as `ExpressionAttributeNames`.
    pub fn string_map(&self, name: &str) -> Option<Vec<(Str, Str)>> {
        let pair = |(key, value)| Some((Str::from(key), Str::from(text(value)?)));
        let entries = self.entries(name)?;
        let mut map = Vec::with_capacity(entries.len());
        map.extend(entries.filter_map(pair));
        Some(map)
    }

    /// A map of attribute values. One that was decoded while the body was parsed is moved out, so ask once.
    pub fn item(&self, name: &str) -> Result<Option<Item>> {
        if let Some(field) = self.item_field(name) {
            return Ok(field.item.take());
        }
        self.raw(name).map(json::item_from).transpose()
    }

    /// One attribute value.
    pub fn attribute(&self, name: &str) -> Result<Option<AttributeValue>> {
        self.raw(name).map(json::value_from).transpose()
    }

    /// A list of attribute values.
    pub fn attributes(&self, name: &str) -> Result<Option<Vec<AttributeValue>>> {
        let Some(elements) = self.list(name) else { return Ok(None) };
        elements.iter().map(json::value_from).collect::<Result<_>>().map(Some)
    }
}

fn text<'a>(json: &'a Json<'a>) -> Option<&'a str> {
    if let Json::Str(text) = json { Some(text) } else { None }
}

fn owned(json: &Json<'_>) -> serde_json::Value {
    match json {
        Json::Null => serde_json::Value::Null,
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().into(),
        },
        Json::Str(text) => text.as_ref().into(),
        Json::Array(elements) => elements.iter().map(owned).collect(),
        Json::Object(object) => {
            object.iter().map(|(name, value)| (name.to_owned(), owned(value))).collect()
        }
    }
}
