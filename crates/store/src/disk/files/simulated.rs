//! An in-memory file system that simulates kills, power loss, full and failing disks, from a seed.
//!
//! # What it models
//!
//! A file has durable content and the content that processes see. A sync copies the latter to the
//! former. On power loss, each unsynced page is lost, written, torn or garbage, independently of
//! all others. A failed sync loses its pages: the system marks them clean, and a later sync
//! succeeds without them. Names behave alike: creating, renaming and removing change what processes
//! see and become durable when the directory is synced; on power loss, any of the unsynced changes
//! may have happened.
//!
//! When a process is killed, everything stays as processes see it, synced or not, and the handles
//! of that process stop working.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Files, OpenFile};

const PAGE: usize = 4096;
const SECTOR: usize = 512;

/// The disk as one process sees it; a clone is the same disk.
#[derive(Debug, Clone)]
pub(crate) struct SimulatedFiles {
    disk: Arc<Mutex<Disk>>,
    /// The process number: after a kill, calls of older processes fail.
    process: u64,
}

#[derive(Debug, Clone)]
struct Disk {
    process: u64,
    inodes: Vec<Inode>,
    directories: BTreeMap<PathBuf, Directory>,
    fault: Option<Fault>,
    /// Calls since the fault was planned.
    calls: u64,
}

#[derive(Debug, Clone, Copy)]
struct Fault {
    kind: FaultKind,
    /// The number of the call that fails.
    at: u64,
}

/// How injected calls fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// One call fails, and what it was to write or sync is lost.
    Broken,
    /// All calls that need space fail until there is some.
    Full,
}

#[derive(Debug, Clone, Default)]
struct Inode {
    durable: Vec<u8>,
    seen: Vec<u8>,
    /// The pages that the next sync writes.
    dirty: BTreeSet<usize>,
    names: usize,
}

#[derive(Debug, Clone, Default)]
struct Directory {
    durable: BTreeMap<String, usize>,
    seen: BTreeMap<String, usize>,
    unsynced: Vec<Vec<(String, Option<usize>)>>,
    has_durable_name: bool,
}

/// Seeded random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

impl SimulatedFiles {
    /// An empty disk with these directories.
    pub(crate) fn new(directories: &[&Path]) -> Self {
        let root = Directory { has_durable_name: true, ..Directory::default() };
        let directories =
            directories.iter().map(|path| (path.to_path_buf(), root.clone())).collect();
        let disk = Disk { process: 0, inodes: Vec::new(), directories, fault: None, calls: 0 };
        Self { disk: Arc::new(Mutex::new(disk)), process: 0 }
    }

    /// Kills the process and returns the disk as the next one sees it.
    pub(crate) fn kill(&self) -> Self {
        let mut disk = self.disk.lock();
        disk.process += 1;
        disk.fault = None;
        Self { disk: Arc::clone(&self.disk), process: disk.process }
    }

    /// Cuts the power and returns the disk as found after it.
    pub(crate) fn lose_power(&self, dice: &mut Dice) -> Self {
        let next = self.kill();
        let mut disk = next.disk.lock();
        disk.forget_removed();
        for inode in &mut disk.inodes {
            inode.lose_power(dice);
        }
        let lost: Vec<PathBuf> = disk
            .directories
            .iter()
            .filter(|(_, directory)| !directory.has_durable_name && dice.roll(2) == 0)
            .map(|(path, _)| path.clone())
            .collect();
        disk.directories.retain(|path, _| !lost.contains(path));
        for directory in disk.directories.values_mut() {
            directory.lose_power(dice);
        }
        disk.count_names();
        drop(disk);
        next
    }

    /// A copy of the disk, which changes independently.
    pub(crate) fn fork(&self) -> Self {
        let disk = self.disk.lock().clone();
        Self { process: disk.process, disk: Arc::new(Mutex::new(disk)) }
    }

