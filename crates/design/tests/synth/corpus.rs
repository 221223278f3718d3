//! The designs that people wrote: their keys taken away and found again, their mistakes repaired.

use std::fmt::Write as _;

use keyloom_design::check_text;
use keyloom_design::cost::Prices;
use keyloom_design::model::{Design, FieldKind};
use keyloom_design::synth::{Options, synthesize};

use super::examples::examples;
use super::found;

fn designs(as_written: bool) -> Vec<(String, String)> {
    examples(|name| name.contains(".as-written") == as_written)
}

#[test]
fn designs_of_people_are_found_again() {
    let prices = Prices::default();
    let (mut all, mut fewer, mut cheaper, mut dearer) = (0, 0, 0, Vec::new());
    for (name, text) in designs(false) {
        let human = check_text(&name, &text, &prices);
        let design = human.design.as_ref().unwrap();
        let indexes: usize = design.tables().iter().map(|table| table.secondary().len()).sum();
        let stripped = stripped(&text, design);
        for key in design.entities().iter().flat_map(|entity| &entity.keys) {
            let template = key.shape.template().text();
            assert!(key.shape.is_native() || !stripped.contains(&format!("= \"{template}\"")));
        }
        let result = found(&name, &stripped, &Options::default());
        assert_eq!(result.refused, [], "{name}");
        let best = result.designs.first().unwrap();
        assert!(best.is_sound(), "{name}\n{}\n{:#?}", best.text, best.report.findings);
        assert!(best.indexes <= indexes, "{name}: {} indexes\n{}", best.indexes, best.text);
        assert_eq!(best.report.plans.len(), human.plans.len(), "{name}");
        for table in &result.certificates {
            assert!(table.is_complete && table.at_least <= table.indexes, "{name}: {table:?}");
        }
        all += 1;
        // A key that is a few letters longer is no difference in design.
        let (cost, by_hand) = (best.money().on_demand, human.bill.total.on_demand);
        if cost > by_hand * 1.001 {
            dearer.push(format!("{name} {:.1} %", (cost / by_hand - 1.0) * 100.0));
        }
        fewer += u32::from(best.indexes < indexes);
        cheaper += u32::from(cost < by_hand * 0.999);
    }
    eprintln!(
        "{all} designs: {fewer} with fewer indexes than by hand, none with more; {cheaper} cheaper, {} dearer {dearer:?}",
        dearer.len()
    );
    assert!(all >= 49 && dearer.len() * 10 <= all, "dearer than by hand: {dearer:?} of {all}");
}

/// The file without templates and hand-written requests; what makes items unique and what only templates declared is
/// written in their place.
fn stripped(text: &str, design: &Design) -> String {
    let mut new = String::new();
    let (mut section, mut skipping) = (String::new(), false);
    let entity_of = |section: &str| {
        design.entities().iter().find(|entity| section == format!("[entity.{}]", entity.name))
    };
    for line in text.lines() {
        if line.starts_with('[') {
            line.trim().clone_into(&mut section);
            skipping = section.starts_with("[table.") && section.contains(".index.");
        }
        let name = line.split('=').next().unwrap_or_default().trim();
        let is_key = entity_of(&section)
            .is_some_and(|entity| entity.keys.iter().any(|key| key.attribute == name));
        let by_hand = section.starts_with("[access.") && ["key", "index", "filter"].contains(&name);
        if skipping || is_key || by_hand {
            continue;
        }
        new.push_str(line);
        new.push('\n');
        let Some(entity) = entity_of(&section).filter(|_| line.starts_with('[')) else { continue };
        if !text.contains(&format!("{section}\nidentity")) && entity.unique_by.is_empty() {
            let is_shard = |name: &str| {
                entity.field(name).is_some_and(|it| matches!(it.kind, FieldKind::Shard(_)))
            };
            let mut names: Vec<String> = Vec::new();
            for name in entity.primary_key().fields().filter(|name| !is_shard(name)) {
                if !names.contains(&format!("{name:?}")) {
                    names.push(format!("{name:?}"));
                }
            }
            // A constant key is one item.
            if !names.is_empty() {
                writeln!(new, "identity = [{}]", names.join(", ")).unwrap();
            }
        }
    }
    for entity in design.entities() {
        let head = format!("[entity.{}.fields]\n", entity.name);
        let own = text.split(&head).nth(1).unwrap_or_default();
        let own = own.split("\n[").next().unwrap_or_default();
        let declared =
            |name: &str| own.lines().any(|it| it.split('=').next().unwrap_or("").trim() == name);
        let missing: String = entity
            .fields
            .iter()
            .filter(|field| !declared(&field.name))
            .map(|field| format!("{} = {:?}\n", field.name, field.type_name()))
            .collect::<Vec<_>>()
            .concat();
        if new.contains(&head) {
            new = new.replacen(&head, &format!("{head}{missing}"), 1);
        } else {
            write!(new, "\n{head}{missing}").unwrap();
        }
    }
    new
}

