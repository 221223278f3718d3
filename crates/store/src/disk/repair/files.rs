//! Finds the files of a damaged store, and which ones are missing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::report::RepairReport;
use crate::StoreError;
use crate::disk::manifest::{self, Contents, Manifest};
use crate::disk::table_list::{self, TableFile};

/// The files of a damaged store.
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// The content of the manifest, if it can be read.
    pub(super) contents: Option<Contents>,
    /// The tables, with their checksums if the list of tables can be read.
    pub(super) tables: Vec<(PathBuf, Option<u128>)>,
    /// Whether these are the tables of the store's newest list.
    pub(super) list_is_known: bool,
}

/// Reads a directory; fails if it contains no part of a store.
pub(super) fn find(path: &Path, report: &mut RepairReport) -> Result<Found, StoreError> {
    if !path.join("log").is_dir() && !path.join("tree").is_dir() {
        let detail = "this is not a keyloom store, not even a damaged one".to_owned();
        return Err(StoreError::Format { path: path.to_owned(), detail });
    }
    let contents = read_manifest(path, report)?;
    let tree = path.join("tree");
    let listed = read_list(&tree, contents, report)?;
    let list_is_known = listed.is_some();
    let tables = match listed {
        Some(tables) => {
            tables.into_iter().map(|table| (table.path, Some(table.checksum))).collect()
        }
        None => all_tables(&tree.join("tables"), report)?,
    };
    Ok(Found { path: path.to_owned(), contents, tables, list_is_known })
}

fn read_manifest(path: &Path, report: &mut RepairReport) -> Result<Option<Contents>, StoreError> {
    let file = path.join(manifest::NAME);
    let unknown = "the newest or oldest parts of the store may be missing unnoticed";
    match read(&file)? {
        None if path.join("FORMAT").exists() => Ok(None),
        None => {
            report.lose(&file, format!("it is missing; {unknown}"));
            Ok(None)
        }
        Some(bytes) => match Manifest::decode(&bytes) {
            Ok(manifest) => Ok(Some(manifest.contents.unwrap_or(Contents::NOTHING))),
            Err(detail) => {
                report.lose(&file, format!("{detail}; {unknown}"));
                Ok(None)
            }
        },
    }
}

/// The tables of the newest list; `None` if it cannot be read.
fn read_list(
    tree: &Path,
    contents: Option<Contents>,
    report: &mut RepairReport,
) -> Result<Option<Vec<TableFile>>, StoreError> {
    let current = tree.join("current");
    let at_least = contents.map_or(0, |contents| contents.tables);
    let unreadable = |error| StoreError::io(format!("read {}", current.display()), error);
    if let Some(list) = table_list::read_bytes(tree).map_err(unreadable)? {
        if list.number < at_least {
            let detail = format!(
                "it names list {} of the tables, but the store has seen list {at_least}; newer tables \
                 may be missing",
                list.number
            );
            report.lose(&current, detail);
            return Ok(None);
        }
        let file = tree.join(format!("v{}", list.number));
        if let Ok(tables) = table_list::read_list(&file, &tree.join("tables")) {
            return Ok(Some(tables));
        }
    }
    if at_least == 0 && !current.exists() && !tree.join("tables").exists() {
        return Ok(Some(Vec::new()));
    }
    // The list has no checksum of its own, but each table in it has.
    for number in list_numbers(tree)?.into_iter().filter(|number| *number >= at_least) {
        let file = tree.join(format!("v{number}"));
        if let Ok(tables) = table_list::read_list(&file, &tree.join("tables"))
            && tables.iter().all(|table| table.damage().is_none())
        {
            report.notes.push(format!(
                "{} is missing or damaged; {} is the newest list, and all its tables are intact",
                current.display(),
                file.display()
            ));
            return Ok(Some(tables));
        }
    }
    let detail = "the list of tables is missing or damaged, and all tables that are there were read: \
                  some may have been replaced long ago, others may be missing";
    report.lose(&current, detail);
    Ok(None)
}

/// The numbers of the existing lists, newest first.
fn list_numbers(tree: &Path) -> Result<Vec<u64>, StoreError> {
    let mut numbers: Vec<u64> =
        names(tree)?.iter().filter_map(|name| name.strip_prefix('v')?.parse().ok()).collect();
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    Ok(numbers)
}

fn all_tables(
    tables: &Path,
    report: &mut RepairReport,
) -> Result<Vec<(PathBuf, Option<u128>)>, StoreError> {
    let mut found = Vec::new();
    for name in names(tables)? {
        let path = tables.join(&name);
        if name.parse::<u64>().is_ok() && path.is_file() {
            found.push((path, None));
        } else {
            report.notes.push(format!("{} is not a table", path.display()));
        }
    }
    Ok(found)
}

fn names(directory: &Path) -> Result<Vec<String>, StoreError> {
    let list = || -> io::Result<Vec<String>> {
        let name = |entry: io::Result<fs::DirEntry>| {
            entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
        };
        fs::read_dir(directory)?.map(name).collect()
    };
    match list() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(StoreError::io(format!("list {}", directory.display()), error)),
        Ok(names) => Ok(names),
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io(format!("read {}", path.display()), error)),
    }
}
