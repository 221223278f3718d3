//! The tables and indexes whose insights are enabled.

use std::collections::HashMap;
use std::sync::Arc;

use keyloom_core::observation::{
    Contributions, InsightQuery, InsightRules, Insights, NotCounted, Observation, Place,
};
use parking_lot::{Mutex, RwLock};

use super::InsightStats;
use super::touched::touched_keys;
use crate::sketch::place_id;

/// Tables and indexes with sketches of the full size, and of any.
const FULL_PLACES: usize = 16;
const MAX_PLACES: usize = 64;

/// What is kept for all rules.
#[derive(Debug, Default)]
pub(crate) struct InsightPlaces {
    known: RwLock<HashMap<u64, Arc<Mutex<InsightStats>>>>,
}

impl InsightPlaces {
    /// Counts one request.
    pub(crate) fn observe(&self, observation: &Observation<'_>) {
        let mut touches = observation.touches.iter();
        let is_wanted = touches.any(|touch| touch.place.insights != Insights::Off);
        if !is_wanted && self.known.read().is_empty() {
            return;
        }
        for touched in touched_keys(observation) {
            let (id, place) =
                (place_id(touched.place.table, index_of(&touched.place)), &touched.place);
            let Insights::On(rules) = place.insights else {
                self.remove(id);
                continue;
            };
            if let Some(stats) = self.stats(id, place, *rules) {
                let mut stats = stats.lock();
                stats.follow(*rules);
                touched.count(&mut stats, observation);
            }
        }
    }

    /// What is kept for a place; none if too many are known.
    fn stats(
        &self,
        id: u64,
        place: &Place<'_>,
        rules: InsightRules,
    ) -> Option<Arc<Mutex<InsightStats>>> {
        if let Some(known) = self.known.read().get(&id) {
            return Some(Arc::clone(known));
        }
        let mut all = self.known.write();
        if all.len() >= MAX_PLACES && !all.contains_key(&id) {
            return None;
        }
        let is_small = all.len() >= FULL_PLACES;
        let new = || InsightStats::new(place.table, index_of(place), rules, is_small);
        Some(Arc::clone(all.entry(id).or_insert_with(|| Arc::new(Mutex::new(new())))))
    }

    /// Insights were disabled there.
    fn remove(&self, id: u64) {
        let is_known = self.known.read().contains_key(&id);
        if is_known {
            self.known.write().remove(&id);
        }
    }

    /// Answers a question about one rule; `name` gives the text of an encoded partition and sort key.
    pub(crate) fn answer(
        &self,
        query: &InsightQuery<'_>,
        name: impl Fn(&[u8], &[u8]) -> Vec<String>,
    ) -> Result<Contributions, NotCounted> {
        let known = self.known.read();
        let stats = known.get(&place_id(query.table, query.index)).cloned();
        let is_full = known.len() >= MAX_PLACES;
        drop(known);
        match stats {
            Some(stats) => Ok(stats.lock().answer(query, name)),
            None if is_full => Err(NotCounted::TooManyPlaces),
            // Unused so far.
            None => Ok(Contributions::default()),
        }
    }

    /// Forgets an index, or a table with all of its indexes if none is named.
    pub(crate) fn forget(&self, table: &str, index: Option<&str>) {
        self.known.write().retain(|_, stats| {
            let stats = stats.lock();
            *stats.table != *table || index.is_some() && stats.index.as_deref() != index
        });
    }

    /// Forgets what was counted everywhere.
    pub(crate) fn clear(&self) {
        self.known.write().clear();
    }
}

/// The index whose rules a place has; none if those are its table's.
fn index_of<'a>(place: &Place<'a>) -> Option<&'a str> {
    place.index_name().filter(|_| !place.is_local_index())
}
