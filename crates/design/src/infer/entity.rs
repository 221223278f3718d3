//! Kinds of items as entities of a design.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_core::{AttributeValue, Number};

use super::cluster::{self, Keys, Kind, bare_name};
use super::fields::{self, FoundField};
use super::key::{KeyPlan, KeyReader, Piece};
use super::name::entity_name;
use super::sparse::{self, Sparse};
use super::{Kept, Observed, free};
use crate::draft::print::Notes;
use crate::draft::{Draft, EntityDraft, FieldDraft, KeyDraft, ProjectionDraft, TableDraft};

/// The most fields of an entity.
const MAX_FIELDS: usize = 200;

/// The entities of one table.
pub(super) struct Found {
    pub(super) table: TableDraft,
    pub(super) entities: Vec<EntityDraft>,
}

/// A key attribute of the table or of an index.
struct KeyAttribute<'t> {
    name: &'t str,
    is_partition: bool,
    is_primary: bool,
}

/// Finds the entities of a table.
pub(super) fn entities_of(observed: &Observed, known: &Draft, notes: &mut Notes) -> Found {
    let mut table = observed.table.clone();
    let table_name = table.name.value.clone();
    let attributes = key_attributes(&observed.table);
    let primary: Vec<&str> =
        attributes.iter().filter(|key| key.is_primary).map(|key| key.name).collect();
    let all: Vec<&str> = attributes.iter().map(|key| key.name).collect();
    if observed.sample.items.is_empty() {
        notes.add(&["table", &table_name], "The table is empty: nothing can be said of its items.");
        return Found { table, entities: Vec::new() };
    }
    let separator = cluster::separator(observed);
    if separator != "#" {
        table.separator = Some(free(separator));
    }
    let tag = cluster::type_attribute(observed, &all);
    let mut keys = Keys { primary: primary.clone(), separator, type_attribute: tag.as_deref() };
    let mut kinds = cluster::kinds(observed, &keys);
    if tag.is_some() && !is_one_to_one(&kinds, &keys, known) {
        keys.type_attribute = None;
        kinds = cluster::kinds(observed, &keys);
    }
    table.type_attribute = keys.type_attribute.map(free);
    kinds.sort_by(|a, b| {
        (a.opaque.len(), weight_of(&b.items))
            .partial_cmp(&(b.opaque.len(), weight_of(&a.items)))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    set_ttl(&mut table, observed, notes);
    let scale = match observed.items {
        Some(items) if observed.sample.read > 0 && items > observed.sample.read => {
            items as f64 / observed.sample.read as f64
        }
        _ => 1.0,
    };
    let is_complete = scale <= 1.0 && observed.sample.items.len() as u64 == observed.sample.read;
    let builder =
        Builder { table: &table, attributes: &attributes, keys: &keys, scale, is_complete };
    let before = notes.clone();
    let mut entities = builder.entities(&kinds, known, notes);
    let is_opaque = |entity: &EntityDraft| {
        !entity.keys.iter().any(|key| primary.contains(&key.attribute.value.as_str()))
    };
    if entities.iter().filter(|entity| is_opaque(entity)).count() > 1 {
        // Keys of any form: nothing tells such kinds apart.
        let (mut rest, mut told) = (Kind::default(), Vec::new());
        rest.opaque = primary.iter().map(|name| (*name).to_owned()).collect();
        for (kind, entity) in kinds.into_iter().zip(&entities) {
            if is_opaque(entity) { rest.items.extend(kind.items) } else { told.push(kind) }
        }
        told.push(rest);
        *notes = before;
        entities = builder.entities(&told, known, notes);
    }
    with_unseen(&mut table, &mut entities, observed, notes);
    Found { table, entities }
}

/// Gives an entity, the one with most items if it can take it, what the table's settings name and no item of the sample has: the expiry
/// time, and what projections list. Without it, a deployment of the design would change the table that it was found in.
fn with_unseen(
    table: &mut TableDraft,
    entities: &mut [EntityDraft],
    observed: &Observed,
    notes: &mut Notes,
) {
    let is_field = |entities: &[EntityDraft], attribute: &str| {
        entities.iter().any(|entity| {
            let mut fields = entity.fields.iter().filter(|field| !field.key_only);
            fields.any(|field| field.name.value == attribute)
        })
    };
    // What was only guessed by its name, and has values of several types, is not it.
    table.ttl.take_if(|ttl| observed.table.ttl.is_none() && !is_field(entities, &ttl.value));
    if let Some(ttl) = table.ttl.take() {
        let note = "Items expire by it, and no item that was looked at has it as a number.";
        if is_field(entities, &ttl.value) || declare(entities, &ttl.value, "number", note, notes) {
            table.ttl = Some(ttl);
        }
    }
    let keys = key_attributes(&observed.table);
    let tag = table.type_attribute.as_ref().map(|tag| tag.value.as_str());
    let is_setting =
        |attribute: &str| tag == Some(attribute) || keys.iter().any(|key| key.name == attribute);
    let has = |attribute: &str| {
        observed.sample.items.iter().any(|kept| kept.item.contains_key(attribute))
    };
    for index in &mut table.indexes {
        let ProjectionDraft::Include(names) = &mut index.projection else { continue };
        let mut listed = std::mem::take(names);
        listed.retain(|own| {
            if is_setting(&own.value) || is_field(entities, &own.value) {
                return true;
            }
            let index = &index.name.value;
            let note = format!(
                "{index} projects it, and no item that was looked at has it: the type is a guess."
            );
            // What items have and is no field was left out for a reason that was said.
            if !has(&own.value) && declare(entities, &own.value, "string", &note, notes) {
                return true;
            }
            let what = format!("{index} also projects `{}`.", own.value);
            notes.add(&["table", &table.name.value], what);
            false
        });
        index.projection = if listed.is_empty() {
            ProjectionDraft::Keys
        } else {
            ProjectionDraft::Include(listed)
        };
    }
}

/// Adds an optional field that no item of the sample has, if an entity has no field of that name that only keys have.
fn declare(
    entities: &mut [EntityDraft],
    name: &str,
    kind: &str,
    note: &str,
    notes: &mut Notes,
) -> bool {
    let is_free = |entity: &EntityDraft| entity.fields.iter().all(|own| own.name.value != name);
    let Some(entity) = entities.iter_mut().find(|entity| is_free(entity)) else { return false };
    let mut field = FieldDraft::new(name, kind);
    field.optional = true;
    notes.add(&["entity", &entity.name.value, name], note);
    entity.fields.push(field);
    true
}

/// Whether the type attribute can name the entities: each value is one kind, and no other table has its name.
fn is_one_to_one(kinds: &[Kind<'_>], keys: &Keys<'_>, known: &Draft) -> bool {
    let mut seen = BTreeSet::new();
    if kinds.len() > 1 && cluster::are_alike(kinds, keys) {
        return false;
    }
    kinds.iter().all(|kind| {
        let name = kind.type_value.as_deref().unwrap_or_default();
        let is_free = !known.entities.iter().any(|entity| entity.name.value == name);
        !name.is_empty() && is_free && seen.insert(name)
    })
}

fn key_attributes(table: &TableDraft) -> Vec<KeyAttribute<'_>> {
    let mut found: Vec<KeyAttribute<'_>> = Vec::new();
    for (list, is_partition) in [(&table.partition_key, true), (&table.sort_key, false)] {
        for name in list {
            found.push(KeyAttribute {
                name: bare_name(&name.value),
                is_partition,
                is_primary: true,
            });
        }
    }
    for index in &table.indexes {
        for (list, is_partition) in [(&index.partition_key, true), (&index.sort_key, false)] {
            for name in list {
                let name = bare_name(&name.value);
                match found.iter_mut().find(|key| key.name == name) {
                    Some(key) => key.is_partition |= is_partition,
                    None => found.push(KeyAttribute { name, is_partition, is_primary: false }),
                }
            }
        }
    }
    found
}

/// The attributes that most items have.
fn most_frequent<'k>(kind: &Kind<'k>) -> BTreeSet<&'k str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in kind.items.iter().flat_map(|kept| kept.item.keys()) {
        *counts.entry(name.as_str()).or_default() += 1;
    }
    let mut names: Vec<(&str, usize)> = counts.into_iter().collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    names.into_iter().take(MAX_FIELDS).map(|(name, _)| name).collect()
}

