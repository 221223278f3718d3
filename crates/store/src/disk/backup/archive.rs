//! Streams a backup as a tar archive.
//!
//! The manifest is the last entry, so a truncated archive is never taken for a complete one.

use std::io::{Read, Write};

use super::parts::{Part, unwrap_error};
use super::{BackupReport, BackupSource, BackupTarget, Inventory};
use crate::StoreError;

impl BackupSource {
    /// Writes the files that `inventory` does not have as a tar archive. Buffers a fixed amount of
    /// memory.
    pub fn write_archive(self, inventory: &Inventory, out: impl Write) -> Result<(), StoreError> {
        let mut archive = tar::Builder::new(out);
        self.each(inventory, |part| append(&mut archive, part))?;
        let finished = archive.into_inner().and_then(|mut out| out.flush());
        finished.map_err(|error| unwrap_error("send the backup", error))
    }
}

fn append(archive: &mut tar::Builder<impl Write>, part: Part) -> Result<(), StoreError> {
    let name = part.name.clone();
    let mut header = tar::Header::new_gnu();
    header.set_size(part.length);
    header.set_mode(0o600);
    archive
        .append_data(&mut header, &name, part)
        .map_err(|error| unwrap_error(format!("send {name}"), error))
}

impl BackupTarget {
    /// Receives a backup written by [`BackupSource::write_archive`] and completes it. A truncated
    /// archive is an error and leaves the previous backup unchanged.
    pub fn take_archive(mut self, archive: impl Read) -> Result<BackupReport, StoreError> {
        let taken = self.take_entries(archive);
        self.finish_after(taken)
    }

    fn take_entries(&mut self, archive: impl Read) -> Result<(), StoreError> {
        let failed = |error| unwrap_error("receive the backup", error);
        let mut archive = tar::Archive::new(archive);
        for entry in archive.entries().map_err(failed)? {
            let mut entry = entry.map_err(failed)?;
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let length = entry.size();
            self.add(&name, length, &mut entry)?;
        }
        Ok(())
    }
}
