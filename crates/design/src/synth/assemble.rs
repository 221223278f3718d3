//! Assembly: the chosen views of all entities become the keys and indexes of their tables.
//!
//! Entities share indexes: the n-th index of a table holds one view of each entity that has n. A pattern of several entities
//! may read each of them in another index; the planner merges what they return.

use std::sync::Arc;

use crate::draft::{Draft, EntityDraft, IndexDraft, KeyDraft, ProjectionDraft, TableDraft};
use crate::model::{Design, Entity};
use crate::source::Spanned;

use super::layout::{Place, add_keys, hash_text, literal, native_index, separator};
use super::open::Open;
use super::solve::Chosen;
use super::view::View;

/// The places that a table has for keys: its own, then indexes of the file whose attributes can be used, then new ones.
pub(super) fn places(table: &TableDraft, design: &Design, most: usize) -> Vec<Place> {
    let is_field = |name: &str| {
        let mut all = design.entities().iter().flat_map(|entity| &entity.fields);
        all.any(|field| field.name == name)
    };
    let usable = |names: &[Spanned<String>]| match names {
        [only] if !only.value.contains(':') && !is_field(&only.value) => Some(only.value.clone()),
        _ => None,
    };
    let own = Place {
        index: None,
        hash: usable(&table.partition_key).unwrap_or_else(|| "PK".to_owned()),
        range: Some(usable(&table.sort_key).unwrap_or_else(|| "SK".to_owned())),
    };
    let mut all = vec![own.clone()];
    for index in table.indexes.iter().filter(|index| !index.local) {
        let attributes = usable(&index.partition_key).zip(usable(&index.sort_key));
        let Some((hash, range)) = attributes else { continue };
        let taken = |name: &String| {
            all.iter().any(|place| place.hash == *name || place.range.as_ref() == Some(name))
        };
        if !taken(&hash) && !taken(&range) {
            all.push(Place { index: Some(index.name.value.clone()), hash, range: Some(range) });
        }
    }
    let mut number = 0;
    while all.len() <= most {
        number += 1;
        let name = format!("GSI{number}");
        let taken = all
            .iter()
            .any(|place| place.index.as_ref() == Some(&name) || place.hash == format!("{name}PK"));
        if !taken {
            let (hash, range) = (format!("{name}PK"), Some(format!("{name}SK")));
            all.push(Place { index: Some(name), hash, range });
        }
    }
    all
}

/// What is decided about indexes besides their keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Finish {
    /// What an index holds, by table and index; everything if it is not here.
    pub(super) projections: Vec<(String, String, ProjectionDraft)>,
    /// Whether local indexes are wanted where they will do.
    pub(super) local: bool,
    /// Indexes whose attributes are fields, by the entity's position and the number of its index.
    pub(super) native: Vec<(usize, usize)>,
    /// Indexes, by table and name, over the table's own attributes the other way round.
    pub(super) inverted: Vec<(String, String)>,
}

/// The design with the chosen keys.
pub(super) fn assemble(open: &Open, chosen: &[Chosen], finish: &Finish) -> Draft {
    let mut draft = open.draft.clone();
    for settings in &open.tables {
        let members: Vec<&Chosen> = chosen
            .iter()
            .filter(|one| {
                let entity = open.draft.entities.get(one.position);
                let table = entity.and_then(|entity| entity.table.as_ref());
                table.is_some_and(|table| table.value == settings.name.value)
            })
            .collect();
        let table = fill(open, &mut draft, settings, &members, finish);
        draft.tables.push(table);
    }
    draft
}

fn fill(
    open: &Open,
    draft: &mut Draft,
    settings: &TableDraft,
    members: &[&Chosen],
    finish: &Finish,
) -> TableDraft {
    let separator = separator(settings);
    let most = members.iter().map(|one| one.indexes.len()).max().unwrap_or(0);
    let places = places(settings, &open.design, most + settings.indexes.len());
    let mut table = settings.clone();
    table.indexes.clear();
    let mut used: Vec<&Place> = Vec::new();
    if let Some(own) = places.first() {
        table.partition_key = vec![Spanned::free(own.hash.clone())];
        table.sort_key = own.range.iter().map(|name| Spanned::free(name.clone())).collect();
    }
    for one in members {
        let (Some(entity), Some(model)) =
            (draft.entities.get_mut(one.position), open.design.entities().get(one.position))
        else {
            continue;
        };
        if let Some(own) = places.first() {
            add_keys(entity, &one.table.identified(model), own, &separator);
        }
        let mut taken: Vec<&Place> = Vec::new();
        for (number, view) in one.indexes.iter().enumerate() {
            if finish.native.contains(&(one.position, number)) || view.is_native(model) {
                let others = members.iter().filter(|other| other.position != one.position);
                let others = others
                    .filter_map(|it| open.design.entities().get(it.position).map(Arc::as_ref));
                if let Some(index) = native_for(entity, model, view, others, &separator) {
                    if table.indexes.iter().all(|known| known.name.value != index.name.value) {
                        table.indexes.push(index);
                    }
                    continue;
                }
            }
            let free = places.iter().skip(1).filter(|place| !taken.contains(place));
            let fixed = view.kept.as_ref().and_then(|kept| kept.index.as_ref());
            let place = match fixed {
                Some(name) => places.iter().find(|place| place.index.as_ref() == Some(name)),
                None => free.clone().find(|place| !is_kept(one, place)),
            };
            let Some(place) = place else { continue };
            taken.push(place);
            if !used.contains(&place) {
                used.push(place);
            }
            add_keys(entity, view, place, &separator);
        }
    }
    used.sort_by_key(|place| places.iter().position(|known| known == *place));
    for (at, place) in used.iter().enumerate() {
        let name = place.index.clone().unwrap_or_default();
        let range = place.range.as_deref().unwrap_or_default();
        let index = IndexDraft::global(&name, &[&place.hash], &[range]);
        table.indexes.insert(at, index);
    }
    project(&mut table, finish);
    let inverted =
        finish.inverted.iter().filter(|(of, _)| *of == settings.name.value).map(|(_, name)| name);
    for name in inverted {
        invert(draft, &mut table, name);
    }
    if finish.local {
        make_local(draft, &mut table);
    }
    table
}

