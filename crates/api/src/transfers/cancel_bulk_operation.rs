//! CancelBulkOperation.

use super::DescribeBulkOperationInput;
use crate::JsonWriter;

/// The input of CancelBulkOperation, which is that of DescribeBulkOperation.
pub type CancelBulkOperationInput<'a> = DescribeBulkOperationInput<'a>;

/// The output of CancelBulkOperation.
#[derive(Clone, Copy, Debug)]
pub struct CancelBulkOperationOutput<'a> {
    /// The ARN of the bulk operation.
    pub bulk_operation_arn: &'a str,
    /// What has become of it.
    pub status: &'a str,
}

impl CancelBulkOperationOutput<'_> {
    /// Writes the output.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.string("BulkOperationArn", self.bulk_operation_arn);
        json.string("BulkOperationStatus", self.status);
        json.finish()
    }
}
