//! Reads and writes objects part by part.

use std::fmt::Write as _;
use std::io::{self, Read, Write};

use keyloom_engine::buckets::{Failure, Object, Upload};

use super::super::xml;
use super::S3Bucket;

/// The size of parts and ranges: S3 requires parts of at least 5 MB.
const PART_BYTES: usize = 8 * 1024 * 1024;
/// S3 takes no more.
const MAX_PARTS: usize = 10_000;

/// An object that is read range by range.
pub(super) struct Ranges {
    bucket: S3Bucket,
    object: Object,
    /// Where the next range begins.
    next: u64,
    range: Vec<u8>,
    /// How much of the range has been read.
    read: usize,
}

impl Ranges {
    pub(super) fn new(bucket: S3Bucket, object: Object) -> Self {
        Self { bucket, object, next: 0, range: Vec::new(), read: 0 }
    }

    fn fetch(&mut self) -> Result<(), Failure> {
        let end = self.object.bytes.min(self.next + PART_BYTES as u64);
        let mut request = self.bucket.request("GET", &self.object.key);
        request.headers.push(("range", format!("bytes={}-{}", self.next, end - 1).into()));
        // All ranges must be of one object.
        request.headers.extend(self.object.etag.as_deref().map(|tag| ("if-match", tag.into())));
        let range = self.bucket.client.send(&request)?.body;
        if range.len() as u64 != end - self.next {
            let text = format!("The object '{}' changed while it was read", self.object.key);
            return Err(Failure::new("S3InternalServerError", text));
        }
        (self.range, self.read, self.next) = (range, 0, end);
        Ok(())
    }
}

impl Read for Ranges {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.range.len() && self.next < self.object.bytes {
            self.fetch().map_err(|failure| io::Error::other(failure.message))?;
        }
        let rest = self.range.get(self.read..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(rest) {
            *to = *from;
        }
        self.read += count;
        Ok(count)
    }
}

/// An object that is being written: in one request, or in parts if it is large.
pub(super) struct NewObject {
    bucket: S3Bucket,
    key: String,
    buffer: Vec<u8>,
    /// The upload in parts, once it has begun.
    upload_id: Option<String>,
    /// The tags of the parts that were uploaded.
    parts: Vec<String>,
}

impl NewObject {
    pub(super) fn new(bucket: S3Bucket, key: &str) -> Self {
        let key = key.to_owned();
        Self { bucket, key, buffer: Vec::new(), upload_id: None, parts: Vec::new() }
    }

    /// Uploads what has been written as a part.
    fn upload_part(&mut self) -> Result<(), Failure> {
        if self.parts.len() >= MAX_PARTS {
            let text = format!("The object '{}' has more than {MAX_PARTS} parts", self.key);
            return Err(Failure::new("S3InternalServerError", text));
        }
        let id = match self.upload_id.take() {
            Some(id) => id,
            None => self.begin()?,
        };
        let id = self.upload_id.insert(id);
        let number = (self.parts.len() + 1).to_string();
        let mut request = self.bucket.request("PUT", &self.key);
        request.query = vec![("partNumber", &number), ("uploadId", id)];
        request.body = &self.buffer;
        let tag = self.bucket.client.send(&request)?.etag;
        self.parts.push(tag.ok_or_else(|| unexpected("a part without a tag"))?);
        self.buffer.clear();
        Ok(())
    }

    fn begin(&self) -> Result<String, Failure> {
        let mut request = self.bucket.encrypted(self.bucket.request("POST", &self.key));
        request.query = vec![("uploads", "")];
        let answer = self.bucket.client.send(&request)?;
        xml::text_of(&answer.text(), "UploadId")
            .ok_or_else(|| unexpected("an upload without a name"))
    }

    fn complete(&self, id: &str) -> Result<Option<String>, Failure> {
        let mut list = String::from("<CompleteMultipartUpload>");
        for (index, tag) in self.parts.iter().enumerate() {
            let tag = tag.replace('"', "&quot;");
            let number = index + 1;
            // Writing to a string cannot fail.
            let _ =
                write!(list, "<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>");
        }
        list.push_str("</CompleteMultipartUpload>");
        let mut request = self.bucket.request("POST", &self.key);
        request.query = vec![("uploadId", id)];
        request.body = list.as_bytes();
        let answer = self.bucket.client.send(&request)?;
        Ok(xml::text_of(&answer.text(), "ETag"))
    }
}

impl Write for NewObject {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PART_BYTES {
            self.upload_part().map_err(|failure| io::Error::other(failure.message))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Upload for NewObject {
    fn finish(mut self: Box<Self>) -> Result<Option<String>, Failure> {
        if self.upload_id.is_none() {
            let mut request = self.bucket.encrypted(self.bucket.request("PUT", &self.key));
            request.body = &self.buffer;
            return Ok(self.bucket.client.send(&request)?.etag);
        }
        if !self.buffer.is_empty() {
            self.upload_part()?;
        }
        let Some(id) = self.upload_id.clone() else { return Ok(None) };
        let tag = self.complete(&id)?;
        self.upload_id = None;
        Ok(tag)
    }
}

impl Drop for NewObject {
    fn drop(&mut self) {
        if let Some(id) = self.upload_id.take() {
            let mut request = self.bucket.request("DELETE", &self.key);
            request.query = vec![("uploadId", &id)];
            // What is left of it costs space until a rule of the bucket removes it, but no object has it.
            let _ = self.bucket.client.send(&request);
        }
    }
}

fn unexpected(what: &str) -> Failure {
    Failure::new("S3InternalServerError", format!("The S3 endpoint answered with {what}"))
}
