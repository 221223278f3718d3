//! Access patterns and writes from recorded requests.
//!
//! A recording has the shape of a request, such as `Query GSI1PK = USER#…, GSI1SK begins ORDER#…, backwards`: the words
//! tell the entities, and the fields of their keys are what was asked for.

use std::collections::BTreeSet;

use super::entity::fields_in;
use super::free;
use crate::draft::print::Notes;
use crate::draft::{AccessDraft, Draft, EntityDraft, Rate, TableDraft, WriteDraft};

/// A kind of request that was recorded.
#[derive(Clone, Debug, Default)]
pub struct SeenRequest {
    /// The table.
    pub table: String,
    /// The index, if it was one.
    pub index: Option<String>,
    /// The operation, such as `Query`.
    pub operation: String,
    /// What it was called in a design.
    pub name: Option<String>,
    /// Its shape.
    pub shape: String,
    /// How many there were.
    pub requests: u64,
    /// How many in a second, over the time of the recording.
    pub per_second: f64,
    /// Whether they read strongly.
    pub is_consistent: bool,
}

/// A condition on a key attribute.
struct Asked {
    attribute: String,
    operator: String,
    /// What is known of the value: its first word.
    word: String,
    /// Whether that is all of it.
    is_whole: bool,
}

/// Adds what can be told of recorded requests; returns the others.
pub(super) fn add(draft: &mut Draft, notes: &mut Notes, requests: &[SeenRequest]) -> Vec<String> {
    let mut unused = Vec::new();
    for request in requests {
        let told = match request.operation.as_str() {
            "Query" | "GetItem" | "BatchGetItem" => access_of(draft, request).map(|access| {
                notes.add(&["access", &access.name.value], evidence(request));
                draft.accesses.push(access);
            }),
            "PutItem" | "DeleteItem" => write_of(draft, request).map(|write| {
                notes.add(&["write", &write.name.value], evidence(request));
                draft.writes.push(write);
            }),
            _ => None,
        };
        if told.is_none() {
            unused.push(format!("{} ({} requests)", request.shape, request.requests));
        }
    }
    unused
}

fn evidence(request: &SeenRequest) -> String {
    format!("{} requests: {}", request.requests, request.shape)
}

fn rate(request: &SeenRequest) -> Rate {
    let digits = 10_f64.powf(2.0 - request.per_second.max(1e-9).log10().floor());
    let per_second = ((request.per_second * digits).round() / digits).max(1e-6);
    Rate { average: per_second, peak: per_second }
}

/// The conditions of a shape, and whether it reads backwards.
fn asked(request: &SeenRequest) -> (Vec<Asked>, bool) {
    let text = request.shape.strip_prefix(&request.operation).unwrap_or(&request.shape);
    let text = text.split(", filter on ").next().unwrap_or(text);
    let (mut found, mut backwards) = (Vec::new(), false);
    for term in text.trim().split(", ") {
        let mut words = term.splitn(3, ' ');
        match (words.next(), words.next(), words.next()) {
            (Some(attribute), Some(operator), Some(value)) => found.push(Asked {
                attribute: attribute.to_owned(),
                operator: operator.to_owned(),
                word: value.trim_end_matches('…').to_owned(),
                is_whole: !value.ends_with('…'),
            }),
            _ => backwards |= term == "backwards",
        }
    }
    (found, backwards)
}

fn template<'e>(entity: &'e EntityDraft, attribute: &'e str) -> Option<&'e str> {
    let key = entity.keys.iter().find(|key| key.attribute.value == attribute);
    key.map(|key| key.template.value.as_str())
}

/// Whether keys of an entity begin as the value of a condition does.
fn is_of(entity: &EntityDraft, asked: &Asked) -> bool {
    let Some(template) = template(entity, &asked.attribute) else {
        return asked.word.is_empty()
            && entity.fields.iter().any(|field| field.name.value == asked.attribute);
    };
    let literal = template.split('{').next().unwrap_or_default();
    if !template.contains('{') {
        return if asked.is_whole && asked.operator == "=" {
            literal == asked.word
        } else {
            literal.starts_with(&asked.word)
        };
    }
    let end = literal.find(['#', ':', '/', '|']).map_or(0, |at| at + 1);
    let word = literal.get(..end).unwrap_or_default();
    word == asked.word || asked.is_whole && literal.starts_with(&asked.word)
}

/// The entities that a request can be about: those in the index whose keys begin alike.
fn entities_of<'d>(
    draft: &'d Draft,
    request: &SeenRequest,
    terms: &[Asked],
) -> Vec<&'d EntityDraft> {
    let here = |entity: &&EntityDraft| {
        entity.table.as_ref().is_none_or(|table| table.value == request.table)
    };
    let entities = draft.entities.iter().filter(here);
    entities.filter(|entity| terms.iter().all(|term| is_of(entity, term))).collect()
}

