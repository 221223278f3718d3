//! Finds the damaged file behind an error of the engine, whose errors name none.
//!
//! The list of tables holds a checksum of each table, so the file is found afterwards: all files
//! that may have been read are verified, and the first mismatch is reported.

use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::StoreError;
use crate::disk::table_list::TableFile;
use crate::error::is_full;

/// The tables known to be damaged. Repeated reads of a damaged key verify each table only once.
#[derive(Default)]
pub(super) struct KnownDamage {
    found: Mutex<Vec<(PathBuf, StoreError)>>,
}

impl KnownDamage {
    /// The first damaged file among these.
    pub(super) fn find(&self, suspects: &[TableFile]) -> Option<StoreError> {
        let found = self.found.lock();
        let is_suspect = |path: &Path| suspects.iter().any(|suspect| suspect.path == path);
        if let Some((_, damage)) = found.iter().find(|(path, _)| is_suspect(path)) {
            return Some(damage.clone());
        }
        drop(found);
        let (path, damage) =
            suspects.iter().find_map(|file| Some((file.path.clone(), file.damage()?)))?;
        self.found.lock().push((path, damage.clone()));
        Some(damage)
    }
}

/// Whether an error may be caused by a file's content. Others (a full disk, too many open files)
/// are not, and verifying all files would take long.
pub(super) fn may_be_damage(error: &lsm_tree::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, NotFound, Other, UnexpectedEof};
    match error {
        lsm_tree::Error::Io(error) => {
            matches!(error.kind(), InvalidData | InvalidInput | NotFound | Other | UnexpectedEof)
        }
        _ => true,
    }
}

/// Converts an engine error; `found` is the damaged file behind it, if one was found.
pub(super) fn engine_error(
    tree: &Path,
    action: &str,
    error: &lsm_tree::Error,
    found: Option<StoreError>,
) -> StoreError {
    use lsm_tree::Error;
    match (found, error) {
        (Some(StoreError::Corrupt { path, detail }), _) => {
            let detail = format!("{detail} (could not {action}: {error})");
            StoreError::Corrupt { path, detail }
        }
        (Some(other), _) => other,
        (None, Error::Io(error)) if is_full(error) => {
            StoreError::Full { cause: format!("could not {action}: {error}").into() }
        }
        (None, Error::Io(_) | Error::InvalidVersion(_)) => {
            StoreError::Engine { action: action.to_owned(), detail: error.to_string() }
        }
        (None, _) => StoreError::Corrupt {
            path: tree.to_owned(),
            detail: format!("could not {action}: {error}; each file by itself is intact"),
        },
    }
}
