//! Validates a table definition and builds its schema: the rules beyond the API model.
//!
//! Order and wording follow AWS: key, then local, then global indexes, then unused definitions.

use super::definition::{
    AttributeDefinition, IndexDefinition, KeyElement, ProjectionDefinition, TableDefinition,
};
use super::{
    IndexKind, IndexSchema, KeyAttribute, KeyRole, KeySchema, Projection, ScalarType, SearchRole,
    TableSchema, VectorIndexSchema,
};
use crate::error::{Result, message::schema as message};
use crate::limits::{
    MAX_GLOBAL_INDEXES, MAX_HASH_ATTRIBUTES, MAX_LOCAL_INDEXES, MAX_PROJECTED_ATTRIBUTES,
    MAX_RANGE_ATTRIBUTES,
};
use crate::value::Str;

impl TableDefinition {
    /// Checks everything about keys and indexes that the API model does not, and builds the schema.
    pub fn into_schema(self) -> Result<TableSchema> {
        let name = self.name.unwrap_or_default();
        check_defined_once(self.attributes.as_deref().unwrap_or_default())?;
        let attributes = typed(&self.attributes.unwrap_or_default());
        let key = table_key(&self.key.unwrap_or_default(), &attributes)?;
        let has_no_index = self.local.is_none() && self.global.is_none() && self.vector.is_none();
        if has_no_index && key.len() != attributes.len() {
            return Err(message::attribute_count());
        }
        let (indexes, vector_indexes) = (Vec::new(), Vec::new());
        let mut schema = TableSchema { name, key, attributes, indexes, vector_indexes };
        if let Some(local) = &self.local {
            schema.add_local(local)?;
        }
        if let Some(global) = &self.global {
            schema.add_global(global)?;
        }
        if let Some(vector) = &self.vector {
            schema.add_vector_indexes(vector)?;
        }
        schema.check_projected_total()?;
        schema.check_definitions()?;
        Ok(schema)
    }
}

impl TableSchema {
    /// The schema with one more global index, as by UpdateTable.
    ///
    /// The request's own definitions must contain the index's key attributes; unused ones are
    /// dropped.
    pub fn with_index(
        &self,
        index: &IndexDefinition,
        definitions: &[AttributeDefinition],
    ) -> Result<Self> {
        let (mut schema, given) = self.with_definitions(definitions);
        let is_taken =
            |name: &Str| schema.index(name).is_some() || schema.vector_index(name).is_some();
        if index.name.as_ref().is_some_and(is_taken) {
            return Err(message::index_exists());
        }
        let index = global_index(index, &given)?;
        self.check_redefinitions(&index.key, definitions)?;
        schema.indexes.push(index);
        if schema.global_indexes().count() > MAX_GLOBAL_INDEXES {
            return Err(message::too_many_global_indexes());
        }
        schema.check_projected_total()?;
        schema.drop_unused_definitions();
        Ok(schema)
    }

    /// Refuses another type for an attribute that a key of the table uses already. The key of the new index is
    /// what AWS shows as the new schema.
    pub(super) fn check_redefinitions(
        &self,
        new: &KeySchema,
        given: &[AttributeDefinition],
    ) -> Result<()> {
        let given = typed(given);
        let with_given_types = |key: &KeySchema| {
            let given_type = |own: &KeyAttribute| {
                given.iter().find(|given| given.name == own.name).unwrap_or(own).clone()
            };
            KeySchema {
                hash: key.hash.iter().map(given_type).collect(),
                range: key.range.iter().map(given_type).collect(),
            }
        };
        for key in std::iter::once(&self.key).chain(self.indexes.iter().map(|index| &index.key)) {
            let redefined = with_given_types(key);
            let changed = key.attributes().zip(redefined.attributes()).find(|(a, b)| a != b);
            if let Some((changed, _)) = changed {
                let new =
                    if new.contains(&changed.name) { with_given_types(new) } else { redefined };
                return Err(message::attribute_redefined(key, &new));
            }
        }
        Ok(())
    }

    /// The schema with exactly the definitions of a request.
    pub(super) fn with_definitions(
        &self,
        definitions: &[AttributeDefinition],
    ) -> (Self, Vec<KeyAttribute>) {
        let mut schema = self.clone();
        // An attribute that the table already defines keeps its type, whatever the request says.
        let known = |given: KeyAttribute| {
            let own = self.attributes.iter().find(|own| own.name == given.name);
            own.cloned().unwrap_or(given)
        };
        let given: Vec<KeyAttribute> = typed(definitions).into_iter().map(known).collect();
        for definition in &given {
            if !schema.attributes.contains(definition) {
                schema.attributes.push(definition.clone());
            }
        }
        (schema, given)
    }

    /// The schema without an index, and without the definitions that only it used.
    #[must_use]
    pub fn without_index(&self, name: &str) -> Self {
        let mut schema = self.clone();
        schema.indexes.retain(|index| index.name != name);
        schema.drop_unused_definitions();
        schema
    }

