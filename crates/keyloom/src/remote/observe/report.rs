//! The tables of an endpoint, as reports show them.

use keyloom_api::member::{count, number, object, objects, text};
use keyloom_core::json::{self, Json, JsonObject};
use keyloom_observe::report::{IndexFacts, Kind, TableFacts};

use crate::remote::Remote;

impl Remote {
    /// The tables of requests that were observed, as the endpoint describes them now.
    pub(crate) fn table_facts(&self) -> Vec<TableFacts> {
        let Some(observer) = &self.inner.observer else { return Vec::new() };
        let names = observer.tables.names();
        names.iter().filter_map(|name| facts(&self.describe(name)?)).collect()
    }
}

fn facts(body: &[u8]) -> Option<TableFacts> {
    let Ok(Json::Object(answer)) = json::parse(body) else { return None };
    let table = object(&answer, "Table")?;
    let amount = |of: &JsonObject<'_>, member: &str| count(of, member).unwrap_or(0);
    let kinds = [
        ("LocalSecondaryIndexes", Kind::Local),
        ("GlobalSecondaryIndexes", Kind::Global),
        ("VectorIndexes", Kind::Vector),
    ];
    let indexes = kinds.into_iter().flat_map(|(member, kind)| {
        objects(table, member).filter_map(move |index| {
            Some(IndexFacts {
                name: text(index, "IndexName")?.to_owned(),
                kind,
                items: amount(index, "ItemCount"),
                bytes: amount(index, "IndexSizeBytes"),
            })
        })
    });
    Some(TableFacts {
        name: text(table, "TableName")?.to_owned(),
        items: amount(table, "ItemCount"),
        bytes: amount(table, "TableSizeBytes"),
        created_ms: number(table, "CreationDateTime", 1000.0).unwrap_or(0),
        overdue_s: 0,
        indexes: indexes.collect(),
    })
}
