//! The key map: for each table and index, which entity writes which key, its fields coloured alike everywhere.

use super::{FIELD_COLOURS, LINE, Look, Picture, cut, width_of};
use crate::key::Piece;
use crate::model::{Design, Entity, EntityKey, Index, Table};

/// The longest piece of a key that is shown whole.
const MOST_LETTERS: usize = 48;
const PADDING: f64 = 10.0;

/// The keys of all entities in all tables and indexes.
pub fn key_map_svg(design: &Design) -> String {
    let mut picture = Picture::new();
    let mut top = 16.0;
    for table in design.tables() {
        for index in &table.indexes {
            let entities: Vec<&Entity> = design
                .entities_in(table)
                .map(AsRef::as_ref)
                .filter(|entity| entity.index_key(index).is_some())
                .collect();
            top = draw_index(&mut picture, design, (table, index), &entities, top) + 26.0;
        }
    }
    picture.finish(&format!("Keys of {}", design.name()))
}

/// Draws one grid; where it ends.
fn draw_index(
    picture: &mut Picture,
    design: &Design,
    (table, index): (&Table, &Index),
    entities: &[&Entity],
    top: f64,
) -> f64 {
    let name = match &index.name {
        Some(name) => format!("{} / {name}", table.name),
        None => table.name.clone(),
    };
    picture.text(Look::TITLE, (16.0, top + 12.0), &cut(&name, 80));
    let attributes: Vec<&str> = index.attributes().map(|it| it.name.as_str()).collect();
    let names = entities.iter().map(|entity| width_of(&cut(&entity.name, 30)));
    let mut lefts = vec![16.0];
    let mut left = 16.0 + names.fold(width_of("entity"), f64::max) + 2.0 * PADDING;
    for attribute in &attributes {
        lefts.push(left);
        let keys = entities.iter().filter_map(|entity| entity.key(attribute)).map(width);
        left += keys.fold(width_of(attribute), f64::max) + 2.0 * PADDING;
    }
    let head = top + 22.0;
    let row_height = LINE + 6.0;
    let height = row_height * (entities.len() as f64 + 1.0);
    picture.rectangle("kl-box", "#ffffff", (16.0, head), (left - 16.0, height));
    picture.rectangle("kl-head", "#e6edf5", (16.0, head), (left - 16.0, row_height));
    let mut titles = vec!["entity"];
    titles.extend(&attributes);
    for (title, left) in titles.iter().zip(&lefts) {
        picture.text(Look::FAINT, (left + PADDING, head + 16.0), &cut(title, MOST_LETTERS));
    }
    for (number, entity) in entities.iter().enumerate() {
        let base = head + row_height * (number as f64 + 1.0) + 16.0;
        picture.text(Look::TITLE, (16.0 + PADDING, base), &cut(&entity.name, 30));
        for (attribute, left) in attributes.iter().zip(lefts.iter().skip(1)) {
            if let Some(key) = entity.key(attribute) {
                draw_key(picture, design, key, (left + PADDING, base));
            }
        }
    }
    head + height
}

/// The texts of a key's pieces, and the fields they are of.
fn pieces(key: &EntityKey) -> impl Iterator<Item = (String, Option<&str>)> {
    key.shape.template().pieces().iter().map(|piece| match piece {
        Piece::Literal(text) => (cut(text, MOST_LETTERS), None),
        Piece::Field(field) => {
            (cut(&format!("{{{}}}", field.name()), MOST_LETTERS), Some(field.name()))
        }
    })
}

fn width(key: &EntityKey) -> f64 {
    let condition = key.when.as_ref().map_or(0.0, |_| width_of(" if…"));
    pieces(key).map(|(text, _)| width_of(&text)).sum::<f64>() + condition
}

fn draw_key(picture: &mut Picture, design: &Design, key: &EntityKey, (left, base): (f64, f64)) {
    let mut x = left;
    for (text, field) in pieces(key) {
        let look = match field {
            Some(field) => Look { class: "kl-field", colour: colour(design, field), bold: true },
            None => Look::PLAIN,
        };
        picture.text(look, (x, base), &text);
        x += width_of(&text);
    }
    if key.when.is_some() {
        picture.text(Look::FAINT, (x, base), " if…");
    }
}

/// The colour of a field: the same wherever its name stands.
fn colour(design: &Design, name: &str) -> &'static str {
    let mut names: Vec<&str> = Vec::new();
    for key in design.entities().iter().flat_map(|entity| &entity.keys) {
        for field in key.shape.template().fields() {
            if !names.contains(&field) {
                names.push(field);
            }
        }
    }
    let number = names.iter().position(|known| *known == name).unwrap_or_default();
    FIELD_COLOURS.get(number % FIELD_COLOURS.len()).copied().unwrap_or("#1f2933")
}
