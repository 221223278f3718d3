//! Random designs and random data on the real engine: what the planner proves, the engine does; what the
//! planner refutes, the engine shows; what the planner refuses, the engine refuses.
//!
//! The last tests break the planner on purpose: a property that cannot fail proves nothing.

use std::fmt::Write as _;

use keyloom_design::Design;
use keyloom_design::cost::Prices;
use keyloom_design::plan::{Plan, Proof, Verdict, plan};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestRng, TestRunner};

use super::judge::{Counter, Judged};
use super::{Options, Trial};

/// The fields that every entity has; keys and conditions are made of them.
const FIELDS: [(&str, &str); 9] = [
    ("id", "\"token\""),
    ("name", "\"string\""),
    ("state", "{ type = \"string\", values = [\"on\", \"only\", \"off\"] }"),
    ("rank", "\"u16\""),
    ("count_plain", "{ type = \"u16\", plain = true }"),
    ("at", "\"datetime\""),
    ("late", "{ type = \"datetime\", desc = true }"),
    ("ref", "\"ulid\""),
    ("flag", "{ type = \"token\", optional = true, present = \"50%\" }"),
];

/// Where a key may take its fields from: not all of them make sense in every place.
const IN_KEYS: [&str; 8] = ["id", "name", "state", "rank", "count_plain", "at", "late", "ref"];

fn in_keys() -> impl Strategy<Value = &'static str> {
    select(IN_KEYS.to_vec())
}

/// A key template: a text and up to three different fields, times perhaps by day.
fn template(
    prefixes: &'static [&'static str],
    fields: std::ops::Range<usize>,
) -> impl Strategy<Value = String> {
    let fields = prop::collection::vec((in_keys(), any::<bool>()), fields);
    (select(prefixes), fields).prop_map(|(prefix, fields)| {
        let mut text = prefix.to_owned();
        let mut seen: Vec<&str> = Vec::new();
        for (field, coarse) in fields {
            if seen.contains(&field) {
                continue;
            }
            seen.push(field);
            if !text.is_empty() && !text.ends_with('#') {
                text.push('#');
            }
            let format = if field == "at" && coarse { ":date" } else { "" };
            let _ = write!(text, "{{{field}{format}}}");
        }
        if text.is_empty() { "X".to_owned() } else { text }
    })
}

/// The keys of one entity.
#[derive(Clone, Debug)]
struct Keys {
    hash: String,
    sort: String,
    index: Option<(String, String)>,
    /// Whether only items with a flag are in the index.
    sparse: bool,
    local: Option<String>,
}

fn keys() -> impl Strategy<Value = Keys> {
    let hash = template(&["U#", "U#", "V#", "U"], 0..3);
    let sort = template(&["", "E#", "F#", "E#F#", "E"], 0..4);
    let index = (template(&["U#", "W#"], 0..2), template(&["", "E#", "F#"], 0..3));
    let local = prop::option::of(template(&["", "L#"], 1..3));
    (hash, sort, prop::option::of(index), local, any::<[bool; 2]>()).prop_map(
        |(hash, sort, index, local, [sharded, sparse])| {
            let hash = if sharded { format!("{hash}#{{shard}}").replace("##", "#") } else { hash };
            Keys { hash, sort, index, sparse, local }
        },
    )
}

impl Keys {
    fn text(&self) -> String {
        let mut text = format!("PK = \"{}\"\nSK = \"{}\"\n", self.hash, self.sort);
        if let Some((hash, sort)) = &self.index {
            for (attribute, template) in [("G1", hash), ("G2", sort)] {
                let _ = if self.sparse {
                    writeln!(
                        text,
                        "{attribute} = {{ template = \"{template}\", when = \"exists(flag)\" }}"
                    )
                } else {
                    writeln!(text, "{attribute} = \"{template}\"")
                };
            }
        }
        if let Some(template) = &self.local {
            let _ = writeln!(text, "L1 = \"{template}\"");
        }
        text
    }

