//! DescribeBulkOperation. Its output is a [`BulkOperationDescription`](super::BulkOperationDescription).

use keyloom_core::Result;

use crate::Fields;

/// The input of DescribeBulkOperation.
#[derive(Clone, Copy, Debug)]
pub struct DescribeBulkOperationInput<'a> {
    /// The ARN of the bulk operation.
    pub bulk_operation_arn: &'a str,
    /// The end of its ARN.
    pub id: &'a str,
}

impl<'a> DescribeBulkOperationInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let kind = ("BulkOperation", "bulk-operation");
        let (bulk_operation_arn, id) = super::named(fields, kind)?;
        Ok(Self { bulk_operation_arn, id })
    }
}
