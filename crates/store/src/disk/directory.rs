//! The directory of a store: its lock, its manifest, and whether it is still in place.
//!
//! The directory itself is locked by the process that has the store open, so that no file can be
//! removed to break the lock; `LOCK` is locked too, for systems that cannot lock a directory. The
//! operating system releases both locks when the process ends. [`manifest`]
//! describes the content.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::files::{Files, RealFiles, replace};
use super::manifest::{self, Contents, Manifest};
use super::mutation::{self, Mutation};
use crate::StoreError;

/// The name of the lock file.
pub(super) const LOCK: &str = "LOCK";
/// Written and removed to probe a full disk for free space.
const SPACE_PROBE: &str = "room.tmp";
/// Where formats 1 and 2 state their version.
const OLD_FORMAT: &str = "FORMAT";
const NOT_A_STORE: &str = "this is not a keyloom store";
const OLD_FORMAT_2: &str = "keyloom-store format 2\n";

/// A lock on a directory, released when dropped.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    path: PathBuf,
    directory: File,
    _lock: Option<File>,
}

impl DirectoryLock {
    /// Creates the directory durably if it does not exist, and locks it.
    pub(crate) fn take(path: &Path, files: &dyn Files) -> Result<Self, StoreError> {
        let failed = |what: &str| {
            let action = format!("{what} {}", path.display());
            move |error: io::Error| StoreError::io(action, error)
        };
        make_durably(path, files).map_err(failed("create the directory"))?;
        let directory = File::open(path).map_err(failed("open"))?;
        if cfg!(unix) {
            locked(path, directory.try_lock())?;
        }
        Ok(Self { path: path.to_owned(), directory, _lock: None })
    }

    /// Locks the lock file, too. Refuses a directory that is neither empty nor a store, and creates
    /// nothing in it.
    pub(crate) fn with_lock_file(self) -> Result<Self, StoreError> {
        let path = &self.path;
        if !path.join(manifest::NAME).exists() {
            classify_without_manifest(&RealFiles, path, true)?;
        }
        let name = path.join(LOCK);
        if name.is_symlink() {
            let detail = "it is a symbolic link, not the lock file of a store; remove it".into();
            return Err(StoreError::Format { path: name, detail });
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let lock = options.open(&name);
        let lock =
            lock.map_err(|error| StoreError::io(format!("open {}", name.display()), error))?;
        locked(path, lock.try_lock())?;
        Ok(Self { _lock: Some(lock), ..self })
    }

    /// Locks the directory against writers, without changing anything in it.
    pub(crate) fn take_to_read(path: &Path) -> Result<Self, StoreError> {
        let opened = File::open(path);
        let directory =
            opened.map_err(|error| StoreError::io(format!("open {}", path.display()), error))?;
        if cfg!(unix) {
            locked(path, directory.try_lock_shared())?;
        }
        Ok(Self { path: path.to_owned(), directory, _lock: None })
    }

    /// Fails if the directory is no longer at its path: writes would be lost, or go to another
    /// directory.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let identity = |found: &fs::Metadata| (found.dev(), found.ino());
            let (here, there) = (self.directory.metadata(), fs::metadata(&self.path));
            let is_same = matches!((here, there), (Ok(here), Ok(there))
                if identity(&here) == identity(&there) && here.nlink() > 0);
            if !is_same {
                return Err(StoreError::Displaced { path: self.path.clone() });
            }
        }
        Ok(())
    }
}

fn locked(path: &Path, outcome: Result<(), TryLockError>) -> Result<(), StoreError> {
    match outcome {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(error)) => {
            Err(StoreError::io(format!("lock {}", path.display()), error))
        }
    }
}

/// Creates a directory and its parents, durably.
pub(crate) fn make_durably(path: &Path, files: &dyn Files) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if path.exists() {
        return files.make_directory(path);
    }
    if let Some(parent) = parent.filter(|parent| !parent.exists()) {
        make_durably(parent, files)?;
    }
    files.make_directory(path)?;
    files.sync_directory(parent.unwrap_or(Path::new(".")))
}

/// The directory of an open store.
#[derive(Debug)]
pub(crate) struct StoreDirectory {
    /// The file system that the store's own files are written through.
    pub(crate) files: Arc<dyn Files>,
    path: PathBuf,
    lock: DirectoryLock,
    manifest: Mutex<Manifest>,
}

/// What a directory held before it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// Empty, or a store whose creation was interrupted.
    New,
    /// A store with a manifest.
    Store(Contents),
    /// A store of format 2, which has no manifest.
    Format2,
}

impl StoreDirectory {
    /// Reads the manifest. An empty directory becomes a store if it may be written.
    pub(crate) fn open(
        files: Arc<dyn Files>,
        path: &Path,
        lock: DirectoryLock,
        may_write: bool,
    ) -> Result<(Self, Before), StoreError> {
        let (manifest, before) = match read(&*files, &path.join(manifest::NAME))? {
            Some(bytes) => decode(path, &bytes)?,
            None => (Manifest::new(), classify_without_manifest(&*files, path, may_write)?),
        };
        let store_dir = Self { files, path: path.to_owned(), lock, manifest: Mutex::new(manifest) };
        match before {
            Before::New if may_write => store_dir.replace_manifest(&store_dir.manifest.lock())?,
            Before::New => {
                let detail = NOT_A_STORE.to_owned();
                return Err(StoreError::Format { path: path.to_owned(), detail });
            }
            // The process that renamed the manifest may have ended before the directory was synced,
            // and what follows (segments are removed and created) relies on the name.
            Before::Store(contents) if may_write && contents.closed_at.is_none() => {
                store_dir.secure_manifest()?;
            }
            Before::Store(_) | Before::Format2 => {}
        }
        Ok((store_dir, before))
    }

