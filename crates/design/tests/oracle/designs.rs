//! Random designs over the whole language: tables, indexes, entities and their keys.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::patterns::random_pattern;
use crate::random::Random;
use crate::spec::{EntitySpec, IndexSpec, PatternSpec, Spec, TableSpec};

/// Fields with the types they may have; the first is the usual one.
const FIELDS: [(&str, &[&str]); 18] = [
    ("id", &["\"token\"", "\"token\"", "\"string\"", "\"u8\""]),
    (
        "name",
        &[
            "\"string\"",
            "\"string\"",
            "{ type = \"string\", max = 6 }",
            "\"string:lower\"",
            "\"string:desc\"",
        ],
    ),
    ("state", &["{ type = \"string\", values = [\"on\", \"only\", \"off\"] }"]),
    (
        "rank",
        &[
            "\"u16\"",
            "\"u16\"",
            "{ type = \"u16\", plain = true }",
            "\"i64\"",
            "\"decimal:6.2\"",
            "{ type = \"u16\", desc = true }",
        ],
    ),
    (
        "at",
        &[
            "\"datetime\"",
            "\"datetime\"",
            "\"datetime:ms\"",
            "\"date\"",
            "\"epoch_ms\"",
            "\"datetime:loose\"",
            "\"hour\"",
            "\"month\"",
            BOUNDED,
            "{ type = \"date\", since = \"2023-12-01\" }",
        ],
    ),
    ("late", &["{ type = \"datetime\", desc = true }", BOUNDED]),
    ("ref", &["\"ulid\"", "\"ulid\"", "\"uuid\""]),
    ("flag", &["{ type = \"token\", optional = true }"]),
    ("note", &["{ type = \"string\", optional = true }"]),
    ("score", &["{ type = \"number\", optional = true }", "\"number\""]),
    ("done", &["\"bool\"", "{ type = \"bool\", optional = true }"]),
    ("tags", &["{ type = \"string_set\", optional = true }", "\"string_set\""]),
    ("nums", &["{ type = \"number_set\", optional = true }"]),
    ("list", &["{ type = \"list\", optional = true }", "\"list\""]),
    ("meta", &["{ type = \"map\", optional = true }"]),
    ("blob", &["{ type = \"binary\", optional = true }"]),
    ("fix", &["\"fixed:3\""]),
    ("hex", &["\"hex:2\""]),
];

/// A time between two moments, so that open ranges of it have an end.
const BOUNDED: &str = "{ type = \"datetime\", since = \"2023-12-01\", until = \"2024-03-15\" }";

/// Fields that stand in keys, likelier ones more often.
const IN_KEYS: [&str; 16] = [
    "id", "id", "name", "name", "state", "rank", "at", "at", "late", "ref", "ref", "flag", "done",
    "fix", "hex", "note",
];

const WHENS: [&str; 10] = [
    "exists(flag)",
    "missing(flag)",
    "state = 'on'",
    "state in ('on', 'only')",
    "state <> 'off'",
    "done = true",
    "done <> true",
    "begins_with(name, 'a')",
    "exists(tags)",
    "flag = 'a'",
];

/// What shards are calculated from.
const SHARDED_BY: [&[&str]; 8] =
    [&[], &[], &["ref"], &["id"], &["name"], &["rank"], &["at"], &["state", "id"]];

/// A design with so many patterns.
pub(crate) fn random_design(random: &mut Random, patterns: usize) -> Spec {
    let mut spec = Spec { tables: vec![main_table(random)], ..Spec::default() };
    if random.percent(25) {
        spec.tables.push(native_table(random));
    }
    for n in 0..2 + random.below(3) {
        let table = random.pick(&spec.tables).clone();
        spec.entities.push(entity(random, n, &table));
    }
    share_keys(random, &mut spec);
    for n in 0..patterns {
        let pattern = random_pattern(random, &spec, n);
        spec.patterns.push(pattern);
    }
    others(random, &mut spec);
    prune(random, &mut spec);
    spec
}

/// Entities under one partition key, which are read together.
fn share_keys(random: &mut Random, spec: &mut Spec) {
    for at in 1..spec.entities.len() {
        let (before, rest) = spec.entities.split_at_mut(at);
        let (Some(model), Some(own)) = (random.some(before), rest.first_mut()) else { continue };
        if model.table != own.table || !random.percent(40) {
            continue;
        }
        for (attribute, template, _) in &mut own.keys {
            let shared = model.keys.iter().find(|(name, ..)| name == attribute);
            if let (Some((_, other, _)), true) = (shared, matches!(attribute.as_str(), "PK" | "G1"))
            {
                other.clone_into(template);
            }
        }
        for (name, kind) in &mut own.fields {
            let same = model.fields.iter().find(|(other, _)| other == name);
            if let (Some((_, other)), true) = (same, random.percent(70)) {
                other.clone_into(kind);
            }
        }
    }
}

