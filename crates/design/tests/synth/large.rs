//! Large designs, in less than a minute of one core.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use keyloom_design::synth::{Options, Tables};

use super::{best, corpus::ring, cpu, found};

#[test]
fn forty_entities_and_120_patterns_take_less_than_a_minute() {
    let started = Instant::now();
    let before = cpu(started);
    let options = Options { time_limit: Duration::from_mins(10), ..Options::default() };
    let best = best("large.toml", &ring(40), &options);
    assert_eq!(best.indexes, 1, "{}", best.text);
    let seconds = cpu(started) - before;
    eprintln!("a ring of 40 entities, 120 patterns: {seconds:.1} s");
    assert!(seconds < 60.0, "{seconds}");
}

/// So many entities of five kinds, with three patterns each: lists by an owner and a state, events of a hot kind, a state that few
/// items have, numbers that sort as such, links that are read both ways.
fn mixed(entities: usize) -> String {
    let mut text = String::new();
    for n in 0..entities {
        let (fields, write, patterns): (_, _, [(&str, &str); 2]) = match n % 5 {
            0 => (
                "owner = { type = \"ulid\", distinct = 10_000 }\nstate = \"token\"\nat = \"datetime\"\n",
                "5/s",
                [
                    ("owner = ?", "order = \"at desc\"\nlimit = 20\n"),
                    ("owner = ? and state = ?", "order = \"at desc\"\nlimit = 20\n"),
                ],
            ),
            1 => (
                "KIND = { type = \"string\", values = [\"click\", \"view\"] }\nsource = { type = \"ulid\", distinct = 5_000 }\nat = \"datetime:ms\"\n",
                "4000/s",
                [
                    ("KIND = ? and at between ? and ?", "order = \"at\"\n"),
                    ("source = ?", "order = \"at desc\"\nlimit = 10\n"),
                ],
            ),
            2 => (
                "owner = { type = \"ulid\", distinct = 10_000 }\nstate = { type = \"string\", values = [\"open\", \"late\", \"done\"], top_share = 0.9 }\nat = \"datetime\"\n",
                "5/s",
                [("owner = ?", "limit = 20\n"), ("state = 'late'", "order = \"at\"\nlimit = 50\n")],
            ),
            3 => (
                "owner = { type = \"ulid\", distinct = 10_000 }\nscore = \"number\"\nat = \"datetime\"\n",
                "5/s",
                [
                    ("owner = ? and score > ?", "order = \"score desc\"\nlimit = 20\n"),
                    ("owner = ?", "order = \"at desc\"\nlimit = 20\n"),
                ],
            ),
            _ => (
                "left = { type = \"ulid\", distinct = 1_000 }\nright = { type = \"ulid\", distinct = 1_000 }\n",
                "5/s",
                [("left = ?", "limit = 100\n"), ("right = ?", "limit = 100\n")],
            ),
        };
        let (identity, id, one) = if n % 5 == 4 {
            (
                "identity = [\"left\", \"right\"]\n".to_owned(),
                String::new(),
                "left = ? and right = ?".to_owned(),
            )
        } else {
            (String::new(), format!("e{n}_id = \"ulid\"\n"), format!("e{n}_id = ?"))
        };
        // A hot kind is that of one entity.
        let named = |text: &str| text.replace("KIND", &format!("kind{n}"));
        let fields = named(fields);
        write!(
            text,
            "[entity.E{n}]\ncount = 100_000\nsize = \"400 B\"\n{identity}[entity.E{n}.fields]\n{id}{fields}\
             [write.\"write {n}\"]\nentity = \"E{n}\"\nrate = \"{write}\"\n\
             [access.\"one {n}\"]\nfind = \"E{n}\"\nwhere = \"{one}\"\nrate = \"10/s\"\n"
        )
        .unwrap();
        for (number, (condition, more)) in patterns.into_iter().enumerate() {
            let condition = named(condition);
            write!(
                text,
                "[access.\"list {number} of {n}\"]\nfind = \"E{n}\"\nwhere = \"{condition}\"\n{more}rate = \"10/s\"\n"
            )
            .unwrap();
        }
    }
    text
}

#[test]
fn forty_mixed_entities_take_less_than_a_minute_in_one_table_and_in_several() {
    let text = mixed(40);
    assert_eq!(
        (text.matches("[entity.E").count() / 2, text.matches("[access.").count()),
        (40, 120)
    );
    for (tables, name) in [(Tables::One, "one table"), (Tables::Several, "several tables")] {
        let started = Instant::now();
        let before = cpu(started);
        // Whether the search comes to its end must not depend on what else this machine does.
        let options = Options { time_limit: Duration::from_mins(10), tables, ..Options::default() };
        let mut result = found("mixed.toml", &text, &options);
        let seconds = cpu(started) - before;
        assert_eq!(result.refused, [], "{name}");
        let best = result.designs.remove(0);
        assert!(best.is_sound(), "{name}\n{}\n{:#?}", best.text, best.report.findings);
        let design = best.report.design.as_ref().unwrap();
        let least: usize = result.certificates.iter().map(|it| it.at_least).sum();
        let complete = result.certificates.iter().all(|it| it.is_complete);
        eprintln!(
            "40 mixed entities, 120 patterns, {name}: {} tables, {} indexes, at least {least}, complete {complete}: {seconds:.1} s",
            design.tables().len(),
            best.indexes
        );
        assert!(seconds < 60.0, "{name}: {seconds}");
        assert_eq!(design.tables().len() == 1, tables == Tables::One);
        // Hot kinds have shards, numbers are keys as they are.
        assert!(best.text.matches("type = \"shard\"").count() >= 8, "{}", best.text);
        assert!(best.text.contains("score:N") || best.text.contains("\"score\""), "{}", best.text);
        assert!(complete && least <= best.indexes, "{:?}", result.certificates);
    }
}
