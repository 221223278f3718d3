//! DescribeExport. Its output is an [`ExportDescription`](super::ExportDescription).

use keyloom_core::Result;

use crate::Fields;

/// The input of DescribeExport.
#[derive(Clone, Copy, Debug)]
pub struct DescribeExportInput<'a> {
    /// The ARN of the export.
    pub export_arn: &'a str,
    /// The end of its ARN.
    pub id: &'a str,
}

impl<'a> DescribeExportInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let (export_arn, id) = super::named(fields, ("Export", "export"))?;
        Ok(Self { export_arn, id })
    }
}
