//! Certificates against every design of the family: tiny designs, all partition and sort keys, planned one by one.
//! `KEYLOOM_SYNTH_RUNS` makes it longer.

use std::fmt::Write as _;

use keyloom_core::hash::SplitMix64;
use keyloom_design::cost::Prices;
use keyloom_design::draft::{AccessDraft, Draft, EntityDraft, FieldDraft, IndexDraft, TableDraft};
use keyloom_design::model::{Access, Design};
use keyloom_design::plan::{Verdict, plan_access};
use keyloom_design::synth::Options;

use super::found;

/// `id` makes an item unique.
const FIELDS: [(&str, &str); 3] = [("id", "ulid"), ("owner", "token"), ("at", "datetime")];

#[derive(Clone, Debug)]
struct Pattern {
    condition: String,
    order: Option<String>,
    limit: Option<u64>,
}

fn random_pattern(random: &mut SplitMix64) -> Pattern {
    let mut terms = Vec::new();
    let mut left = Vec::new();
    for (name, _) in FIELDS {
        if random.percent(45) {
            terms.push(format!("{name} = ?"));
        } else {
            left.push(name);
        }
    }
    let mut order = None;
    if !left.is_empty() && random.percent(60) {
        let by = *left.get(random.below(left.len())).unwrap();
        if random.percent(60) {
            let down = if random.percent(50) { " desc" } else { "" };
            let then = left.iter().find(|name| **name != by).filter(|_| random.percent(25));
            let turned = if random.percent(50) { " desc" } else { "" };
            let then = then.map(|name| format!(", {name}{turned}")).unwrap_or_default();
            order = Some(format!("{by}{down}{then}"));
        }
        if random.percent(50) {
            terms.push(format!("{by} > ?"));
        }
    }
    let limit = random.percent(40).then_some(5);
    Pattern { condition: terms.join(" and "), order, limit }
}

fn text(patterns: &[Pattern]) -> String {
    let mut text = "[entity.Thing]\nidentity = [\"id\"]\n[entity.Thing.fields]\n".to_owned();
    for (name, kind) in FIELDS {
        writeln!(text, "{name} = \"{kind}\"").unwrap();
    }
    for (n, pattern) in patterns.iter().enumerate() {
        writeln!(text, "[access.p{n}]\nfind = \"Thing\"").unwrap();
        if !pattern.condition.is_empty() {
            writeln!(text, "where = \"{}\"", pattern.condition).unwrap();
        }
        text += &pattern.order.as_ref().map(|it| format!("order = \"{it}\"\n")).unwrap_or_default();
        text += &pattern.limit.map(|it| format!("limit = {it}\n")).unwrap_or_default();
    }
    text
}

/// The templates of a partition key and a sort key.
type Keys = (String, String);

/// Every partition key over a set of fields, with every sort key over a sequence of the others, either way round.
fn all_keys() -> Vec<Keys> {
    let mut all = Vec::new();
    for bits in 0..1_usize << FIELDS.len() {
        let held = |at: usize| bits >> at & 1 == 1;
        let hash = FIELDS.iter().enumerate().filter(|(at, _)| held(*at));
        let hash: String =
            hash.map(|(_, (name, _))| format!("#{{{name}}}")).collect::<Vec<_>>().concat();
        let open: Vec<usize> = (0..FIELDS.len()).filter(|at| !held(*at)).collect();
        for range in sequences(&open) {
            all.push((format!("T{hash}"), format!("T{range}")));
        }
    }
    all
}

fn sequences(open: &[usize]) -> Vec<String> {
    let mut all = vec![String::new()];
    for &at in open {
        let rest: Vec<usize> = open.iter().copied().filter(|other| *other != at).collect();
        let (name, kind) = FIELDS.get(at).unwrap();
        // A direction within the key matters beside another field only.
        let backwards = (open.len() > 1).then(|| format!("#{{{name}:{kind}:desc}}"));
        for piece in std::iter::once(format!("#{{{name}}}")).chain(backwards) {
            all.extend(sequences(&rest).into_iter().map(|more| format!("{piece}{more}")));
        }
    }
    all
}

