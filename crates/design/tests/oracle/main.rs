//! Random designs on the real engine, judged by the oracle: whatever the planner calls proven must hold.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod bed;
mod case;
mod designs;
mod engine;
mod inputs;
mod known;
mod patterns;
mod population;
mod random;
mod shrink;
mod spec;
mod trial;
mod values;

#[test]
fn probe() {
    let seeds =
        std::env::var("KEYLOOM_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(50);
    let mut tally = bed::Tally::default();
    let first = std::env::var("KEYLOOM_FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut known = std::collections::BTreeMap::new();
    for seed in first..first + seeds {
        for found in bed::try_seed(seed, &mut tally) {
            if let Some(name) = found.known {
                *known.entry(name.name).or_insert(0) += 1;
                continue;
            }
            println!("seed {seed} {}: {} {}", found.pattern, found.broken.claim, found.broken.why);
            if std::env::var("KEYLOOM_SHRINK").is_ok() {
                let (spec, case) = shrink::shrink(&found, &bed::shipped);
                let why = case.broken(&spec.text(), &bed::shipped).unwrap().why;
                println!(
                    "BEGIN {} {why}\n{}{}\nEND",
                    found.broken.claim,
                    spec.text(),
                    case.to_json()
                );
            }
        }
    }
    println!("{tally:?} {known:?}");
}

#[test]
fn writer() {
    let text = r#"
[table.app]
partition_key = "PK"
[entity.E]
PK = "E#{id}"
[entity.E.fields]
id = "token"
a = "hour"
b = "string:lower"
c = "hex:2"
d = "epoch_ms"
e = "decimal:6.2"
f = "bool"
g = "uuid"
h = "datetime:ms"
i = { type = "datetime", desc = true }
j = "list"
k = "string_set"
l = "map"
m = "year"
n = { type = "shard", shards = 3 }
o = { type = "shard", shards = 3, by = "id" }
p = "number"
q = "binary"
r = "string:desc"
s = "u64"
t = "number_set"
[access.p]
find = "E"
where = "id = ?"
"#;
    let (design, problems) = keyloom_design::Design::parse("x", text);
    println!("{problems:?}");
    let design = design.unwrap();
    let mut random = random::Random::new(3);
    let population = population::Population::random(&design, &mut random, 2);
    for (record, item) in population.records.iter().zip(&population.items) {
        println!("{:?}\n{}", record.values, population::wire(item));
        for field in record.values.keys() {
            if record.attribute(field).as_ref() != item.get(field) {
                println!("DIFF {field} {:?} {:?}", record.attribute(field), item.get(field));
            }
        }
    }
}
