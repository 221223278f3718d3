//! Detects keys whose load exceeds the throughput of a partition, or soon will.

use std::collections::HashMap;

use keyloom_core::Operation;
use keyloom_design::model::{Entity, Index};

use super::{
    Confidence, Finding, Judge, PARTITION_READS, PARTITION_WRITES, Severity, edit, percent, short,
};
use crate::partitions::PlaceHeat;
use crate::redaction::Redaction;
use crate::report::{Key, Kind, Leader, Pattern, PlaceReport};

/// Room that a shard count leaves above the present peak: the margin of `keyloom check`.
const MARGIN: f64 = 1.5;
/// A window whose leader has a smaller share, or fewer requests, is not significant.
const LEADER_SHARE: f64 = 0.3;
const LEADER_REQUESTS: u64 = 50;

/// The rate of a key in words, for a comment in the design file.
fn observed(key: &Key) -> String {
    let (writes, reads) = (short(key.peak_writes), short(key.peak_reads));
    format!("observed on one key: {writes} write and {reads} read units/s")
}

/// The share of a partition's throughput that a key takes in its busiest window.
fn pressure(key: &Key) -> f64 {
    (key.peak_reads / PARTITION_READS).max(key.peak_writes / PARTITION_WRITES)
}

/// Keys of a place that are hot, the hottest first.
fn hot<'p>(judge: &Judge<'_>, place: &'p PlaceReport) -> Vec<&'p Key> {
    let limit = judge.thresholds.hot;
    let is_hot = |key: &&Key| {
        key.throttled > 0 || pressure(key) >= limit && key.requests >= judge.thresholds.min_requests
    };
    let mut keys: Vec<&Key> = place.keys.iter().filter(is_hot).collect();
    keys.sort_by(|a, b| pressure(b).total_cmp(&pressure(a)));
    keys
}

/// Whether the throttles of a place were a partition's, and of writes to a global index.
fn is_index_write(place: &PlaceReport) -> bool {
    let throttled = place.throttled.keys().any(|reason| reason.starts_with("IndexWriteKeyRange"));
    let written =
        |key: &Key| key.peak_writes / PARTITION_WRITES >= key.peak_reads / PARTITION_READS;
    place.kind == Kind::Global && (throttled || place.keys.first().is_some_and(written))
}

/// Rate against a partition's limits, by table and by global index.
pub(super) fn hot_partitions(judge: &Judge<'_>) -> Vec<Finding> {
    let places = judge.report.places.iter().filter(|place| !is_index_write(place));
    places.filter_map(|place| hot_finding(judge, place, "hot-partition")).collect()
}

/// A hot key of a global index refuses the writes of its table.
pub(super) fn index_back_pressure(judge: &Judge<'_>) -> Vec<Finding> {
    let places = judge.report.places.iter().filter(|place| is_index_write(place));
    let found = places.filter_map(|place| {
        let mut finding = hot_finding(judge, place, "index-back-pressure")?;
        finding.evidence.push(format!(
            "an index that cannot take a write makes its table `{}` refuse it",
            place.table
        ));
        let table = judge.report.place(&place.table, None);
        let is_there = |pattern: &Pattern| {
            let entity = judge.entity(pattern.entity.as_deref());
            let index = entity.zip(place.index.as_ref());
            let index = index.and_then(|(entity, name)| Some((entity, entity.table.index(name)?)));
            index.is_none_or(|(entity, index)| entity.index_key(index).is_some())
        };
        let writes = |pattern: &Pattern| pattern.writes > 0.0 && is_there(pattern);
        let writes = table.map(|table| Judge::labels(table, writes));
        finding.patterns = writes.unwrap_or_default();
        Some(finding)
    });
    found.collect()
}

