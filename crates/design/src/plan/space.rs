//! The entities in each index: those with a key for it.

use std::cell::OnceCell;
use std::sync::Arc;

use keyloom_keys::Language;

use crate::key::Piece;
use crate::model::{Design, Entity, IndexKey, Table};

/// The entities of every index of a design.
pub(crate) struct Space<'a> {
    /// Whether to search for counter-examples, which takes longer than planning.
    pub(crate) examples: bool,
    tables: Vec<(&'a Table, Vec<Vec<Occupant<'a>>>)>,
}

/// An entity in an index, and its key there.
pub(crate) struct Occupant<'a> {
    pub(crate) entity: &'a Arc<Entity>,
    pub(crate) key: IndexKey<'a>,
    languages: OnceCell<Vec<Language>>,
}

impl<'a> Occupant<'a> {
    /// The language of each key attribute.
    pub(crate) fn languages(&self) -> &[Language] {
        self.languages
            .get_or_init(|| self.key.parts().map(|part| part.shape.template().language()).collect())
    }

    /// The literal prefix of each key attribute.
    pub(crate) fn beginnings(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.key.parts().map(|part| match part.shape.template().pieces().first() {
            Some(Piece::Literal(text)) => text.as_str(),
            _ => "",
        })
    }
}

impl<'a> Space<'a> {
    pub(crate) fn new(design: &'a Design) -> Self {
        let tables = design
            .tables()
            .iter()
            .map(|table| {
                let indexes = table
                    .indexes
                    .iter()
                    .map(|index| {
                        design
                            .entities_in(table)
                            .filter_map(|entity| {
                                let key = entity.index_key(index)?;
                                Some(Occupant { entity, key, languages: OnceCell::new() })
                            })
                            .collect()
                    })
                    .collect();
                (table.as_ref(), indexes)
            })
            .collect();
        Self { examples: true, tables }
    }

    /// The same, for plans without counter-examples.
    pub(crate) fn without_examples(design: &'a Design) -> Self {
        Self { examples: false, ..Self::new(design) }
    }

    /// A space without entities, where purity is not checked.
    pub(crate) fn empty() -> Self {
        Self { examples: false, tables: Vec::new() }
    }

    /// The entities in an index of a table.
    pub(crate) fn occupants(&self, table: &Table, index: usize) -> &[Occupant<'a>] {
        self.tables
            .iter()
            .find(|(known, _)| known.name == table.name)
            .and_then(|(_, indexes)| indexes.get(index))
            .map_or(&[], Vec::as_slice)
    }
}

/// Whether one of two prefixes begins with the other: otherwise no key can have both.
pub(crate) fn may_meet(a: &str, b: &str) -> bool {
    a.starts_with(b) || b.starts_with(a)
}
