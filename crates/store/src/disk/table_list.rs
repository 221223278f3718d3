//! The list of tables: the files that the tree consists of, and their checksums.
//!
//! `tree/current` contains the number and checksum of the newest list, and the list the checksums
//! of the tables, but `lsm-tree` verifies none of them when it opens a tree (as of 3.1.10), and its
//! errors name no file. One flipped bit in the list could silently bring back an older value or
//! lose a table.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

use crate::StoreError;

/// List number (8 bytes), list checksum (16), checksum type (1).
const CURRENT_BYTES: usize = 25;
/// XXH3, 128 bits.
const KNOWN_KIND: u8 = 0;

/// A file of the tree with its expected checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableFile {
    pub(super) path: PathBuf,
    pub(super) checksum: u128,
}

impl TableFile {
    /// Reads the whole file and reports damage, if any.
    pub(super) fn damage(&self) -> Option<StoreError> {
        match checksum_of(&self.path) {
            Ok(checksum) if checksum == self.checksum => None,
            Ok(_) => Some(damaged(&self.path, "the table does not match its checksum")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Some(damaged(&self.path, "the table is missing"))
            }
            Err(error) => Some(damaged(&self.path, &format!("the table cannot be read: {error}"))),
        }
    }
}

/// The tables of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TableList {
    /// The number of the list; `None` if there is no tree yet.
    pub(super) number: Option<u64>,
    pub(super) tables: Vec<TableFile>,
}

/// Reads and verifies the list of tables that this tree will be opened with, if any, and checks
/// that its tables exist.
pub(super) fn check(tree: &Path) -> Result<TableList, StoreError> {
    let current = tree.join("current");
    let content = match fs::read(&current) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TableList::default()),
        Err(error) => return Err(StoreError::io(format!("read {}", current.display()), error)),
    };
    let Some((number, checksum)) = parse_current(&content) else {
        return Err(damaged(&current, "it does not name a list of tables"));
    };
    let list = tree.join(format!("v{number}"));
    match fs::read(&list) {
        Ok(content) if xxh3_128(&content) == checksum => {}
        // Either of the two files may be the damaged one.
        Ok(_) => {
            let detail = format!("it is not the list of tables that {} names", current.display());
            return Err(damaged(&list, &detail));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let detail =
                format!("it names the list of tables {}, which is missing", list.display());
            return Err(damaged(&current, &detail));
        }
        Err(error) => return Err(StoreError::io(format!("read {}", list.display()), error)),
    }
    let tables = read_list(&list, &tree.join("tables"))
        .map_err(|error| damaged(&list, &format!("the list cannot be read: {error}")))?;
    for table in &tables {
        match fs::metadata(&table.path) {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Err(damaged(&table.path, "it is not a file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(damaged(&table.path, "the table is missing"));
            }
            Err(error) => {
                return Err(StoreError::io(
                    format!("read the metadata of {}", table.path.display()),
                    error,
                ));
            }
        }
    }
    check_for_foreign_files(&tree.join("tables"))?;
    Ok(TableList { number: Some(number), tables })
}

/// `lsm-tree` refuses to open if the directory of tables contains a foreign file, and removes files
/// that are named like a table but are not listed.
fn check_for_foreign_files(tables: &Path) -> Result<(), StoreError> {
    let entries = match fs::read_dir(tables) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(StoreError::io(format!("list {}", tables.display()), error)),
    };
    for entry in entries {
        let entry =
            entry.map_err(|error| StoreError::io(format!("list {}", tables.display()), error))?;
        let name = entry.file_name();
        let is_number = name.to_str().is_some_and(|name| name.parse::<u64>().is_ok());
        let is_known = is_number && entry.path().is_file();
        if !is_known && !is_system_file(Path::new(&name)) {
            let detail = "it is not a table of this store; move it elsewhere".to_owned();
            return Err(StoreError::Format { path: entry.path(), detail });
        }
    }
    Ok(())
}

/// Whether a file is one that macOS creates in any directory; `lsm-tree` ignores them, too.
pub(super) fn is_system_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name == ".DS_Store" || name.to_string_lossy().starts_with("._")
}

fn damaged(path: &Path, detail: &str) -> StoreError {
    StoreError::Corrupt { path: path.to_owned(), detail: detail.to_owned() }
}

