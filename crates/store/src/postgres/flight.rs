//! One commit: the statements for a group of transactions, sent in one go.
//!
//! | for | statement | fails if |
//! |---|---|---|
//! | fence, epoch, commit marker, counters | update the lane's row where it is as we left it | we were fenced, or the epoch is over |
//! | read present, written | update where the revision is the one that was read | it was changed |
//! | read present, removed | delete where the revision is the one that was read | it was changed |
//! | read present, only checked | lock where the revision is the one that was read | it was changed |
//! | read absent, written | plain insert | it is there |
//! | read absent, only checked | insert, then delete | it is there |
//! | not read (index entries) | insert or update; delete | – |
//! | logs, last | advance the logs' last numbers and insert the records | – |
//!
//! Rows are locked in the order lane, keys, logs. Each statement locks its keys in their own order, and if several
//! would lock keys that were read as present, one before them locks them all: else two flights that each
//! update what the other deletes could wait for each other in a circle. Those that make a row which is not there yet still
//! can, and so can index entries of items that are not read; the database ends that, and the flight is repeated.
//! Transactions of a group that write one key chain: what the first has read is checked, what the last has written is
//! stored.

use std::collections::BTreeMap;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio_postgres::Error;
use tokio_postgres::types::{ToSql, Type};

use super::connection::Link;
use super::member::{Expectation, Member, Revision};
use super::sql::Sql;
use super::sums::Sums;
use super::trouble::Trouble;
use crate::numbering::Append;

/// What became of a flight.
#[derive(Debug)]
pub(super) enum Outcome {
    Committed,
    /// Nothing was written.
    NotCommitted(Trouble),
    /// COMMIT was sent and not answered, or not plainly.
    Unknown(std::sync::Arc<str>),
}

/// A statement on its way.
pub(super) type Sent<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

/// Parameters with their types.
pub(super) type Parameters<'a> = Vec<(&'a (dyn ToSql + Sync), Type)>;

/// Sends a statement when it is first polled.
pub(super) fn send<'a>(link: &'a Link, sql: &'a str, parameters: Parameters<'a>) -> Sent<'a> {
    Box::pin(link.execute(sql, parameters))
}

/// Sends statements without parameters.
pub(super) fn send_plain<'a>(link: &'a Link, sql: &'a str) -> Sent<'a> {
    Box::pin(async move { link.client.batch_execute(sql).await })
}

/// One column of many rows.
type Column<'a> = Vec<&'a [u8]>;

