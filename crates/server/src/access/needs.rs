//! The permissions that a request needs, as AWS documents them: action, resource and condition keys.
//!
//! A request that cannot be read needs its action all the same; what it says is then unknown, and no
//! condition on it lets the request through. ARNs of other regions and accounts are judged as those of the
//! tables here: the database refuses them.

use keyloom_core::Operation;
use keyloom_core::json::Json;
use keyloom_core::policy::{Access, Known};
use keyloom_engine::Database;

use super::body::{Body, Collected};
use super::{items, resource, statement};

/// The permissions that a request for an operation needs.
pub(super) fn needs(database: &Database, operation: Operation, body: &Json<'_>) -> Vec<Access> {
    let Some(body) = Body::of(body) else { return vec![plain(operation, database.table_arn("*"))] };
    let list = |name| body.list(name);
    match operation {
        Operation::GetItem | Operation::PutItem | Operation::UpdateItem | Operation::DeleteItem => {
            vec![items::single(database, operation.into(), body, None)]
        }
        Operation::Query | Operation::Scan => vec![items::range(database, operation, body)],
        Operation::SearchVectors => vec![items::vectors(database, body)],
        Operation::BatchGetItem | Operation::BatchWriteItem => {
            items::batch(database, operation, body)
        }
        Operation::TransactGetItems | Operation::TransactWriteItems => {
            items::transaction(database, operation, body)
        }
        Operation::ExecuteStatement => statement::needs(database, body, None).into_iter().collect(),
        Operation::BatchExecuteStatement => {
            statement::needs_of_each(database, list("Statements"), operation)
        }
        Operation::ExecuteTransaction => {
            statement::needs_of_each(database, list("TransactStatements"), operation)
        }
        _ => control(database, operation, body),
    }
}

/// What operations on tables, streams, backups and settings need.
fn control(database: &Database, operation: Operation, body: Body<'_>) -> Vec<Access> {
    let text = |name| body.text(name).unwrap_or_default();
    let named = |resource: String| vec![plain(operation, resource)];
    match operation {
        // These are about no resource, or about all.
        Operation::ListTables
        | Operation::ListBackups
        | Operation::ListExports
        | Operation::ListImports
        | Operation::ListGlobalTables
        | Operation::ListContributorInsights
        | Operation::ListBulkOperations
        | Operation::DescribeLimits
        | Operation::DescribeEndpoints => named(database.table_arn("*")),
        Operation::ListStreams => {
            let table = body.text("TableName").unwrap_or("*");
            named(format!("{}/stream/*", database.table_arn(table)))
        }
        Operation::DescribeStream | Operation::GetShardIterator => {
            named(database.stream_arn(text("StreamArn")))
        }
        Operation::GetRecords => {
            let stream = database.iterator_stream_arn(text("ShardIterator"));
            named(stream.unwrap_or_else(|| format!("{}/stream/*", database.table_arn("*"))))
        }
        Operation::GetResourcePolicy
        | Operation::PutResourcePolicy
        | Operation::DeleteResourcePolicy => {
            let arn = text("ResourceArn");
            let of_stream = arn.contains("/stream/");
            named(if of_stream { database.stream_arn(arn) } else { database.table_arn(arn) })
        }
        Operation::TagResource | Operation::UntagResource | Operation::ListTagsOfResource => {
            let resource = database.table_arn(text("ResourceArn"));
            vec![Access { tags: tags(body), ..plain(operation, resource) }]
        }
        Operation::CreateTable => create_table(database, body),
        Operation::DescribeBackup | Operation::DeleteBackup => {
            named(database.part_arn(text("BackupArn"), "backup"))
        }
        Operation::RestoreTableFromBackup => {
            restore(database, operation, body, database.part_arn(text("BackupArn"), "backup"))
        }
        Operation::RestoreTableToPointInTime => {
            let source = body.text("SourceTableArn").unwrap_or_else(|| text("SourceTableName"));
            restore(database, operation, body, database.table_arn(source))
        }
        Operation::ExportTableToPointInTime => named(database.table_arn(text("TableArn"))),
        Operation::DescribeExport => named(database.part_arn(text("ExportArn"), "export")),
        Operation::DescribeImport => named(database.part_arn(text("ImportArn"), "import")),
        Operation::DescribeBulkOperation | Operation::CancelBulkOperation => {
            named(database.part_arn(text("BulkOperationArn"), "bulk-operation"))
        }
        Operation::ImportTable => {
            let table = body.object("TableCreationParameters");
            let name = table.and_then(|table| table.text("TableName")).unwrap_or_default();
            named(database.table_arn(name))
        }
        Operation::CreateGlobalTable
        | Operation::UpdateGlobalTable
        | Operation::DescribeGlobalTable
        | Operation::UpdateGlobalTableSettings
        | Operation::DescribeGlobalTableSettings => {
            named(global_table(database, text("GlobalTableName")))
        }
        Operation::DescribeContributorInsights | Operation::UpdateContributorInsights => {
            named(resource(database, text("TableName"), body.text("IndexName")))
        }
        _ => named(database.table_arn(text("TableName"))),
    }
}

/// The action that policies know an operation by.
pub(super) fn action(name: &str) -> String {
    format!("dynamodb:{name}")
}

/// The permission for an action without condition keys.
fn plain(operation: Operation, resource: String) -> Access {
    Access { action: action(operation.name()), resource, ..Access::default() }
}

/// A table that is created with tags or with a policy needs the permissions for these, too.
fn create_table(database: &Database, body: Body<'_>) -> Vec<Access> {
    let resource = database.table_arn(body.text("TableName").unwrap_or_default());
    let create = Access { tags: tags(body), ..plain(Operation::CreateTable, resource.clone()) };
    let mut needed = vec![create];
    if body.get("Tags").is_some() {
        needed.push(Access { tags: tags(body), ..plain(Operation::TagResource, resource.clone()) });
    }
    if body.get("ResourcePolicy").is_some() {
        needed.push(plain(Operation::PutResourcePolicy, resource));
    }
    needed
}

/// A restored table is written to, which its permissions must allow.
fn restore(
    database: &Database,
    operation: Operation,
    body: Body<'_>,
    source: String,
) -> Vec<Access> {
    let target = database.table_arn(body.text("TargetTableName").unwrap_or_default());
    let written = [
        operation,
        Operation::BatchWriteItem,
        Operation::DeleteItem,
        Operation::GetItem,
        Operation::PutItem,
        Operation::Query,
        Operation::Scan,
        Operation::UpdateItem,
    ];
    let unknown = |access: Access| Access {
        leading_keys: Known::Unknown,
        attributes: Known::Unknown,
        ..access
    };
    let target = written.into_iter().map(|action| unknown(plain(action, target.clone())));
    [plain(operation, source)].into_iter().chain(target).collect()
}

/// Global tables belong to no region.
fn global_table(database: &Database, name: &str) -> String {
    let arn = database.table_arn("");
    let account = arn.split(':').nth(4).unwrap_or_default();
    format!("arn:aws:dynamodb::{account}:global-table/{name}")
}

/// The tags that a request adds or removes; none if it concerns no tags.
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
