//! The file operations that the store's own parts need: log, manifest and directories.
//!
//! A trait, so that tests can simulate a disk that loses power, fills up or fails at any call. The
//! tables do not go through it: `lsm-tree` opens its files itself.

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

    /// Creates an empty file that only its owner may read, replacing an existing one.
    fn create(&self, path: &Path) -> io::Result<Box<dyn OpenFile>>;

    /// Opens an existing file for writing.
    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>>;

    /// Renames a file, replacing an existing one.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Creates a directory that only its owner may enter, unless it exists.
    fn make_directory(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// A file open for writing. It may be synced by another thread at the same time.
pub(crate) trait OpenFile: Send + Sync {
    /// Writes all of `bytes` at `offset`, extending the file if necessary; one thread at a time.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Truncates the file, or extends it with zeros, to this length.
    fn set_length(&self, length: u64) -> io::Result<()>;

    /// Makes everything written so far durable.
    fn sync(&self) -> io::Result<()>;

    /// Whether the file still has a name: writes to an unlinked file are lost.
    fn has_name(&self) -> io::Result<bool>;
}

/// Replaces the content of a file atomically: after a crash it has the old content or the new one.
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
