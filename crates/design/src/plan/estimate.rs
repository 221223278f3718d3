//! What a pattern costs per call and per month.

use std::sync::Arc;

use keyloom_core::capacity::{ReadMode, read_units};
use keyloom_core::limits::MAX_PAGE_BYTES;

use super::bind::Fan;
use super::{Plan, Read, Verdict, per_batch};
use crate::cost::{Money, Prices, cardinality, entry_size, item_size, items_under};
use crate::model::{Access, Billing, Design, Entity, Operand};

/// What a pattern costs; what the design does not tell is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Items read per call, before a filter.
    pub items: Option<f64>,
    /// Bytes read per call.
    pub bytes: Option<f64>,
    /// Read units per call.
    pub read_units: Option<f64>,
    /// Pages per call, one at least for each request.
    pub pages: Option<f64>,
    /// Requests of the second step per call.
    pub second_step: Option<f64>,
    /// Read units per second on average.
    pub units_per_second: Option<f64>,
    /// Read units per second at the peak.
    pub peak_units_per_second: Option<f64>,
    /// Of these, what the second step spends.
    pub second_units_per_second: Option<f64>,
    /// Dollars a month.
    pub money: Option<Money>,
}

pub(super) fn estimate(design: &Design, access: &Access, plan: &Plan, prices: &Prices) -> Estimate {
    let Some(first) = plan.reads.first() else { return Estimate::default() };
    let mode = if access.consistent { ReadMode::Strong } else { ReadMode::Eventual };
    let mut total = Estimate {
        items: Some(0.0),
        bytes: Some(0.0),
        read_units: Some(0.0),
        pages: Some(0.0),
        ..Estimate::default()
    };
    for read in &plan.reads {
        let part = of_read(design, access, plan, read, mode);
        let add = |sum: Option<f64>, part: Option<f64>| sum.zip(part).map(|(a, b)| a + b);
        total.items = add(total.items, part.items);
        total.bytes = add(total.bytes, part.bytes);
        total.read_units = add(total.read_units, part.read_units);
        total.pages = add(total.pages, part.pages);
    }
    if plan.verdict == Verdict::Batch {
        total.pages = plan.first_calls();
    }
    let second_units = add_second_step(design, access, plan, mode, &mut total);
    total.second_units_per_second =
        second_units.zip(access.rate).map(|(units, rate)| units * rate.peak);
    if let (Some(rate), Some(units)) = (access.rate, total.read_units) {
        total.units_per_second = Some(rate.average * units);
        total.peak_units_per_second = Some(rate.peak * units);
        total.money = Some(price(first, rate.average * units, rate.peak * units, prices));
    }
    total
}

fn price(read: &Read, average: f64, peak: f64, prices: &Prices) -> Money {
    let class = prices.class(read.table.class);
    let on_demand = average * prices.seconds_per_month() / 1e6 * class.read_million;
    let provisioned = peak.ceil() * prices.hours_per_month * class.read_capacity_hour;
    match read.table.billing {
        Billing::OnDemand | Billing::Provisioned => Money { on_demand, provisioned },
    }
}

fn of_read(design: &Design, access: &Access, plan: &Plan, read: &Read, mode: ReadMode) -> Estimate {
    let Some(calls) = read.calls() else { return Estimate::default() };
    let share = 1.0 / plan.reads.len() as f64;
    let items =
        if plan.is_get(read) { Some(calls) } else { items_read(design, access, read, share) };
    let weights = weights(design, &read.entities, &narrowing(read));
    let size = weighted(&read.entities, &weights, |entity| entry_size(entity, read.index()));
    let bytes = items.map(|items| items * size);
    let per_call = bytes.map(|bytes| (bytes / calls).ceil() as usize);
    // A local index reads what it does not hold from the table, item by item.
    let whole = weighted(&read.entities, &weights, item_size).ceil() as usize;
    let fetched = match (read.fetches, items) {
        (true, Some(items)) => items * read_units(whole, mode).as_f64(),
        _ => 0.0,
    };
    Estimate {
        items,
        bytes,
        read_units: per_call.map(|bytes| calls * read_units(bytes, mode).as_f64() + fetched),
        pages: per_call.map(|bytes| calls * bytes.div_ceil(MAX_PAGE_BYTES).max(1) as f64),
        ..Estimate::default()
    }
}

