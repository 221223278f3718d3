//! A lane: one connection that commits groups of transactions, one flight after the other.
//!
//! A lane has a row in the database. Every flight updates it where it is as the last flight left it,
//! so it is three things at once: a *fence* (a flight of a server that was paused, and whose lane was
//! taken over, fails), the *commit marker* (it holds the nonce of the last flight that committed),
//! and the check of the epoch. A lane whose row only is read would be none of these: what is queued
//! at the server could still commit afterwards.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio_postgres::types::Type;

use super::connection::{Link, Pauses};
use super::core::{Core, PATIENCE, STATEMENT_TIMEOUT, closed, random};
use super::flight::{Folded, Outcome, Parameters, Rows, fly, send, send_plain};
use super::member::{Member, Revision};
use super::order::Turn;
use super::roster::{Row, bury, claim, enroll};
use super::sql::Prepared;
use super::trouble::{Trouble, timed_out};
use crate::{CommitError, StoreError};

/// How often a group is tried while others are in its way.
const ATTEMPTS: usize = 8;

/// How often an idle lane says that it is alive.
const BEAT: Duration = Duration::from_mins(1);

/// One connection that commits.
pub(super) struct Lane {
    pub(super) core: Arc<Core>,
    /// Which of the store's lanes this is.
    number: usize,
    pub(super) link: Option<Link>,
    pub(super) row: Option<Row>,
    /// What its connection prepares.
    flights: Vec<Prepared>,
    /// When it last said that it is alive.
    beaten: Instant,
}

/// How an attempt to commit a group ended.
pub(super) enum Attempt {
    Done(Result<(), CommitError>),
    /// Try again, with what is left of the group.
    Again,
    /// Try again when the database may be well again.
    Later(Trouble),
}

impl Lane {
    pub(super) fn new(core: Arc<Core>, number: usize) -> Self {
        let flights = core.sql.of_flights();
        Self { core, number, link: None, row: None, flights, beaten: Instant::now() }
    }

    /// Commits what arrives until the store is closed.
    pub(super) async fn run(mut self) {
        loop {
            let called = self.core.contention.call();
            if let Some(called) = called {
                // There may be more to do.
                self.core.order.arrived.notify_one();
                self.hold(&called).await;
                continue;
            }
            let wait = match self.core.order.turn(self.number) {
                Turn::Fly(group) => {
                    let has_committed = self.commit(group).await;
                    self.core.order.land(self.number, has_committed);
                    continue;
                }
                Turn::Wait(wait) => wait,
                Turn::Rest if self.core.closing.load(Ordering::Acquire) => {
                    return self.retire().await;
                }
                Turn::Rest => BEAT,
            };
            let woken = tokio::time::timeout(wait, self.core.order.arrived.notified()).await;
            if woken.is_err() && self.beaten.elapsed() >= BEAT {
                // A beat that fails is repeated with the next; the lane is made anew if it is gone.
                drop(self.beat().await);
            }
        }
    }

    async fn beat(&mut self) -> Result<(), Trouble> {
        self.beaten = Instant::now();
        let (Some(link), Some(row)) = (&self.link, &self.row) else { return Ok(()) };
        link.client.execute_typed(&self.core.sql.beat, &[(&row.id, Type::INT8)]).await?;
        self.core.read_clock(link).await
    }

    /// Commits a group and tells its members. Whether the first flight has done it.
    pub(super) async fn commit(&mut self, mut group: Vec<Member>) -> bool {
        let mut pauses = Pauses::within(PATIENCE);
        let mut attempts = 0;
        while !group.is_empty() {
            attempts += 1;
            let outcome = match self.attempt(&mut group, attempts).await {
                Attempt::Done(outcome) => outcome,
                Attempt::Again if attempts < ATTEMPTS => continue,
                Attempt::Again if pauses.pause().await => continue,
                Attempt::Again => Err(CommitError::Conflict),
                Attempt::Later(_) if pauses.pause().await => continue,
                Attempt::Later(trouble) => Err(CommitError::Failed(trouble.into_error())),
            };
            let is_first = attempts == 1 && outcome.is_ok();
            self.finish(group, &outcome);
            return is_first;
        }
        false
    }

    pub(super) fn finish(&self, group: Vec<Member>, outcome: &Result<(), CommitError>) {
        if outcome.is_ok() {
            self.core.counters.commits.fetch_add(group.len() as u64, Ordering::Relaxed);
            self.core.is_well();
        }
        self.core.order.finish(group, outcome);
    }

    /// Tries once to commit a group. Members that cannot commit leave it.
    async fn attempt(&mut self, group: &mut Vec<Member>, attempts: usize) -> Attempt {
        if let Err(trouble) = self.prepare().await {
            self.core.is_ill(&trouble);
            return Attempt::Done(Err(CommitError::Failed(trouble.into_error())));
        }
        self.drop_stale(group);
        if group.is_empty() {
            return Attempt::Again;
        }
        let nonce = match random() {
            Ok(nonce) => nonce,
            Err(error) => return Attempt::Done(Err(CommitError::Failed(error))),
        };
        match self.send(group, nonce).await {
            Outcome::Committed => Attempt::Done(Ok(())),
            Outcome::NotCommitted(trouble) => self.not_committed(group, trouble, attempts).await,
            Outcome::Unknown(cause) => self.resolve(nonce, cause).await,
        }
    }

