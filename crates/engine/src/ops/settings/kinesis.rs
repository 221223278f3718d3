//! Enable-, Disable-, Update- and DescribeKinesisStreamingDestination.
//!
//! Destinations are kept and shown; no record goes to Kinesis, and DescribeKinesisStreamingDestination
//! says so.

use keyloom_api::parameters::described_table;
use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::Result;
use keyloom_core::error::resource as message;
use serde::{Deserialize, Serialize};

use crate::catalog::TableRecord;
use crate::database::Inner;

use super::change_table;

const DESTINATIONS: &str = "KinesisDestinations";
const MAX_DESTINATIONS: usize = 2;
const DEFAULT_PRECISION: &str = "MILLISECOND";
const NOT_DELIVERED: &str = "The setting is kept; this database does not deliver records to Kinesis. Read the table's stream.";

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Destination {
    stream: String,
    active: bool,
    precision: String,
}

/// What all requests but DescribeKinesisStreamingDestination have.
struct Input<'a> {
    table: &'a str,
    stream: &'a str,
    precision: Option<&'a str>,
}

impl<'a> Input<'a> {
    fn decode(fields: &Fields<'a>, configuration: &str, path: &str) -> Result<Self> {
        let table = described_table(fields)?;
        let stream = fields.string("StreamArn");
        let mut constraints = Constraints::new();
        constraints.required(stream.is_some(), "streamArn");
        if let Some(stream) = stream {
            constraints.length(stream, "streamArn", 37, 1024);
        }
        let precision = match fields.structure(configuration) {
            Some(configuration) => configuration.string("ApproximateCreationDateTimePrecision"),
            None => None,
        };
        let choices = [("MILLISECOND", ()), ("MICROSECOND", ())];
        let path = format!("{path}.approximateCreationDateTimePrecision");
        constraints.one_of(precision, &path, &choices);
        constraints.finish()?;
        Ok(Self { table, stream: stream.unwrap_or_default(), precision })
    }

    fn answer(&self, status: &str, configuration: &str, precision: &str) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.string("TableName", self.table);
        json.string("StreamArn", self.stream);
        json.string("DestinationStatus", status);
        json.structure(configuration, |json| {
            json.string("ApproximateCreationDateTimePrecision", precision);
        });
        json.finish()
    }

    fn not_found(&self) -> keyloom_core::Error {
        message::resource_not_found(&format!("Table: {} StreamArn: {}", self.table, self.stream))
    }

    /// Changes the destinations of the table.
    fn change<R>(
        &self,
        database: &Inner,
        edit: impl FnOnce(&mut Vec<Destination>) -> Result<R>,
    ) -> Result<R> {
        let find = || database.catalog.described_table(self.table);
        let (_, result) = change_table(database, find, |record| {
            let mut destinations = destinations_of(record);
            let result = edit(&mut destinations)?;
            record.settings.insert(DESTINATIONS.into(), serde_json::json!(destinations));
            Ok(result)
        })?;
        Ok(result)
    }
}

pub(crate) fn enable(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let configuration = "EnableKinesisStreamingConfiguration";
    let input = Input::decode(&fields, configuration, "enableKinesisStreamingConfiguration")?;
    let precision = input.precision.unwrap_or(DEFAULT_PRECISION);
    input.change(database, |destinations| {
        if destinations.iter().any(|known| known.stream == input.stream && known.active) {
            return Err(message::destination_enabled(input.table, input.stream));
        }
        destinations.retain(|known| known.stream != input.stream);
        if destinations.iter().filter(|known| known.active).count() >= MAX_DESTINATIONS {
            return Err(message::too_many_destinations());
        }
        destinations.push(Destination {
            stream: input.stream.to_owned(),
            active: true,
            precision: precision.to_owned(),
        });
        Ok(())
    })?;
    Ok(input.answer("ENABLING", configuration, precision))
}

pub(crate) fn disable(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let configuration = "EnableKinesisStreamingConfiguration";
    let input = Input::decode(&fields, configuration, "enableKinesisStreamingConfiguration")?;
    let precision = input.change(database, |destinations| {
        let mut active = destinations.iter_mut().filter(|known| known.active);
        let known = active.find(|known| known.stream == input.stream);
        let known = known.ok_or_else(|| input.not_found())?;
        known.active = false;
        Ok(known.precision.clone())
    })?;
    Ok(input.answer("DISABLING", configuration, &precision))
}

pub(crate) fn update(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let configuration = "UpdateKinesisStreamingConfiguration";
    let input = Input::decode(&fields, configuration, "updateKinesisStreamingConfiguration")?;
    let precision = input.change(database, |destinations| {
        let mut active = destinations.iter_mut().filter(|known| known.active);
        let known = active.find(|known| known.stream == input.stream);
        let known = known.ok_or_else(|| input.not_found())?;
        if let Some(precision) = input.precision {
            precision.clone_into(&mut known.precision);
        }
        Ok(known.precision.clone())
    })?;
    Ok(input.answer("UPDATING", configuration, &precision))
}

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = described_table(&fields)?;
    let table = database.catalog.described_table(name)?;
    let mut json = JsonWriter::object();
    json.string("TableName", name);
    let destinations = destinations_of(&table.record);
    json.list("KinesisDataStreamDestinations", &destinations, |json, destination| {
        json.nested(|json| {
            json.string("StreamArn", &destination.stream);
            let status = if destination.active { "ACTIVE" } else { "DISABLED" };
            json.string("DestinationStatus", status);
            json.string("DestinationStatusDescription", NOT_DELIVERED);
            json.string("ApproximateCreationDateTimePrecision", &destination.precision);
        });
    });
    Ok(json.finish())
}

fn destinations_of(record: &TableRecord) -> Vec<Destination> {
    let kept = record.settings.get(DESTINATIONS).cloned();
    kept.and_then(|kept| serde_json::from_value(kept).ok()).unwrap_or_default()
}
