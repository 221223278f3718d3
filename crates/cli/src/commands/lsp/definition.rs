//! Go to definition: entities, fields, tables, indexes.

use std::ops::Range;

use super::names::{Names, named_by};
use super::outline::{Outline, Section, Spot, Word, touches};

/// Where the name at a byte is declared.
pub(super) fn definition(outline: &Outline, offset: usize) -> Option<Range<usize>> {
    match outline.spot(offset) {
        Spot::Header(section, Some(word)) => header(outline, section, word),
        Spot::Header(..) | Spot::Key(..) => None,
        Spot::Value(section, entry) => {
            let texts = outline.texts(entry);
            let text = texts.into_iter().find(|text| touches(&text.span, offset))?;
            match named_by(section, entry) {
                Names::Entity => declared(outline, "entity", &text.text),
                Names::Table => declared(outline, "table", &text.text),
                Names::Index => index(outline, &text.text),
                Names::Subject => ["entity", "access", "write", "unique", "table"]
                    .iter()
                    .find_map(|kind| declared(outline, kind, &text.text))
                    .or_else(|| index(outline, text.text.rsplit('.').next()?)),
                // In `{ type = "shard", by = "id" }` and `{ template = …, when = … }` fields are named as well.
                Names::Field | Names::Template | Names::Type => {
                    field(outline, section, &outline.word(offset).text)
                }
                Names::Rule | Names::Word => None,
            }
        }
    }
}

/// From `[entity.Task.fields]` to `[entity.Task]`, where both exist.
fn header(outline: &Outline, section: &Section, word: &Word) -> Option<Range<usize>> {
    let kind = section.path.first()?.text.as_str();
    let named = section.path.get(1).is_some_and(|name| name.span == word.span);
    named.then(|| declared(outline, kind, &word.text)).flatten()
}

pub(super) fn declared(outline: &Outline, kind: &str, name: &str) -> Option<Range<usize>> {
    let names = outline.declared(kind);
    names.iter().find(|word| word.text == name).map(|word| word.span.clone())
}

fn index(outline: &Outline, name: &str) -> Option<Range<usize>> {
    let words = outline.sections.iter().filter(|section| section.path.len() == 4);
    let mut words = words.filter_map(|section| section.path.get(3));
    words.find(|word| word.text == name).map(|word| word.span.clone())
}

fn field(outline: &Outline, section: &Section, name: &str) -> Option<Range<usize>> {
    let entities = outline.entities_asked(section);
    let fields = entities.iter().flat_map(|entity| outline.fields(entity));
    fields.into_iter().find(|field| field.name.text == name).map(|field| field.name.span)
}
