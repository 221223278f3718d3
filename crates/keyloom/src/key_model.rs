//! The model of one key attribute: its fields, and how it is built from them.

use std::sync::Arc;

use keyloom_core::{AttributeValue, Str};
use keyloom_design::evaluate::Row;
use keyloom_design::generate::shard_of;
use keyloom_design::key::key_value;
use keyloom_design::model::{
    Entity as Declared, EntityKey as DeclaredKey, Escape, FieldKind, KeyType,
};
use keyloom_keys::{Case, Value};

use crate::error::{Error, Result};

/// The most fields of a template.
const MAX_FIELDS: usize = 16;

/// How one key attribute of an entity is made.
pub(crate) struct KeyModel {
    pub(crate) attribute: Str,
    kind: KeyType,
    /// The position in the declared entity's keys.
    pub(crate) position: usize,
    sources: Vec<Source>,
    pub(crate) native: bool,
    /// Whether only the design can evaluate it: conditions, and keys without escaping.
    pub(crate) slow: bool,
    /// The fields that decide whether it is written at all.
    decided_by: Vec<String>,
    /// The key itself, if it is always the same.
    constant: Option<AttributeValue>,
}

/// Where the value of a template's field comes from.
enum Source {
    Field(String),
    /// A text whose field has its own case, whatever the key writes.
    Folded(String, Case),
    Shard {
        count: u32,
        by: Vec<String>,
    },
}

impl KeyModel {
    /// The model of the key at this position of an entity's keys.
    pub(crate) fn of(
        declared: &Declared,
        position: usize,
        key: &DeclaredKey,
        kind: KeyType,
    ) -> Self {
        let template = key.shape.template();
        let source = |name: &str| match declared.field(name).map(|field| &field.kind) {
            Some(FieldKind::Shard(shards)) if !shards.by.is_empty() => {
                Source::Shard { count: shards.count, by: shards.by.clone() }
            }
            Some(FieldKind::Scalar(format)) if format.case() != Case::AsIs => {
                Source::Folded(name.to_owned(), format.case())
            }
            _ => Source::Field(name.to_owned()),
        };
        Self {
            attribute: key.attribute.as_str().into(),
            kind,
            position,
            sources: template.fields().map(source).collect(),
            native: key.shape.is_native(),
            slow: key.when.is_some() || template.escape() == Escape::None,
            decided_by: key
                .when
                .iter()
                .flat_map(|when| when.terms.iter().map(|term| term.name.clone()))
                .collect(),
            constant: template.template().build_values(&[]).ok().map(AttributeValue::from),
        }
    }

    /// The fields of the struct that the key is made of.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        let decided_by = self.decided_by.iter().map(String::as_str);
        decided_by.chain(self.sources.iter().flat_map(|source| match source {
            Source::Field(name) | Source::Folded(name, _) => {
                std::slice::from_ref(name).iter().map(String::as_str)
            }
            Source::Shard { by, .. } => by.iter().map(String::as_str),
        }))
    }

    /// The number of shards of each part of the key that is calculated.
    pub(crate) fn shard_counts(&self) -> impl Iterator<Item = u32> {
        self.sources.iter().filter_map(|source| match source {
            Source::Shard { count, .. } => Some(*count),
            Source::Field(_) | Source::Folded(..) => None,
        })
    }

    /// The value of the key; none if a field that it needs, or its condition, is not given.
    pub(crate) fn build<'v>(
        &self,
        entity: &Arc<Declared>,
        field: &impl Fn(&str) -> Option<Value<'v>>,
    ) -> Result<Option<AttributeValue>> {
        let Some(declared) = entity.keys.get(self.position) else { return Ok(None) };
        if self.slow {
            return Ok(self.build_slowly(entity, declared, field));
        }
        if let Some(constant) = &self.constant {
            return Ok(Some(constant.clone()));
        }
        // Keys are built on every call: their values stay on the stack.
        let mut slots = [const { Value::Int(0) }; MAX_FIELDS];
        let Some(values) = slots.get_mut(..self.sources.len()) else { return Ok(None) };
        for (slot, source) in values.iter_mut().zip(&self.sources) {
            match source.value(entity, field) {
                Some(value) => *slot = value,
                None => return Ok(None),
            }
        }
        if self.native {
            let name = declared.shape.template().fields().next().unwrap_or_default();
            let native = entity.field(name).zip(values.first());
            return Ok(native.map(|(field, value)| key_value(field, self.kind, value)));
        }
        let built = declared.shape.template().template().build_values(values);
        match built {
            Ok(text) => Ok(Some(AttributeValue::from(text))),
            Err(error) => Err(Error::Key {
                entity: entity.name.clone(),
                attribute: self.attribute.to_string(),
                error: Box::new(error),
            }),
        }
    }

    /// Through the design's own evaluation, which supports conditions.
    fn build_slowly<'v>(
        &self,
        entity: &Arc<Declared>,
        declared: &DeclaredKey,
        field: &impl Fn(&str) -> Option<Value<'v>>,
    ) -> Option<AttributeValue> {
        let mut values = std::collections::BTreeMap::new();
        for known in &entity.fields {
            if let Some(value) = field(&known.name) {
                values.insert(known.name.clone(), value.into_owned());
            }
        }
        let names = declared.shape.template().fields();
        for (name, source) in names.zip(&self.sources) {
            if let Some(value) = source.value(entity, field) {
                values.insert(name.to_owned(), value.into_owned());
            }
        }
        Row { entity: Arc::clone(entity), values }.key_attribute(declared, self.kind)
    }

    /// The error for a primary key of which a field is absent.
    pub(crate) fn absent<'v>(
        &self,
        entity: &Declared,
        field: &impl Fn(&str) -> Option<Value<'v>>,
    ) -> Error {
        let missing = self.fields().find(|name| field(name).is_none()).unwrap_or_default();
        Error::KeyFieldAbsent {
            entity: entity.name.clone(),
            attribute: self.attribute.to_string(),
            field: missing.to_owned(),
        }
    }
}

impl Source {
    fn value<'v>(
        &self,
        entity: &Declared,
        field: &impl Fn(&str) -> Option<Value<'v>>,
    ) -> Option<Value<'v>> {
        match self {
            Self::Field(name) => field(name),
            Self::Folded(name, case) => Some(match field(name)? {
                Value::Text(text) if *case == Case::Lower => Value::from(text.to_ascii_lowercase()),
                Value::Text(text) => Value::from(text.to_ascii_uppercase()),
                value => value,
            }),
            Self::Shard { count, by } => shard_of(entity, by, *count, field).map(Value::from),
        }
    }
}
