//! The few file operations that the log needs, as a seam: tests put a disk behind it that fails
//! or loses power.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

/// What a file takes of the disk at once.
const BLOCK: usize = 4096;

/// A directory of numbered log segments.
pub(crate) trait LogStorage: Send + Sync {
    /// The numbers of all segments, ascending.
    fn list(&self) -> io::Result<Vec<u64>>;

    /// The whole content of a segment.
    fn read(&self, id: u64) -> io::Result<Vec<u8>>;

    /// The size of a segment, zeros included.
    fn size(&self, id: u64) -> io::Result<u64>;

    /// Does what [`LogStorage::create`] can do beforehand. A failure is left for it to meet again.
    fn prepare(&self) {}

    /// Makes a segment that begins with `header`. When this returns, segment and header are
    /// durable; after a crash, either both are there or neither.
    fn create(&self, id: u64, header: &[u8]) -> io::Result<Box<dyn LogFile>>;

    /// Cuts a segment to `len` bytes, durably.
    fn truncate(&self, id: u64, len: u64) -> io::Result<()>;

    /// Removes a segment, durably: segments must not come back in another order.
    fn remove(&self, id: u64) -> io::Result<()>;

    /// How to call a segment in messages.
    fn name(&self, id: u64) -> PathBuf;
}

/// A segment that is being written. It may be synced while it is written.
pub(crate) trait LogFile: Send + Sync {
    /// Writes all of `bytes` at `offset`, extending the file if need be; one thread at a time.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Returns once everything written is durable.
    fn sync(&self) -> io::Result<()>;
}

/// Segments as files of a real directory.
pub(crate) struct LogDirectory {
    path: PathBuf,
    /// The file of the next segment, if it is there already: empty, with a block of its own.
    prepared: Mutex<Option<File>>,
}

impl LogDirectory {
    /// Opens the directory, making it if need be.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        if let Some(parent) = path.parent() {
            sync_directory(parent)?;
        }
        Ok(Self { path: path.to_owned(), prepared: Mutex::new(None) })
    }

    fn unfinished(&self) -> PathBuf {
        self.path.join("next.tmp")
    }

    fn begin(&self) -> io::Result<File> {
        let path = self.unfinished();
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
        file.write_at(&[0; BLOCK], 0)?;
        Ok(file)
    }
}

impl LogStorage for LogDirectory {
    fn list(&self) -> io::Result<Vec<u64>> {
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".log"));
            ids.extend(stem.and_then(|stem| stem.parse::<u64>().ok()));
        }
        ids.sort_unstable();
        Ok(ids)
    }

    fn read(&self, id: u64) -> io::Result<Vec<u8>> {
        fs::read(self.name(id))
    }

    fn size(&self, id: u64) -> io::Result<u64> {
        Ok(fs::metadata(self.name(id))?.len())
    }

    fn prepare(&self) {
        let mut prepared = self.prepared.lock();
        if prepared.is_none() {
            *prepared = self.begin().and_then(|file| file.sync_all().map(|()| file)).ok();
        }
    }

    fn create(&self, id: u64, header: &[u8]) -> io::Result<Box<dyn LogFile>> {
        // Held until the file has its own name: until then, preparing another would take this one.
        let mut prepared = self.prepared.lock();
        let file = prepared.take().map_or_else(|| self.begin(), Ok)?;
        file.write_at(header, 0)?;
        file.sync()?;
        fs::rename(self.unfinished(), self.name(id))?;
        drop(prepared);
        sync_directory(&self.path)?;
        Ok(Box::new(file))
    }

    fn truncate(&self, id: u64, len: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.name(id))?;
        file.set_len(len)?;
        file.sync_all()
    }

    fn remove(&self, id: u64) -> io::Result<()> {
        fs::remove_file(self.name(id))?;
        sync_directory(&self.path)
    }

    fn name(&self, id: u64) -> PathBuf {
        self.path.join(format!("{id:08}.log"))
    }
}

impl LogFile for File {
    #[cfg(unix)]
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self, bytes, offset)
    }

    #[cfg(not(unix))]
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        use std::io::{Seek, SeekFrom, Write};
        let mut file = self;
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Makes the names in a directory durable, where a directory can be synced.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::thread::scope;

    use super::*;

    #[test]
    fn a_segment_never_shares_its_file_with_the_next_however_they_are_prepared() {
        let directory = tempfile::tempdir().unwrap();
        let log = LogDirectory::open(directory.path()).unwrap();
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
