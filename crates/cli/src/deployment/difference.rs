//! A table that is there, compared with the one that a design wants.

use serde_json::{Value as Json, json};

use super::change::{Change, no_time_to_live};
use super::service::member;

/// How a deployed table differs from its design.
#[derive(Debug, Default)]
pub(super) struct Difference {
    pub(super) changes: Vec<Change>,
    pub(super) refusals: Vec<String>,
    pub(super) notes: Vec<String>,
    table: String,
}

/// When the items of a table end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// The endpoint has no such thing.
    Unknown,
    /// Items never expire.
    Endless,
    /// At the time in this attribute.
    Until(String),
}

impl Difference {
    /// Compares a description with a CreateTable request.
    pub(super) fn between(there: &Json, wanted: &Json) -> Self {
        let table = member(wanted, "/TableName").as_str().unwrap_or_default().to_owned();
        let mut difference = Self { table, ..Self::default() };
        difference.compare_keys(there, wanted);
        difference.compare_local(there, wanted);
        difference.compare_billing(there, wanted);
        difference.compare_global(there, wanted);
        difference.compare_settings(there, wanted);
        difference
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.refusals.is_empty() && self.notes.is_empty()
    }

    fn compare_keys(&mut self, there: &Json, wanted: &Json) {
        let (old, new) = (typed_keys(there, there), typed_keys(wanted, wanted));
        if old != new {
            self.refusals.push(format!(
                "table `{}` has the key ({old}), the design says ({new}): a table's key never changes; \
                 give the table another name and move the items",
                self.table
            ));
        }
    }

    /// Local indexes exist from the first day or never.
    fn compare_local(&mut self, there: &Json, wanted: &Json) {
        let (old, new) = (indexes(there, "Local"), indexes(wanted, "Local"));
        for index in &new {
            let name = name_of(index);
            match old.iter().find(|other| name_of(other) == name) {
                None => self.refusals.push(format!(
                    "local index `{name}` is not in table `{}`: local indexes are made with the table; \
                     make it a global one, or give the table another name and move the items",
                    self.table
                )),
                Some(other) if shape(there, other) != shape(wanted, index) => {
                    self.refusals.push(self.differs(there, other, wanted, index, "make the table anew"));
                }
                Some(_) => {}
            }
        }
        self.note_extra(&old, &new);
    }

    fn compare_global(&mut self, there: &Json, wanted: &Json) {
        let (old, new) = (indexes(there, "Global"), indexes(wanted, "Global"));
        let mut attributes: Vec<Json> =
            member(there, "/AttributeDefinitions").as_array().cloned().unwrap_or_default();
        for index in &new {
            let name = name_of(index);
            match old.iter().find(|other| name_of(other) == name) {
                None => self.add_index(there, wanted, index, &mut attributes),
                Some(other) if shape(there, other) != shape(wanted, index) => {
                    let way =
                        "add it under another name, move the readers, then delete the old one";
                    self.refusals.push(self.differs(there, other, wanted, index, way));
                }
                Some(_) => {}
            }
        }
        self.note_extra(&old, &new);
    }

    /// An index more, unless one of its key attributes has another type in the table already.
    fn add_index(&mut self, there: &Json, wanted: &Json, index: &Json, known: &mut Vec<Json>) {
        for part in member(index, "/KeySchema").as_array().into_iter().flatten() {
            let name = member(part, "/AttributeName").as_str().unwrap_or_default();
            let Some(new) = definition_of(wanted, name) else { continue };
            match definition_of(there, name) {
                Some(old) if old != new => {
                    let refusal = self.other_type(there, index, old, new);
                    self.refusals.push(refusal);
                    return;
                }
                _ if known.contains(new) => {}
                _ => known.push(new.clone()),
            }
        }
        let (table, attributes) = (self.table.clone(), known.clone());
        let index = index.clone();
        self.changes.push(Change::AddIndex { table, index, attributes });
    }

    fn other_type(&self, there: &Json, index: &Json, old: &Json, new: &Json) -> String {
        let kind = |definition| member(definition, "/AttributeType").as_str().unwrap_or_default();
        let name = member(new, "/AttributeName").as_str().unwrap_or_default();
        let is_part = |of: &Json| {
            let mut parts = member(of, "/KeySchema").as_array().into_iter().flatten();
            parts.any(|part| member(part, "/AttributeName") == name)
        };
        let indexes = ["Local", "Global"].into_iter().flat_map(|kind| indexes(there, kind));
        let users: Vec<&str> = indexes.filter(|i| is_part(i)).map(name_of).collect();
        let way = if is_part(there) || users.is_empty() {
            String::new()
        } else {
            format!(", or delete index `{}` first", users.join("` and index `"))
        };
        format!(
            "index `{}` of table `{}` is to have `{name}` as {}, but keys of the table have it as {}: an \
             attribute has one type in all keys of a table; give the index's attribute another name{way}",
            name_of(index),
            self.table,
            kind(new),
            kind(old)
        )
    }

    fn differs(&self, there: &Json, old: &Json, wanted: &Json, new: &Json, way: &str) -> String {
        format!(
            "index `{}` of table `{}` is {}, the design says {}: an index is never changed in place; {way}",
            name_of(new),
            self.table,
            shape(there, old),
            shape(wanted, new)
        )
    }

    fn note_extra(&mut self, old: &[&Json], new: &[&Json]) {
        let extra = old.iter().filter(|index| new.iter().all(|n| name_of(n) != name_of(index)));
        for index in extra {
            self.notes.push(format!(
                "index `{}` of table `{}` is not in the design; it is left as it is",
                name_of(index),
                self.table
            ));
        }
    }

