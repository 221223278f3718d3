//! OneTable schemas, format 1.1, as JSON.

use serde_json::{Value as Json, json};

use super::template::{Part, names, parts, separator, written};
use super::{Lost, Reading, list, text};
use crate::draft::{EntityDraft, FieldDraft, IndexDraft, ProjectionDraft, TableDraft};
use crate::source::Spanned;

pub(super) fn read(document: &Json, name: &str, reading: &mut Reading) {
    let empty = serde_json::Map::new();
    let params = document.get("params").unwrap_or(&Json::Null);
    let tag = text(params, "typeField").unwrap_or("_type");
    let mut table = TableDraft::new(name);
    reading.notes.add(&["table", name], "A OneTable schema does not name its table.");
    let indexes = document.get("indexes").and_then(Json::as_object).unwrap_or(&empty);
    for (label, index) in indexes {
        add_index(&mut table, label, index, reading);
    }
    if table.partition_key.is_empty() {
        return;
    }
    let models = document.get("models").and_then(Json::as_object).unwrap_or(&empty);
    let values = models.values().filter_map(Json::as_object).flat_map(serde_json::Map::values);
    let templates: Vec<&str> = values.filter_map(|field| text(field, "value")).collect();
    table.separator =
        separator(templates.iter().copied()).filter(|it| *it != "#").map(Spanned::free);
    table.type_attribute = Some(Spanned::free(tag));
    let keys: Vec<String> = key_names(&table);
    let is_iso = params.get("isoDates").is_some_and(|it| *it == true);
    let stamps = params.get("timestamps").is_some_and(|it| *it == true);
    for (model, fields) in models {
        let Some(fields) = fields.as_object() else { continue };
        let fields = &stored(model, fields, reading);
        let model = Model { name: model, fields, keys: &keys, tag, is_iso, stamps };
        let entity = model.entity(&mut table, reading);
        reading.draft.entities.push(entity);
    }
    for (member, why) in [("queries", "they are example parameters"), ("process", "it is code")] {
        if document.get(member).and_then(Json::as_object).is_some_and(|it| !it.is_empty()) {
            reading.lost.push(Lost::new(member, why));
        }
    }
    if list(document, "items").next().is_some() {
        reading.lost.push(Lost::new("items", "a design has no items; `keyloom load` loads them"));
    }
    reading.draft.tables.push(table);
}

fn add_index(table: &mut TableDraft, label: &str, index: &Json, reading: &mut Reading) {
    let hash = text(index, "hash");
    let sort = text(index, "sort");
    if label == "primary" {
        table.partition_key = hash.map(Spanned::free).into_iter().collect();
        table.sort_key = sort.map(Spanned::free).into_iter().collect();
        return;
    }
    let name = text(index, "name").unwrap_or(label);
    let local = text(index, "type") == Some("local");
    let mut draft = IndexDraft::global(name, &[], &[]);
    draft.partition_key = hash.filter(|_| !local).map(Spanned::free).into_iter().collect();
    draft.sort_key = sort.map(Spanned::free).into_iter().collect();
    draft.local = local;
    draft.projection = match index.get("project") {
        Some(Json::Array(names)) => ProjectionDraft::Include(
            names.iter().filter_map(Json::as_str).map(Spanned::free).collect(),
        ),
        Some(Json::String(kind)) if kind == "keys" => ProjectionDraft::Keys,
        _ => ProjectionDraft::All,
    };
    if index.get("follow").is_some_and(|it| *it == true) {
        let what = format!("index {name}: follow");
        reading.lost.push(Lost::new(
            what,
            "a pattern with `returns` beyond the projection is planned in two steps",
        ));
    }
    table.indexes.push(draft);
}

fn key_names(table: &TableDraft) -> Vec<String> {
    let own = table.partition_key.iter().chain(&table.sort_key);
    let indexed =
        table.indexes.iter().flat_map(|index| index.partition_key.iter().chain(&index.sort_key));
    own.chain(indexed).map(|name| name.value.clone()).collect()
}

/// The fields of a model under the names of their attributes. Packed ones are one attribute, a map.
fn stored(
    model: &str,
    fields: &serde_json::Map<String, Json>,
    reading: &mut Reading,
) -> serde_json::Map<String, Json> {
    let mapped = |field: &Json| text(field, "map").map(str::to_owned);
    let renamed: Vec<(&String, String)> =
        fields.iter().filter_map(|(name, field)| Some((name, mapped(field)?))).collect();
    let mut found = serde_json::Map::new();
    for (name, field) in fields {
        let mut field = field.clone();
        if let Some(value) = text(&field, "value").map(str::to_owned) {
            let own = renamed.iter().filter(|(_, own)| !own.contains('.'));
            let value = own.fold(value, |value, (name, own)| {
                let value = value.replace(&format!("${{{name}}}"), &format!("${{{own}}}"));
                value.replace(&format!("${{{name}:"), &format!("${{{own}:"))
            });
            if let Some(members) = field.as_object_mut() {
                members.insert("value".to_owned(), Json::from(value));
            }
        }
        match mapped(&field) {
            None => drop(found.insert(name.clone(), field)),
            Some(own) => match own.split_once('.') {
                None => drop(found.insert(own, field)),
                Some((attribute, _)) => {
                    found.insert(attribute.to_owned(), json!({ "type": "object" }));
                    let what = format!("model {model}: {name}: map");
                    let why = format!("it is packed into `{attribute}`, which is a map here");
                    reading.lost.push(Lost::new(what, why));
                }
            },
        }
    }
    found
}