    /// The partition and the sort template of the table, the global or the local index.
    fn place(&self, at: usize) -> (&str, &str) {
        match (at, &self.index, &self.local) {
            (1, Some((hash, sort)), _) => (hash, sort),
            (2, _, Some(local)) => (&self.hash, local),
            _ => (&self.hash, &self.sort),
        }
    }
}

fn fields_in(template: &str) -> Vec<&str> {
    let parts = template.split('{').skip(1).filter_map(|part| part.split(['}', ':']).next());
    parts.filter(|name| *name != "shard").collect()
}

/// A question that follows the keys of some place, more or less.
#[derive(Clone, Debug)]
struct Question {
    place: usize,
    pinned: usize,
    range: Option<&'static str>,
    extra: Option<&'static str>,
    order: Option<(Option<&'static str>, bool)>,
    limit: Option<u32>,
}

fn question() -> impl Strategy<Value = Question> {
    let tests = vec!["> ?", ">= ?", "< ?", "<= ?", "between ? and ?", "begins_with ?"];
    let extras = vec![
        "state in ('on', 'only')",
        "exists(flag)",
        "flag = ?",
        "rank = ?",
        "name = ?",
        "at between ? and ?",
    ];
    (
        0_usize..3,
        0_usize..4,
        prop::option::of(select(tests)),
        prop::option::weighted(0.3, select(extras)),
        prop::option::of((prop::option::weighted(0.3, in_keys()), any::<bool>())),
        prop::option::of(1_u32..8),
    )
        .prop_map(|(place, pinned, range, extra, order, limit)| Question {
            place,
            pinned,
            range,
            extra,
            order,
            limit,
        })
}

impl Question {
    fn text(&self, keys: &Keys) -> String {
        let (hash, sort) = keys.place(self.place);
        let mut equal = fields_in(hash);
        let rest: Vec<&str> =
            fields_in(sort).into_iter().filter(|field| !equal.contains(field)).collect();
        equal.extend(rest.iter().take(self.pinned));
        let next = rest.get(self.pinned).copied();
        let mut terms: Vec<String> = equal.iter().map(|field| format!("{field} = ?")).collect();
        if let (Some(field), Some(test)) = (next, self.range) {
            let text = ["id", "name"].contains(&field);
            let test = if text || !test.starts_with("begins") { test } else { ">= ?" };
            terms.push(format!("{field} {test}"));
        }
        let extra = self.extra.filter(|extra| {
            let field = extra.split([' ', '(', ')']).find(|word| !["exists", ""].contains(word));
            !terms.iter().any(|term| term.split(' ').next() == field)
        });
        terms.extend(extra.map(str::to_owned));
        let mut text = String::new();
        if !terms.is_empty() {
            let _ = writeln!(text, "where = \"{}\"", terms.join(" and "));
        }
        let order = self.order.and_then(|(own, descending)| Some((own.or(next)?, descending)));
        if let Some((field, descending)) = order {
            let _ = writeln!(text, "order = \"{field}{}\"", if descending { " desc" } else { "" });
        }
        if let Some(limit) = self.limit {
            let _ = writeln!(text, "limit = {limit}");
        }
        text
    }
}

/// A hand-written key condition, legal or not.
fn handwritten() -> impl Strategy<Value = String> {
    let hash = select(vec![
        "PK = 'U#{id}'",
        "PK = 'U#{state}'",
        "PK = 'V#{ref}'",
        "begins_with(PK, 'U#')",
        "PK > 'U#'",
    ]);
    let sort = select(vec![
        "",
        " and begins_with(SK, 'E#')",
        " and begins_with(SK, 'E')",
        " and begins_with(SK, 'E#{id}')",
        " and SK between 'E#' and 'F#'",
        " and SK >= 'E#2024-02'",
        " and SK > 'E' and begins_with(SK, 'E#')",
    ]);
    (hash, sort).prop_map(|(hash, sort)| format!("key = \"{hash}{sort}\"\n"))
}

/// A pattern over one or two of the three entities.
#[derive(Clone, Debug)]
struct Pattern {
    find: Vec<usize>,
    via: Option<usize>,
    question: Question,
    key: Option<String>,
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let find = prop_oneof![
        3 => (0_usize..3).prop_map(|one| vec![one]),
        1 => prop::collection::btree_set(0_usize..3, 2..3).prop_map(|set| set.into_iter().collect()),
    ];
    let key = prop::option::weighted(0.2, handwritten());
    let via = prop::option::weighted(0.15, 0_usize..3);
    (find, via, question(), key).prop_map(|(find, via, question, key): (Vec<usize>, _, _, _)| {
        let via = via.filter(|via| key.is_none() && find.len() == 1 && !find.contains(via));
        Pattern { find, via, question, key }
    })
}

impl Pattern {
    fn text(&self, entities: &[Keys]) -> String {
        let names: Vec<String> = self.find.iter().map(|n| format!("\"E{n}\"")).collect();
        let via = self.via.map_or_else(String::new, |via| format!("via = \"E{via}\"\n"));
        let asked = self.via.or(self.find.first().copied()).and_then(|at| entities.get(at));
        let question = asked.map(|keys| self.question.text(keys)).unwrap_or_default();
        let key = self.key.as_deref().unwrap_or_default();
        format!("find = [{}]\n{via}{question}{key}", names.join(", "))
    }
}

/// A whole design: one table with a global index, a local one, and one with native keys.
fn design() -> impl Strategy<Value = String> {
    let table = (
        select(vec!["reject", "percent", "order", "none"]),
        any::<bool>(),
        select(vec!["\"all\"", "\"keys\"", "[\"name\", \"rank\"]"]),
        any::<bool>(),
    );
    let parts = (prop::collection::vec(keys(), 3), prop::collection::vec(pattern(), 1..6));
    (table, parts).prop_map(|((escape, typed, projection, native), (entities, patterns))| {
        let mut text = format!(
            "[table.app]\npartition_key = \"PK\"\nsort_key = \"SK\"\nescape = \"{escape}\"\n{}\
             [table.app.index.GSI1]\npartition_key = \"G1\"\nsort_key = \"G2\"\nprojection = {projection}\n\
             [table.app.index.LSI1]\nlocal = true\nsort_key = \"L1\"\n",
            if typed { "type_attribute = \"kind\"\n" } else { "" }
        );
        if native {
            text.push_str(
                "[table.app.index.NATIVE]\npartition_key = [\"state\", \"id\"]\nsort_key = [\"at\", \"rank:N\"]\n",
            );
        }
        for (n, keys) in entities.iter().enumerate() {
            let _ = write!(text, "[entity.E{n}]\n{}[entity.E{n}.fields]\n", keys.text());
            for (name, kind) in FIELDS {
                let _ = writeln!(text, "{name} = {kind}");
            }
            text.push_str("shard = { type = \"shard\", shards = 3, by = \"ref\" }\n");
        }
        for (n, pattern) in patterns.iter().enumerate() {
            let _ = write!(text, "[access.\"p{n}\"]\n{}", pattern.text(&entities));
        }
        text
    })
}

/// Tries a design with the plans of `planner`; the first broken promise, in words.
fn broken_promise(text: &str, seed: u64, planner: &dyn Fn(&Design) -> Vec<Plan>) -> Option<String> {
    let (design, _) = Design::parse("random.toml", text);
    // Templates that cannot be taken apart and the like are refused, which is right.
    let design = design?;
    let plans = planner(&design);
    let options = Options { items: 90, seed, calls: 8 };
    let trial = Trial::with_plans(design, plans, options, &mut |_| {}).unwrap();
    trial.patterns().find_map(|(access, plan)| {
        let outcome = trial.judge(access, plan);
        let wrong = match (&outcome.judged, &outcome.counter) {
            (Judged::Broken { why }, _) => why.clone(),
            (_, Some(Counter::NotShown { why })) => format!("no counter-example: {why}"),
            _ => return None,
        };
        Some(format!("{}: {wrong}\n{:?}", outcome.name, plan.proofs))
    })
}

fn real_planner(design: &Design) -> Vec<Plan> {
    plan(design, &Prices::default())
}

/// How many random designs are tried; `KEYLOOM_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("KEYLOOM_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn the_engine_keeps_every_promise_of_the_planner(text in design(), seed in any::<u64>()) {
        let wrong = broken_promise(&text, seed, &real_planner);
        prop_assert!(wrong.is_none(), "{}\nseed {seed}\n{text}", wrong.unwrap_or_default());
    }
}

