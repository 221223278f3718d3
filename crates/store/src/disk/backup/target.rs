//! The target of a backup: the directory that receives the files.
//!
//! They are collected in a locked directory beside it, `<name>.partial/files`. A previous backup
//! stays unchanged until the new one is complete, verified and durable; then the two are exchanged
//! atomically. The next backup removes what an interrupted one has left.
//!
//! The exchange ends with the removal of the previous backup, so a target that contains anything
//! else is refused: when the backup begins, and again just before the exchange.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3Default;

use super::BackupReport;
use super::marker::{self, Inventory};
use super::parts::unwrap_error;
use crate::StoreError;
use crate::disk::directory::{DirectoryLock, make_durably};
use crate::disk::files::{Files, RealFiles};
use crate::disk::log::directory::LogDirectory;
use crate::disk::log::recovery::{Access, Expected, recover};
use crate::disk::manifest::{self, Manifest};
use crate::disk::table_list::{self, TableFile, is_system_file};

const BUFFER: usize = 256 << 10;

/// A directory that receives a backup.
#[derive(Debug)]
pub struct BackupTarget {
    to: PathBuf,
    partial: PartialCopy,
    /// The directory that the files are copied from, for error messages.
    source: PathBuf,
    inventory: Inventory,
    /// The tables of the previous backup.
    earlier: HashMap<(u64, u128), PathBuf>,
    /// The checksums of the tables received.
    taken: HashMap<u64, u128>,
    manifest: Option<Vec<u8>>,
    report: BackupReport,
    before: Option<Previous>,
}

/// The backup that is replaced.
#[derive(Debug)]
struct Previous {
    /// Its files and directories, relative to its own directory.
    files: HashSet<PathBuf>,
    /// Keeps it from being opened while it is replaced.
    _lock: DirectoryLock,
}

/// Marks a directory as an unfinished copy that may be removed.
const PARTIAL: &str = "PARTIAL";

/// The directory of an unfinished copy, removed when dropped.
#[derive(Debug)]
pub(in crate::disk) struct PartialCopy {
    around: PathBuf,
    pub(in crate::disk) path: PathBuf,
    _lock: File,
}