    fn add_local(&mut self, definitions: &[IndexDefinition]) -> Result<()> {
        if definitions.is_empty() {
            return Err(message::index_list_empty("LocalSecondaryIndexes"));
        }
        if self.key.range.is_empty() {
            return Err(message::local_index_without_table_range());
        }
        for definition in definitions {
            let index = local_index(definition, self)?;
            self.add(index)?;
        }
        if self.indexes.len() > MAX_LOCAL_INDEXES {
            return Err(message::too_many_local_indexes());
        }
        Ok(())
    }

    fn add_global(&mut self, definitions: &[IndexDefinition]) -> Result<()> {
        if definitions.is_empty() {
            return Err(message::index_list_empty("GlobalSecondaryIndexes"));
        }
        for definition in definitions {
            let index = global_index(definition, &self.attributes)?;
            self.add(index)?;
        }
        if definitions.len() > MAX_GLOBAL_INDEXES {
            return Err(message::too_many_global_indexes());
        }
        Ok(())
    }

    fn add(&mut self, index: IndexSchema) -> Result<()> {
        if self.index(&index.name).is_some() {
            return Err(message::index_repeated(&index.name));
        }
        self.indexes.push(index);
        Ok(())
    }

    pub(super) fn check_projected_total(&self) -> Result<()> {
        let listed = |projection: &Projection| match projection {
            Projection::Include(names) => names.len(),
            Projection::All | Projection::KeysOnly => 0,
        };
        let secondary: usize = self.indexes.iter().map(|index| listed(&index.projection)).sum();
        // The vector itself and each inline filter count as one.
        let beside = |index: &VectorIndexSchema| {
            index.search.iter().filter(|element| element.role == SearchRole::InlineFilter).count()
        };
        let vector = |index: &VectorIndexSchema| 1 + beside(index) + listed(&index.projection);
        let vector: usize = self.vector_indexes.iter().map(vector).sum();
        if secondary + vector > MAX_PROJECTED_ATTRIBUTES {
            return Err(message::too_many_projected(MAX_PROJECTED_ATTRIBUTES));
        }
        Ok(())
    }

    /// Every definition must be used.
    fn check_definitions(&self) -> Result<()> {
        let used = self.used_attributes();
        let defined = names(&self.attributes);
        if defined.iter().any(|name| !used.contains(name)) {
            return Err(message::attributes_unused(&defined, &used));
        }
        Ok(())
    }

    /// Drops the definitions of attributes that no key uses.
    pub fn drop_unused_definitions(&mut self) {
        let used: Vec<Str> = self.used_attributes().into_iter().map(Str::from).collect();
        self.attributes.retain(|attribute| used.contains(&attribute.name));
    }

    /// The attributes used by keys and search schemas, without duplicates.
    fn used_attributes(&self) -> Vec<&str> {
        let mut used: Vec<&str> = Vec::new();
        let keys = std::iter::once(&self.key).chain(self.indexes.iter().map(|index| &index.key));
        let searched = self.vector_indexes.iter().flat_map(|index| &index.search);
        let searched = searched.map(|element| &element.attribute);
        for attribute in keys.flat_map(KeySchema::attributes).chain(searched) {
            if !used.contains(&attribute.name.as_str()) {
                used.push(&attribute.name);
            }
        }
        used
    }
}

/// Validates the key of a table.
fn table_key(elements: &[KeyElement], defined: &[KeyAttribute]) -> Result<KeySchema> {
    if elements.len() > defined.len() {
        return Err(message::key_undefined());
    }
    simple_key(elements, defined)
}

fn local_index(definition: &IndexDefinition, table: &TableSchema) -> Result<IndexSchema> {
    let name = definition.name.clone().unwrap_or_default();
    let key = simple_key(definition.key.as_deref().unwrap_or_default(), &table.attributes)?;
    if key.range.is_empty() {
        return Err(message::local_index_without_range(&name));
    }
    if let (Some(index_hash), Some(table_hash)) = (key.hash.first(), table.key.hash.first())
        && index_hash.name != table_hash.name
    {
        return Err(message::local_index_other_hash(&name, &index_hash.name, &table_hash.name));
    }
    let projection = projection(definition.projection.as_ref())?;
    Ok(IndexSchema { name, kind: IndexKind::Local, key, projection })
}

fn global_index(definition: &IndexDefinition, defined: &[KeyAttribute]) -> Result<IndexSchema> {
    let name = definition.name.clone().unwrap_or_default();
    let elements = definition.key.as_deref().unwrap_or_default();
    let key = if is_multi_attribute(elements) {
        multi_attribute_key(elements, defined)?
    } else {
        simple_key(elements, defined)?
    };
    let projection = projection(definition.projection.as_ref())?;
    Ok(IndexSchema { name, kind: IndexKind::Global, key, projection })
}

/// Whether a key needs the multi-attribute rules of November 2025: three elements or two partition
/// attributes.
fn is_multi_attribute(elements: &[KeyElement]) -> bool {
    let hashes = elements.iter().filter(|element| element.role.as_deref() == Some("HASH")).count();
    elements.len() > 2 || hashes > 1
}