pub(super) fn checksum_of(path: &Path) -> io::Result<u128> {
    let mut file = File::open(path)?;
    let mut hash = Xxh3Default::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.digest128()),
            read => hash.update(buffer.get(..read).unwrap_or_default()),
        }
    }
}

/// Checks that the list exists and is not older than the manifest says.
pub(super) fn check_number(
    tree: &Path,
    found: Option<u64>,
    at_least: u64,
) -> Result<(), StoreError> {
    let detail = match found {
        Some(number) if number >= at_least => return Ok(()),
        None => "it is missing".to_owned(),
        Some(number) => format!(
            "it names list {number} of the tables, but the store has seen list {at_least}; the files \
             were copied at different times (use 'keyloom backup' to copy an open store)"
        ),
    };
    Err(StoreError::Corrupt { path: tree.join("current"), detail })
}

/// Makes durable what a killed process may have left in the page cache: the newest list of tables
/// and its name. Opening the tree removes what that list does not need.
pub(super) fn secure(tree: &Path) -> Result<(), StoreError> {
    let sync = |path: &Path| {
        File::open(path)
            .and_then(|file| file.sync_all())
            .map_err(|error| StoreError::io(format!("sync {}", path.display()), error))
    };
    sync(&tree.join("current"))?;
    for directory in [tree.join("tables"), tree.to_owned()] {
        if cfg!(unix) && directory.is_dir() {
            sync(&directory)?;
        }
    }
    Ok(())
}

/// The content of the newest list of tables, and of the file that names it.
pub(super) struct ListBytes {
    pub(super) number: u64,
    pub(super) current: Vec<u8>,
    pub(super) list: Vec<u8>,
}

/// Reads the newest list; `None` if it is being replaced, missing or damaged: [`check`] tells
/// which.
pub(super) fn read_bytes(tree: &Path) -> io::Result<Option<ListBytes>> {
    let found = |read: io::Result<Vec<u8>>| match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    };
    let Some(current) = found(fs::read(tree.join("current")))? else { return Ok(None) };
    let Some((number, checksum)) = parse_current(&current) else { return Ok(None) };
    let list = found(fs::read(tree.join(format!("v{number}"))))?;
    let list = list.filter(|list| xxh3_128(list) == checksum);
    Ok(list.map(|list| ListBytes { number, current, list }))
}

fn parse_current(current: &[u8]) -> Option<(u64, u128)> {
    if current.len() != CURRENT_BYTES {
        return None;
    }
    let (number, rest) = current.split_first_chunk()?;
    let (checksum, rest) = rest.split_first_chunk()?;
    (rest == [KNOWN_KIND]).then(|| (u64::from_le_bytes(*number), u128::from_le_bytes(*checksum)))
}

/// The tables of a list: its levels, their runs, and the tables of each run.
pub(super) fn read_list(list: &Path, tables: &Path) -> io::Result<Vec<TableFile>> {
    let contents = sfa::Reader::new(list).map_err(|error| io::Error::other(error.to_string()))?;
    let section = contents
        .toc()
        .section(b"tables")
        .ok_or_else(|| io::Error::other("it has no section of tables"))?;
    let mut bytes = Vec::new();
    section.reader(list)?.read_to_end(&mut bytes)?;
    parse_tables(&bytes, tables)
        .ok_or_else(|| io::Error::other("its section of tables is truncated"))
}

fn parse_tables(mut bytes: &[u8], directory: &Path) -> Option<Vec<TableFile>> {
    fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
        let (taken, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(*taken)
    }
    let bytes = &mut bytes;
    let mut tables = Vec::new();
    let [levels] = take(bytes)?;
    for _ in 0..levels {
        let [runs] = take(bytes)?;
        for _ in 0..runs {
            for _ in 0..u32::from_le_bytes(take(bytes)?) {
                let id = u64::from_le_bytes(take(bytes)?);
                let [kind] = take(bytes)?;
                let checksum = u128::from_le_bytes(take(bytes)?);
                let _moved_to: [u8; 8] = take(bytes)?;
                if kind != KNOWN_KIND {
                    return None;
                }
                tables.push(TableFile { path: directory.join(id.to_string()), checksum });
            }
        }
    }
    bytes.is_empty().then_some(tables)
}

/// Removes lists that a process did not finish writing; the engine leaves them.
pub(super) fn remove_unfinished(tree: &Path) -> io::Result<()> {
    for entry in fs::read_dir(tree)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(".tmp") && entry.path().is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
