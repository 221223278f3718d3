//! dynoxide in this process: typed, and from and to JSON.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use dynoxide::actions::batch_write_item::{BatchWriteItemRequest, PutRequest, WriteRequest};
use dynoxide::actions::get_item::GetItemRequest;
use dynoxide::actions::put_item::PutItemRequest;
use dynoxide::actions::query::QueryRequest;
use dynoxide::actions::transact_write_items::{
    TransactPut, TransactWriteItem, TransactWriteItemsRequest,
};
use dynoxide::actions::update_item::UpdateItemRequest;
use dynoxide::{Database, Item};
use serde_json::{from_str, to_vec};

use super::{Embedded, Ready, pick};
use crate::workload::{CONDITION, Call, KEY_CONDITION, Record, TABLE, UPDATE};

/// Its requests read from JSON, its answers written as JSON.
pub(crate) struct DynoxideJson(pub(crate) Database);

/// Asked with values.
pub(crate) struct DynoxideTyped(pub(crate) Database);

/// Makes a request in JSON that must succeed, and returns the answer.
pub(crate) fn call(database: &Database, target: &str, body: &str) -> Result<Vec<u8>> {
    Ok(match target {
        "CreateTable" => to_vec(&database.create_table(from_str(body)?)?)?,
        "GetItem" => to_vec(&database.get_item(from_str(body)?)?)?,
        "PutItem" => to_vec(&database.put_item(from_str(body)?)?)?,
        "UpdateItem" => to_vec(&database.update_item(from_str(body)?)?)?,
        "Query" => to_vec(&database.query(from_str(body)?)?)?,
        "Scan" => to_vec(&database.scan(from_str(body)?)?)?,
        "BatchWriteItem" => to_vec(&database.batch_write_item(from_str(body)?)?)?,
        "TransactWriteItems" => to_vec(&database.transact_write_items(from_str(body)?)?)?,
        other => anyhow::bail!("no case asks dynoxide for {other}"),
    })
}

impl Embedded for DynoxideJson {
    fn ask(&self, target: &str, body: &str) -> Result<()> {
        call(&self.0, target, body).map(drop)
    }

    fn ready(&self, calls: &[Call]) -> Result<Option<Ready<'_>>> {
        let requests: Vec<(&str, String)> =
            calls.iter().map(|call| (target(call), call.body())).collect();
        Ok(Some(Box::new(move |n| {
            let (target, body) = pick(&requests, n)?;
            call(&self.0, target, body).map(drop)
        })))
    }
}

fn target(call: &Call) -> &'static str {
    match call {
        Call::Get(_) => "GetItem",
        Call::Put(..) => "PutItem",
        Call::Update(_) => "UpdateItem",
        Call::Query(_) => "Query",
        Call::Batch(_) => "BatchWriteItem",
        Call::Transact(_) => "TransactWriteItems",
    }
}

impl Embedded for DynoxideTyped {
    fn ask(&self, target: &str, body: &str) -> Result<()> {
        call(&self.0, target, body).map(drop)
    }

    fn ready(&self, calls: &[Call]) -> Result<Option<Ready<'_>>> {
        let inputs = calls.iter().map(Input::new).collect::<Result<Vec<_>>>()?;
        Ok(Some(Box::new(move |n| pick(&inputs, n)?.run(&self.0))))
    }
}

/// What a typed request is built from. Most requests cannot be cloned, so each call builds one.
enum Input {
    Get(Item),
    Put(&'static str, Item),
    Update(Item, Item),
    Query(Item),
    Batch(Vec<Item>),
    Transact(TransactWriteItemsRequest),
}

impl Input {
    fn new(call: &Call) -> Result<Self> {
        let items = |records: &[Record]| {
            records.iter().map(|record| item(&record.item)).collect::<Result<Vec<_>>>()
        };
        Ok(match call {
            Call::Get(record) => Self::Get(item(&record.key())?),
            Call::Put(table, record) => Self::Put(table, item(&record.item)?),
            Call::Update(record) => {
                let values = item(r#"{":one":{"N":"1"},":zero":{"N":"0"}}"#)?;
                Self::Update(item(&record.key())?, values)
            }
            Call::Query(pk) => Self::Query(item(&format!(r#"{{":pk":{{"S":"{pk}"}}}}"#))?),
            Call::Batch(records) => Self::Batch(items(records)?),
            Call::Transact(records) => {
                let put = |item| {
                    let table_name = TABLE.to_owned();
                    let put = TransactPut { table_name, item, ..Default::default() };
                    TransactWriteItem { put: Some(put), ..Default::default() }
                };
                let transact_items = items(records)?.into_iter().map(put).collect();
                Self::Transact(TransactWriteItemsRequest { transact_items, ..Default::default() })
            }
        })
    }

    fn run(&self, database: &Database) -> Result<()> {
        let table_name = TABLE.to_owned();
        match self {
            Self::Get(key) => {
                let key = key.clone();
                let request = GetItemRequest { table_name, key, ..Default::default() };
                database.get_item(request)?.item.context("the item is missing")?;
            }
            Self::Put(table, item) => {
                let (table_name, item) = ((*table).to_owned(), item.clone());
                database.put_item(PutItemRequest { table_name, item, ..Default::default() })?;
            }
            Self::Update(key, values) => {
                database.update_item(UpdateItemRequest {
                    table_name,
                    key: key.clone(),
                    update_expression: Some(UPDATE.into()),
                    condition_expression: Some(CONDITION.into()),
                    expression_attribute_values: Some(values.clone()),
                    ..Default::default()
                })?;
            }
            Self::Query(values) => {
                let page = database.query(QueryRequest {
                    table_name,
                    key_condition_expression: Some(KEY_CONDITION.into()),
                    expression_attribute_values: Some(values.clone()),
                    scan_index_forward: true,
                    ..Default::default()
                })?;
                ensure!(page.count > 0, "the query found nothing");
            }
            Self::Batch(items) => {
                let put = |item: &Item| {
                    let put_request = Some(PutRequest { item: item.clone() });
                    WriteRequest { put_request, delete_request: None }
                };
                let puts = items.iter().map(put).collect();
                let request_items = HashMap::from([(table_name, puts)]);
                let request = BatchWriteItemRequest { request_items, ..Default::default() };
                database.batch_write_item(request)?;
            }
            Self::Transact(request) => {
                database.transact_write_items(request.clone())?;
            }
        }
        Ok(())
    }
}

/// An item from DynamoDB JSON.
pub(crate) fn item(text: &str) -> Result<Item> {
    from_str(text).with_context(|| format!("read {text}"))
}
