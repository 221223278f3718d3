//! A disk with a page cache, with no more guarantees than POSIX, ext4 and XFS give.
//!
//! - A file's content is durable when the file has been synced. Until then each of its pages may be
//!   on disk as of any of the writes to it, or torn between two of them by sector, and the file may
//!   have any length that it has had.
//! - A name is durable when its directory has been synced. Until then each new, changed or removed
//!   name may be on disk or not, in any combination, or all up to some point in time, as in a
//!   journaling file system. A rename is one change.
//! - The end of a process changes none of this.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use keyloom_store::Bytes;

use crate::random::Random;
use crate::trace::{Event, without_zeros};

const PAGE: u64 = 4096;
const SECTOR: u64 = 512;

/// The content of a file: zeros after the stored part.
#[derive(Debug, Clone, Default)]
struct Content {
    stored: Vec<u8>,
    length: u64,
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        let common = self.stored.len().min(other.stored.len());
        let is_zero = |content: &Self| content.stored[common..].iter().all(|byte| *byte == 0);
        self.length == other.length
            && self.stored[..common] == other.stored[..common]
            && is_zero(self)
            && is_zero(other)
    }
}

#[derive(Debug, Clone)]
enum Change {
    /// Data without its trailing zeros, which may be many, and its whole length.
    Write {
        offset: u64,
        data: Bytes,
        length: u64,
    },
    SetLength(u64),
}

#[derive(Debug, Clone, Default)]
struct Inode {
    is_directory: bool,
    durable: Content,
    unsynced: Vec<Change>,
}

/// A change of one name, or of two by a rename.
#[derive(Debug, Clone)]
struct NameChange {
    directory: PathBuf,
    removed: Option<PathBuf>,
    set: Option<(PathBuf, usize)>,
}

type Names = BTreeMap<PathBuf, usize>;

/// The disk after a sequence of events.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    inodes: Vec<Inode>,
    names: Names,
    durable_names: Names,
    unsynced_names: Vec<NameChange>,
    open: HashMap<u32, usize>,
}

impl Disk {
    /// A disk with only this directory.
    pub(crate) fn new(root: &Path) -> Self {
        let mut disk = Self::default();
        disk.inodes.push(Inode { is_directory: true, ..Inode::default() });
        disk.names.insert(root.to_owned(), 0);
        disk.durable_names.insert(root.to_owned(), 0);
        disk
    }

