//! Access patterns and writes from recorded requests.
//!
//! A recording has the shape of a request, such as `Query GSI1PK = USER#…, GSI1SK begins ORDER#…, backwards`: the words
//! tell the entities, and the fields of their keys are what was asked for.

use std::collections::BTreeSet;

use super::entity::fields_in;
use super::free;
use crate::draft::print::Notes;
use crate::draft::{AccessDraft, Draft, EntityDraft, Rate, TableDraft, WriteDraft};
use crate::source::Spanned;

/// A kind of request that was recorded.
#[derive(Clone, Debug, Default)]
pub struct SeenRequest {
    /// The name of the table.
    pub table: String,
    /// The index, if it was one.
    pub index: Option<String>,
    /// The operation, such as `Query`.
    pub operation: String,
    /// What it was called in a design.
    pub name: Option<String>,
    /// The shape of the request.
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
                let name = add_access(draft, access);
                notes.add(&["access", &name], evidence(request));
            }),
            "PutItem" | "DeleteItem" | "BatchWriteItem" => write_of(draft, request).map(|write| {
                let name = add_write(draft, write, request.name.is_some());
                notes.add(&["write", &name], evidence(request));
            }),
            _ => None,
        };
        if told.is_none() {
            unused.push(format!("{} ({} requests)", request.shape, request.requests));
        }
    }
    unused
}

/// Adds a pattern, or its requests to one that asks for the same; the name of either.
fn add_access(draft: &mut Draft, access: AccessDraft) -> String {
    let asks = |access: &AccessDraft| {
        let text = |part: &Option<Spanned<String>>| part.as_ref().map(|part| part.value.clone());
        let find: Vec<String> = access.find.iter().map(|one| one.value.clone()).collect();
        (find, text(&access.condition), text(&access.order), access.consistent)
    };
    let wanted = asks(&access);
    let Some(same) = draft.accesses.iter_mut().find(|known| asks(known) == wanted) else {
        let name = access.name.value.clone();
        draft.accesses.push(access);
        return name;
    };
    if let (Some(rate), Some(more)) = (&mut same.rate, &access.rate) {
        rate.average += more.average;
        rate.peak += more.peak;
    }
    same.name.value.clone()
}

/// Adds a write, or its requests to one of the same kind that is unnamed too; returns its name.
fn add_write(draft: &mut Draft, write: WriteDraft, is_named: bool) -> String {
    let what = |write: &WriteDraft| {
        let entities: Vec<String> = write.entities.iter().map(|one| one.value.clone()).collect();
        (entities, write.kind.value.clone())
    };
    let wanted = what(&write);
    let same = draft.writes.iter_mut().find(|known| !is_named && what(known) == wanted);
    let Some(same) = same else {
        let name = write.name.value.clone();
        draft.writes.push(write);
        return name;
    };
    if let (Some(rate), Some(more)) = (&mut same.rate, &write.rate) {
        rate.average += more.average;
        rate.peak += more.peak;
    }
    same.name.value.clone()
}

fn evidence(request: &SeenRequest) -> String {
    let doubt = match request.operation.as_str() {
        "BatchWriteItem" => "; some may be deletes",
        _ => "",
    };
    format!("{} requests: {}{doubt}", request.requests, request.shape)
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
        // A value that was asked for, such as `SHIPPED`, is one of the inputs.
        return entity.fields.iter().any(|field| field.name.value == asked.attribute);
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
    let entities: Vec<&EntityDraft> = draft.entities.iter().filter(here).collect();
    let named: Vec<&EntityDraft> = entities
        .iter()
        .copied()
        .filter(|entity| terms.iter().all(|term| is_of(entity, term)))
        .collect();
    if !named.is_empty() {
        return named;
    }
    // A short value looks like a word of the keys: then it is of those whose keys begin with a value.
    let may_be = |entity: &&EntityDraft| {
        terms.iter().all(|term| is_of(entity, term) || begins_with_a_value(entity, term))
    };
    entities.into_iter().filter(may_be).collect()
}

fn begins_with_a_value(entity: &EntityDraft, asked: &Asked) -> bool {
    template(entity, &asked.attribute).is_some_and(|template| template.starts_with('{'))
}

fn table_of<'d>(draft: &'d Draft, request: &SeenRequest) -> Option<&'d TableDraft> {
    draft.tables.iter().find(|table| table.name.value == request.table)
}

/// The fields in a key attribute of an entity.
struct KeyFields {
    /// Those that a value can be given for.
    given: Vec<String>,
    /// Those of which the key holds the day, month or the like: they are asked for by range.
    bucketed: Vec<String>,
}

