//! Detects where requests and the design diverge: keys and queries that it does not declare, and indexes on composed
//! text where native keys would do.

use keyloom_core::Operation;
use keyloom_design::model::{Entity, IndexKind, Table};

use super::{Confidence, Finding, Judge, Severity, edit, percent, short};
use crate::report::{Pattern, PlaceReport};

/// Keys that no template makes.
pub(super) fn unknown_keys(judge: &Judge<'_>) -> Vec<Finding> {
    let found = judge.report.places.iter().filter(|place| place.unknown_keys > 0).map(|place| {
        let share = place.unknown_keys as f64 / place.requests.max(1) as f64;
        let title = format!(
            "{} times, requests touched keys that no template of the design makes",
            short(place.unknown_keys as f64)
        );
        let mut finding =
            Finding::new("model-drift", Severity::Warning, Confidence::High, place, title)
                .shows(format!("{} of all that touched {}", percent(share), place.name()));
        if !place.unknown_samples.is_empty() {
            finding = finding.shows(format!("such as {}", quoted(&place.unknown_samples)));
        }
        // Which requests they were is not kept; those of known entities were not among them.
        let unknown = |pattern: &Pattern| {
            let is_ranged = pattern.is(Operation::Query) || pattern.is(Operation::Scan);
            pattern.name.is_none() && pattern.entity.is_none() && !is_ranged
        };
        finding
            .concerns(Judge::labels(place, unknown))
            .fix(
                "declare the entity that writes them, or repair the code that does: no pattern of the \
                 design is proven for items with these keys",
            )
            .at_ten("ten times as many items that no pattern finds")
    });
    found.collect()
}

/// Reads that match no access pattern.
pub(super) fn unplanned_queries(judge: &Judge<'_>) -> Vec<Finding> {
    let is_read = |pattern: &Pattern| {
        use Operation::{BatchGetItem, GetItem, Query, TransactGetItems};
        matches!(pattern.operation(), Some(Query | GetItem | BatchGetItem | TransactGetItems))
    };
    let unplanned = judge.report.patterns().filter(|(place, pattern)| {
        place.is_designed && pattern.name.is_none() && is_read(pattern) && pattern.requests > 0
    });
    let found = unplanned.map(|(place, pattern)| {
        let severity =
            if pattern.is(Operation::Query) { Severity::Warning } else { Severity::Info };
        let title = format!("unplanned: {}", pattern.shape);
        let dollars = judge.monthly(place, pattern.reads, 0.0);
        Finding::new("unplanned-query", severity, Confidence::High, place, title)
            .shows(format!(
                "{} requests, {} read units, {}",
                short(pattern.requests as f64),
                short(pattern.reads),
                returned(pattern)
            ))
            .concerns([pattern.label().to_owned()])
            .fix("declare it as an access pattern, so that it is proven, or stop making it")
            .diff(declared(judge, place, pattern))
            .costs(dollars)
            .at_ten(format!("{} read units in the same time", short(pattern.reads * 10.0)))
    });
    found.collect()
}

/// What came back; of how many, if the request read a range.
fn returned(pattern: &Pattern) -> String {
    let returned = short(pattern.returned as f64);
    if pattern.is(Operation::Query) {
        format!("{returned} of {} read entries returned", short(pattern.scanned as f64))
    } else {
        format!("{returned} items returned")
    }
}

fn declared(judge: &Judge<'_>, place: &PlaceReport, pattern: &Pattern) -> Option<String> {
    let design = judge.design?;
    let entity = judge.entity(pattern.entity.as_deref())?;
    let index = match &place.index {
        Some(name) => entity.table.index(name)?,
        None => entity.table.primary(),
    };
    let key = entity.index_key(index)?;
    let by: Vec<&str> = key.hash_fields().collect();
    let name = format!("{} by {}", entity.name, by.join(" and "));
    edit::add_access(design, entity, index, &name)
}

/// Indexes whose keys are text put together from fields, where native keys would do.
pub(super) fn synthetic_indexes(judge: &Judge<'_>) -> Vec<Finding> {
    let Some(design) = judge.design else { return Vec::new() };
    let mut found = Vec::new();
    for place in &judge.report.places {
        let table = design.tables().iter().find(|table| table.name == place.table);
        let (Some(table), Some(name)) = (table, &place.index) else { continue };
        let Some((entity, hash, range)) = native(design.entities_in(table), table, name) else {
            continue;
        };
        let title = format!("the keys of {name} are text that native keys would replace");
        found.push(
            Finding::new("synthetic-index", Severity::Info, Confidence::High, place, title)
                .shows(format!(
                    "{} requests used it; its only entity is {}",
                    short(place.requests as f64),
                    entity.name
                ))
                .concerns(judge.users(place))
                .fix(format!(
                    "partition_key = [{}], sort_key = [{}]: no text to build, numbers in their own \
                     order, and no backfill",
                    names(&hash),
                    names(&range)
                ))
                .at_ten("the same cost; fewer ways to build a wrong key"),
        );
    }
    found
}

type Native<'e> = (&'e Entity, Vec<&'e str>, Vec<&'e str>);

/// The only entity of an index, with the fields that could be its native keys.
fn native<'e>(
    entities: impl Iterator<Item = &'e std::sync::Arc<Entity>>,
    table: &'e Table,
    name: &str,
) -> Option<Native<'e>> {
    let index = table.index(name).filter(|index| index.kind == IndexKind::Global)?;
    let mut users = entities.filter(|entity| entity.index_key(index).is_some());
    let entity = users.next()?;
    if users.next().is_some() || index.is_multi_attribute() {
        return None;
    }
    let key = entity.index_key(index)?;
    if key.parts().any(|part| part.shape.is_native()) {
        return None;
    }
    let stored = |field: &str| entity.field(field).is_some_and(|field| !field.key_only);
    let hash: Vec<&str> = key.hash_fields().collect();
    let range: Vec<&str> =
        key.range.iter().flat_map(|part| part.shape.template().fields()).collect();
    let fits = |fields: &[&str]| !fields.is_empty() && fields.len() <= 4;
    let all_stored = hash.iter().chain(&range).all(|field| stored(field));
    let together = hash.len() + range.len() > 2;
    (fits(&hash) && fits(&range) && all_stored && together).then_some((entity, hash, range))
}

fn names(fields: &[&str]) -> String {
    fields.iter().map(|field| format!("{field:?}")).collect::<Vec<_>>().join(", ")
}

fn quoted(samples: &[String]) -> String {
    samples.iter().map(|sample| format!("`{sample}`")).collect::<Vec<_>>().join(", ")
}
