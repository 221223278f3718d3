//! Random access patterns that follow the keys of a design, more or less.

use std::fmt::Write as _;

use crate::random::Random;
use crate::spec::{EntitySpec, PatternSpec, Spec, TableSpec};

/// Conditions that keys seldom answer: filters of every operator and type.
const EXTRAS: [&str; 44] = [
    "state = ?",
    "state <> 'off'",
    "state <> ?",
    "state in ('on', 'only')",
    "state in (?, ?)",
    "state > 'off'",
    "exists(flag)",
    "missing(flag)",
    "flag = ?",
    "flag <> ?",
    "flag > ?",
    "flag in ('a', 'ab')",
    "flag begins_with 'a'",
    "rank = ?",
    "rank > 5",
    "rank <= ?",
    "rank between 1 and 100",
    "rank <> 9",
    "rank in (1, 2, 10)",
    "name = ?",
    "name contains 'a'",
    "not contains(name, ?)",
    "name begins_with ?",
    "name <> ''",
    "note = ''",
    "note <> ?",
    "contains(note, 'b')",
    "at = '2024-01-05'",
    "at between ? and ?",
    "at > '2024-01-05'",
    "at <= ?",
    "at <> ?",
    "done = true",
    "done <> true",
    "done >= false",
    "score > ?",
    "score = ?",
    "score between 0 and 10",
    "contains(tags, ?)",
    "not contains(tags, 'a')",
    "contains(nums, ?)",
    "contains(list, ?)",
    "missing(list)",
    "hex >= ?",
];

const RANGES: [&str; 8] =
    ["> ?", ">= ?", "< ?", "<= ?", "between ? and ?", "begins_with ?", "between ? and ?", ">= ?"];

