//! DescribeImport. Its output is an [`ImportTableDescription`](super::ImportTableDescription).

use keyloom_core::Result;

use crate::Fields;

/// The input of DescribeImport.
#[derive(Clone, Copy, Debug)]
pub struct DescribeImportInput<'a> {
    /// The ARN of the import.
    pub import_arn: &'a str,
    /// The end of its ARN.
    pub id: &'a str,
}

impl<'a> DescribeImportInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let (import_arn, id) = super::named(fields, ("Import", "import"))?;
        Ok(Self { import_arn, id })
    }
}
