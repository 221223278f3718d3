//! ListBackups.

use std::ops::Range;

use crate::{Fields, JsonWriter};

use super::{BackupDetails, BackupType};

/// The longest page, which is also the usual one.
const MAX_PAGE: usize = 100;

/// The input of ListBackups.
#[derive(Clone, Debug)]
pub struct ListBackupsInput<'a> {
    /// The table's name or ARN; all tables if there is none.
    pub table_name: Option<&'a str>,
    /// How many backups to list at most.
    pub limit: usize,
    /// The backup after which the list continues.
    pub exclusive_start_backup_arn: Option<&'a str>,
    /// When listed backups were requested, in milliseconds.
    pub created_ms: Range<u64>,
    /// The origin of the backups to list; requests by default.
    pub kinds: &'static [BackupType],
}

impl<'a> ListBackupsInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Self {
        let ms = |name: &str| fields.decimal(name).map(|seconds| (seconds * 1000.0) as u64);
        let lower = ms("TimeRangeLowerBound").unwrap_or(0);
        Self {
            table_name: fields.string("TableName"),
            limit: fields.count("Limit").unwrap_or(MAX_PAGE),
            exclusive_start_backup_arn: fields.string("ExclusiveStartBackupArn"),
            created_ms: lower..ms("TimeRangeUpperBound").unwrap_or(u64::MAX),
            kinds: match fields.string("BackupType") {
                Some("SYSTEM") => &[BackupType::System],
                Some("ALL") => &[BackupType::User, BackupType::System],
                // Made by another service, which there is not here.
                Some("AWS_BACKUP") => &[],
                _ => &[BackupType::User],
            },
        }
    }
}

/// A page of backups.
#[derive(Clone, Debug)]
pub struct ListBackupsOutput<'a> {
    /// The backups of this page.
    pub backups: Vec<BackupSummary<'a>>,
    /// Whether there are more behind the last one.
    pub has_more: bool,
}

/// `BackupSummary`.
#[derive(Clone, Debug)]
pub struct BackupSummary<'a> {
    /// The backup itself.
    pub details: BackupDetails<'a>,
    /// The name of its table.
    pub table_name: &'a str,
    /// The id of its table.
    pub table_id: &'a str,
    /// The ARN of its table.
    pub table_arn: String,
}

impl ListBackupsOutput<'_> {
    /// The reply's body.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.objects("BackupSummaries", &self.backups, |json, backup| {
            json.string("TableName", backup.table_name);
            json.string("TableId", backup.table_id);
            json.string("TableArn", &backup.table_arn);
            backup.details.write(json);
        });
        if let Some(last) = self.backups.last().filter(|_| self.has_more) {
            json.string("LastEvaluatedBackupArn", &last.details.arn);
        }
        json.finish()
    }
}
