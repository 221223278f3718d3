//! The error log of an import: the rows that could not be imported.
//!
//! AWS writes them to the stream `IMPORT/error` of CloudWatch's log group `/aws-dynamodb/imports`. Here each is a
//! line, with the same content, of the object `aws-dynamodb/imports/IMPORT/error` in the import's bucket.

use std::io::Write;

use keyloom_api::transfers::Failure;
use serde_json::json;

use crate::buckets::{Bucket, Upload};

use super::objects::{ERROR_LOGS, Found};

/// Further rows are counted only.
const MAX_LINES: u64 = 10_000;

/// The log of one import.
pub(super) struct ErrorLog<'a> {
    bucket: &'a dyn Bucket,
    bucket_name: &'a str,
    import_arn: &'a str,
    key: String,
    lines: u64,
    state: State,
}

enum State {
    /// No row has failed.
    Empty,
    Open(Box<dyn Upload>),
    /// It cannot be written, but the import can go on without it.
    Broken(String),
}

impl<'a> ErrorLog<'a> {
    pub(super) fn new(
        bucket: &'a dyn Bucket,
        bucket_name: &'a str,
        import_arn: &'a str,
        id: &str,
    ) -> Self {
        let key = format!("{ERROR_LOGS}{id}/error");
        Self { bucket, bucket_name, import_arn, key, lines: 0, state: State::Empty }
    }

    /// Logs a row.
    pub(super) fn add(&mut self, row: &Found<'_>, reason: &str) {
        self.lines += 1;
        if self.lines > MAX_LINES {
            return;
        }
        let line = json!({
            "itemS3Pointer": { "bucket": self.bucket_name, "key": row.key, "itemIndex": row.index },
            "importArn": self.import_arn,
            "errorMessages": [reason],
        });
        if matches!(self.state, State::Empty) {
            self.state = match self.bucket.create(&self.key) {
                Ok(upload) => State::Open(upload),
                Err(failure) => State::Broken(failure.message),
            };
        }
        if let State::Open(upload) = &mut self.state
            && let Err(error) = writeln!(upload, "{line}")
        {
            self.state = State::Broken(error.to_string());
        }
    }

    /// Closes the log and returns its location.
    pub(super) fn finish(self) -> String {
        let place = format!("s3://{}/{}", self.bucket_name, self.key);
        let finished = match self.state {
            State::Empty => return String::new(),
            State::Open(upload) => upload.finish().map(drop),
            State::Broken(reason) => Err(Failure::new("", reason)),
        };
        match finished {
            Ok(()) if self.lines > MAX_LINES => {
                format!("The first {MAX_LINES} errors are in {place}.")
            }
            Ok(()) => format!("The errors are in {place}."),
            Err(failure) => format!("They could not be written to {place}: {}.", failure.message),
        }
    }
}