    /// Applies an event.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Process => self.open.clear(),
            Event::Open { fd, path, creates, truncates } => {
                let inode = match self.names.get(path) {
                    Some(inode) => *inode,
                    None if *creates => self.make(path, false),
                    None => panic!("{} was opened, but never created", path.display()),
                };
                if *truncates {
                    self.change(inode, Change::SetLength(0));
                }
                self.open.insert(*fd, inode);
            }
            Event::Write { fd, offset, data, length } => {
                let (offset, data, length) = (*offset, data.clone(), *length);
                self.change(self.open[fd], Change::Write { offset, data, length });
            }
            Event::Sync { fd } => self.sync(self.open[fd]),
            Event::Rename { from, to } => self.rename(from, to),
            Event::Remove { path } => {
                self.names.remove(path).unwrap();
                let directory = path.parent().unwrap().to_owned();
                let removed = Some(path.clone());
                self.unsynced_names.push(NameChange { directory, removed, set: None });
            }
            Event::MakeDirectory { path } => drop(self.make(path, true)),
            Event::SetLength { fd, length } => {
                self.change(self.open[fd], Change::SetLength(*length));
            }
            Event::Allocate { fd, end } => {
                let inode = self.open[fd];
                if *end > self.inodes[inode].newest().length {
                    self.change(inode, Change::SetLength(*end));
                }
            }
            Event::Close { fd } => drop(self.open.remove(fd)),
            Event::Mark(_) => {}
        }
    }

    fn make(&mut self, path: &Path, is_directory: bool) -> usize {
        let inode = self.inodes.len();
        self.inodes.push(Inode { is_directory, ..Inode::default() });
        self.names.insert(path.to_owned(), inode);
        let directory = path.parent().unwrap().to_owned();
        let set = Some((path.to_owned(), inode));
        self.unsynced_names.push(NameChange { directory, removed: None, set });
        inode
    }

    fn rename(&mut self, from: &Path, to: &Path) {
        assert_eq!(from.parent(), to.parent(), "renames between directories are not modelled");
        let inode = self.names.remove(from).unwrap();
        assert!(!self.inodes[inode].is_directory, "renamed directories are not modelled");
        self.names.insert(to.to_owned(), inode);
        self.unsynced_names.push(NameChange {
            directory: from.parent().unwrap().to_owned(),
            removed: Some(from.to_owned()),
            set: Some((to.to_owned(), inode)),
        });
    }

    fn change(&mut self, inode: usize, change: Change) {
        self.inodes[inode].unsynced.push(change);
    }

    fn sync(&mut self, inode: usize) {
        if !self.inodes[inode].is_directory {
            let inode = &mut self.inodes[inode];
            let unsynced = std::mem::take(&mut inode.unsynced);
            for change in &unsynced {
                inode.durable.apply(change);
            }
            return;
        }
        let (path, _) = self.names.iter().find(|(_, named)| **named == inode).unwrap();
        let (synced, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.unsynced_names)
            .into_iter()
            .partition(|change| change.directory == *path);
        for change in &synced {
            change.apply(&mut self.durable_names);
        }
        self.unsynced_names = rest;
    }

    /// Compares with the real files, to be sure that the recorder missed nothing.
    pub(crate) fn check_against(&self, root: &Path) {
        let mut found = BTreeMap::new();
        list(root, &mut found);
        for (path, inode) in &self.names {
            let inode = &self.inodes[*inode];
            let real = found.remove(path);
            let real = real.unwrap_or_else(|| panic!("{} does not exist", path.display()));
            let expected = (!inode.is_directory).then(|| inode.newest());
            assert!(real == expected, "{} is not what was recorded", path.display());
        }
        assert!(found.is_empty(), "never recorded: {:?}", found.keys());
    }

    /// One of the states that the disk may have after a power failure: files and their contents,
    /// written below `root`, which replaces `original`.
    pub(crate) fn crash(
        &self,
        random: &mut Random,
        original: &Path,
        root: &Path,
    ) -> io::Result<()> {
        let mut names = self.durable_names.clone();
        let survival = Survival::any(random);
        let count = self.unsynced_names.len() as u64;
        let upto = random.below(count + 1);
        for (n, change) in self.unsynced_names.iter().enumerate() {
            let is_kept = match survival {
                Survival::NothingKept => false,
                Survival::AllKept => true,
                Survival::UpTo => (n as u64) < upto,
                Survival::Anything => random.below(2) == 0,
            };
            if is_kept {
                change.apply(&mut names);
            }
        }
        fs::create_dir_all(root)?;
        for (path, inode) in &names {
            // The content of a lost directory is lost.
            let is_reachable = path
                .ancestors()
                .skip(1)
                .take_while(|above| above.starts_with(original))
                .all(|above| names.contains_key(above));
            if !is_reachable {
                continue;
            }
            let target = root.join(path.strip_prefix(original).unwrap());
            let inode = &self.inodes[*inode];
            if inode.is_directory {
                fs::create_dir_all(target)?;
            } else if inode.unsynced.is_empty() {
                inode.durable.write(&target)?;
            } else {
                inode.crashed(random).write(&target)?;
            }
        }
        Ok(())
    }
}

/// Which unsynced changes have reached the disk.
#[derive(Debug, Clone, Copy)]
enum Survival {
    NothingKept,
    AllKept,
    /// All changes before some point in time.
    UpTo,
    Anything,
}

impl Survival {
    fn any(random: &mut Random) -> Self {
        match random.below(6) {
            0 => Self::NothingKept,
            1 => Self::AllKept,
            2 | 3 => Self::UpTo,
            _ => Self::Anything,
        }
    }
}

impl NameChange {
    fn apply(&self, names: &mut Names) {
        if let Some(removed) = &self.removed {
            names.remove(removed);
        }
        if let Some((path, inode)) = &self.set {
            names.insert(path.clone(), *inode);
        }
    }
}

impl Inode {
    fn newest(&self) -> Content {
        let mut content = self.durable.clone();
        for change in &self.unsynced {
            content.apply(change);
        }
        content
    }