/// What became of the claims about rows that were refuted.
#[derive(Debug, Default)]
struct Refuted {
    /// A counter-example was found.
    shown: usize,
    /// The planner cannot rule out that rows of others meet the range, and no such row was found: keys whose
    /// fields depend on each other across attributes.
    foreign_not_found: usize,
    /// Something else was refuted, and no rows were found for it.
    not_found: usize,
}

/// Coverage and consistency are not about rows, and a refused pattern has no request to run.
fn count_refuted(plans: &[Plan], counts: &mut Refuted) {
    for plan in plans.iter().filter(|plan| plan.verdict != Verdict::Refused) {
        let proofs = &plan.proofs;
        let about_rows = [proofs.rows, proofs.order, proofs.limit, proofs.purity];
        if !about_rows.contains(&Proof::Refuted) {
            continue;
        }
        if plan.counter_example.is_some() {
            counts.shown += 1;
        } else if proofs.purity == Proof::Refuted {
            counts.foreign_not_found += 1;
        } else {
            counts.not_found += 1;
        }
    }
}

#[test]
fn what_is_refuted_has_a_counter_example() {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[9; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut counts = Refuted::default();
    for _ in 0..4 * cases() {
        let text = design().new_tree(&mut runner).unwrap().current();
        if let (Some(design), _) = Design::parse("random.toml", &text) {
            count_refuted(&real_planner(&design), &mut counts);
        }
    }
    // Proofs are sound, not complete: a few claims fail although no data breaks them.
    let all = counts.shown + counts.foreign_not_found + counts.not_found;
    assert!(counts.shown > 100, "{counts:?}");
    assert!(100 * counts.foreign_not_found <= 3 * all, "{counts:?}");
    assert!(100 * counts.not_found <= 3 * all, "{counts:?}");
}

/// Whether a wrong planner is found out within a fixed number of random designs.
fn is_caught(planner: &dyn Fn(&Design) -> Vec<Plan>) -> bool {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (0..400).any(|seed| {
        let text = design().new_tree(&mut runner).unwrap().current();
        // Caught means: wrong with this planner, and right with the real one.
        broken_promise(&text, seed, planner).is_some()
            && broken_promise(&text, seed, &real_planner).is_none()
    })
}

/// A planner that says of everything refuted that it is proven.
fn claiming(change: fn(&mut Plan)) -> impl Fn(&Design) -> Vec<Plan> {
    move |design| {
        let mut plans = real_planner(design);
        plans.iter_mut().for_each(change);
        plans
    }
}

fn claim(proof: &mut Proof) {
    if *proof == Proof::Refuted {
        *proof = Proof::Proven;
    }
}

#[test]
fn a_planner_that_overlooks_foreign_rows_is_caught() {
    assert!(is_caught(&claiming(|plan| {
        claim(&mut plan.proofs.purity);
        claim(&mut plan.proofs.limit);
    })));
}

#[test]
fn a_planner_that_overlooks_the_order_is_caught() {
    assert!(is_caught(&claiming(|plan| {
        claim(&mut plan.proofs.order);
        claim(&mut plan.proofs.limit);
    })));
}

/// What is refuted of a pattern excuses nothing else.
#[test]
fn a_planner_that_reads_too_much_where_the_order_is_refuted_is_caught() {
    assert!(is_caught(&claiming(|plan| {
        if plan.proofs.order == Proof::Refuted && plan.proofs.purity == Proof::Proven {
            plan.reads.iter_mut().for_each(|read| read.filter.clear());
        }
    })));
}

#[test]
fn a_planner_that_reads_in_the_wrong_direction_is_caught() {
    assert!(is_caught(&claiming(|plan| {
        for read in &mut plan.reads {
            read.forward = !read.forward;
        }
    })));
}

#[test]
fn a_planner_that_forgets_the_filter_is_caught() {
    assert!(is_caught(&claiming(|plan| plan
        .reads
        .iter_mut()
        .for_each(|read| read.filter.clear()))));
}

#[test]
fn a_planner_that_reads_one_shard_too_few_is_caught() {
    use keyloom_design::plan::Fan;
    assert!(is_caught(&claiming(|plan| {
        for fan in plan.reads.iter_mut().flat_map(|read| &mut read.fans) {
            if let Fan::Shards { count, .. } = fan {
                *count -= 1;
            }
        }
    })));
}

/// What the planner refutes must show, in a call or in a counter-example; else `try` fails.
#[test]
fn a_claim_that_nothing_bears_out_is_told_apart() {
    let text = "[table.app]\npartition_key = \"PK\"\nsort_key = \"SK\"\n\
                [entity.Post]\nPK = \"USER#{user:ulid}\"\nSK = \"{at:datetime}#{post:ulid}\"\n\
                [access.\"posts\"]\nfind = \"Post\"\nwhere = \"user = ?\"\norder = \"at\"\n";
    let (design, _) = Design::parse("posts.toml", text);
    let design = design.unwrap();
    let mut plans = real_planner(&design);
    for plan in &mut plans {
        plan.proofs.order = Proof::Refuted;
        plan.counter_example = None;
    }
    let options = Options { items: 50, seed: 1, calls: 8 };
    let trial = Trial::with_plans(design, plans, options, &mut |_| {}).unwrap();
    let (access, plan) = trial.patterns().next().unwrap();
    let outcome = trial.judge(access, plan);
    assert!(matches!(outcome.judged, Judged::Unshown), "{outcome:?}");
    let mut tally = super::Tally::default();
    tally.add(&outcome);
    assert_eq!(tally.unshown, 1);
}

/// Fields that keys hold only in part: the day of a moment, a text without its case.
const LOST: &str = r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[entity.Reading]
PK = "SENSOR#{sensor}"
SK = "{at:date}#{name:string:lower}"
[entity.Reading.fields]
sensor = { type = "token", key_only = true }
at = { type = "datetime", key_only = true }
name = { type = "string", key_only = true }
[access."times"]
find = "Reading"
where = "sensor = ?"
returns = ["sensor", "at"]
[access."names"]
find = "Reading"
where = "sensor = ?"
returns = ["sensor", "name"]
[access."sensors"]
find = "Reading"
where = "sensor = ?"
returns = ["sensor"]
"#;

#[test]
fn a_planner_that_overlooks_what_keys_lose_is_caught() {
    assert_eq!(broken_promise(LOST, 1, &real_planner), None);
    let broken = broken_promise(LOST, 1, &claiming(|plan| claim(&mut plan.proofs.coverage)));
    assert!(broken.is_some_and(|why| why.starts_with("times: `at` of ")));
}

/// A refuted claim is no equal answer, even where the rows are.
#[test]
fn a_pattern_without_its_fields_is_not_equal() {
    let (design, _) = Design::parse("lost.toml", LOST);
    let design = design.unwrap();
    let plans = real_planner(&design);
    let options = Options { items: 90, seed: 1, calls: 8 };
    let trial = Trial::with_plans(design, plans, options, &mut |_| {}).unwrap();
    let judged: Vec<Judged> =
        trial.patterns().map(|(access, plan)| trial.judge(access, plan).judged).collect();
    assert!(
        matches!(
            judged.as_slice(),
            [Judged::Unpromised { wrong: 1.. }, Judged::Unpromised { .. }, Judged::Equal]
        ),
        "{judged:?}"
    );
}