/// The index over the fields that a view asks for, apart from the items of other entities with the same fields.
fn native_for<'m>(
    entity: &mut EntityDraft,
    model: &Entity,
    view: &View,
    mut others: impl Iterator<Item = &'m Entity>,
    separator: &str,
) -> Option<IndexDraft> {
    let mut index = native_index(&native_name(view), model, view)?;
    if others.any(|other| falls_into(other, view)) {
        set_apart(entity, model, view, &mut index, separator);
    }
    Some(index)
}

/// Gives each index the projection that was found for it.
fn project(table: &mut TableDraft, finish: &Finish) {
    for index in &mut table.indexes {
        let own = finish
            .projections
            .iter()
            .find(|(of, name, _)| *of == table.name.value && *name == index.name.value);
        if let Some((_, _, projection)) = own {
            index.projection = projection.clone();
        }
    }
}

fn is_kept(one: &Chosen, place: &Place) -> bool {
    one.indexes.iter().any(|view| {
        view.kept.as_ref().is_some_and(|kept| kept.index.is_some() && kept.index == place.index)
    })
}

/// Whether items of an entity have all fields of a key, and so are in an index over them, whichever pattern it was made for.
fn falls_into(other: &Entity, view: &View) -> bool {
    view.fields().all(|part| other.field(&part.field).is_some())
}

/// Gives an index over fields that other entities have, too, a partition key that is written for each entity: fields alone do not
/// tell whose items they are.
fn set_apart(
    entity: &mut EntityDraft,
    model: &Entity,
    view: &View,
    index: &mut IndexDraft,
    separator: &str,
) {
    let hash = View { range: Vec::new(), ..view.clone() };
    if hash.is_native(model) {
        return;
    }
    let attribute = format!("{}_pk", index.name.value);
    let name = entity.name.value.clone();
    let template = format!(
        "{}{separator}{}",
        literal(&name, separator),
        hash_text(&name, &hash, separator, None)
    );
    entity.keys.push(KeyDraft {
        attribute: Spanned::free(attribute.clone()),
        template: Spanned::free(template),
        when: None,
    });
    index.partition_key = vec![Spanned::free(attribute)];
}

fn native_name(view: &View) -> String {
    let names: Vec<&str> = view.hash.iter().map(|part| part.field.as_str()).collect();
    let after = view.range.iter().map(|part| part.field.as_str());
    let names: Vec<&str> = names.into_iter().chain(after).collect();
    format!("by_{}", names.join("_"))
}

/// Makes an index one over the table's own attributes, sort key first: nothing is written for it.
fn invert(draft: &mut Draft, table: &mut TableDraft, name: &str) {
    let (hash, range) = (table.sort_key.clone(), table.partition_key.clone());
    let Some(index) = table.indexes.iter_mut().find(|index| index.name.value == name) else {
        return;
    };
    let gone: Vec<String> =
        index.partition_key.iter().chain(&index.sort_key).map(|it| it.value.clone()).collect();
    (index.partition_key, index.sort_key) = (hash, range);
    let own = |name: &Spanned<String>| name.value == table.name.value;
    for entity in draft.entities.iter_mut().filter(|it| it.table.as_ref().is_some_and(own)) {
        entity.keys.retain(|key| !gone.contains(&key.attribute.value));
    }
}

/// An index whose partition keys are the table's own can be local.
fn make_local(draft: &mut Draft, table: &mut TableDraft) {
    let Some(own) = table.partition_key.first().map(|name| name.value.clone()) else { return };
    let mut local = 0;
    for index in &mut table.indexes {
        let [hash] = index.partition_key.as_slice() else { continue };
        let hash = hash.value.clone();
        let members = draft.entities.iter_mut().filter(|entity| {
            entity.table.as_ref().is_some_and(|name| name.value == table.name.value)
        });
        let mut members: Vec<_> = members.collect();
        let template = |entity: &crate::draft::EntityDraft, attribute: &str| {
            let key = entity.keys.iter().find(|key| key.attribute.value == attribute);
            key.map(|key| key.template.value.clone())
        };
        let alike = members.iter().all(|entity| {
            template(entity, &hash).is_none_or(|text| Some(text) == template(entity, &own))
        });
        if alike && local < 5 && index.sort_key.len() == 1 {
            local += 1;
            index.local = true;
            index.partition_key.clear();
            for entity in &mut members {
                entity.keys.retain(|key| key.attribute.value != hash);
            }
        }
    }
}
