//! What the descriptions of exports, imports and bulk operations have in common.

use serde_json::Value;

use super::Failure;
use crate::JsonWriter;

/// What a transfer is and what has become of it.
#[derive(Clone, Copy, Debug)]
pub struct TransferDetails<'a> {
    /// The transfer's ARN.
    pub arn: &'a str,
    /// `IN_PROGRESS`, `COMPLETED`, `FAILED` or, of some kinds, others.
    pub status: &'a str,
    /// The identity of its table.
    pub table_id: &'a str,
    /// The request, whose members are shown again.
    pub request: &'a Value,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    /// When it ended.
    pub ended_ms: Option<u64>,
    /// Why it failed.
    pub failure: Option<&'a Failure>,
}

impl TransferDetails<'_> {
    /// An output that has only the description of a transfer of this kind.
    pub(super) fn encode(
        &self,
        member: &str,
        kind: &str,
        write: impl FnOnce(&mut JsonWriter),
    ) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.structure(member, |json| {
            json.string(&format!("{kind}Arn"), self.arn);
            json.string(&format!("{kind}Status"), self.status);
            json.seconds("StartTime", self.started_ms);
            json.optional_seconds("EndTime", self.ended_ms);
            self.echo(json, &["ClientToken"]);
            write(json);
            if let Some(failure) = self.failure {
                json.string("FailureCode", &failure.code);
                json.string("FailureMessage", &failure.message);
            }
        });
        json.finish()
    }

    /// Writes the members that the request had.
    pub(super) fn echo(&self, json: &mut JsonWriter, members: &[&str]) {
        super::echo(json, self.request, members);
    }

    /// A text of the request.
    pub(super) fn requested(&self, member: &str) -> Option<&str> {
        self.request.get(member).and_then(Value::as_str)
    }
}
