//! Where the items are or go: an endpoint or a data directory, and one table of it.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use keyloom::remote::{Endpoint, Remote};
use keyloom::{Backend, Database, Retry, TableClient};
use keyloom_api::transfers::format::CsvKeys;
use keyloom_core::AttributeType;
use serde_json::{Value as Json, json};

use crate::output::Failure;

/// How an endpoint is reached.
#[derive(Args, Debug)]
pub(crate) struct Reach {
    /// AWS region; defaults to the environment's.
    #[arg(long, value_name = "NAME")]
    region: Option<String>,
    /// Profile in ~/.aws; defaults to the environment's.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
}

/// A table of a database.
pub(crate) struct Place {
    /// What people call it.
    pub(crate) name: String,
    backend: Backend,
}

/// A table that is there.
pub(crate) struct Target {
    pub(crate) client: TableClient,
    /// The attributes of its primary key.
    pub(crate) keys: Vec<String>,
    /// The types of all key attributes, also of indexes.
    pub(crate) types: CsvKeys,
    /// About how many items it has.
    pub(crate) items: usize,
    /// Its description.
    pub(crate) described: Json,
}

impl Place {
    /// Opens a database: `aws`, a URL, or a data directory. Only a writer makes a directory.
    pub(crate) fn open(text: &str, reach: &Reach, makes: bool) -> Result<Self, Failure> {
        let failed =
            |error: &dyn std::fmt::Display| Failure::refused(format_args!("{text}: {error}"));
        let is_url = ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
        if text == "aws" || is_url {
            let mut endpoint = if is_url { Endpoint::url(text) } else { Endpoint::aws() };
            if let Some(region) = &reach.region {
                endpoint = endpoint.region(region);
            }
            if let Some(profile) = &reach.profile {
                endpoint = endpoint.profile(profile);
            }
            let remote = Remote::new(endpoint).map_err(|error| failed(&error))?;
            return Ok(Self { name: text.to_owned(), backend: remote.into() });
        }
        if reach.region.is_some() || reach.profile.is_some() {
            return Err(failed(
                &"--region and --profile are for endpoints, and this is a directory",
            ));
        }
        if !makes && !Path::new(text).is_dir() {
            return Err(failed(
                &"there is no such directory; an endpoint begins with http:// or is `aws`",
            ));
        }
        let database = Database::open(text).map_err(|error| failed(&error.message()))?;
        Ok(Self { name: text.to_owned(), backend: database.into() })
    }

    /// The database, to run plans on.
    pub(crate) fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Any operation.
    pub(crate) fn call(&self, operation: &'static str, body: &Json) -> keyloom::Result<Json> {
        let client = TableClient::new(self.backend.clone(), "");
        let answer = client.call(operation, &body.to_string())?;
        Ok(serde_json::from_str(&answer).unwrap_or_default())
    }

    /// The names of its tables.
    pub(crate) fn tables(&self) -> Result<Vec<String>, Failure> {
        let mut names: Vec<String> = Vec::new();
        let mut body = json!({});
        loop {
            let page = self.call("ListTables", &body).map_err(|error| self.failed(&error))?;
            let listed = page.get("TableNames").and_then(Json::as_array);
            names.extend(listed.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned));
            match page.get("LastEvaluatedTableName") {
                Some(last) => body = json!({ "ExclusiveStartTableName": last }),
                None => return Ok(names),
            }
        }
    }

    /// A table; none if there is none of that name.
    pub(crate) fn table(&self, name: &str) -> Result<Option<Target>, Failure> {
        let described = match self.call("DescribeTable", &json!({ "TableName": name })) {
            Ok(answer) => answer.get("Table").cloned().unwrap_or_default(),
            Err(keyloom::Error::Database(keyloom_core::Error::ResourceNotFound(_))) => {
                return Ok(None);
            }
            Err(error) => return Err(self.failed(&error)),
        };
        let text = |entry: &Json, member: &str| {
            entry.get(member).and_then(Json::as_str).unwrap_or_default().to_owned()
        };
        let list = |member: &str| {
            described.get(member).and_then(Json::as_array).cloned().unwrap_or_default()
        };
        let keys: Vec<String> =
            list("KeySchema").iter().map(|key| text(key, "AttributeName")).collect();
        let types: CsvKeys = list("AttributeDefinitions")
            .iter()
            .filter_map(|key| {
                let kind = AttributeType::from_wire(&text(key, "AttributeType"))?;
                Some((text(key, "AttributeName").into(), kind))
            })
            .collect();
        let kind = |name: &String| {
            let kind = types.iter().find(|(key, _)| key == name.as_str()).map(|(_, kind)| *kind);
            format!("{name}:{}", kind.unwrap_or(AttributeType::S).as_str())
        };
        // Throttling is to be waited out: others have priority.
        let retry = Retry {
            max_attempts: 12,
            base: Duration::from_millis(50),
            cap: Duration::from_secs(20),
        };
        let client = TableClient::new(self.backend.clone(), name).with_retry(retry);
        let client = match keys.as_slice() {
            [partition, sort] => client.with_keys(kind(partition), kind(sort)),
            [partition] => client.with_partition_key(kind(partition)),
            _ => {
                return Err(
                    self.failed(&format_args!("the description of table `{name}` has no keys"))
                );
            }
        };
        let items = described.get("ItemCount").and_then(Json::as_u64).unwrap_or(0) as usize;
        Ok(Some(Target { client, keys, types, items, described }))
    }

    pub(crate) fn failed(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::refused(format_args!("{}: {error}", self.name))
    }
}