impl PartialCopy {
    /// Creates an empty, locked directory beside `to`.
    pub(in crate::disk) fn beside(to: &Path) -> Result<Self, StoreError> {
        let around = to.with_added_extension("partial");
        let failed = |error| StoreError::lasting_io(format!("create {}", around.display()), error);
        make_durably(&around, &RealFiles).map_err(failed)?;
        let lock = File::open(&around).map_err(failed)?;
        if cfg!(unix) {
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(StoreError::InUse { path: around }),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        if !is_vacant(&around)? && !around.join(PARTIAL).exists() {
            let detail = "it is needed for the unfinished copy; move it elsewhere";
            return Err(StoreError::Format { path: around, detail: detail.into() });
        }
        fs::write(around.join(PARTIAL), []).map_err(failed)?;
        let path = around.join("files");
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        Ok(Self { around, path, _lock: lock })
    }

    /// Creates the directories of a store.
    pub(super) fn make_directories(&self) -> Result<(), StoreError> {
        let path = &self.path;
        for directory in [path, &path.join("log"), &path.join("tree"), &path.join("tree/tables")] {
            let made = RealFiles.make_directory(directory);
            made.map_err(|error| {
                StoreError::lasting_io(format!("create {}", directory.display()), error)
            })?;
        }
        Ok(())
    }

    /// Writes and syncs a file with this content. Returns its checksum.
    pub(super) fn write(&self, name: &str, length: u64, content: &mut dyn Read) -> Written {
        let path = self.path.join(name);
        let failed = |error| StoreError::lasting_io(format!("write {}", path.display()), error);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(failed)?;
        let mut hash = Xxh3Default::new();
        let mut buffer = vec![0; BUFFER];
        let mut left = length;
        while left > 0 {
            let room = BUFFER.min(usize::try_from(left).unwrap_or(BUFFER));
            let read = match content.read(buffer.get_mut(..room).unwrap_or_default()) {
                Ok(0) => return Err(broke_off(name)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(|error| unwrap_error(format!("receive {name}"), error))?,
            };
            let bytes = buffer.get(..read).unwrap_or_default();
            hash.update(bytes);
            file.write_all(bytes).map_err(failed)?;
            left -= read as u64;
        }
        file.sync_all().map_err(failed)?;
        Ok(hash.digest128())
    }

    /// Makes all names durable and renames the directory to `to`, which must be empty or missing.
    pub(in crate::disk) fn put_in_place(&self, to: &Path) -> Result<(), StoreError> {
        self.put(to, |new, to| fs::rename(new, to))
    }

    /// Makes all names durable and moves the directory to `to` with this function.
    fn put(
        &self,
        to: &Path,
        move_to: impl FnOnce(&Path, &Path) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let failed =
            |error| StoreError::lasting_io(format!("put {} in place", to.display()), error);
        for directory in ["tree/tables", "tree", "log", "."] {
            RealFiles.sync_directory(&self.path.join(directory)).map_err(failed)?;
        }
        move_to(&self.path, to).map_err(failed)?;
        let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
        RealFiles.sync_directory(parent.unwrap_or(Path::new("."))).map_err(failed)
    }
}

type Written = Result<u128, StoreError>;

impl Drop for PartialCopy {
    fn drop(&mut self) {
        // The marker is removed last; the next copy removes anything left.
        let _ = fs::remove_dir_all(&self.path);
        let _ = fs::remove_dir_all(&self.around);
    }
}

impl BackupTarget {
    /// Prepares `to` to receive a backup of the store in the directory `source`, if that is on this
    /// machine. Refuses a directory that is neither empty nor an earlier backup.
    pub fn prepare(to: &Path, source: Option<&Path>) -> Result<Self, StoreError> {
        if let Some(source) = source {
            refuse_inside(to, source)?;
        }
        refuse_nested(to)?;
        // The target of a symbolic link is replaced, not the link.
        let to = &fs::canonicalize(to).unwrap_or_else(|_| to.to_owned());
        let mut target = Self {
            to: to.clone(),
            partial: PartialCopy::beside(to)?,
            source: source.unwrap_or(to).to_owned(),
            inventory: Inventory::default(),
            earlier: HashMap::new(),
            taken: HashMap::new(),
            manifest: None,
            report: BackupReport::default(),
            before: None,
        };
        target.partial.make_directories()?;
        if is_vacant(to)? {
            return Ok(target);
        }
        let lock = DirectoryLock::take_to_read(to)?;
        let before = match marker::read(to) {
            Err(StoreError::Corrupt { .. }) if to.join(marker::NAME).exists() => {
                return Err(StoreError::Format {
                    path: to.clone(),
                    detail: "the backup in it is damaged; move it elsewhere, or choose another \
                             directory"
                        .into(),
                });
            }
            read => read?,
        };
        let files = before.files(to);
        refuse_foreign_files(to, &files)?;
        target.before = Some(Previous { files, _lock: lock });
        target.inventory.store = Some(before.store);
        // A damaged table is copied again, not linked.
        for table in before.tables.into_iter().filter(|table| table.damage().is_none()) {
            if let Some(number) = number_of(&table.path) {
                target.inventory.tables.push((number, table.checksum));
                target.earlier.insert((number, table.checksum), table.path);
            }
        }
        Ok(target)
    }

    /// What the directory already has.
    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// Fails if the directory holds a backup of another store.
    pub(super) fn check_store(&self, store: u64) -> Result<(), StoreError> {
        if self.inventory.store.is_none_or(|before| before == store) {
            return Ok(());
        }
        let detail = "it holds a backup of another store; choose another directory".to_owned();
        Err(StoreError::Format { path: self.to.clone(), detail })
    }

    /// Receives a file of the backup.
    pub(super) fn add(
        &mut self,
        name: &str,
        length: u64,
        content: &mut dyn Read,
    ) -> Result<(), StoreError> {
        if self.manifest.is_some() || !is_known(name) {
            return Err(not_a_backup(name));
        }
        if name == manifest::NAME {
            let mut bytes = Vec::new();
            content
                .take(length)
                .read_to_end(&mut bytes)
                .map_err(|error| unwrap_error("receive the manifest", error))?;
            self.manifest = Some(bytes);
            return Ok(());
        }
        let checksum = self.partial.write(name, length, content)?;
        self.report.bytes_copied += length;
        if let Some(number) =
            number_of(Path::new(name)).filter(|_| name.starts_with("tree/tables/"))
        {
            self.taken.insert(number, checksum);
            self.report.tables_copied += 1;
        }
        Ok(())
    }

    /// Completes the backup if all files were received.
    pub(super) fn finish_after(
        self,
        copied: Result<(), StoreError>,
    ) -> Result<BackupReport, StoreError> {
        copied.and_then(|()| self.finish())
    }

    fn finish(mut self) -> Result<BackupReport, StoreError> {
        let bytes = self.manifest.take().ok_or_else(|| broke_off("the manifest"))?;
        let manifest = Manifest::decode(&bytes).map_err(|detail| StoreError::Corrupt {
            path: self.source.join(manifest::NAME),
            detail,
        })?;
        self.check_store(manifest.store)?;
        let contents = manifest.contents.ok_or_else(|| not_a_backup(manifest::NAME))?;
        self.link_tables()?;
        let tree = self.partial.path.join("tree");
        let list = table_list::check(&tree).map_err(|error| self.translate(error))?;
        table_list::check_number(&tree, list.number, contents.tables)
            .map_err(|error| self.translate(error))?;
        let log = LogDirectory::new(Arc::new(RealFiles), &self.partial.path.join("log"));
        recover(&log, Some(Expected::from(contents)), Access::Read, |_, _, _| Ok(()))
            .map_err(|error| self.translate(error))?;
        self.partial.write(manifest::NAME, bytes.len() as u64, &mut bytes.as_slice())?;
        let mark = marker::encode(&bytes);
        self.partial.write(marker::NAME, mark.len() as u64, &mut mark.as_slice())?;
        match &self.before {
            Some(before) => {
                refuse_foreign_files(&self.to, &before.files)?;
                self.partial.put(&self.to, exchange)?;
            }
            None => self.partial.put_in_place(&self.to)?,
        }
        Ok(self.report.clone())
    }

    /// Verifies the tables received, and links those of the previous backup.
    fn link_tables(&mut self) -> Result<(), StoreError> {
        let tree = self.partial.path.join("tree");
        let tables = listed_tables(&tree).map_err(|error| self.translate(error))?;
        let mut wanted = HashSet::new();
        for TableFile { path, checksum } in tables {
            let number = number_of(&path).ok_or_else(|| not_a_backup("a table"))?;
            wanted.insert(number);
            match (self.taken.get(&number), self.earlier.get(&(number, checksum))) {
                (Some(taken), _) if *taken == checksum => {}
                (Some(_), _) => {
                    let detail = "the table does not match its checksum".to_owned();
                    return Err(self.translate(StoreError::Corrupt { path, detail }));
                }
                (None, Some(before)) => {
                    let length = link(before, &path).map_err(|error| {
                        StoreError::lasting_io(format!("link {}", path.display()), error)
                    })?;
                    self.report.tables_linked += 1;
                    self.report.bytes_linked += length;
                }
                (None, None) => return Err(broke_off(&format!("table {number}"))),
            }
        }
        match self.taken.keys().find(|number| !wanted.contains(number)) {
            Some(number) => Err(not_a_backup(&format!("table {number}"))),
            None => Ok(()),
        }
    }

    /// Replaces the path of the copy in an error by the path of its original.
    fn translate(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Corrupt { path, detail } => {
                let path = path
                    .strip_prefix(&self.partial.path)
                    .map_or_else(|_| path.clone(), |inside| self.source.join(inside));
                StoreError::Corrupt { path, detail }
            }
            other => other,
        }
    }
}

/// The tables in the list of this directory, whether they exist or not.
fn listed_tables(tree: &Path) -> Result<Vec<TableFile>, StoreError> {
    let unreadable = |error| StoreError::lasting_io("read the list of tables", error);
    let Some(list) = table_list::read_bytes(tree).map_err(unreadable)? else {
        table_list::check(tree)?;
        return Err(broke_off("the list of tables"));
    };
    table_list::read_list(&tree.join(format!("v{}", list.number)), &tree.join("tables"))
        .map_err(unreadable)
}

/// Hard-links a file, or copies it if that fails; returns its length.
fn link(from: &Path, to: &Path) -> io::Result<u64> {
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to)?;
        File::open(to)?.sync_all()?;
    }
    Ok(fs::metadata(to)?.len())
}

