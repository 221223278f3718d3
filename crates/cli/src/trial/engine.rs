//! An embedded database with a design's tables and items in it.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom::Backend;
use keyloom_core::capacity::Units;
use keyloom_core::json::{self, write_item};
use keyloom_core::limits::MAX_BATCH_WRITE_REQUESTS;
use keyloom_core::observation::{Observation, Observer};
use keyloom_core::{AttributeValue, Item, Operation};
use keyloom_design::Design;
use keyloom_design::emit::create_table;
use keyloom_design::evaluate::Row;
use keyloom_engine::{BatchWriteItemInput, Database, Options, WriteRequest};

/// A database in memory that holds what a design describes.
pub(crate) struct Engine {
    database: Database,
    meter: Arc<Meter>,
}

/// Adds up the read units that the engine charges.
#[derive(Debug, Default)]
struct Meter {
    halves: AtomicU64,
}

impl Observer for Meter {
    fn sample(&self) -> Option<NonZeroU32> {
        Some(NonZeroU32::MIN)
    }

    fn observe(&self, observation: &Observation<'_>) {
        let reads = observation.touches.iter().filter(|touch| !touch.work.is_write());
        let units: Units = reads.map(|touch| touch.work.units()).sum();
        self.halves.fetch_add(units.as_halves(), Ordering::Relaxed);
    }
}

/// What DynamoDB says when it refuses a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The error's name, such as `ValidationException`.
    pub(crate) code: String,
    /// The refusal's message.
    pub(crate) message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl From<&keyloom_core::Error> for Refusal {
    fn from(error: &keyloom_core::Error) -> Self {
        Self { code: error.code().to_owned(), message: error.message() }
    }
}

impl Engine {
    /// A database without a table, whose new indexes fill up by themselves.
    #[cfg(test)]
    pub(crate) fn empty() -> Self {
        let meter = Arc::default();
        Self { database: Database::memory_with(Options::default()), meter }
    }

    /// An empty database with the tables of a design.
    pub(crate) fn with_tables(design: &Design) -> Result<Self, Refusal> {
        let meter: Arc<Meter> = Arc::default();
        let observer = Some(Arc::clone(&meter) as Arc<dyn Observer>);
        let options = Options { background: false, observer, ..Options::default() };
        Ok(Self { meter, ..Self::with_options(design, options)? })
    }

    /// As [`Engine::with_tables`], with a database of these settings, whose units are not counted.
    pub(crate) fn with_options(design: &Design, options: Options) -> Result<Self, Refusal> {
        let engine = Self { database: Database::memory_with(options), meter: Arc::default() };
        for table in design.tables() {
            engine.call(Operation::CreateTable, &create_table(table))?;
        }
        Ok(engine)
    }

    /// The database itself, to serve it.
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// The database for runners of plans.
    pub(crate) fn backend(&self) -> Backend {
        Backend::from(&self.database)
    }

    /// The read units that were charged so far.
    pub(crate) fn consumed(&self) -> Units {
        Units::halves(self.meter.halves.load(Ordering::Relaxed))
    }

    /// Writes rows in batches; `written` is called after each with the number so far.
    pub(crate) fn load(&self, rows: &[Row], written: &mut dyn FnMut(usize)) -> Result<(), Refusal> {
        let mut count = 0;
        for batch in rows.chunks(MAX_BATCH_WRITE_REQUESTS) {
            let put = |row: &Row| (row.entity.table.name.clone(), WriteRequest::Put(row.item()));
            let mut requests: Vec<_> = batch.iter().map(put).collect();
            while !requests.is_empty() {
                let input = BatchWriteItemInput { requests, ..BatchWriteItemInput::default() };
                let answer =
                    self.database.batch_write_item(input).map_err(|error| Refusal::from(&error))?;
                requests = answer.unprocessed;
            }
            count += batch.len();
            written(count);
        }
        Ok(())
    }

    /// Makes one call; the body of the answer, or the refusal.
    pub(crate) fn call(
        &self,
        operation: Operation,
        body: &serde_json::Value,
    ) -> Result<Vec<u8>, Refusal> {
        let reply = self.database.call(&operation.target(), body.to_string().as_bytes());
        if reply.status == 200 {
            return Ok(reply.body);
        }
        let answer: serde_json::Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let text = |name: &str| answer.get(name).and_then(|value| value.as_str()).unwrap_or("");
        let code = text("__type").rsplit('#').next().unwrap_or_default().to_owned();
        Err(Refusal { code, message: text("message").to_owned() })
    }
}

/// An item as DynamoDB JSON.
pub(crate) fn wire_item(item: &Item) -> serde_json::Value {
    let mut bytes = Vec::new();
    write_item(item, &mut bytes);
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// A value as DynamoDB JSON.
pub(crate) fn wire_value(value: &AttributeValue) -> serde_json::Value {
    let mut bytes = Vec::new();
    json::write_value(value, &mut bytes);
    serde_json::from_slice(&bytes).unwrap_or_default()
}
