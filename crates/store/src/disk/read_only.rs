//! A read-only store: nothing in its directory changes, not even after a crash.
//!
//! The log is replayed into memory and its torn tail ignored. The tables are opened through a
//! directory of symbolic links, because `lsm-tree` removes tables that its list does not name when
//! it opens a directory.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::directory::{Before, DirectoryLock, StoreDirectory};
use super::files::{Files, RealFiles};
use super::log::directory::LogDirectory;
use super::log::recovery::{Access, check};
use super::options::{DiskOptions, OpenReport};
use super::tree::{Tree, TreeSnapshot};
use super::{open_tree, replay, table_list, verify_entries};
use crate::{
    Direction, Entries, Exclusive, Health, KeyRange, Openings, Snapshot, Stats, Store, StoreError,
    Transaction, Verification, sum_entries,
};

/// A store in a directory, opened read-only.
pub struct ReadOnlyStore {
    // Dropped in this order: the links must outlive the tree.
    tree: Arc<Tree>,
    view: Arc<View>,
    log: LogDirectory,
    store_dir: Arc<StoreDirectory>,
}

/// A directory of links to the tables.
struct View {
    path: PathBuf,
    original: PathBuf,
}

impl ReadOnlyStore {
    /// Opens the store in `path`. Several processes may read it at the same time, but not while one
    /// has it open for writing.
    pub fn open(
        path: impl AsRef<Path>,
        options: DiskOptions,
    ) -> Result<(Self, OpenReport), StoreError> {
        let path = path.as_ref();
        let files: Arc<dyn Files> = Arc::new(RealFiles);
        let lock = DirectoryLock::take_to_read(path)?;
        let (store_dir, before) = StoreDirectory::open(Arc::clone(&files), path, lock, false)?;
        let store_dir = Arc::new(store_dir);
        let original = path.join("tree");
        let found = table_list::check(&original)?;
        if let Before::Store(contents) = before {
            table_list::check_number(&original, found.number, contents.tables)?;
        }
        let view = View::make(&original)
            .map_err(|error| StoreError::io(format!("link to {}", original.display()), error))?;
        let view = Arc::new(view);
        let tree = open_tree(&store_dir, &view.path, Before::New, &options)
            .map_err(|error| view.translate(error))?;
        let log = LogDirectory::new(files, &path.join("log"));
        let recovery = replay(&log, &tree, before, Access::Read)?;
        let report = OpenReport {
            created: false,
            replayed_transactions: recovery.transactions,
            cut: recovery.cut,
        };
        Ok((Self { tree: Arc::new(tree), view, log, store_dir }, report))
    }

    fn refusal(&self) -> StoreError {
        StoreError::ReadOnly { path: self.store_dir.path().to_owned() }
    }
}

impl View {
    fn make(original: &Path) -> io::Result<Self> {
        let unique =
            format!("keyloom-view-{}-{:?}", std::process::id(), std::thread::current().id());
        let unique: String = unique.chars().filter(|c| c.is_alphanumeric() || *c == '-').collect();
        let mut number = 0;
        let path = loop {
            let path = std::env::temp_dir().join(format!("{unique}-{number}"));
            if !path.exists() {
                break path;
            }
            number += 1;
        };
        RealFiles.make_directory(&path)?;
        let view = Self { path, original: original.to_owned() };
        link_all(original, &view.path)?;
        Ok(view)
    }

    /// Replaces the path of a link in an error by the path of the file.
    fn translate(&self, error: StoreError) -> StoreError {
        let back = |path: PathBuf| match path.strip_prefix(&self.path) {
            Ok(rest) => self.original.join(rest),
            Err(_) => path,
        };
        let (view, original) =
            (self.path.display().to_string(), self.original.display().to_string());
        match error {
            StoreError::Corrupt { path, detail } => {
                StoreError::Corrupt { path: back(path), detail: detail.replace(&view, &original) }
            }
            StoreError::Format { path, detail } => {
                StoreError::Format { path: back(path), detail: detail.replace(&view, &original) }
            }
            StoreError::Engine { action, detail } => {
                StoreError::Engine { action, detail: detail.replace(&view, &original) }
            }
            other => other,
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // Only links; any remainder is in the system's directory for temporary files.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn link_all(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            RealFiles.make_directory(&target)?;
            link_all(&entry.path(), &target)?;
        } else {
            link(&entry.path().canonicalize()?, &target)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

/// Outside Unix, creating a symbolic link needs a privilege that few users have.
#[cfg(not(unix))]
fn link(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to).map(drop)
}

impl fmt::Debug for ReadOnlyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOnlyStore")
            .field("path", &self.store_dir.path())
            .finish_non_exhaustive()
    }
}

impl Store for ReadOnlyStore {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.tree.get(key).map_err(|error| self.view.translate(error))
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.snapshot()?.get_many(keys)
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let inner = TreeSnapshot::open(&self.tree);
        Ok(Box::new(ViewSnapshot { inner, view: Arc::clone(&self.view) }))
    }

    fn begin<'a>(&'a self, _: &[&[u8]]) -> Result<Box<dyn Transaction + 'a>, StoreError> {
        Err(self.refusal())
    }

    fn exclusive<'a>(&'a self) -> Result<Box<dyn Exclusive + 'a>, StoreError> {
        Err(self.refusal())
    }

    fn epoch(&self) -> u64 {
        0
    }

    fn sum(&self, counters: &[&[u8]]) -> Result<Vec<i64>, StoreError> {
        sum_entries(self, counters)
    }

    fn settle(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn verify(&self) -> Result<Verification, StoreError> {
        let shown = |line: String| {
            let (view, original) = (&self.view.path, &self.view.original);
            line.replace(&view.display().to_string(), &original.display().to_string())
        };
        let mut found = Verification {
            damage: self.tree.check_tables().into_iter().map(shown).collect(),
            ..Verification::default()
        };
        found.damage.extend(check(&self.log)?);
        verify_entries(&*self.snapshot()?, &mut found);
        Ok(found)
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        Ok(Stats {
            approximate_entries: self.tree.approximate_entries(),
            disk_bytes: self.tree.disk_bytes(),
            ..Stats::default()
        })
    }

    /// Opening read-only does not count: the numbers are those of the last opening.
    fn openings(&self) -> Result<Option<Openings>, StoreError> {
        let segments = self.log.list().map_err(|error| StoreError::io("list the log", error))?;
        let last = segments.last().copied().unwrap_or(0);
        Ok(Some(Openings { previous: last, current: last }))
    }

    fn health(&self) -> Health {
        Health::ReadOnly { reason: self.refusal().to_string(), restart_needed: true }
    }
}

/// A snapshot whose errors name the original files.
struct ViewSnapshot {
    inner: TreeSnapshot,
    view: Arc<View>,
}

impl Snapshot for ViewSnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(key).map_err(|error| self.view.translate(error))
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.inner.get_many(keys).map_err(|error| self.view.translate(error))
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Entries<'_> {
        let translate = |error| self.view.translate(error);
        Box::new(self.inner.scan(range, direction).map(move |entry| entry.map_err(translate)))
    }
}
