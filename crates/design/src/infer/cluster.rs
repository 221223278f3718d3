//! Kinds of items: sorted by the number of parts and by the words in their primary keys.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_core::{AttributeType, AttributeValue};

use super::{Kept, MAX_ENTITIES, Observed};

/// Separators in the order in which they are believed; those after `~` also stand inside values.
const SEPARATORS: [&str; 9] = ["#", "::", "|", "/", "~", ":", "_", "-", "."];
const WEAK: usize = 5;
/// How attributes that name an item's kind are called.
const TYPE_NAMES: [&str; 13] = [
    "type",
    "_type",
    "__type",
    "entity",
    "_entity",
    "entitytype",
    "entity_type",
    "itemtype",
    "item_type",
    "__typename",
    "_et",
    "kind",
    "model",
];
/// The most words that one place of a key can have, to be taken for kinds.
const MAX_WORDS: usize = 64;

/// Items of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Kind<'s> {
    pub(super) items: Vec<&'s Kept>,
    /// Key attributes that are taken as they are.
    pub(super) opaque: BTreeSet<String>,
    /// What the type attribute says.
    pub(super) type_value: Option<String>,
}

/// What splitting needs to know of the table.
pub(super) struct Keys<'t> {
    pub(super) primary: Vec<&'t str>,
    pub(super) separator: &'t str,
    pub(super) type_attribute: Option<&'t str>,
}

/// The parts of a key.
pub(super) fn parts<'k>(text: &'k str, separator: &str) -> Vec<&'k str> {
    text.split(separator).collect()
}

/// A name without the `:N` or `:B` after it.
pub(super) fn bare_name(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((bare, "N" | "B" | "S")) => bare,
        _ => name,
    }
}

/// Whether a text could be a word that a program writes into keys, such as `USER` or `order-item`.
pub(super) fn is_word(text: &str) -> bool {
    let mut chars = text.chars();
    text.len() <= 40
        && chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.all(|c| c.is_ascii_alphabetic() || c == '_' || c == '-')
}

fn is_upper_word(text: &str) -> bool {
    is_word(text) && text.len() > 1 && !text.bytes().any(|b| b.is_ascii_lowercase())
}

/// The separator of a table's keys.
pub(super) fn separator(observed: &Observed) -> &'static str {
    let table = &observed.table;
    let own = table.partition_key.iter().chain(&table.sort_key);
    let indexed =
        table.indexes.iter().flat_map(|index| index.partition_key.iter().chain(&index.sort_key));
    let names: BTreeSet<&str> = own.chain(indexed).map(|name| bare_name(&name.value)).collect();
    let texts: Vec<&str> = observed
        .sample
        .items
        .iter()
        .flat_map(|kept| names.iter().filter_map(|name| kept.item.get(name)?.as_s()))
        .collect();
    let mut heads: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for text in &texts {
        for (at, separator) in SEPARATORS.iter().enumerate() {
            let head = text.split_once(separator).map(|(head, _)| head);
            if let Some(head) = head.filter(|head| is_word(head)) {
                *heads.entry((at, head)).or_default() += 1;
            }
        }
    }
    let score = |at: usize, separator: &str| {
        if at < WEAK {
            return texts.iter().filter(|text| text.contains(separator)).count();
        }
        let of = heads.iter().filter(|((place, _), count)| *place == at && **count > 1);
        of.map(|(_, count)| *count).sum()
    };
    let scores: Vec<usize> = SEPARATORS.iter().enumerate().map(|(at, it)| score(at, it)).collect();
    let strong = scores.iter().take(WEAK).copied().max().unwrap_or(0);
    let considered = if strong * 10 >= texts.len() && strong > 0 { WEAK } else { SEPARATORS.len() };
    let best = scores.iter().take(considered).copied().max().unwrap_or(0);
    let found = scores.iter().take(considered).position(|score| *score * 2 >= best && best > 0);
    found.and_then(|at| SEPARATORS.get(at).copied()).unwrap_or("#")
}

/// The attribute that names an item's kind, if there is one.
pub(super) fn type_attribute(observed: &Observed, keys: &[&str]) -> Option<String> {
    let items = &observed.sample.items;
    let first = items.first()?;
    let named = |name: &str| {
        let lower = name.to_ascii_lowercase();
        TYPE_NAMES.contains(&lower.as_str()) || lower == "__edb_e__"
    };
    let mut names = first.item.keys().filter(|name| named(name) && !keys.contains(&name.as_str()));
    let is_tag = |name: &&keyloom_core::Str| {
        let mut values = BTreeSet::new();
        for kept in items {
            match kept.item.get(name).and_then(AttributeValue::as_s) {
                Some(value) if is_word(value) => values.insert(value),
                _ => return false,
            };
        }
        values.len() <= MAX_WORDS && (values.len() * 2 <= items.len() || values.len() == 1)
    };
    names.find(is_tag).map(ToString::to_string)
}

