//! A cursor over the fields of a request body.

use std::cell::RefCell;

use keyloom_core::{AttributeValue, Error, Item, Result, Str, json};

use json::Json;

/// Java class names that AWS's serialization errors quote.
pub mod class {
    pub const STRING: &str = "class java.lang.String";
    pub const INTEGER: &str = "class java.lang.Integer";
    pub const BOOLEAN: &str = "class java.lang.Boolean";
    pub const ATTRIBUTE_MAP: &str =
        "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>";
}

/// The fields of one JSON object. An absent field and an explicit `null` are the same, as on AWS.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    object: &'a Json<'a>,
    /// The one that was read while the object was parsed.
    item: Option<&'a ItemField>,
}

/// A field that was read while the body was parsed.
#[derive(Debug)]
pub struct ItemField {
    name: &'static str,
    /// Moved out by the one who asks for it.
    item: RefCell<Option<Item>>,
}

impl ItemField {
    /// The field of this name, if it was read.
    pub fn new(name: &'static str, item: Option<Item>) -> Option<Self> {
        item.map(|item| Self { name, item: RefCell::new(Some(item)) })
    }
}

impl<'a> Fields<'a> {
    /// The fields of `value`, which must be an object.
    pub fn of(value: &'a Json<'a>) -> Result<Self> {
        match value {
            Json::Object(_) => Ok(Self { object: value, item: None }),
            Json::Array(_) => Err(unrecognized_collection(class::STRING)),
            _ => Err(Error::Serialization("Unexpected field type".into())),
        }
    }

    /// The fields of a body, beside one that was read while it was parsed.
    pub fn with_item(value: &'a Json<'a>, item: Option<&'a ItemField>) -> Result<Self> {
        Ok(Self { item, ..Self::of(value)? })
    }

    /// The field of this name, if it was read while the body was parsed.
    fn item_field(&self, name: &str) -> Option<&'a ItemField> {
        self.item.filter(|item| item.name == name)
    }

    fn get(&self, name: &str) -> Option<&'a Json<'a>> {
        let Json::Object(object) = self.object else { return None };
        object.get(name).filter(|value| !matches!(value, Json::Null))
    }

    /// The field as it stands.
    pub fn raw(&self, name: &str) -> Option<&'a Json<'a>> {
        self.get(name)
    }

    /// All fields in a form that can be kept.
    pub fn whole(&self) -> serde_json::Value {
        kept(self.object)
    }

    /// The field in a form that can be kept.
    pub fn kept(&self, name: &str) -> Option<serde_json::Value> {
        self.get(name).map(kept)
    }

    /// Whether the field is there and not null.
    pub fn has(&self, name: &str) -> bool {
        self.item_field(name).is_some() || self.get(name).is_some()
    }

    pub fn string(&self, name: &str) -> Result<Option<&'a str>> {
        self.get(name).map(as_string).transpose()
    }

    pub fn owned_string(&self, name: &str) -> Result<Option<String>> {
        Ok(self.string(name)?.map(str::to_owned))
    }

    pub fn integer(&self, name: &str) -> Result<Option<i64>> {
        self.get(name).map(as_integer).transpose()
    }

    pub fn boolean(&self, name: &str) -> Result<Option<bool>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value {
            Json::Bool(value) => Ok(Some(*value)),
            Json::Array(_) => Err(unrecognized_collection(class::BOOLEAN)),
            Json::Object(_) => Err(unexpected_structure()),
            _ => Err(Error::Serialization("Unexpected token received from parser".into())),
        }
    }

    /// Seconds since the epoch, possibly with a fraction.
    pub fn timestamp(&self, name: &str) -> Result<Option<f64>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value {
            Json::Number(number) => Ok(number.as_f64()),
            _ => Err(Error::Serialization(format!(
                "{} cannot be converted to milliseconds since epoch",
                token_name(value)
            ))),
        }
    }

    pub fn structure(&self, name: &str) -> Result<Option<Fields<'a>>> {
        self.get(name).map(Fields::of).transpose()
    }

    pub fn list(&self, name: &str) -> Result<Option<&'a [Json<'a>]>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value {
            Json::Array(elements) => Ok(Some(elements)),
            Json::Object(_) => Err(unexpected_structure()),
            _ => Err(Error::Serialization("Unexpected field type".into())),
        }
    }

    /// A list of structures.
    pub fn structures(&self, name: &str) -> Result<Option<Vec<Fields<'a>>>> {
        let Some(elements) = self.list(name)? else { return Ok(None) };
        elements.iter().map(Fields::of).collect::<Result<_>>().map(Some)
    }

    /// A list of strings.
    pub fn strings(&self, name: &str) -> Result<Option<Vec<Str>>> {
        let Some(elements) = self.list(name)? else { return Ok(None) };
        elements.iter().map(|e| as_string(e).map(Str::from)).collect::<Result<_>>().map(Some)
    }

    /// The entries of a map field, in the order of the text.
    pub fn entries(&self, name: &str) -> Result<Option<Vec<(&'a str, &'a Json<'a>)>>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value {
            Json::Object(object) => Ok(Some(object.iter().collect())),
            Json::Array(_) => Err(unrecognized_collection(class::ATTRIBUTE_MAP)),
            _ => Err(Error::Serialization("Unexpected field type".into())),
        }
    }

    /// A map of strings, such as `ExpressionAttributeNames`.
    pub fn string_map(&self, name: &str) -> Result<Option<Vec<(Str, Str)>>> {
        let Some(entries) = self.entries(name)? else { return Ok(None) };
        entries
            .into_iter()
            .map(|(key, value)| Ok((Str::from(key), Str::from(as_string(value)?))))
            .collect::<Result<_>>()
            .map(Some)
    }

    /// Checks that a map of attribute values has the right JSON types, before its meaning is read.
    pub fn check_item(&self, name: &str) -> Result<()> {
        self.get(name).map_or(Ok(()), json::check_item)
    }

    /// A map of attribute values; it is moved out, so ask once.
    pub fn item(&self, name: &str) -> Result<Option<Item>> {
        if let Some(field) = self.item_field(name) {
            return Ok(field.item.take());
        }
        self.get(name).map(json::item_from).transpose()
    }

    /// One attribute value.
    pub fn attribute(&self, name: &str) -> Result<Option<AttributeValue>> {
        self.get(name).map(json::value_from).transpose()
    }

    /// A list of attribute values.
    pub fn attributes(&self, name: &str) -> Result<Option<Vec<AttributeValue>>> {
        let Some(elements) = self.list(name)? else { return Ok(None) };
        elements.iter().map(json::value_from).collect::<Result<_>>().map(Some)
    }
}

