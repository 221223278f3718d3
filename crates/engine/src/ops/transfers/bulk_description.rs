//! `BulkOperationDescription`.

use crate::database::Inner;
use keyloom_api::JsonWriter;

use super::bulk::BulkOperation;
use super::request;

impl BulkOperation {
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
            json.integer("ProcessedItemCount", self.work.items);
            json.integer("ProcessedInputBytes", self.work.bytes);
            json.integer("TotalInputBytes", self.work.total_bytes);
            self.write_usage(json);
            json.integer("FailedItemCount", self.work.errors);
            self.write_failure(json);
        });
        json.finish()
    }

    fn write_usage(&self, json: &mut JsonWriter) {
        json.list("BulkOperationUsage", [()], |json, ()| {
            json.nested(|json| {
                json.string("TableName", &self.table);
                json.integer("BulkPutBytes", self.work.put_bytes);
                json.structure("Table", |json| json.integer("BulkPutBytes", self.work.put_bytes));
            });
        });
    }
}
