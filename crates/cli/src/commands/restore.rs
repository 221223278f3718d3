//! `keyloom restore`: a backup taken into use.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use keyloom_design::counted;
use keyloom_store::restore_backup;

use crate::output::{Failure, Output};

/// Restore a backup to a new data directory.
///
/// Every file of the backup is checked against its checksum first. The backup is not changed; the restored
/// database is independent and needs backups of its own.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom restore /backups/shop --to ./keyloom-data
  keyloom serve --data ./keyloom-data")]
pub(crate) struct Restore {
    /// Backup directory.
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,
    /// New data directory: empty or missing.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

impl Restore {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let restored = restore_backup(&self.backup, &self.to).map_err(Failure::refused)?;
        output.line(format_args!(
            "{}: restored. {} copied ({} and the log)",
            self.to.display(),
            counted(restored.bytes, "byte"),
            counted(restored.tables, "table")
        ))?;
        Ok(ExitCode::SUCCESS)
    }
}
