//! NoSQL Workbench, data model 3.x.

use keyloom_core::Item;
use serde_json::Value as Json;

use super::template::{Part, names, parts, separator, written};
use super::{Lost, Reading, item, list, text};
use crate::draft::{EntityDraft, FieldDraft, IndexDraft, ProjectionDraft, TableDraft};
use crate::model::Billing;
use crate::source::Spanned;

/// How people write the fields of an alias.
const MARKS: [(&str, &str); 4] = [("${", "}"), ("{{", "}}"), ("{", "}"), ("<", ">")];

pub(super) fn read(document: &Json, reading: &mut Reading) {
    reading.draft.name = text(document, "ModelName").map(Spanned::free);
    let about = document.get("ModelMetadata").and_then(|metadata| text(metadata, "Description"));
    reading.draft.description = about.filter(|about| !about.is_empty()).map(Spanned::free);
    for entry in list(document, "DataModel") {
        let Some(mut table) = table(entry, reading) else { continue };
        let name = table.name.value.clone();
        let facets: Vec<&Json> = list(entry, "TableFacets").collect();
        let mut items: Vec<Item> = list(entry, "TableData").filter_map(item).collect();
        for facet in &facets {
            items.extend(list(facet, "TableData").filter_map(item));
        }
        let marked = facets.iter().any(|facet| {
            alias(facet, "PartitionKeyAlias").is_some_and(|alias| {
                MARKS.iter().any(|(open, close)| alias.contains(open) && alias.contains(close))
            })
        });
        if marked {
            let aliases = facets.iter().flat_map(|facet| {
                [alias(facet, "PartitionKeyAlias"), alias(facet, "SortKeyAlias")]
            });
            table.separator =
                separator(aliases.flatten()).filter(|it| *it != "#").map(Spanned::free);
            reading.draft.tables.push(table);
            for facet in facets {
                entity_of_facet(entry, facet, &name, reading);
            }
            if !items.is_empty() {
                let what = format!("table {name}: {} sample items", items.len());
                reading
                    .lost
                    .push(Lost::new(what, "a design has no items; `keyloom load` loads them"));
            }
        } else if items.is_empty() {
            reading.draft.tables.push(table);
            entity_of_attributes(entry, &name, reading);
        } else {
            reading.infer(table, &items);
            for facet in facets {
                let what =
                    format!("table {name}: facet {}", text(facet, "FacetName").unwrap_or_default());
                reading.lost.push(Lost::new(
                    what,
                    "its aliases name no fields; entities were found in the sample items",
                ));
            }
        }
        let access = entry.get("DataAccess").and_then(|access| access.get("MySql"));
        if access.and_then(Json::as_object).is_some_and(|access| !access.is_empty()) {
            reading.lost.push(Lost::new(
                format!("table {name}: DataAccess"),
                "a design reads no other database",
            ));
        }
    }
}

fn key(json: &Json, member: &str) -> Option<Spanned<String>> {
    let key = json.get(member)?;
    let name = text(key, "AttributeName")?;
    Some(match text(key, "AttributeType") {
        Some(kind @ ("N" | "B")) => Spanned::free(format!("{name}:{kind}")),
        _ => Spanned::free(name),
    })
}

fn table(entry: &Json, reading: &mut Reading) -> Option<TableDraft> {
    let mut table = TableDraft::new(text(entry, "TableName")?);
    let keys = entry.get("KeyAttributes")?;
    table.partition_key = vec![key(keys, "PartitionKey")?];
    table.sort_key = key(keys, "SortKey").into_iter().collect();
    for (member, local) in [("GlobalSecondaryIndexes", false), ("LocalSecondaryIndexes", true)] {
        for entry in list(entry, member) {
            let mut index =
                IndexDraft::global(text(entry, "IndexName").unwrap_or("index"), &[], &[]);
            let Some(keys) = entry.get("KeyAttributes") else { continue };
            index.partition_key =
                key(keys, "PartitionKey").filter(|_| !local).into_iter().collect();
            index.sort_key = key(keys, "SortKey").into_iter().collect();
            index.local = local;
            let projection = entry.get("Projection");
            index.projection = match projection.and_then(|it| text(it, "ProjectionType")) {
                Some("KEYS_ONLY") => ProjectionDraft::Keys,
                Some("INCLUDE") => ProjectionDraft::Include(
                    projection
                        .into_iter()
                        .flat_map(|it| list(it, "NonKeyAttributes"))
                        .filter_map(Json::as_str)
                        .map(Spanned::free)
                        .collect(),
                ),
                _ => ProjectionDraft::All,
            };
            table.indexes.push(index);
        }
    }
    if text(entry, "BillingMode") == Some("PROVISIONED") {
        table.billing = Billing::Provisioned;
        let what = format!("table {}: ProvisionedCapacitySettings", table.name.value);
        reading.lost.push(Lost::new(what, "`keyloom deploy` calculates capacities from rates"));
    }
    Some(table)
}

