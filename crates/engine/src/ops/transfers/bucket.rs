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
        Self::new("S3AccessDenied", error.to_string())
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
        if directory.is_dir() {
            Ok(Self { directory })
        } else {
            Err(missing(&format!("make the directory {}", directory.display())))
        }
    }

    /// Makes a new object.
    pub(super) fn create(&self, key: &str) -> Result<File, Failure> {
        let path = self.directory.join(key);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(File::create(path)?)
    }

    /// All objects whose keys begin with a prefix, in the order of their keys.
    pub(super) fn objects(&self, prefix: &str) -> Result<Vec<(String, PathBuf)>, Failure> {
        let mut found = Vec::new();
        collect(&self.directory, "", &mut found)?;
        found.retain(|(key, _)| key.starts_with(prefix));
        found.sort();
        if found.is_empty() {
            let text = format!("No objects were found under the prefix '{prefix}'.");
            return Err(Failure::new("S3NoSuchKey", text));
        }
        Ok(found)
    }
}

fn collect(directory: &Path, key: &str, found: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        // Names that are not UTF-8 cannot be object keys.
        let Some(name) = name.to_str() else { continue };
        let key = if key.is_empty() { name.to_owned() } else { format!("{key}/{name}") };
        // Symbolic links are not followed: they may lead out of the bucket.
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), &key, found)?;
        } else if kind.is_file() {
            found.push((key, entry.path()));
        }
    }
    Ok(())
}

/// Checks that a prefix for new objects stays inside its bucket.
pub(super) fn check_prefix(parameter: &str, prefix: &str) -> Result<()> {
    let plain = |component: Component<'_>| matches!(component, Component::Normal(_));
    let inside = Path::new(prefix).components().all(plain) && !prefix.contains(['\\', '\0']);
    if inside { Ok(()) } else { Err(message::object_key_invalid(parameter, prefix)) }
}

#[cfg(test)]
mod tests {
    use super::check_prefix;

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
