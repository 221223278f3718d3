//! CreateBackup.

use crate::parameters::control_table;
use crate::{Fields, JsonWriter};

use super::BackupDetails;

/// The input of CreateBackup.
#[derive(Clone, Copy, Debug)]
pub struct CreateBackupInput<'a> {
    /// The table's name or ARN.
    pub table_name: &'a str,
    /// The backup's name, which need not be the only one.
    pub backup_name: &'a str,
}

impl<'a> CreateBackupInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Self {
        let backup_name = fields.string("BackupName").unwrap_or_default();
        Self { table_name: control_table(fields), backup_name }
    }
}

impl BackupDetails<'_> {
    /// The reply of CreateBackup.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.structure("BackupDetails", |json| self.write(json));
        json.finish()
    }
}
