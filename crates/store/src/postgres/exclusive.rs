//! Exclusive changes: one version of what every server holds in memory, never two.
//!
//! The change locks the epoch's row and advances the epoch of every lane's row, which waits for the
//! flights under way and makes those behind them fail as *stale*. Then it reads, and commits the new
//! epoch with its writes. New lanes hold the epoch's row while they enroll.

use bytes::Bytes;
use parking_lot::RwLockWriteGuard;
use tokio_postgres::types::Type;

use super::PostgresStore;
use super::connection::{Pauses, Pooled};
use super::core::{
    Core, PATIENCE, STATEMENT_TIMEOUT, decode_epoch, encode_epoch, epoch_row, random,
};
use super::flight::{Folded, Outcome, Parameters, Rows, fly, send};
use super::keys::{self, Step};
use super::member::Member;
use super::sums::Sums;
use super::trouble::{Trouble, timed_out};
use crate::transaction::Staged;
use crate::{CommitError, Exclusive, KeyRange, StoreError};

/// An exclusive change. Its connection must not be idle for two seconds.
pub(super) struct PostgresExclusive<'a> {
    store: &'a PostgresStore,
    connection: Option<Pooled>,
    epoch: u64,
    staged: Staged,
    _alone: RwLockWriteGuard<'a, ()>,
}

impl<'a> PostgresExclusive<'a> {
    /// Closes this process's gate, then everybody's.
    pub(super) fn begin(store: &'a PostgresStore) -> Result<Self, StoreError> {
        let alone = store.locks.lock_everything();
        store.core.order.settle();
        let (pooled, epoch) = store.core.run(begin(&store.core))?;
        let connection = Some(pooled);
        Ok(Self { store, connection, epoch, staged: Staged::default(), _alone: alone })
    }

    /// Runs a statement on the change's connection.
    fn read(
        &self,
        sql: fn(&super::sql::Sql) -> &str,
        parameters: Vec<(Vec<u8>, Type)>,
    ) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        let Some(pooled) = &self.connection else { return Err(super::core::closed()) };
        let (client, core) = (&pooled.link.client, &self.store.core);
        core.run(async move {
            let parameters: Parameters<'_> =
                parameters.iter().map(|(value, kind)| (value as _, kind.clone())).collect();
            let rows = client.query_typed(sql(&core.sql), &parameters);
            let rows = tokio::time::timeout(STATEMENT_TIMEOUT, rows).await;
            let rows = rows.map_err(|_| timed_out().into_error())?;
            let rows = rows.map_err(|error| Trouble::from(error).into_error())?;
            let entry = |row: &tokio_postgres::Row| {
                let (key, value): (&[u8], &[u8]) = (row.try_get(0)?, row.try_get(1)?);
                Ok((Bytes::copy_from_slice(key), Bytes::copy_from_slice(value)))
            };
            let entries = rows.iter().map(entry).collect::<Result<_, tokio_postgres::Error>>();
            entries.map_err(|error| Trouble::from(error).into_error())
        })
    }

    fn rows_between(
        &self,
        first: Vec<u8>,
        last: Vec<u8>,
    ) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        self.read(|sql| &sql.read_all, vec![(first, Type::BYTEA), (last, Type::BYTEA)])
    }

    /// The entries of a range of a space, with those under its nodes.
    fn scan_space(
        &self,
        space: &[u8],
        prefix: &[u8],
        range: &KeyRange,
        found: &mut Vec<(Bytes, Bytes)>,
    ) -> Result<(), StoreError> {
        let (first, last) = keys::rows(space, range);
        for (row, value) in self.rows_between(first, last)? {
            if let Some(node) = keys::node_prefix(space, &row) {
                let under = keys::under_node(range, node);
                self.scan_space(&keys::space_of(&value), &[prefix, node].concat(), &under, found)?;
            } else {
                let inside = row.get(space.len()..).unwrap_or_default();
                found.push(([prefix, inside].concat().into(), value));
            }
        }
        Ok(())
    }

    fn stored(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let (mut space, mut rest) = (keys::ROOT.to_vec(), key);
        loop {
            let (row, after) = match keys::step(&space, rest) {
                Step::Row(row) => (row, None),
                Step::Node(node, after) => (node, Some(after)),
            };
            let found = self.rows_between(row.to_vec(), [&row, &[0][..]].concat())?.pop();
            match (found, after) {
                (None, _) => return Ok(None),
                (Some((_, value)), None) => return Ok(Some(value)),
                (Some((_, id)), Some(after)) => (space, rest) = (keys::space_of(&id), after),
            }
        }
    }
}

/// Locks the epoch and stops all lanes.
async fn begin(core: &Core) -> Result<(Pooled, u64), StoreError> {
    let mut pauses = Pauses::within(PATIENCE);
    loop {
        let begun = match core.control.take(&core.connector, PATIENCE).await {
            Ok(pooled) => {
                let locked = tokio::time::timeout(STATEMENT_TIMEOUT, lock(core, &pooled)).await;
                locked.unwrap_or_else(|_| Err(timed_out())).map(|epoch| (pooled, epoch))
            }
            Err(trouble) => Err(trouble),
        };
        match begun {
            Ok(begun) => return Ok(begun),
            Err(trouble) if trouble.is_passing() && pauses.pause().await => {}
            Err(trouble) => return Err(trouble.into_error()),
        }
    }
}