/// Writes, and relationships, which are patterns of their own.
fn others(random: &mut Random, spec: &mut Spec) {
    let name = |random: &mut Random, spec: &Spec| random.pick(&spec.entities).name.clone();
    if random.percent(25) {
        let (from, to) = (name(random, spec), name(random, spec));
        let on = random.pick(&["", "on = \"id\"\n", "on = [\"ref\"]\n", "on = \"state\"\n"]);
        let direction = random.pick(&["", "direction = \"forward\"\n"]);
        let mut through = String::new();
        if random.percent(30) {
            through = format!("through = {:?}\n", name(random, spec));
        }
        let section = format!(
            "[relationship.\"r0\"]\nfrom = {from:?}\nto = {to:?}\n{through}{on}{direction}\n"
        );
        spec.others.push(("r0".to_owned(), section));
    }
    if random.percent(25) {
        let entity = name(random, spec);
        let kind = random.pick(&["put", "create", "update", "delete"]);
        let sets = if *kind == "update" { "sets = [\"flag\", \"note\"]\n" } else { "" };
        let section = format!("[write.\"w0\"]\nentity = {entity:?}\nkind = {kind:?}\n{sets}\n");
        spec.others.push(("w0".to_owned(), section));
    }
}

/// Leaves out most fields that nothing mentions: they only take time.
fn prune(random: &mut Random, spec: &mut Spec) {
    let Spec { tables, entities, patterns, others } = spec;
    for entity in entities {
        let mut text = String::new();
        for (_, template, when) in &entity.keys {
            let _ = write!(text, " {template} {}", when.as_deref().unwrap_or_default());
        }
        for table in tables.iter().filter(|table| table.name == entity.table) {
            let _ = write!(text, " {} {:?}", table.partition, table.sort);
            for index in &table.indexes {
                let _ = write!(text, " {:?} {:?}", index.partition, index.sort);
            }
        }
        let via = format!("via = {:?}", entity.name);
        for pattern in patterns.iter() {
            if pattern.find.contains(&entity.name) || pattern.settings.contains(&via) {
                let PatternSpec { terms, order, settings, .. } = pattern;
                let _ = write!(text, " {terms:?} {order:?} {settings:?}");
            }
        }
        for (_, section) in others.iter() {
            text.push_str(section);
        }
        if text.contains("{shard}") {
            let kind = entity.fields.iter().find(|(name, _)| name == "shard");
            let _ = write!(text, " shard {kind:?}");
        }
        let named: HashSet<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        // A shard stays with what it is calculated from.
        entity.fields.retain(|(name, _)| {
            named.contains(name.as_str()) || name != "shard" && random.percent(15)
        });
    }
}

fn settings(random: &mut Random) -> Vec<String> {
    let mut lines = Vec::new();
    if random.percent(60) {
        let escape = random.pick(&["percent", "order", "none"]);
        lines.push(format!("escape = {escape:?}"));
    }
    if random.percent(40) {
        lines.push("type_attribute = \"kind\"".to_owned());
    }
    if random.percent(15) {
        let separator = random.pick(&["|", "::", "/"]);
        lines.push(format!("separator = {separator:?}"));
    }
    lines
}

