//! Where the items are or go: an endpoint or a data directory, and one table of it.

use std::path::Path;
use std::time::Duration;

use keyloom::{Backend, Database, Retry, TableClient};
use keyloom_api::transfers::format::CsvKeys;
use keyloom_core::AttributeType;
use serde_json::{Value as Json, json};

use crate::endpoint::Reach;
use crate::output::Failure;

/// Whether this names an endpoint: `aws`, or a URL.
pub(crate) fn is_endpoint(text: &str) -> bool {
    text == "aws" || ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme))
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
    /// The table's description, as DescribeTable gives it.
    pub(crate) described: Json,
}

impl Place {
    /// Opens a database: `aws`, a URL, or a data directory. Only a writer makes a directory.
    pub(crate) fn open(text: &str, reach: &Reach, makes: bool) -> Result<Self, Failure> {
        let failed =
            |error: &dyn std::fmt::Display| Failure::refused(format_args!("{text}: {error}"));
        if is_endpoint(text) {
            let mut name = text.to_owned();
            for (word, said) in [("region", &reach.region), ("profile", &reach.profile)] {
                if let Some(said) = said {
                    name = format!("{name}, {word} {said}");
                }
            }
            return Ok(Self { name, backend: reach.connect(text)?.into() });
        }
        if reach.is_stated() {
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

    /// The database in a PostgreSQL; the names are those of the option and of the variable that may hold the URL.
    #[cfg(feature = "postgres")]
    pub(crate) fn connect(
        url: &crate::store_url::StoreUrl,
        (option, variable): (&str, &str),
        reach: &Reach,
    ) -> Result<Self, Failure> {
        let name = url.place();
        let failed =
            |error: &dyn std::fmt::Display| Failure::refused(format_args!("{name}: {error}"));
        if reach.is_stated() {
            return Err(failed(
                &"regions and profiles are for endpoints, and this is a PostgreSQL",
            ));
        }
        let database = Database::connect(url.secret(option, variable)?);
        let database = database.map_err(|error| failed(&error.message()))?;
        Ok(Self { name, backend: database.into() })
    }

    /// The streams of its tables.
    #[cfg(feature = "postgres")]
    pub(crate) fn streams(&self) -> keyloom::streams::Streams {
        keyloom::streams::Streams::new(self.backend.clone())
    }

    /// The database, to run plans on.
    pub(crate) fn backend(&self) -> &Backend {
        &self.backend
    }

    /// A database that is open already.
    pub(crate) fn of(name: &str, backend: Backend) -> Self {
        Self { name: name.to_owned(), backend }
    }

    /// Calls an operation of the place's database.
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

    /// Makes a table and waits until it can be used.
    pub(crate) fn create(&self, name: &str, request: &Json) -> Result<Target, Failure> {
        self.call("CreateTable", request).map_err(|error| self.failed(&error))?;
        self.await_active(name)
    }

    /// Waits until a table can be used.
    pub(crate) fn await_active(&self, name: &str) -> Result<Target, Failure> {
        for _ in 0..2400 {
            if let Some(target) = self.table(name)?
                && target.described.get("TableStatus").is_some_and(|status| status == "ACTIVE")
            {
                return Ok(target);
            }
            std::thread::sleep(Duration::from_millis(250));
        }
        Err(self.failed(&format_args!("table `{name}` was made and is still not active")))
    }

    pub(crate) fn failed(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::refused(format_args!("{}: {error}", self.name))
    }
}
