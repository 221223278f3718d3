//! A model of DynamoDB's partitions, fed with the actual traffic.
//!
//! DynamoDB spreads a table, and each global index by itself, over partitions by a hash of the partition key. Each
//! takes 3,000 read and 1,000 write units per second and saves up to five minutes of what it does not use. A
//! partition that is hot for minutes is split in the middle of its traffic, even inside one item collection, unless
//! that would not help. An on-demand table has partitions for twice its previous peak, and for what it was warmed up
//! for. This model says what would be throttled on AWS, and can enforce it.
//!
//! Time is always an argument, so that the same requests at the same times have the same outcome.

mod bucket;
mod growth;
mod heat;
mod meter;
mod partition;
mod sample;
mod space;

use std::collections::HashMap;

use keyloom_core::observation::{
    NotAdmitted, Observation, Outcome, Place, ThrottleLimit, ThrottleReason, Touch,
};
use parking_lot::{Mutex, RwLock};

pub use heat::{PartitionHeat, PlaceHeat};
pub use partition::{PARTITION_READ_UNITS, PARTITION_WRITE_UNITS};
pub use sample::NoSplit;
use space::{Ask, Space};

/// How long AWS keeps unused capacity at most, in seconds.
pub const MAX_BURST_SECONDS: u32 = 300;

/// The virtual partitions of all tables and their global indexes.
#[derive(Debug)]
pub struct Partitions {
    burst_seconds: f64,
    tables: RwLock<HashMap<Box<str>, TablePartitions>>,
}

/// The partitions of one table.
#[derive(Debug, Default)]
struct TablePartitions {
    own: Option<Mutex<Space>>,
    global: Vec<(Box<str>, Mutex<Space>)>,
}

impl TablePartitions {
    fn space(&self, index: Option<&str>) -> Option<&Mutex<Space>> {
        match index {
            None => self.own.as_ref(),
            Some(name) => self.global.iter().find(|(known, _)| **known == *name).map(|(_, s)| s),
        }
    }
}

impl Partitions {
    /// None yet: tables are met when they are touched. Unused capacity is saved for five minutes, and
    /// so much is there at the beginning.
    pub fn new() -> Self {
        Self::with_burst(MAX_BURST_SECONDS)
    }

    /// Partitions that save unused capacity for so long; at least one second's worth is there.
    pub fn with_burst(seconds: u32) -> Self {
        Self { burst_seconds: f64::from(seconds.max(1)), tables: RwLock::default() }
    }

