//! What a killed process leaves of a database on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The files of a directory and of those in it, with their sizes.
type Listing = BTreeMap<PathBuf, u64>;

/// Copies the files of a database that is open, but not being written to. What goes on in its background
/// is waited for.
pub(crate) fn copy(from: &Path, to: &Path) {
    for _ in 0..1000 {
        if copy_once(from, to).unwrap_or(false) {
            return;
        }
        let _ = fs::remove_dir_all(to);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    panic!("{} never stands still", from.display());
}

/// Copies all files; false if some came or went meanwhile.
fn copy_once(from: &Path, to: &Path) -> io::Result<bool> {
    let mut before = Listing::new();
    list(from, &mut before)?;
    for path in before.keys() {
        let target = to.join(path.strip_prefix(from).unwrap_or(path));
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(path, target)?;
    }
    let mut after = Listing::new();
    list(from, &mut after)?;
    Ok(before == after)
}

fn list(directory: &Path, files: &mut Listing) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            list(&entry.path(), files)?;
        } else {
            files.insert(entry.path(), metadata.len());
        }
    }
    Ok(())
}