    /// Makes sure that there is a connection, and a row for the lane.
    pub(super) async fn prepare(&mut self) -> Result<(), Trouble> {
        let mut pauses = Pauses::within(PATIENCE);
        loop {
            if self.link.as_ref().is_none_or(|link| link.client.is_closed()) {
                self.link = Some(self.core.connector.connect_within(PATIENCE).await?);
            }
            match self.equip().await {
                Ok(()) => return Ok(()),
                Err(trouble) if trouble.is_passing() => {
                    self.link = None;
                    if !pauses.pause().await {
                        return Err(trouble);
                    }
                }
                Err(trouble) => return Err(trouble),
            }
        }
    }

    /// Makes sure that the connection has its statements, and the lane its row.
    async fn equip(&mut self) -> Result<(), Trouble> {
        let Some(link) = &mut self.link else { return Err(timed_out()) };
        let prepared = link.prepare(&self.flights);
        tokio::time::timeout(STATEMENT_TIMEOUT, prepared).await.map_err(|_| timed_out())??;
        if self.row.is_none() {
            let enrolled = tokio::time::timeout(STATEMENT_TIMEOUT, enroll(&self.core, link)).await;
            self.row = Some(enrolled.map_err(|_| timed_out())??);
        }
        Ok(())
    }

    /// Refuses members whose epoch is over.
    pub(super) fn drop_stale(&mut self, group: &mut Vec<Member>) {
        let Some(row) = &mut self.row else { return };
        // Exclusive changes advance all lanes together with the epoch itself.
        row.epoch = row.epoch.max(self.core.epoch());
        let epoch = row.epoch;
        let is_stale = |member: &mut Member| member.epoch.is_some_and(|expected| expected != epoch);
        let stale: Vec<Member> = group.extract_if(.., is_stale).collect();
        if !stale.is_empty() {
            self.core.order.finish(stale, &Err(CommitError::Stale));
        }
    }

    /// Sends a flight.
    async fn send(&mut self, group: &[Member], nonce: i64) -> Outcome {
        let (Some(link), Some(row)) = (&self.link, &mut self.row) else {
            return Outcome::NotCommitted(Trouble::Failed(closed()));
        };
        if group.iter().all(|member| member.only_checks() && member.reads.is_empty()) {
            return Outcome::Committed;
        }
        let sql = &self.core.sql;
        let (sums, moved) = row.with(group);
        let (encoded, folded) = (sums.encode(), Folded::of(&moved));
        let (flight, epoch, rows) = (row.flight + 1, row.epoch as i64, Rows::of(group));
        let mark = marking(&row.id, &flight, &nonce, &epoch, &encoded);
        let mut statements = vec![send_plain(link, link.begin), send(link, &sql.mark, mark)];
        statements.extend(rows.statements(link, sql));
        statements.extend(folded.statement(link, sql));
        self.core.counters.flights.fetch_add(1, Ordering::Relaxed);
        let flown = tokio::time::timeout(STATEMENT_TIMEOUT, fly(link, statements)).await;
        let outcome = flown.unwrap_or_else(|_| Outcome::Unknown("it took too long".into()));
        if matches!(outcome, Outcome::Committed) {
            (row.flight, row.sums) = (flight, sums);
        }
        outcome
    }

    /// Nothing was written: finds out why, and who may try again.
    pub(super) async fn not_committed(
        &mut self,
        group: &mut Vec<Member>,
        trouble: Trouble,
        attempts: usize,
    ) -> Attempt {
        match trouble {
            Trouble::Look | Trouble::Aborted => match self.look_within_time(group).await {
                Ok(()) => Attempt::Again,
                Err(trouble) if trouble.is_passing() => {
                    self.link = None;
                    Attempt::Again
                }
                Err(trouble) => Attempt::Done(Err(CommitError::Failed(trouble.into_error()))),
            },
            // Others lock the same rows; who reads again may find another order.
            Trouble::Conflict if attempts > 1 => Attempt::Done(Err(CommitError::Conflict)),
            Trouble::Conflict => Attempt::Again,
            Trouble::Lost(_) | Trouble::Busy(_) => {
                self.core.is_ill(&trouble);
                self.link = None;
                Attempt::Later(trouble)
            }
            Trouble::Failed(error) if group.len() == 1 => {
                Attempt::Done(Err(CommitError::Failed(error)))
            }
            // One bad value must not fail the others: each goes alone.
            Trouble::Failed(_) => {
                for member in std::mem::take(group) {
                    Box::pin(self.commit(vec![member])).await;
                }
                Attempt::Again
            }
        }
    }

