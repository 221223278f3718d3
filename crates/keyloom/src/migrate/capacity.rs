//! The capacity that a table has, as DescribeTable states it.

use keyloom_api::Fields;

use super::service::Service;
use super::stream::{body, read};
use crate::error::{Error, Result};
use keyloom_core::Error as Refusal;

/// What a new table on demand takes at once.
const NEW_ON_DEMAND: Capacity = Capacity { reads: 12_000.0, writes: 4_000.0 };

/// Units that a table takes in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Capacity {
    pub(super) reads: f64,
    pub(super) writes: f64,
}

impl Capacity {
    /// What a table takes; none if it is not there.
    pub(super) fn of(service: &Service, table: &str) -> Result<Option<Self>> {
        let asked = body(|body| body.string("TableName", table));
        match service.call("DescribeTable", &asked) {
            Ok(answer) => read(&answer, |fields| {
                let table = fields.structure("Table")?;
                let own = Self::stated(&table);
                // An index that cannot follow throttles the writes of its table.
                let indexes = table.structures("GlobalSecondaryIndexes").unwrap_or_default();
                let writes = indexes.iter().map(|index| Self::stated(index).writes);
                Some(Some(Self { writes: writes.fold(own.writes, f64::min), ..own }))
            }),
            Err(Error::Database(Refusal::ResourceNotFound(_))) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What a table or an index has by itself.
    fn stated(fields: &Fields<'_>) -> Self {
        let units = |member: &str, name: &str| -> Option<f64> {
            let units = fields.structure(member)?.integer(name)?;
            (units > 0).then_some(units as f64)
        };
        let of = |provisioned: &str, most: &str, warm: &str, new: f64| {
            units("ProvisionedThroughput", provisioned).unwrap_or_else(|| {
                let warm = units("WarmThroughput", warm).unwrap_or(new);
                units("OnDemandThroughput", most).map_or(warm, |most| most.min(warm))
            })
        };
        Self {
            reads: of(
                "ReadCapacityUnits",
                "MaxReadRequestUnits",
                "ReadUnitsPerSecond",
                NEW_ON_DEMAND.reads,
            ),
            writes: of(
                "WriteCapacityUnits",
                "MaxWriteRequestUnits",
                "WriteUnitsPerSecond",
                NEW_ON_DEMAND.writes,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyloom_core::json;

    #[test]
    fn a_table_has_what_it_was_given_or_takes_at_once() {
        for (table, reads, writes) in [
            (
                r#"{"ProvisionedThroughput":{"ReadCapacityUnits":7,"WriteCapacityUnits":3}}"#,
                7.0,
                3.0,
            ),
            (
                r#"{"ProvisionedThroughput":{"ReadCapacityUnits":0,"WriteCapacityUnits":0}}"#,
                12_000.0,
                4_000.0,
            ),
            (
                r#"{"OnDemandThroughput":{"MaxReadRequestUnits":500,"MaxWriteRequestUnits":-1},
                    "WarmThroughput":{"ReadUnitsPerSecond":20000,"WriteUnitsPerSecond":9000}}"#,
                500.0,
                9_000.0,
            ),
            (
                r#"{"OnDemandThroughput":{"MaxReadRequestUnits":50000,"MaxWriteRequestUnits":10}}"#,
                12_000.0,
                10.0,
            ),
        ] {
            let parsed = json::parse(table.as_bytes()).map_err(|error| format!("{error:?}"));
            let found = parsed.as_ref().map(|json| Capacity::stated(&Fields::of(json)));
            assert_eq!(found, Ok(Capacity { reads, writes }), "{table}");
        }
    }
}