/// Sorts items into kinds.
pub(super) fn kinds<'s>(observed: &'s Observed, keys: &Keys<'_>) -> Vec<Kind<'s>> {
    let mut groups: BTreeMap<GroupKey, Vec<&'s Kept>> = BTreeMap::new();
    for kept in &observed.sample.items {
        groups.entry(group_key(kept, keys)).or_default().push(kept);
    }
    let mut kinds = Vec::new();
    for (key, items) in groups {
        for items in split(items, keys, 0) {
            let opaque = BTreeSet::new();
            kinds.push(Kind { items, opaque, type_value: key.type_value.clone() });
        }
    }
    let kinds = merge_opaque(kinds, keys);
    limited(kinds, keys)
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey {
    type_value: Option<String>,
    parts: Vec<(Option<AttributeType>, usize)>,
}

fn group_key(kept: &Kept, keys: &Keys<'_>) -> GroupKey {
    let text = |name: &str| kept.item.get(name).and_then(AttributeValue::as_s);
    GroupKey {
        type_value: keys.type_attribute.and_then(text).map(str::to_owned),
        parts: keys
            .primary
            .iter()
            .map(|name| {
                let kind = kept.item.get(name).map(AttributeValue::attribute_type);
                (kind, text(name).map_or(0, |text| parts(text, keys.separator).len()))
            })
            .collect(),
    }
}

/// The part of a key at a place.
fn part_of<'k>(kept: &'k Kept, place: (&str, usize), separator: &str) -> Option<&'k str> {
    kept.item.get(place.0)?.as_s()?.split(separator).nth(place.1)
}

fn places<'t>(items: &[&Kept], keys: &Keys<'t>) -> Vec<(&'t str, usize)> {
    let Some(first) = items.first() else { return Vec::new() };
    let count = |name: &str| {
        let text = first.item.get(name).and_then(AttributeValue::as_s);
        text.map_or(0, |text| parts(text, keys.separator).len())
    };
    keys.primary.iter().flat_map(|name| (0..count(name)).map(move |at| (*name, at))).collect()
}

/// Splits items with equally many parts by the words in their keys, from left to right.
fn split<'s>(items: Vec<&'s Kept>, keys: &Keys<'_>, from: usize) -> Vec<Vec<&'s Kept>> {
    let all = places(&items, keys);
    for (number, place) in all.iter().enumerate().skip(from) {
        let Some(words) = words_at(&items, *place, keys) else { continue };
        let mut groups: BTreeMap<Option<&str>, Vec<&'s Kept>> = BTreeMap::new();
        for kept in &items {
            let part = part_of(kept, *place, keys.separator);
            groups.entry(part.filter(|part| words.contains(*part))).or_default().push(kept);
        }
        if groups.len() < 2 {
            continue;
        }
        let is_copy = copied(&items, *place, keys);
        let split: Vec<Vec<Vec<&Kept>>> =
            groups.into_values().map(|group| split(group, keys, number + 1)).collect();
        let leaves: Vec<&Vec<&Kept>> = split.iter().flatten().collect();
        // Values rather than kinds: nothing else tells the items apart.
        let one_each = split.iter().all(|group| group.len() == 1);
        if one_each && (is_copy || place.1 > 0) && alike(&leaves) {
            return vec![items];
        }
        return split.into_iter().flatten().collect();
    }
    vec![items]
}

/// The words at a place that tell kinds apart, if there are any.
fn words_at<'s>(
    items: &[&'s Kept],
    place: (&str, usize),
    keys: &Keys<'_>,
) -> Option<BTreeSet<&'s str>> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for kept in items {
        *counts.entry(part_of(kept, place, keys.separator)?).or_default() += 1;
    }
    if counts.len() < 2 {
        return None;
    }
    let is_alone = items
        .first()
        .and_then(|kept| kept.item.get(place.0)?.as_s())
        .is_some_and(|key| !key.contains(keys.separator));
    let (all, kinds) = (items.len(), counts.len());
    let is_copy = copied(items, place, keys);
    let every = counts.keys().all(|word| is_word(word));
    if is_copy {
        // An enumeration, or the name of the kind, which also stands in an attribute.
        return (every && place.1 == 0 && kinds <= MAX_WORDS && all >= kinds * 2)
            .then(|| counts.into_keys().collect());
    }
    let often = |count: usize| count >= 3.max(all / 100);
    let wanted = |(word, count): (&'s str, usize)| {
        let told = match (is_upper_word(word), place.1) {
            (true, 0) => true,
            (true, _) => often(count),
            (false, 0) if !is_alone => is_word(word) && (every || often(count)) && all >= kinds * 2,
            (false, _) => every && often(count) && all >= kinds * 5,
        };
        told.then_some(word)
    };
    let words: BTreeSet<&str> = counts.into_iter().filter_map(wanted).collect();
    (!words.is_empty() && words.len() <= MAX_WORDS).then_some(words)
}

