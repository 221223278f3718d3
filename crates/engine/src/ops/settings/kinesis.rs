//! Enable-, Disable-, Update- and DescribeKinesisStreamingDestination.
//!
//! Keyloom does not send to Kinesis: enabling a destination is refused, and tables have none.

use keyloom_api::Fields;
use keyloom_api::parameters::control_table;
use keyloom_api::settings::{DestinationInput, no_destinations};
use keyloom_core::Result;

use crate::database::Inner;

pub(crate) fn enable(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = DestinationInput::decode(&fields);
    database.catalog.described_table(input.table_name)?;
    Err(input.refused())
}

/// DisableKinesisStreamingDestination and UpdateKinesisStreamingDestination.
pub(crate) fn not_found(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = DestinationInput::decode(&fields);
    database.catalog.described_table(input.table_name)?;
    Err(input.not_found())
}

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = control_table(&fields);
    database.catalog.described_table(name)?;
    Ok(no_destinations(name))
}