/// Whether a template can name the attribute.
fn is_field_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn attribute_names<'k>(kind: &Kind<'k>) -> BTreeSet<&'k str> {
    kind.items.iter().flat_map(|kept| kept.item.keys().map(keyloom_core::Str::as_str)).collect()
}

fn weight_of(items: &[&Kept]) -> f64 {
    items.iter().map(|kept| kept.weight).sum()
}

/// The attribute with the expiry time, by its name and its values.
fn set_ttl(table: &mut TableDraft, observed: &Observed, notes: &mut Notes) {
    if table.ttl.is_some() {
        return;
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let in_years = |number: &Number| {
        number.to_string().parse::<f64>().is_ok_and(|value| (1e9..=1e10).contains(&value))
    };
    for kept in &observed.sample.items {
        for (name, value) in kept.item.iter() {
            let lower = name.to_ascii_lowercase();
            let named = lower.contains("ttl") || lower.contains("expir");
            match value {
                AttributeValue::N(number) if named && in_years(number) => {
                    *counts.entry(name.as_str()).or_default() += 1;
                }
                _ => {}
            }
        }
    }
    if let Some((name, count)) = counts.into_iter().max_by_key(|(_, count)| *count) {
        notes.add(
            &["table", &table.name.value],
            format!("`{name}` is taken for the expiry time by its name: it is a number of seconds in {count} items."),
        );
        table.ttl = Some(free(name));
    }
}

struct Builder<'b> {
    table: &'b TableDraft,
    attributes: &'b [KeyAttribute<'b>],
    keys: &'b Keys<'b>,
    /// How many items of the table each one that was read stands for.
    scale: f64,
    /// Whether every item was looked at.
    is_complete: bool,
}