fn table_of<'d>(draft: &'d Draft, request: &SeenRequest) -> Option<&'d TableDraft> {
    draft.tables.iter().find(|table| table.name.value == request.table)
}

/// The fields of a key attribute that an input can be given for.
fn inputs(entity: &EntityDraft, attribute: &str) -> Option<Vec<String>> {
    let Some(template) = template(entity, attribute) else {
        return Some(vec![attribute.to_owned()]);
    };
    let mut names = Vec::new();
    for name in fields_in(template) {
        let field = entity.fields.iter().find(|field| field.name.value == name)?;
        // A bucket is no value that can be asked for.
        let is_bucket = ["year", "month", "date", "hour"]
            .iter()
            .any(|bucket| template.contains(&format!("{{{name}:{bucket}")));
        if is_bucket {
            return None;
        }
        if field.shards.is_none() {
            names.push(name);
        }
    }
    Some(names)
}

fn access_of(draft: &Draft, request: &SeenRequest) -> Option<AccessDraft> {
    table_of(draft, request)?;
    let (terms, backwards) = asked(request);
    let found = entities_of(draft, request, &terms);
    let first = *found.first()?;
    let mut conditions: Vec<String> = Vec::new();
    let mut told: Vec<String> = Vec::new();
    let mut add = |names: &[String], conditions: &mut Vec<String>| {
        for name in names.iter().filter(|name| !told.contains(name)).cloned().collect::<Vec<_>>() {
            conditions.push(format!("{name} = ?"));
            told.push(name);
        }
    };
    let mut ordered = None;
    for term in &terms {
        let names = inputs(first, &term.attribute)?;
        match term.operator.as_str() {
            "=" => add(&names, &mut conditions),
            "begins" if term.is_whole => ordered = names.first().cloned(),
            "begins" => {
                let name = names.first()?;
                conditions.push(format!("begins_with({name}, ?)"));
                ordered = Some(name.clone());
            }
            "between" => {
                let name = names.first()?;
                conditions.push(format!("{name} between ? and ?"));
                ordered = Some(name.clone());
            }
            operator @ ("<" | "<=" | ">" | ">=") => {
                let name = names.first()?;
                conditions.push(format!("{name} {operator} ?"));
                ordered = Some(name.clone());
            }
            _ => return None,
        }
    }
    if conditions.is_empty() && !terms.iter().any(|term| term.is_whole) {
        return None;
    }
    let names: Vec<&str> = found.iter().map(|entity| entity.name.value.as_str()).collect();
    let known: BTreeSet<&str> =
        draft.accesses.iter().map(|access| access.name.value.as_str()).collect();
    let by: Vec<&str> =
        conditions.iter().map(|text| text.split([' ', ',']).next().unwrap_or_default()).collect();
    let by = by.iter().map(|name| name.trim_start_matches("begins_with(")).collect::<Vec<_>>();
    let wanted = request.name.clone().unwrap_or_else(|| {
        let what = names.join(" and ");
        if by.is_empty() {
            format!("every {what}")
        } else {
            format!("{what} by {}", by.join(" and "))
        }
    });
    let mut access = AccessDraft::new(&unique(&wanted, &known), names.first()?);
    access.find = names.iter().map(|name| free(name)).collect();
    if !conditions.is_empty() {
        access = access.filtered_by(&conditions.join(" and "));
    }
    if backwards {
        access.order = ordered.map(|name| free(&format!("{name} desc")));
    }
    access.consistent = request.is_consistent && request.index.is_none();
    access.rate = Some(rate(request));
    Some(access)
}

fn unique(wanted: &str, known: &BTreeSet<&str>) -> String {
    if !known.contains(wanted) {
        return wanted.to_owned();
    }
    let mut numbered = (2..u32::MAX).map(|number| format!("{wanted}, {number}"));
    numbered.find(|name| !known.contains(name.as_str())).unwrap_or_default()
}

fn write_of(draft: &Draft, request: &SeenRequest) -> Option<WriteDraft> {
    table_of(draft, request)?;
    let (terms, _) = asked(request);
    let found = entities_of(draft, request, &terms);
    let [entity] = found.as_slice() else { return None };
    let kind = if request.operation == "PutItem" { "put" } else { "delete" };
    let name = entity.name.value.as_str();
    let wanted = request.name.clone().unwrap_or_else(|| format!("{kind} {name}"));
    let known: BTreeSet<&str> =
        draft.writes.iter().map(|write| write.name.value.as_str()).collect();
    let mut write = WriteDraft::new(&unique(&wanted, &known), name, kind);
    write.rate = Some(rate(request));
    Some(write)
}
