//! The limit of the engine: the same bytes in the store beneath it, without DynamoDB.

use std::hint::black_box;

use anyhow::{Context, Result, ensure};
use keyloom_store::{Bytes, Direction, KeyRange, Store};

use super::{Embedded, Ready, pick};
use crate::workload::Call;

/// A store whose values are the items' JSON: about as long as what the engine stores.
#[derive(Debug)]
pub(crate) struct RawStore<S>(pub(crate) S);

impl<S: Store> Embedded for RawStore<S> {
    fn ask(&self, target: &str, body: &str) -> Result<()> {
        if target != "BatchWriteItem" {
            return Ok(());
        }
        let body: serde_json::Value = serde_json::from_str(body)?;
        let tables = body.get("RequestItems").and_then(serde_json::Value::as_object);
        let puts = tables.into_iter().flat_map(|tables| tables.values());
        let puts = puts.filter_map(serde_json::Value::as_array).flatten();
        let mut transaction = self.0.begin(&[])?;
        for item in puts.filter_map(|put| put.get("PutRequest")?.get("Item")) {
            let text = |name: &str| item.get(name).and_then(|value| value.get("S")?.as_str());
            let (pk, sk) = text("pk").zip(text("sk")).context("an item has no key")?;
            transaction.put(key(pk, sk), item.to_string().into());
        }
        transaction.commit()?;
        Ok(())
    }

    fn ready(&self, calls: &[Call]) -> Result<Option<Ready<'_>>> {
        let steps: Option<Vec<Step>> = calls.iter().map(Step::new).collect();
        let Some(steps) = steps else { return Ok(None) };
        Ok(Some(Box::new(move |n| pick(&steps, n)?.run(&self.0))))
    }
}

enum Step {
    Get(Bytes),
    /// All of them in one transaction.
    Put(Vec<(Bytes, Bytes)>),
    Scan(Bytes),
}

impl Step {
    /// None for a call whose work is the engine's: a condition, an update, an index.
    fn new(call: &Call) -> Option<Self> {
        Some(match call {
            Call::Get(record) => Self::Get(key(&record.pk, &record.sk)),
            Call::Put(crate::workload::TABLE, record) => {
                let value = record.item.clone().into();
                Self::Put(vec![(key(&record.pk, &record.sk), value)])
            }
            Call::Query(pk) => Self::Scan(format!("{pk}/").into()),
            Call::Batch(records) | Call::Transact(records) => {
                let put = |record: &crate::workload::Record| {
                    (key(&record.pk, &record.sk), record.item.clone().into())
                };
                Self::Put(records.iter().map(put).collect())
            }
            Call::Put(..) | Call::Update(_) => return None,
        })
    }

    fn run(&self, store: &dyn Store) -> Result<()> {
        match self {
            Self::Get(key) => drop(black_box(store.get(key)?.context("the key is missing")?)),
            Self::Put(entries) => {
                let locks: Vec<&[u8]> = entries.iter().map(|(key, _)| key.as_ref()).collect();
                let mut transaction = store.begin(&locks)?;
                for (key, value) in entries {
                    transaction.put(key.clone(), value.clone());
                }
                transaction.commit()?;
            }
            Self::Scan(prefix) => {
                let snapshot = store.snapshot()?;
                let mut bytes = 0;
                for entry in snapshot.scan(KeyRange::prefix(prefix), Direction::Forward) {
                    let (key, value) = entry?;
                    bytes += key.len() + value.len();
                    black_box((key, value));
                    if bytes >= 1 << 20 {
                        break;
                    }
                }
                ensure!(bytes > 0, "the range is empty");
            }
        }
        Ok(())
    }
}

fn key(pk: &str, sk: &str) -> Bytes {
    format!("{pk}/{sk}").into()
}
