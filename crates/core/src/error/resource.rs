//! Messages about resources of tables: policies, backups, global tables, exports, imports.

use super::Error;
use super::request::being;

/// The table of a backup, export or global-table operation does not exist.
pub fn table_not_found(name: &str) -> Error {
    Error::TableNotFound(format!("Table not found: {name}"))
}

/// The resource that a policy, an insight or a destination belongs to does not exist.
pub fn resource_not_found(what: &str) -> Error {
    Error::ResourceNotFound(format!("Requested resource not found: {what} not found"))
}

/// The resource has no policy, or not the expected revision of it.
pub fn policy_not_found(arn: &str) -> Error {
    Error::PolicyNotFound(format!(
        "Resource-based policy not found for the provided ResourceArn: {arn}"
    ))
}

/// A policy that cannot be evaluated.
pub fn policy_invalid(problem: &str) -> Error {
    Error::Validation(format!(
        "One or more parameter values were invalid: Invalid policy document: {problem}"
    ))
}

/// A policy that is too long.
pub fn policy_too_large(limit: usize) -> Error {
    Error::Validation(format!(
        "One or more parameter values were invalid: Maximum policy size of {limit} bytes exceeded"
    ))
}

/// A global table that does not exist.
pub fn global_table_not_found(name: &str) -> Error {
    Error::GlobalTableNotFound(format!(
        "Global table not found: Global table with name: '{name}' does not exist."
    ))
}

/// The index of a setting does not exist.
pub fn index_not_found(table: &str, index: &str) -> Error {
    Error::IndexNotFound(format!("Index not found: {index} on table: {table}"))
}

/// A page of backups that begins behind one of another region.
pub fn backup_start_of_other_region() -> Error {
    Error::validation(
        "Invalid Request: The supplied ExclusiveStartBackupArn does not match the region",
    )
}

/// A restore of a table or backup of another region.
pub fn restore_across_regions() -> Error {
    Error::validation(
        "Invalid Request: sseSpecificationOverride must be provided for cross-region restores",
    )
}

/// A restore of a table that only its ARN names, and that is not here.
pub fn restore_source_absent() -> Error {
    Error::TableNotFound("Table not found".into())
}

/// A restore whose source has two names.
pub fn restore_source_ambiguous() -> Error {
    Error::validation("Must provide exactly one of: sourceTableArn, sourceTableName")
}

/// A restore whose source is not an ARN of a table.
pub fn restore_source_invalid() -> Error {
    Error::validation("sourceTableArn is not a valid ARN")
}

/// The resource belongs to another account.
pub fn account_differs() -> Error {
    Error::validation(
        "This action is only supported by accounts that match the resource owner\u{2019}s account.",
    )
}

/// The resource of a policy is in another region.
pub fn policy_resource_elsewhere(arn: &str) -> Error {
    Error::Validation(format!(
        "One or more parameter values were invalid: Invalid resource Arn: {arn}"
    ))
}

/// What is not the ARN of a backup.
pub fn backup_arn_invalid() -> Error {
    Error::validation("Invalid Backup ARN")
}

/// A backup that does not exist.
pub fn backup_not_found(arn: &str) -> Error {
    Error::BackupNotFound(format!("Backup not found: {arn}"))
}

/// A backup that is still being created.
pub fn backup_in_use(arn: &str) -> Error {
    Error::BackupInUse(format!("Backup is being created: {arn}"))
}

/// A backup that the system has made, and removes itself.
pub fn system_backup(arn: &str, expires: &str) -> Error {
    Error::Validation(format!(
        "Invalid Request: User is not allowed to delete the system backup with arn {arn}. It will automatically \
         expire on {expires}"
    ))
}

/// A backup that failed.
pub fn backup_failed(arn: &str, reason: &str) -> Error {
    Error::BackupInUse(format!("Backup cannot be restored, because it failed ({reason}): {arn}"))
}

/// The table of a backup operation is being changed.
pub fn table_in_use(name: &str, status: &str) -> Error {
    Error::TableInUse(format!("Table is being {}: {name}", being(status)))
}

/// The target of a restore exists.
pub fn restore_target_exists(name: &str) -> Error {
    Error::TableAlreadyExists(format!("Table already exists: {name}"))
}

/// A restore overrides an index that the source does not have, or has differently.
pub fn override_unknown(index: &str) -> Error {
    override_refused(&format!(
        "Index {index} does not match a secondary index that existed in the source table and cannot be created \
         during the restore operation"
    ))
}

/// A restore states what an index can take at once, which no restore does.
pub fn override_warm(index: &str) -> Error {
    Error::Validation(format!(
        "One or more parameter values were invalid: WarmThroughput of index {index} is not \
         supported in a restore"
    ))
}

/// Point-in-time recovery is off.
pub fn recovery_disabled(table: &str) -> Error {
    Error::PointInTimeRecoveryUnavailable(format!(
        "Point in time recovery is not enabled for table '{table}'"
    ))
}

/// A table that cannot have point-in-time recovery yet.
pub fn continuous_backups_unavailable(table: &str) -> Error {
    Error::ContinuousBackupsUnavailable(format!(
        "Backups are being enabled for the table: {table}. Please retry later"
    ))
}

/// A restore without a source table.
pub fn restore_source_missing() -> Error {
    Error::validation("The parameter 'TableName' is required but was not present in the request")
}

/// A restore without a time.
pub fn restore_time_missing() -> Error {
    Error::validation(
        "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both",
    )
}

/// A restore with two times. How AWS's sentence ends is not known.
pub fn restore_time_ambiguous() -> Error {
    Error::validation(
        "Invalid Request: Both RestoreDateTime and UseLatestRestorableTime cannot be set for \
         point-in-time restore request. Please specify one of them",
    )
}

/// A restore to a time outside the window; all times in ISO 8601.
pub fn restore_time_invalid(time: &str, earliest: &str, latest: &str) -> Error {
    Error::InvalidRestoreTime(format!(
        "RestoreDateTime '{time}' must be within EarliestRestorableDateTime '{earliest}' and \
         LatestRestorableDateTime '{latest}'"
    ))
}

/// A restore that overrides something it cannot, in AWS's words.
pub fn override_refused(problem: &str) -> Error {
    Error::Validation(format!("Invalid Request: {problem}"))
}

/// A period for recovery that is switched off.
pub fn period_without_recovery() -> Error {
    Error::validation(
        "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery.",
    )
}

/// A listing of backups between two times in the wrong order.
pub fn time_range_reversed() -> Error {
    Error::validation(
        "One or more parameter values were invalid: Time range lower bound must be less than or equal to upper bound",
    )
}

/// The first version of global tables.
pub fn first_global_tables() -> Error {
    Error::validation(
        "One or more parameter values were invalid: DynamoDB global tables version 2017.11.29 is not supported. \
         We recommend using DynamoDB global tables version 2019.11.21, instead of version 2017.11.29 (Legacy).",
    )
}

/// A feature that this database does not have.
pub fn not_available(what: &str, instead: &str) -> Error {
    Error::Validation(format!("{what} is not available in this database: {instead}"))
}
