//! Vector indexes: their schema and their entries.
//!
//! The vector is an ordinary list of numbers in the item. The index stores it as 32-bit floats,
//! with the attributes that it projects; the item itself keeps full precision.

mod check;
mod define;

pub use check::VectorFault;

use super::{IndexKind, IndexSchema, KeyAttribute, KeyRole, KeySchema, Projection, TableSchema};
use crate::size::{item_size, value_size};
use crate::value::{AttributeValue, Item, Str};

/// Size of one dimension in an index.
const DIMENSION_BYTES: usize = size_of::<f32>();

/// The distance function of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DistanceFunction {
    /// One minus the cosine of the angle: 0 is the same direction, 2 the opposite.
    Cosine,
    /// The dot product: higher is nearer.
    DotProduct,
    /// The straight-line distance.
    Euclidean,
}

impl DistanceFunction {
    /// All functions, in the order of the API model.
    pub const ALL: [Self; 3] = [Self::Cosine, Self::DotProduct, Self::Euclidean];

    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cosine => "COSINE",
            Self::DotProduct => "DOT_PRODUCT",
            Self::Euclidean => "EUCLIDEAN",
        }
    }

    /// The function with this wire name.
    pub fn from_wire(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.as_str() == name)
    }
}

/// The role of an attribute in a search schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SearchRole {
    /// Partitions the index: every search must give its value.
    Hash,
    /// A search may filter by its value.
    InlineFilter,
}

impl SearchRole {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hash => "HASH",
            Self::InlineFilter => "INLINE_FILTER",
        }
    }

    /// The role with this wire name.
    pub fn from_wire(name: &str) -> Option<Self> {
        match name {
            "HASH" => Some(Self::Hash),
            "INLINE_FILTER" => Some(Self::InlineFilter),
            _ => None,
        }
    }
}

/// One element of a search schema.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SearchElement {
    /// The attribute's role.
    pub role: SearchRole,
    /// The attribute with its declared type.
    pub attribute: KeyAttribute,
}

/// A vector index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VectorIndexSchema {
    /// The index's name.
    pub name: Str,
    /// The attribute that holds the vector.
    pub attribute: Str,
    /// The number of dimensions of each vector.
    pub dimensions: usize,
    /// The distance function.
    pub distance: DistanceFunction,
    /// The attributes that searches may filter by, in the order of the request.
    pub search: Vec<SearchElement>,
    /// What the index projects besides keys, vector and search schema.
    pub projection: Projection,
}

impl VectorIndexSchema {
    /// The attribute that partitions the index.
    pub fn hash(&self) -> Option<&KeyAttribute> {
        let mut elements = self.search.iter();
        elements.find(|element| element.role == SearchRole::Hash).map(|element| &element.attribute)
    }

    /// The index as observers see it: with at most a partition key.
    pub fn observed(&self) -> IndexSchema {
        let hash = self.hash().cloned().into_iter().collect();
        IndexSchema {
            name: self.name.clone(),
            kind: IndexKind::Global,
            key: KeySchema { hash, range: Vec::new() },
            projection: self.projection.clone(),
        }
    }

    /// The element of the search schema with this attribute name.
    pub fn searched(&self, name: &str) -> Option<&SearchElement> {
        self.search.iter().find(|element| element.attribute.name == name)
    }
}

/// An item's entry in a vector index.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorEntry {
    /// The vector that is indexed.
    pub vector: Vec<f32>,
    /// The other attributes of the entry.
    pub rest: Item,
}

/// The size of an index entry: its vector at 4 bytes per dimension, the vector's name, and the size
/// of the rest.
pub fn vector_entry_size(index: &VectorIndexSchema, rest_bytes: usize) -> usize {
    DIMENSION_BYTES * index.dimensions + index.attribute.len() + rest_bytes
}

impl TableSchema {
    /// The vector index with this name.
    pub fn vector_index(&self, name: &str) -> Option<&VectorIndexSchema> {
        self.vector_indexes.iter().find(|index| index.name == name)
    }

    /// The entry of an item in `index`; `None` if the item lacks the vector or the partition
    /// attribute, or has an invalid one.
    pub fn project_vector(&self, item: &Item, index: &VectorIndexSchema) -> Option<VectorEntry> {
        let vector = check::read(item.get(&index.attribute)?, index.dimensions).ok()?;
        for SearchElement { role, attribute } in &index.search {
            match (item.get(&attribute.name), role) {
                (None, SearchRole::Hash) => return None,
                (None, SearchRole::InlineFilter) => {}
                (Some(value), _) if !attribute.kind.accepts(value) => return None,
                (Some(value), SearchRole::Hash) => {
                    super::check::check_key_value(attribute, KeyRole::Hash, value).ok()?;
                }
                (Some(_), SearchRole::InlineFilter) => {}
            }
        }
        let held = item.iter().filter(|(name, _)| self.projects_beside_vector(index, name));
        let rest = held.map(|(name, value)| (name.clone(), value.clone())).collect();
        Some(VectorEntry { vector, rest })
    }

    /// Whether `index` projects the attribute `name` besides the vector.
    fn projects_beside_vector(&self, index: &VectorIndexSchema, name: &str) -> bool {
        if name == index.attribute {
            return false;
        }
        let included = match &index.projection {
            Projection::All => true,
            Projection::KeysOnly => false,
            Projection::Include(names) => names.iter().any(|included| included == name),
        };
        included || self.key.contains(name) || index.searched(name).is_some()
    }

    /// The size of an item that a write is billed for: each indexed vector counts 4 bytes per
    /// dimension instead of its digits. Reads and the item size limit count the digits.
    pub fn written_size(&self, item: &Item) -> usize {
        let mut size = item_size(item);
        for (position, index) in self.vector_indexes.iter().enumerate() {
            let earlier = self.vector_indexes.iter().take(position);
            if earlier.map(|other| &other.attribute).any(|name| *name == index.attribute) {
                continue;
            }
            if let Some(value @ AttributeValue::L(elements)) = item.get(&index.attribute)
                && elements.len() == index.dimensions
            {
                size = size - value_size(value) + DIMENSION_BYTES * index.dimensions;
            }
        }
        size
    }
}

#[cfg(test)]
mod tests;
