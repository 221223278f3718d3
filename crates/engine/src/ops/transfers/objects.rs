//! Iterates over the rows of all objects under a prefix.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use keyloom_api::transfers::format::{CsvKeys, Fault, InputFormat, Row, RowReader};
use keyloom_api::transfers::{Compression, Failure, Source};
use keyloom_core::error::transfer as message;
use keyloom_core::schema::KeyContext;
use keyloom_core::{Error, Item, Str};

use crate::buckets::{Bucket, Object};
use crate::catalog::Table;
use crate::database::Inner;

use super::codecs;

/// AWS's quota of objects in one import.
const MAX_OBJECTS: usize = 50_000;

/// Where imports log failed rows, in the bucket that they read. These objects are not imported.
pub(super) const ERROR_LOGS: &str = "aws-dynamodb/imports/";

/// Whether to go on.
pub(super) enum Flow {
    Continue,
    Stop,
}

/// The objects that a transfer reads.
pub(super) struct Objects<'a> {
    database: &'a Inner,
    bucket: &'a dyn Bucket,
    format: &'a InputFormat,
    compression: Compression,
    found: Vec<Object>,
}

/// A row, and where it stands.
pub(super) struct Found<'a> {
    /// The key of the object.
    pub(super) key: &'a str,
    /// How many rows of the object stand before it.
    pub(super) index: u64,
    /// The size of the row, decompressed.
    pub(super) bytes: u64,
    /// The name of the first member of the row that stands beside `Item`.
    pub(super) beside: Option<Str>,
    /// The item that fits the table, or why there is none.
    pub(super) item: Result<Item, String>,
}

impl<'a> Objects<'a> {
    /// Finds the objects.
    pub(super) fn find(
        database: &'a Inner,
        bucket: &'a dyn Bucket,
        source: &Source,
        (format, compression): (&'a InputFormat, Compression),
    ) -> Result<Self, Failure> {
        let mut found = bucket.list(&source.prefix, MAX_OBJECTS + 1)?;
        if !source.prefix.starts_with(ERROR_LOGS) {
            found.retain(|object| !object.key.starts_with(ERROR_LOGS));
        }
        if found.len() > MAX_OBJECTS {
            let text = format!(
                "More than {MAX_OBJECTS} objects begin with the prefix '{}': import them in parts, or \
                 put them together",
                source.prefix
            );
            return Err(Failure::new("LimitExceededException", text));
        }
        Ok(Self { database, bucket, format, compression, found })
    }

    /// The sizes of the objects, together.
    pub(super) fn total_bytes(&self) -> u64 {
        self.found.iter().map(|object| object.bytes).sum()
    }

    /// The folder with the data of an export whose manifests are among the objects.
    pub(super) fn export_data_folder(&self) -> Option<String> {
        self.found.iter().find_map(|object| {
            let folder = object.key.strip_suffix("manifest-summary.json")?;
            folder.contains("AWSDynamoDB/").then(|| format!("{folder}data/"))
        })
    }

    /// Gives every row to `each`. What makes an object unreadable stands for the row where reading ended.
    pub(super) fn read(
        &self,
        table: &Table,
        mut each: impl FnMut(Found<'_>) -> Result<Flow, Failure>,
    ) -> Result<(), Failure> {
        let attributes = table.schema.attributes.iter();
        let keys: CsvKeys =
            attributes.map(|key| (key.name.clone(), key.kind.attribute_type())).collect();
        let check = |item| table.schema.check_item(&item, KeyContext::Put).map(|()| item);
        // An object without a byte has no rows, whatever the compression: `_started` of an export.
        for object in self.found.iter().filter(|object| object.bytes > 0) {
            let trouble = Rc::new(Cell::new(None));
            let watched = Watched {
                content: self.bucket.read(object)?,
                trouble: Rc::clone(&trouble),
                database: self.database,
            };
            let content = codecs::content(watched, self.compression);
            let mut rows = RowReader::new(self.format, &keys, content);
            for index in 0.. {
                let (bytes, item, beside, is_last) = match rows.next_row() {
                    Ok(None) => break,
                    Ok(Some(Row { bytes, item, beside })) => {
                        (bytes, item.and_then(check), beside, false)
                    }
                    Err(fault) => match trouble.take() {
                        // Not the object's fault: it could not be read.
                        Some(failure) => return Err(failure),
                        None => (0, Err(unreadable(fault)), None, true),
                    },
                };
                let item = item.map_err(|error| error.message());
                match each(Found { key: &object.key, index, bytes, beside, item })? {
                    Flow::Stop => return Ok(()),
                    Flow::Continue if is_last => break,
                    Flow::Continue => {}
                }
            }
        }
        Ok(())
    }
}

fn unreadable(fault: Fault) -> Error {
    match fault {
        Fault::Malformed(reason) => message::object_unreadable(&reason),
        Fault::Io(error) => message::object_unreadable(&error.to_string()),
    }
}

/// The bytes of an object as the bucket has them: whatever goes wrong here is not the object's fault. Every read
/// asks whether the database is being closed, so that an endless object does not hold it up.
struct Watched<'a> {
    content: Box<dyn Read>,
    trouble: Rc<Cell<Option<Failure>>>,
    database: &'a Inner,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.database.background.is_ending() {
            self.trouble.set(Some(Failure::interrupted()));
            return Err(io::ErrorKind::Other.into());
        }
        self.content.read(buffer).inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                self.trouble.set(Some(Failure::new("S3InternalServerError", error.to_string())));
            }
        })
    }
}
