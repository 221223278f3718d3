//! Messages of exports, imports and bulk operations.

use super::Error;

/// A request whose parameters do not go together.
fn invalid_request(reason: &str) -> Error {
    Error::Validation(format!("Invalid Request: {reason}"))
}

/// An export that does not exist. AWS says it twice.
pub fn export_not_found(arn: &str) -> Error {
    Error::ExportNotFound(format!("Export not found: Export not found: {arn}"))
}

/// An import that does not exist.
pub fn import_not_found(arn: &str) -> Error {
    Error::ImportNotFound(format!("Import not found: Import not found: {arn}"))
}

/// A bulk operation that does not exist.
pub fn bulk_operation_not_found(arn: &str) -> Error {
    Error::ResourceNotFound(format!("Requested resource not found: BulkOperation: {arn} not found"))
}

/// Text that is not the ARN of a transfer of this kind.
pub fn arn_invalid(kind: &str) -> Error {
    Error::Validation(format!("Invalid {kind} ARN"))
}

/// An export with the same token was requested with other parameters.
pub fn export_conflict() -> Error {
    Error::ExportConflict(
        "Export conflict: Duplicate request detected with conflicting parameters".into(),
    )
}

/// An import with the same token was requested with other parameters.
pub fn import_conflict() -> Error {
    Error::ImportConflict(
        "Import conflict: Duplicate request detected with conflicting parameters".into(),
    )
}

/// A bulk operation with the same token was requested with other parameters.
pub fn bulk_operation_conflict() -> Error {
    Error::IdempotentParameterMismatch(
        "A bulk operation with the same client token but different parameters exists".into(),
    )
}

/// An export of a time outside the window of recovery.
pub fn export_time_invalid() -> Error {
    Error::InvalidExportTime("Export Time is invalid".into())
}

/// An export of a time so late that changes may still be under way.
pub fn export_time_unavailable() -> Error {
    Error::InvalidExportTime(
        "Point in Time Recovery is not available for specified export time".into(),
    )
}

/// The first time of an incremental export lies before the table, or before its recovery was enabled.
pub fn export_from_too_early(from: &str) -> Error {
    Error::InvalidExportTime(format!(
        "Incremental export period from time cannot be less than the table creation time : {from}"
    ))
}

/// The last time of an incremental export lies in the future.
pub fn export_to_in_future(to: &str) -> Error {
    Error::InvalidExportTime(format!(
        "Incremental export period to time cannot be greater than the current time : {to}"
    ))
}

/// An incremental export of less than a quarter of an hour.
pub fn export_period_short() -> Error {
    Error::InvalidExportTime(
        "Difference between export period from time and export period to time is less than 15 \
         minutes"
            .into(),
    )
}

/// An incremental export of more than a day.
pub fn export_period_long() -> Error {
    Error::InvalidExportTime(
        "Difference between export period from time and export period to time is greater than 24 \
         hours"
            .into(),
    )
}

/// `IncrementalExportSpecification` without `ExportType`.
pub fn export_type_missing() -> Error {
    invalid_request(
        "Export Type expected to be Incremental Export when incremental export specification is \
         provided",
    )
}

/// `IncrementalExportSpecification` of a full export. The space before the comma is AWS's.
pub fn incremental_specification_unexpected() -> Error {
    invalid_request(
        "When Export Type is Full Export , Incremental Export Specification should not be provided",
    )
}

/// An incremental export without its specification.
pub fn incremental_specification_missing() -> Error {
    invalid_request(
        "Incremental Export Specification expected when export type is set as Incremental Export",
    )
}

/// An incremental export that does not say from when.
pub fn export_from_missing() -> Error {
    invalid_request("ExportFromTime must be provided in IncrementalExportSpecification")
}

/// An incremental export with the time of a full one. AWS's wording is unknown.
pub fn export_time_unexpected() -> Error {
    invalid_request(
        "When Export Type is Incremental Export , Export Time should not be provided: use \
         IncrementalExportSpecification",
    )
}