fn alias<'j>(facet: &'j Json, member: &str) -> Option<&'j str> {
    facet.get("KeyAttributeAlias").and_then(|alias| text(alias, member))
}

/// The type of a field, by the type of its attribute.
fn field_type(entry: &Json, name: &str) -> Option<&'static str> {
    let found =
        list(entry, "NonKeyAttributes").find(|it| text(it, "AttributeName") == Some(name))?;
    Some(match text(found, "AttributeType").unwrap_or("S") {
        "N" => "number",
        "B" => "binary",
        "BOOL" => "bool",
        "L" => "list",
        "M" => "map",
        "SS" => "string_set",
        "NS" => "number_set",
        _ => "string",
    })
}

fn alias_parts(alias: &str) -> Vec<Part> {
    let marks = MARKS.iter().find(|(open, close)| alias.contains(open) && alias.contains(close));
    match marks {
        Some((open, close)) => parts(alias, open, close),
        None => vec![Part::Literal(alias.to_owned())],
    }
}

fn entity_of_facet(entry: &Json, facet: &Json, table: &str, reading: &mut Reading) {
    let name = text(facet, "FacetName").unwrap_or("Facet");
    let mut entity = EntityDraft::new(&super::template::field_name(name), table);
    let keys = entry.get("KeyAttributes").unwrap_or(&Json::Null);
    for (member, of) in [("PartitionKey", "PartitionKeyAlias"), ("SortKey", "SortKeyAlias")] {
        let (Some(attribute), Some(alias)) =
            (keys.get(member).and_then(|it| text(it, "AttributeName")), alias(facet, of))
        else {
            continue;
        };
        let parts = alias_parts(alias);
        entity = entity.key(attribute, &written(&parts));
        for field in names(&parts) {
            add_field(&mut entity, entry, &field);
        }
    }
    for field in list(facet, "NonKeyAttributes").filter_map(Json::as_str) {
        add_field(&mut entity, entry, field);
    }
    let what = format!("facet {name}: keys of indexes");
    if list(entry, "GlobalSecondaryIndexes").next().is_some() {
        reading.lost.push(Lost::new(what, "facets have aliases of the table's own keys only"));
    }
    reading.draft.entities.push(entity);
}

fn add_field(entity: &mut EntityDraft, entry: &Json, name: &str) {
    if entity.fields.iter().any(|field| field.name.value == name) {
        return;
    }
    let in_key = entity.keys.iter().any(|key| key.template.value.contains(&format!("{{{name}}}")));
    let kind = field_type(entry, name).unwrap_or("string");
    let kind = if in_key && kind == "number" { "u64:plain" } else { kind };
    let mut field = FieldDraft::new(name, kind);
    field.key_only = in_key && field_type(entry, name).is_none();
    entity.fields.push(field);
}

/// One entity with the attributes of the table, whose keys are taken as they are.
fn entity_of_attributes(entry: &Json, table: &str, reading: &mut Reading) {
    let mut entity = EntityDraft::new(&super::template::field_name(&format!("{table}Item")), table);
    let keys = entry.get("KeyAttributes").unwrap_or(&Json::Null);
    for key in ["PartitionKey", "SortKey"].iter().filter_map(|member| keys.get(member)) {
        let kind = match text(key, "AttributeType") {
            Some("N") => "number",
            Some("B") => "binary",
            _ => "string",
        };
        entity.fields.push(FieldDraft::new(text(key, "AttributeName").unwrap_or_default(), kind));
    }
    for name in list(entry, "NonKeyAttributes").filter_map(|it| text(it, "AttributeName")) {
        add_field(&mut entity, entry, name);
        if let Some(field) = entity.fields.last_mut().filter(|field| field.name.value == name) {
            field.optional = true;
        }
    }
    reading.notes.add(
        &["entity", &entity.name.value.clone()],
        "The model has no facets with named fields and no sample items: keys are taken as they are.",
    );
    reading.draft.entities.push(entity);
}
