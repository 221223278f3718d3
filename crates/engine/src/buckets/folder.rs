//! Buckets in the file system: each subdirectory of a root is a bucket, its files are the objects.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use super::{Access, Bucket, Buckets, Failure, Object, Upload};

/// A directory whose subdirectories are buckets. Their owner is the database's account.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The buckets in this directory.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }
}

impl Buckets for Folder {
    fn open(&self, access: &Access<'_>) -> Result<Box<dyn Bucket>, Failure> {
        let directory = self.root.join(access.bucket);
        refuse_link(&directory)?;
        if !directory.is_dir() {
            let hint = format!("make the directory {}", directory.display());
            return Err(Failure::no_such_bucket(&hint));
        }
        if access.owner.is_some_and(|owner| owner != access.account) {
            let text = format!("Access Denied: the bucket belongs to {}", access.account);
            return Err(Failure::access_denied(text));
        }
        Ok(Box::new(Directory { path: directory }))
    }

    fn encrypts(&self) -> bool {
        false
    }

    /// Objects must stay inside their bucket.
    fn takes_prefix(&self, prefix: &str) -> bool {
        let plain = |component: Component<'_>| matches!(component, Component::Normal(_));
        Path::new(prefix).components().all(plain) && !prefix.contains(['\\', '\0'])
    }
}

/// A directory whose files are objects.
struct Directory {
    path: PathBuf,
}

impl Bucket for Directory {
    fn list(&self, prefix: &str, most: usize) -> Result<Vec<Object>, Failure> {
        let mut found = Vec::new();
        collect(&self.path, "", prefix, &mut found)?;
        found.sort();
        found.truncate(most);
        Ok(found)
    }

    fn read(&self, object: &Object) -> Result<Box<dyn Read>, Failure> {
        Ok(Box::new(File::open(self.path.join(&object.key))?))
    }

    fn create(&self, key: &str) -> Result<Box<dyn Upload>, Failure> {
        let path = self.path.join(key);
        let mut folder = self.path.clone();
        for part in Path::new(key).parent().into_iter().flat_map(Path::components) {
            folder.push(part);
            refuse_link(&folder)?;
        }
        create_directories(&folder)?;
        refuse_link(&path)?;
        // An object that is there is replaced, not written into, so that no link is ever followed.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let file = create_file(&path)?;
        Ok(Box::new(NewFile { file, path, bucket: self.path.clone(), is_finished: false }))
    }
}

/// A file that is being written.
struct NewFile {
    file: File,
    path: PathBuf,
    bucket: PathBuf,
    is_finished: bool,
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Upload for NewFile {
    fn finish(mut self: Box<Self>) -> Result<Option<String>, Failure> {
        self.file.sync_all()?;
        // Its name must be as durable as its content.
        let folders = self.path.ancestors().skip(1);
        for directory in folders.take_while(|path| path.starts_with(&self.bucket)) {
            sync_directory(directory)?;
        }
        self.is_finished = true;
        Ok(None)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_finished {
            // What cannot be removed is named in no manifest.
            let _ = fs::remove_file(&self.path);
        }
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
    found: &mut Vec<Object>,
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
        // A folder is entered only if it can have such keys.
        if kind.is_dir() && (key.starts_with(prefix) || prefix.starts_with(&key)) {
            collect(&entry.path(), &key, prefix, found)?;
        } else if kind.is_file() && key.starts_with(prefix) {
            found.push(Object { key, bytes: entry.metadata()?.len(), etag: None });
        }
    }
    Ok(())
}

/// Refuses a symbolic link: it may lead out of the bucket, to any file that the database's user can read.
fn refuse_link(path: &Path) -> Result<(), Failure> {
    match fs::symlink_metadata(path) {
        Ok(data) if data.is_symlink() => Err(is_link(path)),
        // What is not there will be made, or missed.
        _ => Ok(()),
    }
}

fn is_link(path: &Path) -> Failure {
    Failure::access_denied(format!(
        "{} is a symbolic link, which may lead out of its bucket: put a directory or a file there",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn objects_are_private_to_their_owner() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let bucket = Directory { path: home.path().to_owned() };
        bucket.create("a/b/object").unwrap().finish().unwrap();
        for (name, mode) in [("a", 0o700), ("a/b", 0o700), ("a/b/object", 0o600)] {
            let found = fs::metadata(home.path().join(name)).unwrap().permissions().mode();
            assert_eq!(found & 0o777, mode, "{name}");
        }
    }

    #[test]
    fn what_is_not_finished_is_not_there() {
        let home = tempfile::tempdir().unwrap();
        let bucket = Directory { path: home.path().to_owned() };
        let mut upload = bucket.create("a/b").unwrap();
        upload.write_all(b"half").unwrap();
        drop(upload);
        assert_eq!(bucket.list("", 10).unwrap(), []);
    }

    #[test]
    fn keys_are_listed_by_prefix_and_in_order() {
        let home = tempfile::tempdir().unwrap();
        let bucket = Directory { path: home.path().to_owned() };
        for key in ["data2/x", "data/1", "data.bak", "other/data"] {
            bucket.create(key).unwrap().finish().unwrap();
        }
        let keys = |prefix: &str, most| -> Vec<String> {
            bucket.list(prefix, most).unwrap().into_iter().map(|object| object.key).collect()
        };
        assert_eq!(keys("data", 10), ["data.bak", "data/1", "data2/x"]);
        assert_eq!(keys("data/", 10), ["data/1"]);
        assert_eq!(keys("data", 2), ["data.bak", "data/1"]);
        assert_eq!(keys("nothing", 10), [""; 0]);
    }

    #[test]
    fn prefixes_stay_inside_the_bucket() {
        let folder = Folder::new("/root");
        for prefix in ["", "a", "a/b", "a/b/", "a..b"] {
            assert!(folder.takes_prefix(prefix), "{prefix}");
        }
        for prefix in ["/a", "..", "a/../b", "../a", "./a", "a\\b", "a\0b"] {
            assert!(!folder.takes_prefix(prefix), "{prefix}");
        }
    }
}
