//! The source of a backup: a snapshot of the store's files.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::marker::Inventory;
use super::parts::Part;
use super::target::BackupTarget;
use super::{BackupReport, DiskStore};
use crate::StoreError;
use crate::disk::directory::{Before, DirectoryLock, StoreDirectory};
use crate::disk::files::RealFiles;
use crate::disk::log::directory::LogDirectory;
use crate::disk::log::record::{SEGMENT_HEADER, SegmentHeader};
use crate::disk::log::recovery::{Access, Expected, recover};
use crate::disk::manifest::{self, Contents, Manifest};
use crate::disk::obsolete_tables::file_of;
use crate::disk::options::DiskOptions;
use crate::disk::read_only::ReadOnlyStore;
use crate::disk::table_list::{self, ListBytes, TableFile};
use crate::disk::tree::Tree;

/// Number of attempts to read a consistent set of files while they change.
const ATTEMPTS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(2);

/// A snapshot of a store's files. None of them is removed while this is held, though the store may
/// be written, compacted or closed.
pub struct BackupSource {
    path: PathBuf,
    manifest: Manifest,
    log: Vec<Segment>,
    list: ListBytes,
    tables: Vec<TableFile>,
    pause: Duration,
    _held: Held,
}

struct Segment {
    id: u64,
    path: PathBuf,
    file: File,
    end: u64,
}

/// Keeps the files from being removed.
enum Held {
    /// For a store that is open in this process.
    Tables(#[expect(dead_code, reason = "held for its drop")] (Vec<lsm_tree::Table>, Arc<Tree>)),
    /// For a directory that is locked against writers.
    StoreDirectory(#[expect(dead_code, reason = "held for its drop")] StoreDirectory),
}

impl std::fmt::Debug for BackupSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BackupSource").field("path", &self.path).finish_non_exhaustive()
    }
}

impl DiskStore {
    /// Takes the snapshot for a backup. It contains every transaction acknowledged before, each
    /// whole. Writers are blocked while this runs: it opens some file handles and reads two small
    /// files.
    pub fn capture_source(&self) -> Result<BackupSource, StoreError> {
        for _ in 0..ATTEMPTS {
            if let Some(source) = self.try_capture()? {
                return Ok(source);
            }
            thread::sleep(PAUSE);
        }
        // If the list stays unreadable, it is missing or damaged, and this names it.
        table_list::check(self.tree.path())?;
        Err(StoreError::Engine {
            action: "begin a backup".into(),
            detail: format!(
                "files of {} are removed faster than they can be opened",
                self.store_dir.path().display()
            ),
        })
    }

    /// The current files, or `None` if the log or the list of tables changed in the meantime.
    ///
    /// No lock is held that a flush or compaction needs: a long one would block all writers.
    /// Instead the log is read first, then the tables: a flush in between puts into tables what the
    /// log has, too, and replaying skips that. The manifest's record of such flushes is read last:
    /// it is written before they begin.
    fn try_capture(&self) -> Result<Option<BackupSource>, StoreError> {
        let order = self.tree.order();
        let begin = Instant::now();
        let end = *self.counters.log_end.lock();
        let first = self.store_dir.contents().first_segment;
        let log = match open_segments(&self.log, first, end.segment, end.offset) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            opened => opened?,
        };
        let (number, held) = self.tree.tables();
        let list = table_list::read_bytes(self.tree.path())
            .map_err(|error| StoreError::io("read the list of tables", error))?;
        let contents = self.store_dir.contents();
        // A new, empty segment may begin in the meantime; the manifest then describes that one.
        let is_settled = contents.last_segment <= end.segment
            && self.counters.log_end.lock().segment == end.segment;
        drop(order);
        let pause = begin.elapsed();
        let Some(list) = list.filter(|list| is_settled && list.number == number) else {
            return Ok(None);
        };
        let contents = Contents {
            first_segment: first,
            last_segment: end.segment,
            tables: number,
            closed_at: Some(end.offset),
            ..contents
        };
        Ok(Some(BackupSource {
            path: self.store_dir.path().to_owned(),
            manifest: Manifest { store: self.store_dir.store_id(), contents: Some(contents) },
            log,
            list,
            tables: held.iter().map(file_of).collect(),
            pause,
            _held: Held::Tables((held, Arc::clone(&self.tree))),
        }))
    }
}

