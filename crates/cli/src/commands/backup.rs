//! `keyloom backup`: a copy of a database from one moment.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use keyloom_design::counted;
use keyloom_store::{BackupReport, BackupSource, BackupTarget, StoreError};

use crate::admin::{Keys, Question};
use crate::output::{Failure, Output};

/// Back up a database at one point in time, from its directory or from a running server.
///
/// The server keeps serving. The target may be missing, empty, or an earlier backup of the same database:
/// then only new files are copied, and the earlier backup is replaced when the new one is complete. Every
/// file is checked against its checksum.
///
/// `keyloom restore` restores a backup.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom backup http://127.0.0.1:8000 --to /backups/shop
  keyloom backup ./keyloom-data --to /backups/shop")]
pub(crate) struct Backup {
    /// URL of a running server, or a data directory that no server has open.
    #[arg(value_name = "URL|DIR")]
    source: String,
    /// Backup directory.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    #[command(flatten)]
    keys: Keys,
}

impl Backup {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let is_url = self.source.starts_with("http://") || self.source.starts_with("https://");
        let report = if is_url {
            self.ask_server()?
        } else {
            copy_directory(Path::new(&self.source), &self.to).map_err(Failure::refused)?
        };
        output.line(format_args!("{}: {}", self.to.display(), described(&report)))?;
        Ok(ExitCode::SUCCESS)
    }

    fn ask_server(&self) -> Result<BackupReport, Failure> {
        let target = BackupTarget::prepare(&self.to, None).map_err(Failure::refused)?;
        let question = Question {
            endpoint: &self.source,
            method: "POST",
            path: "/keyloom/backup",
            patience: None,
        };
        let missing = "has nothing to back up: it keeps its data in memory, it is another version, or it \
                       is not keyloom";
        let inventory = target.inventory().encode();
        let body = question.send(&self.keys, inventory.as_bytes(), missing)?;
        target
            .take_archive(body.into_reader())
            .map_err(|error| Failure::refused(format_args!("{}: {error}", self.source)))
    }
}

fn copy_directory(directory: &Path, to: &Path) -> Result<BackupReport, StoreError> {
    let source = BackupSource::of_directory(directory)?;
    source.copy_to(BackupTarget::prepare(to, Some(directory))?)
}

fn described(report: &BackupReport) -> String {
    let BackupReport { tables_copied, tables_linked, bytes_copied, bytes_linked, .. } = report;
    format!(
        "backed up. {} copied ({} and the log), {} already there ({})",
        counted(bytes_copied, "byte"),
        counted(tables_copied, "table"),
        counted(bytes_linked, "byte"),
        counted(tables_linked, "table"),
    )
}
