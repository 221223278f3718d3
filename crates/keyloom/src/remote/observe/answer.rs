//! What an answer states: units of capacity, what it returned and what it left unprocessed; and how a request failed.

use keyloom_api::member::{as_object, count, entries};
use keyloom_core::error::{CancellationCode as Code, CancellationReason};
use keyloom_core::json::{self, Json, JsonObject};
use keyloom_core::observation::{Outcome, ThrottleLimit, ThrottleReason};
use keyloom_core::size::item_size;
use keyloom_core::{Error, Item};

use super::request::keys_of;
use crate::retry::AttemptError;

/// The body of an answer, and its size.
pub(super) struct Answer<'a> {
    pub(super) body: JsonObject<'a>,
    pub(super) size_bytes: usize,
}

impl<'a> Answer<'a> {
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        match json::parse(body) {
            Ok(Json::Object(object)) => Some(Self { body: object, size_bytes: body.len() }),
            _ => None,
        }
    }

    /// How many items were returned, of one table if a batch names it, and their bytes.
    pub(super) fn returned(&self, table: &str) -> (usize, usize) {
        let (list, wrapped) = match self.body.get("Responses") {
            Some(Json::Object(tables)) => (tables.get(table), false),
            responses @ Some(_) => (responses, true),
            None => (self.body.get("Items").or_else(|| self.body.get("SearchResults")), false),
        };
        let items: Vec<&Json<'_>> = match list {
            Some(Json::Array(list)) if wrapped => {
                list.iter().filter_map(as_object).filter_map(|one| one.get("Item")).collect()
            }
            Some(Json::Array(list)) => list.iter().collect(),
            _ => self.body.get("Item").into_iter().collect(),
        };
        let size = |item: &&Json<'_>| json::item_from(item).map_or(0, |item| item_size(&item));
        (items.len(), items.iter().map(size).sum())
    }

    /// A number that a page states; no page has more entries than fit 32 bits.
    pub(super) fn stated(&self, member: &str) -> Option<usize> {
        count(&self.body, member).map(|count| count.min(u64::from(u32::MAX)) as usize)
    }

    /// Tables and keys, or whole items of puts, that a batch left.
    pub(super) fn unprocessed(&self) -> Vec<(String, Item)> {
        let tables =
            entries(&self.body, "UnprocessedKeys").chain(entries(&self.body, "UnprocessedItems"));
        let keys = tables.flat_map(|(table, left)| {
            keys_of(left).into_iter().map(move |key| (table.to_owned(), key))
        });
        keys.collect()
    }
}

/// The outcome of a failed request, and the index that refused it if one is named; none if the error is not about keys, and
/// so is only counted as an error. A throttled transaction names the position of the key.
pub(super) fn outcome(failure: &AttemptError, is_write: bool) -> Option<(Outcome, Option<String>)> {
    let AttemptError::Refused(error) = failure else {
        let was_attempted = !matches!(failure, AttemptError::Local(_));
        return was_attempted.then_some((Outcome::Failed, None));
    };
    Some(match error {
        Error::ProvisionedThroughputExceeded(throttled)
        | Error::Throttling(throttled)
        | Error::RequestLimitExceeded(throttled) => {
            let mut stated = throttled.reasons.iter();
            let stated = stated.find_map(|(name, of)| Some((ThrottleReason::from_name(name)?, of)));
            let index = stated.filter(|(reason, _)| reason.is_index);
            let index = index.and_then(|(_, of)| of.rsplit_once("/index/"));
            let reason = stated.map_or(unstated(is_write), |(reason, _)| reason);
            (Outcome::Throttled(reason, 0), index.map(|(_, index)| index.to_owned()))
        }
        Error::ConditionalCheckFailed { .. } | Error::DuplicateItem(_) => {
            (Outcome::ConditionFailed, None)
        }
        Error::TransactionConflict(_) => (Outcome::Conflict, None),
        Error::TransactionCanceled(reasons) => (cancelled(reasons, is_write)?, None),
        _ => return None,
    })
}

/// The reason of a refusal that states none.
pub(super) fn unstated(is_write: bool) -> ThrottleReason {
    ThrottleReason { is_index: false, is_write, limit: ThrottleLimit::Unstated }
}

fn cancelled(reasons: &[CancellationReason], is_write: bool) -> Option<Outcome> {
    let first = |codes: &[Code]| reasons.iter().position(|reason| codes.contains(&reason.code));
    if let Some(at) = first(&[Code::ProvisionedThroughputExceeded, Code::ThrottlingError]) {
        return Some(Outcome::Throttled(unstated(is_write), at));
    }
    if first(&[Code::ConditionalCheckFailed, Code::DuplicateItem]).is_some() {
        return Some(Outcome::ConditionFailed);
    }
    first(&[Code::TransactionConflict]).map(|_| Outcome::Conflict)
}
