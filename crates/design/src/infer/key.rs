//! Key templates: literals where every item has the same word, fields elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_core::{AttributeValue, Item};
use keyloom_keys::FieldFormat;

use super::Kept;
use super::cluster::{is_word, parts};
use super::link::{Row, Shard, link, shard};
use super::part::{affix, format_of, is_narrow};

/// The most parts of a template.
const MAX_PARTS: usize = 16;

/// A piece of a template.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Literal(String),
    Field { name: String, format: Option<FieldFormat> },
}

/// A key attribute as it was understood.
#[derive(Clone, Debug)]
pub(super) struct KeyPlan {
    pub(super) attribute: String,
    /// None: the attribute is taken as it is.
    pub(super) pieces: Option<Vec<Piece>>,
    pub(super) doubts: Vec<String>,
}

/// What a field of the keys was found to be.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyField {
    pub(super) name: String,
    /// The formats in which keys write it.
    pub(super) formats: Vec<FieldFormat>,
    /// Whether it is an attribute too.
    pub(super) is_stored: bool,
    pub(super) shard: Option<Shard>,
    /// The values of fields that no attribute has, by the key attribute and its item.
    values: Vec<(usize, String)>,
    pub(super) doubts: Vec<String>,
}

/// Finds the templates of one kind of item.
pub(super) struct KeyReader<'k> {
    pub(super) items: &'k [&'k Kept],
    pub(super) separator: &'k str,
    /// Attributes that keys may be copies of, those least likely to be a key's source first.
    pub(super) sources: Vec<&'k str>,
    pub(super) fields: Vec<KeyField>,
}

