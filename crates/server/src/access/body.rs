//! The members of a request, read as the operations read them: `null` is absent.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use keyloom_core::expr::Bindings;
use keyloom_core::json::{self, Json, JsonObject};
use keyloom_core::policy::Known;
use keyloom_core::{AttributeValue, Result, Str};

/// A JSON object of a request.
#[derive(Clone, Copy)]
pub(super) struct Body<'a>(&'a JsonObject<'a>);

impl<'a> Body<'a> {
    pub(super) fn of(json: &'a Json<'a>) -> Option<Self> {
        match json {
            Json::Object(object) => Some(Self(object)),
            _ => None,
        }
    }

    pub(super) fn get(self, name: &str) -> Option<&'a Json<'a>> {
        self.0.get(name).filter(|json| !matches!(json, Json::Null))
    }

    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        match self.get(name)? {
            Json::Str(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn object(self, name: &str) -> Option<Self> {
        Self::of(self.get(name)?)
    }

    pub(super) fn entries(self) -> impl Iterator<Item = (&'a str, &'a Json<'a>)> {
        self.0.iter()
    }

    /// The elements of a list; none if there is no list.
    pub(super) fn list(self, name: &str) -> &'a [Json<'a>] {
        match self.get(name) {
            Some(Json::Array(list)) => list,
            _ => &[],
        }
    }

    /// Whether the whole item comes back if a condition fails. No condition key tells of it, so what is then returned
    /// counts as unknown: no permission for certain attributes covers it.
    pub(super) fn returns_item_on_failure(self) -> bool {
        let returned = self.get("ReturnValuesOnConditionCheckFailure");
        returned.is_some_and(|returned| !matches!(returned, Json::Str(text) if text == "NONE"))
    }

    /// What its expressions are read with.
    pub(super) fn bindings(self) -> Result<Bindings> {
        let names = self.object("ExpressionAttributeNames").map(|names| {
            let name = |(key, json): (&str, &Json<'_>)| match json {
                Json::Str(name) => Some((Str::from(key), Str::from(name.as_ref()))),
                _ => None,
            };
            names.entries().filter_map(name).collect()
        });
        let values = self.object("ExpressionAttributeValues").map(|values| {
            let value = |(key, json)| Ok((Str::from(key), json::value_from(json)?));
            values.entries().map(value).collect::<Result<_>>()
        });
        Bindings::new(names, values.transpose()?)
    }
}

/// The values of a condition key, as they are found in a request.
#[derive(Default)]
pub(super) struct Collected {
    values: BTreeSet<String>,
    is_unreadable: bool,
}

impl Collected {
    pub(super) fn add(&mut self, value: impl Into<String>) {
        self.values.insert(value.into());
    }

    /// Records that part of the request cannot be parsed.
    pub(super) fn unreadable(&mut self) {
        self.is_unreadable = true;
    }

    /// Adds the value of a key attribute. What is not there or not a scalar is no key.
    pub(super) fn add_key(&mut self, value: Option<&AttributeValue>) {
        match value {
            Some(AttributeValue::S(text)) => self.add(text.as_str()),
            Some(AttributeValue::N(number)) => self.add(number.to_string()),
            Some(AttributeValue::B(bytes)) => self.add(BASE64.encode(bytes)),
            _ => self.unreadable(),
        }
    }

    pub(super) fn known(self) -> Known<Vec<String>> {
        if self.is_unreadable {
            Known::Unknown
        } else {
            Known::Is(self.values.into_iter().collect())
        }
    }
}
