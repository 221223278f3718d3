//! Pairs of designs: what people change.

use keyloom_core::hash::SplitMix64;

/// Two designs, one after the other.
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    pub(crate) old: String,
    pub(crate) new: String,
}

/// The parts of a design that pairs differ in.
#[derive(Clone)]
struct Parts {
    table: &'static str,
    settings: &'static str,
    entity: &'static str,
    was: &'static str,
    pk: &'static str,
    sk: &'static str,
    more_keys: &'static str,
    id: &'static str,
    at: &'static str,
    title: &'static str,
    more_fields: &'static str,
    more: &'static str,
}

const BASE: Parts = Parts {
    table: "tasks",
    settings: "",
    entity: "Task",
    was: "",
    pk: "ORG#{org}",
    sk: "TASK#{id}",
    more_keys: "",
    id: r#"{ type = "u32", width = 6 }"#,
    at: r#""datetime""#,
    title: r#"title = "string""#,
    more_fields: "",
    more: "",
};

fn text(parts: &Parts) -> String {
    let Parts { table, settings, entity, was, pk, sk, more_keys, id, at, title, more_fields, more } =
        parts;
    format!(
        r#"
[table.{table}]
partition_key = "PK"
sort_key = "SK"
ttl = "expires"
{settings}
[entity.{entity}]
table = "{table}"
{was}
PK = "{pk}"
SK = "{sk}"
{more_keys}
[entity.{entity}.fields]
org = "string"
id = {id}
at = {at}
status = {{ type = "string", values = ["open", "done", "late"] }}
{title}
score = {{ type = "u32", optional = true }}
expires = {{ type = "number", optional = true }}
{more_fields}
[access."one"]
find = "{entity}"
where = "org = ? and id = ?"
{more}
"#
    )
}

const OF_ORG: &str = "[access.\"of an org\"]\nfind = \"Task\"\nwhere = \"org = ?\"\n";
const INDEX: &str = "[table.tasks.index.GSI1]\npartition_key = \"GSI1PK\"\nsort_key = \"GSI1SK\"\n";

/// A random pair.
pub(crate) fn pair(random: &mut SplitMix64) -> Pair {
    match random.below(18) {
        9 => merged(),
        10 => split(),
        11 => several_tables(),
        number @ 14..=17 => of_index_keys(number),
        number @ 0..=5 => of_keys(number),
        number => of_attributes(number),
    }
}

fn of(name: &'static str, old: &Parts, new: &Parts) -> Pair {
    Pair { name, old: text(old), new: text(new) }
}

