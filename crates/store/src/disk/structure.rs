//! Changes of the set of tables: who makes them, who needs them to stand still, and what a change that
//! failed leaves behind.
//!
//! A flush or compaction that fails, for lack of room say, leaves tables that are in no list. The engine
//! would remove them when it is opened again; a full disk needs the room before.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lsm_tree::{Table, TableId};
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The set of tables of one tree, as far as its changes go.
pub(super) struct Structure {
    tree: PathBuf,
    changing: RwLock<()>,
    /// The tables that were in a list at some time since the tree was opened.
    installed: Mutex<HashSet<TableId>>,
}

impl Structure {
    /// The structure of the tree in this directory, which has these tables.
    pub(super) fn new<'a>(tree: &Path, tables: impl Iterator<Item = &'a Table>) -> Self {
        let installed = Mutex::new(tables.map(Table::id).collect());
        Self { tree: tree.to_owned(), changing: RwLock::new(()), installed }
    }

    /// Held by whoever changes the set of tables.
    pub(super) fn change(&self) -> RwLockReadGuard<'_, ()> {
        self.changing.read()
    }

    /// Held by whoever needs tables and list to stay as they are; waits until the running changes end.
    pub(super) fn stand_still(&self) -> RwLockWriteGuard<'_, ()> {
        self.changing.write()
    }

    /// Notes what a change has led to: the number of the list and its tables. What is new becomes
    /// readable for its owner only.
    pub(super) fn note<'a>(&self, list: u64, tables: impl Iterator<Item = &'a Table>) {
        let mut installed = self.installed.lock();
        for table in tables {
            if installed.insert(table.id()) {
                restrict(&self.tree.join("tables").join(table.id().to_string()));
            }
        }
        restrict(&self.tree.join(format!("v{list}")));
    }

    /// Removes tables that a failed change has left behind.
    pub(super) fn remove_orphans(&self) -> io::Result<()> {
        let _still = self.stand_still();
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

/// Lets only the owner read a file. The directory lets nobody else in, so a failure, on a file system
/// without permissions say, has no consequence.
fn restrict(path: &Path) {
    #[cfg(unix)]
    {
        let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        let _ = fs::set_permissions(path, owner_only);
    }
    #[cfg(not(unix))]
    let _ = path;
}
