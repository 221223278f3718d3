//! Random designs on random data: whenever the planner says "proven", its answer is the brute-force
//! answer; whenever it gives a counter-example, the answer on it is wrong.

use std::fmt::Write as _;

use keyloom_design::Design;
use keyloom_design::cost::Prices;
use keyloom_design::evaluate::{Inputs, Row, expected};
use keyloom_design::generate::{GenerateOptions, generate, inputs_for};
use keyloom_design::model::Access;
use keyloom_design::plan::{Plan, Proof, Verdict, plan, run};
use proptest::prelude::*;
use proptest::sample::select;

/// Field types that designs are made of; the names are shared between entities.
const FIELDS: [(&str, &str); 9] = [
    ("a", "\"string\""),
    ("b", "\"token\""),
    ("c", "{ type = \"string\", values = [\"x\", \"xy\", \"z\"] }"),
    ("n", "\"u16\""),
    ("p", "{ type = \"u16\", plain = true }"),
    ("t", "\"datetime\""),
    ("d", "{ type = \"datetime\", desc = true }"),
    ("u", "\"ulid\""),
    ("o", "{ type = \"string\", optional = true, present = \"50%\" }"),
];

fn field() -> impl Strategy<Value = &'static str> {
    select(FIELDS.map(|(name, _)| name).to_vec())
}

/// A key template of up to three parts, some of them texts.
fn template(prefixes: Vec<&'static str>, sparse: bool) -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(field(), 0..3);
    (select(prefixes), parts, any::<bool>()).prop_map(move |(prefix, parts, bucket)| {
        let mut seen: Vec<&str> = Vec::new();
        let mut text = prefix.to_owned();
        for part in parts.into_iter().filter(|part| sparse || *part != "o") {
            if seen.contains(&part) {
                continue;
            }
            seen.push(part);
            if !text.is_empty() && !text.ends_with('#') {
                text.push('#');
            }
            let format = if part == "t" && bucket { ":month" } else { "" };
            let _ = write!(text, "{{{part}{format}}}");
        }
        if text.is_empty() { "K".to_owned() } else { text }
    })
}

#[derive(Clone, Debug)]
struct EntityPlan {
    hash: String,
    sort: String,
    index: Option<(String, String)>,
}

fn entity() -> impl Strategy<Value = EntityPlan> {
    let hash = template(vec!["U#", "U#", "V#", "UV#"], false);
    let sort = template(vec!["", "E#", "F#", "E#F#", "E"], false);
    let index =
        prop::option::of((template(vec!["U#", "W#"], true), template(vec!["", "E#", "F#"], true)));
    (hash, sort, index).prop_map(|(hash, sort, index)| EntityPlan { hash, sort, index })
}

