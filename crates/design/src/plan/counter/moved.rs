//! Values that carry the separator: where nothing guards it, a part of a key reads as another field.

use std::sync::Arc;

use keyloom_keys::Value;

use super::Case;
use super::rows::{Style, wanted};
use crate::evaluate::{Inputs, Row};
use crate::generate::set_shards;
use crate::key::{KeyTemplate, Piece, may_hold_separator};
use crate::model::{Entity, Escape, Operand};

/// Inputs whose second text begins with what could belong to the first: `a` and `b#c`, which `a#b` and `c`
/// make the same key of.
pub(super) fn inputs(case: &Case, base: &Inputs) -> Vec<Inputs> {
    let mut calls = Vec::new();
    for entity in case.asked() {
        for template in unguarded(entity) {
            for (first, second) in pairs(template) {
                let name = |field: &str| match case.access.equality(field) {
                    Some(Operand::Input(name)) => Some(name.clone()),
                    _ => None,
                };
                let (Some(one), Some(two)) = (name(&first), name(&second)) else { continue };
                let mut inputs = base.clone();
                inputs.insert(one, Value::from("a"));
                let Some(model) = model(case, entity, &inputs) else { continue };
                let Some(between) = text_between(template, &model, &first, &second) else {
                    continue;
                };
                inputs.insert(two, Value::from(format!("b{between}c")));
                calls.push(inputs);
            }
        }
    }
    calls
}

/// Rows whose keys read like those of a wanted row, with the parts of the key in other fields.
pub(super) fn rows(case: &Case, entity: &Arc<Entity>, inputs: &Inputs) -> Vec<Row> {
    let Some(model) = model(case, entity, inputs) else { return Vec::new() };
    let mut rows = Vec::new();
    let mut add = |changes: &[(&str, String)]| {
        let mut row = model.clone();
        for (name, text) in changes {
            row.values.insert((*name).to_owned(), Value::from(text.clone()));
        }
        set_shards(&mut row);
        rows.push(row);
    };
    for template in unguarded(entity) {
        // The end of one text begins the other.
        for (first, second) in pairs(template) {
            let (Some(one), Some(two)) = (text_of(&model, &first), text_of(&model, &second)) else {
                continue;
            };
            let Some(between) = text_between(template, &model, &first, &second) else { continue };
            if let Some((head, tail)) = two.split_once(between.as_str()) {
                add(&[(&first, format!("{one}{between}{head}")), (&second, tail.to_owned())]);
            }
        }
        // A text goes on with what follows it in the key of another row.
        for (at, piece) in template.pieces().iter().enumerate() {
            let Some(field) = piece.as_field().filter(|f| may_hold_separator(f.format())) else {
                continue;
            };
            let Some(mut text) = text_of(&model, field.name()) else { continue };
            for next in template.pieces().iter().skip(at + 1) {
                match next {
                    Piece::Literal(literal) => text.push_str(literal),
                    Piece::Field(next) => {
                        let written = model.values.get(next.name());
                        let Some(written) = written.and_then(|v| next.format().encode(v).ok())
                        else {
                            break;
                        };
                        text.push_str(&written);
                    }
                }
                add(&[(field.name(), text.clone())]);
                add(&[(field.name(), format!("{text}q"))]);
            }
        }
    }
    rows
}

fn model(case: &Case, entity: &Arc<Entity>, inputs: &Inputs) -> Option<Row> {
    wanted(case.access, entity, inputs, Style::Along).into_iter().next()
}

fn unguarded(entity: &Entity) -> impl Iterator<Item = &KeyTemplate> {
    let templates = entity.keys.iter().filter(|key| !key.shape.is_native());
    templates.map(|key| key.shape.template()).filter(|template| template.escape() == Escape::None)
}

/// Two fields of a template that may both hold the separator, the first before the second.
fn pairs(template: &KeyTemplate) -> Vec<(String, String)> {
    let loose: Vec<&str> = template
        .field_pieces()
        .filter(|field| may_hold_separator(field.format()))
        .map(keyloom_keys::Field::name)
        .collect();
    loose
        .array_windows::<2>()
        .filter(|[first, second]| first != second)
        .map(|[first, second]| ((*first).to_owned(), (*second).to_owned()))
        .collect()
}

/// What a key has between two fields.
fn text_between(template: &KeyTemplate, row: &Row, first: &str, second: &str) -> Option<String> {
    let position = |name: &str| {
        template
            .pieces()
            .iter()
            .position(|piece| piece.as_field().is_some_and(|f| f.name() == name))
    };
    let (from, to) = (position(first)? + 1, position(second)?);
    let mut text = String::new();
    for piece in template.pieces().get(from..to)? {
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            Piece::Field(field) => {
                text.push_str(&field.format().encode(row.values.get(field.name())?).ok()?);
            }
        }
    }
    (!text.is_empty()).then_some(text)
}

fn text_of(row: &Row, field: &str) -> Option<String> {
    match row.values.get(field)? {
        Value::Text(text) => Some(text.to_string()),
        _ => None,
    }
}