/// What keys cannot repair, with the words in which it is said.
const BEYOND_KEYS: [(&str, &str); 6] = [
    ("document-grants.as-written.toml", "a many-to-many relationship needs link items"),
    ("filesystem.as-written.toml", "it says how it is read"),
    ("iot-sensors.as-written.toml", "it says how it is read"),
    ("native-orders.as-written.toml", "it says how it is read"),
    ("sensor-rollups.as-written.toml", "`count` is a reserved word"),
    ("tasks.as-written.toml", "`Assignment` does not tell which `Task` it names"),
];

#[test]
fn designs_with_mistakes_are_repaired_or_the_rest_is_named() {
    let prices = Prices::default();
    let options = Options { repair: true, ..Options::default() };
    let (mut repaired, mut wrong_before) = (0, 0);
    for (name, text) in designs(true) {
        wrong_before += usize::from(check_text(&name, &text, &prices).has_errors());
        let reason = BEYOND_KEYS.iter().find(|(known, _)| *known == name).map(|(_, it)| *it);
        let told = match synthesize(&name, &text, &options, &prices) {
            Err(problems) => problems.iter().map(|it| it.message.clone()).collect(),
            Ok(result) => {
                let best = result.designs.first().unwrap();
                let refused = result.refused.iter().map(|it| it.reason.clone());
                if best.is_sound() && result.refused.is_empty() {
                    assert_eq!(reason, None, "{name} needs no excuse");
                    repaired += 1;
                    continue;
                }
                let findings = best.report.findings.iter().map(|it| it.message.clone());
                refused.chain(findings).collect::<Vec<String>>()
            }
        };
        let reason = reason.unwrap_or_else(|| panic!("{name} is not repaired: {told:?}"));
        assert!(told.iter().any(|it| it.contains(reason)), "{name}: {told:?}");
    }
    assert!(repaired >= 35 && wrong_before >= 30, "{repaired} {wrong_before}");
}

/// So many entities in a ring, with three patterns each.
pub(crate) fn ring(entities: usize) -> String {
    let mut text = String::new();
    for n in 0..entities {
        let m = (n + 1) % entities;
        write!(
            text,
            "[entity.E{n}]\ncount = 100_000\n[entity.E{n}.fields]\ne{n}_id = \"ulid\"\ne{m}_id = \"ulid\"\nat = \"datetime\"\n\
             [access.\"one {n}\"]\nfind = \"E{n}\"\nwhere = \"e{n}_id = ?\"\n\
             [access.\"of {n}\"]\nfind = \"E{n}\"\nwhere = \"e{m}_id = ?\"\norder = \"at desc\"\nlimit = 20\n\
             [access.\"since {n}\"]\nfind = \"E{n}\"\nwhere = \"e{m}_id = ? and at > ?\"\norder = \"at\"\nlimit = 20\n"
        )
        .unwrap();
    }
    text
}
