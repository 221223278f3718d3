//! A lane that holds a session: it locks contended rows, then lets transactions read and submit.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::future::join3;
use tokio_postgres::types::Type;

use super::contention::Called;
use super::core::{STATEMENT_TIMEOUT, closed, random};
use super::flight::{Folded, Outcome, Parameters, Rows, fly, send, send_plain};
use super::lane::{Attempt, Lane, marking};
use super::member::{Expectation, Member};
use super::reader::Found;
use super::trouble::{Trouble, timed_out};

impl Lane {
    /// Opens a session, commits what is submitted to it, and ends it.
    pub(super) async fn hold(&mut self, called: &Called) {
        let mut left = HashMap::new();
        match self.open(&called.rows).await {
            Ok((nonce, found)) => {
                for row in &called.rows {
                    left.insert(row.clone(), found.get(row).map(|found| found.revision));
                }
                self.core.contention.open(called, found);
                let mut group = self.core.contention.gather(called).await;
                self.core.order.keep_ready(&mut group);
                self.land(group, nonce, &mut left).await;
            }
            Err(trouble) => self.not_opened(trouble).await,
        }
        self.core.contention.close(called, left);
    }

    /// Begins a flight, marks it and locks the rows.
    async fn open(
        &mut self,
        rows: &BTreeSet<Bytes>,
    ) -> Result<(i64, HashMap<Bytes, Found>), Trouble> {
        self.prepare().await?;
        let nonce = random().map_err(Trouble::Failed)?;
        let (Some(link), Some(row)) = (&self.link, &mut self.row) else {
            return Err(Trouble::Failed(closed()));
        };
        // Exclusive changes advance all lanes together with the epoch itself.
        row.epoch = row.epoch.max(self.core.epoch());
        let sql = &self.core.sql;
        let (flight, epoch, sums) = (row.flight + 1, row.epoch as i64, row.sums.encode());
        let rows: Vec<&[u8]> = rows.iter().map(AsRef::as_ref).collect();
        let parameters: Parameters<'_> = vec![(&rows, Type::BYTEA_ARRAY)];
        let mark = marking(&row.id, &flight, &nonce, &epoch, &sums);
        let opening = join3(
            send_plain(link, link.begin),
            send(link, &sql.mark, mark),
            link.query(&sql.lock, &parameters),
        );
        let opened = tokio::time::timeout(STATEMENT_TIMEOUT, opening).await;
        let (begun, marked, locked) = opened.map_err(|_| timed_out())?;
        begun?;
        marked?;
        let mut found = HashMap::new();
        for row in locked? {
            let (key, value): (&[u8], &[u8]) = (row.try_get(0)?, row.try_get(2)?);
            let value = Bytes::copy_from_slice(value);
            found.insert(Bytes::copy_from_slice(key), Found { revision: row.try_get(1)?, value });
        }
        Ok((nonce, found))
    }

    /// The rows could not be locked: finds out why, so that they can be locked later.
    async fn not_opened(&mut self, trouble: Trouble) {
        let looked = match trouble {
            Trouble::Look | Trouble::Aborted => {
                self.roll_back().await;
                self.look_within_time(&mut Vec::new()).await
            }
            Trouble::Conflict => return self.roll_back().await,
            trouble => Err(trouble),
        };
        if let Err(trouble) = looked {
            self.core.is_ill(&trouble);
            self.link = None;
            // Those who wait read without a session when they have waited long enough.
            tokio::time::sleep(super::connection::FIRST_PAUSE).await;
        }
    }

    async fn roll_back(&mut self) {
        let Some(link) = &self.link else { return };
        let rolled_back = link.client.batch_execute("ROLLBACK");
        let rolled_back = tokio::time::timeout(STATEMENT_TIMEOUT, rolled_back).await;
        if !matches!(rolled_back, Ok(Ok(()))) {
            self.link = None;
        }
    }

    /// Commits what was submitted to the session.
    async fn land(
        &mut self,
        mut group: Vec<Member>,
        nonce: i64,
        left: &mut HashMap<Bytes, Expectation>,
    ) {
        self.drop_stale(&mut group);
        if group.is_empty() {
            return self.roll_back().await;
        }
        let attempt = match self.send_rest(&group).await {
            Outcome::Committed => Attempt::Done(Ok(())),
            Outcome::NotCommitted(trouble) => self.not_committed(&mut group, trouble, 1).await,
            Outcome::Unknown(cause) => self.resolve(nonce, cause).await,
        };
        match attempt {
            Attempt::Done(outcome) => {
                if outcome.is_ok() {
                    note(&group, left);
                }
                self.finish(group, &outcome);
            }
            // Without a session: the rows are no longer locked.
            Attempt::Again | Attempt::Later(_) => drop(self.commit(group).await),
        }
    }

    /// Sends the part of a flight that follows its mark.
    async fn send_rest(&mut self, group: &[Member]) -> Outcome {
        let (Some(link), Some(row)) = (&self.link, &mut self.row) else {
            return Outcome::NotCommitted(Trouble::Failed(closed()));
        };
        let sql = &self.core.sql;
        let (sums, moved) = row.with(group);
        let (encoded, folded, rows) = (sums.encode(), Folded::of(&moved), Rows::of(group));
        let mut statements = Vec::new();
        if sums != row.sums {
            let parameters: Parameters<'_> = vec![(&row.id, Type::INT8), (&encoded, Type::BYTEA)];
            statements.push(send(link, &sql.set_sums, parameters));
        }
        statements.extend(rows.statements(link, sql));
        statements.extend(folded.statement(link, sql));
        self.core.counters.flights.fetch_add(1, Ordering::Relaxed);
        let flown = tokio::time::timeout(STATEMENT_TIMEOUT, fly(link, statements)).await;
        let outcome = flown.unwrap_or_else(|_| Outcome::Unknown("it took too long".into()));
        if matches!(outcome, Outcome::Committed) {
            (row.flight, row.sums) = (row.flight + 1, sums);
        }
        outcome
    }
}

/// Notes as what a group leaves the rows it writes.
fn note(group: &[Member], left: &mut HashMap<Bytes, Expectation>) {
    for member in group {
        for (row, value) in &member.writes {
            if let Some(left) = left.get_mut(row) {
                *left = value.as_ref().map(|_| member.revision);
            }
        }
    }
}