    /// The content after a power failure.
    fn crashed(&self, random: &mut Random) -> Content {
        let mut content = self.durable.clone();
        match Survival::any(random) {
            Survival::NothingKept => {}
            Survival::AllKept => content = self.newest(),
            Survival::UpTo => {
                let upto = random.below(self.unsynced.len() as u64 + 1) as usize;
                for change in &self.unsynced[..upto] {
                    content.apply(change);
                }
            }
            Survival::Anything => self.mix(&mut content, random),
        }
        let newest = self.newest().length;
        if newest > content.length && random.below(2) == 0 {
            content.length = newest;
        }
        content
    }

    /// Each page as of some of its writes, or torn between two.
    fn mix(&self, content: &mut Content, random: &mut Random) {
        let mut touches: HashMap<u64, u64> = HashMap::new();
        for change in &self.unsynced {
            for (page, _) in change.pages() {
                *touches.entry(page).or_default() += 1;
            }
        }
        let mut left: HashMap<u64, u64> =
            touches.into_iter().map(|(page, count)| (page, random.below(count + 1))).collect();
        for change in &self.unsynced {
            if let Change::SetLength(_) = change {
                if random.below(2) == 0 {
                    content.apply(change);
                }
                continue;
            }
            for (page, piece) in change.pages() {
                match left.get_mut(&page) {
                    Some(0) => {
                        // The first write that was lost may have been partially written.
                        left.remove(&page);
                        if random.below(3) == 0 {
                            content.apply(&piece.torn(random));
                        }
                    }
                    Some(count) => {
                        *count -= 1;
                        content.apply(&piece);
                    }
                    None => {}
                }
            }
        }
    }
}

impl Change {
    /// A write, page by page.
    fn pages(&self) -> Vec<(u64, Self)> {
        let Self::Write { offset, data, length } = self else { return Vec::new() };
        let (mut at, end) = (*offset, offset + length);
        let mut pieces = Vec::new();
        while at < end {
            let until = (at / PAGE * PAGE + PAGE).min(end);
            let part = |at: u64| ((at - offset) as usize).min(data.len());
            let data = data.slice(part(at)..part(until));
            pieces.push((at / PAGE, Self::Write { offset: at, data, length: until - at }));
            at = until;
        }
        pieces
    }

    /// Only the first or only the last sectors of a write within a page.
    fn torn(&self, random: &mut Random) -> Self {
        let Self::Write { offset, data, length } = self else { return self.clone() };
        let first = offset / SECTOR + 1;
        let last = (offset + length).div_ceil(SECTOR);
        let cut = ((first + random.below((last - first).max(1))) * SECTOR)
            .clamp(*offset, offset + length);
        let split = ((cut - offset) as usize).min(data.len());
        if random.below(2) == 0 {
            Self::Write { offset: *offset, data: data.slice(..split), length: cut - offset }
        } else {
            Self::Write { offset: cut, data: data.slice(split..), length: offset + length - cut }
        }
    }
}

impl Content {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Write { offset, data, length } => {
                let (start, end) = (*offset as usize, (offset + length) as usize);
                let used = start + data.len();
                if !data.is_empty() && self.stored.len() < used {
                    self.stored.resize(used, 0);
                }
                if !data.is_empty() {
                    self.stored[start..used].copy_from_slice(data);
                }
                let stored = self.stored.len();
                if used < stored {
                    self.stored[used.max(start)..end.min(stored)].fill(0);
                }
                self.length = self.length.max(end as u64);
            }
            Change::SetLength(length) => {
                self.stored.truncate(*length as usize);
                self.length = *length;
            }
        }
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let file = File::create(path)?;
        let stored = self.stored.len().min(self.length as usize);
        file.write_all_at(&self.stored[..stored], 0)?;
        if self.length > stored as u64 {
            file.set_len(self.length)?;
        }
        Ok(())
    }
}

fn list(directory: &Path, found: &mut BTreeMap<PathBuf, Option<Content>>) {
    found.insert(directory.to_owned(), None);
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(&path, found);
        } else {
            let bytes = fs::read(&path).unwrap();
            let length = bytes.len() as u64;
            let mut content = Content::default();
            let data = without_zeros(Bytes::from(bytes));
            content.apply(&Change::Write { offset: 0, data, length });
            found.insert(path, Some(content));
        }
    }
}
