//! Billing mode, provisioned throughput, on-demand limits and warm throughput.

use keyloom_api::tables::{IndexUpdate, UpdateTableInput};
use keyloom_core::error::{request, table as message};
use keyloom_core::{Result, limits};

use crate::catalog::record::{Billing, OnDemandLimit, Throughput};
use crate::ops::tables::description::warm_of;

use super::{Update, vectors};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const HOUR_MS: u64 = 60 * 60 * 1000;
/// Decreases of a day that need not be an hour apart.
const FREE_DECREASES: u32 = 4;

/// Applies everything about capacity that concerns the table itself.
pub(super) fn apply(input: &UpdateTableInput, update: &mut Update) -> Result<()> {
    let was_on_demand = update.record.billing.on_demand;
    let on_demand = input.on_demand.unwrap_or(was_on_demand);
    if on_demand && input.throughput.is_some() {
        return Err(request::throughput_on_demand());
    }
    if input.on_demand == Some(false) && input.throughput.is_none() {
        return Err(message::switch_without_throughput());
    }
    check_on_demand_limit(input.on_demand_limit.as_ref(), on_demand)?;
    match (was_on_demand, on_demand) {
        (false, true) => switch_to_on_demand(update)?,
        (true, false) => switch_to_provisioned(input, update)?,
        (false, false) => {
            if let Some(throughput) = input.throughput {
                change_throughput(&mut update.record.billing, throughput, update.now_ms)?;
            }
        }
        (true, true) => {}
    }
    let billing = &mut update.record.billing;
    billing.stated |= input.on_demand.is_some();
    if let Some(limit) = &input.on_demand_limit {
        billing.on_demand_limit = merged(billing.on_demand_limit, *limit);
    }
    if let Some(warm) = input.warm {
        billing.warm = Some(raised(warm_of(billing.warm, billing), warm)?);
    }
    // The answer shows the throughput that is still in effect, unless the mode changes.
    let mut shown = billing.clone();
    if was_on_demand == on_demand {
        shown.throughput = update.shown.billing.throughput;
        shown.decreases_today = update.shown.billing.decreases_today;
    }
    update.shown.billing = shown;
    Ok(())
}

/// An on-demand limit must be positive, or −1 to remove it, and needs an on-demand table.
pub(super) fn check_on_demand_limit(limit: Option<&OnDemandLimit>, on_demand: bool) -> Result<()> {
    let Some(limit) = limit else { return Ok(()) };
    let members = [("MaxReadRequestUnits", limit.read), ("MaxWriteRequestUnits", limit.write)];
    if !on_demand && let Some((member, _)) = members.iter().find(|(_, value)| value.is_some()) {
        return Err(message::on_demand_limit_needs_on_demand(member));
    }
    for (member, value) in members {
        if value.is_some_and(|value| value == 0 || value < -1) {
            return Err(message::on_demand_limit_out_of_range(member));
        }
    }
    Ok(())
}

/// A limit with the members that a request names; −1 removes one.
pub(super) fn merged(
    current: Option<OnDemandLimit>,
    change: OnDemandLimit,
) -> Option<OnDemandLimit> {
    let current = current.unwrap_or_default();
    let member = |current: Option<i64>, change: Option<i64>| match change {
        None => current,
        Some(-1) => None,
        limit => limit,
    };
    let limit = OnDemandLimit {
        read: member(current.read, change.read),
        write: member(current.write, change.write),
    };
    (limit != OnDemandLimit::default()).then_some(limit)
}

/// Warm throughput with the members that a request names; it can only rise.
pub(super) fn raised(current: Throughput, wanted: Throughput) -> Result<Throughput> {
    let member = |name: &str, current: i64, wanted: i64| match wanted {
        0 => Ok(current),
        wanted if wanted < current => Err(message::warm_throughput_lowered(name)),
        wanted => Ok(wanted),
    };
    Ok(Throughput {
        read: member("ReadUnitsPerSecond", current.read, wanted.read)?,
        write: member("WriteUnitsPerSecond", current.write, wanted.write)?,
    })
}

