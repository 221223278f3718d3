//! Fault injection for tests: log files that fail on demand, or block syncs until released.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::{Condvar, Mutex};

use super::directory::DirectoryLock;
use super::files::{Files, OpenFile, RealFiles};
use super::log::directory::LogDirectory;
use super::{DiskOptions, DiskStore};

/// Passes all calls to real files, except where a failure or a blocked sync is injected.
#[derive(Debug, Clone)]
pub(crate) struct FaultyFiles(Arc<Control>);

#[derive(Debug)]
struct Control {
    /// Operations until failure; negative for never.
    writes_left: AtomicI64,
    syncs_left: AtomicI64,
    gate: Mutex<Gate>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Gate {
    shut: bool,
    waiting: usize,
}

impl Default for FaultyFiles {
    fn default() -> Self {
        Self(Arc::new(Control {
            writes_left: AtomicI64::new(-1),
            syncs_left: AtomicI64::new(-1),
            gate: Mutex::default(),
            changed: Condvar::new(),
        }))
    }
}

impl FaultyFiles {
    /// Opens a store in `path` whose log uses these files.
    pub(crate) fn open_store(&self, path: &Path) -> DiskStore {
        self.open_store_with(path, DiskOptions::default())
    }

    /// Same, with options.
    pub(crate) fn open_store_with(&self, path: &Path, options: DiskOptions) -> DiskStore {
        let lock = DirectoryLock::take(path, &RealFiles).unwrap();
        let files = Arc::new(self.clone());
        DiskStore::open_in(files, path, lock, &path.join("tree"), options).unwrap().0
    }

    /// The log of the store in `path`.
    pub(crate) fn log(path: &Path) -> LogDirectory {
        LogDirectory::new(Arc::new(RealFiles), &path.join("log"))
    }

    /// Fails the write after `count` successful ones.
    pub(crate) fn fail_write_after(&self, count: i64) {
        self.0.writes_left.store(count, Ordering::Relaxed);
    }

    /// Fails the sync after `count` successful ones.
    pub(crate) fn fail_sync_after(&self, count: i64) {
        self.0.syncs_left.store(count, Ordering::Relaxed);
    }

    /// Blocks all syncs from now on.
    pub(crate) fn hold_syncs(&self) {
        self.0.gate.lock().shut = true;
    }

    /// Releases blocked syncs.
    pub(crate) fn release_syncs(&self) {
        self.0.gate.lock().shut = false;
        self.0.changed.notify_all();
    }

    /// Waits until a sync is blocked.
    pub(crate) fn wait_for_held_sync(&self) {
        let mut gate = self.0.gate.lock();
        while gate.waiting == 0 {
            self.0.changed.wait(&mut gate);
        }
    }

    /// Whether a sync is blocked.
    pub(crate) fn is_sync_held(&self) -> bool {
        self.0.gate.lock().waiting > 0
    }

    fn pass_gate(&self) {
        let mut gate = self.0.gate.lock();
        gate.waiting += 1;
        self.0.changed.notify_all();
        while gate.shut {
            self.0.changed.wait(&mut gate);
        }
        gate.waiting -= 1;
    }
}

fn burn(fuse: &AtomicI64) -> io::Result<()> {
    match fuse.fetch_sub(1, Ordering::Relaxed) {
        0 => Err(io::Error::other("the disk is on fire")),
        _ => Ok(()),
    }
}

struct FaultyFile(Box<dyn OpenFile>, FaultyFiles);

impl OpenFile for FaultyFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        burn(&self.1.0.writes_left)?;
        self.0.write_at(bytes, offset)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.0.set_length(length)
    }

    fn sync(&self) -> io::Result<()> {
        burn(&self.1.0.syncs_left)?;
        self.1.pass_gate();
        self.0.sync()
    }

    fn has_name(&self) -> io::Result<bool> {
        self.0.has_name()
    }
}

impl FaultyFiles {
    fn wrap(&self, path: &Path, file: Box<dyn OpenFile>) -> Box<dyn OpenFile> {
        let is_log = path.parent().is_some_and(|directory| directory.ends_with("log"));
        if is_log { Box::new(FaultyFile(file, self.clone())) } else { file }
    }
}

impl Files for FaultyFiles {
    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        RealFiles.list(directory)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        RealFiles.read(path)
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        RealFiles.length(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        Ok(self.wrap(path, RealFiles.create(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        Ok(self.wrap(path, RealFiles.open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealFiles.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealFiles.remove(path)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        RealFiles.make_directory(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        RealFiles.sync_directory(path)
    }
}