    /// The path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Identifies this store and its backups.
    pub(crate) fn store_id(&self) -> u64 {
        self.manifest.lock().store
    }

    /// The files that the store consists of, as recorded.
    pub(crate) fn contents(&self) -> Contents {
        self.manifest.lock().contents.unwrap_or(Contents::NOTHING)
    }

    /// Fails if the directory is no longer at its path.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.lock.check()
    }

    /// Changes the manifest durably.
    pub(crate) fn record(&self, change: impl FnOnce(&mut Contents)) -> Result<(), StoreError> {
        self.check()?;
        let mut manifest = self.manifest.lock();
        let mut changed = manifest.clone();
        change(changed.contents.get_or_insert(Contents::NOTHING));
        if changed != *manifest {
            self.replace_manifest(&changed)?;
            *manifest = changed;
        }
        Ok(())
    }

    /// Sets the oldest segment that is needed; becomes durable with the next
    /// [`record`](Self::record).
    pub(crate) fn expect_segments_from(&self, first: u64) {
        let mut manifest = self.manifest.lock();
        let contents = manifest.contents.get_or_insert(Contents::NOTHING);
        contents.first_segment = first;
    }

    /// Fails if this many more bytes do not fit on the disk.
    pub(crate) fn probe_space(&self, bytes: u64) -> Result<(), StoreError> {
        const STEP: u64 = 256 << 10;
        self.check()?;
        let path = self.path.join(SPACE_PROBE);
        let fill = || {
            let file = self.files.create(&path)?;
            let step = vec![1; STEP as usize];
            for offset in (0..bytes).step_by(step.len()) {
                file.write_at(&step, offset)?;
            }
            file.sync()
        };
        let filled = fill();
        let removed = self.files.remove(&path);
        filled.and(removed).map_err(|error| StoreError::io("write to the full disk", error))
    }

    /// Completes the upgrade of an older store: removes its format file once the manifest is
    /// durable.
    pub(crate) fn remove_old_format(&self) -> Result<(), StoreError> {
        let old = self.path.join(OLD_FORMAT);
        match self.files.remove(&old) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            removed => removed,
        }
        .and_then(|()| self.files.sync_directory(&self.path))
        .map_err(|error| StoreError::io(format!("remove {}", old.display()), error))
    }

    /// Makes the name of the manifest durable.
    fn secure_manifest(&self) -> Result<(), StoreError> {
        if mutation::is_on(Mutation::ManifestNotSynced) {
            return Ok(());
        }
        self.files
            .sync_directory(&self.path)
            .map_err(|error| StoreError::io(format!("sync {}", self.path.display()), error))
    }

    fn replace_manifest(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let path = self.path.join(manifest::NAME);
        replace(&*self.files, &path, &manifest.encode())
            .map_err(|error| StoreError::io(format!("write {}", path.display()), error))
    }
}

fn read(files: &dyn Files, path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match files.read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io(format!("read {}", path.display()), error)),
    }
}

fn decode(directory: &Path, bytes: &[u8]) -> Result<(Manifest, Before), StoreError> {
    let path = directory.join(manifest::NAME);
    let first_line =
        String::from_utf8_lossy(bytes.split(|byte| *byte == b'\n').next().unwrap_or(bytes));
    if let Err(detail) = manifest::check_version(&first_line) {
        return Err(StoreError::Format { path, detail });
    }
    let manifest =
        Manifest::decode(bytes).map_err(|detail| StoreError::Corrupt { path, detail })?;
    let before = manifest.contents.map_or(Before::New, Before::Store);
    Ok((manifest, before))
}

/// Classifies a directory without a manifest. Never creates a store among foreign files or over the
/// remains of a store.
fn classify_without_manifest(
    files: &dyn Files,
    directory: &Path,
    may_write: bool,
) -> Result<Before, StoreError> {
    let old = directory.join(OLD_FORMAT);
    if let Some(bytes) = read(files, &old)? {
        if bytes == OLD_FORMAT_2.as_bytes() {
            return Ok(Before::Format2);
        }
        let line = String::from_utf8_lossy(&bytes);
        let detail = manifest::check_version(line.trim_end_matches('\n'))
            .err()
            .unwrap_or_else(|| "this is not the format of a keyloom store".into());
        return Err(StoreError::Format { path: old, detail });
    }
    let names = files
        .list(directory)
        .map_err(|error| StoreError::io(format!("list {}", directory.display()), error))?;
    let left_over = [LOCK, SPACE_PROBE, "MANIFEST.tmp", "FORMAT.tmp"];
    let Some(name) = names.iter().find(|name| !left_over.contains(&name.as_str())) else {
        return Ok(Before::New);
    };
    if names.iter().any(|name| name == "log" || name == "tree") {
        let detail = "it is missing, though there are files of a store; \
                      restore a backup, or save what can be read with 'keyloom repair'";
        let path = directory.join(manifest::NAME);
        return Err(StoreError::Corrupt { path, detail: detail.into() });
    }
    let detail = if may_write {
        format!(
            "not a keyloom store, and not empty (it contains {name}); choose an empty directory"
        )
    } else {
        NOT_A_STORE.to_owned()
    };
    Err(StoreError::Format { path: directory.to_owned(), detail })
}
