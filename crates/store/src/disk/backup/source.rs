//! The store's side of a backup: its files at one moment.

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
use crate::disk::files::RealFiles;
use crate::disk::home::{Before, Claim, Home};
use crate::disk::log::directory::LogDirectory;
use crate::disk::log::record::{SEGMENT_HEADER, SegmentHeader};
use crate::disk::log::recovery::{Access, Expected, recover};
use crate::disk::manifest::{self, Contents, Manifest};
use crate::disk::options::DiskOptions;
use crate::disk::read_only::ReadOnlyStore;
use crate::disk::retired_tables::file_of;
use crate::disk::table_list::{self, ListBytes, TableFile};
use crate::disk::tree::Tree;

/// How often the files are looked at again if they changed while they were looked at.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(2);

/// The files of a store at one moment. None of them goes away while this is held, though the store may
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

/// What keeps the files.
enum Held {
    /// Of a store that is open here.
    Tables(#[expect(dead_code, reason = "held for its drop")] (Vec<lsm_tree::Table>, Arc<Tree>)),
    /// Of a directory that nobody may write.
    Home(#[expect(dead_code, reason = "held for its drop")] Home),
}

impl std::fmt::Debug for BackupSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BackupSource").field("path", &self.path).finish_non_exhaustive()
    }
}

impl DiskStore {
    /// Fixes the moment of a backup. Everything that was acknowledged before is in it, each transaction
    /// whole. Writers wait while this runs: some file handles are opened and two small files are read.
    pub fn capture_source(&self) -> Result<BackupSource, StoreError> {
        for _ in 0..TRIES {
            if let Some(source) = self.try_capture()? {
                return Ok(source);
            }
            thread::sleep(PAUSE);
        }
        // A list that stays unreadable is missing or damaged, and this names it.
        table_list::check(self.tree.path())?;
        Err(StoreError::Engine {
            action: "begin a backup".into(),
            detail: format!("files of {} go away as they are opened", self.home.path().display()),
        })
    }

    /// The files as they are, or none if the log or the list of tables was changed meanwhile.
    ///
    /// No lock is held that a flush or compaction needs: one that runs long would hold up all writers.
    /// Instead the log is looked at first, then the tables: a flush in between puts into tables what the
    /// log has, too, and replaying skips that. What the manifest says of such flushes is read last: it
    /// is written before they begin.
    fn try_capture(&self) -> Result<Option<BackupSource>, StoreError> {
        let order = self.tree.order();
        let begin = Instant::now();
        let end = *self.counters.log_end.lock();
        let first = self.home.contents().first_segment;
        let log = match open_segments(&self.log, first, end.segment, end.offset) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            opened => opened?,
        };
        let (number, held) = self.tree.tables();
        let list = table_list::read_bytes(self.tree.path())
            .map_err(|error| StoreError::io("read the list of tables", error))?;
        let contents = self.home.contents();
        // A new segment may begin meanwhile, empty; what the manifest says is then about that one.
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
            path: self.home.path().to_owned(),
            manifest: Manifest { store: self.home.store_id(), contents: Some(contents) },
            log,
            list,
            tables: held.iter().map(file_of).collect(),
            pause,
            _held: Held::Tables((held, Arc::clone(&self.tree))),
        }))
    }
}

impl BackupSource {
    /// The files of a store that is not open, or only to be read. The store must be one that opens.
    pub fn of_directory(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        // Says what is wrong with it, if anything.
        let options = DiskOptions { cache_bytes: 1 << 20, ..DiskOptions::default() };
        drop(ReadOnlyStore::open(path, options)?);
        let claim = Claim::take_to_read(path)?;
        let (home, before) = Home::open(Arc::new(RealFiles), path, claim, false)?;
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
            manifest: Manifest { store: home.store_id(), contents: Some(contents) },
            log: open_segments(&log, first, last, recovery.last_end)?,
            list,
            tables,
            pause: Duration::ZERO,
            _held: Held::Home(home),
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

    /// Whether a directory with this inventory may take a backup of this store.
    pub fn may_go_to(&self, inventory: &Inventory) -> bool {
        inventory.store.is_none_or(|store| store == self.manifest.store)
    }

    /// The store's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands over every file but the tables that are there already; the manifest is the last.
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
        let detail = "its log has not begun, for lack of room on the disk".to_owned();
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
