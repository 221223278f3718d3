//! Messages about resources of tables: policies, backups, global tables, exports, imports.

use super::Error;

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
    Error::Validation(format!("Invalid policy document: {problem}"))
}

/// A policy that is too long.
pub fn policy_too_large(limit: usize) -> Error {
    Error::LimitExceeded(format!("Policy size exceeds the limit of {limit} bytes"))
}

/// A destination that is already enabled.
pub fn destination_enabled(table: &str, stream: &str) -> Error {
    Error::ResourceInUse(format!(
        "Table {table} already has an enabled Kinesis streaming destination: {stream}"
    ))
}

/// More destinations than a table may have.
pub fn too_many_destinations() -> Error {
    Error::LimitExceeded(
        "Subscriber limit exceeded: Number of Kinesis streaming destinations per table".into(),
    )
}

/// A global table that exists already.
pub fn global_table_exists(name: &str) -> Error {
    Error::GlobalTableAlreadyExists(format!("Global table with name: '{name}' already exists."))
}

/// A global table that does not exist.
pub fn global_table_not_found(name: &str) -> Error {
    Error::GlobalTableNotFound(format!(
        "Global table not found: Global table with name: '{name}' does not exist."
    ))
}

/// A replica that a global table already has.
pub fn replica_exists(name: &str, region: &str) -> Error {
    Error::ReplicaAlreadyExists(format!(
        "Replica in region: '{region}' already exists for global table: '{name}'."
    ))
}

/// A replica that a global table does not have.
pub fn replica_not_found(name: &str, region: &str) -> Error {
    Error::ReplicaNotFound(format!(
        "Replica in region: '{region}' does not exist for global table: '{name}'."
    ))
}

/// The index of a setting does not exist.
pub fn index_not_found(table: &str, index: &str) -> Error {
    Error::IndexNotFound(format!("Index not found: {index} on table: {table}"))
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
pub fn system_backup(arn: &str) -> Error {
    Error::Validation(format!(
        "Cannot delete a SYSTEM backup; it expires 35 days after its creation: {arn}"
    ))
}

/// A backup that failed.
pub fn backup_failed(arn: &str, reason: &str) -> Error {
    Error::BackupInUse(format!("Backup cannot be restored, because it failed ({reason}): {arn}"))
}

/// The table of a backup operation is being changed.
pub fn table_in_use(name: &str, status: &str) -> Error {
    Error::TableInUse(format!("Table is being {}: {name}", status.to_lowercase()))
}

/// The target of a restore exists.
pub fn restore_target_exists(name: &str) -> Error {
    Error::TableAlreadyExists(format!("Table already exists: {name}"))
}

/// A restore overrides an index that the source does not have, or has differently.
pub fn override_unknown(index: &str) -> Error {
    Error::Validation(format!(
        "One or more parameter values were invalid: index {index} is not an index of the source \
         table with the same key schema and projection; a restore can only leave indexes out"
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
    Error::validation(
        "One or more parameter values were invalid: Either SourceTableName or SourceTableArn must \
         be specified",
    )
}

/// A restore without a time.
pub fn restore_time_missing() -> Error {
    Error::validation(
        "One or more parameter values were invalid: Either RestoreDateTime or \
         UseLatestRestorableTime must be specified",
    )
}

/// A restore to a time outside the window.
pub fn restore_time_invalid() -> Error {
    Error::InvalidRestoreTime(
        "Restore date time must be between EarliestRestorableDateTime and \
         LatestRestorableDateTime."
            .into(),
    )
}

/// A time inside the window for which no data is kept.
pub fn past_not_kept(parameter: &str, latest: &str) -> Error {
    Error::Validation(format!(
        "{parameter} names a time in the past: this database keeps no history of changes for \
         point-in-time recovery, only the present state; {latest}, or make backups with CreateBackup"
    ))
}

/// An export that does not exist.
pub fn export_not_found(arn: &str) -> Error {
    Error::ExportNotFound(format!("Export not found: {arn}"))
}

/// An import that does not exist.
pub fn import_not_found(arn: &str) -> Error {
    Error::ImportNotFound(format!("Import not found: {arn}"))
}

/// A bulk operation that does not exist.
pub fn bulk_operation_not_found(arn: &str) -> Error {
    Error::ResourceNotFound(format!("Requested resource not found: BulkOperation: {arn} not found"))
}

/// An export with the same token was requested with other parameters.
pub fn export_conflict(token: &str) -> Error {
    Error::ExportConflict(format!(
        "An export with the same client token but different parameters exists: {token}"
    ))
}

/// An import with the same token was requested with other parameters.
pub fn import_conflict(token: &str) -> Error {
    Error::ImportConflict(format!(
        "An import with the same client token but different parameters exists: {token}"
    ))
}

/// A bulk operation with the same token was requested with other parameters.
pub fn bulk_operation_conflict(token: &str) -> Error {
    Error::IdempotentParameterMismatch(format!(
        "A bulk operation with the same client token but different parameters exists: {token}"
    ))
}

/// An export of a time outside the window.
pub fn export_time_invalid() -> Error {
    Error::InvalidExportTime(
        "The specified ExportTime is outside of the point in time recovery window.".into(),
    )
}

/// An export without the ARN of a table.
pub fn table_arn_invalid(arn: &str) -> Error {
    Error::Validation(format!("Invalid TableArn: {arn}"))
}

/// An object key that cannot be mapped to a file.
pub fn object_key_invalid(parameter: &str, key: &str) -> Error {
    Error::Validation(format!(
        "{parameter} '{key}' cannot be mapped to a directory: it must be relative, without empty \
         parts, '.' or '..'"
    ))
}

/// A feature that this database does not have.
pub fn not_available(what: &str, instead: &str) -> Error {
    Error::Validation(format!("{what} is not available in this database: {instead}"))
}

/// A line of an import that is not an item.
pub fn line_without_item() -> Error {
    Error::validation("A line must be a JSON object with the member Item")
}
