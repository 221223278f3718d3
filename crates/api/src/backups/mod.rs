//! Backups, restores and point-in-time recovery.

mod backup;
mod continuous_backups;
mod create_backup;
mod describe_backup;
mod list_backups;
mod restore_target;
mod restore_to_point;

pub use backup::{BackupDetails, BackupType};
pub use continuous_backups::{RecoveryWindow, UpdateContinuousBackupsInput, encode_recovery};
pub use create_backup::CreateBackupInput;
pub use describe_backup::{BackupDescription, SourceTable, decode_backup_arn};
pub use list_backups::{BackupSummary, ListBackupsInput, ListBackupsOutput};
pub use restore_target::RestoreTarget;
pub use restore_to_point::{RestoreTableToPointInTimeInput, RestoreTime};