    /// All files that processes see, in order.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let disk = self.disk.lock();
        let within = |(path, directory): (&PathBuf, &Directory)| {
            directory.seen.keys().map(|name| path.join(name)).collect::<Vec<_>>()
        };
        disk.directories.iter().flat_map(within).collect()
    }

    /// Removes a file, or a directory with all that is in it, as if it had never been there.
    pub(crate) fn lose(&self, path: &Path) {
        let (directory, name) = parts(path);
        let mut disk = self.disk.lock();
        disk.directories.retain(|known, _| !known.starts_with(path));
        if let Ok(directory) = disk.directory(&directory) {
            directory.seen.remove(&name);
            directory.durable.remove(&name);
            directory.unsynced.clear();
        }
        disk.count_names();
    }

    /// Injects a fault after `count` successful calls.
    pub(crate) fn fail_after(&self, count: u64, kind: FaultKind) {
        let mut disk = self.disk.lock();
        disk.calls = 0;
        disk.fault = Some(Fault { kind, at: count });
    }

    /// Removes the fault; returns whether it occurred.
    pub(crate) fn heal(&self) -> bool {
        let mut disk = self.disk.lock();
        disk.fault.take().is_some_and(|fault| disk.calls > fault.at)
    }

    /// Changes a file's content, synced and unsynced.
    pub(crate) fn damage(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let mut disk = self.disk.lock();
        let inode = disk.find(path).unwrap();
        let inode = &mut disk.inodes[inode];
        change(&mut inode.seen);
        inode.durable.clone_from(&inode.seen);
        inode.dirty.clear();
    }

    /// Runs a call unless the process has been killed.
    fn call<T>(&self, run: impl FnOnce(&mut Disk) -> io::Result<T>) -> io::Result<T> {
        let mut disk = self.disk.lock();
        if disk.process != self.process {
            return Err(io::Error::other("the process was killed"));
        }
        run(&mut disk)
    }
}

impl Inode {
    fn sync(&mut self) {
        self.durable.resize(self.seen.len(), 0);
        for start in std::mem::take(&mut self.dirty) {
            let page = start.min(self.seen.len())..self.seen.len().min(start + PAGE);
            self.durable[page.clone()].copy_from_slice(&self.seen[page]);
        }
    }

    fn lose_power(&mut self, dice: &mut Dice) {
        let mut found = self.durable.clone();
        let length = if dice.roll(2) == 0 { found.len() } else { self.seen.len() };
        found.resize(length, 0);
        for start in (0..length.min(self.seen.len())).step_by(PAGE) {
            let page = start..length.min(self.seen.len()).min(start + PAGE);
            let Some(first) = page.clone().find(|at| found[*at] != self.seen[*at]) else {
                continue;
            };
            // A sync protects the bytes it covered even in a page that is written again.
            let dirty = first..page.end;
            match dice.roll(4) {
                0 => {}
                1 => found[dirty.clone()].copy_from_slice(&self.seen[dirty]),
                2 => found[dirty].fill(0xA5),
                _ => {
                    let torn = (first + dice.roll(PAGE as u64) as usize) / SECTOR * SECTOR;
                    let written = dirty.start..torn.clamp(dirty.start, dirty.end);
                    found[written.clone()].copy_from_slice(&self.seen[written]);
                }
            }
        }
        self.dirty.clear();
        self.durable.clone_from(&found);
        self.seen = found;
    }
}

impl Directory {
    fn change(&mut self, names: Vec<(String, Option<usize>)>) {
        apply(&mut self.seen, &names);
        self.unsynced.push(names);
    }

    fn lose_power(&mut self, dice: &mut Dice) {
        for change in std::mem::take(&mut self.unsynced) {
            if dice.roll(2) == 0 {
                apply(&mut self.durable, &change);
            }
        }
        self.seen.clone_from(&self.durable);
        self.has_durable_name = true;
    }
}

fn apply(names: &mut BTreeMap<String, usize>, change: &[(String, Option<usize>)]) {
    for (name, inode) in change {
        match inode {
            Some(inode) => names.insert(name.clone(), *inode),
            None => names.remove(name),
        };
    }
}

fn not_found() -> io::Error {
    io::Error::from(io::ErrorKind::NotFound)
}

fn parts(path: &Path) -> (PathBuf, String) {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    (path.parent().unwrap().to_owned(), name)
}

impl Disk {
    fn directory(&mut self, path: &Path) -> io::Result<&mut Directory> {
        self.directories.get_mut(path).ok_or_else(not_found)
    }

    fn find(&mut self, path: &Path) -> io::Result<usize> {
        let (directory, name) = parts(path);
        self.directory(&directory)?.seen.get(&name).copied().ok_or_else(not_found)
    }

    /// Frees the content of files without any name.
    fn forget_removed(&mut self) {
        let names = |directory: &Directory| {
            let pending = directory.unsynced.iter().flatten().filter_map(|(_, inode)| *inode);
            let known = directory.seen.values().chain(directory.durable.values()).copied();
            known.chain(pending).collect::<Vec<_>>()
        };
        let reachable: BTreeSet<usize> = self.directories.values().flat_map(names).collect();
        for (number, inode) in self.inodes.iter_mut().enumerate() {
            if !reachable.contains(&number) {
                *inode = Inode::default();
            }
        }
    }

