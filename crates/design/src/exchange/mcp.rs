//! The two files of AWS's dynamodb-mcp-server: `dynamodb_data_model.json` and `schema.json`.

use keyloom_core::Item;
use serde_json::Value as Json;

use super::template::{field_name, names, parts, separator, written};
use super::{Lost, Reading, item, list, table, text};
use crate::draft::{
    AccessDraft, EntityDraft, FieldDraft, IndexDraft, ProjectionDraft, TableDraft, WriteDraft,
};
use crate::source::Spanned;

/// Tables as CreateTable has them, items as BatchWriteItem has them, patterns as commands of the AWS CLI.
pub(super) fn read_model(document: &Json, reading: &mut Reading) {
    for entry in list(document, "tables") {
        let Some(table) = table::table(entry, "table", &mut reading.lost) else { continue };
        let name = table.name.value.clone();
        let all = document.get("items").map(|items| list(items, &name));
        let items: Vec<Item> = all
            .into_iter()
            .flatten()
            .filter_map(|put| item(put.get("PutRequest")?.get("Item")?))
            .collect();
        if items.is_empty() {
            reading.notes.add(
                &["table", &name],
                "The model has no items of this table, so that no entity is known.",
            );
            reading.draft.tables.push(table);
        } else {
            reading.infer(table, &items);
        }
    }
    for pattern in list(document, "access_patterns") {
        let name = text(pattern, "pattern").unwrap_or("?");
        let about = text(pattern, "description").unwrap_or_default();
        let command = text(pattern, "implementation").or_else(|| text(pattern, "reason"));
        reading
            .notes
            .add(&["end"], format!("Pattern {name}, {about}: {}", command.unwrap_or_default()));
        reading.lost.push(Lost::new(
            format!("access pattern {name}: {about}"),
            "it is a command with example values, kept as a comment: state it as [access]",
        ));
    }
}

/// Tables, entities with templates, and patterns.
pub(super) fn read_schema(document: &Json, reading: &mut Reading) {
    for entry in list(document, "tables") {
        let Some(mut table) = schema_table(entry) else { continue };
        let name = table.name.value.clone();
        let empty = serde_json::Map::new();
        let entities = entry.get("entities").and_then(Json::as_object).unwrap_or(&empty);
        let templates = entities.values().flat_map(|entity| {
            let own = [entity.get("pk_template"), entity.get("sk_template")];
            let mapped = list(entity, "gsi_mappings")
                .flat_map(|it| [it.get("pk_template"), it.get("sk_template")]);
            own.into_iter().chain(mapped.collect::<Vec<_>>()).flatten().filter_map(Json::as_str)
        });
        table.separator = separator(templates).filter(|it| *it != "#").map(Spanned::free);
        for (label, body) in entities {
            let entity = schema_entity(label, body, &table, reading);
            for pattern in list(body, "access_patterns") {
                schema_pattern(pattern, &entity, &table, reading);
            }
            reading.draft.entities.push(entity);
        }
        let numbers: Vec<String> = reading
            .draft
            .entities
            .iter()
            .filter(|entity| entity.table.as_ref().is_some_and(|it| it.value == name))
            .flat_map(|entity| {
                let native = |field: &&FieldDraft| {
                    !entity.keys.iter().any(|key| key.attribute == field.name)
                };
                entity.fields.iter().filter(native)
            })
            .filter(|field| field.kind.value == "number")
            .map(|field| field.name.value.clone())
            .collect();
        type_keys(&mut table, &numbers);
        if entities.is_empty() {
            reading.notes.add(&["table", &name], "The schema has no entities in this table.");
        }
        reading.draft.tables.push(table);
    }
    for pattern in list(document, "cross_table_access_patterns") {
        let what = format!("cross-table pattern {}", text(pattern, "name").unwrap_or("?"));
        reading.lost.push(Lost::new(what, "state it as a [write] of kind `transact`"));
    }
}

fn key_list(json: &Json, member: &str) -> Vec<Spanned<String>> {
    match json.get(member) {
        Some(Json::String(name)) => vec![Spanned::free(name.as_str())],
        Some(Json::Array(names)) => {
            names.iter().filter_map(Json::as_str).map(Spanned::free).collect()
        }
        _ => Vec::new(),
    }
}

