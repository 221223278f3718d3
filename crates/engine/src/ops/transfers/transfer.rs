//! Shared by exports, imports and bulk operations: their records and final states.

use keyloom_api::transfers::{Failure, TransferDetails};
use keyloom_core::error::table::not_authorized;
use keyloom_core::{Error, Result};
use keyloom_store::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::catalog::{Change, TableLocation, TableRecord};
use crate::coordination::Job;
use crate::database::Inner;
use crate::ops::paging;
use crate::{identity, resource};

/// How long a client token names the transfer that it started.
const TOKEN_MS: u64 = 8 * 60 * 60 * 1000;

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
        conflict: impl FnOnce() -> Error,
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
            Some(transfer) if transfer.request != *request => Err(conflict()),
            transfer => Ok(transfer),
        }
    }

    fn all(database: &Inner) -> Result<Vec<Self>> {
        resource::all(database, Work::NAME)
    }

    /// The transfer with this identity.
    pub(super) fn stored(database: &Inner, id: &str) -> Result<Option<Self>> {
        resource::get(database, Work::NAME, id)
    }

    /// The transfer with this ARN, whose end is the identity. As on AWS, those of other accounts are denied, and those
    /// of other regions are not found.
    pub(super) fn find(
        database: &Inner,
        operation: &str,
        arn: &str,
        id: &str,
    ) -> Result<Option<Self>> {
        let table = match database.catalog.locate(arn) {
            TableLocation::Here(table) => table,
            TableLocation::OtherRegion => return Ok(None),
            TableLocation::OtherAccount => {
                return Err(not_authorized(&database.options.account, operation, arn));
            }
        };
        let transfer = Self::stored(database, id)?;
        Ok(transfer.filter(|transfer| transfer.table == table))
    }

    /// Stores it at the end of a change, and that this server does it.
    pub(super) fn begin_job(&self, database: &Inner, change: &Change<'_>) -> Result<()> {
        let (key, claim) = database.claim(&self.job_name())?;
        change.stage(key.to_vec(), Some(claim.to_vec()))?;
        self.commit(change)
    }

    /// Stores it at the end of a change.
    pub(super) fn commit(&self, change: &Change<'_>) -> Result<()> {
        resource::commit(change, Work::NAME, &self.id, Some(self))
    }

    /// The job of doing it.
    pub(super) fn job_name(&self) -> String {
        format!("{} {} {}", Work::NAME, self.table, self.id)
    }

    /// Takes the job, unless another server holds it or has finished it.
    pub(super) fn hold<'a>(&self, database: &'a Inner) -> Result<Option<Job<'a>>> {
        let Some(job) = database.hold_job(&self.job_name())? else { return Ok(None) };
        let stored = Self::stored(database, &self.id)?;
        if stored.is_some_and(|stored| stored.ended_ms.is_none()) {
            return Ok(Some(job));
        }
        job.finish()?;
        Ok(None)
    }

    /// Those whose server has ended.
    pub(super) fn orphans(database: &Inner) -> Result<Vec<Self>> {
        let mut orphans = Vec::new();
        for transfer in Self::under_way(database)? {
            if database.is_idle(&transfer.job_name())? {
                orphans.push(transfer);
            }
        }
        Ok(orphans)
    }

    /// Stores the result, unless another server has taken the job over.
    pub(super) fn end(
        self,
        database: &Inner,
        outcome: Result<(), Failure>,
        job: Job<'_>,
    ) -> Result<()> {
        let ended = self.ended(database, outcome);
        database.patiently(WORK, || {
            let change = database.change()?;
            if job.is_held()? { ended.commit(&change) } else { Ok(()) }
        })?;
        job.finish()
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

    /// Ends those whose server has ended.
    pub(super) fn abandon(database: &Inner) -> Result<()> {
        for transfer in Self::orphans(database)? {
            let job = transfer.job_name();
            let ended = transfer.ended(database, Err(Failure::interrupted()));
            database.now_or_later(WORK, move |database| {
                let change = database.change()?;
                if database.is_idle(&job)? { ended.commit(&change) } else { Ok(()) }
            });
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

    /// What its description says, whatever its kind.
    pub(super) fn details<'a>(&'a self, arn: &'a str) -> TransferDetails<'a> {
        TransferDetails {
            arn,
            status: self.status(),
            table_id: &self.table_id,
            request: &self.request,
            started_ms: self.started_ms,
            ended_ms: self.ended_ms,
            failure: self.failure.as_ref(),
        }
    }

    /// A page of those that are wanted, the newest first, and the identity that the next page follows.
    pub(super) fn page(
        database: &Inner,
        limit: usize,
        after: Option<String>,
        wanted: impl Fn(&Self) -> bool,
    ) -> Result<(Vec<Self>, Option<String>)> {
        let transfers = Self::all(database)?.into_iter().rev();
        let (page, more) = paging::page(transfers, limit, |transfer| {
            after.as_ref().is_none_or(|after| transfer.id < *after) && wanted(transfer)
        });
        let last = page.last().filter(|_| more).map(|transfer| transfer.id.clone());
        Ok((page, last))
    }
}