/// How a pattern is made from the keys of an entity: mostly along the key, sometimes across it.
#[derive(Clone, Debug)]
struct PatternPlan {
    finds: Vec<usize>,
    through_index: bool,
    pinned: usize,
    range: Option<&'static str>,
    extra: Option<&'static str>,
    order: Option<(Option<&'static str>, bool)>,
    limit: Option<u32>,
}

fn pattern() -> impl Strategy<Value = PatternPlan> {
    let finds = prop_oneof![
        3 => (0_usize..3).prop_map(|one| vec![one]),
        1 => prop::collection::btree_set(0_usize..3, 2..3).prop_map(|set| set.into_iter().collect()),
    ];
    let range = prop::option::of(select(vec![">= ?", "< ?", "between ? and ?", "begins_with ?"]));
    let extra = prop::option::weighted(0.2, field());
    let order = prop::option::of((prop::option::weighted(0.3, field()), any::<bool>()));
    let limit = prop::option::of(1_u32..6);
    (finds, any::<bool>(), 0_usize..3, range, extra, order, limit).prop_map(
        |(finds, through_index, pinned, range, extra, order, limit)| PatternPlan {
            finds,
            through_index,
            pinned,
            range,
            extra,
            order,
            limit,
        },
    )
}

fn names_in(template: &str) -> Vec<&str> {
    let parts = template.split('{').skip(1);
    parts
        .filter_map(|part| part.split('}').next())
        .filter_map(|name| name.split(':').next())
        .collect()
}

impl PatternPlan {
    fn text(&self, entities: &[EntityPlan]) -> (String, String) {
        let first = self.finds.first().copied().unwrap_or(0);
        let Some(entity) = entities.get(first) else { return (String::new(), String::new()) };
        let (hash, sort) = match (&entity.index, self.through_index) {
            (Some((hash, sort)), true) => (hash, sort),
            _ => (&entity.hash, &entity.sort),
        };
        let mut equal: Vec<&str> = names_in(hash);
        let sort: Vec<&str> = names_in(sort).into_iter().filter(|n| !equal.contains(n)).collect();
        equal.extend(sort.iter().take(self.pinned));
        let next = sort.get(self.pinned).copied();
        equal.extend(self.extra.filter(|name| !equal.contains(name) && Some(*name) != next));
        let mut terms: Vec<String> = equal.iter().map(|name| format!("{name} = ?")).collect();
        if let (Some(name), Some(test)) = (next, self.range) {
            let number = ["n", "p", "d"].contains(&name);
            let test = if number && test.starts_with("begins") { "<= ?" } else { test };
            terms.push(format!("{name} {test}"));
        }
        let mut rest = String::new();
        if !terms.is_empty() {
            let _ = writeln!(rest, "where = \"{}\"", terms.join(" and "));
        }
        let order = self.order.and_then(|(own, down)| Some((own.or(next)?, down)));
        if let Some((name, descending)) = order.filter(|(name, _)| *name != "o") {
            let _ = writeln!(rest, "order = \"{name}{}\"", if descending { " desc" } else { "" });
        }
        if let Some(limit) = self.limit {
            let _ = writeln!(rest, "limit = {limit}");
        }
        let names: Vec<String> = self.finds.iter().map(|n| format!("\"E{n}\"")).collect();
        (names.join(", "), rest)
    }
}

fn design_text() -> impl Strategy<Value = String> {
    let entities = prop::collection::vec(entity(), 3);
    let patterns = prop::collection::vec(pattern(), 1..5);
    let escape = select(vec!["reject", "percent", "order", "none"]);
    (entities, patterns, escape, any::<bool>()).prop_map(|(entities, patterns, escape, typed)| {
        let mut text = format!(
            "[table.app]\npartition_key = \"PK\"\nsort_key = \"SK\"\nescape = \"{escape}\"\n{}\
             [table.app.index.GSI1]\npartition_key = \"G1\"\nsort_key = \"G2\"\n",
            if typed { "type_attribute = \"kind\"\n" } else { "" }
        );
        for (n, entity) in entities.iter().enumerate() {
            let _ =
                write!(text, "[entity.E{n}]\nPK = \"{}\"\nSK = \"{}\"\n", entity.hash, entity.sort);
            if let Some((hash, sort)) = &entity.index {
                let _ = write!(text, "G1 = \"{hash}\"\nG2 = \"{sort}\"\n");
            }
            let _ = writeln!(text, "[entity.E{n}.fields]");
            for (name, kind) in FIELDS {
                let _ = writeln!(text, "{name} = {kind}");
            }
        }
        for (n, pattern) in patterns.iter().enumerate() {
            let (names, rest) = pattern.text(&entities);
            let _ = write!(text, "[access.\"p{n}\"]\nfind = [{names}]\n{rest}");
        }
        text
    })
}

fn holds(proof: Proof) -> bool {
    proof != Proof::Refuted
}

/// Compares a plan's answer with brute force as far as its proofs promise.
fn check_call(access: &Access, plan: &Plan, inputs: &Inputs, rows: &[Row]) -> Result<(), String> {
    // Inputs that a key cannot hold are refused when the request is built.
    let Ok(answer) = run(access, plan, inputs, rows) else { return Ok(()) };
    let wanted = expected(access, inputs, rows);
    let labels: Vec<String> = answer.iter().map(|row| row.label()).collect();
    let proofs = &plan.proofs;
    if !holds(proofs.rows) || !holds(proofs.purity) {
        return Ok(());
    }
    if holds(proofs.order) && (holds(proofs.limit) || plan.verdict == Verdict::Filter) {
        return wanted.compare(&labels).map_err(|wrong| format!("{wrong}: {labels:?}"));
    }
    if access.limit.is_none() {
        let mut got = labels;
        let mut all: Vec<String> = wanted.rows.iter().map(|row| row.label()).collect();
        got.sort();
        all.sort();
        if got != all {
            return Err(format!("rows differ: {got:?} instead of {all:?}"));
        }
    }
    Ok(())
}

/// Few cases by default, so that the suite stays quick; `PROPTEST_CASES=3000` for the long run.
fn config() -> ProptestConfig {
    let cases =
        std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn proven_plans_answer_like_brute_force(text in design_text(), seed in any::<u64>()) {
        let (design, problems) = Design::parse("random.toml", &text);
        let Some(design) = design else {
            // Ambiguous templates and the like are refused, which is right.
            prop_assert!(!problems.is_empty());
            return Ok(());
        };
        let options = GenerateOptions { items: 120, seed, adversarial: true };
        let rows = generate(&design, &options);
        for plan in plan(&design, &Prices::default()) {
            let access = design.access(&plan.name).unwrap();
            if let Some(example) = &plan.counter_example {
                let answer = run(access, &plan, &example.inputs, &example.rows);
                let labels: Vec<String> = answer.unwrap().iter().map(|row| row.label()).collect();
                let limited = plan.verdict == Verdict::Filter && plan.proofs.limit == Proof::Refuted;
                let wrong = expected(access, &example.inputs, &example.rows).compare(&labels).is_err();
                prop_assert!(wrong || limited, "not a counter-example:\n{text}\n{example:?}");
            }
            if plan.verdict == Verdict::Refused {
                continue;
            }
            for inputs in inputs_for(access, &rows, seed, 8) {
                if let Err(wrong) = check_call(access, &plan, &inputs, &rows) {
                    prop_assert!(false, "{}: {wrong}\n{:?}\n{text}\n{inputs:?}\n{:?}", plan.name, plan.proofs, keyloom_design::plan::requests(access, &plan, &inputs));
                }
            }
        }
    }
}