impl KeyReader<'_> {
    /// The template of a key attribute; none if no item has it.
    pub(super) fn read(&mut self, attribute: &str, is_partition: bool) -> Option<KeyPlan> {
        let native = |doubts| KeyPlan { attribute: attribute.to_owned(), pieces: None, doubts };
        let items = self.items;
        let having: Vec<(usize, &Item, &AttributeValue)> = items
            .iter()
            .enumerate()
            .filter_map(|(at, kept)| Some((at, &kept.item, kept.item.get(attribute)?)))
            .collect();
        having.first()?;
        let texts: Option<Vec<(usize, &Item, &str)>> =
            having.iter().map(|(at, item, value)| Some((*at, *item, value.as_s()?))).collect();
        let Some(texts) = texts else { return Some(native(Vec::new())) };
        let counted: Vec<usize> =
            texts.iter().map(|(_, _, text)| parts(text, self.separator).len()).collect();
        let (count, mut doubts) = match usual_count(attribute, &counted) {
            Ok(found) => found,
            Err(doubt) => return Some(native(vec![doubt])),
        };
        let rows: Vec<(usize, &Item, Vec<&str>)> = texts
            .iter()
            .map(|(at, item, text)| (*at, *item, parts(text, self.separator)))
            .filter(|(_, _, parts)| parts.len() == count)
            .collect();
        let mut pieces: Vec<Piece> = Vec::new();
        let mut used: BTreeSet<String> = BTreeSet::new();
        let mut hint = String::new();
        let before = self.fields.clone();
        for place in 0..count {
            if place > 0 {
                pieces.push(Piece::Literal(self.separator.to_owned()));
            }
            let values: Vec<(usize, Row<'_>)> = rows
                .iter()
                .filter_map(|(at, item, parts)| Some((*at, (*item, *parts.get(place)?))))
                .collect();
            let at = Place { attribute, number: place, count, is_partition };
            let Some(found) = self.part(&values, at, &hint, &mut used, &mut doubts) else {
                self.fields = before;
                return Some(native(vec![format!(
                    "some values of `{attribute}` have empty parts, so it is taken as it is"
                )]));
            };
            pieces.extend(found);
            hint = match pieces.last() {
                Some(Piece::Literal(text)) => text.clone(),
                _ => String::new(),
            };
        }
        let pieces = joined(pieces);
        if let [Piece::Field { name, .. }] = pieces.as_slice()
            && !self
                .fields
                .iter()
                .any(|field| field.name == *name && (field.is_stored || field.shard.is_some()))
        {
            self.fields = before;
            return Some(native(Vec::new()));
        }
        Some(KeyPlan { attribute: attribute.to_owned(), pieces: Some(pieces), doubts })
    }

    /// One part of a key; none if it cannot be a part of a template.
    fn part(
        &mut self,
        values: &[(usize, Row<'_>)],
        at: Place<'_>,
        hint: &str,
        used: &mut BTreeSet<String>,
        doubts: &mut Vec<String>,
    ) -> Option<Vec<Piece>> {
        let rows: Vec<Row<'_>> = values.iter().map(|(_, row)| *row).collect();
        let distinct: BTreeSet<&str> = rows.iter().map(|(_, part)| *part).collect();
        let sources: Vec<&str> = self
            .sources
            .iter()
            .copied()
            .filter(|name| *name != at.attribute && !used.contains(*name))
            .collect();
        let linked = link(&rows, &sources, hint);
        if let (1, Some(word)) = (distinct.len(), distinct.first())
            && is_literal(word, at, rows.len(), linked.is_some())
        {
            return Some(vec![Piece::Literal((*word).to_owned())]);
        }
        if distinct.contains("") {
            return None;
        }
        if let Some(link) = linked {
            if !link.also.is_empty() {
                doubts.push(format!(
                    "{} has the same values as `{}` in all items that were looked at",
                    link.also.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
                    link.name
                ));
            }
            used.insert(link.name.clone());
            self.note(&link.name, link.format.clone(), true, &[]);
            return Some(vec![
                Piece::Literal(link.before),
                Piece::Field { name: link.name, format: Some(link.format) },
                Piece::Literal(link.after),
            ]);
        }
        Some(self.unlinked(values, &rows, &distinct, at, hint, used))
    }

    /// A part that no attribute has: a shard, or a field that only keys have.
    fn unlinked(
        &mut self,
        values: &[(usize, Row<'_>)],
        rows: &[Row<'_>],
        distinct: &BTreeSet<&str>,
        at: Place<'_>,
        hint: &str,
        used: &mut BTreeSet<String>,
    ) -> Vec<Piece> {
        let parts: Vec<&str> = distinct.iter().copied().collect();
        let whole = format_of(&parts);
        let (head, format) = match affix(&parts).filter(|_| !is_narrow(&whole)) {
            Some((head, format)) => (head, format),
            None => ("", whole),
        };
        let cut: Vec<Row<'_>> = rows
            .iter()
            .map(|(item, part)| (*item, part.strip_prefix(head).unwrap_or(part)))
            .collect();
        let column: Vec<(usize, String)> =
            values.iter().zip(&cut).map(|((at, _), (_, part))| (*at, (*part).to_owned())).collect();
        let literal = Piece::Literal(head.to_owned());
        let same = |field: &&KeyField| !used.contains(&field.name) && field.has(&column);
        if let Some(known) = self.fields.iter().find(same) {
            let name = known.name.clone();
            used.insert(name.clone());
            let format = (known.shard.is_none()).then(|| format.clone());
            if let Some(format) = &format {
                self.note(&name, format.clone(), false, &column);
            }
            return vec![literal, Piece::Field { name, format }];
        }
        let named_shard = head.to_ascii_lowercase().contains("shard")
            || hint.to_ascii_lowercase().contains("shard");
        if let Some(found) = shard(&cut, &self.sources, at.is_partition || named_shard) {
            let name = self.free_name("shard");
            let mut field = KeyField { name: name.clone(), values: column, ..KeyField::default() };
            if found.by.is_empty() {
                field.doubts.push(format!(
                    "the numbers 0 to {} are spread evenly and follow from no attribute: taken for shards that are drawn",
                    found.count - 1
                ));
            }
            field.shard = Some(found);
            self.fields.push(field);
            used.insert(name.clone());
            return vec![literal, Piece::Field { name, format: None }];
        }
        let name = self.free_name(&field_name(hint, head, at, &format));
        used.insert(name.clone());
        self.note(&name, format.clone(), false, &column);
        vec![literal, Piece::Field { name, format: Some(format) }]
    }

    /// Remembers a field.
    fn note(
        &mut self,
        name: &str,
        format: FieldFormat,
        is_stored: bool,
        values: &[(usize, String)],
    ) {
        if let Some(field) = self.fields.iter_mut().find(|field| field.name == name) {
            if !field.formats.contains(&format) {
                field.formats.push(format);
            }
            return;
        }
        self.fields.push(KeyField {
            name: name.to_owned(),
            formats: vec![format],
            is_stored,
            values: values.to_vec(),
            ..KeyField::default()
        });
    }

    /// A name that no attribute and no field has.
    fn free_name(&self, wanted: &str) -> String {
        let taken = |name: &str| {
            self.fields.iter().any(|field| field.name == name)
                || self.items.iter().any(|kept| kept.item.contains_key(name))
        };
        let mut name = wanted.to_owned();
        let mut number = 2;
        while taken(&name) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        name
    }
}

impl KeyField {
    /// Whether the field has these values in these items, as far as it is known there.
    fn has(&self, column: &[(usize, String)]) -> bool {
        if self.is_stored || self.values.is_empty() {
            return false;
        }
        let known: BTreeMap<usize, &str> =
            self.values.iter().map(|(at, value)| (*at, value.as_str())).collect();
        column.iter().all(|(at, value)| known.get(at) == Some(&value.as_str()))
    }
}

/// Where a part stands.
#[derive(Clone, Copy)]
struct Place<'p> {
    attribute: &'p str,
    number: usize,
    count: usize,
    is_partition: bool,
}

/// Whether a part that is the same everywhere is a word of the template, rather than a value that happens to be.
fn is_literal(word: &str, at: Place<'_>, items: usize, is_linked: bool) -> bool {
    if word.is_empty() {
        return true;
    }
    let upper = !word.bytes().any(|b| b.is_ascii_lowercase());
    let lower = at.attribute.to_ascii_lowercase();
    let is_key_name =
        ["pk", "sk", "hash", "range", "gsi", "lsi"].iter().any(|name| lower.contains(name));
    if at.count == 1 && !is_key_name {
        // The attribute has a name of its own: probably a value.
        return is_word(word) && upper && !is_linked && items > 2;
    }
    if is_linked {
        return at.number == 0 && is_word(word);
    }
    if is_word(word) {
        return at.number == 0 || upper || items > 2;
    }
    items > 4
}

/// A name for a field that only keys have.
fn field_name(hint: &str, head: &str, at: Place<'_>, format: &FieldFormat) -> String {
    let words: String = format!("{hint}_{head}")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .collect();
    let word = words.split('_').rfind(|word| !word.is_empty()).unwrap_or_default().to_owned();
    let is_time = format.precision().is_some();
    match (word.is_empty() || !is_word(&word), is_time) {
        (true, true) => "at".to_owned(),
        (false, true) => format!("{word}_at"),
        (false, false) => format!("{word}_id"),
        (true, false) => {
            let lower: String = at
                .attribute
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
                .collect();
            format!("{lower}_{}", at.number + 1)
        }
    }
}

/// How many parts most values of a key have, with what is to be said of the others; or why the key has no template.
fn usual_count(attribute: &str, counted: &[usize]) -> Result<(usize, Vec<String>), String> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for count in counted {
        *counts.entry(*count).or_default() += 1;
    }
    let usual =
        counts.iter().max_by_key(|(_, often)| **often).map(|(count, often)| (*count, *often));
    let (count, often) = usual.unwrap_or((1, 0));
    let (least, most) = (counts.keys().next().unwrap_or(&1), counts.keys().last().unwrap_or(&1));
    if count > MAX_PARTS || counts.len() > 1 && often * 10 < counted.len() * 9 {
        return Err(format!(
            "`{attribute}` has between {least} and {most} parts, so it is taken as it is"
        ));
    }
    let others = counted.len() - often;
    let doubt = format!(
        "{others} of {} values of `{attribute}` have another number of parts",
        counted.len()
    );
    Ok((count, if others > 0 { vec![doubt] } else { Vec::new() }))
}

/// Neighbouring literals as one.
fn joined(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut all: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (all.last_mut(), piece) {
            (_, Piece::Literal(text)) if text.is_empty() => {}
            (Some(Piece::Literal(last)), Piece::Literal(text)) => last.push_str(&text),
            (_, piece) => all.push(piece),
        }
    }
    all
}

impl KeyField {
    /// An attribute that is a shard.
    pub(super) fn sharded(name: &str, shard: Shard) -> Self {
        Self { name: name.to_owned(), is_stored: true, shard: Some(shard), ..Self::default() }
    }

    /// The values that only keys have.
    pub(super) fn column(&self) -> Vec<&str> {
        self.values.iter().map(|(_, value)| value.as_str()).collect()
    }
}
