//! Synthesis against the designs that people wrote: their keys taken away and found again.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use keyloom_design::check_text;
use keyloom_design::cost::Prices;
use keyloom_design::synth::{Options, Synthesis, synthesize};

fn designs() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/designs");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let named = files.into_iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_owned();
        let as_written = path.file_stem()?.to_str()?.ends_with(".as-written");
        let wanted = path.extension()? == "toml" && !as_written;
        wanted.then(|| (name, std::fs::read_to_string(path).unwrap()))
    });
    named.collect()
}

fn found(name: &str, text: &str, options: &Options) -> Synthesis {
    synthesize(name, text, options, &Prices::default())
        .unwrap_or_else(|problems| panic!("{name}: {problems:?}"))
}

#[test]
fn designs_of_people_are_found_again() {
    let prices = Prices::default();
    let (mut all, mut dearer) = (0, Vec::new());
    for (name, text) in designs() {
        let human = check_text(&name, &text, &prices);
        let tables = human.design.as_ref().unwrap().tables();
        let indexes: usize = tables.iter().map(|table| table.secondary().len()).sum();
        let result = found(&name, &text, &Options::default());
        assert_eq!(result.refused, [], "{name}");
        let best = result.designs.first().unwrap();
        assert!(best.is_sound(), "{name}\n{}\n{:#?}", best.text, best.report.findings);
        assert!(best.indexes <= indexes, "{name}: {} indexes\n{}", best.indexes, best.text);
        for table in &result.certificates {
            assert!(table.is_complete && table.at_least <= table.indexes, "{name}: {table:?}");
        }
        all += 1;
        // A key that is a few letters longer is no difference in design.
        if best.money().on_demand > human.bill.total.on_demand * 1.001 {
            dearer.push(name);
        }
    }
    assert!(all > 45 && dearer.len() * 10 <= all, "dearer than by hand: {dearer:?} of {all}");
}

const SHOP: &str = r#"
[entity.Order]
count = 1_000_000

[entity.Order.fields]
order_id  = "ulid"
customer  = "ulid"
status    = "token"
placed_at = "datetime"

[access."order"]
find  = "Order"
where = "order_id = ?"

[access."orders of a customer"]
find  = "Order"
where = "customer = ?"
order = "placed_at desc"
limit = 20

[access."open orders of a customer"]
find  = "Order"
where = "customer = ? and status = ?"
order = "placed_at desc"
limit = 20
"#;

#[test]
fn a_file_without_tables_and_keys_gets_both() {
    let result = found("shop.toml", SHOP, &Options::default());
    let best = result.designs.first().unwrap();
    assert!(best.is_sound(), "{}", best.text);
    let [table] = result.certificates.as_slice() else { panic!("{:?}", result.certificates) };
    assert_eq!((table.indexes, table.at_least), (2, 2), "{}", best.text);
    assert_eq!(table.apart.len(), 3, "{table:?}");
    let capped = Options { max_indexes: Some(1), ..Options::default() };
    assert!(found("shop.toml", SHOP, &capped).designs.is_empty());
}

#[test]
fn kept_keys_stay() {
    let keyed = SHOP.replace(
        "[entity.Order]\n",
        "[table.shop]\npartition_key = \"PK\"\nsort_key = \"SK\"\n\n[entity.Order]\nPK = \"O#{order_id}\"\nSK = \"X\"\n",
    );
    let options = Options { keep: vec!["PK".to_owned(), "SK".to_owned()], ..Options::default() };
    let result = found("shop.toml", &keyed, &options);
    let best = result.designs.first().unwrap();
    assert!(best.is_sound() && best.text.contains("O#{order_id}"), "{}", best.text);
    let result = found("shop.toml", &keyed, &Options::default());
    assert!(!result.designs.first().unwrap().text.contains("O#{order_id}"));
}

#[test]
fn what_no_key_proves_is_named_with_the_change_that_helps() {
    let text = format!(
        "{SHOP}\n[access.\"two ways\"]\nfind = \"Order\"\nwhere = \"placed_at > ? and order_id > ?\"\nlimit = 5\n"
    );
    let result = found("shop.toml", &text, &Options::default());
    let [refused] = result.refused.as_slice() else { panic!("{:?}", result.refused) };
    assert_eq!(refused.pattern, "two ways");
    assert!(refused.change.is_some(), "{refused:?}");
    let nameless = SHOP.replace("order_id", "number");
    let problems =
        synthesize("shop.toml", &nameless, &Options::default(), &Prices::default()).unwrap_err();
    assert!(problems.iter().any(|it| it.message.contains("unique")), "{problems:?}");
}

#[test]
fn forty_entities_and_120_patterns_take_less_than_a_minute() {
    let mut text = String::new();
    for n in 0..40 {
        let m = (n + 1) % 40;
        write!(
            text,
            "[entity.E{n}]\ncount = 100_000\n[entity.E{n}.fields]\ne{n}_id = \"ulid\"\ne{m}_id = \"ulid\"\nat = \"datetime\"\n\
             [access.\"one {n}\"]\nfind = \"E{n}\"\nwhere = \"e{n}_id = ?\"\n\
             [access.\"of {n}\"]\nfind = \"E{n}\"\nwhere = \"e{m}_id = ?\"\norder = \"at desc\"\nlimit = 20\n\
             [access.\"since {n}\"]\nfind = \"E{n}\"\nwhere = \"e{m}_id = ? and at > ?\"\norder = \"at\"\nlimit = 20\n"
        )
        .unwrap();
    }
    let started = Instant::now();
    let options = Options { time_limit: Duration::from_secs(30), ..Options::default() };
    let result = found("large.toml", &text, &options);
    let best = result.designs.first().unwrap();
    assert!(best.is_sound() && best.indexes == 1, "{:?}", best.report.findings);
    assert!(started.elapsed() < Duration::from_mins(1), "{:?}", started.elapsed());
}