fn hot_finding(judge: &Judge<'_>, place: &PlaceReport, id: &str) -> Option<Finding> {
    let keys = hot(judge, place);
    let top = keys.first()?;
    let pressure = pressure(top);
    let throttled: u64 = keys.iter().map(|key| key.throttled).sum();
    let severity =
        if pressure >= 1.0 || throttled > 0 { Severity::Error } else { Severity::Warning };
    let confidence = if throttled > 0 || top.error <= top.load / 10.0 {
        Confidence::High
    } else {
        Confidence::Medium
    };
    let more = match keys.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let title = format!("key `{}`{more} takes {} of a partition", top.key, percent(pressure));
    let mut finding = Finding::new(id, severity, confidence, place, title)
        .shows(format!(
            "peak {} read and {} write units/s; a partition gives 3,000 and 1,000",
            short(top.peak_reads),
            short(top.peak_writes)
        ))
        .shows(format!(
            "{} of the load of {} (±{} of {} read-unit equivalents)",
            percent(top.share),
            place.name(),
            short(top.error),
            short(top.load)
        ));
    for (reason, count) in &place.throttled {
        finding = finding.shows(format!("{} requests refused: {reason}", short(*count as f64)));
    }
    let heat = judge.report.partitions.iter();
    let mut heat = heat.filter(|heat| heat.table == place.table && heat.index == place.index);
    if let Some(count) = heat.next().map(PlaceHeat::throttled_requests).filter(|count| *count > 0) {
        finding = finding.shows(format!(
            "the partitions of AWS would have refused {} requests to {}",
            short(count as f64),
            place.name()
        ));
    }
    let shards = (pressure * MARGIN).ceil().max(2.0) as u32;
    let owner = owner(judge, place, top);
    if let Some(why) = unsplittable(judge, place, top, owner) {
        finding = finding.shows(why);
    }
    let diff = owner.and_then(|(entity, index)| {
        edit::add_shard(judge.design?, entity, index, shards, &observed(top))
    });
    let times = 1.0 / pressure.max(1e-9);
    let concerned = |pattern: &Pattern| {
        let other = owner.zip(pattern.entity.as_ref()).is_some_and(|((own, _), e)| own.name != *e);
        !pattern.is(Operation::Scan) && !other
    };
    Some(
        finding
            .concerns(Judge::labels(place, concerned))
            .fix(format!(
                "spread the key over {shards} shards, calculated from a field that reads know; or \
                 put a field with more values first"
            ))
            .diff(diff)
            .headroom(times)
            .at_ten(format!(
                "the key asks for {:.1} partitions and gets one: what is above {times:.1}× of \
                 today's peak is refused",
                pressure * 10.0
            )),
    )
}

/// The entity whose items have this key, with the index of the design.
fn owner<'a>(judge: &Judge<'a>, place: &PlaceReport, key: &Key) -> Option<(&'a Entity, &'a Index)> {
    let design = judge.design?;
    let table = design.tables().iter().find(|table| table.name == place.table)?;
    let index = match &place.index {
        Some(name) => table.index(name)?,
        None => table.primary(),
    };
    let plain = judge.report.redaction == Redaction::None;
    let mut all = design.entities_in(table).filter(|entity| {
        let Some(part) = entity.index_key(index) else { return false };
        let [hash] = part.hash.as_slice() else { return !plain };
        let template = hash.shape.template();
        let fits = if plain {
            template.template().matches(&key.key)
        } else {
            key.key.starts_with(template.template().literal_prefix())
        };
        fits || hash.shape.is_native()
    });
    // Of several, the one with more than one item under a key is what makes it hot.
    let first = all.next()?;
    let wide = std::iter::once(first).chain(all);
    let collection = |entity: &&std::sync::Arc<Entity>| {
        let identity = entity.identity().len();
        entity.index_key(index).is_some_and(|key| key.hash_fields().count() < identity)
    };
    let found = wide.collect::<Vec<_>>();
    let best = found.iter().copied().find(collection).unwrap_or(first);
    Some((best, index))
}

