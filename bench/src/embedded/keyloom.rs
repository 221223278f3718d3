//! Keyloom in this process: typed, and in JSON.

use anyhow::{Context, Result, ensure};
use keyloom_core::{Item, json};
use keyloom_engine::{
    BatchWriteItemInput, ConditionInput, Database, GetItemInput, PutItemInput, QueryInput,
    ReadInput, TransactAction, TransactEdit, TransactWriteItemsInput, UpdateItemInput,
    WriteRequest,
};

use super::{Embedded, Ready, pick};
use crate::workload::{CONDITION, Call, KEY_CONDITION, Record, TABLE, UPDATE};

/// Asked in JSON, as the wire protocol has it.
#[derive(Debug)]
pub(crate) struct KeyloomJson(pub(crate) Database);

/// Asked with values.
#[derive(Debug)]
pub(crate) struct KeyloomTyped(pub(crate) Database);

/// Makes a request in JSON that must succeed, and returns the answer.
pub(crate) fn call(database: &Database, target: &str, body: &str) -> Result<Vec<u8>> {
    let reply = database.call(&format!("DynamoDB_20120810.{target}"), body.as_bytes());
    let text = || String::from_utf8_lossy(&reply.body).into_owned();
    ensure!(reply.status == 200, "Keyloom answered {} to {target}: {}", reply.status, text());
    Ok(reply.body)
}

impl Embedded for KeyloomJson {
    fn ask(&self, target: &str, body: &str) -> Result<()> {
        call(&self.0, target, body).map(drop)
    }

    fn ready(&self, calls: &[Call]) -> Result<Option<Ready<'_>>> {
        let requests: Vec<(&str, String)> =
            calls.iter().map(|call| (target(call), call.body())).collect();
        Ok(Some(Box::new(move |n| {
            let (target, body) = pick(&requests, n)?;
            let reply = self.0.call(target, body.as_bytes());
            ensure!(reply.status == 200, "Keyloom answered {} to {target}", reply.status);
            Ok(())
        })))
    }
}

fn target(call: &Call) -> &'static str {
    match call {
        Call::Get(_) => "DynamoDB_20120810.GetItem",
        Call::Put(..) => "DynamoDB_20120810.PutItem",
        Call::Update(_) => "DynamoDB_20120810.UpdateItem",
        Call::Query(_) => "DynamoDB_20120810.Query",
        Call::Batch(_) => "DynamoDB_20120810.BatchWriteItem",
        Call::Transact(_) => "DynamoDB_20120810.TransactWriteItems",
    }
}

impl Embedded for KeyloomTyped {
    fn ask(&self, target: &str, body: &str) -> Result<()> {
        call(&self.0, target, body).map(drop)
    }

    fn ready(&self, calls: &[Call]) -> Result<Option<Ready<'_>>> {
        let inputs = calls.iter().map(Input::new).collect::<Result<Vec<_>>>()?;
        Ok(Some(Box::new(move |n| pick(&inputs, n)?.clone().run(&self.0))))
    }
}

/// A typed request. It is cloned for each call: a user builds a new one, too.
#[derive(Clone)]
enum Input {
    Get(GetItemInput),
    Put(PutItemInput),
    Update(UpdateItemInput),
    Query(QueryInput),
    Batch(BatchWriteItemInput),
    Transact(TransactWriteItemsInput),
}

impl Input {
    fn new(call: &Call) -> Result<Self> {
        let table_name = TABLE.to_owned();
        Ok(match call {
            Call::Get(record) => {
                let key = key(record)?;
                Self::Get(GetItemInput { table_name, key, ..Default::default() })
            }
            Call::Put(table, record) => Self::Put(PutItemInput {
                table_name: (*table).to_owned(),
                item: item(&record.item)?,
                ..Default::default()
            }),
            Call::Update(record) => Self::Update(UpdateItemInput {
                table_name,
                key: key(record)?,
                update: Some(UPDATE.into()),
                condition: ConditionInput {
                    expression: Some(CONDITION.into()),
                    values: Some(values(r#"{":one":{"N":"1"},":zero":{"N":"0"}}"#)?),
                    ..Default::default()
                },
                ..Default::default()
            }),
            Call::Query(pk) => Self::Query(QueryInput {
                read: ReadInput {
                    table_name,
                    values: Some(values(&format!(r#"{{":pk":{{"S":"{pk}"}}}}"#))?),
                    ..Default::default()
                },
                key_condition: Some(KEY_CONDITION.into()),
                ..Default::default()
            }),
            Call::Batch(records) => {
                let put = |record: &Record| {
                    Ok((TABLE.to_owned(), WriteRequest::Put(item(&record.item)?)))
                };
                let requests = records.iter().map(put).collect::<Result<_>>()?;
                Self::Batch(BatchWriteItemInput { requests, ..Default::default() })
            }
            Call::Transact(records) => {
                let mut input = TransactWriteItemsInput::default();
                input.actions = records.iter().map(action).collect::<Result<_>>()?;
                Self::Transact(input)
            }
        })
    }

    fn run(self, database: &Database) -> Result<()> {
        match self {
            Self::Get(input) => {
                database.get_item(input)?.into_item()?.context("the item is missing")?;
            }
            Self::Put(input) => drop(database.put_item(input)?),
            Self::Update(input) => drop(database.update_item(input)?),
            Self::Query(input) => {
                let items = database.query(&input)?.into_items()?;
                ensure!(!items.is_empty(), "the query found nothing");
            }
            Self::Batch(input) => {
                let output = database.batch_write_item(input)?;
                ensure!(output.unprocessed.is_empty(), "a batch was not written whole");
            }
            Self::Transact(input) => drop(database.transact_write_items(input)?),
        }
        Ok(())
    }
}

fn action(record: &Record) -> Result<TransactAction> {
    Ok(TransactAction {
        table_name: TABLE.to_owned(),
        edit: TransactEdit::Put(item(&record.item)?),
        condition: ConditionInput::default(),
        return_item_on_failure: false,
    })
}

fn key(record: &Record) -> Result<Item> {
    item(&record.key())
}

fn item(text: &str) -> Result<Item> {
    Ok(json::item_from(&json::parse(text.as_bytes())?)?)
}

fn values(text: &str) -> Result<Vec<(keyloom_core::Str, keyloom_core::AttributeValue)>> {
    Ok(item(text)?.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
}
