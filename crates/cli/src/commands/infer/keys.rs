//! The keys of items in files, which do not say them.

use std::collections::BTreeMap;

use keyloom_core::{AttributeType, AttributeValue, Item};
use keyloom_design::draft::{IndexDraft, TableDraft};
use keyloom_design::infer::Sample;
use keyloom_design::source::Spanned;

/// Names of partition and sort keys, in the order in which they are believed.
const PARTITION: [&str; 8] =
    ["pk", "_pk", "partitionkey", "partition_key", "hashkey", "hash_key", "hk", "id"];
const SORT: [&str; 8] = ["sk", "_sk", "sortkey", "sort_key", "rangekey", "range_key", "rk", "sort"];

/// A table with the keys that were named: `PK`, `SK:N`.
pub(super) fn named(table: &str, keys: &[String]) -> Result<TableDraft, String> {
    let mut draft = TableDraft::new(table);
    let (partition, rest) = keys.split_first().ok_or("--keys names no attribute")?;
    draft.partition_key = vec![Spanned::free(partition.as_str())];
    match rest {
        [] => {}
        [sort] => draft.sort_key = vec![Spanned::free(sort.as_str())],
        _ => {
            return Err(format!(
                "--keys takes a partition key and a sort key, and has {}",
                keys.len()
            ));
        }
    }
    Ok(draft)
}

/// A table with the keys that the names of attributes tell; none if they do not.
pub(super) fn guessed(table: &str, items: &[Item]) -> Option<TableDraft> {
    let items: Vec<&Item> = items.iter().collect();
    let counts = counts(&items);
    let is_key = |kind: AttributeType| {
        matches!(kind, AttributeType::S | AttributeType::N | AttributeType::B)
    };
    let find = |names: &[&str]| {
        let everywhere =
            counts.iter().filter(|(_, (count, kind))| *count == items.len() && is_key(*kind));
        let mut found: Vec<(usize, &str, AttributeType)> = everywhere
            .filter_map(|(name, (_, kind))| {
                let lower = name.to_ascii_lowercase();
                Some((names.iter().position(|wanted| *wanted == lower)?, *name, *kind))
            })
            .collect();
        found.sort_by_key(|(rank, ..)| *rank);
        found.first().map(|(_, name, kind)| typed(name, *kind))
    };
    let mut draft = TableDraft::new(table);
    draft.partition_key = vec![Spanned::free(find(&PARTITION)?)];
    draft.sort_key = find(&SORT).map(Spanned::free).into_iter().collect();
    draft.indexes = indexes(&counts);
    Some(draft)
}

fn typed(name: &str, kind: AttributeType) -> String {
    match kind {
        AttributeType::N | AttributeType::B => format!("{name}:{}", kind.as_str()),
        _ => name.to_owned(),
    }
}

/// How many items have each attribute, and of which type it is.
type Counts<'i> = BTreeMap<&'i str, (usize, AttributeType)>;

fn counts<'i>(items: &[&'i Item]) -> Counts<'i> {
    let mut counts = Counts::new();
    for item in items {
        for (name, value) in item.iter() {
            let entry = counts.entry(name.as_str()).or_insert((0, value.attribute_type()));
            entry.0 += 1;
        }
    }
    counts
}

/// Indexes of a table of which only the primary key was named.
pub(super) fn indexes_of(sample: &Sample) -> Vec<IndexDraft> {
    let items: Vec<&Item> = sample.items.iter().map(|kept| &kept.item).collect();
    indexes(&counts(&items))
}

/// Indexes by the names that most people give their keys: `GSI1PK` and `GSI1SK`.
fn indexes(counts: &Counts<'_>) -> Vec<IndexDraft> {
    let mut found = Vec::new();
    for (name, (_, kind)) in counts {
        let lower = name.to_ascii_lowercase();
        let is_global = lower.starts_with("gsi") || lower.starts_with("gs");
        let Some(stem) = lower.strip_suffix("pk").filter(|stem| is_global && stem.len() > 2) else {
            continue;
        };
        let sort =
            counts.iter().find(|(other, _)| other.to_ascii_lowercase() == format!("{stem}sk"));
        let label = stem.trim_end_matches(['_', '-']).to_ascii_uppercase();
        let partition = typed(name, *kind);
        let sort: Vec<String> =
            sort.map(|(name, (_, kind))| typed(name, *kind)).into_iter().collect();
        let sort: Vec<&str> = sort.iter().map(String::as_str).collect();
        found.push(IndexDraft::global(&label, &[&partition], &sort));
    }
    found
}

/// The attributes of a table's primary key, with their types.
pub(super) fn types(table: &TableDraft) -> Vec<(String, AttributeType)> {
    let all = table.partition_key.iter().chain(&table.sort_key);
    all.map(|key| match key.value.rsplit_once(':') {
        Some((name, "N")) => (name.to_owned(), AttributeType::N),
        Some((name, "B")) => (name.to_owned(), AttributeType::B),
        _ => (key.value.clone(), AttributeType::S),
    })
    .collect()
}

/// Why an item cannot be of a table with these keys.
pub(super) fn misfit(keys: &[(String, AttributeType)], item: &Item) -> Option<String> {
    keys.iter().find_map(|(name, kind)| match item.get(name).map(AttributeValue::attribute_type) {
        None => Some(format!("there is no `{name}`, which is a key")),
        Some(found) if found != *kind => Some(format!(
            "`{name}` is of type {}, and the key of type {}",
            found.as_str(),
            kind.as_str()
        )),
        Some(_) => None,
    })
}
