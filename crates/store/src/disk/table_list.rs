//! The check that `lsm-tree` leaves out: whether the list of tables is the one that was written.
//!
//! `tree/current` names the newest list and its checksum, but the crate does not compare them when
//! it opens a tree (as of 3.1.10). One flipped bit in the list could then bring back an older value
//! or lose a table without a word.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use crate::StoreError;

/// The number of the list (8 bytes), its checksum (16), and the kind of checksum (1).
const CURRENT_BYTES: usize = 25;
/// XXH3 with 128 bits.
const KNOWN_KIND: u8 = 0;

/// Checks the list of tables that the tree in this directory will be opened with, and returns its number
/// if there is one.
pub(super) fn check(tree: &Path) -> Result<Option<u64>, StoreError> {
    let current = tree.join("current");
    let content = match fs::read(&current) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io(format!("read {}", current.display()), error)),
    };
    let damaged = |path: &Path, detail: &str| StoreError::Corrupt {
        path: path.to_owned(),
        detail: detail.to_owned(),
    };
    let Some((number, checksum)) = parse(&content) else {
        return Err(damaged(&current, "it does not name a list of tables"));
    };
    let list = tree.join(format!("v{number}"));
    match fs::read(&list) {
        Ok(content) if xxh3_128(&content) == checksum => Ok(Some(number)),
        Ok(_) => Err(damaged(&list, "the list of tables is not the one that was written")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(damaged(&list, "the list of tables is missing"))
        }
        Err(error) => Err(StoreError::io(format!("read {}", list.display()), error)),
    }
}

/// Checks that the list is there and not older than the store has seen.
pub(super) fn check_number(
    tree: &Path,
    found: Option<u64>,
    at_least: u64,
) -> Result<(), StoreError> {
    let detail = match found {
        Some(number) if number >= at_least => return Ok(()),
        None => "it is missing".to_owned(),
        Some(number) => format!(
            "it names list {number} of the tables, but the store has seen list {at_least}; the files are \
             from different moments (a store that is open is copied with 'keyloom backup')"
        ),
    };
    Err(StoreError::Corrupt { path: tree.join("current"), detail })
}

/// Makes durable what a process that was killed may have left in the system's cache: the newest list of
/// tables and its name. Opening the tree removes what that list does not need.
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

fn parse(current: &[u8]) -> Option<(u64, u128)> {
    if current.len() != CURRENT_BYTES {
        return None;
    }
    let (number, rest) = current.split_first_chunk()?;
    let (checksum, rest) = rest.split_first_chunk()?;
    (rest == [KNOWN_KIND]).then(|| (u64::from_le_bytes(*number), u128::from_le_bytes(*checksum)))
}
