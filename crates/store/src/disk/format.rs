//! The directory of a store: who may use it, and in which format it is written.
//!
//! `LOCK` is locked by the process that has the store open; the operating system unlocks it
//! however that process ends. `FORMAT` is one line of text and is the first thing written, so a
//! directory that lacks it never held a store.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;

use crate::StoreError;
use crate::disk::log::storage::sync_directory;

const LOCK: &str = "LOCK";
const FORMAT: &str = "FORMAT";
const UNFINISHED: &str = "FORMAT.tmp";
const MAGIC: &str = "keyloom-store format ";
/// Format 1 held items in another form, which is not read any more.
const VERSION: u32 = 2;

/// The right to use a directory, held until dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    /// Whether the directory was empty before.
    pub(crate) created: bool,
    _lock: File,
}

/// Locks the directory and checks its format, or makes a new store in an empty one.
pub(crate) fn claim(directory: &Path) -> Result<Claim, StoreError> {
    let shown = directory.display();
    let failed = |what: &str| {
        let action = format!("{what} {shown}");
        move |error: io::Error| StoreError::io(action, error)
    };
    fs::create_dir_all(directory).map_err(failed("make the directory"))?;
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(directory.join(LOCK))
        .map_err(failed("open the lock file in"))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(StoreError::InUse { path: directory.to_owned() });
        }
        Err(TryLockError::Error(error)) => return Err(failed("lock")(error)),
    }
    match fs::read(directory.join(FORMAT)) {
        Ok(content) => check_format(directory, &content)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            refuse_strangers(directory)?;
            write_format(directory).map_err(failed("write the format to"))?;
            return Ok(Claim { created: true, _lock: lock });
        }
        Err(error) => return Err(failed("read the format of")(error)),
    }
    Ok(Claim { created: false, _lock: lock })
}

fn check_format(directory: &Path, content: &[u8]) -> Result<(), StoreError> {
    let version = std::str::from_utf8(content)
        .ok()
        .and_then(|line| line.strip_prefix(MAGIC)?.strip_suffix('\n')?.parse::<u32>().ok());
    let detail = match version {
        Some(VERSION) => return Ok(()),
        Some(newer) if newer > VERSION => format!(
            "the store has format {newer}, but this version reads up to format {VERSION}; \
             use a newer keyloom"
        ),
        Some(1) => {
            "the store has format 1, which this version cannot read; export its tables with \
                    the keyloom that wrote them, or choose an empty directory"
                .to_owned()
        }
        Some(other) => format!("the store has format {other}, which this version cannot read"),
        None => "this does not tell the format of a keyloom store".to_owned(),
    };
    Err(StoreError::Format { path: directory.join(FORMAT), detail })
}

/// Never builds a store among files that belong to something else.
fn refuse_strangers(directory: &Path) -> Result<(), StoreError> {
    let listing = fs::read_dir(directory)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .map_err(|error| StoreError::io(format!("list {}", directory.display()), error))?;
    for entry in listing {
        let name = entry.file_name();
        if name != LOCK && name != UNFINISHED {
            let detail = format!(
                "not a keyloom store, and not empty (it contains {}); choose an empty directory",
                name.display()
            );
            return Err(StoreError::Format { path: directory.to_owned(), detail });
        }
    }
    Ok(())
}

fn write_format(directory: &Path) -> io::Result<()> {
    let unfinished = directory.join(UNFINISHED);
    let mut file = File::create(&unfinished)?;
    writeln!(file, "{MAGIC}{VERSION}")?;
    file.sync_all()?;
    fs::rename(unfinished, directory.join(FORMAT))?;
    sync_directory(directory)?;
    match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
        _ => Ok(()),
    }
}