    /// How the table is paid, with the indexes that it has: those that are added come after it.
    fn compare_billing(&mut self, there: &Json, wanted: &Json) {
        let mode = billing_mode(there);
        let designed = member(wanted, "/BillingMode").as_str().unwrap_or("PROVISIONED");
        if mode == designed {
            return;
        }
        let mut body = json!({ "TableName": self.table, "BillingMode": designed });
        if let (Json::Object(body), "PROVISIONED") = (&mut body, designed) {
            let units = member(wanted, "/ProvisionedThroughput");
            body.insert("ProvisionedThroughput".into(), units.clone());
            let designed = indexes(wanted, "Global");
            let update = |index: &&Json| {
                let own = designed.iter().find(|other| name_of(other) == name_of(index));
                let own = own.map_or(units, |own| member(own, "/ProvisionedThroughput"));
                json!({ "Update": { "IndexName": name_of(index), "ProvisionedThroughput": own } })
            };
            let updates: Vec<Json> = indexes(there, "Global").iter().map(update).collect();
            if !updates.is_empty() {
                body.insert("GlobalSecondaryIndexUpdates".into(), updates.into());
            }
        }
        let what = format!("billed {designed} instead of {mode}");
        self.changes.push(Change::Settings { what, body });
    }

    fn compare_settings(&mut self, there: &Json, wanted: &Json) {
        let class = |value: &Json| value.as_str().unwrap_or("STANDARD").to_owned();
        let before = class(member(there, "/TableClassSummary/TableClass"));
        let after = class(member(wanted, "/TableClass"));
        if before != after {
            let body = json!({ "TableName": self.table, "TableClass": after });
            let what = format!("class {after} instead of {before}");
            self.changes.push(Change::Settings { what, body });
        }
        let view = |table: &Json| {
            member(table, "/StreamSpecification/StreamViewType").as_str().map(str::to_owned)
        };
        match (view(there), view(wanted)) {
            (None, Some(new)) => self.changes.push(Change::Settings {
                what: format!("a stream that holds {new}"),
                body: json!({
                    "TableName": self.table,
                    "StreamSpecification": member(wanted, "/StreamSpecification"),
                }),
            }),
            (Some(old), Some(new)) if old != new => self.notes.push(format!(
                "the stream of table `{}` holds {old}, the design says {new}; it is left as it is, because another one \
                 would begin empty: turn it off when its readers are done, then deploy again",
                self.table
            )),
            (Some(old), None) => self.notes.push(format!(
                "table `{}` has a stream that holds {old}, the design has none; it is left as it is",
                self.table
            )),
            _ => {}
        }
    }

    /// Compares what ends the life of items.
    pub(super) fn compare_time_to_live(&mut self, there: &Lifetime, wanted: Option<Json>) {
        let off = |old: &str| {
            let setting = json!({ "Enabled": false, "AttributeName": old });
            Change::Endless(json!({ "TableName": self.table, "TimeToLiveSpecification": setting }))
        };
        let Some(wanted) = wanted else {
            if let Lifetime::Until(old) = there {
                self.changes.push(off(old));
            }
            return;
        };
        let attribute = member(&wanted, "/TimeToLiveSpecification/AttributeName").as_str();
        match there {
            Lifetime::Unknown => self.notes.push(no_time_to_live(&wanted)),
            Lifetime::Endless => self.changes.push(Change::TimeToLive(wanted)),
            Lifetime::Until(old) if Some(old.as_str()) == attribute => {}
            Lifetime::Until(old) => {
                let off = off(old);
                self.changes.extend([off, Change::TimeToLive(wanted)]);
            }
        }
    }
}

fn indexes<'a>(table: &'a Json, kind: &str) -> Vec<&'a Json> {
    table
        .get(format!("{kind}SecondaryIndexes"))
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .collect()
}

fn name_of(index: &Json) -> &str {
    member(index, "/IndexName").as_str().unwrap_or_default()
}

/// The keys of a table or index in words: `PK:S, SK:S`.
fn typed_keys(table: &Json, of: &Json) -> String {
    let kind_of = |name: &str| {
        let found = definition_of(table, name);
        found.and_then(|attribute| member(attribute, "/AttributeType").as_str()).unwrap_or("?")
    };
    let schema = member(of, "/KeySchema").as_array().into_iter().flatten();
    let parts = schema.map(|part| {
        let name = member(part, "/AttributeName").as_str().unwrap_or_default();
        let kind = member(part, "/KeyType").as_str().unwrap_or_default().to_lowercase();
        format!("{kind} {name}:{}", kind_of(name))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// An index in words: its keys and what it holds.
fn shape(table: &Json, index: &Json) -> String {
    let projection = member(index, "/Projection");
    let kind = member(projection, "/ProjectionType").as_str().unwrap_or_default();
    let listed = member(projection, "/NonKeyAttributes").as_array().into_iter().flatten();
    let mut names: Vec<&str> = listed.filter_map(Json::as_str).collect();
    names.sort_unstable();
    let held =
        if names.is_empty() { kind.to_owned() } else { format!("{kind} {}", names.join(", ")) };
    format!("({}) projecting {held}", typed_keys(table, index))
}

/// The definition of a key attribute.
fn definition_of<'a>(table: &'a Json, name: &str) -> Option<&'a Json> {
    let mut known = member(table, "/AttributeDefinitions").as_array().into_iter().flatten();
    known.find(|attribute| member(attribute, "/AttributeName") == name)
}

/// How a table that is there is billed; one that was never on demand does not say so.
fn billing_mode(there: &Json) -> &str {
    member(there, "/BillingModeSummary/BillingMode").as_str().unwrap_or("PROVISIONED")
}
