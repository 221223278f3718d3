//! A log directory for tests that fails on demand, or holds syncs back until told otherwise.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Condvar, Mutex};

use super::log::storage::{LogDirectory, LogFile, LogStorage};
use super::{DiskOptions, DiskStore, format};

/// Passes everything to a real directory, unless told to fail or wait.
#[derive(Clone)]
pub(crate) struct UnrulyLog(Arc<Control>);

struct Control {
    directory: OnceLock<LogDirectory>,
    /// Operations until failure; negative for never.
    writes_left: AtomicI64,
    syncs_left: AtomicI64,
    gate: Mutex<Gate>,
    changed: Condvar,
}

#[derive(Default)]
struct Gate {
    shut: bool,
    waiting: usize,
}

impl Default for UnrulyLog {
    fn default() -> Self {
        Self(Arc::new(Control {
            directory: OnceLock::new(),
            writes_left: AtomicI64::new(-1),
            syncs_left: AtomicI64::new(-1),
            gate: Mutex::default(),
            changed: Condvar::new(),
        }))
    }
}

impl UnrulyLog {
    /// Opens a store in `path` that uses this log.
    pub(crate) fn open_store(&self, path: &Path) -> DiskStore {
        self.open_store_with(path, DiskOptions::default())
    }

    /// The same with other options.
    pub(crate) fn open_store_with(&self, path: &Path, options: DiskOptions) -> DiskStore {
        let claim = format::claim(path).unwrap();
        let directory = LogDirectory::open(&path.join("log")).unwrap();
        assert!(self.0.directory.set(directory).is_ok(), "one store per log");
        DiskStore::open_with_log(path, claim, Arc::new(self.clone()), options).unwrap().0
    }

    /// Lets `count` writes pass and fails the next.
    pub(crate) fn fail_write_after(&self, count: i64) {
        self.0.writes_left.store(count, Ordering::Relaxed);
    }

    /// Lets `count` syncs pass and fails the next.
    pub(crate) fn fail_sync_after(&self, count: i64) {
        self.0.syncs_left.store(count, Ordering::Relaxed);
    }

    /// Holds all syncs back from now on.
    pub(crate) fn hold_syncs(&self) {
        self.0.gate.lock().shut = true;
    }

    /// Lets held syncs go on.
    pub(crate) fn release_syncs(&self) {
        self.0.gate.lock().shut = false;
        self.0.changed.notify_all();
    }

    /// Waits until a sync is being held back.
    pub(crate) fn wait_for_held_sync(&self) {
        let mut gate = self.0.gate.lock();
        while gate.waiting == 0 {
            self.0.changed.wait(&mut gate);
        }
    }

    /// Whether a sync is being held back.
    pub(crate) fn is_sync_held(&self) -> bool {
        self.0.gate.lock().waiting > 0
    }

    fn directory(&self) -> &LogDirectory {
        self.0.directory.get().unwrap()
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

struct UnrulyFile(Box<dyn LogFile>, UnrulyLog);

impl LogFile for UnrulyFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        burn(&self.1.0.writes_left)?;
        self.0.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        burn(&self.1.0.syncs_left)?;
        self.1.pass_gate();
        self.0.sync()
    }
}

impl LogStorage for UnrulyLog {
    fn list(&self) -> io::Result<Vec<u64>> {
        self.directory().list()
    }

    fn read(&self, id: u64) -> io::Result<Vec<u8>> {
        self.directory().read(id)
    }

    fn size(&self, id: u64) -> io::Result<u64> {
        self.directory().size(id)
    }

    fn prepare(&self) {
        self.directory().prepare();
    }

    fn create(&self, id: u64, header: &[u8]) -> io::Result<Box<dyn LogFile>> {
        Ok(Box::new(UnrulyFile(self.directory().create(id, header)?, self.clone())))
    }

    fn truncate(&self, id: u64, len: u64) -> io::Result<()> {
        self.directory().truncate(id, len)
    }

    fn remove(&self, id: u64) -> io::Result<()> {
        self.directory().remove(id)
    }

    fn name(&self, id: u64) -> PathBuf {
        self.directory().name(id)
    }
}