fn switch_to_on_demand(update: &mut Update) -> Result<()> {
    let billing = &mut update.record.billing;
    let now_ms = update.now_ms;
    billing.switches_to_on_demand_ms.retain(|ms| now_ms.saturating_sub(*ms) < DAY_MS);
    if billing.switches_to_on_demand_ms.len() >= limits::MAX_BILLING_SWITCHES_PER_DAY {
        return Err(message::too_many_billing_switches(limits::MAX_BILLING_SWITCHES_PER_DAY));
    }
    billing.switches_to_on_demand_ms.push(now_ms);
    billing.on_demand = true;
    billing.throughput = Throughput::default();
    for index in &mut update.record.indexes {
        index.throughput = None;
    }
    update.shown.indexes.clone_from(&update.record.indexes);
    Ok(())
}

/// Every global index needs throughput in the same request.
fn switch_to_provisioned(input: &UpdateTableInput, update: &mut Update) -> Result<()> {
    vectors::check_provisioned(update)?;
    let has_throughput = |name: &str| {
        input.indexes.iter().any(|update| match update {
            IndexUpdate::Update { name: updated, capacity } => {
                updated == name && capacity.throughput.is_some()
            }
            IndexUpdate::Delete { name: deleted } => deleted == name,
            IndexUpdate::Create(_) => false,
        })
    };
    let global = update.record.indexes.iter().filter(|index| index.global);
    let missing: Vec<&str> =
        global.map(|index| index.name.as_str()).filter(|name| !has_throughput(name)).collect();
    if !missing.is_empty() {
        return Err(message::indexes_without_throughput(&missing));
    }
    let billing = &mut update.record.billing;
    billing.on_demand = false;
    billing.throughput = input.throughput.unwrap_or_default();
    billing.on_demand_limit = None;
    for index in &mut update.record.indexes {
        index.on_demand = None;
    }
    Ok(())
}

fn change_throughput(billing: &mut Billing, wanted: Throughput, now_ms: u64) -> Result<()> {
    let current = billing.throughput;
    if wanted == current {
        return Err(message::throughput_unchanged("table", wanted.read, wanted.write));
    }
    if wanted.read < current.read || wanted.write < current.write {
        note_decrease(billing, now_ms)?;
    }
    if wanted.read > current.read || wanted.write > current.write {
        billing.last_increase_ms = Some(now_ms);
    }
    billing.throughput = wanted;
    Ok(())
}

/// Four decreases a day whenever one likes, then one an hour.
fn note_decrease(billing: &mut Billing, now_ms: u64) -> Result<()> {
    let last_ms = billing.last_decrease_ms.unwrap_or(0);
    if last_ms / DAY_MS != now_ms / DAY_MS {
        billing.decreases_today = 0;
    }
    if billing.decreases_today >= FREE_DECREASES && now_ms.saturating_sub(last_ms) < HOUR_MS {
        return Err(message::too_many_decreases(billing.decreases_today));
    }
    billing.decreases_today += 1;
    billing.last_decrease_ms = Some(now_ms);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_demand_limits_merge_member_by_member() {
        let limit = |read, write| OnDemandLimit { read, write };
        let both = Some(limit(Some(5), Some(7)));
        assert_eq!(merged(None, limit(Some(5), None)), Some(limit(Some(5), None)));
        assert_eq!(merged(both, limit(Some(9), None)), Some(limit(Some(9), Some(7))));
        assert_eq!(merged(both, limit(Some(-1), None)), Some(limit(None, Some(7))));
        assert_eq!(merged(both, limit(Some(-1), Some(-1))), None);
    }

    #[test]
    fn decreases_after_the_fourth_are_an_hour_apart() {
        let mut billing = Billing::default();
        for _ in 0..4 {
            assert!(note_decrease(&mut billing, DAY_MS).is_ok());
        }
        assert!(note_decrease(&mut billing, DAY_MS + HOUR_MS - 1).is_err());
        assert!(note_decrease(&mut billing, DAY_MS + HOUR_MS).is_ok());
        assert_eq!(billing.decreases_today, 5);
        assert!(note_decrease(&mut billing, 2 * DAY_MS).is_ok());
        assert_eq!(billing.decreases_today, 1);
    }
}
