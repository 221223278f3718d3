//! The canonical stored form of fields. Conditions compare stored attributes, so a value with several representations
//! (a time, a decimal) is always stored in the same one.

use keyloom_core::{AttributeValue, Str};
use keyloom_design::key::attribute_of;
use keyloom_design::model::{Entity, Field};
use keyloom_keys::{Case, FieldType, Value, ValueError};

use crate::error::ItemError;

/// The form of one field: one case of a text, one precision of a time, a number for a decimal and for milliseconds.
pub(crate) struct Form {
    pub(crate) field: Str,
    /// The position in the declared entity's fields.
    position: usize,
    /// How a text is recognised as canonical; none if serde writes another form.
    shown_by: Option<Shown>,
}

enum Shown {
    NoCapitals,
    NoSmallLetters,
    Length(usize),
}

impl Form {
    /// The form of a field, if its values can be written in several ways.
    pub(crate) fn of((position, field): (usize, &Field)) -> Option<Self> {
        let format = field.format().filter(|_| field.is_stored() && !field.is_loose_time())?;
        let shown_by = match (format.case(), format.kind()) {
            (Case::Lower, _) => Some(Shown::NoCapitals),
            (Case::Upper, _) => Some(Shown::NoSmallLetters),
            // Texts in serde, numbers in tables; keys write hours in their own way.
            (_, FieldType::Decimal { .. } | FieldType::EpochMs | FieldType::Hour) => None,
            _ => {
                format.precision()?;
                format.lengths().max.map(Shown::Length)
            }
        };
        Some(Self { field: field.name.as_str().into(), position, shown_by })
    }

    /// Whether it is for a struct in which these fields are texts: what is a text there stays one.
    pub(crate) fn is_for(&self, texts: &[&str]) -> bool {
        self.shown_by.is_some() || !texts.contains(&self.field.as_str())
    }

    /// Converts a value to the canonical form; refuses a time that is finer than the field, as keys do.
    pub(crate) fn give(
        &self,
        entity: &Entity,
        value: &mut AttributeValue,
    ) -> Result<(), ItemError> {
        let AttributeValue::S(text) = value else { return Ok(()) };
        let has_it = match self.shown_by {
            Some(Shown::NoCapitals) => !text.bytes().any(|byte| byte.is_ascii_uppercase()),
            Some(Shown::NoSmallLetters) => !text.bytes().any(|byte| byte.is_ascii_lowercase()),
            Some(Shown::Length(bytes)) => text.len() == bytes,
            None => false,
        };
        let field = entity.fields.get(self.position).filter(|_| !has_it);
        let Some((field, format)) = field.and_then(|field| Some((field, field.format()?))) else {
            return Ok(());
        };
        // What is no value of the field is left for the database, as it is.
        let Ok(mut known) = Value::parse_for(&format, text) else { return Ok(()) };
        if let Value::Time(time) = &mut known {
            if let Err(error @ ValueError::TooFine { .. }) = format.encode(&Value::Time(*time)) {
                return Err(ItemError::new(error.to_string()).inside(&field.name));
            }
            if let Some(own) = format.precision().filter(|own| time.precision() > *own) {
                *time = time.at(own);
            }
        }
        let stored = attribute_of(field, &known);
        *value = stored;
        Ok(())
    }
}