fn schema_table(entry: &Json) -> Option<TableDraft> {
    let config = entry.get("table_config")?;
    let mut table = TableDraft::new(text(config, "table_name")?);
    table.partition_key = key_list(config, "partition_key");
    table.sort_key = key_list(config, "sort_key");
    for entry in list(entry, "gsi_list") {
        let mut index = IndexDraft::global(text(entry, "name").unwrap_or("index"), &[], &[]);
        index.partition_key = key_list(entry, "partition_key");
        index.sort_key = key_list(entry, "sort_key");
        index.projection = match text(entry, "projection") {
            Some("KEYS_ONLY") => ProjectionDraft::Keys,
            Some("INCLUDE") => ProjectionDraft::Include(key_list(entry, "included_attributes")),
            _ => ProjectionDraft::All,
        };
        table.indexes.push(index);
    }
    (!table.partition_key.is_empty()).then_some(table)
}

/// Key attributes that are fields with numbers are numbers: the schema does not say the types of keys.
fn type_keys(table: &mut TableDraft, numbers: &[String]) {
    let indexes = table
        .indexes
        .iter_mut()
        .flat_map(|index| index.partition_key.iter_mut().chain(&mut index.sort_key));
    let own = table.partition_key.iter_mut().chain(&mut table.sort_key);
    for key in own.chain(indexes).filter(|key| numbers.contains(&key.value)) {
        key.value.push_str(":N");
    }
}

fn schema_entity(
    label: &str,
    body: &Json,
    table: &TableDraft,
    reading: &mut Reading,
) -> EntityDraft {
    let mut entity = EntityDraft::new(&field_name(label), &table.name.value);
    let fields: Vec<(&str, &str, bool)> = list(body, "fields")
        .filter_map(|field| {
            let required = field.get("required").is_none_or(|it| *it == true);
            Some((text(field, "name")?, text(field, "type").unwrap_or("string"), required))
        })
        .collect();
    let mut in_keys: Vec<String> = Vec::new();
    let mut add = |entity: EntityDraft, attributes: &[Spanned<String>], template: Option<&Json>| {
        let texts: Vec<&str> = match template {
            Some(Json::String(text)) => vec![text.as_str()],
            Some(Json::Array(all)) => all.iter().filter_map(Json::as_str).collect(),
            _ => Vec::new(),
        };
        let mut entity = entity;
        for (attribute, text) in attributes.iter().zip(texts) {
            let parts = parts(text, "{", "}");
            let template = written(&parts);
            in_keys.extend(names(&parts));
            // An attribute that is a field of the same name is taken as it is.
            let is_known = entity.keys.iter().any(|key| key.attribute.value == attribute.value);
            if !is_known && template != format!("{{{}}}", attribute.value) {
                entity = entity.key(&attribute.value, &template);
            }
        }
        entity
    };
    entity = add(entity, &table.partition_key, body.get("pk_template"));
    entity = add(entity, &table.sort_key, body.get("sk_template"));
    for mapping in list(body, "gsi_mappings") {
        let index =
            table.indexes.iter().find(|it| Some(it.name.value.as_str()) == text(mapping, "name"));
        let Some(index) = index else { continue };
        entity = add(entity, &index.partition_key, mapping.get("pk_template"));
        entity = add(entity, &index.sort_key, mapping.get("sk_template"));
    }
    for (name, kind, required) in fields {
        let is_native =
            !entity.keys.iter().any(|key| key.attribute.value == name) && is_key(table, name);
        let in_key = in_keys.iter().any(|known| known == name) && !is_native;
        let kind = match kind {
            "integer" | "decimal" if in_key => {
                let note = "A number that keys write without padding does not sort by value.";
                reading.notes.add(&["entity", label, name], note);
                "u64:plain"
            }
            "integer" | "decimal" => "number",
            "boolean" => "bool",
            "array" => "list",
            "object" => "map",
            "uuid" => "uuid",
            _ => "string",
        };
        let mut field = FieldDraft::new(name, kind);
        field.optional = !required;
        entity.fields.push(field);
    }
    for name in in_keys {
        if !entity.fields.iter().any(|field| field.name.value == name) {
            let mut field = FieldDraft::new(&name, "string");
            field.key_only = true;
            entity.fields.push(field);
        }
    }
    entity
}

