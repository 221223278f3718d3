//! Layout: from views to key attributes and templates.
//!
//! A partition key names its fields (`PROJECT#{project_id}`), so that entities which are pinned by the same field share a
//! partition. A sort key begins with the entity's name, so that no range of one entity holds items of another.

use crate::draft::{EntityDraft, FieldDraft, IndexDraft, KeyDraft, ProjectionDraft, TableDraft};
use crate::model::{Entity, KeyType};
use crate::source::Spanned;

use super::view::{View, native_type};

/// The attributes of one place for keys: the table itself, or an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The index; none for the table.
    pub(super) index: Option<String>,
    /// The partition key attribute.
    pub(super) hash: String,
    /// The sort key attribute.
    pub(super) range: Option<String>,
}

/// A name in capitals, as keys have them: `OrderItem` is `ORDER_ITEM`.
pub(super) fn literal(name: &str, separator: &str) -> String {
    let mut text = String::new();
    let mut last_small = false;
    for c in name.chars() {
        if c.is_uppercase() && last_small {
            text.push('_');
        }
        last_small = c.is_lowercase() || c.is_ascii_digit();
        text.push(if c.is_alphanumeric() { c } else { '_' });
    }
    let text = text.to_uppercase();
    if separator.contains('_') { text.replace('_', "") } else { text }
}

fn field_literal(name: &str, separator: &str) -> String {
    let stem = name.strip_suffix("_id").or_else(|| name.strip_suffix("Id")).unwrap_or(name);
    literal(if stem.is_empty() { name } else { stem }, separator)
}

/// The template of the partition key.
pub(super) fn hash_text(entity: &str, view: &View, separator: &str, shard: Option<&str>) -> String {
    let mut parts: Vec<String> = Vec::new();
    if view.hash.is_empty() {
        parts.push(literal(entity, separator));
        parts.extend(view.when.as_deref().map(|when| literal(stated(when), separator)));
    }
    for part in &view.hash {
        // A period follows what it divides.
        if part.form.is_none() || view.hash.len() == 1 {
            parts.push(field_literal(&part.field, separator));
        }
        parts.push(part.text());
    }
    parts.extend(shard.map(|field| format!("{{{field}}}")));
    parts.join(separator)
}

/// The first value that a condition states, to name the constant key of a sparse index.
fn stated(when: &str) -> &str {
    when.split('\'').nth(1).unwrap_or("SOME")
}

/// The template of the sort key.
pub(super) fn range_text(entity: &str, view: &View, separator: &str) -> String {
    let own = literal(entity, separator);
    let parts = view.range.iter().map(super::view::Part::text);
    std::iter::once(own).chain(parts).collect::<Vec<_>>().join(separator)
}

/// The name of the shard field that a view uses; it is added if the entity has none that will do.
pub(super) fn shard_field(entity: &mut EntityDraft, view: &View) -> Option<String> {
    if view.shards < 2 {
        return None;
    }
    let wanted = u64::from(view.shards);
    let fits = |field: &&FieldDraft| field.kind.value == "shard" && field.shards == Some(wanted);
    if let Some(own) = entity.fields.iter().find(fits) {
        return Some(own.name.value.clone());
    }
    let taken = |name: &str| entity.fields.iter().any(|field| field.name.value == name);
    let name = std::iter::once("shard".to_owned())
        .chain((2..100).map(|n| format!("shard{n}")))
        .find(|name| !taken(name))?;
    let mut field = FieldDraft::new(&name, "shard");
    field.shards = Some(wanted);
    field.shard_by.clone_from(&entity.identity);
    entity.fields.push(field);
    Some(name)
}

/// Gives an entity its keys in one place.
pub(super) fn add_keys(entity: &mut EntityDraft, view: &View, place: &Place, separator: &str) {
    let key = |attribute: &str, template: String| KeyDraft {
        attribute: Spanned::free(attribute),
        template: Spanned::free(template),
        when: view.when.clone().map(Spanned::free),
    };
    let shard = shard_field(entity, view);
    let name = entity.name.value.clone();
    let hash = match &view.kept {
        Some(kept) => kept.hash.clone(),
        None => hash_text(&name, view, separator, shard.as_deref()),
    };
    entity.keys.push(key(&place.hash, hash));
    if let Some(attribute) = &place.range {
        let kept = view.kept.as_ref().and_then(|kept| kept.range.clone());
        let range = kept.unwrap_or_else(|| range_text(&name, view, separator));
        entity.keys.push(key(attribute, range));
    }
}

/// An index over attributes that are fields themselves.
pub(super) fn native_index(name: &str, entity: &Entity, view: &View) -> Option<IndexDraft> {
    let attributes = |parts: &[super::view::Part]| -> Option<Vec<Spanned<String>>> {
        let one = |part: &super::view::Part| {
            let kind = native_type(entity, &part.field).filter(|_| part.form.is_none())?;
            let text = match kind {
                KeyType::S => part.field.clone(),
                kind => format!("{}:{}", part.field, kind.as_str()),
            };
            Some(Spanned::free(text))
        };
        parts.iter().map(one).collect()
    };
    let (hash, range) = (attributes(&view.hash)?, attributes(&view.range)?);
    let fits = (1..=4).contains(&hash.len()) && range.len() <= 4;
    (fits && view.when.is_none() && view.shards < 2).then(|| IndexDraft {
        name: Spanned::free(name),
        partition_key: hash,
        sort_key: range,
        projection: ProjectionDraft::All,
        local: false,
    })
}

/// The separator of a table.
pub(super) fn separator(table: &TableDraft) -> String {
    table.separator.as_ref().map_or_else(|| "#".to_owned(), |text| text.value.clone())
}
