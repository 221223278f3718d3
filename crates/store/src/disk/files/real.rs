//! Files of the operating system.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

use super::{Files, OpenFile};

/// The operating system's file system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RealFiles;

impl Files for RealFiles {
    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let name = |entry: io::Result<fs::DirEntry>| {
            entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
        };
        fs::read_dir(directory)?.map(name).collect()
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        Ok(fs::metadata(path)?.len())
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Box::new(options.open(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(OpenOptions::new().write(true).open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made,
        }
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        // Only Unix can sync a directory.
        if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
    }
}

impl OpenFile for File {
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

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    /// Requests only the link count: after its timestamps have been read, a file gets new ones with
    /// its next write, and each sync of the log would write them too (a quarter of the write
    /// throughput).
    #[cfg(target_os = "linux")]
    fn has_name(&self) -> io::Result<bool> {
        use rustix::fs::{AtFlags, StatxFlags, statx};
        Ok(statx(self, "", AtFlags::EMPTY_PATH, StatxFlags::NLINK)?.stx_nlink > 0)
    }

    #[cfg(all(unix, not(target_os = "linux")))]
    fn has_name(&self) -> io::Result<bool> {
        Ok(std::os::unix::fs::MetadataExt::nlink(&self.metadata()?) > 0)
    }

    /// On other systems an open file cannot be removed.
    #[cfg(not(unix))]
    fn has_name(&self) -> io::Result<bool> {
        Ok(true)
    }
}
