//! Parses a request's body for observation: keys with their tables, and the key condition of a Query.

use keyloom_api::member::{as_object, count, entries, flag, item, object, objects, text};
use keyloom_core::expr::{Bindings, Condition, KeyCondition};
use keyloom_core::json::{self, Json, JsonObject};
use keyloom_core::{Item, Operation, Result, Str};

/// A request that touches keys.
pub(super) struct Asked {
    pub(super) operation: Operation,
    /// The keys with their tables, in the order of the request; of a put the whole item. Empty for ranges and statements.
    pub(super) keys: Vec<(String, Item)>,
    pub(super) range: Option<Range>,
    pub(super) is_projected: bool,
    pub(super) is_consistent: bool,
}

/// What a Query, Scan or search asks.
pub(super) struct Range {
    pub(super) table: String,
    pub(super) index: Option<String>,
    pub(super) condition: Option<KeyCondition>,
    pub(super) filter: Option<Condition>,
    pub(super) limit: Option<usize>,
    pub(super) is_forward: bool,
    pub(super) is_continued: bool,
}

impl Asked {
    /// None if the operation touches no keys, or if its body is none that an endpoint accepts.
    pub(super) fn read(operation: &str, body: &[u8]) -> Option<Self> {
        let Ok(Json::Object(body)) = json::parse(body) else { return None };
        let operation = kind(operation, &body)?;
        let is_read = !operation.writes_items() && operation != Operation::TransactGetItems;
        let mut asked = Self {
            operation,
            keys: Vec::new(),
            range: None,
            is_projected: false,
            is_consistent: !is_read,
        };
        let table = text(&body, "TableName");
        match (operation, table) {
            (Operation::Query | Operation::Scan | Operation::SearchVectors, Some(table)) => {
                asked.range = Some(Range::read(table, &body));
            }
            (_, Some(table)) => asked.add_keys(table, item_of(&body)),
            (_, None) => {}
        }
        asked.add_options(&body);
        for (table, part) in entries(&body, "RequestItems") {
            asked.add_keys(table, keys_of(part));
            if let Json::Object(reads) = part {
                asked.add_options(reads);
            }
        }
        for (_, action) in objects(&body, "TransactItems").flat_map(JsonObject::iter) {
            if let Json::Object(action) = action {
                asked.add_options(action);
                asked.add_keys(text(action, "TableName").unwrap_or_default(), item_of(action));
            }
        }
        Some(asked)
    }

    fn add_keys(&mut self, table: &str, keys: impl IntoIterator<Item = Item>) {
        self.keys.extend(keys.into_iter().map(|key| (table.to_owned(), key)));
    }

    fn add_options(&mut self, of: &JsonObject<'_>) {
        self.is_projected |= ["ProjectionExpression", "AttributesToGet"]
            .iter()
            .any(|member| of.get(member).is_some());
        self.is_consistent |= flag(of, "ConsistentRead");
    }
}

/// The `Key` of an object, or its whole `Item`.
fn item_of(of: &JsonObject<'_>) -> Option<Item> {
    item(of, "Key").or_else(|| item(of, "Item"))
}

/// The keys that a batch has, or has left, of one table: `Keys` of reads, or a list of puts and deletes.
pub(super) fn keys_of(part: &Json<'_>) -> Vec<Item> {
    let (Json::Array(keys), is_read) = (match part {
        Json::Object(reads) => (reads.get("Keys").unwrap_or(part), true),
        _ => (part, false),
    }) else {
        return Vec::new();
    };
    let key = |stated: &Json<'_>| match stated {
        Json::Object(write) if !is_read => {
            write.iter().find_map(|(_, write)| item_of(as_object(write)?))
        }
        _ => json::item_from(stated).ok(),
    };
    keys.iter().filter_map(key).collect()
}

impl Range {
    fn read(table: &str, body: &JsonObject<'_>) -> Self {
        // Invalid expressions and legacy parameters are observed without their conditions.
        let mut bindings = bindings(body).unwrap_or_default();
        let condition = text(body, "KeyConditionExpression");
        let condition = condition.and_then(|text| bindings.key_condition(text).ok());
        let filter = text(body, "FilterExpression");
        let limit = count(body, "Limit").or_else(|| count(body, "TopK"));
        Self {
            table: table.to_owned(),
            index: text(body, "IndexName").map(str::to_owned),
            condition: condition.and_then(|tree| tree.into_clauses().ok()),
            filter: filter.and_then(|text| bindings.filter(text).ok()),
            limit: limit.and_then(|limit| usize::try_from(limit).ok()),
            is_forward: !matches!(body.get("ScanIndexForward"), Some(Json::Bool(false))),
            is_continued: body.get("ExclusiveStartKey").is_some(),
        }
    }
}

fn bindings(body: &JsonObject<'_>) -> Result<Bindings> {
    let name = |(name, stated): (&str, &Json<'_>)| match stated {
        Json::Str(text) => Some((Str::from(name.to_owned()), Str::from(text.to_string()))),
        _ => None,
    };
    let names = object(body, "ExpressionAttributeNames");
    let values = item(body, "ExpressionAttributeValues");
    Bindings::new(
        names.map(|names| names.iter().filter_map(name).collect()),
        values.map(|values| values.into_iter().collect()),
    )
}

/// What kind of request an operation is. A PartiQL statement counts by its first word; that a SELECT may name one item is
/// not worked out here.
fn kind(operation: &str, body: &JsonObject<'_>) -> Option<Operation> {
    let first_of = |list: &str| objects(body, list).next().and_then(|one| text(one, "Statement"));
    let word = |statement: Option<&str>| {
        statement.and_then(|text| text.split_whitespace().next()).map(str::to_ascii_uppercase)
    };
    Some(match Operation::from_name(operation)? {
        Operation::ExecuteStatement => match word(text(body, "Statement"))?.as_str() {
            "SELECT" => Operation::Query,
            "INSERT" => Operation::PutItem,
            "DELETE" => Operation::DeleteItem,
            _ => Operation::UpdateItem,
        },
        Operation::BatchExecuteStatement if word(first_of("Statements"))? == "SELECT" => {
            Operation::BatchGetItem
        }
        Operation::BatchExecuteStatement => Operation::BatchWriteItem,
        Operation::ExecuteTransaction if word(first_of("TransactStatements"))? == "SELECT" => {
            Operation::TransactGetItems
        }
        Operation::ExecuteTransaction => Operation::TransactWriteItems,
        other => return Some(other).filter(|one| one.reads_items() || one.writes_items()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_count_by_their_first_word() {
        let asked = |operation: &str, body: &str| {
            Asked::read(operation, body.as_bytes()).map(|asked| asked.operation.name())
        };
        let one = |text: &str| asked("ExecuteStatement", &format!(r#"{{"Statement":"{text}"}}"#));
        assert_eq!([one(" insert into t"), one("SELECT *")], [Some("PutItem"), Some("Query")]);
        assert_eq!([one("DELETE FROM t"), one(" ")], [Some("DeleteItem"), None]);
        let many = r#"{"Statements":[{"Statement":"DELETE FROM t"}]}"#;
        assert_eq!(asked("BatchExecuteStatement", many), Some("BatchWriteItem"));
        assert_eq!(asked("BatchExecuteStatement", "{}"), None);
        assert_eq!([asked("DescribeTable", "{}"), asked("GetItem", "[")], [None, None]);
    }
}
