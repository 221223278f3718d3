//! Buckets as directories.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use keyloom_core::Result;
use keyloom_core::error::resource as message;
use serde::{Deserialize, Serialize};

use crate::database::Inner;

/// Why a transfer failed, in the words of its description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) code: String,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }

    /// The database was closed.
    pub(super) fn interrupted() -> Self {
        Self::new("InternalServerError", "The database was closed before this was completed.")
    }
}

impl From<keyloom_core::Error> for Failure {
    fn from(error: keyloom_core::Error) -> Self {
        Self::new(error.code(), error.message())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let is_full = matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        );
        // S3 itself is never full; no access is denied, either.
        let code = if is_full { "InternalServerError" } else { "S3AccessDenied" };
        Self::new(code, error.to_string())
    }
}

/// A directory whose files are objects.
#[derive(Debug)]
pub(super) struct Bucket {
    directory: PathBuf,
}

impl Bucket {
    /// The bucket of this name, which the API model has checked.
    pub(super) fn open(database: &Inner, name: &str) -> Result<Self, Failure> {
        let missing = |hint: &str| {
            Failure::new("S3NoSuchBucket", format!("The specified bucket does not exist: {hint}"))
        };
        let Some(root) = &database.options.bucket_root else {
            return Err(missing("this database has no directory for buckets (bucket_root)"));
        };
        let directory = root.join(name);
        refuse_link(&directory)?;
        if directory.is_dir() {
            Ok(Self { directory })
        } else {
            Err(missing(&format!("make the directory {}", directory.display())))
        }
    }

    /// Makes a new object.
    pub(super) fn create(&self, key: &str) -> Result<File, Failure> {
        let path = self.directory.join(key);
        let mut folder = self.directory.clone();
        for part in Path::new(key).parent().into_iter().flat_map(Path::components) {
            folder.push(part);
            refuse_link(&folder)?;
        }
        create_directories(&folder)?;
        refuse_link(&path)?;
        // An object that is there is replaced, not written into, so that no link is ever followed.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(create_file(&path)?),
        }
    }

    /// Makes the names of all objects in a folder as durable as their content is.
    pub(super) fn sync_names(&self, folder: &str) -> Result<(), Failure> {
        let below = self.directory.join(folder);
        for directory in below.ancestors().take_while(|path| path.starts_with(&self.directory)) {
            sync_directory(directory)?;
        }
        Ok(())
    }

    /// All objects whose keys begin with a prefix, in the order of their keys.
    pub(super) fn objects(&self, prefix: &str) -> Result<Vec<(String, PathBuf)>, Failure> {
        let mut found = Vec::new();
        collect(&self.directory, "", prefix, &mut found)?;
        found.sort();
        if found.is_empty() {
            let text = format!("No objects were found under the prefix '{prefix}'.");
            return Err(Failure::new("S3NoSuchKey", text));
        }
        Ok(found)
    }
}

/// Creates a directory and its parents for their owner only: exports hold data.
fn create_directories(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates a file for its owner only.
fn create_file(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Elsewhere directories cannot be synced, and need not be.
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Finds the objects below a directory whose keys begin with a prefix.
fn collect(
    directory: &Path,
    key: &str,
    prefix: &str,
    found: &mut Vec<(String, PathBuf)>,
) -> Result<(), Failure> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        // Names that are not UTF-8 cannot be object keys.
        let Some(name) = name.to_str() else { continue };
        let key = if key.is_empty() { name.to_owned() } else { format!("{key}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_symlink() && (key.starts_with(prefix) || prefix.starts_with(&key)) {
            return Err(is_link(&entry.path()));
        }
        if kind.is_dir() {
            collect(&entry.path(), &key, prefix, found)?;
        } else if kind.is_file() && key.starts_with(prefix) {
            found.push((key, entry.path()));
        }
    }
    Ok(())
}

/// Refuses a symbolic link: it may lead out of the bucket, to any file of whoever runs the database.
fn refuse_link(path: &Path) -> Result<(), Failure> {
    match fs::symlink_metadata(path) {
        Ok(data) if data.is_symlink() => Err(is_link(path)),
        // What is not there will be made, or missed.
        _ => Ok(()),
    }
}

fn is_link(path: &Path) -> Failure {
    let text = format!(
        "{} is a symbolic link, which may lead out of its bucket: put a directory or a file there",
        path.display()
    );
    Failure::new("S3AccessDenied", text)
}

/// Checks that a prefix for new objects stays inside its bucket.
pub(super) fn check_prefix(parameter: &str, prefix: &str) -> Result<()> {
    let plain = |component: Component<'_>| matches!(component, Component::Normal(_));
    let inside = Path::new(prefix).components().all(plain) && !prefix.contains(['\\', '\0']);
    if inside { Ok(()) } else { Err(message::object_key_invalid(parameter, prefix)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_not_denied_access() {
        let code = |kind: io::ErrorKind| Failure::from(io::Error::from(kind)).code;
        assert_eq!(code(io::ErrorKind::StorageFull), "InternalServerError");
        assert_eq!(code(io::ErrorKind::PermissionDenied), "S3AccessDenied");
    }

    #[cfg(unix)]
    #[test]
    fn objects_are_private_to_their_owner() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let bucket = Bucket { directory: home.path().to_owned() };
        drop(bucket.create("a/b/object").unwrap());
        for (name, mode) in [("a", 0o700), ("a/b", 0o700), ("a/b/object", 0o600)] {
            let found = fs::metadata(home.path().join(name)).unwrap().permissions().mode();
            assert_eq!(found & 0o777, mode, "{name}");
        }
    }

    #[test]
    fn prefixes_stay_inside_the_bucket() {
        for prefix in ["", "a", "a/b", "a/b/", "a..b"] {
            assert!(check_prefix("S3Prefix", prefix).is_ok(), "{prefix}");
        }
        for prefix in ["/a", "..", "a/../b", "../a", "./a", "a\\b", "a\0b"] {
            assert!(check_prefix("S3Prefix", prefix).is_err(), "{prefix}");
        }
    }
}