/// Whether some attribute holds what stands at a place.
fn copied(items: &[&Kept], place: (&str, usize), keys: &Keys<'_>) -> bool {
    let Some(first) = items.first() else { return false };
    let candidates = first.item.keys().filter(|name| !keys.primary.contains(&name.as_str()));
    candidates.into_iter().any(|name| {
        Some(name.as_str()) != keys.type_attribute
            && items.iter().all(|kept| {
                let text = kept.item.get(name).and_then(AttributeValue::as_s);
                let part = part_of(kept, place, keys.separator);
                text.zip(part).is_some_and(|(text, part)| text.eq_ignore_ascii_case(part))
            })
    })
}

/// Whether groups have the same attributes.
fn alike(groups: &[&Vec<&Kept>]) -> bool {
    let names = |group: &Vec<&Kept>| -> BTreeSet<String> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for kept in group {
            for name in kept.item.keys() {
                *counts.entry(name.as_str()).or_default() += 1;
            }
        }
        let most = |count: usize| count * 20 >= group.len() * 19;
        counts
            .into_iter()
            .filter(|(_, count)| most(*count))
            .map(|(name, _)| name.to_owned())
            .collect()
    };
    let mut sets = groups.iter().map(|group| names(group));
    let Some(first) = sets.next() else { return true };
    sets.all(|set| set == first)
}

/// Whether nothing but a value tells kinds apart: the same attributes, and keys that begin alike.
pub(super) fn are_alike(kinds: &[Kind<'_>], keys: &Keys<'_>) -> bool {
    let heads = |kind: &Kind<'_>| -> Vec<Option<String>> {
        let head = |name: &&str| signature(kind, name, keys).into_iter().next().flatten();
        keys.primary.iter().map(head).collect()
    };
    let mut all = kinds.iter().map(heads);
    let first = all.next();
    let groups: Vec<&Vec<&Kept>> = kinds.iter().map(|kind| &kind.items).collect();
    all.all(|other| Some(other) == first) && alike(&groups)
}

/// Kinds whose keys have varying numbers of parts and no word in them are one kind, whose key is taken as it is.
fn merge_opaque<'s>(mut kinds: Vec<Kind<'s>>, keys: &Keys<'_>) -> Vec<Kind<'s>> {
    for (at, name) in keys.primary.iter().enumerate().rev() {
        let others: Vec<&str> =
            keys.primary.iter().copied().filter(|other| other != name).collect();
        let mut families: BTreeMap<Vec<Option<String>>, Vec<usize>> = BTreeMap::new();
        for (number, kind) in kinds.iter().enumerate() {
            if signature(kind, name, keys).iter().any(Option::is_some) {
                continue;
            }
            let mut family: Vec<Option<String>> = vec![kind.type_value.clone()];
            for other in &others {
                // The partition key is judged after the sort key, and may then be disregarded with it.
                if at == 0 && kind.opaque.contains(*other) {
                    family.push(Some("any".to_owned()));
                } else {
                    family.extend(signature(kind, other, keys));
                }
            }
            families.entry(family).or_default().push(number);
        }
        let mut gone: BTreeSet<usize> = BTreeSet::new();
        for members in families.into_values().filter(|members| members.len() >= 3) {
            let mut whole = Kind::default();
            for number in &members {
                let Some(kind) = kinds.get(*number) else { continue };
                whole.items.extend(&kind.items);
                whole.opaque.extend(kind.opaque.iter().cloned());
                whole.type_value.clone_from(&kind.type_value);
            }
            whole.opaque.insert((*name).to_owned());
            gone.extend(members);
            kinds.push(whole);
        }
        let mut number = 0;
        kinds.retain(|_| {
            number += 1;
            !gone.contains(&(number - 1))
        });
    }
    kinds
}

/// The constant words of a key, part by part.
fn signature(kind: &Kind<'_>, name: &str, keys: &Keys<'_>) -> Vec<Option<String>> {
    let Some(text) = kind.items.first().and_then(|kept| kept.item.get(name)?.as_s()) else {
        return Vec::new();
    };
    parts(text, keys.separator)
        .into_iter()
        .enumerate()
        .map(|(at, word)| {
            let same = |kept: &&Kept| {
                part_of(kept, (name, at), keys.separator).is_some_and(|it| it == word)
            };
            (is_word(word) && kind.items.iter().all(same)).then(|| word.to_owned())
        })
        .collect()
}

/// At most so many kinds as a design can have; the rarest become one.
fn limited<'s>(mut kinds: Vec<Kind<'s>>, keys: &Keys<'_>) -> Vec<Kind<'s>> {
    if kinds.len() <= MAX_ENTITIES {
        return kinds;
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.items.len()));
    let rest = kinds.split_off(MAX_ENTITIES - 1);
    let opaque = keys.primary.iter().map(|name| (*name).to_owned()).collect();
    let items = rest.into_iter().flat_map(|kind| kind.items).collect();
    kinds.push(Kind { items, opaque, type_value: None });
    kinds
}
