//! Restores a backup: a copy with its own store id.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::marker;
use super::target::{PartialCopy, is_vacant, refuse_inside, refuse_nested};
use crate::StoreError;
use crate::disk::directory::DirectoryLock;
use crate::disk::files::RealFiles;
use crate::disk::log::directory::LogDirectory;
use crate::disk::log::recovery::{Access, Expected, recover};
use crate::disk::manifest::{self, Manifest};
use crate::disk::table_list;

/// What was restored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// How many tables were copied.
    pub tables: u64,
    /// Bytes copied, log included.
    pub bytes: u64,
    /// Transactions in the log, which the first opening will replay.
    pub transactions: u64,
}

/// Copies the backup in `backup` to `to`, which must be empty or missing, after verifying every file
/// against its checksum. The copy gets its own store id, so that later backups of the two are not
/// mixed up.
pub fn restore_backup(backup: &Path, to: &Path) -> Result<Restored, StoreError> {
    let _lock = DirectoryLock::take_to_read(backup)?;
    let found = marker::read(backup)?;
    refuse_inside(to, backup)?;
    refuse_nested(to)?;
    if !is_vacant(to)? {
        let detail = "the directory to restore to must be empty or missing";
        return Err(StoreError::Format { path: to.to_owned(), detail: detail.into() });
    }
    if let Some(damage) = found.tables.iter().find_map(table_list::TableFile::damage) {
        return Err(damage);
    }
    let log = LogDirectory::new(Arc::new(RealFiles), &backup.join("log"));
    let expected = Expected::from(found.contents);
    let recovery = recover(&log, Some(expected), Access::Read, |_, _, _| Ok(()))?;
    let partial = PartialCopy::beside(to)?;
    partial.make_directories()?;
    let mut restored = Restored { transactions: recovery.transactions, ..Restored::default() };
    let number = found.list;
    let mut names = vec!["tree/current".to_owned(), format!("tree/v{number}")];
    names.extend(recovery.segments.iter().map(|id| format!("log/{id:08}.log")));
    for name in names {
        restored.bytes += copy(&partial, backup, &name)?.1;
    }
    for table in &found.tables {
        let name = table.path.strip_prefix(backup).unwrap_or(&table.path);
        let (checksum, length) = copy(&partial, backup, &name.to_string_lossy())?;
        if checksum != table.checksum {
            let detail = "the table does not match its checksum".to_owned();
            return Err(StoreError::Corrupt { path: table.path.clone(), detail });
        }
        restored.bytes += length;
        restored.tables += 1;
    }
    let manifest = Manifest { contents: Some(found.contents), ..Manifest::new() }.encode();
    partial.write(manifest::NAME, manifest.len() as u64, &mut manifest.as_slice())?;
    partial.put_in_place(to)?;
    Ok(restored)
}

/// Copies a file; returns its checksum and length.
fn copy(partial: &PartialCopy, backup: &Path, name: &str) -> Result<(u128, u64), StoreError> {
    let path = backup.join(name);
    let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (length, mut file) = opened
        .map_err(|error| StoreError::lasting_io(format!("read {}", path.display()), error))?;
    Ok((partial.write(name, length, &mut file)?, length))
}