    /// Takes the work from every partition that it touches, or refuses and takes none of it.
    ///
    /// A write that a global index cannot take is refused for the table, with the index's reason.
    pub fn admit(&self, touches: &[Touch<'_>], now_ms: u64) -> Result<(), NotAdmitted> {
        for (position, touch) in touches.iter().enumerate().filter(|(_, touch)| is_followed(touch))
        {
            let earlier = touches.iter().take(position).filter(|earlier| is_followed(earlier));
            let beside = earlier.clone().filter(|earlier| are_together(earlier, touch));
            let taken = self.with_space(&touch.place, now_ms, |space| {
                let beside = beside.map(asked);
                space.take(asked(touch), beside, is_held_together(touch), now_ms)
            });
            if let Err(limit) = taken {
                for earlier in earlier {
                    self.with_space(&earlier.place, now_ms, |space| {
                        space.put_back(asked(earlier), now_ms);
                    });
                }
                return Err(NotAdmitted { touch: position, reason: reason(touch, limit) });
            }
        }
        Ok(())
    }

    /// Takes work that has been done.
    pub fn charge(&self, touches: &[Touch<'_>], now_ms: u64) {
        for touch in touches.iter().filter(|touch| is_followed(touch)) {
            self.with_space(&touch.place, now_ms, |space| space.charge(asked(touch), now_ms));
        }
    }

    /// Takes note of a request that has been carried out, and of what AWS would have refused of it.
    pub fn observe(&self, observation: &Observation<'_>) {
        if !matches!(observation.outcome, Outcome::Done | Outcome::ConditionFailed) {
            return;
        }
        let (now_ms, weight) = (observation.at_ms, observation.weight.get());
        for touch in observation.touches.iter().filter(|touch| is_followed(touch)) {
            self.with_space(&touch.place, now_ms, |space| {
                space.observe(Ask::new(touch, weight), is_held_together(touch), now_ms);
            });
        }
    }

    /// The partitions of a table, or of one of its global indexes; none if it was never touched.
    pub fn heat(&self, table: &str, index: Option<&str>, now_ms: u64) -> Option<PlaceHeat> {
        let tables = self.tables.read();
        let space = tables.get(table)?.space(index)?;
        Some(space.lock().heat(table, index, now_ms))
    }

    /// All partitions of all tables and global indexes, by name; a table comes before its indexes.
    pub fn all(&self, now_ms: u64) -> Vec<PlaceHeat> {
        let tables = self.tables.read();
        let mut places = Vec::new();
        for (name, table) in tables.iter() {
            let own = table.own.iter().map(|space| (None, space));
            let global = table.global.iter().map(|(index, space)| (Some(&**index), space));
            for (index, space) in own.chain(global) {
                places.push(space.lock().heat(name, index, now_ms));
            }
        }
        places.sort_by(|a, b| (&a.table, &a.index).cmp(&(&b.table, &b.index)));
        places
    }

    /// What an on-demand table or global index can take at once because of its previous peak, in read and
    /// write units per second; none if it is no more than at the beginning.
    pub fn grown(&self, table: &str, index: Option<&str>) -> Option<(u64, u64)> {
        let tables = self.tables.read();
        let space = tables.get(table)?.space(index)?;
        let count = space.lock().grown()? as f64;
        Some(((count * PARTITION_READ_UNITS) as u64, (count * PARTITION_WRITE_UNITS) as u64))
    }

    /// Forgets a table with its indexes, or one index.
    pub fn forget(&self, table: &str, index: Option<&str>) {
        let mut tables = self.tables.write();
        match index {
            None => drop(tables.remove(table)),
            Some(index) => {
                if let Some(table) = tables.get_mut(table) {
                    table.global.retain(|(name, _)| **name != *index);
                }
            }
        }
    }

    /// Runs a closure on the partitions of a table or index. A local index shares its table's.
    fn with_space<R>(
        &self,
        place: &Place<'_>,
        now_ms: u64,
        run: impl FnOnce(&mut Space) -> R,
    ) -> R {
        let index = place.index_name().filter(|_| place.is_global_index());
        let follow = |space: &mut Space| {
            space.follow(place, now_ms);
            run(space)
        };
        {
            let tables = self.tables.read();
            if let Some(space) = tables.get(place.table).and_then(|table| table.space(index)) {
                return follow(&mut space.lock());
            }
        }
        let mut tables = self.tables.write();
        let table = tables.entry(place.table.into()).or_default();
        if table.space(index).is_none() {
            let space = Mutex::new(Space::new(place, self.burst_seconds, now_ms));
            match index {
                None => table.own = Some(space),
                Some(name) => table.global.push((name.into(), space)),
            }
        }
        match table.space(index) {
            Some(space) => follow(&mut space.lock()),
            None => follow(&mut Space::new(place, self.burst_seconds, now_ms)),
        }
    }
}

impl Default for Partitions {
    fn default() -> Self {
        Self::new()
    }
}

/// The work of a touch as the partitions have it: where several servers share a table, each supposes that the others do
/// what it does itself, so that all of them together get what there is.
fn asked<'a>(touch: &Touch<'a>) -> Ask<'a> {
    Ask::of_each(touch, touch.place.throughput.servers.max(1))
}

/// Whether a touch is one of partitions that are known: what AWS does with indexes over vectors is not.
fn is_followed(touch: &Touch<'_>) -> bool {
    !touch.place.is_vector
}

/// Whether item collections stay on one partition: local indexes bind those of the table, not those of its global indexes.
fn is_held_together(touch: &Touch<'_>) -> bool {
    touch.place.has_local_indexes && !touch.place.is_global_index()
}

/// Whether two touches of one request may meet the same limits.
fn are_together(a: &Touch<'_>, b: &Touch<'_>) -> bool {
    let space = |touch: &Touch<'_>| touch.place.is_global_index();
    let is_same_space = match (space(a), space(b)) {
        (true, true) => a.place.index_name() == b.place.index_name(),
        (a, b) => a == b,
    };
    is_same_space && a.place.table == b.place.table && a.work.is_write() == b.work.is_write()
}

fn reason(touch: &Touch<'_>, limit: ThrottleLimit) -> ThrottleReason {
    let is_index = touch.place.is_global_index();
    ThrottleReason { is_index, is_write: touch.work.is_write(), limit }
}

#[cfg(test)]
mod tests;
