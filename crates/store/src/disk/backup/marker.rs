//! The file `BACKUP`, which distinguishes a backup from a store in use, and the inventory of a
//! backup.
//!
//! ```text
//! keyloom-backup format 1
//! manifest 1f0c8a44d2b97e30
//! ```
//!
//! It holds the checksum of the manifest. Opening the backup as a store changes the manifest, and
//! from then on the directory is not a backup any more: it may hold data that exists nowhere else.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::StoreError;
use crate::disk::directory;
use crate::disk::manifest::{self, Contents, Manifest};
use crate::disk::table_list::{self, TableFile};

/// The name of the file.
pub(super) const NAME: &str = "BACKUP";

const FIRST_LINE: &str = "keyloom-backup format 1";

/// The content of the file for a backup with this manifest.
pub(super) fn encode(manifest: &[u8]) -> Vec<u8> {
    format!("{FIRST_LINE}\nmanifest {:016x}\n", xxh3_64(manifest)).into_bytes()
}

/// A directory that holds a backup.
#[derive(Debug)]
pub(super) struct Backup {
    pub(super) store: u64,
    pub(super) contents: Contents,
    /// The number of the list of tables.
    pub(super) list: u64,
    pub(super) tables: Vec<TableFile>,
}

impl Backup {
    /// The files and directories that the backup in this directory consists of, relative to it. A
    /// `LOCK` is left by a server that was refused the directory.
    pub(super) fn files(&self, directory: &Path) -> HashSet<PathBuf> {
        let tables = self.tables.iter().map(|table| &table.path);
        let tables = tables.filter_map(|path| Some(path.strip_prefix(directory).ok()?.to_owned()));
        let list = format!("tree/v{}", self.list);
        let named = [NAME, manifest::NAME, directory::LOCK, "tree/current", &list]
            .into_iter()
            .chain(["log", "tree", "tree/tables"]);
        let log = self.contents.first_segment..=self.contents.last_segment;
        let log = log.map(|segment| format!("log/{segment:08}.log").into());
        tables.chain(named.map(PathBuf::from)).chain(log).collect()
    }
}

/// Reads a backup; the error says why the directory is not one.
pub(super) fn read(directory: &Path) -> Result<Backup, StoreError> {
    let format = |path: PathBuf, detail: &str| StoreError::Format { path, detail: detail.into() };
    let marker = read_file(&directory.join(NAME))?;
    let path = directory.join(manifest::NAME);
    let Some(bytes) = read_file(&path)? else {
        let detail = "it holds no backup of a store; choose another directory";
        return Err(match marker {
            None => format(directory.into(), detail),
            Some(_) => StoreError::Corrupt { path, detail: "it is missing".into() },
        });
    };
    let Some(marker) = marker else {
        let detail = "it is a store, not a backup of one; choose another directory";
        return Err(format(directory.into(), detail));
    };
    if !marker.starts_with(FIRST_LINE.as_bytes()) {
        let detail = "this is not a backup format that this version can read";
        return Err(format(directory.join(NAME), detail));
    }
    let manifest = Manifest::decode(&bytes)
        .map_err(|detail| StoreError::Corrupt { path: path.clone(), detail })?;
    let contents = manifest.contents.filter(|contents| contents.closed_at.is_some());
    let (Some(contents), true) = (contents, marker == encode(&bytes)) else {
        let detail = "it has been opened as a store since it was made, and is no backup any more; \
                      choose another directory";
        return Err(format(directory.into(), detail));
    };
    let tree = directory.join("tree");
    let list = table_list::check(&tree)?;
    table_list::check_number(&tree, list.number, contents.tables)?;
    let number = list.number.unwrap_or_default();
    Ok(Backup { store: manifest.store, contents, list: number, tables: list.tables })
}

fn read_file(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io(format!("read {}", path.display()), error)),
    }
}

/// What a backup already has, so that it need not be copied again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The store that it is a backup of; `None` if there is no backup yet.
    pub(super) store: Option<u64>,
    /// Tables by number and checksum.
    pub(super) tables: Vec<(u64, u128)>,
}

impl Inventory {
    /// The inventory as text, for transfer.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        if let Some(store) = self.store {
            let _ = writeln!(text, "store {store:016x}");
        }
        for (number, checksum) in &self.tables {
            let _ = writeln!(text, "table {number} {checksum:032x}");
        }
        text
    }

    /// Decodes an inventory; the error says what is wrong with it.
    pub fn decode(text: &str) -> Result<Self, String> {
        let mut inventory = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let known = match words.as_slice() {
                ["store", id] => {
                    u64::from_str_radix(id, 16).ok().map(|id| inventory.store = Some(id))
                }
                ["table", number, checksum] => {
                    let table = number.parse().ok().zip(u128::from_str_radix(checksum, 16).ok());
                    table.map(|table| inventory.tables.push(table))
                }
                _ => None,
            };
            known.ok_or_else(|| format!("a list of tables has no line {line:?}"))?;
        }
        Ok(inventory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inventory_round_trips() {
        for inventory in [
            Inventory::default(),
            Inventory { store: Some(7), tables: vec![(3, 1 << 100), (18, 0)] },
        ] {
            assert_eq!(Inventory::decode(&inventory.encode()), Ok(inventory));
        }
        for text in ["table 3", "table x 1", "store zz", "holiday"] {
            assert!(Inventory::decode(text).is_err(), "{text}");
        }
    }
}
