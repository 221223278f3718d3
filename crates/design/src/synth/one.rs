//! One pattern of a design whose other keys stay: the index keys that prove it, the cheapest first.
//!
//! A pattern that finds several entities gets keys for each of them. An index that the file has and that an entity is not in
//! yet is used before a new one.

use crate::cost::Prices;
use crate::draft::IndexDraft;
use crate::draft::print::{index_text, key_line};
use crate::model::{Design, Entity, IndexKind};
use crate::repair::text::after_header;
use crate::source::Source;

use super::Options;
use super::demand::demands;
use super::layout::{Place, add_keys, native_index, separator};
use super::open::{Open, open};
use super::prove::{Judge, Role};
use super::view::{View, is_possible, views};

/// How many ways to lay out an entity are tried as changes of the file.
const MOST_WAYS: usize = 3;

/// The file with keys that may prove a pattern, the cheapest first.
pub(crate) fn texts_with_index(design: &Design, pattern: &str, prices: &Prices) -> Vec<String> {
    let source = design.source();
    let Ok(open) = open(&Source::new(source.name(), source.text()), &Options::default()) else {
        return Vec::new();
    };
    let Some(access) = design.access(pattern) else { return Vec::new() };
    let asked: Vec<&Entity> = match &access.via {
        Some(link) => vec![link],
        None => access.find.iter().map(AsRef::as_ref).collect(),
    };
    let ways: Vec<(&Entity, Vec<View>)> =
        asked.iter().map(|entity| (*entity, ways(&open, entity, pattern, prices))).collect();
    let mut texts = Vec::new();
    for new_index in [false, true] {
        for rank in 0..MOST_WAYS {
            let mut text = source.text().to_owned();
            let mut changed = ways.iter().any(|(_, views)| views.get(rank).is_some());
            for (entity, views) in &ways {
                let Some(view) = views.get(rank).or(views.first()).filter(|_| changed) else {
                    changed = false;
                    continue;
                };
                match with_view(design, &open, &text, entity, view, new_index) {
                    Some(new) => text = new,
                    None => changed = false,
                }
            }
            if changed && !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    texts
}

/// The views that serve everything a pattern asks of an entity, the cheapest first.
fn ways(open: &Open, entity: &Entity, pattern: &str, prices: &Prices) -> Vec<View> {
    let position = open.design.entities().iter().position(|it| it.name == entity.name);
    let found = position.and_then(|at| Some((at, open.design.entities().get(at)?)));
    let Some((position, entity)) = found else { return Vec::new() };
    let Some(table) = open.tables.iter().find(|it| it.name.value == entity.table.name) else {
        return Vec::new();
    };
    let mut demands = demands(&open.design, &open.draft, entity);
    demands.retain(|demand| demand.pattern == pattern);
    let tenant = table.tenant.as_ref().map(|name| name.value.as_str());
    let judge = Judge { draft: &open.draft, table, entity, position, demands: &demands, prices };
    let (mut possible, _) = views(entity, &demands, tenant);
    possible.retain(|view| is_possible(entity, view));
    let mut priced: Vec<(f64, View)> = possible
        .into_iter()
        .filter_map(|view| {
            let service = judge.service(&view, Role::Index)?;
            let reads: Option<f64> =
                service.reads.iter().map(|read| read.map(super::prove::Price::figure)).sum();
            Some((reads? + service.upkeep, view))
        })
        .collect();
    priced.sort_by(|a, b| a.0.total_cmp(&b.0));
    priced.into_iter().take(MOST_WAYS).map(|(_, view)| view).collect()
}

/// The file with one view of an entity more: in an index that it has and is free, or in a new one.
fn with_view(
    design: &Design,
    open: &Open,
    text: &str,
    entity: &Entity,
    view: &View,
    new_index: bool,
) -> Option<String> {
    let position = open.design.entities().iter().position(|it| it.name == entity.name)?;
    let mut draft = open.draft.entities.get(position)?.clone();
    let settings = open.tables.iter().find(|it| it.name.value == entity.table.name)?;
    let table = &entity.table;
    if view.is_native(entity) {
        let number = free_number(entity)?;
        let index = native_index(&format!("GSI{number}"), entity, view).filter(|_| new_index)?;
        return Some(format!("{}\n\n{}", text.trim_end(), index_text(&table.name, &index)));
    }
    let place = if new_index {
        let name = format!("GSI{}", free_number(entity)?);
        Place { hash: format!("{name}PK"), range: Some(format!("{name}SK")), index: Some(name) }
    } else {
        free_place(design, entity)?
    };
    draft.keys.clear();
    add_keys(&mut draft, view, &place, &separator(settings));
    let lines: Vec<String> = draft.keys.iter().map(key_line).collect();
    // Keys stand in the entity's section; the index, if it is new, at the end.
    let named = design.entity(&entity.name)?.span.start();
    let text = after_header(text, named, &lines.join("\n"))?;
    if !new_index {
        return Some(text);
    }
    let name = place.index.as_deref()?;
    let index = IndexDraft::global(name, &[&place.hash], &[place.range.as_deref()?]);
    Some(format!("{}\n\n{}", text.trim_end(), index_text(&table.name, &index)))
}

fn free_number(entity: &Entity) -> Option<usize> {
    (1..=20).find(|n| entity.table.index(&format!("GSI{n}")).is_none())
}

/// An index with attributes of its own in which an entity is not yet.
fn free_place(design: &Design, entity: &Entity) -> Option<Place> {
    let is_field =
        |name: &str| design.entities_in(&entity.table).any(|other| other.field(name).is_some());
    entity.table.indexes.iter().find_map(|index| {
        let ([hash], [range]) = (index.hash.as_slice(), index.range.as_slice()) else {
            return None;
        };
        let free = index.kind == IndexKind::Global
            && [hash, range].iter().all(|it| entity.key(&it.name).is_none() && !is_field(&it.name));
        free.then(|| Place {
            index: index.name.clone(),
            hash: hash.name.clone(),
            range: Some(range.name.clone()),
        })
    })
}
