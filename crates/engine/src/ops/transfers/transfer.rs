//! What exports, imports and bulk operations have in common: their records and how they end.

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::Result;
use keyloom_store::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::catalog::TableRecord;
use crate::database::Inner;
use crate::ops::paging;
use crate::ops::tables::description::seconds;
use crate::{identity, resource};

use super::bucket::Failure;

/// How long a client token names the transfer that it started.
const TOKEN_MS: u64 = 8 * 60 * 60 * 1000;

const MAX_PAGE: usize = 25;

/// What its failures are listed under.
pub(super) const WORK: &str = "exports and imports";

/// A transfer from its request to its end. What one kind of transfer has beside that is `Work`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Transfer<Work> {
    /// The last part of the ARN.
    pub(super) id: String,
    pub(super) table: String,
    pub(super) table_id: String,
    /// The whole request.
    pub(super) request: Value,
    pub(super) started_ms: u64,
    pub(super) ended_ms: Option<u64>,
    pub(super) failure: Option<Failure>,
    #[serde(flatten)]
    pub(super) work: Work,
}

/// One kind of transfer.
pub(super) trait Kind: Default + Serialize + DeserializeOwned + Send + 'static {
    /// What its records and ARNs call it.
    const NAME: &'static str;

    /// The status of one that has not failed.
    fn status(&self, has_ended: bool) -> &'static str {
        if has_ended { "COMPLETED" } else { "IN_PROGRESS" }
    }
}

impl<Work: Kind> Transfer<Work> {
    /// One that begins now.
    pub(super) fn begin(database: &Inner, table: &TableRecord, request: Value) -> Self {
        let now_ms = database.clock.now_ms();
        Self {
            id: identity::dated(now_ms),
            table: table.name.clone(),
            table_id: table.id.clone(),
            request,
            started_ms: now_ms,
            ended_ms: None,
            failure: None,
            work: Work::default(),
        }
    }

    /// The transfer that the request's token has started already; an error if that request was another.
    pub(super) fn started_before(
        database: &Inner,
        request: &Value,
        conflict: impl FnOnce(&str) -> keyloom_core::Error,
    ) -> Result<Option<Self>> {
        let token_of =
            |request: &Value| request.get("ClientToken").and_then(Value::as_str).map(str::to_owned);
        let Some(token) = token_of(request) else { return Ok(None) };
        let now_ms = database.clock.now_ms();
        let same_token = |transfer: &Self| {
            token_of(&transfer.request).as_ref() == Some(&token)
                && now_ms.saturating_sub(transfer.started_ms) < TOKEN_MS
        };
        match Self::all(database)?.into_iter().find(same_token) {
            Some(transfer) if transfer.request != *request => Err(conflict(&token)),
            transfer => Ok(transfer),
        }
    }

    fn all(database: &Inner) -> Result<Vec<Self>> {
        resource::all(database, Work::NAME)
    }

    /// The transfer at the end of an ARN.
    pub(super) fn find(database: &Inner, id: &str) -> Result<Option<Self>> {
        resource::get(database, Work::NAME, id)
    }

    pub(super) fn store(&self, database: &Inner) -> Result<()> {
        resource::put(database, Work::NAME, &self.id, self)
    }

    /// Stores that it is over.
    pub(super) fn end(self, database: &Inner, outcome: Result<(), Failure>) -> Result<()> {
        let ended = self.ended(database, outcome);
        database.patiently(WORK, || ended.store(database))
    }

    /// The transfer when it is over.
    pub(super) fn ended(mut self, database: &Inner, outcome: Result<(), Failure>) -> Self {
        self.failure = outcome.err();
        self.ended_ms = Some(database.clock.now_ms());
        self
    }

    /// Its record as it is stored in a commit with others.
    pub(super) fn encoded(&self) -> Result<(Bytes, Bytes)> {
        resource::encode(Work::NAME, &self.id, self)
    }

    /// Those that have not ended.
    pub(super) fn under_way(database: &Inner) -> Result<impl Iterator<Item = Self>> {
        Ok(Self::all(database)?.into_iter().filter(|transfer| transfer.ended_ms.is_none()))
    }

    /// Ends those that were under way when the database was closed.
    pub(super) fn abandon(database: &Inner) -> Result<()> {
        for transfer in Self::under_way(database)? {
            let ended = transfer.ended(database, Err(Failure::interrupted()));
            database.now_or_later(WORK, move |database| ended.store(database));
        }
        Ok(())
    }

    pub(super) fn arn(&self, database: &Inner) -> String {
        format!("{}/{}/{}", database.table_arn(&self.table), Work::NAME, self.id)
    }

    pub(super) fn status(&self) -> &'static str {
        match self.failure {
            Some(_) => "FAILED",
            None => self.work.status(self.ended_ms.is_some()),
        }
    }

    pub(super) fn write_times(&self, json: &mut JsonWriter) {
        seconds(json, "StartTime", self.started_ms);
        if let Some(ms) = self.ended_ms {
            seconds(json, "EndTime", ms);
        }
    }

    pub(super) fn write_failure(&self, json: &mut JsonWriter) {
        if let Some(failure) = &self.failure {
            json.string("FailureCode", &failure.code);
            json.string("FailureMessage", &failure.message);
        }
    }
}

/// A listing of transfers.
pub(super) struct Listing {
    /// The member that limits a page, and its path in messages.
    pub(super) limit: (&'static str, &'static str),
    /// The member with the page.
    pub(super) member: &'static str,
    /// How tokens are written and read.
    pub(super) token: fn(&str) -> String,
    pub(super) decode_token: fn(Option<&str>) -> Result<Option<String>>,
}

impl Listing {
    /// Writes the page that the request asks for.
    pub(super) fn page<Work: Kind>(
        &self,
        database: &Inner,
        fields: &Fields<'_>,
        of_table: Option<&str>,
        write: impl Fn(&mut JsonWriter, &Transfer<Work>),
    ) -> Result<Vec<u8>> {
        let (member, path) = self.limit;
        let limit = fields.integer(member);
        let mut constraints = Constraints::new();
        constraints.range(limit, path, 1, MAX_PAGE as i64);
        constraints.finish()?;
        let after = (self.decode_token)(fields.string("NextToken"))?;
        let transfers = Transfer::<Work>::all(database)?;
        let limit = limit.map_or(MAX_PAGE, |limit| limit as usize);
        let (page, more) = paging::page(transfers.iter(), limit, |transfer| {
            of_table.is_none_or(|table| transfer.table == table)
                && Some(&transfer.id) > after.as_ref()
        });
        let mut json = JsonWriter::object();
        json.list(self.member, &page, |json, transfer| json.nested(|json| write(json, transfer)));
        if let Some(last) = page.last().filter(|_| more) {
            json.string("NextToken", &(self.token)(&last.id));
        }
        Ok(json.finish())
    }
}