/// Whether this is a valid name of a file in a backup; others are refused.
fn is_known(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(table) = name.strip_prefix("tree/tables/") {
        return is_number(table);
    }
    if let Some(segment) = name.strip_prefix("log/") {
        return segment.strip_suffix(".log").is_some_and(is_number);
    }
    match name.strip_prefix("tree/v") {
        Some(list) => is_number(list),
        None => name == "tree/current" || name == manifest::NAME,
    }
}

fn number_of(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.parse().ok()
}

fn broke_off(what: &str) -> StoreError {
    StoreError::Engine {
        action: "complete the backup".into(),
        detail: format!(
            "it is incomplete: {what} is missing; the previous backup, if any, is unchanged"
        ),
    }
}

fn not_a_backup(what: &str) -> StoreError {
    StoreError::Engine {
        action: "receive the backup".into(),
        detail: format!("{what} is not part of a backup of this version"),
    }
}

/// Whether a directory is missing or empty.
pub(in crate::disk) fn is_vacant(path: &Path) -> Result<bool, StoreError> {
    match fs::read_dir(path) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(StoreError::lasting_io(format!("list {}", path.display()), error)),
    }
}

/// Refuses a backup directory that contains anything but these files and directories: the rest would be removed together with the backup.
fn refuse_foreign_files(backup: &Path, files: &HashSet<PathBuf>) -> Result<(), StoreError> {
    let mut left = vec![PathBuf::new()];
    while let Some(directory) = left.pop() {
        let path = backup.join(&directory);
        let failed = |error| StoreError::lasting_io(format!("list {}", path.display()), error);
        for entry in fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let name = directory.join(entry.file_name());
            if kind.is_dir() && files.contains(&name) {
                left.push(name);
            } else if !(kind.is_file() && (files.contains(&name) || is_system_file(&name))) {
                let detail = "it is not part of the backup, which would be replaced together with \
                              it; move it elsewhere, or choose another directory";
                return Err(StoreError::Format { path: entry.path(), detail: detail.into() });
            }
        }
    }
    Ok(())
}

