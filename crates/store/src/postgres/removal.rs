//! The removal of everything under a prefix: entries, nodes and what lies under them, logs, counters.

use std::ops::Bound;

use bytes::Bytes;
use tokio_postgres::types::Type;

use super::connection::Link;
use super::core::Core;
use super::flight::{Folded, Parameters};
use super::keys::{self, Step};
use super::sums::Sums;
use super::trouble::Trouble;
use crate::{KeyRange, StoreError};

/// Removes everything whose key begins with `prefix`, so many rows per transaction.
pub(super) async fn remove(core: &Core, prefix: &[u8], chunk: usize) -> Result<(), StoreError> {
    let (mut space, mut rest) = (keys::ROOT.to_vec(), prefix);
    while let Step::Node(node, after) = keys::step(&space, rest) {
        let Some(id) = value_of(core, &node).await? else { return Ok(()) };
        (space, rest) = (keys::space_of(&id), after);
    }
    remove_rows(core, &space, &KeyRange::prefix(rest), chunk).await?;
    forget(core, prefix).await
}

/// Removes the rows of a range, those under a node before the node.
async fn remove_rows(
    core: &Core,
    space: &[u8],
    range: &KeyRange,
    chunk: usize,
) -> Result<(), StoreError> {
    let (mut first, last) = keys::rows(space, range);
    let (length, limit) = (keys::node_length(space) as i32, chunk as i64);
    loop {
        let found = core.control(async |link: &Link| {
            let parameters: Parameters<'_> = vec![
                (&first, Type::BYTEA),
                (&last, Type::BYTEA),
                (&limit, Type::INT8),
                (&length, Type::INT4),
            ];
            let rows = link.client.query_typed(&core.sql.to_remove, &parameters).await?;
            let pair = |row: &tokio_postgres::Row| {
                let (row, id): (&[u8], Option<&[u8]>) = (row.try_get(0)?, row.try_get(1)?);
                Ok((Bytes::copy_from_slice(row), id.map(Bytes::copy_from_slice)))
            };
            rows.iter().map(pair).collect::<Result<Vec<_>, Trouble>>()
        });
        let found = found.await?;
        let Some((end, _)) = found.last() else { return Ok(()) };
        first = [end, &[0][..]].concat();
        for id in found.iter().filter_map(|(_, id)| id.as_ref()) {
            Box::pin(remove_rows(core, &keys::space_of(id), &KeyRange::all(), chunk)).await?;
        }
        let rows: Vec<&[u8]> = found.iter().map(|(row, _)| row.as_ref()).collect();
        core.control(async |link: &Link| {
            link.client.execute_typed(&core.sql.remove, &[(&rows, Type::BYTEA_ARRAY)]).await?;
            Ok(())
        })
        .await?;
    }
}

async fn value_of(core: &Core, row: &[u8]) -> Result<Option<Bytes>, StoreError> {
    core.control(async |link: &Link| {
        let rows = vec![row];
        let parameters: Parameters<'_> = vec![(&rows, Type::BYTEA_ARRAY)];
        let found = link.client.query_typed_opt(&core.sql.read, &parameters).await?;
        let Some(found) = found else { return Ok(None) };
        Ok(Some(Bytes::copy_from_slice(found.try_get(2)?)))
    })
    .await
}

/// Removes the last numbers of logs, and sets counters to zero: what lanes still hold of them is
/// subtracted from the totals, to which they will add it.
async fn forget(core: &Core, prefix: &[u8]) -> Result<(), StoreError> {
    let range = KeyRange::prefix(prefix);
    let Bound::Excluded(end) = range.upper else {
        // No name ends the prefix, so there is no upper bound but one longer than any name.
        return forget_between(core, prefix, &[&[0xFF; 64][..], prefix].concat()).await;
    };
    forget_between(core, prefix, &end).await
}

async fn forget_between(core: &Core, first: &[u8], end: &[u8]) -> Result<(), StoreError> {
    core.control(async |link: &Link| {
        let client = &link.client;
        let range: Parameters<'_> = vec![(&first, Type::BYTEA), (&end, Type::BYTEA)];
        client.batch_execute(link.begin).await?;
        client.execute_typed(&core.sql.delete_totals, &range).await?;
        client.execute_typed(&core.sql.delete_tails, &range).await?;
        let none: Vec<&[u8]> = Vec::new();
        let lanes = client.query_typed(&core.sql.sums, &[(&none, Type::BYTEA_ARRAY)]).await?;
        let mut owed = Sums::default();
        for lane in lanes {
            let held = Sums::decode(lane.try_get(0)?).map_err(Trouble::Failed)?;
            let held = held.0.into_iter().filter(|(name, _)| **name >= *first && **name < *end);
            let negative: Vec<(Bytes, i64)> = held.map(|(name, sum)| (name, -sum)).collect();
            owed.add(negative.iter().map(|(name, sum)| (name, sum)));
        }
        if let Some(fold) = Folded::of(&owed).statement(link, &core.sql) {
            fold.await?;
        }
        client.batch_execute("COMMIT").await?;
        Ok(())
    })
    .await
}
