//! Changes besides keys: what would make a pattern provable that no key proves, the smallest first.

use crate::draft::{Draft, FieldDraft};
use crate::repair::text::in_line;
use crate::source::{Source, Span};

use super::demand::Demand;

/// A key holds a text of this length, with names and other fields beside it.
const SHORT_TEXT: u64 = 900;

/// A pattern as it could be instead.
pub(super) struct Easier {
    /// What is changed.
    pub(super) change: String,
    /// What is asked then.
    pub(super) demand: Demand,
    /// The field that is declared otherwise, if that is the change.
    pub(super) field: Option<FieldDraft>,
}

/// The ways in which a pattern could be easier.
pub(super) fn easier(demand: &Demand, fields: &[FieldDraft]) -> Vec<Easier> {
    let named = |field: &&FieldDraft| {
        let name = &field.name.value;
        demand.pinned.contains(name) || demand.then.iter().any(|(by, _)| by == name)
    };
    let mended = fields.iter().filter(named).filter_map(mended);
    let mut all: Vec<Easier> = mended
        .map(|(change, field)| Easier { change, demand: demand.clone(), field: Some(field) })
        .collect();
    all.extend(relaxed(demand).into_iter().map(|(change, demand)| Easier {
        change,
        demand,
        field: None,
    }));
    all
}

/// A field that no key can hold well, declared otherwise.
fn mended(field: &FieldDraft) -> Option<(String, FieldDraft)> {
    let (name, mut new) = (&field.name.value, field.clone());
    let change = if field.plain {
        new.plain = false;
        format!("take `plain = true` off `{name}`: padded numbers sort as numbers")
    } else if field.kind.value == LOOSE {
        TIGHT.clone_into(&mut new.kind.value);
        format!("declare `{name}` as \"{TIGHT}\": times of one form sort by time")
    } else if field.max.is_some_and(|max| max > SHORT_TEXT) {
        new.max = Some(SHORT_TEXT);
        format!(
            "declare `max = {SHORT_TEXT}` of `{name}`, or ask for a hash of it: a key has 2048 and 1024 bytes"
        )
    } else {
        return None;
    };
    Some((change, new))
}

/// The demand with one wish less, the smallest change first.
fn relaxed(demand: &Demand) -> Vec<(String, Demand)> {
    let mut all = Vec::new();
    let mut with = |change: &str, edit: &dyn Fn(&mut Demand)| {
        let mut easier = demand.clone();
        edit(&mut easier);
        all.push((change.to_owned(), easier));
    };
    if demand.alone.consistent {
        with("drop `consistent = true`", &|it| it.alone.consistent = false);
    }
    if !demand.filters && demand.alone.limit.is_none() {
        with(
            "say `keeps`, the share of read items that a filter keeps, to accept a filter",
            &|it| {
                it.filters = true;
            },
        );
    }
    if demand.alone.order.is_some() {
        with("drop `order`", &|it| {
            it.alone.order = None;
            it.then.clear();
        });
    }
    if demand.alone.limit.is_some() {
        with("drop `limit`, and say `keeps` to accept a filter", &|it| {
            it.alone.limit = None;
            it.filters = true;
        });
        with("drop `limit` and `order`, and say `keeps` to accept a filter", &|it| {
            it.alone.limit = None;
            it.alone.order = None;
            it.then.clear();
            it.filters = true;
        });
    }
    all
}

const LOOSE: &str = "datetime:loose";
const TIGHT: &str = "datetime";

/// The file with every declaration mended that no key can make up for, and what was changed: numbers that are not padded,
/// times without one form, values that may hold the separator.
pub(super) fn mend(source: &Source) -> (String, Vec<String>) {
    let (draft, _) = crate::syntax::read(source);
    let mut edits = edits(&draft);
    // From the end on, so that places stay what they are.
    edits.sort_by_key(|(span, ..)| std::cmp::Reverse(span.start()));
    let (mut text, mut told) = (source.text().to_owned(), Vec::new());
    for (span, pairs, change) in edits {
        let found = pairs.iter().find_map(|(from, to)| in_line(&text, span.start(), from, to));
        if let Some(new) = found {
            text = new;
            told.push(change);
        }
    }
    told.reverse();
    (text, told)
}

type Edit = (Span, Vec<(&'static str, &'static str)>, String);

fn edits(draft: &Draft) -> Vec<Edit> {
    let mut all: Vec<Edit> = Vec::new();
    for table in &draft.tables {
        if let Some(escape) = table.escape.as_ref().filter(|escape| escape.value == "none") {
            let change = format!("values with a separator are refused in `{}`", table.name.value);
            all.push((
                escape.span,
                vec![("\"none\"", "\"reject\""), ("'none'", "\"reject\"")],
                change,
            ));
        }
    }
    for entity in &draft.entities {
        for field in &entity.fields {
            let Some((change, _)) = mended(field) else { continue };
            let pairs = if field.plain {
                vec![(", plain = true", ""), ("plain = true, ", "")]
            } else if field.kind.value == LOOSE {
                vec![("\"datetime:loose\"", "\"datetime\""), ("'datetime:loose'", "\"datetime\"")]
            } else {
                continue;
            };
            all.push((field.name.span, pairs, format!("{}: {change}", entity.name.value)));
        }
    }
    all
}