/// The rows that a group touches, by what is done with them.
#[derive(Default)]
pub(super) struct Rows<'a> {
    /// What several statements would lock, in order; empty if it is one.
    lock: Column<'a>,
    update: (Column<'a>, Vec<Revision>, Column<'a>, Vec<Revision>),
    delete: (Column<'a>, Vec<Revision>),
    check: (Column<'a>, Vec<Revision>),
    insert: (Column<'a>, Column<'a>, Vec<Revision>),
    probe: Column<'a>,
    upsert: (Column<'a>, Column<'a>, Vec<Revision>),
    remove: Column<'a>,
    logs: (Column<'a>, Vec<i64>, Vec<i64>),
    records: (Column<'a>, Column<'a>, Vec<i64>),
    record_revision: Revision,
    counts: [i64; 3],
}

/// What a group does with one row.
#[derive(Default)]
struct RowPlan<'a> {
    expected: Option<Expectation>,
    written: Option<(Option<&'a Bytes>, Revision)>,
}

impl<'a> Rows<'a> {
    /// What these transactions do, one after the other.
    pub(super) fn of(members: &'a [Member]) -> Self {
        let mut plans: BTreeMap<&[u8], RowPlan<'_>> = BTreeMap::new();
        for member in members {
            for (row, expected) in &member.reads {
                let plan = plans.entry(row).or_default();
                // What an earlier one of the group has written needs no check.
                if plan.written.is_none() {
                    plan.expected.get_or_insert(*expected);
                }
            }
            for (row, value) in &member.writes {
                plans.entry(row).or_default().written = Some((value.as_ref(), member.revision));
            }
        }
        let mut rows = Self::default();
        let is_read = |plan: &RowPlan<'_>| matches!(plan.expected, Some(Some(_)));
        let read: Column<'_> =
            plans.iter().filter(|(_, plan)| is_read(plan)).map(|(row, _)| *row).collect();
        for (row, plan) in plans {
            rows.take(row, plan);
        }
        let kinds = [&rows.check.0, &rows.update.0, &rows.delete.0];
        if kinds.iter().filter(|rows| !rows.is_empty()).count() > 1 {
            rows.lock = read;
        }
        rows.append(members.iter().flat_map(|member| &member.appends));
        rows.record_revision = members.first().map_or(0, |member| member.revision);
        rows.counts =
            [rows.update.0.len(), rows.delete.0.len(), rows.check.0.len()].map(|n| n as i64);
        rows
    }

    fn take(&mut self, row: &'a [u8], plan: RowPlan<'a>) {
        match (plan.expected, plan.written) {
            (Some(Some(read)), Some((Some(value), revision))) => {
                self.update.0.push(row);
                self.update.1.push(read);
                self.update.2.push(value);
                self.update.3.push(revision);
            }
            (Some(Some(read)), Some((None, _))) => {
                self.delete.0.push(row);
                self.delete.1.push(read);
            }
            (Some(Some(read)), None) => {
                self.check.0.push(row);
                self.check.1.push(read);
            }
            (Some(None), Some((Some(value), revision))) => {
                self.insert.0.push(row);
                self.insert.1.push(value);
                self.insert.2.push(revision);
            }
            (Some(None), Some((None, _)) | None) => self.probe.push(row),
            (None, Some((Some(value), revision))) => {
                self.upsert.0.push(row);
                self.upsert.1.push(value);
                self.upsert.2.push(revision);
            }
            (None, Some((None, _))) => self.remove.push(row),
            (None, None) => {}
        }
    }

    /// Records in the order of their transactions, so in that of their numbers.
    fn append(&mut self, appends: impl Iterator<Item = &'a Append>) {
        let mut logs: BTreeMap<&[u8], (i64, i64)> = BTreeMap::new();
        for append in appends {
            let (count, floor) = logs.entry(&append.log).or_insert((0, 1));
            *count += 1;
            *floor = (*floor).max(append.floor as i64);
            self.records.0.push(&append.log);
            self.records.1.push(&append.record);
            self.records.2.push(*count);
        }
        for (log, (count, floor)) in logs {
            self.logs.0.push(log);
            self.logs.1.push(count);
            self.logs.2.push(floor);
        }
    }

    /// The statements, in the order in which they lock rows.
    pub(super) fn statements<'b>(&'b self, link: &'b Link, sql: &'b Sql) -> Vec<Sent<'b>> {
        let (keys, numbers) = (Type::BYTEA_ARRAY, Type::INT8_ARRAY);
        let [updated, deleted, checked] = &self.counts;
        let mut sent = Vec::new();
        if !self.lock.is_empty() {
            sent.push(send(link, &sql.lock_only, vec![(&self.lock, keys.clone())]));
        }
        if !self.check.0.is_empty() {
            let parameters: Parameters<'_> = vec![
                (&self.check.0, keys.clone()),
                (&self.check.1, numbers.clone()),
                (checked, Type::INT8),
            ];
            sent.push(send(link, &sql.check, parameters));
        }
        if !self.update.0.is_empty() {
            let (rows, read, values, revisions) = &self.update;
            let parameters: Parameters<'_> = vec![
                (rows, keys.clone()),
                (read, numbers.clone()),
                (values, keys.clone()),
                (revisions, numbers.clone()),
                (updated, Type::INT8),
            ];
            sent.push(send(link, &sql.update, parameters));
        }
        if !self.delete.0.is_empty() {
            let parameters: Parameters<'_> = vec![
                (&self.delete.0, keys.clone()),
                (&self.delete.1, numbers.clone()),
                (deleted, Type::INT8),
            ];
            sent.push(send(link, &sql.delete, parameters));
        }
        for ((rows, values, revisions), sql) in
            [(&self.insert, &sql.insert), (&self.upsert, &sql.upsert)]
        {
            if !rows.is_empty() {
                let parameters: Parameters<'_> = vec![
                    (rows, keys.clone()),
                    (values, keys.clone()),
                    (revisions, numbers.clone()),
                ];
                sent.push(send(link, sql, parameters));
            }
        }
        if !self.probe.is_empty() {
            sent.push(send(link, &sql.probe, vec![(&self.probe, keys.clone())]));
            sent.push(send(link, &sql.unprobe, vec![(&self.probe, keys.clone())]));
        }
        if !self.remove.is_empty() {
            sent.push(send(link, &sql.remove, vec![(&self.remove, keys)]));
        }
        sent.extend(self.appending(link, sql));
        sent
    }

    fn appending<'b>(&'b self, link: &'b Link, sql: &'b Sql) -> Option<Sent<'b>> {
        let (keys, numbers) = (Type::BYTEA_ARRAY, Type::INT8_ARRAY);
        let ((logs, counts, floors), (of, records, positions)) = (&self.logs, &self.records);
        if logs.is_empty() {
            return None;
        }
        let parameters: Parameters<'_> = vec![
            (logs, keys.clone()),
            (counts, numbers.clone()),
            (floors, numbers.clone()),
            (of, keys.clone()),
            (records, keys),
            (positions, numbers),
            (&self.record_revision, Type::INT8),
        ];
        Some(send(link, &sql.append, parameters))
    }
}