fn kept(json: &Json<'_>) -> serde_json::Value {
    match json {
        Json::Null => serde_json::Value::Null,
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().into(),
        },
        Json::Str(text) => text.as_ref().into(),
        Json::Array(elements) => elements.iter().map(kept).collect(),
        Json::Object(object) => {
            object.iter().map(|(name, value)| (name.to_owned(), kept(value))).collect()
        }
    }
}

fn as_string<'a>(value: &'a Json<'a>) -> Result<&'a str> {
    match value {
        Json::Str(text) => Ok(text),
        Json::Array(_) => Err(unrecognized_collection(class::STRING)),
        Json::Object(_) => Err(unexpected_structure()),
        _ => Err(Error::Serialization(format!(
            "{} cannot be converted to String",
            token_name(value)
        ))),
    }
}

fn as_integer(value: &Json<'_>) -> Result<i64> {
    match value {
        // A fraction is cut off, as AWS's deserializer does.
        Json::Number(number) => {
            Ok(number.as_i64().unwrap_or_else(|| number.as_f64().unwrap_or_default() as i64))
        }
        Json::Array(_) => Err(unrecognized_collection(class::INTEGER)),
        Json::Object(_) => Err(unexpected_structure()),
        _ => Err(Error::Serialization(format!(
            "{} cannot be converted to Integer",
            token_name(value)
        ))),
    }
}

fn token_name(value: &Json<'_>) -> &'static str {
    match value {
        Json::Bool(true) => "TRUE_VALUE",
        Json::Bool(false) => "FALSE_VALUE",
        Json::Number(number) if number.as_i64().is_some() => "NUMBER_VALUE",
        Json::Number(_) => "DECIMAL_VALUE",
        _ => "STRING_VALUE",
    }
}

fn unrecognized_collection(class: &str) -> Error {
    Error::Serialization(format!("Unrecognized collection type {class}"))
}

fn unexpected_structure() -> Error {
    Error::Serialization("Start of structure or map found where not expected.".into())
}
