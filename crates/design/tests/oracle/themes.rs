//! Random designs with a theme: small ones around one thing that a planner may get wrong, which designs over the whole
//! language meet once in a thousand.

use crate::random::Random;
use crate::spec::{EntitySpec, IndexSpec, PatternSpec, Spec, TableSpec};

/// What designs of a theme are made of: of every list one thing is picked.
#[derive(Debug)]
pub(crate) struct Theme {
    pub(crate) name: &'static str,
    /// Settings of the table.
    settings: &'static [&'static str],
    /// The table's key attributes.
    table: (&'static str, &'static str),
    /// The projections of GSI1, keyed by G1 and G2; none of it without one.
    index: &'static [&'static str],
    /// The templates of each entity's keys, and with `when` the condition of G1.
    entities: &'static [&'static [(&'static str, &'static [&'static str])]],
    /// The types of fields, of one entity where it stands in front: `E1.at`.
    fields: &'static [(&'static str, &'static [&'static str])],
    /// The entities that are looked for.
    find: &'static [&'static str],
    wheres: &'static [&'static str],
    orders: &'static [&'static str],
    /// Further lines of a pattern, those of one pattern separated by `|`.
    lines: &'static [&'static str],
}

const STATE: &str = "{ type = \"string\", values = [\"on\", \"only\", \"off\"] }";
const MOMENTS: &[&str] = &["\"datetime\"", "\"datetime:ms\""];

const NONE: Theme = Theme {
    name: "",
    settings: &[],
    table: ("PK", "SK"),
    index: &[],
    entities: &[],
    fields: &[],
    find: &["E0"],
    wheres: &["state = ?"],
    orders: &[""],
    lines: &[""],
};