/// Changes of primary keys.
fn of_keys(number: usize) -> Pair {
    let base = Parts { more: OF_ORG, ..BASE };
    let elsewhere = Parts { table: "tasks2", ..base.clone() };
    match number {
        0 => {
            let plain = Parts { id: r#"{ type = "u32", plain = true }"#, ..BASE };
            of("padding", &plain, &Parts { table: "tasks2", ..BASE })
        }
        1 => of("prefix of the partition", &base, &Parts { pk: "O#{org}", ..base.clone() }),
        2 => {
            let piped = Parts {
                settings: r#"separator = "|""#,
                pk: "ORG|{org}",
                sk: "TASK|{id}",
                ..base.clone()
            };
            of("separator", &base, &piped)
        }
        3 => {
            let keyed = Parts {
                pk: "O#{org}",
                sk: "{status}#{id}",
                more: "[access.\"by status\"]\nfind = \"Task\"\nwhere = \"org = ? and status = ?\"\n",
                ..BASE
            };
            Pair {
                name: "key from a field that changes",
                new: without_one(&text(&keyed)),
                ..of("", &base, &keyed)
            }
        }
        4 => {
            let sharded = Parts {
                pk: "ORG#{org}#{shard}",
                more_fields: r#"shard = { type = "shard", shards = 4, by = ["id"] }"#,
                ..elsewhere.clone()
            };
            of("shards added", &base, &sharded)
        }
        _ => of("moved", &base, &elsewhere),
    }
}

/// Changes of index keys and attributes.
fn of_attributes(number: usize) -> Pair {
    let base = Parts { more: OF_ORG, ..BASE };
    let elsewhere = Parts { table: "tasks2", ..base.clone() };
    match number {
        6 => {
            let indexed = Parts {
                more_keys: "GSI1PK = \"S#{status}\"\nGSI1SK = \"{at}#{org}#{id}\"",
                more: "[access.\"by status\"]\nfind = \"Task\"\nwhere = \"status = ?\"\norder = \"at\"\n",
                settings: INDEX,
                ..BASE
            };
            of("index joined", &Parts { settings: INDEX, more: "", ..BASE }, &indexed)
        }
        7 => of("attribute renamed", &base, &Parts { title: RENAMED, ..base.clone() }),
        8 => of(
            "attribute renamed and moved",
            &base,
            &Parts { title: RENAMED, pk: "O#{org}", ..elsewhere },
        ),
        12 => {
            let loose = Parts { at: r#""datetime:loose""#, ..BASE };
            of(
                "time format repaired",
                &loose,
                &Parts { sk: "{at}#{id}", table: "tasks2", more: "", ..BASE },
            )
            .without("one")
        }
        _ => {
            let sparse = Parts {
                more_keys: "GSI1PK = { template = \"LATE#{org}\", when = \"status = 'late'\" }\nGSI1SK = \"{id}\"",
                more: "",
                settings: INDEX,
                ..BASE
            };
            of("sparse index joined", &Parts { settings: INDEX, more: "", ..BASE }, &sparse)
        }
    }
}

/// Index keys that are rewritten in place, joined or left.
fn of_index_keys(number: usize) -> Pair {
    const BY_STATUS: &str = "[access.\"by status\"]\nfind = \"Task\"\nwhere = \"status = ?\"\n";
    let indexed = |more_keys, more| Parts { settings: INDEX, more_keys, more, ..BASE };
    let plain = "GSI1PK = \"S#{status}\"\nGSI1SK = \"{score_of}#{org}#{id}\"";
    match number {
        // The old pattern reads whole partitions, in which both forms are found.
        14 => {
            let numbers = "score_of = { type = \"u32\", plain = true }";
            let padded = "score_of = { type = \"u32\", width = 8 }";
            let old = Parts { more_fields: numbers, ..indexed(plain, BY_STATUS) };
            let ordered = "[access.\"by status\"]\nfind = \"Task\"\nwhere = \"status = ?\"\norder = \"score_of\"\n";
            of(
                "padding of an index key",
                &old,
                &Parts { more_fields: padded, ..indexed(plain, ordered) },
            )
        }
        // No old pattern reads the index.
        15 => of(
            "template of an index key",
            &indexed("GSI1PK = \"S#{status}\"\nGSI1SK = \"{id}\"", ""),
            &indexed("GSI1PK = \"STATUS#{status}\"\nGSI1SK = \"{at}#{org}#{id}\"", BY_STATUS),
        ),
        16 => of(
            "condition of an index key",
            &indexed("GSI1PK = \"L#{org}\"\nGSI1SK = \"{id}\"", ""),
            &indexed(
                "GSI1PK = { template = \"L#{org}\", when = \"status = 'late'\" }\nGSI1SK = \"{id}\"",
                "",
            ),
        ),
        _ => of(
            "index left",
            &indexed("GSI1PK = \"S#{status}\"\nGSI1SK = \"{at}#{org}#{id}\"", BY_STATUS),
            &indexed("", ""),
        ),
    }
}

const RENAMED: &str = r#"name = { type = "string", was = "title" }"#;

impl Pair {
    /// Drops a pattern from the new design.
    fn without(mut self, _pattern: &str) -> Self {
        self.new = without_one(&self.new);
        self
    }
}

fn without_one(text: &str) -> String {
    text.replace("[access.\"one\"]\nfind = \"Task\"\nwhere = \"org = ? and id = ?\"\n", "")
}

/// Two entities become one.
fn merged() -> Pair {
    let task = text(&Parts { pk: "T#{org}", ..BASE });
    let fields = task.split("[entity.Task.fields]").nth(1).unwrap();
    let fields = fields.split("[access").next().unwrap();
    let old = format!(
        "{task}\n[entity.Chore]\ntable = \"tasks\"\nPK = \"C#{{org}}\"\nSK = \"TASK#{{id}}\"\n[entity.Chore.fields]{fields}"
    );
    let new =
        text(&Parts { table: "tasks2", entity: "Job", was: r#"was = ["Task", "Chore"]"#, ..BASE });
    Pair { name: "entities merged", old, new }
}

/// One entity becomes two.
fn split() -> Pair {
    let old = text(&BASE);
    let new = r#"
[table.tasks2]
partition_key = "PK"
sort_key = "SK"
[entity.Head]
was = "Task"
PK = "ORG#{org}"
SK = "HEAD#{id}"
[entity.Head.fields]
org = "string"
id = { type = "u32", width = 6 }
status = { type = "string", values = ["open", "done", "late"] }
expires = { type = "number", optional = true }
[entity.Body]
was = "Task"
PK = "ORG#{org}"
SK = "BODY#{id}"
[entity.Body.fields]
org = "string"
id = { type = "u32", width = 6 }
title = "string"
at = "datetime"
score = { type = "u32", optional = true }
expires = { type = "number", optional = true }
[access.heads]
find = "Head"
where = "org = ?"
"#;
    Pair {
        name: "entity split",
        old,
        new: new.replace("sort_key = \"SK\"\n[", "sort_key = \"SK\"\nttl = \"expires\"\n["),
    }
}

/// One table from two.
fn several_tables() -> Pair {
    let other = text(&Parts { table: "chores", entity: "Chore", ..BASE });
    let other = other.split("[access").next().unwrap().to_owned();
    let old = format!("{}\n{other}", text(&BASE));
    let task = text(&Parts { table: "all", pk: "T#{org}", ..BASE });
    let chore = text(&Parts { table: "all", entity: "Chore", pk: "C#{org}", ..BASE });
    let chore = chore.split("[entity.Chore]").nth(1).unwrap().split("[access").next().unwrap();
    Pair { name: "one table from several", old, new: format!("{task}\n[entity.Chore]{chore}") }
}
