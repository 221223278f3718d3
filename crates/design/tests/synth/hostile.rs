//! Input that makes no sense, or too much of it: an answer or a reason, never a panic.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use keyloom_design::cost::Prices;
use keyloom_design::synth::{Options, synthesize};

use super::corpus::ring;
use super::{cpu, found};

fn told(text: &str) -> String {
    match synthesize("x.toml", text, &Options::default(), &Prices::default()) {
        Ok(result) => format!("{:?}", result.refused),
        Err(problems) => {
            problems.iter().map(|it| it.message.clone()).collect::<Vec<_>>().join("\n")
        }
    }
}

#[test]
fn nonsense_is_refused_by_name() {
    for (text, words) in [
        ("", "there is no entity"),
        ("[table.t]\n", "there is no entity"),
        ("[[[", "TOML"),
        ("[entity.A]\n", "makes a `A` unique"),
        ("[entity.A.fields]\nx = \"ulid\"\n", "makes a `A` unique"),
        ("[entity.A]\nidentity = [\"gone\"]\n[entity.A.fields]\nx = \"ulid\"\n", "gone"),
        ("[entity.A.fields]\na_id = \"ulidd\"\n", "ulidd"),
        (
            "[entity.A.fields]\na_id = \"ulid\"\n[access.x]\nfind = \"A\"\nwhere = \"nothing = ?\"\n",
            "nothing",
        ),
        (
            "[entity.A.fields]\na_id = \"ulid\"\n[access.x]\nfind = \"Zzz\"\nwhere = \"a_id = ?\"\n",
            "Zzz",
        ),
        ("[entity.A.fields]\na_id = \"ulid\"\n[access.x]\nwhere = \"a_id = ?\"\n", "find"),
    ] {
        let told = told(text).replace("which fields make a", "which fields makes a");
        assert!(told.contains(words), "{text:?}: {told}");
    }
}

#[test]
fn links_in_a_ring_are_followed_or_refused() {
    let ring = "[entity.A.fields]\na_id = \"ulid\"\nb_id = \"ulid\"\n[entity.B.fields]\nb_id = \"ulid\"\na_id = \"ulid\"\nx = \"u32\"\n\
        [access.\"as by b\"]\nfind = \"A\"\nvia = \"B\"\nwhere = \"x = ?\"\n[access.\"bs by a\"]\nfind = \"B\"\nvia = \"A\"\nwhere = \"b_id = ?\"\n";
    let result = found("ring.toml", ring, &Options::default());
    assert!(
        result.refused.is_empty() && result.designs.first().unwrap().is_sound(),
        "{}",
        result.designs.first().unwrap().text
    );
    let blind = ring
        .replace("b_id = \"ulid\"\n[entity.B", "[entity.B")
        .replace("via = \"A\"\nwhere = \"b_id = ?\"", "via = \"A\"\nwhere = \"a_id = ?\"");
    let result = found("ring.toml", &blind, &Options::default());
    let [refused] = result.refused.as_slice() else { panic!("{:?}", result.refused) };
    assert!(refused.reason.contains("it has no `b_id`"), "{refused:?}");
}

#[test]
fn an_entity_without_patterns_gets_its_identity_as_key() {
    let best = super::best("x.toml", "[entity.A.fields]\na_id = \"ulid\"\n", &Options::default());
    assert!(best.text.contains("PK = \"A#{a_id}\"") && best.indexes == 0, "{}", best.text);
}

#[test]
fn a_pattern_that_pins_many_fields_ends_in_time() {
    let names: Vec<String> = (0..12).map(|n| format!("f{n}")).collect();
    let mut text = "[entity.Wide.fields]\nwide_id = \"ulid\"\n".to_owned();
    for name in &names {
        writeln!(text, "{name} = \"token\"").unwrap();
    }
    let all: Vec<String> = names.iter().map(|name| format!("{name} = ?")).collect();
    for (n, take) in [12, 9, 6].iter().enumerate() {
        let condition = all.iter().skip(n).take(*take).cloned().collect::<Vec<_>>().join(" and ");
        writeln!(text, "[access.p{n}]\nfind = \"Wide\"\nwhere = \"{condition}\"").unwrap();
    }
    let started = Instant::now();
    let before = cpu(started);
    let options = Options { time_limit: Duration::from_secs(1), ..Options::default() };
    let result = found("wide.toml", &text, &options);
    let seconds = cpu(started) - before;
    let table = result.certificates.first().unwrap();
    assert!(result.designs.first().unwrap().is_sound());
    assert!(table.at_least <= table.indexes, "{table:?}");
    assert!(seconds < 40.0, "{seconds}");
}

#[test]
fn two_hundred_entities_are_not_too_many() {
    let started = Instant::now();
    let options =
        Options { time_limit: Duration::from_secs(2), runners_up: 0, ..Options::default() };
    let result = found("many.toml", &ring(200), &options);
    assert!(result.designs.first().unwrap().is_sound());
    eprintln!("200 entities, 600 patterns: {:?}", started.elapsed());
}