impl Builder<'_> {
    fn entities(&self, kinds: &[Kind<'_>], known: &Draft, notes: &mut Notes) -> Vec<EntityDraft> {
        let mut entities: Vec<EntityDraft> = Vec::new();
        for kind in kinds {
            let taken = |name: &str| {
                let same = |entity: &EntityDraft| entity.name.value == name;
                known.entities.iter().any(same) || entities.iter().any(same)
            };
            let entity = self.entity(kind, &taken, notes);
            entities.push(entity);
        }
        entities
    }

    fn entity(
        &self,
        kind: &Kind<'_>,
        taken: &dyn Fn(&str) -> bool,
        notes: &mut Notes,
    ) -> EntityDraft {
        let mut reader = KeyReader {
            items: &kind.items,
            separator: self.keys.separator,
            sources: self.sources(kind),
            fields: Vec::new(),
        };
        // Attributes that are taken as they are may stand in other keys: they are found first.
        for name in self.native_candidates(kind) {
            let plan = reader.read(name, false);
            reader.fields.clear();
            if plan.is_some_and(|plan| plan.pieces.is_none()) {
                reader.sources.push(name);
            }
        }
        let mut plans: Vec<KeyPlan> = Vec::new();
        for key in self.attributes {
            if kind.opaque.contains(key.name) {
                let attribute = key.name.to_owned();
                plans.push(KeyPlan { attribute, pieces: None, doubts: Vec::new() });
            } else {
                plans.extend(reader.read(key.name, key.is_partition));
            }
        }
        let name = match &kind.type_value {
            Some(name) if self.table.type_attribute.is_some() => name.clone(),
            _ => entity_name(&plans, self.keys.separator, &self.table.name.value, taken),
        };
        let mut entity = EntityDraft::new(&name, &self.table.name.value);
        let found = self.fields(kind, &plans, &mut reader, &name, notes);
        entity.fields = found.iter().map(|found| found.draft.clone()).collect();
        sparse::mark_optional(&kind.items, &plans, &mut entity.fields);
        for plan in &plans {
            for doubt in &plan.doubts {
                notes.add(&["entity", &name, &plan.attribute], doubt.clone());
            }
            let both = (plan, plans.as_slice());
            if let Some(key) = Self::key(kind, both, &found, &entity.fields, &name, notes) {
                entity.keys.push(key);
            }
        }
        if !kind.opaque.is_empty() {
            notes
                .add(&["entity", &name], "Keys without a common form: they are taken as they are.");
        }
        self.set_volumes(kind, &mut entity, notes);
        entity
    }

    /// The plain attributes that keys may be copies of.
    fn sources<'k>(&self, kind: &Kind<'k>) -> Vec<&'k str> {
        let is_key = |name: &str| self.attributes.iter().any(|key| key.name == name);
        let is_tag = |name: &str| self.keys.type_attribute == Some(name);
        let all = attribute_names(kind);
        let names = if all.len() > MAX_FIELDS { most_frequent(kind) } else { all };
        names
            .into_iter()
            .filter(|name| is_field_name(name) && !is_key(name) && !is_tag(name))
            .collect()
    }

    /// The key attributes of indexes that have one part only, and a name of their own.
    fn native_candidates<'k>(&self, kind: &Kind<'k>) -> Vec<&'k str> {
        let names = attribute_names(kind);
        let is_value = |name: &str| {
            kind.items.iter().all(|kept| {
                let text = kept.item.get(name).and_then(AttributeValue::as_s);
                text.is_none_or(|text| !text.contains(self.keys.separator))
            })
        };
        let generic = |name: &str| {
            let lower = name.to_ascii_lowercase();
            ["pk", "sk", "gsi", "lsi"].iter().any(|word| lower.contains(word))
        };
        let key = |name: &str| self.attributes.iter().find(|key| key.name == name);
        names
            .into_iter()
            .filter(|name| key(name).is_some_and(|key| !key.is_primary))
            .filter(|name| is_field_name(name) && is_value(name) && !generic(name))
            .collect()
    }

    fn fields(
        &self,
        kind: &Kind<'_>,
        plans: &[KeyPlan],
        reader: &mut KeyReader<'_>,
        entity: &str,
        notes: &mut Notes,
    ) -> Vec<FoundField> {
        let templated =
            |name: &str| plans.iter().any(|plan| plan.attribute == name && plan.pieces.is_some());
        let native =
            |name: &str| plans.iter().any(|plan| plan.attribute == name && plan.pieces.is_none());
        let mut found: Vec<FoundField> = Vec::new();
        for key in reader.fields.iter().filter(|key| !key.is_stored) {
            found.push(fields::key_only(key));
        }
        let names = attribute_names(kind);
        let shown: BTreeSet<&str> =
            if names.len() > MAX_FIELDS { most_frequent(kind) } else { names.clone() };
        if shown.len() < names.len() {
            let text = format!(
                "Left out: {} attributes beyond the {MAX_FIELDS} most frequent; names may be values here.",
                names.len() - shown.len()
            );
            notes.add(&["entity", entity], text);
        }
        for name in shown {
            if templated(name) || self.keys.type_attribute == Some(name) {
                continue;
            }
            let mut key =
                reader.fields.iter().find(|key| key.name == name && key.is_stored).cloned();
            if native(name) && key.is_none() {
                key = native_shard(name, kind, reader);
            }
            match fields::stored(name, &kind.items, key.as_ref(), native(name)) {
                Ok(field) => found.push(field),
                Err(reason) => notes.add(&["entity", entity], format!("Left out: {reason}.")),
            }
        }
        for field in &found {
            for doubt in &field.doubts {
                notes.add(&["entity", entity, &field.draft.name.value], doubt.clone());
            }
        }
        // Those that make the keys come first.
        let in_keys: Vec<&str> = reader.fields.iter().map(|key| key.name.as_str()).collect();
        found.sort_by_key(|field| {
            let name = field.draft.name.value.as_str();
            in_keys.iter().position(|key| *key == name).unwrap_or(usize::MAX)
        });
        found
    }

    /// The key of a plan; none for one that is taken as it is.
    fn key(
        kind: &Kind<'_>,
        (plan, plans): (&KeyPlan, &[KeyPlan]),
        found: &[FoundField],
        drafts: &[FieldDraft],
        entity: &str,
        notes: &mut Notes,
    ) -> Option<KeyDraft> {
        let pieces = plan.pieces.as_ref()?;
        let mut when = None;
        if kind.items.iter().any(|kept| !kept.item.contains_key(&plan.attribute)) {
            when = match sparse::when(&kind.items, plan, plans, drafts) {
                Sparse::When(condition) => Some(condition),
                Sparse::ByItsFields => None,
                Sparse::Unknown => {
                    let note = format!(
                        "only some items have `{}`, and no attribute tells which: a `when` is missing",
                        plan.attribute
                    );
                    notes.add(&["entity", entity, &plan.attribute], note);
                    None
                }
            };
        }
        Some(KeyDraft {
            attribute: free(&plan.attribute),
            template: free(&template_text(pieces, found)),
            when: when.as_deref().map(free),
        })
    }

    fn set_volumes(&self, kind: &Kind<'_>, entity: &mut EntityDraft, notes: &mut Notes) {
        let weight = weight_of(&kind.items);
        let bytes: f64 = kind.items.iter().map(|kept| kept.bytes as f64 * kept.weight).sum();
        let largest = kind.items.iter().map(|kept| kept.bytes).max().unwrap_or(0) as f64;
        let average = (bytes / weight.max(1.0)).max(1.0);
        entity.count = Some((weight * self.scale).round().max(1.0));
        entity.size = Some(average.round());
        entity.max_size = (largest > average * 4.0).then_some(largest);
        let name = entity.name.value.clone();
        let Some(partition) = self.keys.primary.first() else { return };
        let mut partitions: BTreeMap<String, f64> = BTreeMap::new();
        for kept in &kind.items {
            let value = kept.item.get(partition).map(|value| format!("{value:?}"));
            *partitions.entry(value.unwrap_or_default()).or_default() += kept.weight;
        }
        let top = partitions.iter().max_by(|a, b| a.1.total_cmp(b.1));
        let share = top.map_or(0.0, |(_, top)| top / weight.max(1.0));
        if kind.items.len() >= 50 && share >= 0.05 {
            let key = kind.items.iter().find(|kept| {
                let value = kept.item.get(partition).map(|value| format!("{value:?}"));
                value.as_ref() == top.map(|(key, _)| key)
            });
            let shown = key.and_then(|kept| super::link::text_of(kept.item.get(partition)?));
            notes.add(
                &["entity", &name],
                format!(
                    "{:.0} % of the items are in one partition{}.",
                    share * 100.0,
                    shown.map(|key| format!(", `{key}`")).unwrap_or_default()
                ),
            );
        }
        let own = entity.keys.iter().find(|key| key.attribute.value == *partition);
        let fields: Vec<String> = own.map(|key| fields_in(&key.template.value)).unwrap_or_default();
        if let ([only], true) = (fields.as_slice(), self.is_complete && kind.items.len() >= 50)
            && partitions.len() < kind.items.len()
            && let Some(field) = entity.fields.iter_mut().find(|field| field.name.value == *only)
            && field.shards.is_none()
            && field.values.is_empty()
        {
            field.distinct = Some(partitions.len() as f64);
            field.top_share = (share >= 0.05).then_some(share);
        }
    }
}

