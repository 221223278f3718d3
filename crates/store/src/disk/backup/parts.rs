//! The files of a backup, read from the store.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use xxhash_rust::xxh3::Xxh3Default;

use crate::StoreError;

/// One file of a backup. Reading it verifies its checksum, if it has one.
pub(super) struct Part {
    /// The name inside the backup.
    pub(super) name: String,
    /// Its length in bytes.
    pub(super) length: u64,
    content: Content,
    left: u64,
}

enum Content {
    /// Held in memory.
    Bytes(io::Cursor<Vec<u8>>),
    /// A prefix of an open log segment.
    Segment { file: File, path: PathBuf },
    /// A table.
    Table { file: File, path: PathBuf, checksum: u128, hash: Box<Xxh3Default> },
}

impl Part {
    pub(super) fn bytes(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        let length = bytes.len() as u64;
        let content = Content::Bytes(io::Cursor::new(bytes));
        Self { name: name.into(), length, content, left: length }
    }

    pub(super) fn segment(name: String, file: File, path: PathBuf, length: u64) -> Self {
        Self { name, length, content: Content::Segment { file, path }, left: length }
    }

    pub(super) fn table(name: String, path: PathBuf, checksum: u128) -> Result<Self, StoreError> {
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) =
            opened.map_err(|error| StoreError::io(format!("read {}", path.display()), error))?;
        let hash = Box::new(Xxh3Default::new());
        let content = Content::Table { file, path, checksum, hash };
        Ok(Self { name, length, content, left: length })
    }

    fn read_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.content {
            Content::Bytes(bytes) => bytes.read(buffer),
            Content::Segment { file, .. } | Content::Table { file, .. } => file.read(buffer),
        }
    }

    /// Verifies the checksum of a table at its end.
    fn check_end(&self) -> io::Result<()> {
        match &self.content {
            Content::Table { path, checksum, hash, .. } if hash.digest128() != *checksum => {
                let detail = "the table does not match its checksum".to_owned();
                Err(io::Error::other(StoreError::Corrupt { path: path.clone(), detail }))
            }
            _ => Ok(()),
        }
    }
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 || buffer.is_empty() {
            return Ok(0);
        }
        let room = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.read_some(buffer.get_mut(..room).unwrap_or_default());
        let path = match &self.content {
            Content::Bytes(_) => None,
            Content::Segment { path, .. } | Content::Table { path, .. } => Some(path.clone()),
        };
        let read = match (read, path) {
            (Ok(0), Some(path)) => {
                let detail = "it has become shorter".to_owned();
                return Err(io::Error::other(StoreError::Corrupt { path, detail }));
            }
            (Err(error), Some(path)) if error.kind() != io::ErrorKind::Interrupted => {
                let action = format!("read {}", path.display());
                return Err(io::Error::other(StoreError::lasting_io(action, error)));
            }
            (read, _) => read?,
        };
        if let Content::Table { hash, .. } = &mut self.content {
            hash.update(buffer.get(..read).unwrap_or_default());
        }
        self.left -= read as u64;
        if self.left == 0 {
            self.check_end()?;
        }
        Ok(read)
    }
}

/// Unwraps a store error from inside an I/O error, or wraps the I/O error.
pub(super) fn unwrap_error(action: impl Into<String>, error: io::Error) -> StoreError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<StoreError>()) {
        Some(inner) => inner.clone(),
        None => StoreError::lasting_io(action, error),
    }
}