/// Why DynamoDB would not split this key's items over partitions.
fn unsplittable(
    judge: &Judge<'_>,
    place: &PlaceReport,
    top: &Key,
    owner: Option<(&Entity, &Index)>,
) -> Option<String> {
    if place.has_local_indexes && place.kind != Kind::Global {
        return Some("the table has local indexes, so a key's items are never split".to_owned());
    }
    // In a global index, items of the table may share a key, so that one key need not be one item.
    let first = place.items.first().filter(|_| place.kind != Kind::Global);
    let item = first.filter(|item| item.key == top.key && !item.sort.is_empty());
    if let Some(item) = item.filter(|item| item.load >= top.load * 0.8) {
        return Some(format!("most of it is one item, `{}`, which is never split", item.sort));
    }
    let (entity, index) = owner?;
    let key = entity.index_key(index)?;
    let first = key.range.first()?.shape.template().fields().next()?;
    let increasing = entity.field(first).is_some_and(keyloom_design::model::Field::is_increasing);
    let written = judge.report.requests > 0 && top.peak_writes > 0.0;
    (increasing && written).then(|| {
        format!("`{first}` grows with every item, so writes always meet the last part: splits do not help")
    })
}

/// The heaviest key changes with time: each is hot for a while, none comes back.
pub(super) fn moving_hot_key(judge: &Judge<'_>) -> Vec<Finding> {
    let found = judge.report.places.iter().filter_map(|place| {
        let hours = moving(&place.hour_leaders);
        let (unit, leaders) = match hours {
            Some(leaders) => ("hour", leaders),
            None => ("minute", moving(&place.minute_leaders)?),
        };
        let (first, last) = (leaders.first()?, leaders.last()?);
        let share = leaders.iter().map(|leader| leader.share).fold(1.0, f64::min);
        let ascends = leaders.windows(2).all(|pair| {
            matches!(pair, [a, b] if a.key < b.key) && judge.report.redaction == Redaction::None
        });
        let confidence = if ascends { Confidence::High } else { Confidence::Medium };
        let peak = place.peak_writes / PARTITION_WRITES;
        let pressure = share * peak.max(place.peak_reads / PARTITION_READS);
        let severity =
            if pressure >= judge.thresholds.hot { Severity::Error } else { Severity::Warning };
        let title = format!("the hot key moves with time: `{}` … `{}`", first.key, last.key);
        Some(
            Finding::new("moving-hot-key", severity, confidence, place, title)
                .shows(format!(
                    "{} {unit}s in a row had {} different heaviest keys, each with at least {} of \
                     the load",
                    leaders.len(),
                    leaders.len(),
                    percent(share)
                ))
                .concerns(Judge::labels(place, |pattern| !pattern.is(Operation::Scan)))
                .fix(
                    "all traffic of one period meets one partition, and the split that helps comes \
                     too late: put a field with many values before the time, or add a shard to the \
                     period",
                )
                .headroom(1.0 / pressure.max(1e-9))
                .at_ten(format!("one key would take {} of a partition", percent(pressure * 10.0))),
        )
    });
    found.collect()
}

/// The leaders, one for each key, if three or more follow each other and none comes back.
fn moving(leaders: &[Leader]) -> Option<Vec<&Leader>> {
    let strong: Vec<&Leader> = leaders
        .iter()
        .filter(|leader| leader.share >= LEADER_SHARE && leader.requests >= LEADER_REQUESTS)
        .collect();
    let mut distinct: Vec<&Leader> = Vec::new();
    for leader in &strong {
        if distinct.last().is_some_and(|last| last.hash == leader.hash) {
            continue;
        }
        if distinct.iter().any(|known| known.hash == leader.hash) {
            return None;
        }
        distinct.push(leader);
    }
    (distinct.len() >= 3 && strong.len() * 2 >= leaders.len()).then_some(distinct)
}

