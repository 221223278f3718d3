//! The check that `lsm-tree` leaves out: whether the list of tables is the one that was written.
//!
//! `tree/current` names the newest list and its checksum, but the crate does not compare them when
//! it opens a tree (as of 3.1.10). One flipped bit in the list could then bring back an older value
//! or lose a table without a word.

use std::fs;
use std::io;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use crate::StoreError;

/// The number of the list (8 bytes), its checksum (16), and the kind of checksum (1).
const CURRENT_BYTES: usize = 25;
/// XXH3 with 128 bits.
const KNOWN_KIND: u8 = 0;

/// Checks the list of tables that the tree in this directory will be opened with, if it has one.
pub(super) fn check(tree: &Path) -> Result<(), StoreError> {
    let current = tree.join("current");
    let content = match fs::read(&current) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
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
        Ok(content) if xxh3_128(&content) == checksum => Ok(()),
        Ok(_) => Err(damaged(&list, "the list of tables is not the one that was written")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(damaged(&list, "the list of tables is missing"))
        }
        Err(error) => Err(StoreError::io(format!("read {}", list.display()), error)),
    }
}

fn parse(current: &[u8]) -> Option<(u64, u128)> {
    if current.len() != CURRENT_BYTES {
        return None;
    }
    let (number, rest) = current.split_first_chunk()?;
    let (checksum, rest) = rest.split_first_chunk()?;
    (rest == [KNOWN_KIND]).then(|| (u64::from_le_bytes(*number), u128::from_le_bytes(*checksum)))
}
