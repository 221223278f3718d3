//! The log directory: numbered segments, one file each.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::disk::files::{Files, OpenFile};

/// The allocation unit of the file system.
const BLOCK: usize = 4096;

/// Segments as files of a directory.
#[derive(Debug)]
pub(crate) struct LogDirectory {
    files: Arc<dyn Files>,
    path: PathBuf,
    /// The file of the next segment, if created in advance: one block of zeros.
    prepared: Mutex<Prepared>,
}

#[derive(Default)]
struct Prepared(Option<Box<dyn OpenFile>>);

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Prepared").field(&self.0.is_some()).finish()
    }
}

impl LogDirectory {
    /// The log in this directory, which need not exist.
    pub(crate) fn new(files: Arc<dyn Files>, path: &Path) -> Self {
        Self { files, path: path.to_owned(), prepared: Mutex::default() }
    }

    /// Creates the directory if it does not exist; its name becomes durable with the next sync of
    /// its parent.
    pub(crate) fn make(&self) -> io::Result<()> {
        self.files.make_directory(&self.path)
    }

    fn unfinished(&self) -> PathBuf {
        self.path.join("next.tmp")
    }

    fn begin(&self) -> io::Result<Box<dyn OpenFile>> {
        let file = self.files.create(&self.unfinished())?;
        file.write_at(&[0; BLOCK], 0)?;
        Ok(file)
    }

    /// The numbers of all segments, ascending; empty if there is no directory.
    pub(crate) fn list(&self) -> io::Result<Vec<u64>> {
        let names = match self.files.list(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            names => names?,
        };
        let number = |name: &String| name.strip_suffix(".log")?.parse::<u64>().ok();
        let mut ids: Vec<u64> = names.iter().filter_map(number).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// The whole content of a segment.
    pub(crate) fn read(&self, id: u64) -> io::Result<Vec<u8>> {
        self.files.read(&self.name(id))
    }

    /// The file size of a segment, preallocated zeros included.
    pub(crate) fn size(&self, id: u64) -> io::Result<u64> {
        self.files.length(&self.name(id))
    }

    /// Does the first part of [`LogDirectory::create`] in advance. A failure is ignored: `create`
    /// will report it.
    pub(crate) fn prepare(&self) {
        let mut prepared = self.prepared.lock();
        if prepared.0.is_none() {
            prepared.0 = self.begin().and_then(|file| file.sync().map(|()| file)).ok();
        }
    }

    /// Creates a segment that begins with `header`. Segment and header are durable when this
    /// returns; after a crash, both exist or neither.
    pub(crate) fn create(&self, id: u64, header: &[u8]) -> io::Result<Box<dyn OpenFile>> {
        // Held until the file has its final name: preparing another one before that would reuse
        // this file.
        let mut prepared = self.prepared.lock();
        let file = prepared.0.take().map_or_else(|| self.begin(), Ok)?;
        file.write_at(header, 0)?;
        file.sync()?;
        self.files.rename(&self.unfinished(), &self.name(id))?;
        drop(prepared);
        self.files.sync_directory(&self.path)?;
        Ok(file)
    }

    /// Rewrites bytes of a segment where they were read, and makes the whole segment durable.
    pub(crate) fn write_again(&self, id: u64, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let file = self.files.open(&self.name(id))?;
        file.write_at(bytes, offset)?;
        file.sync()
    }

    /// Truncates a segment to `length` bytes, durably.
    pub(crate) fn truncate(&self, id: u64, length: u64) -> io::Result<()> {
        let file = self.files.open(&self.name(id))?;
        file.set_length(length)?;
        file.sync()
    }

    /// Removes a segment, durably, so that removals cannot be reordered by a crash.
    pub(crate) fn remove(&self, id: u64) -> io::Result<()> {
        self.files.remove(&self.name(id))?;
        self.files.sync_directory(&self.path)
    }

    /// The path of a segment.
    pub(crate) fn name(&self, id: u64) -> PathBuf {
        self.path.join(format!("{id:08}.log"))
    }
}

#[cfg(test)]
mod tests {
    use std::thread::scope;

    use super::*;
    use crate::disk::files::RealFiles;

    #[test]
    fn a_segment_never_shares_its_file_with_the_next_however_they_are_prepared() {
        let directory = tempfile::tempdir().unwrap();
        let log = LogDirectory::new(Arc::new(RealFiles), directory.path());
        scope(|scope| {
            scope.spawn(|| (0..300).for_each(|_| log.prepare()));
            for id in 1..=300_u64 {
                let file = log.create(id, &id.to_be_bytes()).unwrap();
                file.write_at(&id.to_be_bytes(), 8).unwrap();
            }
        });
        for id in log.list().unwrap() {
            let bytes = log.read(id).unwrap();
            assert_eq!(bytes[..16], [id.to_be_bytes(), id.to_be_bytes()].concat());
        }
    }
}
