//! `BulkOperationDescription`.

use crate::database::{Inner, Options};
use crate::ops::description::seconds;
use crate::wire::JsonWriter;

use super::bulk::BulkOperation;
use super::request;

impl BulkOperation {
    pub(super) fn arn(&self, database: &Inner) -> String {
        let Options { region, account, .. } = &database.options;
        format!(
            "arn:aws:dynamodb:{region}:{account}:table/{}/bulk-operation/{}",
            self.table, self.id
        )
    }

    pub(super) fn status(&self) -> &'static str {
        match (&self.failure, self.ended_ms, self.cancelled) {
            (Some(_), ..) => "FAILED",
            (None, Some(_), true) => "CANCELLED",
            (None, Some(_), false) if self.errors > 0 => "COMPLETED_WITH_ERRORS",
            (None, Some(_), false) => "COMPLETED",
            (None, None, true) => "CANCELLING",
            (None, None, false) => "IN_PROGRESS",
        }
    }

    pub(super) fn write_times(&self, json: &mut JsonWriter) {
        seconds(json, "StartTime", self.started_ms);
        if let Some(ms) = self.ended_ms {
            seconds(json, "EndTime", ms);
        }
    }

    pub(super) fn answer(&self, database: &Inner) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.structure("BulkOperationDescription", |json| {
            json.string("BulkOperationArn", &self.arn(database));
            json.string("BulkOperationStatus", self.status());
            json.list("TableDetails", [()], |json, ()| {
                json.nested(|json| {
                    json.string("TableName", &self.table);
                    json.string("TableId", &self.table_id);
                });
            });
            let members = [
                "ClientToken",
                "InputS3Configuration",
                "OutputS3Configuration",
                "MaxWriteRequestUnits",
                "PerformanceTier",
            ];
            request::echo(json, &self.request, &members);
            self.write_times(json);
            json.integer("ProcessedItemCount", self.items);
            json.integer("ProcessedInputBytes", self.bytes);
            json.integer("TotalInputBytes", self.total_bytes);
            self.write_usage(json);
            json.integer("FailedItemCount", self.errors);
            if let Some(failure) = &self.failure {
                json.string("FailureCode", &failure.code);
                json.string("FailureMessage", &failure.message);
            }
        });
        json.finish()
    }

    fn write_usage(&self, json: &mut JsonWriter) {
        json.list("BulkOperationUsage", [()], |json, ()| {
            json.nested(|json| {
                json.string("TableName", &self.table);
                json.integer("BulkPutBytes", self.put_bytes);
                json.structure("Table", |json| json.integer("BulkPutBytes", self.put_bytes));
            });
        });
    }
}
