//! The lines of the objects under a prefix, decompressed.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use flate2::read::MultiGzDecoder;
use keyloom_core::Item;
use keyloom_core::error::resource as message;
use keyloom_core::json::{self, Json};
use keyloom_core::schema::KeyContext;

use crate::catalog::Table;

use super::bucket::{Bucket, Failure};

/// A longer line cannot be an item, however it is written.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// How objects are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
}

/// Whether to go on.
pub(super) enum Flow {
    Continue,
    Stop,
}

/// The sizes of the objects under a prefix, together.
pub(super) fn total_bytes(bucket: &Bucket, prefix: &str) -> Result<u64, Failure> {
    let objects = bucket.objects(prefix)?;
    Ok(objects.iter().filter_map(|(_, path)| path.metadata().ok()).map(|data| data.len()).sum())
}

/// Gives every line that is not empty to `each`.
pub(super) fn read(
    bucket: &Bucket,
    prefix: &str,
    compression: Compression,
    mut each: impl FnMut(&[u8]) -> Result<Flow, Failure>,
) -> Result<(), Failure> {
    for (key, path) in bucket.objects(prefix)? {
        let file = File::open(&path)?;
        let content: Box<dyn Read> = match compression {
            Compression::None => Box::new(file),
            Compression::Gzip => Box::new(MultiGzDecoder::new(file)),
        };
        let mut content = BufReader::new(content);
        let mut line = Vec::new();
        loop {
            line.clear();
            let damaged = |error: std::io::Error| {
                Failure::new("InvalidInput", format!("The object '{key}' cannot be read: {error}"))
            };
            let read = (&mut content).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
            if read.map_err(damaged)? == 0 {
                break;
            }
            if line.len() as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
                let text = format!("The object '{key}' has a line of more than 16 MB.");
                return Err(Failure::new("InvalidInput", text));
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            if matches!(each(line.trim_ascii())?, Flow::Stop) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The item in a line `{"Item": {…}}`, checked against the table.
pub(super) fn item(line: &[u8], table: &Table) -> keyloom_core::Result<Item> {
    let document = json::parse(line)?;
    let item = match &document {
        Json::Object(line) => line.get("Item").map(json::item_from).transpose()?,
        _ => None,
    };
    let item = item.ok_or_else(message::line_without_item)?;
    table.schema.check_item(&item, KeyContext::Put)?;
    Ok(item)
}