impl BackupSource {
    /// The files of a store that is not open, or only read-only. The store must be one that opens.
    pub fn of_directory(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        // Fails with the reason if the store cannot be opened.
        let options = DiskOptions { cache_bytes: 1 << 20, ..DiskOptions::default() };
        drop(ReadOnlyStore::open(path, options)?);
        let lock = DirectoryLock::take_to_read(path)?;
        let (store_dir, before) = StoreDirectory::open(Arc::new(RealFiles), path, lock, false)?;
        let Before::Store(contents) = before else {
            let detail =
                "the store has format 2; open it once with this version of keyloom, which \
                          brings it to format 3, and back it up then"
                    .to_owned();
            return Err(StoreError::Format { path: path.to_owned(), detail });
        };
        let tree = path.join("tree");
        let tables = table_list::check(&tree)?.tables;
        let list = table_list::read_bytes(&tree)
            .map_err(|error| StoreError::io("read the list of tables", error))?
            .ok_or_else(|| StoreError::Corrupt {
                path: tree.join("current"),
                detail: "it is missing".into(),
            })?;
        let log = LogDirectory::new(Arc::new(RealFiles), &path.join("log"));
        let recovery =
            recover(&log, Some(Expected::from(contents)), Access::Read, |_, _, _| Ok(()))?;
        let last = recovery.segments.last().copied().unwrap_or(0);
        let first = contents.first_segment;
        let contents = Contents {
            last_segment: last,
            tables: list.number,
            closed_at: Some(recovery.last_end),
            ..contents
        };
        Ok(Self {
            path: path.to_owned(),
            manifest: Manifest { store: store_dir.store_id(), contents: Some(contents) },
            log: open_segments(&log, first, last, recovery.last_end)?,
            list,
            tables,
            pause: Duration::ZERO,
            _held: Held::StoreDirectory(store_dir),
        })
    }

    /// Copies the files that the target does not have, and completes the backup there.
    pub fn copy_to(self, mut target: BackupTarget) -> Result<BackupReport, StoreError> {
        target.check_store(self.manifest.store)?;
        let (pause, inventory) = (self.pause, target.inventory().clone());
        let copied = self.each(&inventory, |mut part| {
            let (name, length) = (part.name.clone(), part.length);
            target.add(&name, length, &mut part)
        });
        let mut report = target.finish_after(copied)?;
        report.pause = pause;
        Ok(report)
    }

    /// Whether a directory with this inventory may receive a backup of this store.
    pub fn may_go_to(&self, inventory: &Inventory) -> bool {
        inventory.store.is_none_or(|store| store == self.manifest.store)
    }

    /// The store's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Passes every file except the tables already present to `take`; the manifest comes last.
    pub(super) fn each(
        self,
        inventory: &Inventory,
        mut take: impl FnMut(Part) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let number = self.list.number;
        take(Part::bytes("tree/current", self.list.current))?;
        take(Part::bytes(format!("tree/v{number}"), self.list.list))?;
        for segment in self.log {
            let name = format!("log/{:08}.log", segment.id);
            take(Part::segment(name, segment.file, segment.path, segment.end))?;
        }
        for TableFile { path, checksum } in self.tables {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_there = name
                .parse()
                .is_ok_and(|number: u64| inventory.tables.contains(&(number, checksum)));
            if !is_there {
                take(Part::table(format!("tree/tables/{name}"), path, checksum)?)?;
            }
        }
        take(Part::bytes(manifest::NAME, self.manifest.encode()))
    }
}

/// Opens the segments from `first` to `last`, which ends at `last_end`.
fn open_segments(
    log: &LogDirectory,
    first: u64,
    last: u64,
    last_end: u64,
) -> Result<Vec<Segment>, StoreError> {
    let failed = |path: &Path| {
        let action = format!("read {}", path.display());
        move |error| StoreError::lasting_io(action, error)
    };
    if last == 0 || last < first {
        let detail = "its log does not exist yet because the disk is full".to_owned();
        return Err(StoreError::Engine { action: "back up the store".into(), detail });
    }
    let mut segments = Vec::new();
    let mut end = last_end;
    for id in (first..=last).rev() {
        let path = log.name(id);
        let mut file = File::open(&path).map_err(failed(&path))?;
        let mut header = [0; SEGMENT_HEADER];
        file.read_exact(&mut header).map_err(failed(&path))?;
        let header = SegmentHeader::decode(&header)
            .map_err(|detail| StoreError::Corrupt { path: path.clone(), detail })?;
        io::Seek::rewind(&mut file).map_err(failed(&path))?;
        segments.push(Segment { id, path, file, end });
        end = header.previous_end;
    }
    segments.reverse();
    Ok(segments)
}
