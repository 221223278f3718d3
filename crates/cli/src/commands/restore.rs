//! `keyloom restore`: a backup taken into use.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use keyloom_store::restore_backup;

use crate::output::{Failure, Output};

/// Copy a backup to a new directory, to be served.
///
/// Every file of the backup is compared with its checksum first. The backup stays as it is, and the copy
/// is a database of its own: it has backups of its own.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom restore /backups/shop --to ./keyloom-data
  keyloom serve --data ./keyloom-data")]
pub(crate) struct Restore {
    /// The directory of the backup.
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,
    /// The directory of the new database: empty or missing.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

impl Restore {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let restored = restore_backup(&self.backup, &self.to).map_err(Failure::refused)?;
        output.line(format_args!(
            "{}: restored. {} bytes copied ({} tables and the log)",
            self.to.display(),
            restored.bytes,
            restored.tables
        ))?;
        Ok(ExitCode::SUCCESS)
    }
}