fn key_fields(entity: &EntityDraft, attribute: &str) -> Option<KeyFields> {
    let mut fields = KeyFields { given: Vec::new(), bucketed: Vec::new() };
    let Some(template) = template(entity, attribute) else {
        fields.given.push(attribute.to_owned());
        return Some(fields);
    };
    for name in fields_in(template) {
        let field = entity.fields.iter().find(|field| field.name.value == name)?;
        let is_bucketed = ["year", "month", "date", "hour"]
            .iter()
            .any(|bucket| template.contains(&format!("{{{name}:{bucket}")));
        if is_bucketed {
            fields.bucketed.push(name);
        } else if field.shards.is_none() {
            fields.given.push(name);
        }
    }
    Some(fields)
}

/// What a request asks of an entity.
#[derive(Default)]
struct Conditions {
    /// The conditions of the pattern, in the order of the key.
    texts: Vec<String>,
    /// The fields they are about.
    fields: Vec<String>,
    /// The field that sorts.
    ordered: Option<String>,
}

impl Conditions {
    /// Reads the conditions of a request; `None` if the entity's keys do not say what they are about.
    fn of(entity: &EntityDraft, terms: &[Asked]) -> Option<Conditions> {
        let mut found = Conditions::default();
        let mut bucketed = Vec::new();
        for term in terms {
            let fields = key_fields(entity, &term.attribute)?;
            let first = fields.given.first().or(fields.bucketed.first()).cloned();
            match term.operator.as_str() {
                "=" => {
                    fields.given.iter().for_each(|name| found.add(name, &format!("{name} = ?")));
                    bucketed.extend(fields.bucketed);
                }
                "begins" if term.is_whole => found.ordered = first,
                "begins" => found.add_range(&first?, |name| format!("begins_with({name}, ?)")),
                "between" => found.add_range(&first?, |name| format!("{name} between ? and ?")),
                operator @ ("<" | "<=" | ">" | ">=") => {
                    found.add_range(&first?, |name| format!("{name} {operator} ?"));
                }
                _ => return None,
            }
        }
        for name in bucketed {
            found.add(&name, &format!("{name} between ? and ?"));
        }
        found.add_presence(entity, terms);
        Some(found)
    }

    fn add(&mut self, field: &str, text: &str) {
        if !self.fields.iter().any(|known| known == field) {
            self.fields.push(field.to_owned());
            self.texts.push(text.to_owned());
        }
    }

    fn add_range(&mut self, field: &str, text: impl Fn(&str) -> String) {
        self.add(field, &text(field));
        self.ordered = Some(field.to_owned());
    }

    /// Adds the conditions under which the keys that were asked for are written: a sparse index has no other items.
    fn add_presence(&mut self, entity: &EntityDraft, terms: &[Asked]) {
        for key in &entity.keys {
            let Some(when) = &key.when else { continue };
            let is_asked = terms.iter().any(|term| term.attribute == key.attribute.value);
            let text = if when.value.contains(" or ") {
                format!("({})", when.value)
            } else {
                when.value.clone()
            };
            if is_asked && !self.texts.contains(&text) {
                self.texts.push(text);
            }
        }
    }
}

/// What a pattern is called that was not recorded with a name.
fn name_of(entities: &[&str], fields: &[String]) -> String {
    let what = entities.join(" and ");
    if fields.is_empty() {
        format!("every {what}")
    } else {
        format!("{what} by {}", fields.join(" and "))
    }
}

fn access_of(draft: &Draft, request: &SeenRequest) -> Option<AccessDraft> {
    table_of(draft, request)?;
    let (terms, backwards) = asked(request);
    if terms.is_empty() {
        return None;
    }
    let found = entities_of(draft, request, &terms);
    let conditions = Conditions::of(found.first()?, &terms)?;
    let names: Vec<&str> = found.iter().map(|entity| entity.name.value.as_str()).collect();
    let known: BTreeSet<&str> =
        draft.accesses.iter().map(|access| access.name.value.as_str()).collect();
    let wanted = request.name.clone().unwrap_or_else(|| name_of(&names, &conditions.fields));
    let mut access = AccessDraft::new(&unique(&wanted, &known), names.first()?);
    access.find = names.iter().map(|name| free(name)).collect();
    if !conditions.texts.is_empty() {
        access = access.filtered_by(&conditions.texts.join(" and "));
    }
    if backwards {
        access.order = conditions.ordered.map(|name| free(&format!("{name} desc")));
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
    let kind = if request.operation == "DeleteItem" { "delete" } else { "put" };
    let name = entity.name.value.as_str();
    let wanted = request.name.clone().unwrap_or_else(|| format!("{kind} {name}"));
    let known: BTreeSet<&str> =
        draft.writes.iter().map(|write| write.name.value.as_str()).collect();
    let mut write = WriteDraft::new(&unique(&wanted, &known), name, kind);
    write.rate = Some(rate(request));
    Some(write)
}