pub(crate) const THEMES: &[Theme] = &[
    Theme {
        name: "ends of sparse indexes",
        index: &["all"],
        entities: &[&[
            ("PK", &["U#{ref}"]),
            ("SK", &["{id}"]),
            ("G1", &["W#{state}"]),
            ("G2", &["{id}"]),
            ("when", &["rank < 9", "rank > 9", "rank between 1 and 9", "rank <= 9", "rank < 100"]),
        ]],
        fields: &[
            ("ref", &["\"ulid\""]),
            ("id", &["\"token\""]),
            ("state", &[STATE]),
            ("rank", &["\"u16\""]),
        ],
        wheres: &[
            "state = ? and rank = 9",
            "state = ? and rank in (1, 9)",
            "state = ? and rank = 100",
            "state = ? and rank = 1",
            "state = ? and rank <= 9",
        ],
        ..NONE
    },
    Theme {
        name: "beginnings of compact times",
        entities: &[&[
            ("PK", &["U#{state}"]),
            (
                "SK",
                &[
                    "{at:datetime:compact}#{id}",
                    "{at:date:compact}#{id}",
                    "{at:month:compact}#{id}",
                ],
            ),
        ]],
        fields: &[
            ("state", &[STATE]),
            ("at", &["\"datetime\"", "\"date\""]),
            ("id", &["\"token\""]),
        ],
        wheres: &[
            "state = ? and at begins_with '2024-01'",
            "state = ? and at begins_with '2024-01-05'",
            "state = ? and at begins_with '2024'",
            "state = ? and at begins_with ?",
        ],
        ..NONE
    },
    Theme {
        name: "ranges of plain numbers",
        table: ("state", "score:N"),
        entities: &[&[]],
        fields: &[("state", &["\"token\""]), ("score", &["\"number\""]), ("id", &["\"token\""])],
        wheres: &[
            "state = ? and score > 0 and score < 10",
            "state = ? and score >= 0 and score < 10",
            "state = ? and score > ? and score <= 10",
            "state = ? and score >= ?",
        ],
        orders: &["", "score", "score desc"],
        ..NONE
    },
    Theme {
        name: "keys by hand",
        settings: &["escape = \"percent\"", "escape = \"order\""],
        entities: &[&[("PK", &["U#{name}"]), ("SK", &["{id}", "{id}#E"])]],
        fields: &[("name", &["\"string\""]), ("id", &["\"token\""])],
        wheres: &["name = ?"],
        lines: &[
            "key = \"PK = 'U#{name}'\"",
            "key = \"PK = 'U#{name}' and SK > 'a'\"",
            "key = \"PK = 'U#{name}' and begins_with(SK, '1')\"",
        ],
        ..NONE
    },
    Theme {
        name: "keys that begin alike",
        settings: &["escape = \"none\"", "escape = \"percent\""],
        entities: &[
            &[("PK", &["{name}"]), ("SK", &["{id}"])],
            &[("PK", &["a", "ab", "a#{state}"]), ("SK", &["{id}"])],
        ],
        fields: &[
            ("name", &["{ type = \"string\", values = [\"a\", \"ab\", \"b\"] }"]),
            ("id", &["\"token\""]),
            ("state", &[STATE]),
        ],
        wheres: &["name = ?"],
        ..NONE
    },
    Theme {
        name: "common beginnings",
        entities: &[
            &[("PK", &["U#{state}"]), ("SK", &["{name}#{rank}", "{name}#E"])],
            &[("PK", &["U#{state}"]), ("SK", &["{name}"])],
        ],
        fields: &[
            ("state", &[STATE]),
            ("name", &["{ type = \"string\", values = [\"a\", \"ab\", \"abc\"] }"]),
            ("rank", &["\"u16\""]),
        ],
        find: &["E0 E1"],
        wheres: &["state = ? and name = ?", "state = ? and name = 'a'"],
        ..NONE
    },
    Theme {
        name: "separators inside values",
        settings: &["escape = \"none\""],
        entities: &[&[
            ("PK", &["U"]),
            ("SK", &["{name}#{note}", "{name}#{id}#{note}", "{name}#{note}#E"]),
        ]],
        fields: &[("name", &["\"string\""]), ("note", &["\"string\""]), ("id", &["\"token\""])],
        wheres: &["name = ?", "name = ? and note = ?"],
        ..NONE
    },
    Theme {
        name: "beginnings of days",
        entities: &[&[("PK", &["U#{at}", "U#{at:date}"]), ("SK", &["{id}"])]],
        fields: &[("at", &["\"date\"", "\"date\"", "\"datetime\""]), ("id", &["\"token\""])],
        wheres: &[
            "at begins_with '2024-01-0'",
            "at begins_with '2024-01-3'",
            "at begins_with '2024-01'",
            "at begins_with ?",
        ],
        ..NONE
    },
    Theme {
        name: "times written in several ways",
        entities: &[
            &[("PK", &["U#{state}"]), ("SK", &["{at}#{id}"])],
            &[("PK", &["V#{state}"]), ("SK", &["{at}#{id}"])],
        ],
        fields: &[
            ("state", &[STATE]),
            ("at", &["\"datetime\""]),
            ("E1.at", &["\"datetime:ms\"", "\"date\"", "\"hour\""]),
            ("id", &["\"token\""]),
        ],
        find: &["E0 E1"],
        orders: &["at", "at desc"],
        ..NONE
    },
    Theme {
        name: "entities in one order",
        entities: &[
            &[("PK", &["U#{state}"]), ("SK", &["E#{at}#{id}", "{at}#{id}"])],
            &[
                ("PK", &["U#{state}", "U#{state}", "V#{state}"]),
                ("SK", &["F#{at}#{id}", "{at}#{id}", "{id}"]),
            ],
        ],
        fields: &[("state", &[STATE]), ("at", &["\"datetime\""]), ("id", &["\"token\""])],
        find: &["E0 E1"],
        wheres: &["state = ?", "state = ? and at > '2024-01-05'"],
        orders: &["at", "at desc", ""],
        lines: &["", "limit = 2"],
        ..NONE
    },
    Theme {
        name: "whole days",
        entities: &[&[
            ("PK", &["U#{at:date}", "U#{at:month}"]),
            ("SK", &["{name}#{at}", "{id}#{at}", "{at}"]),
        ]],
        fields: &[("at", MOMENTS), ("name", &["\"string\""]), ("id", &["\"token\""])],
        wheres: &["at = '2024-01-05'", "at = '2024-01'", "at = ?"],
        orders: &["at", "at desc"],
        ..NONE
    },
    Theme {
        name: "folded keys by hand",
        entities: &[&[("PK", &["U#{id:string:lower}"]), ("SK", &["{ref}"])]],
        fields: &[("id", &["\"token\""]), ("ref", &["\"ulid\""])],
        wheres: &[""],
        orders: &["id", "id desc"],
        lines: &["key = \"PK = 'U#{id}'\"", "key = \"PK = 'U#a'\""],
        ..NONE
    },
    Theme {
        name: "first rows",
        entities: &[&[("PK", &["U#{state}"]), ("SK", &["{id}", "{at}"])]],
        fields: &[
            ("state", &[STATE]),
            ("id", &["\"token\""]),
            ("at", &["\"datetime\""]),
            ("rank", &["\"u16\""]),
        ],
        orders: &["rank", "at", "at desc", "id"],
        lines: &["limit = 1", "limit = 2"],
        ..NONE
    },
    Theme {
        name: "days of an index",
        index: &["all"],
        entities: &[&[
            ("PK", &["U#{state}"]),
            ("SK", &["{at}"]),
            ("G1", &["W#{state}#{at:date}", "W#{state}#{at:month}"]),
            ("G2", &["X", "{state}"]),
        ]],
        fields: &[("state", &[STATE]), ("at", MOMENTS), ("rank", &["\"u16\""])],
        wheres: &["state = ? and at = '2024-01-05'", "state = ? and at = '2024-01'"],
        orders: &["rank", "rank desc"],
        ..NONE
    },
    Theme {
        name: "orders of keys",
        settings: &["escape = \"none\"", "escape = \"percent\"", "escape = \"order\""],
        entities: &[&[
            ("PK", &["U#{state}"]),
            (
                "SK",
                &[
                    "{rank}#{id}",
                    "{late}#{id}",
                    "{name}#{at}",
                    "{name}#{id}",
                    "{at}#{id}",
                    "E#{id}#{rank}",
                ],
            ),
        ]],
        fields: &[
            ("state", &[STATE]),
            (
                "rank",
                &[
                    "{ type = \"u16\", plain = true }",
                    "\"decimal:6.2\"",
                    "{ type = \"u16\", desc = true }",
                ],
            ),
            ("late", &["{ type = \"datetime\", desc = true }"]),
            ("name", &["\"string\"", "\"string:desc\""]),
            ("at", &["\"datetime\"", "\"datetime:loose\""]),
            ("id", &["\"token\""]),
        ],
        wheres: &[
            "state = ?",
            "state = ?",
            "state = ? and at > '2024-01-05T10:00:00Z'",
            "state = ? and rank > 9",
        ],
        orders: &["rank", "rank desc", "late", "late desc", "name", "at", "at desc", "id"],
        lines: &["", "", "limit = 2"],
        ..NONE
    },
    Theme {
        name: "links among others",
        entities: &[
            &[("PK", &["L#{state}"]), ("SK", &["{id}"])],
            &[("PK", &["U#{id}"]), ("SK", &["on", "off"])],
            &[("PK", &["U#{id}"]), ("SK", &["{state}"])],
        ],
        fields: &[("state", &[STATE]), ("id", &["\"token\""])],
        find: &["E1"],
        lines: &["via = \"E0\"", "via = \"E0\" | limit = 2"],
        ..NONE
    },
    Theme {
        name: "links to moments",
        entities: &[
            &[("PK", &["L#{state}"]), ("SK", &["{id}#{at}"])],
            &[("PK", &["U#{id}"]), ("SK", &["{at}", "{at:date}"])],
        ],
        fields: &[
            ("state", &[STATE]),
            ("id", &["\"token\""]),
            ("at", &["\"datetime\""]),
            ("E0.at", &["\"date\"", "\"datetime\""]),
        ],
        find: &["E1"],
        lines: &["via = \"E0\"", "via = \"E0\" | limit = 2"],
        ..NONE
    },
    Theme {
        name: "merged without the order",
        index: &["keys", "keys", "all"],
        entities: &[&[
            ("PK", &["U#{id}"]),
            ("SK", &["E", "{state}"]),
            ("G1", &["W#{id}", "W#{id}#{state}", "W#{state}#{shard}"]),
            // Where the order stands in the sort key, a runner merges by that.
            ("G2", &["X", "{state}", "{at}#{id}", "{rank}"]),
        ]],
        // One row for each `id` is in any order, so that only what is merged can be out of it.
        fields: &[
            ("id", &["{ type = \"string\", values = [\"a\", \"b\", \"c\"] }"]),
            ("state", &["{ type = \"string\", values = [\"on\"] }"]),
            ("at", &["\"datetime\""]),
            ("rank", &["\"u16\""]),
            ("shard", &["{ type = \"shard\", shards = 3, by = \"id\" }"]),
        ],
        wheres: &[
            "id in ('a', 'b', 'c')",
            "state = 'on' and id in ('a', 'b', 'c')",
            "state = 'on'",
        ],
        orders: &["at", "at desc", "rank", "rank desc"],
        lines: &[
            "index = \"GSI1\" | returns = [\"id\"]",
            "index = \"GSI1\" | limit = 2",
            "returns = [\"id\", \"state\"]",
        ],
        ..NONE
    },
];

