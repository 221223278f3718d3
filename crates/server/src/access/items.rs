//! The permissions that operations on items need.

use keyloom_core::KeySchema;
use keyloom_core::expr::SearchCondition;
use keyloom_core::json::Json;
use keyloom_core::policy::Access;
use keyloom_engine::{Database, GuardedTable};

use super::attributes::{add_item, add_named, add_queried};
use super::body::{Body, Collected};
use super::needs::with_items;
use super::resource;

/// The parts that all operations on items have.
fn access(operation: &str, resource: String, body: Body<'_>) -> Access {
    let capacity = body.text("ReturnConsumedCapacity").unwrap_or("NONE");
    Access {
        action: format!("dynamodb:{operation}"),
        resource,
        return_consumed_capacity: Some(capacity.to_owned()),
        ..Access::default()
    }
}

fn key_of(table: Option<&GuardedTable>) -> Option<&KeySchema> {
    table.map(|table| &table.schema().key)
}

/// GetItem, PutItem, UpdateItem, DeleteItem and ConditionCheckItem, alone or in a transaction.
pub(super) fn single(
    database: &Database,
    operation: &str,
    body: Body<'_>,
    enclosing: Option<&str>,
) -> Access {
    let name = body.text("TableName").unwrap_or_default();
    let table = database.guarded_table(name);
    let (mut leading, mut attributes) = (Collected::default(), Collected::default());
    let item = body.get(if operation == "PutItem" { "Item" } else { "Key" });
    add_item(item, key_of(table.as_ref()), &mut leading, &mut attributes);
    add_named(body, &mut attributes);
    if body.returns_item_on_failure() {
        attributes.unreadable();
    }
    let mut access = access(operation, resource(database, name, None), body);
    match operation {
        "GetItem" => access.select = Some(selected(body, false)),
        "ConditionCheckItem" => {}
        _ => access.return_values = Some(body.text("ReturnValues").unwrap_or("NONE").to_owned()),
    }
    access.enclosing_operation = enclosing.map(str::to_owned);
    with_items(access, leading, attributes)
}

/// What a read returns: as it says or, if it says nothing, as its other parameters mean.
fn selected(body: Body<'_>, of_index: bool) -> String {
    let narrowed = ["ProjectionExpression", "AttributesToGet"];
    let default = if narrowed.iter().any(|parameter| body.get(parameter).is_some()) {
        "SPECIFIC_ATTRIBUTES"
    } else if of_index {
        "ALL_PROJECTED_ATTRIBUTES"
    } else {
        "ALL_ATTRIBUTES"
    };
    body.text("Select").unwrap_or(default).to_owned()
}

/// Query and Scan, of a table or an index.
pub(super) fn range(database: &Database, operation: &str, body: Body<'_>) -> Access {
    let name = body.text("TableName").unwrap_or_default();
    let index = body.text("IndexName");
    let table = database.guarded_table(name);
    let (mut leading, mut attributes) = (Collected::default(), Collected::default());
    add_named(body, &mut attributes);
    let mut access = access(operation, resource(database, name, index), body);
    access.select = Some(selected(body, index.is_some()));
    if operation == "Scan" {
        return Access { attributes: attributes.known(), ..access };
    }
    let key = match (index, table.as_ref()) {
        (Some(index), Some(table)) => table.schema().index(index).map(|index| &index.key),
        (_, table) => key_of(table),
    };
    add_queried(body, key, &mut leading);
    with_items(access, leading, attributes)
}

/// SearchVectors. A search that is not limited to a partition could find anything, so its leading keys
/// are unknown.
pub(super) fn vectors(database: &Database, body: Body<'_>) -> Access {
    let name = body.text("TableName").unwrap_or_default();
    let index = body.text("IndexName").unwrap_or_default();
    let table = database.guarded_table(name);
    let (mut leading, mut attributes) = (Collected::default(), Collected::default());
    add_named(body, &mut attributes);
    let hash = || {
        let index = table.as_ref()?.schema().vector_index(index)?;
        let text = body.text("SearchConditionExpression")?;
        let condition = body.bindings().ok()?.search_condition(text).ok()?;
        SearchCondition::resolve(Some(condition), index).ok()?.hash
    };
    leading.add_key(hash().as_deref());
    let access = access("SearchVectors", resource(database, name, Some(index)), body);
    with_items(access, leading, attributes)
}

/// BatchGetItem and BatchWriteItem: one permission for each table.
pub(super) fn batch(database: &Database, operation: &str, body: Body<'_>) -> Vec<Access> {
    let Some(tables) = body.object("RequestItems") else { return Vec::new() };
    let of_table = |(name, request): (&str, &Json<'_>)| {
        let table = database.guarded_table(name);
        let key = key_of(table.as_ref());
        let (mut leading, mut attributes) = (Collected::default(), Collected::default());
        let mut access = access(operation, resource(database, name, None), body);
        match request {
            Json::Object(_) => {
                if let Some(request) = Body::of(request) {
                    for item in request.list("Keys") {
                        add_item(Some(item), key, &mut leading, &mut attributes);
                    }
                    add_named(request, &mut attributes);
                    access.select = Some(selected(request, false));
                }
            }
            Json::Array(writes) => {
                for write in writes.iter().filter_map(Body::of) {
                    for (member, item) in [("PutRequest", "Item"), ("DeleteRequest", "Key")] {
                        if let Some(write) = write.object(member) {
                            add_item(write.get(item), key, &mut leading, &mut attributes);
                        }
                    }
                }
            }
            _ => leading.unreadable(),
        }
        with_items(access, leading, attributes)
    };
    tables.entries().map(of_table).collect()
}

/// TransactGetItems and TransactWriteItems: the permission of each action.
pub(super) fn transaction(database: &Database, operation: &str, body: Body<'_>) -> Vec<Access> {
    let actions = [
        ("Get", "GetItem"),
        ("Put", "PutItem"),
        ("Update", "UpdateItem"),
        ("Delete", "DeleteItem"),
        ("ConditionCheck", "ConditionCheckItem"),
    ];
    let entries = body.list("TransactItems").iter().filter_map(Body::of);
    entries
        .flat_map(|entry| {
            actions.iter().map(move |(member, action)| (entry.object(member), action))
        })
        .filter_map(|(request, action)| Some((request?, action)))
        .map(|(request, action)| Access {
            return_consumed_capacity: access(action, String::new(), body).return_consumed_capacity,
            ..single(database, action, request, Some(operation))
        })
        .collect()
}