fn is_key(table: &TableDraft, name: &str) -> bool {
    let own = table.partition_key.iter().chain(&table.sort_key);
    let mut all =
        own.chain(table.indexes.iter().flat_map(|it| it.partition_key.iter().chain(&it.sort_key)));
    all.any(|key| key.value == name)
}

/// The fields of a key in an index, in order: those of the partition key, those of the sort key.
fn key_fields(
    entity: &EntityDraft,
    table: &TableDraft,
    index: Option<&str>,
) -> (Vec<String>, Vec<String>) {
    let (partition, sort) =
        match index.and_then(|name| table.indexes.iter().find(|it| it.name.value == name)) {
            Some(index) => (&index.partition_key, &index.sort_key),
            None => (&table.partition_key, &table.sort_key),
        };
    let fields = |attributes: &[Spanned<String>]| {
        let of = |name: &Spanned<String>| {
            let key = entity.keys.iter().find(|key| key.attribute.value == name.value);
            key.map_or_else(
                || vec![name.value.clone()],
                |key| names(&parts(&key.template.value, "{", "}")),
            )
        };
        attributes.iter().flat_map(of).collect::<Vec<_>>()
    };
    (fields(partition), fields(sort))
}

fn schema_pattern(pattern: &Json, entity: &EntityDraft, table: &TableDraft, reading: &mut Reading) {
    let name = text(pattern, "name").unwrap_or("pattern").replace('_', " ");
    let place = format!("access pattern {name}");
    let operation = text(pattern, "operation").unwrap_or_default();
    let given: Vec<&str> = list(pattern, "parameters").filter_map(|it| text(it, "name")).collect();
    let has = |name: &str| entity.fields.iter().any(|field| field.name.value == name);
    let about = text(pattern, "description").filter(|about| !about.is_empty()).map(Spanned::free);
    match operation {
        "GetItem" | "Query" => match schema_access(pattern, &name, entity, table) {
            Ok(mut access) => {
                access.description = about;
                if text(pattern, "return_type") == Some("mixed_data") {
                    let why = "it returns items of several entities: add them to `find`";
                    reading.lost.push(Lost::new(format!("{place}: return_type"), why));
                }
                reading.draft.accesses.push(access);
            }
            Err(why) => reading.lost.push(Lost::new(place, why)),
        },
        "PutItem" | "DeleteItem" => {
            let kind = if operation == "PutItem" { "put" } else { "delete" };
            let mut write = WriteDraft::new(&name, &entity.name.value, kind);
            write.description = about;
            reading.draft.writes.push(write);
        }
        "UpdateItem" => {
            let (partition, sort) = key_fields(entity, table, None);
            let sets: Vec<&str> = given
                .iter()
                .copied()
                .filter(|name| has(name) && !partition.iter().chain(&sort).any(|key| key == name))
                .collect();
            if sets.is_empty() {
                reading
                    .lost
                    .push(Lost::new(place, "its parameters do not say which fields it changes"));
                return;
            }
            let mut write = WriteDraft::new(&name, &entity.name.value, "update");
            write.sets = sets.into_iter().map(Spanned::free).collect();
            write.description = about;
            reading.draft.writes.push(write);
        }
        other => reading.lost.push(Lost::new(place, format!("{other} is no pattern of a design"))),
    }
}