/// A number of an index key that is calculated from other attributes.
fn native_shard(
    name: &str,
    kind: &Kind<'_>,
    reader: &KeyReader<'_>,
) -> Option<super::key::KeyField> {
    let texts: Vec<(&keyloom_core::Item, String)> = kind
        .items
        .iter()
        .filter_map(|kept| Some((&kept.item, kept.item.get(name)?.as_n()?.to_string())))
        .collect();
    let rows: Vec<super::link::Row<'_>> =
        texts.iter().map(|(item, text)| (*item, text.as_str())).collect();
    let sources: Vec<&str> =
        reader.sources.iter().copied().filter(|other| *other != name).collect();
    let shard = super::link::shard(&rows, &sources, false)?;
    Some(super::key::KeyField::sharded(name, shard))
}

/// The names in braces.
pub(super) fn fields_in(template: &str) -> Vec<String> {
    let inner = template.split('{').skip(1).filter_map(|part| part.split_once('}'));
    inner.map(|(field, _)| field.split(':').next().unwrap_or(field).to_owned()).collect()
}

/// The template as it is written: formats only where keys write a field otherwise than it is.
fn template_text(pieces: &[Piece], found: &[FoundField]) -> String {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => {
                text.push_str(&literal.replace('{', "{{").replace('}', "}}"));
            }
            Piece::Field { name, format } => {
                let field = found.iter().find(|field| field.draft.name.value == *name);
                let own = field.and_then(|field| field.format.as_ref());
                let is_text = |format: &keyloom_keys::FieldFormat| {
                    format.is_text()
                        && format.case() == keyloom_keys::Case::AsIs
                        && !format.is_desc()
                };
                let shown = format.as_ref().filter(|format| {
                    own != Some(format) && !(own.is_none_or(is_text) && is_text(format))
                });
                match shown {
                    Some(format) => text.extend(["{", name, ":", &format.to_string(), "}"]),
                    None => text.extend(["{", name, "}"]),
                }
            }
        }
    }
    text
}