async fn lock(core: &Core, pooled: &Pooled) -> Result<u64, Trouble> {
    let client = &pooled.link.client;
    client.batch_execute(pooled.link.begin).await?;
    let row = client.query_typed_one(&core.sql.lock_epoch, &[(&epoch_row(), Type::BYTEA)]).await?;
    let epoch = core.meet_row(row.try_get(0)?).map_err(Trouble::Failed)?;
    let next = epoch as i64 + 1;
    client.execute_typed(&core.sql.advance_lanes, &[(&next, Type::INT8)]).await?;
    Ok(epoch)
}

/// Sends the writes and COMMIT; finds out what became of them if that is not known.
async fn commit(
    core: &Core,
    pooled: Pooled,
    member: Member,
    epoch: u64,
) -> Result<u64, CommitError> {
    let nonce = random().map_err(CommitError::Failed)?;
    let (next, key) = (epoch + 1, epoch_row());
    let outcome = {
        let (link, sql) = (&pooled.link, &core.sql);
        let mut sums = Sums::default();
        sums.add(&member.adds);
        let members = [member];
        let (rows, folded, row) =
            (Rows::of(&members), Folded::of(&sums), encode_epoch(next, nonce));
        let mut statements = rows.statements(link, sql);
        statements.extend(folded.statement(link, sql));
        let parameters: Parameters<'_> = vec![(&key, Type::BYTEA), (&row, Type::BYTEA)];
        statements.push(send(link, &sql.set_epoch, parameters));
        let flown = tokio::time::timeout(STATEMENT_TIMEOUT, fly(link, statements)).await;
        flown.unwrap_or_else(|_| Outcome::Unknown("it took too long".into()))
    };
    let cause = match outcome {
        Outcome::Committed => {
            core.control.put_back(pooled);
            core.meet(next);
            return Ok(next);
        }
        Outcome::NotCommitted(Trouble::Failed(error)) => return Err(CommitError::Failed(error)),
        Outcome::NotCommitted(_) => return Err(CommitError::Conflict),
        Outcome::Unknown(cause) => cause,
    };
    pooled.link.abandon();
    // The change holds the epoch's row since its beginning, so whoever gets it knows the outcome.
    let held = core.control(async |link: &super::connection::Link| {
        let client = &link.client;
        client.batch_execute(link.begin).await?;
        let row = client.query_typed_one(&core.sql.lock_epoch, &[(&key, Type::BYTEA)]).await?;
        link.commit().await?;
        decode_epoch(row.try_get(0)?).map_err(Trouble::Failed)
    });
    match held.await {
        Ok((_, found)) if found == nonce => {
            core.meet(next);
            Ok(next)
        }
        Ok((now, _)) if now == epoch => Err(CommitError::Conflict),
        // Another change came right behind: it may have followed ours.
        Ok(_) | Err(_) => Err(CommitError::Unknown(StoreError::Unreachable { cause })),
    }
}

impl Exclusive for PostgresExclusive<'_> {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        match self.staged.writes.get(key) {
            Some(own) => Ok(own.clone()),
            None => self.stored(key),
        }
    }

    fn scan(&self, range: KeyRange) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        let mut found = Vec::new();
        if !range.is_empty() {
            self.scan_space(keys::ROOT, &[], &range, &mut found)?;
        }
        Ok(self.staged.laid_over(found.into_iter().collect(), &range))
    }

    fn put(&mut self, key: Bytes, value: Bytes) {
        self.staged.put(key, value);
    }

    fn delete(&mut self, key: Bytes) {
        self.staged.delete(key);
    }

    fn append(&mut self, log: Bytes, floor: u64, record: Bytes) {
        self.staged.append(log, floor, record);
    }

    fn add(&mut self, counter: Bytes, delta: i64) {
        self.staged.add(counter, delta);
    }

    fn commit(mut self: Box<Self>) -> Result<u64, CommitError> {
        super::transaction::check_limits(&self.staged).map_err(CommitError::Failed)?;
        let staged = std::mem::take(&mut self.staged);
        let made =
            super::transaction::member(self.store, staged, &std::collections::BTreeMap::new());
        let (member, _) = made.map_err(CommitError::Failed)?;
        let pooled = self.connection.take();
        let pooled = pooled.ok_or_else(|| CommitError::Failed(super::core::closed()))?;
        let core = &self.store.core;
        core.run(commit(core, pooled, member, self.epoch))
    }
}

impl Drop for PostgresExclusive<'_> {
    fn drop(&mut self) {
        if let Some(pooled) = self.connection.take() {
            let core = &self.store.core;
            // Waited for: the locks must be free when this returns.
            core.run(async move {
                let rolled_back = pooled.link.client.batch_execute("ROLLBACK");
                let rolled_back = tokio::time::timeout(STATEMENT_TIMEOUT, rolled_back).await;
                if matches!(rolled_back, Ok(Ok(()))) {
                    core.control.put_back(pooled);
                }
            });
        }
    }
}
