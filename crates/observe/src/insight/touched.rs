//! The keys that a request accessed, as the rules count them.
//!
//! A local index has no rules of its own, because it is stored in its table's partitions: the cost of its entries is
//! part of the cost of their item.

use keyloom_core::observation::{Observation, Outcome, Place, ThrottleReason, Touch, Work};

use super::{Event, InsightStats};
use crate::sketch::{Load, Seen, hash_of, joined};

/// One key of a table, with its entries in local indexes, or of a global index.
pub(super) struct TouchedKey<'a> {
    pub(super) place: Place<'a>,
    partition: &'a [u8],
    sort: &'a [u8],
    work: Work,
    throttle: Option<ThrottleReason>,
}

/// The keys that a request touched.
pub(super) fn touched_keys<'a>(observation: &Observation<'a>) -> Vec<TouchedKey<'a>> {
    let mut keys: Vec<TouchedKey<'a>> = Vec::with_capacity(observation.touches.len());
    // Of the table that was touched last.
    let mut of_table = None;
    for (position, touch) in observation.touches.iter().enumerate() {
        let throttle = match observation.outcome {
            Outcome::Throttled(reason, at) if at == position => Some(reason),
            _ => None,
        };
        let in_table = touch.place.index.is_none() || touch.place.is_local_index();
        let last = of_table.and_then(|last: usize| keys.get_mut(last));
        if let Some(last) = last.filter(|last| in_table && last.takes(touch)) {
            last.join(touch, throttle);
            continue;
        }
        if in_table {
            of_table = Some(keys.len());
        }
        keys.push(TouchedKey::of(touch, throttle));
    }
    keys
}

impl<'a> TouchedKey<'a> {
    fn of(touch: &Touch<'a>, throttle: Option<ThrottleReason>) -> Self {
        let Touch { place, partition, work, .. } = *touch;
        // An entry of a local index does not have its item's sort key.
        let sort = if place.is_local_index() { &[] } else { touch.sort };
        Self { place, partition, sort, work, throttle }
    }

    /// Whether a touch of the same table, or of its local indexes, is about the same item, or range.
    fn takes(&self, touch: &Touch<'_>) -> bool {
        let is_same = self.place.table == touch.place.table && self.partition == touch.partition;
        is_same && (touch.place.index.is_some() || self.place.index.is_some())
    }

    fn join(&mut self, touch: &Touch<'a>, throttle: Option<ThrottleReason>) {
        if touch.place.index.is_none() {
            self.place = touch.place;
            self.sort = touch.sort;
        }
        let units = self.work.units() + touch.work.units();
        self.work = Work::of(self.work.is_write(), units);
        self.throttle = self.throttle.or(throttle);
    }

    /// Counts it for its partition, and for its item if it is one.
    pub(super) fn count(&self, stats: &mut InsightStats, observation: &Observation<'_>) {
        if self.partition.is_empty() {
            return;
        }
        let event = Event::of(self.work, observation.outcome, self.throttle);
        let hash = hash_of(self.partition);
        let partition = Seen {
            hash,
            partition: self.partition,
            sort: &[],
            load: Load::default(),
            weight: u64::from(observation.weight.get()),
            at_ms: observation.at_ms,
            is_throttled: false,
            written_bytes: 0,
        };
        stats.count(&partition, event);
        if !self.sort.is_empty() {
            let hash = joined(hash, hash_of(self.sort));
            stats.count(&Seen { hash, sort: self.sort, ..partition }, event);
        }
    }
}