/// A design of a theme with so many patterns.
pub(crate) fn themed_design(random: &mut Random, theme: &Theme, patterns: usize) -> Spec {
    let index = random.some(theme.index).map(|projection| IndexSpec {
        name: "GSI1".to_owned(),
        partition: vec!["G1".to_owned()],
        sort: vec!["G2".to_owned()],
        local: false,
        projection: Some(format!("{projection:?}")),
    });
    let table = TableSpec {
        name: "app".to_owned(),
        partition: theme.table.0.to_owned(),
        sort: Some(theme.table.1.to_owned()),
        settings: random.some(theme.settings).map(|line| (*line).to_owned()).into_iter().collect(),
        indexes: index.into_iter().collect(),
    };
    let entities = theme.entities.iter().enumerate();
    let entities =
        entities.map(|(n, keys)| entity(random, theme, &format!("E{n}"), keys)).collect();
    let patterns = (0..patterns).map(|n| pattern(random, theme, n)).collect();
    Spec { tables: vec![table], entities, patterns, ..Spec::default() }
}

fn entity(random: &mut Random, theme: &Theme, name: &str, keys: &[(&str, &[&str])]) -> EntitySpec {
    let of = |wanted: &str| keys.iter().find(|(attribute, _)| *attribute == wanted);
    let when = of("when").map(|(_, conditions)| (*random.pick(conditions)).to_owned());
    let templates = keys.iter().filter(|(attribute, _)| *attribute != "when");
    let keys: Vec<_> = templates
        .map(|(attribute, templates)| {
            let when = when.clone().filter(|_| *attribute == "G1");
            ((*attribute).to_owned(), (*random.pick(templates)).to_owned(), when)
        })
        .collect();
    let own = |field: &str| format!("{name}.{field}");
    let shared = theme.fields.iter().filter(|(field, _)| !field.contains('.'));
    let fields = shared
        .map(|(field, kinds)| {
            let special = theme.fields.iter().find(|(other, _)| *other == own(field));
            let kinds = special.map_or(*kinds, |(_, kinds)| *kinds);
            ((*field).to_owned(), (*random.pick(kinds)).to_owned())
        })
        .collect();
    EntitySpec { name: name.to_owned(), table: "app".to_owned(), keys, fields }
}

fn pattern(random: &mut Random, theme: &Theme, n: usize) -> PatternSpec {
    let mut words = |of: &[&str], by: &str| -> Vec<String> {
        let text = *random.pick(of);
        let parts = text.split(by).map(str::trim).filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    PatternSpec {
        name: format!("p{n}"),
        find: words(theme.find, " "),
        terms: words(theme.wheres, " and "),
        order: words(theme.orders, ","),
        settings: words(theme.lines, " | "),
    }
}