fn design(patterns: &[Pattern], table: &Keys, indexes: &[&Keys]) -> Design {
    let mut draft = TableDraft::new("things").keys("PK", "SK");
    let mut entity = EntityDraft::new("Thing", "things").key("PK", &table.0).key("SK", &table.1);
    for (n, index) in indexes.iter().enumerate() {
        let (hash, range) = (format!("G{n}PK"), format!("G{n}SK"));
        draft = draft.index(IndexDraft::global(&format!("GSI{n}"), &[&hash], &[&range]));
        entity = entity.key(&hash, &index.0).key(&range, &index.1);
    }
    for (name, kind) in FIELDS {
        entity = entity.field(FieldDraft::new(name, kind));
    }
    let mut draft = Draft::default().table(draft).entity(entity);
    for (n, pattern) in patterns.iter().enumerate() {
        let mut access = AccessDraft::new(&format!("p{n}"), "Thing");
        if !pattern.condition.is_empty() {
            access = access.filtered_by(&pattern.condition);
        }
        if let Some(order) = &pattern.order {
            access = access.ordered_by(order);
        }
        if let Some(limit) = pattern.limit {
            access = access.limit(limit);
        }
        draft = draft.access(access);
    }
    let (design, problems) = draft.resolve();
    design.unwrap_or_else(|| panic!("{problems:?}"))
}

/// Proven, with every condition in the key.
fn is_proven(design: &Design, access: &Access, prices: &Prices) -> bool {
    let plan = plan_access(design, access, prices);
    plan.is_proven()
        && plan.verdict != Verdict::Refused
        && plan.reads.iter().all(|read| read.filter.is_empty())
}

fn all_proven(patterns: &[Pattern], table: &Keys, indexes: &[&Keys], prices: &Prices) -> bool {
    let design = design(patterns, table, indexes);
    design.accesses().iter().all(|access| is_proven(&design, access, prices))
}

#[test]
fn no_design_of_the_family_has_fewer_indexes() {
    let runs =
        std::env::var("KEYLOOM_SYNTH_RUNS").ok().and_then(|it| it.parse().ok()).unwrap_or(10);
    let prices = Prices::default();
    let keys = all_keys();
    let identified: Vec<&Keys> =
        keys.iter().filter(|(hash, range)| format!("{hash}{range}").contains("{id")).collect();
    let mut tally = [0_usize; 3];
    let (mut refused, mut tried) = (0, 0_u64);
    for seed in 0..runs {
        let mut random = SplitMix64::new(seed);
        let patterns: Vec<Pattern> =
            (0..2 + random.below(2)).map(|_| random_pattern(&mut random)).collect();
        let result = found("things.toml", &text(&patterns), &Options::default());
        let lost: Vec<&str> = result.refused.iter().map(|it| it.pattern.as_str()).collect();
        let (mut served, mut beyond) = (Vec::new(), Vec::new());
        for (n, pattern) in patterns.iter().enumerate() {
            let is_lost = lost.contains(&format!("p{n}").as_str());
            if is_lost { &mut beyond } else { &mut served }.push(pattern.clone());
        }
        for pattern in &beyond {
            refused += 1;
            let alone = std::slice::from_ref(pattern);
            let one = |table: &&&Keys| all_proven(alone, table, &[], &prices);
            let found = identified.iter().find(one);
            assert_eq!(found, None, "seed {seed}: {pattern:?} is provable");
            let plain = ("T#{id}".to_owned(), "T".to_owned());
            let found = keys.iter().find(|index| all_proven(alone, &plain, &[index], &prices));
            assert_eq!(found, None, "seed {seed}: {pattern:?} is provable by an index");
        }
        let [certificate] = result.certificates.as_slice() else { panic!("{result:?}") };
        assert!(certificate.is_complete && certificate.indexes == certificate.at_least);
        let least = certificate.at_least;
        *tally.get_mut(least.min(2)).unwrap() += 1;
        // With more indexes than two there are more designs than can be planned.
        match least {
            0 => {}
            1 => {
                tried += identified.len() as u64;
                let one = |table: &&&Keys| all_proven(&served, table, &[], &prices);
                let fewer = identified.iter().find(one);
                assert_eq!(fewer, None, "seed {seed}: {served:?} needs no index");
            }
            _ => {
                for table in &identified {
                    tried += keys.len() as u64;
                    let one = |index: &&Keys| all_proven(&served, table, &[index], &prices);
                    let fewer = keys.iter().find(one);
                    assert_eq!(fewer, None, "seed {seed}: {served:?} on {table:?}");
                }
            }
        }
    }
    eprintln!(
        "{runs} designs: by indexes {tally:?}, {refused} patterns refused, {tried} designs tried"
    );
    assert!(runs < 10 || tally.iter().all(|count| *count > 0), "{tally:?}");
}
