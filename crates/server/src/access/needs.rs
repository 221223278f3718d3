//! The permissions that a request needs, as AWS documents them: action, resource and condition keys.
//!
//! A request that cannot be read needs its action all the same; what it says is then unknown, and no
//! condition on it lets the request through. ARNs of other regions and accounts are judged as those of the
//! tables here: the database refuses them.

use keyloom_core::json::Json;
use keyloom_core::policy::{Access, Known};
use keyloom_engine::Database;

use super::body::{Body, Collected};
use super::{items, resource, statement};

/// What is needed for an operation, by its name without the API's.
pub(super) fn needs(database: &Database, operation: &str, body: &Json<'_>) -> Vec<Access> {
    let Some(body) = Body::of(body) else { return vec![plain(operation, database.table_arn("*"))] };
    let list = |name| body.list(name);
    match operation {
        "GetItem" | "PutItem" | "UpdateItem" | "DeleteItem" => {
            vec![items::single(database, operation, body, None)]
        }
        "Query" | "Scan" => vec![items::range(database, operation, body)],
        "SearchVectors" => vec![items::vectors(database, body)],
        "BatchGetItem" | "BatchWriteItem" => items::batch(database, operation, body),
        "TransactGetItems" | "TransactWriteItems" => items::transaction(database, operation, body),
        "ExecuteStatement" => statement::needs(database, body, None).into_iter().collect(),
        "BatchExecuteStatement" => {
            statement::needs_of_each(database, list("Statements"), operation)
        }
        "ExecuteTransaction" => {
            statement::needs_of_each(database, list("TransactStatements"), operation)
        }
        _ => control(database, operation, body),
    }
}

/// What operations on tables, streams, backups and settings need.
fn control(database: &Database, operation: &str, body: Body<'_>) -> Vec<Access> {
    let text = |name| body.text(name).unwrap_or_default();
    let named = |resource: String| vec![plain(operation, resource)];
    match operation {
        // These are about no resource, or about all.
        "ListTables"
        | "ListBackups"
        | "ListExports"
        | "ListImports"
        | "ListGlobalTables"
        | "ListContributorInsights"
        | "ListBulkOperations"
        | "DescribeLimits"
        | "DescribeEndpoints" => named(database.table_arn("*")),
        "ListStreams" => {
            let table = body.text("TableName").unwrap_or("*");
            named(format!("{}/stream/*", database.table_arn(table)))
        }
        "DescribeStream" | "GetShardIterator" => named(database.stream_arn(text("StreamArn"))),
        "GetRecords" => {
            let stream = database.iterator_stream_arn(text("ShardIterator"));
            named(stream.unwrap_or_else(|| format!("{}/stream/*", database.table_arn("*"))))
        }
        "GetResourcePolicy" | "PutResourcePolicy" | "DeleteResourcePolicy" => {
            let arn = text("ResourceArn");
            let of_stream = arn.contains("/stream/");
            named(if of_stream { database.stream_arn(arn) } else { database.table_arn(arn) })
        }
        "TagResource" | "UntagResource" | "ListTagsOfResource" => {
            let resource = database.table_arn(text("ResourceArn"));
            vec![Access { tags: tags(body), ..plain(operation, resource) }]
        }
        "CreateTable" => create_table(database, body),
        "DescribeBackup" | "DeleteBackup" => named(database.part_arn(text("BackupArn"), "backup")),
        "RestoreTableFromBackup" => {
            restore(database, operation, body, database.part_arn(text("BackupArn"), "backup"))
        }
        "RestoreTableToPointInTime" => {
            let source = body.text("SourceTableArn").unwrap_or_else(|| text("SourceTableName"));
            restore(database, operation, body, database.table_arn(source))
        }
        "ExportTableToPointInTime" => named(database.table_arn(text("TableArn"))),
        "DescribeExport" => named(database.part_arn(text("ExportArn"), "export")),
        "DescribeImport" => named(database.part_arn(text("ImportArn"), "import")),
        "DescribeBulkOperation" | "CancelBulkOperation" => {
            named(database.part_arn(text("BulkOperationArn"), "bulk-operation"))
        }
        "ImportTable" => {
            let table = body.object("TableCreationParameters");
            let name = table.and_then(|table| table.text("TableName")).unwrap_or_default();
            named(database.table_arn(name))
        }
        "CreateGlobalTable"
        | "UpdateGlobalTable"
        | "DescribeGlobalTable"
        | "UpdateGlobalTableSettings"
        | "DescribeGlobalTableSettings" => named(global_table(database, text("GlobalTableName"))),
        "DescribeContributorInsights" | "UpdateContributorInsights" => {
            named(resource(database, text("TableName"), body.text("IndexName")))
        }
        _ => named(database.table_arn(text("TableName"))),
    }
}

/// The permission for an action without condition keys.
fn plain(operation: &str, resource: String) -> Access {
    Access { action: format!("dynamodb:{operation}"), resource, ..Access::default() }
}

/// A table that is created with tags or with a policy needs the permissions for these, too.
fn create_table(database: &Database, body: Body<'_>) -> Vec<Access> {
    let resource = database.table_arn(body.text("TableName").unwrap_or_default());
    let create = Access { tags: tags(body), ..plain("CreateTable", resource.clone()) };
    let mut needed = vec![create];
    if body.get("Tags").is_some() {
        needed.push(Access { tags: tags(body), ..plain("TagResource", resource.clone()) });
    }
    if body.get("ResourcePolicy").is_some() {
        needed.push(plain("PutResourcePolicy", resource));
    }
    needed
}

/// A restored table is written to, which its permissions must allow.
fn restore(database: &Database, operation: &str, body: Body<'_>, source: String) -> Vec<Access> {
    let target = database.table_arn(body.text("TargetTableName").unwrap_or_default());
    let written = [
        operation,
        "BatchWriteItem",
        "DeleteItem",
        "GetItem",
        "PutItem",
        "Query",
        "Scan",
        "UpdateItem",
    ];
    let unknown = |access: Access| Access {
        leading_keys: Known::Unknown,
        attributes: Known::Unknown,
        ..access
    };
    let target = written.iter().map(|action| unknown(plain(action, target.clone())));
    [plain(operation, source)].into_iter().chain(target).collect()
}

/// Global tables belong to no region.
fn global_table(database: &Database, name: &str) -> String {
    let arn = database.table_arn("");
    let account = arn.split(':').nth(4).unwrap_or_default();
    format!("arn:aws:dynamodb::{account}:global-table/{name}")
}

/// The tags that a request gives or takes away; none if it has nothing to do with tags.
fn tags(body: Body<'_>) -> Option<Vec<(String, String)>> {
    let given = body.list("Tags").iter().filter_map(Body::of).map(|tag| {
        let text = |name| tag.text(name).unwrap_or_default().to_owned();
        (text("Key"), text("Value"))
    });
    let taken = body.list("TagKeys").iter().filter_map(|key| match key {
        Json::Str(key) => Some((key.to_string(), String::new())),
        _ => None,
    });
    let tags: Vec<(String, String)> = given.chain(taken).collect();
    Some(tags).filter(|tags| !tags.is_empty())
}

/// Sets what was found in a request about its items.
pub(super) fn with_items(access: Access, leading: Collected, attributes: Collected) -> Access {
    Access { leading_keys: leading.known(), attributes: attributes.known(), ..access }
}
