//! Locking of the set of tables, and cleanup after a failed change of it.
//!
//! A flush or compaction that fails, for example because the disk is full, leaves tables that are
//! in no list. The engine would remove them when it is next opened; a full disk needs the space
//! earlier.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lsm_tree::{Table, TableId};
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The set of tables of one tree.
pub(super) struct TableSet {
    tree: PathBuf,
    changing: RwLock<()>,
    /// The tables that have been in a list since the tree was opened.
    installed: Mutex<HashSet<TableId>>,
}

impl TableSet {
    /// The tree in this directory, which has these tables.
    pub(super) fn new<'a>(tree: &Path, tables: impl Iterator<Item = &'a Table>) -> Self {
        let installed = Mutex::new(tables.map(Table::id).collect());
        Self { tree: tree.to_owned(), changing: RwLock::new(()), installed }
    }

    /// Locks the set of tables for a change (shared).
    pub(super) fn change(&self) -> RwLockReadGuard<'_, ()> {
        self.changing.read()
    }

    /// Locks out changes (exclusive); waits until running ones finish.
    pub(super) fn freeze(&self) -> RwLockWriteGuard<'_, ()> {
        self.changing.write()
    }

    /// Records the result of a change: the number of the list and its tables. New files become
    /// readable by their owner only.
    pub(super) fn note<'a>(&self, list: u64, tables: impl Iterator<Item = &'a Table>) {
        let mut installed = self.installed.lock();
        for table in tables {
            if installed.insert(table.id()) {
                restrict(&self.tree.join("tables").join(table.id().to_string()));
            }
        }
        restrict(&self.tree.join(format!("v{list}")));
    }

    /// Removes tables that a failed change has left.
    pub(super) fn remove_orphans(&self) -> io::Result<()> {
        let _frozen = self.freeze();
        let installed = self.installed.lock();
        for entry in fs::read_dir(self.tree.join("tables"))? {
            let entry = entry?;
            let id = entry.file_name().to_str().and_then(|name| name.parse::<TableId>().ok());
            if id.is_some_and(|id| !installed.contains(&id)) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// Makes a file readable by its owner only. Nobody else can enter the directory, so failure (on a
/// file system without permissions, for example) is harmless.
fn restrict(path: &Path) {
    #[cfg(unix)]
    {
        let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        let _ = fs::set_permissions(path, owner_only);
    }
    #[cfg(not(unix))]
    let _ = path;
}