    pub(super) async fn look_within_time(
        &mut self,
        group: &mut Vec<Member>,
    ) -> Result<(), Trouble> {
        let looked = tokio::time::timeout(STATEMENT_TIMEOUT, self.look(group)).await;
        looked.unwrap_or_else(|_| Err(timed_out()))
    }

    /// One of our checks failed: looks which. Members that conflict leave the group.
    async fn look(&mut self, group: &mut Vec<Member>) -> Result<(), Trouble> {
        let (Some(link), Some(row)) = (&self.link, &mut self.row) else { return Ok(()) };
        let id: Parameters<'_> = vec![(&row.id, Type::INT8)];
        let Some(found) = link.client.query_typed_opt(&self.core.sql.lane, &id).await? else {
            self.row = None;
            return Ok(());
        };
        let (flight, epoch): (i64, i64) = (found.try_get(0)?, found.try_get(2)?);
        if flight != row.flight {
            // Somebody took the lane for dead and claimed its flight: another one is needed.
            self.row = None;
            return Ok(());
        }
        if epoch as u64 != row.epoch {
            row.epoch = epoch as u64;
            self.core.meet(epoch as u64);
            return Ok(());
        }
        let rows: Vec<&[u8]> =
            group.iter().flat_map(|member| member.reads.keys().map(AsRef::as_ref)).collect();
        let parameters: Parameters<'_> = vec![(&rows, Type::BYTEA_ARRAY)];
        let mut current: HashMap<Bytes, Revision> = HashMap::new();
        for row in link.client.query_typed(&self.core.sql.read, &parameters).await? {
            current.insert(Bytes::copy_from_slice(row.try_get(0)?), row.try_get(1)?);
        }
        let (conflicting, changed) = conflicting(group, current);
        self.core.contention.meet(changed.iter());
        self.core.order.finish(conflicting, &Err(CommitError::Conflict));
        Ok(())
    }

    /// COMMIT was sent and not answered: claims the flight's number on a new connection. If that
    /// succeeds, the flight can never commit; else its nonce says whether it did.
    pub(super) async fn resolve(&mut self, nonce: i64, cause: Arc<str>) -> Attempt {
        if let Some(link) = self.link.take() {
            link.abandon();
        }
        self.core.is_ill(&Trouble::Lost(Arc::clone(&cause)));
        let Some(row) = &mut self.row else { return Attempt::Again };
        let flight = row.flight + 1;
        let mut pauses = Pauses::within(PATIENCE);
        let found = loop {
            match claim(&self.core, row.id, flight).await {
                Ok((link, found)) => {
                    self.link = Some(link);
                    break found;
                }
                Err(trouble) if trouble.is_passing() && pauses.pause().await => {}
                Err(_) => break None,
            }
        };
        match found {
            Some((n, x)) if n == flight && x == nonce => {
                // The row has the flight's counters now; to go on with another lane is simpler than to
                // read them back.
                self.row = None;
                Attempt::Done(Ok(()))
            }
            Some((n, 0)) if n == flight => {
                row.flight = flight;
                Attempt::Again
            }
            // Somebody has removed the lane, or the database does not come back.
            _ => {
                self.row = None;
                Attempt::Done(Err(CommitError::Unknown(StoreError::Unreachable { cause })))
            }
        }
    }

    /// Moves the lane's counters to the totals and removes its row.
    async fn retire(self) {
        // The next lane sees that the store is closed, too.
        self.core.order.arrived.notify_one();
        if let (Some(link), Some(row)) = (&self.link, &self.row) {
            // What is left behind is cleaned up by others when it is old.
            drop(tokio::time::timeout(PATIENCE, bury(&self.core, link, row.id)).await);
        }
    }
}

/// The parameters of the statement that marks a flight in the lane's row.
pub(super) fn marking<'a>(
    id: &'a i64,
    flight: &'a i64,
    nonce: &'a i64,
    epoch: &'a i64,
    sums: &'a Vec<u8>,
) -> Parameters<'a> {
    vec![
        (id, Type::INT8),
        (flight, Type::INT8),
        (nonce, Type::INT8),
        (epoch, Type::INT8),
        (sums, Type::BYTEA),
    ]
}

/// Takes the members out of a group whose reads are not what is stored, or what an earlier member of the
/// group writes. Also returns the rows that are not what they have read.
fn conflicting(
    group: &mut Vec<Member>,
    mut current: HashMap<Bytes, Revision>,
) -> (Vec<Member>, Vec<Bytes>) {
    let mut changed = Vec::new();
    let conflicts = |member: &mut Member| {
        let differs =
            |(row, expected): &(&Bytes, &Option<Revision>)| current.get(*row) != expected.as_ref();
        let before = changed.len();
        changed.extend(member.reads.iter().filter(differs).map(|(row, _)| row.clone()));
        if changed.len() > before {
            return true;
        }
        for (row, value) in &member.writes {
            match value {
                Some(_) => drop(current.insert(row.clone(), member.revision)),
                None => drop(current.remove(row)),
            }
        }
        false
    };
    (group.extract_if(.., conflicts).collect(), changed)
}
