//! Checks the vectors of written items.

use super::{SearchElement, SearchRole, VectorIndexSchema};
use crate::error::{Result, message::schema as key_message, message::vector as message};
use crate::number::Number;
use crate::schema::{KeyRole, TableSchema, check};
use crate::value::{AttributeType, AttributeValue, Item};

/// Why a value is not a valid vector for an index.
#[derive(Clone, Debug, PartialEq)]
pub enum VectorFault {
    /// Not a list.
    NotAList,
    /// Wrong number of elements; holds the actual number.
    Size(usize),
    /// The element at this position has this type.
    Element(usize, AttributeType),
    /// The number at this position is out of range for 32-bit floats.
    Range(usize, Number),
}

/// Converts an attribute value to a vector.
pub(super) fn read(
    value: &AttributeValue,
    dimensions: usize,
) -> std::result::Result<Vec<f32>, VectorFault> {
    let AttributeValue::L(elements) = value else { return Err(VectorFault::NotAList) };
    if elements.len() != dimensions {
        return Err(VectorFault::Size(elements.len()));
    }
    let element = |(position, element): (usize, &AttributeValue)| match element {
        AttributeValue::N(number) => {
            let float = number.to_f32();
            if float.is_finite() { Ok(float) } else { Err(VectorFault::Range(position, *number)) }
        }
        other => Err(VectorFault::Element(position, other.attribute_type())),
    };
    elements.iter().enumerate().map(element).collect()
}

impl TableSchema {
    /// Checks the vectors and search attributes of a put item.
    pub(in crate::schema) fn check_put_vectors(&self, item: &Item) -> Result<()> {
        self.check_vectors(
            item,
            |_| true,
            |index, element, value| {
                key_message::index_key_empty(&index.name, &element.attribute, value)
            },
        )
    }

    /// Checks the vectors and search attributes that an update changed from `old` to `new`.
    pub(in crate::schema) fn check_updated_vectors(
        &self,
        old: Option<&Item>,
        new: &Item,
    ) -> Result<()> {
        let changed = |name: &str| old.and_then(|old| old.get(name)) != new.get(name);
        self.check_vectors(new, changed, |_, _, value| key_message::index_key_emptied(value))
    }

    fn check_vectors(
        &self,
        item: &Item,
        relevant: impl Fn(&str) -> bool,
        empty: impl Fn(&VectorIndexSchema, &SearchElement, &AttributeValue) -> crate::Error,
    ) -> Result<()> {
        let mut indexes: Vec<&VectorIndexSchema> = self.vector_indexes.iter().collect();
        // As for secondary indexes, the first violated index by name is reported.
        indexes.sort_by(|a, b| a.name.cmp(&b.name));
        for index in indexes {
            if let Some(value) = item.get(&index.attribute).filter(|_| relevant(&index.attribute)) {
                read(value, index.dimensions).map_err(|fault| message::fault(index, &fault))?;
            }
            for element in &index.search {
                let name = &element.attribute.name;
                let Some(value) = item.get(name).filter(|_| relevant(name)) else { continue };
                if !element.attribute.kind.accepts(value) {
                    return Err(message::search_type_mismatch(index, &element.attribute, value));
                }
                if element.role == SearchRole::Hash {
                    if check::is_empty(value) {
                        return Err(empty(index, element, value));
                    }
                    check::check_length(KeyRole::Hash, value)?;
                }
            }
        }
        Ok(())
    }
}
