//! DescribeTableReplicaAutoScaling, UpdateTableReplicaAutoScaling.

use keyloom_api::Fields;
use keyloom_api::parameters::control_table;
use keyloom_api::settings::{TableAutoScaling, UpdateTableReplicaAutoScalingInput};
use keyloom_core::Result;

use crate::catalog::Table;
use crate::database::Inner;
use crate::ops::tables::replicas;

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = control_table(&fields);
    Ok(answer(database, &*database.catalog.described_table(name)?))
}

pub(crate) fn update(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = UpdateTableReplicaAutoScalingInput::decode(&fields)?;
    Ok(answer(database, &*database.catalog.described_table(input.table_name)?))
}

fn answer(database: &Inner, table: &Table) -> Vec<u8> {
    let record = &table.record;
    let mut regions = vec![(database.options.region.as_str(), "ACTIVE")];
    let others = replicas::all(database, record);
    regions.extend(others.iter().map(|(region, state)| (*region, replicas::status(state))));
    let status = record.status.as_str();
    TableAutoScaling { table_name: table.name(), status, replicas: regions }.encode()
}