pub(crate) fn random_pattern(random: &mut Random, spec: &Spec, n: usize) -> PatternSpec {
    let entity = random.pick(&spec.entities).clone();
    let mut find = vec![entity.name.clone()];
    let mut settings = Vec::new();
    let kin: Vec<&EntitySpec> = spec.entities.iter().filter(|e| e.table == entity.table).collect();
    if random.percent(15) {
        for _ in 0..*random.pick(&[1, 1, 2]) {
            let other = random.pick(&kin);
            if !find.contains(&other.name) {
                find.push(other.name.clone());
            }
        }
    } else if random.percent(10) {
        let other = random.pick(&spec.entities);
        if other.name != entity.name {
            settings.push(format!("via = {:?}", entity.name));
            find = vec![other.name.clone()];
        }
    }
    let table = spec.tables.iter().find(|table| table.name == entity.table).unwrap();
    let places = places(&entity, table);
    let place = random.pick(&places).clone();
    let (mut terms, next) = questions(random, &place);
    for _ in 0..2 {
        if random.percent(25) {
            let extra = *random.pick(&EXTRAS);
            if terms.iter().all(|term| field_of(term) != field_of(extra)) {
                terms.push(extra.to_owned());
            }
        }
    }
    // The classic: rows that are found through one key or through another.
    if random.percent(10) && !terms.is_empty() {
        let place = random.pick(&places).clone();
        let (other, _) = questions(random, &place);
        let other =
            if random.percent(30) { vec![(*random.pick(&EXTRAS)).to_owned()] } else { other };
        if !other.is_empty() {
            terms = vec![format!("({} or {})", terms.join(" and "), other.join(" and "))];
        }
    }
    let order = order(random, next.as_deref(), &place);
    if random.percent(30) {
        settings.push(format!("limit = {}", 1 + random.below(4)));
    }
    if random.percent(30) {
        let fields = ["id", "name", "at", "rank", "flag", "tags", "ref", "fix"];
        let mut wanted: Vec<&str> = (0..=random.below(3)).map(|_| *random.pick(&fields)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        settings.push(format!("returns = {wanted:?}"));
    }
    if random.percent(8) {
        settings.push("consistent = true".to_owned());
    }
    let by_hand = find == [entity.name.as_str()] && random.percent(15);
    if by_hand {
        settings.extend(handwritten(random, &place, &terms, next.as_deref()));
    } else if random.percent(10) {
        settings.push(format!("index = {:?}", place.index));
    }
    PatternSpec { name: format!("p{n}"), find, terms, order, settings }
}

/// A key that an entity has.
#[derive(Clone, Debug)]
struct Place {
    index: String,
    hash: Vec<(String, String)>,
    sort: Vec<(String, String)>,
}

/// The keys of an entity: attributes with their templates.
fn places(entity: &EntitySpec, table: &TableSpec) -> Vec<Place> {
    let part = |attribute: &String| {
        let bare = attribute.split(':').next().unwrap().to_owned();
        let written = entity.keys.iter().find(|(name, ..)| *name == bare);
        match written {
            Some((_, template, _)) => Some((bare, template.clone())),
            None => entity
                .fields
                .iter()
                .any(|(name, _)| *name == bare)
                .then(|| (bare.clone(), format!("{{{bare}}}"))),
        }
    };
    let parts = |list: &[String]| list.iter().map(part).collect::<Option<Vec<_>>>();
    let own = Place {
        index: "table".to_owned(),
        hash: parts(std::slice::from_ref(&table.partition)).unwrap(),
        sort: parts(&table.sort.iter().cloned().collect::<Vec<_>>()).unwrap(),
    };
    let mut places = vec![own.clone()];
    for index in &table.indexes {
        let hash = if index.local { Some(own.hash.clone()) } else { parts(&index.partition) };
        if let (Some(hash), Some(sort)) = (hash, parts(&index.sort)) {
            places.push(Place { index: index.name.clone(), hash, sort });
        }
    }
    places
}

fn fields_in(template: &str) -> Vec<String> {
    let parts = template.split('{').skip(1).filter_map(|part| part.split(['}', ':']).next());
    parts.filter(|name| *name != "shard").map(str::to_owned).collect()
}

fn field_of(term: &str) -> &str {
    let words = term.split([' ', '(', ')', ',']).filter(|word| !word.is_empty());
    let mut names = words
        .filter(|word| !["exists", "missing", "contains", "begins_with", "not"].contains(word));
    names.next().unwrap_or_default()
}

/// Equalities for the partition and the beginning of the sort key, perhaps a range on what follows.
fn questions(random: &mut Random, place: &Place) -> (Vec<String>, Option<String>) {
    let mut seen: Vec<String> = Vec::new();
    let mut terms = Vec::new();
    for field in place.hash.iter().flat_map(|(_, template)| fields_in(template)) {
        if seen.contains(&field) {
            continue;
        }
        seen.push(field.clone());
        terms.push(match random.below(14) {
            0 => continue,
            1 => format!("{field} {}", random.pick(&["in (?, ?)", "in (?, ?, ?)"])),
            9 if field == "at" || field == "late" => format!(
                "{field} {}",
                random.pick(&["begins_with ?", "begins_with '2024-01'", "begins_with '2024-0'"])
            ),
            9 if field == "id" => "id in ('a', 'a', '1')".to_owned(),
            2 if field == "at" || field == "late" => {
                format!("{field} between '2024-01-05' and '2024-01-06'")
            }
            2 | 3 if field == "at" || field == "late" => format!("{field} between ? and ?"),
            5..8 if field == "at" || field == "late" => {
                format!("{field} {}", random.pick(&["<= ?", ">= ?", "< ?", "> '2024-01-05'"]))
            }
            8 => format!("{field} = :own_{field}"),
            4 if field == "state" => "state = 'on'".to_owned(),
            _ => format!("{field} = ?"),
        });
    }
    let rest: Vec<String> =
        place.sort.iter().flat_map(|(_, template)| fields_in(template)).collect();
    let mut rest: Vec<String> = rest.into_iter().filter(|field| !seen.contains(field)).collect();
    rest.dedup();
    let pinned = random.below(rest.len() + 1);
    for field in &rest[..pinned] {
        terms.push(if random.percent(8) {
            format!("{field} in (?, ?)")
        } else {
            format!("{field} = ?")
        });
    }
    let next = rest.get(pinned).cloned();
    if let (Some(field), true) = (&next, random.percent(55)) {
        let test = *random.pick(&RANGES);
        let test = match field.as_str() {
            "at" | "late" if random.percent(25) => *random.pick(&[
                "= '2024-01-05'",
                "between '2024-01-01' and '2024-01-31'",
                "> '2024-01-05'",
            ]),
            "state" if random.percent(30) => "in ('on', 'off')",
            _ => test,
        };
        terms.push(format!("{field} {test}"));
    }
    (terms, next)
}

fn order(random: &mut Random, next: Option<&str>, place: &Place) -> Vec<String> {
    let direction = |random: &mut Random| *random.pick(&["", " desc"]);
    if random.percent(45) {
        return Vec::new();
    }
    let mut fields: Vec<String> =
        place.sort.iter().flat_map(|(_, template)| fields_in(template)).collect();
    let mut chosen = Vec::new();
    if let (Some(next), true) = (next, random.percent(75)) {
        chosen.push(next.to_owned());
        let after = fields.iter().position(|field| field == next).map_or(0, |at| at + 1);
        fields.drain(..after);
        if random.percent(30) {
            chosen.extend(fields.into_iter().take(1));
        }
    } else {
        let any = ["id", "name", "rank", "at", "late", "state", "ref", "flag", "score"];
        chosen.push((*random.pick(&any)).to_owned());
    }
    let way = direction(random);
    chosen.dedup();
    chosen.into_iter().map(|field| format!("{field}{way}")).collect()
}

/// A key condition by hand: what the templates say, or something near it.
fn handwritten(
    random: &mut Random,
    place: &Place,
    asked: &[String],
    next: Option<&str>,
) -> Vec<String> {
    let bare = |template: &str| {
        let mut out = String::new();
        for part in template.split_inclusive('}') {
            match part.split_once('{') {
                Some((text, field)) => {
                    let field = field.trim_end_matches('}');
                    let name = field.split(':').next().unwrap_or(field);
                    // A shard is one of several; a careless reader takes the first.
                    out.push_str(text);
                    if name == "shard" {
                        out.push('0');
                    } else {
                        let _ = write!(out, "{{{name}}}");
                    }
                }
                None => out.push_str(part),
            }
        }
        out
    };
    let mut terms: Vec<String> = place
        .hash
        .iter()
        .map(|(attribute, template)| format!("{attribute} = '{}'", bare(template)))
        .collect();
    if let Some((attribute, template)) = place.sort.first() {
        let whole = bare(template);
        let cut = whole.find('{').map_or(whole.len(), |at| at);
        let prefix = &whole[..cut];
        let ranged = next.and_then(|next| range_by_hand(&whole, next, asked));
        terms.extend(match random.below(10) {
            7.. if ranged.is_some() => ranged.map(|range| format!("{attribute} {range}")),
            0 => None,
            1 => Some(format!("{attribute} = '{whole}'")),
            2 if !prefix.is_empty() => Some(format!("{attribute} >= '{prefix}'")),
            3 => Some(format!("{attribute} between '{prefix}0' and '{prefix}z'")),
            4 => Some(format!(
                "begins_with({attribute}, '{}')",
                whole.split_once('}').map_or(whole.as_str(), |(a, _)| &whole[..=a.len()])
            )),
            _ if !prefix.is_empty() => Some(format!("begins_with({attribute}, '{prefix}')")),
            _ => None,
        });
    }
    let mut settings = vec![format!("key = {:?}", terms.join(" and "))];
    if place.index != "table" {
        settings.push(format!("index = {:?}", place.index));
    }
    if random.percent(25) {
        let filter = random.pick(&[
            "state = 'on'",
            "rank > 5",
            "flag <> 'a'",
            "attribute_exists(flag)",
            "contains(tags, 'a')",
            "done = true",
            "rank > :rank",
            "rank between :low and 100",
            "done >= true",
            "done < :done",
            "begins_with(rank, 5)",
            "begins_with(name, :name)",
            "rank between 9 and 1",
            "name = :name",
            "state in (:state, 'on')",
        ]);
        settings.push(format!("filter = {filter:?}"));
    }
    settings
}

/// The range that a condition asks for, written on the key as a careful reader would.
fn range_by_hand(whole: &str, next: &str, asked: &[String]) -> Option<String> {
    let condition = asked.iter().find_map(|term| term.strip_prefix(next)?.strip_prefix(' '))?;
    let before = whole.split_once(&format!("{{{next}}}"))?.0;
    let own = |input: &str| format!("{before}{{{input}}}");
    match condition {
        "> ?" | ">= ?" | "< ?" | "<= ?" => {
            let sign = condition.trim_end_matches(" ?");
            Some(format!("{sign} '{}'", own(next)))
        }
        "between ? and ?" => {
            let (from, to) = (own(&format!("{next}_from")), own(&format!("{next}_to")));
            Some(format!("between '{from}' and '{to}~'"))
        }
        _ => None,
    }
}
