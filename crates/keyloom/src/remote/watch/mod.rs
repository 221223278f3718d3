//! What an observer is told of requests to an endpoint.
//!
//! The embedded engine tells its observer of every key that it touches. A client knows the keys it asked for and, from
//! `ConsumedCapacity`, what they cost on the table and on each index; the key of an index's entry it knows when it wrote
//! the whole item, or the attributes that make it, or when the answer shows the item. What nobody tells it (which entry a
//! delete removed) counts for the index, and for none of its keys.
//!
//! - [`exchange`]: which items or ranges a request of the client is about; [`stated`] reads the same from requests that
//!   are stated as JSON, [`statement`] and [`executed`] from PartiQL, [`search`] from searches of vectors.
//! - [`described`], [`description`]: the tables, so that keys can be found in items.
//! - [`account`], [`touches`], [`entries`], [`page`]: what each key cost; [`figure`] reads the numbers that are stated.
//! - [`outcome`], [`leftover`]: what was refused, and why.
//! - [`look`] puts it together.
//!
//! Without an observer a request costs one branch more; with one, `ReturnConsumedCapacity` and nearly everything else
//! here happen only for requests that the observer looks at. Only errors are told of all.

mod account;
mod described;
mod description;
mod entries;
mod exchange;
mod executed;
mod figure;
mod leftover;
mod look;
mod outcome;
mod page;
#[cfg(feature = "observe")]
mod report;
mod search;
mod stated;
mod statement;
mod touches;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Instant;

use keyloom_core::Error;
use keyloom_core::json::{self, Json};
use keyloom_core::observation::{Observer, Operation, Outcome};

use self::account::accounts;
use self::described::{Described, Tables};
use self::look::Look;
use super::Remote;
use crate::backend::Earlier;
use crate::retry::Failure;
use crate::wire;
use keyloom_api::JsonWriter;

pub(super) use self::exchange::Exchange;

/// Who watches the requests to an endpoint, and what is known of its tables.
pub(super) struct Watch {
    observer: Arc<dyn Observer>,
    tables: Tables,
}

impl Watch {
    pub(super) fn new(observer: Arc<dyn Observer>) -> Self {
        Self { observer, tables: Tables::default() }
    }

    /// Tells of what failed before it touched a key, and notices changes of tables.
    pub(super) fn sent(&self, operation: &str, body: &[u8], answer: &Result<Vec<u8>, Failure>) {
        match answer {
            Err(Failure::Refused(error)) => self.failed(operation, error),
            Ok(_) if changes_table(operation) => self.table_changed(operation, body),
            // The request goes well whatever becomes of its statements.
            Ok(answer) if operation == stated::STATEMENTS => {
                for error in wire::statement_errors(answer).iter().flatten() {
                    self.failed(operation, error);
                }
            }
            _ => {}
        }
    }

    fn failed(&self, operation: &str, error: &Error) {
        if !Outcome::is_told_of(error) {
            self.observer.failed(operation, error);
        }
    }

    fn table_changed(&self, operation: &str, request: &[u8]) {
        let Ok(Json::Object(request)) = json::parse(request) else { return };
        let Some(Json::Str(name)) = request.get("TableName") else { return };
        self.tables.forget(name);
        let name = described::table_of(name);
        if operation == "DeleteTable" {
            self.observer.forget(name, None);
        }
        for index in description::removed_indexes(&request) {
            self.observer.forget(name, Some(index));
        }
    }

    /// Tells of a refusal that touched keys, though nobody can say which.
    fn refused(&self, operation: &str, answer: &Result<Vec<u8>, Failure>) {
        if let Err(Failure::Refused(error)) = answer
            && Outcome::is_told_of(error)
        {
            self.observer.failed(operation, error);
        }
    }
}

/// Whether a table is no longer what its description says.
fn changes_table(operation: &str) -> bool {
    matches!(operation, "CreateTable" | "UpdateTable" | "UpdateTimeToLive" | "DeleteTable")
}

impl Remote {
    /// Makes a request and reads its answer; tells the observer, if it looks at this one.
    pub(crate) fn exchange<R: Exchange>(&self, input: &R) -> Result<R::Answer, Failure> {
        self.exchange_after(input, Earlier::default())
    }

    /// The same for a request of a batch, after an earlier one that did not do everything.
    pub(crate) fn exchange_after<R: Exchange>(
        &self,
        input: &R,
        earlier: Earlier<'_>,
    ) -> Result<R::Answer, Failure> {
        let watch = self.inner.watch.as_ref();
        let Some((watch, weight)) = watch.and_then(looked_at) else {
            // Under one token there is one body, however often it is sent and whoever looks at it.
            let is_fixed = watch.is_some() && R::KIND == Operation::TransactWriteItems;
            let body = if is_fixed { input.body_with_account() } else { input.body() };
            return R::read(&self.send(R::OPERATION.name(), &body)?);
        };
        let began = Instant::now();
        let sent = self.send(R::OPERATION.name(), &input.body_with_account());
        let look = Look::new(self, watch, R::KIND, weight, began.elapsed(), &sent);
        let answer = sent.and_then(|body| Ok((R::read(&body)?, accounts(&body))));
        let told = answer.as_ref().map(|(answer, paid)| (answer, paid.as_slice()));
        look.after(&look.refused_of(earlier)).told(input, told);
        answer.map(|(answer, _)| answer)
    }

    /// Makes a request that is stated as JSON; tells the observer, if it looks at this one.
    pub(crate) fn state(&self, operation: &str, body: &[u8]) -> Result<Vec<u8>, Failure> {
        let Some(watch) = &self.inner.watch else { return self.send(operation, body) };
        let Some(teller) = stated::teller(operation) else {
            let sent = self.send(operation, body);
            watch.refused(operation, &sent);
            return sent;
        };
        let Some((watch, weight)) = looked_at(watch) else { return self.send(operation, body) };
        let began = Instant::now();
        let sent = self.send(operation, body);
        // What a statement comes down to is known once it is read.
        let look = Look::new(self, watch, Operation::Scan, weight, began.elapsed(), &sent);
        if teller(&look, body, &sent).is_none() {
            match &sent {
                Ok(_) => look.not_understood(),
                Err(_) => watch.refused(operation, &sent),
            }
        }
        sent
    }

    fn described(&self, watch: &Watch, name: &str, index: Option<&str>) -> Option<Arc<Described>> {
        watch.tables.get(name, index, || {
            let mut body = JsonWriter::object();
            body.string("TableName", name);
            let body = body.finish();
            // The program did not ask for this: if it is denied, that is no error of the program's.
            let table = description::read(&self.post("DescribeTable", &body).ok()?)?;
            let ttl = match self.post("DescribeTimeToLive", &body) {
                Ok(body) => description::ttl_attribute(&body),
                // Some emulators do not know this one.
                Err(_) => watch.tables.known(name).and_then(|known| known.ttl.clone()),
            };
            Some(Described { ttl, ..table })
        })
    }
}

/// Whether the observer looks at the next request, and how many it stands for.
fn looked_at(watch: &Watch) -> Option<(&Watch, NonZeroU32)> {
    Some((watch, watch.observer.sample()?))
}