/// A key of a kind of encryption that has none.
pub fn encryption_key_unexpected() -> Error {
    invalid_request("KMS Key Id is not supported for this encryption type")
}

/// Encryption that the buckets of this database do not have.
pub fn encryption_not_available(parameter: &str) -> Error {
    Error::Validation(format!(
        "{parameter} is not available: buckets that are directories do not encrypt their files. \
         Leave it out, or use an S3 endpoint"
    ))
}

/// An export of a table that does not exist.
pub fn table_not_found(arn: &str) -> Error {
    Error::TableNotFound(format!("Table not found: {arn}"))
}

/// An export without the ARN of a table.
pub fn table_arn_missing() -> Error {
    Error::validation("One or more parameter values were invalid: tableArn is not a valid ARN")
}

/// An export of something else than a table, such as an index.
pub fn table_arn_invalid() -> Error {
    invalid_request("Table ARN is invalid.")
}

/// Options of another format.
pub fn format_options_unexpected(format: &str) -> Error {
    invalid_request(&format!(
        "Unsupported InputFormatOptions for the given input format: {format}."
    ))
}

/// An object key that cannot be mapped to a file.
pub fn object_key_invalid(parameter: &str, key: &str) -> Error {
    Error::Validation(format!(
        "{parameter} '{key}' cannot be mapped to a directory: it must be relative, without empty \
         parts, '.' or '..'"
    ))
}

/// A row that is not an item.
pub fn row_without_item() -> Error {
    Error::validation("A row must be an object with the member Item")
}

/// A row that no item can need.
pub fn row_too_long() -> Error {
    Error::validation("The row has more than 4 MB, which no item can have")
}

/// A row with bytes that are not UTF-8.
pub fn row_not_text() -> Error {
    Error::validation("The row has a value that is not UTF-8")
}

/// A row of Ion that can be read, but not as an item.
pub fn row_unreadable(reason: &str) -> Error {
    Error::Validation(format!("The row is no item: {reason}"))
}

/// A row of an import with a member that would be ignored.
pub fn imported_row_with_more_than_item(name: &str) -> Error {
    Error::Validation(format!("A row must have no member but Item, and this one has {name}"))
}

/// A row of a bulk operation that asks for more than to put its item.
pub fn row_with_more_than_item(name: &str) -> Error {
    Error::Validation(format!(
        "A row must have no member but Item, and this one has {name}: conditions of rows are not evaluated. Put this \
         item with PutItem"
    ))
}

/// A bulk operation that asks for more speed than there is.
pub fn no_accelerated_tier() -> Error {
    Error::validation(
        "PerformanceTier ACCELERATED is not supported: a bulk operation writes as fast as the table takes it; leave it out",
    )
}

/// A bulk operation that asks for a report and does not say where.
pub fn output_bucket_missing() -> Error {
    invalid_request("S3Bucket must be provided in OutputS3Configuration when OutputType is ERROR")
}

/// An object that is damaged, or in another format or compression than the request says.
pub fn object_unreadable(reason: &str) -> Error {
    Error::Validation(format!("The object cannot be read beyond this item: {reason}"))
}

/// A row of CSV with more or fewer values than the header has names.
pub fn columns_differ(found: usize, expected: usize) -> Error {
    Error::Validation(format!("The row has {found} values, but the header has {expected} columns"))
}

/// A value of Ion that DynamoDB has no type for.
pub fn ion_type(attribute: &str, what: &str) -> Error {
    Error::Validation(format!(
        "The attribute '{attribute}' has {what}: DynamoDB takes strings, decimals, integers, booleans, \
         blobs, null, lists and structs, and lists annotated as $dynamodb_SS, $dynamodb_NS or $dynamodb_BS"
    ))
}

/// An annotation of Ion without a meaning.
pub fn ion_annotation(attribute: &str, annotation: &str) -> Error {
    Error::Validation(format!(
        "The attribute '{attribute}' has the annotation '{annotation}', which has no meaning here: only \
         $dynamodb_SS, $dynamodb_NS and $dynamodb_BS have"
    ))
}