/// A read; or why its parameters do not tell what it asks for.
fn schema_access(
    pattern: &Json,
    name: &str,
    entity: &EntityDraft,
    table: &TableDraft,
) -> Result<AccessDraft, String> {
    let index = text(pattern, "index_name");
    let given: Vec<&str> = list(pattern, "parameters").filter_map(|it| text(it, "name")).collect();
    let has = |name: &str| entity.fields.iter().any(|field| field.name.value == name);
    let filter = pattern.get("filter_expression").map(Filter::read).transpose()?;
    let filter = filter.unwrap_or_default();
    let given = given.iter().filter(|name| !filter.inputs.iter().any(|own| own == *name));
    let (bound, open): (Vec<&str>, Vec<&str>) = given.partition(|name| has(name));
    let mut terms: Vec<String> = bound.iter().map(|name| format!("{name} = ?")).collect();
    let (partition, sort) = key_fields(entity, table, index);
    let mut unbound = partition.iter().chain(&sort).filter(|name| !bound.contains(&name.as_str()));
    match (text(pattern, "range_condition"), unbound.next()) {
        (Some("begins_with"), Some(field)) => terms.push(format!("begins_with({field}, ?)")),
        (Some("between"), Some(field)) => terms.push(format!("{field} between ? and ?")),
        (Some(operator @ ("<" | "<=" | ">" | ">=")), Some(field)) => {
            terms.push(format!("{field} {operator} ?"));
        }
        (None, _) if open.is_empty() => {}
        _ => {
            let entity = &entity.name.value;
            return Err(format!("its parameters {} are no fields of {entity}", open.join(", ")));
        }
    }
    if let Some(unknown) = filter.fields.iter().find(|name| !has(name)) {
        return Err(format!(
            "its filter asks for `{unknown}`, which {} does not have",
            entity.name.value
        ));
    }
    terms.extend(filter.terms);
    let mut access = AccessDraft::new(name, &entity.name.value);
    if !terms.is_empty() {
        access = access.filtered_by(&terms.join(" and "));
    }
    access.index = index.map(Spanned::free);
    access.returns = projected(entity, table, index).into_iter().map(Spanned::free).collect();
    access.consistent = pattern.get("consistent_read").is_some_and(|it| *it == true);
    Ok(access)
}

/// What an index that has not all attributes gives of an entity; nothing for one that has.
fn projected(entity: &EntityDraft, table: &TableDraft, index: Option<&str>) -> Vec<String> {
    let found = index.and_then(|name| table.indexes.iter().find(|it| it.name.value == name));
    let included = match found.map(|index| &index.projection) {
        Some(ProjectionDraft::Keys) => &[][..],
        Some(ProjectionDraft::Include(names)) => names.as_slice(),
        _ => return Vec::new(),
    };
    let keys = [key_fields(entity, table, index), key_fields(entity, table, None)];
    let in_keys: Vec<String> = keys.into_iter().flat_map(|(a, b)| a.into_iter().chain(b)).collect();
    let fields = entity.fields.iter().map(|field| field.name.value.clone());
    fields
        .filter(|name| in_keys.contains(name) || included.iter().any(|it| it.value == *name))
        .collect()
}

/// A `filter_expression` as terms of a condition.
#[derive(Default)]
struct Filter {
    terms: Vec<String>,
    fields: Vec<String>,
    /// The parameters that it compares with.
    inputs: Vec<String>,
}

impl Filter {
    /// Reads a filter; or why a design cannot state it.
    fn read(body: &Json) -> Result<Self, String> {
        if text(body, "logical_operator") == Some("OR") {
            return Err("its filter joins conditions by OR; state them as alternatives with `or` in `where`".to_owned());
        }
        let mut filter = Self::default();
        for condition in list(body, "conditions") {
            let field = text(condition, "field").ok_or("its filter names no field")?;
            let word = text(condition, "function").or_else(|| text(condition, "operator"));
            let term = match word {
                Some(sign @ ("=" | "<>" | "<" | "<=" | ">" | ">=")) => format!("{field} {sign} ?"),
                Some("between") => format!("{field} between ? and ?"),
                Some("in") => {
                    let count = list(condition, "params").count();
                    format!("{field} in ({})", vec!["?"; count.max(1)].join(", "))
                }
                Some(function @ ("contains" | "begins_with")) => format!("{function}({field}, ?)"),
                Some("attribute_exists") => format!("exists({field})"),
                Some("attribute_not_exists") => format!("missing({field})"),
                other => {
                    let other = other.unwrap_or("nothing");
                    return Err(format!(
                        "its filter compares `{field}` by {other}, for which a design has no word"
                    ));
                }
            };
            let named = ["param", "param2"].into_iter().filter_map(|name| text(condition, name));
            let listed = list(condition, "params").filter_map(Json::as_str);
            filter.inputs.extend(named.chain(listed).map(str::to_owned));
            filter.fields.push(field.to_owned());
            filter.terms.push(term);
        }
        Ok(filter)
    }
}
