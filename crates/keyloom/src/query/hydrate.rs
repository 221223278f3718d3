//! The second step: rows that only lead to the items.

use keyloom_core::{AttributeValue, Item};
use keyloom_design::plan::Hydrate;
use keyloom_engine::QueryInput;
use keyloom_keys::Value;

use super::Planned;
use crate::entity::EntityModel;
use crate::error::{Error, Result};
use crate::expression::Placeholders;
use crate::table::{Table, get_all};

/// The items that rows lead to, in the order of the rows; the rows themselves if there is no second step.
pub(super) fn items<D>(table: &Table<D>, planned: &Planned, rows: Vec<Item>) -> Result<Vec<Item>> {
    let Some(hydrate) = &planned.plan.hydrate else { return Ok(rows) };
    if planned.pattern.via.is_none() {
        return same_items(table, planned, &rows);
    }
    if hydrate.batch {
        return linked_items(table, hydrate, &rows);
    }
    queried_items(table, planned, hydrate, &rows)
}

/// The index holds only a part of each item: the rest is read by primary key.
fn same_items<D>(table: &Table<D>, planned: &Planned, rows: &[Item]) -> Result<Vec<Item>> {
    let Some(read) = planned.plan.reads.first() else { return Ok(Vec::new()) };
    let names: Vec<&str> =
        read.table.primary().attributes().map(|attribute| attribute.name.as_str()).collect();
    let keys: Vec<(String, Item)> = rows
        .iter()
        .map(|row| {
            let parts =
                names.iter().filter_map(|name| Some(((*name).into(), row.get(name)?.clone())));
            (read.table.name.clone(), parts.collect())
        })
        .collect();
    let found = get_all(&table.backend, &table.retry, &keys, false)?;
    Ok(found.into_iter().flatten().collect())
}

/// Links know the primary keys of what they link to.
fn linked_items<D>(table: &Table<D>, hydrate: &Hydrate, rows: &[Item]) -> Result<Vec<Item>> {
    let models: Vec<EntityModel> = hydrate.entities.iter().map(EntityModel::declared).collect();
    let mut keys = Vec::new();
    for row in rows {
        for model in &models {
            keys.push((model.table().to_owned(), model.key_item(|name| field_of(row, name))?));
        }
    }
    let found = get_all(&table.backend, &table.retry, &keys, false)?;
    Ok(found.into_iter().flatten().collect())
}

/// Links know the key in an index: one Query for each.
fn queried_items<D>(
    table: &Table<D>,
    planned: &Planned,
    hydrate: &Hydrate,
    rows: &[Item],
) -> Result<Vec<Item>> {
    let wrong = |reason: &str| Error::Pattern {
        pattern: planned.pattern.name.clone(),
        reason: reason.to_owned(),
    };
    let mut found = Vec::new();
    for row in rows {
        for entity in &hydrate.entities {
            let index = hydrate.index.as_deref().and_then(|name| entity.table.index(name));
            let index = index.ok_or_else(|| wrong("the index of the second step is gone"))?;
            let key = entity.index_key(index).ok_or_else(|| wrong("no key in the index"))?;
            let mut placeholders = Placeholders::default();
            let mut tests = Vec::new();
            for part in key.parts() {
                let template = part.shape.template();
                let value = template
                    .build(|name| field_of(row, name).map(Value::into_owned))
                    .ok_or_else(|| wrong("a link lacks a field of the key"))?;
                let name = placeholders.name(&part.attribute);
                tests.push(format!("{name} = {}", placeholders.value(AttributeValue::from(value))));
            }
            let (names, values) = placeholders.into_parts();
            let mut input =
                QueryInput { key_condition: Some(tests.join(" AND ")), ..QueryInput::default() };
            input.read.table_name.clone_from(&entity.table.name);
            input.read.index_name.clone_from(&index.name);
            input.read.projection.names = names;
            input.read.values = values;
            let page = table.retry.run("Query", true, |_| table.backend.query(&input))?;
            found.extend(page.items);
        }
    }
    Ok(found)
}

/// A field of a stored row, for building keys: texts stand for every type.
fn field_of<'r>(row: &'r Item, name: &str) -> Option<Value<'r>> {
    match row.get(name)? {
        AttributeValue::S(text) => Some(Value::from(text.as_str())),
        AttributeValue::N(number) => Some(Value::from(number.to_string())),
        AttributeValue::Bool(flag) => Some(Value::from(*flag)),
        AttributeValue::B(bytes) => Some(Value::from(bytes.as_slice())),
        _ => None,
    }
}