fn projection(random: &mut Random) -> Option<String> {
    match random.below(6) {
        5 => {
            let mut names: Vec<&str> = Vec::new();
            for _ in 0..=random.below(4) {
                let name = random.pick(&FIELDS).0;
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            Some(format!("{names:?}"))
        }
        0 => Some("\"keys\"".to_owned()),
        1 => Some("[\"name\", \"rank\", \"state\"]".to_owned()),
        2 => Some("[\"id\", \"at\", \"flag\", \"tags\"]".to_owned()),
        _ => None,
    }
}

fn main_table(random: &mut Random) -> TableSpec {
    let mut indexes = Vec::new();
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    if random.percent(75) {
        let sort = if random.percent(85) { names(&["G2"]) } else { Vec::new() };
        let projection = projection(random);
        indexes.push(IndexSpec {
            name: "GSI1".to_owned(),
            partition: names(&["G1"]),
            sort,
            local: false,
            projection,
        });
    }
    if random.percent(30) {
        let projection = projection(random);
        indexes.push(IndexSpec {
            name: "INV".to_owned(),
            partition: names(&["SK"]),
            sort: names(&["PK"]),
            local: false,
            projection,
        });
    }
    if random.percent(40) {
        let projection = projection(random);
        indexes.push(IndexSpec {
            name: "LSI1".to_owned(),
            partition: Vec::new(),
            sort: names(&["L1"]),
            local: true,
            projection,
        });
    }
    if random.percent(30) {
        let projection = projection(random);
        let partition =
            random.pick(&[names(&["state", "id"]), names(&["state"]), names(&["ref"])]).clone();
        let sort = random
            .pick(&[names(&["name"]), names(&["flag"]), names(&["fix", "name"]), Vec::new()])
            .clone();
        indexes.push(IndexSpec {
            name: "NATIVE".to_owned(),
            partition,
            sort,
            local: false,
            projection,
        });
    }
    let settings = settings(random);
    TableSpec {
        name: "app".to_owned(),
        partition: "PK".to_owned(),
        sort: Some("SK".to_owned()),
        settings,
        indexes,
    }
}

/// A table whose keys are fields as they are.
fn native_table(random: &mut Random) -> TableSpec {
    let sort = match random.below(4) {
        0 => None,
        1 => Some("score:N".to_owned()),
        2 => Some("name".to_owned()),
        _ => Some("SK".to_owned()),
    };
    let mut indexes = Vec::new();
    if random.percent(50) {
        let projection = projection(random);
        indexes.push(IndexSpec {
            name: "BYSTATE".to_owned(),
            partition: vec!["state".to_owned()],
            sort: vec!["flag".to_owned()],
            local: false,
            projection,
        });
    }
    let settings = settings(random);
    TableSpec { name: "own".to_owned(), partition: "ref".to_owned(), sort, settings, indexes }
}

fn entity(random: &mut Random, n: usize, table: &TableSpec) -> EntitySpec {
    let mut fields: Vec<(String, String)> = FIELDS
        .iter()
        .map(|(name, kinds)| {
            let kind = if random.percent(70) { kinds[0] } else { random.pick(kinds) };
            ((*name).to_owned(), kind.to_owned())
        })
        .collect();
    let shards = 2 + random.below(3);
    let by = random.pick(&SHARDED_BY);
    let by = if by.is_empty() { String::new() } else { format!(", by = {by:?}") };
    fields.push(("shard".to_owned(), format!("{{ type = \"shard\", shards = {shards}{by} }}")));
    let separator = table
        .settings
        .iter()
        .find_map(|line| line.strip_prefix("separator = \""))
        .map_or("#", |rest| rest.trim_end_matches('"'));
    let mut keys = Vec::new();
    let mut add = |random: &mut Random,
                   attribute: &str,
                   prefixes: &[&str],
                   most: usize,
                   when: Option<String>| {
        let template = template(random, prefixes, most, separator);
        keys.push((attribute.to_owned(), template, when));
    };
    if table.partition == "PK" {
        add(random, "PK", &["U#", "U#", "V#", "U", "E"], 2, None);
    }
    if table.sort.as_deref() == Some("SK") {
        add(random, "SK", &["", "E#", "F#", "E#F#", "E", "META"], 3, None);
    }
    for index in &table.indexes {
        let when = random.percent(30).then(|| (*random.pick(&WHENS)).to_owned());
        match index.name.as_str() {
            "GSI1" if random.percent(80) => {
                add(random, "G1", &["U#", "W#", ""], 2, when.clone());
                if !index.sort.is_empty() {
                    let when = when.filter(|_| random.percent(70));
                    add(random, "G2", &["", "E#", "F#"], 3, when);
                }
            }
            "LSI1" if random.percent(80) => add(random, "L1", &["", "L#"], 2, when),
            _ => {}
        }
    }
    for (attribute, template, _) in &mut keys {
        if matches!(attribute.as_str(), "PK" | "G1") && random.percent(20) {
            *template = format!("{template}{separator}{{shard}}");
        }
    }
    // Fields may live in keys alone, whole or as their keys write them.
    for (name, kind) in &mut fields {
        let (bare, formatted) = (format!("{{{name}}}"), format!("{{{name}:"));
        let inside = keys.iter().any(|key| key.1.contains(&bare) || key.1.contains(&formatted));
        if name != "shard" && inside && random.percent(12) {
            *kind = match kind.strip_suffix(" }") {
                Some(open) => format!("{open}, key_only = true }}"),
                None => format!("{{ type = {kind}, key_only = true }}"),
            };
        }
    }
    EntitySpec { name: format!("E{n}"), table: table.name.clone(), keys, fields }
}

/// A key template: a text and a few different fields, times perhaps by day, texts perhaps folded.
fn template(random: &mut Random, prefixes: &[&str], most: usize, separator: &str) -> String {
    let mut text = random.pick(prefixes).replace('#', separator);
    let mut seen: Vec<&str> = Vec::new();
    for _ in 0..random.below(most + 1) {
        let field = *random.pick(&IN_KEYS);
        if seen.contains(&field) {
            continue;
        }
        seen.push(field);
        if !text.is_empty() && !text.ends_with(separator) {
            text.push_str(separator);
        }
        let format = match field {
            "at" | "late" => *random.pick(&[
                "",
                "",
                "",
                ":date",
                ":date",
                ":month",
                ":month",
                ":datetime:ms",
                ":date:compact",
                ":datetime:compact",
                ":year",
                ":month:compact:desc",
            ]),
            "name" | "id" => *random.pick(&["", "", "", "", ":string:lower", ":string:desc"]),
            _ => "",
        };
        let _ = write!(text, "{{{field}{format}}}");
    }
    if text.is_empty() { "X".to_owned() } else { text }
}
