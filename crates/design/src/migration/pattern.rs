//! Patterns during a change: which are asked alike in both designs, and which miss items for a while.

use std::fmt;

use super::route::Route;
use crate::check::CheckReport;
use crate::diff;
use crate::evaluate::Inputs;
use crate::key::Piece;
use crate::model::{Access, Design, Entity, IndexKey, Operand, Question};
use crate::plan::{Read, SortPart};

/// A pattern of the old design that misses items while their index keys are being rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The name of the pattern.
    pub pattern: String,
    /// The entity whose items it misses.
    pub entity: String,
    /// The name of the index.
    pub index: String,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pattern, entity, index } = self;
        write!(
            f,
            "\"{pattern}\" of the old design misses items of `{entity}` from the beginning until the switch, because their \
             keys of {index} are rewritten in place"
        )
    }
}

/// A pattern that both designs have under one name, and that asks the same.
#[derive(Clone, Copy, Debug)]
pub struct SharedPattern<'d> {
    /// The pattern in the old design.
    pub old: &'d Access,
    /// The pattern in the new design.
    pub new: &'d Access,
}

impl SharedPattern<'_> {
    /// The inputs of a call of the old pattern, as the new one calls them.
    pub fn inputs(&self, old: &Inputs) -> Inputs {
        let names = self.old.inputs.iter().zip(&self.new.inputs);
        let value = |name: &String| old.get(name).cloned();
        names
            .filter_map(|(before, after)| Some((after.name.clone(), value(&before.name)?)))
            .collect()
    }
}

/// The patterns that both designs have and that ask the same of the same entities.
pub(super) fn shared<'d>(
    old: &'d Design,
    new: &'d Design,
    routes: &[Route],
) -> Vec<SharedPattern<'d>> {
    let both = new.accesses().iter().filter_map(|after| Some((old.access(&after.name)?, after)));
    both.filter(|(old, new)| asks_the_same(old, new, routes))
        .map(|(old, new)| SharedPattern { old, new })
        .collect()
}

fn asks_the_same(old: &Access, new: &Access, routes: &[Route]) -> bool {
    // The one route of each entity, in both directions: what is split or merged is not the same.
    let route = |from: &Entity, to: &Entity| {
        let alone = |route: &&Route| route.from.name == from.name || route.to.name == to.name;
        let mut near = routes.iter().filter(alone);
        let first = near.next().filter(|route| route.from.name == from.name);
        first.filter(|route| route.to.name == to.name && near.next().is_none())
    };
    let found = old.find.len() == new.find.len()
        && old.find.iter().zip(&new.find).all(|(from, to)| route(from, to).is_some());
    let (Some(from), Some(to)) = (old.find.first(), new.find.first()) else { return false };
    let Some(route) = route(from, to).filter(|_| found) else { return false };
    let plain = |access: &Access| {
        access.via.is_none() && access.raw.is_none() && access.alternatives.is_empty()
    };
    let renamed = |field: &str| {
        let name = route.renames.iter().find(|(before, _)| before == field);
        name.map_or(field, |(_, after)| after.as_str()).to_owned()
    };
    // Inputs are compared by their places: their names follow the fields'.
    let place = |access: &Access, operand: &Operand| match operand {
        Operand::Input(name) => {
            let at = access.inputs.iter().position(|input| input.name == *name);
            format!("?{at:?}")
        }
        Operand::Value(_) => operand.describe(),
    };
    let asks = |access: &Access, name: &dyn Fn(&str) -> String| {
        let text = |term: &Question| {
            term.test.design_text(&name(&term.field), |operand| place(access, operand))
        };
        let mut terms: Vec<String> = access.terms.iter().map(text).collect();
        terms.sort_unstable();
        let order: Vec<(String, bool)> =
            access.order.iter().map(|by| (name(&by.field), by.descending)).collect();
        (terms, order, access.limit, access.inputs.len())
    };
    plain(old)
        && plain(new)
        && asks(old, &|field| renamed(field)) == asks(new, &|field| field.to_owned())
}

