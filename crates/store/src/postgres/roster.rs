//! The rows of lanes: how a lane gets one, claims a flight's number, and is buried.

use tokio_postgres::types::Type;

use super::connection::Link;
use super::core::{Core, STATEMENT_TIMEOUT, epoch_row, random};
use super::flight::{Folded, Parameters};
use super::member::Member;
use super::sums::Sums;
use super::trouble::{Trouble, timed_out};

/// The lane's row, as its last flight left it.
pub(super) struct Row {
    pub(super) id: i64,
    /// The number of the last flight.
    pub(super) flight: i64,
    pub(super) epoch: u64,
    pub(super) sums: Sums,
}

impl Row {
    /// The lane's counters after a group, and those that its flight moves to the totals.
    pub(super) fn with(&self, group: &[Member]) -> (Sums, Sums) {
        let mut sums = self.sums.clone();
        for member in group {
            sums.add(&member.adds);
        }
        let moved = if sums.is_long() { std::mem::take(&mut sums) } else { Sums::default() };
        (sums, moved)
    }
}

/// Makes a row for a lane, with the epoch held.
pub(super) async fn enroll(core: &Core, link: &Link) -> Result<Row, Trouble> {
    let id = random().map_err(Trouble::Failed)?;
    let client = &link.client;
    client.batch_execute(link.begin).await?;
    let held =
        client.query_typed_opt(&core.sql.share_epoch, &[(&epoch_row(), Type::BYTEA)]).await?;
    let epoch = match held {
        Some(row) => core.meet_row(row.try_get(0)?).map_err(Trouble::Failed)?,
        None => 0,
    };
    let about = format!("keyloom {} process {}", env!("CARGO_PKG_VERSION"), std::process::id());
    let number = epoch as i64;
    let parameters: Parameters<'_> =
        vec![(&id, Type::INT8), (&number, Type::INT8), (&about, Type::TEXT)];
    client.execute_typed(&core.sql.insert_lane, &parameters).await?;
    client.batch_execute("COMMIT").await?;
    core.read_clock(link).await?;
    Ok(Row { id, flight: 0, epoch, sums: Sums::default() })
}

/// Claims a flight's number, and says which number and nonce the lane's row has then.
pub(super) async fn claim(
    core: &Core,
    id: i64,
    flight: i64,
) -> Result<(Link, Option<(i64, i64)>), Trouble> {
    let link = core.connector.connect().await?;
    let claimed = async {
        let client = &link.client;
        client.batch_execute(link.begin).await?;
        let parameters: Parameters<'_> = vec![(&id, Type::INT8), (&flight, Type::INT8)];
        client.execute_typed(&core.sql.claim, &parameters).await?;
        // Written even if the flight was faster: only a transaction that writes waits for a standby, and when it
        // has confirmed this one, it has the flight, too.
        client.execute_typed(&core.sql.beat, &[(&id, Type::INT8)]).await?;
        let row = client.query_typed_opt(&core.sql.lane, &[(&id, Type::INT8)]).await?;
        link.commit().await?;
        let row = row.map(|row| Ok::<_, Trouble>((row.try_get(0)?, row.try_get(1)?)));
        row.transpose()
    };
    let found =
        tokio::time::timeout(STATEMENT_TIMEOUT, claimed).await.map_err(|_| timed_out())??;
    Ok((link, found))
}

/// Moves the counters of a lane, and of all that were not heard of for long, to the totals and removes
/// their rows.
pub(super) async fn bury(core: &Core, link: &Link, id: i64) -> Result<(), Trouble> {
    let (client, sql) = (&link.client, &core.sql);
    client.batch_execute(link.begin).await?;
    let dead = client.query_typed(&sql.dead_lanes, &[(&id, Type::INT8)]).await?;
    let (mut ids, mut sums): (Vec<i64>, Sums) = Default::default();
    for row in dead {
        ids.push(row.try_get(0)?);
        sums.add(&Sums::decode(row.try_get(1)?).map_err(Trouble::Failed)?.0);
    }
    if let Some(fold) = Folded::of(&sums).statement(link, sql) {
        fold.await?;
    }
    client.execute_typed(&sql.delete_lanes, &[(&ids, Type::INT8_ARRAY)]).await?;
    client.batch_execute("COMMIT").await?;
    Ok(())
}