    fn count_names(&mut self) {
        let used: Vec<usize> = self
            .directories
            .values()
            .flat_map(|directory| directory.seen.values().copied())
            .collect();
        for (number, inode) in self.inodes.iter_mut().enumerate() {
            inode.names = used.iter().filter(|used| **used == number).count();
        }
    }

    /// Fails the call if the fault is due.
    fn fault(&mut self, needs_room: bool) -> io::Result<()> {
        let Some(fault) = self.fault else { return Ok(()) };
        let call = self.calls;
        self.calls += 1;
        match fault.kind {
            FaultKind::Broken if call == fault.at => Err(io::Error::other("the disk is on fire")),
            FaultKind::Full if call >= fault.at && needs_room => {
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            _ => Ok(()),
        }
    }
}

impl Files for SimulatedFiles {
    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        self.call(|disk| {
            let mut names: Vec<String> = disk.directory(directory)?.seen.keys().cloned().collect();
            let within = disk.directories.keys().filter(|path| path.parent() == Some(directory));
            names.extend(within.map(|path| parts(path).1));
            Ok(names)
        })
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.call(|disk| {
            let inode = disk.find(path)?;
            Ok(disk.inodes[inode].seen.clone())
        })
    }

    fn length(&self, path: &Path) -> io::Result<u64> {
        self.read(path).map(|content| content.len() as u64)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        let (directory, name) = parts(path);
        let inode = self.call(|disk| {
            disk.fault(true)?;
            if let Ok(inode) = disk.find(path) {
                disk.inodes[inode].seen.clear();
                return Ok(inode);
            }
            let inode = disk.inodes.len();
            disk.inodes.push(Inode { names: 1, ..Inode::default() });
            disk.directory(&directory)?.change(vec![(name, Some(inode))]);
            Ok(inode)
        })?;
        Ok(Box::new(SimulatedFile { files: self.clone(), inode }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        let inode = self.call(|disk| disk.find(path))?;
        Ok(Box::new(SimulatedFile { files: self.clone(), inode }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let ((directory, old), (same, new)) = (parts(from), parts(to));
        assert_eq!(directory, same, "files cannot move between directories");
        self.call(|disk| {
            disk.fault(false)?;
            let inode = disk.find(from)?;
            disk.directory(&directory)?.change(vec![(old, None), (new, Some(inode))]);
            disk.count_names();
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let (directory, name) = parts(path);
        self.call(|disk| {
            disk.fault(false)?;
            disk.find(path)?;
            disk.directory(&directory)?.change(vec![(name, None)]);
            disk.count_names();
            Ok(())
        })
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.call(|disk| {
            disk.directories.entry(path.to_owned()).or_default();
            Ok(())
        })
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.call(|disk| {
            disk.fault(false)?;
            let directory = disk.directory(path)?;
            directory.durable.clone_from(&directory.seen);
            directory.unsynced.clear();
            for (child, directory) in &mut disk.directories {
                directory.has_durable_name |= child.parent() == Some(path);
            }
            Ok(())
        })
    }
}

struct SimulatedFile {
    files: SimulatedFiles,
    inode: usize,
}

impl OpenFile for SimulatedFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.files.call(|disk| {
            let failed = disk.fault(true);
            let Inode { seen: content, dirty, .. } = &mut disk.inodes[self.inode];
            // A failed write may have been partially done.
            let bytes = &bytes[..if failed.is_ok() { bytes.len() } else { bytes.len() / 2 }];
            let (start, end) = (offset as usize, offset as usize + bytes.len());
            content.resize(content.len().max(end), 0);
            content[start..end].copy_from_slice(bytes);
            dirty.extend((start / PAGE * PAGE..end).step_by(PAGE));
            failed
        })
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.files.call(|disk| {
            disk.fault(false)?;
            disk.inodes[self.inode].seen.resize(length as usize, 0);
            Ok(())
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.files.call(|disk| {
            let failed = disk.fault(false);
            let inode = &mut disk.inodes[self.inode];
            match failed {
                Ok(()) => inode.sync(),
                Err(_) => inode.dirty.clear(),
            }
            failed
        })
    }

    fn has_name(&self) -> io::Result<bool> {
        self.files.call(|disk| Ok(disk.inodes[self.inode].names > 0))
    }
}