/// Items that one call evaluates: what the pattern says, or what the volumes give, within the limit.
fn items_read(design: &Design, access: &Access, read: &Read, share: f64) -> Option<f64> {
    let kept = access.keeps.unwrap_or(1.0).max(1e-6);
    let stated = access.items.map(|items| items * share / kept);
    // How many items fall into a period, the design does not say.
    let periods = read.fans.iter().any(|fan| matches!(fan, Fan::Buckets { .. }));
    let counted = || {
        if periods {
            return None;
        }
        let fields = narrowing(read);
        let of_entity = |entity: &Arc<Entity>| {
            let each = items_under(design, entity, &fields)?;
            let all = each * listed(design, entity, read);
            Some(entity.volume.count.map_or(all, |count| all.min(count)))
        };
        read.entities.iter().map(of_entity).sum::<Option<f64>>()
    };
    let unlimited = stated.or_else(counted);
    match read.limit {
        // Each request of a fan reads up to the limit.
        Some(limit) => {
            let most = limit as f64 * read.calls()?;
            Some(unlimited.map_or(most, |items| items.min(most)))
        }
        None => unlimited,
    }
}

/// How many values of listed fields are read, each with its own items: `in ('a', 'b')` reads those of both.
fn listed(design: &Design, entity: &Entity, read: &Read) -> f64 {
    let width = |fan: &Fan| {
        let Fan::Values { field, values } = fan else { return 1.0 };
        let mut different: Vec<&Operand> = Vec::new();
        for value in values {
            if !different.contains(&value) {
                different.push(value);
            }
        }
        let listed = different.len() as f64;
        cardinality(design, entity, field).map_or(listed, |known| listed.min(known.max(1.0)))
    };
    read.fans.iter().map(width).product()
}

/// The fields whose values narrow what a read returns.
fn narrowing(read: &Read) -> Vec<&str> {
    let fields = read.range.sources.iter().map(|(field, _)| field.as_str());
    fields.filter(|field| !spread(read, field)).collect()
}

/// How many items of each entity come with one read, in proportion: by the volumes under the values that are
/// known, by the counts, or else alike.
fn weights(design: &Design, entities: &[Arc<Entity>], fields: &[&str]) -> Vec<f64> {
    let under = || entities.iter().map(|entity| items_under(design, entity, fields)).collect();
    let counts = || entities.iter().map(|entity| entity.volume.count).collect();
    let known: Option<Vec<f64>> = under();
    let known = known.or_else(counts).filter(|counts| counts.iter().sum::<f64>() > 0.0);
    known.unwrap_or_else(|| vec![1.0; entities.len()])
}

/// The average size of items of several entities.
fn weighted(entities: &[Arc<Entity>], weights: &[f64], size: impl Fn(&Entity) -> f64) -> f64 {
    let sizes = entities.iter().zip(weights).map(|(entity, weight)| size(entity) * weight);
    sizes.sum::<f64>() / weights.iter().sum::<f64>().max(f64::MIN_POSITIVE)
}

/// All values of a fanned field are read, so it narrows nothing.
fn spread(read: &Read, field: &str) -> bool {
    read.fans.iter().any(|fan| fan.field() == field && matches!(fan, Fan::Shards { .. }))
}

/// Items fetched in a second step are charged one by one.
fn add_second_step(
    design: &Design,
    access: &Access,
    plan: &Plan,
    mode: ReadMode,
    total: &mut Estimate,
) -> Option<f64> {
    let hydrate = plan.hydrate.as_ref()?;
    let items = total.items?;
    let wanted = access.limit.map_or(items, |limit| items.min(limit as f64));
    let weights = weights(design, &hydrate.entities, &[]);
    let size = weighted(&hydrate.entities, &weights, item_size).ceil() as usize;
    let units = wanted * read_units(size, mode).as_f64();
    total.read_units = total.read_units.map(|so_far| so_far + units);
    let requests =
        if hydrate.batch { (wanted / per_batch(&hydrate.entities)).ceil() } else { wanted };
    total.second_step = Some(requests);
    total.pages = total.pages.map(|pages| pages + requests);
    Some(units)
}
