//! The attributes and the partition that a request names.

use keyloom_core::expr::{KeyOperator, Path};
use keyloom_core::json::{self, Json};
use keyloom_core::{KeySchema, Result};

use super::body::{Body, Collected};

/// The legacy parameters whose members are attributes.
const LEGACY: [&str; 5] =
    ["Expected", "AttributeUpdates", "KeyConditions", "QueryFilter", "ScanFilter"];

/// Adds the top-level attributes that expressions and legacy parameters of a request name.
pub(super) fn add_named(body: Body<'_>, attributes: &mut Collected) {
    if add_expressions(body, attributes).is_err() {
        attributes.unreadable();
    }
    for parameter in LEGACY {
        match body.get(parameter) {
            None => {}
            Some(Json::Object(members)) => {
                members.iter().for_each(|(name, _)| attributes.add(name));
            }
            Some(_) => attributes.unreadable(),
        }
    }
    match body.get("AttributesToGet") {
        None => {}
        Some(Json::Array(names)) => {
            for name in names {
                match name {
                    Json::Str(name) => attributes.add(name.as_ref()),
                    _ => attributes.unreadable(),
                }
            }
        }
        Some(_) => attributes.unreadable(),
    }
}

fn add_expressions(body: Body<'_>, attributes: &mut Collected) -> Result<()> {
    let mut bindings = body.bindings()?;
    let mut add = |path: &Path| attributes.add(path.attribute.as_str());
    if let Some(text) = body.text("ProjectionExpression") {
        bindings.projection(text)?.paths().iter().for_each(&mut add);
    }
    for parameter in ["ConditionExpression", "FilterExpression"] {
        if let Some(text) = body.text(parameter) {
            bindings.condition(text)?.paths().into_iter().for_each(&mut add);
        }
    }
    if let Some(text) = body.text("UpdateExpression") {
        bindings.update(text)?.paths().into_iter().for_each(&mut add);
    }
    if let Some(text) = body.text("KeyConditionExpression") {
        let condition = bindings.key_condition(text)?.into_clauses()?;
        condition.clauses().iter().for_each(|clause| attributes.add(clause.attribute.as_str()));
    }
    Ok(())
}

/// Adds the attributes of an item or a key, and the value of its partition key.
pub(super) fn add_item(
    item: Option<&Json<'_>>,
    key: Option<&KeySchema>,
    leading: &mut Collected,
    attributes: &mut Collected,
) {
    let Some(Ok(item)) = item.map(json::item_from) else {
        leading.unreadable();
        return attributes.unreadable();
    };
    item.keys().for_each(|name| attributes.add(name.as_str()));
    let hash = key.and_then(|key| key.hash.first());
    leading.add_key(hash.and_then(|hash| item.get(&hash.name)));
}

/// Adds the partition that a query reads.
pub(super) fn add_queried(body: Body<'_>, key: Option<&KeySchema>, leading: &mut Collected) {
    match key.map(|key| queried(body, key)) {
        Some(Ok(Some(KeyOperator::Equal(value)))) => leading.add_key(Some(&value)),
        _ => leading.unreadable(),
    }
}

/// What the first attribute of the partition key is compared with.
fn queried(body: Body<'_>, key: &KeySchema) -> Result<Option<KeyOperator>> {
    let Some(hash) = key.hash.first() else { return Ok(None) };
    match (body.text("KeyConditionExpression"), body.object("KeyConditions")) {
        (Some(text), None) => {
            let condition = body.bindings()?.key_condition(text)?.into_clauses()?;
            let clause = condition.clauses().iter().find(|clause| clause.attribute == hash.name);
            Ok(clause.map(|clause| clause.operator.clone()))
        }
        (None, Some(conditions)) => {
            let condition = conditions.object(&hash.name);
            let condition = condition.filter(|one| one.text("ComparisonOperator") == Some("EQ"));
            let value = condition.map(|condition| condition.list("AttributeValueList"));
            let Some([value]) = value else { return Ok(None) };
            Ok(Some(KeyOperator::Equal(json::value_from(value)?)))
        }
        // Neither determines what is read, and both together are refused.
        _ => Ok(None),
    }
}