/// The counters that a flight moves to the totals.
pub(super) struct Folded<'a> {
    counters: Vec<&'a [u8]>,
    sums: Vec<i64>,
}

impl<'a> Folded<'a> {
    pub(super) fn of(sums: &'a Sums) -> Self {
        let pairs = sums.0.iter().map(|(counter, sum)| (counter.as_ref(), *sum));
        let (counters, sums) = pairs.unzip();
        Self { counters, sums }
    }

    pub(super) fn statement<'b>(&'b self, link: &'b Link, sql: &'b Sql) -> Option<Sent<'b>> {
        let parameters: Parameters<'_> =
            vec![(&self.counters, Type::BYTEA_ARRAY), (&self.sums, Type::INT8_ARRAY)];
        (!self.counters.is_empty()).then(|| send(link, &sql.fold, parameters))
    }
}

/// Sends the statements of a transaction and its COMMIT, and says what became of it.
pub(super) async fn fly(link: &Link, mut statements: Vec<Sent<'_>>) -> Outcome {
    let notices = link.notices();
    statements.push(send_plain(link, "COMMIT"));
    let mut answers = join_all(statements).await;
    let commit = answers.pop().unwrap_or(Ok(()));
    let troubles = answers.into_iter().filter_map(Result::err).map(Trouble::from);
    let mut first = None;
    for trouble in troubles {
        match trouble {
            // The connection broke: the COMMIT behind it may still have arrived.
            Trouble::Lost(cause) => return Outcome::Unknown(cause),
            Trouble::Aborted => {}
            trouble => drop(first.get_or_insert(trouble)),
        }
    }
    if let Some(trouble) = first {
        // After an error COMMIT rolls back, and is answered as if all were well.
        return Outcome::NotCommitted(trouble);
    }
    match commit.map_err(Trouble::from) {
        // A warning with COMMIT says that a standby did not confirm it.
        Ok(()) if link.notices() != notices => {
            Outcome::Unknown("the server sent a warning while it committed".into())
        }
        Ok(()) => Outcome::Committed,
        Err(Trouble::Lost(cause)) => Outcome::Unknown(cause),
        Err(trouble) => Outcome::NotCommitted(trouble),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    /// A transaction that has read these rows as present, and writes some of them.
    fn member(read: &[&'static str], written: &[(&'static str, Option<&'static str>)]) -> Member {
        let row = |row: &'static str| Bytes::from(row);
        Member {
            ticket: 0,
            after: crate::postgres::member::Earlier::new(),
            revision: 1,
            reads: read.iter().map(|name| (row(name), Some(7))).collect(),
            writes: written.iter().map(|(name, value)| (row(name), value.map(row))).collect(),
            keys: Vec::new(),
            appends: Vec::new(),
            adds: BTreeMap::new(),
            epoch: None,
            guards: Mutex::default(),
            done: Arc::default(),
        }
    }

    #[test]
    fn rows_that_several_statements_would_lock_are_locked_before_in_order() {
        let locked = |members: &[Member]| -> Vec<Vec<u8>> {
            Rows::of(members).lock.iter().map(|row| row.to_vec()).collect()
        };
        let updates = member(&["a", "b"], &[("a", Some("1")), ("b", Some("2"))]);
        let deletes = member(&["0"], &[("0", None)]);
        let checks = member(&["c"], &[("entry", Some("3"))]);
        assert!(locked(std::slice::from_ref(&updates)).is_empty(), "one statement locks all");
        assert!(locked(std::slice::from_ref(&deletes)).is_empty());
        assert_eq!(locked(&[updates, deletes, checks]), [b"0", b"a", b"b", b"c"]);
    }
}
