//! Lists tables in pages, so that the overview of ten thousand tables loads only the visible part.

use keyloom::TableClient;
use keyloom_server::{ConsoleReply, ConsoleRequest};
use serde_json::{Value as Json, json};

use super::{Answer, DesignConsole, Refusal};

/// The default and the maximum number of tables per page.
const PAGE: usize = 50;
const MOST: usize = 100;
/// How many table names are listed at most to count or to search them.
const MOST_NAMES: usize = 25_000;

impl DesignConsole {
    pub(super) fn tables(&self, request: &ConsoleRequest<'_>) -> Answer {
        let client = TableClient::new(self.backend.clone(), "");
        let limit = match request.parameter("limit") {
            Some(text) => text.parse().map_err(|_| Refusal::wrong("`limit` must be a number"))?,
            None => PAGE,
        };
        let limit = limit.clamp(1, MOST);
        let part = request.parameter("contains").unwrap_or_default().to_lowercase();
        let from = request.parameter("from").unwrap_or_default();
        let (names, is_all) = names(&client)?;
        let mut wanted = names.iter().filter(|name| name.to_lowercase().contains(&part));
        let total = wanted.clone().count();
        let page: Vec<&String> =
            wanted.by_ref().filter(|name| ***name > *from || from.is_empty()).take(limit).collect();
        let has_more = wanted.next().is_some();
        let next = page.last().filter(|_| has_more).map(|name| (*name).clone());
        let mut tables = Vec::new();
        for name in page {
            match client.call("DescribeTable", &json!({ "TableName": name }).to_string()) {
                Ok(answer) => tables.push(table(&answer)),
                // It was deleted meanwhile.
                Err(keyloom::Error::Database(keyloom_core::Error::ResourceNotFound(_))) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(ConsoleReply::json(&json!({
            "tables": tables, "next": next, "total": is_all.then_some(total),
        })))
    }
}

/// The names of the tables in order, and whether these are all.
fn names(client: &TableClient) -> Result<(Vec<String>, bool), Refusal> {
    let mut names: Vec<String> = Vec::new();
    let mut body = json!({ "Limit": 100 });
    loop {
        let page: Json = serde_json::from_str(&client.call("ListTables", &body.to_string())?)
            .unwrap_or_default();
        let listed = page.get("TableNames").and_then(Json::as_array);
        names.extend(listed.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned));
        match page.get("LastEvaluatedTableName") {
            Some(last) if names.len() < MOST_NAMES => {
                body = json!({ "Limit": 100, "ExclusiveStartTableName": last });
            }
            last => return Ok((names, last.is_none())),
        }
    }
}

/// What an overview shows of a table.
fn table(answer: &str) -> Json {
    let answer: Json = serde_json::from_str(answer).unwrap_or_default();
    let described = answer.get("Table").unwrap_or(&Json::Null);
    let get = |name: &str| described.get(name).cloned().unwrap_or_default();
    let list = |name: &str| get(name).as_array().cloned().unwrap_or_default();
    let [partition, sort] = keys(described);
    let global = list("GlobalSecondaryIndexes").into_iter().map(|it| index(&it, false));
    let local = list("LocalSecondaryIndexes").into_iter().map(|it| index(&it, true));
    let mode = described.get("BillingModeSummary").and_then(|it| it.get("BillingMode"));
    let is_on_demand = mode.is_some_and(|mode| mode == "PAY_PER_REQUEST");
    json!({
        "name": get("TableName"),
        "status": get("TableStatus"),
        "items": get("ItemCount"),
        "bytes": get("TableSizeBytes"),
        "billing": if is_on_demand { "on-demand" } else { "provisioned" },
        "partitionKey": partition.first(),
        "sortKey": sort.first(),
        "attributes": list("AttributeDefinitions").iter().map(|it| {
            json!({ "name": it.get("AttributeName"), "type": it.get("AttributeType") })
        }).collect::<Vec<_>>(),
        "indexes": global.chain(local).collect::<Vec<_>>(),
        "stream": described.get("StreamSpecification").and_then(|it| it.get("StreamViewType")),
    })
}

fn index(described: &Json, is_local: bool) -> Json {
    let get = |name: &str| described.get(name).cloned().unwrap_or_default();
    let [partition, sort] = keys(described);
    json!({
        "name": get("IndexName"),
        "local": is_local,
        "partitionKey": partition,
        "sortKey": sort,
        "projection": described.get("Projection").and_then(|it| it.get("ProjectionType")),
        "status": described.get("IndexStatus"),
        "items": get("ItemCount"),
        "bytes": get("IndexSizeBytes"),
    })
}

/// The attributes of the partition key and of the sort key.
fn keys(described: &Json) -> [Vec<String>; 2] {
    let keys = described.get("KeySchema").and_then(Json::as_array).cloned().unwrap_or_default();
    ["HASH", "RANGE"].map(|kind| {
        let of_kind = keys.iter().filter(|key| key.get("KeyType").is_some_and(|it| it == kind));
        of_kind.filter_map(|key| Some(key.get("AttributeName")?.as_str()?.to_owned())).collect()
    })
}