struct Model<'m> {
    name: &'m str,
    fields: &'m serde_json::Map<String, Json>,
    keys: &'m [String],
    tag: &'m str,
    is_iso: bool,
    stamps: bool,
}

impl Model<'_> {
    fn entity(&self, table: &mut TableDraft, reading: &mut Reading) -> EntityDraft {
        let mut entity = EntityDraft::new(self.name, &table.name.value);
        let mut in_keys: Vec<(String, Option<String>)> = Vec::new();
        for (name, field) in self.fields.iter().filter(|(name, _)| self.keys.contains(name)) {
            let Some(value) = text(field, "value") else { continue };
            let mut parts = parts(value, "${", "}");
            for part in &mut parts {
                if matches!(part, Part::Field(name, _) if name == self.tag) {
                    *part = Part::Literal(self.name.to_owned());
                }
            }
            let parts = joined(parts);
            for (named, part) in names(&parts)
                .iter()
                .zip(parts.iter().filter(|part| matches!(part, Part::Field(..))))
            {
                if let Part::Field(_, options) = part {
                    in_keys.push((named.clone(), options.clone()));
                }
            }
            entity = entity.key(name, &written(&parts));
        }
        for (name, field) in self.fields {
            let templated = self.keys.contains(name) && text(field, "value").is_some();
            if !templated && name != self.tag {
                let field = self.field(name, field, &in_keys, table, reading);
                entity.fields.push(field);
            }
        }
        for (name, _) in &in_keys {
            if !entity.fields.iter().any(|field| field.name.value == *name) {
                let mut field = FieldDraft::new(name, "string");
                field.key_only = true;
                entity.fields.push(field);
                reading
                    .notes
                    .add(&["entity", self.name, name], "The model declares no such field.");
            }
        }
        if self.stamps {
            for name in ["created", "updated"] {
                if !entity.fields.iter().any(|field| field.name.value == name) {
                    let mut field =
                        FieldDraft::new(name, if self.is_iso { "datetime:ms" } else { "epoch_ms" });
                    field.optional = true;
                    entity.fields.push(field);
                }
            }
        }
        entity
    }

    fn field(
        &self,
        name: &str,
        field: &Json,
        in_keys: &[(String, Option<String>)],
        table: &mut TableDraft,
        reading: &mut Reading,
    ) -> FieldDraft {
        let place = format!("model {}: {name}", self.name);
        let kind = text(field, "type").unwrap_or("string").to_ascii_lowercase();
        let use_in_key = in_keys.iter().find(|(known, _)| known == name);
        let generated = text(field, "generate").unwrap_or_default();
        let written = match (kind.as_str(), use_in_key) {
            ("number", Some((_, Some(padding)))) => padded(padding),
            ("number", Some(_)) => {
                let note = "A number that keys write without padding does not sort by value.";
                reading.notes.add(&["entity", self.name, name], note);
                "u64:plain".to_owned()
            }
            ("number", None) => "number".to_owned(),
            ("boolean", _) => "bool".to_owned(),
            ("date", _) if field.get("ttl").is_some_and(|it| *it == true) => "number".to_owned(),
            ("date", _) => if self.is_iso || field.get("isoDates").is_some_and(|it| *it == true) {
                "datetime:ms"
            } else {
                "epoch_ms"
            }
            .to_owned(),
            ("object", _) => "map".to_owned(),
            ("array", _) => "list".to_owned(),
            ("set", _) => "string_set".to_owned(),
            ("buffer" | "arraybuffer" | "binary", _) => "binary".to_owned(),
            _ if generated.starts_with("ulid") => "ulid".to_owned(),
            _ if generated.starts_with("uuid") => "uuid".to_owned(),
            _ => "string".to_owned(),
        };
        let mut draft = FieldDraft::new(name, &written);
        draft.values = list(field, "enum").filter_map(Json::as_str).map(Spanned::free).collect();
        let is_key = self.keys.iter().any(|key| key == name);
        let required = field.get("required").is_some_and(|it| *it == true);
        let is_made = !generated.is_empty() || field.get("default").is_some();
        draft.optional = !required && !is_made && use_in_key.is_none() && !is_key;
        if field.get("ttl").is_some_and(|it| *it == true) {
            table.ttl = Some(Spanned::free(name));
        }
        for (member, why) in [
            (
                "unique",
                "a `[unique]` rule needs an entity for its guards; OneTable's have keys of its own",
            ),
            ("validate", "a design has no patterns of text"),
            ("default", "a design has no defaults"),
            ("crypt", "a design does not encrypt"),
            ("encode", "packed attributes cannot be stated"),
            ("schema", "documents have no fields of their own"),
            ("reference", "relationships are stated for entities"),
        ] {
            if field.get(member).is_some_and(|it| !it.is_null() && *it != false) {
                reading.lost.push(Lost::new(format!("{place}: {member}"), why));
            }
        }
        if text(field, "value").is_some() && !is_key {
            reading.lost.push(Lost::new(format!("{place}: value"), "only keys have templates"));
        }
        draft
    }
}

/// `${version:6:0}` is padded to six digits.
fn padded(options: &str) -> String {
    let mut words = options.split(':');
    let width = words.next().and_then(|width| width.parse::<u32>().ok());
    match (width, words.next()) {
        (Some(width @ 1..=20), Some("0") | None) => format!("u64:{width}"),
        _ => "u64:plain".to_owned(),
    }
}

/// Neighbouring literals as one.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut all: Vec<Part> = Vec::new();
    for part in parts {
        match (all.last_mut(), part) {
            (Some(Part::Literal(last)), Part::Literal(text)) => last.push_str(&text),
            (_, part) => all.push(part),
        }
    }
    all
}