/// Refuses the store's own directory and any directory inside it.
pub(in crate::disk) fn refuse_inside(to: &Path, store: &Path) -> Result<(), StoreError> {
    let failed = |path: &Path| {
        let action = format!("find {}", path.display());
        move |error| StoreError::lasting_io(action, error)
    };
    let store = fs::canonicalize(store).map_err(failed(store))?;
    let existing = nearest_existing(to).map_err(failed(to))?;
    if existing.starts_with(&store) {
        let detail = format!(
            "it is the directory of the store {}, or inside it; choose another directory",
            store.display()
        );
        return Err(StoreError::Format { path: to.to_owned(), detail });
    }
    Ok(())
}

/// Refuses a directory inside that of any store, in use or not: a store takes what lies in its directory for its own.
pub(in crate::disk) fn refuse_nested(to: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::lasting_io(format!("find {}", to.display()), error);
    let existing = nearest_existing(to).map_err(failed)?;
    // The directory itself may be an earlier backup, which is a store, too.
    let around = existing.ancestors().skip(usize::from(to.exists()));
    let is_store = |path: &&Path| path.join(manifest::NAME).is_file() && path.join("log").is_dir();
    let Some(store) = around.into_iter().find(is_store) else { return Ok(()) };
    let detail = format!(
        "it is inside the directory of a store, {}; choose another directory",
        store.display()
    );
    Err(StoreError::Format { path: to.to_owned(), detail })
}

/// The directory, or the nearest one around it that exists, without symbolic links.
fn nearest_existing(to: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(to)?;
    let mut existing = absolute.as_path();
    while !existing.exists() {
        existing = existing.parent().unwrap_or(Path::new("/"));
    }
    fs::canonicalize(existing)
}

/// Exchanges two directories.
fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE) {
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
            exchanged => return exchanged.map_err(io::Error::from),
        }
    }
    // Without an atomic exchange the old directory briefly has another name, under which it is
    // found if the process ends in between.
    let aside = old.with_added_extension("before");
    fs::rename(old, &aside)?;
    fs::rename(new, old)?;
    fs::rename(&aside, new)
}
