//! A design from what is stored: entities, key templates, fields and volumes, found in a sample of items.
//!
//! 1. [`Sampler`] keeps a bounded sample, some items of every shape of primary key.
//! 2. `cluster` finds the separator and sorts the items into kinds by the words in their primary keys.
//! 3. `part` tells the format of a key part, `link` the attribute it is a copy of, `key` makes templates of both.
//! 4. `entity` writes each kind as an entity: keys, fields, sparse indexes (`sparse`), volumes; `name` names it.
//! 5. `patterns` turns recorded requests into access patterns.
//! 6. `verify` checks the file and reads every item of the sample back with it.
//!
//! What is not certain becomes a comment in the file, with the evidence.

mod cluster;
mod entity;
mod fields;
mod key;
mod link;
mod name;
mod part;
mod patterns;
mod sample;
mod sparse;
mod verify;

use crate::draft::print::Notes;
use crate::draft::{Draft, TableDraft};
use crate::source::Spanned;

pub use patterns::SeenRequest;
pub use sample::{Kept, Sample, Sampler};
pub(crate) use verify::mend;

/// A table whose items were sampled.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The table: its name, keys, indexes and settings, as far as they are known.
    pub table: TableDraft,
    /// The items to infer from.
    pub sample: Sample,
    /// How many items the table has, where that is known otherwise than by reading them all.
    pub items: Option<u64>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// The design file.
    pub text: String,
    /// Items that the design does not read back, with the reason; the first ones.
    pub exceptions: Vec<Exception>,
    /// How many there are.
    pub exception_count: u64,
    /// How many items of the sample were read back.
    pub verified: u64,
    /// Recorded requests that no pattern could be made of.
    pub unused_requests: Vec<String>,
}

/// An item that the design does not read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// The name of its table.
    pub table: String,
    /// The key as text.
    pub key: String,
    /// What is in the way.
    pub reason: String,
}

/// The most entities of one table; what is beyond is taken for values rather than kinds.
const MAX_ENTITIES: usize = 200;

/// Finds a design for tables.
pub fn infer(tables: &[Observed], requests: &[SeenRequest]) -> Inferred {
    let (mut draft, mut notes) = find(tables);
    let read: u64 = tables.iter().map(|observed| observed.sample.read).sum();
    let kept: usize = tables.iter().map(|observed| observed.sample.items.len()).sum();
    let closely = if kept as u64 == read {
        String::new()
    } else {
        format!(", of which {kept} were looked at closely")
    };
    let items = crate::words::counted(read as usize, "item");
    notes.add(
        &[],
        format!("Found in {items} by `keyloom infer`{closely}. Comments say what is not certain, and why it was taken so."),
    );
    let unused_requests = patterns::add(&mut draft, &mut notes, requests);
    verify::settle(draft, notes, tables, unused_requests)
}

/// The tables and entities, before anything is checked.
pub(crate) fn find(tables: &[Observed]) -> (Draft, Notes) {
    let mut draft = Draft::default();
    let mut notes = Notes::default();
    for observed in tables {
        let found = entity::entities_of(observed, &draft, &mut notes);
        draft.tables.push(found.table);
        draft.entities.extend(found.entities);
    }
    (draft, notes)
}

/// A text that no file contains.
fn free(text: &str) -> Spanned<String> {
    Spanned::free(text)
}
