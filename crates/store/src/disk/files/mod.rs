//! The few operations on files that the store's own parts need: log, manifest and directories.
//!
//! They are a trait so that tests can put a disk behind it that loses power, fills up or fails at any
//! call. The tables are not written through it: `lsm-tree` opens its files itself.

mod real;
#[cfg(test)]
pub(crate) mod simulated;

use std::fmt;
use std::io;
use std::path::Path;

pub(crate) use real::RealFiles;

/// A file system.
pub(crate) trait Files: Send + Sync + fmt::Debug {
    /// The names in a directory, in any order.
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;

    /// The whole content of a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The length of a file.
    fn length(&self, path: &Path) -> io::Result<u64>;

    /// Makes an empty file that only its owner may read, in place of one that is there.
    fn create(&self, path: &Path) -> io::Result<Box<dyn OpenFile>>;

    /// Opens an existing file for writing.
    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>>;

    /// Gives a file another name, in place of a file that has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes a directory that only its owner may enter, unless it is there.
    fn make_directory(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// A file that is being written. It may be synced while it is written.
pub(crate) trait OpenFile: Send + Sync {
    /// Writes all of `bytes` at `offset`, extending the file if need be; one thread at a time.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Cuts the file, or fills it with zeros, to this length.
    fn set_length(&self, length: u64) -> io::Result<()>;

    /// Returns once everything written is durable.
    fn sync(&self) -> io::Result<()>;

    /// Whether the file still has a name: what is written to a file without one is lost.
    fn has_name(&self) -> io::Result<bool>;
}

/// Replaces a file by one with this content: after a crash there is the old one or the new one, whole.
/// The new one is durable when this returns.
pub(crate) fn replace(files: &dyn Files, path: &Path, content: &[u8]) -> io::Result<()> {
    let unfinished = path.with_added_extension("tmp");
    let file = files.create(&unfinished)?;
    file.write_at(content, 0)?;
    file.sync()?;
    drop(file);
    files.rename(&unfinished, path)?;
    path.parent().map_or(Ok(()), |directory| files.sync_directory(directory))
}

/// Whether an operation failed for lack of room, which may pass.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
