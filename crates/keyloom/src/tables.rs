//! Creates the tables of a design.

use std::time::Duration;

use keyloom_api::{JsonWriter, member};
use keyloom_core::json::{self, Json};
use keyloom_design::model::{
    Billing, Design, Index, IndexKind, KeyAttribute, Projection, StreamView, Table, TableClass,
};

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::retry::{AttemptError, Retry};

/// How long a new table may take to become usable.
const PATIENCE: u32 = 600;
const POLL: Duration = Duration::from_millis(250);

/// Makes the tables that are not there, waits until they can be used, and checks the keys of those that are.
pub(crate) fn create_missing(backend: &Backend, retry: &Retry, design: &Design) -> Result<()> {
    for table in design.tables() {
        if let Some(body) = describe(backend, retry, &table.name)? {
            check_keys(table, &body)?;
            continue;
        }
        let body = create_body(table);
        let made = retry.run("CreateTable", true, |_| backend.call("CreateTable", &body));
        match made {
            // Another process was faster.
            Err(Error::Database(keyloom_core::Error::ResourceInUse(_))) | Ok(_) => {}
            Err(error) => return Err(error),
        }
        await_active(backend, retry, &table.name)?;
        if let Some(attribute) = &table.ttl {
            let mut body = JsonWriter::object();
            body.string("TableName", &table.name);
            body.structure("TimeToLiveSpecification", |ttl| {
                ttl.boolean("Enabled", true);
                ttl.string("AttributeName", attribute);
            });
            let body = body.finish();
            let set =
                retry.run("UpdateTimeToLive", true, |_| backend.call("UpdateTimeToLive", &body));
            match set {
                // Some emulators never expire anything; reads hide what has expired all the same.
                Ok(_) | Err(Error::Database(keyloom_core::Error::UnknownOperation(_))) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

fn describe(backend: &Backend, retry: &Retry, name: &str) -> Result<Option<Vec<u8>>> {
    let mut body = JsonWriter::object();
    body.string("TableName", name);
    let body = body.finish();
    let described = retry.run("DescribeTable", true, |_| backend.call("DescribeTable", &body));
    match described {
        Ok(body) => Ok(Some(body)),
        Err(Error::Database(keyloom_core::Error::ResourceNotFound(_))) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn await_active(backend: &Backend, retry: &Retry, name: &str) -> Result<()> {
    for _ in 0..PATIENCE {
        let body = describe(backend, retry, name)?.unwrap_or_default();
        if status(&body).as_deref() == Some("ACTIVE") {
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
    Err(Error::Design(format!("table `{name}` was made and is still not active")))
}

/// A member of `Table` in a description.
fn with_table<T>(body: &[u8], read: impl FnOnce(&json::JsonObject<'_>) -> Option<T>) -> Option<T> {
    let Json::Object(object) = json::parse(body).ok()? else { return None };
    let Some(Json::Object(table)) = object.get("Table") else { return None };
    read(table)
}

/// The name of a table that is given by its name or its ARN.
#[cfg(feature = "remote")]
pub(crate) fn table_of(given: &str) -> &str {
    given.rsplit_once(":table/").map_or(given, |(_, name)| name)
}

fn status(body: &[u8]) -> Option<String> {
    with_table(body, |table| member::text(table, "TableStatus").map(str::to_owned))
}

/// A table of the same name with other keys would fail at the first write, with less to go on.
fn check_keys(table: &Table, body: &[u8]) -> Result<()> {
    let there = with_table(body, |described| {
        let Some(Json::Array(_)) = described.get("KeySchema") else { return None };
        let names = member::objects(described, "KeySchema");
        let names = names.filter_map(|key| member::text(key, "AttributeName"));
        Some(names.map(str::to_owned).collect::<Vec<_>>())
    });
    let wanted: Vec<&str> = table.primary().attributes().map(|key| key.name.as_str()).collect();
    match there {
        Some(there) if there != wanted => Err(Error::Design(format!(
            "table `{}` has the key ({}), the design says ({}): use another table name or another database",
            table.name,
            there.join(", "),
            wanted.join(", ")
        ))),
        _ => Ok(()),
    }
}

/// The body of CreateTable.
fn create_body(table: &Table) -> Vec<u8> {
    let mut body = JsonWriter::object();
    body.string("TableName", &table.name);
    body.objects("AttributeDefinitions", table.key_attributes(), |object, key: &KeyAttribute| {
        object.string("AttributeName", &key.name);
        object.string("AttributeType", key.kind.as_str());
    });
    key_schema(&mut body, table.primary());
    for (kind, name) in
        [(IndexKind::Global, "GlobalSecondaryIndexes"), (IndexKind::Local, "LocalSecondaryIndexes")]
    {
        let indexes: Vec<&Index> =
            table.secondary().iter().filter(|index| index.kind == kind).collect();
        if !indexes.is_empty() {
            body.objects(name, indexes, |object, index| index_body(object, table, index));
        }
    }
    match table.billing {
        Billing::OnDemand => body.string("BillingMode", "PAY_PER_REQUEST"),
        Billing::Provisioned => {
            body.string("BillingMode", "PROVISIONED");
            throughput(&mut body);
        }
    }
    if let Some(view) = table.stream {
        body.structure("StreamSpecification", |stream| {
            stream.boolean("StreamEnabled", true);
            stream.string(
                "StreamViewType",
                match view {
                    StreamView::KeysOnly => "KEYS_ONLY",
                    StreamView::NewImage => "NEW_IMAGE",
                    StreamView::OldImage => "OLD_IMAGE",
                    StreamView::NewAndOldImages => "NEW_AND_OLD_IMAGES",
                },
            );
        });
    }
    if table.class == TableClass::InfrequentAccess {
        body.string("TableClass", "STANDARD_INFREQUENT_ACCESS");
    }
    body.finish()
}

/// The least there is; how much is needed is not part of a design's meaning.
fn throughput(body: &mut JsonWriter) {
    body.structure("ProvisionedThroughput", |object| {
        object.integer("ReadCapacityUnits", 5);
        object.integer("WriteCapacityUnits", 5);
    });
}

fn key_schema(body: &mut JsonWriter, index: &Index) {
    let hash = index.hash.iter().map(|key| (key, "HASH"));
    let range = index.range.iter().map(|key| (key, "RANGE"));
    body.objects("KeySchema", hash.chain(range), |object, (key, kind)| {
        object.string("AttributeName", &key.name);
        object.string("KeyType", kind);
    });
}

fn index_body(body: &mut JsonWriter, table: &Table, index: &Index) {
    body.string("IndexName", index.label());
    key_schema(body, index);
    body.structure("Projection", |object| match &index.projection {
        Projection::All => object.string("ProjectionType", "ALL"),
        Projection::Keys => object.string("ProjectionType", "KEYS_ONLY"),
        Projection::Include(names) => {
            object.string("ProjectionType", "INCLUDE");
            object.strings("NonKeyAttributes", names.iter().map(String::as_str));
        }
    });
    if table.billing == Billing::Provisioned && index.kind == IndexKind::Global {
        throughput(body);
    }
}

/// Drops a table; one that is not there is fine.
pub(crate) fn drop_table(backend: &Backend, retry: &Retry, name: &str) -> Result<()> {
    let mut body = JsonWriter::object();
    body.string("TableName", name);
    let body = body.finish();
    retry.run("DeleteTable", true, |_| match backend.call("DeleteTable", &body) {
        Ok(_) | Err(AttemptError::Refused(keyloom_core::Error::ResourceNotFound(_))) => Ok(()),
        Err(failure) => Err(failure),
    })
}