/// A key of one partition attribute and optionally a sort attribute.
fn simple_key(elements: &[KeyElement], defined: &[KeyAttribute]) -> Result<KeySchema> {
    let attributes = key_attributes(elements, defined)?;
    if first_repeated(&names_of(elements)).is_some() {
        return Err(message::key_repeated());
    }
    let mut attributes = attributes.into_iter();
    let Some((KeyRole::Hash, hash)) = attributes.next() else {
        return Err(message::first_not_hash());
    };
    let range = match attributes.next() {
        Some((KeyRole::Range, range)) => Some(range),
        Some((KeyRole::Hash, _)) => return Err(message::second_not_range()),
        None => None,
    };
    Ok(KeySchema::simple(hash, range))
}

/// A key of up to four partition and four sort attributes.
fn multi_attribute_key(elements: &[KeyElement], defined: &[KeyAttribute]) -> Result<KeySchema> {
    let attributes = key_attributes(elements, defined)?;
    if first_repeated(&names_of(elements)).is_some() {
        return Err(message::key_attribute_repeated());
    }
    if !matches!(attributes.first(), Some((KeyRole::Hash, _))) {
        return Err(message::first_not_hash());
    }
    let mut key = KeySchema::default();
    for (role, attribute) in attributes {
        match role {
            KeyRole::Range => key.range.push(attribute),
            KeyRole::Hash if key.range.is_empty() => key.hash.push(attribute),
            KeyRole::Hash => return Err(message::hash_after_range()),
        }
    }
    if key.hash.len() > MAX_HASH_ATTRIBUTES {
        return Err(message::too_many_key_attributes("HASH"));
    }
    if key.range.len() > MAX_RANGE_ATTRIBUTES {
        return Err(message::too_many_key_attributes("RANGE"));
    }
    Ok(key)
}

/// The elements of a key with their types.
fn key_attributes(
    elements: &[KeyElement],
    defined: &[KeyAttribute],
) -> Result<Vec<(KeyRole, KeyAttribute)>> {
    elements
        .iter()
        .map(|element| {
            let name = element.name.as_deref().unwrap_or_default();
            let role = KeyRole::from_wire(element.role.as_deref().unwrap_or_default())
                .ok_or_else(message::first_not_hash)?;
            let attribute =
                defined.iter().find(|attribute| attribute.name == name).ok_or_else(|| {
                    message::attributes_undefined(&names_of(elements), &names(defined))
                })?;
            Ok((role, attribute.clone()))
        })
        .collect()
}

/// Validates a projection.
pub(super) fn projection(definition: Option<&ProjectionDefinition>) -> Result<Projection> {
    let projection = definition.cloned().unwrap_or_default();
    match (projection.kind.as_deref(), projection.attributes) {
        (Some("ALL"), None) => Ok(Projection::All),
        (Some("KEYS_ONLY"), None) => Ok(Projection::KeysOnly),
        (Some("INCLUDE"), Some(names)) => {
            let listed: Vec<&str> = names.iter().map(Str::as_str).collect();
            match first_repeated(&listed) {
                Some(name) => Err(message::projected_twice(name)),
                None => Ok(Projection::Include(names)),
            }
        }
        (Some("INCLUDE"), None) => Err(message::projection_without_attributes()),
        (Some(kind), Some(_)) => Err(message::projection_with_attributes(kind)),
        (_, _) => Err(message::projection_type_missing()),
    }
}

/// Refuses a second definition of an attribute. AWS looks at this before it looks at keys and indexes.
pub fn check_defined_once(definitions: &[AttributeDefinition]) -> Result<()> {
    let names = definitions.iter().map(|definition| definition.name.as_deref().unwrap_or_default());
    match first_repeated(&names.collect::<Vec<_>>()) {
        Some(name) => Err(message::attribute_defined_twice(name)),
        None => Ok(()),
    }
}

/// The complete and valid definitions; the model has refused others.
fn typed(definitions: &[AttributeDefinition]) -> Vec<KeyAttribute> {
    definitions
        .iter()
        .filter_map(|definition| {
            let kind = ScalarType::from_wire(definition.kind.as_deref()?)?;
            Some(KeyAttribute { name: definition.name.clone()?, kind })
        })
        .collect()
}

fn names(attributes: &[KeyAttribute]) -> Vec<&str> {
    attributes.iter().map(|attribute| attribute.name.as_str()).collect()
}

fn names_of(elements: &[KeyElement]) -> Vec<&str> {
    elements.iter().map(|element| element.name.as_deref().unwrap_or_default()).collect()
}

fn first_repeated<'a>(names: &[&'a str]) -> Option<&'a str> {
    let earlier = |at: usize, name: &&str| names.iter().take(at).any(|other| other == name);
    names.iter().enumerate().find(|(at, name)| earlier(*at, name)).map(|(_, name)| *name)
}