/// One key of many has a share far above the mean.
pub(super) fn skewed_keys(judge: &Judge<'_>) -> Vec<Finding> {
    let limits = judge.thresholds;
    let found = judge.report.places.iter().filter_map(|place| {
        let top = place.keys.first()?;
        let share = if place.load > 0.0 { top.least() / place.load } else { 0.0 };
        let ratio = share * place.distinct_keys;
        let enough = place.requests >= 5 * limits.min_requests && place.distinct_keys >= 20.0;
        if !enough || share < limits.skew || ratio < 5.0 || !hot(judge, place).is_empty() {
            return None;
        }
        let pressure = pressure(top);
        let title = format!("key `{}` has {} of the load", top.key, percent(share));
        Some(
            Finding::new("skewed-keys", Severity::Info, Confidence::High, place, title)
                .shows(format!(
                    "{} times the mean of {} keys; peak {} of a partition",
                    short(ratio),
                    short(place.distinct_keys),
                    percent(pressure)
                ))
                .concerns(Judge::labels(place, |pattern| !pattern.is(Operation::Scan)))
                .fix("watch it: when it grows, this key meets the limit of a partition first")
                .headroom(1.0 / pressure.max(1e-9))
                .at_ten(format!("the key would take {} of a partition", percent(pressure * 10.0))),
        )
    });
    found.collect()
}

/// Keys of one tenant together: `TENANT#acme#…`.
pub(super) fn tenant_share(judge: &Judge<'_>) -> Vec<Finding> {
    if judge.report.redaction != Redaction::None {
        return Vec::new();
    }
    let found = judge.report.places.iter().filter_map(|place| {
        let mut groups: HashMap<String, (f64, usize)> = HashMap::new();
        for key in &place.keys {
            let parts: Vec<&str> = key.key.split('#').collect();
            if let [kind, tenant, _, ..] = parts.as_slice() {
                let group = groups.entry(format!("{kind}#{tenant}#")).or_default();
                group.0 += key.least();
                group.1 += 1;
            }
        }
        let (name, (load, keys)) = groups.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
        let share = load / place.load.max(1.0);
        let enough = place.requests >= 5 * judge.thresholds.min_requests;
        if !enough || groups.len() < 3 || *keys < 2 || share < 0.25 {
            return None;
        }
        let title = format!("`{name}` has {} of the load", percent(share));
        Some(
            Finding::new("tenant-share", Severity::Info, Confidence::Medium, place, title)
                .shows(format!("{keys} of its keys are among the heaviest {}", place.keys.len()))
                .concerns(Judge::labels(place, |pattern| !pattern.is(Operation::Scan)))
                .fix(
                    "if its share is not meant to be that large, limit its rate; if it is, give it \
                     shards of its own",
                )
                .at_ten("its keys stay apart, so each meets the limit of a partition by itself"),
        )
    });
    found.collect()
}

/// Few partition keys for much load: together they can take only so much.
pub(super) fn low_cardinality(judge: &Judge<'_>) -> Vec<Finding> {
    let limits = judge.thresholds;
    let found = judge.report.places.iter().filter_map(|place| {
        let few = place.distinct_keys < limits.few_keys && place.distinct_keys > 0.0;
        let enough = place.requests >= 5 * limits.min_requests;
        if !few || !enough || place.kind == Kind::Local {
            return None;
        }
        let keys = place.distinct_keys.round().max(1.0);
        let used =
            (place.peak_writes / PARTITION_WRITES).max(place.peak_reads / PARTITION_READS) / keys;
        let headroom = 1.0 / used.max(1e-9);
        if headroom > 50.0 {
            return None;
        }
        let severity = match headroom {
            below if below < 2.0 => Severity::Error,
            below if below < 20.0 => Severity::Warning,
            _ => Severity::Info,
        };
        let title =
            format!("only {keys} partition keys for {} requests", short(place.requests as f64));
        let attributes = place.partition_key.join(", ");
        Some(
            Finding::new("low-cardinality", severity, Confidence::High, place, title)
                .shows(format!(
                    "peak {} read and {} write units/s on {keys} values of {attributes}",
                    short(place.peak_reads),
                    short(place.peak_writes)
                ))
                .concerns(Judge::labels(place, |pattern| !pattern.is(Operation::Scan)))
                .fix(format!(
                    "put a field with more values into {attributes}, or a shard beside it: {keys} \
                     keys can never take more than {} writes/s together",
                    short(keys * PARTITION_WRITES)
                ))
                .headroom(headroom)
                .at_ten(format!("{} of all that these keys can take", percent(used * 10.0))),
        )
    });
    found.collect()
}
