//! Definitions of vector indexes in requests: the rules beyond the API model.

use super::{DistanceFunction, SearchElement, SearchRole, VectorIndexSchema};
use crate::error::{Result, message::schema as schema_message, message::vector as message};
use crate::limits::{MAX_INLINE_FILTERS, MAX_VECTOR_DIMENSIONS, MAX_VECTOR_INDEXES};
use crate::schema::definition::{AttributeDefinition, VectorIndexDefinition};
use crate::schema::{KeyAttribute, KeySchema, TableSchema, validate};

impl VectorIndexDefinition {
    /// The index, with the types of its search attributes; `defined` are the request's definitions.
    fn resolve(&self, defined: &[KeyAttribute]) -> Result<VectorIndexSchema> {
        let dimensions = self.dimensions.unwrap_or_default();
        let dimensions = usize::try_from(dimensions)
            .ok()
            .filter(|count| (1..=MAX_VECTOR_DIMENSIONS).contains(count))
            .ok_or_else(message::dimensions_out_of_range)?;
        let attribute = self.attribute.as_ref().and_then(|attribute| attribute.name.clone());
        let distance = self.distance.as_deref().and_then(DistanceFunction::from_wire);
        Ok(VectorIndexSchema {
            name: self.name.clone().unwrap_or_default(),
            attribute: attribute.unwrap_or_default(),
            dimensions,
            // The model has refused other names.
            distance: distance.unwrap_or(DistanceFunction::Cosine),
            search: self.resolve_search_schema(defined)?,
            projection: validate::projection(self.projection.as_ref())?,
        })
    }

    fn resolve_search_schema(&self, defined: &[KeyAttribute]) -> Result<Vec<SearchElement>> {
        let mut elements: Vec<SearchElement> = Vec::new();
        for element in self.search.iter().flatten() {
            let name = element.name.as_deref().unwrap_or_default();
            let attribute = defined
                .iter()
                .find(|attribute| attribute.name == name)
                .ok_or_else(message::search_attribute_undefined)?;
            if elements.iter().any(|earlier| earlier.attribute.name == name) {
                return Err(message::search_attribute_repeated());
            }
            let role = SearchRole::from_wire(element.role.as_deref().unwrap_or_default());
            let role = role.unwrap_or(SearchRole::InlineFilter);
            elements.push(SearchElement { role, attribute: attribute.clone() });
        }
        let hashes = elements.iter().filter(|element| element.role == SearchRole::Hash).count();
        if hashes > 1 {
            return Err(message::several_search_hashes(hashes));
        }
        if elements.len() - hashes > MAX_INLINE_FILTERS {
            return Err(message::too_many_inline_filters(MAX_INLINE_FILTERS));
        }
        Ok(elements)
    }
}

impl TableSchema {
    /// Adds the vector indexes of a new table.
    pub(in crate::schema) fn add_vector_indexes(
        &mut self,
        definitions: &[VectorIndexDefinition],
    ) -> Result<()> {
        if definitions.is_empty() {
            return Err(schema_message::index_list_empty("VectorIndexes"));
        }
        if definitions.len() > MAX_VECTOR_INDEXES {
            return Err(message::too_many_vector_indexes(MAX_VECTOR_INDEXES));
        }
        for definition in definitions {
            let index = definition.resolve(&self.attributes)?;
            if self.index(&index.name).is_some() || self.vector_index(&index.name).is_some() {
                return Err(schema_message::index_repeated(&index.name));
            }
            if self.attributes.iter().any(|defined| defined.name == index.attribute) {
                return Err(message::vector_attribute_defined(&index.attribute));
            }
            self.add_vector_index(index)?;
        }
        Ok(())
    }

    /// The schema with one more vector index, as by UpdateTable.
    ///
    /// The request's own definitions must contain the search attributes; unused ones are dropped.
    pub fn with_vector_index(
        &self,
        definition: &VectorIndexDefinition,
        definitions: &[AttributeDefinition],
    ) -> Result<Self> {
        let (mut schema, given) = self.with_definitions(definitions);
        let index = definition.resolve(&given)?;
        if schema.index(&index.name).is_some() || schema.vector_index(&index.name).is_some() {
            return Err(schema_message::index_exists());
        }
        self.check_redefinitions(&KeySchema::default(), definitions)?;
        if schema.vector_indexes.len() >= MAX_VECTOR_INDEXES {
            return Err(message::one_vector_index_too_many(MAX_VECTOR_INDEXES));
        }
        if given.iter().any(|defined| defined.name == index.attribute) {
            return Err(message::vector_attribute_defined(&index.attribute));
        }
        for key in std::iter::once(&schema.key).chain(schema.indexes.iter().map(|i| &i.key)) {
            if let Some((role, attribute)) =
                key.roles().find(|(_, attribute)| attribute.name == index.attribute)
            {
                return Err(message::vector_attribute_is_key(&index, role, attribute));
            }
        }
        schema.add_vector_index(index)?;
        schema.check_projected_total()?;
        schema.drop_unused_definitions();
        Ok(schema)
    }

    /// The schema without a vector index, and without the definitions that only it used.
    #[must_use]
    pub fn without_vector_index(&self, name: &str) -> Self {
        let mut schema = self.clone();
        schema.vector_indexes.retain(|index| index.name != name);
        schema.drop_unused_definitions();
        schema
    }

    fn add_vector_index(&mut self, index: VectorIndexSchema) -> Result<()> {
        let differs = |known: &VectorIndexSchema| {
            known.attribute == index.attribute && known.dimensions != index.dimensions
        };
        if self.vector_indexes.iter().any(differs) {
            return Err(message::dimensions_differ(&index.attribute));
        }
        self.vector_indexes.push(index);
        Ok(())
    }
}