/// The patterns of the old design that do not find items whose index keys have been rewritten.
pub(super) fn gaps(old: &CheckReport, routes: &[Route]) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for route in routes.iter().filter(|route| !route.rewritten.is_empty()) {
        for (plan, access) in old.plans.iter().zip(old.design.iter().flat_map(Design::accesses)) {
            for read in plan.reads.iter().filter(|read| finds(read, &route.from)) {
                if !is_indifferent(read, access, route) {
                    gaps.push(Gap {
                        pattern: plan.name.clone(),
                        entity: route.from.name.clone(),
                        index: read.index().label().to_owned(),
                    });
                }
            }
        }
    }
    gaps.dedup();
    gaps
}

/// Whether a read is meant to return an entity.
pub(super) fn finds(read: &Read, entity: &Entity) -> bool {
    let table = read.table.name == entity.table.name;
    table && read.entities.iter().any(|found| found.name == entity.name)
}

/// Whether a read finds an item in its new form where it finds it in its old one, and no order is asked for that would
/// tell them apart.
fn is_indifferent(read: &Read, access: &Access, route: &Route) -> bool {
    let (from, to) = (&route.from, &route.to);
    let index = |entity: &Entity| {
        let mut indexes = entity.table.indexes.iter();
        indexes.position(|index| index.name == read.index().name)
    };
    let key = |entity| -> Option<IndexKey<'_>> {
        let entity: &Entity = entity;
        entity.index_key(entity.table.indexes.get(index(entity)?)?)
    };
    let (Some(before), Some(after)) = (key(from), key(to)) else {
        return !route.rewritten.iter().any(|name| {
            read.index().hash.iter().chain(&read.index().range).any(|key| key.name == *name)
        });
    };
    let same = |(a, b): (&&crate::model::EntityKey, &&crate::model::EntityKey)| {
        diff::same_key(from, a, to, b)
    };
    if !before.hash.iter().zip(&after.hash).all(same) {
        return false;
    }
    if before.range.iter().zip(&after.range).all(same) {
        return true;
    }
    let unordered = access.order.is_empty() && access.limit.is_none() && access.raw.is_none();
    // What is in the index in one form must be there in the other.
    let conditions = |key: &IndexKey<'_>| -> Vec<Option<String>> {
        key.range.iter().map(|part| part.when.as_ref().map(ToString::to_string)).collect()
    };
    let is_required = |entity: &Entity, key: &IndexKey<'_>| {
        let mut fields = key.range.iter().flat_map(|part| part.shape.template().fields());
        fields.all(|name| entity.field(name).is_some_and(|field| !field.optional))
    };
    let whole = conditions(&before) == conditions(&after)
        && is_required(from, &before)
        && is_required(to, &after);
    unordered && whole && reaches_all(&read.range.sort, &before, &after)
}

/// Whether a range of sort keys holds all keys of both forms.
fn reaches_all(sort: &SortPart, before: &IndexKey<'_>, after: &IndexKey<'_>) -> bool {
    let begins = |key: &IndexKey<'_>, text: &str| {
        let first = key.range.first().and_then(|part| part.shape.template().pieces().first());
        matches!(first, Some(Piece::Literal(own)) if own.starts_with(text))
    };
    match sort {
        SortPart::Whole => true,
        SortPart::Common(pieces) => match pieces.as_slice() {
            [Piece::Literal(text)] => begins(before, text) && begins(after, text),
            pieces => pieces.is_empty(),
        },
        SortPart::Open { attribute: 0, pieces, range: None } => {
            let template = before.range.first().map(|part| part.shape.template());
            match (pieces, template.and_then(|template| template.pieces().first())) {
                (0, _) => true,
                (1, Some(Piece::Literal(text))) => begins(after, text),
                _ => false,
            }
        }
        SortPart::Exact | SortPart::Open { .. } => false,
    }
}
