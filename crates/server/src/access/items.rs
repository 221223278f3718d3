//! The permissions that operations on items need.

use keyloom_core::expr::SearchCondition;
use keyloom_core::json::Json;
use keyloom_core::policy::Access;
use keyloom_core::{KeySchema, Operation};
use keyloom_engine::{Database, GuardedTable};

use super::attributes::{add_item, add_named, add_queried};
use super::body::{Body, Collected};
use super::needs::{action, with_items};
use super::resource;

/// The parts that all operations on items have.
fn access(name: &str, resource: String, body: Body<'_>) -> Access {
    Access {
        action: action(name),
        resource,
        return_consumed_capacity: Some(capacity_asked(body)),
        ..Access::default()
    }
}

/// What of the consumed capacity the answer is to state.
fn capacity_asked(body: Body<'_>) -> String {
    body.text("ReturnConsumedCapacity").unwrap_or("NONE").to_owned()
}

fn key_of(table: Option<&GuardedTable>) -> Option<&KeySchema> {
    table.map(|table| &table.schema().key)
}

/// What a request does with one item.
#[derive(Clone, Copy)]
pub(super) enum ItemAction {
    /// An operation, alone or in a transaction.
    Operation(Operation),
    /// The check of a transaction. It is an action of policies and no operation.
    ConditionCheck,
}

impl From<Operation> for ItemAction {
    fn from(operation: Operation) -> Self {
        Self::Operation(operation)
    }
}

impl ItemAction {
    fn name(self) -> &'static str {
        match self {
            Self::Operation(operation) => operation.name(),
            Self::ConditionCheck => "ConditionCheckItem",
        }
    }

    /// The member of the request that holds the item or its key.
    fn member(self) -> &'static str {
        match self {
            Self::Operation(operation) => operation.item_member().unwrap_or("Key"),
            Self::ConditionCheck => "Key",
        }
    }
}

/// The permission to read, write or check one item.
pub(super) fn single(
    database: &Database,
    action: ItemAction,
    body: Body<'_>,
    enclosing: Option<Operation>,
) -> Access {
    let name = body.text("TableName").unwrap_or_default();
    let table = database.guarded_table(name);
    let (mut leading, mut attributes) = (Collected::default(), Collected::default());
    add_item(body.get(action.member()), key_of(table.as_ref()), &mut leading, &mut attributes);
    add_named(body, &mut attributes);
    if body.returns_item_on_failure() {
        attributes.unreadable();
    }
    let mut access = access(action.name(), resource(database, name, None), body);
    match action {
        ItemAction::Operation(Operation::GetItem) => access.select = Some(selected(body, false)),
        ItemAction::ConditionCheck => {}
        ItemAction::Operation(_) => {
            access.return_values = Some(body.text("ReturnValues").unwrap_or("NONE").to_owned());
        }
    }
    access.enclosing_operation = enclosing.map(|operation| operation.name().to_owned());
    with_items(access, leading, attributes)
}

/// What a read returns: its `Select`, or the default that its other parameters imply.
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
pub(super) fn range(database: &Database, operation: Operation, body: Body<'_>) -> Access {
    let name = body.text("TableName").unwrap_or_default();
    let index = body.text("IndexName");
    let table = database.guarded_table(name);
    let (mut leading, mut attributes) = (Collected::default(), Collected::default());
    add_named(body, &mut attributes);
    let mut access = access(operation.name(), resource(database, name, index), body);
    access.select = Some(selected(body, index.is_some()));
    if operation == Operation::Scan {
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
    let access =
        access(Operation::SearchVectors.name(), resource(database, name, Some(index)), body);
    with_items(access, leading, attributes)
}

/// BatchGetItem and BatchWriteItem: one permission for each table.
pub(super) fn batch(database: &Database, operation: Operation, body: Body<'_>) -> Vec<Access> {
    let Some(tables) = body.object("RequestItems") else { return Vec::new() };
    let of_table = |(name, request): (&str, &Json<'_>)| {
        let table = database.guarded_table(name);
        let key = key_of(table.as_ref());
        let (mut leading, mut attributes) = (Collected::default(), Collected::default());
        let mut access = access(operation.name(), resource(database, name, None), body);
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
pub(super) fn transaction(
    database: &Database,
    operation: Operation,
    body: Body<'_>,
) -> Vec<Access> {
    let actions = [
        ("Get", Operation::GetItem.into()),
        ("Put", Operation::PutItem.into()),
        ("Update", Operation::UpdateItem.into()),
        ("Delete", Operation::DeleteItem.into()),
        ("ConditionCheck", ItemAction::ConditionCheck),
    ];
    let entries = body.list("TransactItems").iter().filter_map(Body::of);
    entries
        .flat_map(|entry| {
            actions.into_iter().map(move |(member, action)| (entry.object(member), action))
        })
        .filter_map(|(request, action)| Some((request?, action)))
        .map(|(request, action)| Access {
            return_consumed_capacity: Some(capacity_asked(body)),
            ..single(database, action, request, Some(operation))
        })
        .collect()
}
