//! The same answers as brute force over all rows, for many calls of one pattern: rows are found by the value
//! of one field, and what links lead to by its key.

use std::collections::HashMap;

use keyloom_keys::FieldType;

use super::places::{Places, hash_of};
use super::{Expected, Inputs, Row, expected_among, linked_key, operand_value, satisfies};
use crate::model::{Access, Entity, Field, FieldKind, Test};

/// The rows that matter to a pattern.
pub struct Lookup<'r, 'a> {
    access: &'a Access,
    rows: &'r [Row],
    /// The positions of rows that the conditions are about.
    asked: Vec<u32>,
    /// Those rows by the value of a field that every call pins.
    by_value: Option<(&'a str, Places)>,
    /// What links lead to, by the key that they lead to.
    by_key: HashMap<String, Places>,
}

impl<'r, 'a> Lookup<'r, 'a> {
    /// Looks at every row once.
    pub fn new(access: &'a Access, rows: &'r [Row]) -> Self {
        let is_asked = |row: &Row| match &access.via {
            None => access.finds(&row.entity),
            Some(via) => row.entity.name == via.name,
        };
        let numbered = || rows.iter().zip(0_u32..);
        let asked: Vec<u32> =
            numbered().filter(|(row, _)| is_asked(row)).map(|(_, at)| at).collect();
        let by_value = pinned_field(access).map(|field| {
            let places = asked.iter().filter_map(|at| {
                let value = rows.get(*at as usize)?.values.get(field)?;
                Some((hash_of(&value.to_string()), *at))
            });
            (field, Places::new(places))
        });
        let mut by_key = HashMap::new();
        if let Some(via) = &access.via {
            for entity in &access.find {
                let Some(index) = entity.reached_from(via) else { continue };
                let mine = numbered().filter(|(row, _)| row.entity.name == entity.name);
                let places = mine.filter_map(|(row, at)| {
                    Some((hash_of(&format!("{:?}", row.index_values(index)?)), at))
                });
                by_key.insert(entity.name.clone(), Places::new(places));
            }
        }
        Self { access, rows, asked, by_value, by_key }
    }

    /// As [`expected`](super::expected) over all rows.
    pub fn expected(&self, inputs: &Inputs) -> Expected<'r> {
        let access = self.access;
        let pinned = self.by_value.as_ref().and_then(|(field, places)| {
            let value = operand_value(access.equality(field)?, inputs)?;
            Some(places.find(hash_of(&value.to_string())))
        });
        let satisfied = |row: &&Row| satisfies(access, inputs, row);
        let links: Vec<&'r Row> = if let Some(found) = pinned {
            found.filter_map(|at| self.rows.get(at)).filter(satisfied).collect()
        } else {
            let all = self.asked.iter().filter_map(|at| self.rows.get(*at as usize));
            all.filter(satisfied).collect()
        };
        expected_among(access, links, |link| self.linked(link))
    }

    /// What a link leads to.
    fn linked(&self, link: &Row) -> Vec<&'r Row> {
        let mut found: Vec<(usize, &'r Row)> = Vec::new();
        for entity in &self.access.find {
            let Some((index, key)) = linked_key(link, entity) else { continue };
            let Some(places) = self.by_key.get(&entity.name) else { continue };
            let candidates = places.find(hash_of(&format!("{key:?}")));
            found.extend(candidates.filter_map(|at| {
                let row = self.rows.get(at)?;
                (row.index_values(index).as_ref() == Some(&key)).then_some((at, row))
            }));
        }
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, row)| row).collect()
    }
}

/// A field whose condition holds of one value only, which is equal if its text is.
fn pinned_field(access: &Access) -> Option<&str> {
    let entities: Vec<&Entity> = match &access.via {
        Some(via) => vec![via],
        None => access.find.iter().map(AsRef::as_ref).collect(),
    };
    let by_text =
        |name: &str| entities.iter().all(|entity| entity.field(name).is_some_and(is_equal_by_text));
    let pins = |test: &Test| matches!(test, Test::Equal(_));
    let mut terms = access.terms.iter().filter(|term| pins(&term.test));
    terms.find(|term| by_text(&term.field)).map(|term| term.field.as_str())
}

/// Times may be periods, and numbers are written in many ways; everything else is equal as text.
fn is_equal_by_text(field: &Field) -> bool {
    match &field.kind {
        FieldKind::Scalar(format) => {
            format.precision().is_none() && !matches!(format.kind(), FieldType::Decimal { .. })
        }
        _ => false,
    }
}
